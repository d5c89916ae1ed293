/*
 * Packing with BloscLZ. Source: Blosc chunk format, "BloscLZ stream" and "BloscLZ encoder".
 *
 * A greedy parse over a table of the positions where 4 bytes were last seen. The table is never
 * cleared: positions count on from one stream to the next with a gap of more than the longest
 * distance, so what an earlier stream left lies too far back to be taken.
 */
#include "chunk/codec/state.h"

enum {
	MAX_RUN = 32,
	NEAR_MAX = 8191,
	DISTANCE_MAX = 73727,
	GAP = DISTANCE_MAX + 1,
	MIN_MATCH = 4,
	MIN_INPUT = 16,
	TAIL = 12, /* no match begins here: a load of 8 bytes and the last literals have room */
	TABLE_LOG = 14,
	SAMPLE = 4096,
};

struct bpk_blosclz_table {
	uint32_t base; /* the position of the current stream's first byte */
	uint32_t seen[1 << TABLE_LOG];
};

/* What a level changes. */
struct effort {
	unsigned table_log;
	unsigned patience; /* 2^this misses in a row make the steps one byte longer */
	unsigned gain;     /* a sample must shrink to 100 / gain of its size */
};

static const struct effort efforts[] = {
	{ 0, 0, 0 },    { 12, 4, 200 }, { 13, 4, 150 }, { 14, 4, 120 }, { 14, 4, 120 },
	{ 14, 5, 120 }, { 14, 5, 120 }, { 14, 5, 115 }, { 14, 6, 110 }, { 14, 6, 105 },
};

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* How many bytes a and b, b lying behind a, have in common; b is not followed past end. */
static inline size_t common_bytes(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
	const uint8_t *begin = b;

	while (end - b >= 8) {
		uint64_t difference = bpk_get_le64(a) ^ bpk_get_le64(b);

		if (difference != 0)
			return (size_t)(b - begin) + (size_t)__builtin_ctzll(difference) / 8;
		a += 8;
		b += 8;
	}
	while (b < end && *a == *b) {
		a++;
		b++;
	}
	return (size_t)(b - begin);
}

struct sink {
	uint8_t *next;
	uint8_t *end;
	const uint8_t *in_end;
};

/* Write size literals as runs of at most 32; false when they do not fit. */
static inline bool put_literals(struct sink *sink, const uint8_t *from, size_t size)
{
	const size_t need = size + (size + MAX_RUN - 1) / MAX_RUN;
	const size_t room = (size_t)(sink->end - sink->next);
	uint8_t *p = sink->next;

	if (room >= need + MAX_RUN && (size_t)(sink->in_end - from) >= size + MAX_RUN) {
		for (; size > MAX_RUN; size -= MAX_RUN) {
			*p++ = MAX_RUN - 1;
			memcpy(p, from, MAX_RUN);
			p += MAX_RUN;
			from += MAX_RUN;
		}
		if (size > 0) {
			*p++ = (uint8_t)(size - 1);
			memcpy(p, from, MAX_RUN);
			p += size;
		}
		sink->next = p;
		return true;
	}
	if (room < need)
		return false;
	while (size > 0) {
		size_t run = bpk_min_size(size, MAX_RUN);

		*p++ = (uint8_t)(run - 1);
		memcpy(p, from, run);
		p += run;
		from += run;
		size -= run;
	}
	sink->next = p;
	return true;
}

/* Write one match; false when it does not fit. */
static inline bool put_match(struct sink *sink, size_t distance, size_t length)
{
	size_t extra = length >= 9 ? length - 9 : 0;
	const unsigned b = length >= 9 ? 7 : (unsigned)length - 2;
	uint8_t *p = sink->next;

	if ((size_t)(sink->end - p) < 5 + extra / 255)
		return false;
	distance--;
	*p++ = (uint8_t)(b << 5 | (distance < NEAR_MAX ? distance >> 8 : 31));
	if (b == 7) {
		for (; extra >= 255; extra -= 255)
			*p++ = 255;
		*p++ = (uint8_t)extra;
	}
	if (distance < NEAR_MAX) {
		*p++ = (uint8_t)distance;
	} else {
		distance -= NEAR_MAX;
		*p++ = 255;
		*p++ = (uint8_t)(distance >> 8);
		*p++ = (uint8_t)distance;
	}
	sink->next = p;
	return true;
}

static inline bool worth_it(size_t distance, size_t length)
{
	return distance <= NEAR_MAX ? length >= MIN_MATCH : length >= 7;
}

