/*
 * Writing a new file, inside the room: writer.c has the sections and the chunks, entries.c the
 * offset entries.
 */
#ifndef BPK_FORMAT_BLOSCPACK_WRITER_H
#define BPK_FORMAT_BLOSCPACK_WRITER_H

#include "format/bloscpack/bloscpack.h"

/* Owned by one thread, except for header and draft, which are fixed after open. */
struct bpk_bloscpack_writer {
	struct bpk_draft *draft;
	bool seekable;
	bool sized;            /* nchunks was known at open and is in the header */
	bool reserved;         /* the entries were estimated at open */
	uint64_t append_space; /* asked for; BPK_UNKNOWN: the default */
	uint64_t announced;    /* raw size; may be unknown */
	struct bpk_bloscpack_header header;
	uint64_t offsets_offset;
	uint64_t slots; /* entries in the file */
	uint64_t data_offset;
	uint64_t position; /* offset of the next chunk */
	uint64_t nchunks;  /* put so far */
	uint64_t raw_size; /* put so far */
	uint64_t last_raw;
	struct bpk_bloscpack_batch batch;
	/* for a seal; generation 0: none */
	uint64_t generation;
	size_t seal_room;
	struct bpk_seal_tree tree;                    /* of the chunks put so far */
	struct bpk_buf text;                          /* the metadata without the record */
	bool text_changed;                            /* since their section was written */
	uint8_t section[BPK_BLOSCPACK_METADATA_SIZE]; /* the header of their section */
};

/* Decide the number of entries. expected: NULL, or the least number of chunks if the archive is not
 * sized. Fails with BPK_USAGE or BPK_LIMIT: more entries than a file can have. */
int bpk_bloscpack_entries_plan(struct bpk_bloscpack_writer *w,
			       const struct bpk_write_options *options,
			       const struct bpk_bloscpack_expected *expected, struct bpk_err *err);

/* Record the entry of a chunk just put. Without a known count only the first entries are kept,
 * since their values may still change; the others are found later by walking. */
int bpk_bloscpack_entries_note(struct bpk_bloscpack_writer *w, uint64_t offset,
			       struct bpk_err *err);

/* After the last chunk: write all entries, if the file has them. Without a count that was known at
 * open their number is decided only now, never fewer than reserved, and the chunks may move. */
int bpk_bloscpack_entries_finish(struct bpk_bloscpack_writer *w, struct bpk_err *err);

#endif
