/*
 * The room format: containers over chunks, each a row of one table with a reader and a writer. It
 * knows byte layouts, digests and chunk headers, but no threads, no options, no terminal and no
 * other format. The rooms above call it.
 */
#ifndef BPK_FORMAT_FORMAT_H
#define BPK_FORMAT_FORMAT_H

#include "base/base.h"
#include "checksum/checksum.h"
#include "chunk/chunk.h"
#include "format/array_metadata.h"
#include "format/salvage.h"
#include "io/io.h"

/* A named piece of metadata beside the data, as in Blosc2's frames. */
struct bpk_layer {
	const char *name;        /* 1 to 31 bytes */
	bool fixed;              /* in the header, of constant size; else in the trailer */
	struct bpk_view content; /* unpacked; msgpack by convention, but any bytes */
};

struct bpk_frame_header; /* format/frame/frame.h */

/* The chunks of an archive. */
struct bpk_chunks_info {
	uint64_t count;
	uint64_t size; /* raw bytes of every chunk but the last; unknown: sizes differ */
	uint64_t last_size;

	/* If size is unknown: the sizes of the first chunks, as the archive lists them, never with
	 * the last chunk. The other sizes are found in the chunks. A writer that can store the list
	 * includes every chunk but the last. NULL: no sizes are known. */
	const struct bpk_sizes *runs;

	uint64_t append_space; /* spare offset entries */
	bool has_offsets;      /* the archive has an offsets section */

	/* As the container records it; 0: not recorded. Over 255 in frames alone. */
	uint32_t typesize;
	const struct bpk_checksum *checksum; /* of every chunk; never NULL */

	bool extended; /* they are Blosc2's; else of version 2 alone */
	/* Why a fetched parcel is not one stored chunk of the raw bytes, in words; NULL: it is. */
	const char *composed;

	bool has_first;                /* first is valid */
	struct bpk_chunk_header first; /* its codec, filters and block size stand for all */
};

/* The user's metadata; borrowed from the reader. */
struct bpk_metadata_info {
	bool given;
	struct bpk_view text; /* JSON */
	uint64_t stored_size; /* in the archive, after compression */
	uint64_t room;        /* bytes reserved for it there */
	const char *codec;    /* "none", "zlib" */
	const struct bpk_checksum *checksum;

	/* By name, without the layers that bpk itself needs; text holds the same as one JSON
	 * object. A writer that has layers takes these and not the JSON. */
	const struct bpk_layer *layers;
	size_t nlayers;
};

/* The array that an archive holds. */
struct bpk_array_info {
	/* The type and shape of the elements, where the archive records them; owned by the reader.
	 * NULL: plain bytes. A directory stores a record type as columns; its raw bytes are packed
	 * records. */
	const struct bpk_array *type;
	/* Shapes of the chunks and blocks of a multidimensional array (b2nd), one number for each
	 * of the array's dimensions; NULL elsewhere. */
	const uint64_t *chunk_shape, *block_shape;
	/* An editor's: appends and cuts must be whole rows of this many bytes; 0: any bytes. */
	uint64_t row_size;
};

/* The seal of an archive: a digest over all of it, which every change renews. */
struct bpk_seal_info {
	bool sealed;                   /* a writer makes one; raw files have none */
	uint64_t generation;           /* counts the changes, from 1 on; a writer takes 0 as 1 */
	uint8_t root[BPK_MERKLE_SIZE]; /* a reader's: as the archive claims; audit proves it */
	uint64_t end; /* of the bytes of a file that it covers; 0: only a walk finds it */
};

/* The data files of a directory; all 0 elsewhere. */
struct bpk_directory_info {
	uint64_t nfiles;
	/* Chunks in each of them but the last; 0 if the format has no such files. */
	uint64_t superchunk_chunks;
	uint64_t ncolumns; /* 0: no columns */
	bool has_digests;  /* of all chunks together, whatever the checksum of each is */
	/* Those digests, or the seal, alone show files that were swapped or copied: nothing does
	 * while chunks are lost. */
	bool exchangeable;
};

