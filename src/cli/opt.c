/* Sets one option from its text, by its row. opts.c, help.c and the generators of documents call
 * it. */
#include "cli/opt.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "flow/flow.h"

enum { MAX_PERCENT = 1000 };

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
	static const char *const fill[] = { "zero", "skip", "nan", NULL };

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
	case OPT_FILL:
		return opt->max > 0 && index >= opt->max ? NULL : fill[index];
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
	case OPT_FILL:
		*(enum bpk_fill *)value = (enum bpk_fill)(i + 1);
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
	case OPT_TIME:
		return bpk_parse_time(text, opt->min, opt->max, value, err);
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
	case OPT_PART:
		return bpk_parse_part(text, opt->max, value, err);
	case OPT_OFFSET:
		return bpk_parse_offset(text, value, err);
	case OPT_FILTER:
		return set_filter(opt, text, value, err);
	case OPT_SHAPE:
		return bpk_parse_shape(text, value, err);
	case OPT_SLICE:
		return bpk_parse_slice(text, value, err);
	case OPT_TEXT:
		if (opt->once && *(const char **)value != NULL)
			return bpk_fail(err, BPK_USAGE, "can be given only once");
		*(const char **)value = text;
		return 0;
	case OPT_FILE:
	case OPT_DIRECTORY:
		*(const char **)value = text;
		return text[0] != '\0' ? 0
				       : bpk_fail(err, BPK_USAGE, "an empty name, expected a path");
	case OPT_SHARE:
		return bpk_parse_share(text, value, err);
	case OPT_LIST:
		return add_text(value, text, err);
	default:
		return set_word(opt, text, value, err);
	}
}
