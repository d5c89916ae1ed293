/* bpk info: describe archives. Called by main through the table of commands. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/content.h"
#include "cli/describe.h"
#include "cli/identity.h"
#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/seal.h"
#include "cli/stats.h"

struct info_args {
	struct bpk_shared shared;
	bool stats;
	uint64_t columns; /* BPK_UNKNOWN: those of the terminal */
};

static const struct bpk_opt opt_stats = {
	.name = "stats",
	BPK_OPT_VALUE(OPT_FLAG, struct info_args, stats),
	.help = "unpack the arrays of numbers, and print their statistics",
	.more = "For each name, over all frames: count, least and greatest value, mean, standard "
		"deviation (of the population), and the number of NaN and of infinities, which the "
		"others leave out. Implies -v.",
};

static const struct bpk_opt opt_name = {
	.name = "name",
	BPK_OPT_VALUE(OPT_TEXT, struct info_args, shared.pick.name),
	.metavar = "NAME",
	.help = "with --stats: only those of the array NAME",
};

static const struct bpk_opt opt_columns = {
	.name = "columns",
	BPK_OPT_VALUE(OPT_U64, struct info_args, columns),
	.metavar = "N",
	.help = "fit the list into N columns",
	.more = "Checksum, element size, filter and codec are left out, in this order, until the "
		"names have room. The default is the width of the terminal; elsewhere, and with 0, "
		"all are printed.",
	.group = GROUP_RUN,
	.max = UINT16_MAX,
};

static const struct bpk_opt *const rows[] = {
	&opt_stats,
	&opt_name,
	&bpk_opt_format_read,
	BPK_OPTS_REMOTE,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&bpk_opt_verbose,
	&opt_columns,
	&bpk_opt_json,
	&bpk_opt_help,
	NULL,
};

/* The chunks of arrays are described as stored. */
static const struct info_args defaults = { .shared.as_stored = true, .columns = BPK_UNKNOWN };

/* All that were looked at so far. */
struct survey {
	const struct bpk_shared *shared;
	bool stats;
	uint64_t files, chunks, packed, raw; /* sums; BPK_UNKNOWN once a part is */
};

static uint64_t add(uint64_t sum, uint64_t part)
{
	return sum == BPK_UNKNOWN || part == BPK_UNKNOWN || !bpk_add_u64(sum, part, &sum)
		       ? BPK_UNKNOWN
		       : sum;
}

/* ---- chunks ---- */

/* known may be NULL: no chunk. */
static void record_header(const struct bpk_chunk_header *known)
{
	static const struct bpk_chunk_header none;
	const struct bpk_chunk_header *header = known != NULL ? known : &none;
	bool packed = known != NULL && !header->memcpyed && header->special == BPK_SPECIAL_NONE;
	char filters[BPK_FILTERS_TEXT];

	bpk_record_bool("stored", header->memcpyed);
	bpk_record_text("special", bpk_describe_special(header));
	bpk_record_text("codec", packed ? bpk_describe_codec(header) : NULL);
	bpk_record_text("filter", packed ? bpk_describe_filters(header, filters) : NULL);
	bpk_record_bool("dictionary", header->dictionary);
	bpk_record_u64("variable_blocks", header->variable_blocks ? header->nblocks : BPK_UNKNOWN);
	bpk_record_u64("block_size", known != NULL ? header->block_size : BPK_UNKNOWN);
}

static void record_chunk(const struct bpk_info *info, uint64_t number,
			 const struct bpk_where *where, uint64_t more)
{
	char digest[BPK_DIGEST_TEXT];

	bpk_record_item_begin();
	bpk_record_u64("chunk", number);
	bpk_record_u64("offset", where->packed_offset);
	bpk_record_u64("raw_offset", where->raw_offset);
	bpk_record_u64("packed_size", where->header.packed_size);
	bpk_record_u64("raw_size", where->header.raw_size);
	bpk_record_u64("typesize", where->header.typesize);
	record_header(&where->header);
	bpk_record_text(
		"digest",
		info->chunks.checksum->size == 0 || where->packed_offset == BPK_UNKNOWN
			? NULL
			: bpk_digest_print(where->digest, info->chunks.checksum->size, digest));
	if (more > 0)
		bpk_record_u64("more_like_it", more);
	bpk_record_item_end();
}

