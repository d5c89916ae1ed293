/*
 * Bloscpack files, inside the room: what header, metadata, offsets, reader and writer share. Every
 * format fact comes from the Bloscpack format, whose sections are named at each.
 */
#ifndef BPK_FORMAT_BLOSCPACK_H
#define BPK_FORMAT_BLOSCPACK_H

#include "format/digest_number.h"
#include "format/bloscpack/marks.h"
#include "format/format.h"

enum {
	BPK_BLOSCPACK_HEADER_SIZE = 32,   /* versions 2 and 3; version 1 has 16 */
	BPK_BLOSCPACK_HEAD_SIZE = 40,     /* the header, and what tells the two layouts 3 apart */
	BPK_BLOSCPACK_METADATA_SIZE = 32, /* the header of the metadata section */
	BPK_BLOSCPACK_ENTRY_SIZE = 8,
	BPK_BLOSCPACK_PAGE = 512,   /* entries read at a time */
	BPK_BLOSCPACK_BATCH = 4096, /* entries written at a time */
};

/* ---- Header ---- */

/* Valid once read; BPK_UNKNOWN where the file says -1. */
struct bpk_bloscpack_header {
	unsigned version; /* 1..3 */
	bool blaze;       /* version 3 as the Blaze note had it */
	size_t size;      /* 16 or 32 */
	bool has_offsets;
	bool has_metadata;
	bool metadata_deflated; /* Blaze only: the JSON text is a zlib stream */
	uint32_t metadata_size; /* Blaze only: its bytes, directly behind the header */
	const struct bpk_checksum *checksum;
	unsigned typesize;
	uint64_t chunk_size;
	uint64_t last_chunk_size;
	uint64_t nchunks;
	uint64_t append_space;
	uint64_t raw_size; /* follows from the three above */
};

/*
 * Take a header from the first BPK_BLOSCPACK_HEAD_SIZE bytes of a file, fewer only when it is
 * shorter. Fails with BPK_CORRUPT, or BPK_UNSUPPORTED (version, checksum). Source: "Headers".
 */
int bpk_bloscpack_header_read(struct bpk_view head, struct bpk_bloscpack_header *header,
			      struct bpk_err *err);

/* Write a released version 3 header; of header the fields version to append_space are used, without
 * the Blaze ones. */
void bpk_bloscpack_header_write(const struct bpk_bloscpack_header *header,
				uint8_t out[BPK_BLOSCPACK_HEADER_SIZE]);

/* Offset entries that header makes room for; no overflow once the header was read. */
uint64_t bpk_bloscpack_slots(const struct bpk_bloscpack_header *header);

/* True when the 8 bytes name the only metadata format there is. */
bool bpk_bloscpack_magic_is_json(const uint8_t magic[8]);

/* ---- Input: a source by offsets, whether it seeks or not ---- */

/*
 * Read out.size bytes at offset, less only at the end. On a pipe offset must not lie behind the
 * cursor; what lies between is passed over, and BPK_CORRUPT when the input ends there.
 */
int bpk_bloscpack_read(struct bpk_source *source, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err);

/* All of them, or BPK_CORRUPT: "what ends after N bytes, expected M". */
int bpk_bloscpack_need(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       const char *what, struct bpk_err *err);

/* Add size bytes at offset to buf. Memory follows the bytes that arrive, not the size claimed. */
int bpk_bloscpack_append(struct bpk_source *source, uint64_t offset, size_t size,
			 struct bpk_buf *buf, const char *what, struct bpk_err *err);

/* Does the source end at offset (or before)? */
int bpk_bloscpack_ends_at(struct bpk_source *source, uint64_t offset, bool *ends,
			  struct bpk_err *err);

/* ---- Metadata section ---- */

/* Caller storage, valid when zeroed; fixed once read. */
struct bpk_bloscpack_metadata {
	bool good; /* text holds the user's JSON */
	struct bpk_buf text;
	struct bpk_err damage; /* why it is not good; BPK_OK: no reason, or a strange_magic */
	bool strange_magic;    /* another metadata format than JSON: left unread */
	const char *codec;
	const struct bpk_checksum *checksum;
	uint64_t stored_size;
	uint64_t room;
	uint64_t fill_offset; /* the zeros between data and digest */
	uint64_t fill_size;
	uint64_t end; /* where the section ends */
};

