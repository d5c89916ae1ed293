/*
 * Headers of chunks that are encoded. Called by encode.c and encode_special.c. Source: Blosc chunk
 * format, "Header", "Blosc2 extended header".
 */
#include "chunk/encode.h"
#include "chunk/predict.h"

/* "flags byte": the bits of the filters. */
static unsigned flags_of_filters(const struct bpk_encoding *e)
{
	enum bpk_filter filter = bpk_plain_filter(&e->pipeline);

	if (e->recipe->extended)
		return bpk_pipeline_has(&e->pipeline, BPK_FILTER_DELTA)
			       ? BPK_FLAG_EXTENDED | BPK_FLAG_DELTA
			       : BPK_FLAG_EXTENDED;
	if (filter == BPK_FILTER_SHUFFLE && e->recipe->typesize > 1)
		return BPK_FLAG_SHUFFLE;
	return filter == BPK_FILTER_BITSHUFFLE ? BPK_FLAG_BITSHUFFLE : 0;
}

unsigned bpk_encode_flags(const struct bpk_encoding *e)
{
	unsigned codec = e->recipe->codec->format;
	unsigned flags = codec << BPK_FLAG_CODEC_SHIFT | flags_of_filters(e);

	return e->split ? flags : flags | BPK_FLAG_NOT_SPLIT;
}

/* "Bytes 16..31": the last filter is in the last slot. */
static void write_extension(const struct bpk_encoding *e, unsigned flags31)
{
	uint8_t *to = e->out + BPK_CHUNK_HEADER_SIZE;
	unsigned first = BPK_CHUNK_MAX_FILTERS - e->pipeline.nsteps;

	memset(to, 0, BPK_CHUNK_EXTENDED_HEADER_SIZE - BPK_CHUNK_HEADER_SIZE);
	for (unsigned i = 0; i < e->pipeline.nsteps; i++) {
		to[first + i] = e->pipeline.steps[i].filter;
		to[8 + first + i] = e->pipeline.steps[i].meta;
	}
	if (e->prediction.size > 0) {
		to[0] = BPK_FILTER_PREDICT;
		to[8] = (uint8_t)bpk_prediction_meta(&e->prediction);
	}
	to[6] = (uint8_t)e->recipe->codec->code;
	to[14] = e->nblocks > 0 ? BPK_FLAG2_VARIABLE : 0;
	to[15] = (uint8_t)flags31;
}

void bpk_encode_header(const struct bpk_encoding *e, unsigned flags, unsigned flags31,
		       size_t packed_size)
{
	e->out[0] = e->nblocks > 0 ? 6 : e->recipe->extended ? 5 : 2;
	e->out[1] = 1;
	e->out[2] = (uint8_t)flags;
	e->out[3] = (uint8_t)e->recipe->typesize;
	bpk_put_le32(e->out + 4, (uint32_t)e->plain.size);
	bpk_put_le32(e->out + 8, e->nblocks > 0 ? e->nblocks : e->block_size);
	bpk_put_le32(e->out + 12, (uint32_t)packed_size);
	if (e->recipe->extended)
		write_extension(e, flags31);
}
