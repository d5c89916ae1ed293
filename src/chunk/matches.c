/*
 * What a match costs Zstd would code MATCH_BITS of bytes that stand for themselves: 3 of noise, but
 * 10 and more in the plane of exponents of measured numbers, each worth 2 bits. The quick levels
 * take whatever they meet from 5 or 6 bytes on, and such planes are full of those, by chance. Where
 * bytes are worth more, or less, the shortest match is another; where chance is all there is to the
 * matches, looking for them costs most of the time and packs worse than not at all (planes of
 * 256 KiB at level 1, each against the codec's own way):
 *
 *      plane                             bytes that pay    from          size     time
 *      exponents, box of 100000 atoms    10                few           -13%     0.22
 *      exponents, adk_dims.dcd           11                7             -10%     0.7
 *      mantissas, random walk            5                 5             -17%     1.05
 *      lower bytes, ascending keys       4                 5             -9%      1.0
 *
 * What bytes are worth, the chance tells that two of them are equal (noise.c). Matches that are
 * near are looked for in PARTS of the stream, byte by byte, far ones as noise.c does it: bytes at a
 * distance go into a table, then runs as long as that are looked up.
 */
#include "chunk/noise.h"

enum {
	PARTS = 4,
	PART = 4096,
	MIN_SIZE = 8192, /* of a stream; less says too little */
	LOOKED_UP = 8,   /* bytes at once */
	TABLE_BITS = 12,
	TABLE = 1 << TABLE_BITS,
	MATCH_BITS = 24,
	MOST = 64,   /* bytes that pay, from which on it is not asked any more */
	SHORT = 6,   /* bytes that pay, at most */
	LONG = 8,    /* the same, at least */
	SPARED = 64, /* bytes of all PARTS; fewer do not pay */
	RUNS = 64,   /* of look-ups, over the stream */
	STRIDE = 17,
	FAR = 4, /* look-ups that succeed; fewer are chance */
};

static size_t slot_of(const uint8_t *p)
{
	return (size_t)(bpk_get_le64(p) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS));
}

static struct bpk_view part_of(struct bpk_view s, size_t i)
{
	return bpk_view(s.data + (s.size - PART) / (PARTS - 1) * i, PART);
}

/* From how many bytes on a match pays; MOST at most. */
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

/* Bytes that matches within a part spare, beyond what they cost. */
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

/* Do runs of that many bytes occur again, however far away? */
static bool matches_afar(struct bpk_view s, size_t paying)
{
	size_t size = bpk_max_u64(paying, LOOKED_UP), last = s.size - size;
	size_t stride = bpk_max_u64(STRIDE, bpk_div_up(s.size, TABLE / 2) | 1);
	size_t spacing = s.size / RUNS, found = 0;
	uint16_t table[TABLE] = { 0 }; /* position / stride, as these are TABLE / 2 at most */

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
