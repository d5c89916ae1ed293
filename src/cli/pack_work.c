/* bpk pack: one input becomes one archive. Called by pack.c and append_follow.c. */
#include "cli/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/protect.h"
#include "cli/record.h"
#include "cli/renew.h"
#include "cli/report.h"
#include "cli/results.h"
#include "cli/share.h"
#include "cli/text.h"

/* The array type of the input; NULL: bytes. */
static const struct bpk_array *array_of(const struct bpk_pack *pack)
{
	return pack->dtype.size > 0 ? &pack->array : NULL;
}

/* The array that the archive records: chunks of several dimensions have no frames. */
static const struct bpk_array *array_kept(const struct bpk_pack *pack)
{
	return pack->args->predict ? NULL : array_of(pack);
}

static char *add_suffix(const struct bpk_transfer *transfer, const char *source,
			struct bpk_err *err)
{
	const struct bpk_pack *pack =
		(const void *)((const char *)transfer - offsetof(struct bpk_pack, transfer));
	const char *suffix = bpk_format_suffix(source);
	char *target = NULL;

	if (suffix != NULL && !transfer->shared->force) {
		bpk_fail(err, BPK_PARTIAL, "already ends in %s, skipped (--force packs it anyway)",
			 suffix);
		return NULL;
	}
	if (S_ISCHR(bpk_input_stat(transfer->in)->st_mode)) {
		bpk_fail(err, BPK_FAILED,
			 "is a device, which may have no end; name the result with --output or "
			 "--stdout");
		return NULL;
	}
	suffix = pack->format->suffix;
	if (array_kept(pack) != NULL && pack->format->array_suffix != NULL)
		suffix = pack->format->array_suffix;
	if (asprintf(&target, "%s%s", source, suffix) < 0) {
		bpk_fail_memory(err, strlen(source));
		return NULL;
	}
	return target;
}

/* The size of the input, if it or --stream-size gives one, else BPK_UNKNOWN. */
static int expect_size(const struct bpk_pack *pack, uint64_t *raw_size, struct bpk_err *err)
{
	uint64_t said = pack->args->stream_size;

	*raw_size = pack->in.info->raw_size;
	if (*raw_size == BPK_UNKNOWN)
		*raw_size = said;
	if (said != BPK_UNKNOWN && said != *raw_size) {
		bpk_fail(err, BPK_FAILED, "has %" PRIu64 " bytes, --stream-size said %" PRIu64,
			 *raw_size, said);
		return bpk_input_subject(&pack->in, err);
	}
	return 0;
}

static struct bpk_wishes make_wishes(const struct bpk_pack *pack)
{
	struct bpk_wishes wishes = bpk_encoding_wishes(&pack->args->common.encoding, pack->format);
	uint64_t item = pack->dtype.size;

	wishes.known = pack->known;
	if (item == 0)
		return wishes;
	if (wishes.typesize == BPK_AUTO && item <= BPK_CHUNK_MAX_TYPESIZE)
		wishes.typesize = (int)item;
	if (pack->format->divide == NULL)
		wishes.row_size = bpk_encoding_row_size(&pack->array, pack->format);
	return wishes;
}

static int predict(struct bpk_pack *pack, uint64_t raw_size, const struct bpk_wishes *wishes,
		   struct bpk_err *err)
{
	const char *name = bpk_input_name(pack->in.path);

	if (!pack->args->predict)
		return 0;
	if (bpk_predict(bpk_pack_source(pack), raw_size, array_of(pack),
			(unsigned)pack->args->key_frames, wishes, &pack->packing.choice,
			&pack->predictions, err) != 0)
		return -1;
	if (pack->predictions.count == 0 && !pack->args->common.shared.quiet)
		bpk_note(name,
			 "nothing in it can be predicted; packed as bytes, without prediction");
	return 0;
}

