/* bpk cat: raw bytes, or a range of them, to standard output. */
#include "cli/command.h"
#include "cli/content.h"
#include "cli/job.h"
#include "cli/report.h"
#include "cli/slice.h"

struct cat_args {
	struct bpk_shared shared;
	struct bpk_opt_range bytes, items;
	struct bpk_opt_slice slice;
};

#define ARG(member) offsetof(struct cat_args, member)

static const struct bpk_opt opt_bytes = {
	.name = "bytes",
	.type = OPT_RANGE,
	.offset = ARG(bytes),
	.metavar = "A:B",
	.help = "only the raw bytes from A up to, not including, B",
	.more = "As in Python: a negative number counts from the end, either may be left out, "
		"and what lies outside the data is cut off. A and B take K, M, G and T.",
};

static const struct bpk_opt opt_items = {
	.name = "items",
	.type = OPT_RANGE,
	.offset = ARG(items),
	.metavar = "A:B",
	.help = "the same, counted in items of the archive's typesize",
};

static const struct bpk_opt opt_slice = {
	.name = "slice",
	.type = OPT_SLICE,
	.offset = ARG(slice),
	.metavar = "A:B,C,...",
	.help = "only a part of an array: a range or an index for each dimension",
	.more = "As in NumPy, in C order: \"0:10,:,3\", \"...,-1\". An index selects, dimensions "
		"that are not named are whole. Of arrays in Blosc2's formats only the blocks that "
		"the part touches are unpacked, and where there is nothing to check only these are "
		"read.",
};

