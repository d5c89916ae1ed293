/* bpk unpack: archives in, raw files out. Called by main through the table of commands. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/content.h"
#include "cli/heal.h"
#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/operands.h"
#include "cli/share.h"
#include "cli/side.h"
#include "cli/unpack_fill.h"
#include "cli/unpack_npy.h"
#include "cli/verify.h"

struct unpack_args {
	struct bpk_shared shared;
	bool keep_broken;
	bool bare;
	enum bpk_fill fill;
};

static const struct bpk_opt opt_raw = {
	.name = "raw",
	BPK_OPT_VALUE(OPT_FLAG, struct unpack_args, bare),
	.help = "write an array's bytes alone, for any name of the result",
	.more = "By default an array unpacked to a name ending in .npy becomes a NumPy file.",
};

static const struct bpk_opt opt_keep_broken = {
	.name = "keep-broken",
	BPK_OPT_VALUE(OPT_FLAG, struct unpack_args, keep_broken),
	.help = "keep the data before damage as NAME.partial",
	.more = "By default a damaged archive leaves no file. The status is that of damage either "
		"way.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt opt_fill = {
	.name = "fill",
	BPK_OPT_VALUE(OPT_FILL, struct unpack_args, fill),
	.metavar = "HOW",
	.help = "unpack all intact chunks; damaged ones become zero, nan, or are left out: skip",
	.more = "nan needs an archive that records an array of floating-point numbers. The archive "
		"is read twice. A line reports each range of raw bytes that is lost, and "
		"damage outside of chunks, and the status is 2. What a parity file can restore is "
		"not filled: the status is 3.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_name,
	&bpk_opt_frames,
	&bpk_opt_no_defaults,
	&bpk_opt_format_read,
	&bpk_opt_max_output,
	&opt_raw,
	&bpk_opt_no_check,
	&bpk_opt_no_marker,
	BPK_OPTS_TREE,
	&bpk_opt_stdout,
	&bpk_opt_output,
	&bpk_opt_output_dir,
	&bpk_opt_update,
	&opt_keep_broken,
	&opt_fill,
	&bpk_opt_force,
	&bpk_opt_keep,
	&bpk_opt_rm,
	&bpk_opt_no_sync,
	BPK_OPTS_REMOTE,
	BPK_OPTS_RUN,
	NULL,
};

static const struct unpack_args defaults = { .shared.audits = true };

/* ---- the work ---- */

static char *strip_suffix(const struct bpk_transfer *transfer, const char *source,
			  struct bpk_err *err)
{
	char *target = bpk_strdup(source, err);
	const char *suffix;
	size_t size, folder;

	if (target == NULL)
		return NULL;
	/* a directory may be written with a slash behind it */
	for (size = strlen(target); size > 0 && target[size - 1] == '/'; size--)
		target[size - 1] = '\0';
	suffix = bpk_format_suffix(target);
	folder = size > 0 && strrchr(target, '/') ? (size_t)(strrchr(target, '/') + 1 - target) : 0;
	if (suffix != NULL && !transfer->in->place.is_member && size - strlen(suffix) > folder) {
		target[size - strlen(suffix)] = '\0';
		return target;
	}
	free(target);
	bpk_fail(err, BPK_PARTIAL, "%s, skipped; name the result with --output or --stdout",
		 transfer->in->place.is_member ? "is a member of a tar" : "has no suffix to strip");
	return NULL;
}

static int unpack_behind(const struct unpack_args *args, struct bpk_transfer *transfer,
			 struct bpk_view head, struct bpk_err *err)
{
	struct bpk_info info = *transfer->in->info;
	const struct bpk_write_options options = {
		.in_order = transfer->keeps_broken || args->fill != BPK_FILL_NONE,
		.gathers = bpk_transfer_never_waits(transfer),
		.head = head,
		.mark = bpk_view(bpk_npy_magic, BPK_NPY_MAGIC_SIZE),
	};
	struct bpk_flow flow = { .check = !args->shared.no_check, .decode = true };
	int rc;

	flow.plan = bpk_plan_all(transfer->in->info);
	if (bpk_transfer_bound(transfer, &flow.plan, err) != 0)
		return -1;
	transfer->may_end_early = flow.plan.end != flow.plan.raw_size;
	info.raw_size = flow.plan.raw_size;
	if (bpk_transfer_start_writer(transfer, &bpk_format_raw, &info, &options, err) != 0)
		return -1;
	if (args->fill != BPK_FILL_NONE)
		rc = bpk_fill_run(transfer, args->fill, &flow, err);
	else
		rc = bpk_transfer_run(transfer, &flow, err);
	if (rc == 0 && args->fill == BPK_FILL_NONE)
		rc = bpk_transfer_check_bound(transfer, err);
	if (rc == 0)
		rc = bpk_unpack_npy_check(transfer, head, err);
	if (rc == 0 && args->fill == BPK_FILL_NONE)
		rc = bpk_input_account(transfer->in, err);
	if (rc != 0)
		return -1;
	return bpk_transfer_finish_writer(transfer, err);
}

