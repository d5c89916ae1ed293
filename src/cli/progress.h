/*
 * The progress bar: one line on standard error, drawn over itself, cleared at the end. Called by
 * transfers, changes, tar, messages and signals. Of files that are done beside each other the
 * status is that of one.
 */
#ifndef BPK_CLI_PROGRESS_H
#define BPK_CLI_PROGRESS_H

#include "cli/opt.h"

/* Caller storage. start and stop belong to the main thread; update may come from any. */
struct bpk_progress {
	const char *name; /* name of the file in work, borrowed */
	uint64_t total;   /* raw bytes to come; BPK_UNKNOWN */
	double started;   /* seconds on a steady clock */
	double next;      /* when to draw again */
	bool enabled;
	bool anywhere; /* not on a terminal alone */
};

/*
 * Start for one piece of work. With BPK_WHEN_AUTO it shows on a terminal only, after a second, not
 * when quiet, and not while the process is in the background; with BPK_WHEN_ALWAYS
 * at once and anywhere.
 */
void bpk_progress_start(struct bpk_progress *progress, enum bpk_when when, bool quiet,
			const char *name, uint64_t total);

/* The progress of a bpk_flow; arg is a struct bpk_progress. */
void bpk_progress_update(void *arg, uint64_t raw_done, uint64_t packed_done);

/* True if a bar would be drawn. */
bool bpk_progress_is_wanted(enum bpk_when when, bool quiet);

/* The bytes of all files of a command, as they lie on the disk: then bar and status tell how much
 * of them is done. 0: unknown. */
void bpk_progress_all(uint64_t size);

/* Number number of count files is in work, from 1, behind before bytes of the others, and has size
 * bytes: then bar and status tell so. */
void bpk_progress_file(uint64_t number, uint64_t count, uint64_t before, uint64_t size);

/* Print a line on standard error: the file in work, and how far it is. Any thread, but no handler
 * of signals. */
void bpk_progress_tell(void);

/* Clear the bar for good, before the process ends. Any thread. */
void bpk_progress_end(void);

/* Clear the bar if one is on the screen, before something else is printed. Any thread. */
void bpk_progress_hide(void);

#endif
