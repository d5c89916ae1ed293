/*
 * The central directory of a zip, from the end of the file, and its local headers. Called by npz.c.
 */
#include "layout/zip.h"

#include <inttypes.h>

enum {
	LOCAL_SIGNATURE = 0x04034b50,
	ENTRY_SIGNATURE = 0x02014b50,
	END_SIGNATURE = 0x06054b50,
	END64_SIGNATURE = 0x06064b50,
	LOCATOR_SIGNATURE = 0x07064b50,

	LOCAL_SIZE = 30,
	ENTRY_SIZE = 46,
	END_SIZE = 22,
	END64_SIZE = 56,
	LOCATOR_SIZE = 20,

	EXTRA_ZIP64 = 1,
	WINDOW = 64 << 10,
};

void bpk_zip_clear(struct bpk_zip *zip)
{
	bpk_buf_clear(&zip->window);
}

/* Get size bytes at offset, before zip->end. */
static int look(struct bpk_zip *zip, uint64_t offset, size_t size, struct bpk_view *view,
		struct bpk_err *err)
{
	uint64_t from = zip->window_offset;

	if (!bpk_layout_fits(zip->end, offset, size))
		return bpk_fail(err, BPK_CORRUPT,
				"zip has %zu bytes at %" PRIu64 ", where its directory ends at "
				"%" PRIu64,
				size, offset, zip->end);
	if (offset < from || !bpk_layout_fits(zip->window.size, offset - from, size)) {
		size_t more = bpk_min_u64(zip->end - offset, size > WINDOW ? size : WINDOW);

		zip->window_offset = offset;
		if (bpk_buf_resize(&zip->window, more, err) != 0)
			return -1;
		if (bpk_source_need_at(zip->source, offset, bpk_span(zip->window.data, more),
				       err) != 0) {
			zip->window.size = 0;
			return -1;
		}
	}
	*view = bpk_view(zip->window.data + (offset - zip->window_offset), size);
	return 0;
}

/* ---- The end ---- */

/* Find the last end record whose comment ends with the file; bytes are the end of the file. */
static bool find_end(struct bpk_view bytes, size_t *at)
{
	for (size_t i = bytes.size - END_SIZE + 1; i-- > 0;)
		if (bpk_get_le32(bytes.data + i) == END_SIGNATURE &&
		    bpk_get_le16(bytes.data + i + 20) == bytes.size - i - END_SIZE) {
			*at = i;
			return true;
		}
	return false;
}

/* Read the zip64 end record, if a locator precedes the ordinary one. Its values replace those of
 * the other record, whose fields may be too small. */
static int read_end64(struct bpk_zip *zip, uint64_t end, struct bpk_err *err)
{
	uint8_t locator[LOCATOR_SIZE], record[END64_SIZE];
	uint64_t offset;

	if (end < LOCATOR_SIZE)
		return 0;
	if (bpk_source_need_at(zip->source, end - LOCATOR_SIZE, bpk_span(locator, LOCATOR_SIZE),
			       err) != 0)
		return -1;
	if (bpk_get_le32(locator) != LOCATOR_SIGNATURE)
		return 0;
	offset = bpk_get_le64(locator + 8);
	if (!bpk_layout_fits(end - LOCATOR_SIZE, offset, END64_SIZE))
		return bpk_fail(err, BPK_CORRUPT, "zip64 record at %" PRIu64 " lies behind its end",
				offset);
	if (bpk_source_need_at(zip->source, offset, bpk_span(record, END64_SIZE), err) != 0)
		return -1;
	if (bpk_get_le32(record) != END64_SIGNATURE)
		return bpk_fail(err, BPK_CORRUPT, "zip has no zip64 record at %" PRIu64, offset);
	if (bpk_get_le32(record + 16) != 0 || bpk_get_le32(record + 20) != 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "zip in several parts");
	zip->claimed = bpk_get_le64(record + 32);
	/* the size of the directory until read_end adds its offset */
	zip->end = bpk_get_le64(record + 40);
	zip->directory = bpk_get_le64(record + 48);
	return 0;
}