static int unpack_into_draft(const struct unpack_args *args, struct bpk_transfer *transfer,
			     struct bpk_err *err)
{
	struct bpk_buf head = { 0 };
	int rc = args->bare ? 0 : bpk_unpack_npy_head(transfer, &head, err);

	if (rc == 0)
		rc = unpack_behind(args, transfer, bpk_buf_view(&head), err);
	bpk_buf_clear(&head);
	return rc;
}

static void tell_result(const struct bpk_transfer *transfer)
{
	uint64_t packed_size = transfer->in->info->stored_size;

	if (packed_size == BPK_UNKNOWN)
		packed_size = transfer->result.packed_size;
	bpk_tally_done(transfer->shared, transfer->result.raw_size, packed_size);
	bpk_transfer_tell_result(transfer, packed_size, transfer->result.raw_size, NULL);
	if (transfer->shared->verbose)
		bpk_transfer_note_result(transfer, packed_size);
	if (!transfer->shared->json)
		return;
	bpk_record_begin("unpack", transfer->in->path);
	bpk_transfer_record_result(transfer, packed_size);
	bpk_record_end();
}

/* A directory that is to be removed is looked at before anything in it is read. */
static int open_input(const struct unpack_args *args, const char *path,
		      struct bpk_transfer *transfer, struct bpk_err *err)
{
	struct bpk_input *in = transfer->in;

	if (bpk_input_find(in, path, &args->shared, err) != 0)
		return -1;
	if (transfer->shared->remove && in->place.is_directory && in->format != NULL &&
	    bpk_removal_begin(path, in->format->owns, &transfer->removal, err) != 0)
		return bpk_input_subject(in, err);
	return bpk_input_start(in, &args->shared, args->shared.memory_limit, err);
}

/* Open path again and unpack it; transfer is left for the caller to look at and to clear. Returns 1
 * if the result is up to date. */
static int open_and_unpack(const struct unpack_args *args, const char *path,
			   struct bpk_transfer *transfer, struct bpk_err *err)
{
	bool is_current = false;

	if (open_input(args, path, transfer, err) != 0)
		return -1;
	if (transfer->target == NULL &&
	    (bpk_transfer_name_target(transfer, strip_suffix, err) != 0 ||
	     bpk_transfer_update(transfer, &is_current, err) != 0))
		return -1;
	if (is_current)
		return 1;
	if (args->fill != BPK_FILL_NONE && bpk_fill_check(transfer->in, args->fill, err) != 0)
		return -1;
	if (bpk_transfer_open_draft(transfer, err) != 0)
		return -1;
	return unpack_into_draft(args, transfer, err);
}

/*
 * The draft was to become the target, so the data before the damage is unpacked once more, as
 * NAME.partial, for nobody but its owner, whatever the archive's mode.
 */
static void keep_broken(const struct unpack_args *args, const char *path, const char *target)
{
	struct bpk_shared shared = args->shared;
	struct bpk_input in = { 0 };
	struct bpk_transfer transfer = {
		.shared = &shared,
		.in = &in,
		.target_derived = true,
		.keeps_broken = true,
		.alone = true,
	};
	struct bpk_err err = { 0 };
	int rc;

	if (bpk_share_assists())
		return;
	rc = asprintf(&transfer.target, "%s.partial", target);
	shared.remove = false;
	if (rc < 0)
		transfer.target = NULL;
	else if (open_and_unpack(args, path, &transfer, &err) != 0 && transfer.draft != NULL &&
		 err.kind == BPK_CORRUPT) {
		if (bpk_transfer_keep(&transfer, &err) == 0)
			bpk_note(transfer.target, "holds what came before the damage");
		else
			bpk_report(NULL, &err);
	} else {
		bpk_report(NULL, &err);
	}
	bpk_transfer_clear(&transfer);
	bpk_input_close(&in);
}

/* ---- arrays by name ---- */

static int save(const struct unpack_args *args, struct bpk_transfer *transfer, uint64_t *count,
		struct bpk_err *err)
{
	struct bpk_content content;
	int rc;

	/* the digests that the chunks are to be tested by may be damaged */
	if (!args->shared.no_check && bpk_input_check_damage(transfer->in, err) != 0)
		return -1;
	if (bpk_content_look(transfer->in, &args->shared, &content, err) != 0)
		return -1;
	rc = bpk_content_save(&content, &args->shared.pick, args->shared.max_output, transfer,
			      count, err);
	rc = bpk_content_unchanged(&content, rc, err);
	if (rc == 0)
		bpk_content_note_damage(&content);
	bpk_content_close(&content);
	return rc;
}