/* The number of chunks directly behind number that are equal to chunk first. */
static uint64_t count_like(const struct bpk_input *in, uint64_t number, uint64_t *first)
{
	const struct bpk_reader_ops *ops = in->format->reader;
	uint64_t raw_size;

	return ops->repeats != NULL ? ops->repeats(in->reader, number + 1, first, &raw_size) : 0;
}

/*
 * Call show for every chunk, in order. A long row of equal chunks is shown once, with their number;
 * other repeats are listed up to the number of lines that a small archive may make.
 */
static int list_chunks(struct bpk_input *in,
		       void (*show)(const struct bpk_info *info, uint64_t number,
				    const struct bpk_where *where, uint64_t more),
		       struct bpk_err *err)
{
	enum { LONG_ROW = 1000, MOST_REPEATED = 1 << 16 };
	const struct bpk_reader_ops *ops = in->format->reader;
	uint64_t number = 0, same = BPK_UNKNOWN, nrepeated = 0;
	struct bpk_where where;
	int rc;

	while ((rc = ops->locate(in->reader, number, &where, err)) == 0) {
		uint64_t first = BPK_UNKNOWN, more = count_like(in, number, &first);
		bool in_row = more >= LONG_ROW && first == (same != BPK_UNKNOWN ? same : number);

		if (same != BPK_UNKNOWN && nrepeated++ == MOST_REPEATED)
			return bpk_fail(err, BPK_LIMIT,
					"more than %d chunks repeat earlier ones, the rest is not "
					"listed",
					MOST_REPEATED);
		show(in->info, number, &where, in_row ? more : 0);
		number += in_row ? more : 0;
		number++;
		same = more > 0 && !in_row ? first : BPK_UNKNOWN;
	}
	return rc < 0 ? -1 : 0;
}

static int each_chunk(struct bpk_input *in,
		      void (*show)(const struct bpk_info *info, uint64_t number,
				   const struct bpk_where *where, uint64_t more),
		      struct bpk_err *err)
{
	int rc;

	if (!bpk_input_can_locate(in))
		rc = bpk_fail(err, BPK_FAILED,
			      "comes through a pipe, where chunks cannot be listed");
	else
		rc = list_chunks(in, show, err);
	return rc < 0 ? bpk_input_subject(in, err) : 0;
}

/* Count the chunks that have a prediction, each once however often the archive refers to it, up to
 * the first damaged one; 0 if the format has no predictions. Unknown for a remote archive, since
 * each chunk is looked at. */
static int count_predicted(struct bpk_input *in, uint64_t *count, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format->reader;
	struct bpk_err found = { 0 };
	struct bpk_where where;
	uint64_t first, more;
	int rc;

	*count = 0;
	if (!in->format->extended_chunks || !bpk_input_can_locate(in))
		return 0;
	if (!in->place.is_directory && bpk_source_is_remote(in->place.source)) {
		*count = BPK_UNKNOWN;
		return 0;
	}
	for (uint64_t number = 0; (rc = ops->locate(in->reader, number, &where, &found)) == 0;
	     number++) {
		*count += where.header.prediction.size > 0;
		while ((more = count_like(in, number, &first)) > 0)
			number += more;
	}
	if (rc > 0 || bpk_content_is_damage(&found))
		return 0;
	*err = found;
	return bpk_input_subject(in, err);
}

/* ---- one archive ---- */

