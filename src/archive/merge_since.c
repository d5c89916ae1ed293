/*
 * Tells copies of one archive that are of two states: it was written to between them. Where a chunk
 * is lost in one of them, that of the other may be older, or newer. Called by merge.c.
 *
 *     copy 0    header | chunk 0 | chunk 1 | chunk 2 |
 *     copy 1    header | chunk 0 | ##### 1 #### | chunk 2 |     an intact chunk has another place
 *
 * Damage changes the bytes of an index as well. So its word counts where an intact chunk is at the
 * place that it names, or where the reader has accounted for every byte outside of the chunks.
 */
#include "archive/merge_inner.h"

#include <inttypes.h>

/* A copy with its own index. One thread's own. */
struct indexed {
	struct bpk_place place; /* borrowed */
	void *reader;           /* NULL: the index does not tell where chunks are */
	bool sound;             /* every byte outside of the chunks is accounted for */
	size_t next;            /* in the list of chunks that were found */
};

/* A chunk of a copy. */
struct spot {
	struct bpk_where where;
	const struct bpk_saved *saved; /* NULL: it was not found */
	bool intact;                   /* it lies where the index says, and is intact */
};

static int open_index(const struct bpk_merge *m, size_t copy, struct indexed *index,
		      struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true };
	const struct bpk_reader_ops *ops = m->format->reader;
	struct bpk_err why = { 0 };

	*index = (struct indexed){ .place = m->copies[copy].place };
	if (ops->locate == NULL || !bpk_merge_is_sure(&m->found[copy]))
		return 0;
	if (bpk_merge_test(m, &index->place, NULL, NULL, &index->sound, err) != 0)
		return -1;
	if (ops->open(&index->place, &options, &index->reader, &why) == 0)
		return 0;
	index->reader = NULL;
	return bpk_err_pass(&why, err);
}

/* The next chunk that was found; NULL: there is none. */
static const struct bpk_saved *peek(const struct bpk_merge *m, size_t copy,
				    const struct indexed *index)
{
	const struct bpk_salvage *found = &m->found[copy];

	return index->next < found->count ? &found->all[index->next] : NULL;
}

/* Step to the next chunk that was found in either copy. False: there is none. */
static bool step(const struct bpk_merge *m, size_t a, struct indexed *left, size_t b,
		 struct indexed *right, struct spot *x, struct spot *y)
{
	const struct bpk_saved *one = peek(m, a, left), *other = peek(m, b, right);

	*x = (struct spot){ 0 };
	*y = (struct spot){ 0 };
	if (one != NULL && (other == NULL || one->number <= other->number)) {
		x->saved = one;
		left->next++;
	}
	if (other != NULL && (one == NULL || other->number <= one->number)) {
		y->saved = other;
		right->next++;
	}
	return one != NULL || other != NULL;
}

/* Look the chunk up in the index of a copy. False: that does not tell. */
static bool look_up(const struct bpk_merge *m, struct indexed *index, uint64_t number,
		    struct spot *spot)
{
	if (m->format->reader->locate(index->reader, number, &spot->where, NULL) != 0)
		return false;
	spot->intact = spot->saved != NULL && spot->saved->intact &&
		       (spot->saved->special != BPK_SPECIAL_NONE ||
			spot->saved->offset == spot->where.packed_offset);
	return true;
}

/* *most: more than half of the bytes of a chunk of copy a are others in copy b. */
static int compare_bytes(struct bpk_merge *m, size_t a, const struct bpk_saved *saved, size_t b,
			 bool *most, struct bpk_err *err)
{
	struct bpk_merge_file *file = bpk_merge_file_of(m, &m->found[a], saved);
	struct bpk_merge_run run = bpk_merge_run_of(&m->found[a], saved, a);
	struct bpk_buf left = { 0 }, right = { 0 };
	size_t nother = 0;
	int rc = 0;

	*most = false;
	if (file == NULL || file->sizes[b] == BPK_UNKNOWN || run.offset > file->sizes[b] ||
	    run.size > file->sizes[b] - run.offset)
		return 0;
	rc = bpk_merge_read_run(m, file, &run, &left, err);
	run.copy = b;
	if (rc == 0)
		rc = bpk_merge_read_run(m, file, &run, &right, err);
	for (size_t i = 0; rc == 0 && i < left.size; i++)
		nother += left.data[i] != right.data[i];
	*most = rc == 0 && nother > left.size / 2;
	bpk_buf_clear(&left);
	bpk_buf_clear(&right);
	return rc;
}

