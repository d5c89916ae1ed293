/*
 * Changing Bloscpack files, inside the room: the declarations that the parts of the editor share.
 *
 *   add.c      chunks after a cut, written at their final place
 *   patch.c    chunks that replace others, held in memory until the commit
 *   rewrite.c  changes that do not fit in place: the whole file is copied into a draft
 *   shape.c    an array's shape in the metadata, which follows the number of its rows
 *   text.c     the text of the new metadata, including the list of chunk sizes
 *   survey.c   the committed content
 *   reseal.c   the seal, continued from that of the committed content
 *   editor.c   opens, chooses between these parts, sets metadata and commits
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

/* Chunks from number cut on, put after the cut; they occupy base to position. */
struct bpk_bloscpack_added {
	uint64_t cut;
	uint64_t base;
	uint64_t position;
	uint64_t nchunks; /* put so far */
	uint64_t kept_raw;
	uint64_t raw_size;
	uint64_t last_raw;                /* of the chunk before the next one */
	uint64_t chunk_size;              /* of all but the last; unknown: any */
	unsigned typesize;                /* of the archive's first chunk, if it was put; or 0 */
	bool entries_written;             /* some spare entries were written */
	struct bpk_bloscpack_batch batch; /* entries that are not in the file yet */
};

/* Chunks that will replace others, by ascending numbers. */
struct bpk_bloscpack_patches {
	size_t count;
	struct bpk_buf list; /* of struct bpk_bloscpack_patch */
	struct bpk_buf bytes;
};

struct bpk_bloscpack_patch {
	uint64_t number;
	uint64_t offset; /* in the file */
	size_t at;       /* in bytes */
	size_t size;     /* including the digest */
};

struct bpk_bloscpack_rewrite {
	struct bpk_draft *draft;
	void *writer;
	void *reader;  /* of the committed content, from its start */
	uint64_t next; /* next chunk of it to copy */
	uint64_t stop; /* chunks from here on are not copied */
	bool adding;   /* put appends chunks; else it replaces chunks */
	bool coming;   /* begun for a chunk that is about to be put */
	bool proves;   /* digests of copied chunks are tested */
	bool offsets;  /* the draft gets an offsets section, whether the file has one or not */
	bool has_text; /* the draft contains the metadata that were set */
	struct bpk_parcel parcel;
};

/* Owned by one thread, except for header, which is fixed between commits. */
struct bpk_bloscpack_editor {
	struct bpk_edit *edit;
	struct bpk_editor_options options;

	/* the committed state */
	struct bpk_place place;
	struct bpk_bloscpack_reader *reader;
	struct bpk_info info;
	struct bpk_bloscpack_header header; /* converted to version 3, with known counts */
	bool in_place;                      /* chunks and metadata can be changed in place */
	bool adds_in_place;                 /* chunks can also be added in place */
	struct {
		uint64_t chunks;  /* of the last chunk */
		uint64_t archive; /* the same, or after the end marker */
		uint64_t all;     /* of the bytes that belong to the archive */
	} ends;

	struct {
		bool set;
		struct bpk_buf text; /* the user's new; empty: they are removed */
	} metadata;

	enum bpk_bloscpack_mode mode;
	struct bpk_bloscpack_added added;
	struct bpk_bloscpack_patches patches;
	struct bpk_bloscpack_rewrite rewrite;
	struct bpk_seal_growth seal; /* of kept and put chunks */
};

/* Whether a step was possible in place, or needs a rewrite. */
enum bpk_bloscpack_fit { BPK_BLOSCPACK_FITS, BPK_BLOSCPACK_REWRITE };

/* ---- The committed content ---- */

