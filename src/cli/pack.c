/* bpk pack: raw files in, archives out. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/encoding.h"
#include "cli/job.h"
#include "cli/metadata.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/text.h"

struct pack_args {
	struct bpk_encoding_args encoding;
	bool compare;
	uint64_t stream_size;
	const char *dtype;
	struct bpk_opt_shape shape;
	const char *metadata;
	struct bpk_opt_list set;
};

#define ARG(member) offsetof(struct pack_args, member)

static const struct bpk_opt opt_dtype = {
	.name = "dtype",
	.type = OPT_TEXT,
	.offset = ARG(dtype),
	.metavar = "TYPE",
	.help = "the data is an array of NumPy's TYPE",
	.more = "As NumPy writes types: <f8, float64, \"[('x', '<f4'), ('n', '<u2')]\". The "
		"archive "
		"tells it to other programs, a Bloscpack file in its metadata, so that --metadata "
		"and --set cannot be given there. Elements are then of that size unless --typesize "
		"says otherwise; a chunked directory keeps records as columns.",
};

static const struct bpk_opt opt_shape = {
	.name = "shape",
	.type = OPT_SHAPE,
	.offset = ARG(shape),
	.metavar = "A,B,...",
	.help = "the array has A rows of B ..., in C order",
	.more = "By default it has one dimension. The data must have exactly that size.",
};

static const struct bpk_opt opt_metadata = {
	.name = "metadata",
	.type = OPT_FILE,
	.offset = ARG(metadata),
	.metavar = "FILE",
	.help = "store the JSON text in FILE with the data",
	.more = "The text is kept as it is; numbers keep their digits.",
};

static const struct bpk_opt opt_set = {
	.name = "set",
	.type = OPT_LIST,
	.offset = ARG(set),
	.metavar = "KEY=VALUE",
	.help = "set one member of the metadata; may be repeated",
	.more = "VALUE is JSON (a number, true, a quoted text, a list ...); what is no JSON is "
		"taken as a text.",
};

static const struct bpk_opt opt_compare = {
	.name = "compare",
	.type = OPT_FLAG,
	.offset = ARG(compare),
	.help = "unpack every chunk again and compare before it is written",
	.more = "A checksum of packed bytes would not find an encoder's mistake.",
};

static const struct bpk_opt opt_stream_size = {
	.name = "stream-size",
	.type = OPT_SIZE,
	.offset = ARG(stream_size),
	.metavar = "SIZE",
	.help = "standard input will bring exactly SIZE bytes",
	.more = "The archive's header can then say how many chunks follow although it is "
		"written to a pipe, and older Bloscpack readers understand it.",
	.max = INT64_MAX,
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_format_write,
	&bpk_opt_digits,
	&bpk_opt_level,
	&bpk_opt_codec,
	&bpk_opt_filter,
	&bpk_opt_lossy,
	&bpk_opt_dictionary,
	&bpk_opt_typesize,
	&bpk_opt_chunk_size,
	&bpk_opt_block_size,
	&bpk_opt_checksum,
	&bpk_opt_slack,
	&bpk_opt_no_offsets,
	&bpk_opt_append_space,
	&bpk_opt_layout,
	&bpk_opt_superchunk_size,
	&opt_dtype,
	&opt_shape,
	&bpk_opt_chunk_shape,
	&bpk_opt_block_shape,
	&opt_metadata,
	&opt_set,
	&opt_compare,
	&opt_stream_size,
	&bpk_opt_stdout,
	&bpk_opt_output,
	&bpk_opt_output_dir,
	&bpk_opt_force,
	&bpk_opt_keep,
	&bpk_opt_rm,
	&bpk_opt_no_sync,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&bpk_opt_quiet,
	&bpk_opt_verbose,
	&bpk_opt_progress,
	&bpk_opt_json,
	&bpk_opt_help,
	NULL,
};

static const struct pack_args defaults = {
	.encoding = BPK_ENCODING_DEFAULTS,
	.stream_size = BPK_UNKNOWN,
};

/* ---- the work ---- */

