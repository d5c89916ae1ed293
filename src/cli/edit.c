/* The archive that a command changes. Called by append, truncate, write, meta and repair. */
#include "cli/edit.h"

#include <inttypes.h>

#include "cli/heal.h"
#include "cli/renew.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/signal.h"
#include "cli/transfer.h"

const struct bpk_opt bpk_opt_wait = {
	.name = "wait",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_args, change.wait),
	.help = "wait until nobody else is changing the archive",
	.more = "By default that is an error. Readers are never in the way.",
};

const struct bpk_opt bpk_opt_no_lock = {
	.name = "no-lock",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_args, change.no_lock),
	.help = "go on where the file system has no locks",
	.more = "Nothing keeps two writers apart then, and a reader may meet a change half done.",
};

const struct bpk_opt bpk_opt_copy = {
	.name = "copy",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_args, change.copy),
	.help = "change a copy, and put that in the archive's place",
	.more = "Readers that know nothing of journals see the old content or the new one at any "
		"instant. It needs as much space as the archive, unless the file system shares "
		"blocks, and hard links to the archive keep the old content.",
};

const struct bpk_opt bpk_opt_journal_limit = {
	.name = "journal-limit",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_args, change.journal_limit),
	.metavar = "SIZE",
	.help = "write over at most SIZE bytes in place",
	.more = "A journal saves the old bytes first. A change of more than SIZE, 256 MiB by "
		"default, is made in a copy, as with --copy.",
	.max = UINT64_MAX,
};

/* ---- hooks ---- */

/* The hook of an archive: check that the array's elements and the chosen codec suit the options. */
static int chosen(void *arg, const struct bpk_recipe *recipe, struct bpk_err *err)
{
	const struct bpk_edited *edited = arg;
	const struct bpk_encoding_args *args = &edited->args->encoding;
	const struct bpk_archive *archive = &edited->archive;
	const struct bpk_array *array = bpk_archive_info(archive)->array.type;

	if (args->lossy && array != NULL &&
	    bpk_encoding_check_dtype(args, archive->format, &array->dtype, err) != 0)
		return -1;
	if (bpk_encoding_check_items(edited->args, recipe->typesize, recipe->codec, err) != 0)
		return -1;
	bpk_encoding_tell_loss(edited->args, recipe, archive->path);
	return 0;
}

static void remark(void *arg, const char *line)
{
	const struct bpk_edited *edited = arg;

	if (edited->args->shared.verbose > 1)
		bpk_note(edited->archive.path, "%s", line);
}

static void begin(void *arg, const char *name, uint64_t total)
{
	struct bpk_edited *edited = arg;
	const struct bpk_shared *shared = &edited->args->shared;

	bpk_progress_start(&edited->progress, shared->progress, shared->quiet, name, total);
}

static void progress(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	struct bpk_edited *edited = arg;

	bpk_progress_update(&edited->progress, raw_done, packed_done);
}

static void end(void *arg)
{
	(void)arg;
	bpk_progress_hide();
}

/* ---- opening ---- */

struct bpk_edit_options bpk_edited_options(const struct bpk_args *args)
{
	return (struct bpk_edit_options){
		.wait = args->change.wait,
		.no_lock = args->change.no_lock,
		.sync = !args->shared.no_sync,
		.copy = args->change.copy,
	};
}

static struct bpk_archive_options options_of(struct bpk_edited *edited)
{
	const struct bpk_args *args = edited->args;
	const struct bpk_shared *shared = &args->shared;

	return (struct bpk_archive_options){
		.format = shared->format,
		.editor = {
			.edit = bpk_edited_options(args),
			.journal_limit = args->change.journal_limit,
			.append_space = args->encoding.append_space,
			.reseals = args->change.reseal,
		},
		.limits = bpk_shared_limits(shared),
		.wishes = bpk_encoding_wishes(&args->encoding, NULL),
		.lossy = args->encoding.lossy,
		.slack = args->encoding.slack,
		.hooks = {
			.chosen = chosen,
			.remark = remark,
			.begin = begin,
			.progress = progress,
			.end = end,
		},
		.hooks_arg = edited,
	};
}

/* Check that the archive can obey the options. */
static int check_options(const struct bpk_edited *edited, struct bpk_err *err)
{
	const struct bpk_encoding_args *args = &edited->args->encoding;
	const struct bpk_archive *archive = &edited->archive;
	const struct bpk_array *array = bpk_archive_info(archive)->array.type;

	if (bpk_encoding_check(args, archive->format, err) != 0)
		return bpk_archive_subject(archive, err);
	if (array != NULL &&
	    bpk_encoding_check_typesize(args, archive->format, &array->dtype, err) != 0)
		return bpk_archive_subject(archive, err);
	if (bpk_archive_info(archive)->array.chunk_shape != NULL &&
	    bpk_encoding_check_divided(args, archive->format, err) != 0)
		return bpk_archive_subject(archive, err);
	return 0;
}

