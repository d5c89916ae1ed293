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

/* The row that has the option's words: a filter list that may be given again is kept as a text. */
static const struct bpk_opt *with_words(const struct bpk_opt *opt)
{
	static const struct bpk_opt filter = { .type = OPT_FILTER };

	return opt->type == OPT_LIST && strcmp(opt->name, "filter") == 0 ? &filter : opt;
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

/* True if the command takes archives before all other files. */
static bool takes_archives(const struct bpk_command *command)
{
	return command->operands == OPERANDS_ARCHIVES || command->operands == OPERANDS_CONTENT ||
	       command->operands == OPERANDS_ARCHIVE_FIRST;
}

/* The suffixes of the files that it takes, without their dots. Simulation files are known by their
 * content; these are the usual names. */
static void put_suffixes(FILE *out, const struct bpk_command *command)
{
	for (size_t i = 0; bpk_formats[i] != NULL; i++) {
		if (bpk_formats[i]->suffix != NULL)
			fprintf(out, "%s ", bpk_formats[i]->suffix + 1);
		if (bpk_formats[i]->array_suffix != NULL)
			fprintf(out, "%s ", bpk_formats[i]->array_suffix + 1);
	}
	fputs("tar", out);
	if (command->operands != OPERANDS_ARCHIVES)
		fputs(" gsd dcd trr nc fits npy npz wav", out);
}

static void put_command_names(FILE *out)
{
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		fprintf(out, "%s%s", each == bpk_program->commands ? "" : " ", (*each)->name);
}

/* The options of a program that take a word, each behind a blank. */
static void put_takers(FILE *out, const struct bpk_command *main)
{
	for (const struct bpk_opt *const *opt = main->options; *opt != NULL; opt++)
		if (bpk_opt_takes_argument(*opt))
			fprintf(out, " --%s", (*opt)->name);
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
	const struct bpk_opt *row = with_words(opt);

	fputs("\t\t", out);
	put_bash_names(out, opt);
	if (bpk_opt_word(row, 0) != NULL) {
		fprintf(out, ") _bpk_%s ", takes_list(row) ? "list" : "offer");
		put_words(out, row);
		fputs("; return ;;\n", out);
	} else if (takes_array(opt)) {
		fputs(") _bpk_arrays; return ;;\n", out);
	} else if (takes_path(opt)) {
		fprintf(out, ") compopt -o %s; return ;;\n",
			opt->type == OPT_FILE ? "default" : "dirnames");
	} else {
		fputs(") return ;;\n", out);
	}
}

static void put_bash_operands(FILE *out, const struct bpk_command *command)
{
	fputs("\t\toperands='", out);
	if (command->operands == OPERANDS_COMMANDS) {
		fputs("_bpk_offer ", out);
		put_command_names(out);
	} else if (takes_archives(command)) {
		fputs("_bpk_archives ", out);
		put_suffixes(out, command);
	} else if (command->operands != OPERANDS_NONE) {
		fputs("compopt -o default", out);
	}
	fputs("' ;;\n", out);
}

static void put_bash_command(FILE *out, const struct bpk_command *command)
{
	bool first = true;

	fprintf(out, "\t%s)\n\t\tcase $before in\n", command->name == NULL ? "''" : command->name);
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
	if (command->operands == OPERANDS_ARCHIVE_FIRST)
		fprintf(out, "\t\tfirst=%d\n", command->words == NULL ? 1 : 2);
	put_bash_operands(out, command);
}

/* The program's name in names of functions. */
static const char *identifier(void)
{
	return bpk_program == &bpk_program_team ? "bpk_mpi" : "bpk";
}

static const char bash_helpers[] =
	"# The words of a text to line, without their quotes, and the last one to current; the "
	"part of it\n"
	"# that readline leaves alone to kept, the quote that is open to quote.\n"
	"_bpk_split() # TEXT\n"
	"{\n"
	"\tlocal c i begun=\n"
	"\tline=() current= kept= quote=\n"
	"\tfor ((i = 0; i < ${#1}; i++)); do\n"
	"\t\tc=${1:i:1}\n"
	"\t\tif [[ -z $quote && $c == [[:space:]] ]]; then\n"
	"\t\t\t[[ -z $begun ]] || line+=(\"$current\")\n"
	"\t\t\tcurrent= kept= begun=\n"
	"\t\t\tcontinue\n"
	"\t\tfi\n"
	"\t\tbegun=1\n"
	"\t\tif [[ $c == \\\\ && $quote != \\' ]]; then\n"
	"\t\t\ti=$((i + 1))\n"
	"\t\t\tcurrent+=${1:i:1}\n"
	"\t\telif [[ -n $quote && $c == \"$quote\" ]]; then\n"
	"\t\t\tquote=\n"
	"\t\telif [[ -z $quote && $c == [\\'\\\"] ]]; then\n"
	"\t\t\tquote=$c\n"
	"\t\telse\n"
	"\t\t\tcurrent+=$c\n"
	"\t\t\t[[ -n $quote || $c != [:=] || $COMP_WORDBREAKS != *\"$c\"* ]] || kept=$current\n"
	"\t\tfi\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# Offer those that begin with current, quoted here: readline would not quote every $.\n"
	"_bpk_offer() # CANDIDATE...\n"
	"{\n"
	"\tlocal each quoted skip=$((${#kept} > ${#stem} ? ${#kept} - ${#stem} : 0))\n"
	"\tfor each; do\n"
	"\t\t[[ $each == \"$current\"* ]] || continue\n"
	"\t\teach=${each:skip}\n"
	"\t\tprintf -v quoted %q \"$each\"\n"
	"\t\tif [[ $each != *[!a-zA-Z0-9_./,:=@%+-]* ]]; then\n"
	"\t\t\tquoted=$each\n"
	"\t\telif [[ $quote == \\' ]]; then\n"
	"\t\t\tquoted=${each//\\'/\"'\\''\"}\n"
	"\t\telif [[ $quote == \\\" ]]; then\n"
	"\t\t\t[[ $each != *!* ]] || continue # which nothing quotes there\n"
	"\t\t\tquoted=${each//\\\\/'\\\\'} quoted=${quoted//\\\"/'\\\"'}\n"
	"\t\t\tquoted=${quoted//\\$/'\\$'} quoted=${quoted//\\`/'\\`'}\n"
	"\t\tfi\n"
	"\t\tCOMPREPLY+=(\"${stem:${#kept}}$quoted\")\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# the same behind a comma\n"
	"_bpk_list() # WORD...\n"
	"{\n"
	"\tlocal each list=\n"
	"\t[[ $current != *,* ]] || list=${current%,*},\n"
	"\tfor each; do\n"
	"\t\t_bpk_offer \"$list$each\"\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# the names in a file, to names; no URL and no pipe is opened\n"
	"_bpk_names() # FILE\n"
	"{\n"
	"\tlocal file=$1 plain each all=()\n"
	"\tnames=()\n"
	"\t[[ $file != \\~/* ]] || file=$HOME${file:1}\n"
	"\tplain=$file\n"
	"\t[[ $file != *.tar:* ]] || plain=${file%%.tar:*}.tar\n"
	"\t[[ $file != -* && $file != *://* && (-f $plain || -d $plain) ]] || return\n"
	"\tmapfile -t -d '' all < <(BPK_OPTIONS= \"${program%-mpi}\" ls -0 -- \"$file\" </dev/null "
	"2>/dev/null)\n"
	"\tfor each in \"${all[@]}\"; do\n"
	"\t\t[[ $each == -* ]] || names+=(\"$each\")\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# the arrays of the first file of the line that has any\n"
	"_bpk_arrays()\n"
	"{\n"
	"\tlocal each names=()\n"
	"\tfor each in \"${others[@]}\"; do\n"
	"\t\t_bpk_names \"$each\"\n"
	"\t\t[[ ${#names[@]} -eq 0 ]] || break\n"
	"\tdone\n"
	"\t_bpk_offer \"${names[@]}\"\n"
	"}\n"
	"\n"
	"# the members of a tar; or archives and directories, else any file\n"
	"_bpk_archives() # SUFFIX...\n"
	"{\n"
	"\tlocal each path names=() directories=()\n"
	"\tif [[ $current == *.tar:* ]]; then\n"
	"\t\t_bpk_names \"${current%%.tar:*}.tar\"\n"
	"\t\tfor each in \"${names[@]}\"; do\n"
	"\t\t\t_bpk_offer \"${current%%.tar:*}.tar:$each\"\n"
	"\t\tdone\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t[[ $current != \\~/* || -n $quote ]] || stem=\\~/ current=${current:2}\n"
	"\tpath=${stem:+$HOME/}$current\n"
	"\twhile IFS= read -r -d '' each; do\n"
	"\t\tnames=$current${each#\"$path\"}\n"
	"\t\tif [[ $each == *.* && \" $* \" == *\" ${each##*.} \"* ]]; then\n"
	"\t\t\t_bpk_offer \"$names\"\n"
	"\t\telif [[ -d $each ]]; then\n"
	"\t\t\tdirectories+=(\"$names/\")\n"
	"\t\tfi\n"
	"\tdone < <(shopt -s nullglob; shopt -u failglob; printf '%s\\0' \"$path\"*)\n"
	"\tif [[ ${#COMPREPLY[@]} -eq 0 ]]; then\n"
	"\t\tcompopt -o default\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_bpk_offer \"${directories[@]}\"\n"
	"}\n";

static const char bash_begin[] =
	" ' options operands= words= first= last= program=\n\n"
	"\t_bpk_split \"$COMP_LINE\"\n"
	"\tothers=(\"${line[@]}\" \"$current\")\n"
	"\t_bpk_split \"${COMP_LINE:0:COMP_POINT}\"\n"
	"\tprogram=${line[0]} before=${line[-1]}\n"
	"\t[[ $program != \\~/* ]] || program=$HOME${program:1}\n"
	"\tothers=(\"${others[@]:1:${#line[@]}-1}\" \"${others[@]:${#line[@]}+1}\")\n"
	"\tfor word in \"${line[@]:1}\"; do\n"
	"\t\t[[ $word == -* || (-z ${given[0]-} && $takers == *\" $last \"*) ]] || "
	"given+=(\"$word\")\n"
	"\t\tlast=$word\n"
	"\tdone\n"
	"\tif [[ $current == --*=* ]]; then\n"
	"\t\tbefore=${current%%=*} stem=${current%%=*}= current=${current#*=}\n"
	"\tfi\n"
	"\tcase ${given[0]-} in\n";

static const char bash_end[] = "\tesac\n"
			       "\tif [[ $current == -* ]]; then\n"
			       "\t\t_bpk_offer $options\n"
			       "\telif [[ -n $words && ${#given[@]} -eq 1 ]]; then\n"
			       "\t\t_bpk_offer $words\n"
			       "\telif [[ -n $first && ${#given[@]} -gt $first ]]; then\n"
			       "\t\tcompopt -o default\n"
			       "\telse\n"
			       "\t\t$operands\n"
			       "\tfi\n}\n\n";

void bpk_gendoc_bash(FILE *out)
{
	fprintf(out, "# bash completion of %s\n%s\n%s\n_%s()\n{\n", bpk_program->name, made_by,
		bash_helpers, identifier());
	fputs("\tlocal line current kept quote others word before stem= given=() IFS=$' \\t\\n' "
	      "takers='",
	      out);
	put_takers(out, bpk_program->main);
	fputs(bash_begin, out);
	put_bash_command(out, bpk_program->main);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		put_bash_command(out, *each);
	fputs(bash_end, out);
	fprintf(out, "complete -F _%s %s\n", identifier(), bpk_program->name);
}

/* ---- zsh ---- */

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
	const struct bpk_opt *row = with_words(opt);

	if (!bpk_opt_takes_argument(opt))
		return;
	fputc(':', out);
	put_quoted(out, opt->metavar, ":[]");
	fputc(':', out);
	if (bpk_opt_word(row, 0) != NULL) {
		fputs(takes_list(row) ? "_sequence compadd - " : "(", out);
		put_words(out, row);
		fputs(takes_list(row) ? "" : ")", out);
	} else if (takes_array(opt)) {
		fputs("_bpk_arrays", out);
	} else if (takes_path(opt)) {
		fprintf(out, "_files%s", opt->type == OPT_FILE ? "" : " -/");
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

static void put_zsh_operands(FILE *out, const struct bpk_command *command)
{
	if (takes_archives(command)) {
		fprintf(out, "\t\t\t'%s:archive:_bpk_archives - ",
			command->operands != OPERANDS_ARCHIVE_FIRST ? "*"
			: command->words == NULL                    ? "1"
								    : "2");
		put_suffixes(out, command);
		fputs(command->operands == OPERANDS_ARCHIVE_FIRST ? "' \\\n" : "' ;;\n", out);
	}
	if (command->operands == OPERANDS_COMMANDS)
		fprintf(out, "\t\t\t'1:command:_%s_commands' ;;\n", identifier());
	else if (command->operands == OPERANDS_NONE)
		fputs("\t\t\t'*: : ' ;;\n", out);
	else if (command->operands == OPERANDS_FILES || command->operands == OPERANDS_ARCHIVE_FIRST)
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
	const char *name = identifier();

	fprintf(out, "#compdef %s\n%s\n%s\n_%s_commands() {\n\tlocal -a commands=(\n",
		bpk_program->name, made_by, zsh_helpers, name);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		fprintf(out, "\t\t'%s:", (*each)->name);
		put_quoted(out, (*each)->summary, ":");
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

/* ---- fish ---- */

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
	const struct bpk_opt *row = with_words(opt);

	fprintf(out, "complete -c %s -n '__bpk_is %s'", bpk_program->name,
		command->name == NULL ? "\"\"" : command->name);
	if (opt->letter != 0 && opt->type != OPT_DIGITS)
		fprintf(out, " -s %c", opt->letter);
	if (opt->name != NULL)
		fprintf(out, " -l %s", opt->name);
	if (bpk_opt_word(row, 0) != NULL) {
		fputs(takes_list(row) ? " -x -a '(__fish_append , " : " -x -a '", out);
		put_words(out, row);
		fputs(takes_list(row) ? ")'" : "'", out);
	} else if (takes_array(opt)) {
		fputs(" -x -a '(__bpk_arrays)'", out);
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
	const char *name = bpk_program->name;

	if (command->words != NULL)
		fprintf(out, "complete -c %s -n '__bpk_is %s 1' -f -a '%s'\n", name, command->name,
			command->words);
	if (takes_archives(command)) {
		const char *number = command->operands != OPERANDS_ARCHIVE_FIRST ? ""
				     : command->words == NULL                    ? " 1"
										 : " 2";

		fprintf(out, "complete -c %s -n '__bpk_is %s%s; and __bpk_archives ", name,
			command->name, number);
		put_suffixes(out, command);
		fputs(" >/dev/null' -f -a '(__bpk_archives ", out);
		put_suffixes(out, command);
		fputs(")'\n", out);
	}
	if (command->operands != OPERANDS_NONE && command->operands != OPERANDS_COMMANDS)
		return;
	fprintf(out, "complete -c %s -n '__bpk_is %s' -f", name, command->name);
	if (command->operands == OPERANDS_COMMANDS) {
		fputs(" -a '", out);
		put_command_names(out);
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
		bpk_program->name, made_by);
	put_takers(out,
		   bpk_program_team.main); /* the files of both programs have equal functions */
	fprintf(out, "\nend\n\n%s\n", fish_helpers);
	put_fish_options(out, bpk_program->main);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		fprintf(out, "complete -c %s -n '__bpk_is \"\"' -f -a %s -d '", bpk_program->name,
			(*each)->name);
		put_quoted(out, (*each)->summary, "");
		fputs("'\n", out);
	}
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		put_fish_operands(out, *each);
		put_fish_options(out, *each);
	}
}