static int record_metadata(const struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_buf less = { 0 };
	struct bpk_view text;
	int rc = bpk_identity_users(info, &less, &text, err);
	bool has = text.size > 0;

	if (has)
		bpk_record_bytes("metadata", text);
	else
		bpk_record_text("metadata", NULL);
	bpk_buf_clear(&less);
	bpk_record_u64("metadata_stored_size", has ? info->metadata.stored_size : BPK_UNKNOWN);
	bpk_record_u64("metadata_room", has ? info->metadata.room : BPK_UNKNOWN);
	bpk_record_text("metadata_codec", has ? info->metadata.codec : NULL);
	bpk_record_text("metadata_checksum", has && info->metadata.checksum != NULL
						     ? info->metadata.checksum->name
						     : NULL);
	return rc;
}

/* null if unknown */
static void record_shape(const char *name, const uint64_t *shape, size_t ndimensions)
{
	if (shape == NULL) {
		bpk_record_text(name, NULL);
		return;
	}
	bpk_record_list_begin(name);
	for (size_t i = 0; i < ndimensions; i++)
		bpk_record_list_u64(shape[i]);
	bpk_record_list_end();
}

static int record_piece(void *arg, struct bpk_view piece, struct bpk_err *err)
{
	(void)arg;
	(void)err;
	bpk_record_piece(piece);
	return 0;
}

/* content is JSON text, as metadata are */
static int record_layers(const struct bpk_info *info, struct bpk_err *err)
{
	int rc = 0;

	bpk_record_list_begin("layers");
	for (size_t i = 0; i < info->metadata.nlayers && rc == 0; i++) {
		bpk_record_item_begin();
		bpk_record_text("name", info->metadata.layers[i].name);
		bpk_record_bool("fixed", info->metadata.layers[i].fixed);
		bpk_record_u64("size", info->metadata.layers[i].content.size);
		bpk_record_pieces_begin("content");
		rc = bpk_msgpack_stream_any(info->metadata.layers[i].content, record_piece, NULL,
					    err);
		bpk_record_pieces_end();
		bpk_record_item_end();
	}
	bpk_record_list_end();
	return rc;
}

/* null for bytes of unknown type */
static int record_array(const struct bpk_info *info, struct bpk_err *err)
{
	const struct bpk_array *array = info->array.type;
	int rc;

	if (array == NULL) {
		bpk_record_text("dtype", NULL);
		bpk_record_text("shape", NULL);
		bpk_record_text("order", NULL);
		bpk_record_text("chunk_shape", NULL);
		bpk_record_text("block_shape", NULL);
		return 0;
	}
	rc = bpk_content_record_array(array, err);
	record_shape("chunk_shape", info->array.chunk_shape, array->ndimensions);
	record_shape("block_shape", info->array.block_shape, array->ndimensions);
	return rc;
}