/* One pack on its way. */
struct pack {
	const struct pack_args *args;
	const struct bpk_format *format;
	struct bpk_dtype dtype;  /* size 0: none was given */
	struct bpk_array array;  /* of the input, if there is a dtype */
	struct bpk_buf metadata; /* empty: none */
	struct bpk_input in;
	struct bpk_job job;
	struct bpk_choice choice;
	struct bpk_division division; /* of the array, where the format has such */
	bool divided;
	struct bpk_plan plan;
};

/* Does the format tell of an array in the metadata alone? */
static bool has_array_in_metadata(const struct bpk_format *format)
{
	return !format->is_directory && format->divide == NULL;
}

/* The format that the user named, that the output is called after, or the first that can be
 * written. */
static const struct bpk_format *format_of(const struct bpk_shared *shared)
{
	const struct bpk_format *format = shared->format;

	if (format == NULL && shared->output != NULL)
		format = bpk_format_of_suffix(shared->output);
	for (size_t i = 0; format == NULL || format->writer == NULL; i++)
		format = bpk_formats[i];
	return format;
}

static char *add_suffix(const struct bpk_job *job, const char *source, struct bpk_err *err)
{
	const struct pack *pack = (const void *)((const char *)job - offsetof(struct pack, job));
	const char *suffix = bpk_format_suffix(source);
	char *target = NULL;

	if (suffix != NULL && !job->shared->force) {
		bpk_fail(err, BPK_PARTIAL,
			 "already ends in %s, skipped (--force packs it all the same)", suffix);
		return NULL;
	}
	suffix = pack->format->suffix;
	if (pack->dtype.size > 0 && pack->format->array_suffix != NULL)
		suffix = pack->format->array_suffix;
	if (asprintf(&target, "%s%s", source, suffix) < 0) {
		bpk_fail_memory(err, strlen(source));
		return NULL;
	}
	return target;
}

/* How many bytes will come, as far as anyone says. */
static int expect_size(const struct pack *pack, uint64_t *raw_size, struct bpk_err *err)
{
	uint64_t said = pack->args->stream_size;

	*raw_size = pack->in.info->raw_size;
	if (*raw_size == BPK_UNKNOWN)
		*raw_size = said;
	if (said != BPK_UNKNOWN && said != *raw_size) {
		bpk_fail(err, BPK_FAILED, "has %llu bytes, --stream-size said %llu",
			 (unsigned long long)*raw_size, (unsigned long long)said);
		return bpk_input_subject(&pack->in, err);
	}
	return 0;
}

/* The array that the input is to hold. Its size tells that of the input where nobody else does. */
static int shape_array(struct pack *pack, uint64_t *raw_size, struct bpk_err *err)
{
	const struct bpk_opt_shape *shape = &pack->args->shape;
	struct bpk_array *array = &pack->array;
	uint64_t item = pack->dtype.size, items = *raw_size / item;

	if (shape->ndimensions == 0 && *raw_size == BPK_UNKNOWN)
		return bpk_fail(err, BPK_FAILED,
				"does not say how many items it has, use --shape or --stream-size");
	bpk_array_clear(array);
	if (bpk_dtype_copy(&pack->dtype, &array->dtype, err) != 0)
		return -1;
	if ((shape->ndimensions == 0
		     ? bpk_array_set_shape(array, &items, 1, err)
		     : bpk_array_set_shape(array, shape->sizes, shape->ndimensions, err)) != 0)
		return -1;
	if (*raw_size == BPK_UNKNOWN)
		*raw_size = array->size;
	if (*raw_size != array->size)
		return bpk_fail(err, BPK_FAILED,
				"has %llu bytes, an array of %llu items of %llu was expected",
				(unsigned long long)*raw_size,
				(unsigned long long)(array->size / item), (unsigned long long)item);
	return 0;
}

