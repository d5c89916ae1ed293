/*
 * Memory from the heap; failures are reported as errors. bpk_calloc and bpk_strdup are named after
 * the functions of libc. A part of the room's door.
 */
#ifndef BPK_BASE_ALLOC_H
#define BPK_BASE_ALLOC_H

#include <stddef.h>

#include "base/err.h"

/* Cache line size: the vector kernels run best on rows that start on one. */
enum { BPK_ALIGNMENT = 64 };

/*
 * Memory of size bytes, unspecified, aligned to BPK_ALIGNMENT; NULL with BPK_NO_MEMORY. Released
 * with free().
 */
void *bpk_alloc(size_t size, struct bpk_err *err);

/* The same, zeroed, for count items of size bytes each. */
void *bpk_calloc(size_t count, size_t size, struct bpk_err *err);

/* Make the pages of size bytes of bpk_alloc in advance, as they will all be written soon. */
void bpk_alloc_pages(void *memory, size_t size);

/*
 * Make room for one more item of size bytes in the array all, which holds count items and has *room
 * for so many; twice as many where it is full. all may be NULL with *room 0. Returns the array,
 * which replaces all; NULL with BPK_NO_MEMORY, and all is unchanged then.
 */
void *bpk_alloc_grow(void *all, size_t count, size_t *room, size_t size, struct bpk_err *err);

/* A copy of text, released with free(); NULL with BPK_NO_MEMORY. */
char *bpk_strdup(const char *text, struct bpk_err *err);

#endif