/* About how many bytes size bytes at p, well inside the stream, would come to by themselves. */
static size_t estimate(struct bpk_blosclz_table *table, struct effort effort, const uint8_t *p,
		       size_t size)
{
	const unsigned shift = 32 - effort.table_log;
	const uint8_t *begin = p, *anchor = p, *end = p + size, *limit = end - TAIL;
	const uint32_t base = table->base;
	unsigned misses = 0;
	size_t cost = 0;

	while (p < limit) {
		const uint32_t word = load32(p);
		uint32_t *slot = &table->seen[(word * 2654435761u) >> shift];
		const uint32_t position = base + (uint32_t)(p - begin);
		const uint32_t distance = position - *slot;

		*slot = position;
		if (distance > DISTANCE_MAX || load32(p - distance) != word) {
			p += 1 + (misses++ >> effort.patience);
			continue;
		}
		cost += (size_t)(p - anchor) + (p > anchor) + 2;
		p += 4 + common_bytes(p - distance + 4, p + 4, end);
		anchor = p;
		misses = 0;
	}
	table->base += SAMPLE + GAP;
	return cost + (size_t)(end - anchor) * 33 / 32;
}

/* Two samples decide, and one that shrinks will do, since noise and structure lie apart. */
static bool promising(struct bpk_blosclz_table *table, struct effort effort, struct bpk_view in)
{
	if (in.size < 4 * SAMPLE)
		return true;
	for (int i = 3; i > 0; i -= 2) {
		size_t cost = estimate(table, effort, in.data + in.size / 4 * i, SAMPLE);

		if (cost * effort.gain < SAMPLE * 100)
			return true;
	}
	return false;
}

static size_t encode(struct bpk_blosclz_table *table, struct effort effort, struct bpk_view in,
		     struct bpk_span out)
{
	const uint32_t base = table->base;
	const unsigned shift = 32 - effort.table_log;
	const uint8_t *begin = in.data, *end = in.data + in.size;
	const uint8_t *limit = end - TAIL;
	const uint8_t *anchor = begin, *p = begin + 1;
	struct sink sink = { out.data, out.data + out.size, end };
	unsigned misses = 0;

	table->seen[(load32(begin) * 2654435761u) >> shift] = base;
	while (p < limit) {
		const uint32_t word = load32(p);
		uint32_t *slot = &table->seen[(word * 2654435761u) >> shift];
		const uint32_t position = base + (uint32_t)(p - begin);
		const uint32_t distance = position - *slot;
		size_t length, before = 0;
		const uint8_t *from;

		*slot = position;
		if (distance > DISTANCE_MAX || load32(p - distance) != word) {
			p += 1 + (misses++ >> effort.patience);
			continue;
		}
		from = p - distance;
		length = 4 + common_bytes(from + 4, p + 4, end - 1);
		while (p - before > anchor && from - before > begin &&
		       p[-1 - (ptrdiff_t)before] == from[-1 - (ptrdiff_t)before])
			before++;
		if (!worth_it(distance, length + before)) {
			p += 1 + (misses++ >> effort.patience);
			continue;
		}
		if (!put_literals(&sink, anchor, (size_t)(p - before - anchor)) ||
		    !put_match(&sink, distance, length + before))
			return 0;
		misses = 0;
		p += length;
		anchor = p;
		if (p < limit) {
			table->seen[(load32(p - 2) * 2654435761u) >> shift] =
				base + (uint32_t)(p - 2 - begin);
		}
	}
	if (!put_literals(&sink, anchor, (size_t)(end - anchor)))
		return 0;
	out.data[0] |= 0x20;
	return (size_t)(sink.next - out.data);
}

int bpk_blosclz_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		       struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	struct bpk_blosclz_table *table = ctx->blosclz;

	*packed_size = 0;
	if (in.size < MIN_INPUT)
		return 0;
	if (table == NULL) {
		table = bpk_calloc(1, sizeof *table, err);
		if (table == NULL)
			return -1;
		table->base = GAP;
		ctx->blosclz = table;
	} else if (table->base > UINT32_MAX - 2 * (SAMPLE + GAP) - GAP - in.size) {
		memset(table, 0, sizeof *table);
		table->base = GAP;
	}
	if (!promising(table, efforts[level], in))
		return 0;
	*packed_size = encode(table, efforts[level], in, out);
	table->base += (uint32_t)in.size + GAP;
	return 0;
}
