/*
 * Guesses the one byte of a chunk that was damaged. bloscpack/salvage.c calls it.
 *
 * The difference of two CRC-32 is that of a chunk of zeros but for the damaged byte. Run backwards
 * from the end, it is a value of the byte table where that byte is.
 *
 *     chunk    0  0  e  0  0  0        e: difference of the byte
 *     CRC      0  0  T[e] ......  d    d: difference of the CRCs
 */
#include "format/guess.h"

enum {
	BYTES = 256,
	MOST = 2, /* candidates: then none is the only one */
};

/* One thread's own. */
struct guessing {
	struct bpk_chunk_ctx *ctx;
	const struct bpk_checksum *checksum;
	struct bpk_span chunk;
	const uint8_t *digest;
	uint64_t *budget;
	struct bpk_guess *guess;
	struct bpk_err *err;
	bool failed; /* a candidate could not be tested: one that fits may be missing */
};

/* ---- Candidates ---- */

static bool unpacks(struct guessing *g)
{
	struct bpk_view chunk = bpk_view(g->chunk.data, g->chunk.size);
	struct bpk_chunk_header header;
	struct bpk_err why = { 0 };
	bool good;

	if (bpk_chunk_header_read_plain(chunk, &header, NULL) != 0 ||
	    header.packed_size != g->chunk.size || header.raw_size == 0)
		return false;
	if (bpk_err_settle(bpk_chunk_prove(g->ctx, chunk, &why), &why, &good, g->err) != 0)
		g->failed = true;
	return good;
}

/* Count the byte at a place, if the chunk unpacks with it. */
static void try_byte(struct guessing *g, size_t at, uint8_t byte)
{
	uint8_t kept = g->chunk.data[at];

	g->chunk.data[at] = byte;
	if (unpacks(g)) {
		g->guess->count++;
		g->guess->at = (uint32_t)at;
		g->guess->byte = byte;
	}
	g->chunk.data[at] = kept;
}

/* One byte of the digest is damaged, and the chunk is not. */
static void try_digest(struct guessing *g, const uint8_t *computed)
{
	unsigned different = 0;

	for (unsigned i = 0; i < g->checksum->size; i++)
		different += computed[i] != g->digest[i];
	if (different == 1)
		try_byte(g, 0, g->chunk.data[0]);
}

/* ---- CRC-32 ---- */

/* Source: RFC 1952, section 8. */
static void fill_table(uint32_t table[BYTES], uint8_t by_top[BYTES])
{
	for (uint32_t n = 0; n < BYTES; n++) {
		uint32_t c = n;

		for (unsigned bit = 0; bit < 8; bit++)
			c = (c & 1) != 0 ? 0xedb88320U ^ (c >> 1) : c >> 1;
		table[n] = c;
		by_top[c >> 24] = (uint8_t)n;
	}
}

static void guess_crc32(struct guessing *g, uint32_t difference)
{
	uint32_t table[BYTES];
	uint8_t by_top[BYTES];

	fill_table(table, by_top);
	for (size_t at = g->chunk.size; at > 0 && g->guess->count < MOST; at--) {
		uint8_t e = by_top[difference >> 24];

		if (e != 0 && table[e] == difference)
			try_byte(g, at - 1, g->chunk.data[at - 1] ^ e);
		difference = ((difference ^ table[e]) << 8) | e;
	}
}

/* ---- Adler-32 ---- */

enum { ADLER = 65521 }; /* RFC 1950, section 8.2 */

static uint32_t power(uint32_t base, uint32_t exponent)
{
	uint64_t result = 1, square = base;

	for (; exponent > 0; exponent >>= 1) {
		if ((exponent & 1) != 0)
			result = result * square % ADLER;
		square = square * square % ADLER;
	}
	return (uint32_t)result;
}

/* A byte that is larger by e adds e to the low sum, and e to the high one for each byte from it to
 * the end. */