static int choose_recipe(struct bpk_pack *pack, uint64_t raw_size, struct bpk_err *err)
{
	const struct bpk_wishes wishes = make_wishes(pack);

	if ((pack->args->plain ? bpk_choose(bpk_pack_source(pack), raw_size, &wishes,
					    &pack->packing.choice, err)
			       : bpk_cuts_choose(bpk_pack_source(pack), raw_size, &wishes,
						 pack->format->varied_chunks, &pack->packing.choice,
						 &pack->cuts, err)) != 0)
		return -1;
	return predict(pack, raw_size, &wishes, err);
}

/* rank 0 of a team chooses for all. */
static int choose_for_all(struct bpk_pack *pack, uint64_t raw_size, struct bpk_err *err)
{
	struct bpk_team *team = bpk_share_team();

	if (!bpk_share_assists() && choose_recipe(pack, raw_size, err) != 0)
		return -1;
	if (team == NULL)
		return 0;
	if (bpk_team_share_choice(team, &pack->packing.choice, &pack->cuts, &pack->predictions,
				  err) != 0)
		return -1;
	bpk_pack_share_old(pack, team);
	return 0;
}

static int choose(struct bpk_pack *pack, uint64_t raw_size, struct bpk_err *err)
{
	const struct bpk_array_info array = { .type = array_kept(pack) };

	if (choose_for_all(pack, raw_size, err) != 0)
		return bpk_input_subject(&pack->in, err);
	bpk_encoding_tell_loss(&pack->args->common, &pack->packing.choice.recipe,
			       bpk_input_name(pack->in.path));
	/* columns have their own elements, unknown to the trial */
	if (pack->format->is_directory && pack->dtype.nfields > 0)
		pack->packing.choice.ncandidates = 0;
	if (bpk_encoding_divide(&pack->args->common.encoding, pack->format, &array,
				&pack->packing.choice, &pack->division, err) != 0)
		return bpk_input_subject(&pack->in, err);
	pack->plan = bpk_plan_cut(raw_size, pack->division.parcel_size);
	if (pack->cuts.nkinds == 0)
		return 0;
	pack->plan = bpk_plan_sizes(&pack->cuts.runs);
	pack->packing.cuts = &pack->cuts;
	return 0;
}

/* Of all chunks; 0: they differ, which a directory has no place to say. */
static unsigned typesize_of(const struct bpk_pack *pack)
{
	const struct bpk_choice *kinds =
		pack->cuts.nkinds > 0 ? pack->cuts.kinds : &pack->packing.choice;
	unsigned typesize = kinds[0].recipe.typesize;
	bool same = true;

	for (size_t i = 0; i < bpk_max_u64(pack->cuts.nkinds, 1); i++) {
		same = same && kinds[i].recipe.typesize == typesize;
		for (size_t k = 0; k < kinds[i].ncandidates; k++)
			same = same && kinds[i].candidates[k].typesize == typesize;
	}
	return same || pack->format->is_directory ? typesize : 0;
}

static int open_writer(struct bpk_pack *pack, struct bpk_err *err)
{
	const struct bpk_encoding_args *encoding = &pack->args->common.encoding;
	const struct bpk_info info = {
		.format = pack->format->name,
		.stored_size = BPK_UNKNOWN,
		.raw_size = pack->plan.raw_size,
		.chunks.count = pack->plan.count,
		.chunks.size = pack->plan.chunk_size,
		.chunks.last_size = BPK_UNKNOWN,
		.chunks.runs = pack->plan.runs,
		.chunks.typesize = typesize_of(pack),
		.chunks.checksum = bpk_pack_checksum(pack),
		.metadata.given = pack->text.size > 0,
		.metadata.text = bpk_buf_view(&pack->text),
		.array.type = array_kept(pack),
		.seal.sealed = bpk_pack_seals(pack),
		.seal.generation = pack->old.generation + 1,
	};
	const struct bpk_write_options options =
		bpk_encoding_options(encoding, &pack->packing.choice.recipe, &pack->division);

	return bpk_transfer_start_writer(&pack->transfer, pack->format, &info, &options, err);
}

/* A seal that no option asks for is left out where there can be none. */
static int start_writer(struct bpk_pack *pack, struct bpk_err *err)
{
	if (open_writer(pack, err) == 0)
		return 0;
	return bpk_pack_lose_seal(pack, err) == 0 ? open_writer(pack, err) : -1;
}

