/*
 * The room format: containers over chunks, each a row of one table with a reader and a writer. It
 * knows byte layouts, digests and chunk headers; it knows no threads, no options, no terminal and
 * no other format.
 */
#ifndef BPK_FORMAT_FORMAT_H
#define BPK_FORMAT_FORMAT_H

#include "base/base.h"
#include "checksum/checksum.h"
#include "chunk/chunk.h"
#include "format/array_metadata.h"
#include "io/io.h"

/*
 * A named piece of metadata beside the data, as Blosc2's frames have them.
 */
struct bpk_layer {
	const char *name;        /* 1 to 31 bytes */
	bool fixed;              /* it lies in the header and keeps its size; else in the trailer */
	struct bpk_view content; /* unpacked; msgpack by convention, but any bytes */
};

struct bpk_frame_header; /* format/frame/frame.h */

/*
 * What an archive is: the one noun that formats share. Readers fill it at open, writers obey it,
 * `info` prints it. Sizes in bytes; BPK_UNKNOWN where the archive does not say.
 */
struct bpk_info {
	const char *format;   /* the format's name: "blp" */
	const char *variant;  /* "version 3"; NULL when there is but one */
	uint64_t stored_size; /* of the whole place; unknown for a pipe */
	uint64_t raw_size;    /* in all */
	uint64_t nchunks;
	uint64_t chunk_size; /* raw bytes of every chunk but the last; unknown: they differ */
	uint64_t last_chunk_size;

	/* Where chunk_size is unknown: the sizes of the first chunks, as the archive lists them,
	 * but never that of the last; those of the others stand in the chunks. A writer that has
	 * a place for it lists as many of them as there will be chunks but one. NULL: nothing is
	 * known. */
	const struct bpk_sizes *runs;

	uint64_t append_space; /* spare offset entries */
	bool has_offsets;      /* an offsets section is there */
	uint32_t typesize; /* as the container says it; 0: it does not. Over 255 in frames alone */
	const struct bpk_checksum *checksum; /* of every chunk; never NULL */

	/* what no checksum covers and no cross-check finds changed, in words; NULL: nothing */
	const char *unprotected;

	bool has_metadata;
	struct bpk_view metadata;      /* the user's JSON text; borrowed from who filled this */
	uint64_t metadata_stored_size; /* as it lies in the archive */
	uint64_t metadata_room;        /* bytes it may grow to there */
	const char *metadata_codec;    /* "none", "zlib" */
	const struct bpk_checksum *metadata_checksum;

	bool has_first_chunk;                /* the next field holds something */
	struct bpk_chunk_header first_chunk; /* codec, filter, block size: the archive's flavour */

	/* What the elements are, where the archive says so; owned by who filled this. NULL: bytes.
	 * A record type in a directory is kept as columns; its raw bytes are packed records. */
	const struct bpk_array *array;
	/* Arrays that are kept in chunks of several dimensions (b2nd): their shapes, of the array's
	 * number of dimensions; NULL elsewhere. */
	const uint64_t *chunk_shape, *block_shape;

	/* Metadata by name, those that bpk itself needs left out; metadata above is the same as one
	 * JSON object. A writer that has layers takes these and not the JSON. */
	const struct bpk_layer *layers;
	size_t nlayers;

	/* What the header of a Blosc2 frame says beside all this: it goes over to a frame whose
	 * chunks are carried over. NULL elsewhere. */
	const struct bpk_frame_header *frame;

	uint64_t hole_size; /* bytes in the middle that nothing refers to; `repair --repack` */
	uint64_t nfiles;    /* data files of a directory; 0 elsewhere */
	uint64_t
		superchunk_chunks; /* chunks in each of them but the last; 0 where there are none */
	uint64_t ncolumns;         /* 0: no columns */
	uint64_t row_size;         /* an editor's: what is added or cut off is whole rows, of so
				      many bytes; 0: any bytes */
	bool pending;              /* a writer died; what is read is what it had committed before */

	/* Archives that follow each other in one file or pipe, read as one. BPK_UNKNOWN: this
	 * is what the first says, and what follows it is found while chunks are fetched or located.
	 * 0: the format knows no such thing. */
	uint64_t members;
	bool uneven; /* their element sizes or checksums differ: this says those of the first */
};

