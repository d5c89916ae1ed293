/* bpk verify: is every byte of an archive as it should be? */
#include "cli/command.h"

struct verify_args {
	struct bpk_shared shared;
	bool quick;
	bool recursive;
};

#define ARG(member) offsetof(struct verify_args, member)

static const struct bpk_opt opt_quick = {
	.name = "quick",
	.type = OPT_FLAG,
	.offset = ARG(quick),
	.help = "test structure and checksums, but do not unpack",
};

static const struct bpk_opt opt_recursive = {
	.letter = 'r',
	.name = "recursive",
	.type = OPT_FLAG,
	.offset = ARG(recursive),
	.help = "verify all archives below the directories named",
	.more = "Files that are no archives are passed over, unless their name says that they "
		"should be.",
};

static const struct bpk_opt *const options[] = {
	&opt_quick,	   &opt_recursive,	  &bpk_opt_format_read, &bpk_opt_no_marker,
	&bpk_opt_threads,  &bpk_opt_memory_limit, &bpk_opt_quiet,	&bpk_opt_verbose,
	&bpk_opt_progress, &bpk_opt_json,	  &bpk_opt_help,	NULL,
};

static const struct verify_args defaults;

const struct bpk_command bpk_command_verify = {
	.name = "verify",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "prove that archives are whole",
	.description =
		"Accounts for every byte of each FILE, tests every checksum and unpacks every "
		"chunk, writing nothing. Says nothing when all is well; -v says so, and what "
		"no checksum protects. Goes on after a damaged file.",
	.operands = OPERANDS_TREES,
	.options = options,
	.args_size = sizeof(struct verify_args),
	.defaults = &defaults,
	.run = NULL,
};