/*
 * Read the section that header announces. Damage inside it is noted and leaves the file readable;
 * what makes its end unknown fails with BPK_CORRUPT or BPK_UNSUPPORTED.
 * Source: "Metadata section"; for Blaze "Version 3, Blaze layout".
 */
int bpk_bloscpack_metadata_read(struct bpk_source *source,
				const struct bpk_bloscpack_header *header,
				struct bpk_bloscpack_metadata *metadata, struct bpk_err *err);

void bpk_bloscpack_metadata_clear(struct bpk_bloscpack_metadata *metadata);

/* Make the whole section for info's metadata and the sizes it knows of chunks: zlib where that is
 * not larger, ten times the room (for the user's part), adler32 unless info names another checksum
 * ("Defaults of the blpk tool"). Empty when there is nothing to tell. */
int bpk_bloscpack_metadata_make(const struct bpk_info *info, struct bpk_buf *out,
				struct bpk_err *err);

/* Of a section that is known to be sound: what its header says of checksum, used bytes and room. */
void bpk_bloscpack_metadata_room(const uint8_t head[BPK_BLOSCPACK_METADATA_SIZE],
				 struct bpk_bloscpack_metadata *metadata);

/*
 * Put text into the section that metadata tells of, whose room and digest keep their places. front
 * holds the section's header as it is, and becomes what is to be written over its beginning: the
 * header, the data, and zeros where older data reached further; digest goes to its end. fits is
 * false, and nothing else is of use, when the room is too small. Source: "Metadata section",
 * updating in place.
 */
int bpk_bloscpack_metadata_refit(const struct bpk_bloscpack_metadata *metadata,
				 struct bpk_view text, struct bpk_buf *front,
				 uint8_t digest[BPK_DIGEST_MAX], bool *fits, struct bpk_err *err);

/* ---- Sizes of chunks that differ, in the metadata ---- */

/*
 * What the metadata list of chunks' sizes, as bpk puts it there: the last member of the object,
 * "bpk_chunks":[[count,size,...],...], where each list is a sequence of sizes and how often it
 * stands there. The sizes are those of the first chunks, never of the last. Caller storage.
 */
struct bpk_bloscpack_sizes {
	bool listed;         /* there is such a member; */
	bool wrong;          /* what it says cannot be, and runs is empty */
	struct bpk_buf user; /* the text without it, which is the user's; empty: none */
	struct bpk_sizes runs;
};

/* Look into a text, which is JSON, of an archive of nchunks chunks (may be unknown). */
int bpk_bloscpack_sizes_take(struct bpk_view text, uint64_t nchunks,
			     struct bpk_bloscpack_sizes *sizes, struct bpk_err *err);
void bpk_bloscpack_sizes_clear(struct bpk_bloscpack_sizes *sizes);

/* The user's text (empty: none) with the sizes that runs holds (NULL: none); as it is where there
 * is no place for them in it, or they would take more than a thousandth of the data. */
int bpk_bloscpack_sizes_join(struct bpk_view user, const struct bpk_sizes *runs,
			     struct bpk_buf *out, struct bpk_err *err);

/* ---- Offsets section ---- */

/*
 * Where the entries of a seekable file lie. They are never read whole: a chunk needs its own and
 * its neighbours', and one small read for each chunk costs nothing beside the chunk.
 */
struct bpk_bloscpack_offsets {
	struct bpk_source *source;
	uint64_t start; /* where the section begins */
	uint64_t count; /* entries in it */
};

/* Entries first..first + n, n at most BPK_BLOSCPACK_PAGE, all below count; BPK_UNKNOWN for -1. Any
 * thread. */
int bpk_bloscpack_offsets_get(const struct bpk_bloscpack_offsets *offsets, uint64_t first,
			      unsigned n, uint64_t *entries, struct bpk_err *err);

/* Entries one after the other, a page at a time. Caller storage, valid when zeroed. */
struct bpk_bloscpack_page {
	uint64_t first;
	unsigned n;
	uint64_t entries[BPK_BLOSCPACK_PAGE];
};

