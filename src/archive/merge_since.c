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
#include <stdio.h>

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
	bool is_there;                 /* the index tells where */
	const struct bpk_saved *saved; /* NULL: it was not found */
	bool intact;                   /* it lies there, and is intact */
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
		return bpk_input_subject(&m->copies[copy], err);
	if (ops->open(&index->place, &options, &index->reader, &why) == 0)
		return 0;
	index->reader = NULL;
	return bpk_err_pass(&why, err) == 0 ? 0 : bpk_input_subject(&m->copies[copy], err);
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

static void look_up(const struct bpk_merge *m, struct indexed *index, uint64_t number,
		    struct spot *spot)
{
	spot->is_there = m->format->reader->locate(index->reader, number, &spot->where, NULL) == 0;
	spot->intact = spot->is_there && spot->saved != NULL && spot->saved->intact &&
		       (spot->saved->special != BPK_SPECIAL_NONE ||
			spot->saved->offset == spot->where.packed_offset);
}

/* True if the copy has a chunk of a single file at this offset. */
static bool is_followed(const struct bpk_merge *m, size_t copy, uint64_t at)
{
	const struct bpk_salvage *found = &m->found[copy];
	const struct bpk_saved *next;

	if (m->names != NULL || found->count == 0)
		return false;
	next = &found->all[bpk_find_last(&found->all->offset, sizeof *found->all, found->count,
					 at)];
	return next->intact && next->offset == at;
}

/* Where copy b has lost the chunk that is intact in copy a; if that has moved there, where both
 * indexes say. BPK_UNKNOWN: they do not. */
static uint64_t place_of_lost(const struct bpk_salvage *a, const struct spot *x,
			      const struct bpk_salvage *b)
{
	uint64_t entry;

	if (x->intact)
		return x->saved->offset;
	if (a->entry_of == NULL || b->entry_of == NULL)
		return BPK_UNKNOWN;
	entry = a->entry_of(a->parts, x->saved->number);
	return entry == b->entry_of(b->parts, x->saved->number) ? entry : BPK_UNKNOWN;
}

/* *other: the chunk, intact in copy a alone, is not the one that copy b, whose index may be sound,
 * has lost. */
static int compare_lost(struct bpk_merge *m, size_t a, const struct spot *x, size_t b,
			const struct spot *y, bool sound, bool *other, struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[a];
	struct bpk_merge_file *file = bpk_merge_file_of(m, found, x->saved);
	const struct bpk_merge_run run = bpk_merge_run_of(found, x->saved, a);
	uint64_t at = place_of_lost(found, x, &m->found[b]);
	const struct bpk_merge_rest rest = { b, at, at, is_followed(m, b, at + run.size), false };
	size_t digest = found->checksum->size;
	bool both = x->intact && y->is_there;
	bool moved = both && x->where.packed_offset != y->where.packed_offset;
	bool resized = both && x->where.header.packed_size != y->where.header.packed_size;

	*other = (moved || resized) && sound;
	if (*other || moved || digest == 0 || at == BPK_UNKNOWN)
		return 0;
	if (found->seal_size > 0)
		return file == NULL ? 0 : bpk_merge_compare_lost(m, file, &run, &rest, other, err);
	/* the digest of an index was tested */
	*other = x->intact && sound && y->is_there &&
		 memcmp(x->where.digest, y->where.digest, digest) != 0;
	return 0;
}

/* True if a chunk is intact in a copy, at its place or elsewhere, and lost in the other one. */
static bool is_lost(const struct spot *x, const struct spot *y)
{
	return x->intact ? !y->intact
			 : x->saved != NULL && x->saved->intact &&
				   (y->saved == NULL || !y->saved->intact);
}

static int note_chunk(struct bpk_merge *m, size_t a, size_t b, uint64_t number, struct bpk_err *err)
{
	char proof[48];

	snprintf(proof, sizeof proof, "chunk %" PRIu64 " shows", number);
	return bpk_merge_note_states(m, a, b, proof, err);
}

/* ---- by indexes ---- */

