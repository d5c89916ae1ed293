/* Lists the rows of bpk bench, and measures them. bench.c calls it. */
#include "cli/bench.h"

#include <stdlib.h>

#include "cli/encoding.h"
#include "cli/progress.h"

enum { LEVELS = 10 };
static const unsigned default_levels = 1u << 1 | 1u << 3 | 1u << 5 | 1u << 9;

/* Filters that are measured unless the user names others. */
static const struct {
	const char *list;
	bool wide;     /* single bytes have no use for it */
	bool extended; /* for the chunks of Blosc2 */
} default_filters[] = {
	{ "none", false, false },
	{ "shuffle", true, false },
	{ "bitshuffle", false, false },
	{ "delta,shuffle", true, true },
	{ "shuffle,bytedelta", true, true },
};

/* ---- The options ---- */

static int check_filter(const struct bpk_bench_args *args, const char *list,
			struct bpk_encoding_args *encoding, struct bpk_err *err)
{
	encoding->filter.given = true;
	if (bpk_pipeline_parse(list, &encoding->filter.pipeline, err) != 0)
		return bpk_err_subject(err, "--filter");
	if (bpk_pipeline_is_lossy(&encoding->filter.pipeline))
		return bpk_fail(err, BPK_USAGE,
				"--filter %s loses precision, and bench compares every byte", list);
	return bpk_encoding_check(encoding, args->format, err);
}

int bpk_bench_check(const struct bpk_bench_args *args, struct bpk_err *err)
{
	struct bpk_encoding_args encoding = args->common.encoding;

	for (size_t i = 0; bpk_codec_at(i) != NULL; i++) {
		encoding.codec = bpk_codec_at(i);
		if ((args->codecs >> i & 1) != 0 &&
		    bpk_encoding_check(&encoding, args->format, err) != 0)
			return -1;
	}
	encoding.codec = NULL;
	for (size_t i = 0; i < args->filters.count; i++)
		if (check_filter(args, args->filters.items[i], &encoding, err) != 0)
			return -1;
	return 0;
}

/* ---- The rows ---- */

static int add_row(struct bpk_bench_table *table, const struct bpk_bench_row *row,
		   struct bpk_err *err)
{
	void *rows = bpk_alloc_grow(table->rows, table->nrows, &table->room, sizeof *row, err);

	if (rows == NULL)
		return -1;
	table->rows = rows;
	table->rows[table->nrows++] = *row;
	return 0;
}

/* The first row is bpk's own choice. */
static bool is_chosen(const struct bpk_bench_table *table, const struct bpk_recipe *recipe)
{
	const struct bpk_recipe *own = &table->rows[0].recipe;

	return !table->rows[0].varies && own->codec == recipe->codec &&
	       own->level == recipe->level && own->block_size == recipe->block_size &&
	       bpk_pipeline_equal(&own->pipeline, &recipe->pipeline);
}

/* Add a row for each level, with the recipe that pack would use. At level 0 bpk_choose fills in
 * the other settings without a trial. */
static int add_levels(struct bpk_bench_table *table, const struct bpk_codec *codec,
		      const struct bpk_pipeline *pipeline, struct bpk_err *err)
{
	unsigned levels = table->args->levels != 0 ? table->args->levels : default_levels;
	const struct bpk_wishes wishes = {
		.codec = codec,
		.typesize = (int)table->typesize,
		.pipeline = pipeline,
		.extended = table->args->format->extended_chunks,
		.chunk_size = table->chunk_size,
	};
	struct bpk_choice choice;
	int rc = bpk_choose(table->source, table->raw_size, &wishes, &choice, err);

	for (unsigned level = 0; rc == 0 && level < LEVELS; level++) {
		choice.recipe.level = level;
		if ((levels >> level & 1) != 0 && !is_chosen(table, &choice.recipe))
			rc = add_row(table, &(struct bpk_bench_row){ .recipe = choice.recipe },
				     err);
	}
	bpk_buf_clear(&choice.why);
	return rc;
}