static int read_end(struct bpk_zip *zip, struct bpk_view last, size_t at, uint64_t end,
		    struct bpk_err *err)
{
	const uint8_t *record = last.data + at;

	if (bpk_get_le16(record + 4) != bpk_get_le16(record + 6))
		return bpk_fail(err, BPK_UNSUPPORTED, "zip in several parts");
	zip->claimed = bpk_get_le16(record + 10);
	zip->end = bpk_get_le32(record + 12);
	zip->directory = bpk_get_le32(record + 16);
	if (read_end64(zip, end, err) != 0)
		return -1;
	if (!bpk_layout_fits(end, zip->directory, zip->end))
		return bpk_fail(err, BPK_CORRUPT,
				"zip directory of %" PRIu64 " bytes at %" PRIu64
				" reaches behind %" PRIu64,
				zip->end, zip->directory, end);
	zip->count = bpk_min_u64(zip->claimed, zip->end / ENTRY_SIZE);
	zip->end += zip->directory;
	return 0;
}

int bpk_zip_open(struct bpk_source *source, struct bpk_zip *zip, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(source);
	size_t last = bpk_min_u64(size, END_SIZE + UINT16_MAX), at;

	*zip = (struct bpk_zip){ .source = source, .end = size };
	if (size < END_SIZE)
		return bpk_fail(err, BPK_CORRUPT, "zip has %" PRIu64 " bytes, at least %d expected",
				size, END_SIZE);
	if (bpk_buf_resize(&zip->window, last, err) != 0)
		return -1;
	zip->window_offset = size - last;
	if (bpk_source_need_at(source, size - last, bpk_span(zip->window.data, last), err) != 0)
		goto failed;
	if (!find_end(bpk_buf_view(&zip->window), &at)) {
		bpk_fail(err, BPK_CORRUPT, "zip has no end of its directory");
		goto failed;
	}
	if (read_end(zip, bpk_buf_view(&zip->window), at, size - last + at, err) == 0)
		return 0;
failed:
	bpk_zip_clear(zip);
	return -1;
}

/* ---- Entries ---- */

/* The zip64 extra field; an empty cursor if missing. */
static struct bpk_cursor find_zip64(struct bpk_view extra)
{
	struct bpk_cursor cursor = bpk_cursor(extra);

	while (cursor.left >= 4) {
		const uint8_t *head = bpk_cursor_take(&cursor, 4);
		uint16_t size = bpk_get_le16(head + 2);
		const uint8_t *field = bpk_cursor_take(&cursor, size);

		if (field == NULL)
			break;
		if (bpk_get_le16(head) == EXTRA_ZIP64)
			return bpk_cursor(bpk_view(field, size));
	}
	return bpk_cursor(bpk_view(NULL, 0));
}

/* A 32-bit field, or the next value of zip64 if it is all ones. */
static uint64_t widen(uint32_t value, struct bpk_cursor *zip64)
{
	return value == UINT32_MAX ? (uint64_t)bpk_cursor_le64s(zip64) : value;
}

int bpk_zip_entry(struct bpk_zip *zip, uint64_t offset, struct bpk_zip_entry *entry,
		  struct bpk_err *err)
{
	struct bpk_cursor zip64;
	struct bpk_view head;
	size_t name, extra, comment;

