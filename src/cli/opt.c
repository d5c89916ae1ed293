/* Parses options with getopt_long by the rows of a command, and the environment by the same rows.
 * main.c calls it for every command. */
#include "cli/opt.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "flow/flow.h"

enum {
	MAX_OPTIONS = 64,
	MAX_PERCENT = 1000,
	LONG_BASE = 256, /* getopt's values of long names lie above all letters */
};

const char *bpk_opt_group_title(enum bpk_opt_group group)
{
	static const char *const titles[BPK_OPT_GROUPS] = {
		[GROUP_WORK] = "What is done",
		[GROUP_OUTPUT] = "Where the result goes",
		[GROUP_RUN] = "How it runs",
	};

	return titles[group];
}

bool bpk_opt_takes_argument(const struct bpk_opt *opt)
{
	return opt->metavar != NULL;
}

/* ---- words ---- */

/* Number index of the formats that can be read, or written. */
static const char *format_word(bool read, size_t index)
{
	for (size_t i = 0; bpk_formats[i] != NULL; i++) {
		bool can = read ? bpk_formats[i]->reader != NULL : bpk_formats[i]->writer != NULL;

		if (can && index-- == 0)
			return bpk_formats[i]->name;
	}
	return NULL;
}

/* Number index of the layouts of all formats. */
static const char *layout_word(size_t index)
{
	for (size_t i = 0; bpk_formats[i] != NULL; i++) {
		const char *const *layout = bpk_formats[i]->layouts;

		for (; layout != NULL && *layout != NULL; layout++)
			if (index-- == 0)
				return *layout;
	}
	return NULL;
}

static const char *codec_word(size_t index)
{
	const struct bpk_codec *codec = bpk_codec_at(index);

	return codec == NULL ? NULL : bpk_codec_name(codec);
}

const char *bpk_opt_word(const struct bpk_opt *opt, size_t index)
{
	static const char *const when[] = { "auto", "always", "never", NULL };

	switch (opt->type) {
	case OPT_CODEC:
	case OPT_CODECS:
		return codec_word(index);
	case OPT_FILTER:
		return index == 0 ? "auto" : bpk_filter_at(index - 1);
	case OPT_CHECKSUM:
		return bpk_checksums[index].name;
	case OPT_FORMAT_READ:
	case OPT_FORMAT_WRITE:
		return format_word(opt->type == OPT_FORMAT_READ, index);
	case OPT_LAYOUT:
		return layout_word(index);
	case OPT_WHEN:
		return when[index];
	default:
		return NULL;
	}
}

/* What an option's words name. */
static const char *kind_of(const struct bpk_opt *opt)
{
	switch (opt->type) {
	case OPT_CODEC:
	case OPT_CODECS:
		return "codec";
	case OPT_FILTER:
		return "filter";
	case OPT_CHECKSUM:
		return "checksum";
	case OPT_FORMAT_READ:
	case OPT_FORMAT_WRITE:
		return "format";
	case OPT_LAYOUT:
		return "layout";
	default:
		return "word";
	}
}

/* Index of text among an option's words; -1 and a report if it is missing. */
static int find_word(const struct bpk_opt *opt, const char *text, size_t *found,
		     struct bpk_err *err)
{
	struct bpk_nearest nearest = { .word = text };
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; bpk_opt_word(opt, i) != NULL; i++) {
		const char *word = bpk_opt_word(opt, i);

		if (strcmp(word, text) == 0) {
			*found = i;
			return 0;
		}
		bpk_nearest_offer(&nearest, word);
		if (used < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
						 i > 0 ? ", " : "", word);
	}
	if (nearest.best != NULL)
		return bpk_fail(err, BPK_USAGE, "unknown %s '%s', did you mean '%s'?", kind_of(opt),
				text, nearest.best);
	return bpk_fail(err, BPK_USAGE, "unknown %s '%s', expected one of %s", kind_of(opt), text,
			list);
}

/* ---- values ---- */

static int set_word(const struct bpk_opt *opt, const char *text, void *value, struct bpk_err *err)
{
	size_t i;

	if (find_word(opt, text, &i, err) != 0)
		return -1;
	switch (opt->type) {
	case OPT_CODEC:
		*(const struct bpk_codec **)value = bpk_codec_at(i);
		break;
	case OPT_CHECKSUM:
		*(const struct bpk_checksum **)value = &bpk_checksums[i];
		break;
	case OPT_LAYOUT:
		*(const char **)value = bpk_opt_word(opt, i);
		break;
	case OPT_WHEN:
		*(enum bpk_when *)value = (enum bpk_when)i;
		break;
	default:
		*(const struct bpk_format **)value = bpk_format_find(text);
		break;
	}
	return 0;
}

/* "lz4,zstd". */
static int set_codecs(const struct bpk_opt *opt, const char *text, unsigned *value,
		      struct bpk_err *err)
{
	char word[32];
	size_t size, i;

	*value = 0;
	for (;; text += size + 1) {
		size = strcspn(text, ",");
		snprintf(word, sizeof word, "%.*s", (int)bpk_min_size(size, sizeof word), text);
		if (find_word(opt, word, &i, err) != 0)
			return -1;
		*value |= 1u << i;
		if (text[size] == '\0')
			return 0;
	}
}

