/*
 * The remains of a damaged Bloscpack file, inside the room. salvage.c finds the chunks,
 * salvage_numbers.c their numbers, salvage_metadata.c the metadata.
 */
#ifndef BPK_FORMAT_BLOSCPACK_SALVAGE_H
#define BPK_FORMAT_BLOSCPACK_SALVAGE_H

#include "format/bloscpack/bloscpack.h"
#include "format/scan.h"

/* One thread's own. */
struct bpk_bloscpack_search {
	struct bpk_scan scan;
	const struct bpk_checksum *checksum; /* of the chunks; NULL: not known yet */
};

static inline unsigned bpk_bloscpack_digest_size(const struct bpk_bloscpack_search *s)
{
	return s->checksum == NULL ? 0 : s->checksum->size;
}

/* From the heap. One thread's own. */
struct bpk_bloscpack_left {
	bool has_header; /* the file's own, which no digest covers */
	struct bpk_bloscpack_header header;
	bool is_disordered; /* the offsets are not those of the chunks in their order */
	bool is_followed;   /* the last chunk, by another one, which may be the true last one */
	bool is_too_long;   /* the last chunk, for the header: one of them is damaged */

	struct bpk_bloscpack_metadata metadata; /* good: they were found; the text is the user's */
	uint64_t state;    /* of the good part: a hash of all of its text that has a digest; or 0 */
	uint64_t shift;    /* of the good part: bytes that came before it; wraps if bytes went */
	bool traces, none; /* else: signs that there were some, or that there were none */
	struct bpk_array array; /* that they describe */
	bool has_array;
	/* Offset of the first chunk, if the entry behind the metadata tells; or unknown. */
	uint64_t start;
	uint64_t *entries; /* of all chunks, if the header's room for them is confirmed; or NULL */
	uint64_t nentries;

	struct bpk_info info; /* for the new archive */
};

/* Read the file's own header, if it is one. */
int bpk_bloscpack_left_read_header(struct bpk_scan *scan, struct bpk_bloscpack_left *left,
				   struct bpk_err *err);

/* Then find metadata before the chunks that were found in the file. Metadata that have no digest
 * are found by an intact header alone. */
int bpk_bloscpack_left_find(struct bpk_scan *scan, const struct bpk_salvage *salvage,
			    struct bpk_bloscpack_left *left, struct bpk_err *err);

/* Then take the entries, if the header's room for them ends where the first one says, or where a
 * chunk begins: damage to a count would move that. Sets likely. */
int bpk_bloscpack_left_take_entries(struct bpk_scan *scan, struct bpk_salvage *salvage,
				    struct bpk_bloscpack_left *left, struct bpk_err *err);

/* Where the file's own header says that the first chunk begins; unknown: the size of the metadata
 * is lost, or there is no header. */
uint64_t bpk_bloscpack_left_first(const struct bpk_bloscpack_left *left);

/*
 * Find the end of the archive, behind its last chunk, by the header, and leave out the bytes
 * behind it, such as another archive, whose chunks are none of its own. salvage has all chunks of
 * the file, and the header was read. The size of the scan becomes that of the archive. Sets
 * is_followed.
 */
int bpk_bloscpack_find_end(struct bpk_bloscpack_search *s, struct bpk_bloscpack_left *left,
			   struct bpk_salvage *salvage, struct bpk_err *err);

/* Set chunk_size, and unsized. Where the last chunk alone is intact it may be shorter than the
 * others: the header, if it has that size for the last, tells theirs, or else the headers of
 * damaged chunks. */
int bpk_bloscpack_find_size(const struct bpk_bloscpack_search *s,
			    const struct bpk_bloscpack_left *left, struct bpk_salvage *salvage,
			    struct bpk_err *err);

/* Number the chunks of salvage, of which there is at least one, once the metadata were searched
 * for: sets nchunks, last_size, counted and unplaced. */
int bpk_bloscpack_number(struct bpk_bloscpack_search *s, struct bpk_bloscpack_left *left,
			 struct bpk_salvage *salvage, struct bpk_err *err);

/* Describe the metadata in salvage, or add the doubt about lost ones. Takes left, from the heap,
 * also on failure. */
int bpk_bloscpack_left_give(struct bpk_bloscpack_left *left, struct bpk_salvage *salvage,
			    struct bpk_err *err);
void bpk_bloscpack_left_free(void *left);

#endif
