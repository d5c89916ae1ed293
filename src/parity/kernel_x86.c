/*
 * Vector kernels of x86: a byte shuffle looks up the products of 16 or 32 bytes at once. Two of the
 * ways that kernel.c chooses from.
 */
#include "parity/kernel.h"

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2  __attribute__((target("avx2")))
#define SSSE3 __attribute__((target("ssse3")))

static bool avx2_runs(void)
{
	return bpk_cpu_has(BPK_SIMD_AVX2);
}

static bool ssse3_runs(void)
{
	return bpk_cpu_has(BPK_SIMD_SSSE3);
}

/* Tables of several rows in registers: in is loaded and split once for all of them. */
enum { TOGETHER = 4 };

static inline __attribute__((always_inline)) AVX2 size_t avx2_rows(unsigned rows,
								   const uint8_t *const *tables,
								   const uint8_t *in,
								   uint8_t *const *out, size_t size)
{
	const __m256i mask = _mm256_set1_epi8(15);
	__m256i low[TOGETHER], high[TOGETHER];
	size_t at;

	for (unsigned row = 0; row < rows; row++) {
		const __m128i *table = (const void *)tables[row];

		low[row] = _mm256_broadcastsi128_si256(_mm_loadu_si128(table));
		high[row] = _mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1));
	}
	for (at = 0; size - at >= sizeof mask; at += sizeof mask) {
		__m256i v = _mm256_loadu_si256((const void *)(in + at));
		__m256i lo = _mm256_and_si256(v, mask);
		__m256i hi = _mm256_and_si256(_mm256_srli_epi64(v, 4), mask);

		for (unsigned row = 0; row < rows; row++) {
			__m256i *to = (void *)(out[row] + at);
			__m256i product = _mm256_xor_si256(_mm256_shuffle_epi8(low[row], lo),
							   _mm256_shuffle_epi8(high[row], hi));

			_mm256_storeu_si256(to, _mm256_xor_si256(_mm256_loadu_si256(to), product));
		}
	}
	return at;
}

static inline __attribute__((always_inline)) SSSE3 size_t ssse3_rows(unsigned rows,
								     const uint8_t *const *tables,
								     const uint8_t *in,
								     uint8_t *const *out,
								     size_t size)
{
	const __m128i mask = _mm_set1_epi8(15);
	__m128i low[TOGETHER], high[TOGETHER];
	size_t at;

	for (unsigned row = 0; row < rows; row++) {
		const __m128i *table = (const void *)tables[row];

		low[row] = _mm_loadu_si128(table);
		high[row] = _mm_loadu_si128(table + 1);
	}
	for (at = 0; size - at >= sizeof mask; at += sizeof mask) {
		__m128i v = _mm_loadu_si128((const void *)(in + at));
		__m128i lo = _mm_and_si128(v, mask);
		__m128i hi = _mm_and_si128(_mm_srli_epi64(v, 4), mask);

		for (unsigned row = 0; row < rows; row++) {
			__m128i *to = (void *)(out[row] + at);
			__m128i product = _mm_xor_si128(_mm_shuffle_epi8(low[row], lo),
							_mm_shuffle_epi8(high[row], hi));

			_mm_storeu_si128(to, _mm_xor_si128(_mm_loadu_si128(to), product));
		}
	}
	return at;
}

/* The bytes behind the last whole vector of some rows. */
static void add_rest(unsigned rows, const uint8_t *const *tables, const uint8_t *in,
		     uint8_t *const *out, size_t at, size_t size)
{
	for (unsigned row = 0; row < rows && at < size; row++) {
		uint8_t *to = out[row] + at;

		bpk_code_add_portable(1, 1, 0, tables[row], in + at, &to, size - at);
	}
}

/* A function for all rows: those of TOGETHER, with counts that the compiler knows, then single
 * ones. */
#define ADD(NAME, ROWS, TARGET)                                                                    \
	static TARGET void NAME(unsigned rows, unsigned columns, unsigned column,                  \
				const uint8_t *tables, const uint8_t *in, uint8_t *const *out,     \
				size_t size)                                                       \
	{                                                                                          \
		const uint8_t *of[TOGETHER];                                                       \
		unsigned n;                                                                        \
                                                                                                   \
		for (unsigned row = 0; row < rows; row += n) {                                     \
			size_t at;                                                                 \
                                                                                                   \
			n = rows - row >= TOGETHER ? TOGETHER : 1;                                 \
			for (unsigned i = 0; i < n; i++)                                           \
				of[i] = tables +                                                   \
					((size_t)(row + i) * columns + column) * BPK_CODE_TABLE;   \
			at = n == TOGETHER ? ROWS(TOGETHER, of, in, out + row, size)               \
					   : ROWS(1, of, in, out + row, size);                     \
			add_rest(n, of, in, out + row, at, size);                                  \
		}                                                                                  \
	}

ADD(avx2_add, avx2_rows, AVX2)
ADD(ssse3_add, ssse3_rows, SSSE3)

const struct bpk_code_way bpk_code_avx2 = { "avx2", avx2_runs, bpk_code_prepare, avx2_add };
const struct bpk_code_way bpk_code_ssse3 = { "ssse3", ssse3_runs, bpk_code_prepare, ssse3_add };
#endif
