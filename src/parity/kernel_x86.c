/*
 * Vector kernels of x86: a byte shuffle looks up the products of 16 or 32 bytes at once, or an
 * instruction multiplies 64 bytes by a matrix of bits. Three of the ways that kernel.c chooses
 * from.
 */
#include "parity/kernel.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "parity/matrix.h"

static bool avx512_runs(void)
{
	return bpk_cpu_has(BPK_SIMD_AVX512);
}

static bool avx2_runs(void)
{
	return bpk_cpu_has(BPK_SIMD_AVX2);
}

static bool ssse3_runs(void)
{
	return bpk_cpu_has(BPK_SIMD_SSSE3);
}

/* ---- SSSE3 ---- */

struct halves_ssse3 {
	__m128i low, high;
};

static inline __attribute__((always_inline, target("ssse3"))) struct halves_ssse3
split_ssse3(__m128i v)
{
	const __m128i mask = _mm_set1_epi8(15);

	return (struct halves_ssse3){ _mm_and_si128(v, mask),
				      _mm_and_si128(_mm_srli_epi64(v, 4), mask) };
}

#define V_NAME(x)      x##_ssse3
#define V_TARGET       __attribute__((target("ssse3")))
#define V              __m128i
#define V_ROWS         4
#define V_FACTOR       struct halves_ssse3
#define V_IN           struct halves_ssse3
#define V_LOAD(from)   _mm_loadu_si128((const void *)(from))
#define V_STORE(to, v) _mm_storeu_si128((void *)(to), v)
#define V_XOR(a, b)    _mm_xor_si128(a, b)
#define V_SPLIT(v)     split_ssse3(v)
#define V_TABLE(table)                                                                             \
	{                                                                                          \
		V_LOAD(table), V_LOAD((table) + 16)                                                \
	}
#define V_PRODUCT(f, in) V_XOR(_mm_shuffle_epi8(f.low, in.low), _mm_shuffle_epi8(f.high, in.high))
#define V_REST           bpk_code_add_bytes
#include "parity/kernel_lanes.h"

/* ---- AVX2 ---- */

struct halves_avx2 {
	__m256i low, high;
};

static inline __attribute__((always_inline, target("avx2"))) struct halves_avx2
split_avx2(__m256i v)
{
	const __m256i mask = _mm256_set1_epi8(15);

	return (struct halves_avx2){ _mm256_and_si256(v, mask),
				     _mm256_and_si256(_mm256_srli_epi64(v, 4), mask) };
}

#define V_NAME(x)      x##_avx2
#define V_TARGET       __attribute__((target("avx2")))
#define V              __m256i
#define V_ROWS         4
#define V_FACTOR       struct halves_avx2
#define V_IN           struct halves_avx2
#define V_LOAD(from)   _mm256_loadu_si256((const void *)(from))
#define V_STORE(to, v) _mm256_storeu_si256((void *)(to), v)
#define V_XOR(a, b)    _mm256_xor_si256(a, b)
#define V_SPLIT(v)     split_avx2(v)
#define V_HALF(from)   _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(from)))
#define V_TABLE(table)                                                                             \
	{                                                                                          \
		V_HALF(table), V_HALF((table) + 16)                                                \
	}
#define V_PRODUCT(f, in)                                                                           \
	V_XOR(_mm256_shuffle_epi8(f.low, in.low), _mm256_shuffle_epi8(f.high, in.high))
#define V_REST add_ssse3
#include "parity/kernel_lanes.h"

/* ---- AVX-512 with GFNI ---- */

/* The product as a matrix of bits in the first 8 bytes, row i of which, in byte 7 - i, gives bit i;
 * behind it the tables of the rest. Source: Intel's manual, GF2P8AFFINEQB. */
static void prepare_matrix(uint8_t factor, uint8_t *table)
{
	memset(table, 0, BPK_CODE_TABLE);
	for (unsigned bit = 0; bit < 8; bit++) {
		unsigned product = bpk_gf_multiply(factor, (uint8_t)(1 << bit));

		for (unsigned i = 0; i < 8; i++)
			table[7 - i] |= (uint8_t)((product >> i & 1) << bit);
	}
}

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,gfni")))

static inline __attribute__((always_inline)) TARGET_AVX512 __m512i matrix_avx512(const void *table)
{
	long long bits;

	memcpy(&bits, table, sizeof bits);
	return _mm512_set1_epi64(bits);
}

/* The bytes behind the last pair of whole vectors: a vector at a time, the last one by a mask. */
static TARGET_AVX512 void add_masked(const struct bpk_code *code, const struct bpk_code_in *in,
				     uint8_t *const *out, size_t at, size_t size)
{
	for (size_t n; size > 0; at += n, size -= n) {
		__mmask64 mask = size < 64 ? ((__mmask64)1 << size) - 1 : ~(__mmask64)0;

		n = bpk_min_size(size, 64);
		for (unsigned row = 0; row < code->rows; row++) {
			__m512i sum = _mm512_maskz_loadu_epi8(mask, out[row] + at);

			for (unsigned c = 0; c < in->count; c++)
				sum = _mm512_xor_si512(
					sum,
					_mm512_gf2p8affine_epi64_epi8(
						_mm512_maskz_loadu_epi8(mask, in->cells[c] + at),
						matrix_avx512(
							bpk_code_table(code, row, in->column + c)),
						0));
			_mm512_mask_storeu_epi8(out[row] + at, mask, sum);
		}
	}
}

#define V_NAME(x)        x##_avx512
#define V_TARGET         TARGET_AVX512
#define V                __m512i
#define V_ROWS           8
#define V_FACTOR         __m512i
#define V_IN             __m512i
#define V_LOAD(from)     _mm512_loadu_si512((const void *)(from))
#define V_STORE(to, v)   _mm512_storeu_si512((void *)(to), v)
#define V_XOR(a, b)      _mm512_xor_si512(a, b)
#define V_SPLIT(v)       (v)
#define V_TABLE(table)   matrix_avx512(table)
#define V_PRODUCT(f, in) _mm512_gf2p8affine_epi64_epi8(in, f, 0)
#define V_REST           add_masked
#include "parity/kernel_lanes.h"

const struct bpk_code_way bpk_code_avx512 = { "avx512", avx512_runs, prepare_matrix, add_avx512 };
const struct bpk_code_way bpk_code_avx2 = { "avx2", avx2_runs, bpk_code_prepare, add_avx2 };
const struct bpk_code_way bpk_code_ssse3 = { "ssse3", ssse3_runs, bpk_code_prepare, add_ssse3 };
#endif
