/*
 * Bloscpack files, inside the room: the declarations that header, metadata, offsets, reader, writer
 * and editor share. All format facts come from the Bloscpack format; comments name its sections.
 * The files of bloscpack and chunkdir include it, and formats.c.
 */
#ifndef BPK_FORMAT_BLOSCPACK_H
#define BPK_FORMAT_BLOSCPACK_H

#include "format/digest_number.h"
#include "format/bloscpack/marks.h"
#include "format/bloscpack/seal.h"
#include "format/format.h"

enum {
	BPK_BLOSCPACK_HEADER_SIZE = 32,   /* versions 2 and 3 */
	BPK_BLOSCPACK_HEADER_SIZE_1 = 16, /* version 1 */
	BPK_BLOSCPACK_HEAD_SIZE = 40,     /* the header, and 8 bytes that identify layout 3 */
	BPK_BLOSCPACK_METADATA_SIZE = 32, /* the header of the metadata section */
	BPK_BLOSCPACK_ENTRY_SIZE = 8,
	BPK_BLOSCPACK_PAGE = 512,   /* entries read at a time */
	BPK_BLOSCPACK_BATCH = 4096, /* entries written at a time */
};

/* ---- Header ---- */

/* Valid once read; BPK_UNKNOWN where the file says -1. */
struct bpk_bloscpack_header {
	unsigned version; /* 1..3 */
	bool blaze;       /* version 3 in the layout of the Blaze note */
	size_t size;      /* 16 or 32 */
	bool has_offsets;
	bool has_metadata;
	bool metadata_deflated; /* Blaze only: the JSON text is a zlib stream */
	uint32_t metadata_size; /* Blaze only: its bytes, directly after the header */
	const struct bpk_checksum *checksum;
	unsigned typesize;
	uint64_t chunk_size;
	uint64_t last_chunk_size;
	uint64_t nchunks;
	uint64_t append_space;
	uint64_t raw_size; /* computed from the chunk sizes and count; may be unknown */
};

/*
 * Read a header from the first BPK_BLOSCPACK_HEAD_SIZE bytes of a file, fewer only if the file is
 * shorter. Fails with BPK_CORRUPT, or BPK_UNSUPPORTED (the next version). Source: "Headers".
 */
int bpk_bloscpack_header_read(struct bpk_view head, struct bpk_bloscpack_header *header,
			      struct bpk_err *err);

/* Write a released version 3 header from the fields checksum, typesize, chunk_size,
 * last_chunk_size, nchunks, append_space, has_offsets and has_metadata. */
void bpk_bloscpack_header_write(const struct bpk_bloscpack_header *header,
				uint8_t out[BPK_BLOSCPACK_HEADER_SIZE]);

/* Number of offset entries in the file; cannot overflow once the header was read. */
uint64_t bpk_bloscpack_slots(const struct bpk_bloscpack_header *header);

/* True if the 8 bytes name JSON, the only metadata format. */
bool bpk_bloscpack_magic_is_json(const uint8_t magic[8]);

/* ---- Input: a source read by offsets, seekable or not ---- */

/*
 * Read out.size bytes at offset, fewer only at the end. On a pipe offset must not lie before the
 * cursor; the bytes between are skipped, with BPK_CORRUPT if the input ends there.
 */
int bpk_bloscpack_read(struct bpk_source *source, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err);

/* Read all of out. Fails with BPK_CORRUPT: "WHAT ends after N bytes, expected M". */
int bpk_bloscpack_need(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       const char *what, struct bpk_err *err);

/* Fail like that. Returns -1. */
int bpk_bloscpack_ends_early(struct bpk_err *err, const char *what, uint64_t got, uint64_t wanted);

/* Append size bytes at offset to buf. Memory follows the bytes that arrive, not the size
 * claimed. */
int bpk_bloscpack_append(struct bpk_source *source, uint64_t offset, size_t size,
			 struct bpk_buf *buf, const char *what, struct bpk_err *err);

/* Test whether the source ends at or before offset. */
int bpk_bloscpack_ends_at(struct bpk_source *source, uint64_t offset, bool *ends,
			  struct bpk_err *err);

/* ---- Metadata section ---- */

