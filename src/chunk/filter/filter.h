/*
 * Filters on one block: byte shuffle and bitshuffle, as portable kernels (the definition) and as
 * vector kernels held against them; and every step of a pipeline over them. Inside the room chunk;
 * buffers in, buffers out, no failure. Source of every layout: Blosc chunk format, "Filters".
 */
#ifndef BPK_CHUNK_FILTER_FILTER_H
#define BPK_CHUNK_FILTER_FILTER_H

#include "base/base.h"
#include "chunk/chunk.h"

/* What is done to each number of a row. The first is its own inverse. */
enum bpk_filter_number {
	BPK_NUMBER_SWAP,    /* its bytes in reverse */
	BPK_NUMBER_ORDER,   /* a float to an unsigned integer of the same rank: ~x of one with the
			     * sign, the others get their highest bit set */
	BPK_NUMBER_UNORDER, /* back */
	BPK_NUMBER_FOLD,    /* 0 -1 1 -2 ... to 0 1 2 3 ... */
	BPK_NUMBER_UNFOLD,  /* back */
};

/* Bytes of scratch that a filter works in, whatever the block. */
enum { BPK_FILTER_ROOM = 52 << 10 };

/*
 * One set of kernels. typesize is 1..255; nelems counts whole elements; source and destination
 * never overlap; a kernel reads and writes exactly the bytes that its comment names, at any
 * alignment, for any nelems including 0. room is scratch of BPK_FILTER_ROOM bytes, apart from the
 * others; aligned to 64 bytes it is fastest.
 */
struct bpk_filter_kernels {
	enum bpk_simd simd;

	/* out[j*nelems + i] = in[i*typesize + j]; nelems*typesize bytes each. */
	void (*shuffle)(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			uint8_t *room);

	/*
	 * out[i*typesize + j] = planes[j][i]. The typesize planes, of nelems bytes each, may lie
	 * anywhere: a raw plane is used where it stands in the chunk, without a copy.
	 */
	void (*unshuffle)(const uint8_t *const *planes, size_t typesize, size_t nelems,
			  uint8_t *out);

	/*
	 * nelems is a multiple of 8. Bit i%8 of out[(8*j+b)*(nelems/8) + i/8] is bit b of
	 * in[i*typesize + j]; and the inverse. nelems*typesize bytes each.
	 */
	void (*bitshuffle)(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			   uint8_t *room);
	void (*bitunshuffle)(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			     uint8_t *room);

	/* out[i] = a[i] ^ b[i]; size bytes each, of which a and b may overlap. For delta. */
	void (*exclusive_or)(const uint8_t *a, const uint8_t *b, size_t size, uint8_t *out);

	/* out[i] = in[i] - in[i-1], modulo 256, where in[-1] is 0. For bytedelta. */
	void (*differences)(const uint8_t *in, size_t size, uint8_t *out);

	/* out[i] = before + in[0] + ... + in[i], modulo 256. For bytedelta. */
	void (*sums)(const uint8_t *in, size_t size, uint8_t before, uint8_t *out);

	/* count little-endian numbers of width bytes (1, 2, 4 or 8), each by itself. out may be in.
	 * For prediction, as the next two. */
	void (*convert)(enum bpk_filter_number what, const uint8_t *in, size_t width, size_t count,
			uint8_t *out);

	/* numbers[i] -= numbers[i-stride], from the last down to number stride; stride is 1 or
	 * more; and the inverse: numbers[i] += numbers[i-stride], from number stride up. */
	void (*subtract)(uint8_t *numbers, size_t width, size_t stride, size_t count);
	void (*add)(uint8_t *numbers, size_t width, size_t stride, size_t count);
};

/*
 * Every set built for this architecture, the portable one first, ended by NULL; for tests and
 * benches, which ask bpk_cpu_has(set->simd) before they call it. A set may share members with a
 * smaller one where a wider kernel does not pay.
 */
extern const struct bpk_filter_kernels *const bpk_filter_kernel_sets[];

/* The best set for this machine, chosen once through an atomic pointer. Any thread. */
const struct bpk_filter_kernels *bpk_filter_kernels(void);

/* ---- Steps of a pipeline ---- */

/* One block, for a step. */
struct bpk_filter_block {
	size_t size;       /* bytes of it */
	unsigned typesize; /* the chunk's, 1..255 */
	uint32_t width;    /* what the container calls the typesize, at least 1: for bytedelta */
	bool version2;     /* the older bitshuffle, which leaves odd blocks alone */
	/* for delta: the raw bytes of block 0, at least size of them; NULL: this is block 0, or the
	 * block of a chunk of variable ones, which leans on none */
	const uint8_t *reference;
};

/* "TRUNC_PREC and INT_TRUNC": bits of the mantissa of floats of 4 and 8 bytes. */
enum { BPK_FILTER_MANTISSA_32 = 23, BPK_FILTER_MANTISSA_64 = 52 };

/* True when the step leaves the block as it is. */
bool bpk_filter_is_identity(const struct bpk_filter_block *block,
			    const struct bpk_filter_step *step);

/* What a step's parameter comes to: the width of shuffle or bytedelta, or of the words of delta. */
size_t bpk_filter_width(const struct bpk_filter_block *block, const struct bpk_filter_step *step);

/* One step forward (apply.c) and back (undo.c): block->size bytes from in to out, which do not
 * overlap. The lossy ones are copied on the way back. A step was checked before
 * (bpk_pipeline_check). room: as the kernels have it. */
void bpk_filter_apply(const struct bpk_filter_kernels *kernels,
		      const struct bpk_filter_block *block, const struct bpk_filter_step *step,
		      const uint8_t *in, uint8_t *out, uint8_t *room);
void bpk_filter_undo(const struct bpk_filter_kernels *kernels, const struct bpk_filter_block *block,
		     const struct bpk_filter_step *step, const uint8_t *in, uint8_t *out,
		     uint8_t *room);

/* Byte planes on their way back to elements. */
struct bpk_filter_planes {
	size_t width, nelems;
	const uint8_t *const *planes; /* width of them, nelems bytes each */
	const uint8_t *zeros;         /* those of this address hold zeros alone */
	bool differences;             /* bytedelta of the same width was applied to them */
	const uint8_t *reference;     /* delta was, before: the raw bytes of block 0; else NULL */
	void *room;                   /* BPK_FILTER_ROOM bytes where one of these two was */
};

/* All the filters that it names at once: width * nelems bytes, apart from all others. */
void bpk_filter_unshuffle(const struct bpk_filter_kernels *kernels,
			  const struct bpk_filter_planes *p, uint8_t *out);

#endif
