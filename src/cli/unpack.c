/* bpk unpack: archives in, raw files out. */
#include "cli/command.h"

struct unpack_args {
	struct bpk_shared shared;
	uint64_t max_output;
	bool keep_broken;
};

#define ARG(member) offsetof(struct unpack_args, member)

static const struct bpk_opt opt_max_output = {
	.name = "max-output",
	.type = OPT_SIZE,
	.offset = ARG(max_output),
	.metavar = "SIZE",
	.help = "refuse what unpacks to more than SIZE",
	.more = "For archives from strangers: a small one may unpack to a very large file.",
	.max = UINT64_MAX,
};

static const struct bpk_opt opt_keep_broken = {
	.name = "keep-broken",
	.type = OPT_FLAG,
	.offset = ARG(keep_broken),
	.help = "when the archive is damaged, keep what came before as NAME.partial",
	.more = "Without it a damaged archive leaves no file. The status is that of damage "
		"either way.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt *const options[] = {
	&bpk_opt_format_read, &opt_max_output,	     &bpk_opt_no_check,	  &bpk_opt_no_marker,
	&bpk_opt_stdout,      &bpk_opt_output,	     &bpk_opt_output_dir, &opt_keep_broken,
	&bpk_opt_force,	      &bpk_opt_keep,	     &bpk_opt_rm,	  &bpk_opt_no_sync,
	&bpk_opt_threads,     &bpk_opt_memory_limit, &bpk_opt_quiet,	  &bpk_opt_verbose,
	&bpk_opt_progress,    &bpk_opt_json,	     &bpk_opt_help,	  NULL,
};

static const struct unpack_args defaults = { .max_output = BPK_UNKNOWN };

const struct bpk_command bpk_command_unpack = {
	.name = "unpack",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "give back the raw data of archives",
	.description =
		"Unpacks each FILE.blp into FILE beside it and keeps FILE.blp. The format is "
		"recognised by content. Without FILE, or with -, unpacks standard input to "
		"standard output.",
	.operands = OPERANDS_ARCHIVES,
	.options = options,
	.args_size = sizeof(struct unpack_args),
	.defaults = &defaults,
	.run = NULL,
};
