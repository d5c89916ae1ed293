/*
 * All kernels of one vector set, as a template. A file in x86/ or arm/ defines the vector
 * operations listed below, then includes this once.
 *
 * A vector has V_SLOTS slots of V_SLOT bytes. Each slot works independently on V_SLOT elements, in
 * L registers (the typesize t rounded up to a power of two) that each hold k = V_SLOT / L elements.
 * Shuffling, drawn for V_SLOT = 16, t = 3: L = 4 registers, k = 4 elements in each, a0 a1 a2 being
 * the bytes of element a:
 *
 *     load      v0 = a0 a1 a2 b0 b1 b2 ...   v1 = e0 e1 e2 ...    v2 = i0 ...    v3 = m0 ...
 *     permute   v0 = a0 b0 c0 d0 | a1 b1 c1 d1 | a2 b2 c2 d2 | ....   and v1 v2 v3 alike
 *     zip       runs of k bytes of v0 and v2, v1 and v3; then once more: log2(L) rounds
 *     store     v0 = a0 b0 c0 ... p0   v1 = a1 b1 c1 ... p1   v2 = a2 b2 c2 ... p2
 *
 * One round of zipping rotates the index of a run (register, then position within it) left by one
 * bit, so log2(L) rounds transpose the L x L runs. Unshuffling zips planes in the same way, then
 * permutes.
 *
 * Loads and stores are whole slots, although k elements fill only k*t bytes of one. The load of the
 * first k elements extends into the next elements; all other loads end with their elements and
 * begin in earlier ones. A store overruns its elements, and the next store repairs that; the last
 * store is assembled from two registers and fits. So no block touches a byte outside its own.
 *
 * The elements left at the end are processed with the last whole block, some of them twice. Fewer
 * elements than one block are left to the set V_BELOW.
 *
 *   V                        the vector type
 *   V_SLOT, V_SLOTS          16 or 64 (bytes); slots in a vector
 *   V_TARGET                 the attribute target(...), or empty
 *   V_PERMUTE                1 with a byte permutation; without it, typesizes that are not a power
 *                            of two are left to V_BELOW, and byte runs are zipped instead
 *   V_NAME, V_SIMD, V_BELOW  the set's variable, its number, and the next smaller set's variable
 *   v_load(p) v_store(p, v)  V_SLOT * V_SLOTS bytes
 *   v_load_slots(p, step) v_store_slots(p, step, v)      slot s at p + s*step
 *   v_load_columns(p, step) v_store_columns(p, step, v)  every slot takes V_SLOT/16 rows of 16
 *                            bytes, step bytes apart; slot s begins with row s*V_SLOT
 *   v_zero()
 *   v_zip(k, a, b, lo, hi)   interleave runs of k bytes within each slot
 *   v_bits(v)                transpose 8x8 bits in every 8 bytes (optional)
 *   v_places(p)              a row of places.h for v_permute, for each slot
 *   v_permute(v, places)
 *   v_tail(a, b, places)     a permutation of the bytes of two slots
 */
#include <stdbool.h>

#define V_FN static inline __attribute__((always_inline)) V_TARGET
/* Arrays stay in registers if loops are unrolled early; compilers differ in the pragma. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum {
	BLOCK = V_SLOT * V_SLOTS, /* elements, and bytes of a vector */
	TILE = 16,                /* columns per tile */
	/* bytes of a tile of planes, without the gaps; with 8192, wide elements are 10 to 30%
	 * slower */
	TILE_SIZE = 32768,
	APART = 64, /* gap between planes in a tile, so that they use different cache sets */
};

#if V_PERMUTE
struct places {
	uint8_t left[V_SLOT], right[V_SLOT], compact[V_SLOT], tail[V_SLOT];
};

#if V_SLOT == 64
static const struct places places[TILE + 1] = PLACES_TABLE(64);
#else
static const struct places places[TILE + 1] = PLACES_TABLE(16);
#endif
#endif

/* k: the number of elements of typesize in one slot. */
V_FN size_t run_of(size_t typesize)
{
	return V_SLOT / (typesize <= 2 ? 2 : typesize <= 4 ? 4 : typesize <= 8 ? 8 : 16);
}

V_FN void zip_all(V v[TILE], size_t count, size_t run, unsigned rounds)
{
	V next[TILE];

	UNROLL
	for (unsigned round = 0; round < rounds; round++) {
		UNROLL
		for (size_t i = 0; i < count / 2; i++)
			v_zip(run, v[i], v[i + count / 2], &next[2 * i], &next[2 * i + 1]);
		UNROLL
		for (size_t i = 0; i < count; i++)
			v[i] = next[i];
	}
}