/* Caller storage, valid when zeroed; fixed once read. */
struct bpk_bloscpack_metadata {
	bool good; /* text holds the user's JSON */
	struct bpk_buf text;
	/* The reason, if not good; BPK_OK if there is no section, or for a strange_magic. */
	struct bpk_err damage;
	bool strange_magic; /* the metadata format is not JSON: left unread */
	bool marked;        /* the header's user codec says that the archive is sealed */
	const char *codec;
	const struct bpk_checksum *checksum;
	uint64_t stored_size;
	uint64_t room;
	uint64_t fill_offset; /* of the zeros between data and digest */
	uint64_t fill_size;
	uint64_t end; /* offset of the section's end */
};

/*
 * Read the section that header announces. Damage inside the section is recorded, and the file stays
 * readable. Damage that hides its end fails with BPK_CORRUPT or BPK_UNSUPPORTED.
 * Source: "Metadata section"; for Blaze "Version 3, Blaze layout".
 */
int bpk_bloscpack_metadata_read(struct bpk_source *source,
				const struct bpk_bloscpack_header *header,
				struct bpk_bloscpack_metadata *metadata, struct bpk_err *err);

void bpk_bloscpack_metadata_clear(struct bpk_bloscpack_metadata *metadata);

/* Make the text and the whole section from info's metadata, its array, unless the metadata record
 * one, and its list of chunk sizes: zlib unless that is larger, room for ten times the part before
 * the list, adler32 unless info names another checksum ("Defaults of the blpk tool"). Both are
 * empty if there is nothing to record. With seal_room (0: no seal) the section has the mark, and
 * that much room for the record. Fails with BPK_USAGE if the metadata claim an array and contradict
 * themselves, or have a member of the record's name. */
int bpk_bloscpack_metadata_make(const struct bpk_info *info, size_t seal_room, struct bpk_buf *text,
				struct bpk_buf *out, struct bpk_err *err);

/* Fill checksum, stored_size and room from the header of an intact section. */
void bpk_bloscpack_metadata_room(const uint8_t head[BPK_BLOSCPACK_METADATA_SIZE],
				 struct bpk_bloscpack_metadata *metadata);

/*
 * Put text into an existing section, described by metadata, whose room and digest keep their
 * places. front holds the section's header and becomes the bytes to write at its start: the header,
 * the data, and zeros where older data reached further. digest goes to the section's end. *fits is
 * false if the room is too small; the other outputs are then undefined. Source: "Metadata section",
 * updating in place.
 */
int bpk_bloscpack_metadata_refit(const struct bpk_bloscpack_metadata *metadata,
				 struct bpk_view text, struct bpk_buf *front,
				 uint8_t digest[BPK_DIGEST_MAX], bool *fits, struct bpk_err *err);

/* ---- bpk's own members of the metadata ---- */

/* Find the last member of the object text, if it has this name, which needs no escapes; key is the
 * name as written. Cut it out: user becomes the rest, empty if there is none. A user's empty object
 * contains a blank, so that it differs from that. */
bool bpk_bloscpack_member_find(struct bpk_view text, const char *name, struct bpk_view *key,
			       struct bpk_view *value);
int bpk_bloscpack_member_cut(struct bpk_view text, struct bpk_view key, struct bpk_view value,
			     struct bpk_buf *user, struct bpk_err *err);

/* Add such a member to the user's text (empty: no metadata). *joined is false, and the text stays
 * unchanged, if it is no object or has a member of that name. */
int bpk_bloscpack_member_join(struct bpk_view user, const char *name, struct bpk_view value,
			      struct bpk_buf *out, bool *joined, struct bpk_err *err);

/* ---- Lists of chunk sizes in the metadata ---- */

/*
 * The list of chunk sizes that bpk stores in the metadata: the last member of the object,
 * "bpk_chunks":[[count,size,...],...]. Each inner list is a sequence of sizes and the number of its
 * repetitions. The sizes are those of the first chunks, never of the last. Caller storage.
 */
struct bpk_bloscpack_sizes {
	bool listed;         /* the member exists */
	bool wrong;          /* its value is impossible, and runs is empty */
	struct bpk_buf user; /* the user's text, without the member; empty: no metadata */
	struct bpk_sizes runs;
};

/* Parse a JSON text of an archive of nchunks chunks (may be unknown). */
int bpk_bloscpack_sizes_parse(struct bpk_view text, uint64_t nchunks,
			      struct bpk_bloscpack_sizes *sizes, struct bpk_err *err);
void bpk_bloscpack_sizes_clear(struct bpk_bloscpack_sizes *sizes);

/* Add the list of runs (NULL: no list) to the user's text (empty: no metadata). The text stays
 * unchanged if it cannot take a member, or if the list would exceed a thousandth of the data. */
