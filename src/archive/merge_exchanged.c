/*
 * Data files of directories that were copied or exchanged: their chunks are intact, and at wrong
 * places. Called by merge.c and merge_runs.c.
 *
 *     copy 0    A B | C D | C D     the third file is a copy of the second one
 *     copy 1    A B | # D | E F     of the same digests: it has other chunks there
 *     copy 2    A # | E F | C D     two files were exchanged, as both other copies show of one
 */
#include "archive/merge_inner.h"

#include <stdlib.h>

bool bpk_merge_is_elsewhere(const struct bpk_merge *m, const struct bpk_salvage *found,
			    const struct bpk_merge_file *file, uint64_t number, void *reader)
{
	struct bpk_where where = { 0 };

	return m->names != NULL && found->numbered && reader != NULL &&
	       m->format->reader->locate(reader, number, &where, NULL) == 0 &&
	       strcmp(where.file, file->name) != 0;
}

/* ---- Copied files ---- */

/* Make the run of a chunk of the copy, with its hash. *once: the copy has no other one like it. */
static int look_at(struct bpk_merge *m, size_t copy, const struct bpk_saved *saved,
		   struct bpk_merge_run *run, bool *once, struct bpk_err *err)
{
	struct bpk_merge_file *file = bpk_merge_file_of(m, &m->found[copy], saved);
	const struct bpk_merge_print *print;

	*once = true;
	if (file == NULL || !saved->intact)
		return 0;
	*run = bpk_merge_run_of(&m->found[copy], saved, copy);
	if (bpk_merge_hash_run(m, file, run, err) != 0)
		return -1;
	print = bpk_merge_find_print(&m->prints[copy], run->hash);
	*once = print != NULL && print->once;
	return 0;
}

/* *has: the copy has another chunk of this number, and once. */
static int has_other(struct bpk_merge *m, size_t copy, const struct bpk_merge_run *run, bool *has,
		     struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[copy];
	struct bpk_merge_run other = { .hash = run->hash };
	size_t i;

	*has = false;
	if (found->count == 0)
		return 0;
	i = bpk_find_last(&found->all->number, sizeof *found->all, found->count, run->number);
	if (found->all[i].number == run->number &&
	    look_at(m, copy, &found->all[i], &other, has, err) != 0)
		return -1;
	*has = *has && other.hash != run->hash;
	return 0;
}

/* True if the other copy has the same digests; or has lost its own, where those of the copy say
 * that chunks are at wrong places. */
static bool may_tell(const struct bpk_merge *m, size_t other, size_t copy)
{
	return bpk_merge_has_same_list(m, other, copy) ||
	       (m->found[copy].disordered && m->found[other].state == 0);
}

/* *is: the copy has the chunk twice, and another copy, which may tell, has one there that is
 * once. */
static int is_copied(struct bpk_merge *m, size_t copy, const struct bpk_saved *saved, bool *is,
		     struct bpk_err *err)
{
	struct bpk_merge_run run;
	bool once;

	*is = false;
	if (look_at(m, copy, saved, &run, &once, err) != 0)
		return -1;
	for (size_t c = 0; !once && !*is && c < m->ncopies; c++)
		if (may_tell(m, c, copy) && has_other(m, c, &run, is, err) != 0)
			return -1;
	return 0;
}

/* The copy has lost these files, if it has chunks in them. An intact one, whose digests over all
 * chunks tell their order, loses none. */
static void lose_files(struct bpk_merge *m, size_t copy, const bool *lost)
{
	struct bpk_salvage *found = &m->found[copy];
	size_t kept = 0;

	if (m->own[copy].intact)
		return;
	for (size_t i = 0; i < found->count; i++) {
		struct bpk_merge_file *file = bpk_merge_file_of(m, found, &found->all[i]);

		if (file == NULL || !lost[file - m->files]) {
			found->all[kept++] = found->all[i];
			continue;
		}
		file->sizes[copy] = file->first[copy] = BPK_UNKNOWN;
		file->end[copy] = 0;
	}
	if (kept < found->count)
		bpk_merge_drop_prints(m, copy);
	found->count = kept;
}

/* Fill unique: the copy has a chunk of this file once, so that is no copy of another one. Chunks of
 * zeros in it are alike in many files. */
static void find_unique(const struct bpk_merge *m, size_t copy, bool *unique)
{
	const struct bpk_merge_prints *prints = &m->prints[copy];

	for (size_t i = 0; i < prints->count; i++)
		unique[prints->all[i].file] = unique[prints->all[i].file] || prints->all[i].once;
}