/* Fail unless exactly the bytes came that were announced. A stream was checked for more when its
 * last chunk was read, before that chunk was written. */
static int check_input(struct bpk_pack *pack, struct bpk_err *err)
{
	struct bpk_source *source = bpk_pack_source(pack);
	uint64_t expected = pack->plan.raw_size;
	uint8_t byte;
	size_t got = 0;
	int rc = 0;

	if (bpk_source_unchanged(pack->in.place.source, err) != 0)
		return bpk_input_subject(&pack->in, err);
	if (expected == BPK_UNKNOWN)
		return 0;
	if (bpk_source_seekable(source))
		rc = bpk_source_read_at(source, expected, bpk_span(&byte, 1), &got, err);
	if (rc == 0 && (got > 0 || pack->transfer.result.raw_size != expected))
		rc = bpk_fail(err, BPK_FAILED, "brought %s than the %" PRIu64 " bytes expected",
			      got > 0 ? "more" : "less", expected);
	return rc == 0 ? 0 : bpk_input_subject(&pack->in, err);
}

static int pack_into_draft(struct bpk_pack *pack, struct bpk_err *err)
{
	const struct bpk_pack_args *args = pack->args;
	struct bpk_flow flow = {
		.plan = pack->plan,
		.packing = &pack->packing,
		.compare = args->compare || args->common.shared.remove,
	};

	bpk_source_expect(bpk_pack_source(pack), pack->plan.raw_size);
	if (bpk_pack_announce_identity(pack, err) != 0 || start_writer(pack, err) != 0 ||
	    bpk_pack_begin_identity(pack, &flow, err) != 0 ||
	    bpk_transfer_run(&pack->transfer, &flow, err) != 0)
		return -1;
	if (check_input(pack, err) != 0 || bpk_pack_end_identity(pack, err) != 0)
		return -1;
	return bpk_transfer_finish_writer(&pack->transfer, err);
}

static void tell_result(const struct bpk_pack *pack)
{
	const struct bpk_shared *shared = &pack->args->common.shared;
	char filters[BPK_PIPELINE_TEXT];
	uint64_t packed_size;

	if (!shared->verbose && !shared->json && shared->tally == NULL && !isatty(STDERR_FILENO))
		return;
	packed_size = bpk_transfer_output_size(&pack->transfer);
	bpk_transfer_tell_result(&pack->transfer, pack->transfer.result.raw_size, packed_size,
				 &pack->packing.choice.recipe);
	bpk_tally_done(shared, pack->transfer.result.raw_size, packed_size);
	if (shared->verbose)
		bpk_transfer_note_result(&pack->transfer, packed_size);
	if (!shared->json)
		return;
	bpk_record_begin("pack", pack->in.path);
	bpk_transfer_record_result(&pack->transfer, packed_size);
	bpk_record_u64("chunk_size",
		       pack->cuts.nkinds > 0 ? BPK_UNKNOWN : pack->packing.choice.chunk_size);
	bpk_record_u64("typesize", typesize_of(pack));
	bpk_record_text("codec", bpk_codec_name(pack->packing.choice.recipe.codec));
	bpk_record_u64("level", pack->packing.choice.recipe.level);
	bpk_record_text("filter",
			bpk_pipeline_print(&pack->packing.choice.recipe.pipeline, filters));
	bpk_record_end();
}

static void tell_choice(const struct bpk_pack *pack)
{
	if (pack->cuts.nkinds == 0)
		bpk_transfer_note_choice(&pack->transfer, &pack->packing.choice.why);
	for (size_t i = 0; i < pack->cuts.nkinds; i++)
		bpk_transfer_note_choice(&pack->transfer, &pack->cuts.kinds[i].why);
}