static void guess_adler32(struct guessing *g, uint32_t computed, uint32_t expected)
{
	uint32_t low = ((expected & 0xffff) + ADLER - (computed & 0xffff)) % ADLER;
	uint32_t high = ((expected >> 16) + ADLER - (computed >> 16)) % ADLER;
	int e = low < BYTES ? (int)low : (int)low - ADLER;
	uint64_t from_end;

	if (low == 0 || e <= -BYTES)
		return;
	from_end = (uint64_t)high * power(low, ADLER - 2) % ADLER;
	for (from_end = from_end > 0 ? from_end : ADLER;
	     from_end <= g->chunk.size && g->guess->count < MOST; from_end += ADLER) {
		size_t at = g->chunk.size - (size_t)from_end;
		int byte = g->chunk.data[at] + e;

		if (byte >= 0 && byte < BYTES)
			try_byte(g, at, (uint8_t)byte);
	}
}

/* ---- Other digests ---- */

static int test_all(struct guessing *g, bool bits)
{
	struct bpk_view chunk = bpk_view(g->chunk.data, g->chunk.size);
	uint8_t digest[BPK_DIGEST_MAX];

	for (size_t at = 0; at < chunk.size; at++)
		for (unsigned i = 1; i < BYTES && g->guess->count == 0; i = bits ? 2 * i : i + 1) {
			uint8_t kept = g->chunk.data[at];

			g->chunk.data[at] = (uint8_t)(kept ^ i);
			if (bpk_checksum_compute(g->checksum, chunk, digest, g->err) != 0)
				return -1;
			g->chunk.data[at] = kept;
			if (memcmp(digest, g->digest, g->checksum->size) == 0)
				try_byte(g, at, (uint8_t)(kept ^ i));
		}
	return 0;
}

enum { BITS = 8, VALUES = BYTES - 1 }; /* that a byte is changed to: in one bit, or any */

bool bpk_guess_allows(const struct bpk_checksum *checksum, uint64_t size, uint64_t budget)
{
	uint64_t bits;

	if (checksum->size == 0 || size > UINT32_MAX)
		return false;
	return checksum->size == sizeof(uint32_t) ||
	       (bpk_mul_u64(size * BITS, size, &bits) && bits <= budget);
}

/* Try each byte, or each bit, as far as the budget allows it. */
static int guess_other(struct guessing *g)
{
	uint64_t once = (uint64_t)g->chunk.size, values;

	if (!bpk_guess_allows(g->checksum, once, *g->budget)) {
		g->guess->too_large = true;
		return 0;
	}
	if (bpk_mul_u64(once * VALUES, once, &values) && values <= *g->budget) {
		*g->budget -= values;
		return test_all(g, false);
	}
	*g->budget -= once * BITS * once;
	return test_all(g, true);
}

int bpk_guess_byte(struct bpk_chunk_ctx *ctx, const struct bpk_checksum *checksum,
		   struct bpk_span chunk, const uint8_t *digest, uint64_t *budget,
		   struct bpk_guess *guess, struct bpk_err *err)
{
	struct guessing g = { ctx, checksum, chunk, digest, budget, guess, err, false };
	uint8_t computed[BPK_DIGEST_MAX];
	int rc = 0;

	*guess = (struct bpk_guess){ 0 };
	if (checksum->size == 0 || chunk.size == 0 || chunk.size > UINT32_MAX)
		return 0;
	if (bpk_checksum_compute(checksum, bpk_view(chunk.data, chunk.size), computed, err) != 0)
		return -1;
	try_digest(&g, computed);
	if (checksum->size != sizeof(uint32_t))
		rc = guess->count > 0 ? 0 : guess_other(&g);
	else if (strcmp(checksum->name, "crc32") == 0)
		guess_crc32(&g, bpk_get_le32(computed) ^ bpk_get_le32(digest));
	else
		guess_adler32(&g, bpk_get_le32(computed), bpk_get_le32(digest));
	return rc != 0 || g.failed ? -1 : 0;
}
