/*
 * Changing Bloscpack files, inside the room: what the parts of the editor share.
 *
 *   add.c      chunks behind a cut, written where they will stay
 *   patch.c    chunks in the place of others, held in memory until the commit
 *   rewrite.c  what cannot be done in place: the whole file anew, into a draft
 *   shape.c    an array's shape in the metadata, which follows the number of its rows
 *   text.c     the text of the metadata to come, with the sizes of chunks in it
 *   survey.c   what is there
 *   editor.c   opens, chooses between them, sets metadata and commits
 */
#ifndef BPK_FORMAT_BLOSCPACK_EDITOR_H
#define BPK_FORMAT_BLOSCPACK_EDITOR_H

#include "format/bloscpack/bloscpack.h"

enum bpk_bloscpack_mode {
	BPK_BLOSCPACK_AT_REST, /* no chunk was cut off or put */
	BPK_BLOSCPACK_ADDING,
	BPK_BLOSCPACK_PATCHING,
	BPK_BLOSCPACK_REWRITING,
};

/* What follows the cut: chunks from number cut on, which lie from base to position. */
struct bpk_bloscpack_added {
	uint64_t cut;
	uint64_t base;
	uint64_t position;
	uint64_t nchunks; /* put so far */
	uint64_t kept_raw;
	uint64_t raw_size;
	uint64_t last_raw;                /* of the chunk before the next one */
	uint64_t chunk_size;              /* of all but the last; unknown: any */
	bool entries_written;             /* some of the spare ones */
	struct bpk_bloscpack_batch batch; /* entries that are not in the file yet */
};

/* Chunks that will be written over others, by ascending numbers. */
struct bpk_bloscpack_patches {
	size_t count;
	struct bpk_buf list; /* of struct bpk_bloscpack_patch */
	struct bpk_buf bytes;
};

struct bpk_bloscpack_patch {
	uint64_t number;
	uint64_t offset; /* in the file */
	size_t at;       /* in bytes */
	size_t size;     /* with the digest */
};

struct bpk_bloscpack_rewrite {
	struct bpk_draft *draft;
	void *writer;
	void *reader;  /* of the committed content, from its start */
	uint64_t next; /* chunk of it to be carried over */
	uint64_t stop; /* those from here on are left behind */
	bool adding;   /* what is put follows them; else it takes the place of one of them */
	bool coming;   /* it was begun for a chunk that is about to be put */
	bool has_text; /* the metadata that were set are in the draft */
	struct bpk_parcel parcel;
};

/* One thread's own, but for header, which is fixed between commits. */
struct bpk_bloscpack_editor {
	struct bpk_edit *edit;
	struct bpk_editor_options options;

	/* as last committed */
	struct bpk_place place;
	struct bpk_bloscpack_reader *reader;
	struct bpk_info info;
	struct bpk_bloscpack_header header; /* as version 3 would have it, and its counts known */
	bool in_place;                      /* chunks and metadata can be changed in place */
	bool adds_in_place;                 /* and chunks be added */
	uint64_t chunks_end;                /* of the last chunk */
	uint64_t archive_end;               /* the same, behind an end marker */
	uint64_t end;                       /* of it all: an end marker may follow */

	bool sets_metadata;
	struct bpk_buf text; /* the user's, of the metadata to be set; empty: none */

	enum bpk_bloscpack_mode mode;
	struct bpk_bloscpack_added added;
	struct bpk_bloscpack_patches patches;
	struct bpk_bloscpack_rewrite rewrite;
};

/* Whether a step could be done in place, or must be done by a rewrite. */
enum bpk_bloscpack_fit { BPK_BLOSCPACK_FITS, BPK_BLOSCPACK_REWRITE };

/* ---- What is there ---- */

/* Fill in header, in_place, adds_in_place, chunks_end and end from what the file says and holds. */
int bpk_bloscpack_survey(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* Fill in info from them. */
void bpk_bloscpack_survey_info(struct bpk_bloscpack_editor *e);

/* ---- Adding ---- */

int bpk_bloscpack_add_cut(struct bpk_bloscpack_editor *e, uint64_t nchunks, struct bpk_err *err);

/* Is parcel what may follow the chunk before it? */
int bpk_bloscpack_add_check(const struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			    struct bpk_err *err);

/* Count parcel among what was added, size bytes of the file. */
void bpk_bloscpack_add_note(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			    size_t size);

int bpk_bloscpack_add_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			  enum bpk_bloscpack_fit *fit, struct bpk_err *err);

/* Can what was added be committed in place? */
enum bpk_bloscpack_fit bpk_bloscpack_add_fits(const struct bpk_bloscpack_editor *e);

/* Write what is missing but the header, and say what that will be. */
int bpk_bloscpack_add_finish(struct bpk_bloscpack_editor *e, struct bpk_bloscpack_header *header,
			     struct bpk_err *err);

/* Take back the entries that were written, before the chunks that they lead to are cut off: a spare
 * entry may be set only while bytes follow the last chunk. */
int bpk_bloscpack_add_undo(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* Make spare entries -1 again, all of them or as far as they were written in a row; the first of
 * them first, if any is set. */
int bpk_bloscpack_clear_spares(struct bpk_bloscpack_editor *e, bool all, uint64_t first,
			       bool *wrote, struct bpk_err *err);

/* ---- Shapes ---- */

/* Do the metadata tell of an array whose first dimension follows when rows are added or cut off? */
bool bpk_bloscpack_shape_follows(const struct bpk_bloscpack_editor *e);

/* Have the metadata set to those that are right for what was added; left alone where that is no
 * whole number of rows. */
int bpk_bloscpack_shape_follow(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* ---- Metadata to come ---- */

/* Are chunks put behind a cut, into the file or into a draft? */
bool bpk_bloscpack_is_adding(const struct bpk_bloscpack_editor *e);

/* Will the metadata be others than they are: set, or because they list chunks that are cut off? */
bool bpk_bloscpack_text_changes(const struct bpk_bloscpack_editor *e);

/* The user's part of them, and the sizes of the chunks that are kept and will not be the last. */
struct bpk_view bpk_bloscpack_text_user(const struct bpk_bloscpack_editor *e);
int bpk_bloscpack_text_sizes(const struct bpk_bloscpack_editor *e, struct bpk_sizes *sizes,
			     struct bpk_err *err);

/* All of the text; empty: none. */
int bpk_bloscpack_text_make(const struct bpk_bloscpack_editor *e, struct bpk_buf *text,
			    struct bpk_err *err);

/* ---- Patching ---- */

int bpk_bloscpack_patch_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			    enum bpk_bloscpack_fit *fit, struct bpk_err *err);

/* Write them all. */
int bpk_bloscpack_patch_finish(struct bpk_bloscpack_editor *e, struct bpk_err *err);

struct bpk_bloscpack_patch bpk_bloscpack_patch_at(const struct bpk_bloscpack_patches *patches,
						  size_t index);

/* ---- Rewriting ---- */

/* Begin a draft, and carry over what was put before. */
int bpk_bloscpack_rewrite_begin(struct bpk_bloscpack_editor *e, struct bpk_err *err);

int bpk_bloscpack_rewrite_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			      struct bpk_err *err);

/* Carry over the rest, and let the draft take the file's place. */
int bpk_bloscpack_rewrite_commit(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* Give back all that a rewrite holds; harmless when there is none. */
void bpk_bloscpack_rewrite_clear(struct bpk_bloscpack_rewrite *rewrite);

#endif
