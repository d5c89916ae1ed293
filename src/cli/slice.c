#include "cli/slice.h"

/* ---- As users write it ---- */

enum { SIDE_TEXT = 48 }; /* two numbers and a colon */

/* An index, which is no range of one: beyond the end there is nothing to be cut off. */
static int parse_index(const char *text, struct bpk_opt_slice_side *side, struct bpk_err *err)
{
	struct bpk_opt_offset offset;

	if (bpk_parse_offset(text, &offset, err) != 0)
		return bpk_fail(err, BPK_USAGE, "'%s' is no part of a dimension, expected A:B or N",
				text);
	side->is_index = true;
	side->range = (struct bpk_opt_range){
		.given = true,
		.has_start = true,
		.start = offset.negative ? -(int64_t)offset.distance : (int64_t)offset.distance,
	};
	return 0;
}

static int parse_side(const char *text, struct bpk_opt_slice *slice, struct bpk_err *err)
{
	struct bpk_opt_slice_side *side = &slice->sides[slice->count];

	if (strcmp(text, "...") == 0) {
		if (slice->has_ellipsis)
			return bpk_fail(err, BPK_USAGE, "more than one '...'");
		slice->has_ellipsis = true;
		slice->before_ellipsis = slice->count;
		return 0;
	}
	if (slice->count == BPK_ARRAY_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_USAGE, "more than %d dimensions",
				BPK_ARRAY_MAX_DIMENSIONS);
	slice->count++;
	return strchr(text, ':') == NULL ? parse_index(text, side, err)
					 : bpk_parse_range(text, &side->range, err);
}