/* True if the metadata of two copies differ, which nothing has damaged. */
static bool have_other_metadata(const struct bpk_merge *m, const struct indexed *left,
				const struct indexed *right)
{
	const struct bpk_info *x = m->format->reader->info(left->reader);
	const struct bpk_info *y = m->format->reader->info(right->reader);

	return x->damage == NULL && y->damage == NULL &&
	       (x->metadata.given != y->metadata.given ||
		x->metadata.text.size != y->metadata.text.size ||
		(x->metadata.text.size > 0 &&
		 memcmp(x->metadata.text.data, y->metadata.text.data, x->metadata.text.size) != 0));
}

/* Compare the chunks of two copies. */
static int compare_chunks(struct bpk_merge *m, size_t a, struct indexed *left, size_t b,
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

		look_up(m, left, n, &x);
		look_up(m, right, n, &y);
		lost = lost || !x.intact || !y.intact;
		if (x.intact && y.intact && x.where.packed_offset != y.where.packed_offset)
			moved = bpk_min_u64(moved, n);
		else if (is_lost(&x, &y))
			rc = compare_lost(m, a, &x, b, &y, right->sound, &other, err);
		else if (is_lost(&y, &x))
			rc = compare_lost(m, b, &y, a, &x, left->sound, &other, err);
		if (rc != 0)
			return -1;
		differs = other ? n : differs;
	}
	if (differs == BPK_UNKNOWN && lost)
		differs = moved;
	return differs == BPK_UNKNOWN ? 0 : note_chunk(m, a, b, differs, err);
}

static int compare(struct bpk_merge *m, size_t a, struct indexed *left, size_t b,
		   struct indexed *right, struct bpk_err *err)
{
	return have_other_metadata(m, left, right)
		       ? bpk_merge_note_states(m, a, b, "their metadata show", err)
		       : compare_chunks(m, a, left, b, right, err);
}

/* True if a file of the copy has this size. */
static bool has_size(const struct bpk_merge *m, size_t copy, uint64_t size)
{
	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].sizes[copy] == size)
			return true;
	return false;
}

/* True if a file of the copy has the size that its header says. */
static bool has_own_size(const struct bpk_merge *m, size_t copy)
{
	return has_size(m, copy, m->found[copy].file_size);
}

/* True if the size in the header of copy a is damaged, as the file has that of copy b. */
static bool has_damaged_size(const struct bpk_merge *m, size_t a, size_t b)
{
	return m->found[a].state == 0 && !has_own_size(m, a) &&
	       has_size(m, a, m->found[b].file_size);
}

static bool has_losses(const struct bpk_salvage *found)
{
	return !bpk_merge_is_sure(found) || bpk_salvage_intact(found) < found->nchunks;
}

/* The header of the copy is proven. */
static bool has_proven_header(const struct bpk_merge *m, size_t copy)
{
	return m->found[copy].state != 0 || has_own_size(m, copy);
}

/* A change makes the file of an index longer, and says so in the header. A copy that has lost its
 * end has no other proof of that. */
static int compare_headers(struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];

	if (x->file_size == y->file_size || x->file_size == 0 || y->file_size == 0 ||
	    (!has_proven_header(m, a) && !has_proven_header(m, b)) ||
	    (!has_losses(x) && !has_losses(y)) || has_damaged_size(m, a, b) ||
	    has_damaged_size(m, b, a))
		return 0;
	return bpk_merge_note_states(m, a, b, "their headers show", err);
}

/* Digests, or metadata, that are intact in both copies. */
static int compare_parts(struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	uint64_t x = m->found[a].state, y = m->found[b].state;

	return x == 0 || y == 0 || x == y
		       ? 0
		       : bpk_merge_note_states(
				 m, a, b, "parts outside of chunks show that are intact in both",
				 err);
}

/* The chunks of a copy, as its header says; 0: that is damaged, or lost. */
static uint64_t count_of(const struct bpk_salvage *found)
{
	return found->counted && !found->is_least ? found->nchunks : found->likely;
}