int bpk_bloscpack_sizes_join(struct bpk_view user, const struct bpk_sizes *runs,
			     struct bpk_buf *out, struct bpk_err *err);

/* ---- Offsets section ---- */

/*
 * The offset entries of a seekable file. They are never read whole: a chunk needs its own entry and
 * its neighbours', and one small read per chunk is cheap beside the chunk itself.
 */
struct bpk_bloscpack_offsets {
	struct bpk_source *source;
	uint64_t start; /* offset of the section */
	uint64_t count; /* entries in it */
};

/* Read entries first to first + n - 1, n at most BPK_BLOSCPACK_PAGE, all below count; BPK_UNKNOWN
 * for -1. Any thread. */
int bpk_bloscpack_offsets_get(const struct bpk_bloscpack_offsets *offsets, uint64_t first,
			      unsigned n, uint64_t *entries, struct bpk_err *err);

/* A cache of one page of entries, for reading them in order, valid for one state of the file.
 * Caller storage, valid when zeroed. */
struct bpk_bloscpack_page {
	uint64_t first;
	unsigned n;
	uint64_t entries[BPK_BLOSCPACK_PAGE];
};

int bpk_bloscpack_offsets_turn(const struct bpk_bloscpack_offsets *offsets,
			       struct bpk_bloscpack_page *page, uint64_t number, uint64_t *entry,
			       struct bpk_err *err);

/* Read the entry of chunk number, which lies at offset. BPK_CORRUPT unless it is that, or unset. */
int bpk_bloscpack_offsets_check(const struct bpk_bloscpack_offsets *offsets,
				struct bpk_bloscpack_page *page, uint64_t number, uint64_t offset,
				uint64_t *entry, struct bpk_err *err);

/*
 * Check a spare entry of an archive that ends at end. It is -1, or was written by an append that
 * never committed: it is then at or past the end. If that append left chunks (has_tail), it may
 * have died within an entry, whose other bytes are still those of -1.
 */
int bpk_bloscpack_spare_check(uint64_t number, uint64_t entry, uint64_t end, bool has_tail,
			      struct bpk_err *err);

/* Entries collected for one write. Caller storage, valid when zeroed. */
struct bpk_bloscpack_batch {
	uint64_t first; /* chunk number of the first entry */
	unsigned n;     /* BPK_BLOSCPACK_BATCH: full */
	uint8_t bytes[BPK_BLOSCPACK_BATCH * BPK_BLOSCPACK_ENTRY_SIZE];
};

/* Empty the batch, for entries from first on; add an entry while it is not full (BPK_UNKNOWN for
 * -1); get the entries in their stored form. */
void bpk_bloscpack_batch_start(struct bpk_bloscpack_batch *batch, uint64_t first);
void bpk_bloscpack_batch_add(struct bpk_bloscpack_batch *batch, uint64_t entry);
struct bpk_view bpk_bloscpack_batch_view(const struct bpk_bloscpack_batch *batch);

/* ---- Reader ---- */

/* What was read in advance, of one state of the file. */
struct bpk_bloscpack_ahead {
	struct bpk_mutex lock; /* guards the rest */
	unsigned state;        /* of bpk_source_glance */
	struct bpk_bloscpack_page page;
	struct bpk_stretch stretch;
};

/* A walk from chunk header to chunk header; starts at chunk 0. */
struct bpk_bloscpack_walk {
	uint64_t number;     /* of the next chunk */
	uint64_t offset;     /* of that chunk; unused if the offsets section has it */
	uint64_t raw_offset; /* raw bytes before it */
	uint64_t last_raw;   /* raw size of the chunk before it */
	bool ended;          /* there is no next chunk */
	uint64_t end;        /* if ended: offset after the last chunk and its end marker */
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
	/* last-chunk is wrong in the file, and mended here: an append was interrupted while
	 * writing the header. */
	bool torn;
	struct bpk_bloscpack_metadata metadata;
	struct bpk_seal seal;             /* the record in the metadata, whose text lacks it */
	struct bpk_bloscpack_sizes sizes; /* the list of chunk sizes in the metadata */
	struct bpk_array array;           /* the NumPy array in the metadata; owned */
	uint64_t offsets_offset;
	uint64_t offsets_end;
	uint64_t end;         /* of a positional archive opened with followed; else unknown */
	uint64_t data_offset; /* of chunk 0; past offsets_end only in a file with gaps */
	struct bpk_bloscpack_offsets offsets; /* positional, or for audit */

