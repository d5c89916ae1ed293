/*
 * A growing file against the archive that follows it: what is committed stays as it is. The file
 * may only differ from it where writers of its kind change a part of the file as it grows (the
 * frame count of a DCD), or by the user's word. For the main thread alone.
 */
#ifndef BPK_ARCHIVE_FOLLOWED_H
#define BPK_ARCHIVE_FOLLOWED_H

#include "archive/chunks.h"
#include "layout/layout.h"

/* Zeroed but for archive, path and mend, which are fixed. It owns nothing. */
struct bpk_followed {
	struct bpk_archive *archive; /* borrowed, as path */
	const char *path;            /* of the file */
	bool mend;                   /* the file is right, wherever it differs */
	struct stat seen;            /* the file, when it was first read; st_ino 0: not yet */

	/* What may change in the file: as the archive holds it, and as it is now. Only when a
	 * difference was found that the last look does not explain are they looked at again. */
	struct bpk_layout_part parts[2 * BPK_LAYOUT_PARTS];
	size_t nparts;
	uint64_t turn; /* of samples */
};

/* The file's bytes from start on, as they are now. Fails with BPK_FAILED where another file has
 * taken its place, and where it is shorter. */
int bpk_followed_read(struct bpk_followed *f, uint64_t start, struct bpk_span out,
		      struct bpk_err *err);

/* May bytes of the file take the place of those that the archive holds from at on? They are of one
 * size. Fails with BPK_FAILED, and the first offset where they may not. */
int bpk_followed_judge(struct bpk_followed *f, uint64_t at, struct bpk_view held,
		       struct bpk_view bytes, struct bpk_err *err);

/*
 * Hold samples of the archive against the file: its beginning, its end, and count pieces between
 * them, others at each call. whole: the first chunk and the last are compared to their last byte.
 * Fails as judge does, with the first difference of all.
 */
int bpk_followed_sample(struct bpk_followed *f, unsigned count, bool whole, struct bpk_err *err);

#endif
