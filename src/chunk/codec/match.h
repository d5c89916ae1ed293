/*
 * Copying literals and matches of LZ streams, for blosclz_decode.c and lz4_head.c. Copies use whole
 * vectors where the buffers have that much room after the item, and single bytes elsewhere.
 */
#ifndef BPK_CHUNK_CODEC_MATCH_H
#define BPK_CHUNK_CODEC_MATCH_H

#include "base/base.h"

/* Rare cases stay out of the loops: inlined, they cost BloscLZ 15% more instructions. */
#define RARE static __attribute__((noinline))

enum { VECTOR = 32 }; /* the widest single copy: BloscLZ's longest literal run */

/* For each short distance: as many whole periods as 8 bytes hold. */
static const struct {
	uint64_t repeat; /* the period times this gives 8 bytes */
	unsigned step;   /* bytes in the whole periods */
} patterns[8] = {
	{ 0, 0 },
	{ 0x0101010101010101, 8 },
	{ 0x0001000100010001, 8 },
	{ 0x0001000001000001, 6 },
	{ 0x0000000100000001, 8 },
	{ 0x0000010000000001, 5 },
	{ 0x0001000000000001, 6 },
	{ 0x0100000000000001, 7 },
};

static inline void copy16(uint8_t *to, const uint8_t *from)
{
	uint8_t bytes[16];

	memcpy(bytes, from, 16);
	memcpy(to, bytes, 16);
}

static inline void copy32(uint8_t *to, const uint8_t *from)
{
	uint8_t bytes[VECTOR];

	memcpy(bytes, from, VECTOR);
	memcpy(to, bytes, VECTOR);
}

/*
 * Copy a match nearer than 16 bytes; the output has room for length + VECTOR. Each store writes
 * whole periods and some extra bytes, which the next store overwrites. Nothing is read back: a load
 * that spans two recent stores would wait for both.
 */
RARE void expand_pattern(uint8_t *to, size_t distance, size_t length)
{
	uint8_t *end = to + length;
	uint8_t bytes[VECTOR];

	if (distance >= 8) {
		memcpy(bytes, to - distance, 16);
		for (; to < end; to += distance)
			memcpy(to, bytes, 16);
		return;
	}
	const uint64_t period = bpk_get_le64(to - distance) & (UINT64_MAX >> (64 - 8 * distance));
	const unsigned step = patterns[distance].step;

	bpk_put_le64(bytes, period * patterns[distance].repeat);
	if (step < 8) {
		for (; to < end; to += step)
			memcpy(to, bytes, 8);
		return;
	}
	memcpy(bytes + 8, bytes, 8);
	memcpy(bytes + 16, bytes, 16);
	for (; to < end; to += VECTOR)
		memcpy(to, bytes, VECTOR);
}

/* Copy a match from any distance; the output has room for length + VECTOR. */
static inline void copy_roomy(uint8_t *to, size_t distance, size_t length)
{
	const uint8_t *from = to - distance;

	if (distance < 16) {
		expand_pattern(to, distance, length);
		return;
	}
	/* at distance 16..31 the second half starts with bytes that the first one wrote */
	copy16(to, from);
	for (size_t i = 16; i < length; i += 16)
		copy16(to + i, from + i);
}

/* Copy a match that ends within VECTOR bytes of the output's end. */
RARE void copy_last(uint8_t *to, size_t distance, size_t length, size_t room)
{
	size_t done = room > VECTOR ? bpk_min_size(length, room - VECTOR) : 0;

	if (done > 0)
		copy_roomy(to, distance, done);
	for (; done < length; done++)
		to[done] = *(to + done - distance);
}

/* Copy length bytes from distance back; room bytes of output are left. */
static inline void copy_match(uint8_t *to, size_t distance, size_t length, size_t room)
{
	if (room >= length + VECTOR)
		copy_roomy(to, distance, length);
	else
		copy_last(to, distance, length, room);
}

#endif
