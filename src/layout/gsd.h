/*
 * Internal to the member GSD: General Simulation Data, files of named chunks in numbered frames.
 * gsd.c is the member, gsd_names.c and gsd_index.c read the tables of versions 0.3 to 2, gsd_v0.c
 * those of 0.0.1, gsd_item.c makes arrays of entries, and gsd_hoomd.c has the defaults for chunks
 * that a frame omits.
 * Source of all format facts here: GSD's file layer document, its 2014 design document, and the
 * behaviour of the libraries of 2014, 1.0, 1.9, 3.4 and python gsd 2.7.
 */
#ifndef BPK_LAYOUT_GSD_H
#define BPK_LAYOUT_GSD_H

#include "layout/member.h"

/* Type numbers of version 0.3 and later; the numbers of 0.0.1 are converted to these. */
enum bpk_gsd_type {
	BPK_GSD_UINT8 = 1,
	BPK_GSD_UINT16,
	BPK_GSD_UINT32,
	BPK_GSD_UINT64,
	BPK_GSD_INT8,
	BPK_GSD_INT16,
	BPK_GSD_INT32,
	BPK_GSD_INT64,
	BPK_GSD_FLOAT32,
	BPK_GSD_FLOAT64,
	BPK_GSD_CHARACTER, /* since 2.1 */
};

enum {
	BPK_GSD_HEADER = 256,      /* bytes, from 0.3 on */
	BPK_GSD_RESERVED = 176,    /* offset in it of bytes that other programs ignore, where ... */
	BPK_GSD_RECORD = 32,       /* ... bpk keeps a record of this size (gsd_commit.c) */
	BPK_GSD_MAX_NAMES = 65535, /* id 65535 is never used */
	BPK_GSD_TEXT = 64,         /* application, schema: with their NUL */
};

/* Offsets in the header from 0.3 on; index and names have their number of entries 8 bytes behind.
 * */
enum {
	BPK_GSD_AT_INDEX = 8,
	BPK_GSD_AT_NAMES = 24,
	BPK_GSD_AT_SCHEMA_VERSION = 40,
	BPK_GSD_AT_VERSION = 44,
	BPK_GSD_AT_APPLICATION = 48,
	BPK_GSD_AT_SCHEMA = 112,
};

/* Names become paths when unpacked, so a path's limit is theirs. */
enum { BPK_GSD_MAX_NAME = 4096 };

struct bpk_gsd_named {
	const char *text; /* points into names.texts */
	uint32_t id;
};

/* The names of chunks, by id. Valid when zeroed. */
struct bpk_gsd_names {
	struct bpk_buf texts;         /* char *: owned, cleaned, unique */
	uint32_t count;               /* number of texts */
	uint32_t nodd;                /* of them no UTF-8, or with ASCII controls */
	uint32_t odd;                 /* the first of these */
	struct bpk_gsd_named *sorted; /* by text */

	/* The number of '#' before the number of a repeated name: one more than any run of '#' in a
	 * name of the file, so that no label equals a name of the file. */
	size_t hashes;
	bool repeated; /* a name occurs twice in the file */

	/* For names of more than 63 bytes in files before version 2. GSD's library truncates them,
	 * does not find the truncated name, and adds it again for each frame (gsd_append_name).
	 * Maps each id to the first id of the same name. NULL without such names. */
	uint32_t *same;
	uint32_t ncut; /* number of ids that map to another */
};

/* One chunk. */
struct bpk_gsd_entry {
	uint64_t frame;
	uint64_t nrows, ncolumns;
	uint64_t location;
	uint32_t id;
	uint8_t type;
};

/* For an unsorted index: the entries in the order of (frame, id, number). */
struct bpk_gsd_place {
	uint64_t number;
	uint32_t id;
};

/* A table in the file. */
struct bpk_gsd_block {
	uint64_t offset;
	uint64_t room; /* entries, or segments */
	uint64_t size; /* bytes */
};

