/*
 * Salvage of GSD files: the names of arrays. The list that the header names counts if it is whole.
 * Otherwise a list is searched for among the bytes that belong to nothing else: texts, each with
 * its NUL, and an empty one behind the last. Called by gsd_salvage.c.
 */
#include "layout/gsd_found.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	PIECE = 64 << 10,
	MOST_GAPS = 64, /* gaps that are searched for a list */
};

/* A list of names. */
struct list {
	struct bpk_buf texts;
	uint32_t count;
	size_t used; /* bytes of the file, with the empty name */
	bool ended;  /* by an empty name */
	bool whole;  /* and zeros are behind that */
	bool packed; /* as since version 2 */
	uint64_t at;
};

/* ---- One list ---- */

/* True if a name is one that programs write. */
static bool is_name(struct bpk_view name)
{
	char shown[BPK_TEXT_SHOWN];

	if (name.size == 0 || name.size > BPK_GSD_MAX_NAME)
		return false;
	for (size_t at = 0, step; at < name.size; at += step) {
		step = bpk_text_show(bpk_view(name.data + at, name.size - at), shown);
		if (memcmp(shown, name.data + at, step) != 0)
			return false;
	}
	return true;
}

/* Names of one segment each are followed by zeros up to the next one. */
static bool is_packed(struct bpk_view bytes)
{
	size_t size = strnlen((const char *)bytes.data, bytes.size);

	if (size >= BPK_GSD_SEGMENT || bytes.size <= BPK_GSD_SEGMENT)
		return true;
	return bytes.data[BPK_GSD_SEGMENT] == 0 ||
	       !bpk_is_zero(bpk_view(bytes.data + size, BPK_GSD_SEGMENT - size));
}

/* Take the names in bytes, up to the empty one, or one that no program writes. */
static int take_names(struct list *list, struct bpk_view bytes, struct bpk_err *err)
{
	size_t at = 0;

	while (at < bytes.size && list->count < BPK_GSD_MAX_NAMES) {
		struct bpk_view name = bpk_view(bytes.data + at, bytes.size - at);
		size_t most = list->packed ? name.size : bpk_min_size(name.size, BPK_GSD_SEGMENT);

		name.size = strnlen((const char *)name.data, most);
		if (name.size == most || !is_name(name) ||
		    !(list->packed ||
		      bpk_is_zero(bpk_view(name.data + name.size, most - name.size))))
			break;
		if (bpk_buf_append(&list->texts, bpk_view(name.data, name.size + 1), err) != 0)
			return -1;
		list->count++;
		at += list->packed ? name.size + 1 : BPK_GSD_SEGMENT;
	}
	list->used = bpk_min_size(at + 1, bytes.size);
	list->ended = at < bytes.size && bytes.data[at] == 0;
	list->whole = at < bytes.size && bpk_is_zero(bpk_view(bytes.data + at, bytes.size - at));
	return 0;
}

/* Read the list from at on, which ends at end. */
static int read_list(const struct bpk_gsd_found *found, uint64_t at, uint64_t end,
		     struct list *list, struct bpk_err *err)
{
	uint64_t size = bpk_min_u64(end - at, PIECE);
	struct bpk_buf bytes = { 0 };
	int rc;

	*list = (struct list){ .at = at };
	do {
		list->texts.size = list->count = 0;
		rc = bpk_buf_resize(&bytes, (size_t)size, err);
		if (rc == 0)
			rc = bpk_source_need_at(found->source, at, bpk_span(bytes.data, bytes.size),
						err);
		if (rc != 0)
			break;
		list->packed = found->version != 0 ? found->version >= 0x20000
						   : is_packed(bpk_buf_view(&bytes));
		rc = take_names(list, bpk_buf_view(&bytes), err);
		size = bpk_min_u64(end - at, 2 * size);
	} while (rc == 0 && size > bytes.size && list->used > bytes.size / 2);
	bpk_buf_clear(&bytes);
	return rc;
}

/* ---- The list in the header ---- */

