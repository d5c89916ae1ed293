/*
 * GSD files being written: creating, opening and closing. Called by append and truncate, and to
 * join trajectories.
 */
#include "layout/gsd_salvage.h"
#include "layout/gsd_write.h"

#include <inttypes.h>
#include <stdlib.h>

/* The most frames without an entry in the index that a file to be cut may claim. */
enum { MOST_EMPTY = 1 << 24 };

void bpk_gsd_editor_close(struct bpk_gsd_editor *editor)
{
	if (editor == NULL)
		return;
	bpk_gsd_list_clear(&editor->names);
	bpk_buf_clear(&editor->index);
	bpk_buf_clear(&editor->frame);
	free(editor);
}

uint64_t bpk_gsd_editor_nframes(const struct bpk_gsd_editor *editor)
{
	return editor->nframes;
}

uint64_t bpk_gsd_editor_narrays(const struct bpk_gsd_editor *editor)
{
	return bpk_gsd_editor_count(editor);
}

const struct bpk_gsd_head *bpk_gsd_editor_head(const struct bpk_gsd_editor *editor)
{
	return &editor->head;
}

static struct bpk_gsd_editor *new_editor(const struct bpk_gsd_store *store, struct bpk_err *err)
{
	struct bpk_gsd_editor *editor = bpk_calloc(1, sizeof *editor, err);

	if (editor == NULL)
		return NULL;
	editor->store = *store;
	editor->sound_frames = BPK_UNKNOWN;
	return editor;
}

/* ---- A new file ---- */

static int put_text(uint8_t *header, size_t at, const char *text, const char *what,
		    struct bpk_err *err)
{
	if (strlen(text) >= BPK_GSD_TEXT)
		return bpk_fail(err, BPK_LIMIT, "%s has %zu bytes, at most %d are possible", what,
				strlen(text), BPK_GSD_TEXT - 1);
	bpk_copy(header + at, text, strlen(text));
	return 0;
}

static void take_head(struct bpk_gsd_editor *editor)
{
	bpk_copy(editor->application, editor->header + BPK_GSD_AT_APPLICATION, BPK_GSD_TEXT - 1);
	bpk_copy(editor->schema, editor->header + BPK_GSD_AT_SCHEMA, BPK_GSD_TEXT - 1);
	editor->head = (struct bpk_gsd_head){
		.application = editor->application,
		.schema = editor->schema,
		.schema_version = bpk_get_le32(editor->header + BPK_GSD_AT_SCHEMA_VERSION),
	};
}

/* The layout of a new file by GSD's library. */
static int make_header(struct bpk_gsd_editor *editor, const struct bpk_gsd_head *head,
		       struct bpk_err *err)
{
	uint8_t *header = editor->header;

	bpk_copy(header, bpk_gsd_magic, sizeof bpk_gsd_magic);
	bpk_put_le32(header + BPK_GSD_AT_SCHEMA_VERSION, head->schema_version);
	bpk_put_le32(header + BPK_GSD_AT_VERSION, 0x20000);
	if (put_text(header, BPK_GSD_AT_APPLICATION, head->application, "application", err) != 0 ||
	    put_text(header, BPK_GSD_AT_SCHEMA, head->schema, "schema", err) != 0)
		return -1;
	take_head(editor);
	editor->records = true;
	editor->idle =
		(struct bpk_gsd_slot){ .offset = BPK_GSD_HEADER, .room = BPK_GSD_FRESH_ROOM };
	editor->names_block = (struct bpk_gsd_block){
		.offset = bpk_gsd_slot_end(&editor->idle),
		.room = BPK_GSD_FRESH_SEGMENTS,
		.size = (uint64_t)BPK_GSD_FRESH_SEGMENTS * BPK_GSD_SEGMENT,
	};
	editor->names_fresh = true;
	editor->end = editor->store.ops->begin(editor->store.own, BPK_GSD_FRESH_END);
	return 0;
}

int bpk_gsd_editor_create(const struct bpk_gsd_store *store, const struct bpk_gsd_head *head,
			  struct bpk_gsd_editor **editor, struct bpk_err *err)
{
	*editor = new_editor(store, err);
	if (*editor == NULL)
		return -1;
	if (make_header(*editor, head, err) == 0)
		return 0;
	bpk_gsd_editor_close(*editor);
	*editor = NULL;
	return -1;
}

/* ---- An existing file ---- */

/* A cut removes nothing that repair could save. */
static int check_cut(const struct bpk_gsd *gsd, struct bpk_err *err)
{
	bool torn;

	if (gsd->damage.kind == BPK_OK)
		return 0;
	if (bpk_gsd_may_be_cut(gsd, &torn, err) != 0)
		return -1;
	if (torn)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"%s; bpk repair FILE shows which frames are left, and a cut would remove "
			"them",
			gsd->damage.text);
}

/* Nothing is put behind damage. What a killed writer left of its first frame is none. */
static int check_whole(const struct bpk_gsd *gsd, struct bpk_err *err)
{
	struct bpk_gsd_found *found;
	struct bpk_err why = { 0 };
	uint64_t nframes;

	if (gsd->damage.kind != BPK_OK)
		return bpk_fail(err, BPK_CORRUPT, "%s; bpk verify FILE says more",
				gsd->damage.text);
	if (bpk_gsd_check_names(gsd, err) != 0)
		return -1;
	if (!bpk_gsd_index_is_lost(gsd))
		return 0;
	if (bpk_gsd_found_open(gsd->source, &found, &why) != 0)
		return bpk_err_is_of_machine(&why) ? bpk_fail_as(err, &why) : 0;
	nframes = bpk_gsd_found_info(found)->nframes;
	bpk_gsd_found_close(found);
	return nframes > 1 ? bpk_gsd_fail_lost(gsd, err) : 0;
}

