/* Copies parts of arrays from a source to a draft, in C order. cat and unpack --slice call it. */
#include <inttypes.h>

#include "flow/flow.h"

enum {
	GATHERED = 1 << 20, /* runs that are written at a time */
	CLOSE = 4096,       /* runs no further apart are read together */
	AHEAD = 1 << 16,    /* so many bytes of them at a time */
	SLAB = 32 << 20,    /* and brought from Fortran's order into C's at a time, twice */
};

/* A part on its way. */
struct copy {
	struct bpk_source *source;
	uint64_t base; /* of the array in it */
	const struct bpk_array *array;
	struct bpk_draft *draft;
	struct bpk_buf runs, turned; /* runs.size bytes are gathered */
	struct bpk_buf ahead;        /* bytes around short runs */
	uint64_t ahead_at;           /* in the source */
	uint64_t ahead_end;          /* of the runs that lie close to each other; 0: they do not */
};

/*
 * The next run. Short runs that lie close to each other are read together, up to the last one of
 * their dimension.
 */
static bool next_run(struct copy *c, struct bpk_runs *runs, uint64_t *offset, uint64_t *size)
{
	size_t last = runs->ndimensions > 0 ? runs->ndimensions - 1 : 0;
	bool close = runs->ndimensions > 0 && runs->stride[last] <= CLOSE &&
		     bpk_source_seekable(c->source);

	c->ahead_end = 0;
	if (close)
		c->ahead_end = c->base + runs->offset + runs->size +
			       (runs->stop[last] - runs->at[last] - 1) * runs->stride[last];
	return bpk_runs_next(runs, offset, size);
}

/* Take a run from the bytes that are read ahead. False: it is to be read alone, as bytes between
 * runs may be damaged. */
static bool read_ahead(struct copy *c, uint64_t offset, struct bpk_span out)
{
	uint64_t size = bpk_min_u64(AHEAD, c->ahead_end - bpk_min_u64(c->ahead_end, offset));
	struct bpk_err err = { 0 };

	if (size < out.size)
		return false;
	if (offset < c->ahead_at || offset - c->ahead_at > c->ahead.size ||
	    out.size > c->ahead.size - (size_t)(offset - c->ahead_at)) {
		c->ahead_at = offset;
		if (bpk_buf_resize(&c->ahead, (size_t)size, &err) != 0 ||
		    bpk_source_need_at(c->source, offset, bpk_span(c->ahead.data, c->ahead.size),
				       &err) != 0) {
			c->ahead.size = 0;
			return false;
		}
	}
	memcpy(out.data, c->ahead.data + (offset - c->ahead_at), out.size);
	return true;
}

static int read_run(struct copy *c, uint64_t offset, struct bpk_span out, struct bpk_err *err)
{
	uint64_t skipped;
	size_t got;

	if (c->ahead_end > 0 && read_ahead(c, offset, out))
		return 0;
	if (bpk_source_seekable(c->source))
		return bpk_source_need_at(c->source, offset, out, err);
	if (bpk_source_skip(c->source, offset - bpk_source_tell(c->source), &skipped, err) != 0 ||
	    bpk_source_read(c->source, out, &got, err) != 0)
		return -1;
	if (got == out.size)
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "ends %zu bytes early", out.size - got);
}

static int flush(struct copy *c, struct bpk_err *err)
{
	int rc = bpk_draft_write(c->draft, bpk_buf_view(&c->runs), err);

	c->runs.size = 0;
	return rc;
}

