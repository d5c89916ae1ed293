/*
 * Stores, inside the room: how the writer of frames places chunks and the ending. store_file.c
 * writes one file, store_directory.c a directory with a file for each chunk.
 */
#ifndef BPK_FORMAT_FRAME_STORE_H
#define BPK_FORMAT_FRAME_STORE_H

#include "format/format.h"

/* Owned by one thread. Valid when zeroed but for draft. */
struct bpk_frame_store {
	struct bpk_draft *draft; /* borrowed */
	struct bpk_spool *spool; /* file: holds the chunks if the draft cannot seek; owned */
	uint64_t header_size;    /* file: chunks follow the header */
	uint64_t payload;        /* bytes of chunks so far */
	uint64_t nfiles;         /* directory: ids given so far */
};

struct bpk_frame_store_ops {
	bool sparse;

	/* Prepare the store for its first chunk. NULL: needs no preparation. */
	int (*open)(struct bpk_frame_store *store, struct bpk_err *err);

	/* Store the next chunk; arg is the store. *entry is the chunk's entry of the index. */
	int (*put)(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err);

	/* Write the header, and the index with the trailer (tail). The last call. */
	int (*finish)(struct bpk_frame_store *store, struct bpk_view head, struct bpk_view tail,
		      struct bpk_err *err);
};

extern const struct bpk_frame_store_ops bpk_frame_store_file, bpk_frame_store_directory;

/* Stage the file name in a sparse frame, with first and second as its concatenated content. */
int bpk_frame_store_stage(struct bpk_tree *tree, const char *name, struct bpk_view first,
			  struct bpk_view second, struct bpk_err *err);

#endif
