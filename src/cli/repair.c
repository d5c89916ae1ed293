/* bpk repair: settle interrupted changes, repack frames, finish streams, renew digests. Called by
 * main through the table of commands. */
#include "cli/heal.h"

#include <inttypes.h>
#include "cli/gsd.h"
#include "cli/merge.h"
#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/renew.h"
#include "cli/report.h"
#include "cli/reseal.h"
#include "cli/salvage.h"
#include "cli/recover.h"
#include "cli/signal.h"
#include "cli/text.h"

struct repair_args {
	struct bpk_args common;
	bool repack, apply, merge, guess, finish, in_place, use_journal, drop_journal;
	enum bpk_fill fill;
	const char *from;
};

static const struct bpk_opt opt_repack = {
	.name = "repack",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, repack),
	.help = "remove bytes that nothing in the archive refers to",
	.more = "Changes leave holes in frames, and unused files in sparse frames. Chunks are "
		"copied unchanged, after a test of their checksums.",
};

static const struct bpk_opt opt_apply = {
	.name = "apply",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, apply),
	.help = "restore a damaged FILE, by its parity file if it has one, into the file of "
		"--output",
	.more = "With a parity file only if all of the damage can be restored; the result is FILE "
		"as it was when that was written. Without one the intact chunks of a damaged "
		"archive make a new one, and the intact frames of a GSD file.",
};

static const struct bpk_opt opt_merge = {
	.name = "merge",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, merge),
	.help = "make one archive of the FILEs, which are damaged copies of it, and write it to "
		"--output",
	.more = "Each chunk is taken from the first copy in which it is intact, and so is each "
		"other part. Without --output the ranges that would be intact or lost are "
		"printed.",
};

static const struct bpk_opt opt_fill = {
	.name = "fill",
	BPK_OPT_VALUE(OPT_FILL, struct repair_args, fill),
	.max = BPK_FILL_SKIP,
	.metavar = "HOW",
	.help = "with --apply or --merge, if chunks are lost: zero puts zeros for them, skip "
		"leaves them out",
	.more = "The status is then 2. Without this option nothing is written if chunks are lost. "
		"What a parity file can restore is not filled: the status is 3. Of a GSD file: "
		"zero keeps the frames that have lost arrays, skip leaves them out.",
};

static const struct bpk_opt opt_guess = {
	.name = "guess",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, guess),
	.help = "with --apply: guess at the damaged byte of a chunk by its checksum",
	.more = "A chunk is restored if one byte alone makes it match, and unpack. That may be "
		"wrong, so the status is 2. A parity file is not used. For Bloscpack files and "
		"chunked directories alone.",
};

static const struct bpk_opt opt_finish = {
	.name = "finish",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, finish),
	.help = "add the counts and offsets that an archive from a pipe lacks",
	.more = "Chunks are copied unchanged, after a test of their checksums.",
};

static const struct bpk_opt opt_reseal = {
	.name = "reseal",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, common.change.reseal),
	.help = "renew the digests of a frame, or the seal of an archive, after another program "
		"changed it",
	.more = "Every chunk must match a digest, or unpack if it has none. Otherwise FILE is "
		"damaged and stays unchanged.",
};

static const struct bpk_opt opt_in_place = {
	.name = "in-place",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, in_place),
	.help = "settle an interrupted change",
	.more = "A journal restores the bytes that were saved, a valid list of changes is carried "
		"out. The next command that changes the archive does the same.",
};

static const struct bpk_opt opt_use_journal = {
	.name = "use-journal",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, use_journal),
	.help = "the same with a journal that was made for another file",
	.more = "For a copy, or a restored backup, of an archive with its journal or list: only "
		"device, inode and time of birth may differ, and the owner may be the user; of the "
		"files that a list names the new sizes must fit. A journal of a user other than "
		"this user and FILE's owner is never used.",
};

static const struct bpk_opt opt_drop_journal = {
	.name = "drop-journal",
	BPK_OPT_VALUE(OPT_FLAG, struct repair_args, drop_journal),
	.help = "remove the journal or list of changes, valid or not",
	.more = "FILE stays unchanged, and may be a mix of old and new if the journal was valid.",
};

static const struct bpk_opt opt_from = {
	.name = "from",
	BPK_OPT_VALUE(OPT_FILE, struct repair_args, from),
	.metavar = "RAW",
	.help = "with --apply or --merge: pack lost chunks again from the raw data in file RAW",
	.more = "The intact chunks are compared with RAW, and the status is 0 if they agree. "
		"Chunks that a parity file can restore are not packed: the status is 3. Of an .npy "
		"file the data behind its head are taken.",
};

