/*
 * Inside the member GSD: General Simulation Data, files of named chunks in numbered frames. gsd.c
 * is the member, gsd_names.c and gsd_index.c read the tables of versions 0.3 to 2, gsd_v0.c those
 * of 0.0.1, and gsd_hoomd.c knows what stands for chunks that a frame leaves out.
 * Source of all format facts here: GSD's file layer document, its 2014 design document, and what
 * the libraries of 2014, 1.0, 1.9, 3.4 and python gsd 2.7 do.
 */
#ifndef BPK_LAYOUT_GSD_H
#define BPK_LAYOUT_GSD_H

#include "layout/member.h"

/* Numbers of types, as files of version 0.3 and later have them; 0.0.1's are turned into these. */
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
	BPK_GSD_MAX_NAMES = 65535, /* id 65535 is never used */
	BPK_GSD_TEXT = 64,         /* application, schema: with their NUL */
};

/* Names are paths to whoever unpacks them, so none is longer than a path may be. */
enum { BPK_GSD_MAX_NAME = 4096 };

struct bpk_gsd_named {
	const char *text; /* of names.texts */
	uint32_t id;
};

/* The names of chunks, by id. Valid when zeroed. */
struct bpk_gsd_names {
	struct bpk_buf texts;         /* char *: owned, cleaned, unique */
	uint32_t count;               /* of them */
	struct bpk_gsd_named *sorted; /* by text */

	/* So many '#' stand in front of the number that makes an equal name another one: one
	 * more than any name has in a row, so that the result is no name of the file's. */
	size_t hashes;
	bool repeated; /* the file has a name twice */

	/* Names of more than 63 bytes in files before version 2: GSD's library cuts them, does not
	 * find what it cut, and lists the name anew for each frame (gsd_append_name). For each id
	 * the first of the same name. NULL: there are none. */
	uint32_t *same;
	uint32_t ncut; /* how many ids stand for another */
};

/* A chunk. */
struct bpk_gsd_entry {
	uint64_t frame;
	uint64_t nrows, ncolumns;
	uint64_t location;
	uint32_t id;
	uint8_t type;
};

/* Of an index that is not sorted: which entry comes next by (frame, id, number). */
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
	bool hoomd; /* the schema is hoomd 1.x */

	char *variant, *application, *schema;
	struct bpk_err damage; /* the first that was found; kind BPK_OK: none */
	uint64_t sound_frames; /* BPK_UNKNOWN, or the index ends in damage, and so many are whole */

	struct bpk_gsd_names names;
	struct bpk_buf entries; /* struct bpk_gsd_entry, in the file's order */
	struct bpk_buf steps;   /* 0.0.1: uint64_t, one for each entry */
	uint64_t nentries;
	struct bpk_gsd_place *order; /* NULL: entries are sorted as they are */
	bool repeats;                /* a name occurs twice in a frame */

	struct bpk_array array; /* of the item last given */
	struct bpk_buf label;   /* its name, where that is made up */
	uint64_t step_frame;    /* whose step is kept; BPK_UNKNOWN: none */
	uint64_t step;
};

/* ---- gsd.c ---- */

/* The member's own way to open a file, for those who look closer: a struct bpk_gsd, for
 * bpk_gsd_close. Fails as the member's open does. */
int bpk_gsd_open(struct bpk_source *source, struct bpk_gsd **gsd, struct bpk_err *err);
void bpk_gsd_close(struct bpk_gsd *gsd); /* NULL is harmless */

/* The first bytes of a GSD file of version 0.2 and later. */
extern const uint8_t bpk_gsd_magic[8];

/* Letter and size of a type's elements; NULL: there is no such type. */
const struct bpk_scalar *bpk_gsd_scalar(uint8_t type);