/*
 * A chunk on its way through the house. The flow's window owns it and reuses it; at any time one
 * thread holds it.
 */
struct bpk_parcel {
	uint64_t number;        /* of the chunk in its stream, from 0 */
	uint64_t raw_offset;    /* of its first raw byte in the whole; unknown while being read
				   in sequence from an archive that does not say */
	uint64_t packed_offset; /* where the chunk lies in the archive, for reports */
	struct bpk_buf raw;     /* unpacked bytes; size in use */
	struct bpk_buf packed;  /* the chunk, then what the format wraps around it (its digest) */
	size_t packed_size;     /* bytes of packed that are the chunk itself */
	size_t raw_size;        /* what the chunk unpacks to, or what the plan cuts for it */
	size_t data_size;  /* how much of that, from its start, belongs to the data. A fetch sets
				   it where that is less than raw_size: where a writer has put more
				   into the last chunk than was committed when the archive was
				   opened */
	size_t want_start; /* the raw bytes of it that are asked for: all, but at the ends */
	size_t want_size;  /* of a byte range */
	void *member;      /* the reader's own, from one fetch to the next; NULL before the first */
};

/* Put the digest of the packed_size bytes behind them: what a seal is where packed is one chunk.
 * Any thread. */
int bpk_parcel_seal(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
		    struct bpk_err *err);

/* Where a chunk lies, for listings and byte ranges. */
struct bpk_where {
	uint64_t packed_offset;
	uint64_t raw_offset;
	struct bpk_chunk_header header;
	uint8_t digest[BPK_DIGEST_MAX]; /* as stored; checksum->size bytes */
};

/* How to read: plain wishes of the user. All false or 0 is the default. */
struct bpk_read_options {
	bool no_check;  /* do not test digests; then single blocks of a chunk may be fetched */
	bool no_marker; /* accept a stream of unknown length without our end marker */
	bool followed;  /* other archives may follow: what lies behind the end is the caller's */
	uint64_t chunk_limit; /* refuse chunks that unpack to more; 0: no limit but the format's */

	/* Arrays kept in chunks of several dimensions come in C order, put together from several
	 * chunks (unpacks says true), unless this asks for the chunks as they lie, padding and all:
	 * to verify them, or to carry them over. */
	bool as_stored;

	/* Of an array in several dimensions, this part alone, in C order: the raw bytes of the
	 * archive are then these. Fails at open with BPK_USAGE where the archive is no such array,
	 * or the part leaves it. NULL: all. */
	const struct bpk_slice *slice;
};

/*
 * A remark of audit: something worth telling that is no damage, such as bytes after the last chunk.
 */
typedef void bpk_remark_fn(void *arg, const char *line);

/*
 * Reading. open takes place (borrowed until close) and makes the reader; every other call gets it.
 * Errors are finished lines without the path: "chunk 3 at offset 4711: crc32 is ..., expected ...".
 */
struct bpk_reader_ops {
	int (*open)(struct bpk_place *place, const struct bpk_read_options *options, void **reader,
		    struct bpk_err *err);

	/* Filled at open; lives as long as the reader. After the last chunk of a sequential read
	 * the counts that were unknown are filled in. */
	const struct bpk_info *(*info)(const void *reader);

	/* True when fetch may be called by many threads, in any order: a seekable source whose
	 * chunks can be found without walking. Otherwise fetch is called by one thread at a time
	 * with ascending numbers; numbers left out are passed over without being checked, and a
	 * seekable source is walked anew for a number that came before. */
	bool (*positional)(const void *reader);

	/*
	 * Bring chunk parcel->number into parcel->packed (archives; sets packed_size, raw_size,
	 * packed_offset and, where it is known, raw_offset; the seal's bytes are left behind the
	 * chunk, untested) or into parcel->raw (raw files: the bytes at raw_offset, raw_size of
	 * them as the plan cut it, less at the end). Returns 1 instead of 0 behind the last chunk.
	 * With no_check and a want smaller than the chunk, only the packed bytes that the want
	 * needs are brought, at their places.
	 */
	int (*fetch)(void *reader, struct bpk_parcel *parcel, struct bpk_err *err);

