/*
 * The BloscLZ encoder. Called through the table in codecs.c. Source: Blosc chunk format, "BloscLZ
 * stream" and "BloscLZ encoder".
 *
 * A greedy parse over a table of the last position of each 4-byte sequence. The table is never
 * cleared: positions continue from one stream to the next with a gap of more than the longest
 * distance, so entries of earlier streams are too far back to match.
 */
#include "chunk/codec/state.h"

enum {
	MAX_RUN = 32,
	NEAR_MAX = 8191,
	DISTANCE_MAX = 73727,
	GAP = DISTANCE_MAX + 1,
	MIN_MATCH = 4,
	MIN_FAR_MATCH = 7, /* a far match takes 4 bytes, and often a new run's control byte */
	MIN_INPUT = 16,
	TAIL = 12, /* no match begins here: room for a load of 8 bytes and the last literals */
	MAX_STEP = 31,
	TABLE_LOG = 14,
	SAMPLE = 4096,
};

struct bpk_blosclz_table {
	uint32_t base; /* the position of the current stream's first byte */
	uint32_t seen[1 << TABLE_LOG];
};

/* The parameters of a level. */
struct effort {
	unsigned table_log;
	unsigned patience; /* 2^patience misses in a row make the steps one byte longer */
	unsigned gain;     /* encode only if a sample shrinks to 100 / gain of its size */
};

static const struct effort efforts[] = {
	{ 0, 0, 0 },    { 12, 3, 200 }, { 13, 4, 150 }, { 14, 4, 120 }, { 14, 4, 120 },
	{ 14, 5, 120 }, { 14, 5, 120 }, { 14, 5, 118 }, { 14, 6, 115 }, { 14, 6, 112 },
};

/* The step after a number of misses; bounded, so that structure after noise is found soon. */
static inline size_t step(struct effort effort, unsigned misses)
{
	return 1 + bpk_min_size(misses >> effort.patience, MAX_STEP);
}

/* Number of equal bytes at a and b, where a < b; b stops at end. */
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

/* Write size literals as runs of at most 32; false if they do not fit. */
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

/* Write one match; false if it does not fit. */
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

/* A stream, and the table of positions seen in it. */
struct search {
	uint32_t *seen;
	unsigned shift;
	uint32_t base; /* the position of begin */
	const uint8_t *begin;
	const uint8_t *end; /* matches end before the last byte, which is a literal */
};

static inline struct search search(struct bpk_blosclz_table *table, unsigned table_log,
				   struct bpk_view in)
{
	return (struct search){ table->seen, 32 - table_log, table->base, in.data,
				in.data + in.size - 1 };
}

/* Record p; returns the distance to the last position with the same 4 bytes, or 0. */
static inline uint32_t look_up(const struct search *s, const uint8_t *p)
{
	const uint32_t word = bpk_get_le32(p); /* the same hash on every machine */
	uint32_t *slot = &s->seen[(word * 2654435761u) >> s->shift];
	const uint32_t position = s->base + (uint32_t)(p - s->begin);
	const uint32_t distance = position - *slot;

	*slot = position;
	return distance <= DISTANCE_MAX && bpk_get_le32(p - distance) == word ? distance : 0;
}

struct match {
	const uint8_t *start;
	size_t distance;
	size_t length; /* 0: no match that shortens the stream */
};

/* The match at p, extended forward, and back to anchor at most. */
static inline struct match find(const struct search *s, const uint8_t *p, const uint8_t *anchor)
{
	const size_t distance = look_up(s, p);
	struct match m = { p, distance, 0 };
	const uint8_t *from = p - distance;

	if (distance == 0)
		return m;
	m.length = MIN_MATCH + common_bytes(from + MIN_MATCH, p + MIN_MATCH, s->end);
	for (; m.start > anchor && from > s->begin && m.start[-1] == from[-1]; from--) {
		m.start--;
		m.length++;
	}
	if (distance > NEAR_MAX && m.length < MIN_FAR_MATCH)
		m.length = 0;
	return m;
}

/* Estimate the encoded size of a sample; stops early once the result is too large. */
static size_t estimate(struct bpk_blosclz_table *table, struct effort effort, const uint8_t *p)
{
	const struct search s = search(table, effort.table_log, bpk_view(p, SAMPLE));
	const uint8_t *anchor = p, *limit = s.end - TAIL;
	const size_t hopeless = SAMPLE * 100 / effort.gain;
	unsigned misses = 0;
	size_t cost = 0;

	table->base += SAMPLE + GAP;

	while (p < limit) {
		const uint32_t distance = look_up(&s, p);

		if (distance == 0) {
			p += step(effort, misses++);
			continue;
		}
		cost += (size_t)(p - anchor) + (p > anchor) + 2;
		p += MIN_MATCH + common_bytes(p - distance + MIN_MATCH, p + MIN_MATCH, s.end);
		anchor = p;
		misses = 0;
		if (cost > hopeless)
			return cost * SAMPLE / (size_t)(p - s.begin);
	}
	return cost + (size_t)(s.end - anchor) * 33 / 32;
}

/*
 * Decide by a sample late in the stream, because the start is often a header. If it is noise (which
 * costs little time), a second sample decides.
 */
static bool promising(struct bpk_blosclz_table *table, struct effort effort, struct bpk_view in)
{
	size_t cost;

	if (in.size < 4 * SAMPLE)
		return true;
	cost = estimate(table, effort, in.data + in.size / 4 * 3);
	if (cost >= SAMPLE - SAMPLE / 32)
		cost = estimate(table, effort, in.data + in.size / 4);
	return cost * effort.gain < SAMPLE * 100;
}

/* Returns the stream's size, 0 if it does not fit. */
static size_t encode(struct bpk_blosclz_table *table, struct effort effort, struct bpk_view in,
		     struct bpk_span out)
{
	const struct search s = search(table, effort.table_log, in);
	const uint8_t *limit = in.data + in.size - TAIL;
	const uint8_t *anchor = in.data, *p = in.data;
	struct sink sink = { out.data, out.data + out.size, in.data + in.size };
	unsigned misses = 0;

	look_up(&s, p++); /* a stream begins with a literal */
	while (p < limit) {
		struct match m = find(&s, p, anchor);

		if (m.length == 0) {
			p += step(effort, misses++);
			continue;
		}
		if (!put_literals(&sink, anchor, (size_t)(m.start - anchor)) ||
		    !put_match(&sink, m.distance, m.length))
			return 0;
		p = m.start + m.length;
		anchor = p;
		misses = 0;
		if (p < limit)
			look_up(&s, p - 2);
	}
	if (!put_literals(&sink, anchor, (size_t)(in.data + in.size - anchor)))
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

uint64_t bpk_blosclz_state_memory(const struct bpk_codec_ctx *ctx)
{
	return ctx->blosclz == NULL ? 0 : sizeof *ctx->blosclz;
}
