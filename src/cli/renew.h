/*
 * Parity files follow the changes of their archives. Called by edit.c, pack_work.c, convert_work.c
 * and repair.c. For the main thread alone.
 */
#ifndef BPK_CLI_RENEW_H
#define BPK_CLI_RENEW_H

#include "cli/side.h"

/* The bytes that a command writes to a file; of a directory, its files before the command. Caller
 * storage, valid when zeroed; for bpk_renewal_end. */
struct bpk_renewal {
	const char *path;   /* borrowed; NULL: not begun */
	struct stat before; /* the archive's file */
	bool is_directory;
	struct bpk_parity_files files; /* before */
	struct bpk_parity_range *written;
	size_t count, room;
	bool all; /* more than can be noted, or all of it */
};

/* The archive at path is open for a change, under its lock. */
void bpk_renewal_begin(struct bpk_renewal *renewal, const char *path);

/* Note bytes that are written; as the call wrote of struct bpk_edit_options. */
void bpk_renewal_note(void *renewal, uint64_t offset, uint64_t size);

/* The archive is closed. Renew its parity file, if it has one that was of the state before and
 * something was written; report failures, and free. */
void bpk_renewal_end(struct bpk_renewal *renewal, const struct bpk_shared *shared);

/*
 * The archive at path is new, or replaces another: write its parity file with that share, in
 * hundredths of a percent; 0: if it has one, with the share of that. Nothing for standard output
 * and URLs. Errors name their file.
 */
int bpk_renew_whole(const struct bpk_shared *shared, const char *path, unsigned share,
		    struct bpk_err *err);

#endif