struct bpk_gsd {
	struct bpk_source *source;
	uint64_t file_size;
	uint32_t version; /* major << 16 | minor; 0 for 0.0.1 */
	uint64_t header_size;
	struct bpk_gsd_block index;
	struct bpk_gsd_block names_block;
	struct bpk_gsd_block idle; /* of an index, by bpk's record of it; size 0: none */
	bool hoomd;                /* the schema is hoomd 1.x */

	char *variant, *application, *schema;
	struct bpk_err damage; /* the first damage found; kind BPK_OK: no damage */
	/* number of whole frames if the index ends in damage; else BPK_UNKNOWN */
	uint64_t sound_frames;
	bool goes_on; /* entries are behind that damage, or behind zeros */

	struct bpk_gsd_names names;
	struct bpk_buf entries; /* struct bpk_gsd_entry, in the file's order */
	struct bpk_buf steps;   /* version 0.0.1: uint64_t, one per entry */
	uint64_t nentries;
	struct bpk_gsd_place *order; /* NULL: entries are sorted */
	bool repeats;                /* a name occurs twice in a frame */

	struct bpk_array array; /* of the last item returned */
	struct bpk_buf label;   /* the item's name, if it is made up */
	uint64_t step_frame;    /* the frame of step; BPK_UNKNOWN: no step cached */
	uint64_t step;
};

/* ---- gsd.c ---- */

/* Open a file and return the struct bpk_gsd itself, for gsd_editor.c and gsd_verify.c; released by
 * bpk_gsd_close. Fails as the member's open does. */
int bpk_gsd_open(struct bpk_source *source, struct bpk_gsd **gsd, struct bpk_err *err);
void bpk_gsd_close(struct bpk_gsd *gsd); /* NULL is harmless */

/* True for a version whose header has the layout of 1.0. */
bool bpk_gsd_is_known(uint32_t version);

/* The first bytes of a GSD file of version 0.2 and later. */
extern const uint8_t bpk_gsd_magic[8];

/* ---- gsd_names.c ---- */

/* Read the list of names of versions 0.3 to 2. Fails with BPK_CORRUPT or BPK_LIMIT. */
int bpk_gsd_names_read(struct bpk_gsd *gsd, struct bpk_err *err);

/* Add a name with the next id; after the last, make the names unique and sort them. */
int bpk_gsd_names_add(struct bpk_gsd_names *names, struct bpk_view name, struct bpk_err *err);
int bpk_gsd_names_finish(struct bpk_gsd_names *names, struct bpk_err *err);

const char *bpk_gsd_name(const struct bpk_gsd_names *names, uint32_t id);

/* The number of first bytes of a stored name that are UTF-8 without ASCII controls. */
size_t bpk_gsd_text_size(struct bpk_view name);

/* False if there is no such name. */
bool bpk_gsd_name_find(const struct bpk_gsd_names *names, const char *text, uint32_t *id);

/* Make the label of the turn-th chunk, from 2, of a name in a frame; and parse it: false if text is
 * not such a label. */
int bpk_gsd_label(const struct bpk_gsd_names *names, uint32_t id, uint64_t turn,
		  struct bpk_buf *label, struct bpk_err *err);
bool bpk_gsd_label_find(const struct bpk_gsd_names *names, const char *text, uint32_t *id,
			uint64_t *turn);

void bpk_gsd_names_clear(struct bpk_gsd_names *names);

/* ---- gsd_index.c ---- */

/* Kind and size of a type's elements; NULL for an unknown type. */
const struct bpk_scalar *bpk_gsd_scalar(uint8_t type);

