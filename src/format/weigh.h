/*
 * Judges unknown fields in a chunk's header: they come from a later program, or from damage. A
 * matching digest proves that the chunk was written that way. Without digests, a known chunk next
 * to it proves damage, since one program wrote both. Readers of Bloscpack files, chunked
 * directories and frames call it.
 */
#ifndef BPK_FORMAT_WEIGH_H
#define BPK_FORMAT_WEIGH_H

#include "checksum/checksum.h"
#include "io/io.h"

/* A chunk whose header was refused. */
struct bpk_suspect {
	struct bpk_source *source;           /* seekable; NULL: no bytes can be examined */
	uint64_t offset, room;               /* start of the chunk, and the bytes from there */
	const struct bpk_checksum *checksum; /* NULL or size 0: the chunk has no digest */
	const uint8_t *digest;               /* NULL: it follows the chunk */
	struct bpk_source *neighbour; /* source of a neighbouring chunk; NULL: no neighbour */
	uint64_t neighbour_offset;    /* where that chunk should begin */
};

/* Turn a BPK_UNSUPPORTED failure into BPK_CORRUPT if the archive proves damage; head holds the
 * first bytes of the chunk. Other failures stay unchanged. Returns -1. */
int bpk_suspect_weigh(const struct bpk_suspect *suspect, struct bpk_view head, struct bpk_err *err);

#endif