static int lose_copied(struct bpk_merge *m, size_t copy, struct bpk_err *err)
{
	const struct bpk_salvage *found = &m->found[copy];
	bool *unique = bpk_calloc(m->nfiles + 1, sizeof *unique, err);
	bool *lost = bpk_calloc(m->nfiles + 1, sizeof *lost, err);
	int rc = unique == NULL || lost == NULL ? -1 : 0;

	if (rc == 0)
		find_unique(m, copy, unique);
	for (size_t i = found->count; rc == 0 && i-- > 0;) {
		const struct bpk_merge_file *file = bpk_merge_file_of(m, found, &found->all[i]);
		size_t f = file == NULL ? 0 : (size_t)(file - m->files);

		if (file != NULL && !unique[f] && !lost[f])
			rc = is_copied(m, copy, &found->all[i], &lost[f], err);
	}
	if (rc == 0)
		lose_files(m, copy, lost);
	free(unique);
	free(lost);
	return rc;
}

/* ---- Files that other copies contradict ---- */

/* An intact chunk of a copy, as a vote on its number. */
struct vote {
	uint64_t state, number, hash;
	size_t copy, file;
};

static int compare_u64(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int compare_votes(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;
	int order = compare_u64(x->state, y->state);

	if (order == 0)
		order = compare_u64(x->number, y->number);
	return order != 0 ? order : compare_u64(x->hash, y->hash);
}

/* True if only an exchange of its files makes the numbers of the copy wrong. */
static bool has_vote(const struct bpk_salvage *found)
{
	return found->exchangeable && found->state != 0 && found->counted && !found->estimated &&
	       !found->disordered;
}

static int list_votes(const struct bpk_merge *m, struct vote **votes, size_t *count,
		      struct bpk_err *err)
{
	size_t room = 1;

	*count = 0;
	for (size_t c = 0; c < m->ncopies; c++)
		room += m->prints[c].count;
	*votes = bpk_calloc(room, sizeof **votes, err);
	if (*votes == NULL)
		return -1;
	for (size_t c = 0; c < m->ncopies; c++)
		for (size_t i = 0; has_vote(&m->found[c]) && i < m->prints[c].count; i++) {
			const struct bpk_merge_print *print = &m->prints[c].all[i];

			(*votes)[(*count)++] = (struct vote){ m->found[c].state, print->number,
							      print->hash, c, print->file };
		}
	qsort(*votes, *count, sizeof **votes, compare_votes);
	return 0;
}

/* The votes from i on, of count, for the same number and, if hash is true, the same chunk. */
static size_t count_same(const struct vote *votes, size_t i, size_t count, bool hash)
{
	size_t end = i;

	while (end < count && votes[end].state == votes[i].state &&
	       votes[end].number == votes[i].number && (!hash || votes[end].hash == votes[i].hash))
		end++;
	return end - i;
}

/* Mark in lost, for each copy and file, the votes on one number that are fewer than those of two
 * copies or more for another chunk. */
static void outvote(const struct bpk_merge *m, const struct vote *votes, size_t count, bool *lost)
{
	size_t most = 1, same;

	for (size_t i = 0; i < count; i += same) {
		same = count_same(votes, i, count, true);
		most = same > most ? same : most;
	}
	for (size_t i = 0; i < count; i += same) {
		same = count_same(votes, i, count, true);
		for (size_t k = i; same < most && k < i + same; k++)
			lost[votes[k].copy * m->nfiles + votes[k].file] = true;
	}
}

/* An exchanged file counts as missing where most copies have other chunks of its numbers. */
static int lose_outvoted(struct bpk_merge *m, struct bpk_err *err)
{
	bool *lost = bpk_calloc(m->ncopies * m->nfiles + 1, sizeof *lost, err);
	struct vote *votes = NULL;
	size_t count = 0, same;
	int rc = lost == NULL ? -1 : list_votes(m, &votes, &count, err);

	for (size_t i = 0; i < count; i += same) {
		same = count_same(votes, i, count, false);
		outvote(m, votes + i, same, lost);
	}
	for (size_t c = 0; rc == 0 && c < m->ncopies; c++)
		lose_files(m, c, lost + c * m->nfiles);
	free(votes);
	free(lost);
	return rc;
}

/* ---- All ---- */

int bpk_merge_lose_copied(struct bpk_merge *m, struct bpk_err *err)
{
	bool any = false;

	for (size_t c = 0; c < m->ncopies; c++)
		any = any || m->found[c].exchangeable;
	if (any && (bpk_merge_list_prints(m, err) != 0 || lose_outvoted(m, err) != 0))
		return -1;
	for (size_t c = 0; c < m->ncopies; c++)
		if (m->found[c].exchangeable &&
		    (bpk_merge_list_prints(m, err) != 0 || lose_copied(m, c, err) != 0))
			return -1;
	return 0;
}
