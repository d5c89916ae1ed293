/*
 * An index of the members of a tar, to read them in place. tar/find.c calls it.
 *
 * The whole tar is walked once, header by header, and the index is then sorted by name. libarchive
 * returns the kind of a member and the position of its first header. From there the headers that
 * only describe the next one are skipped:
 *
 *     x path=...  [its records]   L long name [its text]   header of the file   content   next x
 *     ^ libarchive's position                              ^ to be found        ^ offset  ^ again
 *
 * The content must end where libarchive finds the next header. Otherwise the member is stored in
 * some other way (in pieces with holes between) and is not read here.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "io/file/source.h"
#include "io/tar/index.h"
#include "io/tar/name.h"
#include "io/tar/read.h"

/* Source: POSIX, "pax Interchange Format" and "ustar Interchange Format"; GNU tar, "Basic Tar
 * Format", which defines L, K and V. */
enum {
	SIZE_FIELD = 124,
	SIZE_FIELD_SIZE = 12,
	TYPE_FIELD = 156,
};
static const char leading_types[] = "xgXLKV";

void bpk_tar_index_free(struct bpk_tar_index *index)
{
	if (index == NULL)
		return;
	bpk_source_close(index->source);
	bpk_buf_clear(&index->texts);
	bpk_buf_clear(&index->room);
	free(index);
}

/* ---- Walking ---- */

static uint64_t octal(const uint8_t *field, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size && (field[i] == ' ' || (field[i] >= '0' && field[i] <= '7'));
	     i++)
		if (field[i] != ' ')
			value = value * 8 + (uint64_t)(field[i] - '0');
	return value;
}

static uint64_t whole_blocks(uint64_t size)
{
	return bpk_div_up(size, BPK_TAR_BLOCK) * BPK_TAR_BLOCK;
}

/* Find the offset of the content whose first header is at at. */
static int find_content(struct bpk_source *source, uint64_t at, uint64_t *offset,
			struct bpk_err *err)
{
	uint64_t left = bpk_source_size(source);
	uint8_t block[BPK_TAR_BLOCK];

	left -= bpk_min_u64(left, at);
	for (;;) {
		uint64_t size;

		if (bpk_source_need_at(source, at, bpk_span(block, sizeof block), err) != 0)
			return -1;
		at += BPK_TAR_BLOCK; /* the block exists, so this cannot wrap */
		left -= BPK_TAR_BLOCK;
		if (block[TYPE_FIELD] == '\0' || strchr(leading_types, block[TYPE_FIELD]) == NULL)
			break;
		/* at most 8^12, so rounding up is safe */
		size = whole_blocks(octal(block + SIZE_FIELD, SIZE_FIELD_SIZE));
		if (size > left)
			return bpk_fail(err, BPK_CORRUPT,
					"tar is broken: a member's headers go past its end");
		at += size;
		left -= size;
	}
	*offset = at;
	return 0;
}

/* The next header must begin where the content of the last member ends. */
static void check_last(struct bpk_tar_index *index, uint64_t here)
{
	struct bpk_tar_member_at *last;

	if (index->is_checked)
		return;
	index->is_checked = true;
	last = index->members + index->count - 1;
	/* libarchive has skipped the content, so its size does not wrap */
	if (last->kind == BPK_TAR_PLAIN &&
	    (here < last->offset || here - last->offset != whole_blocks(last->size)))
		last->kind = BPK_TAR_IN_PIECES;
}

static int add_text(struct bpk_tar_index *index, const char *text, size_t *at, struct bpk_err *err)
{
	*at = index->texts.size;
	return bpk_buf_append(&index->texts, bpk_view(text, strlen(text) + 1), err);
}

static enum bpk_tar_kind kind_of(const struct bpk_tar_stream *stream,
				 const struct bpk_tar_entry *entry)
{
	if (entry->is_hard_link)
		return BPK_TAR_HARD_LINK;
	if (entry->entry == BPK_ENTRY_DIRECTORY)
		return BPK_TAR_FOLDER;
	if (entry->entry != BPK_ENTRY_FILE)
		return BPK_TAR_NO_FILE;
	return bpk_tar_stream_is_sparse(stream) ? BPK_TAR_IN_PIECES : BPK_TAR_PLAIN;
}

/* clean and link are buffers for names, large enough. */
static int add_member(struct bpk_tar_index *index, const struct bpk_tar_stream *stream,
		      const struct bpk_tar_entry *entry, char *clean, char *link,
		      struct bpk_err *err)
{
	struct bpk_tar_member_at added = { .turn = index->count, .kind = kind_of(stream, entry) };

