/*
 * Inside the joining of trajectories: join.c joins whole files, join_follow.c follows one that
 * grows, join_store.c writes into the archive.
 */
#ifndef BPK_ARCHIVE_JOIN_H
#define BPK_ARCHIVE_JOIN_H

#include "archive/archive.h"
#include "layout/layout.h"

struct bpk_joining {
	struct bpk_archive *archive;
	struct bpk_gsd_copy copy;
};

/* ---- join.c ---- */

/* Open the committed content of the archive as copy.held. */
int bpk_join_hold(struct bpk_joining *j, struct bpk_err *err);

/* Also open an editor of it over store. */
int bpk_join_begin(struct bpk_joining *j, const struct bpk_gsd_store *store, struct bpk_err *err);

/* ---- join_store.c ---- */

/* A store over the archive. Bytes behind the end are put aside and appended at a commit; then the
 * index that is not in use is overwritten, then the header, each by a commit of the archive. Caller
 * storage, valid when archive is set; for bpk_join_store_clear. */
struct bpk_join_store {
	struct bpk_archive *archive;
	struct bpk_spool *spool; /* behind the end */
	uint64_t end;            /* of the committed content */
	struct bpk_buf patch;    /* below it, in one piece */
	uint64_t patch_at;
	uint64_t commits;
};

struct bpk_gsd_store bpk_gsd_store_of_archive(struct bpk_join_store *store);
void bpk_join_store_clear(struct bpk_join_store *store);

#endif
