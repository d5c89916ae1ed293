/*
 * What a chunk's header asks for and bpk does not know may be that of a later program, or damage.
 * The rest of the archive tells: a digest that is right proves that it was written so; without
 * digests a chunk beside it that is known proves that it was not, since one program wrote both.
 */
#ifndef BPK_FORMAT_WEIGH_H
#define BPK_FORMAT_WEIGH_H

#include "checksum/checksum.h"
#include "io/io.h"

/* A chunk whose header was refused. */
struct bpk_suspect {
	struct bpk_source *source;           /* seekable; NULL: nothing can be looked up */
	uint64_t offset, room;               /* where the chunk begins, and the bytes from there */
	const struct bpk_checksum *checksum; /* NULL, or of size 0: it has no digest */
	const uint8_t *digest;               /* NULL: it stands behind the chunk */
	struct bpk_source *beside;           /* where a chunk beside it should be; NULL: nowhere */
	uint64_t beside_offset;
};

/* Turn a failure of BPK_UNSUPPORTED into one of BPK_CORRUPT where the archive proves damage; head
 * is the beginning of the chunk. Any other failure stays. Returns -1. */
int bpk_suspect_weigh(const struct bpk_suspect *suspect, struct bpk_view head, struct bpk_err *err);

#endif