static const struct bpk_opt *const rows[] = {
	&opt_repack,      &opt_apply,       &opt_merge,        &opt_fill,
	&opt_guess,       &opt_from,        &opt_finish,       &opt_reseal,
	&opt_in_place,    &opt_use_journal, &opt_drop_journal, &bpk_opt_format_read,
	&bpk_opt_wait,    &bpk_opt_no_lock, &bpk_opt_output,   &bpk_opt_force,
	&bpk_opt_no_sync, BPK_OPTS_REMOTE,  BPK_OPTS_RUN,      NULL,
};

static const struct repair_args defaults = {
	.common = BPK_ARGS_DEFAULTS,
	.common.shared.as_stored = true,
	.common.shared.audits = true,
};

/* ---- telling ---- */

static const char *name_nothing(const struct repair_args *args)
{
	return args->finish ? "is complete, nothing to do" : "has no holes, nothing to do";
}

static void tell(const struct repair_args *args, const struct bpk_input *in, const char *output,
		 const struct bpk_repacked *result)
{
	const struct bpk_shared *shared = &args->common.shared;

	if (shared->verbose && result->changed)
		bpk_note(bpk_input_name(in->path), "from %" PRIu64 " to %" PRIu64 " bytes",
			 result->before, result->after);
	else if (shared->verbose)
		bpk_note(bpk_input_name(in->path), "%s", name_nothing(args));
	if (!shared->json)
		return;
	bpk_record_begin("repair", in->path);
	bpk_record_text("output", output);
	bpk_record_bool(args->finish ? "finished" : "repacked", result->changed);
	bpk_record_u64("packed_size_before", result->before);
	bpk_record_u64("packed_size", result->after);
	bpk_record_end();
}

/* Each archive of several has holes of its own. */
static int check_single(const struct bpk_input *in, struct bpk_err *err)
{
	if (in->info->members <= 1 || in->info->members == BPK_UNKNOWN)
		return 0;
	bpk_fail(err, BPK_FAILED, "holds %" PRIu64 " archives that follow each other; bpk %s",
		 in->info->members,
		 in->info->seal.sealed ? "repair --apply -o NEW FILE writes the first"
				       : "convert FILE NEW makes one of them");
	return bpk_input_subject(in, err);
}

/* A format without holes has nothing to be repacked, one that always has its counts nothing to be
 * finished, and nobody needs to know beforehand. */
static int tell_none(const struct repair_args *args, struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->common.shared;
	const struct bpk_repacked none = { .before = BPK_UNKNOWN, .after = BPK_UNKNOWN };

	if (bpk_input_start(in, shared, shared->chunk_limit, err) != 0 ||
	    bpk_input_complete(in, err) != 0 || check_single(in, err) != 0)
		return -1;
	if (shared->output != NULL) {
		bpk_fail(err, BPK_FAILED,
			 "archives of format %s have no holes, and nothing is written; "
			 "bpk convert FILE NEW makes a copy",
			 in->format->name);
		return bpk_input_subject(in, err);
	}
	if (!shared->quiet)
		bpk_note(bpk_input_name(in->path), "archives of format %s %s", in->format->name,
			 args->finish ? "are always complete" : "have no holes");
	if (shared->json)
		tell(args, in, NULL, &none);
	return 0;
}

/* ---- in place ---- */

typedef int change_fn(const char *path, const struct bpk_edit_options *options,
		      struct bpk_repacked *result, struct bpk_err *err);

/* NULL: the format has no such change. */
static change_fn *change_of(const struct repair_args *args, const struct bpk_format *format)
{
	return args->finish ? format->finish : format->repack;
}

static int repack(const struct repair_args *args, struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_edit_options options = {
		.wait = args->common.change.wait,
		.no_lock = args->common.change.no_lock,
		.sync = !args->common.shared.no_sync,
	};
	struct bpk_repacked result;

	if (strcmp(in->path, "-") == 0)
		return bpk_fail(err, BPK_USAGE,
				"standard input cannot be changed, use --output or name a FILE");
	if (in->place.is_member) {
		bpk_fail(err, BPK_FAILED, "is a member of a tar, and these cannot be changed");
		return bpk_input_subject(in, err);
	}
	bpk_signals_start();
	bpk_input_close(in); /* it is opened in another way */
	if (bpk_side_need_whole(in->path, NULL, err) != 0)
		return -1;
	if (change_of(args, in->format)(in->path, &options, &result, err) != 0)
		return bpk_input_subject(in, err);
	tell(args, in, NULL, &result);
	return result.changed ? bpk_renew_whole(&args->common.shared, in->path, 0, err) : 0;
}

/* ---- into another ---- */