/* Record damage of the file; only the first record is kept. */
void bpk_gsd_note(struct bpk_gsd *gsd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Read the index of versions 0.3 to 2, after the names. Fails with BPK_CORRUPT if the first entry
 * is bad; a later bad entry ends the index and is noted. */
int bpk_gsd_index_read(struct bpk_gsd *gsd, struct bpk_err *err);

/* Take the fields of the 32 bytes of an entry of the index, but for its flags in the last byte. */
struct bpk_gsd_entry bpk_gsd_entry_parse(const uint8_t *bytes);

/* Bytes of a chunk; false if they exceed 64 bits. */
bool bpk_gsd_entry_size(const struct bpk_gsd_entry *entry, uint64_t *size);

/* Check an entry against those before it, except its id. Fails with BPK_CORRUPT. */
int bpk_gsd_entry_check(const struct bpk_gsd *gsd, const struct bpk_gsd_entry *entry,
			struct bpk_err *err);
int bpk_gsd_entry_add(struct bpk_gsd *gsd, const struct bpk_gsd_entry *entry, struct bpk_err *err);

/* After the last entry and name: sort for searches, note oddities. */
int bpk_gsd_index_finish(struct bpk_gsd *gsd, struct bpk_err *err);

const struct bpk_gsd_entry *bpk_gsd_entry(const struct bpk_gsd *gsd, uint64_t number);

/* Find the turn-th chunk, from 1, of a name in a frame. False if missing. */
bool bpk_gsd_find(const struct bpk_gsd *gsd, uint64_t frame, uint32_t id, uint64_t turn,
		  uint64_t *number);
bool bpk_gsd_find_name(const struct bpk_gsd *gsd, uint64_t frame, const char *name,
		       uint64_t *number);

/* The turn of an entry: its position, from 1, among the chunks of its name in its frame. */
uint64_t bpk_gsd_turn(const struct bpk_gsd *gsd, uint64_t number);

/* ---- gsd_item.c ---- */

/* Set item to an entry, as an array of frame. */
int bpk_gsd_give(struct bpk_gsd *gsd, uint64_t number, uint64_t frame, struct bpk_item *item,
		 struct bpk_err *err);

/* Set gsd->array, and item->array with it. Fails with BPK_LIMIT. */
int bpk_gsd_set_array(struct bpk_gsd *gsd, uint8_t type, uint64_t nrows, uint64_t ncolumns,
		      struct bpk_item *item, struct bpk_err *err);

/* The step of a frame; BPK_UNKNOWN if the file does not tell, or it is damaged. */
int bpk_gsd_step(struct bpk_gsd *gsd, uint64_t frame, uint64_t *step, struct bpk_err *err);

/* ---- gsd_v0.c ---- */

/* True if head begins a file of version 0.0.1. */
bool bpk_gsd_v0_probe(struct bpk_view head);

/* Read its header, index and names. Fails with BPK_CORRUPT. */
int bpk_gsd_v0_read(struct bpk_gsd *gsd, struct bpk_view head, struct bpk_err *err);

/* ---- gsd_hoomd.c ---- */

/* Find the substitute for a chunk that frame omits. Returns 1 if there is no substitute. Fails with
 * BPK_CORRUPT if the number of rows is needed and is not a single uint32. */
int bpk_gsd_hoomd_find(struct bpk_gsd *gsd, const char *name, uint64_t frame, struct bpk_item *item,
		       struct bpk_err *err);

/* ---- gsd_verify.c ---- */

/* *may: of a damaged file a cut to sound_frames removes nothing that repair saves. Reads it. */
int bpk_gsd_may_be_cut(const struct bpk_gsd *gsd, bool *may, struct bpk_err *err);

/* Fails with BPK_CORRUPT if a name is not UTF-8, or has ASCII controls, as no program writes it. */
int bpk_gsd_check_names(const struct bpk_gsd *gsd, struct bpk_err *err);

/* True if the index has no entry, and bytes are behind the tables, with which a file ends from
 * which all frames were cut off; and the line that says so. Returns -1. */
bool bpk_gsd_index_is_lost(const struct bpk_gsd *gsd);
int bpk_gsd_fail_lost(const struct bpk_gsd *gsd, struct bpk_err *err);

#endif