V_FN unsigned log2_of(size_t power)
{
	return power == 2 ? 1 : power == 4 ? 2 : power == 8 ? 3 : 4;
}

#ifndef v_bits
typedef uint64_t words __attribute__((vector_size(sizeof(V))));

/* Swap the bits of v[r] at mask << shift with those of v[r + shift] at mask. */
V_FN void turn_round(V v[8], unsigned shift, uint64_t mask)
{
	UNROLL
	for (unsigned r = 0; r < 8; r++) {
		if ((r & shift) == 0) {
			words a = (words)v[r], b = (words)v[r + shift];
			words swap = ((a >> shift) ^ b) & mask;

			v[r] = (V)(a ^ (swap << shift));
			v[r + shift] = (V)(b ^ swap);
		}
	}
}

/* Transpose the 8x8 bits at the same position in 8 registers, for all positions. */
V_FN void turn_bits(V v[8])
{
	turn_round(v, 4, 0x0f0f0f0f0f0f0f0f);
	turn_round(v, 2, 0x3333333333333333);
	turn_round(v, 1, 0x5555555555555555);
}
#endif

/* Shuffle BLOCK elements into planes that are stride bytes apart. bits: for split_bits. */
V_FN void shuffle_block(const uint8_t *in, size_t typesize, uint8_t *out, size_t stride, bool bits)
{
	size_t run = run_of(typesize), count = V_SLOT / run;
	size_t unused = V_SLOT - run * typesize;
	size_t first = 0;
	V v[TILE];

	UNROLL
	for (size_t g = 0; g < count; g++) {
		v[g] = v_load_slots(in + g * run * typesize - (g > 0 ? unused : 0),
				    V_SLOT * typesize);
#ifdef v_bits
		if (bits)
			v[g] = v_bits(v[g]);
#endif
	}
#if V_PERMUTE
	if (run > 1) {
		v[0] = v_permute(v[0], v_places(places[typesize].left));
		UNROLL
		for (size_t g = 1; g < count; g++)
			v[g] = v_permute(v[g], v_places(places[typesize].right));
	} else if (unused > 0) {
		v[0] = v_permute(v[0], v_places(places[typesize].left));
		first = unused;
	}
	zip_all(v, count, run, log2_of(count));
#else
	zip_all(v, count, 1, 4);
#endif
#ifndef v_bits
	if (bits)
		turn_bits(v);
#endif
	UNROLL
	for (size_t j = 0; j < typesize; j++)
		v_store(out + j * stride, v[first + j]);
}

V_FN void unshuffle_block(const uint8_t *const *planes, size_t at, size_t typesize, uint8_t *out,
			  bool bits)
{
	size_t run = run_of(typesize), count = V_SLOT / run;
	bool whole = count == typesize && (V_SLOT == 16 || run == 1);
	V v[TILE];

	UNROLL
	for (size_t j = 0; j < count; j++)
		v[j] = j < typesize ? v_load(planes[j] + at) : v_zero();
#ifndef v_bits
	if (bits)
		turn_bits(v);
#endif
	zip_all(v, count, whole ? 1 : run, log2_of(count));
#if V_PERMUTE
	if (!whole) {
		V last = v_tail(v[count - 2], v[count - 1], v_places(places[typesize].tail));

		UNROLL
		for (size_t g = 0; g < count; g++) {
			if (run > 1)
				v[g] = v_permute(v[g], v_places(places[typesize].compact));
		}
		if (typesize < count)
			v[count - 1] = last;
	}
#endif
	UNROLL
	for (size_t g = 0; g < count; g++) {
#ifdef v_bits
		if (bits)
			v[g] = v_bits(v[g]);
#endif
		v_store_slots(out + g * run * typesize -
				      (g == count - 1 ? V_SLOT - run * typesize : 0),
			      V_SLOT * typesize, v[g]);
	}
}

/* typesize is a constant wherever these two are inlined; nelems >= BLOCK. */
V_FN void shuffle_run(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
		      size_t stride, bool bits)
{
	size_t i;

	for (i = 0; i + BLOCK <= nelems; i += BLOCK)
		shuffle_block(in + i * typesize, typesize, out + i, stride, bits);
	if (i < nelems) {
		i = nelems - BLOCK;
		shuffle_block(in + i * typesize, typesize, out + i, stride, bits);
	}
}

