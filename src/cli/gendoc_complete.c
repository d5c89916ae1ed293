/* The parts that the completions of all shells share. See gendoc_complete.h. */
#include "cli/gendoc_complete.h"

#include <string.h>

const char bpk_complete_made_by[] =
	"# Made by gendoc from the tables of commands and options; edit those.\n";

bool bpk_complete_takes_path(const struct bpk_opt *opt)
{
	return opt->type == OPT_FILE || opt->type == OPT_DIRECTORY;
}

bool bpk_complete_takes_list(const struct bpk_opt *opt)
{
	return opt->type == OPT_FILTER || opt->type == OPT_CODECS;
}

const struct bpk_opt *bpk_complete_row(const struct bpk_opt *opt)
{
	static const struct bpk_opt filter = { .type = OPT_FILTER };

	return opt->type == OPT_LIST && strcmp(opt->name, "filter") == 0 ? &filter : opt;
}

bool bpk_complete_takes_array(const struct bpk_opt *opt)
{
	return opt->type == OPT_TEXT && strcmp(opt->name, "name") == 0;
}

void bpk_complete_put_quoted(FILE *out, const char *text, const char *escaped)
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

void bpk_complete_put_words(FILE *out, const struct bpk_opt *opt)
{
	for (size_t i = 0; bpk_opt_word(opt, i) != NULL; i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", bpk_opt_word(opt, i));
}

bool bpk_complete_takes_archives(const struct bpk_command *command)
{
	return command->operands == OPERANDS_ARCHIVES || command->operands == OPERANDS_CONTENT ||
	       command->operands == OPERANDS_ARCHIVE_FIRST;
}

const char *bpk_complete_archive_first(const struct bpk_command *command)
{
	if (command->operands != OPERANDS_ARCHIVE_FIRST)
		return NULL;
	return command->words == NULL ? "1" : "2";
}

void bpk_complete_put_suffixes(FILE *out, const struct bpk_command *command)
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

void bpk_complete_put_command_names(FILE *out)
{
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		fprintf(out, "%s%s", each == bpk_program->commands ? "" : " ", (*each)->name);
}

void bpk_complete_put_takers(FILE *out, const struct bpk_command *main)
{
	for (const struct bpk_opt *const *opt = main->options; *opt != NULL; opt++)
		if (bpk_opt_takes_argument(*opt))
			fprintf(out, " --%s", (*opt)->name);
}

const char *bpk_complete_identifier(void)
{
	return bpk_program == &bpk_program_team ? "bpk_mpi" : "bpk";
}
