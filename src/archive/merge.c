/* Damaged copies of one archive as one place. Called by cli's merge.c. */
#include "archive/merge_inner.h"

#include <stdlib.h>

struct opened {
	struct bpk_merge merge; /* the first member: it is the handle */
	struct bpk_merge_view view;
};

/* ---- Changes ---- */

struct sight {
	struct bpk_dir *dir;
	uint64_t state; /* a hash of the names and states of its files */
	struct bpk_err *err;
};

static int add_state(void *arg, const char *name)
{
	struct sight *sight = arg;
	struct bpk_source *source = NULL;
	struct bpk_err why = { 0 };
	uint64_t state = 0; /* of other things than files */

	if (!bpk_format_owns(name))
		return 0;
	if (bpk_dir_source(sight->dir, name, &source, &why) == 0)
		state = bpk_source_state(source);
	else if (bpk_err_is_of_machine(&why))
		return bpk_fail_as(sight->err, &why);
	bpk_source_close(source);
	sight->state = bpk_hash(sight->state, bpk_view(name, strlen(name) + 1));
	sight->state = bpk_hash(sight->state, bpk_view(&state, sizeof state));
	return 0;
}

/* Note a directory's state. The generation alone does not tell: an append keeps it. */
static int note_state(const struct bpk_place *place, struct bpk_merge_state *state,
		      struct bpk_err *err)
{
	struct sight sight = { place->directory, BPK_HASH_START, err };

	*state = (struct bpk_merge_state){ 0 };
	if (!place->is_directory)
		return 0;
	if (bpk_dir_generation(place->directory, &state->generation, err) != 0 ||
	    bpk_dir_list_files(place->directory, add_state, &sight, err) != 0)
		return -1;
	state->files = sight.state;
	return 0;
}

static int check_copy(const struct bpk_merge *m, size_t copy, struct bpk_err *err)
{
	const struct bpk_place *place = &m->copies[copy].place;
	struct bpk_merge_state now;

	if (bpk_place_unchanged(place, err) != 0 || note_state(place, &now, err) != 0)
		return -1;
	return now.generation == m->states[copy].generation && now.files == m->states[copy].files
		       ? 0
		       : bpk_fail_changed(err);
}

int bpk_merge_unchanged(const struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (check_copy(m, c, err) != 0)
			return bpk_input_subject(&m->copies[c], err);
	return 0;
}

/* ---- Opening ---- */

static int search(struct bpk_merge *m, size_t copy, struct bpk_err *err)
{
	const struct bpk_place *place = &m->copies[copy].place;

	return m->format->salvage(place, &m->found[copy], err) == 0
		       ? 0
		       : bpk_input_subject(&m->copies[copy], err);
}

static int note_states(struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (note_state(&m->copies[c].place, &m->states[c], err) != 0)
			return bpk_input_subject(&m->copies[c], err);
	return 0;
}

/* List where intact chunks were found, each place once. */
static int list_known(struct bpk_merge *m, struct bpk_err *err)
{
	size_t count = 0, kept = 0;

	for (size_t c = 0; c < m->ncopies; c++)
		count += m->found[c].count;
	m->known = bpk_calloc(count + 1, sizeof *m->known, err);
	if (m->known == NULL)
		return -1;
	for (size_t c = 0; c < m->ncopies; c++)
		for (size_t i = 0; i < m->found[c].count; i++) {
			const struct bpk_saved *saved = &m->found[c].all[i];
			struct bpk_merge_file *file = bpk_merge_file_of(m, &m->found[c], saved);

			if (saved->intact && file != NULL)
				m->known[m->nknown++] = (struct bpk_merge_known){
					.file = (size_t)(file - m->files),
					.offset = saved->offset,
					.packed_size = saved->packed_size,
				};
		}
	qsort(m->known, m->nknown, sizeof *m->known, bpk_merge_compare_known);
	for (size_t i = 0; i < m->nknown; i++)
		if (kept == 0 || bpk_merge_compare_known(&m->known[kept - 1], &m->known[i]) != 0)
			m->known[kept++] = m->known[i];
	m->nknown = kept;
	return 0;
}

static int merge(struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (search(m, c, err) != 0 || bpk_merge_test_order(m, c, err) != 0)
			return -1;
	if (bpk_merge_list(m, err) != 0 || bpk_merge_find_intact(m, err) != 0 ||
	    bpk_merge_lose_copied(m, err) != 0 || bpk_merge_compare(m, err) != 0 ||
	    bpk_merge_compare_order(m, err) != 0 || bpk_merge_find_states(m, err) != 0 ||
	    bpk_merge_keep_intact(m, err) != 0 || bpk_merge_judge(m, err) != 0 ||
	    list_known(m, err) != 0 || bpk_merge_choose(m, err) != 0)
		return -1;
	if (bpk_merge_take_chunks(m, err) != 0 || bpk_merge_mix(m, err) != 0 ||
	    bpk_merge_settle_rivals(m, err) != 0 || bpk_merge_prove(m, err) != 0 ||
	    bpk_merge_compare_rests(m, err) != 0)
		return -1;
	return bpk_merge_find_strange(m, BPK_MERGE_UNION, err);
}

