/* The tables of programs and commands, and the search in them. Programs and gendoc use them. */
#include "cli/command.h"

#include <stdio.h>
#include <sys/stat.h>

#include "cli/nearest.h"

static const struct bpk_opt opt_version = {
	.letter = 'V',
	.name = "version",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_main_args, version),
	.help = "print the version, the features built in and those of this machine",
	.group = GROUP_RUN,
};

static const struct bpk_opt opt_max_time = {
	.name = "max-time",
	BPK_OPT_VALUE(OPT_U64, struct bpk_main_args, max_time),
	.metavar = "SECONDS",
	.help = "stop early after SECONDS, with status 4",
	.more = "Files that are done are kept; a result that is not complete leaves nothing. Work "
		"stops between two rounds of chunks, or between two small files, so leave some "
		"time for that before the limit of the batch system.",
	.group = GROUP_RUN,
	.min = 1,
	.max = UINT32_MAX,
};

static const struct bpk_opt opt_resume = {
	.name = "resume",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_main_args, resume),
	.metavar = "STATE",
	.help = "note in the file STATE what is done, and pass it over",
	.more = "STATE is made where it is missing. A file counts as done for the same command as "
		"long as its size and time of change are the same, and not after a failure.",
	.group = GROUP_RUN,
};

static const struct bpk_opt *const main_rows[] = { &bpk_opt_help, &opt_version, NULL };
static const struct bpk_main_args main_defaults;

static const struct bpk_foreign foreign[] = {
	{ 'd', "decompress", "'bpk unpack' restores FILE" },
	{ 't', "test", "'bpk verify' tests FILE" },
	{ 'l', "list", "'bpk info' shows FILE" },
	{ 'x', "extract", "'bpk tar -x' extracts" },
	{ 0 },
};

const struct bpk_command bpk_command_main = {
	.synopsis = "[--help|--version] COMMAND [OPTION]... [FILE]...",
	.summary = "pack binary and simulation data into archives of Blosc chunks",
	.description =
		"Packs binary and simulation data chunk by chunk, so that any range of it can "
		"be read back without the rest, and proves that archives are whole. FILE may "
		"be -, standard input or output.",
	.operands = OPERANDS_COMMANDS,
	.options = main_rows,
	.foreign = foreign,
	.args_size = sizeof(struct bpk_main_args),
	.defaults = &main_defaults,
};

static const struct bpk_opt *const team_rows[] = { &opt_max_time, &opt_resume, &bpk_opt_help,
						   &opt_version, NULL };

const struct bpk_command bpk_command_team = {
	.synopsis = "[OPTION]... COMMAND [OPTION]... [FILE]...",
	.summary = "pack and unpack with many processes on one machine or a cluster",
	.description =
		"Does the work of some commands of bpk with all processes that mpirun or srun "
		"started, to the same results. All of them need the same files under the same "
		"names. Started without mpirun it is one process, like bpk.",
	.operands = OPERANDS_COMMANDS,
	.options = team_rows,
	.args_size = sizeof(struct bpk_main_args),
	.defaults = &main_defaults,
};

static const struct bpk_command *const team_commands[] = {
	&bpk_command_pack, &bpk_command_unpack, &bpk_command_verify,  &bpk_command_convert,
	&bpk_command_cmp,  &bpk_command_help,   &bpk_command_version, NULL,
};

const struct bpk_command *const bpk_commands[] = {
	&bpk_command_pack,
	&bpk_command_unpack,
	&bpk_command_cat,
	&bpk_command_cmp,
	&bpk_command_info,
	&bpk_command_ls,
	&bpk_command_plot,
	&bpk_command_verify,
	&bpk_command_sum,
	&bpk_command_append,
	&bpk_command_truncate,
	&bpk_command_write,
	&bpk_command_meta,
	&bpk_command_convert,
	&bpk_command_convert_to_chunked,
	&bpk_command_tar,
	&bpk_command_repair,
	&bpk_command_parity,
	&bpk_command_seal,
	&bpk_command_bench,
	&bpk_command_help,
	&bpk_command_version,
	NULL,
};

const struct bpk_program bpk_program_alone = { "bpk", &bpk_command_main, bpk_commands, NULL, NULL };
const struct bpk_program bpk_program_team = { "bpk-mpi", &bpk_command_team, team_commands, NULL,
					      NULL };
const struct bpk_program *bpk_program = &bpk_program_alone;

const struct bpk_command *bpk_command_find(const char *name)
{
	for (const struct bpk_command *const *command = bpk_program->commands; *command != NULL;
	     command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
}

/* A command for one of blpk, whose letters mean other things there, or of other tools: these are
 * answered, not obeyed. */
static const char *find_for_other(const char *name)
{
	static const char *const pairs[][2] = {
		{ "compress", "pack" },
		{ "c", "pack" },
		{ "decompress", "unpack" },
		{ "d", "unpack" },
		{ "a", "append" },
		{ "i", "info" },
		{ "extract", "unpack" },
		{ "x", "unpack" },
		{ "test", "verify" },
		{ "t", "verify" },
		{ "check", "verify" },
		{ "list", "ls" },
		{ "l", "ls" },
		{ "diff", "cmp" },
		{ "sha256sum", "sum" },
		{ "cksum", "sum" },
		{ "hash", "sum" },
		{ "heal", "verify --heal" },
		{ "fsck", "verify" },
		{ "scrub", "verify" },
		{ "sign", "seal --sign" },
		{ "salvage", "repair" },
		{ "recover", "repair" },
		{ "merge", "repair --merge" },
		{ "prove", "cat --prove" },
	};

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		if (strcmp(pairs[i][0], name) == 0)
			return pairs[i][1];
	return NULL;
}

/* True if the first word is a command of the program. */
static bool has_command(const char *words)
{
	char name[16];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(words, " "), words);
	return bpk_command_find(name) != NULL;
}

/* A file in the place of a command. */
static int fail_file(const char *name, struct bpk_err *err)
{
	bool is_archive = bpk_format_suffix(name) != NULL;
	char word[BPK_WORD_TEXT];

	bpk_fail(err, BPK_USAGE, "no such command; to %s: %s %s %s",
		 is_archive ? "unpack an archive" : "pack a file", bpk_program->name,
		 is_archive ? "unpack" : "pack", bpk_shell_word(name, word));
	return bpk_err_subject(err, "%s", name);
}

int bpk_command_unknown(const char *name, struct bpk_err *err)
{
	const char *other = find_for_other(name), *program = bpk_program->name;
	struct bpk_nearest nearest = { .word = name };
	struct stat found;

	if (other != NULL && has_command(other))
		return bpk_fail(err, BPK_USAGE, "unknown command '%s', use '%s %s'", name, program,
				other);
	if (stat(name, &found) == 0 && S_ISREG(found.st_mode))
		return fail_file(name, err);
	for (const struct bpk_command *const *command = bpk_program->commands; *command != NULL;
	     command++)
		bpk_nearest_offer(&nearest, (*command)->name);
	if (nearest.best != NULL)
		return bpk_fail(err, BPK_USAGE, "unknown command '%s', did you mean '%s'?", name,
				nearest.best);
	return bpk_fail(err, BPK_USAGE, "unknown command '%s', see %s --help", name, program);
}
