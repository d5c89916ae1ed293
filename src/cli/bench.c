/* bpk bench: ways to pack, measured on the user's data. Called by main through the table of
 * commands. */
#include "cli/bench.h"

#include <stdlib.h>

#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"

static const struct bpk_opt opt_format = {
	.letter = 'F',
	.name = "format",
	BPK_OPT_VALUE(OPT_FORMAT_WRITE, struct bpk_bench_args, format),
	.metavar = "NAME",
	.help = "measure the chunks of format NAME (default blp)",
	.more = "Blosc2's formats have more filters, and no snappy.",
};

static const struct bpk_opt opt_codec = {
	.name = "codec",
	BPK_OPT_VALUE(OPT_CODECS, struct bpk_bench_args, codecs),
	.metavar = "NAME,...",
	.help = "measure these codecs; by default all",
};

static const struct bpk_opt opt_filter = {
	.name = "filter",
	BPK_OPT_VALUE(OPT_LIST, struct bpk_bench_args, filters),
	.metavar = "LIST",
	.help = "measure these filters; may be given several times",
	.more = "LIST is as in bpk-pack(1): none, or filters in their order, separated by commas. "
		"By default none, shuffle and bitshuffle are measured, in Blosc2's formats also "
		"delta,shuffle and shuffle,bytedelta. Filters that lose precision are refused.",
};

static const struct bpk_opt opt_level = {
	.name = "level",
	BPK_OPT_VALUE(OPT_LEVELS, struct bpk_bench_args, levels),
	.metavar = "N,...",
	.help = "measure these levels (default 1,3,5,9)",
	.more = "Numbers from 0 to 9 and ranges of them: 1,5 or 1-9.",
};

static const struct bpk_opt opt_typesize = {
	.letter = 't',
	.name = "typesize",
	BPK_OPT_VALUE(OPT_TYPESIZE, struct bpk_bench_args, common.encoding.typesize),
	.metavar = "N",
	.help = "items are N bytes (1 to 255, or auto)",
	.more = "With auto, the default, a trial decides, as in bpk-pack(1).",
};

static const struct bpk_opt opt_chunk_size = {
	.letter = 'z',
	.name = "chunk-size",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_bench_args, common.encoding.chunk_size),
	.metavar = "SIZE",
	.help = "measure chunks of SIZE bytes of raw data",
	.more = "Rounded down to whole items, but to one at least. By default a trial decides, as "
		"in bpk-pack(1).",
	.min = 1,
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

static const struct bpk_opt opt_sample = {
	.name = "sample",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_bench_args, sample),
	.metavar = "SIZE",
	.help = "measure at most SIZE of the data (default 64M)",
	.more = "Whole chunks are taken, spread evenly over the data, or the first ones of a pipe. "
		"They are kept in memory, raw and packed.",
	.min = 1,
	.max = INT64_MAX,
};

static const struct bpk_opt opt_csv = {
	.name = "csv",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_bench_args, csv),
	.help = "print the rows as comma-separated values",
	.more = "The first line has the titles. Sizes are in bytes, rates in bytes a second.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt opt_plot = {
	.name = "plot",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_bench_args, plot),
	.metavar = "FILE",
	.help = "also draw ratio against speed, as an SVG in FILE",
	.more = "For a single input. A browser shows it, with the settings of each point.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt opt_force = {
	.letter = 'f',
	.name = "force",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_bench_args, common.shared.force),
	.help = "replace an existing file of --plot",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt opt_threads = {
	.letter = 'T',
	.name = "threads",
	BPK_OPT_VALUE(OPT_U64, struct bpk_bench_args, common.shared.threads),
	.metavar = "N",
	.help = "measure with N threads (default 1); 0: all usable ones",
	.more = "Each thread works on chunks of its own.",
	.group = GROUP_RUN,
	.max = 1024,
};

static const struct bpk_opt *const rows[] = {
	&opt_codec,     &opt_filter,
	&opt_level,     &opt_format,
	&opt_typesize,  &opt_chunk_size,
	&opt_sample,    &bpk_opt_no_marker,
	&opt_csv,       &opt_plot,
	&opt_force,     BPK_OPTS_REMOTE,
	&opt_threads,   &bpk_opt_memory_limit,
	&bpk_opt_quiet, &bpk_opt_progress,
	&bpk_opt_json,  &bpk_opt_help,
	NULL,
};

static const struct bpk_bench_args defaults = {
	.common = BPK_ARGS_DEFAULTS,
	.common.shared.threads = 1, /* figures are those of one thread */
	.sample = 64 << 20,
};

/* ---- One input ---- */

/* A file of raw bytes, an archive, or a pipe of either. */
static int open_input(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		      struct bpk_err *err)
{
	if (bpk_input_find(in, path, shared, err) != 0)
		return -1;
	if (in->format == NULL && !in->place.is_directory && bpk_format_of_suffix(path) == NULL)
		in->format = &bpk_format_raw;
	if (bpk_input_start(in, shared, shared->chunk_limit, err) != 0)
		return -1;
	return in->format == &bpk_format_raw || !bpk_input_can_locate(in)
		       ? 0
		       : bpk_input_complete(in, err);
}

