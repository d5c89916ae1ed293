/*
 * A growing file, compared with the archive that follows it. Committed bytes stay as they are. The
 * file may differ from them only in the parts that writers of its kind change as it grows (the
 * frame count of a DCD), or where the caller believes the file. One thread's own. Included by
 * follow.c.
 */
#ifndef BPK_ARCHIVE_FOLLOWED_H
#define BPK_ARCHIVE_FOLLOWED_H

#include "archive/chunks.h"
#include "layout/layout.h"

/* Zeroed but for archive, path and mend, which are fixed, and opened. It owns nothing. */
struct bpk_followed {
	struct bpk_archive *archive; /* borrowed, as both paths */
	const char *path;            /* of the file, for messages */
	const char *opened;          /* where it is read; NULL: at path */
	bool mend;                   /* the file is believed wherever it differs */
	struct stat seen;            /* the file at its first reading; st_ino 0: before that */

	/* The parts that may change: those of the archive's content, and of the file. They are
	 * looked up when a difference is found that they do not explain. */
	struct bpk_layout_part parts[2 * BPK_LAYOUT_PARTS];
	size_t nparts;
	uint64_t turn; /* samples so far */
};

/* Read the file's present bytes from start on. Fails with BPK_FAILED where another file has taken
 * its place, and where it is shorter. */
int bpk_followed_read(struct bpk_followed *f, uint64_t start, struct bpk_span out,
		      struct bpk_err *err);

/* May bytes of the file replace held, the archive's bytes from at on? Both have one size. Fails
 * with BPK_FAILED, and the first offset that may not change. */
int bpk_followed_judge(struct bpk_followed *f, uint64_t at, struct bpk_view held,
		       struct bpk_view bytes, struct bpk_err *err);

/*
 * Compare samples of the archive with the file: its beginning, its end, and count pieces between
 * them, other pieces at each call. whole: the first chunk and the last are compared to their last
 * byte. Fails as judge does, with the first difference of all.
 */
int bpk_followed_sample(struct bpk_followed *f, unsigned count, bool whole, struct bpk_err *err);

#endif