/* Note what is wrong with the file; the first note stays. */
void bpk_gsd_note(struct bpk_gsd *gsd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Set item to an entry, as if it stood in frame. */
int bpk_gsd_give(struct bpk_gsd *gsd, uint64_t number, uint64_t frame, struct bpk_item *item,
		 struct bpk_err *err);

/* Set gsd->array, and item->array with it. Fails with BPK_LIMIT. */
int bpk_gsd_set_array(struct bpk_gsd *gsd, uint8_t type, uint64_t nrows, uint64_t ncolumns,
		      struct bpk_item *item, struct bpk_err *err);

/* ---- gsd_names.c ---- */

/* Read the list of names of versions 0.3 to 2. Fails with BPK_CORRUPT or BPK_LIMIT. */
int bpk_gsd_names_read(struct bpk_gsd *gsd, struct bpk_err *err);

/* Add a name by the next id; then, when all are there, make them unique and sort them. */
int bpk_gsd_names_add(struct bpk_gsd_names *names, struct bpk_view name, struct bpk_err *err);
int bpk_gsd_names_finish(struct bpk_gsd_names *names, struct bpk_err *err);

const char *bpk_gsd_name(const struct bpk_gsd_names *names, uint32_t id);

/* False: there is no such name. */
bool bpk_gsd_name_find(const struct bpk_gsd_names *names, const char *text, uint32_t *id);

/* The turn-th chunk, from 2, of that name in a frame is called label; and the way back: false when
 * text is no such label. */
int bpk_gsd_label(const struct bpk_gsd_names *names, uint32_t id, uint64_t turn,
		  struct bpk_buf *label, struct bpk_err *err);
bool bpk_gsd_label_find(const struct bpk_gsd_names *names, const char *text, uint32_t *id,
			uint64_t *turn);

void bpk_gsd_names_clear(struct bpk_gsd_names *names);

/* ---- gsd_index.c ---- */

/* Read the index of versions 0.3 to 2, after the names. Its first entry is sound, or BPK_CORRUPT;
 * it ends before the first other one that is not, which is noted. */
int bpk_gsd_index_read(struct bpk_gsd *gsd, struct bpk_err *err);

/* Bytes of a chunk; false: they are more than 64 bits can tell. */
bool bpk_gsd_entry_size(const struct bpk_gsd_entry *entry, uint64_t *size);

/* Is an entry sound that follows those that are there? Else BPK_CORRUPT. Not its id. */
int bpk_gsd_entry_check(const struct bpk_gsd *gsd, const struct bpk_gsd_entry *entry,
			struct bpk_err *err);
int bpk_gsd_entry_add(struct bpk_gsd *gsd, const struct bpk_gsd_entry *entry, struct bpk_err *err);

/* When all entries and names are there: make them ready to be found, note what is odd. */
int bpk_gsd_index_finish(struct bpk_gsd *gsd, struct bpk_err *err);

const struct bpk_gsd_entry *bpk_gsd_entry(const struct bpk_gsd *gsd, uint64_t number);

/* The turn-th chunk, from 1, of a name in a frame. False: there is none. */
bool bpk_gsd_find(const struct bpk_gsd *gsd, uint64_t frame, uint32_t id, uint64_t turn,
		  uint64_t *number);
bool bpk_gsd_find_name(const struct bpk_gsd *gsd, uint64_t frame, const char *name,
		       uint64_t *number);

/* Which of the chunks of its name in its frame is this entry? From 1. */
uint64_t bpk_gsd_turn(const struct bpk_gsd *gsd, uint64_t number);

/* ---- gsd_v0.c ---- */

/* Are these the first bytes of a file of version 0.0.1? */
bool bpk_gsd_v0_probe(struct bpk_view head);

/* Read its header, index and names. Fails with BPK_CORRUPT. */
int bpk_gsd_v0_read(struct bpk_gsd *gsd, struct bpk_view head, struct bpk_err *err);

/* ---- gsd_hoomd.c ---- */

/* Find what stands for a chunk that frame has not. Returns 1 for nothing. Fails with BPK_CORRUPT
 * when the count of rows is needed and is no single uint32. */
int bpk_gsd_hoomd_find(struct bpk_gsd *gsd, const char *name, uint64_t frame, struct bpk_item *item,
		       struct bpk_err *err);

#endif