static int copy_chunks(struct bpk_transfer *transfer, struct bpk_err *err)
{
	const struct bpk_write_options options = { .append_space = BPK_UNKNOWN };
	struct bpk_flow flow = { .plan = bpk_plan_all(transfer->in->info),
				 .check = true,
				 .same_seals = true };
	struct bpk_info info = *transfer->in->info;

	info.stored_size = BPK_UNKNOWN;
	/* the seal stays, if it is right: by its chunks, which have been read then */
	if (bpk_transfer_start_writer(transfer, transfer->format, &info, &options, err) != 0 ||
	    bpk_transfer_run(transfer, &flow, err) != 0 ||
	    (info.seal.sealed && bpk_input_account(transfer->in, err) != 0) ||
	    bpk_transfer_finish_writer(transfer, err) != 0)
		return -1;
	return bpk_transfer_keep(transfer, err);
}

static int repack_to_output(const struct repair_args *args, struct bpk_input *in,
			    struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->common.shared;
	struct bpk_transfer transfer = { .shared = shared, .in = in, .format = in->format };
	struct bpk_repacked result = { .changed = true };
	int rc = bpk_input_start(in, shared, shared->chunk_limit, err);

	if (rc == 0)
		rc = check_single(in, err);
	if (rc == 0)
		rc = bpk_input_check_damage(in, err);
	if (rc == 0)
		rc = bpk_transfer_name_target(&transfer, NULL, err);
	if (rc == 0)
		rc = bpk_transfer_open_draft(&transfer, err);
	if (rc == 0)
		rc = copy_chunks(&transfer, err);
	if (rc == 0) {
		result.before = in->info->stored_size;
		result.after = bpk_transfer_output_size(&transfer);
		tell(args, in, transfer.target, &result);
	}
	bpk_transfer_clear(&transfer);
	return rc;
}

/* ---- each ---- */

static enum bpk_recovery recovery_of(const struct repair_args *args)
{
	if (args->drop_journal)
		return BPK_RECOVER_DROP;
	if (args->use_journal)
		return BPK_RECOVER_ANY;
	return args->in_place ? BPK_RECOVER_VALID : BPK_RECOVER_LOOK;
}

/* True if nothing is done: what lies behind a URL is not changed in place. */
static bool refuses_url(const struct repair_args *args, const char *path)
{
	bool changes = args->repack
			       ? args->common.shared.output == NULL
			       : args->finish || args->common.change.reseal || args->in_place ||
					 args->use_journal || args->drop_journal;
	struct bpk_err err = { 0 };

	if (!changes || !bpk_path_is_url(path))
		return false;
	if (args->repack)
		bpk_fail(&err, BPK_FAILED,
			 "is a URL, whose file is not changed in place; name the result with "
			 "--output");
	else
		bpk_fail_url_change(&err);
	bpk_report(path, &err);
	return true;
}

static struct bpk_salvage_how salvage_of(const struct repair_args *args)
{
	return (struct bpk_salvage_how){
		.fill = args->fill,
		.from = args->from,
		.applies = args->apply,
		.guesses = args->guess,
	};
}

/* Parity does not suffice, as err says: save the intact chunks. */
static void save_without_parity(const struct repair_args *args, const char *path,
				struct bpk_err *err)
{
	struct bpk_salvage_how how = salvage_of(args);

	how.without_parity = true;
	if (!bpk_salvage_file(&args->common, path, &how))
		bpk_report(NULL, err);
}

static void repair_file(const struct repair_args *args, const char *path)
{
	const struct bpk_shared *shared = &args->common.shared;
	const struct bpk_salvage_how how = salvage_of(args);
	struct bpk_input in = { 0 };
	struct bpk_err err = { 0 };
	int rc;

	if (refuses_url(args, path))
		return;
	if (!args->repack && !args->finish && !args->common.change.reseal &&
	    recovery_of(args) == BPK_RECOVER_LOOK &&
	    (bpk_salvage_file(&args->common, path, &how) ||
	     bpk_gsd_repair(&args->common, path, &how)))
		return;
	if (args->apply) {
		if (!bpk_heal_into(&args->common, path, &err))
			save_without_parity(args, path, &err);
		return;
	}
	if (args->common.change.reseal)
		bpk_reseal(&args->common, path);
	else if (!args->repack && !args->finish)
		bpk_recover(&args->common, path, recovery_of(args));
	if (!args->repack && !args->finish)
		return;
	rc = bpk_input_find(&in, path, shared, &err);
	if (rc == 0 && in.format == NULL)
		rc = bpk_input_fail_unknown(&in, &err);
	else if (rc == 0 && change_of(args, in.format) == NULL)
		rc = tell_none(args, &in, &err);
	else if (rc == 0)
		rc = shared->output != NULL ? repack_to_output(args, &in, &err)
					    : repack(args, &in, &err);
	if (rc != 0)
		bpk_edited_report(path, &err);
	bpk_input_close(&in);
}