/* True if a copy that has lost its end is of a longer state than another one, which is certain. */
static bool claims_more(const struct bpk_salvage *x, const struct bpk_salvage *y)
{
	return bpk_merge_is_sure(y) && !y->is_least && x->claimed > y->nchunks;
}

/* True if the size of the last chunk is known. */
static bool knows_end(const struct bpk_salvage *found)
{
	return found->counted && !found->uneven && found->last_size != BPK_UNKNOWN &&
	       (found->count > 0 || found->state != 0);
}

/* A short append makes the last chunk longer. */
static int compare_ends(struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];

	if ((count_of(x) > 0 && count_of(y) > 0 && count_of(x) != count_of(y)) ||
	    claims_more(x, y) || claims_more(y, x))
		return bpk_merge_note_states(m, a, b, "their headers show", err);
	if (!knows_end(x) || !knows_end(y) || x->nchunks != y->nchunks ||
	    x->last_size == y->last_size)
		return 0;
	return bpk_merge_note_states(m, a, b, "their last chunks show", err);
}

/* ---- by entries ---- */

/* The bytes that came before a chunk, by its entry; wraps around if bytes went. */
static uint64_t shift_of(const struct bpk_salvage *found, size_t i)
{
	return found->all[i].offset - found->entry_of(found->parts, found->all[i].number);
}

/* True if an intact chunk confirms the entry of this number: it begins or ends there, or lies as
 * far behind as the one before or behind it, where the copy is certain of their numbers. */
static bool is_confirmed(const struct bpk_salvage *found, uint64_t number)
{
	uint64_t entry = found->entry_of(found->parts, number);
	const struct bpk_saved *all = found->all;
	size_t i;

	if (found->count == 0)
		return false;
	i = bpk_find_last(&all->offset, sizeof *all, found->count, entry);
	if (all[i].intact && (all[i].offset == entry ||
			      all[i].offset + all[i].packed_size + found->seal_size == entry))
		return true;
	i = bpk_find_last(&all->number, sizeof *all, found->count, number);
	if (!bpk_merge_is_sure(found) || all[i].number != number || !all[i].intact)
		return false;
	return (i > 0 && shift_of(found, i - 1) == shift_of(found, i)) ||
	       (i + 1 < found->count && shift_of(found, i + 1) == shift_of(found, i));
}

/* A write that makes a chunk longer or shorter moves others. Damage to an entry makes it none that
 * a chunk confirms. */
static int compare_entries(struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];
	uint64_t count = bpk_min_u64(count_of(x), count_of(y));

	if (x->entry_of == NULL || y->entry_of == NULL || (!has_losses(x) && !has_losses(y)))
		return 0;
	for (uint64_t n = 0; n < count; n++)
		if (x->entry_of(x->parts, n) != y->entry_of(y->parts, n) && is_confirmed(x, n) &&
		    is_confirmed(y, n))
			return bpk_merge_note_states(m, a, b, "their offsets show", err);
	return 0;
}

/* ---- All ---- */

int bpk_merge_find_states(struct bpk_merge *m, struct bpk_err *err)
{
	struct indexed all[BPK_MERGE_MOST] = { 0 };
	int rc = bpk_merge_list_prints(m, err);

	for (size_t c = 0; rc == 0 && c < m->ncopies; c++)
		rc = open_index(m, c, &all[c], err);
	for (size_t b = 1; rc == 0 && b < m->ncopies; b++)
		for (size_t a = 0; rc == 0 && a < b; a++) {
			if (bpk_merge_has_same_list(m, a, b))
				continue;
			if (all[a].reader != NULL && all[b].reader != NULL)
				rc = compare(m, a, &all[a], b, &all[b], err);
			if (rc == 0)
				rc = compare_headers(m, a, b, err);
			if (rc == 0)
				rc = compare_parts(m, a, b, err);
			if (rc == 0)
				rc = compare_ends(m, a, b, err);
			if (rc == 0)
				rc = compare_entries(m, a, b, err);
		}
	for (size_t c = 0; c < m->ncopies; c++)
		if (all[c].reader != NULL)
			m->format->reader->close(all[c].reader);
	return rc;
}
