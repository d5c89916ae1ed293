/* bpk verify: check every byte of archives. Called by main through the table of commands. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/seal.h"
#include "cli/verify.h"

static const struct bpk_opt opt_quick = {
	.name = "quick",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_verify_args, quick),
	.help = "test structure and checksums, but do not unpack",
};

static const struct bpk_opt opt_at_least = {
	.name = "at-least",
	BPK_OPT_VALUE(OPT_U64, struct bpk_verify_args, at_least),
	.metavar = "N",
	.help = "fail if fewer than N archives are found",
	.more = "Damaged ones count, too, and so do raw GSD files and tars, which are verified. "
		"With "
		"--shard, those of the share; with --state, also those checked by earlier runs.",
	.max = UINT64_MAX,
};

static const struct bpk_opt opt_heal = {
	.name = "heal",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_verify_args, shared.heal),
	.help = "restore damaged archives in place, by their parity files",
	.more = "Only if all of the damage can be restored. A journal saves the old bytes first, "
		"files of a directory are replaced at once, and the archive is verified again.",
};

static const struct bpk_opt opt_manifest = {
	.name = "manifest",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_verify_args, manifest),
	.metavar = "FILE",
	.help = "fail if a file that FILE names is missing",
	.more = "FILE has a name on each line, or lines of sha256sum or bpk sum, whose digests are "
		"not compared; a # begins a comment. Names are relative to the current directory. "
		"The archive of a file, with the suffix of its format, is enough.",
};

static const struct bpk_opt opt_since = {
	.name = "since",
	BPK_OPT_VALUE(OPT_TIME, struct bpk_verify_args, since),
	.metavar = "TIME",
	.help = "only files that were changed or made within TIME",
	.more = "TIME is in seconds, or has m, h, d or w behind it. Files of URLs have no such "
		"time "
		"and are taken.",
	.min = 1,
	.max = UINT32_MAX,
};

static const struct bpk_opt opt_state = {
	.name = "state",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_verify_args, shared.state),
	.metavar = "FILE",
	.help = "note checks in FILE, and begin with the oldest",
	.more = "FILE is made where it is missing, and replaced every few seconds. First come "
		"files that were damaged, then new and changed ones, then those that were checked "
		"longest ago.",
};

static const struct bpk_opt opt_max_time = {
	.name = "max-time",
	BPK_OPT_VALUE(OPT_TIME, struct bpk_verify_args, max_time),
	.metavar = "TIME",
	.help = "begin no further file after TIME",
	.more = "TIME is in seconds, or has m, h, d or w behind it. With --state the next run goes "
		"on there; without, the status is 4. bpk-mpi has this option before the command.",
	.min = 1,
	.max = UINT32_MAX,
};

static const struct bpk_opt opt_max_age = {
	.name = "max-age",
	BPK_OPT_VALUE(OPT_TIME, struct bpk_verify_args, max_age),
	.metavar = "TIME",
	.help = "with --state: fail if a file had no good check for TIME",
	.more = "Its status is 1. For a new file the time counts from the run that saw it first.",
	.min = 1,
	.max = UINT32_MAX,
};

static const struct bpk_opt opt_limit_rate = {
	.name = "limit-rate",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_verify_args, limit_rate),
	.metavar = "SIZE",
	.help = "read at most SIZE of chunks and parity a second",
	.more = "All threads together, and the bytes that are compared with a parity file; headers "
		"and indexes are not counted.",
	.group = GROUP_RUN,
	.min = 1,
	.max = UINT64_MAX,
};

static const struct bpk_opt opt_identity = {
	.name = "identity",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_verify_args, identity),
	.help = "fail unless the archive records the identity of its content, and that is right",
	.more = "A recorded identity (pack --identity) is compared without this option, too, but "
		"not in pipes, nor where much more would be unpacked than the archive's size.",
};

static const struct bpk_opt opt_parity = {
	.name = "parity",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_verify_args, parity),
	.help = "fail unless the archive has parity that restores it in place",
	.more = "A parity file that is missing, of another time of change, or damaged. Raw GSD "
		"files need none.",
};

static const struct bpk_opt opt_print_root = {
	.name = "print-root",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_verify_args, print_root),
	.help = "print the root of the seal of each archive that is whole",
	.more = "A line has the path, with the escapes of bpk sum, the root, and the generation, "
		"which counts the changes from 1 on. An archive without a seal fails.",
};

static const struct bpk_opt opt_root = {
	.name = "root",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_verify_args, root),
	.metavar = "HEX",
	.help = "fail unless the root of the seal is HEX",
	.more = "HEX is the root that --print-root printed, or its whole line, of which the root "
		"alone counts. Another archive, an older or newer state, and "
		"a removed seal are damage.",
};

static const struct bpk_opt opt_roots = {
	.name = "roots",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_verify_args, roots),
	.metavar = "FILE",
	.help = "verify the archives of FILE, and fail unless the root of each is that of its line",
	.more = "FILE has lines of --print-root; of several with one path the last counts, and a # "
		"begins a comment. An archive that is missing fails as one that is named.",
};

static const struct bpk_opt opt_min_generation = {
	.name = "min-generation",
	BPK_OPT_VALUE(OPT_U64, struct bpk_verify_args, min_generation),
	.metavar = "N",
	.help = "fail if the seal is of a generation below N",
	.more = "An archive that was set back to an older state is found, however much was "
		"appended since.",
	.max = UINT64_MAX,
};

static const struct bpk_opt *const rows[] = {
	&opt_quick,           &opt_print_root,    &opt_root,
	&opt_roots,           &opt_identity,      &opt_parity,
	&opt_min_generation,  &opt_heal,          BPK_OPTS_TREE,
	&opt_at_least,        &opt_state,         &opt_max_time,
	&opt_max_age,         &opt_manifest,      &opt_since,
	&bpk_opt_format_read, &bpk_opt_no_marker, BPK_OPTS_REMOTE,
	&opt_limit_rate,      BPK_OPTS_RUN,       NULL,
};

/* The padding of arrays in chunks of several dimensions is tested, too. */
static const struct bpk_verify_args defaults = {
	.shared = { .judges = true, .as_stored = true, .audits = true },
	.nknown = BPK_UNKNOWN,
};

