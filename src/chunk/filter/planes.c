/*
 * Unshuffling together with the adjacent filters, one strip of elements at a time, so that
 * intermediate results stay in the first-level cache. Called by decode_block.c:
 *
 *     planes   [differences] [differences] [zeros]      strips of each
 *                  sums          sums         |         bytedelta
 *                    \____________|___________/
 *                             unshuffle                 shuffle
 *                                 |
 *                    exclusive or with block 0          delta
 *                                 v
 *     out                     elements
 */
#include "chunk/filter/kernels.h"

enum {
	STRIP_SIZE = 16384, /* bytes of a strip of elements */
	LEAST = 64,         /* minimum number of elements in a strip, which has a multiple of it */
	APART = 64,         /* gap between planes, so that they use different cache sets */
	MAX_STRIP = LEAST * BPK_CHUNK_MAX_TYPESIZE,
	MAX_PLANES = STRIP_SIZE + APART * BPK_CHUNK_MAX_TYPESIZE,
};

struct strip {
	uint8_t planes[MAX_PLANES + LEAST];
	uint8_t elements[MAX_STRIP > STRIP_SIZE ? MAX_STRIP : STRIP_SIZE];
	uint8_t before[BPK_CHUNK_MAX_TYPESIZE]; /* the sum of all earlier strips */
};

/* The planes of one strip, summed if they are differences. */
static void take(const struct bpk_filter_kernels *kernels, const struct bpk_filter_planes *p,
		 struct strip *strip, size_t at, size_t count, const uint8_t **planes)
{
	for (size_t j = 0; j < p->width; j++) {
		uint8_t *to = strip->planes + j * (count + APART);

		planes[j] = p->planes[j] + at;
		if (!p->differences || p->planes[j] == p->zeros)
			continue;
		kernels->sums(planes[j], count, strip->before[j], to);
		strip->before[j] = to[count - 1];
		planes[j] = to;
	}
}

_Static_assert(sizeof(struct strip) <= BPK_FILTER_ROOM, "BPK_FILTER_ROOM is too small");

void bpk_filter_unshuffle(const struct bpk_filter_kernels *kernels,
			  const struct bpk_filter_planes *p, uint8_t *out)
{
	size_t width = p->width;
	size_t size = bpk_max_u64(LEAST, STRIP_SIZE / width / LEAST * LEAST);
	const uint8_t *planes[BPK_CHUNK_MAX_TYPESIZE];
	struct strip *strip = p->room;

	if (!p->differences && p->reference == NULL) {
		kernels->unshuffle(p->planes, width, p->nelems, out);
		return;
	}
	memset(strip->before, 0, width);
	for (size_t at = 0; at < p->nelems; at += size) {
		size_t count = bpk_min_size(size, p->nelems - at), start = at * width;
		uint8_t *to = p->reference == NULL ? out + start : strip->elements;

		take(kernels, p, strip, at, count, planes);
		kernels->unshuffle(planes, width, count, to);
		if (p->reference != NULL)
			kernels->exclusive_or(to, p->reference + start, count * width, out + start);
	}
}
