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

	/* the bytes that parity is computed of again, compared before they are written */
	bool looked, is_current;
	struct bpk_side side;
	struct bpk_parity_check check;
	bool refused;
};

/*
 * The archive at path is open for a change, under its lock; only_adds: for an append. Fails, with
 * the name in front, if a directory is damaged and has parity that is current, which the change
 * would compute again; of a large one to which is added, that is found at the end.
 */
int bpk_renewal_begin(struct bpk_renewal *renewal, const char *path, bool only_adds,
		      struct bpk_err *err);

/* Note bytes that will be written; as the call writes of struct bpk_edit_options. Fails if cells
 * that parity is computed of again are damaged. */
int bpk_renewal_note(void *renewal, struct bpk_source *committed, uint64_t offset, uint64_t size,
		     struct bpk_err *err);

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