/* A pointer to other bytes than names would take these from the array that they belong to. */
int bpk_gsd_names_look(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_block *block = &found->names_block;
	struct list list = { 0 };
	int rc = 0;

	if (found->has_names)
		rc = read_list(found, block->offset, block->offset + block->size, &list, err);
	found->has_names = list.count > 0 && list.ended;
	if (!found->has_names)
		*block = (struct bpk_gsd_block){ 0 };
	found->names_end = block->offset + list.used;
	found->nnames = found->has_names && list.whole ? list.count : 0;
	bpk_buf_clear(&list.texts);
	return rc;
}

/* An extent ends where the list begins, or has its first bytes: then the list is written anew. */
static void note_neighbour(struct bpk_gsd_found *found, const struct bpk_gsd_extent *extent,
			   bool *is_behind)
{
	uint64_t begin = found->names_block.offset, end = extent->offset + extent->size;

	*is_behind = *is_behind || end == begin;
	if (extent->offset < begin && end > begin)
		found->names_new = true;
}

/* Where the bytes end that the list in the header may have: its room may be damaged. *is_begin:
 * none that belong to nothing are before it, which could be the beginning of the list. A list that
 * is not behind other bytes is doubted. */
static int find_end(struct bpk_gsd_found *found, uint64_t *end, bool *is_begin, struct bpk_err *err)
{
	const struct bpk_gsd_block *block = &found->names_block;
	bool is_behind = block->offset == found->index.offset + found->index.size ||
			 block->offset == BPK_GSD_FRESH_NAMES;
	struct bpk_gsd_gaps gaps;
	uint64_t at, gap_end;
	int rc = bpk_gsd_gaps_begin(found, &gaps, err);

	*end = block->offset + block->size;
	*is_begin = true;
	for (size_t i = 0; i < gaps.count; i++)
		note_neighbour(found, &gaps.extents[i], &is_behind);
	for (size_t i = 0; i < gaps.count; i++)
		if (gaps.extents[i].offset > block->offset)
			*end = bpk_min_u64(*end, gaps.extents[i].offset);
	while (rc == 0 && *is_begin) {
		rc = bpk_gsd_gaps_next(found, &gaps, &at, &gap_end, err);
		*is_begin = rc != 0 || gap_end != block->offset;
	}
	bpk_gsd_gaps_end(&gaps);
	if (rc < 0 || is_behind)
		return rc < 0 ? -1 : 0;
	return bpk_gsd_found_doubt(found, err, "names may not begin at %" PRIu64, block->offset);
}

/* GSD's library refuses a list whose room does not end with a byte 0: it is written anew. */
static int read_named(struct bpk_gsd_found *found, struct list *list, bool *is_begin,
		      struct bpk_err *err)
{
	const struct bpk_gsd_block *block = &found->names_block;
	uint64_t end;
	uint8_t last;

	if (find_end(found, &end, is_begin, err) != 0 ||
	    bpk_source_need_at(found->source, block->offset + block->size - 1, bpk_span(&last, 1),
			       err) != 0)
		return -1;
	found->names_new = found->names_new || last != 0 || end < block->offset + block->size;
	return read_list(found, found->names_block.offset, end, list, err);
}

/* ---- The search ---- */

/* True if a is a list that begins as b, or the other way. */
static bool extends(const struct list *a, const struct list *b)
{
	size_t size = bpk_min_size(a->texts.size, b->texts.size);

	return size == 0 || memcmp(a->texts.data, b->texts.data, size) == 0;
}

/* Take a list that has more names. */
static void take_longer(struct list *best, struct list *list)
{
	struct list less = *list;

	if (list->count > best->count) {
		*list = *best;
		*best = less;
	}
	bpk_buf_clear(&list->texts);
}

/* The search for a list. */
struct search {
	const struct list *known; /* the list begins as this one; without names: as any */
	uint64_t covers;          /* or has this offset inside; BPK_UNKNOWN: need not */
	struct list best;         /* the longest one */
	bool several;             /* others are not its beginning */
};