int bpk_bloscpack_offsets_turn(const struct bpk_bloscpack_offsets *offsets,
			       struct bpk_bloscpack_page *page, uint64_t number, uint64_t *entry,
			       struct bpk_err *err);

/* Entries held back, to be written at once. Caller storage, valid when zeroed. */
struct bpk_bloscpack_batch {
	uint64_t first; /* number of the chunk whose entry is the first here */
	unsigned n;     /* BPK_BLOSCPACK_BATCH: full */
	uint8_t bytes[BPK_BLOSCPACK_BATCH * BPK_BLOSCPACK_ENTRY_SIZE];
};

/* An empty one, for the entries from first on; add one where it is not full (BPK_UNKNOWN for -1);
 * its bytes as they lie in the file. */
void bpk_bloscpack_batch_start(struct bpk_bloscpack_batch *batch, uint64_t first);
void bpk_bloscpack_batch_add(struct bpk_bloscpack_batch *batch, uint64_t entry);
struct bpk_view bpk_bloscpack_batch_view(const struct bpk_bloscpack_batch *batch);

/* ---- Reader ---- */

/* A walk over the chunks by their headers; starts at chunk 0. */
struct bpk_bloscpack_walk {
	uint64_t number;     /* of the next chunk */
	uint64_t offset;     /* where it lies; not used where the offsets section says it */
	uint64_t raw_offset; /* raw bytes before it */
	uint64_t last_raw;   /* raw size of the chunk before it */
	bool ended;          /* there is no next chunk */
	uint64_t end;        /* then: behind the last one, and its end marker */
};

struct bpk_bloscpack_reader {
	/* fixed after open */
	struct bpk_source *source;
	bool seekable;
	bool positional;
	uint64_t size; /* of the file; BPK_UNKNOWN: a pipe */
	struct bpk_read_options options;
	uint8_t head[BPK_BLOSCPACK_HEADER_SIZE]; /* the header's bytes */
	struct bpk_bloscpack_header header;
	bool torn; /* the file's own header has another last-chunk: an append was cut short there */
	struct bpk_bloscpack_metadata metadata;
	struct bpk_bloscpack_sizes sizes; /* what they say of chunks */
	struct bpk_array array;           /* and of NumPy's; owned */
	uint64_t offsets_offset;
	uint64_t offsets_end;
	uint64_t end;         /* of a positional one that may be followed; or unknown */
	uint64_t data_offset; /* of chunk 0; past offsets_end only in a file with gaps */
	struct bpk_bloscpack_offsets offsets; /* positional, or for audit */

	struct bpk_bloscpack_marks *marks; /* of what was brought; NULL: the source cannot change */

	struct bpk_info info;               /* the sequential fetch completes it */
	struct bpk_bloscpack_walk sequence; /* of the one thread that fetches in order */
	struct bpk_bloscpack_walk located;  /* of the one thread that locates */
};

/*
 * Read the sections before the chunks and fill in everything that is fixed after open; source,
 * seekable, size and options were set. What it holds is given back by metadata_clear.
 */