static int check(const struct bpk_gsd *gsd, bool to_cut, struct bpk_err *err)
{
	uint64_t last = gsd->nentries > 0 ? bpk_gsd_entry(gsd, gsd->nentries - 1)->frame : 0;

	if (gsd->version < 0x20000)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"GSD %s is only read; python gsd's 'upgrade' makes it 2.0",
				gsd->variant);
	if (to_cut && last > gsd->nentries && last - gsd->nentries > MOST_EMPTY)
		return bpk_fail(err, BPK_LIMIT, "claims %" PRIu64 " frames in %" PRIu64 " arrays",
				last + 1, gsd->nentries);
	return to_cut ? check_cut(gsd, err) : check_whole(gsd, err);
}

/* Load the names as stored; those in gsd may be changed for display. A list ends at its first empty
 * name; bpk_gsd_open has checked its length and that of each name. */
static int load_names(struct bpk_gsd_editor *editor, const struct bpk_gsd *gsd, struct bpk_err *err)
{
	const struct bpk_gsd_block *block = &gsd->names_block;
	struct bpk_buf name = { 0 };
	uint8_t bytes[512];
	bool ended = false;
	uint32_t id;
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && !ended && at < block->size; at += sizeof bytes) {
		size_t size = (size_t)bpk_min_u64(sizeof bytes, block->size - at);

		rc = bpk_source_need_at(gsd->source, block->offset + at, bpk_span(bytes, size),
					err);
		for (size_t i = 0; rc == 0 && !ended && i < size; i++) {
			rc = bpk_buf_append(&name, bpk_view(bytes + i, 1), err);
			if (rc != 0 || bytes[i] != 0)
				continue;
			ended = name.size == 1 || editor->names.count == gsd->names.count;
			if (!ended)
				rc = bpk_gsd_list_add(&editor->names, (const char *)name.data, &id,
						      err);
			name.size = 0;
		}
	}
	bpk_buf_clear(&name);
	return rc;
}

static int load_index(struct bpk_gsd_editor *editor, const struct bpk_gsd *gsd, struct bpk_err *err)
{
	if (bpk_buf_reserve(&editor->index, (size_t)gsd->nentries * BPK_GSD_ENTRY, err) != 0)
		return -1;
	for (uint64_t i = 0; i < gsd->nentries; i++) {
		uint64_t number = gsd->order != NULL ? gsd->order[i].number : i;

		if (bpk_gsd_entry_append(bpk_gsd_entry(gsd, number), &editor->index, err) != 0)
			return -1;
	}
	if (gsd->nentries > 0)
		editor->nframes = bpk_gsd_entry(gsd, gsd->nentries - 1)->frame + 1;
	return 0;
}

/* If the file's end truncates the index, its room is the part that exists. */
static int load_slots(struct bpk_gsd_editor *editor, const struct bpk_gsd *gsd, struct bpk_err *err)
{
	uint64_t present = (gsd->file_size - gsd->index.offset) / BPK_GSD_ENTRY;
	struct bpk_gsd_slot *idle = &editor->idle;
	uint64_t size;

	editor->used = (struct bpk_gsd_slot){
		.offset = gsd->index.offset,
		.room = bpk_min_u64(gsd->index.room, present),
	};
	editor->records = bpk_gsd_record_read(editor->header, idle);
	if (!bpk_mul_u64(idle->room, BPK_GSD_ENTRY, &size) ||
	    !bpk_layout_fits(gsd->file_size, idle->offset, size) ||
	    bpk_gsd_is_live(editor, idle->offset, size))
		*idle = (struct bpk_gsd_slot){ 0 };
	if (bpk_gsd_slot_survey(editor, gsd->source, &editor->used, err) != 0)
		return -1;
	return bpk_gsd_slot_survey(editor, gsd->source, idle, err);
}

static int load(struct bpk_gsd_editor *editor, const struct bpk_gsd *gsd, struct bpk_err *err)
{
	struct bpk_span header = bpk_span(editor->header, BPK_GSD_HEADER);
	uint64_t end;

	editor->names_block = gsd->names_block;
	editor->damaged = gsd->damage.kind != BPK_OK;
	editor->sound_frames = gsd->sound_frames;
	if (bpk_source_need_at(gsd->source, 0, header, err) != 0)
		return -1;
	take_head(editor);
	if (load_names(editor, gsd, err) != 0 || load_index(editor, gsd, err) != 0 ||
	    load_slots(editor, gsd, err) != 0)
		return -1;
	end = bpk_max_u64(bpk_gsd_live_end(editor), bpk_gsd_slot_end(&editor->used));
	end = bpk_max_u64(end, bpk_gsd_slot_end(&editor->idle));
	/* the rest of torn frames stays as it is until the cut is committed */
	if (editor->damaged)
		end = gsd->file_size;
	editor->end = editor->store.ops->begin(editor->store.own, end);
	return 0;
}

int bpk_gsd_editor_open(const struct bpk_gsd_store *store, struct bpk_source *source, bool to_cut,
			struct bpk_gsd_editor **editor, struct bpk_err *err)
{
	struct bpk_gsd *gsd;
	int rc = -1;

	*editor = NULL;
	if (bpk_gsd_open(source, &gsd, err) != 0)
		return -1;
	if (check(gsd, to_cut, err) == 0)
		*editor = new_editor(store, err);
	if (*editor != NULL)
		rc = load(*editor, gsd, err);
	if (rc == 0 && !to_cut)
		rc = bpk_gsd_editor_check(*editor, err);
	if (rc != 0) {
		bpk_gsd_editor_close(*editor);
		*editor = NULL;
	}
	bpk_gsd_close(gsd);
	return rc;
}