/* What is to be told of the array, where there is no other place for it. */
static int describe_array(struct pack *pack, uint64_t *raw_size, struct bpk_err *err)
{
	int rc;

	if (pack->dtype.size == 0)
		return 0;
	rc = shape_array(pack, raw_size, err);
	if (rc == 0 && has_array_in_metadata(pack->format)) {
		pack->metadata.size = 0;
		rc = bpk_array_print(&pack->array, &pack->metadata, err);
	}
	return rc == 0 ? 0 : bpk_input_subject(&pack->in, err);
}

static struct bpk_wishes settle_wishes(const struct pack *pack)
{
	struct bpk_wishes wishes = bpk_encoding_wishes(&pack->args->encoding, pack->format);
	uint64_t item = pack->dtype.size;

	if (item == 0)
		return wishes;
	if (wishes.typesize == BPK_AUTO && item <= BPK_CHUNK_MAX_TYPESIZE)
		wishes.typesize = (int)item;
	if (pack->format->divide == NULL)
		wishes.row_size = bpk_encoding_row_size(&pack->array, pack->format);
	return wishes;
}

/* What the input is as an array; NULL: bytes. */
static const struct bpk_array *array_of(const struct pack *pack)
{
	return pack->dtype.size > 0 ? &pack->array : NULL;
}

static int choose(struct pack *pack, uint64_t raw_size, struct bpk_err *err)
{
	const struct bpk_wishes wishes = settle_wishes(pack);

	if (bpk_choose(pack->in.place.source, raw_size, &wishes, &pack->choice, err) != 0)
		return bpk_input_subject(&pack->in, err);
	bpk_encoding_tell_loss(&pack->args->encoding, &pack->choice.recipe,
			       bpk_input_name(pack->in.path));
	/* columns have elements of their own, of which the trial knows nothing */
	if (pack->format->is_directory && pack->dtype.nfields > 0)
		pack->choice.nothers = 0;
	if (bpk_encoding_divide(&pack->args->encoding, pack->format, array_of(pack), NULL, NULL,
				&pack->choice, &pack->division, &pack->divided, err) != 0)
		return bpk_input_subject(&pack->in, err);
	pack->plan = bpk_plan_cut(raw_size, pack->division.parcel_size);
	return 0;
}

static int start_writer(struct pack *pack, struct bpk_err *err)
{
	const struct bpk_encoding_args *encoding = &pack->args->encoding;
	const struct bpk_info info = {
		.format = pack->format->name,
		.stored_size = BPK_UNKNOWN,
		.raw_size = pack->plan.raw_size,
		.nchunks = pack->plan.count,
		.chunk_size = pack->plan.chunk_size,
		.last_chunk_size = BPK_UNKNOWN,
		.typesize = pack->choice.recipe.typesize,
		.checksum = encoding->checksum != NULL ? encoding->checksum
						       : bpk_checksum_find("crc32"),
		.has_metadata = pack->metadata.size > 0,
		.metadata = bpk_buf_view(&pack->metadata),
		.array = array_of(pack),
	};
	struct bpk_write_options options = bpk_encoding_options(encoding, &pack->choice.recipe);

	if (pack->divided) {
		options.chunk_shape = pack->division.chunk_shape;
		options.block_shape = pack->division.block_shape;
	}

	return bpk_job_start_writer(&pack->job, pack->format, &info, &options, err);
}

/* Did exactly the bytes come that were announced, and is there nothing behind them? */
static int check_input(struct pack *pack, struct bpk_err *err)
{
	struct bpk_source *source = pack->in.place.source;
	uint64_t expected = pack->plan.raw_size;
	uint8_t byte;
	size_t got = 0;
	int rc = 0;

	if (bpk_source_unchanged(source, err) != 0)
		return bpk_input_subject(&pack->in, err);
	if (expected == BPK_UNKNOWN)
		return 0;
	if (bpk_source_seekable(source))
		rc = bpk_source_read_at(source, expected, bpk_span(&byte, 1), &got, err);
	else if (pack->job.result.raw_size == expected)
		rc = bpk_source_read(source, bpk_span(&byte, 1), &got, err);
	if (rc == 0 && (got > 0 || pack->job.result.raw_size != expected))
		rc = bpk_fail(err, BPK_FAILED, "brought %s than the %llu bytes expected",
			      got > 0 ? "more" : "less", (unsigned long long)expected);
	return rc == 0 ? 0 : bpk_input_subject(&pack->in, err);
}

