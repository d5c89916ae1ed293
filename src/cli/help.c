/* What --help prints, and bpk help. */
#include "cli/command.h"

static const struct bpk_opt *const options[] = { &bpk_opt_help, NULL };
static const struct bpk_shared defaults;

const struct bpk_command bpk_command_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "open the manual page of a command",
	.description = "Opens the manual page of bpk or of COMMAND; prints its --help where manual "
		       "pages are not installed.",
	.operands = OPERANDS_COMMANDS,
	.options = options,
	.args_size = sizeof(struct bpk_shared),
	.defaults = &defaults,
	.run = NULL,
};
