/*
 * The requirements of filters on elements, and the effect of lossy filters. Called by encode.c,
 * options, the choice of filters and compat.c of frames. Source of every bound: Blosc chunk format,
 * "TRUNC_PREC and INT_TRUNC".
 */
#include "chunk/chunk.h"

#include <stdio.h>

static bool is_truncation(const struct bpk_filter_step *step)
{
	return step->filter == BPK_FILTER_TRUNC_PREC || step->filter == BPK_FILTER_INT_TRUNC;
}

/* The bits that a truncation works on: a mantissa, or a whole integer; 0 for elements of another
 * size. */
static unsigned bits_of(const struct bpk_filter_step *step, unsigned typesize)
{
	if (step->filter == BPK_FILTER_TRUNC_PREC)
		return typesize == 4 ? 23 : typesize == 8 ? 52 : 0;
	return typesize == 1 || typesize == 2 || typesize == 4 || typesize == 8 ? 8 * typesize : 0;
}

/* The bits that a truncation keeps: its parameter, or all but -parameter. */
static int kept_of(const struct bpk_filter_step *step, unsigned bits)
{
	int meta = (int8_t)step->meta;

	return meta >= 0 ? meta : (int)bits + meta;
}

static int check_truncation(const struct bpk_filter_step *step, unsigned typesize,
			    struct bpk_err *err)
{
	const char *name = bpk_filter_name(step->filter);
	int meta = (int8_t)step->meta;
	unsigned bits = bits_of(step, typesize);

	if (bits == 0)
		return bpk_fail(err, BPK_USAGE, "filter %s is for items of %s bytes, not of %u",
				name,
				step->filter == BPK_FILTER_TRUNC_PREC ? "4 or 8" : "1, 2, 4 or 8",
				typesize);
	if (kept_of(step, bits) < 1 || kept_of(step, bits) > (int)bits)
		return bpk_fail(err, BPK_USAGE,
				"filter %s:%d: items of %u bytes have %u bits to keep, from 1 to "
				"%u, or to clear, from -1 to -%u",
				name, meta, typesize, bits, bits, bits - 1);
	return 0;
}

int bpk_pipeline_check(const struct bpk_pipeline *pipeline, unsigned typesize, struct bpk_err *err)
{
	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		const struct bpk_filter_step *step = &pipeline->steps[i];

		if (step->filter == BPK_FILTER_DELTA && i > 0)
			return bpk_fail(err, BPK_USAGE, "filter delta must be the first one");
		if (!is_truncation(step))
			continue;
		/* after a shuffle the bytes are no longer numbers */
		for (unsigned j = 0; j < i; j++)
			if (pipeline->steps[j].filter != BPK_FILTER_DELTA &&
			    !is_truncation(&pipeline->steps[j]))
				return bpk_fail(err, BPK_USAGE, "filter %s must stand before %s",
						bpk_filter_name(step->filter),
						bpk_filter_name(pipeline->steps[j].filter));
		if (check_truncation(step, typesize, err) != 0)
			return -1;
	}
	return 0;
}

struct bpk_pipeline bpk_pipeline_exact(const struct bpk_pipeline *pipeline)
{
	struct bpk_pipeline exact = { 0 };

	for (unsigned i = 0; i < pipeline->nsteps; i++)
		if (!is_truncation(&pipeline->steps[i]))
			exact.steps[exact.nsteps++] = pipeline->steps[i];
	return exact;
}

const char *bpk_pipeline_loss(const struct bpk_pipeline *pipeline, unsigned typesize,
			      char out[BPK_PIPELINE_LOSS_TEXT])
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < pipeline->nsteps && used < BPK_PIPELINE_LOSS_TEXT; i++) {
		const struct bpk_filter_step *step = &pipeline->steps[i];
		bool is_float = step->filter == BPK_FILTER_TRUNC_PREC;
		unsigned bits = bits_of(step, typesize);
		char item[32];

		if (!is_truncation(step) || bits == 0)
			continue;
		snprintf(item, sizeof item, is_float ? "float%u's mantissa" : "%u-bit integer",
			 8 * typesize);
		used += (size_t)snprintf(out + used, BPK_PIPELINE_LOSS_TEXT - used,
					 "%sfilter %s:%d keeps %d of %u bits of each %s",
					 used > 0 ? ", " : "", bpk_filter_name(step->filter),
					 (int8_t)step->meta, kept_of(step, bits), bits, item);
	}
	return out;
}
