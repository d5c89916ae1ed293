/*
 * repair: the leftovers of an interrupted change beside archives are reported, used to recover, or
 * removed with --drop-journal. Called by repair.c.
 */
#include "cli/recover.h"

#include "cli/gsd.h"
#include "cli/heal.h"
#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/text.h"
#include "layout/layout.h"

static struct bpk_edit_options options_of(const struct bpk_args *args)
{
	return (struct bpk_edit_options){
		.wait = args->change.wait,
		.no_lock = args->change.no_lock,
		.sync = !args->shared.no_sync,
	};
}

static void tell(const struct bpk_args *args, const char *path, const char *state, const char *line)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_err shown = { 0 };

	bpk_fail(&shown, BPK_OK, "%s", line);
	bpk_err_name_file(&shown, path);
	if (shared->verbose)
		bpk_note(path, "%s", shown.text);
	if (!shared->json)
		return;
	bpk_record_begin("repair", path);
	bpk_record_text("journal", state);
	bpk_record_end();
}

/* ---- looking ---- */

/* A damaged archive may begin as nothing that is known. */
static int fail_unknown(const struct bpk_input *in, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];
	struct bpk_err plain;

	bpk_input_fail_unknown(in, err);
	plain = *err;
	bpk_shell_word(in->path, word);
	if (plain.advises)
		return -1;
	if (plain.kind == BPK_CORRUPT)
		return bpk_fail(err, plain.kind, "%s; bpk repair %s shows which data are left",
				plain.text, word);
	return bpk_fail(err, plain.kind,
			"%s; bpk repair -F FORMAT %s searches a damaged one for its chunks",
			plain.text, word);
}

/* Fails unless it is something that bpk changes; of a GSD file, which has no checksums, also if its
 * tables are damaged. */
static int check_known(const struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_gsd_verdict verdict = { 0 };
	bool is_gsd = false;

	if (in->format != NULL)
		return 0;
	if (!in->place.is_directory && bpk_path_is_gsd(in->path, &is_gsd, err) != 0)
		return -1;
	if (!is_gsd)
		return fail_unknown(in, err);
	return bpk_gsd_verify(in->place.source, NULL, NULL, &verdict, err) == 0
		       ? 0
		       : bpk_input_subject(in, err);
}

/* Fails if bytes lie behind the archive's end: BPK_REPAIRABLE if an append left them. */
static int look_behind(const struct bpk_args *args, struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format != NULL ? in->format->reader : NULL;
	struct bpk_err why = { 0 };
	uint64_t end;

	if (ops == NULL || ops->tail == NULL)
		return 0;
	if (bpk_input_start(in, &args->shared, 0, err) != 0)
		return -1;
	/* chunks that are found by walking are damage that the map shows, if the walk fails */
	if (ops->end != NULL && bpk_source_seekable(in->place.source) &&
	    ops->end(in->reader, &end, &why) != 0)
		return bpk_err_pass(&why, err);
	return ops->tail(in->reader, err) == 0 ? 0 : bpk_input_subject(in, err);
}

/* Bytes that belong to nothing are left out of a new archive, unless parity tells more of them.
 * Returns -1. */
static int name_apply(const struct bpk_args *args, const struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_err plain = *err;
	struct bpk_heal_verdict verdict;
	char word[BPK_WORD_TEXT];

	if (plain.kind == BPK_CORRUPT)
		(void)bpk_heal_judge(&args->shared, in, -1, &verdict, err);
	return err->kind != BPK_CORRUPT
		       ? -1
		       : bpk_fail(err, plain.kind,
				  "%s; bpk repair --apply -o OUT %s leaves them out", plain.text,
				  bpk_shell_word(in->path, word));
}

static int look(const struct bpk_args *args, struct bpk_input *in, struct bpk_err *err)
{
	const char *remark = bpk_place_remark(&in->place);

	if (remark != NULL) {
		tell(args, in->path, "unused", "has a journal that is not used");
		bpk_fail(err, bpk_place_is_torn(&in->place) ? BPK_CORRUPT : BPK_FAILED,
			 "%s; bpk repair --use-journal FILE settles it if this is a copy of your "
			 "file for which it was made, bpk repair --drop-journal FILE removes it",
			 remark);
		return bpk_input_subject(in, err);
	}
	if (bpk_place_pending(&in->place)) {
		tell(args, in->path, "pending", "has a change that is pending");
		bpk_fail(err, BPK_REPAIRABLE,
			 "a change was interrupted and is pending; bpk repair --in-place FILE "
			 "settles it");
		return bpk_input_subject(in, err);
	}
	if (check_known(in, err) != 0)
		return -1;
	if (look_behind(args, in, err) != 0) {
		tell(args, in->path, "none", "has no journal, but is not whole");
		return name_apply(args, in, err);
	}
	tell(args, in->path, "none", "no change is pending; bpk verify FILE tests the content");
	return 0;
}

