/*
 * The side file: its head, its tables in pages, and the arithmetic of segments, groups and cells.
 * Inside the room.
 *
 *     head       512 bytes
 *     pages      1024 bytes each: 1008 of the tables, and a digest
 *     parity     the cells of all segments; cell j of group g of a segment is its cell j G + g
 *     pages      again
 *     head       again
 *
 * The tables are a record of each segment, then, for each, the digests of its cells and of its
 * parity cells, then, for a directory, the list of its files. A digest is the first 16 bytes of
 * SHA-256.
 */
#ifndef BPK_PARITY_SIDE_H
#define BPK_PARITY_SIDE_H

#include "checksum/checksum.h"
#include "parity/parity.h"

enum {
	BPK_SIDE_HEAD = 512,
	BPK_SIDE_PAGE = 1024,
	BPK_SIDE_PAYLOAD = 1008, /* of a page */
	BPK_SIDE_DIGEST = 16,
	BPK_SIDE_RECORD = 24, /* of a segment */
	BPK_CELL_MIN = 512,
	BPK_CELL_MAX = 64 << 10,
};

struct bpk_segment {
	uint64_t start, size; /* bytes of the archive; size is not 0 */
	uint64_t groups;
	uint32_t cell; /* bytes; a power of two */
	unsigned k, m; /* cells of the largest group, and its parity cells */

	uint64_t cells;        /* the last may be shorter than the others */
	uint64_t first, side;  /* numbers of its first cell and of its first parity cell, in all */
	uint64_t digests;      /* where those of its cells begin in the tables; the others follow */
	uint64_t parity_start; /* where its parity cells begin in the side file */
};

struct bpk_parity {
	struct bpk_source *source; /* NULL: it is being made */
	unsigned share;
	uint64_t size;        /* of the archive */
	struct timespec time; /* of its last change when it was read */
	uint64_t cells, side_cells;
	struct bpk_segment *segments;
	size_t nsegments;
	struct bpk_buf tables;
	uint64_t parity_size;
	bool is_directory;
	struct bpk_parity_files files; /* of a directory */
	uint64_t list_size;            /* of their list, at the end of the tables */
	bool bad_tables;               /* a copy of head or tables is damaged */
	bpk_parity_wait_fn *wait;      /* NULL: reads are not slowed down */
	void *wait_arg;
};

/* bpk_parity_read of cells, of the archive or parity->source, at the caller's pace. */
int bpk_side_read(const struct bpk_parity *parity, struct bpk_source *source, uint64_t offset,
		  struct bpk_span out, struct bpk_err *err);

/* Choose cell, groups, k and m of a segment whose size is set, for that share. */
void bpk_segment_choose(struct bpk_segment *segment, unsigned share);

/* Place the segments, whose sizes are chosen, and the list of files behind each other: all derived
 * members, and those of the side file. Returns the size of the tables, or 0 if a number is out of
 * bounds. */
uint64_t bpk_side_place(struct bpk_parity *parity);

/* The bytes of a cell; the last one may be shorter. */
size_t bpk_cell_size(const struct bpk_segment *segment, uint64_t number);

/* The digests of a cell, and of parity cell j of group g, in the tables. */
uint8_t *bpk_cell_digest(const struct bpk_parity *parity, const struct bpk_segment *segment,
			 uint64_t number);
uint8_t *bpk_side_digest(const struct bpk_parity *parity, const struct bpk_segment *segment,
			 unsigned j, uint64_t group);

/* The offset of a parity cell in the side file. */
uint64_t bpk_side_offset(const struct bpk_segment *segment, unsigned j, uint64_t group);

/* True if a change computes that last segment again, wholly. */
bool bpk_segment_is_open(const struct bpk_segment *segment);

/* Mark the groups with cells in a range of the archive: a bit for each from first on. */
void bpk_segment_mark(const struct bpk_segment *segment, const struct bpk_parity_range *range,
		      uint8_t *groups, uint64_t first);

/* The first 16 bytes of SHA-256. */
int bpk_side_sum(struct bpk_view bytes, uint8_t out[BPK_SIDE_DIGEST], struct bpk_err *err);

/* bpk_parity_open of a seekable source, which it takes, on failure too. */
int bpk_side_open_source(struct bpk_source *source, struct bpk_parity **parity,
			 struct bpk_err *err);

/* Write both copies of head and tables. */
int bpk_side_write(struct bpk_parity *parity, struct bpk_draft *draft, struct bpk_err *err);

#endif
