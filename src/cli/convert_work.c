/*
 * The work of bpk convert: archives in, archives of any other format out. Chunks are copied as they
 * are where nothing else is asked for and the target can hold them; else the source's raw content
 * is recompressed, with its old settings where no option sets others. Called by convert.c.
 */
#include "cli/convert.h"

#include <inttypes.h>
#include "cli/describe.h"
#include "cli/record.h"
#include "cli/renew.h"
#include "cli/report.h"
#include "cli/share.h"
#include "cli/text.h"

/* ---- copy, or recompress ---- */

static bool asks_for_packing(const struct bpk_encoding_args *args)
{
	return args->codec != NULL || args->level != BPK_AUTO || args->filter.given ||
	       args->dictionary || args->typesize != BPK_AUTO || args->chunk_size != 0 ||
	       args->block_size != 0 || args->chunk_shape.ndimensions > 0 ||
	       args->block_shape.ndimensions > 0;
}

static bool asks_for_slack(const struct bpk_encoding_args *args)
{
	return args->slack.bytes != 0 || args->slack.percent != 0;
}

/* Why the chunks cannot stay as they are; NULL when they can. */
static const char *find_obstacle(const struct bpk_convert *c)
{
	if (c->retune)
		return "another choice is asked for";
	if (asks_for_packing(&c->args->encoding))
		return "another packing is asked for";
	if (asks_for_slack(&c->args->encoding))
		return "room inside the chunks is asked for";
	return bpk_format_obstacle(c->format, c->in.info);
}

/* ---- recompressing ---- */

/* The size of elements; 0: unknown. A directory without a type holds bytes, whatever element size
 * its chunks have; columns are joined to records. */
static unsigned find_typesize(const struct bpk_convert *c)
{
	const struct bpk_info *info = c->in.info;
	bool untyped = c->in.place.is_directory && info->array.type == NULL;
	uint64_t record = info->array.type != NULL ? info->array.type->dtype.size : 0;

	if (info->directory.ncolumns > 0)
		return record <= BPK_CHUNK_MAX_TYPESIZE ? (unsigned)record : 0;
	if ((info->chunks.typesize == 0 || untyped) && info->chunks.has_first)
		return info->chunks.first.typesize;
	return info->chunks.typesize;
}

/* The codec of the source, and its filters, unless elements are another size now, or the target
 * does not know them: then a trial decides. */
static void keep_packing(struct bpk_convert *c, struct bpk_wishes *wishes)
{
	const struct bpk_info *info = c->in.info;
	const struct bpk_codec *codec = bpk_recipe_like(&info->chunks.first).codec;

	if (wishes->codec == NULL && (!wishes->extended || bpk_codec_is_extended(codec)))
		wishes->codec = codec;
	if (info->directory.ncolumns > 0 || wishes->pipeline != NULL ||
	    wishes->typesize != BPK_AUTO)
		return;
	c->pipeline = bpk_recipe_like(&info->chunks.first).pipeline;
	if (wishes->extended || bpk_pipeline_is_plain(&c->pipeline))
		wishes->pipeline = &c->pipeline;
}

/* Recompressing a chunk takes its size in memory, which a small archive may put at 2 GB. Constants
 * have such chunks, and so do trajectories that pack more than 1000 times smaller: these lose their
 * chunk size, unless the user gives it. */
static bool keeps_chunk_size(const struct bpk_info *info)
{
	enum { ANY = 64 << 20, TIMES = 1024 };

	return info->chunks.size <= ANY || info->stored_size == BPK_UNKNOWN ||
	       info->chunks.size / TIMES <= info->stored_size;
}

/* Settings without an option are those of the source's header and first chunk. */
static struct bpk_wishes make_wishes(struct bpk_convert *c)
{
	struct bpk_wishes wishes = bpk_encoding_wishes(&c->args->encoding, c->format);
	const struct bpk_info *info = c->in.info;
	const struct bpk_chunk_header *first = &info->chunks.first;
	bool told = info->chunks.has_first && !first->memcpyed &&
		    first->special == BPK_SPECIAL_NONE && first->raw_size > 0;
	bool keeps = !c->retune || info->array.type != NULL;
	unsigned typesize = keeps ? find_typesize(c) : 0;

	if (told && !c->retune)
		keep_packing(c, &wishes);
	if (wishes.typesize == BPK_AUTO && typesize > 0)
		wishes.typesize = typesize <= BPK_CHUNK_MAX_TYPESIZE ? (int)typesize : 1;
	if (wishes.chunk_size == 0 && !c->retune && info->chunks.size != BPK_UNKNOWN &&
	    info->array.chunk_shape == NULL && keeps_chunk_size(info))
		wishes.chunk_size = info->chunks.size;
	if (info->array.type != NULL && c->format->divide == NULL &&
	    (c->format->is_directory || wishes.chunk_size == 0))
		wishes.row_size = bpk_encoding_row_size(info->array.type, c->format);
	return wishes;
}

