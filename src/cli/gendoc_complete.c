/* Writes the completions of bash, zsh and fish from the tables. gendoc.c calls it. */
#include "cli/gendoc.h"

#include <string.h>

static const char made_by[] =
	"# Made by gendoc from the tables of commands and options; edit those.\n";

/* True if the option's argument is the name of a file or a directory. */
static bool takes_path(const struct bpk_opt *opt)
{
	return opt->type == OPT_FILE || opt->type == OPT_DIRECTORY;
}

/* True if the argument is a list of words, separated by commas. */
static bool takes_list(const struct bpk_opt *opt)
{
	return opt->type == OPT_FILTER || opt->type == OPT_CODECS;
}

/* True if the argument is the name of an array in a file of the line. */
static bool takes_array(const struct bpk_opt *opt)
{
	return opt->type == OPT_TEXT && strcmp(opt->name, "name") == 0;
}

/* Text inside single quotes of a shell; colons and brackets need care in zsh alone. */
static void put_quoted(FILE *out, const char *text, const char *escaped)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'') {
			fputs("'\\''", out);
			continue;
		}
		if (strchr(escaped, *text) != NULL)
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void put_words(FILE *out, const struct bpk_opt *opt)
{
	for (size_t i = 0; bpk_opt_word(opt, i) != NULL; i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", bpk_opt_word(opt, i));
}

/* ---- bash ---- */

/* "-o|--output": the words before the argument. */
static void put_bash_names(FILE *out, const struct bpk_opt *opt)
{
	if (opt->letter != 0)
		fprintf(out, "-%c%s", opt->letter, opt->name != NULL ? "|" : "");
	if (opt->name != NULL)
		fprintf(out, "--%s", opt->name);
}

static void put_bash_argument(FILE *out, const struct bpk_opt *opt)
{
	fputs("\t\t", out);
	put_bash_names(out, opt);
	if (bpk_opt_word(opt, 0) != NULL) {
		fprintf(out, ") _bpk_%s '", takes_list(opt) ? "list" : "words");
		put_words(out, opt);
		fputs("'; return ;;\n", out);
	} else if (takes_array(opt)) {
		fputs(") _bpk_arrays; return ;;\n", out);
	} else if (takes_path(opt)) {
		fprintf(out, ") _bpk_paths -%c; return ;;\n", opt->type == OPT_FILE ? 'f' : 'd');
	} else {
		fputs(") return ;;\n", out);
	}
}

static void put_bash_command(FILE *out, const struct bpk_command *command)
{
	bool first = true;

	fprintf(out, "\t%s)\n\t\tcase $before in\n", command->name);
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++)
		if (bpk_opt_takes_argument(*opt))
			put_bash_argument(out, *opt);
	fputs("\t\tesac\n\t\toptions='", out);
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++) {
		if ((*opt)->name == NULL)
			continue;
		fprintf(out, "%s--%s", first ? "" : " ", (*opt)->name);
		first = false;
	}
	fputs("'\n", out);
	if (command->words != NULL)
		fprintf(out, "\t\twords='%s'\n", command->words);
	fprintf(out, "\t\toperands=%s ;;\n",
		command->operands == OPERANDS_COMMANDS ? "commands"
		: command->operands == OPERANDS_NONE   ? "none"
						       : "files");
}

/* The program's name in names of functions. */
static const char *identifier(void)
{
	return bpk_program == &bpk_program_team ? "bpk_mpi" : "bpk";
}

static void put_command_names(FILE *out)
{
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		fprintf(out, "%s%s", each == bpk_program->commands ? "" : " ", (*each)->name);
}

