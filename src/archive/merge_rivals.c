/*
 * Chunks without digests that differ at one place: a seal proves all chunks together, and tells
 * which are right. Called by merge.c.
 *
 *     copy 0    | A | B | c | D |     c and b unpack, and hold other bytes
 *     copy 1    | A | b | C | D |
 *     place     | A | B | C | D |     of the four ways to choose, the seal proves this one
 */
#include "archive/merge_inner.h"

enum { MOST_RIVALS = 8 };              /* with all their ways to choose */
#define MOST_BYTES ((uint64_t)1 << 34) /* that are digested for these */

/* The run at the place of a rival, which has been laid. */
static struct bpk_merge_run *run_of(const struct bpk_merge *m, const struct bpk_merge_rival *rival)
{
	const struct bpk_merge_file *file = &m->files[rival->file];

	return &file->runs[bpk_find_last(&file->runs->at, sizeof *file->runs, file->nruns,
					 rival->run.at)];
}

/* Lay another run in the place of one. A file that is no more than a chunk ends with it. */
static void put(const struct bpk_merge *m, const struct bpk_merge_rival *rival,
		struct bpk_merge_run run)
{
	struct bpk_merge_file *file = &m->files[rival->file];
	struct bpk_merge_run *old = run_of(m, rival);

	if (old->size == file->size)
		file->size = run.size;
	*old = run;
}

static void exchange(const struct bpk_merge *m, struct bpk_merge_rival *rival)
{
	struct bpk_merge_run other = *run_of(m, rival);

	put(m, rival, rival->run);
	rival->run = other;
}

/* bpk_merge_test_fn: there is a seal, which the audit tests. arg: the merge. */
static int test_seal(void *arg, void *reader, struct bpk_err *err)
{
	const struct bpk_merge *m = arg;

	return m->format->reader->info(reader)->seal.sealed
		       ? 0
		       : bpk_fail(err, BPK_CORRUPT, "the seal is lost");
}

static int prove(struct bpk_merge *m, bool *proven, struct bpk_err *err)
{
	struct bpk_merge_view view;
	int rc = bpk_merge_view_open(m, BPK_MERGE_UNION, NULL, &view, err);

	*proven = false;
	if (rc == 0)
		rc = bpk_merge_test(m, &view.place, test_seal, m, proven, err);
	bpk_merge_view_close(&view);
	return rc;
}

/* True if all ways can be tried: a copy has traces of a seal, and the archive is small enough. */
static bool are_few(const struct bpk_merge *m)
{
	uint64_t size = 0;
	bool sealed = false;

	for (size_t c = 0; c < m->ncopies; c++)
		sealed = sealed || m->found[c].sealed;
	for (size_t f = 0; f < m->nfiles; f++)
		size += m->files[f].size;
	return sealed && m->nrivals <= MOST_RIVALS && size <= MOST_BYTES >> m->nrivals;
}

int bpk_merge_settle_rivals(struct bpk_merge *m, struct bpk_err *err)
{
	struct bpk_merge_run first[MOST_RIVALS];
	bool proven = false;
	int rc;

	if (!m->is_open || m->nrivals == 0 || m->format->reader->prove == NULL || !are_few(m))
		return 0;
	for (size_t i = 0; i < m->nrivals; i++)
		first[i] = *run_of(m, &m->rivals[i]);
	rc = bpk_merge_choose_seal(m, err);
	if (rc == 0)
		rc = prove(m, &proven, err);
	/* each way differs from the one before in one exchange, as the bits of a Gray code */
	for (unsigned way = 1; rc == 0 && !proven && way < 1U << m->nrivals; way++) {
		size_t i = 0;

		while ((way >> i & 1) == 0)
			i++;
		exchange(m, &m->rivals[i]);
		rc = prove(m, &proven, err);
	}
	for (size_t i = 0; i < m->nrivals; i++) {
		if (!proven)
			put(m, &m->rivals[i], first[i]);
		run_of(m, &m->rivals[i])->disputed = !proven;
	}
	return rc;
}
