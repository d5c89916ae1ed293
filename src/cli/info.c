/* bpk info: what archives are. */
#include "cli/command.h"

static const struct bpk_opt *const options[] = {
	&bpk_opt_format_read, &bpk_opt_verbose, &bpk_opt_json, &bpk_opt_help, NULL,
};

static const struct bpk_shared defaults;

const struct bpk_command bpk_command_info = {
	.name = "info",
	.synopsis = "[OPTION]... FILE...",
	.summary = "say what archives are: sizes, codec, filter, checksum, metadata",
	.description =
		"Prints a line for each FILE; with -v every field, with -vv also every chunk. "
		"Reads no more of an archive than it shows.",
	.operands = OPERANDS_ARCHIVES,
	.options = options,
	.args_size = sizeof(struct bpk_shared),
	.defaults = &defaults,
	.run = NULL,
};
