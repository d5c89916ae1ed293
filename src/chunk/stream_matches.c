/*
 * The shortest match that saves bits, for Zstd's fast levels; called by encode_block.c. A match
 * costs Zstd as much as MATCH_BITS bits of literals: 3 bytes of noise, but 10 and more in the
 * exponent plane of measured numbers, where each byte carries 2 bits. The fast levels take every
 * match of 5 or 6 bytes, and such planes are full of chance matches of that length. The bits per
 * byte set the shortest match that pays; where all matches are chance, searching for them takes
 * most of the time and gives larger output than no matches at all (planes of 256 KiB at level 1,
 * compared with the codec's default):
 *
 *      plane                             bytes that pay    from          size     time
 *      exponents, box of 100000 atoms    10                few           -13%     0.22
 *      exponents, adk_dims.dcd           11                7             -10%     0.7
 *      mantissas, random walk            5                 5             -17%     1.05
 *      lower bytes, ascending keys       4                 5             -9%      1.0
 *
 * The chance that two bytes are equal gives the bits per byte (stream_kind.c). Near matches are
 * searched in PARTS of the stream, byte by byte; far ones as in stream_kind.c: bytes at intervals
 * go into a table, then runs as long as the interval are looked up.
 */
#include "chunk/stream_kind.h"

enum {
	PARTS = 4,
	PART = 4096,
	MIN_SIZE = 8192, /* bytes of a stream; a smaller sample is not significant */
	LOOKED_UP = 8,   /* bytes hashed for a look-up */
	TABLE_BITS = 12,
	TABLE = 1 << TABLE_BITS,
	MATCH_BITS = 24, /* bits of literals that a match must replace to pay */
	MOST = 64,       /* search limit for the shortest match that pays, in bytes */
	SHORT = 6,       /* a shortest match up to this: ask Zstd for short matches */
	LONG = 8,        /* from this on: ask for long matches */
	SPARED = 64,     /* bytes saved in all PARTS; fewer mean that matches do not pay */
	RUNS = 64,       /* number of look-up runs over the stream */
	STRIDE = 17,     /* bytes between table entries, at least; odd, as in stream_kind.c */
	FAR = 4,         /* successful look-ups; fewer are chance */
};

static size_t slot_of(const uint8_t *p)
{
	return (size_t)(bpk_get_le64(p) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS));
}

static struct bpk_view part_of(struct bpk_view s, size_t i)
{
	return bpk_view(s.data + (s.size - PART) / (PARTS - 1) * i, PART);
}

/* The shortest match that pays, in bytes; at most MOST. */
static size_t paying_size(struct bpk_view s)
{
	uint32_t counts[256] = { 0 };
	double equal = 0, all = 1;
	size_t size = 0;

	for (size_t i = 0; i < PARTS; i++) {
		struct bpk_view part = part_of(s, i);

		for (size_t j = 0; j < PART; j++)
			counts[part.data[j]]++;
	}
	for (size_t c = 0; c < 256; c++)
		equal += (double)counts[c] * counts[c];
	equal /= (double)(PARTS * PART) * (PARTS * PART);
	for (; size < MOST && all * (1 << MATCH_BITS) > 1; size++)
		all *= equal;
	return size;
}

/* Bytes that matches within a part save beyond their cost. */
static size_t spared_in(struct bpk_view part, size_t paying)
{
	uint16_t table[TABLE] = { 0 };
	size_t spared = 0;

	for (size_t at = 1; at + LOOKED_UP <= part.size;) {
		size_t slot = slot_of(part.data + at), from = table[slot], size = 0;

		while (at + size < part.size && part.data[from + size] == part.data[at + size])
			size++;
		table[slot] = (uint16_t)at;
		spared += size > paying ? size - paying : 0;
		at += size > paying ? size : 1;
	}
	return spared;
}

/* True if runs of that many bytes repeat at any distance. */
static bool matches_afar(struct bpk_view s, size_t paying)
{
	size_t size = bpk_max_u64(paying, LOOKED_UP), last = s.size - size;
	size_t stride = bpk_max_u64(STRIDE, bpk_div_up(s.size, TABLE / 2) | 1);
	size_t spacing = s.size / RUNS, found = 0;
	uint16_t table[TABLE] = { 0 }; /* position / stride; there are at most TABLE / 2 */

	for (size_t at = 0; at <= last; at += stride)
		table[slot_of(s.data + at)] = (uint16_t)(at / stride);
	for (size_t i = 0; i < RUNS && found < FAR; i++) {
		size_t at = i * spacing, end = bpk_min_size(at + stride, last);

		for (; at < end; at++) {
			size_t other = table[slot_of(s.data + at)] * stride;

			found += other != at && memcmp(s.data + other, s.data + at, size) == 0;
		}
	}
	return found >= FAR;
}

enum bpk_matches bpk_stream_matches(struct bpk_view stream)
{
	size_t paying, spared = 0;

	if (stream.size < MIN_SIZE)
		return BPK_MATCHES_ANY;
	paying = paying_size(stream);
	if (paying < LONG)
		return paying <= SHORT ? BPK_MATCHES_SHORT : BPK_MATCHES_ANY;
	if (paying == MOST || matches_afar(stream, paying))
		return BPK_MATCHES_LONG;
	for (size_t i = 0; i < PARTS; i++)
		spared += spared_in(part_of(stream, i), paying);
	return spared < SPARED ? BPK_MATCHES_FEW : BPK_MATCHES_LONG;
}
