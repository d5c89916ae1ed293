/*
 * Changing frames, inside the room: what the editors of contiguous and of sparse frames share. Both
 * keep every byte that the committed frame leads to: chunks are stored anew, and what says where
 * they are comes last.
 *
 *   change.c         the state that a change begins with, chunks, metadata
 *   nd_editor.c      arrays in chunks of several dimensions: rows
 *   editor.c         contiguous: behind the end, and the header in one write
 *   sparse_editor.c  files with new numbers, and chunks.b2frame by its rename
 */
#ifndef BPK_FORMAT_FRAME_EDITOR_H
#define BPK_FORMAT_FRAME_EDITOR_H

#include "format/frame/reader.h"
#include "format/frame/writer.h"

/* One thread's own, but for info and reader, which are fixed between commits. Valid when zeroed. */
struct bpk_frame_editor {
	const char *path;

	/* c-blosc2's lock, where that is used here: taken while the frame is looked at, and from
	 * the first change to the commit, so that its readers need not wait for input. Should it
	 * have changed the frame between the two, its counter tells. NULL: none. Borrowed */
	struct bpk_sidecar *sidecar;

	/* as last committed */
	struct bpk_frame_reader *reader;
	struct bpk_info info;

	bool changes; /* since then: output is the frame as it will be */
	bool is_cut;
	uint64_t kept; /* chunks, or bands, that the cut left */
	bool replaces; /* a chunk was put in the place of another */
	bool altered;  /* something was put, cut off or set, so there is something to commit */
	uint64_t rows; /* of an array in chunks of several dimensions, as they will be */
	struct bpk_frame_output output;

	/* set by the kind */
	bpk_frame_store_fn *store;
	void *arg;
};

/* Look at the frame as it is now, out of dir (sparse) or source, nothing being changed, and give
 * sidecar back. Fails with BPK_UNSUPPORTED for what bpk only reads. */
int bpk_frame_editor_load(struct bpk_frame_editor *e, struct bpk_dir *dir,
			  struct bpk_source *source, struct bpk_err *err);

/* Forget what was changed; and all else too. */
void bpk_frame_editor_forget(struct bpk_frame_editor *e);
void bpk_frame_editor_clear(struct bpk_frame_editor *e);

/* bpk_editor_ops.cut, .set_metadata and .reseal, and .put of its appender. */
int bpk_frame_editor_cut(struct bpk_frame_editor *e, uint64_t nchunks, struct bpk_err *err);
int bpk_frame_editor_set_metadata(struct bpk_frame_editor *e, struct bpk_view text,
				  struct bpk_err *err);
int bpk_frame_editor_reseal(struct bpk_frame_editor *e, bool *needed, struct bpk_err *err);
int bpk_frame_editor_put(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			 struct bpk_err *err);

/* Does the change leave the content that is committed as it is? A last chunk that was short may
 * have been packed with more. */
bool bpk_frame_editor_only_adds(const struct bpk_frame_editor *e);

/* bpk_writer_ops.packs, .pack and .seal of the appender. There is no .unpack: chunks that are there
 * already are not packed. */
bool bpk_frame_editor_packs(const struct bpk_frame_editor *e);
int bpk_frame_editor_pack(const struct bpk_frame_editor *e, struct bpk_chunk_ctx *ctx,
			  const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
			  struct bpk_err *err);
int bpk_frame_editor_seal(const struct bpk_frame_editor *e, struct bpk_parcel *parcel,
			  struct bpk_err *err);

/* bpk_frame_output_end of what was changed. */
int bpk_frame_editor_end(struct bpk_frame_editor *e, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err);

/* ---- Arrays in chunks of several dimensions (nd_editor.c): reader->has_nd ---- */

/* Tell in info of the bands that are changed. */
void bpk_frame_nd_load(struct bpk_frame_editor *e);

/* Can rows be changed? BPK_UNSUPPORTED, BPK_LIMIT: not of this array; BPK_CORRUPT: its sizes and
 * the frame's do not agree. */
int bpk_frame_nd_check(const struct bpk_frame_editor *e, struct bpk_err *err);

/* Keep the rows of the first nbands bands, which are *nchunks chunks. */
int bpk_frame_nd_cut_rows(struct bpk_frame_editor *e, uint64_t nbands, uint64_t *nchunks,
			  struct bpk_err *err);

/* Put a band, behind the cut or in the place of another. BPK_FAILED: it ends within a row. */
int bpk_frame_nd_put_band(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			  struct bpk_err *err);

/* Let the metalayer in output's header tell of the rows that there are then. */
int bpk_frame_nd_set_shape(struct bpk_frame_editor *e, struct bpk_err *err);

#endif
