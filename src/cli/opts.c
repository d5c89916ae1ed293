/* Parses options with getopt_long by the rows of a command, and the environment by the same rows.
 * program.c and opts_default.c call it. */
#include "cli/opt.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/nearest.h"

enum {
	MAX_OPTIONS = 64,
	LONG_BASE = 256, /* getopt's values of long names lie above all letters */
};

int bpk_opts_from_environment(const struct bpk_command *command, void *args, struct bpk_err *err)
{
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++) {
		const char *text = (*opt)->environment != NULL ? getenv((*opt)->environment) : NULL;

		if (text == NULL || *text == '\0')
			continue;
		if (bpk_opt_set(*opt, text, args, err) != 0)
			return bpk_err_subject(err, "%s", (*opt)->environment);
	}
	return 0;
}

void bpk_opts_clear(const struct bpk_command *command, void *args)
{
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++) {
		struct bpk_opt_list *list = (void *)((char *)args + (*opt)->offset);

		if ((*opt)->type != OPT_LIST)
			continue;
		free(list->items);
		*list = (struct bpk_opt_list){ NULL, 0 };
	}
}

/* ---- getopt ---- */

/* The same rows as getopt_long wants them. */
struct tables {
	const struct bpk_opt *const *rows;
	struct option longs[MAX_OPTIONS + 1];
	char letters[3 * MAX_OPTIONS + 16];
};

static void build(struct tables *tables, const struct bpk_command *command)
{
	size_t nlongs = 0, used = 0;

	*tables = (struct tables){ .rows = command->options };
	/* '+': bpk's own options end where the command begins; ':': we report, not getopt */
	used = (size_t)sprintf(tables->letters, command->name == NULL ? "+:" : ":");
	for (size_t i = 0; tables->rows[i] != NULL; i++) {
		const struct bpk_opt *opt = tables->rows[i];
		bool argument = bpk_opt_takes_argument(opt);

		assert(i < MAX_OPTIONS);
		if (opt->type == OPT_DIGITS)
			used += (size_t)sprintf(tables->letters + used, "0123456789");
		else if (opt->letter != 0)
			used += (size_t)sprintf(tables->letters + used, "%c%s", opt->letter,
						argument ? ":" : "");
		if (opt->name != NULL)
			tables->longs[nlongs++] = (struct option){
				.name = opt->name,
				.has_arg = argument ? required_argument : no_argument,
				.val = LONG_BASE + (int)i,
			};
	}
}

/* The row for a value of getopt; NULL if there is no such row. */
static const struct bpk_opt *row_of(const struct tables *tables, int value)
{
	if (value >= LONG_BASE)
		return tables->rows[value - LONG_BASE];
	for (size_t i = 0; tables->rows[i] != NULL; i++) {
		const struct bpk_opt *opt = tables->rows[i];
		bool digit = opt->type == OPT_DIGITS && value >= '0' && value <= '9';

		if (digit || (opt->letter != 0 && opt->letter == value))
			return opt;
	}
	return NULL;
}

/* Put the option as it was written in front of a report: "--codec" or "-T". */
static int subject(const struct bpk_opt *opt, int value, struct bpk_err *err)
{
	if (value >= LONG_BASE)
		return bpk_err_subject(err, "--%s", opt->name);
	return bpk_err_subject(err, "-%c", value);
}

/* The level to give instead of a name that gzip and its kin have; NULL: another name, or a command
 * without levels. */
static const char *level_of_kin(const struct tables *tables, const char *name)
{
	bool has_levels = false;

	for (size_t i = 0; tables->rows[i] != NULL; i++)
		has_levels = has_levels || tables->rows[i]->type == OPT_DIGITS;
	if (!has_levels)
		return NULL;
	if (strcmp(name, "best") == 0 || strcmp(name, "ultra") == 0)
		return "-9, the smallest result";
	return strcmp(name, "fast") == 0 ? "-1, the fastest with codec zstd" : NULL;
}

/* The words for an option of a like program, by its letter or its name; NULL: it is unknown. */
static const char *find_foreign(const struct bpk_command *command, int letter, const char *name)
{
	for (const struct bpk_foreign *f = command->foreign; f != NULL && f->letter != 0; f++)
		if (f->letter == letter ||
		    (name != NULL && f->name != NULL && strcmp(f->name, name) == 0))
			return f->instead;
	return NULL;
}