void bpk_gendoc_bash(FILE *out)
{
	bool first = true;

	fprintf(out, "# bash completion of %s\n%s\n", bpk_program->name, made_by);
	fputs("_bpk_words()\n{\n\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- "
	      "\"$current\")\n}\n\n"
	      "# words after a comma, too\n"
	      "_bpk_list()\n{\n\tlocal before=\n"
	      "\tif [[ $current == *,* ]]; then\n\t\tbefore=${current%,*},\n\tfi\n"
	      "\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- "
	      "\"${current##*,}\")\n}\n\n"
	      "# the arrays in the files of the line; compgen -W would expand their names\n"
	      "_bpk_arrays()\n{\n\tlocal word name\n"
	      "\tfor word in \"${COMP_WORDS[@]:2}\"; do\n"
	      "\t\tif [[ -f $word || -d $word ]]; then\n"
	      "\t\t\twhile read -r name _; do\n"
	      "\t\t\t\tif [[ $name != - && $name == \"$current\"* ]]; then\n"
	      "\t\t\t\t\tprintf -v name %q \"$name\"\n"
	      "\t\t\t\t\tCOMPREPLY+=(\"$name\")\n"
	      "\t\t\t\tfi\n"
	      "\t\t\tdone < <(\"${COMP_WORDS[0]}\" ls -- \"$word\" 2>/dev/null)\n"
	      "\t\tfi\n\tdone\n}\n\n"
	      "_bpk_paths()\n{\n\tcompopt -o filenames\n"
	      "\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$current\")\n}\n\n"
	      "_",
	      out);
	fprintf(out,
		"%s()\n{\n"
		"\tlocal current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal options='",
		identifier());
	for (const struct bpk_opt *const *opt = bpk_program->main->options; *opt != NULL; opt++) {
		fprintf(out, "%s--%s", first ? "" : " ", (*opt)->name);
		first = false;
	}
	fputs("' operands=commands words= word command= operand=\n\n"
	      "\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
	      "\t\tif [[ $word == -* ]]; then\n\t\t\tcontinue\n"
	      "\t\telif [[ -n $command ]]; then\n\t\t\toperand=$word\n\t\t\tbreak\n\t\tfi\n"
	      "\t\tcommand=$word\n\tdone\n"
	      "\t# --codec=zs comes as three words\n"
	      "\tif [[ $current == = ]]; then\n\t\tcurrent=\n"
	      "\telif [[ $before == = ]]; then\n\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
	      "\tcase $command in\n",
	      out);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		put_bash_command(out, *each);
	fputs("\tesac\n"
	      "\tif [[ $current == -* ]]; then\n\t\t_bpk_words \"$options\"\n"
	      "\telif [[ $operands == commands ]]; then\n\t\t_bpk_words '",
	      out);
	put_command_names(out);
	fputs("'\n\telif [[ -n $words && -z $operand ]]; then\n\t\t_bpk_words \"$words\"\n"
	      "\telif [[ $operands == files ]]; then\n\t\t_bpk_paths -f\n\tfi\n}\n\n"
	      "complete -F _",
	      out);
	fprintf(out, "%s %s\n", identifier(), bpk_program->name);
}

/* ---- zsh ---- */

static void put_zsh_action(FILE *out, const struct bpk_opt *opt)
{
	if (!bpk_opt_takes_argument(opt))
		return;
	fputc(':', out);
	put_quoted(out, opt->metavar, ":[]");
	fputc(':', out);
	if (bpk_opt_word(opt, 0) != NULL) {
		fputc('(', out);
		put_words(out, opt);
		fputc(')', out);
	} else if (opt->type == OPT_FILE) {
		fputs("_files", out);
	} else if (opt->type == OPT_DIRECTORY) {
		fputs("_files -/", out);
	} else {
		fputc(' ', out);
	}
}

static void put_zsh_row(FILE *out, const struct bpk_opt *opt, const char *name, const char *joint)
{
	fprintf(out, "\t\t\t'*%s%s[", name, bpk_opt_takes_argument(opt) ? joint : "");
	put_quoted(out, opt->help, ":[]");
	fputc(']', out);
	put_zsh_action(out, opt);
	fputs("' \\\n", out);
}

static void put_zsh_option(FILE *out, const struct bpk_opt *opt)
{
	char letter[3] = { '-', opt->letter, '\0' };
	char name[64];

	if (opt->type == OPT_DIGITS) {
		for (letter[1] = '0'; letter[1] <= '9'; letter[1]++)
			put_zsh_row(out, opt, letter, "");
		return;
	}
	if (opt->letter != 0)
		put_zsh_row(out, opt, letter, "+");
	if (opt->name != NULL) {
		snprintf(name, sizeof name, "--%s", opt->name);
		put_zsh_row(out, opt, name, "=");
	}
}