static int open_input(struct bpk_pack *pack, const char *path, struct bpk_err *err)
{
	const struct bpk_shared *shared = &pack->args->common.shared;

	pack->packing = (struct bpk_packing){
		.predictions = pack->args->predict ? &pack->predictions : NULL,
		.slack = pack->args->common.encoding.slack,
	};
	pack->transfer = (struct bpk_transfer){
		.shared = shared, .in = &pack->in, .format = pack->format, .like = pack->like
	};
	pack->old = (struct bpk_pack_old){ 0 };
	return bpk_input_open_raw(&pack->in, path, shared, err);
}

/* True for an archive that was found in a directory; it is not packed again, whatever its name. */
static int is_archive(const struct bpk_pack *pack, bool *is, struct bpk_err *err)
{
	const struct bpk_format *format = NULL;

	if (pack->args->common.shared.below > 0 &&
	    bpk_format_probe(&pack->in.place, &format, err) != 0)
		return bpk_input_subject(&pack->in, err);
	*is = format != NULL;
	return 0;
}

/* Name the target. Returns 1 if the file is to be skipped. */
static int find_target(struct bpk_pack *pack, const char **why, struct bpk_err *err)
{
	bool skips;

	if (is_archive(pack, &skips, err) != 0)
		return -1;
	*why = "is an archive";
	if (skips)
		return 1;
	if (bpk_transfer_name_target(&pack->transfer, add_suffix, err) != 0 ||
	    bpk_transfer_update(&pack->transfer, &skips, err) != 0)
		return -1;
	*why = "its archive is up to date";
	return skips;
}

/* An archive that is up to date gets the parity that it lacks, or that is of another state or
 * damaged. Of one with good parity nothing but that is read. *why becomes the deed, if there is
 * one. */
static int add_parity(const struct bpk_pack *pack, const char **why, struct bpk_err *err)
{
	const char *path = pack->transfer.target;
	struct bpk_shared shared = pack->args->common.shared;
	struct bpk_input in = { 0 };
	enum bpk_side_state state;
	int rc;

	if (pack->parity == 0 || path == NULL) /* an archive was found in its place */
		return 0;
	if (bpk_side_look_through(path, &state, err) != 0)
		return bpk_err_subject(err, "%s", path);
	if (state == BPK_SIDE_CURRENT)
		return 0;
	shared.judges = shared.as_stored = shared.audits = true;
	rc = bpk_input_look(&in, path, NULL, err);
	if (rc == 0)
		rc = bpk_protect(&shared, &in, pack->parity, false, err);
	bpk_input_close(&in);
	if (rc == 0)
		*why = "its archive is up to date and got parity";
	return rc;
}

static int skip(const struct bpk_pack *pack, const char *path, const char *why, struct bpk_err *err)
{
	if (add_parity(pack, &why, err) != 0)
		return -1;
	bpk_tally_skipped(&pack->args->common.shared, path, why);
	return 1;
}

/* Open the draft, look at the archive that it replaces, and choose. */
static int begin(struct bpk_pack *pack, struct bpk_err *err)
{
	uint64_t raw_size;

	if (bpk_pack_read_head(pack, err) != 0 || expect_size(pack, &raw_size, err) != 0 ||
	    bpk_pack_describe_array(pack, &raw_size, err) != 0 ||
	    bpk_transfer_open_draft(&pack->transfer, err) != 0 ||
	    (!bpk_share_assists() && bpk_pack_look_at_old(pack, err) != 0))
		return -1;
	return choose(pack, raw_size, err);
}

/* Note the result, which is kept. The source goes last: parity may fail. */
static int settle(struct bpk_pack *pack, struct bpk_err *err)
{
	if (bpk_transfer_add_result(&pack->transfer, err) != 0)
		return -1;
	bpk_results_release(pack->transfer.shared);
	bpk_pack_tell_old(pack);
	tell_result(pack);
	if (bpk_renew_whole(pack->transfer.shared, pack->transfer.target, pack->parity, err) != 0)
		return -1;
	return bpk_transfer_remove_source(&pack->transfer, err);
}

static void end(struct bpk_pack *pack)
{
	bpk_transfer_clear(&pack->transfer);
	bpk_pack_clear_identity(pack);
	bpk_buf_clear(&pack->packing.choice.why);
	bpk_buf_clear(&pack->old.lost);
	bpk_cuts_clear(&pack->cuts);
	bpk_input_close(&pack->in);
	bpk_place_close(&pack->body);
}

