/*
 * GSD files written: created, added to frame by frame, shortened. A part of the room's door.
 *
 * At any instant a reader finds the frames of the last commit or those of the new one. New data,
 * and a new list of names, go behind the end. The index lies in two blocks in turn: the one that no
 * reader can reach receives what it lacks, or a larger one is put at the end, and one write of the
 * header switches over to it. The index in use is never written to: GSD's own library puts entries
 * there in place, where one that is torn hides what was committed.
 *
 *	put, write ... end_frame      as often as there are frames; readers see nothing of it
 *	commit                        names, index; sync; the header's 256 bytes; sync
 *
 * Where the block is that waits for its turn stands in the header's reserved bytes, which other
 * programs keep or set to zero. It is used only where nothing that the file can reach lies in it,
 * and entries in it count only where they are those of the index in use.
 */
#ifndef BPK_LAYOUT_GSD_EDITOR_H
#define BPK_LAYOUT_GSD_EDITOR_H

#include "base/base.h"
#include "io/io.h"

/* ---- What is written to ---- */

/* Over a file, or over whatever holds the bytes of one. */
struct bpk_gsd_store_ops {
	/* Before the first write: what counts of the content ends at end. Returns where new bytes
	 * go, there or behind it. */
	uint64_t (*begin)(void *own, uint64_t end);
	/* Before bytes of a region below the end are written, of which no reader knows; one at a
	 * time, until the next commit. */
	void (*set_free)(void *own, uint64_t offset, uint64_t size);
	/* Into that region, or behind the end without leaving anything out. */
	int (*write_at)(void *own, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);
	/* Make what was written durable, then the header at once, as the first of all bytes; the
	 * content ends at end. Failing, it leaves the old content. */
	int (*commit)(void *own, struct bpk_view header, uint64_t end, struct bpk_err *err);
};

struct bpk_gsd_store {
	const struct bpk_gsd_store_ops *ops;
	void *own;
};

/* A file that is there, whose committed content is a GSD file; and a new one. Borrowed. */
struct bpk_gsd_store bpk_gsd_store_of_edit(struct bpk_edit *edit);
struct bpk_gsd_store bpk_gsd_store_of_draft(struct bpk_draft *draft);

/* ---- Writing ---- */

/* One thread's own. After a call that failed, nothing is left to it but to be closed. */
struct bpk_gsd_editor;

struct bpk_gsd_head {
	const char *application; /* at most 63 bytes each */
	const char *schema;
	uint32_t schema_version; /* major << 16 | minor */
};

/* Begin a new file of version 2.0 without frames; there is none before the first commit. Fails with
 * BPK_LIMIT for a text that is too long. */
int bpk_gsd_editor_create(const struct bpk_gsd_store *store, const struct bpk_gsd_head *head,
			  struct bpk_gsd_editor **editor, struct bpk_err *err);

/*
 * Go on with the file that source holds, which is what store was last committed as; it is read
 * here, whole index and all, and not kept. Fails with BPK_UNSUPPORTED for a version below 2, and
 * with BPK_CORRUPT for no GSD file and for one that is damaged. to_cut: what can be mended by
 * leaving out the last frames, or by writing the index anew, is none; then bpk_gsd_editor_truncate
 * comes next.
 */
int bpk_gsd_editor_open(const struct bpk_gsd_store *store, struct bpk_source *source, bool to_cut,
			struct bpk_gsd_editor **editor, struct bpk_err *err);

void bpk_gsd_editor_close(struct bpk_gsd_editor *editor); /* NULL is harmless */

/* Frames that are whole, those not yet committed too; and, of all of them, arrays. */
uint64_t bpk_gsd_editor_nframes(const struct bpk_gsd_editor *editor);
uint64_t bpk_gsd_editor_narrays(const struct bpk_gsd_editor *editor);

/* What the file says of itself; belongs to the editor. */
const struct bpk_gsd_head *bpk_gsd_editor_head(const struct bpk_gsd_editor *editor);

/*
 * Begin an array of the frame to come, of nrows (0 is fine) x ncolumns (1 to 2^32-1) elements of a
 * type: 'u', 'i' (1, 2, 4, 8 bytes) or 'f' (4, 8), or characters ('S', 1 byte, only in a file of
 * version 2.1 or later). name is UTF-8, up to 4096 bytes, without control bytes; one of the file's
 * own that has some is known by how bpk_layout_get shows it. Fails with BPK_UNSUPPORTED for another
 * type, BPK_LIMIT for too many names or bytes, BPK_FAILED for a name that the frame has already,
 * or that is none.
 */
int bpk_gsd_editor_put(struct bpk_gsd_editor *editor, const char *name,
		       const struct bpk_scalar *scalar, uint64_t nrows, uint64_t ncolumns,
		       struct bpk_err *err);

/* The array's bytes, little-endian, row by row, in pieces as they come. */
int bpk_gsd_editor_write(struct bpk_gsd_editor *editor, struct bpk_view bytes, struct bpk_err *err);

/* What was put is a frame, behind the last one; without arrays it is passed over by readers, until
 * another follows. Fails with BPK_BUG where bytes of an array are missing. */
int bpk_gsd_editor_end_frame(struct bpk_gsd_editor *editor, struct bpk_err *err);

/* Let all frames that were ended be the file's. */
int bpk_gsd_editor_commit(struct bpk_gsd_editor *editor, struct bpk_err *err);

/* Keep the first nframes frames, of which there are so many, and commit that. Their data are cut
 * off where nothing lies behind them. */
int bpk_gsd_editor_truncate(struct bpk_gsd_editor *editor, uint64_t nframes, struct bpk_err *err);

/* ---- Looking closely ---- */

/* Do the bytes of a GSD file begin here? Of any version, sound or not. */
int bpk_gsd_probe(struct bpk_source *source, bool *is_gsd, struct bpk_err *err);

struct bpk_gsd_verdict {
	uint64_t nframes, narrays; /* that can be read */
	uint64_t sound_frames;     /* as many from the first are whole; BPK_UNKNOWN: all, or nobody
				      knows */
};

/*
 * Look at all of a GSD file's tables, also at what GSD's own library takes on trust: every entry,
 * whether data overlap, the order, names. Fails with BPK_CORRUPT for the first damage, and with
 * BPK_UNSUPPORTED for a version that nobody knows. What is odd and harmless goes to remark, as
 * lines; NULL: to nobody.
 */
int bpk_gsd_verify(struct bpk_source *source, void (*remark)(void *arg, const char *line),
		   void *arg, struct bpk_gsd_verdict *verdict, struct bpk_err *err);

#endif
