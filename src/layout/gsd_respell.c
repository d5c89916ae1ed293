/*
 * Salvage of GSD files: a list of names of which one is damaged, and names that are made up. The
 * others of such a list keep their numbers if it has as many as the entries use; so it is told
 * whether a byte 0 between two names was lost, or one came into a name. Called by gsd_relist.c.
 */
#include "layout/gsd_found.h"

#include <stdlib.h>

/* ---- A list with a damaged name ---- */

bool bpk_gsd_is_name(struct bpk_view name)
{
	return name.size > 0 && name.size <= BPK_GSD_MAX_NAME &&
	       bpk_gsd_text_size(name) == name.size;
}

/* The text at *at; *at moves to the next one. */
static struct bpk_view next_text(struct bpk_view bytes, bool packed, size_t *at)
{
	struct bpk_view text = bpk_view(bytes.data + *at, bytes.size - *at);
	size_t most = packed ? text.size : bpk_min_size(text.size, BPK_GSD_SEGMENT);

	text.size = strnlen((const char *)text.data, most);
	*at += packed ? bpk_min_size(text.size + 1, most) : most;
	return text;
}

struct survey {
	uint32_t count;
	uint32_t nbad;       /* of them no names */
	struct bpk_view bad; /* the last of these */
	bool is_last;        /* it is the last of all */
};

static struct survey survey_texts(struct bpk_view bytes, bool packed)
{
	struct survey survey = { 0 };

	for (size_t at = 0; at < bytes.size; survey.count++) {
		struct bpk_view text = next_text(bytes, packed, &at);

		survey.is_last = !bpk_gsd_is_name(text);
		survey.nbad += survey.is_last;
		if (survey.is_last)
			survey.bad = text;
	}
	return survey;
}

/* How the damaged name is replaced. */
enum mend {
	MEND_NOT,   /* the names have other numbers, or several are damaged */
	MEND_ONE,   /* it is one name */
	MEND_SPLIT, /* a byte 0 in it was changed: it is two */
	MEND_JOIN,  /* its first byte became 0: it is one with the next */
};

static enum mend choose(const struct survey *survey, uint32_t count, bool packed)
{
	size_t size = bpk_gsd_text_size(survey->bad);
	struct bpk_view bad = survey->bad;
	bool is_two = packed && size < bad.size && bpk_gsd_is_name(bpk_view(bad.data, size)) &&
		      bpk_gsd_is_name(bpk_view(bad.data + size + 1, bad.size - size - 1));

	if (survey->nbad != 1 || (survey->count < 2 && !is_two))
		return MEND_NOT;
	if (survey->count == count || count == 0)
		return MEND_ONE;
	if (packed && survey->count == count + 1 && bad.size == 0 && !survey->is_last)
		return MEND_JOIN;
	return is_two && survey->count + 1 == count ? MEND_SPLIT : MEND_NOT;
}

static int add(struct bpk_buf *texts, struct bpk_view text, struct bpk_err *err)
{
	if (bpk_buf_append(texts, text, err) != 0)
		return -1;
	return bpk_buf_append(texts, bpk_view("", 1), err);
}

static int add_mended(struct bpk_buf *texts, struct bpk_view bad, enum mend mend,
		      struct bpk_err *err)
{
	size_t size = bpk_gsd_text_size(bad);

	if (mend != MEND_SPLIT)
		return add(texts, bpk_view(bad.data, 0), err);
	if (add(texts, bpk_view(bad.data, size), err) != 0)
		return -1;
	return add(texts, bpk_view(bad.data + size + 1, bad.size - size - 1), err);
}

static int add_all(struct bpk_buf *texts, struct bpk_view bytes, bool packed, enum mend mend,
		   struct bpk_err *err)
{
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < bytes.size;) {
		struct bpk_view text = next_text(bytes, packed, &at);

		if (bpk_gsd_is_name(text)) {
			rc = add(texts, text, err);
			continue;
		}
		rc = add_mended(texts, text, mend, err);
		if (mend == MEND_JOIN)
			next_text(bytes, packed, &at);
	}
	return rc;
}