	/* Test the seal around a fetched chunk. Any thread. NULL: there is none. */
	int (*check)(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);

	/*
	 * Unpack a fetched parcel's wanted bytes into out (want_size of them), for formats whose
	 * parcels are not one chunk: columns to records. Any thread, with its own ctx. NULL, or
	 * not for this archive (unpacks says false): packed is one chunk.
	 */
	bool (*unpacks)(const void *reader);
	int (*unpack)(const void *reader, struct bpk_chunk_ctx *ctx,
		      const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);

	/* Put in front of a report where a fetched parcel lies, whose packed_offset is known.
	 * Returns -1. NULL: "chunk 3 at offset 4711" is enough. */
	int (*subject)(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);

	/* Where chunk number lies; 1 behind the last. Cheap for ascending numbers. One thread at a
	 * time, not beside a sequential fetch; seekable sources only. NULL for raw files. */
	int (*locate)(void *reader, uint64_t number, struct bpk_where *where, struct bpk_err *err);

	/*
	 * How many chunks from number on are the same as chunk *first before them: the same stored
	 * bytes under the same digest, or the same special value in the same size. 0: number is
	 * new, or is one that nobody knows to be the same. A small archive may hold any number of
	 * them. *raw_size: their raw bytes. One thread at a time. NULL: no chunk is known to be
	 * another.
	 */
	uint64_t (*repeats)(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size);

	/*
	 * After every chunk was fetched, or on a fresh reader (then it walks): account for every
	 * byte that is no chunk: padding, spare slots, offsets against chunks, the tail, the end
	 * marker. NULL: nothing to account for.
	 */
	int (*audit)(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

	/*
	 * Was everything that the reader brought of one committed state of the archive? What was
	 * added behind it since is no matter. Fails with BPK_FAILED, "changed while it was read".
	 * failed: a step failed with BPK_CORRUPT; it may be of a directory that is being removed.
	 * Costs a few system calls where nothing changed. No fetch is under way. NULL: nobody
	 * changes it in place.
	 */
	int (*settle)(void *reader, bool failed, struct bpk_err *err);

	/*
	 * What lies behind the end of the archive, as far as that was looked at, for who does not
	 * audit. Fails with BPK_REPAIRABLE where it may be of an append that was interrupted, with
	 * BPK_CORRUPT where it is anything else; audit does the same at its end. NULL: formats that
	 * tell of it in another way, or not at all.
	 */
	int (*tail)(void *reader, struct bpk_err *err);

	void (*close)(void *reader);
};

/* How to write, beside the bpk_info. */
struct bpk_write_options {
	bool no_offsets;
	uint64_t append_space;    /* spare offset entries; BPK_UNKNOWN: the format's default */
	const char *layout;       /* one of the format's layouts; NULL: its first */
	uint64_t superchunk_size; /* raw bytes in a data file of a directory; 0: automatic */
	const struct bpk_recipe *recipe; /* how chunks will be packed, for what only tells of it;
					     NULL: they are carried over */

	/* Shapes of chunks and blocks for an array in several dimensions, of its number of them;
	 * NULL: the format's choice. An array whose chunks are carried over has its own in the
	 * bpk_info. */
	const uint64_t *chunk_shape, *block_shape;

	/* Raw files: bytes to stand in front of the data, unless these begin with mark, which is as
	 * if they had brought them. Both are borrowed until close; size 0: none. */
	struct bpk_view head, mark;
};

/* How an array is divided into chunks of several dimensions. */
struct bpk_division {
	uint64_t chunk_shape[BPK_ARRAY_MAX_DIMENSIONS], block_shape[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t parcel_size; /* raw bytes that are packed at a time, what the plan cuts: all chunks
				 that hold the same rows */
	uint64_t chunk_size;  /* raw bytes of a chunk, its padding among them */
	uint32_t block_size;  /* of a block: what the recipe is to have */
};

/*
 * Writing. open takes the draft (borrowed until close, and kept or dropped by the caller). info
 * says what will come: raw_size, chunk_size and nchunks may be unknown; metadata, typesize and
 * checksum are obeyed.
 */
struct bpk_writer_ops {
	int (*open)(struct bpk_draft *draft, const struct bpk_info *info,
		    const struct bpk_write_options *options, void **writer, struct bpk_err *err);

