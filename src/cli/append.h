/*
 * Appending, from its options to an archive: append.c reads the command line, append_work.c appends
 * once, append_follow.c follows a growing file. For the main thread alone.
 */
#ifndef BPK_CLI_APPEND_H
#define BPK_CLI_APPEND_H

#include "cli/edit.h"
#include "cli/gsd.h"

struct bpk_append_args {
	struct bpk_args common;
	const char *follow;
	uint64_t pid, idle, commit_interval; /* 0: not given */
	struct bpk_gsd_frame_args frame;
	bool bytes, mend, rotate;
};

/* An archive and its inputs. */
struct bpk_append_job {
	const char *path;
	char *const *names;
	size_t count;
};

/* The options as archive takes them. */
struct bpk_follow_options bpk_append_options(const struct bpk_append_args *args);

/* True if path, which is no URL and no member of a tar, does not exist. */
bool bpk_append_is_missing(const char *path);

/* Append to the archive, once, and print the result; errors are reported. Returns true if the file
 * that it follows was rotated. */
bool bpk_append_once(const struct bpk_append_args *args, const struct bpk_append_job *job);

/*
 * Follow the file, and with --rotate the files that get its name after it. It is waited for, and an
 * archive that is missing is created. Signals end it, or ask for a commit; errors are reported.
 */
void bpk_append_follow(const struct bpk_append_args *args, const struct bpk_append_job *job);

#endif