/* *other: the chunk, intact in copy a alone, is not the one that copy b has lost. */
static int compare_lost(struct bpk_merge *m, size_t a, const struct spot *x, size_t b,
			const struct spot *y, bool *other, struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[a];
	size_t digest = found->checksum->size;

	*other = x->where.packed_offset != y->where.packed_offset ||
		 x->where.header.packed_size != y->where.header.packed_size;
	if (*other || digest == 0 || memcmp(x->where.digest, y->where.digest, digest) == 0)
		return 0;
	/* a digest behind a chunk is damaged as that may be, and one of the index was tested */
	*other = found->seal_size == 0;
	return *other ? 0 : compare_bytes(m, a, x->saved, b, other, err);
}

static int note_states(struct bpk_merge *m, size_t a, size_t b, uint64_t number,
		       struct bpk_err *err)
{
	if (m->since.size > 0)
		return 0;
	if (bpk_buf_printf(&m->since, err,
			   "%s and %s are of two states of the archive, as chunk %" PRIu64
			   " shows; the result may be of the older one",
			   m->copies[a].path, m->copies[b].path, number) != 0)
		return -1;
	return bpk_buf_append(&m->since, bpk_view("", 1), err);
}

/* Compare the chunks of two copies by their indexes. */
static int compare(struct bpk_merge *m, size_t a, struct indexed *left, size_t b,
		   struct indexed *right, struct bpk_err *err)
{
	uint64_t differs = BPK_UNKNOWN, moved = BPK_UNKNOWN;
	struct spot x, y;
	bool lost = false;

	left->next = right->next = 0;
	while (differs == BPK_UNKNOWN && step(m, a, left, b, right, &x, &y)) {
		uint64_t n = x.saved != NULL ? x.saved->number : y.saved->number;
		bool other = false;
		int rc = 0;

		if (!look_up(m, left, n, &x) || !look_up(m, right, n, &y)) {
			lost = true;
			continue;
		}
		lost = lost || x.intact != y.intact;
		if (x.intact && y.intact && x.where.packed_offset != y.where.packed_offset)
			moved = bpk_min_u64(moved, n);
		else if (x.intact && !y.intact && right->sound)
			rc = compare_lost(m, a, &x, b, &y, &other, err);
		else if (y.intact && !x.intact && left->sound)
			rc = compare_lost(m, b, &y, a, &x, &other, err);
		if (rc != 0)
			return -1;
		differs = other ? n : differs;
	}
	if (differs == BPK_UNKNOWN && lost)
		differs = moved;
	return differs == BPK_UNKNOWN ? 0 : note_states(m, a, b, differs, err);
}

int bpk_merge_find_states(struct bpk_merge *m, struct bpk_err *err)
{
	struct indexed all[BPK_MERGE_MOST] = { 0 };
	int rc = 0;

	for (size_t c = 0; rc == 0 && c < m->ncopies; c++)
		rc = open_index(m, c, &all[c], err);
	for (size_t b = 1; rc == 0 && b < m->ncopies; b++)
		for (size_t a = 0; rc == 0 && a < b; a++)
			if (all[a].reader != NULL && all[b].reader != NULL)
				rc = compare(m, a, &all[a], b, &all[b], err);
	for (size_t c = 0; c < m->ncopies; c++)
		if (all[c].reader != NULL)
			m->format->reader->close(all[c].reader);
	return rc;
}
