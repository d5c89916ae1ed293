/* The choice of the inner loop, a vector kernel or portable code. Called by the files of the
 * room. */
#include "parity/kernel.h"

#include <stdlib.h>

#include "parity/matrix.h"

/* ---- tables, a byte at a time ---- */

void bpk_code_prepare(uint8_t factor, uint8_t *table)
{
	for (unsigned four = 0; four < 16; four++) {
		table[four] = bpk_gf_multiply(factor, (uint8_t)four);
		table[16 + four] = bpk_gf_multiply(factor, (uint8_t)(four << 4));
	}
}

void bpk_code_add_bytes(const struct bpk_code *code, const struct bpk_code_in *in,
			uint8_t *const *out, size_t at, size_t size)
{
	for (unsigned row = 0; row < code->rows; row++)
		for (unsigned c = 0; c < in->count; c++) {
			const uint8_t *table = bpk_code_table(code, row, in->column + c);
			const uint8_t *from = in->cells[c] + at;
			uint8_t *to = out[row] + at;

			for (size_t i = 0; i < size; i++)
				to[i] ^= table[from[i] & 15] ^ table[16 + (from[i] >> 4)];
		}
}

/* ---- portable ---- */

/* The compiler's own vectors, of registers or of words. */
typedef uint64_t wide __attribute__((vector_size(16), aligned(1), may_alias));

enum {
	WIDES = 8, /* of a block of a cell */
	BLOCK = WIDES * sizeof(wide),
	BESIDE = 3, /* blocks whose multiples stay in the first cache, 4 KiB of each */
};

/* The multiples of a block by 0 to 15, and by 16 times as much. Any product is the sum of one of
 * each. */
struct multiples {
	wide of[2][16][WIDES];
};

/* Multiply each byte by 2. */
static inline wide twice(wide x)
{
	wide high = x & 0x8080808080808080u;
	wide full = (high << 1) - (high >> 7); /* 255 in each byte whose high bit was set */

	return ((x ^ high) << 1) ^ (full & 0x1d1d1d1d1d1d1d1du);
}

static void multiply_block(struct multiples *m, const uint8_t *in)
{
	for (size_t i = 0; i < WIDES; i++) {
		wide power = ((const wide *)(const void *)in)[i];

		for (unsigned half = 0; half < 2; half++) {
			m->of[half][0][i] = power ^ power;
#pragma GCC unroll 4
			for (unsigned bit = 1; bit < 16; bit *= 2, power = twice(power))
#pragma GCC unroll 8
				for (unsigned by = 0; by < bit; by++)
					m->of[half][bit + by][i] = m->of[half][by][i] ^ power;
		}
	}
}

/* Add the products of several blocks to a row's. */
static void add_blocks(const struct multiples *m, const uint8_t *by, unsigned count, uint8_t *out)
{
	wide sums[WIDES], *to = (void *)out;

#pragma GCC unroll 8
	for (size_t i = 0; i < WIDES; i++)
		sums[i] = to[i];
	for (unsigned c = 0; c < count; c++) {
		const wide *low = m[c].of[0][by[c] & 15], *high = m[c].of[1][by[c] >> 4];

#pragma GCC unroll 8
		for (size_t i = 0; i < WIDES; i++)
			sums[i] ^= low[i] ^ high[i];
	}
#pragma GCC unroll 8
	for (size_t i = 0; i < WIDES; i++)
		to[i] = sums[i];
}

static void add_beside(const struct bpk_code *code, const struct bpk_code_in *in,
		       uint8_t *const *out, size_t at)
{
	struct multiples m[BESIDE];

	for (unsigned first = 0, count; first < in->count; first += count) {
		count = (unsigned)bpk_min_size(BESIDE, in->count - first);
		for (unsigned c = 0; c < count; c++)
			multiply_block(&m[c], in->cells[first + c] + at);
		for (unsigned row = 0; row < code->rows; row++) {
			uint8_t by[BESIDE] = { 0 };

			for (unsigned c = 0; c < count; c++)
				by[c] = bpk_code_table(code, row, in->column + first + c)[1];
			add_blocks(m, by, count, out[row] + at);
		}
	}
}

static void portable_add(const struct bpk_code *code, const struct bpk_code_in *in,
			 uint8_t *const *out, size_t at, size_t size)
{
	size_t end = at + size - size % BLOCK;

	for (; at < end; at += BLOCK)
		add_beside(code, in, out, at);
	bpk_code_add_bytes(code, in, out, end, size % BLOCK);
}

static bool always(void)
{
	return true;
}

static const struct bpk_code_way portable = { "portable", always, bpk_code_prepare, portable_add };

/* ---- the choice ---- */

const struct bpk_code_way *const bpk_code_ways[] = {
#ifdef __x86_64__
	&bpk_code_avx512, &bpk_code_avx2, &bpk_code_ssse3,
#endif
#ifdef __aarch64__
	&bpk_code_neon,
#endif
	&portable,        NULL,
};

const struct bpk_code_way *bpk_code_way(void)
{
	const struct bpk_code_way *const *way = bpk_code_ways;

	while (!(*way)->runs())
		way++;
	return *way;
}

/* ---- codes ---- */

int bpk_code_init_factors(struct bpk_code *code, const struct bpk_code_way *way, unsigned rows,
			  unsigned columns, const uint8_t *factors, struct bpk_err *err)
{
	size_t count = (size_t)rows * columns;

	*code = (struct bpk_code){ .rows = rows, .columns = columns, .way = way };
	code->tables = bpk_calloc(count, BPK_CODE_TABLE, err);
	if (code->tables == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		way->prepare(factors[i], code->tables + i * BPK_CODE_TABLE);
	return 0;
}

int bpk_code_init(struct bpk_code *code, unsigned rows, unsigned columns, struct bpk_err *err)
{
	uint8_t *factors = bpk_calloc((size_t)rows * columns, 1, err);
	int rc = -1;

	for (unsigned row = 0; factors != NULL && row < rows; row++)
		for (unsigned column = 0; column < columns; column++)
			factors[row * columns + column] = bpk_code_factor(row, column);
	if (factors != NULL)
		rc = bpk_code_init_factors(code, bpk_code_way(), rows, columns, factors, err);
	free(factors);
	return rc;
}

void bpk_code_clear(struct bpk_code *code)
{
	free(code->tables);
	*code = (struct bpk_code){ 0 };
}

/* A part of each row and of some cells at a time stays in the second cache. */
void bpk_code_add(const struct bpk_code *code, const struct bpk_code_in *in, uint8_t *const *out,
		  size_t size)
{
	for (size_t at = 0; at < size; at += BPK_CODE_STRIPE)
		for (unsigned c = 0; c < in->count; c += BPK_CODE_TOGETHER) {
			const struct bpk_code_in some = {
				.column = in->column + c,
				.count = (unsigned)bpk_min_size(BPK_CODE_TOGETHER, in->count - c),
				.cells = in->cells + c,
			};

			code->way->add(code, &some, out, at,
				       bpk_min_size(BPK_CODE_STRIPE, size - at));
		}
}
