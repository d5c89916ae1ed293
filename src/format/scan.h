/*
 * A search for chunks in a file, byte by byte: candidates by their headers, within a limit of work.
 * For the salvage calls of the inner folders of format.
 */
#ifndef BPK_FORMAT_SCAN_H
#define BPK_FORMAT_SCAN_H

#include "chunk/chunk.h"

struct bpk_source;

/* One thread's own. Valid when zeroed; must be cleared. */
struct bpk_scan {
	struct bpk_source *source; /* borrowed */
	uint64_t size;
	bool extended;        /* chunks are Blosc2's; else of version 2 alone */
	bool specials;        /* those of zeros or NaN count, too */
	struct bpk_buf chunk; /* that was brought */
	struct bpk_chunk_ctx *ctx;
	struct bpk_buf window; /* the bytes from window_at on */
	uint64_t window_at;
	uint64_t budget; /* bytes that may still be read to test chunks */
};

/* Begin to search a seekable source. */
int bpk_scan_begin(struct bpk_scan *scan, struct bpk_source *source, bool extended,
		   struct bpk_err *err);
void bpk_scan_clear(struct bpk_scan *scan);

/* Go on with another source, whose bytes add to the budget. */
void bpk_scan_turn(struct bpk_scan *scan, struct bpk_source *source);

/* Look at size bytes at offset at, which end in the file; valid until the next call. size is at
 * most 1 MiB, and small steps are cheap. */
int bpk_scan_see(struct bpk_scan *scan, uint64_t at, size_t size, const uint8_t **bytes,
		 struct bpk_err *err);

/* True in *is if the bytes at offset at may be a chunk's header, whose chunk ends in the file.
 * Special chunks are none without scan->specials, but for repeated values. */
int bpk_scan_look(struct bpk_scan *scan, uint64_t at, struct bpk_chunk_header *header, bool *is,
		  struct bpk_err *err);

/* Where a search goes on from offset at, the end of the file at most: at the first byte from low,
 * which is not 0, to high, as far as they are seen, or behind these, and behind a hole of the file
 * there. skip: at the first byte of a chunk's header. */
uint64_t bpk_scan_find(const struct bpk_scan *scan, uint64_t at, uint8_t low, uint8_t high);
uint64_t bpk_scan_skip(const struct bpk_scan *scan, uint64_t at);

/* Bring the size bytes at offset at into chunk, and up to more bytes that follow. Fails with
 * BPK_LIMIT when the budget is used up. */
int bpk_scan_bring(struct bpk_scan *scan, uint64_t at, uint64_t size, size_t more,
		   struct bpk_err *err);

#endif
