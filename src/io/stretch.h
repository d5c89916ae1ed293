/*
 * Bytes of a source that are read in advance, for small parts of it that are read in order: a part
 * of io.h. A system call, and a hold, for each chunk of some bytes would cost far more than to
 * unpack it.
 */
#ifndef BPK_IO_STRETCH_H
#define BPK_IO_STRETCH_H

#include "base/base.h"

struct bpk_source;

enum { BPK_STRETCH = 4 << 10 }; /* longer reads are made directly: the copy would cost as much */

enum { BPK_STRETCH_PARTS = 4 };

/* Up to 512 KiB; any thread. Valid when zeroed, but for lock. */
struct bpk_stretch {
	struct bpk_mutex lock; /* guards the rest */
	/* threads beside each other read in order, each of them from a position of its own */
	struct bpk_stretch_part {
		struct bpk_buf bytes;
		uint64_t offset;
		uint64_t used; /* uses when it was used last */
	} parts[BPK_STRETCH_PARTS];
	uint64_t uses;
};

void bpk_stretch_init(struct bpk_stretch *stretch);
void bpk_stretch_clear(struct bpk_stretch *stretch);

/* Forget all bytes. */
void bpk_stretch_drop(struct bpk_stretch *stretch);

/* Copy the bytes at offset; false if they were not read in advance. */
bool bpk_stretch_copy(struct bpk_stretch *stretch, uint64_t offset, struct bpk_span out);

/*
 * The same, but read them if they are missing, and more and more bytes after them while reads
 * follow each other, up to room in all. source is held, or compared afterwards. out has at most
 * BPK_STRETCH bytes. Fails as bpk_source_need_at does.
 */
int bpk_stretch_read(struct bpk_stretch *stretch, struct bpk_source *source, uint64_t offset,
		     uint64_t room, struct bpk_span out, struct bpk_err *err);

#endif
