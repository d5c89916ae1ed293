/*
 * Lays the intact chunks of copies at their places, and settles which of two that differ stays.
 * Called by merge_runs.c, merge_shifted.c, merge_mixed.c and merge_places.c.
 */
#include "archive/merge_inner.h"

/* The first run that begins behind at. */
static size_t find_behind(const struct bpk_merge_file *file, uint64_t at)
{
	return file->nruns == 0
		       ? 0
		       : bpk_find_behind(&file->runs->at, sizeof *file->runs, file->nruns, at);
}

const struct bpk_merge_run *bpk_merge_run_at(const struct bpk_merge_file *file, uint64_t at)
{
	size_t i = find_behind(file, at);

	return i > 0 && file->runs[i - 1].at == at ? &file->runs[i - 1] : NULL;
}

bool bpk_merge_has_run(const struct bpk_merge *m, const struct bpk_merge_file *file, size_t copy,
		       const struct bpk_merge_run *run)
{
	const struct bpk_merge_print key = {
		.hash = run->hash,
		.offset = run->at,
		.file = (size_t)(file - m->files),
	};

	return bpk_merge_has_print(&m->prints[copy], &key);
}

/* The copies that have the chunk at its place. */
static size_t count_votes(const struct bpk_merge *m, const struct bpk_merge_file *file,
			  const struct bpk_merge_run *run)
{
	size_t votes = 0;

	for (size_t c = 0; c < m->ncopies; c++)
		votes += bpk_merge_has_run(m, file, c, run);
	return votes;
}

/* Keep a chunk that gives way to a run at its place. */
static int note_rival(struct bpk_merge *m, const struct bpk_merge_file *file,
		      const struct bpk_merge_run *run, struct bpk_err *err)
{
	struct bpk_merge_rival *rivals =
		bpk_alloc_grow(m->rivals, m->nrivals, &m->rivals_room, sizeof *rivals, err);

	if (rivals == NULL)
		return -1;
	m->rivals = rivals;
	rivals[m->nrivals++] = (struct bpk_merge_rival){
		.file = (size_t)(file - m->files),
		.run = *run,
	};
	return 0;
}

/* Two copies have a chunk at one place. Of chunks that differ and have no digests that of most
 * copies is taken; a copy that is not sure, or that digests do not prove, gives way. */
static int settle(struct bpk_merge *m, struct bpk_merge_file *file, struct bpk_merge_run *old,
		  const struct bpk_merge_run *run, struct bpk_err *err)
{
	bool same;

	if (bpk_merge_compare_runs(m, file, old, file, run, &same, err) != 0)
		return -1;
	if (same)
		return 0;
	if (!m->proven) {
		bool better = count_votes(m, file, run) > count_votes(m, file, old);
		const struct bpk_merge_run rival = better ? *old : *run;

		if (better)
			*old = *run;
		old->disputed = true;
		return note_rival(m, file, &rival, err);
	}
	if (m->found[old->copy].proven != m->found[run->copy].proven) {
		if (m->found[run->copy].proven)
			*old = *run;
		return 0;
	}
	if (file->trust[old->copy] != file->trust[run->copy])
		return 0;
	if (bpk_merge_has_same_list(m, old->copy, run->copy))
		return 0; /* it tells in the end */
	return bpk_merge_fail_differ(m, run->number, old->copy, run->copy, err);
}

/* True if the copy's file has no more than the chunk. */
static bool fills_file(const struct bpk_merge_file *file, const struct bpk_merge_run *run)
{
	return run->offset == 0 && run->size == file->sizes[run->copy];
}

int bpk_merge_take_run(struct bpk_merge *m, struct bpk_merge_file *file,
		       const struct bpk_merge_run *run, struct bpk_err *err)
{
	size_t i = find_behind(file, run->at);
	struct bpk_merge_run *runs;

	if (i > 0 && file->runs[i - 1].at == run->at && file->runs[i - 1].size == run->size)
		return settle(m, file, &file->runs[i - 1], run, err);
	if (i > 0 && file->runs[i - 1].at == run->at) {
		file->runs[i - 1].disputed = true;
		if (!m->proven && fills_file(file, &file->runs[i - 1]) && fills_file(file, run))
			return note_rival(m, file, run, err);
	}
	if (run->at > file->size || run->size > file->size - run->at ||
	    (i > 0 && file->runs[i - 1].at + file->runs[i - 1].size > run->at) ||
	    (i < file->nruns && file->runs[i].at - run->at < run->size))
		return 0;
	runs = bpk_alloc_grow(file->runs, file->nruns, &file->runs_room, sizeof *runs, err);
	if (runs == NULL)
		return -1;
	file->runs = runs;
	memmove(runs + i + 1, runs + i, (file->nruns - i) * sizeof *runs);
	runs[i] = *run;
	file->nruns++;
	return 0;
}

int bpk_merge_is_of_one(struct bpk_merge *m, struct bpk_merge_file *file,
			const struct bpk_merge_run *run, bool *is, struct bpk_err *err)
{
	struct bpk_buf mixed = { 0 }, bytes = { 0 };
	int rc = bpk_merge_read_run(m, file, run, &mixed, err);

	*is = false;
	for (size_t c = 0; rc == 0 && !*is && c < m->ncopies; c++) {
		/* not at this place, so that no part is laid over it */
		const struct bpk_merge_run own = {
			.at = BPK_UNKNOWN, .size = run->size, .offset = run->at, .copy = c
		};
		uint64_t size = file->sizes[c];

		if (size == BPK_UNKNOWN || own.offset > size || own.size > size - own.offset)
			continue;
		rc = bpk_merge_read_run(m, file, &own, &bytes, err);
		*is = rc == 0 && memcmp(bytes.data, mixed.data, (size_t)own.size) == 0;
	}
	bpk_buf_clear(&mixed);
	bpk_buf_clear(&bytes);
	return rc;
}
