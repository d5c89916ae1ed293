/*
 * GSD: the names of chunks in a file being read. Called by gsd.c, gsd_index.c and gsd_v0.c.
 */
#include "layout/gsd.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SEGMENT = 64, CUT = SEGMENT - 1, PIECE = 1 << 16 };

static char **texts_of(const struct bpk_gsd_names *names)
{
	return (void *)names->texts.data;
}

const char *bpk_gsd_name(const struct bpk_gsd_names *names, uint32_t id)
{
	return texts_of(names)[id];
}

size_t bpk_gsd_text_size(struct bpk_view name)
{
	size_t at = 0, step;

	for (; at < name.size; at += step) {
		step = bpk_utf8_size(bpk_view(name.data + at, name.size - at));
		if (step == 0 || name.data[at] < ' ' || name.data[at] == 0x7f)
			break;
	}
	return at;
}

/* ---- Reading the list ---- */

int bpk_gsd_names_add(struct bpk_gsd_names *names, struct bpk_view name, struct bpk_err *err)
{
	char *text = bpk_layout_text(name, err);

	if (text == NULL)
		return -1;
	if (bpk_buf_append(&names->texts, bpk_view(&text, sizeof text), err) != 0) {
		free(text);
		return -1;
	}
	if (bpk_gsd_text_size(name) < name.size && names->nodd++ == 0)
		names->odd = names->count;
	names->count++;
	return 0;
}

/* The state of reading the list. */
struct list {
	struct bpk_gsd_names *names;
	struct bpk_buf name; /* the part read so far */
	bool ended;          /* an empty name was found, or all ids are used */
};

static int end_name(struct list *list, struct bpk_err *err)
{
	int rc = 0;

	list->ended = list->name.size == 0 || list->names->count == BPK_GSD_MAX_NAMES;
	if (!list->ended)
		rc = bpk_gsd_names_add(list->names, bpk_buf_view(&list->name), err);
	list->name.size = 0;
	return rc;
}

/* Before version 2: one name per segment. */
static int take_segments(struct list *list, struct bpk_view piece, struct bpk_err *err)
{
	int rc = 0;

	for (size_t at = 0; rc == 0 && !list->ended && at < piece.size; at += SEGMENT) {
		size_t size = strnlen((const char *)piece.data + at, SEGMENT);

		rc = bpk_buf_append(&list->name, bpk_view(piece.data + at, size), err);
		if (rc == 0)
			rc = end_name(list, err);
	}
	return rc;
}

/* Since version 2: concatenated, each with a NUL. */
static int take_packed(struct list *list, struct bpk_view piece, struct bpk_err *err)
{
	for (size_t at = 0; !list->ended && at < piece.size;) {
		size_t size = strnlen((const char *)piece.data + at, piece.size - at);

		if (size > BPK_GSD_MAX_NAME - list->name.size)
			return bpk_fail(err, BPK_LIMIT, "name %u is longer than %d bytes",
					list->names->count, BPK_GSD_MAX_NAME);
		if (bpk_buf_append(&list->name, bpk_view(piece.data + at, size), err) != 0)
			return -1;
		at += size;
		if (at < piece.size && end_name(list, err) != 0)
			return -1;
		at++;
	}
	return 0;
}

static int read_list(struct bpk_gsd *gsd, struct list *list, uint8_t *piece, struct bpk_err *err)
{
	const struct bpk_gsd_block *block = &gsd->names_block;
	bool packed = gsd->version >= 0x20000;

	for (uint64_t at = 0; !list->ended && at < block->size; at += PIECE) {
		struct bpk_span span =
			bpk_span(piece, (size_t)bpk_min_u64(PIECE, block->size - at));
		struct bpk_view bytes = bpk_view_of_span(span);

		if (bpk_source_need_at(gsd->source, block->offset + at, span, err) != 0)
			return -1;
		if ((packed ? take_packed : take_segments)(list, bytes, err) != 0)
			return -1;
	}
	return 0;
}

/* GSD's libraries refuse a file whose list does not end with a byte 0. */
static int check_end(struct bpk_gsd *gsd, struct bpk_err *err)
{
	const struct bpk_gsd_block *block = &gsd->names_block;
	uint8_t last;

	if (bpk_source_need_at(gsd->source, block->offset + block->size - 1, bpk_span(&last, 1),
			       err) != 0)
		return -1;
	if (last != 0)
		return bpk_fail(err, BPK_CORRUPT, "list of names ends in byte %u, expected 0",
				last);
	return 0;
}

int bpk_gsd_names_read(struct bpk_gsd *gsd, struct bpk_err *err)
{
	struct list list = { .names = &gsd->names };
	uint8_t *piece = bpk_calloc(1, PIECE, err);
	int rc = -1;

	if (piece != NULL && check_end(gsd, err) == 0 && read_list(gsd, &list, piece, err) == 0)
		rc = bpk_gsd_names_finish(&gsd->names, err);
	bpk_buf_clear(&list.name);
	free(piece);
	return rc;
}

/* ---- Unique names ---- */