/*
 * The description of an archive that all formats share. Readers fill it at open, writers obey it,
 * `info` prints it. Sizes are in bytes; BPK_UNKNOWN where the archive does not record the value.
 */
struct bpk_info {
	const char *format;   /* the format's name: "blp" */
	const char *variant;  /* "version 3"; NULL if the format has only one */
	uint64_t stored_size; /* of the whole place; unknown for a pipe */
	uint64_t raw_size;    /* of all chunks */

	struct bpk_chunks_info chunks;
	struct bpk_metadata_info metadata;
	struct bpk_array_info array;
	struct bpk_directory_info directory;
	struct bpk_seal_info seal;

	/* The parts that can change without any checksum or cross-check noticing, in words.
	 * NULL: every part is protected. */
	const char *unprotected;
	/* Damage outside of the chunks, which are still read, while a copy of the archive as
	 * it lies would hide it; NULL: none was found at open. */
	const char *damage;
	bool pending; /* a writer died; the content is the state it had committed before */

	/* Further fields of a Blosc2 frame's header, for a frame that copies the chunks unopened.
	 * NULL elsewhere. */
	const struct bpk_frame_header *frame;

	uint64_t hole_size; /* unreferenced bytes in the middle, which `repair --repack` removes */

	/* Number of archives concatenated in one file or pipe, read as one. BPK_UNKNOWN: this
	 * describes the first, and further ones are found while chunks are fetched or located.
	 * 0: the format does not support concatenation. */
	uint64_t members;
	bool uneven; /* typesizes or checksums of the members differ; these are the first one's */
};

/*
 * A chunk on its way through the program. The flow's window owns and reuses it; at any time one
 * thread holds it.
 */
struct bpk_parcel {
	uint64_t number; /* of the chunk in its stream, from 0 */
	/* Of its first raw byte in the whole data; unknown while an archive that does not record it
	 * is read in sequence. */
	uint64_t raw_offset;
	uint64_t packed_offset; /* of the chunk in the archive, for reports */
	struct bpk_buf raw;     /* unpacked bytes; size in use */
	struct bpk_buf packed;  /* the chunk, then its seal (the digest) */
	size_t packed_size;     /* bytes of packed that are the chunk itself */
	size_t raw_size;        /* unpacked size of the chunk, or the size that the plan cut */
	/* How many raw bytes, from the start, belong to the data. A fetch sets it if that is less
	 * than raw_size: a writer has added to the last chunk since the archive was opened. */
	size_t data_size;
	/* The raw bytes that are wanted: all, except at the ends of a byte range. */
	size_t want_start;
	size_t want_size;
	/* The number of chunks right after this one that belong to the parcel: they hold the same
	 * bytes, or all were unpacked into raw. Set by the flow; 0 elsewhere. */
	uint64_t again;
	/* Memory that unpacking takes in addition to raw and packed, if that may be more than they
	 * are: set by readers of several chunks. */
	uint64_t extra_memory;
	/* Help of other threads while it is fetched and packed; NULL: none. Set by the flow. */
	const struct bpk_sharing *sharing;
	/* packed has the sizes, but of the bytes only the chunk's header and the seal: another
	 * process has the rest, and writes it where put would. See takes_unseen. */
	bool unseen;
	void *member; /* the reader's own, from one fetch to the next; NULL before the first */
};

/* Append the digest of the packed_size bytes, as bpk_writer_ops.seal of most formats. Any
 * thread. */
int bpk_parcel_seal(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
		    struct bpk_err *err);

enum { BPK_WHERE_FILE = 96 };

/* The position of a chunk, for listings and byte ranges. */
struct bpk_where {
	/* Of a directory: the file that packed_offset is in; empty if the chunk is in several, in
	 * none, or in one of a longer name. */
	char file[BPK_WHERE_FILE];
	uint64_t packed_offset;
	uint64_t raw_offset;
	struct bpk_chunk_header header;
	uint8_t digest[BPK_DIGEST_MAX]; /* as stored; checksum->size bytes */
};