int bpk_parse_slice(const char *text, struct bpk_opt_slice *out, struct bpk_err *err)
{
	struct bpk_opt_slice slice = { .given = true };
	char side[SIDE_TEXT];

	for (;;) {
		size_t length = strcspn(text, ",");

		if (length >= sizeof side)
			return bpk_fail(err, BPK_USAGE,
					"'%.*s' is no part of a dimension, expected A:B or N",
					SIDE_TEXT, text);
		memcpy(side, text, length);
		side[length] = '\0';
		if (parse_side(side, &slice, err) != 0)
			return -1;
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	*out = slice;
	return 0;
}

/* ---- In an array ---- */

static int resolve_index(int64_t index, size_t dimension, uint64_t length, uint64_t *start,
			 struct bpk_err *err)
{
	bool good = index < 0 ? (uint64_t)-index <= length : (uint64_t)index < length;

	if (!good)
		return bpk_fail(err, BPK_USAGE,
				"index %lld leaves dimension %zu of the array, which is %llu long",
				(long long)index, dimension, (unsigned long long)length);
	*start = index < 0 ? length - (uint64_t)-index : (uint64_t)index;
	return 0;
}

static int resolve_side(const struct bpk_opt_slice_side *side, size_t dimension, uint64_t length,
			uint64_t *start, uint64_t *stop, struct bpk_err *err)
{
	if (!side->is_index)
		return bpk_range_resolve(&side->range, length, start, stop, err);
	if (resolve_index(side->range.start, dimension, length, start, err) != 0)
		return -1;
	*stop = *start + 1;
	return 0;
}

int bpk_slice_resolve(const struct bpk_opt_slice *slice, const struct bpk_array *array,
		      struct bpk_slice *out, struct bpk_err *err)
{
	size_t before = slice->has_ellipsis ? slice->before_ellipsis : slice->count;
	size_t count = array->ndimensions;

	if (slice->count > count)
		return bpk_fail(err, BPK_USAGE, "the slice has %zu dimensions, the array has %zu",
				slice->count, count);
	*out = (struct bpk_slice){ .ndimensions = count };
	memcpy(out->stop, array->shape, sizeof out->stop);
	for (size_t k = 0; k < slice->count; k++) {
		size_t i = k < before ? k : count - slice->count + k;

		if (resolve_side(&slice->sides[k], i, array->shape[i], &out->start[i],
				 &out->stop[i], err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Out of bytes in C order ---- */

/* A slice on its way: runs of bytes that lie one behind the other in the array. */
struct copy {
	struct bpk_source *source;
	struct bpk_draft *draft;
	const struct bpk_array *array;
	const struct bpk_slice *slice;
	uint64_t at[BPK_ARRAY_MAX_DIMENSIONS];
	size_t outer;       /* dimensions that are counted through */
	uint64_t run;       /* bytes of a run */
	struct bpk_buf out; /* gathered runs */
};

enum { GATHERED = 1 << 20 };

static int flush(struct copy *c, struct bpk_err *err)
{
	int rc = bpk_draft_write(c->draft, bpk_buf_view(&c->out), err);

	c->out.size = 0;
	return rc;
}

/* Runs ascend, so a pipe can be read on to them. */
static int add(struct copy *c, uint64_t offset, uint64_t size, struct bpk_err *err)
{
	uint64_t skipped;

	if (bpk_source_skip(c->source, offset - bpk_source_tell(c->source), &skipped, err) != 0)
		return -1;
	while (size > 0) {
		size_t part = (size_t)bpk_min_u64(size, GATHERED - c->out.size), got;

		if (bpk_source_read(c->source, bpk_span(c->out.data + c->out.size, part), &got,
				    err) != 0)
			return -1;
		if (got < part)
			return bpk_fail(err, BPK_CORRUPT, "ends %llu bytes early",
					(unsigned long long)(size - got));
		c->out.size += part;
		size -= part;
		if (c->out.size == GATHERED && flush(c, err) != 0)
			return -1;
	}
	return 0;
}

/* The innermost dimensions that are whole make one run with the one before them. */
static void settle_run(struct copy *c)
{
	const struct bpk_slice *slice = c->slice;
	size_t i = slice->ndimensions;

	c->run = c->array->dtype.size;
	for (bool whole = true; i > 0 && whole; i--) {
		uint64_t length = slice->stop[i - 1] - slice->start[i - 1];

		c->run *= length;
		whole = length == c->array->shape[i - 1];
	}
	c->outer = i;
	memcpy(c->at, slice->start, sizeof c->at);
}

static uint64_t offset_of(const struct copy *c)
{
	uint64_t item = 0;

	for (size_t i = 0; i < c->array->ndimensions; i++)
		item = item * c->array->shape[i] + c->at[i];
	return item * c->array->dtype.size;
}

static bool step(struct copy *c)
{
	for (size_t i = c->outer; i-- > 0;) {
		if (++c->at[i] < c->slice->stop[i])
			return true;
		c->at[i] = c->slice->start[i];
	}
	return false;
}

static int copy_runs(struct copy *c, struct bpk_err *err)
{
	for (size_t i = 0; i < c->slice->ndimensions; i++)
		if (c->slice->start[i] == c->slice->stop[i])
			return 0;
	settle_run(c);
	if (bpk_buf_reserve(&c->out, GATHERED, err) != 0)
		return -1;
	do
		if (add(c, offset_of(c), c->run, err) != 0)
			return -1;
	while (step(c));
	return flush(c, err);
}

int bpk_slice_copy(struct bpk_job *job, const struct bpk_array *array,
		   const struct bpk_slice *slice, struct bpk_err *err)
{
	enum { SLOTS = 4 };
	struct bpk_input *in = job->in;
	struct copy c = { .draft = job->draft, .array = array, .slice = slice };
	int rc = bpk_view_open(in->format->reader, in->reader, job->shared->no_check, SLOTS,
			       &c.source, err);

	if (rc == 0)
		rc = copy_runs(&c, err);
	bpk_buf_clear(&c.out);
	bpk_source_close(c.source);
	return rc == 0 ? 0 : bpk_input_subject(in, err);
}