static void record_saved(const struct bpk_transfer *transfer, uint64_t count)
{
	bpk_record_begin("unpack", transfer->in->path);
	bpk_record_text("output", strcmp(transfer->target, "-") == 0 ? NULL : transfer->target);
	bpk_record_text("name", transfer->shared->pick.name);
	bpk_record_u64("narrays", count);
	bpk_record_end();
}

static void unpack_named(const struct unpack_args *args, const char *path)
{
	struct bpk_input in = { 0 };
	struct bpk_transfer transfer = { .shared = &args->shared, .in = &in };
	struct bpk_err err = { 0 };
	uint64_t count = 0;

	if (bpk_input_open_any(&in, path, &args->shared, &err) != 0 ||
	    bpk_transfer_name_target(&transfer, NULL, &err) != 0 ||
	    bpk_transfer_open_draft(&transfer, &err) != 0 ||
	    save(args, &transfer, &count, &err) != 0 || bpk_transfer_keep(&transfer, &err) != 0) {
		bpk_input_judge(&in, &err);
		bpk_side_advise(&in, &err);
		bpk_report(NULL, &err);
	} else if (args->shared.json)
		record_saved(&transfer, count);
	bpk_transfer_clear(&transfer);
	bpk_input_close(&in);
}

/* ---- one file ---- */

/* An archive is removed only if verify would pass it. Its chunks were tested; the identity that it
 * records and its parity file tell more. Another file of that one's name tells nothing. */
static int check_removal(const struct unpack_args *args, const struct bpk_input *in,
			 struct bpk_err *err)
{
	char *side;
	struct bpk_heal_verdict verdict;
	int rc;

	if (!args->shared.remove || bpk_share_assists() || strcmp(in->path, "-") == 0)
		return 0;
	side = bpk_side_name(in->path, err);
	if (side == NULL)
		return -1;
	rc = bpk_verify_recorded(&args->shared, in, true, err);
	if (bpk_side_is(side))
		rc = bpk_heal_judge(&args->shared, in, rc, &verdict, err);
	free(side);
	return rc;
}

/* Remove the parity file beside an archive that --rm has removed. That of an archive behind a link
 * has another name, and stays as the archive does. */
static int remove_side(const char *path, struct bpk_err *err)
{
	char *name = bpk_parity_name(path, err);
	struct stat found;
	bool there = true;
	int rc = name == NULL ? -1 : bpk_path_look(path, &found, &there, err);

	if (rc == 0 && !there && bpk_side_is(name) && lstat(name, &found) == 0) {
		rc = bpk_remove_source(name, &found, err);
		if (rc != 0)
			bpk_err_subject(err, "%s", name);
	}
	free(name);
	return rc;
}

/* The next step after damage: parity, or the rest of the data. */
static void advise(const struct unpack_args *args, const struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];

	if (err->kind != BPK_CORRUPT || err->advises || in->info == NULL || args->keep_broken ||
	    strcmp(in->path, "-") == 0 || bpk_side_has(in->path)) {
		bpk_side_advise(in, err);
		return;
	}
	bpk_fail(err, plain.kind, "%s; bpk repair %s shows which data are left", plain.text,
		 bpk_shell_word(in->path, word));
}

static void unpack_one(void *arg, const char *path)
{
	const struct unpack_args *args = arg;
	struct bpk_input in = { 0 };
	struct bpk_transfer transfer = { .shared = &args->shared, .in = &in };
	struct bpk_err err = { 0 };
	bool broken;
	int rc;

	if (args->shared.pick.name != NULL) {
		unpack_named(args, path);
		return;
	}
	rc = open_and_unpack(args, path, &transfer, &err);
	broken = rc < 0 && err.kind == BPK_CORRUPT && transfer.draft != NULL;
	if (rc == 0)
		rc = check_removal(args, &in, &err);
	if (rc == 0)
		rc = bpk_transfer_keep(&transfer, &err);
	if (rc == 0 && args->shared.remove && !bpk_share_assists())
		rc = remove_side(path, &err);
	if (rc == 0) {
		if (!in.unfinished)
			bpk_results_release(&args->shared);
		tell_result(&transfer);
	} else if (rc > 0) {
		bpk_tally_skipped(&args->shared, path, "its result is up to date");
	} else {
		bpk_tally_failed(&args->shared, &err);
		if (args->fill == BPK_FILL_NONE || in.info == NULL)
			advise(args, &in, &err);
		bpk_report(NULL, &err);
	}
	if (broken && args->keep_broken && strcmp(transfer.target, "-") != 0)
		keep_broken(args, path, transfer.target);
	bpk_transfer_clear(&transfer);
	bpk_input_close(&in);
}