/* Set header, in_place, adds_in_place and ends from the file. */
int bpk_bloscpack_survey(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* Set info from them. */
void bpk_bloscpack_survey_info(struct bpk_bloscpack_editor *e);

/* ---- The seal ---- */

/* Continue the seal of the reader; start tests it. */
void bpk_bloscpack_reseal_begin(struct bpk_bloscpack_editor *e);

/* Note the leaf of a chunk that was put, as it will be stored. Before the first that replaces
 * another, all chunks are compared with the seal. Fails with BPK_CORRUPT then. */
int bpk_bloscpack_reseal_note(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			      struct bpk_err *err);

/* ---- Adding ---- */

int bpk_bloscpack_add_cut(struct bpk_bloscpack_editor *e, uint64_t nchunks, struct bpk_err *err);

/* Test that parcel may follow the chunk before it. */
int bpk_bloscpack_add_check(const struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			    struct bpk_err *err);

/* Count parcel as added; it takes size bytes of the file. */
int bpk_bloscpack_add_note(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			   size_t size, struct bpk_err *err);

int bpk_bloscpack_add_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			  enum bpk_bloscpack_fit *fit, struct bpk_err *err);

/* Test whether the added chunks can be committed in place. */
enum bpk_bloscpack_fit bpk_bloscpack_add_fits(const struct bpk_bloscpack_editor *e);

/* Set *header to its new content; write all but the header. */
void bpk_bloscpack_add_header(const struct bpk_bloscpack_editor *e,
			      struct bpk_bloscpack_header *header);
int bpk_bloscpack_add_finish(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* Restore the entries that were written, before their chunks are cut off: a spare entry may be set
 * only while bytes follow the last chunk. */
int bpk_bloscpack_add_undo(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* Check the spare entries that clear_spares resets, by bpk_bloscpack_spare_check; all is true if
 * bytes follow the last chunk. */
int bpk_bloscpack_check_spares(struct bpk_bloscpack_editor *e, bool all, struct bpk_err *err);

/* Reset spare entries to -1, all of them or up to the first page without a set one; the first spare
 * entry becomes first, if its page has one set. *wrote is set if an entry was written. */
int bpk_bloscpack_clear_spares(struct bpk_bloscpack_editor *e, bool all, uint64_t first,
			       bool *wrote, struct bpk_err *err);

/* ---- Shapes ---- */

/* True if the metadata describe an array whose first dimension follows the number of rows. */
bool bpk_bloscpack_shape_follows(const struct bpk_bloscpack_editor *e);

/* Set the metadata to the new number of rows; unchanged if the new content is not whole rows. */
int bpk_bloscpack_shape_follow(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* ---- The new metadata ---- */

/* True while chunks are put after a cut, into the file or into a draft. */
bool bpk_bloscpack_is_adding(const struct bpk_bloscpack_editor *e);

/* True if the metadata will change: they were set, list chunks that are cut off, or have a seal. */
bool bpk_bloscpack_text_changes(const struct bpk_bloscpack_editor *e);

/* The user's part of the new metadata; and the sizes of kept chunks that will not be the last. */
struct bpk_view bpk_bloscpack_text_user(const struct bpk_bloscpack_editor *e);
int bpk_bloscpack_text_sizes(const struct bpk_bloscpack_editor *e, struct bpk_sizes *sizes,
			     struct bpk_err *err);

/* The whole text, without a seal; empty: no metadata. */
int bpk_bloscpack_text_make(const struct bpk_bloscpack_editor *e, struct bpk_buf *text,
			    struct bpk_err *err);

/* ---- Patching ---- */

int bpk_bloscpack_patch_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			    enum bpk_bloscpack_fit *fit, struct bpk_err *err);

/* Write all patches into the file. */
int bpk_bloscpack_patch_finish(struct bpk_bloscpack_editor *e, struct bpk_err *err);

struct bpk_bloscpack_patch bpk_bloscpack_patch_at(const struct bpk_bloscpack_patches *patches,
						  size_t index);

/* ---- Rewriting ---- */

/* Begin a draft, and copy into it the chunks that were put before. */
int bpk_bloscpack_rewrite_begin(struct bpk_bloscpack_editor *e, struct bpk_err *err);

int bpk_bloscpack_rewrite_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			      struct bpk_err *err);

/* Copy the rest, and replace the file by the draft. */
int bpk_bloscpack_rewrite_commit(struct bpk_bloscpack_editor *e, struct bpk_err *err);

/* Release everything that a rewrite holds; harmless if no rewrite has begun. */
void bpk_bloscpack_rewrite_clear(struct bpk_bloscpack_rewrite *rewrite);

#endif