int bpk_bloscpack_open_parts(struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* Where chunk number lies, or the next of walk. */
struct bpk_bloscpack_extent {
	uint64_t offset;
	uint64_t room; /* bytes up to the next chunk or the end; BPK_UNKNOWN on a pipe */
	bool exact;    /* room ends at the next chunk */
};

/* From the offsets section, checked against its neighbours. Positional readers; any thread. */
int bpk_bloscpack_find(struct bpk_bloscpack_reader *reader, uint64_t number,
		       struct bpk_bloscpack_extent *extent, struct bpk_err *err);

/* Raw bytes of chunk number as header and metadata have them; may be unknown. */
uint64_t bpk_bloscpack_raw_size(const struct bpk_bloscpack_reader *reader, uint64_t number);

/* Check a chunk's 16 first bytes against the room it has and the header's sizes. */
int bpk_bloscpack_examine(const struct bpk_bloscpack_reader *reader, uint64_t number,
			  struct bpk_view head, const struct bpk_bloscpack_extent *extent,
			  struct bpk_chunk_header *header, struct bpk_err *err);

/* What a walk found: the next chunk, its first bytes already taken from the source. */
struct bpk_bloscpack_step {
	struct bpk_bloscpack_extent extent;
	uint8_t head[BPK_CHUNK_HEADER_SIZE];
	struct bpk_chunk_header header;
};

/*
 * Find the next chunk of walk, without moving past it; by_offsets: where the offsets section says
 * it is. Returns 1 behind the last one, after the end marker was tested.
 */
int bpk_bloscpack_walk_look(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
			    bool by_offsets, struct bpk_bloscpack_step *step, struct bpk_err *err);

/* Move past it. */
void bpk_bloscpack_walk_move(const struct bpk_bloscpack_reader *reader,
			     struct bpk_bloscpack_walk *walk,
			     const struct bpk_bloscpack_step *step);

/* A walk that stands before chunk 0. */
struct bpk_bloscpack_walk bpk_bloscpack_walk_start(const struct bpk_bloscpack_reader *reader);

/* The subject of every error about a chunk. Returns -1. */
int bpk_bloscpack_chunk_subject(struct bpk_err *err, uint64_t number, uint64_t offset);

/* What became of a file since a reader was opened on it. */
enum bpk_bloscpack_change {
	BPK_BLOSCPACK_SAME,
	BPK_BLOSCPACK_GROWN,   /* chunks were added; the last one may have been packed with more */
	BPK_BLOSCPACK_CHANGED, /* in another way */
};

/*
 * A step of reader failed with *err while its source was held: is that the file's own fault, or did
 * somebody change it since it was opened? *err stays as it is (SAME), or is to be forgotten and the
 * step done again with now, which borrows what reader holds (GROWN), or becomes BPK_FAILED,
 * "changed while it was read" (CHANGED).
 */
enum bpk_bloscpack_change bpk_bloscpack_judge(const struct bpk_bloscpack_reader *reader,
					      struct bpk_bloscpack_reader *now,
					      struct bpk_err *err);

/* The reader as it would be on the file as it is now, source held, borrowing what reader holds.
 * kept: its header says that the chunks that reader knows are there, and perhaps more. */
int bpk_bloscpack_look_now(const struct bpk_bloscpack_reader *reader,
			   struct bpk_bloscpack_reader *now, bool *kept, struct bpk_err *err);

/* bpk_reader_ops.fetch and .locate, the source held, of the state that reader knows. */
int bpk_bloscpack_fetch_held(struct bpk_bloscpack_reader *reader, struct bpk_parcel *parcel,
			     struct bpk_err *err);
int bpk_bloscpack_locate_held(struct bpk_bloscpack_reader *reader, uint64_t number,
			      struct bpk_where *where, struct bpk_err *err);

/* bpk_reader_ops.audit */
int bpk_bloscpack_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

/* ---- Writer ---- */

/* Make parcel the empty chunk, sealed: all there is of an empty input ("Zero-length input"). */
int bpk_bloscpack_make_empty(const struct bpk_bloscpack_header *header, struct bpk_parcel *parcel,
			     struct bpk_err *err);

/* What a file that is written anew will hold, as far as that is known. */
struct bpk_bloscpack_expected {
	uint64_t nchunks;        /* or more */
	uint64_t raw_size;       /* or more; may be unknown */
	struct bpk_view section; /* of the metadata, to be carried over; empty: made from info */
};

/* bpk_writer_ops.open for a draft that seeks; where info knows no counts, as many entries are
 * reserved as expected (NULL: nothing is) wants, so that the chunks need not move at the end. */
int bpk_bloscpack_writer_begin(struct bpk_draft *draft, const struct bpk_info *info,
			       const struct bpk_write_options *options,
			       const struct bpk_bloscpack_expected *expected, void **writer,
			       struct bpk_err *err);

/* ---- The rows of the format table ---- */

extern const struct bpk_reader_ops bpk_bloscpack_reader_ops;
extern const struct bpk_writer_ops bpk_bloscpack_writer_ops;
extern const struct bpk_editor_ops bpk_bloscpack_editor_ops;

/* Fails with BPK_CORRUPT where bytes lie behind the end of a file that is replaced as a whole when
 * it changes, so that no append can have left them. reader: of bpk_bloscpack_reader_ops, of one
 * archive. */
int bpk_bloscpack_check_end(void *reader, struct bpk_err *err);

int bpk_bloscpack_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
			struct bpk_err *err);

#endif