static const struct bpk_opt opt_force = {
	.letter = 'f',
	.name = "force",
	.type = OPT_FLAG,
	.offset = ARG(shared.force),
	.help = "write binary data to a terminal",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt *const rows[] = {
	&opt_bytes,         &opt_items,           &opt_slice,           &bpk_opt_name,
	&bpk_opt_frames,    &bpk_opt_no_defaults, &bpk_opt_format_read, &bpk_opt_no_check,
	&bpk_opt_no_marker, &opt_force,           &bpk_opt_threads,     &bpk_opt_memory_limit,
	&bpk_opt_quiet,     &bpk_opt_progress,    &bpk_opt_help,        NULL,
};

static const struct cat_args defaults;

/* ---- the work ---- */

/* The raw bytes start..end of a range of items of unit bytes; what is larger than any data stops
 * there. */
static int resolve(struct bpk_input *in, const struct bpk_opt_range *range, uint64_t unit,
		   uint64_t *start, uint64_t *end, struct bpk_err *err)
{
	uint64_t total;

	if (bpk_input_raw_size(in, &total, err) != 0)
		return -1;
	if (total != BPK_UNKNOWN)
		total /= unit;
	if (bpk_range_resolve(range, total, start, end, err) != 0)
		return bpk_input_subject(in, err);
	if (!bpk_mul_u64(*start, unit, start))
		*start = INT64_MAX;
	if (*end != BPK_UNKNOWN && !bpk_mul_u64(*end, unit, end))
		*end = INT64_MAX;
	return 0;
}

static int plan_range(const struct cat_args *args, struct bpk_input *in, struct bpk_plan *plan,
		      struct bpk_err *err)
{
	const struct bpk_opt_range *range = args->items.given ? &args->items : &args->bytes;
	uint64_t start = 0, end = BPK_UNKNOWN, unit = 1;

	if (args->items.given && bpk_input_item_size(in->info, &unit, err) != 0)
		return bpk_input_subject(in, err);
	if (resolve(in, range, unit, &start, &end, err) != 0)
		return -1;
	if (bpk_plan_range(in->format->reader, in->reader, start, end, plan, err) != 0)
		return bpk_input_subject(in, err);
	return 0;
}

static int write_range(const struct cat_args *args, struct bpk_job *job, struct bpk_err *err)
{
	const struct bpk_write_options options = { 0 };
	struct bpk_flow flow = { .check = !args->shared.no_check, .decode = true };
	struct bpk_info info = *job->in->info;
	bool whole = !args->bytes.given && !args->items.given && !args->slice.given;

	flow.plan = bpk_plan_all(job->in->info);
	if (!whole && !args->slice.given && plan_range(args, job->in, &flow.plan, err) != 0)
		return -1;
	/* a pipe that does not say how much it brings is cut off like a Python slice */
	job->may_end_early = !whole && info.raw_size == BPK_UNKNOWN;
	if (flow.plan.end != BPK_UNKNOWN)
		info.raw_size = flow.plan.end - flow.plan.start;
	if (bpk_job_start_writer(job, &bpk_format_raw, &info, &options, err) != 0 ||
	    bpk_job_run(job, &flow, err) != 0)
		return -1;
	if (whole && bpk_input_audit(job->in, NULL, NULL, err) != 0)
		return -1;
	return bpk_job_finish_writer(job, err);
}

/* ---- arrays ---- */

/* Through a view of the input, whose array lies in C's order or Fortran's. */
static int write_viewed(const struct cat_args *args, struct bpk_job *job,
			const struct bpk_slice *slice, struct bpk_err *err)
{
	enum { SLOTS = 4 };
	struct bpk_input *in = job->in;
	struct bpk_source *view = NULL;
	int rc = bpk_view_open(in->format->reader, in->reader, args->shared.no_check, SLOTS, &view,
			       err);

	if (rc == 0)
		rc = bpk_slice_copy(view, 0, in->info->array, slice, job->draft, err);
	bpk_source_close(view);
	return rc == 0 ? 0 : bpk_input_subject(in, err);
}

/*
 * Of an archive that tells of an array. Where chunks have several dimensions the input is opened
 * once more, to bring the slice and nothing else.
 */
static int write_slice(const struct cat_args *args, struct bpk_job *job, struct bpk_err *err)
{
	struct bpk_shared shared = args->shared;
	struct bpk_input *in = job->in;
	struct bpk_slice slice;

	if (bpk_slice_resolve(&args->slice, in->info->array, &slice, err) != 0)
		return bpk_input_subject(in, err);
	if (in->info->chunk_shape == NULL || !bpk_input_can_locate(in))
		return write_viewed(args, job, &slice, err);
	in->format->reader->close(in->reader);
	in->reader = NULL;
	shared.slice = &slice;
	if (bpk_input_start(in, &shared, shared.memory_limit, err) != 0)
		return -1;
	return write_range(args, job, err);
}

struct naming {
	const struct cat_args *args;
	const struct bpk_content *content;
	struct bpk_draft *draft;
};

static int write_item(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	const struct naming *naming = arg;

	if (naming->args->slice.given)
		return bpk_content_copy_slice(naming->content, item, &naming->args->slice,
					      naming->draft, err);
	return bpk_content_copy(naming->content, item, naming->draft, err);
}

/* The file's only array, of which a slice is wanted. */
static int write_only(struct naming *naming, struct bpk_err *err)
{
	struct bpk_item item;

	if (bpk_content_only(naming->content, &item, err) != 0)
		return -1;
	if (write_item(naming, &item, err) != 0)
		return bpk_input_subject(naming->content->in, err);
	return 0;
}

/* Out of what the input holds: by name, or a slice of all there is. */
static int write_content(const struct cat_args *args, struct bpk_job *job, struct bpk_err *err)
{
	struct bpk_content content;
	struct naming naming = { args, &content, job->draft };
	int rc;

	if (bpk_content_open(job->in, args->shared.no_check, &content, err) != 0)
		return -1;
	if (args->shared.pick.name != NULL)
		rc = bpk_pick_each(&content, &args->shared.pick, write_item, &naming, err);
	else
		rc = write_only(&naming, err);
	bpk_content_close(&content);
	return rc;
}

/* ---- one file ---- */

static int open_input(const struct cat_args *args, struct bpk_input *in, const char *path,
		      struct bpk_err *err)
{
	return (args->shared.pick.name != NULL || args->slice.given
			? bpk_input_open_any
			: bpk_input_open)(in, path, &args->shared, err);
}

static int write_wanted(const struct cat_args *args, struct bpk_job *job, struct bpk_err *err)
{
	if (args->shared.pick.name != NULL || (args->slice.given && job->in->info->array == NULL))
		return write_content(args, job, err);
	return (args->slice.given ? write_slice : write_range)(args, job, err);
}

static void cat_one(void *arg, const char *path)
{
	const struct cat_args *args = arg;
	struct bpk_input in = { 0 };
	struct bpk_job job = { .shared = &args->shared, .in = &in };
	struct bpk_err err = { 0 };

	if (open_input(args, &in, path, &err) != 0 || bpk_job_name_target(&job, NULL, &err) != 0 ||
	    bpk_job_open_draft(&job, &err) != 0 || write_wanted(args, &job, &err) != 0 ||
	    bpk_job_keep(&job, NULL, &err) != 0)
		bpk_report(NULL, &err);
	bpk_job_clear(&job);
	bpk_input_close(&in);
}

/* The option that asks for a part of the data, of whatever it may be; NULL: none. */
static const char *part_of(const struct cat_args *args)
{
	if (args->bytes.given)
		return "--bytes";
	return args->items.given ? "--items" : NULL;
}

static int check_usage(const struct cat_args *args, struct bpk_err *err)
{
	if (args->bytes.given + args->items.given + args->slice.given > 1)
		return bpk_fail(err, BPK_USAGE,
				"only one of --bytes, --items and --slice makes sense");
	return bpk_pick_check(&args->shared.pick, part_of(args), err);
}

static void run_cat(void *arg, char **operands, size_t count)
{
	struct cat_args *args = arg;
	struct bpk_err err = { 0 };

	args->shared.to_stdout = true;
	if (check_usage(args, &err) != 0)
		bpk_report("cat", &err);
	bpk_each_operand(operands, count, cat_one, args);
}

const struct bpk_command bpk_command_cat = {
	.name = "cat",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "write raw bytes, or a range of them, to standard output",
	.description =
		"Unpacks each FILE, or standard input, to standard output. With a range only "
		"the chunks it touches are read and checked, and only the blocks it needs are "
		"unpacked. With --name writes one array of a simulation file, be that packed or "
		"not.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows,
	.args_size = sizeof(struct cat_args),
	.defaults = &defaults,
	.run = run_cat,
};
