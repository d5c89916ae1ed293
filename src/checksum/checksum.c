/*
 * Digests by name. Formats seal and check packed chunks with them.
 */
#include "checksum/checksum.h"

#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdio.h>

#include "config.h"

#define CALLS(X)                                                                                   \
	X(EVP_Digest)                                                                              \
	X(EVP_DigestInit_ex)                                                                       \
	X(EVP_DigestUpdate)                                                                        \
	X(EVP_DigestFinal_ex)                                                                      \
	X(EVP_MD_CTX_new)                                                                          \
	X(EVP_MD_CTX_free)                                                                         \
	X(EVP_MD_fetch)                                                                            \
	X(EVP_MD_free)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(CRYPTO_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(CRYPTO_SONAME, names, calls);

enum { NONE, ADLER32, CRC32, FIRST_OF_CRYPTO };

const struct bpk_checksum bpk_checksums[] = {
	[NONE] = { "none", 0, false },
	[ADLER32] = { "adler32", 4, false },
	[CRC32] = { "crc32", 4, false },
	{ "md5", 16, true },
	{ "sha1", 20, true },
	{ "sha224", 28, true },
	{ "sha256", 32, true },
	{ "sha384", 48, true },
	{ "sha512", 64, true },
	{ NULL, 0, false },
};

enum { ROWS = sizeof bpk_checksums / sizeof bpk_checksums[0] };

/* Filled on first use, kept until exit; a row is written once. */
static _Atomic(EVP_MD *) fetched[ROWS];

const struct bpk_checksum *bpk_checksum_find(const char *name)
{
	for (const struct bpk_checksum *row = bpk_checksums; row->name != NULL; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

bool bpk_checksum_is_strong(const struct bpk_checksum *checksum)
{
	return checksum >= bpk_checksum_find("sha224");
}

/* libcrypto's algorithm for a row. If two threads fetch it at once, the second releases its
 * copy. */
static EVP_MD *algorithm(size_t row)
{
	EVP_MD *known = atomic_load_explicit(&fetched[row], memory_order_acquire);
	EVP_MD *mine;

	if (known != NULL)
		return known;
	mine = calls.EVP_MD_fetch(NULL, bpk_checksums[row].name, NULL);
	if (mine == NULL || atomic_compare_exchange_strong(&fetched[row], &known, mine))
		return mine;
	calls.EVP_MD_free(mine);
	return known;
}

static int compute_crypto(size_t row, struct bpk_view bytes, uint8_t *out, struct bpk_err *err)
{
	unsigned size = 0;
	EVP_MD *md;

	if (bpk_library_need(&library, err) != 0)
		return -1;
	md = algorithm(row);
	if (md == NULL || !calls.EVP_Digest(bytes.size > 0 ? bytes.data : (const uint8_t *)"",
					    bytes.size, out, &size, md, NULL))
		return bpk_fail(err, BPK_FAILED, "libcrypto refuses %s", bpk_checksums[row].name);
	if (size != bpk_checksums[row].size)
		return bpk_fail(err, BPK_BUG, "%s has %u bytes, expected %u",
				bpk_checksums[row].name, size, bpk_checksums[row].size);
	return 0;
}

int bpk_checksum_compute(const struct bpk_checksum *checksum, struct bpk_view bytes,
			 uint8_t out[BPK_DIGEST_MAX], struct bpk_err *err)
{
	size_t row = (size_t)(checksum - bpk_checksums);

	switch (row) {
	case NONE:
		return 0;
	case ADLER32:
		bpk_put_le32(out, bpk_adler32(1, bytes));
		return 0;
	case CRC32:
		bpk_put_le32(out, bpk_crc32(0, bytes));
		return 0;
	default:
		return compute_crypto(row, bytes, out, err);
	}
}

const char *bpk_digest_print(const uint8_t *digest, unsigned size, char text[BPK_DIGEST_TEXT])
{
	text[0] = '\0';
	for (unsigned i = 0; i < size && i < BPK_DIGEST_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return text;
}

/* A digest in reports: a number for Adler-32 and CRC-32, bytes in order for the others. */
static const char *print(const struct bpk_checksum *checksum, const uint8_t *digest,
			 char text[BPK_DIGEST_TEXT])
{
	if (checksum >= bpk_checksums + FIRST_OF_CRYPTO)
		return bpk_digest_print(digest, checksum->size, text);
	snprintf(text, BPK_DIGEST_TEXT, "%08x", (unsigned)bpk_get_le32(digest));
	return text;
}

/* Compare a digest with the expected one. */
static int compare(const struct bpk_checksum *checksum, const uint8_t *digest,
		   const uint8_t *expected, struct bpk_err *err)
{
	char is[BPK_DIGEST_TEXT], was[BPK_DIGEST_TEXT];
	bool same = checksum->size == 0 || memcmp(digest, expected, checksum->size) == 0;

#ifdef BPK_FUZZING
	same = true; /* a fuzzer does not find digests */
#endif
	if (same)
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "%s is %s, expected %s", checksum->name,
			print(checksum, digest, is), print(checksum, expected, was));
}

int bpk_checksum_check(const struct bpk_checksum *checksum, struct bpk_view bytes,
		       const uint8_t *expected, struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];

	if (bpk_checksum_compute(checksum, bytes, digest, err) != 0)
		return -1;
	return compare(checksum, digest, expected, err);
}

/* ---- Of bytes in pieces ---- */

static bool is_crypto(const struct bpk_checksum *checksum)
{
	return checksum >= bpk_checksums + FIRST_OF_CRYPTO;
}

static int fail_refused(const struct bpk_checksum *checksum, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "libcrypto refuses %s", checksum->name);
}

int bpk_summing_begin(struct bpk_summing *s, const struct bpk_checksum *checksum,
		      struct bpk_err *err)
{
	EVP_MD *md;

	*s = (struct bpk_summing){ .checksum = checksum };
	s->sum = checksum == &bpk_checksums[ADLER32];
	if (!is_crypto(checksum))
		return 0;
	if (bpk_library_need(&library, err) != 0)
		return -1;
	md = algorithm((size_t)(checksum - bpk_checksums));
	s->crypto = calls.EVP_MD_CTX_new();
	if (md != NULL && s->crypto != NULL && calls.EVP_DigestInit_ex(s->crypto, md, NULL))
		return 0;
	bpk_summing_clear(s);
	return fail_refused(checksum, err);
}

int bpk_summing_add(struct bpk_summing *s, struct bpk_view bytes, struct bpk_err *err)
{
	if (s->checksum == &bpk_checksums[ADLER32])
		s->sum = bpk_adler32(s->sum, bytes);
	else if (s->checksum == &bpk_checksums[CRC32])
		s->sum = bpk_crc32(s->sum, bytes);
	else if (s->crypto != NULL && bytes.size > 0 &&
		 !calls.EVP_DigestUpdate(s->crypto, bytes.data, bytes.size))
		return fail_refused(s->checksum, err);
	return 0;
}

int bpk_summing_end(struct bpk_summing *s, uint8_t out[BPK_DIGEST_MAX], struct bpk_err *err)
{
	unsigned size;

	bpk_put_le32(out, s->sum);
	if (s->crypto != NULL && !calls.EVP_DigestFinal_ex(s->crypto, out, &size))
		return fail_refused(s->checksum, err);
	return 0;
}

int bpk_summing_check(struct bpk_summing *s, const uint8_t *expected, struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];

	if (bpk_summing_end(s, digest, err) != 0)
		return -1;
	return compare(s->checksum, digest, expected, err);
}

void bpk_summing_clear(struct bpk_summing *s)
{
	if (s->crypto != NULL)
		calls.EVP_MD_CTX_free(s->crypto);
	s->crypto = NULL;
}