/* True if the file at path, which has parity, was left by an interrupted change, or may be. */
static bool is_left(const char *path, bool *pending)
{
	struct bpk_place place = { 0 };
	bool is_file = bpk_place_open(path, bpk_format_owns, &place, NULL) == 0;

	*pending = is_file && bpk_place_pending(&place);
	is_file = is_file && !place.is_directory;
	bpk_place_close(&place);
	return is_file && (*pending || bpk_heal_may_be_earlier(path));
}

static int change_nothing(struct bpk_edited *edited, const char *path, struct bpk_err *err)
{
	struct bpk_archive_options options = options_of(edited);
	struct bpk_archive *archive = &edited->archive;
	int rc;

	options.editor.edit.copy = false;
	rc = bpk_archive_open(archive, &options, path, err);
	if (rc == 0)
		rc = bpk_archive_commit(archive, err);
	bpk_archive_close(archive);
	return rc;
}

/*
 * An interrupted change of an archive with parity is settled first: the file gets its time back, by
 * which its parity is still that of the file. An ordinary end of the journal of a healing would
 * make the damage a change.
 */
static int settle(struct bpk_edited *edited, const char *path, struct bpk_err *err)
{
	bool pending, left = is_left(path, &pending);

	if ((pending && bpk_heal_settle(&edited->args->shared, path)) || !left)
		return 0;
	if (change_nothing(edited, path, err) != 0)
		return -1;
	bpk_heal_keep_time(path);
	return 0;
}

/* Parity of another time is not renewed by a change, which may overwrite bytes that it needs. */
static int prepare(struct bpk_edited *edited, const char *path, struct bpk_err *err)
{
	if (bpk_program->team != NULL || bpk_path_is_url(path) || !bpk_side_has(path))
		return 0;
	return settle(edited, path, err) != 0
		       ? -1
		       : bpk_heal_refuse_damaged(&edited->args->shared, path, err);
}

int bpk_edited_open(struct bpk_edited *edited, const struct bpk_args *args, const char *path,
		    bool only_adds, struct bpk_err *err)
{
	struct bpk_archive_options options;

	*edited = (struct bpk_edited){ .args = args };
	options = options_of(edited);
	options.only_adds = only_adds;
	options.editor.edit.writes = bpk_renewal_note;
	options.editor.edit.writes_arg = &edited->renewal;
	bpk_signals_start();
	if (prepare(edited, path, err) != 0)
		return -1;
	if (bpk_archive_open(&edited->archive, &options, path, err) != 0)
		return -1;
	if (bpk_renewal_begin(&edited->renewal, path, only_adds, err) != 0 ||
	    (edited->renewal.path != NULL && bpk_heal_refuse_earlier(path, err) != 0))
		return -1;
	return check_options(edited, err);
}

void bpk_edited_close(struct bpk_edited *edited)
{
	if (edited->archive.lost_ident && !edited->args->shared.quiet)
		bpk_note(edited->archive.path,
			 "its recorded identity is no longer that of its content, and was removed");
	bpk_archive_close(&edited->archive);
	if (edited->args != NULL)
		bpk_renewal_end(&edited->renewal, &edited->args->shared);
}

void bpk_edited_report(const char *path, struct bpk_err *err)
{
	bpk_heal_weigh(path, err);
	bpk_side_advise_path(path, err);
	bpk_report(NULL, err);
}

/* ---- reports of the change ---- */

void bpk_edited_tell_shape(const struct bpk_edited *edited)
{
	const struct bpk_archive *archive = &edited->archive;
	const struct bpk_info *info = bpk_archive_info(archive);

	if (!archive->was_array || info->array.type != NULL || edited->args->shared.quiet)
		return;
	bpk_note(archive->path,
		 "metadata keep the array's old shape: %" PRIu64
		 " bytes are not whole rows in C order",
		 info->raw_size);
}

const char *bpk_edited_how(const struct bpk_edited *edited, const char *no_room)
{
	if (!edited->archive.rewritten)
		return edited->archive.url != NULL ? "in the store" : "in place";
	if (edited->args->change.copy)
		return "rewritten, as --copy asks";
	return edited->archive.format->repack != NULL ? "rewritten without its holes" : no_room;
}

int bpk_edited_resolve(const struct bpk_edited *edited, const struct bpk_opt_offset *offset,
		       uint64_t unit, uint64_t *at, struct bpk_err *err)
{
	uint64_t total = bpk_archive_info(&edited->archive)->raw_size / unit;
	uint64_t back = offset->negative ? offset->distance : 0;

	*at = offset->negative ? total - bpk_min_u64(total, back) : offset->distance;
	if (back <= total && *at <= total) {
		*at *= unit;
		return 0;
	}
	bpk_fail(err, BPK_FAILED,
		 "%s%" PRIu64 " is outside of the archive, which has %" PRIu64 " %s",
		 offset->negative ? "-" : "", offset->distance, total,
		 unit == 1 ? "bytes" : "items");
	return bpk_archive_subject(&edited->archive, err);
}
