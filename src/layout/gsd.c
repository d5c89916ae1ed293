/*
 * The member GSD; its row is in layouts.c. A file has a header, an index of all chunks, a list of
 * their names, and the data of each chunk in one piece:
 *
 *  header  256 bytes  offsets of index and names, versions, application, schema
 *  index   32 bytes a chunk: frame, rows, columns, type, name by number, offset of its data
 *  names   of 64 bytes each before version 2, then packed
 *
 * A chunk of one column is an array of one dimension, as in python gsd; others have two. Characters
 * (since 2.1) are one element of "|SN", a string of N bytes, for which python gsd 3.4 returns the
 * text; with more than one column, which no writer produces, they are its int8.
 *
 * If a frame repeats a chunk, the later ones are called NAME#2, NAME#3; a search finds the first.
 * The same holds for a name that occurs twice in the list of names. If names in the file contain
 * '#', the separator has more of them.
 */
#include "layout/gsd_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* In the byte order of the file, which is always little-endian. The reversed magic marks a
 * big-endian file, which no reader supports. */
const uint8_t bpk_gsd_magic[8] = { 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65 };

/* ---- The header ---- */

/* GSD's libraries write in the byte order of the machine; files from big-endian machines are
 * refused. */
static bool is_turned(struct bpk_view head)
{
	return head.size >= BPK_GSD_HEADER &&
	       bpk_get_be64(head.data) == bpk_get_le64(bpk_gsd_magic);
}

static bool is_probable(struct bpk_view head, uint64_t size)
{
	(void)size;
	if (head.size >= BPK_GSD_HEADER &&
	    memcmp(head.data, bpk_gsd_magic, sizeof bpk_gsd_magic) == 0)
		return true;
	return is_turned(head) || bpk_gsd_v0_probe(head);
}

/* 0.3, which has the layout of 1.0, and all of 1 and 2. 0.2 was another format. */
bool bpk_gsd_is_known(uint32_t version)
{
	return version == 3 || (version >= 0x10000 && version < 0x30000);
}

/* Check a table of room pieces of size bytes each. Only its first piece must be in the file. */
static int check_block(const struct bpk_gsd *gsd, struct bpk_gsd_block *block, uint64_t size,
		       const char *what, struct bpk_err *err)
{
	if (block->room == 0 || !bpk_mul_u64(block->room, size, &block->size))
		return bpk_fail(err, BPK_CORRUPT, "%s has room for %" PRIu64 " entries", what,
				block->room);
	if (block->offset < BPK_GSD_HEADER || !bpk_layout_fits(gsd->file_size, block->offset, size))
		return bpk_fail(err, BPK_CORRUPT,
				"%s at %" PRIu64 " in a file of %" PRIu64 " bytes", what,
				block->offset, gsd->file_size);
	return 0;
}

static int check_header(struct bpk_gsd *gsd, struct bpk_err *err)
{
	const struct bpk_gsd_block *names = &gsd->names_block;

	if (check_block(gsd, &gsd->index, 32, "index", err) != 0 ||
	    check_block(gsd, &gsd->names_block, 64, "list of names", err) != 0)
		return -1;
	if (!bpk_layout_fits(gsd->file_size, names->offset, names->size))
		return bpk_fail(err, BPK_CORRUPT,
				"list of names of %" PRIu64 " bytes at %" PRIu64
				" in a file of %" PRIu64 " bytes",
				names->size, names->offset, gsd->file_size);
	return 0;
}

/* Texts of the header end with NUL. *text is NULL for an empty one. */
static int read_text(const uint8_t *bytes, const char *what, char **text, struct bpk_err *err)
{
	if (memchr(bytes, 0, BPK_GSD_TEXT) == NULL)
		return bpk_fail(err, BPK_CORRUPT, "%s has no end", what);
	if (bytes[0] == 0)
		return 0;
	*text = bpk_layout_text(bpk_view(bytes, BPK_GSD_TEXT), err);
	return *text != NULL ? 0 : -1;
}

/* "2.0" */
static int print_version(struct bpk_gsd *gsd, struct bpk_err *err)
{
	char text[32];

	snprintf(text, sizeof text, "%u.%u", gsd->version >> 16, gsd->version & 0xffff);
	gsd->variant = bpk_strdup(text, err);
	return gsd->variant != NULL ? 0 : -1;
}

