/*
 * Internal to the member GSD, for files being written. gsd_editor.c creates, opens and closes
 * editors, gsd_put.c adds arrays and frames in memory and appends data, gsd_commit.c writes names
 * and index, gsd_list.c keeps the names, gsd_store.c has the stores.
 */
#ifndef BPK_LAYOUT_GSD_WRITE_H
#define BPK_LAYOUT_GSD_WRITE_H

#include "layout/gsd.h"
#include "layout/gsd_editor.h"

enum {
	BPK_GSD_ENTRY = 32,          /* bytes of an index entry */
	BPK_GSD_SEGMENT = 64,        /* the unit of lists of names, in bytes */
	BPK_GSD_FRESH_ROOM = 128,    /* entries of the first index */
	BPK_GSD_FRESH_SEGMENTS = 16, /* of the first list of names */
	BPK_GSD_FRESH_NAMES = BPK_GSD_HEADER + BPK_GSD_FRESH_ROOM * BPK_GSD_ENTRY, /* offset */
	BPK_GSD_FRESH_END = BPK_GSD_FRESH_NAMES + BPK_GSD_FRESH_SEGMENTS * BPK_GSD_SEGMENT,
};

/* A block for an index. room 0: no block. */
struct bpk_gsd_slot {
	uint64_t offset;
	uint64_t room;  /* entries */
	uint64_t equal; /* leading entries that equal those of the new index */
	uint64_t dirty; /* all entries after this many are zeros */
};

/* The names of a file being written, as stored. Valid when zeroed. */
struct bpk_gsd_list {
	struct bpk_buf texts; /* each with its NUL */
	struct bpk_buf names; /* struct bpk_gsd_listed, by id */
	uint32_t count;
	uint32_t *table; /* id + 1 by hash; 0: free */
	size_t room;     /* of the table, a power of 2 */
};

struct bpk_gsd_listed {
	uint64_t at;   /* offset in texts */
	uint64_t turn; /* number of the last frame that has it, plus 1 */
};

struct bpk_gsd_editor {
	struct bpk_gsd_store store;
	uint8_t header[BPK_GSD_HEADER];
	char application[BPK_GSD_TEXT], schema[BPK_GSD_TEXT];
	struct bpk_gsd_head head;

	uint64_t end;                   /* offset of the next byte */
	struct bpk_gsd_slot used, idle; /* the index in use, and the idle block */
	bool damaged;                   /* the index must be rewritten */
	uint64_t sound_frames; /* whole frames before a torn one; BPK_UNKNOWN: no frame is torn */
	bool records;          /* the reserved bytes may hold the record of the idle block */

	struct bpk_gsd_list names;
	struct bpk_gsd_block names_block;
	bool names_new;   /* some names are not in the file yet */
	bool names_fresh; /* the block is unused, and zeros */

	struct bpk_buf index; /* all entries, as stored */
	struct bpk_buf frame; /* entries of the current frame, in the order of put */
	uint64_t nframes;
	uint64_t missing; /* bytes missing in the current array */
};

/* ---- gsd_put.c ---- */

/* Append the stored form of an entry. */
int bpk_gsd_entry_append(const struct bpk_gsd_entry *entry, struct bpk_buf *out,
			 struct bpk_err *err);

/* ---- gsd_list.c ---- */

/* The id of a name; false if it is not in the list. */
bool bpk_gsd_list_find(const struct bpk_gsd_list *list, const char *name, uint32_t *id);

/* Add a name that is not in the list; fails with BPK_LIMIT if all ids are used. */
int bpk_gsd_list_add(struct bpk_gsd_list *list, const char *name, uint32_t *id,
		     struct bpk_err *err);

struct bpk_gsd_listed *bpk_gsd_list_at(const struct bpk_gsd_list *list, uint32_t id);
void bpk_gsd_list_clear(struct bpk_gsd_list *list);

/* ---- gsd_commit.c ---- */

/* The extent of the data of an index entry. */
struct bpk_gsd_extent {
	uint64_t offset, size, number;
};

/* Sort extents by offset, and by number. */
void bpk_gsd_extents_sort(struct bpk_gsd_extent *extents, size_t count);

/* The same. Fails with BPK_CORRUPT if two overlap. */
int bpk_gsd_extents_check(struct bpk_gsd_extent *extents, size_t count, struct bpk_err *err);

/* Number of entries of the new index. */
uint64_t bpk_gsd_editor_count(const struct bpk_gsd_editor *editor);

/* Compare a block with the index: set slot->equal and slot->dirty. */
int bpk_gsd_slot_survey(struct bpk_gsd_editor *editor, struct bpk_source *source,
			struct bpk_gsd_slot *slot, struct bpk_err *err);

/* The end of all data reachable from header and index, without the two index blocks. */
uint64_t bpk_gsd_live_end(const struct bpk_gsd_editor *editor);

/* Check that no data of entries overlap each other or the tables. Fails with BPK_CORRUPT. */
int bpk_gsd_editor_check(const struct bpk_gsd_editor *editor, struct bpk_err *err);

/* True if any of that data, or the index in use, overlaps size bytes at offset. */
bool bpk_gsd_is_live(const struct bpk_gsd_editor *editor, uint64_t offset, uint64_t size);

/* Read the record of the idle block in the header's reserved bytes; room 0: no block. False if the
 * bytes hold something else. */
bool bpk_gsd_record_read(const uint8_t *header, struct bpk_gsd_slot *slot);

static inline uint64_t bpk_gsd_slot_end(const struct bpk_gsd_slot *slot)
{
	return slot->offset + slot->room * BPK_GSD_ENTRY;
}

#endif
