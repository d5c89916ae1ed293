/*
 * The remains of a damaged frame, inside the room: parts (salvage_parts.c), and a table of chunks
 * by their numbers (salvage_table.c), filled by a search for them (salvage_search.c) or by the
 * index (salvage_places.c). salvage.c finds the chunks of a contiguous frame, salvage_directory.c
 * those of a sparse one.
 */
#ifndef BPK_FORMAT_FRAME_SALVAGE_H
#define BPK_FORMAT_FRAME_SALVAGE_H

#include "format/frame/state.h"
#include "format/scan.h"

/* Bytes of a file; end 0: none. */
struct bpk_frame_run {
	uint64_t start, end;
};

/* ---- Parts ---- */

/* Must be cleared; valid when zeroed. One thread's own. */
struct bpk_frame_left {
	bool sparse;
	bool loaded; /* the parts were there, and header and index have their digests */
	struct bpk_frame_header header;
	bool has_header; /* with its layers */
	bool bad_header; /* or its digest in a damaged trailer is: they do not match */
	bool has_fields; /* header has at least the fixed part, its own or the digests' copy */
	bool is_old;     /* the header counts other chunks than the index: that is newer */
	struct bpk_frame_sizes {
		uint64_t frame, packed, raw;
	} seen;      /* of a header at the file's start, whatever the digests say; frame 0: none */
	bool is_cut; /* that one is of a later state, which the file has lost the end of */
	bool is_followed; /* bytes follow the trailer, perhaps of a later state without a header */
	/* Offset of the first byte behind the header; unknown without one. Wrapped around if the
	 * file has lost its start. */
	uint64_t payload;

	struct bpk_frame_run trailer, first_trailer; /* of several: the first one's place */
	struct bpk_frame_layers layers;
	bool bad_layers;                  /* the trailer does not match its digest */
	struct bpk_frame_digests digests; /* of this state; checksum NULL: none */
	/* Of a damaged trailer: a chunk that has its digest there is intact, and one that has not
	 * may be as well. checksum NULL: none, or they prove too few. */
	struct bpk_frame_digests hints;

	struct bpk_frame_run index;
	struct bpk_buf entries; /* in host order; empty: no index */
	uint64_t nchunks;       /* of entries or digests; 0: unknown */

	/* of an array in chunks of several dimensions; else NULL */
	struct bpk_frame_nd *nd;
	struct bpk_buf run; /* of its raw data */

	/* for info */
	struct bpk_layer *list;
	struct bpk_buf text;
	struct bpk_info info;
};

/* False if the sizes in the header are damaged: the file has more bytes than header, payload,
 * index, which is a chunk, and trailer, whose length has 32 bits. */
static inline bool bpk_frame_left_fits(const struct bpk_frame_left *left)
{
	const struct bpk_frame_header *header = &left->header;
	uint64_t payload = left->sparse ? 0 : header->packed_size;

	return header->frame_size >= payload &&
	       header->frame_size - payload <=
		       (uint64_t)header->size + INT32_MAX + (uint64_t)UINT32_MAX;
}

/* Load the parts of a frame whose header, index and end are there; *loaded: they are. */
int bpk_frame_left_load(struct bpk_source *source, struct bpk_frame_left *left, bool *loaded,
			struct bpk_err *err);

/* Find the parts in the file that scan searched. found are the chunks in it, in order; indexes and
 * packed layers are among them, and are dropped. */
int bpk_frame_left_find(struct bpk_scan *scan, struct bpk_frame_left *left,
			struct bpk_salvage *found, struct bpk_err *err);

/* The same for the header alone, which ends before offset end, once the trailer was looked for. */
int bpk_frame_left_find_header(struct bpk_scan *scan, struct bpk_frame_left *left, uint64_t end,
			       struct bpk_err *err);

/* The same for the index alone, once trailer and header were looked for. */
int bpk_frame_left_find_index(struct bpk_scan *scan, struct bpk_frame_left *left,
			      struct bpk_salvage *found, struct bpk_err *err);

/* Compare the chunks in salvage, whose numbers are final, with the digests of a damaged trailer:
 * sets unproven. */
int bpk_frame_left_prove(struct bpk_frame_left *left, const struct bpk_place *place,
			 struct bpk_salvage *salvage, struct bpk_err *err);

/* Describe in salvage the parts that the new archive takes over, and add the doubts about lost
 * parts. Takes left, from the heap, also on failure. */
int bpk_frame_left_give(struct bpk_frame_left *left, struct bpk_salvage *salvage,
			struct bpk_err *err);
void bpk_frame_left_clear(struct bpk_frame_left *left);
void bpk_frame_left_free(void *left); /* clears and frees it; accepts NULL */

/* Describe the array in salvage, which has the chunks, if the header has one. */
int bpk_frame_left_set_array(struct bpk_frame_left *left, struct bpk_salvage *salvage,
			     struct bpk_err *err);

/* ---- Chunks by number ---- */

/* True if its chunks differ in size: by the header, or without one by those that were found. */
bool bpk_frame_left_is_uneven(const struct bpk_frame_left *left, const struct bpk_salvage *found);

