/*
 * The room checksum: digests by name, over zlib (adler32, crc32) and libcrypto (the rest). It does
 * not know where the bytes came from, nor which number a format gives to a digest.
 */
#ifndef BPK_CHECKSUM_CHECKSUM_H
#define BPK_CHECKSUM_CHECKSUM_H

#include "base/base.h"

enum { BPK_DIGEST_MAX = 64 };

/* One kind of digest; "none" has size 0. Fixed for the life of the program. */
struct bpk_checksum {
	const char *name; /* "none", "adler32", "crc32", "md5", "sha1", "sha224" ... "sha512" */
	unsigned size;    /* bytes of a digest, 0..BPK_DIGEST_MAX */
	bool proves; /* cryptographic: a match proves the bytes against accident beyond doubt */
};

/* All of them, ended by one whose name is NULL; "none" first. */
extern const struct bpk_checksum bpk_checksums[];

/* By name; NULL when there is no such digest. */
const struct bpk_checksum *bpk_checksum_find(const char *name);

/*
 * The digest of bytes, checksum->size bytes at out: adler32 and crc32 as little-endian u32, the
 * rest in their usual order. libcrypto's algorithms are fetched once per process, on first use.
 * Fails with BPK_FAILED when libcrypto refuses one (md5 in a FIPS set-up). Any thread.
 */
int bpk_checksum_compute(const struct bpk_checksum *checksum, struct bpk_view bytes,
			 uint8_t out[BPK_DIGEST_MAX], struct bpk_err *err);

/*
 * Compare bytes with the digest stored at expected (checksum->size bytes). Fails with BPK_CORRUPT
 * and the line "crc32 is 0badcafe, expected 12345678" when they differ. In fuzz builds
 * (BPK_FUZZING defined) every digest matches: the one place where they are skipped. Any thread.
 */
int bpk_checksum_check(const struct bpk_checksum *checksum, struct bpk_view bytes,
		       const uint8_t *expected, struct bpk_err *err);

#endif
