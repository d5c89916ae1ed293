/*
 * Changing frames, inside the room: one editor, over a store of contiguous or of sparse frames.
 * Both stores keep every byte that the committed frame refers to: new chunks are stored elsewhere,
 * and the index with their positions comes last.
 *
 *   editor_ops.c        the editor's operations: chunks, metadata, digests
 *   nd/editor.c         arrays in multidimensional chunks: rows
 *   change.c            the start and the end of a change
 *   editor_file.c       contiguous: writes after the end, then the header at once
 *   editor_directory.c  sparse: files with new numbers, then the rename of chunks.b2frame
 */
#ifndef BPK_FORMAT_FRAME_EDITOR_H
#define BPK_FORMAT_FRAME_EDITOR_H

#include "format/frame/reader.h"
#include "format/frame/output.h"

struct bpk_frame_editor;

/* The files of the frame that is changed; files is the editor's. */
struct bpk_frame_editor_store {
	/* Open the frame for changes, and load it. path is borrowed until close. Sets files and
	 * sidecar in e, also on failure. */
	int (*open)(struct bpk_frame_editor *e, const char *path,
		    const struct bpk_edit_options *options, struct bpk_err *err);

	/* Store a chunk in a new place; arg is files. */
	bpk_frame_store_fn *put;

	/* Commit the pending change, if there is one, and load the frame again. */
	int (*commit)(struct bpk_frame_editor *e, struct bpk_err *err);
	void (*close)(void *files);
};

extern const struct bpk_frame_editor_store bpk_frame_editor_file, bpk_frame_editor_directory;

/* Owned by one thread, except for info and reader, fixed between commits. Valid when zeroed. */
struct bpk_frame_editor {
	const struct bpk_frame_editor_store *store;
	void *files;

	/* c-blosc2's lock, if it is in use here: taken while the frame is examined, and again from
	 * the first change to the commit, so that its readers do not wait for our input. Its
	 * counter shows a change between the two. NULL: not in use. Borrowed. */
	struct bpk_sidecar *sidecar;

	/* the committed state */
	struct bpk_frame_reader *reader;
	struct bpk_info info;

	bool compacts; /* the next commit removes even small holes */

	bool changes; /* a change has begun: output is the new state of the frame */
	bool is_cut;
	uint64_t kept; /* chunks, or bands, that the cut left */
	bool replaces; /* a chunk was replaced */
	bool reseals;  /* digests, and the seal, of another program's changes are renewed */
	bool altered; /* chunks were put or cut off, or metadata set: there is a change to commit */
	uint64_t rows; /* new number of rows of a multidimensional array */
	struct bpk_frame_output output;
};

/* Load the current state of the frame from dir (sparse) or source, without a pending change, and
 * release sidecar. Fails with BPK_UNSUPPORTED for frames that bpk can only read. */
int bpk_frame_editor_load(struct bpk_frame_editor *e, struct bpk_dir *dir,
			  struct bpk_source *source, struct bpk_err *err);

/* Discard the pending change. */
void bpk_frame_editor_forget(struct bpk_frame_editor *e);

/* Begin a change, unless one has begun: take the lock, and copy the committed content to output. */
int bpk_frame_editor_begin(struct bpk_frame_editor *e, struct bpk_err *err);

/* bpk_frame_output_end of the pending change. */
int bpk_frame_editor_end(struct bpk_frame_editor *e, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err);

/* ---- Arrays in multidimensional chunks (nd/editor.c): reader->array.is_nd ---- */

/* Set info to the bands that are the unit of change. */
void bpk_frame_nd_load(struct bpk_frame_editor *e);

/* Test that rows can be changed. Fails with BPK_UNSUPPORTED or BPK_LIMIT if the array does not
 * allow it, BPK_CORRUPT if its sizes and the frame's disagree. */
int bpk_frame_nd_check(const struct bpk_frame_editor *e, struct bpk_err *err);

/* Keep the rows of the first nbands bands; *nchunks is the number of their chunks. */
int bpk_frame_nd_cut_rows(struct bpk_frame_editor *e, uint64_t nbands, uint64_t *nchunks,
			  struct bpk_err *err);

/* bpk_writer_ops.pack of the appender. */
int bpk_frame_nd_pack_band(const void *editor, struct bpk_chunk_ctx *ctx,
			   const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
			   struct bpk_err *err);

/* Put a band, after the cut or replacing another. Fails with BPK_FAILED if it ends within a row. */
int bpk_frame_nd_put_band(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			  struct bpk_err *err);

/* Write the new number of rows into the metalayer in output's header. */
int bpk_frame_nd_set_shape(struct bpk_frame_editor *e, struct bpk_err *err);

#endif
