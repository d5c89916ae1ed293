/* Compares damaged copies by the numbers of their chunks: those of one archive do not contradict
 * each other. Called by merge.c. */
#include "archive/merge_inner.h"

/* True if a chunk tells the size of all but the last one. */
static bool has_size(const struct bpk_salvage *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->all[i].intact && found->all[i].number + 1 < found->nchunks)
			return true;
	return false;
}

/* Numbers and sizes, as far as they are certain. */
static int compare_sizes(const struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];

	if (x->count == 0 || y->count == 0 || !x->counted || !y->counted || x->estimated ||
	    y->estimated)
		return 0;
	if (x->nchunks < y->nchunks ? !x->is_least : x->nchunks > y->nchunks && !y->is_least)
		return bpk_merge_fail_other(m, a, b, "chunks", x->nchunks, y->nchunks, err);
	if (x->chunk_size != y->chunk_size && has_size(x) && has_size(y))
		return bpk_merge_fail_other(m, a, b, "bytes in a chunk", x->chunk_size,
					    y->chunk_size, err);
	return 0;
}

static int compare_chunk(struct bpk_merge *m, size_t a, const struct bpk_saved *x, size_t b,
			 const struct bpk_saved *y, bool *same, struct bpk_err *err)
{
	struct bpk_merge_file *left = bpk_merge_file_of(m, &m->found[a], x);
	struct bpk_merge_file *right = bpk_merge_file_of(m, &m->found[b], y);
	struct bpk_merge_run first = bpk_merge_run_of(&m->found[a], x, a);
	struct bpk_merge_run second = bpk_merge_run_of(&m->found[b], y, b);

	*same = true;
	if (left == NULL || right == NULL || !x->intact || !y->intact)
		return 0;
	return bpk_merge_compare_runs(m, left, &first, right, &second, same, err);
}

/* *moved: one of two copies is intact, and has the chunk of the other one elsewhere: damage may
 * have brought it to its number there. *written: so may a writer, as the intact copy is not proven,
 * or its data repeat. */
static int find_moved(struct bpk_merge *m, size_t a, const struct bpk_saved *x, size_t b,
		      const struct bpk_saved *y, bool *moved, bool *written, struct bpk_err *err)
{
	size_t intact = m->own[a].intact ? a : b, other = m->own[a].intact ? b : a;
	const struct bpk_saved *saved = m->own[a].intact ? y : x;
	struct bpk_merge_run run = bpk_merge_run_of(&m->found[other], saved, other);
	const struct bpk_merge_print *print;

	*moved = false;
	if (m->own[a].intact == m->own[b].intact)
		return 0;
	if (bpk_merge_hash_run(m, bpk_merge_file_of(m, &m->found[other], saved), &run, err) != 0)
		return -1;
	print = bpk_merge_find_print(&m->prints[intact], run.hash);
	*moved = print != NULL;
	*written = *written || (*moved && !(m->own[intact].proven && print->once));
	return 0;
}

/* Compare the chunks of the same numbers. Without digests a chunk that unpacks may be damaged, so
 * copies contradict each other if most chunks differ. */
static int compare_chunks(struct bpk_merge *m, size_t a, size_t b, struct bpk_err *err)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];
	size_t i = 0, k = 0, nsame = 0, nother = 0;
	bool written = false;
	uint64_t first = 0;

	while (i < x->count && k < y->count) {
		const struct bpk_saved *left = &x->all[i], *right = &y->all[k];
		bool pair = left->number == right->number, same = true, moved = false;

		if (pair && compare_chunk(m, a, left, b, right, &same, err) != 0)
			return -1;
		if (!same && find_moved(m, a, left, b, right, &moved, &written, err) != 0)
			return -1;
		if (!same && !moved && nother++ == 0)
			first = left->number;
		nsame += pair && same;
		i += left->number <= right->number;
		k += right->number <= left->number;
	}
	if (nother > (m->proven ? 0 : nsame))
		return bpk_merge_fail_differ(m, first, a, b, err);
	return written ? bpk_merge_note_states(m, a, b, "chunks at other places show", err) : 0;
}

/* The numbers of the chunks are certain, though metadata may be lost. */
static bool has_numbers(const struct bpk_salvage *found)
{
	return bpk_merge_is_sure(found) ||
	       (found->counted && !found->estimated && !found->disordered && !found->has_doubts);
}

/* Of two chunks that differ neither decides unless both were tested by digests, or no copy has
 * any; and that of a file that was copied or exchanged is no chunk of its number. */
static bool are_equals(const struct bpk_merge *m, size_t a, size_t b)
{
	return !bpk_merge_has_same_list(m, a, b) && has_numbers(&m->found[a]) &&
	       has_numbers(&m->found[b]) &&
	       (!m->proven || (m->found[a].proven && m->found[b].proven));
}

int bpk_merge_compare(struct bpk_merge *m, struct bpk_err *err)
{
	if (bpk_merge_list_prints(m, err) != 0)
		return -1;
	for (size_t c = 0; c < m->ncopies; c++)
		m->proven = m->proven || m->found[c].proven;
	for (size_t b = 1; b < m->ncopies; b++)
		for (size_t a = 0; a < b; a++) {
			if (compare_sizes(m, a, b, err) != 0 ||
			    (are_equals(m, a, b) && compare_chunks(m, a, b, err) != 0))
				return -1;
		}
	return 0;
}
