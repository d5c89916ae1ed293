/*
 * Inside the room io: what the target of a draft names, and whether it may be written.
 */
#ifndef BPK_IO_TARGET_H
#define BPK_IO_TARGET_H

#include "io/io.h"

/* Caller storage, filled by bpk_target_find. */
struct bpk_target {
	int folder; /* of what is to be made or replaced: its folder, and the name there; else -1 */
	char *name;
	int fd;             /* of a target written directly: open for writing; else -1 */
	bool is_descriptor; /* fd is a duplicate of a descriptor that the process was given */
};

/*
 * Follow path as far as options allow. "-" is standard output; an explicit /dev/stdout or /dev/fd/N
 * means that descriptor, position and all, as it does in a shell's redirection. Fails as
 * bpk_draft_open does; what was filled in is given back by bpk_target_clear either way.
 */
int bpk_target_find(const char *path, const struct bpk_draft_options *options,
		    struct bpk_target *target, struct bpk_err *err);

void bpk_target_clear(struct bpk_target *target);

#endif