static int check_fill(const struct unpack_args *args, char **operands, size_t count,
		      struct bpk_err *err)
{
	const char *other = args->keep_broken     ? "--keep-broken"
			    : args->shared.remove ? "--rm"
						  : NULL;

	if (other != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --fill and %s can be given", other);
	if (!bpk_transfer_is_listed(&args->shared) && (count == 0 || strcmp(operands[0], "-") == 0))
		return bpk_fail(err, BPK_USAGE, "--fill needs a FILE, since it reads it twice");
	return bpk_pick_check(&args->shared.pick, "--fill", err);
}

static int check_usage(const struct unpack_args *args, char **operands, size_t count,
		       struct bpk_err *err)
{
	const struct bpk_pick *pick = &args->shared.pick;

	if (bpk_transfer_check(&args->shared, operands, count, err) != 0 ||
	    bpk_pick_check(pick, args->keep_broken ? "--keep-broken" : NULL, err) != 0 ||
	    bpk_pick_check(pick, args->shared.remove ? "--rm" : NULL, err) != 0)
		return -1;
	if (args->fill != BPK_FILL_NONE && check_fill(args, operands, count, err) != 0)
		return -1;
	if (pick->name != NULL && bpk_transfer_is_listed(&args->shared))
		return bpk_fail(err, BPK_USAGE, "--name needs one FILE");
	if (pick->name != NULL && args->shared.output == NULL && !args->shared.to_stdout)
		return bpk_fail(err, BPK_USAGE, "--name needs --output FILE.npy or --stdout");
	if (args->keep_broken && args->shared.output != NULL &&
	    (count == 0 || strcmp(operands[0], "-") == 0))
		return bpk_fail(err, BPK_USAGE,
				"--keep-broken needs a FILE, since it reads a damaged one twice");
	return 0;
}

/* Of the files in a directory those that are called archives. */
static bool takes(const char *path)
{
	return bpk_format_suffix(path) != NULL;
}

static const struct bpk_tree_kind kind = { .takes = takes, .takes_datasets = true };

/* As verify -r: of a disk that is not mounted nothing would be missed. A share may be empty. */
static void check_found(const struct unpack_args *args, char *const *named, size_t count,
			size_t nfound)
{
	const struct bpk_tree_args *tree = &args->shared.tree;
	struct bpk_err err = { 0 };

	if (!tree->recursive || tree->share.count > 0 || nfound > 0)
		return;
	bpk_fail(&err, BPK_FAILED, "no archive was found in it");
	bpk_report(count == 1 ? named[0] : "all operands", &err);
	bpk_record_settle(&args->shared, count == 1 ? named[0] : NULL);
}

static void run_unpack(void *arg, char **named, size_t count)
{
	struct unpack_args *args = arg;
	struct bpk_files operands = { 0 };
	struct bpk_tally tally = { 0 };
	struct bpk_err err = { 0 };

	args->shared.saves = args->fill != BPK_FILL_NONE;
	args->shared.tally = bpk_transfer_is_listed(&args->shared) ? &tally : NULL;
	if (check_usage(args, named, count, &err) != 0 ||
	    bpk_transfer_gather(&args->shared, &kind, named, count, &operands, &err) != 0) {
		bpk_report(err.kind == BPK_USAGE ? "unpack" : NULL, &err);
	} else {
		check_found(args, named, count, operands.count);
		bpk_operands_run(&args->shared, &operands,
				 &(struct bpk_each){ .one = unpack_one, .arg = args });
		bpk_tally_tell(&args->shared, "unpacked");
	}
	bpk_files_clear(&operands);
}

static const struct bpk_foreign foreign[] = {
	{ 'd', "decompress", "'bpk unpack' does that" },
	{ 't', "test", "'bpk verify' tests FILE" },
	{ 'l', "list", "'bpk info' shows FILE" },
	{ 'j', NULL, "-T sets the number of threads" },
	{ 'C', "directory", "-O names the directory" },
	{ 0 },
};

const struct bpk_command bpk_command_unpack = {
	.name = "unpack",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "restore the raw data of archives",
	.description =
		"Unpacks each FILE.blp into FILE beside it and keeps FILE.blp. The format is "
		"recognised by content. Without FILE, or with -, unpacks standard input to "
		"standard output. With --name writes one array of a simulation file, packed or "
		"not, as a NumPy file, with an axis in front for several frames; a result whose "
		"name ends in .npz has a member for each frame.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct unpack_args),
	.defaults = &defaults,
	.run = run_unpack,
};