/* "hoomd 1.4" */
static int read_schema(struct bpk_gsd *gsd, const uint8_t *bytes, uint32_t version,
		       struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	char *name = NULL;

	if (read_text(bytes, "schema", &name, err) != 0)
		return -1;
	if (name == NULL)
		return 0;
	gsd->hoomd = strcmp(name, "hoomd") == 0 && version >> 16 == 1;
	if (bpk_buf_printf(&text, err, "%s %u.%u", name, version >> 16, version & 0xffff) == 0 &&
	    bpk_buf_append(&text, bpk_view("", 1), err) == 0)
		gsd->schema = bpk_strdup((const char *)text.data, err);
	bpk_buf_clear(&text);
	free(name);
	return gsd->schema != NULL ? 0 : -1;
}

/* bpk's own writer has two blocks, and each change fills the one that is not in use. */
static void read_idle(struct bpk_gsd *gsd, struct bpk_view head)
{
	struct bpk_gsd_slot slot;
	uint64_t size;

	if (bpk_gsd_record_read(head.data, &slot) && bpk_mul_u64(slot.room, BPK_GSD_ENTRY, &size))
		gsd->idle = (struct bpk_gsd_block){ slot.offset, slot.room, size };
}

static int read_header(struct bpk_gsd *gsd, struct bpk_view head, struct bpk_err *err)
{
	gsd->version = bpk_get_le32(head.data + BPK_GSD_AT_VERSION);
	gsd->header_size = BPK_GSD_HEADER;
	if (!bpk_gsd_is_known(gsd->version))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"GSD version %u.%u is not known, expected 0.3, 1 or 2; if its "
				"header is damaged, bpk repair FILE shows which frames are left",
				gsd->version >> 16, gsd->version & 0xffff);
	gsd->index.offset = bpk_get_le64(head.data + BPK_GSD_AT_INDEX);
	gsd->index.room = bpk_get_le64(head.data + BPK_GSD_AT_INDEX + 8);
	gsd->names_block.offset = bpk_get_le64(head.data + BPK_GSD_AT_NAMES);
	gsd->names_block.room = bpk_get_le64(head.data + BPK_GSD_AT_NAMES + 8);
	read_idle(gsd, head);
	if (check_header(gsd, err) != 0 || print_version(gsd, err) != 0 ||
	    read_text(head.data + BPK_GSD_AT_APPLICATION, "application", &gsd->application, err) !=
		    0)
		return -1;
	return read_schema(gsd, head.data + BPK_GSD_AT_SCHEMA,
			   bpk_get_le32(head.data + BPK_GSD_AT_SCHEMA_VERSION), err);
}

/* ---- Open and close ---- */

void bpk_gsd_close(struct bpk_gsd *gsd)
{
	if (gsd == NULL)
		return;
	free(gsd->variant);
	free(gsd->application);
	free(gsd->schema);
	bpk_gsd_names_clear(&gsd->names);
	bpk_buf_clear(&gsd->entries);
	bpk_buf_clear(&gsd->steps);
	free(gsd->order);
	bpk_array_clear(&gsd->array);
	bpk_buf_clear(&gsd->label);
	free(gsd);
}

static int read_file(struct bpk_gsd *gsd, struct bpk_err *err)
{
	uint8_t bytes[BPK_GSD_HEADER];
	struct bpk_view head;
	size_t got;

	if (bpk_source_read_at(gsd->source, 0, bpk_span(bytes, sizeof bytes), &got, err) != 0)
		return -1;
	head = bpk_view(bytes, got);
	if (is_turned(head))
		return bpk_fail(err, BPK_UNSUPPORTED, "big-endian GSD is not supported");
	if (got < sizeof bytes || memcmp(bytes, bpk_gsd_magic, sizeof bpk_gsd_magic) != 0)
		return bpk_gsd_v0_read(gsd, head, err);
	if (read_header(gsd, head, err) != 0 || bpk_gsd_names_read(gsd, err) != 0)
		return -1;
	return bpk_gsd_index_read(gsd, err);
}

static int tell(struct bpk_gsd *gsd, struct bpk_layout_info *info, struct bpk_err *err)
{
	uint64_t last = gsd->nentries > 0 ? bpk_gsd_entry(gsd, gsd->nentries - 1)->frame : 0;

	*info = (struct bpk_layout_info){
		.kind = "gsd",
		.variant = gsd->variant,
		.application = gsd->application,
		.schema = gsd->schema,
		.narrays = gsd->nentries,
		.nframes = gsd->nentries > 0 ? last + 1 : 0,
		.last_step = BPK_UNKNOWN,
		.damage = gsd->damage.kind != BPK_OK ? gsd->damage.text : NULL,
	};
	if (gsd->nentries == 0)
		return 0;
	if (gsd->version > 0)
		return bpk_gsd_step(gsd, last, &info->last_step, err);
	bpk_copy(&info->last_step, gsd->steps.data + gsd->steps.size - 8, 8);
	return 0;
}

