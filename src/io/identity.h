/* Inside the room io: the identity of the file or directory that a journal or a list of changes was
 * made for. A copy of it is another file, and so is a later file with the same inode number. */
#ifndef BPK_IO_IDENTITY_H
#define BPK_IO_IDENTITY_H

#include "base/base.h"

struct bpk_identity {
	uint64_t device, inode;
	uint64_t born;  /* nanoseconds since 1970; 0: unknown */
	uint32_t owner; /* user id; not compared */
};

/* The identity of the open file fd. Fails with BPK_FAILED. */
int bpk_identity_of(int fd, struct bpk_identity *identity, struct bpk_err *err);

/* True if both identify one file. Times of birth count when both are known. */
bool bpk_identity_same(const struct bpk_identity *a, const struct bpk_identity *b);

/* Why they differ, as a part of a line. made is the recorded identity, now the present one. */
const char *bpk_identity_differs(const struct bpk_identity *made, const struct bpk_identity *now,
				 struct bpk_err *text);

#endif
