/*
 * Inside the member GSD: files being written. gsd_editor.c begins and ends an edit, gsd_put.c adds
 * arrays and frames in memory and data behind the end, gsd_commit.c writes names and index,
 * gsd_list.c keeps the names, gsd_store.c is what is written to.
 */
#ifndef BPK_LAYOUT_GSD_WRITE_H
#define BPK_LAYOUT_GSD_WRITE_H

#include "layout/gsd.h"
#include "layout/gsd_editor.h"

enum {
	BPK_GSD_ENTRY = 32,          /* bytes of the index */
	BPK_GSD_SEGMENT = 64,        /* bytes that lists of names are counted in */
	BPK_GSD_FRESH_ROOM = 128,    /* entries of the first index */
	BPK_GSD_FRESH_SEGMENTS = 16, /* of the first list of names */
	BPK_GSD_FRESH_END = BPK_GSD_HEADER + BPK_GSD_FRESH_ROOM * BPK_GSD_ENTRY +
			    BPK_GSD_FRESH_SEGMENTS * BPK_GSD_SEGMENT,
};

/* A block for an index. room 0: there is none. */
struct bpk_gsd_slot {
	uint64_t offset;
	uint64_t room;  /* entries */
	uint64_t equal; /* so many, from its first, are those of the index to be */
	uint64_t dirty; /* behind so many all are zeros */
};

/* The names of a file being written, as they stand in it. Valid when zeroed. */
struct bpk_gsd_list {
	struct bpk_buf texts; /* each with its NUL */
	struct bpk_buf shown; /* those that are shown otherwise, as they are shown */
	struct bpk_buf names; /* struct bpk_gsd_listed, by id */
	uint32_t count;
	uint32_t *table; /* ids + 1 by hash; 0: free */
	size_t room;     /* of the table, a power of 2 */
};

struct bpk_gsd_listed {
	uint64_t at;   /* in texts, or in shown */
	uint64_t turn; /* of the frame that has it: its number + 1 */
	bool differs;  /* from how it is shown */
};

struct bpk_gsd_editor {
	struct bpk_gsd_store store;
	uint8_t header[BPK_GSD_HEADER];
	char application[BPK_GSD_TEXT], schema[BPK_GSD_TEXT];
	struct bpk_gsd_head head;

	uint64_t end;                   /* where the next byte goes */
	struct bpk_gsd_slot used, idle; /* the index in use, and the other */
	bool damaged;                   /* so the index is to be written anew */
	bool records;                   /* where the other one is may stand in the reserved bytes */

	struct bpk_gsd_list names;
	struct bpk_gsd_block names_block;
	bool names_new;   /* some are not in the file yet */
	bool names_fresh; /* the block is not in use yet, and zeros */

	struct bpk_buf index; /* all entries, as they stand in the file */
	struct bpk_buf frame; /* those of the frame to come, in the order of put */
	uint64_t nframes;
	uint64_t missing; /* bytes of the array being put */
};

/* ---- gsd_put.c ---- */

/* Add an entry to bytes of an index. */
int bpk_gsd_entry_append(const struct bpk_gsd_entry *entry, struct bpk_buf *out,
			 struct bpk_err *err);

/* ---- gsd_list.c ---- */

/* The id of a name, as bpk_layout_text shows it; false: it is none of the list's. */
bool bpk_gsd_list_find(const struct bpk_gsd_list *list, const char *name, uint32_t *id);

/* Add one that is not there; fails with BPK_LIMIT where ids are used up. */
int bpk_gsd_list_add(struct bpk_gsd_list *list, const char *name, uint32_t *id,
		     struct bpk_err *err);

struct bpk_gsd_listed *bpk_gsd_list_at(const struct bpk_gsd_list *list, uint32_t id);
void bpk_gsd_list_clear(struct bpk_gsd_list *list);

/* ---- gsd_commit.c ---- */

/* Entries of the index to be. */
uint64_t bpk_gsd_editor_count(const struct bpk_gsd_editor *editor);

/* How much of a block of size bytes agrees with the index, and how much of it is zeros. */
int bpk_gsd_slot_survey(struct bpk_gsd_editor *editor, struct bpk_source *source,
			struct bpk_gsd_slot *slot, struct bpk_err *err);

/* Where everything ends that the header or the index leads to, without the two blocks. */
uint64_t bpk_gsd_live_end(const struct bpk_gsd_editor *editor);

/* Does anything of that lie in size bytes at offset, the index in use included? */
bool bpk_gsd_is_live(const struct bpk_gsd_editor *editor, uint64_t offset, uint64_t size);

/* The block that the header's reserved bytes tell of; room 0: of none. False: they tell of
 * something else. */
bool bpk_gsd_record_read(const uint8_t *header, struct bpk_gsd_slot *slot);

static inline uint64_t bpk_gsd_slot_end(const struct bpk_gsd_slot *slot)
{
	return slot->offset + slot->room * BPK_GSD_ENTRY;
}

#endif