static int pack_path(struct bpk_pack *pack, const char *path, struct bpk_err *err)
{
	const char *why;
	int rc = open_input(pack, path, err);

	if (rc == 0)
		rc = find_target(pack, &why, err);
	if (rc > 0)
		rc = skip(pack, path, why, err);
	if (rc != 0)
		return rc;
	if (begin(pack, err) != 0)
		return -1;
	if (pack->args->common.shared.verbose)
		tell_choice(pack);
	bpk_transfer_note_unknown_size(&pack->transfer, pack->plan.raw_size,
				       "--stream-size SIZE avoids that");
	if (pack_into_draft(pack, err) != 0 || bpk_transfer_commit(&pack->transfer, err) != 0)
		return -1;
	return settle(pack, err);
}

static void fail(const struct bpk_pack *pack, const struct bpk_err *err)
{
	bpk_tally_failed(&pack->args->common.shared, err);
	bpk_report(NULL, err);
}

void bpk_pack_one(void *arg, const char *path)
{
	struct bpk_pack *pack = arg;
	struct bpk_err err = { 0 };

	if (pack_path(pack, path, &err) < 0)
		fail(pack, &err);
	end(pack);
}

/* ---- Beside others ---- */

/* A file on its way, with a pack and arguments of its own. */
struct job {
	struct bpk_pack *command;
	struct bpk_pack_args own; /* that print nothing */
	struct bpk_pack pack;
	struct bpk_err err; /* of the work */
};

static bool begin_job(void *arg, void *place, const char *path)
{
	struct bpk_pack *command = arg;
	struct job *job = place;
	struct bpk_shared *shared = &job->own.common.shared;
	struct bpk_pack *pack = &job->pack;
	struct bpk_err err = { 0 };
	const char *why;

	/* not by one initializer, which would lie on the stack first */
	job->command = command;
	job->own = *command->args;
	job->pack = *command;
	job->err = (struct bpk_err){ 0 };
	shared->threads = 1;
	shared->quiet = true;
	shared->verbose = 0;
	shared->progress = BPK_WHEN_NEVER;
	pack->args = &job->own;
	/* a remark would have been printed; the file may have grown */
	if (open_input(pack, path, &err) == 0 && pack->in.info->raw_size <= BPK_SMALL_FILE &&
	    bpk_place_remark(&pack->in.place) == NULL && !bpk_place_pending(&pack->in.place) &&
	    find_target(pack, &why, &err) == 0 && begin(pack, &err) == 0)
		return true;
	end(pack);
	return false;
}

static void work_on_job(void *place)
{
	struct job *job = place;

	if (pack_into_draft(&job->pack, &job->err) == 0)
		(void)bpk_transfer_commit(&job->pack.transfer, &job->err);
}

static void end_job(void *place)
{
	struct job *job = place;
	struct bpk_pack *pack = &job->pack;

	pack->args = job->command->args;
	pack->transfer.shared = &pack->args->common.shared;
	if (pack->args->common.shared.verbose)
		tell_choice(pack);
	if (job->err.kind != BPK_OK || settle(pack, &job->err) != 0)
		fail(pack, &job->err);
	end(pack);
}

/* What prints while it chooses, or keeps more than a choice, is done by the command alone. With
 * --output-dir several results may be of one name, unless all operands are of one tree. */
const struct bpk_beside *bpk_pack_beside(const struct bpk_pack *pack)
{
	static const struct bpk_beside beside = { sizeof(struct job), begin_job, work_on_job,
						  end_job };
	const struct bpk_pack_args *args = pack->args;
	const struct bpk_shared *shared = &args->common.shared;

	return pack->format->is_directory || args->dtype != NULL || args->as_array ||
			       args->predict || args->common.encoding.lossy ||
			       (shared->output_dir != NULL && !pack->one_tree) ||
			       shared->progress == BPK_WHEN_ALWAYS
		       ? NULL
		       : &beside;
}
