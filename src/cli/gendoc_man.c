/* Writes the generated parts of manual pages: SYNOPSIS, OPTIONS, ENVIRONMENT, EXIT STATUS and
 * lists. gendoc.c calls it. */
#include "cli/gendoc.h"

#include <ctype.h>
#include <stdlib.h>

#include <config.h>

#include "cli/report.h"

/* Plain text for roff: hyphens that are minus signs, backslashes, no line that begins a request. */
static void put_text(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text != '\0'; text++) {
		if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\\')
			fputs("\\e", out);
		else
			fputc(*text, out);
	}
}

static void put_font(FILE *out, char font, const char *text)
{
	fprintf(out, "\\f%c", font);
	put_text(out, text);
	fputs("\\fR", out);
}

/* A table's line of help as a sentence. */
static void put_sentence(FILE *out, const char *text)
{
	fputc(toupper((unsigned char)*text), out);
	put_text(out, text + 1);
	fputs(".\n", out);
}

/* ---- OPTIONS ---- */

static void put_option_names(FILE *out, const struct bpk_opt *opt)
{
	char letter[3] = { '-', opt->letter, '\0' };

	if (opt->type == OPT_DIGITS) {
		fputs("\\fB\\-0\\fR ... \\fB\\-9\\fR\n", out);
		return;
	}
	if (opt->letter != 0)
		put_font(out, 'B', letter);
	if (opt->letter != 0 && opt->name != NULL)
		fputs(", ", out);
	if (opt->name != NULL) {
		fputs("\\fB\\-\\-", out);
		put_text(out, opt->name);
		fputs("\\fR", out);
	}
	if (opt->metavar != NULL) {
		fputs(opt->name != NULL ? "=" : " ", out);
		put_font(out, 'I', opt->metavar);
	}
	fputc('\n', out);
}

static void put_words(FILE *out, const struct bpk_opt *opt)
{
	if (bpk_opt_word(opt, 0) == NULL)
		return;
	put_font(out, 'I', opt->metavar);
	fputs(" is one of", out);
	for (size_t i = 0; bpk_opt_word(opt, i) != NULL; i++) {
		fputs(i == 0 ? " " : ", ", out);
		put_font(out, 'B', bpk_opt_word(opt, i));
	}
	fputs(".\n", out);
}

static void put_option(FILE *out, const struct bpk_opt *opt)
{
	fputs(".TP\n", out);
	put_option_names(out, opt);
	put_sentence(out, opt->help);
	if (opt->more != NULL) {
		put_text(out, opt->more);
		fputc('\n', out);
	}
	put_words(out, opt);
}

static unsigned count_in_group(const struct bpk_command *command, enum bpk_opt_group group)
{
	unsigned count = 0;

	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++)
		count += (*opt)->group == group;
	return count;
}

static void put_options(FILE *out, const struct bpk_command *command)
{
	for (enum bpk_opt_group group = 0; group < BPK_OPT_GROUPS; group++) {
		if (count_in_group(command, group) == 0)
			continue;
		fprintf(out, ".SS \"%s\"\n", bpk_opt_group_title(group));
		for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++)
			if ((*opt)->group == group)
				put_option(out, *opt);
	}
}

/* ---- the other parts ---- */

/* "[OPTION]... FILE": placeholders in italics, literal words in bold. */
static void put_name(FILE *out, const struct bpk_command *command)
{
	fputs("\\fB", out);
	put_text(out, bpk_program->name);
	fprintf(out, "%s%s\\fR ", command->name == NULL ? "" : " ",
		command->name == NULL ? "" : command->name);
}

static void put_synopsis(FILE *out, const struct bpk_command *command)
{
	char font = 'R';

	put_name(out, command);
	for (const char *c = command->synopsis; *c != '\0'; c++) {
		char wanted = isupper((unsigned char)*c)                ? 'I'
			      : islower((unsigned char)*c) || *c == '-' ? 'B'
									: 'R';
		char one[2] = { *c, '\0' };

		if (*c == '\n') {
			fputs("\\fR\n.br\n", out);
			put_name(out, command);
			font = 'R';
			continue;
		}
		if (wanted != font)
			fprintf(out, "\\f%c", font = wanted);
		put_text(out, one);
	}
	fputs("\\fR\n", out);
}