int bpk_gsd_respell(struct bpk_view bytes, bool packed, uint32_t count, struct bpk_buf *texts,
		    struct bpk_err *err)
{
	struct survey survey = survey_texts(bytes, packed);
	enum mend mend = choose(&survey, count, packed);

	return mend == MEND_NOT ? 0 : add_all(texts, bytes, packed, mend, err);
}

/* ---- Made-up names ---- */

/* The number of "lost/" that a made-up name begins with, so that it is none of the list. */
static unsigned count_prefixes(const struct bpk_buf *list)
{
	const char *texts = (const char *)list->data;
	unsigned most = 0;

	for (size_t at = 0; at < list->size; at += strlen(texts + at) + 1) {
		unsigned count = 0;

		while (strncmp(texts + at + 5 * count, "lost/", 5) == 0)
			count++;
		most = count > most ? count : most;
	}
	return most + 1;
}

static int make_name(struct bpk_buf *texts, unsigned prefixes, uint32_t id, struct bpk_err *err)
{
	for (unsigned i = 0; i < prefixes; i++)
		if (bpk_buf_append(texts, bpk_view("lost/", 5), err) != 0)
			return -1;
	return bpk_buf_printf(texts, err, "%u", id) != 0
		       ? -1
		       : bpk_buf_append(texts, bpk_view("", 1), err);
}

int bpk_gsd_make_names(struct bpk_buf *texts, uint32_t *count, uint32_t most, struct bpk_err *err)
{
	unsigned prefixes = count_prefixes(texts);

	for (; *count < most; (*count)++)
		if (make_name(texts, prefixes, *count, err) != 0)
			return -1;
	return 0;
}

struct name {
	const char *text;
	uint32_t id;
	bool replaced;
};

static int by_text(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static int by_id(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Mark names that are empty, or that an earlier one equals. Those of 63 bytes are of GSD's library,
 * which cuts longer ones. Returns their number. */
static uint32_t mark_replaced(struct name *names, uint32_t count)
{
	uint32_t replaced = 0;

	qsort(names, count, sizeof *names, by_text);
	for (uint32_t i = 0; i < count; i++) {
		names[i].replaced = names[i].text[0] == '\0' ||
				    (i > 0 && strcmp(names[i].text, names[i - 1].text) == 0 &&
				     strlen(names[i].text) != BPK_GSD_SEGMENT - 1);
		replaced += names[i].replaced;
	}
	qsort(names, count, sizeof *names, by_id);
	return replaced;
}

int bpk_gsd_replace_names(struct bpk_gsd_found *found, struct bpk_buf *list, uint32_t count,
			  struct bpk_err *err)
{
	struct name *names = bpk_calloc(count + (size_t)1, sizeof *names, err);
	const char *texts = (const char *)list->data;
	unsigned prefixes = count_prefixes(list);
	struct bpk_buf other = { 0 };
	uint32_t replaced, id = 0;
	int rc = 0;

	if (names == NULL)
		return -1;
	for (size_t at = 0; at < list->size; at += strlen(texts + at) + 1, id++)
		names[id] = (struct name){ .text = texts + at, .id = id };
	replaced = mark_replaced(names, count);
	for (id = 0; rc == 0 && replaced > 0 && id < count; id++)
		rc = names[id].replaced
			     ? make_name(&other, prefixes, id, err)
			     : bpk_buf_append(&other,
					      bpk_view(names[id].text, strlen(names[id].text) + 1),
					      err);
	free(names);
	if (rc != 0 || replaced == 0) {
		bpk_buf_clear(&other);
		return rc;
	}
	bpk_buf_clear(list);
	*list = other;
	found->names_new = true;
	return bpk_gsd_found_doubt(found, err, "%u %s made up: lost/ID", replaced,
				   bpk_plural(replaced,
					      "name is damaged or equals another one, and is",
					      "names are damaged or equal others, and are"));
}