static void put_zsh_command(FILE *out, const struct bpk_command *command)
{
	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", command->name);
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++)
		put_zsh_option(out, *opt);
	if (command->words != NULL)
		fprintf(out, "\t\t\t'1:word:(%s)' \\\n", command->words);
	if (command->operands == OPERANDS_COMMANDS)
		fprintf(out, "\t\t\t'1:command:_%s_commands' ;;\n", identifier());
	else if (command->operands == OPERANDS_NONE)
		fputs("\t\t\t'*: : ' ;;\n", out);
	else
		fputs("\t\t\t'*:file:_files' ;;\n", out);
}

void bpk_gendoc_zsh(FILE *out)
{
	const char *name = identifier();

	fprintf(out, "#compdef %s\n%s\n_%s_commands() {\n\tlocal -a commands=(\n",
		bpk_program->name, made_by, name);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		fprintf(out, "\t\t'%s:", (*each)->name);
		put_quoted(out, (*each)->summary, ":");
		fputs("'\n", out);
	}
	fprintf(out,
		"\t)\n\t_describe command commands\n}\n\n"
		"_%s() {\n\tlocal context state state_descr line\n\tlocal -A opt_args\n\n"
		"\t_arguments -C '--help[print help]' '--version[print the version]' \\\n"
		"\t\t'1:command:_%s_commands' '*::argument:->argument'\n"
		"\t[[ $state == argument ]] || return\n"
		"\tcase $line[1] in\n",
		name, name);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		put_zsh_command(out, *each);
	fprintf(out, "\tesac\n}\n\n_%s \"$@\"\n", name);
}

/* ---- fish ---- */

static void put_fish_option(FILE *out, const struct bpk_command *command, const struct bpk_opt *opt)
{
	fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s'", bpk_program->name,
		command->name);
	if (opt->letter != 0 && opt->type != OPT_DIGITS)
		fprintf(out, " -s %c", opt->letter);
	if (opt->name != NULL)
		fprintf(out, " -l %s", opt->name);
	if (bpk_opt_word(opt, 0) != NULL) {
		fputs(" -x -a '", out);
		put_words(out, opt);
		fputc('\'', out);
	} else if (opt->type == OPT_DIRECTORY) {
		fputs(" -x -a '(__fish_complete_directories)'", out);
	} else if (opt->type == OPT_FILE) {
		fputs(" -r -F", out);
	} else if (bpk_opt_takes_argument(opt)) {
		fputs(" -x", out);
	}
	fputs(" -d '", out);
	put_quoted(out, opt->help, "");
	fputs("'\n", out);
}

/* fish offers files unless a rule forbids it. */
static void put_fish_operands(FILE *out, const struct bpk_command *command)
{
	if (command->words != NULL)
		fprintf(out,
			"complete -c %s -n '__fish_seen_subcommand_from %s; "
			"and not __fish_seen_subcommand_from %s' -f -a '%s'\n",
			bpk_program->name, command->name, command->words, command->words);
	if (command->operands != OPERANDS_NONE && command->operands != OPERANDS_COMMANDS)
		return;
	fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s' -f", bpk_program->name,
		command->name);
	if (command->operands == OPERANDS_COMMANDS) {
		fputs(" -a '", out);
		put_command_names(out);
		fputc('\'', out);
	}
	fputc('\n', out);
}

void bpk_gendoc_fish(FILE *out)
{
	fprintf(out, "# fish completion of %s\n%s\n", bpk_program->name, made_by);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		fprintf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d '",
			bpk_program->name, (*each)->name);
		put_quoted(out, (*each)->summary, "");
		fputs("'\n", out);
	}
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		put_fish_operands(out, *each);
		for (const struct bpk_opt *const *opt = (*each)->options; *opt != NULL; opt++)
			if ((*opt)->type != OPT_DIGITS)
				put_fish_option(out, *each, *opt);
	}
}
