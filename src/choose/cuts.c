/*
 * An input cut along its arrays. Called by pack. Each kind of zone gets a choice of its own, as if
 * its bytes were the whole input; kinds with equal choices are merged; the bytes between two
 * changes of kind are cut into chunks:
 *
 *     zones    |f4 x 3 ...........................|u1 ..|mixed ...........|
 *     chunks   |          |          |            |     |                 |
 *
 * An input of short zones stays whole, since cutting separates repeats from array to array.
 */
#include "choose/zones.h"

#include <inttypes.h>
#include "choose/chooser.h"

struct cutting {
	struct bpk_source *source;
	const struct bpk_wishes *wishes;
	struct bpk_zones zones;
	const struct bpk_choice *whole;
	struct bpk_cuts *cuts;
	uint32_t kind_of[BPK_ZONE_KINDS]; /* the kind in cuts of each kind of zone */
};

void bpk_cuts_clear(struct bpk_cuts *cuts)
{
	for (size_t i = 0; i < cuts->nkinds; i++)
		bpk_buf_clear(&cuts->kinds[i].why);
	bpk_sizes_clear(&cuts->runs);
	*cuts = (struct bpk_cuts){ 0 };
}

/* ---- Choosing for kinds ---- */

static bool is_same_candidate(const struct bpk_candidate *a, const struct bpk_candidate *b)
{
	return a->typesize == b->typesize && bpk_pipeline_equal(&a->pipeline, &b->pipeline);
}

static bool is_same_choice(const struct bpk_choice *a, const struct bpk_choice *b)
{
	if (!bpk_recipe_equal(&a->recipe, &b->recipe) || a->chunk_size != b->chunk_size ||
	    a->ncandidates != b->ncandidates)
		return false;
	for (size_t i = 0; i < a->ncandidates; i++)
		if (!is_same_candidate(&a->candidates[i], &b->candidates[i]))
			return false;
	return true;
}

static void add_hint(struct bpk_wishes *wishes, unsigned size)
{
	size_t n = 0;

	while (n < BPK_WISHES_HINTS && wishes->hints[n] != 0 && wishes->hints[n] != size)
		n++;
	if (n < BPK_WISHES_HINTS && size > 0 && size <= BPK_CHUNK_MAX_TYPESIZE)
		wishes->hints[n] = size;
}

/* Hint at elements, at rows, and, if rows say nothing about measured numbers, at several
 * elements. */
static void add_hints(struct bpk_wishes *wishes, const struct bpk_segment *kind)
{
	add_hint(wishes, kind->element);
	add_hint(wishes, kind->row);
	if (kind->letter != 'f' || kind->row > kind->element)
		return;
	add_hint(wishes, 2 * kind->element);
	add_hint(wishes, 3 * kind->element);
}

/* A line for -v: the arrays of a kind. */
static int say_kind(const struct bpk_segment *kind, struct bpk_buf *why, struct bpk_err *err)
{
	if (kind->element == 0)
		return bpk_buf_printf(why, err, "no arrays, or small ones: %" PRIu64 " bytes\n",
				      kind->size);
	return bpk_buf_printf(why, err, "arrays like %s: %" PRIu64 " bytes, elements of %u\n",
			      kind->name, kind->size, kind->element);
}

/* Choose for the zones of a kind. */
static int choose_kind(struct cutting *c, size_t kind, struct bpk_choice *choice,
		       struct bpk_err *err)
{
	const struct bpk_segment *k = &c->zones.kinds[kind];
	struct bpk_wishes wishes = *c->wishes;
	struct bpk_source *part;
	uint64_t nzones = 0;
	int rc;

	/* large chunks need zones of that size */
	for (size_t i = 0; i < c->zones.count; i++)
		nzones += c->zones.all[i].kind == kind;
	if (k->size / nzones < BPK_LARGE_CHUNK)
		wishes.chunk_size = BPK_CHUNK;
	memset(wishes.hints, 0, sizeof wishes.hints);
	add_hints(&wishes, k);
	wishes.only_hints = k->element > 0;
	wishes.is_part = true;
	if (bpk_zones_source(&c->zones, (uint32_t)kind, c->source, &part, err) != 0)
		return -1;
	rc = bpk_choose(part, k->size, &wishes, choice, err);
	bpk_source_close(part);
	return rc;
}

