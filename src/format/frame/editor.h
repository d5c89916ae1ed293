/*
 * Changing frames, inside the room: what the editors of contiguous and of sparse frames share. Both
 * keep every byte that the committed frame leads to: chunks are stored anew, and what says where
 * they are comes last.
 *
 *   change.c         the state that a change begins with, chunks, metadata
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
	bool altered; /* something was put, cut off or set, so there is something to commit */
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

/* bpk_editor_ops.cut and .set_metadata, and .put of its appender. */
int bpk_frame_editor_cut(struct bpk_frame_editor *e, uint64_t nchunks, struct bpk_err *err);
int bpk_frame_editor_set_metadata(struct bpk_frame_editor *e, struct bpk_view text,
				  struct bpk_err *err);
int bpk_frame_editor_put(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			 struct bpk_err *err);

/* bpk_writer_ops.seal */
int bpk_frame_editor_seal(const struct bpk_frame_editor *e, struct bpk_parcel *parcel,
			  struct bpk_err *err);

#endif
