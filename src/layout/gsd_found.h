/*
 * Internal to the salvage of GSD files. gsd_salvage.c opens one, gsd_search.c finds entries,
 * gsd_judge.c decides which of them are true, with gsd_apart.c for data that overlap and
 * gsd_holes.c for lost slots, gsd_relist.c finds the names, with gsd_respell.c for a damaged one,
 * gsd_doubt.c marks doubtful arrays, gsd_resave.c writes.
 */
#ifndef BPK_LAYOUT_GSD_FOUND_H
#define BPK_LAYOUT_GSD_FOUND_H

#include "layout/gsd_salvage.h"
#include "layout/gsd_write.h"

/* An entry that was found. */
struct bpk_gsd_lead {
	struct bpk_gsd_entry entry;
	uint64_t size;    /* bytes of its data */
	uint64_t place;   /* offset of the entry in the file */
	bool cut;         /* its data end behind the end of the file */
	bool twin;        /* another index has it, too */
	bool filled;      /* another index alone has it */
	bool is_followed; /* by a slot that has lost its entry */
	bool unproven;
	bool dropped;
};

struct bpk_gsd_found {
	struct bpk_source *source;
	uint64_t size;
	uint8_t header[BPK_GSD_HEADER]; /* as read; zeros behind the end of the file */
	bool has_head;  /* magic, version, application and schema are those of a header */
	bool has_index; /* the index is where the header says */
	bool has_names; /* and so is the list of names */
	uint32_t version;
	struct bpk_gsd_block index; /* the one in use; of one that was found the slots in use */
	struct bpk_gsd_block names_block;
	uint64_t names_end; /* behind the names in it */
	bool has_wrong_room;
	uint64_t index_end; /* behind its last entry, and damaged ones that follow that at once */
	uint64_t rows_end;  /* behind its last slot with the form of an entry */

	struct bpk_buf strays; /* struct bpk_gsd_lead: outside of that index, by frame and name */
	struct bpk_buf kept;   /* struct bpk_gsd_lead, by frame and name */
	struct bpk_buf lost;   /* struct bpk_gsd_run, by frame, without overlap */
	struct bpk_buf copies; /* struct bpk_gsd_lead: entries that the index has twice */
	/* uint64_t: frames of entries that were dropped since they are out of order */
	struct bpk_buf dropped;

	struct bpk_buf names; /* as stored, each with its NUL */
	uint32_t nnames;      /* of the list in the header; 0: that is not whole */
	bool names_new;       /* they are not those of names_block */

	struct bpk_buf doubt; /* text */
	struct bpk_buf runs;  /* struct bpk_gsd_run */
	struct bpk_gsd_found_info info;
};

static inline struct bpk_gsd_lead *bpk_gsd_leads(const struct bpk_buf *buf)
{
	return (struct bpk_gsd_lead *)(void *)buf->data;
}

static inline size_t bpk_gsd_nleads(const struct bpk_buf *buf)
{
	return buf->size / sizeof(struct bpk_gsd_lead);
}

/* ---- gsd_search.c ---- */

/* Take the bytes of an entry. False if they are none. */
bool bpk_gsd_lead_read(const struct bpk_gsd_found *found, const uint8_t *bytes, uint64_t place,
		       struct bpk_gsd_lead *lead);

/* Sort leads by frame, name and place. */
void bpk_gsd_leads_sort(struct bpk_buf *buf);

/* Remove the leads that are dropped. */
void bpk_gsd_leads_sweep(struct bpk_buf *buf);

/* The first of sorted leads that is not before a frame and name. */
size_t bpk_gsd_lead_find(const struct bpk_buf *buf, uint64_t frame, uint32_t id);

/* True if two leads are of the same array; and if they are equal. */
bool bpk_gsd_is_same_name(const struct bpk_gsd_lead *a, const struct bpk_gsd_lead *b);
bool bpk_gsd_is_twin(const struct bpk_gsd_lead *a, const struct bpk_gsd_lead *b);

/* Set strays: all entries in the file, but for those in the slots of the index in use. Without
 * that index set it to the row of entries that goes on to the latest frame. */
int bpk_gsd_search(struct bpk_gsd_found *found, struct bpk_err *err);

/* ---- gsd_judge.c ---- */

/* Set kept and lost: from the index in use, and where that is damaged from strays. */
int bpk_gsd_judge(struct bpk_gsd_found *found, struct bpk_err *err);

