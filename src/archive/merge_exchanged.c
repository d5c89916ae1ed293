/*
 * Data files of directories that were copied or exchanged: their chunks are intact, and at wrong
 * places. Called by merge.c and merge_runs.c.
 *
 *     copy 0    A B | C D | C D     the third file is a copy of the second one
 *     copy 1    A B | # D | E F     of the same digests: it has other chunks there
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

/* *is: the copy has the chunk twice, and another copy of the same digests has one there that is
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
		if (bpk_merge_has_same_list(m, c, copy) && has_other(m, c, &run, is, err) != 0)
			return -1;
	return 0;
}

/* The copy has lost these files, if it has chunks in them. */
static void lose_files(struct bpk_merge *m, size_t copy, const bool *lost)
{
	struct bpk_salvage *found = &m->found[copy];
	size_t kept = 0;

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

int bpk_merge_lose_copied(struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (m->found[c].exchangeable &&
		    (bpk_merge_list_prints(m, err) != 0 || lose_copied(m, c, err) != 0))
			return -1;
	return 0;
}
