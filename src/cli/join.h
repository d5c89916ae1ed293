/*
 * Trajectories joined: the frames of GSD files put behind those of the GSD file that an archive
 * holds. For the main thread alone.
 */
#ifndef BPK_CLI_JOIN_H
#define BPK_CLI_JOIN_H

#include "cli/edit.h"
#include "cli/feed.h"
#include "layout/layout.h"

/* Does the archive hold a GSD file? Fails as reading it does. */
int bpk_archive_is_gsd(struct bpk_archive *archive, bool *is_gsd, struct bpk_err *err);

/* What came of it. */
struct bpk_joined {
	uint64_t appended_frames, nframes;
	uint64_t commits;
};

/*
 * Put the frames of every file behind those of the archive; all of them or none. Where the schema
 * is hoomd, what a frame leaves out and its own file's first frame stands for is written out, if
 * the archive's first frame would stand for something else. Errors name the file they are about.
 */
int bpk_archive_join(struct bpk_archive *archive, char *const *paths, size_t count,
		     struct bpk_joined *joined, struct bpk_err *err);

/*
 * Follow a growing GSD file, of which the archive holds the first frames, until options say that it
 * is over: frames are appended once the file's index has them, each round commits. start and
 * chunk_size of options are filled in here. Fails with BPK_FAILED where the archive's frames are
 * not the file's.
 */
int bpk_archive_join_follow(struct bpk_archive *archive, const char *path,
			    const struct bpk_feed_options *options, struct bpk_joined *joined,
			    struct bpk_err *err);

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
