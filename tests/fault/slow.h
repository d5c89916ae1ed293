/*
 * A reader whose output nobody takes for a while: it stands still in the midst of an archive.
 */
#ifndef BPK_TESTS_FAULT_SLOW_H
#define BPK_TESTS_FAULT_SLOW_H

#include <sys/types.h>

struct slow {
	pid_t pid;
	int output; /* the end of the pipe that nobody has read yet */
};

/* Start "bpk cat name", and wait until it has ended or filled its pipe of a page. */
void slow_start(struct slow *reader, const char *name);

/* Let it go on to its end. Its output goes to ../slow, its messages are in ../slow.said. Its
 * status, 128 + N for signal N. */
int slow_end(struct slow *reader);

#endif