static void put_commands(FILE *out, const struct bpk_command *command)
{
	(void)command;
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++) {
		fprintf(out, ".TP\n.BR bpk\\-%s (1)\n", (*each)->name);
		put_sentence(out, (*each)->summary);
	}
}

static void put_exit_status(FILE *out, const struct bpk_command *command)
{
	(void)command;
	for (const struct bpk_exit *row = bpk_exits; row->meaning != NULL; row++) {
		fprintf(out, ".TP\n.B %d\n", row->status);
		put_sentence(out, row->meaning);
	}
	fputs(".TP\n.BI 128+ N\nEnded by signal\n.IR N .\n", out);
	fputs(".PP\nOver several files the worst counts, in the order 2, 3, 4, 5, 1; 64 and "
	      "70 end at once.\n",
	      out);
}

static bool names_variable(const struct bpk_command *command, const char *variable)
{
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++)
		if ((*opt)->environment != NULL && strcmp((*opt)->environment, variable) == 0)
			return true;
	return false;
}

static void put_variable(FILE *out, const struct bpk_opt *opt)
{
	fprintf(out, ".TP\n.B %s\n", opt->environment);
	fputs("The default of \\fB\\-\\-", out);
	put_text(out, opt->name);
	fputs("\\fR.\n", out);
}

/* The variables of command that no command before it in the table has, or all of them. */
static void put_variables(FILE *out, const struct bpk_command *command, bool only_new)
{
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++) {
		const struct bpk_command *const *before = bpk_program->commands;

		if ((*opt)->environment == NULL)
			continue;
		while (*before != command && !names_variable(*before, (*opt)->environment))
			before++;
		if (*before == command || !only_new)
			put_variable(out, *opt);
	}
}

static void put_environment(FILE *out, const struct bpk_command *command)
{
	if (command != bpk_program->main) {
		put_variables(out, command, false);
		fputs(".TP\n.B BPK_OPTIONS\nOptions before those of the command line; see\n"
		      ".BR bpk (1).\n",
		      out);
		return;
	}
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		put_variables(out, *each, true);
}

static void put_see_also(FILE *out, const struct bpk_command *command)
{
	if (command != &bpk_command_main)
		fputs(".BR bpk (1),\n", out);
	for (const struct bpk_command *const *each = bpk_program->commands; *each != NULL; each++)
		if (*each != command)
			fprintf(out, ".BR bpk\\-%s (1),\n", (*each)->name);
	if (command != &bpk_command_team)
		fputs(".BR bpk\\-mpi (1),\n", out);
	fputs(".BR bpk\\-formats (5),\n.BR bpk\\-remote (7)\n", out);
}

static const struct part {
	const char *marker;
	void (*put)(FILE *out, const struct bpk_command *command);
} parts[] = {
	{ "@SYNOPSIS@\n", put_synopsis },       { "@OPTIONS@\n", put_options },
	{ "@COMMANDS@\n", put_commands },       { "@EXIT_STATUS@\n", put_exit_status },
	{ "@ENVIRONMENT@\n", put_environment }, { "@SEE_ALSO@\n", put_see_also },
};

static int put_part(FILE *out, const struct bpk_command *command, const char *marker)
{
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (strcmp(parts[i].marker, marker) == 0) {
			parts[i].put(out, command);
			return 0;
		}
	}
	fprintf(stderr, "gendoc: unknown marker %s", marker);
	return -1;
}

static void put_line(FILE *out, const char *line)
{
	static const char version[] = "@VERSION@";
	const char *found = strstr(line, version);

	if (found == NULL)
		fputs(line, out);
	else
		fprintf(out, "%.*s%s%s", (int)(found - line), line, PACKAGE_VERSION,
			found + sizeof version - 1);
}

int bpk_gendoc_man(const struct bpk_command *command, FILE *template, FILE *out)
{
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	fputs(".\\\" Made by gendoc from the tables of options and from the template of this name; "
	      "edit those.\n",
	      out);
	while (rc == 0 && getline(&line, &room, template) >= 0) {
		if (line[0] == '@')
			rc = put_part(out, command, line);
		else
			put_line(out, line);
	}
	free(line);
	return rc;
}
