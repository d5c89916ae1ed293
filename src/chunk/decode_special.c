/*
 * Special chunks: content that the header describes. Called by decode.c. Source: Blosc chunk
 * format, "Special-value chunks".
 */
#include "chunk/decode.h"

/* The longest distance between copies, so that the source is still in cache. */
enum { NEAR = 32768 };

/* out[i] = pattern[(phase + i) % size]. */
static void repeat(const uint8_t *pattern, size_t size, size_t phase, struct bpk_span out)
{
	size_t done = bpk_min_size(size, out.size), first = bpk_min_size(size - phase, done);

	memcpy(out.data, pattern + phase, first);
	memcpy(out.data + first, pattern, done - first);
	/* the finished part is a whole number of patterns, or everything */
	while (done < out.size) {
		size_t whole = done <= NEAR ? done : bpk_max_u64(size, NEAR - NEAR % size);
		size_t count = bpk_min_size(whole, out.size - done);

		memcpy(out.data + done, out.data + (done - whole), count);
		done += count;
	}
}

void bpk_special_read(const struct bpk_chunk_header *h, struct bpk_view chunk, uint64_t start,
		      struct bpk_span out)
{
	static const uint8_t nan4[] = { 0, 0, 0xc0, 0x7f };
	static const uint8_t nan8[] = { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f };
	const uint8_t *pattern = h->typesize == 4 ? nan4 : nan8;
	size_t size = h->typesize;

	if (out.size == 0)
		return;
	if (h->special != BPK_SPECIAL_NAN && h->special != BPK_SPECIAL_VALUE) {
		memset(out.data, 0, out.size);
		return;
	}
	if (h->special == BPK_SPECIAL_VALUE) {
		pattern = chunk.data + h->header_size;
		size = h->value_size;
	}
	repeat(pattern, size, start % size, out);
}