/* Report a filter of the list text that has an unknown name, if a known name is near. */
static int check_filters(const struct bpk_opt *opt, const char *text, struct bpk_err *err)
{
	char name[64];

	for (;; text++) {
		struct bpk_nearest nearest = { .word = name };
		bool known = false;

		snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ",:"), text);
		for (size_t i = 0; bpk_filter_at(i) != NULL; i++) {
			known = known || strcmp(bpk_filter_at(i), name) == 0;
			bpk_nearest_offer(&nearest, bpk_filter_at(i));
		}
		if (!known && nearest.best != NULL)
			return bpk_fail(err, BPK_USAGE, "unknown %s '%s', did you mean '%s'?",
					kind_of(opt), name, nearest.best);
		text += strcspn(text, ",");
		if (*text == '\0')
			return 0;
	}
}

static int set_filter(const struct bpk_opt *opt, const char *text, struct bpk_opt_filter *value,
		      struct bpk_err *err)
{
	value->given = strcmp(text, "auto") != 0;
	if (!value->given)
		return 0;
	return check_filters(opt, text, err) == 0 ? bpk_pipeline_parse(text, &value->pipeline, err)
						  : -1;
}

static int set_small(const char *text, uint64_t min, uint64_t max, int *value, struct bpk_err *err)
{
	uint64_t number;

	if (bpk_parse_u64(text, min, max, &number, err) != 0)
		return -1;
	*value = (int)number;
	return 0;
}

static int set_typesize(const char *text, int *value, struct bpk_err *err)
{
	if (strcmp(text, "auto") == 0) {
		*value = BPK_AUTO;
		return 0;
	}
	return set_small(text, 1, BPK_CHUNK_MAX_TYPESIZE, value, err);
}

/* "64K", or "10%". */
static int set_slack(const struct bpk_opt *opt, const char *text, struct bpk_slack *slack,
		     struct bpk_err *err)
{
	size_t size = strlen(text);
	char number[16];
	uint64_t percent;

	*slack = (struct bpk_slack){ 0 };
	if (size == 0 || text[size - 1] != '%')
		return bpk_parse_size(text, 0, opt->max, &slack->bytes, err);
	if (size > sizeof number)
		return bpk_fail(err, BPK_USAGE, "'%s' is not a percentage", text);
	snprintf(number, sizeof number, "%.*s", (int)(size - 1), text);
	if (bpk_parse_u64(number, 0, MAX_PERCENT, &percent, err) != 0)
		return -1;
	slack->percent = (unsigned)percent;
	return 0;
}

static int add_text(struct bpk_opt_list *list, const char *text, struct bpk_err *err)
{
	size_t size = (list->count + 1) * sizeof *list->items;
	const char **items = realloc(list->items, size);

	if (items == NULL)
		return bpk_fail_memory(err, size);
	list->items = items;
	list->items[list->count++] = text;
	return 0;
}

int bpk_opt_set(const struct bpk_opt *opt, const char *text, void *args, struct bpk_err *err)
{
	void *value = (char *)args + opt->offset;

	switch (opt->type) {
	case OPT_FLAG:
	case OPT_UNFLAG:
		*(bool *)value = opt->type == OPT_FLAG;
		return 0;
	case OPT_COUNT:
		++*(unsigned *)value;
		return 0;
	case OPT_U64:
		return bpk_parse_u64(text, opt->min, opt->max, value, err);
	case OPT_SIZE:
		return bpk_parse_size(text, opt->min, opt->max, value, err);
	case OPT_LEVEL:
	case OPT_DIGITS:
		return set_small(text, 0, 9, value, err);
	case OPT_CODECS:
		return set_codecs(opt, text, value, err);
	case OPT_LEVELS:
		return bpk_parse_levels(text, value, err);
	case OPT_TYPESIZE:
		return set_typesize(text, value, err);
	case OPT_SLACK:
		return set_slack(opt, text, value, err);
	case OPT_RANGE:
		return bpk_parse_range(text, value, err);
	case OPT_OFFSET:
		return bpk_parse_offset(text, value, err);
	case OPT_FILTER:
		return set_filter(opt, text, value, err);
	case OPT_SHAPE:
		return bpk_parse_shape(text, value, err);
	case OPT_SLICE:
		return bpk_parse_slice(text, value, err);
	case OPT_TEXT:
		*(const char **)value = text;
		return 0;
	case OPT_FILE:
	case OPT_DIRECTORY:
		*(const char **)value = text;
		return text[0] != '\0' ? 0
				       : bpk_fail(err, BPK_USAGE, "an empty name, expected a path");
	case OPT_LIST:
		return add_text(value, text, err);
	default:
		return set_word(opt, text, value, err);
	}
}

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

/* A long name that getopt knew nothing, or too much, about. */
static int unknown_long(const struct tables *tables, const char *word, struct bpk_err *err)
{
	struct bpk_nearest nearest;
	char name[64], list[512] = "";
	size_t matches = 0, used = 0;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
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
	if (optopt >= LONG_BASE)
		return bpk_fail(err, BPK_USAGE, "option --%s takes no argument",
				tables->rows[optopt - LONG_BASE]->name);
	if (optopt != 0 && optopt == command->foreign)
		return bpk_fail(err, BPK_USAGE, "unknown option -%c; %s", optopt, command->instead);
	if (optopt != 0)
		return bpk_fail(err, BPK_USAGE, "unknown option -%c", optopt);
	return unknown_long(tables, argv[optind - 1], err);
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

			bpk_fail(err, BPK_USAGE, "'%.*s' is not a number from 0 to 9", size, p);
			return bpk_err_subject(err, "-%.*s", size, p);
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
		if (value == '?')
			return complain(&tables, command, argv, err);
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
