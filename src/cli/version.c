/* bpk version: the program, what is built in, what this machine offers. */
#include "cli/command.h"

static const struct bpk_opt *const options[] = { &bpk_opt_help, NULL };
static const struct bpk_shared defaults;

const struct bpk_command bpk_command_version = {
	.name = "version",
	.synopsis = "",
	.summary = "print the version and what is built in",
	.description = "Prints the version of bpk, its codecs with their libraries' versions, its "
		       "checksums and formats, the vector instructions in use and the threads that "
		       "--threads 0 means.",
	.operands = OPERANDS_NONE,
	.options = options,
	.args_size = sizeof(struct bpk_shared),
	.defaults = &defaults,
	.run = NULL,
};
