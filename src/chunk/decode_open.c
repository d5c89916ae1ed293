/*
 * Opening a chunk and its blocks for the decoder: the header, the dictionary or prediction, the
 * starts of blocks. Source: Blosc chunk format, "Blocks and streams", "Dictionaries".
 */
#include "chunk/decode.h"
#include "chunk/predict.h"

#include <inttypes.h>

enum { MAX_DICTIONARY = 131072 }; /* "Limits" */

int bpk_block_start(const struct bpk_decoding *d, uint32_t number, uint32_t *start,
		    struct bpk_err *err)
{
	*start = bpk_get_le32(d->chunk.data + d->header.header_size + (size_t)4 * number);
	if (*start < d->data || d->chunk.size < 4 || *start > d->chunk.size - 4)
		return bpk_fail(err, BPK_CORRUPT,
				"block %" PRIu32 " starts at %" PRIu32 ", outside %" PRIu32
				" to %zu",
				number, *start, d->data, d->chunk.size);
	return 0;
}

int bpk_block_open(struct bpk_decoding *d, uint32_t number, struct bpk_block *b,
		   struct bpk_err *err)
{
	const struct bpk_chunk_header *h = &d->header;
	uint64_t before = (uint64_t)number * h->block_size;
	size_t size = bpk_min_u64(h->raw_size - before, h->block_size);
	/* "Split rule": a short last block is one stream */
	bool split = d->split && size == h->block_size;
	uint32_t start;

	if (bpk_block_start(d, number, &start, err) != 0)
		return -1;
	if (split && size % h->typesize != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"split block %" PRIu32
				" of %zu bytes is not a multiple of typesize %u",
				number, size, h->typesize);
	bpk_block_init(b, d, number, bpk_view(d->chunk.data + start, d->chunk.size - start), size,
		       split ? h->typesize : 1);
	return 0;
}

/* "Dictionaries": the dictionary is stored after the block starts. */
static int find_dictionary(struct bpk_decoding *d, struct bpk_view *dictionary, struct bpk_err *err)
{
	struct bpk_cursor cursor =
		bpk_cursor(bpk_view(d->chunk.data + d->data, d->chunk.size - d->data));
	int32_t size = bpk_cursor_le32s(&cursor);

	if (cursor.bad || size < 1 || size > MAX_DICTIONARY || (size_t)size > cursor.left)
		return bpk_fail(err, BPK_CORRUPT,
				"dictionary of %d bytes at %" PRIu32
				", expected 1 to %d within %zu",
				size, d->data, MAX_DICTIONARY, d->chunk.size);
	*dictionary = bpk_view(cursor.next, (size_t)size);
	d->data += 4 + (uint32_t)size;
	return 0;
}

/* The parameters of a prediction, stored in the same place. A chunk never has both. */
static int find_prediction(struct bpk_decoding *d, struct bpk_err *err)
{
	struct bpk_prediction *prediction = &d->header.prediction;
	struct bpk_view bytes = bpk_view(d->chunk.data + d->data, d->chunk.size - d->data);

	if (bpk_prediction_take(bytes, d->header.raw_size, prediction, err) != 0)
		return -1;
	d->data += bpk_prediction_stored_size(prediction);
	return 0;
}

int bpk_decoding_find_blocks(struct bpk_decoding *d, struct bpk_err *err)
{
	const struct bpk_chunk_header *h = &d->header;

	/* the header was checked: the starts end within the chunk */
	d->data = h->header_size + 4 * h->nblocks;
	d->split = h->split;
	d->settled = false;
	d->reference = NULL;
	if (h->dictionary && find_dictionary(d, &d->dictionary, err) != 0)
		return -1;
	if (h->prediction.size > 0 && find_prediction(d, err) != 0)
		return -1;
	d->unused = h->packed_size - d->data;
	return 0;
}

int bpk_decoding_open(struct bpk_decoding *d, struct bpk_chunk_ctx *ctx, struct bpk_view in,
		      struct bpk_err *err)
{
	struct bpk_chunk_header *h = &d->header;

	*d = (struct bpk_decoding){ .ctx = ctx };
	if (bpk_chunk_header_read(in, h, err) != 0)
		return -1;
	if (in.size < h->packed_size)
		return bpk_fail(err, BPK_CORRUPT, "chunk of %" PRIu32 " bytes is cut after %zu",
				h->packed_size, in.size);
	d->chunk = bpk_view(in.data, h->packed_size);
	d->codec = bpk_codec_of_format(h->codec_format);
	return 0;
}
