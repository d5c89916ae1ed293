/*
 * Bytes 16..31 of an extended header, and the numbers of filters and codecs. Called by header.c.
 * Source: Blosc chunk format, "Blosc2 extended header".
 */
#include "chunk/fields.h"
#include "chunk/predict.h"

enum {
	FORMAT_REGISTERED = 6, /* "Codec numbers": byte 22 holds the codec's number */
	FIRST_REGISTERED = 32, /* "Registered ids" */
	ALPHA_FILTERS = 5,     /* "Version byte actually written": version 3 has one slot less */
};

static int check_flags(const struct bpk_chunk_fields *f, struct bpk_err *err)
{
	unsigned kind = (f->blosc2_flags & BPK_B2FLAG_SPECIAL) >> BPK_B2FLAG_SPECIAL_SHIFT;
	unsigned known = f->version >= 6 ? BPK_FLAG2_VARIABLE : 0;

	if ((f->flags2 & ~known) != 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk flags 0x%02x at byte 30 are unknown in version %u",
				f->flags2, f->version);
	if ((f->blosc2_flags & BPK_B2FLAG_LAZY) != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk flags 0x%02x at byte 31: lazy chunks exist in memory only",
				f->blosc2_flags);
	if ((f->blosc2_flags & BPK_B2FLAG_RESERVED) != 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk flags 0x%02x at byte 31 are unknown",
				f->blosc2_flags);
	if ((f->blosc2_flags & BPK_B2FLAG_INSTRUMENTED) != 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk flags 0x%02x at byte 31: instrumented chunks hold no data",
				f->blosc2_flags);
	if (kind > BPK_SPECIAL_UNINIT)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk of special kind %u, the last known is %d", kind,
				BPK_SPECIAL_UNINIT);
	return 0;
}

/* "Special-value chunks": the bytes after the header are the repeated value. */
static int take_special(struct bpk_chunk_header *header, struct bpk_err *err)
{
	uint32_t behind = header->packed_size - header->header_size;
	unsigned ts = header->typesize;

	if (header->special == BPK_SPECIAL_VALUE) {
		if (behind == 0 || behind > header->raw_size || header->raw_size % behind != 0)
			return bpk_fail(err, BPK_CORRUPT,
					"chunk of %u bytes repeats a value of %u bytes",
					header->raw_size, behind);
		header->value_size = behind;
		return 0;
	}
	if (behind != 0)
		return bpk_fail(err, BPK_CORRUPT, "special chunk takes %u bytes, expected %u",
				header->packed_size, header->header_size);
	if (header->special == BPK_SPECIAL_NAN && ts != 4 && ts != 8)
		return bpk_fail(err, BPK_CORRUPT, "chunk of NaN has typesize %u, expected 4 or 8",
				ts);
	if (header->special != BPK_SPECIAL_ZERO && header->raw_size % ts != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"special chunk of %u bytes is not a multiple of typesize %u",
				header->raw_size, ts);
	return 0;
}

/* Older versions had no such filter, and bpk never wrote it there. */
static bool has_prediction(const struct bpk_chunk_fields *f)
{
	return f->extended && f->version >= 5 && f->filters[0] == BPK_FILTER_PREDICT;
}

static int take_prediction(const struct bpk_chunk_fields *f, struct bpk_chunk_header *header,
			   struct bpk_err *err)
{
	if (!has_prediction(f) || header->memcpyed || header->raw_size == 0)
		return 0;
	if (header->variable_blocks || header->dictionary)
		return bpk_fail(err, BPK_CORRUPT, "chunk with a prediction has %s",
				header->dictionary ? "a dictionary" : "blocks of variable length");
	return bpk_prediction_of_meta(f->metas[0], &header->prediction, err);
}

int bpk_chunk_extended_read(const struct bpk_chunk_fields *f, struct bpk_chunk_header *header,
			    struct bpk_err *err)
{
	unsigned kind = (f->blosc2_flags & BPK_B2FLAG_SPECIAL) >> BPK_B2FLAG_SPECIAL_SHIFT;
	const struct bpk_codec *codec = bpk_codec_of_code(f->codec);