/* ---- recovering ---- */

/* Opening an archive for a change settles its journal; a commit of no change removes the rest of an
 * interrupted append. */
static int change_nothing(const struct bpk_args *args, const struct bpk_input *in, bool any,
			  struct bpk_err *err)
{
	struct bpk_editor_options options = {
		.edit = options_of(args),
		.journal_limit = args->change.journal_limit,
		.append_space = BPK_UNKNOWN,
	};
	const struct bpk_editor_ops *ops;
	void *editor;
	int rc;

	options.edit.any_journal = any;
	if (in->format == NULL)
		return bpk_trajectory_recover(in->path, &options.edit, err);
	if (in->format->editor == NULL)
		return bpk_fail(err, BPK_UNSUPPORTED, "has format %s, which cannot be changed",
				in->format->name);
	ops = in->format->editor;
	if (ops->open(in->path, &options, &editor, err) != 0)
		return -1;
	rc = ops->commit(editor, err);
	ops->close(editor);
	return rc;
}

static int recover(const struct bpk_args *args, struct bpk_input *in, bool any, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];
	struct bpk_err behind = { 0 };
	bool is_pending = bpk_place_pending(&in->place);
	bool left = is_pending || bpk_place_remark(&in->place) != NULL ||
		    (look_behind(args, in, &behind) != 0 && behind.kind == BPK_REPAIRABLE);

	if (in->place.is_member) {
		bpk_fail(err, BPK_FAILED, "is a member of a tar, and these cannot be changed");
		return bpk_input_subject(in, err);
	}
	if (check_known(in, err) != 0)
		return -1;
	bpk_signals_start();
	bpk_input_close(in); /* it is opened in another way */
	/* the archive of an interrupted healing is damaged */
	if (!(is_pending && bpk_heal_settle(&args->shared, in->path)) &&
	    change_nothing(args, in, any, err) != 0)
		return bpk_input_subject(in, err);
	if (left)
		bpk_heal_keep_time(in->path);
	tell(args, in->path, left ? "settled" : "none",
	     left ? "what was pending is settled" : "no change is pending");
	if (!left && !args->shared.quiet && !args->shared.verbose)
		bpk_note(in->path, "nothing was pending; damage is not looked for: bpk verify %s",
			 bpk_shell_word(in->path, word));
	return 0;
}

/* ---- removing ---- */

static int drop(const struct bpk_args *args, const char *path, struct bpk_err *err)
{
	const struct bpk_edit_options options = options_of(args);
	bool dropped;

	if (bpk_journal_drop(path, &options, &dropped, err) != 0)
		return bpk_err_subject(err, "%s", path);
	tell(args, path, dropped ? "dropped" : "none",
	     dropped ? "the journal is removed; bpk verify FILE shows whether the archive is intact"
		     : "has no journal");
	return 0;
}

/* ---- each ---- */

/* Only a journal or a list is damaged before the archive is read: name the way out. Returns -1. */
static int name_choice(const char *path, struct bpk_err *err)
{
	struct bpk_err found = *err;
	char word[BPK_WORD_TEXT];

	bpk_shell_word(path, word);
	return bpk_fail(err, found.kind,
			"%s; bpk repair --drop-journal %s removes it, and bpk verify %s then shows "
			"whether the archive is intact",
			found.text, word, word);
}

static int look_or_recover(const struct bpk_args *args, struct bpk_input *in, const char *path,
			   enum bpk_recovery how, struct bpk_err *err)
{
	if (bpk_input_look(in, path, args->shared.format, err) != 0)
		return err->kind == BPK_CORRUPT && !err->advises ? name_choice(path, err) : -1;
	if (how == BPK_RECOVER_LOOK)
		return look(args, in, err);
	return recover(args, in, how == BPK_RECOVER_ANY, err);
}

void bpk_recover(const struct bpk_args *args, const char *path, enum bpk_recovery how)
{
	struct bpk_input in = { 0 };
	struct bpk_err err = { 0 };
	int rc;

	if (strcmp(path, "-") == 0)
		rc = bpk_fail(&err, BPK_USAGE, "standard input has no journal, name a FILE");
	else if (how == BPK_RECOVER_DROP)
		rc = drop(args, path, &err);
	else
		rc = look_or_recover(args, &in, path, how, &err);
	if (rc != 0)
		bpk_report(NULL, &err);
	bpk_input_close(&in);
}
