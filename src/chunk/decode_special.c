/*
 * Special chunks: content that the header describes. Called by decode.c. Source: Blosc chunk
 * format, "Special-value chunks".
 */
#include "chunk/decode.h"

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
	bpk_bytes_repeat(bpk_view(pattern, size), start % size, out);
}
