/*
 * An installed c-blosc2 for comparison, found by BPK_CBLOSC2 (its prefix) and opened at run time;
 * the few functions that tests need are declared by hand. One thread.
 */
#ifndef BPK_TESTS_CBLOSC2_H
#define BPK_TESTS_CBLOSC2_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct cblosc2 {
	void *library;
	void (*init)(void);
	void (*destroy)(void);
	int16_t (*set_nthreads)(int16_t nthreads);
	int (*decompress)(const void *src, int32_t srcsize, void *dest, int32_t destsize);
	int (*getitem)(const void *src, int32_t srcsize, int start, int nitems, void *dest,
		       int32_t destsize);
};

/* Look up a function by name. The indirection satisfies ISO C. */
static inline void cblosc2_find(struct cblosc2 *b, const char *name, void *function, int *missing)
{
	void *found = dlsym(b->library, name);

	*missing |= found == NULL;
	*(void **)function = found;
}

/* NULL, or the reason for a skip in TAP. */
static inline const char *cblosc2_open(struct cblosc2 *b)
{
	const char *prefix = getenv("BPK_CBLOSC2");
	char path[4096];
	int missing = 0;

	if (prefix == NULL)
		return "BPK_CBLOSC2 names no installed c-blosc2";
	snprintf(path, sizeof path, "%s/lib/libblosc2.so", prefix);
	b->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (b->library == NULL)
		return "no lib/libblosc2.so below BPK_CBLOSC2";
	cblosc2_find(b, "blosc2_init", &b->init, &missing);
	cblosc2_find(b, "blosc2_destroy", &b->destroy, &missing);
	cblosc2_find(b, "blosc2_set_nthreads", &b->set_nthreads, &missing);
	cblosc2_find(b, "blosc2_decompress", &b->decompress, &missing);
	cblosc2_find(b, "blosc2_getitem", &b->getitem, &missing);
	if (missing)
		return "libblosc2.so lacks a function";
	b->init();
	b->set_nthreads(1);
	return NULL;
}

static inline void cblosc2_close(struct cblosc2 *b)
{
	b->destroy();
	dlclose(b->library);
}

#endif
