/* bpk cat: raw bytes, or a range of them, to standard output. */
#include "cli/command.h"

struct cat_args {
	struct bpk_shared shared;
	struct bpk_opt_range bytes, items;
};

#define ARG(member) offsetof(struct cat_args, member)

static const struct bpk_opt opt_bytes = {
	.name = "bytes",
	.type = OPT_RANGE,
	.offset = ARG(bytes),
	.metavar = "A:B",
	.help = "only the raw bytes from A up to, not including, B",
	.more = "As in Python: a negative number counts from the end, either may be left out, "
		"and what lies outside the data is cut off. A and B take K, M, G and T.",
};

static const struct bpk_opt opt_items = {
	.name = "items",
	.type = OPT_RANGE,
	.offset = ARG(items),
	.metavar = "A:B",
	.help = "the same, counted in items of the archive's typesize",
};

static const struct bpk_opt *const options[] = {
	&opt_bytes,	    &opt_items,	       &bpk_opt_format_read, &bpk_opt_no_check,
	&bpk_opt_no_marker, &bpk_opt_force,    &bpk_opt_threads,     &bpk_opt_memory_limit,
	&bpk_opt_quiet,	    &bpk_opt_progress, &bpk_opt_help,	     NULL,
};

static const struct cat_args defaults;

const struct bpk_command bpk_command_cat = {
	.name = "cat",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "write raw bytes, or a range of them, to standard output",
	.description =
		"Unpacks each FILE, or standard input, to standard output. With a range only "
		"the chunks it touches are read and checked, and only the blocks it needs are "
		"unpacked.",
	.operands = OPERANDS_ARCHIVES,
	.options = options,
	.args_size = sizeof(struct cat_args),
	.defaults = &defaults,
	.run = NULL,
};
