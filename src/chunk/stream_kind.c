/*
 * Classify streams before compression, for encode_block.c. Two tests complement each other. The
 * lowest plane of a counter has evenly spread bytes that repeat every 256; the exponent plane of
 * measured values never repeats but has few distinct bytes.
 *
 * Histogram: in every section of the stream that a codec gives its own code, PIECES pieces of PIECE
 * bytes are counted. Two random bytes are equal with a chance of 1/256; a code that saves share s
 * of 8 bits needs a chance of at least 2^(8s)/256, by the inequality between the entropies of
 * Shannon and Renyi. 3% is 1.18/256. The limit for a section is 1.1, four standard deviations of a
 * sample of noise; for four sections and more it is 1.04.
 *
 * Repeats: a sample of grams (four bytes at a position that is a multiple of stride) goes into a
 * table, then runs of stride positions are looked up in it. A repeat longer than stride + 4 bytes
 * that begins before a run covers at least one gram in the table, at any distance.
 *
 * Positions are spread evenly, so that every part of 3% or more is sampled, and shifted by a
 * low-discrepancy sequence, so that they do not fall into step with rows of the data.
 */
#include "chunk/stream_kind.h"

enum {
	MIN_SIZE = 2048,   /* bytes; a smaller sample is not significant */
	MIN_SKEWED = 8192, /* below this, a few short repeats matter too much to ignore */
	PIECES = 32,
	PIECE = 32,
	SAMPLE = PIECES * PIECE,
	NEIGHBOURS = 16, /* pieces whose neighbouring bytes are compared */
	RUNS = 64,       /* look-up runs over the stream */
	STRIDE = 17,
	CHANCE = 128, /* one look-up in this many succeeds by chance */
	TABLE_BITS = 12,
	TABLE = 1 << TABLE_BITS,
};

static uint32_t gram_at(const uint8_t *p)
{
	return bpk_get_le32(p);
}

static size_t slot_of(uint32_t gram)
{
	return gram * 2654435761u >> (32 - TABLE_BITS);
}

/* The shift of sample i, within slack positions: multiples of the golden ratio. */
static size_t shifted(size_t i, size_t slack)
{
	return (size_t)((uint64_t)(uint32_t)(i * 2654435769u) * slack >> 32);
}

bool bpk_stream_is_run(struct bpk_view stream)
{
	return stream.size > 1 && stream.data[0] == stream.data[stream.size - 1] &&
	       memcmp(stream.data, stream.data + 1, stream.size - 1) == 0;
}

/* True if so many neighbours are equal that no further test is needed. */
static bool has_runs(struct bpk_view s, bool entropy)
{
	size_t spacing = s.size / NEIGHBOURS, equal = 0;

	for (size_t i = 0; i < NEIGHBOURS; i++) {
		const uint8_t *p = s.data + i * spacing + shifted(i, spacing - PIECE);

		for (size_t j = 0; j < PIECE; j++)
			equal += p[j] == p[j + 1];
	}
	/* frequent bytes are often adjacent without repeats; later tests tell them apart */
	return equal > NEIGHBOURS * PIECE / (entropy ? 2 : 16);
}

/* Ordered pairs of equal bytes in a sample of one section, each byte paired with itself too. */
static uint32_t count_pairs(const uint8_t *section, size_t size)
{
	uint16_t counts[2][256] = { 0 };
	size_t spacing = size / PIECES;
	uint32_t pairs = 0;

	for (size_t i = 0; i < PIECES; i++) {
		const uint8_t *p = section + i * spacing + shifted(i, spacing - PIECE + 1);

		for (size_t j = 0; j < PIECE; j += 2) {
			counts[0][p[j]]++;
			counts[1][p[j + 1]]++;
		}
	}
	for (size_t c = 0; c < 256; c++) {
		uint32_t n = counts[0][c] + counts[1][c];

		pairs += n * n;
	}
	return pairs;
}

/*
 * True if the bytes are spread evenly in every section, and within a closer limit over all
 * sections, because chance matters less in a larger sample.
 */
static bool is_even(struct bpk_view s, size_t span)
{
	const uint64_t least = (uint64_t)SAMPLE * (SAMPLE - 1) / 256;
	uint64_t all = 0, sections = 0;

	for (size_t at = 0; at < s.size; sections++) {
		size_t left = s.size - at;
		/* the last section includes a rest that is too short for its own */
		size_t size = left < 2 * span ? left : span;
		uint64_t pairs = count_pairs(s.data + at, size) - SAMPLE;

		if (100 * pairs > 110 * least)
			return false;
		all += pairs;
		at += size;
	}
	return sections < 4 || 100 * all <= 104 * sections * least;
}

/* Number of look-ups that found their gram elsewhere; stops at enough. */
static size_t count_repeats(struct bpk_view s, size_t stride, size_t enough)
{
	uint16_t table[TABLE] = { 0 }; /* position / stride; there are at most TABLE / 2 */
	size_t last = s.size - 4, spacing = s.size / RUNS, found = 0;

	for (size_t at = 0; at <= last; at += stride)
		table[slot_of(gram_at(s.data + at))] = (uint16_t)(at / stride);
	for (size_t i = 0; i < RUNS; i++) {
		size_t at = i * spacing + (spacing > stride ? shifted(i, spacing - stride) : 0);
		size_t end = bpk_min_size(at + stride, last);

		for (; at < end; at++) {
			uint32_t gram = gram_at(s.data + at);
			size_t other = table[slot_of(gram)] * stride;

			if (other != at && gram_at(s.data + other) == gram)
				found++;
		}
		if (found >= enough)
			break;
	}
	return found;
}

enum bpk_stream_kind bpk_stream_kind(struct bpk_view stream, size_t span)
{
	/* odd, so that grams begin at every byte of an element */
	size_t stride = bpk_max_u64(STRIDE, bpk_div_up(stream.size, TABLE / 2) | 1);
	size_t enough = 1;
	bool even;

	if (bpk_stream_is_run(stream))
		return BPK_STREAM_RUN;
	if (stream.size < MIN_SIZE)
		return BPK_STREAM_STRUCTURE;
	if (has_runs(stream, span > 0))
		return BPK_STREAM_STRUCTURE;
	even = span == 0 || is_even(stream, span);
	if (!even && stream.size < MIN_SKEWED)
		return BPK_STREAM_STRUCTURE;
	/* where few bytes are frequent, some grams repeat by chance */
	if (!even)
		enough = RUNS * stride / CHANCE;
	if (count_repeats(stream, stride, enough) >= enough)
		return BPK_STREAM_STRUCTURE;
	return even ? BPK_STREAM_NOISE : BPK_STREAM_SKEWED;
}
