/* Tests copies and their union for bytes that nothing accounts for; and where copies are intact,
 * nothing of the damaged ones is taken. Called by merge.c and merge_choose.c. */
#include "archive/merge_inner.h"

#include <stdlib.h>

int bpk_merge_test(const struct bpk_merge *m, struct bpk_place *place, bpk_merge_test_fn *test,
		   void *arg, bool *passed, struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true };
	const struct bpk_reader_ops *ops = m->format->reader;
	struct bpk_err why = { 0 };
	void *reader = NULL;

	*passed = false;
	if (ops->open(place, &options, &reader, &why) == 0) {
		*passed = ops->info(reader)->damage == NULL &&
			  (test == NULL || test(arg, reader, &why) == 0) &&
			  (ops->audit == NULL ||
			   ops->audit(reader, bpk_remark_ignore, NULL, &why) == 0);
		ops->close(reader);
	}
	return *passed ? 0 : bpk_err_pass(&why, err);
}

/* True if each entry of the index leads to a chunk that was found. offsets: of these, ascending. */
static bool leads_to_chunks(const struct bpk_reader_ops *ops, void *reader,
			    const struct bpk_salvage *found, const uint64_t *offsets)
{
	for (uint64_t n = 0; n < found->nchunks; n++) {
		struct bpk_where where = { 0 };

		if (ops->locate(reader, n, &where, NULL) != 0 ||
		    !bpk_merge_has_u64(offsets, found->count, where.packed_offset))
			return false;
	}
	return true;
}

/* *shifted: bytes came or went in a Bloscpack file, so that the index does not lead to its chunks,
 * and digests over all of these do not test their order. */
static int find_shift(const struct bpk_merge *m, size_t copy, bool *shifted, struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true };
	const struct bpk_reader_ops *ops = m->format->reader;
	const struct bpk_salvage *found = &m->found[copy];
	struct bpk_place place = m->copies[copy].place;
	struct bpk_err why = { 0 };
	uint64_t *offsets;
	void *reader;

	*shifted = false;
	if (place.is_directory || found->seal_size == 0)
		return 0;
	if (ops->open(&place, &options, &reader, &why) != 0)
		return bpk_err_pass(&why, err) == 0 ? 0 : bpk_input_subject(&m->copies[copy], err);
	offsets = bpk_calloc(found->count, sizeof *offsets, err);
	if (offsets != NULL) {
		for (size_t i = 0; i < found->count; i++)
			offsets[i] = found->all[i].offset;
		bpk_merge_sort_u64(offsets, found->count);
		*shifted = !leads_to_chunks(ops, reader, found, offsets);
	}
	ops->close(reader);
	if (offsets == NULL)
		return -1;
	free(offsets);
	return 0;
}

/* *refuted: the seal proves other chunks. Its tree of leaves tells that of some chunks, too. */
static int test_seal(struct bpk_merge *m, size_t copy, bool *refuted, struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true };
	const struct bpk_salvage *found = &m->found[copy];
	const struct bpk_reader_ops *ops = m->format->reader;
	struct bpk_place place = m->copies[copy].place;
	struct bpk_err why = { 0 };
	void *reader = NULL;

	*refuted = false;
	if (ops->open(&place, &options, &reader, &why) == 0) {
		if (ops->refutes(reader, &place, found, refuted, &why) != 0)
			*refuted = false;
		ops->close(reader);
	}
	return bpk_err_pass(&why, err) == 0 ? 0 : bpk_input_subject(&m->copies[copy], err);
}

int bpk_merge_test_order(struct bpk_merge *m, size_t copy, struct bpk_err *err)
{
	struct bpk_salvage *found = &m->found[copy];
	enum bpk_merge_ident verdict = BPK_MERGE_NOT_RECORDED;
	bool refuted = false, shifted;

	if (found->count == 0 || found->numbered)
		return 0;
	if (found->sealed && found->counted && test_seal(m, copy, &refuted, err) != 0)
		return -1;
	found->disordered = found->disordered || refuted;
	if (found->disordered || bpk_salvage_intact(found) < found->nchunks)
		return 0;
	if (find_shift(m, copy, &shifted, err) != 0)
		return -1;
	if (shifted)
		return 0;
	if (m->compare(m->arg, &m->copies[copy], &verdict, err) != 0)
		return -1;
	found->disordered = verdict == BPK_MERGE_REFUTED;
	return 0;
}

/* A copy that is tested. */
struct tested {
	const struct bpk_merge *merge;
	size_t copy;
	uint64_t raw_size; /* by its header; BPK_UNKNOWN: that is lost */
	bool is_bare;      /* no digest tells whether its chunks are intact */
	bool is_sealed;
};

/* Fails if a chunk is not intact; the audit behind it tests the seal. The search may have found
 * chunks to which no index leads. */
