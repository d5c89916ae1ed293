/*
 * Filters on one block: byte shuffle and bitshuffle, as portable kernels (the definition) and as
 * vector kernels tested against them; and the steps of a pipeline. Internal to chunk; buffers in,
 * buffers out, no failure. Source of every layout: Blosc chunk format, "Filters".
 */
#ifndef BPK_CHUNK_FILTER_FILTER_H
#define BPK_CHUNK_FILTER_FILTER_H

#include "base/base.h"
#include "chunk/chunk.h"

/* Operations on each number of a row. The first is its own inverse. */
enum bpk_filter_number {
	BPK_NUMBER_SWAP, /* reverse its bytes */
	/* a float to an unsigned integer of the same order: ~x if negative, else the highest bit
	 * set */
	BPK_NUMBER_ORDER,
	BPK_NUMBER_UNORDER, /* the inverse */
	BPK_NUMBER_FOLD,    /* 0 -1 1 -2 ... to 0 1 2 3 ... */
	BPK_NUMBER_UNFOLD,  /* the inverse */
};

/* Bytes of scratch for filters, for blocks of any size. */
enum { BPK_FILTER_ROOM = 52 << 10 };

/*
 * One set of kernels. typesize is 1..255; nelems counts whole elements; source and destination
 * never overlap; a kernel reads and writes exactly the bytes named in its comment, at any
 * alignment, for any nelems including 0. room is separate scratch of BPK_FILTER_ROOM bytes, fastest
 * if aligned to 64 bytes.
 */
struct bpk_filter_kernels {
	enum bpk_simd simd;

	/* out[j*nelems + i] = in[i*typesize + j]; nelems*typesize bytes each. */
	void (*shuffle)(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			uint8_t *room);

	/*
	 * out[i*typesize + j] = planes[j][i]. The typesize planes, of nelems bytes each, may be
	 * anywhere: a raw plane is used inside the chunk, without a copy.
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

	/* out[i] = a[i] ^ b[i]; size bytes each; a and b may overlap each other. For delta. */
	void (*exclusive_or)(const uint8_t *a, const uint8_t *b, size_t size, uint8_t *out);

	/* out[i] = in[i] - in[i-1], modulo 256, where in[-1] is 0. For bytedelta. */
	void (*differences)(const uint8_t *in, size_t size, uint8_t *out);

	/* out[i] = before + in[0] + ... + in[i], modulo 256. For bytedelta. */
	void (*sums)(const uint8_t *in, size_t size, uint8_t before, uint8_t *out);

	/* Apply the operation to count little-endian numbers of width bytes (1, 2, 4 or 8). out may
	 * be in. For prediction, as the next two. */
	void (*convert)(enum bpk_filter_number what, const uint8_t *in, size_t width, size_t count,
			uint8_t *out);

	/* numbers[i] -= numbers[i-stride], from the last down to number stride (1 or more); and the
	 * inverse: numbers[i] += numbers[i-stride], from number stride up. */
	void (*subtract)(uint8_t *numbers, size_t width, size_t stride, size_t count);
	void (*add)(uint8_t *numbers, size_t width, size_t stride, size_t count);
};

/*
 * Every set built for this architecture, the portable one first, NULL last. For tests and benches,
 * which call bpk_cpu_has(set->simd) before they use a set. A set shares members with a smaller one
 * where a wider kernel is not faster.
 */
extern const struct bpk_filter_kernels *const bpk_filter_kernel_sets[];

/* The best set for this machine, chosen once through an atomic pointer. Any thread. */
const struct bpk_filter_kernels *bpk_filter_kernels(void);

/* ---- Steps of a pipeline ---- */

/* One block, as input of a step. */
struct bpk_filter_block {
	size_t size;       /* the chunk's, 1..255 */
	unsigned typesize; /* the chunk's, 1..255 */
	uint32_t width;    /* the container's typesize, at least 1: for bytedelta */
	bool version2;     /* the older bitshuffle, which skips blocks with a partial group of 8 */
	/* for delta: the raw bytes of block 0, at least size of them; NULL for block 0 and in
	 * variable-length blocks */
	const uint8_t *reference;
};

/* "TRUNC_PREC and INT_TRUNC": mantissa bits of floats of 4 and 8 bytes. */
enum { BPK_FILTER_MANTISSA_32 = 23, BPK_FILTER_MANTISSA_64 = 52 };

/* True if the step leaves the block unchanged. */
bool bpk_filter_is_identity(const struct bpk_filter_block *block,
			    const struct bpk_filter_step *step);

/* The effective width of a step: of shuffle or bytedelta, or of the words of delta. */
size_t bpk_filter_width(const struct bpk_filter_block *block, const struct bpk_filter_step *step);

/* Apply one step (apply.c) or undo it (undo.c): block->size bytes from in to out, which do not
 * overlap. Undoing a lossy step copies. The step was checked before (bpk_pipeline_check). room: as
 * for the kernels. */
void bpk_filter_apply(const struct bpk_filter_kernels *kernels,
		      const struct bpk_filter_block *block, const struct bpk_filter_step *step,
		      const uint8_t *in, uint8_t *out, uint8_t *room);
void bpk_filter_undo(const struct bpk_filter_kernels *kernels, const struct bpk_filter_block *block,
		     const struct bpk_filter_step *step, const uint8_t *in, uint8_t *out,
		     uint8_t *room);

/* Byte planes to be joined to elements. */
struct bpk_filter_planes {
	size_t width, nelems;
	const uint8_t *const *planes; /* width planes of nelems bytes each */
	const uint8_t *zeros;         /* a plane at this address is known to hold only zeros */
	bool differences;             /* bytedelta of the same width was applied to them */
	/* the raw bytes of block 0 if delta was applied before; else NULL */
	const uint8_t *reference;
	void *room; /* BPK_FILTER_ROOM bytes, if differences or reference is set */
};

/* Undo all filters named in p at once: width * nelems bytes to out, which overlaps no input. */
void bpk_filter_unshuffle(const struct bpk_filter_kernels *kernels,
			  const struct bpk_filter_planes *p, uint8_t *out);

#endif
