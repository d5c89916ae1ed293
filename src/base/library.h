/*
 * Shared libraries that few commands need, loaded at their first call: starting bpk with libarchive
 * and the libraries that it needs takes longer than most commands. Where configure finds no name to
 * load a library by, the program is linked with it. Configure defines SNAPPY_SONAME and
 * SNAPPY_ADDRESS. A part of the room's door, for JSON, digests, codecs and tars.
 *
 *     #define CALLS(X) X(snappy_compress) X(snappy_uncompress)
 *     static struct { CALLS(BPK_LIBRARY_CALL) } calls = { CALLS(SNAPPY_ADDRESS) };
 *     static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
 *     static struct bpk_library snappy = BPK_LIBRARY(SNAPPY_SONAME, names, calls);
 */
#ifndef BPK_BASE_LIBRARY_H
#define BPK_BASE_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"

/* For a list of functions that a library's header declares: a pointer to each, and its name. */
#define BPK_LIBRARY_CALL(name) __typeof__(name) *name;
#define BPK_LIBRARY_NAME(name) #name,

struct bpk_library {
	const char *soname;       /* NULL: the program is linked with it, and calls are set */
	const char *const *names; /* of its functions; the last is NULL */
	void *calls;              /* a pointer for each of names, in their order */
	pthread_mutex_t lock;
	atomic_bool loaded;
};

#define BPK_LIBRARY(soname, names, calls)                                                          \
	{                                                                                          \
		soname, names, &(calls), PTHREAD_MUTEX_INITIALIZER, false                          \
	}

/* Load the library and set its calls, unless that is done. It stays until the program ends. Fails
 * with BPK_FAILED if it is missing or lacks a function. Any thread. */
int bpk_library_need(struct bpk_library *library, struct bpk_err *err);

#endif