/* How to read. All false or 0 is the default. */
struct bpk_read_options {
	bool no_check;  /* do not test digests; single blocks of a chunk may then be fetched */
	bool no_marker; /* accept a stream of unknown length without our end marker */
	bool followed;  /* other archives may follow; the caller judges the bytes after the end */
	uint64_t chunk_limit; /* refuse chunks with a larger raw size; 0: the format's limit */

	/* Return multidimensional chunks as stored, with their padding, to verify or copy them.
	 * Otherwise such an array comes in C order, assembled from several chunks (unpacks returns
	 * true). */
	bool as_stored;
	/* Otherwise: put as few chunks together as possible, since some are damaged. */
	bool saves;
	/* All chunks are fetched and checked, and then comes the audit, which needs not read them
	 * again: check notes the leaves of a seal. */
	bool audits;
	/* The content is read to its end, which the reader notes at open: it tells an append
	 * meanwhile from a truncation with an append behind it. */
	bool to_end;
};

/* A remark of audit: a finding that is not damage, such as bytes after the last chunk. */
typedef void bpk_remark_fn(void *arg, const char *line);

/* The receiver of remarks. */
struct bpk_remarks {
	bpk_remark_fn *remark;
	void *arg;
};

/* Send a formatted line, of at most 511 bytes. */
void bpk_remark(const struct bpk_remarks *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A bpk_remark_fn for callers that want none. */
void bpk_remark_ignore(void *arg, const char *line);

/* The remark of an audit where bpk_dir_lists is false. */
void bpk_remark_unlisted(const struct bpk_remarks *to);

/*
 * Reading. open borrows place until close and makes the reader, which every other call takes.
 * Errors are complete lines without the path: "chunk 3 at offset 4711: crc32 is ..., expected ...".
 */
struct bpk_reader_ops {
	int (*open)(struct bpk_place *place, const struct bpk_read_options *options, void **reader,
		    struct bpk_err *err);

	/* Filled at open; lives as long as the reader. After the last chunk of a sequential read
	 * the counts that were unknown are set. */
	const struct bpk_info *(*info)(const void *reader);

	/*
	 * Read only this part of a multidimensional array from now on, in C order: the archive's
	 * raw bytes, and the sizes in info, are then those of the part. Called before the first
	 * fetch. Fails with BPK_USAGE if the archive is not such an array, or the part is not
	 * inside it. NULL: the format has no such arrays.
	 */
	int (*narrow)(void *reader, const struct bpk_slice *slice, struct bpk_err *err);

	/* True if many threads may call fetch, in any order: the source seeks and chunks are found
	 * without a walk. Otherwise one thread at a time calls fetch with ascending numbers; chunks
	 * left out are skipped unchecked, and on a seekable source a lower number restarts the
	 * walk. */
	bool (*positional)(const void *reader);

	/*
	 * Read chunk parcel->number. Archives fill parcel->packed and set packed_size, raw_size,
	 * packed_offset and, if known, raw_offset; the seal's bytes follow the chunk, untested. Raw
	 * files fill parcel->raw with the raw_size bytes at raw_offset that the plan cut, fewer at
	 * the end. Returns 1 instead of 0 after the last chunk. With no_check and a want smaller
	 * than the chunk, only the packed bytes needed for the want are read, at their places.
	 */
	int (*fetch)(void *reader, struct bpk_parcel *parcel, struct bpk_err *err);

	/* Announce a fetch of chunk number, for bpk_source_ahead. A hint: it never fails. Many
	 * threads may call it where they may call fetch. NULL: the format makes no use of it. */
	void (*ahead)(void *reader, uint64_t number);

	/* Test the seal of a fetched chunk. Any thread. NULL: chunks have no seal. */
	int (*check)(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);

	/*
	 * Unpack the want_size wanted bytes of a fetched parcel into out, for formats whose parcels
	 * are more than one chunk: columns to records. Any thread, with its own ctx. If unpack is
	 * NULL, or unpacks returns false for this archive, packed is one chunk.
	 */
	bool (*unpacks)(const void *reader);
	int (*unpack)(const void *reader, struct bpk_chunk_ctx *ctx,
		      const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);

	/* Prepend the position of a fetched parcel, whose packed_offset is known, to a report.
	 * Returns -1. NULL: "chunk 3 at offset 4711" is enough. */
	int (*subject)(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);

	/* Find chunk number; returns 1 after the last. Cheap for ascending numbers. One thread at a
	 * time, not during a sequential fetch; seekable sources only. NULL for raw files. */
	int (*locate)(void *reader, uint64_t number, struct bpk_where *where, struct bpk_err *err);

	/*
	 * The number of chunks from number on that equal the earlier chunk *first: the same stored
	 * bytes under the same digest, or the same special value in the same size. 0: chunk number
	 * is new, or not known to repeat another. A small archive may hold any number of repeats.
	 * *raw_size: their raw bytes. One thread at a time. NULL: the format knows no repeats.
	 */
	uint64_t (*repeats)(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size);

	/*
	 * Account for every byte outside the chunks: padding, spare slots, offsets against chunks,
	 * the tail, the end marker. Called after every chunk was fetched, or on a fresh reader,
	 * which it then walks. NULL: the format has no such bytes.
	 */
	int (*audit)(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

	/*
	 * Test the seal's root against header, metadata and record, and prove that the chunks first
	 * to end - 1 (BPK_UNKNOWN: to the last) were sealed; if first is end, the root alone. From
	 * then on fetch fails with BPK_CORRUPT for a chunk that is not the proven one, or was not
	 * proven. Called once, before the first fetch. Fails with BPK_CORRUPT also without a seal.
	 * NULL: the format has none.
	 */
	int (*prove)(void *reader, uint64_t first, uint64_t end, struct bpk_err *err);

	/*
	 * Compare the intact chunks of a salvage, by their present numbers, with the seal.
	 * *refuted: some are not those that were sealed with these numbers. False where too many
	 * are lost to tell, or the root does not fit. NULL: the format has no seal.
	 */
	int (*refutes)(void *reader, const struct bpk_place *place, const struct bpk_salvage *found,
		       bool *refuted, struct bpk_err *err);

	/*
	 * Test that all data read so far come from one committed state of the archive; later
	 * appends do not matter. Fails with BPK_FAILED, "changed while it was read". failed: a step
	 * ended with BPK_CORRUPT, perhaps because a directory is being removed. Costs a few system
	 * calls if nothing changed. Called while no fetch is running. NULL: no writer changes the
	 * format in place.
	 */
	int (*unchanged)(void *reader, bool failed, struct bpk_err *err);

	/*
	 * Judge the bytes after the end of the archive that were seen, for callers that
	 * do not audit. Fails with BPK_REPAIRABLE if an interrupted append may have left them, else
	 * with BPK_CORRUPT; audit ends with the same test. NULL: the format reports such bytes in
	 * another way, or not at all.
	 */
	int (*tail)(void *reader, struct bpk_err *err);

	/*
	 * Find the end of the committed archives in a seekable source. Bytes after it are those of
	 * a writer at work or of an interrupted append; other bytes there count as part of the
	 * file, and *end is then the file's size. NULL: *end would be the size.
	 */
	int (*end)(void *reader, uint64_t *end, struct bpk_err *err);

	void (*close)(void *reader);
};

/* How to write, in addition to the bpk_info. */
struct bpk_write_options {
	bool no_offsets;
	uint64_t append_space;    /* spare offset entries; BPK_UNKNOWN: the format's default */
	const char *layout;       /* one of the format's layouts; NULL: its first */
	uint64_t superchunk_size; /* raw bytes in a data file of a directory; 0: automatic */
	/* How chunks will be packed, for the description in the archive; NULL: chunks are
	 * copied. */
	const struct bpk_recipe *recipe;

	/* Shapes of chunks and blocks of a multidimensional array, one number for each dimension;
	 * NULL: the format's choice. An array whose chunks are copied has its shapes in the
	 * bpk_info. */
	const uint64_t *chunk_shape, *block_shape;

	/* Raw files: head is written before the data, unless the data begin with mark and so bring
	 * their own. Both are borrowed until close; size 0: no head. */
	struct bpk_view head, mark;
	/* Raw files: put parcels in the order of numbers even where each could be placed, so that a
	 * failed run leaves what lies before the failure and nothing else. */
	bool in_order;
	/* Raw files: the input never waits, so small parcels may be held back and written together;
	 * the last ones by finish or close. */
	bool gathers;
};

/* How an array is divided into multidimensional chunks. */
struct bpk_division {
	bool divided; /* false: the array, or the data, have no such chunks */
	uint64_t chunk_shape[BPK_ARRAY_MAX_DIMENSIONS], block_shape[BPK_ARRAY_MAX_DIMENSIONS];
	/* Raw bytes packed at a time, cut by the plan: all chunks that hold the same rows. */
	uint64_t parcel_size;
	uint64_t chunk_size; /* raw bytes of a chunk, including padding */
	uint32_t block_size; /* of a block, for the recipe */
};

/*
 * Writing. open takes the draft (borrowed until close, and kept or dropped by the caller). info
 * announces the data: raw_size, chunk_size and nchunks may be unknown; metadata, typesize and
 * checksum are obeyed.
 */
struct bpk_writer_ops {
	int (*open)(struct bpk_draft *draft, const struct bpk_info *info,
		    const struct bpk_write_options *options, void **writer, struct bpk_err *err);

	/* True if many threads may call put in any order, each placing its own parcel: raw bytes
	 * into a new file. */
	bool (*places)(const void *writer);

	/* Each rank of a team has a writer of its own, and puts the parcels of its slice. */
	bool is_of_rank;

	/*
	 * Pack parcel->raw into parcel->packed by recipe, for formats whose parcels are more than
	 * one chunk: records to columns. Sets packed_size and reserves room for the seal. Any
	 * thread, with its own ctx. If pack is NULL, or packs returns false for this archive,
	 * packed is one chunk.
	 */
	bool (*packs)(const void *writer);
	int (*pack)(const void *writer, struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		    struct bpk_parcel *parcel, struct bpk_err *err);

	/* Unpack such a parcel again, before it is sealed, into out (raw_size bytes), to compare.
	 * Any thread, with its own ctx. */
	int (*unpack)(const void *writer, struct bpk_chunk_ctx *ctx,
		      const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);

	/* Append the digest to the packed_size bytes of parcel->packed. Any thread. NULL: chunks
	 * have no seal, and the writer takes raw parcels. */
	int (*seal)(const void *writer, struct bpk_parcel *parcel, struct bpk_err *err);

	/* Write one parcel. Calls come in the order of numbers, one at a time, unless it places. */
	int (*put)(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err);

	/*
	 * True if put may have this sealed parcel, the next in order, unseen: it writes the chunk
	 * as it is, by one write that begins with packed.data, or not at all. With all_there packed
	 * has every byte, and the answer of another process's writer is final; else the answer is
	 * about the header, by this writer's state. NULL: never.
	 */
	bool (*takes_unseen)(const void *writer, const struct bpk_parcel *parcel, bool all_there);

	/* For writers that place parcels: other processes placed raw_size bytes. May be NULL. */
	void (*placed_by_others)(void *writer, uint64_t raw_size);

	/*
	 * Set a member of the metadata that info announced to another JSON value, before finish.
	 * *fits is false if the room written for it is too small; nothing has changed then. Fails
	 * with BPK_UNSUPPORTED if the metadata can no longer change, as in a pipe, or have another
	 * form. NULL: raw files.
	 */
	int (*set_member)(void *writer, const char *name, const char *value, bool *fits,
			  struct bpk_err *err);

	/* Called after the last put: writes index, header and end marker. */
	int (*finish)(void *writer, struct bpk_err *err);

	void (*close)(void *writer);
};

/* How to change an archive in place. */
struct bpk_editor_options {
	struct bpk_edit_options edit;
	uint64_t journal_limit; /* most bytes to overwrite in place; above it, a new draft */
	uint64_t append_space;  /* spare entries if the offsets must move; BPK_UNKNOWN: default */
	bool reseals;           /* no change but reseal will come: a broken seal is no damage */
};

/*
 * Changing an archive. The editor is a writer too: appender's seal, pack and put take the editor as
 * their writer. Readers see no change before commit, and then all of it; uncommitted changes are
 * undone at close. After a commit info and reader show the new content, and more changes may
 * follow. One thread, except for seal, pack and the reader.
 */
struct bpk_editor_ops {
	int (*open)(const char *path, const struct bpk_editor_options *options, void **editor,
		    struct bpk_err *err);

	/* The committed state. raw_size, nchunks and last_chunk_size are always known; chunk_size
	 * is the size for chunks to be added. */
	const struct bpk_info *(*info)(const void *editor);

	/* A reader of the committed content, used with the ops in reads; owned by the editor, and
	 * replaced by a commit. Positional, or read from the start. */
	void *(*reader)(void *editor);
	const struct bpk_reader_ops *reads;

	/*
	 * Keep the first nchunks chunks; chunks that are put follow them. nchunks may equal info's
	 * (to append) or be less (to shorten, or to recompress a short last chunk with more data).
	 */
	int (*cut)(void *editor, uint64_t nchunks, struct bpk_err *err);

	/* Announce how many chunks in all will be put after the cut; at most once, before the first
	 * of them. NULL: the format does not need it. */
	void (*announce)(void *editor, uint64_t nchunks);

	/*
	 * put: chunk parcel->number, ascending. After a cut the chunks are appended; without a cut
	 * each replaces the chunk of that number and must have the same raw size. If a chunk does
	 * not fit in place, a new draft is written, which replaces the archive at commit.
	 * places, finish and open are NULL.
	 */
	const struct bpk_writer_ops *appender;

	/* Set the user's metadata to this JSON text at the next commit; size 0 removes them. An
	 * array type that the format keeps in its metadata stays. BPK_UNSUPPORTED: the format
	 * cannot store metadata. */
	int (*set_metadata)(void *editor, struct bpk_view text, struct bpk_err *err);

	/* Let the commit rewrite every digest, or the seal, if another program changed the archive
	 * since bpk wrote them; *needed is false if it did not. The first change after open, with
	 * reseals. Fails with BPK_CORRUPT for a chunk that neither matches its digest nor unpacks,
	 * and for other damage. NULL: the format has nothing of that kind. */
	int (*reseal)(void *editor, bool *needed, struct bpk_err *err);

	int (*commit)(void *editor, struct bpk_err *err);

	/* Remove holes, if they have a twentieth of the chunks' bytes or more: the last call after
	 * many small changes, without a pending one. A failure to remove them leaves them, and is
	 * not reported. NULL: changes leave no holes. */
	int (*compact)(void *editor, struct bpk_err *err);
	void (*close)(void *editor);
};

/* The result of removing the holes from an archive, or of finishing it. */
struct bpk_repacked {
	uint64_t before, after; /* size in bytes; for a directory, of all its files */
	bool changed;           /* false: there was nothing to do, and the archive is untouched */
};

enum { BPK_PROBE_SIZE = 64 };

/* Test whether place holds the format. head has its first BPK_PROBE_SIZE bytes, fewer only if it is
 * shorter, and no bytes for a directory. Fails if files of a directory cannot be examined. */
typedef int bpk_format_probe_fn(const struct bpk_place *place, struct bpk_view head, bool *found,
				struct bpk_err *err);

struct bpk_format {
	const char *name;                    /* as the user types it */
	const char *suffix;                  /* ".blp"; NULL: no suffix */
	const char *array_suffix;            /* of an array's file: ".b2nd"; NULL: the same */
	const char *summary;                 /* for help: "Bloscpack file" */
	bpk_format_probe_fn *probe;          /* NULL: the content has no mark */
	const struct bpk_reader_ops *reader; /* NULL: write-only */
	const struct bpk_writer_ops *writer; /* NULL: read-only */
	const struct bpk_editor_ops *editor; /* NULL: cannot be changed in place */
	bool is_directory;                   /* the writer makes a directory */
	bool tells_size;                     /* also into a pipe, of data of unknown size */
	bool extended_chunks;                /* chunks are Blosc2's; else version 2 alone */
	bool array_in_metadata; /* the writer records an array there; no other place for it */
	/* Chunk sizes may differ, and the writer stores the sizes listed in the bpk_info. */
	bool varied_chunks;
	/* The reason, in words, why the chunks that from describes cannot be copied into this
	 * format; NULL: they can. For bpk_format_obstacle, which looks at their source. */
	const char *(*obstacle)(const struct bpk_info *from);
	const char *const *layouts; /* names, ended by NULL; NULL: only one layout */
	/*
	 * Divide an array into multidimensional chunks: by the shapes in options, or if these are
	 * NULL, into chunks and blocks of about the given sizes (0: the format's choice). The
	 * writer of the array must get both shapes in its options. Fails with BPK_USAGE (shapes
	 * that do not fit), BPK_UNSUPPORTED (Fortran order, too many dimensions) or BPK_LIMIT.
	 * NULL: the format has no such chunks.
	 */
	int (*divide)(const struct bpk_array *array, const struct bpk_write_options *options,
		      uint64_t chunk_size, uint64_t block_size, struct bpk_division *division,
		      struct bpk_err *err);
	/* Remove unreferenced bytes from the archive, all or nothing and under the writer lock.
	 * Chunks are copied unopened, their digests tested. NULL: the format has no holes. */
	int (*repack)(const char *path, const struct bpk_edit_options *options,
		      struct bpk_repacked *result, struct bpk_err *err);
	/* Write the counts and the offsets that an archive from a pipe lacks, in the same way.
	 * NULL: the format's archives always have them. */
	int (*finish)(const char *path, const struct bpk_edit_options *options,
		      struct bpk_repacked *result, struct bpk_err *err);
	/* Find the intact chunks in a place, whose source is seekable, whatever else of the archive
	 * is lost; none is no failure. salvage is zeroed, and the caller's to clear. Fails with
	 * BPK_LIMIT if false headers would take too much work. NULL: the format has no such
	 * search. */
	int (*salvage)(const struct bpk_place *place, struct bpk_salvage *salvage,
		       struct bpk_err *err);
	bool salvage_guesses; /* it obeys salvage->guesses */
	bool salvage_numbers; /* it may set salvage->numbered */
	/* True if name, relative to the root, is a file of such a dataset. Directories only. */
	bool (*owns)(const char *name);
};

/* All formats that a user may name, ended by NULL. Raw files, bpk_format_raw, are not listed. */
extern const struct bpk_format *const bpk_formats[];
extern const struct bpk_format bpk_format_raw;

/* Find a format by its name, or by the suffix of a path; NULL if there is no match. Then the suffix
 * of path itself; NULL if it belongs to no format. */
const struct bpk_format *bpk_format_find(const char *name);
const struct bpk_format *bpk_format_of_suffix(const char *path);
const char *bpk_format_suffix(const char *path);

/* The reason, in words, why the chunks of the archive that from describes cannot be copied as they
 * are into target, a format with a writer; NULL: they can. */
const char *bpk_format_obstacle(const struct bpk_format *target, const struct bpk_info *from);

/* Test place with a format's own probe, for bpk_edit_options.claims. */
int bpk_format_holds(const struct bpk_place *place, bpk_format_probe_fn *probe, bool *holds,
		     struct bpk_err *err);

/* True if name, relative to the root, is a file of a dataset of any format. */
bool bpk_format_owns(const char *name);

/* Find the format by content; *format is NULL if none matches. Fails if place cannot be read. */
int bpk_format_probe(const struct bpk_place *place, const struct bpk_format **format,
		     struct bpk_err *err);

/* Check that the content of place is not of another format than the given one. Fails with
 * BPK_FAILED. */
int bpk_format_check(const struct bpk_place *place, const struct bpk_format *format,
		     struct bpk_err *err);

/*
 * Report that no format knows place. Fails with BPK_CORRUPT where its name promises a format, with
 * BPK_FAILED for another directory, with BPK_UNSUPPORTED for another file. Returns -1.
 */
int bpk_format_fail_unknown(const struct bpk_place *place, struct bpk_err *err);

#endif
