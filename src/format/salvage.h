/*
 * The chunks that are left of a file whose header, index or order of bytes is lost. A part of the
 * room's door: a format that can find them has a salvage call in its row (format.h); repair calls
 * it.
 */
#ifndef BPK_FORMAT_SALVAGE_H
#define BPK_FORMAT_SALVAGE_H

#include "base/base.h"
#include "checksum/checksum.h"

struct bpk_source;

/* A chunk that was found, or the place of one that is damaged. */
struct bpk_saved {
	uint64_t number; /* in the archive, as far as that is known; ascending */
	uint64_t offset;
	uint32_t packed_size, raw_size; /* by its header */
	bool intact;
};

/* Caller storage, valid when zeroed. */
struct bpk_salvage {
	struct bpk_saved *all; /* in ascending order of offsets */
	size_t count, room;
	const struct bpk_checksum *checksum; /* of the chunks; never NULL */
	unsigned typesize;
	uint32_t chunk_size; /* raw bytes of every chunk but the last */
	uint64_t nchunks;    /* of the archive; at least the last number and one */
	uint64_t last_size;  /* raw bytes of the last one; unknown if that is lost */
	bool counted;        /* numbers and nchunks are certain; else the lost ones are estimated */
	bool sealed;         /* traces of a seal over the whole archive were found */
	size_t nothers;      /* intact chunks of another size, as of an archive inside the data */
};

void bpk_salvage_clear(struct bpk_salvage *salvage);

/* Add a chunk. Fails with BPK_NO_MEMORY. */
int bpk_salvage_add(struct bpk_salvage *salvage, const struct bpk_saved *found,
		    struct bpk_err *err);

#endif
