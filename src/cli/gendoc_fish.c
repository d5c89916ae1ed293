/* Writes the completion of fish from the tables. gendoc.c calls it. */
#include "cli/gendoc_complete.h"

static const char fish_helpers[] =
	"# the words before the cursor that are no options: the command and its operands\n"
	"function __bpk_line\n"
	"    set -l words (commandline -opc)\n"
	"    set -e words[1]\n"
	"    while string match -q -- '-*' \"$words[1]\"\n"
	"        __bpk_takes $words[1]; and set -e words[1]\n"
	"        set -e words[1]\n"
	"    end\n"
	"    set -q words[1]; and string match -rv '^-' -- $words\n"
	"end\n"
	"\n"
	"# true for that command; for its operand NUMBER, which begins at 1\n"
	"function __bpk_is # COMMAND [NUMBER]\n"
	"    set -l words (__bpk_line)\n"
	"    test \"$words[1]\" = $argv[1]; or return\n"
	"    test (count $argv) -eq 1; or test (count $words) -eq $argv[2]\n"
	"end\n"
	"\n"
	"# The names in a file; no URL and no pipe is opened. fish takes a line for a candidate, "
	"and the text\n"
	"# behind a tab for its description.\n"
	"function __bpk_names # FILE\n"
	"    set -l file (string replace -r '^~/' ~/ -- \"$argv[1]\")\n"
	"    set -l plain (string replace -r '\\.tar:.*' .tar -- $file)\n"
	"    set -l program (string replace -r '^~/' ~/ -- (commandline -opc)[1] | string replace "
	"-r -- '-mpi$' '')\n"
	"    string match -qr '^-|://' -- $file; and return\n"
	"    test -f \"$plain\" -o -d \"$plain\"; or return\n"
	"    for name in (BPK_OPTIONS= $program ls -0 -- $file 2>/dev/null </dev/null | string "
	"split0)\n"
	"        string match -qr '^-|[\\n\\t]' -- $name; or printf '%s\\n' $name\n"
	"    end\n"
	"end\n"
	"\n"
	"# The arrays of the first file that has any; fish tells no words behind the cursor.\n"
	"function __bpk_arrays\n"
	"    for word in (commandline -opc)[2..-1]\n"
	"        set -l names (__bpk_names $word)\n"
	"        set -q names[1]; or continue\n"
	"        printf '%s\\n' $names\n"
	"        return\n"
	"    end\n"
	"end\n"
	"\n"
	"# the members of a tar, or archives and directories; false if there are none\n"
	"function __bpk_archives # SUFFIX...\n"
	"    set -l word (commandline -ct)\n"
	"    set word (string unescape -- \"$word\"); or return\n"
	"    set -l path (string replace -r '^~/' ~/ -- \"$word\")\n"
	"    set -l found\n"
	"    if string match -q '*.tar:*' -- \"$word\"\n"
	"        set -l tar (string replace -r '\\.tar:.*' .tar -- \"$word\")\n"
	"        set found $tar:(__bpk_names $tar)\n"
	"    else\n"
	"        set -l suffixes (string join '|' $argv)\n"
	"        set -l all $path*\n"
	"        set -q all[1]; and set found (string match -r \"^.*\\.(?:$suffixes)\\$\" -- "
	"$all)\n"
	"        set -q found[1]; or return\n"
	"        for each in $all\n"
	"            test -d $each; and not contains -- $each $found; and set -a found $each/\n"
	"        end\n"
	"        set found (string replace -- \"$path\" \"$word\" $found)\n"
	"    end\n"
	"    set -q found[1]; and string match -rv '[\\n\\t]' -- $found\n"
	"end\n";

static void put_fish_option(FILE *out, const struct bpk_command *command, const struct bpk_opt *opt)
{
	const struct bpk_opt *row = bpk_complete_row(opt);

	fprintf(out, "complete -c %s -n '__bpk_is %s'", bpk_program->name,
		command->name == NULL ? "\"\"" : command->name);
	if (opt->letter != 0 && opt->type != OPT_DIGITS)
		fprintf(out, " -s %c", opt->letter);
	if (opt->name != NULL)
		fprintf(out, " -l %s", opt->name);
	if (bpk_opt_word(row, 0) != NULL) {
		fputs(bpk_complete_takes_list(row) ? " -x -a '(__fish_append , " : " -x -a '", out);
		bpk_complete_put_words(out, row);
		fputs(bpk_complete_takes_list(row) ? ")'" : "'", out);
	} else if (bpk_complete_takes_array(opt)) {
		fputs(" -x -a '(__bpk_arrays)'", out);
	} else if (opt->type == OPT_DIRECTORY) {
		fputs(" -x -a '(__fish_complete_directories)'", out);
	} else if (opt->type == OPT_FILE) {
		fputs(" -r -F", out);
	} else if (bpk_opt_takes_argument(opt)) {
		fputs(" -x", out);
	}
	fputs(" -d '", out);
	bpk_complete_put_quoted(out, opt->help, "");
	fputs("'\n", out);
}

/* fish offers files unless a rule forbids it. */
static void put_fish_operands(FILE *out, const struct bpk_command *command)
{
	const char *name = bpk_program->name, *number = bpk_complete_archive_first(command);

	if (command->words != NULL)
		fprintf(out, "complete -c %s -n '__bpk_is %s 1' -f -a '%s'\n", name, command->name,
			command->words);
	if (bpk_complete_takes_archives(command)) {
		fprintf(out, "complete -c %s -n '__bpk_is %s%s%s; and __bpk_archives ", name,
			command->name, number != NULL ? " " : "", number != NULL ? number : "");
		bpk_complete_put_suffixes(out, command);
		fputs(" >/dev/null' -f -a '(__bpk_archives ", out);
		bpk_complete_put_suffixes(out, command);
		fputs(")'\n", out);
	}
	if (command->operands != OPERANDS_NONE && command->operands != OPERANDS_COMMANDS)
		return;
	fprintf(out, "complete -c %s -n '__bpk_is %s' -f", name, command->name);
	if (command->operands == OPERANDS_COMMANDS) {
		fputs(" -a '", out);
		bpk_complete_put_command_names(out);
		fputc('\'', out);
	}
	fputc('\n', out);
}

static void put_fish_options(FILE *out, const struct bpk_command *command)
{
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++)
		if ((*opt)->type != OPT_DIGITS)
			put_fish_option(out, command, *opt);
}

void bpk_gendoc_fish(FILE *out)
{
	fprintf(out,
		"# fish completion of %s\n%s\n"
		"# true for an option before the command that takes a word\n"
		"function __bpk_takes # OPTION\n    contains -- $argv[1]",
		bpk_program->name, bpk_complete_made_by);
	bpk_complete_put_takers(
		out, bpk_program_team.main); /* the files of both programs have equal functions */
	fprintf(out, "\nend\n\n%s\n", fish_helpers);
	put_fish_options(out, bpk_program->main);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		fprintf(out, "complete -c %s -n '__bpk_is \"\"' -f -a %s -d '", bpk_program->name,
			(*each)->name);
		bpk_complete_put_quoted(out, (*each)->summary, "");
		fputs("'\n", out);
	}
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		put_fish_operands(out, *each);
		put_fish_options(out, *each);
	}
}