/* Add a choice to the cuts', with a line that says which arrays it is for. Takes it. */
static int add_choice(struct cutting *c, size_t kind, struct bpk_choice *choice,
		      struct bpk_err *err)
{
	struct bpk_cuts *cuts = c->cuts;
	uint32_t i = 0;
	int rc;

	while (i < cuts->nkinds && !is_same_choice(&cuts->kinds[i], choice))
		i++;
	c->kind_of[kind] = i;
	if (i == cuts->nkinds) {
		cuts->kinds[cuts->nkinds++] = *choice;
		cuts->kinds[i].why = (struct bpk_buf){ 0 };
	}
	rc = say_kind(&c->zones.kinds[kind], &cuts->kinds[i].why, err);
	if (rc == 0)
		rc = bpk_buf_append(&cuts->kinds[i].why, bpk_buf_view(&choice->why), err);
	bpk_buf_clear(&choice->why);
	return rc;
}

/* True if a kind is worth a trial of its own. */
static bool has_choice(const struct bpk_zones *zones, size_t kind)
{
	return zones->kinds[kind].size > zones->size / BPK_CUTS_KINDS;
}

/* The mixed kind, and the others, the largest first. */
static void order_kinds(const struct bpk_zones *zones, size_t order[BPK_ZONE_KINDS])
{
	order[0] = 0;
	for (size_t i = 1; i < zones->nkinds; i++) {
		size_t at = i;

		for (; at > 1 && zones->kinds[order[at - 1]].size < zones->kinds[i].size; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

static int choose_kinds(struct cutting *c, struct bpk_err *err)
{
	size_t order[BPK_ZONE_KINDS];

	order_kinds(&c->zones, order);
	for (size_t i = 0; i < c->zones.nkinds; i++) {
		struct bpk_choice choice = *c->whole;

		choice.why = (struct bpk_buf){ 0 };
		if (c->zones.kinds[order[i]].size == 0)
			continue;
		if (has_choice(&c->zones, order[i]) && choose_kind(c, order[i], &choice, err) != 0)
			return -1;
		if (add_choice(c, order[i], &choice, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Cutting ---- */

/* Cut size bytes into chunks of a kind. */
static int cut_stretch(const struct bpk_choice *choice, uint64_t size, uint32_t kind,
		       struct bpk_sizes *runs, struct bpk_err *err)
{
	uint64_t unit = 8 * (uint64_t)choice->recipe.typesize;
	uint64_t chunk = choice->chunk_size / unit * unit, count = size / chunk;
	uint64_t rest = size % chunk;

	if (bpk_sizes_add(runs, count, (uint32_t)chunk, kind, err) != 0)
		return -1;
	return rest > 0 ? bpk_sizes_add(runs, 1, (uint32_t)rest, kind, err) : 0;
}

/* Cut the input where the kind changes. */
static int cut(struct cutting *c, struct bpk_err *err)
{
	const struct bpk_zones *zones = &c->zones;
	uint64_t start = 0;

	for (size_t i = 0; i < zones->count; i++) {
		uint32_t kind = c->kind_of[zones->all[i].kind];
		uint64_t end = bpk_zone_end(zones, i);

		if (i + 1 < zones->count && c->kind_of[zones->all[i + 1].kind] == kind)
			continue;
		if (cut_stretch(&c->cuts->kinds[kind], end - start, kind, &c->cuts->runs, err) != 0)
			return -1;
		start = end;
	}
	return 0;
}

/* ---- All of it ---- */

/* True if zones differ enough to be worth chunks or filters of their own. */
static bool has_unlike(const struct bpk_zones *zones, const struct bpk_choice *whole)
{
	size_t used = 0;

	for (size_t i = 0; i < zones->nkinds; i++)
		used += has_choice(zones, i);
	return used > 1 && zones->size / zones->count > whole->chunk_size / SHORT_ZONE;
}

/* Hint at the element sizes of the largest kinds for the trials on the whole. */
static void hint_whole(const struct bpk_zones *zones, struct bpk_wishes *wishes)
{
	size_t order[BPK_ZONE_KINDS];

	order_kinds(zones, order);
	for (size_t i = 1; i < zones->nkinds; i++)
		if (has_choice(zones, order[i]))
			add_hints(wishes, &zones->kinds[order[i]]);
}

/* If all chunks have one size, the filters of a kind become a candidate for each chunk. A different
 * element size is no obstacle for chunks that record their own, and extended chunks may have
 * filters that record it. */
static int add_kind(const struct bpk_choice *kind, struct bpk_choice *choice, struct bpk_err *err)
{
	struct bpk_candidate own = { .typesize = choice->recipe.typesize,
				     .pipeline = choice->recipe.pipeline };
	struct bpk_candidate candidate = { .typesize = kind->recipe.typesize,
					   .pipeline = kind->recipe.pipeline };
	char filters[BPK_PIPELINE_TEXT];
	bool is_new = true;

	if (choice->recipe.extended) {
		candidate.typesize = own.typesize;
		is_new = bpk_candidates_retype(&kind->recipe, own.typesize, &candidate.pipeline);
	}
	is_new = is_new && !is_same_candidate(&candidate, &own);
	for (size_t i = 0; i < choice->ncandidates && is_new; i++)
		is_new = !is_same_candidate(&candidate, &choice->candidates[i]);
	if (!is_new || choice->ncandidates == BPK_CHOICE_CANDIDATES)
		return 0;
	choice->candidates[choice->ncandidates++] = candidate;
	return bpk_buf_printf(&choice->why, err, "or, for some of the arrays, typesize %u, %s\n",
			      candidate.typesize, bpk_pipeline_print(&candidate.pipeline, filters));
}

/* Let chunks hold whole elements of all candidates: a chunk that ends inside an element is not
 * bitshuffled (flow/work.c). */
static int fit_chunks(const struct bpk_wishes *wishes, struct bpk_choice *choice,
		      struct bpk_err *err)
{
	uint64_t unit = 8 * (uint64_t)choice->recipe.typesize;

	for (size_t i = 0; i < choice->ncandidates; i++)
		unit = bpk_lcm_u64(unit, 8 * (uint64_t)choice->candidates[i].typesize);
	if (wishes->chunk_size != 0 || unit > choice->chunk_size || choice->chunk_size % unit == 0)
		return 0;
	choice->chunk_size -= choice->chunk_size % unit;
	choice->recipe.block_size =
		(uint32_t)bpk_min_u64(choice->recipe.block_size, choice->chunk_size);
	return bpk_buf_printf(&choice->why, err,
			      "chunks of %" PRIu64 " bytes hold whole elements of each\n",
			      choice->chunk_size);
}

/* Cut the input if chunks may vary, else add candidates to the choice for the whole. */
static int use_kinds(struct cutting *c, bool varies, struct bpk_choice *choice, struct bpk_err *err)
{
	int rc = choose_kinds(c, err);

	if (rc == 0 && varies && c->cuts->nkinds > 1)
		return cut(c, err);
	for (size_t i = 0; rc == 0 && !varies && i < c->cuts->nkinds; i++)
		rc = add_kind(&c->cuts->kinds[i], choice, err);
	if (rc == 0 && !varies)
		rc = fit_chunks(c->wishes, choice, err);
	bpk_cuts_clear(c->cuts);
	return rc;
}

static bool may_cut(struct bpk_source *source, uint64_t raw_size, const struct bpk_wishes *wishes)
{
	return bpk_source_seekable(source) && raw_size != BPK_UNKNOWN && raw_size >= WINDOW &&
	       bpk_source_size(source) == raw_size && wishes->typesize == BPK_AUTO &&
	       wishes->row_size == 0 && wishes->level != 0;
}

int bpk_cuts_choose(struct bpk_source *source, uint64_t raw_size, const struct bpk_wishes *wishes,
		    bool varies, struct bpk_choice *choice, struct bpk_cuts *cuts,
		    struct bpk_err *err)
{
	struct bpk_wishes hinted = *wishes;
	struct cutting c = { .source = source, .wishes = wishes, .whole = choice, .cuts = cuts };
	int rc;

	*choice = (struct bpk_choice){ 0 };
	*cuts = (struct bpk_cuts){ 0 };
	if (!may_cut(source, raw_size, wishes))
		return bpk_choose(source, raw_size, wishes, choice, err);
	if (bpk_zones_find(source, &c.zones, err) != 0)
		return -1;
	hint_whole(&c.zones, &hinted);
	rc = bpk_choose(source, raw_size, &hinted, choice, err);
	if (rc == 0 && has_unlike(&c.zones, choice))
		rc = use_kinds(&c, varies && wishes->chunk_size == 0 && wishes->block_size == 0,
			       choice, err);
	bpk_zones_clear(&c.zones);
	if (rc != 0) {
		bpk_cuts_clear(cuts);
		bpk_buf_clear(&choice->why);
	}
	return rc;
}
