/*
 * The chunks that are left of an archive whose header, index or order of bytes is lost. A part of
 * the room's door: a format that can find them has a salvage call in its row (format.h); repair
 * calls it. The calls below "Inside the room" are for the formats.
 */
#ifndef BPK_FORMAT_SALVAGE_H
#define BPK_FORMAT_SALVAGE_H

#include "base/base.h"
#include "checksum/checksum.h"
#include "chunk/chunk.h"

struct bpk_info;
struct bpk_place;
struct bpk_source;

/* A chunk that was found, or the place of one that is damaged. */
struct bpk_saved {
	uint64_t number;                /* in the archive, as far as that is known; ascending */
	uint64_t file;                  /* of a directory: its place in files; else 0 */
	uint64_t offset;                /* in the file */
	uint32_t packed_size, raw_size; /* by its header */
	unsigned typesize;              /* and this, of Blosc2's chunks */
	enum bpk_special special;       /* of a chunk that the index alone holds; else none */
	const struct bpk_place *place;  /* of the copy that has it; NULL: it is the archive's */
	uint32_t brief;                 /* of header and digest, if the format refutes orders */
	bool intact;
	bool unproven; /* its digest, which may be damaged, is another one: it unpacks alone */
	/* It is intact if this byte of it is another one, as its digest says, or if the digest is
	 * damaged. */
	bool guessed;
	uint32_t guess_at;
	uint8_t guess_byte;
};

/* Caller storage, valid when zeroed. */
struct bpk_salvage {
	bool guesses;          /* set by the caller: restore chunks of one damaged byte */
	bool guessable;        /* else: a damaged one is at its place, and not too large for that */
	bool unguessed;        /* some are too large for that, as their checksum is cryptographic */
	struct bpk_saved *all; /* while a file is searched, in ascending order of offsets */
	size_t count, room;
	char **files; /* of a directory: names relative to its root */
	size_t nfiles, files_room;
	const struct bpk_checksum *checksum; /* of the chunks; never NULL */
	unsigned seal_size;                  /* bytes of a digest behind each chunk in the file */
	unsigned typesize;
	uint32_t chunk_size; /* raw bytes of every chunk but the last */
	bool unsized;        /* not certain: the last chunk alone is intact, and may be shorter */
	bool uneven;         /* chunks differ in size, and chunk_size and last_size are not used */
	uint64_t raw_size;   /* of all chunks of an uneven archive, by its header; or unknown */
	uint64_t nchunks;    /* of the archive; at least the last number and one */
	/* The chunks that the header counts of a file that ends within one of them; or 0. */
	uint64_t claimed;
	/* The chunks that the header counts, and the gaps or the room for their entries confirm,
	 * though the numbers are not certain; or 0. */
	uint64_t likely;
	uint64_t last_size; /* raw bytes of the last one; unknown if that is lost */
	/* A hash of the digests, or of the metadata, if these are intact: another one is that of
	 * another state. 0: they are lost, or have no digest. */
	uint64_t state;
	uint64_t file_size; /* of the file with the index, as its header says; 0: it does not */
	/* The numbers count the chunks whose files are there; those of others may follow. */
	bool is_least;
	const char *index;  /* the name of that file in a directory, static; NULL: this is a file */
	bool proven;        /* chunks were tested by digests, and not unpacked alone */
	bool counted;       /* numbers and nchunks are certain; else the lost ones are estimated */
	bool gapless;       /* each byte of the file from the first chunk on belongs to a chunk */
	bool sealed;        /* traces of a seal over the whole archive were found */
	bool unnoticed;     /* the doubt says that changed bytes may go unnoticed */
	uint64_t nunproven; /* or, if that is false, that they may in these intact chunks alone */
	bool numbered;      /* each intact chunk has the digest that is recorded for its number */
	bool estimated;     /* though counted: numbers in some file follow from order and sizes */
	bool disordered;    /* the intact chunks are not those that digests over all record */
	/* True if those digests refute the present numbers of the chunks, all of which are intact
	 * and the archive's own. NULL: it has no such digests. */
	bool (*refutes)(const struct bpk_salvage *salvage);
	/* Not counted, since the archive's own offsets contradict the order of intact chunks. */
	bool contradicted;
	bool maybe_array;  /* the shape of an array may be lost: its raw bytes have another order */
	bool exchangeable; /* they lie in several files, whose order those digests alone prove */
	/* If not counted: in words, why numbers are not certain; or NULL. */
	const char *unplaced;
	size_t nothers; /* intact chunks of another size, as of an archive inside the data */
	bool is_part;   /* the file has another archive, or its intact chunks */
	/* Of a directory: a list of its own of intact chunks that have the size of one, but that of
	 * no place where they were found. Borrowed from parts; NULL: there is none. */
	const struct bpk_salvage *strays;

