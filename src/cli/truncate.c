/* bpk truncate: an archive, shortened. Called by main through the table of commands. */
#include "cli/gsd.h"

#include <errno.h>
#include <inttypes.h>
#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"

struct truncate_args {
	struct bpk_args common;
	struct bpk_opt_offset bytes, items, frames;
};

static const struct bpk_opt opt_bytes = {
	.name = "bytes",
	BPK_OPT_VALUE(OPT_OFFSET, struct truncate_args, bytes),
	.metavar = "N",
	.help = "keep the first N raw bytes; -N removes the last N",
	.more = "N takes the suffixes K, M, G and T.",
};

static const struct bpk_opt opt_items = {
	.name = "items",
	BPK_OPT_VALUE(OPT_OFFSET, struct truncate_args, items),
	.metavar = "N",
	.help = "the same, counted in items",
	.more = "An item is an element of the archive's array; without an array it has the "
		"archive's typesize.",
};

static const struct bpk_opt opt_frames = {
	.name = "frames",
	BPK_OPT_VALUE(OPT_OFFSET, struct truncate_args, frames),
	.metavar = "N",
	.help = "of a raw GSD file: keep the first N frames; -N removes the last N",
	.more = "An incomplete frame of a killed writer behind them is removed, too.",
};

static const struct bpk_opt *const rows[] = {
	&opt_bytes,       &opt_items,      &opt_frames,           &bpk_opt_format_read,
	&bpk_opt_slack,   BPK_OPTS_CHANGE, &bpk_opt_memory_limit, &bpk_opt_quiet,
	&bpk_opt_verbose, &bpk_opt_json,   &bpk_opt_help,         NULL,
};

static const struct truncate_args defaults = { .common = BPK_ARGS_DEFAULTS };

static void tell_result(const struct bpk_edited *edited, uint64_t before)
{
	const struct bpk_shared *shared = &edited->args->shared;
	const struct bpk_archive *archive = &edited->archive;
	const struct bpk_info *info = bpk_archive_info(archive);

	bpk_edited_tell_shape(edited);
	if (shared->verbose)
		bpk_note(archive->path,
			 "from %" PRIu64 " to %" PRIu64 " bytes in %" PRIu64 " chunks, %s", before,
			 info->raw_size, info->chunks.count,
			 bpk_edited_how(edited, "rewritten, since it could not be cut"));
	if (!shared->json)
		return;
	bpk_record_begin("truncate", archive->path);
	bpk_record_u64("removed", before - info->raw_size);
	bpk_record_u64("raw_size", info->raw_size);
	bpk_record_u64("nchunks", info->chunks.count);
	bpk_record_bool("rewritten", archive->rewritten);
	bpk_record_end();
}

static int truncate_opened(struct bpk_edited *edited, const struct truncate_args *args,
			   struct bpk_err *err)
{
	struct bpk_archive *archive = &edited->archive;
	const struct bpk_info *info = bpk_archive_info(archive);
	const struct bpk_opt_offset *kept = args->items.given ? &args->items : &args->bytes;
	uint64_t before = info->raw_size, unit = 1, raw_size;

	if (args->items.given && bpk_input_item_size(info, &unit, err) != 0)
		return bpk_archive_subject(archive, err);
	if (bpk_edited_resolve(edited, kept, unit, &raw_size, err) != 0)
		return -1;
	/* a segment of parity that the end is in is computed again */
	if (raw_size < before && bpk_side_need_whole(archive->path, NULL, err) != 0)
		return -1;
	if (bpk_archive_truncate(archive, raw_size, err) != 0)
		return -1;
	if (raw_size < before && bpk_archive_commit(archive, err) != 0)
		return -1;
	tell_result(edited, before);
	return 0;
}

/* --frames was given, and path is no GSD file. */
static void fail_no_gsd(const char *path, struct bpk_err *err)
{
	struct stat found;
	bool there = true;

	if (bpk_path_look(path, &found, &there, err) == 0 && there)
		bpk_fail(err, BPK_FAILED, "is not a raw GSD file, --frames needs one");
	else if (!there)
		bpk_fail_errno(err, ENOENT, "cannot open");
	bpk_err_subject(err, "%s", path);
}

static void check_usage(const struct truncate_args *args, char **operands, size_t count)
{
	int ngiven = args->bytes.given + args->items.given + args->frames.given;
	struct bpk_err err = { 0 };
	bool is_gsd = false;

	if (count != 1)
		bpk_fail(&err, BPK_USAGE, "needs one ARCHIVE");
	else if (ngiven != 1)
		bpk_fail(&err, BPK_USAGE,
			 ngiven == 0 ? "needs one of --bytes, --items and --frames"
				     : "only one of --bytes, --items and --frames can be given");
	else if (bpk_path_is_gsd(operands[0], &is_gsd, &err) != 0)
		; /* which says why */
	else if (args->frames.given && !is_gsd)
		fail_no_gsd(operands[0], &err);
	else if (!args->frames.given && is_gsd)
		bpk_fail(&err, BPK_USAGE, "%s is a GSD file, name --frames", operands[0]);
	if (err.kind != BPK_OK)
		bpk_report(err.kind == BPK_USAGE ? "truncate" : NULL, &err);
}

static void truncate_file(const struct truncate_args *args, char **operands, size_t count)
{
	struct bpk_edited edited = { 0 };
	struct bpk_err err = { 0 };

	check_usage(args, operands, count);
	if (bpk_report_status() != 0)
		return;
	if (args->frames.given) {
		bpk_gsd_truncate(operands[0], &args->common, &args->frames);
		return;
	}
	if (bpk_edited_open(&edited, &args->common, operands[0], false, &err) != 0 ||
	    truncate_opened(&edited, args, &err) != 0)
		bpk_edited_report(operands[0], &err);
	bpk_edited_close(&edited);
}

static void run_truncate(void *arg, char **operands, size_t count)
{
	const struct truncate_args *args = arg;

	truncate_file(args, operands, count);
	bpk_record_settle(&args->common.shared, count > 0 ? operands[0] : NULL);
}

const struct bpk_command bpk_command_truncate = {
	.name = "truncate",
	.synopsis = "[OPTION]... --bytes N|--items N|--frames N ARCHIVE",
	.summary = "shorten an archive or a GSD file",
	.description =
		"Keeps the first N raw bytes or items of ARCHIVE and removes the rest. The chunk "
		"that holds the new end is recompressed with its old settings. An archive shorter "
		"than N is an error. With --frames it shortens a raw GSD file.",
	.operands = OPERANDS_CONTENT,
	.options = rows,
	.args_size = sizeof(struct truncate_args),
	.defaults = &defaults,
	.run = run_truncate,
};
