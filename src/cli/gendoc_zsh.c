/* Writes the completion of zsh from the tables. gendoc.c calls it. */
#include "cli/gendoc_complete.h"

static const char zsh_helpers[] =
	"# the names in a file, to reply; no URL and no pipe is opened\n"
	"_bpk_names() { # FILE\n"
	"\tlocal file=${1/#\\~\\//$HOME/}\n"
	"\tlocal plain=${file/.tar:*/.tar}\n"
	"\treply=()\n"
	"\t[[ $file != (-*|*://*) && ( -f $plain || -d $plain ) ]] || return\n"
	"\treply=(\"${(@0)\"$(BPK_OPTIONS= ${program%-mpi} ls -0 -- $file 2>/dev/null "
	"</dev/null)\"}\")\n"
	"\treply=(\"${(@)reply:#(|-*)}\")\n"
	"}\n"
	"\n"
	"# the arrays of the first file of the line that has any\n"
	"_bpk_arrays() {\n"
	"\tlocal word\n"
	"\tlocal -a reply\n"
	"\tfor word in \"${(@Q)words[2,CURRENT-1]}\" \"${(@Q)words[CURRENT+1,-1]}\"; do\n"
	"\t\t_bpk_names $word\n"
	"\t\t(( $#reply == 0 )) || break\n"
	"\tdone\n"
	"\tcompadd \"$@\" -a reply\n"
	"}\n"
	"\n"
	"# the members of a tar; or archives, else any file\n"
	"_bpk_archives() { # OPTION-OF-COMPADD... - SUFFIX...\n"
	"\tlocal -a reply\n"
	"\tlocal split=${@[(i)-]}\n"
	"\tlocal -a how=(\"${(@)@[1,split-1]}\")\n"
	"\tif [[ $PREFIX == *.tar:* ]]; then\n"
	"\t\t_bpk_names ${${(Q)PREFIX}/.tar:*/.tar}\n"
	"\t\tcompset -P 1 '*.tar:'\n"
	"\t\tcompadd \"$how[@]\" -a reply\n"
	"\telif _path_files \"$how[@]\" -g \"*.(${(j:|:)@[split+1,-1]})\"; then\n"
	"\t\t_path_files \"$how[@]\" -/\n"
	"\t\treturn 0\n"
	"\telse\n"
	"\t\t_files \"$how[@]\"\n"
	"\tfi\n"
	"}\n";

static void put_zsh_action(FILE *out, const struct bpk_opt *opt)
{
	const struct bpk_opt *row = bpk_complete_row(opt);

	if (!bpk_opt_takes_argument(opt))
		return;
	fputc(':', out);
	bpk_complete_put_quoted(out, opt->metavar, ":[]");
	fputc(':', out);
	if (bpk_opt_word(row, 0) != NULL) {
		fputs(bpk_complete_takes_list(row) ? "_sequence compadd - " : "(", out);
		bpk_complete_put_words(out, row);
		fputs(bpk_complete_takes_list(row) ? "" : ")", out);
	} else if (bpk_complete_takes_array(opt)) {
		fputs("_bpk_arrays", out);
	} else if (bpk_complete_takes_path(opt)) {
		fprintf(out, "_files%s", opt->type == OPT_FILE ? "" : " -/");
	} else {
		fputc(' ', out);
	}
}

static void put_zsh_row(FILE *out, const struct bpk_opt *opt, const char *name, const char *joint)
{
	fprintf(out, "\t\t\t'*%s%s[", name, bpk_opt_takes_argument(opt) ? joint : "");
	bpk_complete_put_quoted(out, opt->help, ":[]");
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

static void put_zsh_operands(FILE *out, const struct bpk_command *command)
{
	const char *number = bpk_complete_archive_first(command);

	if (bpk_complete_takes_archives(command)) {
		fprintf(out, "\t\t\t'%s:archive:_bpk_archives - ", number != NULL ? number : "*");
		bpk_complete_put_suffixes(out, command);
		fputs(number != NULL ? "' \\\n" : "' ;;\n", out);
	}
	if (command->operands == OPERANDS_COMMANDS)
		fprintf(out, "\t\t\t'1:command:_%s_commands' ;;\n", bpk_complete_identifier());
	else if (command->operands == OPERANDS_NONE)
		fputs("\t\t\t'*: : ' ;;\n", out);
	else if (command->operands == OPERANDS_FILES || number != NULL)
		fputs("\t\t\t'*:file:_files' ;;\n", out);
}

static void put_zsh_command(FILE *out, const struct bpk_command *command)
{
	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", command->name);
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++)
		put_zsh_option(out, *opt);
	if (command->words != NULL)
		fprintf(out, "\t\t\t'1:word:(%s)' \\\n", command->words);
	put_zsh_operands(out, command);
}

void bpk_gendoc_zsh(FILE *out)
{
	const char *name = bpk_complete_identifier();

	fprintf(out, "#compdef %s\n%s\n%s\n_%s_commands() {\n\tlocal -a commands=(\n",
		bpk_program->name, bpk_complete_made_by, zsh_helpers, name);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		fprintf(out, "\t\t'%s:", (*each)->name);
		bpk_complete_put_quoted(out, (*each)->summary, ":");
		fputs("'\n", out);
	}
	fprintf(out,
		"\t)\n\t_describe command commands\n}\n\n"
		"_%s() {\n\tlocal context state state_descr line "
		"program=${${(Q)words[1]}/#\\~\\//$HOME/}\n"
		"\tlocal -A opt_args\n\n"
		"\t_arguments -C \\\n",
		name);
	for (const struct bpk_opt *const *opt = bpk_program->main->options; *opt != NULL; opt++)
		put_zsh_option(out, *opt);
	fprintf(out,
		"\t\t\t'1:command:_%s_commands' '*::argument:->argument'\n"
		"\t[[ $state == argument ]] || return\n"
		"\tcase $line[1] in\n",
		name);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		put_zsh_command(out, *each);
	fprintf(out, "\tesac\n}\n\n_%s \"$@\"\n", name);
}