	/* Other parts that the new archive takes over: metadata, array, defaults of a frame.
	 * Borrowed from parts; NULL: none. */
	const struct bpk_info *like;
	void *parts; /* the format's own, for release */
	void (*release)(void *parts);
	/* If numbered: the digest that is recorded for a number; NULL: there is none. */
	const uint8_t *(*digest_of)(const void *parts, uint64_t number);
	/* Where the index, as it is, says that a chunk lies; unknown: it does not. NULL: no index
	 * was found. */
	uint64_t (*entry_of)(const void *parts, uint64_t number);

	/* The archive is an array in chunks of several dimensions, whose shape needs every one. */
	bool shaped;
	/* Of such an array, if its shape is intact; else NULL: bring the raw bytes of a chunk out
	 * of a file of array_size bytes in C order. Padding is 0; the second call makes that of any
	 * chunk 0. Blocks of its chunks have block_size bytes. */
	int (*gather)(void *parts, struct bpk_source *raw, uint64_t number, struct bpk_span chunk,
		      struct bpk_err *err);
	int (*clear_padding)(void *parts, uint64_t number, struct bpk_span chunk,
			     struct bpk_err *err);
	uint64_t array_size;
	uint32_t block_size;

	struct bpk_buf doubt; /* in words: the other parts that are lost or uncertain */
	bool has_doubts;      /* it tells of more than lost metadata */
};

void bpk_salvage_clear(struct bpk_salvage *salvage);

/* Read the bytes of an intact chunk into packed. Fails with BPK_FAILED if they are gone meanwhile;
 * the line names the file of a directory. */
int bpk_salvage_fetch(const struct bpk_place *place, const struct bpk_salvage *salvage,
		      const struct bpk_saved *saved, struct bpk_buf *packed, struct bpk_err *err);

/* ---- Inside the room ---- */

/* Add a chunk. Fails with BPK_NO_MEMORY. */
int bpk_salvage_add(struct bpk_salvage *salvage, const struct bpk_saved *found,
		    struct bpk_err *err);

/* Add a file of a directory; *file is its place. */
int bpk_salvage_add_file(struct bpk_salvage *salvage, const char *name, uint64_t *file,
			 struct bpk_err *err);

/* The number of intact chunks in the list. */
uint64_t bpk_salvage_intact(const struct bpk_salvage *salvage);

/* Raw bytes of the last chunk of an archive that is not uneven; a lost one counts as a full one. */
static inline uint64_t bpk_salvage_last_size(const struct bpk_salvage *salvage)
{
	return salvage->last_size == BPK_UNKNOWN ? salvage->chunk_size : salvage->last_size;
}

/* Add a clause to the doubt, without a full stop. */
int bpk_salvage_doubt(struct bpk_salvage *salvage, const char *clause, struct bpk_err *err);

/* Add the clause that the metadata are lost, which leaves the chunks and their numbers certain. */
int bpk_salvage_doubt_metadata(struct bpk_salvage *salvage, const char *clause,
			       struct bpk_err *err);

/* Add the doubt about n intact chunks outside of the archive, as of another one in the same file,
 * and set is_part; for 0 do nothing. */
int bpk_salvage_doubt_others(struct bpk_salvage *salvage, uint64_t n, struct bpk_err *err);

/* The same about another archive, if claims, a format's own (format.h), finds that one begins at
 * offset in the file. */
int bpk_salvage_doubt_archive(struct bpk_salvage *salvage, struct bpk_source *file, uint64_t offset,
			      int (*claims)(const struct bpk_place *, bool *, struct bpk_err *),
			      struct bpk_err *err);

/* Set chunk_size: the raw size of most intact chunks; of sizes that are as frequent the larger
 * one. */
int bpk_salvage_find_chunk_size(struct bpk_salvage *salvage, struct bpk_err *err);

/* True if the intact chunks are of too many sizes for an archive with chunks of chunk_size bytes:
 * half of them, without the last, have another. */
bool bpk_salvage_is_uneven(const struct bpk_salvage *salvage);

/* Drop the chunks of other sizes, found in a file of size bytes. Only the last chunk may be
 * shorter, and none may be longer. */
void bpk_salvage_drop_others(struct bpk_salvage *salvage, uint64_t size);

/* The same for chunks of several files, in the order of the list. */
void bpk_salvage_keep_size(struct bpk_salvage *salvage);

/* Number the chunks of a file, which lie between start and size, by the gaps between them, and set
 * nchunks, last_size and gapless. If start is unknown, chunks before the first cannot be told from
 * the archive's other parts. */
void bpk_salvage_number_by_gaps(struct bpk_salvage *salvage, uint64_t start, uint64_t size);

/* The archive is known to have nchunks, no less than the list, the last of last_size bytes or of an
 * unknown size: numbers that the gaps make too large fit, and a short chunk is the last, a full one
 * not if that is short. They are certain if there are as many chunks, without gaps: in a gap one
 * may be lost, and another one was copied. */
void bpk_salvage_fit_numbers(struct bpk_salvage *salvage, uint64_t nchunks, uint64_t last_size);

/* The last chunk, if it is intact, tells its size, whatever was recorded, and a short one the
 * count, which then is not certain. */
void bpk_salvage_trust_last(struct bpk_salvage *salvage);

#endif