/* Copies that change contradict each other, and themselves. */
static int merge_still(struct bpk_merge *m, struct bpk_err *err)
{
	struct bpk_err changed = { 0 };

	if (note_states(m, err) != 0)
		return -1;
	if (merge(m, err) == 0)
		return 0;
	return bpk_merge_unchanged(m, &changed) == 0 ? -1 : bpk_fail_as(err, &changed);
}

int bpk_merge_open(const struct bpk_input *copies, size_t ncopies, const struct bpk_format *format,
		   bpk_merge_ident_fn *compare, void *arg, struct bpk_merge **opened,
		   struct bpk_err *err)
{
	enum { BUDGET = 1 << 26 };
	struct opened *o = bpk_calloc(1, sizeof *o, err);

	*opened = NULL;
	if (o == NULL)
		return -1;
	o->merge = (struct bpk_merge){
		.copies = copies,
		.ncopies = ncopies,
		.format = format,
		.compare = compare,
		.arg = arg,
		.budget = BUDGET,
		.alone = BPK_MERGE_UNION,
	};
	if (merge_still(&o->merge, err) != 0) {
		bpk_merge_close(&o->merge);
		return -1;
	}
	*opened = &o->merge;
	return 0;
}

void bpk_merge_close(struct bpk_merge *m)
{
	if (m == NULL)
		return;
	for (size_t c = 0; c < m->ncopies; c++) {
		bpk_salvage_clear(&m->found[c]);
		bpk_salvage_clear(&m->spare[c]);
		free(m->prints[c].all);
	}
	for (size_t i = 0; i < m->nfiles; i++)
		bpk_merge_clear_file(&m->files[i]);
	free(m->files);
	free(m->names);
	free(m->known);
	free(m->rivals);
	bpk_buf_clear(&m->doubt);
	bpk_buf_clear(&m->disorder);
	bpk_buf_clear(&m->since);
	free(m);
}

/* ---- The place ---- */

int bpk_merge_place(struct bpk_merge *m, struct bpk_place *place, struct bpk_err *err)
{
	struct bpk_merge_view *view = &((struct opened *)(void *)m)->view;
	int rc = bpk_merge_view_open(m, BPK_MERGE_UNION, NULL, view, err);

	*place = view->place;
	return rc;
}

bool bpk_merge_changes(const struct bpk_merge *m)
{
	if (m->alone > 0)
		return true;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct bpk_merge_file *file = &m->files[i];

		if (file->base != 0 || file->masked || file->size != file->sizes[0])
			return true;
		for (size_t r = 0; r < file->nruns; r++)
			if (file->runs[r].copy != 0)
				return true;
		for (size_t p = 0; p < file->nparts; p++)
			if (file->parts[p].variants[file->parts[p].chosen] != 0)
				return true;
	}
	return false;
}

uint64_t bpk_merge_bare(const struct bpk_merge *m)
{
	return m->nbare;
}

const char *bpk_merge_doubt(const struct bpk_merge *m, bool *between)
{
	*between = m->between;
	return m->doubt.size > 0 ? (const char *)m->doubt.data : NULL;
}

const char *bpk_merge_disorder(const struct bpk_merge *m)
{
	return m->disorder.size > 0 ? (const char *)m->disorder.data : NULL;
}

const char *bpk_merge_since(const struct bpk_merge *m, bool is_whole)
{
	return m->since.size > 0 && (is_whole || !m->is_strange) ? (const char *)m->since.data
								 : NULL;
}

const char *bpk_merge_lone(const struct bpk_merge *m)
{
	return m->lone;
}

/* How much of an archive a search finds. */
struct share {
	uint64_t intact, nchunks; /* chunks */
	bool certain;             /* their numbers */
	bool refuted; /* digests over all chunks say that some are not at their places */
	bool doubted; /* other parts */
	bool proven;  /* the intact ones were tested by digests */
};

static struct share share_of(const struct bpk_salvage *found)
{
	return (struct share){
		.intact = bpk_salvage_intact(found),
		.nchunks = found->nchunks,
		.certain = found->counted && !found->disordered,
		.refuted = found->disordered,
		.doubted = found->doubt.size > 0,
		.proven = found->proven,
	};
}

/* True if x, with certain numbers, gives more than y without: any chunk of that may be at a wrong
 * place, so that it counts half, unless y has all of the archive in an order that no digests
 * refute. */
static bool outweighs(const struct share *x, const struct share *y)
{
	bool is_all = y->intact == y->nchunks && y->nchunks == x->nchunks && !y->refuted;

	return x->intact >= y->intact || (!is_all && x->intact > y->intact / 2);
}

