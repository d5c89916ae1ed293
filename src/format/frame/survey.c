/*
 * Surveys the payload of a frame: chunks, holes between them, and chunks that share bytes. Info and
 * audit call it.
 */
#include "format/frame/chunks.h"
#include "format/frame/order.h"
#include "format/frame/survey.h"

#include <stdlib.h>

struct extent {
	uint64_t offset; /* sparse: number of the file */
	uint32_t number; /* of the chunk; below 2^28 */
	uint32_t size;
};

/* Extents swept at once. Those of a frame that was never changed follow each other. */
enum { BATCH = 1 << 16 };

struct walk {
	struct bpk_frame_reader *reader;
	struct bpk_frame_survey *survey;
	bpk_frame_look_fn *look;
	void *arg;

	struct extent *extents; /* not yet swept */
	size_t nextents, room;
	bool disordered; /* an extent lies before those that were swept */

	/* Then, in a second survey, extents are those of the moved chunks alone, and are swept
	 * between the others, which ascend. */
	struct bpk_frame_order *order;
	bool gathering; /* the moved chunks are taken */
	size_t nmerged; /* of extents */

	/* the swept extents */
	bool swept;
	uint64_t last;   /* offset of the last one */
	uint64_t end;    /* the greatest end ... */
	uint32_t widest; /* ... and the chunk that has it */
};

/* ---- Byte by byte ---- */

static int compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static void add_hole(struct bpk_frame_survey *survey, uint64_t start, uint64_t end)
{
	if (end <= start)
		return;
	survey->nholes++;
	survey->hole_size += end - start;
}

static void sweep_one(struct walk *w, const struct extent *extent)
{
	struct bpk_frame_survey *survey = w->survey;

	if (w->swept && extent->offset == w->last) {
		survey->nshared++;
		return;
	}
	w->swept = true;
	w->last = extent->offset;
	survey->packed_size += extent->size;
	if (w->reader->dir != NULL)
		return;
	if (extent->offset < w->end && survey->noverlaps++ == 0) {
		survey->first_overlap[0] = w->widest;
		survey->first_overlap[1] = extent->number;
	}
	add_hole(survey, w->end, extent->offset);
	if (extent->offset + extent->size > w->end) {
		w->end = extent->offset + extent->size;
		w->widest = extent->number;
	}
}

/* Sweep over the extents in the order of their bytes, or files. */
static void sweep(struct walk *w)
{
	if (w->nextents == 0)
		return;
	qsort(w->extents, w->nextents, sizeof *w->extents, compare);
	w->disordered = w->swept && w->extents[0].offset < w->last;
	for (size_t i = 0; i < w->nextents && !w->disordered; i++)
		sweep_one(w, &w->extents[i]);
	w->nextents = 0;
}

/* Sweep over the moved extents before one of the others; NULL: over the rest of them. */
static void merge(struct walk *w, const struct extent *before)
{
	while (w->nmerged < w->nextents &&
	       (before == NULL || compare(&w->extents[w->nmerged], before) < 0))
		sweep_one(w, &w->extents[w->nmerged++]);
}

static void add_extent(struct walk *w, const struct extent *extent)
{
	if (w->order != NULL && !w->gathering) {
		merge(w, extent);
		sweep_one(w, extent);
		return;
	}
	w->extents[w->nextents++] = *extent;
	if (w->order == NULL && w->nextents == w->room)
		sweep(w);
}

/* ---- Chunk by chunk ---- */

static int add_raw(struct bpk_frame_survey *survey, uint64_t raw_size, struct bpk_err *err)
{
	if (!bpk_add_u64(survey->raw_size, raw_size, &survey->raw_size))
		return bpk_fail(err, BPK_CORRUPT, "chunks unpack to more than 2^64 bytes");
	return 0;
}

/* The header's typesize may exceed the largest of chunks, which then have 1 ("Header"). */
static void compare_type(struct walk *w, uint64_t number, uint64_t times, unsigned typesize)
{
	uint32_t expected = w->reader->state.header.typesize;

	if (expected > BPK_CHUNK_MAX_TYPESIZE)
		expected = 1;
	if (typesize == expected)
		return;
	if (w->survey->ntypes == 0 || number < w->survey->first_type) {
		w->survey->first_type = number;
		w->survey->typesize = typesize;
	}
	w->survey->ntypes += times;
}

