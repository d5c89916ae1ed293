/*
 * GSD files being written: arrays and frames. Called by append, and to join trajectories.
 */
#include "layout/gsd_write.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Types, names, entries ---- */

/* Returns 0 if GSD has no such type. */
static uint8_t type_of(const struct bpk_gsd_editor *editor, const struct bpk_scalar *scalar)
{
	uint32_t version = bpk_get_le32(editor->header + BPK_GSD_AT_VERSION);

	for (uint8_t type = BPK_GSD_UINT8; bpk_gsd_scalar(type) != NULL; type++) {
		const struct bpk_scalar *known = bpk_gsd_scalar(type);

		if (type == BPK_GSD_CHARACTER && version < 0x20001)
			return 0;
		if (known->kind == scalar->kind && known->item_size == scalar->item_size)
			return type;
	}
	return 0;
}

/* Refuse names whose displayed form differs, because users type the displayed form. */
static int check_shown(const char *name, struct bpk_err *err)
{
	char *shown = bpk_layout_text(bpk_view(name, strlen(name)), err);
	int rc = shown != NULL ? 0 : -1;

	if (rc == 0 && strcmp(shown, name) != 0)
		rc = bpk_fail(err, BPK_FAILED, "name '%s' has control bytes", shown);
	free(shown);
	return rc;
}

static int check_name(const char *name, struct bpk_err *err)
{
	size_t size = strlen(name);

	if (size == 0)
		return bpk_fail(err, BPK_FAILED, "an array needs a name");
	if (size > BPK_GSD_MAX_NAME)
		return bpk_fail(err, BPK_LIMIT, "name of %zu bytes, at most %d are accepted", size,
				BPK_GSD_MAX_NAME);
	for (size_t at = 0; at < size;) {
		size_t length = bpk_utf8_size(bpk_view(name + at, size - at));

		if (length == 0)
			return bpk_fail(err, BPK_FAILED, "name '%s' is not UTF-8", name);
		at += length;
	}
	return check_shown(name, err);
}

/* The id of a name for this frame; new names are added to the list. */
static int take_name(struct bpk_gsd_editor *editor, const char *name, uint32_t *id,
		     struct bpk_err *err)
{
	struct bpk_gsd_listed *listed;

	if (!bpk_gsd_list_find(&editor->names, name, id)) {
		if (check_name(name, err) != 0 ||
		    bpk_gsd_list_add(&editor->names, name, id, err) != 0)
			return -1;
		editor->names_new = true;
	}
	listed = bpk_gsd_list_at(&editor->names, *id);
	if (listed->turn == editor->nframes + 1)
		return bpk_fail(err, BPK_FAILED, "frame %" PRIu64 " has an array '%s' already",
				editor->nframes, name);
	listed->turn = editor->nframes + 1;
	return 0;
}

static void print_entry(const struct bpk_gsd_entry *entry, uint8_t bytes[BPK_GSD_ENTRY])
{
	bpk_put_le64(bytes, entry->frame);
	bpk_put_le64(bytes + 8, entry->nrows);
	bpk_put_le64(bytes + 16, entry->location);
	bpk_put_le32(bytes + 24, (uint32_t)entry->ncolumns);
	bytes[28] = (uint8_t)entry->id;
	bytes[29] = (uint8_t)(entry->id >> 8);
	bytes[30] = entry->type;
	bytes[31] = 0;
}

int bpk_gsd_entry_append(const struct bpk_gsd_entry *entry, struct bpk_buf *out,
			 struct bpk_err *err)
{
	uint8_t bytes[BPK_GSD_ENTRY];

	print_entry(entry, bytes);
	return bpk_buf_append(out, bpk_view(bytes, sizeof bytes), err);
}

/* ---- Putting ---- */

static int check_complete(const struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	if (editor->missing == 0)
		return 0;
	return bpk_fail(err, BPK_BUG, "%" PRIu64 " bytes of an array were not written",
			editor->missing);
}

int bpk_gsd_editor_put(struct bpk_gsd_editor *editor, const char *name,
		       const struct bpk_scalar *scalar, uint64_t nrows, uint64_t ncolumns,
		       struct bpk_err *err)
{
	struct bpk_gsd_entry entry = {
		.frame = editor->nframes,
		.nrows = nrows,
		.ncolumns = ncolumns,
		.location = editor->end,
		.type = type_of(editor, scalar),
	};
	uint64_t size, end;

	if (check_complete(editor, err) != 0)
		return -1;
	if (entry.type == 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"GSD has no type for elements of kind '%c' and %u bytes",
				scalar->kind, scalar->item_size);
	if (ncolumns == 0 || ncolumns > UINT32_MAX)
		return bpk_fail(err, BPK_LIMIT, "%" PRIu64 " columns, from 1 to %u are possible",
				ncolumns, UINT32_MAX);
	if (!bpk_gsd_entry_size(&entry, &size) || !bpk_add_u64(editor->end, size, &end) ||
	    end > INT64_MAX)
		return bpk_fail(err, BPK_LIMIT,
				"%" PRIu64 " x %" PRIu64 " elements are too many for a file", nrows,
				ncolumns);
	if (take_name(editor, name, &entry.id, err) != 0)
		return -1;
	editor->missing = size;
	return bpk_gsd_entry_append(&entry, &editor->frame, err);
}

int bpk_gsd_editor_write(struct bpk_gsd_editor *editor, struct bpk_view bytes, struct bpk_err *err)
{
	if (bytes.size > editor->missing)
		return bpk_fail(err, BPK_BUG, "%zu bytes for the last %" PRIu64 " of an array",
				bytes.size, editor->missing);
	if (bytes.size == 0)
		return 0;
	if (editor->store.ops->write_at(editor->store.own, editor->end, bytes, err) != 0)
		return -1;
	editor->end += bytes.size;
	editor->missing -= bytes.size;
	return 0;
}

/* ---- Frames ---- */

static int by_id(const void *a, const void *b)
{
	uint16_t x = bpk_get_le16((const uint8_t *)a + 28);
	uint16_t y = bpk_get_le16((const uint8_t *)b + 28);

	return (x > y) - (x < y);
}

/* GSD's library searches by bisection, so the entries of a frame are sorted. */
int bpk_gsd_editor_end_frame(struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	struct bpk_buf *frame = &editor->frame;

	if (check_complete(editor, err) != 0)
		return -1;
	if (frame->size > 0)
		qsort(frame->data, frame->size / BPK_GSD_ENTRY, BPK_GSD_ENTRY, by_id);
	if (bpk_buf_append(&editor->index, bpk_buf_view(frame), err) != 0)
		return -1;
	frame->size = 0;
	editor->nframes++;
	return 0;
}
