/*
 * The union of damaged copies of one archive, as a place that is read like any other: each chunk,
 * and each part between them, from a copy in which it is intact. A part of the room's door. For one
 * thread, but the sources of the place.
 *
 *     copy 0    header | chunk 0 | ####### | chunk 2 | index        #: damaged
 *     copy 1    ###### | chunk 0 | chunk 1 | ####### | index
 *     place     header | chunk 0 | chunk 1 | chunk 2 | index
 */
#ifndef BPK_ARCHIVE_MERGE_H
#define BPK_ARCHIVE_MERGE_H

#include "archive/input.h"

enum { BPK_MERGE_MOST = 16 }; /* copies */

struct bpk_merge;

/* A copy against the identity that it records. */
enum bpk_merge_ident {
	BPK_MERGE_NOT_RECORDED, /* or it cannot be compared */
	BPK_MERGE_PROVEN,
	BPK_MERGE_REFUTED,
};

/* Compares all of a copy, which opens. Fails if the machine does. */
typedef int bpk_merge_ident_fn(void *arg, const struct bpk_input *copy,
			       enum bpk_merge_ident *verdict, struct bpk_err *err);

/*
 * Find the intact chunks of the copies, inputs of bpk_input_look that are of this format, and are
 * borrowed until close. Fails with BPK_FAILED if they are not copies of one archive: their numbers
 * of chunks or their sizes differ, or intact chunks of one number; or a copy without certain
 * numbers shows no sign of being one. compare is called with arg for copies that open.
 */
int bpk_merge_open(const struct bpk_input *copies, size_t ncopies, const struct bpk_format *format,
		   bpk_merge_ident_fn *compare, void *arg, struct bpk_merge **merge,
		   struct bpk_err *err);
void bpk_merge_close(struct bpk_merge *merge); /* NULL is harmless */

/* Make the place, for bpk_place_close before the merge is closed. Its path is that of the first
 * copy, or of the one that it is. */
int bpk_merge_place(struct bpk_merge *merge, struct bpk_place *place, struct bpk_err *err);

/* True if the place has bytes that the first copy has not. */
bool bpk_merge_changes(const struct bpk_merge *merge);

/* The bytes outside of chunks in which copies differ and that nothing proves, in words; NULL: there
 * are none. Those of most copies, or the first one's, are taken. *between: they are behind a chunk,
 * where the format has no holes, so that the chunks may be of two states. */
const char *bpk_merge_doubt(const struct bpk_merge *merge, bool *between);

/* In words: two copies have the same chunks in different orders, and no digests of theirs tell
 * which is right; NULL: none have. A seal or an identity of the place may. */
const char *bpk_merge_disorder(const struct bpk_merge *merge);

/* In words: two copies are of different states, so the place may have parts of the older one; NULL:
 * nothing shows that. A place that is not whole may lack chunks of its own state. */
const char *bpk_merge_since(const struct bpk_merge *merge, bool is_whole);

/* The path of a copy that may be of another archive: its chunks fit into the holes of the others,
 * but the chunks that it shares with them are those that an archive has several times, as zeros.
 * NULL: there is none, or the place is one copy. */
const char *bpk_merge_lone(const struct bpk_merge *merge);

/* Chunks of the union that no checksum proves, and in which no two copies agree, or copies
 * differ. */
uint64_t bpk_merge_bare(const struct bpk_merge *merge);

/* The union is not intact: if a copy gives more of the chunks by itself, or their certain numbers,
 * the place is from now on that copy. *alone: the other copies have no chunk for it. */
int bpk_merge_fall_back(struct bpk_merge *merge, bool *changed, bool *alone, struct bpk_err *err);

/* *is: a copy whose numbers are certain has another intact chunk at a number than the union, which
 * so is in a wrong order. Then bpk_merge_fall_back takes a copy. May fill bpk_merge_disorder. */
int bpk_merge_is_refuted(struct bpk_merge *merge, bool *is, struct bpk_err *err);

/* Doubt the places of found, which are those of the place, if the copies together have a chunk at
 * two of them that no copy has twice: one may have lost a whole chunk, so that others of its size
 * have moved up to its place. All chunks are read. */
int bpk_merge_find_twice(struct bpk_merge *merge, const struct bpk_place *place,
			 struct bpk_salvage *found, struct bpk_err *err);

/* Complete the chunks that were found in the place by those of copies whose numbers are certain.
 * They are read from the copies, which must stay open. */
int bpk_merge_complete(const struct bpk_merge *merge, struct bpk_salvage *found,
		       struct bpk_err *err);

/* Write the bytes of the place, a file or a directory, to draft. */
int bpk_merge_write(struct bpk_merge *merge, struct bpk_draft *draft, struct bpk_err *err);

/* Fails with BPK_FAILED, "changed while it was read", for a copy that was. */
int bpk_merge_unchanged(const struct bpk_merge *merge, struct bpk_err *err);

#endif
