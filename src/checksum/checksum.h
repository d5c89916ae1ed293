/*
 * The room checksum: digests by name, over zlib (adler32, crc32) and libcrypto (the others). It
 * does not know the origin of the bytes, nor the number that a format assigns to a digest. Called
 * by format and cli.
 */
#ifndef BPK_CHECKSUM_CHECKSUM_H
#define BPK_CHECKSUM_CHECKSUM_H

#include "base/base.h"

enum {
	BPK_DIGEST_MAX = 64,
	BPK_DIGEST_TEXT = 2 * BPK_DIGEST_MAX + 1, /* in hexadecimal, with a NUL */
};

/* One kind of digest. The kind without a digest has size 0. Constant. */
struct bpk_checksum {
	const char *name; /* "none", "adler32", "crc32", "md5", "sha1", "sha224" ... "sha512" */
	unsigned size;    /* bytes of a digest, 0..BPK_DIGEST_MAX */
	bool proves;      /* cryptographic: a match rules out accidental damage */
};

/* All kinds, the empty one first. The last row has a NULL name. */
extern const struct bpk_checksum bpk_checksums[];

/* The row of that name; NULL if unknown. */
const struct bpk_checksum *bpk_checksum_find(const char *name);

/* True if nobody can make other bytes of the same digest: SHA-2. */
bool bpk_checksum_is_strong(const struct bpk_checksum *checksum);

/*
 * Compute the digest of bytes, checksum->size bytes at out: adler32 and crc32 as little-endian u32,
 * the others in their usual order. libcrypto's algorithms are fetched once per process, on first
 * use.
 * Fails with BPK_FAILED when libcrypto refuses the algorithm (md5 in a FIPS set-up). Any thread.
 */
int bpk_checksum_compute(const struct bpk_checksum *checksum, struct bpk_view bytes,
			 uint8_t out[BPK_DIGEST_MAX], struct bpk_err *err);

/*
 * Compare bytes with the digest stored at expected (checksum->size bytes). Fails with BPK_CORRUPT
 * and the line "crc32 is 0badcafe, expected 12345678" if they differ. In fuzz builds (BPK_FUZZING
 * defined) every digest matches; this is the one place that skips the comparison. Any thread.
 */
int bpk_checksum_check(const struct bpk_checksum *checksum, struct bpk_view bytes,
		       const uint8_t *expected, struct bpk_err *err);

/* Print the bytes of a digest in their order, in hexadecimal, and return text. Any thread. */
const char *bpk_digest_print(const uint8_t *digest, unsigned size, char text[BPK_DIGEST_TEXT]);

/* ---- Of bytes in pieces ---- */

/* A digest under way; owned by one thread. Valid when zeroed; must be cleared. */
struct bpk_summing {
	const struct bpk_checksum *checksum;
	uint32_t sum; /* adler32, crc32 */
	void *crypto; /* libcrypto's state; NULL for the others */
};

/* Begin, and add the next bytes. Fail as bpk_checksum_compute does. */
int bpk_summing_begin(struct bpk_summing *s, const struct bpk_checksum *checksum,
		      struct bpk_err *err);
int bpk_summing_add(struct bpk_summing *s, struct bpk_view bytes, struct bpk_err *err);

/* The digest of all bytes that were added, as bpk_checksum_compute gives it. The last call before
 * clear. */
int bpk_summing_end(struct bpk_summing *s, uint8_t out[BPK_DIGEST_MAX], struct bpk_err *err);

/* The same, and bpk_checksum_check of it instead. */
int bpk_summing_check(struct bpk_summing *s, const uint8_t *expected, struct bpk_err *err);
void bpk_summing_clear(struct bpk_summing *s);

#include "checksum/merkle.h"

#endif
