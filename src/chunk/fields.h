/*
 * Internal to chunk, shared by header.c and header_extended.c: the unparsed fields of a header.
 */
#ifndef BPK_CHUNK_FIELDS_H
#define BPK_CHUNK_FIELDS_H

#include "chunk/block.h"

/* "The 16 common bytes", and "Bytes 16..31", zero if the header is not extended. */
struct bpk_chunk_fields {
	unsigned version, versionlz, flags, typesize;
	int32_t nbytes, blocksize, cbytes;
	bool extended;
	uint8_t filters[BPK_CHUNK_MAX_FILTERS], metas[BPK_CHUNK_MAX_FILTERS];
	unsigned codec, flags2, blosc2_flags;
};

/* Bits of blosc2_flags and flags2 ("blosc2_flags", "Bytes 16..31"). */
enum {
	BPK_B2FLAG_DICTIONARY = 0x01,
	BPK_B2FLAG_BIG_ENDIAN = 0x02,
	BPK_B2FLAG_RESERVED = 0x04,
	BPK_B2FLAG_LAZY = 0x08,
	BPK_B2FLAG_SPECIAL = 0x70,
	BPK_B2FLAG_SPECIAL_SHIFT = 4,
	BPK_B2FLAG_INSTRUMENTED = 0x80,
	BPK_FLAG2_VARIABLE = 0x01,
};

/*
 * Parse bytes 16..31 into header, whose common fields are already filled ("Validation", items 6, 9
 * and 10). Fails with BPK_CORRUPT or BPK_UNSUPPORTED.
 */
int bpk_chunk_extended_read(const struct bpk_chunk_fields *fields, struct bpk_chunk_header *header,
			    struct bpk_err *err);

/* The pipeline of the filter slots, or of the flags in version 2. */
struct bpk_pipeline bpk_chunk_pipeline_of(const struct bpk_chunk_fields *fields);

/*
 * For a chunk with blocks: check that its codec and filters are built in ("Validation", items 7 and
 * 8).
 * Fails with BPK_UNSUPPORTED and the registered name, if any.
 */
int bpk_chunk_check_built_in(const struct bpk_chunk_fields *fields,
			     const struct bpk_chunk_header *header, struct bpk_err *err);

#endif
