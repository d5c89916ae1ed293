/* A reader whose output is not read for a while, so that it stops in the middle of an archive.
 * living.c and trees.c use it. */
#ifndef BPK_TESTS_FAULT_SLOW_H
#define BPK_TESTS_FAULT_SLOW_H

#include <sys/types.h>

struct slow {
	pid_t pid;
	int output; /* the end of the pipe that is not read yet */
};

/* Start "bpk cat name", and wait until it has ended or filled its pipe of a page. */
void slow_start(struct slow *reader, const char *name);

/* Let it run to its end. Its output goes to ../slow, its messages are in ../slow.said. Returns its
 * status, 128 + N for signal N. */
int slow_end(struct slow *reader);

#endif