/* Number index of the filters: those that the user names, or those that suit format and elements.
 * NULL behind the last. */
static const char *filter_at(const struct bpk_bench_table *table, size_t index)
{
	const struct bpk_opt_list *named = &table->args->filters;

	if (named->count > 0)
		return index < named->count ? named->items[index] : NULL;
	for (size_t i = 0; i < sizeof default_filters / sizeof default_filters[0]; i++) {
		if ((default_filters[i].wide && table->typesize == 1) ||
		    (default_filters[i].extended && !table->args->format->extended_chunks))
			continue;
		if (index-- == 0)
			return default_filters[i].list;
	}
	return NULL;
}

static int add_codec(struct bpk_bench_table *table, const struct bpk_codec *codec,
		     struct bpk_err *err)
{
	struct bpk_pipeline pipeline;
	const char *list;

	for (size_t i = 0; (list = filter_at(table, i)) != NULL; i++)
		if (bpk_pipeline_parse(list, &pipeline, err) != 0 ||
		    add_levels(table, codec, &pipeline, err) != 0)
			return -1;
	return 0;
}

static int add_codecs(struct bpk_bench_table *table, struct bpk_err *err)
{
	unsigned wanted = table->args->codecs;
	const struct bpk_codec *codec;

	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		if (wanted != 0
			    ? (wanted >> i & 1) == 0
			    : table->args->format->extended_chunks && !bpk_codec_is_extended(codec))
			continue;
		if (add_codec(table, codec, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Measuring ---- */

/* The bar, over all rows. */
struct meter {
	struct bpk_progress bar;
	uint64_t raw, packed; /* of the rows that are done */
};

static void update(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	struct meter *meter = arg;

	bpk_progress_update(&meter->bar, meter->raw + raw_done, meter->packed + packed_done);
}

static int measure(struct bpk_bench_table *table, struct bpk_bench_sample *sample,
		   const struct bpk_packing *packing, struct meter *meter,
		   struct bpk_bench_row *row, struct bpk_err *err)
{
	const struct bpk_bench bench = {
		.sample = sample,
		.packing = packing,
		.threads = bpk_shared_threads(&table->args->common.shared),
		.progress = update,
		.progress_arg = meter,
	};
	char filter[BPK_PIPELINE_TEXT];

	if (bpk_bench_run(&bench, row, err) != 0)
		return bpk_err_subject(err, "%s, level %u, filter %s",
				       bpk_codec_name(row->recipe.codec), row->recipe.level,
				       bpk_bench_filter(row, filter));
	meter->raw += row->raw_size;
	meter->packed += row->packed_size;
	return 0;
}

static int take(struct bpk_bench_table *table, const struct bpk_plan *plan, uint64_t most,
		struct bpk_bench_sample *sample, struct bpk_err *err)
{
	if (bpk_bench_take(table->source, plan, most, sample, err) != 0)
		return -1;
	if (sample->raw.size == 0)
		return bpk_fail(err, BPK_FAILED, "has no data to measure");
	table->measured = sample->raw.size;
	table->nchunks = sample->nchunks;
	table->whole = sample->whole;
	return 0;
}

/* Measure the chosen row, in its chunks, and the others in chunks of one size. */
static int measure_all(struct bpk_bench_table *table, const struct bpk_packing *chosen,
		       uint64_t most, struct meter *meter, struct bpk_err *err)
{
	struct bpk_plan plan = bpk_plan_cut(table->raw_size, table->chunk_size);
	struct bpk_plan own = chosen->cuts != NULL ? bpk_plan_sizes(&chosen->cuts->runs) : plan;
	struct bpk_bench_sample sample;
	int rc = take(table, &own, most, &sample, err);

	if (rc == 0)
		rc = measure(table, &sample, chosen, meter, &table->rows[0], err);
	if (rc == 0 && chosen->cuts != NULL) {
		bpk_bench_clear(&sample);
		rc = take(table, &plan, most, &sample, err);
	}
	for (size_t i = 1; rc == 0 && i < table->nrows; i++) {
		const struct bpk_packing packing = { .choice.recipe = table->rows[i].recipe };

		rc = measure(table, &sample, &packing, meter, &table->rows[i], err);
	}
	bpk_bench_clear(&sample);
	return rc;
}

/* The size of a sample that --sample and --memory-limit allow, for the row that needs the most
 * memory. An archive that is read keeps a quarter of the limit for itself. */
static int limit_sample(const struct bpk_bench_table *table, const struct bpk_packing *chosen,
			uint64_t *most, struct bpk_err *err)
{
	struct bpk_limits limits = bpk_shared_limits(&table->args->common.shared);
	uint64_t size = bpk_min_u64(table->chunk_size, table->raw_size);
	int rc;

	limits.memory -= table->in.format != &bpk_format_raw ? limits.memory / 4 : 0;
	*most = table->args->sample;
	rc = bpk_bench_limit(chosen,
			     chosen->cuts != NULL ? bpk_sizes_largest(&chosen->cuts->runs) : size,
			     &limits, most, err);
	for (size_t i = 1; rc == 0 && i < table->nrows; i++) {
		const struct bpk_packing packing = { .choice.recipe = table->rows[i].recipe };

		rc = bpk_bench_limit(&packing, size, &limits, most, err);
	}
	return rc;
}

static int compare_rows(const void *a, const void *b)
{
	const struct bpk_bench_row *one = a, *two = b;
	double x = bpk_bench_ratio(one), y = bpk_bench_ratio(two);

	if (x != y)
		return x > y ? -1 : 1;
	return one->pack_seconds < two->pack_seconds ? -1 : 1;
}

static int fill(struct bpk_bench_table *table, const struct bpk_packing *chosen,
		struct bpk_err *err)
{
	const struct bpk_shared *shared = &table->args->common.shared;
	const struct bpk_bench_row first = {
		.recipe = chosen->choice.recipe,
		.chosen = true,
		.varies = chosen->choice.ncandidates > 0 || chosen->cuts != NULL,
	};
	struct meter meter = { 0 };
	uint64_t most;
	int rc;

	table->typesize = first.recipe.typesize;
	table->chunk_size = chosen->choice.chunk_size;
	if (add_row(table, &first, err) != 0 || add_codecs(table, err) != 0 ||
	    limit_sample(table, chosen, &most, err) != 0)
		return -1;
	bpk_progress_start(&meter.bar, shared->progress, shared->quiet, table->in.path,
			   table->nrows * bpk_min_u64(most, table->raw_size));
	rc = measure_all(table, chosen, most, &meter, err);
	bpk_progress_hide();
	if (rc != 0)
		return -1;
	bpk_bench_fronts(table->rows, table->nrows);
	qsort(table->rows, table->nrows, sizeof *table->rows, compare_rows);
	return 0;
}

int bpk_bench_fill(struct bpk_bench_table *table, struct bpk_err *err)
{
	const struct bpk_format *format = table->args->format;
	const struct bpk_wishes wishes = bpk_encoding_wishes(&table->args->common.encoding, format);
	struct bpk_packing chosen = { 0 };
	struct bpk_cuts cuts;
	int rc;

	if (table->raw_size == 0)
		return bpk_fail(err, BPK_FAILED, "has no data to measure");
	if (bpk_cuts_choose(table->source, table->raw_size, &wishes, format->varied_chunks,
			    &chosen.choice, &cuts, err) != 0)
		return -1;
	chosen.cuts = cuts.nkinds > 0 ? &cuts : NULL;
	rc = fill(table, &chosen, err);
	bpk_buf_clear(&chosen.choice.why);
	bpk_cuts_clear(&cuts);
	return rc;
}
