/*
 * Lists of filters: their text in options and info, and their names. Called by encoder, choose,
 * archive and cli. Source of numbers and parameters: Blosc chunk format, "Filters" and "Registered
 * ids".
 */
#include "chunk/chunk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The parameter after a name and a colon. */
enum parameter { NOTHING, WIDTH, BITS };

static const struct row {
	enum bpk_filter filter;
	const char *name;
	enum parameter parameter;
	bool lossy;
} rows[] = {
	/* in the order of the help text */
	{ BPK_FILTER_NONE, "none", NOTHING, false },
	{ BPK_FILTER_SHUFFLE, "shuffle", WIDTH, false },
	{ BPK_FILTER_BITSHUFFLE, "bitshuffle", NOTHING, false },
	{ BPK_FILTER_DELTA, "delta", NOTHING, false },
	{ BPK_FILTER_BYTEDELTA, "bytedelta", WIDTH, false },
	{ BPK_FILTER_TRUNC_PREC, "trunc", BITS, true },
	{ BPK_FILTER_INT_TRUNC, "int_trunc", BITS, true },
};

enum { NROWS = sizeof rows / sizeof rows[0] };

/* Separate from the rows above, because it is never encoded. */
static const struct row bytedelta_1 = { BPK_FILTER_BYTEDELTA_1, "bytedelta1", WIDTH, false };

static const struct row *row_of(unsigned filter)
{
	for (size_t i = 0; i < NROWS; i++)
		if ((unsigned)rows[i].filter == filter)
			return &rows[i];
	return filter == BPK_FILTER_BYTEDELTA_1 ? &bytedelta_1 : NULL;
}

const char *bpk_filter_name(unsigned filter)
{
	const struct row *row = row_of(filter);

	return row == NULL ? NULL : row->name;
}

const char *bpk_filter_at(size_t index)
{
	return index < NROWS ? rows[index].name : NULL;
}

const char *bpk_filter_registered(unsigned filter)
{
	return filter == 32 ? "ndcell" : filter == 33 ? "ndmean" : NULL;
}

const char *bpk_codec_registered(unsigned codec)
{
	static const char *const names[] = { "ndlz",
					     "zfp fixed accuracy",
					     "zfp fixed precision",
					     "zfp fixed rate",
					     "openhtj2k",
					     "grok",
					     "openzl",
					     "j2k",
					     "htj2k" };

	return codec >= 32 && codec - 32 < sizeof names / sizeof *names ? names[codec - 32] : NULL;
}

bool bpk_pipeline_equal(const struct bpk_pipeline *a, const struct bpk_pipeline *b)
{
	if (a->nsteps != b->nsteps)
		return false;
	for (unsigned i = 0; i < a->nsteps; i++)
		if (a->steps[i].filter != b->steps[i].filter ||
		    a->steps[i].meta != b->steps[i].meta)
			return false;
	return true;
}

bool bpk_pipeline_is_lossy(const struct bpk_pipeline *pipeline)
{
	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		const struct row *row = row_of(pipeline->steps[i].filter);

		if (row != NULL && row->lossy)
			return true;
	}
	return false;
}

bool bpk_pipeline_is_plain(const struct bpk_pipeline *pipeline)
{
	return pipeline->nsteps == 0 || (pipeline->nsteps == 1 && pipeline->steps[0].meta == 0 &&
					 (pipeline->steps[0].filter == BPK_FILTER_SHUFFLE ||
					  pipeline->steps[0].filter == BPK_FILTER_BITSHUFFLE));
}

/* ---- Text ---- */

const char *bpk_pipeline_print(const struct bpk_pipeline *pipeline, char out[BPK_PIPELINE_TEXT])
{
	size_t used = 0;

	snprintf(out, BPK_PIPELINE_TEXT, "none");
	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		const struct bpk_filter_step *step = &pipeline->steps[i];
		const struct row *row = row_of(step->filter);
		const char *comma = i > 0 ? "," : "", *name = row == NULL ? "?" : row->name;
		size_t room = BPK_PIPELINE_TEXT - used;

		if (row != NULL && row->parameter == BITS)
			used += (size_t)snprintf(out + used, room, "%s%s:%d", comma, name,
						 (int8_t)step->meta);
		else if (row != NULL && row->parameter == WIDTH && step->meta != 0)
			used += (size_t)snprintf(out + used, room, "%s%s:%u", comma, name,
						 step->meta);
		else
			used += (size_t)snprintf(out + used, room, "%s%s", comma, name);
	}
	return out;
}

static int find_name(const char *text, size_t size, const struct row **row, struct bpk_err *err)
{
	for (size_t i = 0; i < NROWS; i++) {
		*row = &rows[i];
		if (strlen(rows[i].name) == size && memcmp(rows[i].name, text, size) == 0)
			return 0;
	}
	return bpk_fail(
		err, BPK_USAGE,
		"unknown filter '%.*s', expected none, shuffle, bitshuffle, delta, bytedelta, "
		"trunc:N and int_trunc:N, separated by commas",
		(int)bpk_min_size(size, 64), text);
}

static int take_parameter(const struct row *row, const char *text, size_t size, uint8_t *meta,
			  struct bpk_err *err)
{
	long least = row->parameter == WIDTH ? 1 : -128, most = row->parameter == WIDTH ? 255 : 127;
	char digits[8] = "", *end;
	long value;

	*meta = 0;
	if (text == NULL && row->parameter == BITS)
		return bpk_fail(err, BPK_USAGE, "filter %s needs a number of bits, as %s:12",
				row->name, row->name);
	if (text == NULL)
		return 0;
	if (row->parameter == NOTHING)
		return bpk_fail(err, BPK_USAGE, "filter %s takes no number", row->name);
	if (size < sizeof digits)
		memcpy(digits, text, size);
	errno = 0;
	value = strtol(digits, &end, 10);
	if (end == digits || *end != '\0' || errno != 0 || value < least || value > most)
		return bpk_fail(err, BPK_USAGE, "filter %s: '%.*s' is not a number from %ld to %ld",
				row->name, (int)bpk_min_size(size, 64), text, least, most);
	*meta = (uint8_t)value;
	return 0;
}

static int add_step(struct bpk_pipeline *pipeline, const char *text, size_t size,
		    struct bpk_err *err)
{
	const char *colon = memchr(text, ':', size);
	size_t name = colon == NULL ? size : (size_t)(colon - text);
	struct bpk_filter_step step;
	const struct row *row;

	if (find_name(text, name, &row, err) != 0 ||
	    take_parameter(row, colon == NULL ? NULL : colon + 1,
			   size - bpk_min_size(size, name + 1), &step.meta, err) != 0)
		return -1;
	if (row->filter == BPK_FILTER_NONE)
		return 0;
	if (row->filter == BPK_FILTER_DELTA && pipeline->nsteps > 0)
		return bpk_fail(err, BPK_USAGE, "filter delta must be the first one");
	if (pipeline->nsteps == BPK_CHUNK_MAX_FILTERS)
		return bpk_fail(err, BPK_USAGE, "more than %d filters", BPK_CHUNK_MAX_FILTERS);
	step.filter = (uint8_t)row->filter;
	pipeline->steps[pipeline->nsteps++] = step;
	return 0;
}

int bpk_pipeline_parse(const char *text, struct bpk_pipeline *pipeline, struct bpk_err *err)
{
	*pipeline = (struct bpk_pipeline){ 0 };
	for (;;) {
		size_t size = strcspn(text, ",");

		if (add_step(pipeline, text, size, err) != 0)
			return -1;
		if (text[size] == '\0')
			return 0;
		text += size + 1;
	}
}