/* Gather size bytes at offset; once most bytes are gathered they are written. */
static int add(struct copy *c, uint64_t offset, uint64_t size, size_t most, struct bpk_err *err)
{
	while (size > 0) {
		size_t part = (size_t)bpk_min_u64(size, most - c->runs.size);

		if (read_run(c, c->base + offset, bpk_span(c->runs.data + c->runs.size, part),
			     err) != 0)
			return -1;
		c->runs.size += part;
		offset += part;
		size -= part;
		if (c->runs.size == most && flush(c, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- In C's order: as the bytes lie ---- */

static int copy_runs(struct copy *c, const struct bpk_slice *slice, struct bpk_err *err)
{
	struct bpk_runs runs;
	uint64_t offset, size;

	if (bpk_buf_reserve(&c->runs, GATHERED, err) != 0)
		return -1;
	bpk_runs_begin(c->array, slice, &runs);
	while (next_run(c, &runs, &offset, &size))
		if (add(c, offset, size, GATHERED, err) != 0)
			return -1;
	return flush(c, err);
}

/* ---- In Fortran's order: slab by slab, in the order in which they are written ---- */

static int copy_slab(struct copy *c, const struct bpk_slice *slab, struct bpk_err *err)
{
	size_t item = (size_t)c->array->dtype.size;
	size_t whole = (size_t)bpk_slice_items(slab) * item;
	struct bpk_runs runs;
	uint64_t offset, size;

	if (bpk_buf_reserve(&c->runs, whole, err) != 0 ||
	    bpk_buf_resize(&c->turned, whole, err) != 0)
		return -1;
	bpk_runs_begin(c->array, slab, &runs);
	while (next_run(c, &runs, &offset, &size))
		if (add(c, offset, size, whole + 1, err) != 0)
			return -1;
	bpk_slice_transpose(slab, item, bpk_buf_view(&c->runs),
			    bpk_span(c->turned.data, c->turned.size));
	c->runs.size = 0;
	return bpk_draft_write(c->draft, bpk_buf_view(&c->turned), err);
}

/*
 * A slab has one index in each dimension before the one that is cut, step indexes in the cut one,
 * and all of the part's indexes in the dimensions behind it.
 */
static size_t find_cut(const struct bpk_slice *slice, uint64_t item, uint64_t *step)
{
	size_t cut = slice->ndimensions;
	uint64_t inner = item, length = 1;

	while (cut > 0) {
		length = bpk_slice_length(slice, cut - 1);
		cut--;
		if (length > SLAB / inner)
			break;
		inner *= length;
		length = 1;
	}
	*step = length == 1 ? bpk_slice_length(slice, cut) : bpk_max_u64(SLAB / inner, 1);
	return cut;
}

static void start_slab(const struct bpk_slice *slice, size_t cut, uint64_t step,
		       struct bpk_slice *slab)
{
	for (size_t i = 0; i < cut; i++)
		slab->stop[i] = slab->start[i] + 1;
	slab->stop[cut] = slice->stop[cut];
	if (step < bpk_slice_length(slab, cut))
		slab->stop[cut] = slab->start[cut] + step * bpk_max_u64(1, slab->step[cut]);
}

static bool next_slab(const struct bpk_slice *slice, size_t cut, uint64_t step,
		      struct bpk_slice *slab)
{
	for (size_t i = cut + 1; i-- > 0;) {
		uint64_t past = i == cut ? step : 1;

		slab->stop[i] = slice->stop[i];
		if (past < bpk_slice_length(slab, i)) {
			slab->start[i] += past * bpk_max_u64(1, slab->step[i]);
			start_slab(slice, cut, step, slab);
			return true;
		}
		slab->start[i] = slice->start[i];
	}
	return false;
}

static int copy_slabs(struct copy *c, const struct bpk_slice *slice, struct bpk_err *err)
{
	struct bpk_slice slab = *slice;
	uint64_t step;
	size_t cut;

	if (bpk_slice_items(slice) == 0)
		return 0;
	cut = find_cut(slice, c->array->dtype.size, &step);
	start_slab(slice, cut, step, &slab);
	if (!bpk_source_seekable(c->source) && bpk_slice_items(&slab) < bpk_slice_items(slice))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"comes through a pipe: a part this large of an array in Fortran's "
				"order is read in several passes");
	do
		if (copy_slab(c, &slab, err) != 0)
			return -1;
	while (next_slab(slice, cut, step, &slab));
	return 0;
}

int bpk_slice_copy(struct bpk_source *source, uint64_t offset, const struct bpk_array *array,
		   const struct bpk_slice *slice, struct bpk_draft *draft, struct bpk_err *err)
{
	struct copy c = { .source = source, .base = offset, .array = array, .draft = draft };
	bool turns = array->fortran && array->ndimensions > 1;
	int rc = (turns ? copy_slabs : copy_runs)(&c, slice, err);

	bpk_buf_clear(&c.runs);
	bpk_buf_clear(&c.turned);
	bpk_buf_clear(&c.ahead);
	return rc;
}