static int test_chunks(void *arg, void *reader, struct bpk_err *err)
{
	struct tested *t = arg;
	const struct bpk_reader_ops *ops = t->merge->format->reader;
	const struct bpk_salvage *found = &t->merge->found[t->copy];
	const struct bpk_info *info = ops->info(reader);
	struct bpk_parcel parcel = { .want_size = SIZE_MAX };
	int rc = 0;

	t->raw_size = info->raw_size;
	t->is_sealed = info->seal.sealed;
	t->is_bare = !t->is_sealed &&
		     (info->chunks.checksum == NULL || info->chunks.checksum->size == 0);
	/* of concatenated archives the search has those of one */
	if (!found->is_part && bpk_salvage_intact(found) < info->chunks.count)
		return bpk_fail(err, BPK_CORRUPT, "chunks are lost");
	while ((rc = ops->fetch(reader, &parcel, err)) == 0 &&
	       (ops->check == NULL || (rc = ops->check(reader, &parcel, err)) == 0))
		parcel.number++;
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&parcel.raw);
	return rc < 0 ? -1 : 0;
}

/* Chunks that unpack may hold other bytes, and intact ones be swapped: a digest behind each of them
 * does not tell, but the recorded identity. */
static int look(const struct bpk_merge *m, size_t copy, struct bpk_merge_own *state,
		struct bpk_err *err)
{
	struct bpk_place place = m->copies[copy].place;
	struct tested tested = { .merge = m, .copy = copy, .raw_size = BPK_UNKNOWN };
	enum bpk_merge_ident verdict = BPK_MERGE_NOT_RECORDED;
	bool passed;

	if (bpk_merge_test(m, &place, test_chunks, &tested, &passed, err) != 0)
		return bpk_input_subject(&m->copies[copy], err);
	if (passed && m->compare(m->arg, &m->copies[copy], &verdict, err) != 0)
		return -1;
	state->raw_size = tested.raw_size;
	state->opens = passed && verdict != BPK_MERGE_REFUTED;
	state->intact = state->opens && (!tested.is_bare || verdict == BPK_MERGE_PROVEN);
	state->proven =
		state->intact && (tested.is_sealed || m->found[copy].numbered ||
				  m->found[copy].refutes != NULL || verdict == BPK_MERGE_PROVEN);
	return 0;
}

/* Nothing of a copy is used any more. */
static void drop_copy(struct bpk_merge *m, size_t copy)
{
	m->dropped[copy] = true;
	bpk_salvage_clear(&m->found[copy]);
	m->found[copy] = (struct bpk_salvage){ 0 };
	bpk_merge_drop_prints(m, copy);
	for (size_t i = 0; i < m->nfiles; i++) {
		m->files[i].sizes[copy] = m->files[i].first[copy] = BPK_UNKNOWN;
		m->files[i].end[copy] = 0;
	}
}

/* Drop the files that no other copy has, and the prints, which have the numbers of files. */
static void drop_files(struct bpk_merge *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->nfiles; i++) {
		bool is_there = false;

		for (size_t c = 0; c < m->ncopies; c++)
			is_there = is_there || m->files[i].sizes[c] != BPK_UNKNOWN;
		if (is_there)
			m->files[kept++] = m->files[i];
		else
			bpk_merge_clear_file(&m->files[i]);
	}
	for (size_t c = 0; kept < m->nfiles && c < m->ncopies; c++)
		bpk_merge_drop_prints(m, c);
	m->nfiles = kept;
	for (size_t i = 0; m->names != NULL && i < kept; i++)
		m->names[i] = m->files[i].name;
}

int bpk_merge_find_intact(struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (look(m, c, &m->own[c], err) != 0)
			return -1;
	return 0;
}

int bpk_merge_keep_intact(struct bpk_merge *m, struct bpk_err *err)
{
	int first = BPK_MERGE_UNION;

	if (bpk_merge_check_kin(m, err) != 0)
		return -1;
	for (size_t c = 0; first == BPK_MERGE_UNION && c < m->ncopies; c++)
		if (m->own[c].intact)
			first = (int)c;
	if (first == BPK_MERGE_UNION)
		return 0;
	if (bpk_merge_find_strange(m, first, err) != 0)
		return -1;
	for (size_t c = 0; c < m->ncopies; c++)
		if (!m->own[c].intact)
			drop_copy(m, c);
	drop_files(m);
	return 0;
}

void bpk_merge_keep_only(struct bpk_merge *m, size_t copy)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (c != copy && !m->dropped[c]) {
			m->spare[c] = m->found[c];
			m->found[c] = (struct bpk_salvage){ 0 };
			drop_copy(m, c);
		}
	drop_files(m);
	m->alone = (int)copy;
}
