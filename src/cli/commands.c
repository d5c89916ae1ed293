/* The table of commands, and the search in it. main.c and gendoc use it. */
#include "cli/command.h"

#include "cli/nearest.h"

static const struct bpk_opt opt_version = {
	.letter = 'V',
	.name = "version",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_main_args, version),
	.help = "print the version, the features built in and those of this machine",
	.group = GROUP_RUN,
};

static const struct bpk_opt *const main_rows[] = { &bpk_opt_help, &opt_version, NULL };
static const struct bpk_main_args main_defaults;

const struct bpk_command bpk_command_main = {
	.synopsis = "[--help|--version] COMMAND [OPTION]... [FILE]...",
	.summary = "pack binary and simulation data into archives of Blosc chunks",
	.description =
		"Packs binary and simulation data chunk by chunk, so that any range of it can "
		"be read back without the rest, and proves that archives are whole. FILE may "
		"be -, standard input or output.",
	.operands = OPERANDS_COMMANDS,
	.options = main_rows,
	.args_size = sizeof(struct bpk_main_args),
	.defaults = &main_defaults,
};

const struct bpk_command *const bpk_commands[] = {
	&bpk_command_pack,   &bpk_command_unpack,   &bpk_command_cat,
	&bpk_command_cmp,    &bpk_command_info,     &bpk_command_verify,
	&bpk_command_append, &bpk_command_truncate, &bpk_command_write,
	&bpk_command_meta,   &bpk_command_convert,  &bpk_command_convert_to_chunked,
	&bpk_command_tar,    &bpk_command_repair,   &bpk_command_bench,
	&bpk_command_help,   &bpk_command_version,  NULL,
};

const struct bpk_command *bpk_command_find(const char *name)
{
	for (const struct bpk_command *const *command = bpk_commands; *command != NULL; command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
}

/* The command for a command of blpk. Its letters mean other things there, so these
 * are answered, not obeyed. */
static const char *find_for_blpk(const char *name)
{
	static const char *const pairs[][2] = {
		{ "compress", "pack" }, { "c", "pack" },   { "decompress", "unpack" },
		{ "d", "unpack" },      { "a", "append" }, { "i", "info" },
	};

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		if (strcmp(pairs[i][0], name) == 0)
			return pairs[i][1];
	return NULL;
}

int bpk_command_unknown(const char *name, struct bpk_err *err)
{
	const char *blpk = find_for_blpk(name);
	bool is_diff = strcmp(name, "diff") == 0;
	struct bpk_nearest nearest = { .word = name };

	if (blpk != NULL)
		return bpk_fail(err, BPK_USAGE,
				"'%s' is a command of blpk, use 'bpk %s' (see bpk %s --help)", name,
				blpk, blpk);
	if (is_diff)
		return bpk_fail(err, BPK_USAGE, "unknown command 'diff', use 'bpk cmp'");
	for (const struct bpk_command *const *command = bpk_commands; *command != NULL; command++)
		bpk_nearest_offer(&nearest, (*command)->name);
	if (nearest.best != NULL)
		return bpk_fail(err, BPK_USAGE, "unknown command '%s', did you mean '%s'?", name,
				nearest.best);
	return bpk_fail(err, BPK_USAGE, "unknown command '%s', see bpk --help", name);
}