static int open_content(struct bpk_convert *c, struct bpk_err *err)
{
	const struct bpk_view_options view = { .nchunks = bpk_shared_threads(&c->shared) + 1 };
	const struct bpk_read_options options = { 0 };
	struct bpk_input *content = &c->content;

	content->path = c->in.path;
	content->format = &bpk_format_raw;
	if (bpk_view_open(c->in.format->reader, c->in.reader, &view, &content->place.source, err) !=
		    0 ||
	    content->format->reader->open(&content->place, &options, &content->reader, err) != 0)
		return bpk_input_subject(&c->in, err);
	content->info = content->format->reader->info(content->reader);
	return 0;
}

/* rank 0 of a team chooses for all. */
static int choose_recipe(struct bpk_convert *c, const struct bpk_wishes *wishes,
			 struct bpk_err *err)
{
	struct bpk_team *team = bpk_share_team();
	struct bpk_source *source = c->content.place.source;
	struct bpk_cuts cuts; /* stay empty, since chunks have one size */
	int rc = 0;

	if (!bpk_share_assists() && c->retune)
		rc = bpk_cuts_choose(source, c->raw_size, wishes, false, &c->packing.choice, &cuts,
				     err);
	else if (!bpk_share_assists())
		rc = bpk_choose(source, c->raw_size, wishes, &c->packing.choice, err);
	if (rc != 0)
		return -1;
	return team == NULL ? 0 : bpk_team_share_choice(team, &c->packing.choice, NULL, NULL, err);
}

static int choose(struct bpk_convert *c, struct bpk_err *err)
{
	struct bpk_wishes wishes = make_wishes(c);
	const struct bpk_array *array = c->in.info->array.type;

	if ((array != NULL &&
	     (bpk_encoding_check_dtype(&c->args->encoding, c->format, &array->dtype, err) != 0 ||
	      bpk_encoding_check_typesize(&c->args->encoding, c->format, &array->dtype, err) !=
		      0)) ||
	    bpk_encoding_check_items(c->args,
				     wishes.typesize == BPK_AUTO ? 0 : (unsigned)wishes.typesize,
				     wishes.codec, err) != 0)
		return bpk_input_subject(&c->in, err);
	if (open_content(c, err) != 0)
		return -1;
	if (choose_recipe(c, &wishes, err) != 0)
		return bpk_input_subject(&c->in, err);
	/* columns have their own elements, unknown to the trial */
	if (c->format->is_directory && array != NULL && array->dtype.nfields > 0)
		c->packing.choice.ncandidates = 0;
	if (c->shared.verbose)
		bpk_transfer_note_choice(&c->transfer, &c->packing.choice.why);
	bpk_encoding_tell_loss(c->args, &c->packing.choice.recipe, bpk_input_name(c->in.path));
	if (bpk_encoding_divide(&c->args->encoding, c->format, &c->in.info->array,
				&c->packing.choice, &c->division, err) != 0)
		return bpk_input_subject(&c->in, err);
	return 0;
}

/* ---- the work ---- */

/* All chunks of the source, without the empty chunks that some writers put behind the last. */
static struct bpk_plan plan_copying(const struct bpk_convert *c)
{
	const struct bpk_info *info = c->in.info;
	struct bpk_plan plan = c->counted ? bpk_plan_counted(info) : bpk_plan_all(info);

	if (plan.chunk_size != BPK_UNKNOWN && plan.raw_size != BPK_UNKNOWN && plan.raw_size > 0)
		plan.count = bpk_div_up(plan.raw_size, plan.chunk_size);
	return plan;
}

/* Describe the target: as the source, except for recompressed chunks. */
static struct bpk_info describe_target(const struct bpk_convert *c, const struct bpk_plan *plan)
{
	struct bpk_info info = *c->in.info;