static int print_record(const struct survey *survey, struct bpk_input *in,
			const struct bpk_content *content, uint64_t npredicted, struct bpk_err *err)
{
	bool chunks = survey->shared->verbose > 1;
	const struct bpk_info *info = in->info;
	enum bpk_side_state parity;
	int rc;

	bpk_record_begin("info", in->path);
	bpk_record_text("format", info->format);
	bpk_record_text("variant", info->variant);
	bpk_record_u64("packed_size", info->stored_size);
	bpk_record_u64("raw_size", bpk_describe_raw_size(info));
	bpk_record_u64("nchunks", info->chunks.count);
	bpk_record_u64("chunk_size", info->chunks.size);
	bpk_record_u64("last_chunk_size", info->chunks.last_size);
	/* 0: a raw file, or columns of many sizes */
	bpk_record_u64("typesize", info->chunks.typesize > 0 ? info->chunks.typesize : BPK_UNKNOWN);
	bpk_record_text("checksum", info->chunks.checksum->name);
	bpk_record_bool("offsets", info->chunks.has_offsets);
	bpk_record_u64("append_space", info->chunks.append_space);
	bpk_seal_record(info);
	record_header(info->chunks.has_first ? &info->chunks.first : NULL);
	bpk_record_u64("npredicted", npredicted);
	rc = bpk_side_look(in->path, &parity, err);
	bpk_side_record(parity);
	if (rc == 0)
		rc = bpk_identity_record(info, bpk_describe_raw_size(info), err);
	if (rc == 0)
		rc = record_metadata(info, err);
	if (rc == 0)
		rc = record_layers(info, err);
	if (rc == 0)
		rc = record_array(info, err);
	bpk_record_u64("hole_size", info->hole_size);
	bpk_record_u64("nfiles", info->directory.nfiles > 0 ? info->directory.nfiles : BPK_UNKNOWN);
	bpk_record_u64("superchunk_nchunks", info->directory.superchunk_chunks > 0
						     ? info->directory.superchunk_chunks
						     : BPK_UNKNOWN);
	bpk_record_u64("ncolumns",
		       info->directory.ncolumns > 0 ? info->directory.ncolumns : BPK_UNKNOWN);
	bpk_record_bool("pending", info->pending);
	bpk_record_u64("nmembers", info->members > 0 ? info->members : BPK_UNKNOWN);
	if (rc == 0)
		rc = bpk_content_record(content, &(struct bpk_content_detail){ .arrays = chunks },
					err);
	if (rc == 0 && survey->stats)
		rc = bpk_stats_record(content, survey->shared, err);
	if (rc == 0 && chunks && in->format != &bpk_format_raw) {
		bpk_record_list_begin("chunks");
		rc = each_chunk(in, record_chunk, err);
		bpk_record_list_end();
	}
	bpk_record_end();
	return rc;
}

static int print_text(struct survey *survey, struct bpk_input *in,
		      const struct bpk_content *content, uint64_t npredicted, struct bpk_err *err)
{
	if (survey->shared->verbose == 0) {
		if (survey->files == 0)
			bpk_describe_titles();
		bpk_describe_line(in);
		return 0;
	}
	bpk_describe_fields(in);
	bpk_describe_prediction(npredicted);
	if (bpk_content_describe(content, err) != 0 ||
	    (survey->stats && bpk_stats_print(content, survey->shared, err) != 0))
		return -1;
	if (survey->shared->verbose == 1 || in->format == &bpk_format_raw)
		return 0;
	bpk_describe_chunk_titles(in->info);
	return each_chunk(in, bpk_describe_chunk, err);
}

/*
 * Describe the content if the user wants more than its size. Damage on the way there is not info's
 * subject, unless statistics are wanted; then it is kept in *refused, as a cost above the limits
 * is.
 */
static int look_inside(const struct survey *survey, struct bpk_input *in,
		       struct bpk_content *content, struct bpk_err *refused, struct bpk_err *err)
{
	bool raw = in->format == &bpk_format_raw;
	struct bpk_err found = { 0 };

	if (!raw && survey->shared->verbose == 0 && !survey->shared->json)
		return 0;
	if (bpk_content_look(in, survey->shared, content, &found) != 0 &&
	    (raw || !bpk_content_is_damage(&found))) {
		if (err != NULL)
			*err = found;
		return -1;
	}
	if (found.kind == BPK_LIMIT || survey->stats)
		*refused = found;
	return raw && content->layout == NULL ? bpk_input_fail_unknown(in, err) : 0;
}

/* Archives that follow the first are counted, too, and the chunks of a stream: a pipe is read to
 * its end for them. Damage there is kept in *met, for a report behind the fields. */
static int find_members(struct bpk_input *in, struct bpk_err *met, struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	int rc = 0;

	if (in->info->members == BPK_UNKNOWN)
		rc = bpk_input_can_locate(in) ? bpk_input_complete(in, &found)
					      : bpk_input_audit(in, NULL, NULL, &found);
	if (rc == 0)
		return 0;
	*(found.kind == BPK_CORRUPT || found.kind == BPK_REPAIRABLE ? met : err) = found;
	return met->kind != BPK_OK ? 0 : -1;
}

