/* bpk parity: a file beside an archive that restores lost parts of it. Called by main through the
 * table of commands. */
#include "cli/command.h"
#include "cli/protect.h"
#include "cli/report.h"
#include "cli/side.h"

struct parity_args {
	struct bpk_shared shared;
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_format_read,  &bpk_opt_force, &bpk_opt_no_sync, &bpk_opt_threads,
	&bpk_opt_memory_limit, &bpk_opt_quiet, &bpk_opt_verbose, &bpk_opt_progress,
	&bpk_opt_help,         NULL,
};

static const struct parity_args defaults = {
	.shared = { .judges = true, .as_stored = true, .audits = true }
};

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
	    bpk_protect(&args->shared, &in, share, args->shared.force, &err) != 0) {
		if (!bpk_side_has(operands[0]))
			bpk_side_advise(&in, &err);
		bpk_report(NULL, &err);
	}
	bpk_input_close(&in);
}

static const struct bpk_foreign foreign[] = {
	{ ' ', "check", "'bpk verify FILE' compares FILE with its parity file, too" },
	{ ' ', "verify", "'bpk verify FILE' compares FILE with its parity file, too" },
	{ ' ', "repair", "'bpk verify --heal FILE' restores FILE by its parity file" },
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
