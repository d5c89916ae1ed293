/* bpk parity: a file beside an archive that restores lost parts of it. Called by main through the
 * table of commands. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/heal.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/text.h"
#include "cli/transfer.h"
#include "cli/verify.h"

struct parity_args {
	struct bpk_shared shared;
};

enum { DEFAULT_SHARE = 5 * BPK_PARITY_PERCENT };

static const struct bpk_opt *const rows[] = {
	&bpk_opt_format_read,  &bpk_opt_force, &bpk_opt_no_sync, &bpk_opt_threads,
	&bpk_opt_memory_limit, &bpk_opt_quiet, &bpk_opt_verbose, &bpk_opt_progress,
	&bpk_opt_help,         NULL,
};

static const struct parity_args defaults = {
	.shared = { .judges = true, .as_stored = true, .audits = true }
};

/* ---- the share ---- */

/* The share of an older parity file stays, unless the user gives one. */
static int share_of_old(const char *name, unsigned *share, struct bpk_err *err)
{
	struct bpk_parity *old = NULL;
	struct bpk_err why = { 0 };
	bool there, ours, opened;
	int rc;

	*share = DEFAULT_SHARE;
	if (bpk_parity_look(name, &there, &ours, err) != 0)
		return bpk_err_subject(err, "%s", name);
	if (!ours)
		return 0;
	rc = bpk_err_settle(bpk_parity_open(name, &old, &why), &why, &opened, err);
	if (opened)
		*share = bpk_parity_share(old);
	bpk_parity_close(old);
	return rc;
}

/* ---- all ---- */

static void tell(const struct parity_args *args, const char *path, const char *name, unsigned share,
		 uint64_t size)
{
	struct stat made;

	if (args->shared.verbose && stat(name, &made) == 0)
		bpk_note(path, "parity of %g%%: %" PRIu64 " bytes for %" PRIu64 " in %s",
			 (double)share / BPK_PARITY_PERCENT, (uint64_t)made.st_size, size, name);
}

/* Parity of a damaged archive would keep the damage. Of a directory, files are the ones that were
 * verified. */
static int verify(const struct parity_args *args, struct bpk_input *in,
		  struct bpk_parity_files *files, struct bpk_err *err)
{
	if (in->place.is_directory &&
	    bpk_parity_files_list(in->place.directory, bpk_format_owns, files, err) != 0)
		return bpk_input_subject(in, err);
	return bpk_side_verify(&args->shared, in, err);
}

static int write_side(const struct parity_args *args, struct bpk_input *in, unsigned share,
		      struct bpk_side_options *options, struct bpk_err *err)
{
	char *name = bpk_side_name(in->path, err);
	uint64_t size;
	int rc = name == NULL ? -1 : 0;

	options->share = share;
	if (rc == 0 && share == 0)
		rc = share_of_old(name, &options->share, err);
	if (rc == 0)
		rc = bpk_side_make(in->path, name, options, &size, err);
	if (rc == 0)
		tell(args, in->path, name, options->share, size);
	free(name);
	return rc;
}

/* Bytes that no checksum covers would lose their parity, and wrong content would be kept. A
 * seal that fits proves that older parity is of another state. */
static int refuse_damaged(const struct parity_args *args, const struct bpk_input *in,
			  struct bpk_err *err)
{
	struct bpk_err why;
	int rc = bpk_verify_recorded(&args->shared, in, false, err);

	if (rc == 0 && !bpk_heal_is_proven(&args->shared, in))
		rc = bpk_side_need_whole(in->path, err);

	if (rc == 0 || (err->kind != BPK_REPAIRABLE && err->kind != BPK_CORRUPT))
		return rc;
	why = *err;
	return bpk_fail(err, why.kind, "%s; --force keeps the bytes as they are", why.text);
}

static int make(const struct parity_args *args, struct bpk_input *in, unsigned share,
		struct bpk_err *err)
{
	struct bpk_side_options options = { .force = args->shared.force,
					    .sync = !args->shared.no_sync };
	struct bpk_parity_files files = { 0 };
	struct stat seen;
	int rc = bpk_side_check_own(in, "parity", err);

	if (rc == 0) {
		seen = *bpk_input_stat(in);
		options.seen = &seen;
		options.files = in->place.is_directory ? &files : NULL;
		rc = verify(args, in, &files, err);
	}
	if (rc == 0 && !options.force)
		rc = refuse_damaged(args, in, err);
	if (rc == 0)
		rc = write_side(args, in, share, &options, err);
	bpk_parity_files_clear(&files);
	return rc;
}

static void run_parity(void *arg, char **operands, size_t count)
{
	const struct parity_args *args = arg;
	struct bpk_err err = { 0 };
	struct bpk_input in = { 0 };
	unsigned share = 0;

	if (count < 1 || count > 2 || strcmp(operands[0], "-") == 0) {
		bpk_fail(&err, BPK_USAGE,
			 count > 2 ? "takes one ARCHIVE and one P%%"
				   : "needs an ARCHIVE, a file or a directory");
		bpk_report("parity", &err);
		return;
	}
	if (count == 2 && !bpk_side_parse(operands[1], &share)) {
		bpk_fail(&err, BPK_USAGE, "'%s' is no share of parity, expected 0.01%% to 100%%%s",
			 operands[1],
			 bpk_side_parse(operands[0], &share) ? "; ARCHIVE stands before P%" : "");
		bpk_report("parity", &err);
		return;
	}
	if (bpk_input_find(&in, operands[0], &args->shared, &err) != 0 ||
	    make(args, &in, share, &err) != 0)
		bpk_report(NULL, &err);
	bpk_input_close(&in);
}

static const struct bpk_foreign foreign[] = {
	{ ' ', "check", "'bpk verify FILE' compares FILE with its parity file, too" },
	{ 0 },
};

const struct bpk_command bpk_command_parity = {
	.name = "parity",
	.synopsis = "[OPTION]... ARCHIVE [P%]",
	.summary = "write a file beside an archive that restores lost parts of it",
	.description =
		"Writes ARCHIVE.bpp, from which any P percent of ARCHIVE that are lost in one "
		"piece, and scattered losses of about as much, are restored bit for bit: by "
		"bpk verify --heal in place, or by bpk repair --apply into another file. P is 5 "
		"unless an older ARCHIVE.bpp has another share. Every checksum of ARCHIVE is "
		"tested first, and damage refused. A directory has one such file, from which "
		"missing files are restored, too.",
	.operands = OPERANDS_ARCHIVE_FIRST,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct parity_args),
	.defaults = &defaults,
	.run = run_parity,
};