	if (check_flags(f, err) != 0)
		return -1;
	header->special = (enum bpk_special)kind;
	header->variable_blocks = (f->flags2 & BPK_FLAG2_VARIABLE) != 0;
	/* the flags select the decoder; byte 22 tells lz4 from lz4hc */
	if (codec != NULL && codec->format == header->codec_format)
		header->codec = codec->code;
	if (header->variable_blocks && (header->memcpyed || header->special != BPK_SPECIAL_NONE))
		return bpk_fail(err, BPK_CORRUPT,
				"chunk of blocks of variable length is stored or special");
	if (header->special != BPK_SPECIAL_NONE) {
		header->memcpyed = false; /* "Chunk kinds": special comes first */
		return take_special(header, err);
	}
	/* "Chunk kinds": some memcpyed chunks have the flag without a dictionary */
	header->dictionary = !header->memcpyed && header->raw_size > 0 &&
			     (f->blosc2_flags & BPK_B2FLAG_DICTIONARY) != 0;
	return take_prediction(f, header, err);
}

static void add_step(struct bpk_pipeline *pipeline, unsigned filter, unsigned meta)
{
	if (filter != BPK_FILTER_NONE)
		pipeline->steps[pipeline->nsteps++] =
			(struct bpk_filter_step){ (uint8_t)filter, (uint8_t)meta };
}

struct bpk_pipeline bpk_chunk_pipeline_of(const struct bpk_chunk_fields *f)
{
	unsigned nslots = f->version == 3 ? ALPHA_FILTERS : BPK_CHUNK_MAX_FILTERS;
	struct bpk_pipeline pipeline = { 0 };

	if (f->extended) {
		for (unsigned i = has_prediction(f) ? 1 : 0; i < nslots; i++)
			add_step(&pipeline, f->filters[i], f->metas[i]);
		return pipeline;
	}
	/* "Which filters apply" */
	if ((f->flags & BPK_FLAG_DELTA) != 0)
		add_step(&pipeline, BPK_FILTER_DELTA, 0);
	if ((f->flags & BPK_FLAG_SHUFFLE) != 0)
		add_step(&pipeline, BPK_FILTER_SHUFFLE, 0);
	else if ((f->flags & BPK_FLAG_BITSHUFFLE) != 0)
		add_step(&pipeline, BPK_FILTER_BITSHUFFLE, 0);
	return pipeline;
}

/* "chunk codec 38 (openzl) is not supported". */
static int refuse(const char *what, unsigned number, const char *name, struct bpk_err *err)
{
	if (name == NULL)
		return bpk_fail(err, BPK_UNSUPPORTED, "chunk %s %u is not supported", what, number);
	return bpk_fail(err, BPK_UNSUPPORTED, "chunk %s %u (%s) is not supported", what, number,
			name);
}

static int check_codec(const struct bpk_chunk_fields *f, unsigned format, struct bpk_err *err)
{
	/* "Codec numbers": Blosc2 has no Snappy */
	if (format == BPK_CODEC_FORMAT_SNAPPY && f->version > 2)
		return refuse("codec", format, "snappy in Blosc2", err);
	if (format == FORMAT_REGISTERED && f->extended && f->codec >= FIRST_REGISTERED)
		return refuse("codec", f->codec, bpk_codec_registered(f->codec), err);
	if (bpk_codec_of_format(format) == NULL)
		return refuse("codec", format, NULL, err);
	return 0;
}

int bpk_chunk_check_built_in(const struct bpk_chunk_fields *f,
			     const struct bpk_chunk_header *header, struct bpk_err *err)
{
	const struct bpk_pipeline *pipeline = &header->pipeline;

	if (check_codec(f, header->codec_format, err) != 0)
		return -1;
	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		unsigned filter = pipeline->steps[i].filter;

		if (bpk_filter_name(filter) == NULL)
			return refuse("filter", filter, bpk_filter_registered(filter), err);
	}
	return 0;
}
