/*
 * Shared by tests of chunks: buffers between inaccessible pages, and bytes in hexadecimal.
 */
#ifndef BPK_TESTS_GUARDED_H
#define BPK_TESTS_GUARDED_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit/unit.h"

#include "base/base.h"

/* Bytes between two inaccessible pages: flush with the second, or with the first. */
struct guarded {
	uint8_t *map;
	size_t map_size;
	uint8_t *bytes;
};

static inline struct guarded guarded_new(const uint8_t *from, size_t size, bool at_end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t body = (size + page - 1) / page * page;
	struct guarded g = { .map_size = body + 2 * page };

	g.map = mmap(NULL, g.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.map != MAP_FAILED);
	if (body > 0)
		assert_int_equal(mprotect(g.map + page, body, PROT_READ | PROT_WRITE), 0);
	g.bytes = at_end ? g.map + page + body - size : g.map + page;
	if (from != NULL)
		bpk_copy(g.bytes, from, size);
	return g;
}

static inline void guarded_free(struct guarded *g)
{
	munmap(g->map, g->map_size);
}

enum { SMALL = 2048 };

struct bytes {
	uint8_t data[SMALL];
	size_t size;
};

static inline void add_hex(struct bytes *to, const char *hex)
{
	for (; *hex != '\0'; hex += 2) {
		unsigned value;

		assert_int_equal(sscanf(hex, "%2x", &value), 1);
		assert_true(to->size < SMALL);
		to->data[to->size++] = (uint8_t)value;
	}
}

#endif