	if (look(zip, offset, ENTRY_SIZE, &head, err) != 0)
		return -1;
	if (bpk_get_le32(head.data) != ENTRY_SIGNATURE)
		return bpk_fail(err, BPK_CORRUPT, "zip has no directory entry at %" PRIu64, offset);
	name = bpk_get_le16(head.data + 28);
	extra = bpk_get_le16(head.data + 30);
	comment = bpk_get_le16(head.data + 32);
	if (look(zip, offset, ENTRY_SIZE + name + extra + comment, &head, err) != 0)
		return -1;
	entry->flags = bpk_get_le16(head.data + 8);
	entry->method = bpk_get_le16(head.data + 10);
	entry->name = bpk_view(head.data + ENTRY_SIZE, name);
	entry->extra = bpk_view(head.data + ENTRY_SIZE + name, extra);
	entry->next = offset + head.size;
	zip64 = find_zip64(entry->extra);
	entry->size = widen(bpk_get_le32(head.data + 24), &zip64);
	entry->packed_size = widen(bpk_get_le32(head.data + 20), &zip64);
	entry->local = widen(bpk_get_le32(head.data + 42), &zip64);
	if (zip64.bad)
		return bpk_fail(err, BPK_CORRUPT,
				"zip directory entry at %" PRIu64 " lacks a size of zip64", offset);
	return 0;
}

/* ---- Local headers ---- */

static bool same_sizes(const struct bpk_zip_entry *entry, const uint8_t *head,
		       struct bpk_view extra)
{
	struct bpk_cursor zip64 = find_zip64(extra);
	uint64_t size = widen(bpk_get_le32(head + 22), &zip64);
	uint64_t packed_size = widen(bpk_get_le32(head + 18), &zip64);

	if (entry->flags & BPK_ZIP_SIZE_BEHIND)
		return true;
	return !zip64.bad && size == entry->size && packed_size == entry->packed_size;
}

/* head holds the fixed part, the name and the extra fields. */
static int check_local(const struct bpk_zip_entry *entry, struct bpk_view head, size_t name,
		       struct bpk_err *err)
{
	struct bpk_view extra =
		bpk_view(head.data + LOCAL_SIZE + name, head.size - LOCAL_SIZE - name);
	unsigned flags = BPK_ZIP_ENCRYPTED | BPK_ZIP_SIZE_BEHIND;

	if ((bpk_get_le16(head.data + 6) & flags) != (entry->flags & flags) ||
	    bpk_get_le16(head.data + 8) != entry->method)
		return bpk_fail(err, BPK_CORRUPT, "its local header has another method");
	if (name != entry->name.size || memcmp(head.data + LOCAL_SIZE, entry->name.data, name) != 0)
		return bpk_fail(err, BPK_CORRUPT, "its local header has another name");
	if (!same_sizes(entry, head.data, extra))
		return bpk_fail(err, BPK_CORRUPT, "its local header has other sizes");
	return 0;
}

int bpk_zip_locate(struct bpk_zip *zip, const struct bpk_zip_entry *entry, uint64_t *offset,
		   struct bpk_err *err)
{
	struct bpk_buf head = { 0 };
	uint8_t fixed[LOCAL_SIZE];
	size_t name, extra;
	int rc = -1;

	if (entry->packed_size != entry->size)
		return bpk_fail(err, BPK_CORRUPT, "it is stored, and has two sizes");
	if (!bpk_layout_fits(zip->directory, entry->local, LOCAL_SIZE))
		return bpk_fail(err, BPK_CORRUPT, "its local header lies behind the others");
	if (bpk_source_need_at(zip->source, entry->local, bpk_span(fixed, LOCAL_SIZE), err) != 0)
		return -1;
	if (bpk_get_le32(fixed) != LOCAL_SIGNATURE)
		return bpk_fail(err, BPK_CORRUPT, "it has no local header");
	name = bpk_get_le16(fixed + 26);
	extra = bpk_get_le16(fixed + 28);
	*offset = entry->local + LOCAL_SIZE + name + extra;
	if (!bpk_layout_fits(zip->directory, *offset, entry->size))
		return bpk_fail(err, BPK_CORRUPT, "it reaches into the directory");
	if (bpk_buf_resize(&head, LOCAL_SIZE + name + extra, err) == 0 &&
	    bpk_source_need_at(zip->source, entry->local, bpk_span(head.data, head.size), err) == 0)
		rc = check_local(entry, bpk_buf_view(&head), name, err);
	bpk_buf_clear(&head);
	return rc;
}
