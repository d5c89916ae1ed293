/*
 * The size and first bytes of files of a remote directory, remembered. A file that is
 * opened again answers from them, and is asked for only when other bytes are read: an audit looks
 * at the header of every chunk once more. Called by tree.c.
 */
#ifndef BPK_IO_REMOTE_SEEN_H
#define BPK_IO_REMOTE_SEEN_H

#include "io/io.h"

/* Valid when zeroed; for bpk_seen_clear. Its owner guards it. */
struct bpk_seen {
	void *root; /* of tsearch */
	size_t count;
};

/* Remember a file that was just opened, whose first bytes are in memory; unless there is no memory,
 * or too many files are remembered. */
void bpk_seen_add(struct bpk_seen *members, const char *name, struct bpk_source *source);

/* Opens the file of that name; called at most once by the source, by any thread. */
typedef int bpk_seen_open_fn(void *arg, const char *name, struct bpk_source **source,
			     struct bpk_err *err);

/* A source of a remembered file. *source is NULL if it is not remembered. arg is borrowed until the
 * source is closed. Reads fail with BPK_FAILED, "changed while it was read", if the file has
 * another size when it is opened. */
int bpk_seen_open(const struct bpk_seen *members, const char *name, bpk_seen_open_fn *open,
		  void *arg, struct bpk_source **source, struct bpk_err *err);

void bpk_seen_clear(struct bpk_seen *members);

#endif