static int tell(struct survey *survey, struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_content content = { 0 };
	struct bpk_err refused = { 0 }, met = { 0 };
	uint64_t npredicted = 0;
	int rc = find_members(in, &met, err);

	if (rc == 0)
		rc = look_inside(survey, in, &content, &refused, err);
	if (rc == 0 && (survey->shared->json || survey->shared->verbose > 0))
		rc = count_predicted(in, &npredicted, err);
	if (rc == 0 && survey->shared->json)
		rc = print_record(survey, in, &content, npredicted, err);
	else if (rc == 0)
		rc = print_text(survey, in, &content, npredicted, err);
	if (content.in != NULL)
		rc = bpk_content_unchanged(&content, rc, err);
	bpk_content_close(&content);
	if (rc == 0 && refused.kind != BPK_OK)
		rc = bpk_fail_as(err, &refused);
	if (rc == 0)
		rc = bpk_input_tail(in, err);
	if (rc == 0 && met.kind != BPK_OK)
		rc = bpk_fail_as(err, &met);
	return rc;
}

static void info_one(void *arg, const char *path)
{
	struct survey *survey = arg;
	struct bpk_input in = { 0 };
	struct bpk_err err = { 0 };
	int rc = bpk_input_open_any(&in, path, survey->shared, &err);

	if (rc == 0)
		rc = tell(survey, &in, &err);
	if (rc == 0 && in.format != &bpk_format_raw)
		rc = bpk_input_check_end(&in, &err);
	if (rc == 0)
		rc = bpk_input_unchanged(&in, &err);
	else {
		bpk_input_judge(&in, &err);
		bpk_side_advise(&in, &err);
	}
	if (in.info != NULL && (rc == 0 || in.format != &bpk_format_raw)) {
		survey->files++;
		survey->chunks = add(survey->chunks, in.info->chunks.count);
		survey->packed = add(survey->packed, in.info->stored_size);
		survey->raw = add(survey->raw, bpk_describe_raw_size(in.info));
	}
	if (rc != 0)
		bpk_report(NULL, &err);
	bpk_record_settle(survey->shared, path);
	bpk_input_close(&in);
}

/* Fit the list to the terminal, or to the columns that the user gave. */
static void fit_list(const struct info_args *args, char *const *operands, size_t count)
{
	uint64_t columns = args->columns;
	struct winsize size;
	size_t longest = strlen(bpk_input_name("-"));

	if (columns == BPK_UNKNOWN)
		columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
	for (size_t i = 0; i < count; i++)
		longest = bpk_max_u64(i == 0 ? 0 : longest, strlen(bpk_input_name(operands[i])));
	bpk_describe_fit((size_t)columns, longest);
}

static void run_info(void *arg, char **operands, size_t count)
{
	struct info_args *args = arg;
	struct survey survey = { .shared = &args->shared, .stats = args->stats };
	struct bpk_err err = { 0 };

	if (args->shared.pick.name != NULL && !args->stats) {
		bpk_fail(&err, BPK_USAGE, "--name needs --stats");
		bpk_report("info", &err);
	}
	args->shared.outline = !args->stats;
	if (args->stats && args->shared.verbose == 0)
		args->shared.verbose = 1;
	fit_list(args, operands, count);
	bpk_input_each(operands, count, info_one, &survey);
	if (survey.files > 1 && survey.shared->verbose == 0 && !survey.shared->json)
		bpk_describe_totals(survey.files, survey.chunks, survey.packed, survey.raw);
}

const struct bpk_command bpk_command_info = {
	.name = "info",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "describe archives: sizes, codec, filter, checksum, metadata",
	.description =
		"Prints a line for each FILE; with -v every field and the arrays of simulation "
		"files, with -vv also every chunk. Reads only the fields it shows, and tests "
		"whether the end of the archive is there. FILE may also be a simulation file that "
		"is not packed.",
	.operands = OPERANDS_CONTENT,
	.reads = true,
	.options = rows,
	.args_size = sizeof(struct info_args),
	.defaults = &defaults,
	.run = run_info,
};