	check_last(index, bpk_tar_stream_header(stream));
	if (bpk_tar_clean(entry->name, clean) != NULL || *clean == '\0')
		return 0; /* would not be extracted either */
	if (added.kind == BPK_TAR_HARD_LINK && bpk_tar_clean(entry->link, link) != NULL)
		added.kind = BPK_TAR_NO_FILE;
	added.size = entry->size;
	if (added.kind == BPK_TAR_PLAIN &&
	    find_content(index->source, bpk_tar_stream_header(stream), &added.offset, err) != 0)
		return -1;
	if (add_text(index, clean, &added.name_at, err) != 0 ||
	    (added.kind == BPK_TAR_HARD_LINK && add_text(index, link, &added.link_at, err) != 0) ||
	    bpk_buf_append(&index->room, bpk_view(&added, sizeof added), err) != 0)
		return -1;
	/* the buffer is aligned and holds members only */
	index->members = (struct bpk_tar_member_at *)(void *)index->room.data;
	index->is_checked = false;
	index->count++;
	return 0;
}

static int add_entry(struct bpk_tar_index *index, const struct bpk_tar_stream *stream,
		     const struct bpk_tar_entry *entry, struct bpk_err *err)
{
	char *clean = bpk_strdup(entry->name, err);
	char *link = bpk_strdup(entry->link != NULL ? entry->link : "", err);
	int rc = -1;

	if (clean != NULL && link != NULL)
		rc = add_member(index, stream, entry, clean, link, err);
	free(clean);
	free(link);
	return rc;
}

static int by_name_and_turn(const void *a, const void *b)
{
	const struct bpk_tar_member_at *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order != 0 ? order : (one->turn > other->turn) - (one->turn < other->turn);
}

static void sort(struct bpk_tar_index *index)
{
	struct bpk_tar_member_at *members = index->members;

	for (size_t i = 0; i < index->count; i++) {
		members[i].name = (const char *)index->texts.data + members[i].name_at;
		members[i].link = (const char *)index->texts.data + members[i].link_at;
	}
	if (index->count > 0)
		qsort(members, index->count, sizeof *members, by_name_and_turn);
}

/* Damage that stops the walk leaves the members before it. */
static int walk(struct bpk_tar_index *index, struct bpk_err *err)
{
	const struct bpk_tar_entry *entry;
	struct bpk_tar_stream *stream;
	struct bpk_err why = { 0 };
	int rc;

	if (bpk_tar_stream_open(index->source, &stream, err) != 0)
		return -1;
	do {
		rc = bpk_tar_stream_next(stream, &entry, &why);
		if (rc == 0 && add_entry(index, stream, entry, &why) != 0)
			rc = -1;
	} while (rc == 0);
	if (rc < 0 && why.kind == BPK_CORRUPT && index->count > 0) {
		index->behind = why;
		index->is_broken = true;
		rc = 0;
	} else if (rc < 0) {
		bpk_fail_as(err, &why);
	} else {
		check_last(index, bpk_tar_stream_header(stream));
		(void)bpk_tar_stream_check_rest(stream, &index->behind);
	}
	bpk_tar_stream_close(stream);
	sort(index);
	return rc < 0 ? -1 : 0;
}

struct bpk_tar_index *bpk_tar_index_new(struct bpk_source *source, struct bpk_err *err)
{
	struct bpk_tar_index *index = bpk_calloc(1, sizeof *index, err);

	if (index == NULL) {
		bpk_source_close(source);
		return NULL;
	}
	index->source = source;
	index->is_checked = true; /* no member yet */
	if (walk(index, err) == 0)
		return index;
	bpk_tar_index_free(index);
	return NULL;
}

/* ---- Lookup ---- */

/* The number of members that sort before name at turn. */
static size_t rank_of(const struct bpk_tar_index *index, const char *name, size_t turn)
{
	const struct bpk_tar_member_at key = { .name = name, .turn = turn };
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_name_and_turn(index->members + middle, &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last member of that name before turn, or NULL. */
static const struct bpk_tar_member_at *last_before(const struct bpk_tar_index *index,
						   const char *name, size_t turn)
{
	size_t rank = rank_of(index, name, turn);

	if (rank == 0 || strcmp(index->members[rank - 1].name, name) != 0)
		return NULL;
	return &index->members[rank - 1];
}

/* A hard link leads to an earlier member, so the loop ends. */
const struct bpk_tar_member_at *bpk_tar_index_find(const struct bpk_tar_index *index,
						   const char *name)
{
	const struct bpk_tar_member_at *found = last_before(index, name, SIZE_MAX);

	while (found != NULL && found->kind == BPK_TAR_HARD_LINK)
		found = last_before(index, found->link, found->turn);
	return found;
}

size_t bpk_tar_index_below(const struct bpk_tar_index *index, const char *folder)
{
	return rank_of(index, folder, 0);
}

bool bpk_tar_index_lies_below(const struct bpk_tar_index *index, size_t i, const char *folder)
{
	return i < index->count && strncmp(index->members[i].name, folder, strlen(folder)) == 0;
}

int bpk_tar_index_open(const struct bpk_tar_index *index, const struct bpk_tar_member_at *member,
		       struct bpk_source **source, struct bpk_err *err)
{
	if (member->kind == BPK_TAR_IN_PIECES)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"is stored as a sparse file, and can only be read "
				"after it is extracted");
	if (member->kind != BPK_TAR_PLAIN)
		return bpk_fail(err, BPK_CORRUPT, "is not a regular file");
	return bpk_source_part(index->source, member->offset, member->size, source, err);
}