	info.format = c->format->name;
	info.variant = NULL;
	info.seal = (struct bpk_seal_info){ .sealed = c->seal };
	info.stored_size = BPK_UNKNOWN;
	info.raw_size = c->raw_size;
	if (c->args->encoding.checksum != NULL)
		info.chunks.checksum = c->args->encoding.checksum;
	else if (c->seal && info.chunks.checksum->size > 0 &&
		 !bpk_checksum_is_strong(info.chunks.checksum))
		info.chunks.checksum = bpk_checksum_find("sha256"); /* as pack --seal */
	/* an empty archive may call its chunk size 0 */
	if (info.chunks.size == 0 && !c->format->is_directory)
		info.chunks.size = BPK_UNKNOWN;
	info.chunks.typesize = find_typesize(c);
	info.chunks.count = plan->count;
	if (c->obstacle == NULL && plan->count == BPK_UNKNOWN)
		info.chunks.last_size = BPK_UNKNOWN;
	if (c->obstacle == NULL)
		return info;
	info.chunks.size = plan->chunk_size;
	info.chunks.last_size = BPK_UNKNOWN;
	/* a frame records elements larger than its chunks can record */
	if (info.chunks.typesize <= BPK_CHUNK_MAX_TYPESIZE ||
	    c->args->encoding.typesize != BPK_AUTO)
		info.chunks.typesize = c->packing.choice.recipe.typesize;
	info.chunks.has_first = false;
	info.directory.ncolumns = 0;
	return info;
}

static int run_job(struct bpk_convert *c, struct bpk_flow *flow, struct bpk_err *err)
{
	int rc;

	if (c->obstacle != NULL)
		c->transfer.in = &c->content;
	rc = bpk_transfer_run(&c->transfer, flow, err);
	c->transfer.in = &c->in;
	return rc;
}

/* Check that a pipe brought no more than the archive whose counts were used. */
static int check_counted(const struct bpk_convert *c, struct bpk_err *err)
{
	if (!c->counted || c->in.info->members == 1)
		return 0;
	bpk_fail(err, BPK_FAILED,
		 "brings %" PRIu64
		 " archives that follow each other, which can be made one of them as a "
		 "file alone",
		 c->in.info->members);
	return bpk_input_subject(&c->in, err);
}

/*
 * Archives that follow in a pipe are unknown before its end. If the target needs the total size, or
 * the array, the counts of the first archive are used, and tested at the end.
 */
static void fix_counts(struct bpk_convert *c)
{
	bool adapts =
		bpk_draft_seekable(c->transfer.draft) &&
		(c->obstacle != NULL ? c->in.info->array.type == NULL : c->format->varied_chunks);

	if (c->in.info->members != BPK_UNKNOWN || c->in.info->raw_size == BPK_UNKNOWN || adapts)
		return;
	c->counted = true;
	c->raw_size = c->in.info->raw_size;
}

static int convert_into_draft(struct bpk_convert *c, struct bpk_err *err)
{
	struct bpk_flow flow = { .check = true };
	struct bpk_write_options options;
	struct bpk_info info;

	if (c->obstacle != NULL) {
		if (choose(c, err) != 0)
			return -1;
		flow.plan = bpk_plan_cut(c->raw_size, c->division.parcel_size);
		c->packing.slack = c->args->encoding.slack;
		flow.packing = &c->packing;
		flow.reader_memory = bpk_view_memory(c->in.info);
	} else {
		flow.plan = plan_copying(c);
	}
	if (bpk_transfer_bound(&c->transfer, &flow.plan, err) != 0)
		return -1;
	c->transfer.may_end_early = c->raw_size == BPK_UNKNOWN && flow.plan.end != BPK_UNKNOWN;
	info = describe_target(c, &flow.plan);
	if (bpk_convert_judge_ident(c, &info, err) != 0)
		return -1;
	flow.same_seals = info.chunks.checksum == c->in.info->chunks.checksum;
	options = bpk_encoding_options(&c->args->encoding,
				       c->obstacle != NULL ? &c->packing.choice.recipe : NULL,
				       &c->division);
	if (bpk_transfer_start_writer(&c->transfer, c->format, &info, &options, err) != 0 ||
	    run_job(c, &flow, err) != 0 || bpk_transfer_check_bound(&c->transfer, err) != 0 ||
	    bpk_input_account(&c->in, err) != 0 || check_counted(c, err) != 0)
		return -1;
	return bpk_transfer_finish_writer(&c->transfer, err);
}

/* A seal covers bytes of the old archive. */
static void tell_seal(const struct bpk_convert *c)
{
	if (c->in.info->seal.sealed && !c->seal && !c->shared.quiet)
		bpk_note(bpk_input_name(c->in.path),
			 "its seal is left out of the result; --seal makes a new one");
	if (c->loses_ident && !c->shared.quiet)
		bpk_note(bpk_input_name(c->in.path),
			 "its recorded identity is not that of the result, and left out");
}

