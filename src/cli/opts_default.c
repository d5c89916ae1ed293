/* The options in BPK_OPTIONS, which stand before those of the command line. program.c calls it. */
#include "cli/opt.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/nearest.h"

static const char variable[] = "BPK_OPTIONS";

/* The words of the variable on their way into options of one command. */
struct defaults {
	const struct bpk_command *command;
	char *rest;  /* that was not looked at yet; words end in 0 */
	char **argv; /* the words that the command takes, behind its name */
	int argc;
};

/* The next word, or NULL. There are no quotes. */
static char *next_word(struct defaults *d)
{
	char *word = d->rest + strspn(d->rest, " \t\n");
	size_t size = strcspn(word, " \t\n");

	d->rest = word + size;
	if (size == 0)
		return NULL;
	if (*d->rest != '\0')
		*d->rest++ = '\0';
	return word;
}

/* ---- the rows ---- */

/* The row of a long name of size bytes or, where name is NULL, of a letter. */
static const struct bpk_opt *row_in(const struct bpk_command *command, const char *name,
				    size_t size, char letter)
{
	for (const struct bpk_opt *const *opt = command->options; *opt != NULL; opt++) {
		bool digit = (*opt)->type == OPT_DIGITS && letter >= '0' && letter <= '9';

		if (name == NULL && letter != '\0' && (digit || (*opt)->letter == letter))
			return *opt;
		if (name != NULL && (*opt)->name != NULL && strlen((*opt)->name) == size &&
		    memcmp((*opt)->name, name, size) == 0)
			return *opt;
	}
	return NULL;
}

/* The row of the command, or else of the first command that knows the option; NULL: none does. */
static const struct bpk_opt *find_row(const struct defaults *d, const char *name, size_t size,
				      char letter, bool *own)
{
	const struct bpk_opt *row = row_in(d->command, name, size, letter);

	*own = row != NULL;
	for (size_t i = 0; row == NULL && bpk_commands[i] != NULL; i++)
		row = row_in(bpk_commands[i], name, size, letter);
	return row;
}

static int fail_long(const char *name, size_t size, struct bpk_err *err)
{
	char word[64];
	struct bpk_nearest nearest = { .word = word };

	snprintf(word, sizeof word, "%.*s", (int)bpk_min_size(size, sizeof word), name);
	for (size_t i = 0; bpk_commands[i] != NULL; i++)
		for (const struct bpk_opt *const *opt = bpk_commands[i]->options; *opt != NULL;
		     opt++)
			if ((*opt)->name != NULL)
				bpk_nearest_offer(&nearest, (*opt)->name);
	return nearest.best != NULL
		       ? bpk_fail(err, BPK_USAGE, "unknown option --%s, did you mean --%s?", word,
				  nearest.best)
		       : bpk_fail(err, BPK_USAGE, "unknown option --%s", word);
}

/* ---- the words ---- */

/* The argument of a row that is the next word. */
static int take_argument(struct defaults *d, bool own, const char *option, struct bpk_err *err)
{
	char *argument = next_word(d);

	if (argument == NULL)
		return bpk_fail(err, BPK_USAGE, "%s needs an argument", option);
	if (own)
		d->argv[d->argc++] = argument;
	return 0;
}

static int take_long(struct defaults *d, char *word, struct bpk_err *err)
{
	size_t size = strcspn(word + 2, "=");
	const struct bpk_opt *row;
	bool own;

	if (size == 0)
		return bpk_fail(err, BPK_USAGE, "'%s' is not an option", word);
	row = find_row(d, word + 2, size, '\0', &own);
	if (row == NULL)
		return fail_long(word + 2, size, err);
	if (own)
		d->argv[d->argc++] = word;
	return bpk_opt_takes_argument(row) && word[2 + size] == '\0'
		       ? take_argument(d, own, word, err)
		       : 0;
}

/* A word of letters, such as -qT4: those of other commands are taken out of it. */
static int take_letters(struct defaults *d, char *word, struct bpk_err *err)
{
	const struct bpk_opt *row = NULL;
	char *kept = word + 1, last[] = "-x";
	bool own = false;

	for (const char *p = word + 1; *p != '\0'; p++) {
		last[1] = *p;
		row = find_row(d, NULL, 0, *p, &own);
		if (row == NULL)
			return bpk_fail(err, BPK_USAGE, "unknown option %s", last);
		if (own)
			*kept++ = *p;
		if (!bpk_opt_takes_argument(row))
			continue;
		if (p[1] == '\0')
			break;
		if (own) {
			memmove(kept, p + 1, strlen(p + 1));
			kept += strlen(p + 1);
		}
		row = NULL; /* it has its argument */
		break;
	}
	*kept = '\0';
	if (kept > word + 1)
		d->argv[d->argc++] = word;
	return row != NULL && bpk_opt_takes_argument(row) ? take_argument(d, own, last, err) : 0;
}

static int take_words(struct defaults *d, struct bpk_err *err)
{
	char *word;

	while ((word = next_word(d)) != NULL) {
		bool is_option = word[0] == '-' && word[1] != '\0';

		if (!is_option)
			return bpk_fail(err, BPK_USAGE, "'%s' is not an option", word);
		if ((word[1] == '-' ? take_long : take_letters)(d, word, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_opts_from_defaults(const struct bpk_command *command, void *args, char **kept,
			   struct bpk_err *err)
{
	struct defaults d = { .command = command };
	const char *text = getenv(variable);
	int first, rc;

	*kept = NULL;
	if (text == NULL || *text == '\0')
		return 0;
	*kept = d.rest = bpk_strdup(text, err);
	/* a word has two bytes at least, with the blank behind it */
	d.argv = *kept != NULL ? bpk_calloc(strlen(text) / 2 + 3, sizeof *d.argv, err) : NULL;
	if (d.argv == NULL)
		return -1;
	d.argv[d.argc++] = (char *)command->name;
	rc = take_words(&d, err);
	if (rc == 0)
		rc = bpk_opts_parse(command, d.argc, d.argv, args, &first, err);
	free(d.argv);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", variable);
}