/* Measure the table of an open input: the raw file itself, or a view of an archive. */
static int fill(struct bpk_bench_table *table, struct bpk_err *err)
{
	struct bpk_input *in = &table->in;
	const struct bpk_shared *shared = &table->args->common.shared;
	struct bpk_view_limits limits = { shared->memory_limit / 4, BPK_UNKNOWN };
	const struct bpk_view_options options = { .nchunks = 2, .limits = &limits };
	struct bpk_source *view = NULL;
	int rc = 0;

	if (in->format != &bpk_format_raw)
		rc = bpk_view_open(in->format->reader, in->reader, &options, &view, err);
	table->source = view != NULL ? view : in->place.source;
	if (rc == 0) {
		table->raw_size = bpk_source_size(table->source);
		rc = bpk_bench_fill(table, err);
	}
	bpk_source_close(view);
	if (rc == 0 && view == NULL)
		rc = bpk_source_unchanged(in->place.source, err);
	return rc == 0 ? bpk_input_unchanged(in, err) : bpk_input_subject(in, err);
}

static void print(struct bpk_bench_table *table)
{
	if (table->args->common.shared.json)
		bpk_bench_record(table);
	else if (table->args->csv)
		bpk_bench_csv(table);
	else
		bpk_bench_print(table);
}

/* The plot is opened before the work, which would be lost if it could not be written. */
static int open_plot(const struct bpk_bench_table *table, struct bpk_transfer *transfer,
		     struct bpk_err *err)
{
	if (table->args->plot == NULL)
		return 0;
	transfer->target = bpk_strdup(table->args->plot, err);
	return transfer->target == NULL ? -1 : bpk_transfer_open_draft(transfer, err);
}

static int keep_plot(const struct bpk_bench_table *table, struct bpk_transfer *transfer,
		     struct bpk_err *err)
{
	struct bpk_buf svg = { 0 };
	int rc;

	if (transfer->draft == NULL)
		return 0;
	rc = bpk_bench_plot(table, &svg, err);
	if (rc == 0)
		rc = bpk_draft_write(transfer->draft, bpk_buf_view(&svg), err);
	if (rc != 0)
		bpk_err_subject(err, "%s", transfer->target);
	bpk_buf_clear(&svg);
	return rc == 0 ? bpk_transfer_keep(transfer, err) : rc;
}

static void bench_one(void *arg, const char *path)
{
	const struct bpk_bench_args *args = arg;
	struct bpk_bench_table table = { .args = args };
	struct bpk_transfer transfer = { .shared = &args->common.shared, .in = &table.in };
	struct bpk_err err = { 0 };

	bpk_signals_start();
	if (open_input(&table.in, path, &args->common.shared, &err) != 0 ||
	    open_plot(&table, &transfer, &err) != 0 || fill(&table, &err) != 0 ||
	    bpk_input_tail(&table.in, &err) != 0) {
		bpk_input_judge(&table.in, &err);
		bpk_report(NULL, &err);
	} else {
		print(&table);
		if (keep_plot(&table, &transfer, &err) != 0)
			bpk_report(NULL, &err);
	}
	bpk_record_settle(&args->common.shared, path);
	bpk_transfer_clear(&transfer);
	free(table.rows);
	bpk_input_close(&table.in);
}

static int check_usage(const struct bpk_bench_args *args, size_t count, struct bpk_err *err)
{
	if (args->common.shared.json && args->csv)
		return bpk_fail(err, BPK_USAGE, "only one of --json and --csv can be given");
	if (args->plot != NULL && count > 1)
		return bpk_fail(err, BPK_USAGE, "--plot takes a single input, %zu were given",
				count);
	if (args->plot != NULL && strcmp(args->plot, "-") == 0)
		return bpk_fail(err, BPK_USAGE,
				"--plot needs the name of a file, standard output has the table");
	return bpk_bench_check(args, err);
}

static void run_bench(void *arg, char **operands, size_t count)
{
	struct bpk_bench_args *args = arg;
	struct bpk_err err = { 0 };

	if (args->format == NULL)
		args->format = bpk_formats[0]; /* as pack */
	if (check_usage(args, count, &err) != 0)
		bpk_report("bench", &err);
	if (args->csv)
		bpk_bench_csv_titles();
	bpk_input_each(operands, count, bench_one, args);
}

const struct bpk_command bpk_command_bench = {
	.name = "bench",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "measure codecs, filters and levels on your data and this machine",
	.description =
		"Packs and unpacks a sample of each FILE, or of standard input, in memory, and "
		"prints ratio, speed and memory for each codec, filter and level. FILE is raw data "
		"or an archive. Default marks the choice of bpk pack; pack and unpack mark the "
		"rows that no other row beats in both ratio and speed.",
	.operands = OPERANDS_FILES,
	.options = rows,
	.args_size = sizeof(struct bpk_bench_args),
	.defaults = &defaults,
	.run = run_bench,
};