V_FN void unshuffle_run(const uint8_t *const *planes, size_t typesize, size_t nelems, uint8_t *out,
			bool bits)
{
	const uint8_t *mine[TILE];
	size_t i;

	for (size_t j = 0; j < typesize; j++)
		mine[j] = planes[j];
	for (i = 0; i + BLOCK <= nelems; i += BLOCK)
		unshuffle_block(mine, i, typesize, out + i * typesize, bits);
	if (i < nelems) {
		i = nelems - BLOCK;
		unshuffle_block(mine, i, typesize, out + i * typesize, bits);
	}
}

/* Shuffle the TILE columns at in of elements that are step bytes apart. */
V_FN void shuffle_columns_block(const uint8_t *in, size_t step, uint8_t *out, size_t stride)
{
	enum { RUN = V_SLOT / TILE };
	V v[TILE];

	UNROLL
	for (size_t g = 0; g < TILE; g++) {
		v[g] = v_load_columns(in + g * RUN * step, step);
#if V_PERMUTE
		if (RUN > 1)
			v[g] = v_permute(v[g], v_places(places[TILE].left));
#endif
	}
	zip_all(v, TILE, RUN, 4);
	UNROLL
	for (size_t j = 0; j < TILE; j++)
		v_store(out + j * stride, v[j]);
}

V_TARGET static void shuffle_columns(const uint8_t *in, size_t step, size_t nelems, uint8_t *out,
				     size_t stride)
{
	size_t i;

	for (i = 0; i + BLOCK <= nelems; i += BLOCK)
		shuffle_columns_block(in + i * step, step, out + i, stride);
	if (i < nelems) {
		i = nelems - BLOCK;
		shuffle_columns_block(in + i * step, step, out + i, stride);
	}
}

V_FN void unshuffle_columns_block(const uint8_t *const *planes, size_t at, size_t step,
				  uint8_t *out)
{
	enum { RUN = V_SLOT / TILE };
	V v[TILE];

	UNROLL
	for (size_t j = 0; j < TILE; j++)
		v[j] = v_load(planes[j] + at);
	zip_all(v, TILE, RUN, 4);
	UNROLL
	for (size_t g = 0; g < TILE; g++) {
#if V_PERMUTE
		if (RUN > 1)
			v[g] = v_permute(v[g], v_places(places[TILE].compact));
#endif
		v_store_columns(out + g * RUN * step, step, v[g]);
	}
}

V_TARGET static void unshuffle_columns(const uint8_t *const *planes, size_t step, size_t nelems,
				       uint8_t *out)
{
	size_t i;

	for (i = 0; i + BLOCK <= nelems; i += BLOCK)
		unshuffle_columns_block(planes, i, step, out + i * step);
	if (i < nelems) {
		i = nelems - BLOCK;
		unshuffle_columns_block(planes, i, step, out + i * step);
	}
}

#if V_PERMUTE
#define EACH_TYPESIZE(CASE)                                                                        \
	CASE(2)                                                                                    \
	CASE(3)                                                                                    \
	CASE(4)                                                                                    \
	CASE(5)                                                                                    \
	CASE(6)                                                                                    \
	CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16)
#else
#define EACH_TYPESIZE(CASE) CASE(2) CASE(4) CASE(8) CASE(16)
#endif

/* One function per typesize, so that each has its own register allocation. */
#define DEFINE_RUNS(t)                                                                             \
	V_TARGET static void shuffle_##t(const uint8_t *in, size_t nelems, uint8_t *out,           \
					 size_t stride)                                            \
	{                                                                                          \
		shuffle_run(in, t, nelems, out, stride, false);                                    \
	}                                                                                          \
	V_TARGET static void unshuffle_##t(const uint8_t *const *planes, size_t nelems,            \
					   uint8_t *out)                                           \
	{                                                                                          \
		unshuffle_run(planes, t, nelems, out, false);                                      \
	}
EACH_TYPESIZE(DEFINE_RUNS)

#define SHUFFLE_ROW(t)   [t] = shuffle_##t,
#define UNSHUFFLE_ROW(t) [t] = unshuffle_##t,

static void (*const shuffle_of[TILE + 1])(const uint8_t *, size_t, uint8_t *,
					  size_t) = { EACH_TYPESIZE(SHUFFLE_ROW) };
static void (*const unshuffle_of[TILE + 1])(const uint8_t *const *, size_t,
					    uint8_t *) = { EACH_TYPESIZE(UNSHUFFLE_ROW) };

#include "chunk/filter/set.h"