/* ---- gsd_apart.c ---- */

/* Drop kept leads whose data overlap. */
int bpk_gsd_keep_apart(struct bpk_gsd_found *found, struct bpk_err *err);

/* ---- gsd_holes.c ---- */

/* Add strays to kept for the slots of the index that have lost their entries, and the frames of
 * others to lost. kept has entries of that index alone. */
int bpk_gsd_fill(struct bpk_gsd_found *found, struct bpk_err *err);

/* Add the frames of kept leads that are cut, or dropped, to lost; the dropped ones go. */
int bpk_gsd_lose(struct bpk_gsd_found *found, struct bpk_err *err);

/* ---- gsd_extents.c ---- */

/* Numbers of extents that are no array's: of the used bytes of a table, and of others, such as its
 * free room, which may be a damaged number. */
#define BPK_GSD_TABLE BPK_UNKNOWN
#define BPK_GSD_ROOM  (BPK_UNKNOWN - 1)

static inline bool bpk_gsd_is_lead(const struct bpk_gsd_extent *extent)
{
	return extent->number < BPK_GSD_ROOM;
}

/* List data, and tables with their rooms; others: without rooms, but with the entries of other
 * indexes. Sorted by offset; for free(). */
struct bpk_gsd_extent *bpk_gsd_extents(const struct bpk_gsd_found *found, bool others,
				       size_t *count, struct bpk_err *err);

/* The ranges of bytes that belong to no table, to no index and to no array, and are not zeros. */
struct bpk_gsd_gaps {
	struct bpk_gsd_extent *extents; /* by offset; number: of a lead, or BPK_UNKNOWN */
	size_t count, next;
	uint64_t covered;            /* end of the extents before next */
	uint64_t begin;              /* of the last range, with zeros before its first byte */
	struct bpk_gsd_lead *before; /* whose data end there, or NULL */
};

/* Begin, after judge. next sets *at to the first byte of the next range that is not 0, and *end
 * behind it; it returns 1 if there is none. end frees; gaps may be zeroed. */
int bpk_gsd_gaps_begin(const struct bpk_gsd_found *found, struct bpk_gsd_gaps *gaps,
		       struct bpk_err *err);
int bpk_gsd_gaps_next(const struct bpk_gsd_found *found, struct bpk_gsd_gaps *gaps, uint64_t *at,
		      uint64_t *end, struct bpk_err *err);
void bpk_gsd_gaps_end(struct bpk_gsd_gaps *gaps);

/* ---- gsd_relist.c ---- */

/* Set names_end and nnames, before judge. */
int bpk_gsd_names_look(struct bpk_gsd_found *found, struct bpk_err *err);

/* Set names, after judge: those of the list in the header, or of one that is found, which is then
 * names_block. */
int bpk_gsd_relist(struct bpk_gsd_found *found, struct bpk_err *err);

/* ---- gsd_respell.c ---- */

/* True if a stored name is one that programs write: UTF-8 text without ASCII controls. */
bool bpk_gsd_is_name(struct bpk_view name);

/*
 * Read a list of names of which one is damaged: bytes, without zeros behind it. packed: as since
 * version 2. texts: its names, each with its NUL, and an empty one in the place of the damaged one;
 * nothing if the list is not of count names, or several are damaged. count 0: of any number.
 */
int bpk_gsd_respell(struct bpk_view bytes, bool packed, uint32_t count, struct bpk_buf *texts,
		    struct bpk_err *err);

/* Add made-up names, lost/ID, to texts, from number *count up to most. */
int bpk_gsd_make_names(struct bpk_buf *texts, uint32_t *count, uint32_t most, struct bpk_err *err);

/* Replace those of count names that are empty, or equal an earlier one, by made-up ones: names are
 * unique in a whole file. */
int bpk_gsd_replace_names(struct bpk_gsd_found *found, struct bpk_buf *texts, uint32_t count,
			  struct bpk_err *err);

/* ---- gsd_doubt.c ---- */

/* Add a doubt to the text, behind a semicolon. */
int bpk_gsd_found_doubt(struct bpk_gsd_found *found, struct bpk_err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Call arrays unproven whose entries may be wrong, and set info->doubt and certain, once all is
 * found. */
int bpk_gsd_doubt(struct bpk_gsd_found *found, struct bpk_err *err);

#endif
