/*
 * Chunked directories, inside the editor: its state, the replacement of files (replace.c), the
 * staging of a commit (stage.c), and a new seal (reseal.c).
 */
#ifndef BPK_FORMAT_CHUNKDIR_EDITOR_H
#define BPK_FORMAT_CHUNKDIR_EDITOR_H

#include "format/chunkdir/output.h"
#include "format/chunkdir/seal.h"

/* A committed data file that is being replaced. */
struct bpk_chunkdir_old {
	struct bpk_place place; /* source is NULL: no file is open */
	void *reader;
	struct bpk_parcel parcel;
};

struct bpk_chunkdir_editor {
	const char *path;
	struct bpk_tree *tree;
	struct bpk_tree *table; /* of bcolz, of which it is a column, locked; NULL: it is none */
	bool grows_with_table;  /* it has as many rows as the other columns */

	/* the committed state */
	struct bpk_place place;
	void *reader;
	struct bpk_info info;
	struct bpk_chunkdir set; /* during a commit it already has the new number of rows */

	/* the pending change */
	struct bpk_chunkdir_output output;
	struct bpk_chunkdir_old *old; /* one for each column: the file that output replaces */
	struct {
		bool made;
		uint64_t expected; /* total number of chunks after it; may be unknown */
		uint64_t kept;     /* chunks before it */
		uint64_t old_nchunks;
	} cut;
	uint64_t next;     /* number of the next chunk to be put */
	uint64_t added;    /* raw bytes put after the cut */
	uint64_t last_raw; /* of the chunk before the next */
	bool changed;      /* chunks were cut or put */
	struct {
		bool changed;
		struct bpk_buf text;
	} attributes;
	struct bpk_seal_growth seal; /* begun by the first change of a sealed dataset */
	struct {
		bool needed; /* sizes gets a new seal, and these digests; storage its mark */
		struct bpk_chunkdir_digests digests;
	} reseal;
};

/* Raw bytes of a full chunk. */
static inline uint64_t bpk_chunkdir_full(const struct bpk_chunkdir_editor *e)
{
	return e->set.chunk_rows * e->set.row_size;
}

/* The number of full chunks that are committed. */
static inline uint64_t bpk_chunkdir_full_chunks(const struct bpk_chunkdir_editor *e)
{
	return e->info.raw_size / bpk_chunkdir_full(e);
}

/* Total raw bytes after the pending change. */
uint64_t bpk_chunkdir_new_raw_size(const struct bpk_chunkdir_editor *e);

/* Open output before the first change. */
int bpk_chunkdir_need_output(struct bpk_chunkdir_editor *e, struct bpk_err *err);

/* ---- Columns of a table of bcolz ---- */

/* Lock the table that the directory e->path is a column of, if it is one, as others may change all
 * columns. Call it before the directory itself is locked. */
int bpk_chunkdir_lock_table(struct bpk_chunkdir_editor *e, const struct bpk_edit_options *with,
			    struct bpk_err *err);

/* Fail if the directory, whose path is a URL, is such a column: a store has no locks. */
int bpk_chunkdir_refuse_column(const struct bpk_chunkdir_editor *e, struct bpk_err *err);

/* Fail with BPK_UNSUPPORTED: a table in a store is not changed. Returns -1. */
int bpk_chunkdir_fail_in_store(struct bpk_err *err);

/* ---- Existing files ---- */

/* Open a committed data file of a column. Must be closed with old_close, also after a failure. */
int bpk_chunkdir_old_open(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			  struct bpk_chunkdir_old *old, struct bpk_err *err);
void bpk_chunkdir_old_close(struct bpk_chunkdir_old *old);

/* Subtract the file's contribution to digest and size of the column. */
int bpk_chunkdir_old_subtract(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			      struct bpk_chunkdir_old *old, struct bpk_err *err);

/* ---- Files that replace others ---- */

/*
 * Copy the chunks before chunk number into the new file of the column, up to that chunk's position.
 * The file is begun, and the previous one completed, as needed. nchunks: total number of chunks;
 * BPK_UNKNOWN if it is not known.
 */
int bpk_chunkdir_reach(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
		       uint64_t nchunks, struct bpk_err *err);

/* Without a cut: copy the chunks after the one that was put last. */
int bpk_chunkdir_complete(struct bpk_chunkdir_editor *e, size_t column, struct bpk_err *err);

/* ---- Staging ---- */

/* Stage data files and sizes. */
int bpk_chunkdir_stage_data(struct bpk_chunkdir_editor *e, struct bpk_err *err);

/* Stage the attributes, and sizes if it covers them. Called after stage_data if both change. */
int bpk_chunkdir_stage_attributes(struct bpk_chunkdir_editor *e, struct bpk_err *err);

/* Stage sizes, unless other parts did already. */
int bpk_chunkdir_stage_sizes(struct bpk_chunkdir_editor *e, struct bpk_err *err);

/* ---- A seal in the place of a broken one ---- */

/* bpk_editor_ops.reseal; and the part of the commit before sizes is staged: note the digests, and
 * stage storage if it has no mark. */
int bpk_chunkdir_reseal(void *editor, bool *needed, struct bpk_err *err);
int bpk_chunkdir_reseal_stage(struct bpk_chunkdir_editor *e, struct bpk_err *err);

#endif