static int check_usage(const struct bpk_verify_args *args, struct bpk_err *err)
{
	if (args->shared.heal && bpk_program->team != NULL)
		return bpk_fail(err, BPK_USAGE, "--heal is bpk's alone, not bpk-mpi's");
	if (args->parity && bpk_program->team != NULL)
		return bpk_fail(err, BPK_USAGE, "--parity is bpk's alone, not bpk-mpi's");
	if (args->identity && args->quick)
		return bpk_fail(err, BPK_USAGE, "only one of --identity and --quick can be given");
	if (args->quick && args->shared.state != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --quick and --state can be given");
	if (args->root != NULL && args->roots != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --root and --roots can be given");
	return bpk_seal_check_root(args->root, err);
}

static void run_verify(void *args, char **operands, size_t count)
{
	struct bpk_err err = { 0 };

	if (check_usage(args, &err) != 0)
		bpk_report("verify", &err);
	bpk_verify_all(args, operands, count);
}

static const struct bpk_foreign foreign[] = {
	{ ' ', "repair",
	  "--heal restores FILE in place by its parity file, 'bpk repair FILE' shows what is left "
	  "without one" },
	{ ' ', "scrub", "--heal restores FILE in place by its parity file" },
	{ ' ', "fix", "--heal restores FILE in place by its parity file" },
	{ ' ', "subset", "--shard K/N takes the Kth of N shares" },
	{ 0 },
};

const struct bpk_command bpk_command_verify = {
	.name = "verify",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "prove that archives are whole",
	.description =
		"Accounts for every byte of each FILE, tests every checksum and unpacks every "
		"chunk; of a tar, for every archive in it. Writes nothing but --state, and prints "
		"nothing when "
		"all is well; -v prints a line, "
		"with the fields that no checksum protects. Goes on after a damaged file. Of raw "
		"GSD files it tests every entry of their tables.",
	.operands = OPERANDS_CONTENT,
	.reads = true,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct bpk_verify_args),
	.defaults = &defaults,
	.run = run_verify,
};