	/* Leaves of the chunks that were tested; NULL: no seal, or nothing asks for them. */
	struct bpk_seal_leaves *leaves;
	struct bpk_seal_proof
		*proof; /* of chunks that may be fetched; NULL: of none, and all may */

	/* Of chunks read, and bytes read in advance, which copies of the reader share; both NULL:
	 * the source cannot change. */
	struct bpk_bloscpack_marks *marks;
	struct bpk_bloscpack_ahead *ahead;

	struct bpk_info info;               /* the sequential fetch completes it */
	struct bpk_bloscpack_walk sequence; /* of the one thread that fetches in order */
	struct bpk_bloscpack_walk located;  /* of the one thread that locates */
};

/*
 * Read the sections before the chunks and set every member that is fixed after open. source,
 * seekable, size and options must be set. The reader's close frees these members, also after a
 * failure.
 */
int bpk_bloscpack_open_parts(struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* The position of one chunk. */
struct bpk_bloscpack_extent {
	uint64_t offset;
	uint64_t room; /* bytes up to the next chunk or the end; BPK_UNKNOWN on a pipe */
	bool exact;    /* room ends at the next chunk */
};

/* Find a chunk by its offset entry, checked against its neighbours. page, the caller's, saves
 * reads; NULL: no page is kept. Positional readers; any thread. */
int bpk_bloscpack_find(struct bpk_bloscpack_reader *reader, uint64_t number,
		       struct bpk_bloscpack_page *page, struct bpk_bloscpack_extent *extent,
		       struct bpk_err *err);

/* Raw size of chunk number by header and metadata; may be unknown. */
uint64_t bpk_bloscpack_raw_size(const struct bpk_bloscpack_reader *reader, uint64_t number);

/* Check the first 16 bytes of a chunk against its room and the file header's sizes. */
int bpk_bloscpack_examine(const struct bpk_bloscpack_reader *reader, uint64_t number,
			  struct bpk_view head, const struct bpk_bloscpack_extent *extent,
			  struct bpk_chunk_header *header, struct bpk_err *err);

/* The next chunk of a walk; its first bytes are already read from the source. */
struct bpk_bloscpack_step {
	struct bpk_bloscpack_extent extent;
	uint8_t head[BPK_CHUNK_HEADER_SIZE];
	struct bpk_chunk_header header;
};

/*
 * Find the next chunk of walk, without moving past it; by_offsets: use the offsets section, with
 * page as for bpk_bloscpack_find. Returns 1 after the last chunk, when the end marker has been
 * tested.
 */
int bpk_bloscpack_walk_look(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
			    bool by_offsets, struct bpk_bloscpack_page *page,
			    struct bpk_bloscpack_step *step, struct bpk_err *err);

/* Move the walk past that chunk. */
void bpk_bloscpack_walk_move(const struct bpk_bloscpack_reader *reader,
			     struct bpk_bloscpack_walk *walk,
			     const struct bpk_bloscpack_step *step);

/* A new walk, before chunk 0. */
struct bpk_bloscpack_walk bpk_bloscpack_walk_start(const struct bpk_bloscpack_reader *reader);

/* For a change that writes all entries again: walk all chunks if they cannot be found by their
 * entries. Fails with BPK_CORRUPT if an entry is neither -1 nor the place of its chunk. */
int bpk_bloscpack_walk_check(struct bpk_bloscpack_reader *reader, struct bpk_err *err);

/* Prepend "chunk N at offset M" to an error. Returns -1. */
int bpk_bloscpack_chunk_subject(struct bpk_err *err, uint64_t number, uint64_t offset);

/* How a file has changed since a reader was opened on it. */
enum bpk_bloscpack_change {
	BPK_BLOSCPACK_SAME,
	BPK_BLOSCPACK_GROWN,   /* chunks were added; the last one may hold more data */
	BPK_BLOSCPACK_CHANGED, /* changed in another way */
};

/*
 * A step of reader failed with *err while its source was held. Decide whether the file is at fault,
 * or was changed since it was opened. SAME: *err stays. GROWN: forget *err and repeat the step with
 * now, which borrows from reader. CHANGED: *err becomes BPK_FAILED, "changed while it was read".
 */
enum bpk_bloscpack_change bpk_bloscpack_concurrent_judge(const struct bpk_bloscpack_reader *reader,
							 struct bpk_bloscpack_reader *now,
							 struct bpk_err *err);

/* Make now the reader of the file's current state; it borrows from reader. The source is held.
 * *kept: by its header the file still has reader's chunks, and perhaps more. */
int bpk_bloscpack_concurrent_open(const struct bpk_bloscpack_reader *reader,
				  struct bpk_bloscpack_reader *now, bool *kept,
				  struct bpk_err *err);

/* bpk_reader_ops.fetch and .locate in the state that reader knows; the source is held. */
int bpk_bloscpack_fetch_held(struct bpk_bloscpack_reader *reader, struct bpk_parcel *parcel,
			     struct bpk_err *err);
int bpk_bloscpack_locate_held(struct bpk_bloscpack_reader *reader, uint64_t number,
			      struct bpk_where *where, struct bpk_err *err);

/*
 * The same fetch of a positional reader without a hold, which brings small chunks from bytes read
 * in advance. Returns false if that is worth nothing: the file has no lasting state now, it was
 * changed meanwhile, or *rc is -1 and the chunk looks damaged. Any thread.
 */
bool bpk_bloscpack_fetch_still(struct bpk_bloscpack_reader *reader, struct bpk_parcel *parcel,
			       int *rc, struct bpk_err *err);

/* Freed by bpk_bloscpack_ahead_free, which accepts NULL. Fails with BPK_NO_MEMORY. */
int bpk_bloscpack_ahead_new(struct bpk_bloscpack_ahead **ahead, struct bpk_err *err);
void bpk_bloscpack_ahead_free(struct bpk_bloscpack_ahead *ahead);

/* bpk_reader_ops.audit */
int bpk_bloscpack_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

/* ---- Writer ---- */

/* Make parcel the sealed empty chunk, the only one of an empty input ("Zero-length input"). */
int bpk_bloscpack_make_empty(const struct bpk_bloscpack_header *header, struct bpk_parcel *parcel,
			     struct bpk_err *err);

/* The known content of a rewritten file. */
struct bpk_bloscpack_expected {
	uint64_t nchunks;        /* at least */
	uint64_t raw_size;       /* at least; may be unknown */
	struct bpk_view section; /* of the metadata, to be copied; empty: made from info */
};

/* For a sealed archive, before finish: replace the metadata by text, which must fit into the
 * section that was written; and test that the chunks put are those of tree, which old vouches for
 * (BPK_CORRUPT). */
int bpk_bloscpack_writer_retext(void *writer, struct bpk_view text, struct bpk_err *err);
int bpk_bloscpack_writer_compare(const void *writer, const struct bpk_seal_tree *tree,
				 const struct bpk_seal *old, struct bpk_err *err);

/* bpk_writer_ops.open for a draft that seeks. If info has no counts, expected (may be NULL) decides
 * how many entries are reserved, so that the chunks need not move at the end. */
int bpk_bloscpack_writer_begin(struct bpk_draft *draft, const struct bpk_info *info,
			       const struct bpk_write_options *options,
			       const struct bpk_bloscpack_expected *expected, void **writer,
			       struct bpk_err *err);

/* ---- The rows of the format table ---- */

extern const struct bpk_reader_ops bpk_bloscpack_reader_ops;
extern const struct bpk_writer_ops bpk_bloscpack_writer_ops;
extern const struct bpk_editor_ops bpk_bloscpack_editor_ops;

/* bpk_format.salvage; and the same for a file of a directory. */
int bpk_bloscpack_salvage(const struct bpk_place *place, struct bpk_salvage *salvage,
			  struct bpk_err *err);
int bpk_bloscpack_salvage_source(struct bpk_source *source, struct bpk_salvage *salvage,
				 struct bpk_err *err);

/* bpk_format.finish; calls the editor's rewrite, with a test of every digest. */
int bpk_bloscpack_finish(const char *path, const struct bpk_edit_options *options,
			 struct bpk_repacked *result, struct bpk_err *err);

/* Fails with BPK_CORRUPT if bytes follow the end of a file that is only ever replaced as a whole,
 * so that no append can have left them. reader: of bpk_bloscpack_reader_ops, of one archive. */
int bpk_bloscpack_check_end(void *reader, struct bpk_err *err);

int bpk_bloscpack_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
			struct bpk_err *err);
int bpk_bloscpack_claims(const struct bpk_place *place, bool *claimed, struct bpk_err *err);

#endif
