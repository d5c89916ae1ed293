/*
 * Changing frames, inside the room: shared by the editors of contiguous and of sparse frames. Both
 * keep every byte that the committed frame refers to: new chunks are stored elsewhere, and the
 * index with their positions comes last.
 *
 *   change.c         the start of a change, chunks, metadata
 *   nd/editor.c      arrays in multidimensional chunks: rows
 *   editor.c         contiguous: writes after the end, then the header at once
 *   sparse_editor.c  sparse: files with new numbers, then the rename of chunks.b2frame
 */
#ifndef BPK_FORMAT_FRAME_EDITOR_H
#define BPK_FORMAT_FRAME_EDITOR_H

#include "format/frame/reader.h"
#include "format/frame/writer.h"

/* Owned by one thread, except for info and reader, fixed between commits. Valid when zeroed. */
struct bpk_frame_editor {
	const char *path;

	/* c-blosc2's lock, if it is in use here: taken while the frame is examined, and again from
	 * the first change to the commit, so that its readers do not wait for our input. Its
	 * counter shows a change between the two. NULL: not in use. Borrowed. */
	struct bpk_sidecar *sidecar;

	/* the committed state */
	struct bpk_frame_reader *reader;
	struct bpk_info info;

	bool changes; /* a change has begun: output is the new state of the frame */
	bool is_cut;
	uint64_t kept; /* chunks, or bands, that the cut left */
	bool replaces; /* a chunk was replaced */
	bool altered; /* chunks were put or cut off, or metadata set: there is a change to commit */
	uint64_t rows; /* new number of rows of a multidimensional array */
	struct bpk_frame_output output;

	/* set by the editor of each kind */
	bpk_frame_store_fn *store;
	void *arg;
};

/* Load the current state of the frame from dir (sparse) or source, without a pending change, and
 * release sidecar. Fails with BPK_UNSUPPORTED for frames that bpk can only read. */
int bpk_frame_editor_load(struct bpk_frame_editor *e, struct bpk_dir *dir,
			  struct bpk_source *source, struct bpk_err *err);

/* Discard the pending change; and everything else too. */
void bpk_frame_editor_forget(struct bpk_frame_editor *e);
void bpk_frame_editor_clear(struct bpk_frame_editor *e);

/* bpk_editor_ops.cut, .set_metadata and .reseal, and .put of its appender. */
int bpk_frame_editor_cut(struct bpk_frame_editor *e, uint64_t nchunks, struct bpk_err *err);
int bpk_frame_editor_set_metadata(struct bpk_frame_editor *e, struct bpk_view text,
				  struct bpk_err *err);
int bpk_frame_editor_reseal(struct bpk_frame_editor *e, bool *needed, struct bpk_err *err);
int bpk_frame_editor_put(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			 struct bpk_err *err);

/* True if the pending change leaves the committed content as it is. A short last chunk may have
 * been recompressed with more data. */
bool bpk_frame_editor_only_adds(const struct bpk_frame_editor *e);

/* bpk_writer_ops.packs, .pack and .seal of the appender. It has no .unpack: chunks that exist
 * already are not packed. */
bool bpk_frame_editor_packs(const struct bpk_frame_editor *e);
int bpk_frame_editor_pack(const struct bpk_frame_editor *e, struct bpk_chunk_ctx *ctx,
			  const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
			  struct bpk_err *err);
int bpk_frame_editor_seal(const struct bpk_frame_editor *e, struct bpk_parcel *parcel,
			  struct bpk_err *err);

/* bpk_frame_output_end of the pending change. */
int bpk_frame_editor_end(struct bpk_frame_editor *e, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err);

/* ---- Arrays in multidimensional chunks (nd/editor.c): reader->has_nd ---- */

/* Set info to the bands that are the unit of change. */
void bpk_frame_nd_load(struct bpk_frame_editor *e);

/* Test that rows can be changed. Fails with BPK_UNSUPPORTED or BPK_LIMIT if the array does not
 * allow it, BPK_CORRUPT if its sizes and the frame's disagree. */
int bpk_frame_nd_check(const struct bpk_frame_editor *e, struct bpk_err *err);

/* Keep the rows of the first nbands bands; *nchunks is the number of their chunks. */
int bpk_frame_nd_cut_rows(struct bpk_frame_editor *e, uint64_t nbands, uint64_t *nchunks,
			  struct bpk_err *err);

/* Put a band, after the cut or replacing another. Fails with BPK_FAILED if it ends within a row. */
int bpk_frame_nd_put_band(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			  struct bpk_err *err);

/* Write the new number of rows into the metalayer in output's header. */
int bpk_frame_nd_set_shape(struct bpk_frame_editor *e, struct bpk_err *err);

#endif
