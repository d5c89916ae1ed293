/*
 * Inside the room io: which file or directory a journal or a list of changes was made for. A copy
 * of it is another file, and so is what gets its inode number after it is gone.
 */
#ifndef BPK_IO_IDENTITY_H
#define BPK_IO_IDENTITY_H

#include "base/base.h"

struct bpk_identity {
	uint64_t device, inode;
	uint64_t born;  /* nanoseconds since 1970; 0: the file system does not say */
	uint32_t owner; /* user id; not part of what the file is */
};

/* Of the open file fd. Fails with BPK_FAILED. */
int bpk_identity_of(int fd, struct bpk_identity *identity, struct bpk_err *err);

/* Are they one file? Times of birth count where both are known. */
bool bpk_identity_same(const struct bpk_identity *a, const struct bpk_identity *b);

/* Why they are not, as a part of a line: made was noted down, now is what is there. */
const char *bpk_identity_differs(const struct bpk_identity *made, const struct bpk_identity *now,
				 struct bpk_err *text);

#endif