int bpk_gsd_open(struct bpk_source *source, struct bpk_gsd **gsd, struct bpk_err *err)
{
	struct bpk_gsd *made = bpk_calloc(1, sizeof *made, err);

	*gsd = NULL;
	if (made == NULL)
		return -1;
	made->source = source;
	made->file_size = bpk_source_size(source);
	made->step_frame = BPK_UNKNOWN;
	made->sound_frames = BPK_UNKNOWN;
	if (read_file(made, err) != 0) {
		bpk_gsd_close(made);
		return -1;
	}
	*gsd = made;
	return 0;
}

static int open_gsd(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err)
{
	struct bpk_gsd *gsd;

	if (bpk_gsd_open(source, &gsd, err) != 0)
		return -1;
	if (tell(gsd, info, err) != 0) {
		bpk_gsd_close(gsd);
		return -1;
	}
	*own = gsd;
	return 0;
}

static void close_gsd(void *own)
{
	bpk_gsd_close(own);
}

/* ---- Arrays ---- */

static int get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct bpk_gsd *gsd = own;

	return bpk_gsd_give(gsd, number, bpk_gsd_entry(gsd, number)->frame, item, err);
}

static int find(void *own, const char *name, uint64_t frame, bool defaults, struct bpk_item *item,
		struct bpk_err *err)
{
	struct bpk_gsd *gsd = own;
	uint64_t number;
	int rc;

	if (frame == BPK_UNKNOWN)
		return 1;
	if (bpk_gsd_find_name(gsd, frame, name, &number))
		return bpk_gsd_give(gsd, number, frame, item, err);
	if (!defaults || !gsd->hoomd)
		return 1;
	rc = bpk_gsd_hoomd_find(gsd, name, frame, item, err);
	return rc == 0 ? bpk_gsd_step(gsd, frame, &item->step, err) : rc;
}

/* Version 0.0.1 can be read, but no program writes it today. */
static size_t parts(const void *own, struct bpk_layout_part parts[BPK_LAYOUT_PARTS])
{
	const struct bpk_gsd *gsd = own;
	const struct bpk_gsd_block *index = &gsd->index, *names = &gsd->names_block;

	if (gsd->version == 0)
		return 0;
	parts[0] = (struct bpk_layout_part){ "index and name pointers", 8, 32, false };
	parts[1] = (struct bpk_layout_part){ "index", index->offset, index->size, true };
	parts[2] = (struct bpk_layout_part){ "names", names->offset, names->size, true };
	parts[3] = (struct bpk_layout_part){ "record of the idle block", BPK_GSD_RESERVED,
					     BPK_GSD_RECORD, false };
	if (gsd->idle.size == 0)
		return 4;
	parts[4] = (struct bpk_layout_part){ "idle index", gsd->idle.offset, gsd->idle.size, true };
	return 5;
}

/* Bytes from at on that an extent leaves of those up to end. */
static uint64_t leave(uint64_t at, uint64_t end, uint64_t offset, uint64_t size)
{
	if (at >= offset)
		return at - offset < size ? at : end;
	return size > 0 ? bpk_min_u64(end, offset) : end;
}

static uint64_t unused(const void *own, uint64_t at)
{
	const struct bpk_gsd *gsd = own;
	uint64_t end = bpk_max_u64(at, gsd->file_size), size = 0;

	if (gsd->version == 0)
		return 0;
	end = leave(at, end, 0, gsd->header_size);
	end = leave(at, end, gsd->index.offset, gsd->index.size);
	end = leave(at, end, gsd->names_block.offset, gsd->names_block.size);
	end = leave(at, end, gsd->idle.offset, gsd->idle.size);
	for (uint64_t i = 0; i < gsd->nentries && end > at; i++) {
		const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, i);

		(void)bpk_gsd_entry_size(entry, &size);
		end = leave(at, end, entry->location, size);
	}
	return end - at;
}

const struct bpk_layout_ops bpk_layout_gsd = {
	.title = "GSD",
	.probe = is_probable,
	.open = open_gsd,
	.get = get,
	.find = find,
	.parts = parts,
	.unused = unused,
	.close = close_gsd,
};