static void repair_one(void *arg, const char *path)
{
	const struct repair_args *args = arg;

	repair_file(args, path);
	bpk_record_settle(&args->common.shared, path);
}

static int check_merge(const struct repair_args *args, size_t count, struct bpk_err *err)
{
	if (count < 2)
		return bpk_fail(err, BPK_USAGE, "--merge needs two copies of an archive, or more");
	if (count > BPK_MERGE_MOST)
		return bpk_fail(err, BPK_USAGE, "--merge takes %d copies at most", BPK_MERGE_MOST);
	if (args->common.shared.output == NULL &&
	    (args->fill != BPK_FILL_NONE || args->from != NULL))
		return bpk_fail(err, BPK_USAGE,
				"--fill and --from need --output, the file to write");
	return 0;
}

static int check_usage(const struct repair_args *args, char **operands, size_t count,
		       struct bpk_err *err)
{
	int ways = args->repack + args->apply + args->merge + args->finish +
		   args->common.change.reseal + args->in_place + args->use_journal +
		   args->drop_journal;
	bool saves = args->apply || args->merge;

	if (ways > 1)
		return bpk_fail(err, BPK_USAGE,
				"only one of --repack, --apply, --merge, --finish, --reseal,"
				" --in-place, --use-journal and --drop-journal can be given");
	if (!args->repack && !saves && args->common.shared.output != NULL)
		return bpk_fail(err, BPK_USAGE,
				"--output goes with --repack, --apply and --merge alone");
	if (args->apply && args->common.shared.output == NULL)
		return bpk_fail(err, BPK_USAGE, "--apply needs --output, the file to write");
	if (args->fill != BPK_FILL_NONE && !saves)
		return bpk_fail(err, BPK_USAGE, "--fill goes with --apply and --merge alone");
	if (args->guess && !args->apply)
		return bpk_fail(err, BPK_USAGE, "--guess goes with --apply alone");
	if (args->from != NULL && (!saves || args->fill != BPK_FILL_NONE))
		return bpk_fail(err, BPK_USAGE,
				"--from goes with --apply and --merge, and without --fill");
	/* the result is read again, and the map goes to standard output */
	if (saves && args->common.shared.output != NULL &&
	    strcmp(args->common.shared.output, "-") == 0)
		return bpk_fail(err, BPK_USAGE,
				"no archive is written to standard output, name a file with "
				"--output");
	if (args->merge)
		return check_merge(args, count, err);
	if (count == 0 && args->common.shared.output == NULL)
		return bpk_fail(err, BPK_USAGE, "needs a FILE");
	if (count > 1 && args->common.shared.output != NULL)
		return bpk_fail(err, BPK_USAGE, "--output takes a single FILE, %zu were given",
				count);
	return bpk_transfer_check(&args->common.shared, operands, count, err);
}

static void run_repair(void *arg, char **operands, size_t count)
{
	const struct repair_args *args = arg;
	struct bpk_err err = { 0 };

	if (check_usage(args, operands, count, &err) != 0) {
		bpk_report("repair", &err);
	} else if (args->merge) {
		bpk_merge_files(&args->common, operands, count, args->fill, args->from);
		bpk_record_settle(&args->common.shared, operands[0]);
	} else {
		bpk_input_each(operands, count, repair_one, arg);
	}
}

static const struct bpk_foreign foreign[] = {
	{ ' ', "heal", "'bpk verify --heal' restores FILE in place by its parity file" },
	{ ' ', "fix",
	  "'bpk verify --heal' restores FILE in place, --apply -o OUT into another file" },
	{ 'n', "dry-run", "'bpk repair FILE' only shows what can be saved" },
	{ ' ', "reindex", "--apply -o OUT writes a new archive with an index" },
	{ 0 },
};

const struct bpk_command bpk_command_repair = {
	.name = "repair",
	.synopsis = "[OPTION]... FILE...",
	.summary = "put archives in order: interrupted changes, damage, holes, streams, digests",
	.description =
		"Reports whether a change of each FILE was interrupted and is pending (status 3), "
		"or left a journal that does not belong to FILE (status 1), prints which raw bytes "
		"of a damaged archive, or frames of a GSD file, are intact (status 2), and changes "
		"nothing. "
		"--in-place settles a pending change. --repack rewrites each FILE without the "
		"bytes that nothing in it refers to; changes leave such holes in Blosc2 frames. "
		"--apply writes a damaged FILE, restored by its parity file, or a new archive of "
		"its intact chunks, to --output. "
		"--merge makes one archive of several damaged copies of it. "
		"--finish adds the counts and offsets that an archive from a pipe lacks. "
		"--reseal renews the digests and the seal of FILE after another program changed "
		"it. An archive that needs no repair stays unchanged; without -v nothing is "
		"printed then.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct repair_args),
	.defaults = &defaults,
	.run = run_repair,
};