static int pack_into_draft(struct pack *pack, struct bpk_err *err)
{
	const struct pack_args *args = pack->args;
	struct bpk_flow flow = {
		.plan = pack->plan,
		.recipe = &pack->choice.recipe,
		.others = pack->choice.others,
		.nothers = pack->choice.nothers,
		.slack = args->encoding.slack,
		.compare = args->compare || args->encoding.shared.remove,
	};

	if (start_writer(pack, err) != 0 || bpk_job_run(&pack->job, &flow, err) != 0)
		return -1;
	if (check_input(pack, err) != 0)
		return -1;
	return bpk_job_finish_writer(&pack->job, err);
}

static void tell_result(const struct pack *pack, uint64_t packed_size)
{
	char filters[BPK_PIPELINE_TEXT];

	if (pack->args->encoding.shared.verbose)
		bpk_job_note_result(&pack->job, packed_size);
	if (!pack->args->encoding.shared.json)
		return;
	bpk_record_begin("pack", pack->in.path);
	bpk_job_record_result(&pack->job, packed_size);
	bpk_record_u64("chunk_size", pack->choice.chunk_size);
	bpk_record_u64("typesize", pack->choice.recipe.typesize);
	bpk_record_text("codec", bpk_codec_name(pack->choice.recipe.codec));
	bpk_record_u64("level", pack->choice.recipe.level);
	bpk_record_text("filter", bpk_pipeline_print(&pack->choice.recipe.pipeline, filters));
	bpk_record_end();
}

static int pack_opened(struct pack *pack, struct bpk_err *err)
{
	uint64_t raw_size;

	if (expect_size(pack, &raw_size, err) != 0 || describe_array(pack, &raw_size, err) != 0 ||
	    bpk_job_name_target(&pack->job, add_suffix, err) != 0 ||
	    bpk_job_open_draft(&pack->job, err) != 0 || choose(pack, raw_size, err) != 0)
		return -1;
	if (pack->args->encoding.shared.verbose)
		bpk_note_lines(bpk_input_name(pack->in.path), bpk_buf_view(&pack->choice.why));
	bpk_job_note_unknown_size(&pack->job, pack->plan.raw_size,
				  "--stream-size SIZE avoids that");
	if (pack_into_draft(pack, err) != 0)
		return -1;
	if (bpk_job_keep(&pack->job, bpk_job_like(&pack->job), err) != 0)
		return -1;
	tell_result(pack, bpk_job_output_size(&pack->job));
	return 0;
}

static void pack_one(void *arg, const char *path)
{
	struct pack *pack = arg;
	struct bpk_err err = { 0 };

	pack->job = (struct bpk_job){ .shared = &pack->args->encoding.shared,
				      .in = &pack->in,
				      .format = pack->format };
	if (bpk_input_open_raw(&pack->in, path, &err) != 0 || pack_opened(pack, &err) != 0)
		bpk_report(NULL, &err);
	bpk_job_clear(&pack->job);
	bpk_buf_clear(&pack->choice.why);
	bpk_input_close(&pack->in);
}

/* A directory cannot go to standard output. */
static int check_directory(const struct pack *pack, char **operands, size_t count,
			   struct bpk_err *err)
{
	const struct bpk_shared *shared = &pack->args->encoding.shared;
	const char *output = shared->output;
	bool to_stdout = shared->to_stdout || (output != NULL && strcmp(output, "-") == 0) ||
			 (output == NULL && count == 0);

	for (size_t i = 0; i < count; i++)
		to_stdout = to_stdout || (output == NULL && strcmp(operands[i], "-") == 0);
	if (!pack->format->is_directory || !to_stdout)
		return 0;
	return bpk_fail(err, BPK_USAGE, "format %s is a directory, name it with --output",
			pack->format->name);
}

