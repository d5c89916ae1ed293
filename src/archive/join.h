/*
 * Inside the joining of trajectories: join.c copies frames, join_first.c knows what they leave out,
 * join_follow.c does it again and again, join_store.c is what is written to.
 */
#ifndef BPK_ARCHIVE_JOIN_H
#define BPK_ARCHIVE_JOIN_H

#include "archive/archive.h"
#include "layout/layout.h"

enum { BPK_JOIN_STEP = 1 << 20 }; /* bytes that are copied at a time */

/* A GSD file that is read. Valid when zeroed. */
struct bpk_join_file {
	struct bpk_source *source; /* owned, as layout */
	struct bpk_layout *layout;
	const struct bpk_layout_info *info;
};

/* A name that a first frame has. */
struct bpk_join_first {
	char *name;    /* owned */
	bool explicit; /* the other first frame stands for something else */
};

struct bpk_joining {
	struct bpk_archive *archive;
	struct bpk_join_file held; /* what the archive holds, as it was */
	struct bpk_join_file more; /* the file just now */
	struct bpk_gsd_editor *editor;
	struct bpk_buf firsts; /* struct bpk_join_first, of both */
	struct bpk_buf piece;
};

/* ---- join.c ---- */

/* Know what the file's source holds, a GSD file; else BPK_CORRUPT. */
int bpk_join_file_open(struct bpk_join_file *file, struct bpk_err *err);
void bpk_join_file_close(struct bpk_join_file *file);

/* Open what the archive holds as last committed, for reading. */
int bpk_join_hold(struct bpk_joining *j, struct bpk_err *err);

/* The same, and for changing. */
int bpk_join_begin(struct bpk_joining *j, const struct bpk_gsd_store *store, struct bpk_err *err);

/* The next bytes of an array, from at on, into piece. */
int bpk_join_read(struct bpk_joining *j, const struct bpk_join_file *from,
		  const struct bpk_item *item, uint64_t at, struct bpk_err *err);

/* Put an array of more's into the frame to come. */
int bpk_join_put(struct bpk_joining *j, const char *name, const struct bpk_item *item,
		 struct bpk_err *err);

/* The first array of a frame, or of the next one that has any; else as many as there are. */
int bpk_join_find_frame(const struct bpk_join_file *file, uint64_t frame, uint64_t *number,
			struct bpk_err *err);

/* Put the frames from from to to of more behind those that are there. Fails with BPK_LIMIT where
 * far too many of them are empty. */
int bpk_join_frames(struct bpk_joining *j, uint64_t from, uint64_t to, struct bpk_err *err);

/* ---- join_first.c ---- */

/* Find the names by which the first frames of held and more stand for different things. */
int bpk_join_compare_firsts(struct bpk_joining *j, struct bpk_err *err);
void bpk_join_clear_firsts(struct bpk_joining *j);

/* Do two arrays of held and more agree? */
int bpk_join_compare(struct bpk_joining *j, const struct bpk_item *held,
		     const struct bpk_item *more, bool *same, struct bpk_err *err);

/* Put what frame leaves out, and means otherwise than it would mean in the archive. */
int bpk_join_put_absent(struct bpk_joining *j, uint64_t frame, struct bpk_err *err);

/* ---- join_store.c ---- */

/* A store over the archive: what is written behind the end is put aside, and appended at a commit;
 * then the index that is not in use is written over, then the header, each a commit of the
 * archive's own. Caller storage, valid when archive is set; for bpk_join_store_clear. */
struct bpk_join_store {
	struct bpk_archive *archive;
	struct bpk_spool *spool; /* behind the end */
	uint64_t end;            /* of what is committed */
	struct bpk_buf patch;    /* below it, in one piece */
	uint64_t patch_at;
	uint64_t commits;
};

struct bpk_gsd_store bpk_gsd_store_of_archive(struct bpk_join_store *store);
void bpk_join_store_clear(struct bpk_join_store *store);

#endif