	/* True when put may be called by many threads in any order, each placing its own parcel:
	 * raw bytes into a seekable draft. */
	bool (*places)(const void *writer);

	/*
	 * Pack parcel->raw into parcel->packed by recipe, for formats whose parcels are not one
	 * chunk: records to columns. Sets packed_size, leaves room for the seal. Any thread, with
	 * its own ctx. NULL, or not for this archive (packs says false): packed is one chunk.
	 */
	bool (*packs)(const void *writer);
	int (*pack)(const void *writer, struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		    struct bpk_parcel *parcel, struct bpk_err *err);

	/* Unpack such a parcel again, not yet sealed, into out (raw_size bytes), to compare. Any
	 * thread, with its own ctx. */
	int (*unpack)(const void *writer, struct bpk_chunk_ctx *ctx,
		      const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);

	/* Wrap the seal around parcel->packed: adds the digest behind packed_size bytes. Any
	 * thread. NULL: there is none, and the writer takes raw parcels. */
	int (*seal)(const void *writer, struct bpk_parcel *parcel, struct bpk_err *err);

	/* Write one parcel, in the order of their numbers, one at a time (unless it places). */
	int (*put)(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err);

	/* All is put: index, header, end marker. raw_size is the total. */
	int (*finish)(void *writer, struct bpk_err *err);

	void (*close)(void *writer);
};

/* How to change an archive in place. */
struct bpk_editor_options {
	struct bpk_edit_options edit;
	uint64_t journal_limit; /* bytes to be written over in place at most; else a new draft */
	uint64_t append_space;  /* spare entries when the offsets must move; BPK_UNKNOWN: default */
};

/*
 * Changing an archive. The editor is a writer too: its seal, pack and put are appender's, with the
 * editor as their writer. Nothing is changed for readers before commit, and then all of it; what is
 * not committed at close is undone. After a commit info and reader tell of the new content, and
 * more may follow. One thread, but for seal, pack and the reader.
 */
struct bpk_editor_ops {
	int (*open)(const char *path, const struct bpk_editor_options *options, void **editor,
		    struct bpk_err *err);

	/* As last committed. raw_size, nchunks and last_chunk_size are known, whatever the archive
	 * says; chunk_size is what a chunk added to it should hold. */
	const struct bpk_info *(*info)(const void *editor);

	/* A reader of the content as last committed, for the ops that reads names; owned by the
	 * editor, and another one after a commit. Positional, or read from the start. */
	void *(*reader)(void *editor);
	const struct bpk_reader_ops *reads;

	/*
	 * Keep the first nchunks chunks and let what is put follow them; nchunks may be info's (to
	 * add) or less (to shorten, or to pack a short last chunk anew with more in it).
	 */
	int (*cut)(void *editor, uint64_t nchunks, struct bpk_err *err);

	/* Behind the cut so many chunks will be put, all in all; may be called once, before the
	 * first of them. NULL: it makes no difference. */
	void (*announce)(void *editor, uint64_t nchunks);

	/*
	 * put: chunk parcel->number, ascending. Behind the cut they are added; without a cut each
	 * takes the place of the chunk of that number, and must unpack to as many bytes. What does
	 * not fit in place goes to a new draft, which takes the archive's place at commit.
	 * places, finish and open are NULL.
	 */
	const struct bpk_writer_ops *appender;

	/* The user's metadata are this JSON text from the next commit on; size 0: none. Formats
	 * with an array's type in their metadata keep that. BPK_UNSUPPORTED: the format has no
	 * place. */
	int (*set_metadata)(void *editor, struct bpk_view text, struct bpk_err *err);

	/* Let the commit write every digest anew, where another program changed the archive since
	 * bpk wrote them; *needed is false where it did not. Fails with BPK_CORRUPT for what has
	 * neither its digest nor unpacks. NULL: such changes are not told from damage. */
	int (*reseal)(void *editor, bool *needed, struct bpk_err *err);

