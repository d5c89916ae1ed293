/* Writes the completion of bash from the tables. gendoc.c calls it. */
#include "cli/gendoc_complete.h"

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
	const struct bpk_opt *row = bpk_complete_row(opt);

	fputs("\t\t", out);
	put_bash_names(out, opt);
	if (bpk_opt_word(row, 0) != NULL) {
		fprintf(out, ") _bpk_%s ", bpk_complete_takes_list(row) ? "list" : "offer");
		bpk_complete_put_words(out, row);
		fputs("; return ;;\n", out);
	} else if (bpk_complete_takes_array(opt)) {
		fputs(") _bpk_arrays; return ;;\n", out);
	} else if (bpk_complete_takes_path(opt)) {
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
		bpk_complete_put_command_names(out);
	} else if (bpk_complete_takes_archives(command)) {
		fputs("_bpk_archives ", out);
		bpk_complete_put_suffixes(out, command);
	} else if (command->operands != OPERANDS_NONE) {
		fputs("compopt -o default", out);
	}
	fputs("' ;;\n", out);
}

static void put_bash_command(FILE *out, const struct bpk_command *command)
{
	const char *number = bpk_complete_archive_first(command);
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
	if (number != NULL)
		fprintf(out, "\t\tfirst=%s\n", number);
	put_bash_operands(out, command);
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
	fprintf(out, "# bash completion of %s\n%s\n%s\n_%s()\n{\n", bpk_program->name,
		bpk_complete_made_by, bash_helpers, bpk_complete_identifier());
	fputs("\tlocal line current kept quote others word before stem= given=() IFS=$' \\t\\n' "
	      "takers='",
	      out);
	bpk_complete_put_takers(out, bpk_program->main);
	fputs(bash_begin, out);
	put_bash_command(out, bpk_program->main);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		put_bash_command(out, *each);
	fputs(bash_end, out);
	fprintf(out, "complete -F _%s %s\n", bpk_complete_identifier(), bpk_program->name);
}
