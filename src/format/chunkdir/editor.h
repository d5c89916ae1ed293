/*
 * Chunked directories, inside the editor: its state, the files that take the place of others
 * (replace.c), and what a commit stages (stage.c).
 */
#ifndef BPK_FORMAT_CHUNKDIR_EDITOR_H
#define BPK_FORMAT_CHUNKDIR_EDITOR_H

#include "format/chunkdir/output.h"

/* A data file as it was committed, whose place another one takes. */
struct bpk_chunkdir_old {
	struct bpk_place place; /* source is NULL: none is open */
	void *reader;
	struct bpk_parcel parcel;
};

struct bpk_chunkdir_editor {
	const char *path;
	struct bpk_tree *tree;

	/* as last committed */
	struct bpk_place place;
	void *reader;
	struct bpk_info info;
	struct bpk_chunkdir set; /* at a commit its rows run ahead of the directory */

	/* what will be committed */
	struct bpk_chunkdir_output output;
	struct bpk_chunkdir_old *old; /* one for each column: of the file that output is writing */
	bool is_cut;
	uint64_t expected; /* chunks there will be in all behind a cut; may be unknown */
	uint64_t kept;     /* chunks before the cut, and how many there are as committed */
	uint64_t old_nchunks;
	uint64_t next;     /* number of the next chunk to be put */
	uint64_t added;    /* raw bytes put behind the cut */
	uint64_t last_raw; /* of the chunk before the next */
	bool changed;      /* anything was cut or put */
	bool new_attributes;
	struct bpk_buf attributes;
};

/* Raw bytes of a chunk that is full. */
static inline uint64_t bpk_chunkdir_full(const struct bpk_chunkdir_editor *e)
{
	return e->set.chunk_rows * e->set.row_size;
}

/* Raw bytes in all, when what was cut and put is committed. */
uint64_t bpk_chunkdir_new_raw_size(const struct bpk_chunkdir_editor *e);

/* Have a place for the files of each column; before the first change. */
int bpk_chunkdir_need_output(struct bpk_chunkdir_editor *e, struct bpk_err *err);

/* ---- Files that are there ---- */

/* Open file number of a column as committed; for old_close, also after a failure. */
int bpk_chunkdir_old_open(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			  struct bpk_chunkdir_old *old, struct bpk_err *err);
void bpk_chunkdir_old_close(struct bpk_chunkdir_old *old);

/* Take what it added to digest and size off the column's. */
int bpk_chunkdir_old_take_off(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			      struct bpk_chunkdir_old *old, struct bpk_err *err);

/* ---- Files that take the place of others ---- */

/*
 * Have all chunks of its file before chunk number in the file of the column that is being written,
 * which is begun, and the one before it completed, as needed. nchunks: how many there will be in
 * all; BPK_UNKNOWN when that is not known.
 */
int bpk_chunkdir_reach(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
		       uint64_t nchunks, struct bpk_err *err);

/* Without a cut: the chunks behind the one that was put last are as they were. */
int bpk_chunkdir_complete(struct bpk_chunkdir_editor *e, size_t column, struct bpk_err *err);

/* ---- Staging ---- */

/* Data files and sizes. */
int bpk_chunkdir_stage_data(struct bpk_chunkdir_editor *e, struct bpk_err *err);

/* The attributes, and sizes where it covers them; behind stage_data when both change. */
int bpk_chunkdir_stage_attributes(struct bpk_chunkdir_editor *e, struct bpk_err *err);

#endif