	int (*commit)(void *editor, struct bpk_err *err);
	void (*close)(void *editor);
};

/* What leaving the holes out of an archive came to. */
struct bpk_repacked {
	uint64_t before, after; /* bytes that it takes; of a directory, of all its files */
	bool changed;           /* else there was nothing to leave out, and it is as it was */
};

enum { BPK_PROBE_SIZE = 64 };

/* Does place hold a format? head is what its first BPK_PROBE_SIZE bytes are, less only when it is
 * shorter, nothing for a directory. Fails when that cannot be told, because files of a directory
 * cannot be looked at. */
typedef int bpk_format_probe_fn(const struct bpk_place *place, struct bpk_view head, bool *found,
				struct bpk_err *err);

struct bpk_format {
	const char *name;                    /* as the user types it */
	const char *suffix;                  /* ".blp"; NULL for none */
	const char *array_suffix;            /* ".b2nd": of what holds an array; NULL: the same */
	const char *summary;                 /* for help: "Bloscpack file" */
	bpk_format_probe_fn *probe;          /* NULL: nothing marks it */
	const struct bpk_reader_ops *reader; /* NULL: write-only */
	const struct bpk_writer_ops *writer; /* NULL: read-only */
	const struct bpk_editor_ops *editor; /* NULL: cannot be changed in place */
	bool is_directory;                   /* what is written is a directory */
	bool tells_size;                     /* also into a pipe, of data of unknown size */
	bool extended_chunks;                /* its chunks are Blosc2's; else version 2 alone */
	bool varied_chunks;                  /* one archive's may have different sizes, and the
						writer keeps what the bpk_info says of them */
	const char *const *layouts;          /* names, ended by NULL; NULL: there is but one */
	/*
	 * Arrays are kept as such, in chunks of several dimensions: divide one by the shapes in
	 * options, or where these are NULL for chunks and blocks of about so many bytes (0: the
	 * format's choice). A writer that is to hold the array gets both shapes in its options.
	 * Fails with BPK_USAGE (shapes that do not fit), BPK_UNSUPPORTED (Fortran's order, too many
	 * dimensions) or BPK_LIMIT. NULL: the format has no such chunks.
	 */
	int (*divide)(const struct bpk_array *array, const struct bpk_write_options *options,
		      uint64_t chunk_size, uint64_t block_size, struct bpk_division *division,
		      struct bpk_err *err);
	/* Have the archive without what nothing in it refers to, all or nothing and under the
	 * writer lock; chunks go over unopened, their digests tested. NULL: it has no holes. */
	int (*repack)(const char *path, const struct bpk_edit_options *options,
		      struct bpk_repacked *result, struct bpk_err *err);
	/* Is a file of that name, from the root, a part of such a dataset? Directories only. */
	bool (*owns)(const char *name);
};

/* All formats, ended by NULL: what a user may name. Raw files, bpk_format_raw, are not there. */
extern const struct bpk_format *const bpk_formats[];
extern const struct bpk_format bpk_format_raw;

/* By the name a user types, and by what a path ends in; NULL when there is none. And the suffix
 * that it ends in; NULL: that of no format. */
const struct bpk_format *bpk_format_find(const char *name);
const struct bpk_format *bpk_format_of_suffix(const char *path);
const char *bpk_format_suffix(const char *path);

/* Is place what probe, one of a format's own, looks for? For bpk_edit_options.claims. */
int bpk_format_holds(const struct bpk_place *place, bpk_format_probe_fn *probe, bool *holds,
		     struct bpk_err *err);

/* Is a file of that name, from the root, a part of a dataset of some format? */
bool bpk_format_owns(const char *name);

/* By content; *format is NULL when no format knows it. Fails when place cannot be read. */
int bpk_format_probe(const struct bpk_place *place, const struct bpk_format **format,
		     struct bpk_err *err);

/*
 * Report that no format knows place. Fails with BPK_CORRUPT where its name promises a format, with
 * BPK_FAILED for another directory, with BPK_UNSUPPORTED for another file. Returns -1.
 */
int bpk_format_fail_unknown(const struct bpk_place *place, struct bpk_err *err);

#endif