static int by_text(const void *a, const void *b)
{
	const struct bpk_gsd_named *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static void sort(struct bpk_gsd_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		names->sorted[i] =
			(struct bpk_gsd_named){ .text = bpk_gsd_name(names, i), .id = i };
	qsort(names->sorted, names->count, sizeof *names->sorted, by_text);
}

/* The longest run of '#' in a text. */
static size_t count_hashes(const char *text)
{
	size_t most = 0;

	while (*text != '\0') {
		size_t row = strspn(text, "#");

		most = row > most ? row : most;
		text += row > 0 ? row : 1;
	}
	return most;
}

static void choose_hashes(struct bpk_gsd_names *names)
{
	names->hashes = 1;
	for (uint32_t i = 0; i < names->count; i++) {
		size_t row = count_hashes(bpk_gsd_name(names, i));

		names->hashes = row >= names->hashes ? row + 1 : names->hashes;
	}
}

static int append_label(const char *text, size_t hashes, uint64_t turn, struct bpk_buf *label,
			struct bpk_err *err)
{
	int rc = bpk_buf_append(label, bpk_view(text, strlen(text)), err);

	for (size_t i = 0; rc == 0 && i < hashes; i++)
		rc = bpk_buf_append(label, bpk_view("#", 1), err);
	if (rc == 0)
		rc = bpk_buf_printf(label, err, "%" PRIu64, turn);
	return rc == 0 ? bpk_buf_append(label, bpk_view("", 1), err) : -1;
}

static int rename_to_turn(struct bpk_gsd_names *names, uint32_t id, uint64_t turn,
			  struct bpk_err *err)
{
	struct bpk_buf label = { 0 };
	char *text = NULL;

	if (append_label(bpk_gsd_name(names, id), names->hashes, turn, &label, err) == 0)
		text = bpk_strdup((const char *)label.data, err);
	bpk_buf_clear(&label);
	if (text == NULL)
		return -1;
	free(texts_of(names)[id]);
	texts_of(names)[id] = text;
	return 0;
}

/* True if GSD's library may have truncated the name. Its upgrade of a file keeps such names. */
static bool is_cut(const char *text)
{
	/* no escape: the name is as stored */
	return strlen(text) == CUT && strchr(text, '\\') == NULL;
}

/* Map count equal names, from first in sorted on, to one id. */
static int share(struct bpk_gsd_names *names, uint32_t first, uint32_t count, struct bpk_err *err)
{
	const struct bpk_gsd_named *sorted = names->sorted;

	if (names->same == NULL) {
		names->same = bpk_calloc(names->count, sizeof *names->same, err);
		if (names->same == NULL)
			return -1;
		for (uint32_t i = 0; i < names->count; i++)
			names->same[i] = i;
	}
	for (uint32_t i = first + 1; i < first + count; i++)
		names->same[sorted[i].id] = sorted[first].id;
	names->ncut += count - 1;
	return 0;
}

/* Make names unique. Those of a file should be, but writers do not check it, and two names may
 * become equal when cleaned. Equal names are renamed from the last to the second, because
 * comparisons use the first. */
static int rename_equal(struct bpk_gsd_names *names, struct bpk_err *err)
{
	const struct bpk_gsd_named *sorted = names->sorted;
	int rc = 0;

	for (uint32_t i = 0, next; rc == 0 && i < names->count; i = next) {
		for (next = i + 1; next < names->count; next++)
			if (strcmp(sorted[next].text, sorted[i].text) != 0)
				break;
		if (next - i > 1 && is_cut(sorted[i].text)) {
			rc = share(names, i, next - i, err);
			continue;
		}
		names->repeated = names->repeated || next - i > 1;
		for (uint32_t turn = next - i; rc == 0 && turn > 1; turn--)
			rc = rename_to_turn(names, sorted[i + turn - 1].id, turn, err);
	}
	return rc;
}

int bpk_gsd_names_finish(struct bpk_gsd_names *names, struct bpk_err *err)
{
	names->sorted = bpk_calloc((size_t)names->count + 1, sizeof *names->sorted, err);
	if (names->sorted == NULL)
		return -1;
	sort(names);
	choose_hashes(names);
	if (rename_equal(names, err) != 0)
		return -1;
	if (names->repeated) {
		sort(names);
		choose_hashes(names);
	}
	return 0;
}

/* ---- Searching ---- */

static bool find(const struct bpk_gsd_names *names, const char *text, size_t size, uint32_t *id)
{
	uint32_t low = 0, high = names->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const char *name = names->sorted[middle].text;
		int order = strncmp(name, text, size);

		if (order == 0 && name[size] != '\0')
			order = 1; /* name is longer */
		if (order == 0) {
			*id = names->sorted[middle].id;
			*id = names->same != NULL ? names->same[*id] : *id;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool bpk_gsd_name_find(const struct bpk_gsd_names *names, const char *text, uint32_t *id)
{
	return find(names, text, strlen(text), id);
}

int bpk_gsd_label(const struct bpk_gsd_names *names, uint32_t id, uint64_t turn,
		  struct bpk_buf *label, struct bpk_err *err)
{
	label->size = 0;
	return append_label(bpk_gsd_name(names, id), names->hashes, turn, label, err);
}

/* Parse the number at the end of a label: from 2, in canonical form. */
static bool read_turn(const char *digits, uint64_t *turn)
{
	size_t size = strlen(digits);

	*turn = 0;
	if (size == 0 || size > 18 || digits[0] == '0' || strspn(digits, "0123456789") != size)
		return false;
	while (*digits != '\0')
		*turn = *turn * 10 + (uint64_t)(*digits++ - '0');
	return *turn >= 2;
}

bool bpk_gsd_label_find(const struct bpk_gsd_names *names, const char *text, uint32_t *id,
			uint64_t *turn)
{
	const char *last = strrchr(text, '#');
	size_t size;

	if (last == NULL || !read_turn(last + 1, turn))
		return false;
	size = (size_t)(last + 1 - text);
	if (size < names->hashes)
		return false;
	size -= names->hashes;
	if (strspn(text + size, "#") != names->hashes)
		return false;
	return find(names, text, size, id);
}

void bpk_gsd_names_clear(struct bpk_gsd_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(texts_of(names)[i]);
	bpk_buf_clear(&names->texts);
	free(names->sorted);
	free(names->same);
}