static bool is_sought(const struct search *search, const struct list *list)
{
	if (search->covers == BPK_UNKNOWN)
		return extends(list, search->known);
	return list->at < search->covers && search->covers - list->at < list->used;
}

/* Look at the list at offset at, which ends before end. */
static int try_list(const struct bpk_gsd_found *found, struct search *search, uint64_t at,
		    uint64_t end, struct bpk_err *err)
{
	struct list list = { 0 };

	if (read_list(found, at, end, &list, err) != 0) {
		bpk_buf_clear(&list.texts);
		return -1;
	}
	if (!is_sought(search, &list))
		list.count = 0;
	search->several = search->several || (list.count > 0 && !extends(&list, &search->best));
	take_longer(&search->best, &list);
	return 0;
}

/* A list may begin at the first byte from begin to end, unless it is the rest of a damaged one,
 * whose names would get wrong numbers; or behind the room of an index, which doubles as it grows.
 * */
static int try_places(const struct bpk_gsd_found *found, struct search *search, uint64_t begin,
		      uint64_t end, struct bpk_err *err)
{
	const struct bpk_gsd_block *named = &found->names_block;
	uint64_t room = (uint64_t)BPK_GSD_FRESH_ROOM * BPK_GSD_ENTRY;
	uint64_t fresh = BPK_GSD_FRESH_NAMES;
	bool is_rest =
		found->has_names && begin > named->offset && begin - named->offset < named->size;

	if (!is_rest && try_list(found, search, begin, end, err) != 0)
		return -1;
	if (fresh > begin && fresh < end && try_list(found, search, fresh, end, err) != 0)
		return -1;
	for (; room < end; room *= 2) {
		uint64_t at = found->index.offset + room;

		if (at > begin && at < end && at != fresh &&
		    try_list(found, search, at, end, err) != 0)
			return -1;
	}
	return 0;
}

static int find_list(const struct bpk_gsd_found *found, struct search *search, struct bpk_err *err)
{
	struct bpk_gsd_gaps gaps;
	uint64_t at = 0, end = 0;
	int rc = bpk_gsd_gaps_begin(found, &gaps, err);

	for (size_t i = 0; rc == 0 && i < MOST_GAPS; i++) {
		rc = bpk_gsd_gaps_next(found, &gaps, &at, &end, err);
		if (rc == 0 && try_places(found, search, gaps.begin, end, err) != 0)
			rc = -1;
	}
	bpk_gsd_gaps_end(&gaps);
	return rc < 0 ? -1 : 0;
}

/* ---- The names ---- */

static uint32_t count_ids(const struct bpk_gsd_found *found)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	uint32_t count = 0;

	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++)
		count = leads[i].entry.id >= count ? leads[i].entry.id + 1 : count;
	return count;
}