/* Count times chunks with equal entries, from number on. */
static int take(struct walk *w, uint64_t number, uint64_t times, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &w->reader->state;
	struct bpk_frame_survey *survey = w->survey;
	struct bpk_frame_found found;
	uint64_t raw_size, entry;

	if (w->look(w->arg, w->reader, number, &found, err) != 0)
		return -1;
	if (!bpk_mul_u64(found.header.raw_size, times, &raw_size))
		raw_size = UINT64_MAX;
	if (number + 1 < state->nchunks && state->header.chunk_size > 0 &&
	    found.header.raw_size < (uint64_t)state->header.chunk_size)
		survey->nuneven++;
	if (add_raw(survey, raw_size, err) != 0)
		return -1;
	if (found.offset == BPK_UNKNOWN)
		return 0;
	if (bpk_frame_entry(state, number, &entry, err) != 0)
		return -1;
	compare_type(w, number, times, found.header.typesize);
	survey->nstored += times;
	survey->nshared += times - 1;
	survey->variable_blocks = survey->variable_blocks || found.header.variable_blocks;
	if (survey->excess.kind == BPK_OK)
		bpk_frame_check_room(w->reader, number, &found, &survey->excess);
	add_extent(w, &(struct extent){ .offset = entry,
					.number = (uint32_t)number,
					.size = found.header.packed_size });
	return 0;
}

/* For an index of equal entries: count the first, and the last by itself, since its size
 * differs. */
static int take_uniform(struct walk *w, struct bpk_err *err)
{
	uint64_t n = w->reader->state.nchunks, entry;

	if (bpk_frame_entry(&w->reader->state, 0, &entry, err) != 0)
		return -1;
	if (bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE)
		return take(w, 0, n, err);
	if (n > 1 && take(w, 0, n - 1, err) != 0)
		return -1;
	return take(w, n - 1, 1, err);
}

static int take_all(struct walk *w, struct bpk_err *err)
{
	for (uint64_t i = 0; i < w->reader->state.nchunks && !w->disordered; i++)
		if (take(w, i, 1, err) != 0)
			return -1;
	return 0;
}

/* Take the chunks that are moved, or the others. */
static int take_some(struct walk *w, bool moved, struct bpk_err *err)
{
	bool is_moved;

	w->gathering = moved;
	for (uint64_t i = 0; i < w->reader->state.nchunks; i++)
		if (bpk_frame_order_is_moved(w->order, i, &is_moved, err) != 0 ||
		    (is_moved == moved && take(w, i, 1, err) != 0))
			return -1;
	return 0;
}

/* All chunks, of which some are moved. */
static int take_in_order(struct walk *w, struct bpk_err *err)
{
	if (take_some(w, true, err) != 0)
		return -1;
	qsort(w->extents, w->nextents, sizeof *w->extents, compare);
	if (take_some(w, false, err) != 0)
		return -1;
	merge(w, NULL);
	w->nextents = 0;
	return 0;
}

/* Add the bytes between index and trailer, or without an index those before the trailer. */
static void sweep_behind(struct walk *w)
{
	const struct bpk_frame_state *state = &w->reader->state;
	uint64_t end = state->index_size > 0 ? state->index_offset + state->index_size
					     : state->header.size;

	add_hole(w->survey, end, state->trailer_offset);
}

/* Take all chunks, with room for so many extents at once. */
static int survey(struct walk *w, uint64_t room, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &w->reader->state;
	int rc = 0;

	*w->survey = (struct bpk_frame_survey){ 0 };
	w->room = (size_t)room;
	w->extents = bpk_calloc(w->room, sizeof *w->extents, err);
	if (w->extents == NULL)
		return -1;
	if (w->order != NULL)
		rc = take_in_order(w, err);
	else if (state->nchunks > 0)
		rc = state->uniform ? take_uniform(w, err) : take_all(w, err);
	if (rc == 0)
		sweep(w);
	free(w->extents);
	if (rc != 0 || w->disordered)
		return rc;
	if (state->index_size > 0 && w->reader->dir == NULL)
		add_hole(w->survey, w->end, state->index_offset - state->header.size);
	sweep_behind(w);
	return 0;
}

int bpk_frame_survey_by(struct bpk_frame_reader *reader, bpk_frame_look_fn *look, void *arg,
			struct bpk_frame_survey *result, struct bpk_err *err)
{
	const struct walk begin = { .reader = reader, .look = look, .arg = arg, .survey = result };
	struct walk walk = begin;
	uint64_t nstored, nmoved;
	int rc;

	if (bpk_frame_count_stored(&reader->state, &nstored, err) != 0 ||
	    survey(&walk, bpk_min_u64(nstored + 1, BATCH), err) != 0)
		return -1;
	if (!walk.disordered)
		return 0;
	walk = begin;
	if (bpk_frame_order_new(&reader->state, &walk.order, &nmoved, err) != 0)
		return -1;
	rc = survey(&walk, nmoved + 1, err);
	bpk_frame_order_free(walk.order);
	return rc;
}

static int look_here(void *arg, struct bpk_frame_reader *r, uint64_t number,
		     struct bpk_frame_found *found, struct bpk_err *err)
{
	(void)arg;
	return bpk_frame_chunk_look(r, number, found, NULL, err);
}

int bpk_frame_survey_here(struct bpk_frame_reader *reader, struct bpk_frame_survey *result,
			  struct bpk_err *err)
{
	return bpk_frame_survey_by(reader, look_here, NULL, result, err);
}
