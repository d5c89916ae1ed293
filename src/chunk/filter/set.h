/*
 * The second half of the template lanes.h, which includes it: the kernels for any typesize, built
 * from the runs over constant typesizes, and the set of them. Large typesizes are processed in
 * tiles of TILE columns, bits in strips of elements.
 */

/* Columns first .. first + width (at most TILE) of typesize, 2 or more; nelems >= BLOCK. */
static void shuffle_tile(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			 size_t stride, size_t first)
{
	if (typesize > TILE)
		shuffle_columns(in + first, typesize, nelems, out, stride);
	else if (shuffle_of[typesize] != NULL)
		shuffle_of[typesize](in, nelems, out, stride);
	else
		bpk_filter_shuffle_apart(in, typesize, nelems, out, stride);
}

static void unshuffle_tile(const uint8_t *const *planes, size_t typesize, size_t nelems,
			   uint8_t *out, size_t first)
{
	if (typesize > TILE)
		unshuffle_columns(planes, typesize, nelems, out + first);
	else if (unshuffle_of[typesize] != NULL)
		unshuffle_of[typesize](planes, nelems, out);
	else
		V_BELOW.unshuffle(planes, typesize, nelems, out);
}

/* The last tile of a large typesize overlaps the one before it, so that it is whole. */
static size_t next_tile(size_t first, size_t typesize)
{
	if (typesize <= TILE || first + TILE >= typesize)
		return typesize;
	return bpk_min_size(first + TILE, typesize - TILE);
}

/*
 * Tiles hold some columns of a strip of elements, as adjacent planes in cache. The planes of the
 * output are often a multiple of 4096 bytes apart, which maps equal positions to one set of the
 * first-level cache; writing a long run of each in turn prevents evictions. The tile is in the
 * caller's room.
 */
_Static_assert(TILE_SIZE + TILE * APART <= BPK_FILTER_ROOM, "BPK_FILTER_ROOM is too small");

/* Elements of a strip: as many as TILE_SIZE holds, a multiple of 8 * BLOCK. */
static size_t strip_of(size_t typesize)
{
	return TILE_SIZE / (typesize <= 2 ? 2 : typesize <= 4 ? 4 : typesize <= 8 ? 8 : TILE);
}

static bool crowded(size_t typesize, size_t nelems)
{
	return typesize > TILE / 2 && (nelems + APART - 1) % 4096 < 2 * APART - 1 &&
	       nelems >= strip_of(typesize);
}

static void shuffle_by_tile(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			    size_t first, uint8_t *tile)
{
	size_t size = strip_of(typesize), width = bpk_min_size(typesize, TILE), start;

	for (size_t i = 0; i < nelems; i += size) {
		start = bpk_min_size(i, nelems - size);
		shuffle_tile(in + start * typesize, typesize, size, tile, size + APART, first);
		for (size_t c = 0; c < width; c++)
			memcpy(out + c * nelems + start, tile + c * (size + APART), size);
	}
}

static void shuffle(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out, uint8_t *tile)
{
	bool by_tile = crowded(typesize, nelems);

	if (nelems < BLOCK || typesize == 1) {
		V_BELOW.shuffle(in, typesize, nelems, out, tile);
		return;
	}
	for (size_t j = 0; j < typesize; j = next_tile(j, typesize)) {
		if (by_tile)
			shuffle_by_tile(in, typesize, nelems, out + j * nelems, j, tile);
		else
			shuffle_tile(in, typesize, nelems, out + j * nelems, nelems, j);
	}
}

static void unshuffle(const uint8_t *const *planes, size_t typesize, size_t nelems, uint8_t *out)
{
	if (nelems < BLOCK || typesize == 1) {
		V_BELOW.unshuffle(planes, typesize, nelems, out);
		return;
	}
	for (size_t j = 0; j < typesize; j = next_tile(j, typesize))
		unshuffle_tile(planes + j, typesize, nelems, out, j);
}

/*
 * Split one plane of bytes into its 8 planes of bits, and join them; nbytes is at least 8 * BLOCK.
 * After a shuffle with typesize 8, byte 8i+r is at position i of register r, where the bits of each
 * position are transposed. With v_bits they are transposed before the shuffle, in every 8 bytes.
 */
V_TARGET static void split_bits(const uint8_t *plane, size_t nbytes, uint8_t *out, size_t stride)
{
	shuffle_run(plane, 8, nbytes / 8, out, stride, true);
}

V_TARGET static void join_bits(const uint8_t *in, size_t stride, size_t nbytes, uint8_t *plane)
{
	const uint8_t *rows[8];

	for (size_t b = 0; b < 8; b++)
		rows[b] = in + b * stride;
	unshuffle_run(rows, 8, nbytes / 8, plane, true);
}

/* The last strip overlaps the one before it, so that it is whole. nelems is at least 8 * BLOCK. */
static size_t bit_strip_of(size_t typesize, size_t nelems)
{
	return bpk_min_size(strip_of(typesize), nelems / (8 * BLOCK) * (8 * BLOCK));
}

static void bitshuffle(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
		       uint8_t *tile)
{
	size_t size, width = bpk_min_size(typesize, TILE), start, done;

	if (nelems < 8 * BLOCK) {
		V_BELOW.bitshuffle(in, typesize, nelems, out, tile);
		return;
	}
	if (typesize == 1) {
		split_bits(in, nelems, out, nelems / 8);
		return;
	}
	size = bit_strip_of(typesize, nelems);
	for (size_t i = 0; i < nelems; i += size) {
		start = bpk_min_size(i, nelems - size);
		done = 0;
		for (size_t j = 0; j < typesize; j = next_tile(j, typesize)) {
			shuffle_tile(in + start * typesize, typesize, size, tile, size + APART, j);
			for (; done < j + width; done++)
				split_bits(tile + (done - j) * (size + APART), size,
					   out + done * nelems + start / 8, nelems / 8);
		}
	}
}

/* Column j is at position j % TILE of the tile, and still there when the last tile reuses it. */
static void bitunshuffle(const uint8_t *in, size_t typesize, size_t nelems, uint8_t *out,
			 uint8_t *tile)
{
	size_t size, width = bpk_min_size(typesize, TILE), start, done;
	const uint8_t *planes[TILE];

	if (nelems < 8 * BLOCK) {
		V_BELOW.bitunshuffle(in, typesize, nelems, out, tile);
		return;
	}
	if (typesize == 1) {
		join_bits(in, nelems / 8, nelems, out);
		return;
	}
	size = bit_strip_of(typesize, nelems);
	for (size_t i = 0; i < nelems; i += size) {
		start = bpk_min_size(i, nelems - size);
		done = 0;
		for (size_t j = 0; j < typesize; j = next_tile(j, typesize)) {
			for (; done < j + width; done++)
				join_bits(in + done * nelems + start / 8, nelems / 8, size,
					  tile + done % TILE * (size + APART));
			for (size_t c = 0; c < width; c++)
				planes[c] = tile + (j + c) % TILE * (size + APART);
			unshuffle_tile(planes, typesize, size, out + start * typesize, j);
		}
	}
}

#include "chunk/filter/forward.h"
#include "chunk/filter/backward.h"
#include "chunk/filter/numbers.h"

const struct bpk_filter_kernels V_NAME = {
	.simd = V_SIMD,
	.shuffle = shuffle,
	.unshuffle = unshuffle,
	.bitshuffle = bitshuffle,
	.bitunshuffle = bitunshuffle,
	.exclusive_or = exclusive_or,
	.differences = differences,
	.sums = sums,
	.convert = convert,
	.subtract = subtract,
	.add = add,
};