/* True if digests prove the chunks of x, which are all or no fewer, and those of y only unpack. */
static bool outproves(const struct share *x, const struct share *y)
{
	return x->certain && x->proven && !y->proven &&
	       (x->intact == x->nchunks || x->intact >= y->intact);
}

/* True if x gives more than y. */
static bool gives_more(const struct share *x, const struct share *y)
{
	if (outproves(x, y) || outproves(y, x))
		return outproves(x, y);
	if (x->certain != y->certain)
		return x->certain ? outweighs(x, y) : !outweighs(y, x);
	return x->intact != y->intact ? x->intact > y->intact : x->doubted < y->doubted;
}

/* The copy that gives most by itself. Chunks that unpack alone count for nothing where others were
 * tested by digests. */
static int find_best(const struct bpk_merge *m, struct share *best, bool *certain)
{
	int found = BPK_MERGE_UNION;

	*certain = false;
	for (size_t c = 0; c < m->ncopies; c++) {
		struct share share = share_of(&m->found[c]);

		if (m->dropped[c] || share.intact == 0 || (m->proven && !m->found[c].proven))
			continue;
		*certain = *certain || share.certain;
		if (found != BPK_MERGE_UNION && !gives_more(&share, best))
			continue;
		found = (int)c;
		*best = share;
	}
	return found;
}

static int search_union(struct bpk_merge *m, struct share *share, struct bpk_err *err)
{
	struct bpk_salvage found = { 0 };
	struct bpk_merge_view view;
	int rc = bpk_merge_view_open(m, BPK_MERGE_UNION, NULL, &view, err);

	if (rc == 0 && m->format->salvage(&view.place, &found, err) != 0)
		rc = bpk_input_subject(&m->copies[0], err);
	if (rc == 0)
		rc = bpk_merge_complete(m, &found, err);
	*share = share_of(&found);
	bpk_salvage_clear(&found);
	bpk_merge_view_close(&view);
	return rc;
}

/* A copy that is taken alone, and has lost no chunk, is of another state than one that has other
 * chunks. */
static int compare_states(struct bpk_merge *m, int best, const struct share *own,
			  struct bpk_err *err)
{
	m->lone = NULL;
	if (own->intact < own->nchunks)
		return 0;
	if (bpk_merge_find_strange(m, best, err) != 0)
		return -1;
	m->is_strange = false;
	return 0;
}

/* A union without certain numbers has the wrong frame if a copy has these; else it has more chunks
 * than a copy if it fills gaps of that, and does not grow by them. */
int bpk_merge_fall_back(struct bpk_merge *m, bool *changed, bool *alone, struct bpk_err *err)
{
	struct share own = { 0 }, all = { 0 }, pool = { 0 };
	uint64_t count;
	bool certain, is_refuted;
	int best = find_best(m, &own, &certain), base;

	*changed = *alone = false;
	if (best == BPK_MERGE_UNION)
		return 0;
	if (search_union(m, &all, err) != 0)
		return -1;
	/* it has digests that no copy has by itself: theirs may be chunks that only unpack */
	if (all.certain && all.proven && !m->proven)
		return 0;
	if (bpk_merge_find_pool(m, &base, &count, err) != 0 ||
	    bpk_merge_is_refuted(m, &is_refuted, err) != 0)
		return -1;
	if (base != BPK_MERGE_UNION) {
		pool = share_of(&m->found[base]);
		pool.intact = count;
	}
	if (is_refuted)
		all = (struct share){ 0 };
	*alone = base == BPK_MERGE_UNION || !gives_more(&pool, &own);
	if (!*alone) {
		own = pool;
		best = base;
	}
	*changed = all.certain ? gives_more(&own, &all)
			       : certain || own.intact >= all.intact || all.nchunks > own.nchunks;
	if (*changed && *alone && compare_states(m, best, &own, err) != 0)
		return -1;
	if (*changed)
		bpk_merge_keep_only(m, (size_t)best);
	return 0;
}

/* ---- Writing ---- */

static int write_file(struct bpk_dir *dir, struct bpk_tree *tree, const char *name,
		      struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	struct bpk_draft *draft = NULL;
	int rc = bpk_dir_source(dir, name, &source, err);

	if (rc == 0)
		rc = bpk_tree_folder_of(tree, name, err);
	if (rc == 0)
		rc = bpk_tree_draft(tree, name, &draft, err);
	if (rc == 0)
		rc = bpk_draft_copy(draft, source, err);
	if (rc == 0)
		rc = bpk_tree_stage(tree, draft, err);
	else
		bpk_draft_drop(draft);
	bpk_source_close(source);
	return rc;
}

int bpk_merge_write(struct bpk_merge *m, struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_place place;
	int rc = bpk_merge_place(m, &place, err);

	if (rc == 0 && !place.is_directory)
		rc = bpk_draft_copy(draft, place.source, err);
	for (size_t i = 0; rc == 0 && place.is_directory && i < m->nfiles; i++)
		rc = write_file(place.directory, bpk_draft_tree(draft), m->files[i].name, err);
	bpk_place_close(&place);
	return rc;
}
