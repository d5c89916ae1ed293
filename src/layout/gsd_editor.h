/*
 * Writing GSD files: creating them, appending frames, truncating. Part of the room's door.
 *
 * A reader always finds the frames of the last commit or those of the new one. New data, and a new
 * list of names, are appended. The index alternates between two blocks: the idle one, which no
 * reader can reach, is brought up to date, or a larger one is appended, and one write of the header
 * switches to it. The index in use is never modified. GSD's own library adds entries to it in
 * place, where a torn entry hides committed data.
 *
 *  put, write ... end_frame      once per frame; invisible to readers
 *  commit                        names, index; sync; the header's 256 bytes; sync
 *
 * The position of the idle block is stored in the header's reserved bytes, which other programs
 * keep or zero. The block is used only if no live data of the file overlap it; its entries count
 * only where they equal those of the index in use.
 */
#ifndef BPK_LAYOUT_GSD_EDITOR_H
#define BPK_LAYOUT_GSD_EDITOR_H

#include <string.h>

#include "base/base.h"
#include "io/io.h"

/* ---- The store ---- */

/* The target of writes: a file, or an archive that holds the file. */
struct bpk_gsd_store_ops {
	/* Called before the first write: the live content ends at end. Returns the offset for new
	 * bytes, at end or after it. */
	uint64_t (*begin)(void *own, uint64_t end);
	/* Called before the first write if readers may take bytes behind the end for content: the
	 * writes must be undone if the next commit never comes. NULL: the store always does so. */
	int (*guard)(void *own, struct bpk_err *err);
	/* Called before writes to a region below the end that no reader reaches; one region at a
	 * time, until the next commit. */
	void (*set_free)(void *own, uint64_t offset, uint64_t size);
	/* Write into that region, or after the end without gaps. */
	int (*write_at)(void *own, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);
	/* Make all writes durable, then the header atomically, at offset 0; the content then ends
	 * at end. On failure the old content stays. */
	int (*commit)(void *own, struct bpk_view header, uint64_t end, struct bpk_err *err);
};

struct bpk_gsd_store {
	const struct bpk_gsd_store_ops *ops;
	void *own;
};

/* Stores over an existing file, whose committed content is a GSD file; and over a new file.
 * Borrowed. */
struct bpk_gsd_store bpk_gsd_store_of_edit(struct bpk_edit *edit);
struct bpk_gsd_store bpk_gsd_store_of_draft(struct bpk_draft *draft);

/* ---- Writing ---- */

/* Owned by one thread. After a failed call only close is allowed. */
struct bpk_gsd_editor;

struct bpk_gsd_head {
	const char *application; /* at most 63 bytes each */
	const char *schema;
	uint32_t schema_version; /* major << 16 | minor */
};

/* The version of schema that a new file has by default: 1.4 of hoomd, 1.0 of any other. */
static inline uint32_t bpk_gsd_schema_version(const char *schema)
{
	return strcmp(schema, "hoomd") == 0 ? 1 << 16 | 4 : 1 << 16;
}

/* Begin a new file of version 2.0 without frames; nothing exists before the first commit. Fails
 * with BPK_LIMIT for a text that is too long. */
int bpk_gsd_editor_create(const struct bpk_gsd_store *store, const struct bpk_gsd_head *head,
			  struct bpk_gsd_editor **editor, struct bpk_err *err);

/*
 * Open the file in source, which is the last committed content of store. Its whole index is read
 * here; source is not kept. Fails with BPK_UNSUPPORTED for a version below 2, and with BPK_CORRUPT
 * for a file that is damaged or not GSD. to_cut: accept damage that removing the last frames or
 * rewriting the index repairs; bpk_gsd_editor_truncate must follow.
 */
int bpk_gsd_editor_open(const struct bpk_gsd_store *store, struct bpk_source *source, bool to_cut,
			struct bpk_gsd_editor **editor, struct bpk_err *err);

void bpk_gsd_editor_close(struct bpk_gsd_editor *editor); /* NULL is harmless */

/* The number of complete frames, including uncommitted ones; and of their arrays. */
uint64_t bpk_gsd_editor_nframes(const struct bpk_gsd_editor *editor);
uint64_t bpk_gsd_editor_narrays(const struct bpk_gsd_editor *editor);

/* The file's header texts; owned by the editor. */
const struct bpk_gsd_head *bpk_gsd_editor_head(const struct bpk_gsd_editor *editor);

/*
 * Begin an array of the current frame, of nrows (may be 0) x ncolumns (1 to 2^32-1) elements of a
 * type: 'u', 'i' (1, 2, 4, 8 bytes) or 'f' (4, 8), or characters ('S', 1 byte, only in a file of
 * version 2.1 or later). name is UTF-8, up to 4096 bytes, without control bytes; existing names
 * with control bytes are matched in the form that bpk_layout_get shows. Fails with BPK_UNSUPPORTED
 * for another type, BPK_LIMIT for too many names or bytes, BPK_FAILED for a name that is invalid or
 * repeated in the frame.
 */
int bpk_gsd_editor_put(struct bpk_gsd_editor *editor, const char *name,
		       const struct bpk_scalar *scalar, uint64_t nrows, uint64_t ncolumns,
		       struct bpk_err *err);

/* Write the array's bytes, little-endian, row by row, in pieces of any size. */
int bpk_gsd_editor_write(struct bpk_gsd_editor *editor, struct bpk_view bytes, struct bpk_err *err);

/* End the frame. Readers ignore a frame without arrays until another follows. Fails with BPK_BUG if
 * bytes of an array are missing. */
int bpk_gsd_editor_end_frame(struct bpk_gsd_editor *editor, struct bpk_err *err);

/* Commit all complete frames. */
int bpk_gsd_editor_commit(struct bpk_gsd_editor *editor, struct bpk_err *err);

/* Keep the first nframes of the existing frames, and commit. The data of the others are cut off if
 * nothing follows them. Fails with BPK_CORRUPT if a remaining frame is torn, or shares bytes with
 * another one. */
int bpk_gsd_editor_truncate(struct bpk_gsd_editor *editor, uint64_t nframes, struct bpk_err *err);

/* ---- Verification ---- */

/* Set *is_gsd if source begins as a GSD file, of any version, intact or damaged. */
int bpk_gsd_probe(struct bpk_source *source, bool *is_gsd, struct bpk_err *err);

struct bpk_gsd_verdict {
	uint64_t nframes, narrays; /* readable ones */
	uint64_t sound_frames; /* number of intact leading frames; BPK_UNKNOWN: all, or unknown */
};

/*
 * Check all tables of a GSD file, including facts that GSD's own library trusts: every entry,
 * overlaps of data, the order, names. Fails with BPK_CORRUPT for the first damage, and with
 * BPK_UNSUPPORTED for an unknown version. Harmless oddities go to remark, as lines; remark may be
 * NULL.
 */
int bpk_gsd_verify(struct bpk_source *source, void (*remark)(void *arg, const char *line),
		   void *arg, struct bpk_gsd_verdict *verdict, struct bpk_err *err);

/* Set *nframes to the number of intact leading frames; BPK_UNKNOWN: all, or unknown. The tables are
 * read alone. Fails as verify. */
int bpk_gsd_count_sound(struct bpk_source *source, uint64_t *nframes, struct bpk_err *err);

#endif
