/* Inside the room io: the file that a draft's target names, and whether it may be written. For
 * drafts and tree/new.c. */
#ifndef BPK_IO_FILE_TARGET_H
#define BPK_IO_FILE_TARGET_H

#include "io/io.h"

/* Caller storage, filled by bpk_target_find. */
struct bpk_target {
	int folder;         /* of a target to be created or replaced; otherwise -1 */
	char *name;         /* in folder */
	int fd;             /* of a target written directly: open for writing; otherwise -1 */
	bool is_descriptor; /* fd is a duplicate of an inherited descriptor */
};

/*
 * Follow path within the options. "-" is standard output. An explicit /dev/stdout or /dev/fd/N
 * means that descriptor including its position, as it does in a shell's redirection. Fails as
 * bpk_draft_open does. In both cases the caller releases target with bpk_target_clear.
 */
int bpk_target_find(const char *path, const struct bpk_draft_options *options,
		    struct bpk_target *target, struct bpk_err *err);

void bpk_target_clear(struct bpk_target *target);

#endif