static void tell_result(const struct bpk_convert *c)
{
	uint64_t packed_size = bpk_transfer_output_size(&c->transfer);

	bpk_transfer_tell_result(&c->transfer, c->in.info->stored_size, packed_size,
				 c->obstacle != NULL ? &c->packing.choice.recipe : NULL);
	if (c->shared.verbose)
		bpk_transfer_note_result(&c->transfer, packed_size);
	if (!c->shared.json)
		return;
	bpk_record_begin(c->command, c->in.path);
	bpk_transfer_record_result(&c->transfer, packed_size);
	bpk_record_text("format", c->format->name);
	bpk_record_bool("carried_over", c->obstacle == NULL);
	bpk_record_text("recompressed_because", c->obstacle);
	bpk_record_end();
}

/* An archive that replaces itself must not take damage over. */
static int check_itself(const struct bpk_convert *c, struct bpk_err *err)
{
	const char *target = c->transfer.target;
	struct stat found;

	if (strcmp(target, "-") == 0 || bpk_path_is_url(target) || c->in.place.is_member ||
	    bpk_path_is_url(c->in.path) || stat(target, &found) != 0 ||
	    !bpk_same_file(&found, bpk_input_stat(&c->in)))
		return 0;
	return bpk_side_need_whole(target, NULL, err);
}

static int convert_opened(struct bpk_convert *c, struct bpk_err *err)
{
	struct bpk_plan whole = { 0 };

	if (bpk_input_raw_size(&c->in, &c->raw_size, err) != 0)
		return -1;
	whole.end = c->raw_size;
	if (bpk_transfer_bound(&c->transfer, &whole, err) != 0 ||
	    bpk_transfer_name_target(&c->transfer, NULL, err) != 0 || check_itself(c, err) != 0 ||
	    bpk_transfer_open_draft(&c->transfer, err) != 0)
		return -1;
	c->obstacle = find_obstacle(c);
	fix_counts(c);
	if (c->shared.verbose)
		bpk_note(bpk_input_name(c->in.path),
			 c->obstacle == NULL ? "chunks are copied" : "recompressed: %s",
			 c->obstacle);
	bpk_transfer_note_unknown_size(&c->transfer, c->raw_size, "a SRC in a file avoids that");
	if (convert_into_draft(c, err) != 0 || bpk_transfer_keep(&c->transfer, err) != 0)
		return -1;
	tell_seal(c);
	tell_result(c);
	return bpk_renew_whole(&c->shared, c->transfer.target, 0, err);
}

/* The target gets the format of the source. */
static int take_format(struct bpk_convert *c, struct bpk_err *err)
{
	if (c->in.format == NULL)
		return 0; /* starting it fails */
	c->format = c->transfer.format = c->in.format;
	if (c->format->writer == NULL)
		bpk_fail(err, BPK_UNSUPPORTED, "has format %s, which cannot be written",
			 c->format->name);
	else if (bpk_encoding_check(&c->args->encoding, c->format, err) == 0)
		return 0;
	return bpk_input_subject(&c->in, err);
}

/* Only a file is replaced in one step that keeps changes of others apart. */
static int check_in_place(const struct bpk_convert *c, struct bpk_err *err)
{
	struct stat found;
	bool there;

	if (!c->in_place)
		return 0;
	if (!bpk_path_is_url(c->path) && bpk_path_look(c->path, &found, &there, err) == 0 &&
	    there && S_ISREG(found.st_mode) && bpk_same_file(&found, bpk_input_stat(&c->in)))
		return 0;
	bpk_fail(err, BPK_FAILED, "is not a file, which could be replaced; name a DST");
	return bpk_input_subject(&c->in, err);
}

/* Chunks of several dimensions are read as stored, with padding, where both formats have such. */
static int open_source(struct bpk_convert *c, const char *path, struct bpk_err *err)
{
	if (bpk_input_find(&c->in, path, &c->shared, err) != 0 || check_in_place(c, err) != 0 ||
	    (c->format == NULL && take_format(c, err) != 0))
		return -1;
	c->shared.as_stored = c->in.format != NULL && c->in.format->divide != NULL &&
			      c->format->divide != NULL && !c->retune &&
			      !asks_for_packing(&c->args->encoding) &&
			      !asks_for_slack(&c->args->encoding);
	c->shared.audits = true;
	if (bpk_input_start(&c->in, &c->shared, c->shared.chunk_limit, err) != 0)
		return -1;
	/* the stored order of several is not C's order */
	if (!c->shared.as_stored || c->in.info->members <= 1)
		return 0;
	c->in.format->reader->close(c->in.reader);
	c->in.reader = NULL;
	c->shared.as_stored = false;
	return bpk_input_start(&c->in, &c->shared, c->shared.chunk_limit, err);
}

int bpk_convert_run(struct bpk_convert *c, const char *path, struct bpk_err *err)
{
	return open_source(c, path, err) != 0 ? -1 : convert_opened(c, err);
}
