/*
 * Pages, inside the room: the parts of a state that grow with the number of chunks, entries of the
 * index and digests of chunks. They are read on demand, a few of them at a time, if they are large.
 * A page that differs from the bytes at open is never used.
 */
#ifndef BPK_FORMAT_FRAME_PAGES_H
#define BPK_FORMAT_FRAME_PAGES_H

#include "format/frame/frame.h"

enum {
	BPK_FRAME_PAGE = 64 << 10, /* raw bytes of a page; the last one has up to twice as many */
	BPK_FRAME_SLOTS = 8,       /* pages in memory */
	BPK_FRAME_PAGED = 1 << 20, /* smaller parts are loaded at open */
};

/* Any thread, once scanned; borrows its source, which it reads without a hold. */
struct bpk_frame_pages;

/*
 * Make the pages of an index chunk at offset of source. header is the frame's, borrowed; chunk that
 * of the index, whose bytes all exist. *pages is NULL if the index is small, or not made of blocks
 * that can be unpacked alone: it is then read whole. Fails with BPK_NO_MEMORY, or like a read.
 */
int bpk_frame_pages_of_index(struct bpk_source *source, uint64_t offset,
			     const struct bpk_frame_header *header,
			     const struct bpk_chunk_header *chunk, struct bpk_frame_pages **pages,
			     struct bpk_err *err);

/* Make pages of size bytes at offset, which are stored as they are, in items of item bytes. NULL:
 * no memory. */
struct bpk_frame_pages *bpk_frame_pages_of_bytes(struct bpk_source *source, uint64_t offset,
						 uint64_t size, unsigned item, struct bpk_err *err);

void bpk_frame_pages_free(struct bpk_frame_pages *pages); /* NULL is harmless */

/* Read every page once, which must come before the first get, and add the bytes as stored to sum.
 * An index begins with its header and its block starts. */
int bpk_frame_pages_scan(struct bpk_frame_pages *pages, struct bpk_summing *sum,
			 struct bpk_err *err);

/*
 * Copy unpacked bytes from offset on, whole items or entries in one page. Entries are in host
 * order, and checked as bpk_frame_index_read does. Fails with BPK_CORRUPT, "changed while it was
 * read" (BPK_FAILED) if the file has other bytes now, BPK_NO_MEMORY, or like a read.
 */
int bpk_frame_pages_get(struct bpk_frame_pages *pages, uint64_t offset, struct bpk_span out,
			struct bpk_err *err);

/* The unpacked bytes from offset to the end of its page. */
uint64_t bpk_frame_pages_rest(const struct bpk_frame_pages *pages, uint64_t offset);

/* ---- A trailer that ends with digests (trailer_cut.c) ---- */

/* A trailer without the digests of chunks, which stay in the file. Must be cleared. */
struct bpk_frame_cut {
	struct bpk_buf head;    /* the stored bytes before those digests ... */
	struct bpk_buf trailer; /* ... and with the trailer's end, all sizes reduced to fit */
	uint64_t left;          /* bytes of those digests; 0: the trailer was not cut */
	unsigned digest_size;
};

/* Cut the trailer at offset of source. It is not cut, and must be read whole, if it is small, or
 * does not end with digests as bpk stores them. Fails with BPK_NO_MEMORY, or like a read. */
int bpk_frame_cut_trailer(struct bpk_source *source, uint64_t offset, uint64_t size,
			  struct bpk_frame_cut *cut, struct bpk_err *err);
void bpk_frame_cut_clear(struct bpk_frame_cut *cut);

#endif