/* A long name that getopt knew nothing, or too much, about. */
static int unknown_long(const struct tables *tables, const struct bpk_command *command,
			const char *word, struct bpk_err *err)
{
	struct bpk_nearest nearest;
	char name[64], list[512] = "";
	const char *level, *instead;
	size_t matches = 0, used = 0;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
	level = level_of_kin(tables, name);
	if (level != NULL)
		return bpk_fail(err, BPK_USAGE, "unknown option --%s, use %s", name, level);
	instead = find_foreign(command, 0, name);
	if (instead != NULL)
		return bpk_fail(err, BPK_USAGE, "unknown option --%s; %s", name, instead);
	nearest = (struct bpk_nearest){ .word = name };
	for (size_t i = 0; tables->longs[i].name != NULL; i++) {
		bpk_nearest_offer(&nearest, tables->longs[i].name);
		if (strncmp(tables->longs[i].name, name, strlen(name)) != 0)
			continue;
		if (used < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s",
						 matches > 0 ? ", " : "", tables->longs[i].name);
		matches++;
	}
	if (matches > 1)
		return bpk_fail(err, BPK_USAGE, "option --%s is ambiguous: %s", name, list);
	if (nearest.best != NULL)
		return bpk_fail(err, BPK_USAGE, "unknown option --%s, did you mean --%s?", name,
				nearest.best);
	return bpk_fail(err, BPK_USAGE, "unknown option --%s", name);
}

/* getopt returned '?': optopt is 0 for a long name, its value for an argument too many. */
static int complain(const struct tables *tables, const struct bpk_command *command, char **argv,
		    struct bpk_err *err)
{
	const char *instead;

	if (optopt >= LONG_BASE)
		return bpk_fail(err, BPK_USAGE, "option --%s takes no argument",
				tables->rows[optopt - LONG_BASE]->name);
	instead = optopt != 0 ? find_foreign(command, optopt, NULL) : NULL;
	if (instead != NULL)
		return bpk_fail(err, BPK_USAGE, "unknown option -%c; %s", optopt, instead);
	if (optopt != 0)
		return bpk_fail(err, BPK_USAGE, "unknown option -%c", optopt);
	return unknown_long(tables, command, argv[optind - 1], err);
}

/* The word that getopt complained about, or has just passed, may be the name of a file. */
static int add_file(char **argv, struct bpk_err *err)
{
	const char *const words[] = { argv[optind], argv[optind - 1] };
	struct bpk_err plain = *err;

	for (size_t i = 0; i < 2; i++)
		if (words[i] != NULL && words[i][0] == '-' && words[i][1] != '\0' &&
		    access(words[i], F_OK) == 0)
			return bpk_fail(err, plain.kind, "%s; the file is ./%s", plain.text,
					words[i]);
	return -1;
}

/* The first of two digits of a level in word, as in "-10" and "-v12"; NULL if there are none.
 * getopt returns them as two levels. Digits of an argument, as in "-T10", are passed over. */
static const char *two_digits(const struct tables *tables, const char *word)
{
	const char *p = word;

	if (word == NULL || *p++ != '-' || *p == '-')
		return NULL;
	for (; *p != '\0'; p++) {
		const struct bpk_opt *opt = row_of(tables, (unsigned char)*p);

		if (opt == NULL || bpk_opt_takes_argument(opt))
			return NULL;
		if (opt->type == OPT_DIGITS && p[1] >= '0' && p[1] <= '9')
			return p;
	}
	return NULL;
}

/* Refuse a second digit of a level in one word: the one that optind is at, or has just passed. */
static int check_digits(const struct tables *tables, char **argv, int before, int value,
			struct bpk_err *err)
{
	const char *const words[] = { argv[optind - 1], argv[optind] };

	for (size_t i = 0; i < 2; i++) {
		const char *p = two_digits(tables, words[i]);

		if (p != NULL && p[0] == before && p[1] == value) {
			int size = (int)strspn(p, "0123456789");

			return bpk_fail(err, BPK_USAGE, "levels go from -0 to -9, not to -%.*s",
					size, p);
		}
	}
	return 0;
}

static int take(const struct tables *tables, int value, void *args, struct bpk_err *err)
{
	const struct bpk_opt *opt = row_of(tables, value);
	const char digit[2] = { (char)value, '\0' };
	const char *text = opt->type == OPT_DIGITS ? digit : optarg;

	if (bpk_opt_set(opt, text, args, err) != 0)
		return subject(opt, value, err);
	return 0;
}

int bpk_opts_parse(const struct bpk_command *command, int argc, char **argv, void *args,
		   int *first_operand, struct bpk_err *err)
{
	struct tables tables;
	int value, before = 0;

	build(&tables, command);
	opterr = 0;
	optind = 0; /* glibc and musl: start again, also after another table */
	while ((value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1) {
		if (value == '?') {
			(void)complain(&tables, command, argv, err);
			return add_file(argv, err);
		}
		if (value == ':') {
			bpk_fail(err, BPK_USAGE, "needs an argument");
			return subject(row_of(&tables, optopt), optopt, err);
		}
		if (check_digits(&tables, argv, before, value, err) != 0 ||
		    take(&tables, value, args, err) != 0)
			return -1;
		before = value;
	}
	*first_operand = optind;
	return 0;
}
