/*
 * Appending in rounds: what keeps coming is committed again and again, and a file that grows is
 * followed until it is whole. For the main thread alone.
 */
#ifndef BPK_CLI_FOLLOW_H
#define BPK_CLI_FOLLOW_H

#include "cli/edit.h"
#include "cli/feed.h"

/* What the rounds came to. */
struct bpk_rounds {
	uint64_t appended; /* raw bytes */
	uint64_t commits;
	uint64_t mended; /* raw bytes that were written anew, since the file was changed there */
};

/* Append what paths bring, and commit every interval seconds; what was committed stays. */
int bpk_append_rounds(struct bpk_archive *archive, char *const *paths, size_t count,
		      double interval, struct bpk_rounds *rounds, struct bpk_err *err);

/*
 * Let the archive follow a growing file from where it stands. options tell when to end; start and
 * chunk_size are filled in here. Samples of what the archive holds are compared with the file at
 * the start and before each commit, and all of it at the end. What is committed stays as it is, but
 * for what cli/followed.h lets change; with mend it becomes what the file has. Fails with
 * BPK_FAILED, and the offset of the first difference, where the file is another.
 */
int bpk_append_follow(struct bpk_archive *archive, const char *path, bool mend,
		      const struct bpk_feed_options *options, struct bpk_rounds *rounds,
		      struct bpk_err *err);

/* INT, TERM and USR1 end or hurry a following from here on; before the archive is opened. */
void bpk_append_take_signals(void);

#endif