/* Take --dtype; can what belongs to it be obeyed? */
static int take_dtype(struct pack *pack, struct bpk_err *err)
{
	const struct pack_args *args = pack->args;
	const char *text = args->dtype;

	if (text == NULL)
		return args->shape.ndimensions == 0
			       ? 0
			       : bpk_fail(err, BPK_USAGE, "--shape needs --dtype");
	if (has_array_in_metadata(pack->format) && (args->metadata != NULL || args->set.count > 0))
		return bpk_fail(err, BPK_USAGE,
				"--dtype is kept in the metadata of format %s, without --metadata "
				"and --set",
				pack->format->name);
	if (bpk_dtype_parse(bpk_view(text, strlen(text)), &pack->dtype, err) != 0)
		return bpk_err_subject(err, "--dtype");
	if (bpk_dtype_is_opaque(&pack->dtype))
		return bpk_fail(err, BPK_USAGE, "--dtype: objects of Python are no raw data");
	return bpk_encoding_check_dtype(&args->encoding, pack->format, &pack->dtype, err);
}

/* Items of what is packed, as far as anyone says; 0: a trial will tell. */
static unsigned item_size(const struct pack *pack)
{
	int typesize = pack->args->encoding.typesize;
	uint64_t item = pack->dtype.size;

	if (typesize != BPK_AUTO)
		return (unsigned)typesize;
	return item <= BPK_CHUNK_MAX_TYPESIZE ? (unsigned)item : 0;
}

static int check_usage(struct pack *pack, char **operands, size_t count, struct bpk_err *err)
{
	const struct bpk_shared *shared = &pack->args->encoding.shared;
	const char *metadata = pack->args->metadata;

	if (bpk_output_check(shared, operands, count, err) != 0 ||
	    bpk_encoding_check(&pack->args->encoding, pack->format, err) != 0 ||
	    check_directory(pack, operands, count, err) != 0 || take_dtype(pack, err) != 0 ||
	    bpk_encoding_check_items(&pack->args->encoding, item_size(pack),
				     pack->args->encoding.codec, err) != 0)
		return -1;
	if (shared->to_stdout && count > 1)
		return bpk_fail(
			err, BPK_USAGE,
			"--stdout takes a single source, archives cannot be strung together");
	if (pack->format->suffix == NULL && shared->output == NULL && !shared->to_stdout)
		return bpk_fail(err, BPK_USAGE,
				"format %s has no suffix, name a file with --output",
				pack->format->name);
	if (metadata != NULL && strcmp(metadata, "-") == 0 &&
	    (count == 0 || strcmp(operands[0], "-") == 0))
		return bpk_fail(err, BPK_USAGE, "standard input cannot be both data and metadata");
	return 0;
}

static void run_pack(void *args, char **operands, size_t count)
{
	struct pack pack = { .args = args };
	struct bpk_err err = { 0 };

	pack.format = format_of(&pack.args->encoding.shared);
	if (check_usage(&pack, operands, count, &err) != 0 ||
	    bpk_metadata_gather(pack.args->metadata, &pack.args->set, &pack.metadata, &err) != 0)
		bpk_report(err.kind == BPK_USAGE ? "pack" : NULL, &err);
	else
		bpk_each_operand(operands, count, pack_one, &pack);
	bpk_buf_clear(&pack.metadata);
	bpk_array_clear(&pack.array);
	bpk_dtype_clear(&pack.dtype);
}

const struct bpk_command bpk_command_pack = {
	.name = "pack",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "pack files, or standard input, into archives",
	.description =
		"Packs each FILE into FILE.blp beside it and keeps FILE. Without FILE, or with "
		"-, packs standard input to standard output. Element size, filter, chunk and "
		"block size are chosen by trial on samples; -v says what was chosen and why.",
	.operands = OPERANDS_FILES,
	.options = rows,
	.args_size = sizeof(struct pack_args),
	.defaults = &defaults,
	.run = run_pack,
};