/* The number of "lost/" that a made-up name begins with, so that it is none of the list. */
static unsigned count_prefixes(const struct list *list)
{
	const char *texts = (const char *)list->texts.data;
	unsigned most = 0;

	for (size_t at = 0; at < list->texts.size; at += strlen(texts + at) + 1) {
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

/* Names that no list has are made up. */
static int make_names(struct list *list, uint32_t count, struct bpk_err *err)
{
	unsigned prefixes = count_prefixes(list);

	for (; list->count < count; list->count++)
		if (make_name(&list->texts, prefixes, list->count, err) != 0)
			return -1;
	return 0;
}

struct name {
	const char *text;
	uint32_t id;
	bool repeated;
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

/* Mark names that an earlier one equals. Those of 63 bytes are of GSD's library, which cuts longer
 * ones. Returns their number. */
static uint32_t mark_repeated(struct name *names, uint32_t count)
{
	uint32_t repeated = 0;

	qsort(names, count, sizeof *names, by_text);
	for (uint32_t i = 1; i < count; i++) {
		names[i].repeated = strcmp(names[i].text, names[i - 1].text) == 0 &&
				    strlen(names[i].text) != BPK_GSD_SEGMENT - 1;
		repeated += names[i].repeated;
	}
	qsort(names, count, sizeof *names, by_id);
	return repeated;
}

/* Names are unique in a whole file. */
static int replace_repeated(struct bpk_gsd_found *found, struct list *list, struct bpk_err *err)
{
	struct name *names = bpk_calloc(list->count + 1, sizeof *names, err);
	const char *texts = (const char *)list->texts.data;
	unsigned prefixes = count_prefixes(list);
	struct bpk_buf other = { 0 };
	uint32_t repeated, id = 0;
	int rc = 0;

	if (names == NULL)
		return -1;
	for (size_t at = 0; at < list->texts.size; at += strlen(texts + at) + 1, id++)
		names[id] = (struct name){ .text = texts + at, .id = id };
	repeated = mark_repeated(names, list->count);
	for (id = 0; rc == 0 && repeated > 0 && id < list->count; id++)
		rc = names[id].repeated
			     ? make_name(&other, prefixes, id, err)
			     : bpk_buf_append(&other,
					      bpk_view(names[id].text, strlen(names[id].text) + 1),
					      err);
	free(names);
	if (rc != 0 || repeated == 0) {
		bpk_buf_clear(&other);
		return rc;
	}
	bpk_buf_clear(&list->texts);
	list->texts = other;
	found->names_new = true;
	return bpk_gsd_found_doubt(
		found, err, "%u %s, and %s made up: lost/ID", repeated,
		bpk_plural(repeated, "name equals another one", "names equal others"),
		bpk_plural(repeated, "is", "are"));
}

/* The last name before damage may be a part of one. */
static void drop_last(struct list *list)
{
	struct bpk_buf *texts = &list->texts;

	if (list->count == 0)
		return;
	list->count--;
	texts->size--;
	while (texts->size > 0 && texts->data[texts->size - 1] != 0)
		texts->size--;
}

/* Take another list for one that is not whole, lacks names, or begins in the middle. */
static int replace(struct bpk_gsd_found *found, struct list *list, bool is_begin, uint32_t count,
		   struct bpk_err *err)
{
	struct search search = { .known = list,
				 .covers = is_begin ? BPK_UNKNOWN : found->names_block.offset };
	int rc;

	if (!list->whole)
		drop_last(list);
	if (!is_begin)
		found->names_end = found->names_block.offset;
	rc = find_list(found, &search, err);
	if (rc == 0 && search.best.count > 0 && (!is_begin || search.best.count > list->count)) {
		list->count = 0;
		rc = bpk_gsd_found_doubt(found, err, "names were found at %" PRIu64 "%s",
					 search.best.at,
					 search.several ? ", in one of several lists" : "");
	}
	found->names_new = found->names_new || search.best.count > list->count || !list->whole;
	take_longer(list, &search.best);
	found->names_block.offset = list->at;
	found->names_end = list->at + list->used;
	if (rc != 0 || list->count >= count)
		return rc;
	return bpk_gsd_found_doubt(found, err, "%u of %u %s lost, and %s made up: lost/%u%s",
				   count - list->count, count,
				   bpk_plural(count - list->count, "name is", "names are"),
				   bpk_plural(count - list->count, "is", "are"), list->count,
				   list->count + 1 < count ? " and up" : "");
}

int bpk_gsd_relist(struct bpk_gsd_found *found, struct bpk_err *err)
{
	uint32_t count = count_ids(found);
	struct list list = { 0 };
	bool is_begin = true;
	int rc = 0;

	if (found->has_names)
		rc = read_named(found, &list, &is_begin, err);
	if (rc == 0 && (!list.whole || !is_begin || list.count < count))
		rc = replace(found, &list, is_begin, count, err);
	found->names_new = found->names_new || list.count < count;
	if (rc == 0)
		rc = make_names(&list, count, err);
	if (rc == 0)
		rc = replace_repeated(found, &list, err);
	if (found->version == 0)
		found->version = list.packed || list.count < 2 ? 0x20000 : 0x10000;
	found->names = list.texts;
	return rc;
}
