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
		if (name.size == most || !bpk_gsd_is_name(name) ||
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

/* Mend a list of which one name is damaged. count: of names that entries use, or 0. Larger lists
 * stay as they are. */
static int mend_list(const struct bpk_gsd_found *found, uint64_t end, uint32_t count,
		     struct list *list, struct bpk_err *err)
{
	struct bpk_buf bytes = { 0 }, texts = { 0 };
	size_t size;
	int rc;

	if (end - list->at > PIECE)
		return 0;
	rc = bpk_buf_resize(&bytes, (size_t)(end - list->at), err);
	if (rc == 0)
		rc = bpk_source_need_at(found->source, list->at, bpk_span(bytes.data, bytes.size),
					err);
	for (size = bytes.size; size > 0 && bytes.data[size - 1] == 0;)
		size--;
	if (rc == 0)
		rc = bpk_gsd_respell(bpk_view(bytes.data, size), list->packed, count, &texts, err);
	if (rc == 0 && texts.size > 0) {
		bpk_buf_clear(&list->texts);
		*list = (struct list){ .texts = texts,
				       .used = bpk_min_size(size + 2, bytes.size),
				       .ended = true,
				       .whole = true,
				       .packed = list->packed,
				       .at = list->at };
		for (size_t i = 0; i < texts.size; i++)
			list->count += texts.data[i] == 0;
	} else {
		bpk_buf_clear(&texts);
	}
	bpk_buf_clear(&bytes);
	return rc;
}

/* ---- The list in the header ---- */

/* A pointer to other bytes than names would take these from the array that they belong to. */
int bpk_gsd_names_look(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_block *block = &found->names_block;
	struct list list = { 0 };
	bool is_whole;
	int rc = 0;

	if (found->has_names)
		rc = read_list(found, block->offset, block->offset + block->size, &list, err);
	is_whole = list.count > 0 && list.whole;
	if (rc == 0 && found->has_names && !is_whole)
		rc = mend_list(found, block->offset + block->size, 0, &list, err);
	found->has_names = list.count > 0 && list.ended;
	if (!found->has_names)
		*block = (struct bpk_gsd_block){ 0 };
	found->names_end = block->offset + list.used;
	found->nnames = is_whole ? list.count : 0;
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
 * none that belong to nothing are before it, which could be the beginning of the list, or they may
 * be those of a lost array. A list that is not behind other bytes is doubted. */
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
	while (rc == 0 && *is_begin && found->lost.size == 0) {
		rc = bpk_gsd_gaps_next(found, &gaps, &at, &gap_end, err);
		*is_begin = rc != 0 || gap_end != block->offset;
	}
	bpk_gsd_gaps_end(&gaps);
	if (rc < 0 || is_behind)
		return rc < 0 ? -1 : 0;
	return bpk_gsd_found_doubt(found, err, "names may not begin at %" PRIu64, block->offset);
}

/* GSD's library refuses a list whose room does not end with a byte 0: it is written anew. */
static int read_named(struct bpk_gsd_found *found, uint32_t count, struct list *list,
		      bool *is_begin, struct bpk_err *err)
{
	const struct bpk_gsd_block *block = &found->names_block;
	uint64_t end;
	uint8_t last;

	if (find_end(found, &end, is_begin, err) != 0 ||
	    bpk_source_need_at(found->source, block->offset + block->size - 1, bpk_span(&last, 1),
			       err) != 0)
		return -1;
	found->names_new = found->names_new || last != 0 || end < block->offset + block->size;
	if (read_list(found, block->offset, end, list, err) != 0)
		return -1;
	if (list->whole)
		return 0;
	if (mend_list(found, end, count, list, err) != 0)
		return -1;
	found->names_new = found->names_new || list->whole;
	return list->whole ? bpk_gsd_found_doubt(found, err, "the list of names is damaged") : 0;
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
	return bpk_gsd_found_doubt(found, err, "%u of %u names %s lost, and %s made up: lost/%u%s",
				   count - list->count, count,
				   bpk_plural(count - list->count, "is", "are"),
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
		rc = read_named(found, count, &list, &is_begin, err);
	if (rc == 0 && (!list.whole || !is_begin || list.count < count))
		rc = replace(found, &list, is_begin, count, err);
	found->names_new = found->names_new || list.count < count;
	if (rc == 0)
		rc = bpk_gsd_make_names(&list.texts, &list.count, count, err);
	if (rc == 0)
		rc = bpk_gsd_replace_names(found, &list.texts, list.count, err);
	if (found->version == 0)
		found->version = list.packed || list.count < 2 ? 0x20000 : 0x10000;
	found->names = list.texts;
	return rc;
}
