/* The common steps of commands that move data: the target's name, the draft, the run, the result.
 * pack, unpack, cat and convert call it. */
#include "cli/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/results.h"
#include "cli/share.h"
#include "cli/text.h"

static bool is_dash(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* ---- writing ---- */

static int target_subject(const struct bpk_transfer *transfer, struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", bpk_output_name(transfer->target));
}

int bpk_transfer_check_terminal(const struct bpk_shared *shared, const char *target,
				struct bpk_err *err)
{
	if (!is_dash(target) || shared->force || !isatty(STDOUT_FILENO))
		return 0;
	bpk_fail(err, BPK_FAILED, "is a terminal; binary data is written there only with --force");
	return bpk_err_subject(err, "%s", bpk_output_name(target));
}

static bool is_input(void *arg, const struct stat *folder)
{
	return bpk_same_file(folder, bpk_input_stat(arg));
}

/* Check that the result does not change the operands, or the results of others. */
static int check_target(const struct bpk_transfer *transfer, struct bpk_err *err)
{
	if (bpk_results_check(transfer->shared, transfer->target, err) != 0)
		return -1;
	if (!is_dash(transfer->target) && S_ISDIR(bpk_input_stat(transfer->in)->st_mode) &&
	    bpk_path_lies_in(transfer->target, !transfer->target_derived, is_input, transfer->in))
		return bpk_fail(err, BPK_FAILED, "lies in the source itself");
	return 0;
}

/* False: owner and permissions of the result are those of a new file. */
static bool find_like(const struct bpk_transfer *transfer, struct stat *like)
{
	bool has = true;

	if (transfer->like == NULL)
		has = bpk_input_like(transfer->in, like);
	else
		*like = *transfer->like;
	if (has && transfer->incomplete)
		bpk_transfer_date_before(transfer->in, like);
	return has;
}

int bpk_transfer_open_draft(struct bpk_transfer *transfer, struct bpk_err *err)
{
	bool directory = transfer->format != NULL && transfer->format->is_directory;
	const struct bpk_team *team = transfer->alone ? NULL : bpk_share_team();
	struct stat like;
	const struct bpk_draft_options options = {
		.overwrite = transfer->shared->force || transfer->replaces,
		.remedy = BPK_REMEDY_FORCE,
		.follow_links = !transfer->target_derived,
		.sync = !transfer->shared->no_sync,
		.named = team != NULL,
		.not_this = transfer->in_place ? NULL : bpk_input_stat(transfer->in),
		.only_this = transfer->in_place ? bpk_input_stat(transfer->in) : NULL,
		.directory = directory,
		.ours = directory ? transfer->format->owns : NULL,
		.like = find_like(transfer, &like) ? &like : NULL,
	};

	if (team != NULL && team->rank > 0)
		return bpk_draft_shadow(options.sync, &transfer->draft, err);
	if (bpk_transfer_check_terminal(transfer->shared, transfer->target, err) != 0)
		return -1;
	bpk_signals_start();
	transfer->started = bpk_clock();
	if (check_target(transfer, err) != 0 || bpk_transfer_make_folders(transfer, err) != 0 ||
	    bpk_draft_open(transfer->target, &options, &transfer->draft, err) != 0)
		return target_subject(transfer, err);
	if (transfer->shared->remove && !directory && !bpk_draft_seekable(transfer->draft)) {
		bpk_fail(err, BPK_FAILED, "is not a regular file, but the source is to be removed");
		return target_subject(transfer, err);
	}
	return 0;
}

bool bpk_transfer_never_waits(const struct bpk_transfer *transfer)
{
	return transfer->in->format->reader->positional(transfer->in->reader);
}

int bpk_transfer_start_writer(struct bpk_transfer *transfer, const struct bpk_format *format,
			      const struct bpk_info *info, const struct bpk_write_options *options,
			      struct bpk_err *err)
{
	transfer->format = format;
	if (format->writer->open(transfer->draft, info, options, &transfer->writer, err) != 0)
		return target_subject(transfer, err);
	return 0;
}

static void close_writer(struct bpk_transfer *transfer)
{
	if (transfer->writer != NULL)
		transfer->format->writer->close(transfer->writer);
	transfer->writer = NULL;
}

int bpk_transfer_finish_writer(struct bpk_transfer *transfer, struct bpk_err *err)
{
	int rc = transfer->format->writer->finish(transfer->writer, err);

	close_writer(transfer);
	return rc == 0 ? 0 : target_subject(transfer, err);
}

static int remove_source(struct bpk_transfer *transfer, struct bpk_err *err)
{
	struct bpk_removal *removal = transfer->removal;

	transfer->removal = NULL;
	return removal != NULL
		       ? bpk_removal_end(removal, err)
		       : bpk_remove_source(transfer->in->path, bpk_input_stat(transfer->in), err);
}

/* Keep the draft, no more public than the input. */
static int keep_draft(const struct bpk_transfer *transfer, struct bpk_draft *draft,
		      struct bpk_err *err)
{
	struct stat like = { .st_mode = S_IFREG | 0600,
			     .st_uid = (uid_t)-1,
			     .st_gid = (gid_t)-1,
			     .st_mtim.tv_nsec = UTIME_OMIT };
	bool is_like = find_like(transfer, &like) || transfer->keeps_broken, is_lost = false;
	const struct bpk_place *place = &transfer->in->place;
	int rc;

	if (transfer->keeps_broken)
		like.st_mode &= ~(mode_t)0177;
	else if (is_like && !place->is_directory && !place->is_member)
		bpk_draft_inherit(draft, place->source, &is_lost);
	rc = bpk_draft_keep(draft, is_like ? &like : NULL, err);
	if (rc == 0 && is_lost)
		bpk_note(transfer->target, "did not get all attributes and access rights of %s",
			 bpk_input_name(transfer->in->path));
	return rc;
}

/* A new file may have got the name of one that was removed in the middle of a change. */
static void tell_journal(const struct bpk_transfer *transfer)
{
	char word[BPK_WORD_TEXT];

	if (!transfer->shared->quiet && !is_dash(transfer->target) &&
	    bpk_path_has_journal(transfer->target))
		bpk_note(transfer->target,
			 "a journal of an earlier file lies beside it; bpk repair %s shows the "
			 "choices",
			 bpk_shell_word(transfer->target, word));
}

int bpk_transfer_commit(struct bpk_transfer *transfer, struct bpk_err *err)
{
	struct bpk_draft *draft = transfer->draft;

	if (bpk_input_unchanged(transfer->in, err) != 0)
		return -1;
	close_writer(transfer); /* of a run that failed, it may still hold bytes */
	transfer->draft = NULL;
	transfer->piped = bpk_draft_extent(draft);
	if (keep_draft(transfer, draft, err) != 0)
		return target_subject(transfer, err);
	transfer->seconds = bpk_clock() - transfer->started;
	return 0;
}

int bpk_transfer_add_result(struct bpk_transfer *transfer, struct bpk_err *err)
{
	if (bpk_results_add(transfer->shared, transfer->target, transfer->in->path, err) != 0)
		return target_subject(transfer, err);
	tell_journal(transfer);
	return 0;
}

int bpk_transfer_remove_source(struct bpk_transfer *transfer, struct bpk_err *err)
{
	if (!transfer->shared->remove)
		return 0;
	if (transfer->in->unfinished || bpk_place_remark(&transfer->in->place) != NULL) {
		bpk_note(bpk_input_name(transfer->in->path), "is kept, because %s",
			 transfer->in->unfinished ? "bytes follow its end"
						  : "a journal or list beside it is not used");
		return 0;
	}
	return remove_source(transfer, err) == 0 ? 0 : bpk_input_subject(transfer->in, err);
}

int bpk_transfer_keep(struct bpk_transfer *transfer, struct bpk_err *err)
{
	return bpk_transfer_commit(transfer, err) != 0 ||
			       bpk_transfer_add_result(transfer, err) != 0
		       ? -1
		       : bpk_transfer_remove_source(transfer, err);
}

void bpk_transfer_clear(struct bpk_transfer *transfer)
{
	close_writer(transfer);
	bpk_draft_drop(transfer->draft);
	transfer->draft = NULL;
	bpk_removal_drop(transfer->removal);
	transfer->removal = NULL;
	free(transfer->target);
	transfer->target = NULL;
}

/* ---- running ---- */

int bpk_transfer_bound(const struct bpk_transfer *transfer, struct bpk_plan *plan,
		       struct bpk_err *err)
{
	uint64_t limit = transfer->shared->max_output, size = transfer->in->info->raw_size, end;

	if (limit == BPK_UNKNOWN)
		return 0;
	if (plan->end != BPK_UNKNOWN)
		size = plan->end - plan->start;
	else if (bpk_add_u64(plan->start, limit, &end) && end < BPK_UNKNOWN - 1)
		plan->end = end + 1;
	if (size <= limit || size == BPK_UNKNOWN)
		return 0;
	bpk_fail(err, BPK_LIMIT, "unpacks to %" PRIu64 " bytes, --max-output allows %" PRIu64, size,
		 limit);
	return bpk_input_subject(transfer->in, err);
}

int bpk_transfer_check_bound(const struct bpk_transfer *transfer, struct bpk_err *err)
{
	if (transfer->result.raw_size <= transfer->shared->max_output)
		return 0;
	bpk_fail(err, BPK_LIMIT,
		 "unpacks to more than the %" PRIu64 " bytes that --max-output allows",
		 transfer->shared->max_output);
	return bpk_input_subject(transfer->in, err);
}

/* A failure to read or write may be either side's; all else is about the source. */
static int run_subject(const struct bpk_transfer *transfer, struct bpk_err *err)
{
	if (transfer->target == NULL || err->kind != BPK_FAILED)
		return bpk_input_subject(transfer->in, err);
	return bpk_err_subject(err, "%s -> %s", bpk_input_name(transfer->in->path),
			       bpk_output_name(transfer->target));
}

int bpk_transfer_run(struct bpk_transfer *transfer, struct bpk_flow *flow, struct bpk_err *err)
{
	const struct bpk_shared *shared = transfer->shared;
	struct bpk_progress progress;
	uint64_t total = flow->plan.end;
	int rc;

	if (total != BPK_UNKNOWN)
		total -= bpk_min_u64(total, flow->plan.start);
	flow->in = transfer->in->format->reader;
	flow->reader = transfer->in->reader;
	if (transfer->writer != NULL) {
		flow->out = transfer->format->writer;
		flow->writer = transfer->writer;
	}
	flow->team = transfer->alone ? NULL : bpk_share_team();
	flow->draft = transfer->writer != NULL ? transfer->draft : NULL;
	flow->limits = bpk_shared_limits(shared);
	flow->progress = bpk_progress_update;
	flow->progress_arg = &progress;
	bpk_signals_start();
	bpk_progress_start(&progress, shared->progress, shared->quiet, transfer->in->path, total);
	rc = bpk_flow_run(flow, &transfer->result, err);
	bpk_progress_hide();
	if (rc != 0 && err->kind == BPK_USAGE && transfer->may_end_early)
		rc = 0; /* all that is there was put */
	if (rc == 0)
		return 0;
	run_subject(transfer, err);
	return bpk_input_judge(transfer->in, err);
}

/* ---- results ---- */

void bpk_transfer_note_unknown_size(const struct bpk_transfer *transfer, uint64_t raw_size,
				    const char *advice)
{
	if (raw_size != BPK_UNKNOWN || transfer->format->is_directory ||
	    transfer->format->tells_size || bpk_draft_seekable(transfer->draft) ||
	    transfer->shared->quiet)
		return;
	bpk_note(bpk_output_name(transfer->target),
		 "its header cannot say how much follows, older Bloscpack readers stop there; %s",
		 advice);
}

uint64_t bpk_transfer_output_size(const struct bpk_transfer *transfer)
{
	struct stat found;

	if (transfer->piped > 0)
		return transfer->piped;
	if (!is_dash(transfer->target) && stat(transfer->target, &found) == 0 &&
	    S_ISREG(found.st_mode))
		return (uint64_t)found.st_size;
	return transfer->result.packed_size;
}

void bpk_transfer_note_result(const struct bpk_transfer *transfer, uint64_t packed_size)
{
	uint64_t raw_size = transfer->result.raw_size;
	char ratio[BPK_SIZE_TEXT];
	double rate = transfer->seconds > 0 ? (double)raw_size / transfer->seconds / 1e6 : 0;

	bpk_note(bpk_input_name(transfer->in->path),
		 "%" PRIu64 " bytes raw, %" PRIu64 " packed, ratio %s, %.3f s, %.0f MB/s, to %s",
		 raw_size, packed_size, bpk_ratio_text(raw_size, packed_size, ratio),
		 transfer->seconds, rate, bpk_output_name(transfer->target));
}

/* "zstd 1, bitshuffle 8, " */
static void describe_recipe(const struct bpk_recipe *recipe, char *out, size_t room)
{
	char filters[BPK_PIPELINE_TEXT];

	bpk_pipeline_print(&recipe->pipeline, filters);
	if (recipe->pipeline.nsteps == 0)
		snprintf(out, room, "%s %u, ", bpk_codec_name(recipe->codec), recipe->level);
	else
		snprintf(out, room, "%s %u, %s %u, ", bpk_codec_name(recipe->codec), recipe->level,
			 filters, recipe->typesize);
}

void bpk_transfer_tell_result(const struct bpk_transfer *transfer, uint64_t from, uint64_t to,
			      const struct bpk_recipe *recipe)
{
	const struct bpk_shared *shared = transfer->shared;
	char a[BPK_SIZE_TEXT], b[BPK_SIZE_TEXT], ratio[BPK_SIZE_TEXT];
	char how[BPK_PIPELINE_TEXT + 64] = "";
	bool unpacks = to == transfer->result.raw_size;
	const char *unit;

	if (shared->quiet || shared->verbose > 0 || shared->json || !isatty(STDERR_FILENO))
		return;
	if (recipe != NULL)
		describe_recipe(recipe, how, sizeof how);
	bpk_size_text(from, a);
	bpk_size_text(to, b);
	unit = strchr(b, ' ');
	if (unit != NULL && bpk_ends_with(a, unit))
		a[strlen(a) - strlen(unit)] = '\0';
	bpk_note(bpk_input_name(transfer->in->path), "%s -> %s (%s), %s%.2f s", a, b,
		 unpacks ? bpk_ratio_text(to, from, ratio) : bpk_ratio_text(from, to, ratio), how,
		 transfer->seconds);
}

void bpk_transfer_note_choice(const struct bpk_transfer *transfer, const struct bpk_buf *why)
{
	const char *line = (const char *)why->data, *end = line + why->size, *next;

	for (; line < end; line = next) {
		next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		if (transfer->shared->verbose > 1 || !bpk_choice_line_is_trial(line))
			bpk_note(bpk_input_name(transfer->in->path), "%.*s", (int)(next - line) - 1,
				 line);
	}
}

void bpk_transfer_record_result(const struct bpk_transfer *transfer, uint64_t packed_size)
{
	bpk_record_text("output", transfer->target);
	bpk_record_u64("raw_size", transfer->result.raw_size);
	bpk_record_u64("packed_size", packed_size);
	bpk_record_u64("nchunks", transfer->result.nchunks);
	bpk_record_seconds("seconds", transfer->seconds);
}