/* Raw bytes of chunk number; unknown if no part has them. */
uint64_t bpk_frame_left_size(const struct bpk_frame_left *left, uint64_t number);

/* True if the header has chunks of so many raw bytes, or a last one. */
bool bpk_frame_left_has_size(const struct bpk_frame_left *left, uint64_t raw_size);

enum { BPK_FRAME_ENTRY = 8 }; /* bytes of one in the index */

/* Compares two entries, or offsets in host order, for qsort and bsearch. */
int bpk_frame_compare_entries(const void *a, const void *b);

/* The entry of chunk number, below nchunks, of an index that is there. */
uint64_t bpk_frame_left_entry(const struct bpk_frame_left *left, uint64_t number);

/* The digest of chunk number; NULL: none is known, or the chunk is special. */
const uint8_t *bpk_frame_left_digest(const struct bpk_frame_left *left, uint64_t number);

struct bpk_frame_key {
	uint64_t key; /* of a digest its first bytes, else an entry of the index */
	uint64_t number;
};

/* Must be cleared; valid when zeroed. One thread's own. */
struct bpk_frame_table {
	const struct bpk_frame_left *left; /* borrowed */
	struct bpk_saved *all;             /* left->nchunks of them */
	struct bpk_frame_key *keys;        /* ascending; of special chunks none */
	size_t nkeys;
	size_t nplausible; /* without entries at the end that no archive has; by the index */
};

/* Begin a table with the special chunks, as far as the index tells them, and sort it by the index,
 * or by digests without one. size: bytes of the archive, which bound the number of chunks
 * (BPK_LIMIT). */
int bpk_frame_table_begin(struct bpk_frame_table *table, const struct bpk_frame_left *left,
			  uint64_t size, struct bpk_err *err);
void bpk_frame_table_sort(struct bpk_frame_table *table, bool by_digest);

/* True if it has every chunk. */
bool bpk_frame_table_is_full(const struct bpk_frame_table *table);
void bpk_frame_table_clear(struct bpk_frame_table *table);

/* Note a chunk with this digest, for each number that has it; *is: there is one. */
int bpk_frame_table_take(struct bpk_frame_table *table, struct bpk_view chunk,
			 const struct bpk_saved *saved, bool *is, struct bpk_err *err);

/* Note an intact chunk for its number, unless its size is another. False: it is. */
bool bpk_frame_table_set(struct bpk_frame_table *table, uint64_t number,
			 const struct bpk_saved *saved);

/* Replace the list of salvage by the table's chunks, and set its counts and sizes. */
int bpk_frame_table_give(const struct bpk_frame_table *table, struct bpk_salvage *salvage,
			 struct bpk_err *err);

/* ---- One chunk ---- */

/*
 * Read the chunk at offset at of the file in scan into scan->chunk, which the index, or the name of
 * its file, says is there: any kind of chunk that a frame may hold. *is: it ends in the file, and
 * matches digest, or if that is NULL unpacks. saved gets offset and sizes, and intact.
 */
int bpk_frame_bring(struct bpk_scan *scan, uint64_t at, const struct bpk_checksum *checksum,
		    const uint8_t *digest, struct bpk_saved *saved, bool *is, struct bpk_err *err);

/* *is: a trailer may begin at offset at, which is at most the file's size. */
int bpk_frame_has_trailer_at(struct bpk_scan *scan, uint64_t at, bool *is, struct bpk_err *err);

/* List the chunks of the file in scan, from offset start on, that unpack, and the places of those
 * that do not and are followed by another. */
int bpk_frame_find_chunks(struct bpk_scan *scan, uint64_t start, struct bpk_salvage *found,
			  struct bpk_err *err);

/* Find the chunks of the table, sorted by digests, in the file. */
int bpk_frame_find_by_digests(struct bpk_scan *scan, uint64_t file, struct bpk_frame_table *table,
			      struct bpk_err *err);

/* Add a doubt if the table has no special chunks, since the index is lost. */
int bpk_frame_doubt_specials(const struct bpk_frame_table *table, struct bpk_salvage *salvage,
			     struct bpk_err *err);

/*
 * Note the chunks of a contiguous frame by its index: where it says, and those that bytes which
 * came or went have moved. found are the chunks before the index; take_loaded, for a frame that
 * could be loaded, finds them if it needs them. *damaged: the index turns out to be, and the table
 * is of no use. Doubts are added to salvage.
 */
int bpk_frame_number_by_index(struct bpk_scan *scan, struct bpk_frame_left *left,
			      struct bpk_frame_table *table, const struct bpk_salvage *found,
			      bool *damaged, struct bpk_salvage *salvage, struct bpk_err *err);
int bpk_frame_take_loaded(struct bpk_scan *scan, struct bpk_frame_table *table,
			  struct bpk_salvage *found, bool *damaged, struct bpk_salvage *salvage,
			  struct bpk_err *err);

/* Number the chunks of the list, in its order, which lie between start and end. start unknown: so
 * is the place of the first. */
int bpk_frame_number_by_order(const struct bpk_frame_left *left, uint64_t start, uint64_t end,
			      struct bpk_salvage *salvage, struct bpk_err *err);

#endif
