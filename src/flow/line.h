/*
 * Small jobs beside each other: each is begun and ended in its turn, while several are worked on at
 * the same time. A part of the room's door; the commands of many files call it.
 */
#ifndef BPK_FLOW_LINE_H
#define BPK_FLOW_LINE_H

#include "base/base.h"

/*
 * The jobs have numbers from 0 on. begin, end and alone are called by the thread that runs the
 * line, each in the order of the numbers. work comes between begin and end, on any thread, while
 * other jobs may be in any of the calls.
 */
struct bpk_line {
	size_t count;     /* of jobs */
	unsigned threads; /* that run at the same time, at least 1 */
	unsigned nplaces; /* jobs that are begun and not ended, at least 1. Each has a place */
	/* Begin a job. False: it is not begun, and is left to alone. */
	bool (*begin)(void *arg, size_t number, unsigned place);
	void (*work)(void *arg, unsigned place);
	void (*end)(void *arg, size_t number, unsigned place);
	/* Do a whole job, when all before it have ended. NULL: every job can be begun. */
	void (*alone)(void *arg, size_t number);
	void *arg;
};

/* Set threads for the jobs that are counted, and places: for each thread, and one that waits. */
static inline void bpk_line_set_threads(struct bpk_line *line, unsigned threads)
{
	line->threads = (unsigned)bpk_max_u64(1, bpk_min_u64(threads, line->count));
	line->nplaces = line->threads > 1 ? 2 * line->threads : 1;
}

/* Do all jobs, and return when they have ended. Fails with BPK_NO_MEMORY, and none is begun. */
int bpk_line_run(const struct bpk_line *line, struct bpk_err *err);

#endif
