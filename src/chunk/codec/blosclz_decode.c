/*
 * The BloscLZ decoder. Called through the table in codecs.c. Source: Blosc chunk format, "BloscLZ
 * stream".
 *
 *  literal run    C < 32        C + 1 bytes follow
 *  match          C >= 32       [length bytes] low [far high] [far low]
 *
 * Copies use whole vectors where both buffers have that much room after the item, and single bytes
 * elsewhere, so no byte outside the stream and the output is touched.
 */
#include "chunk/codec/state.h"

enum {
	VECTOR = 32, /* the widest single copy: one longest literal run */
	NEAR_LIMIT = 8192,
};

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
static void expand_pattern(uint8_t *to, size_t distance, size_t length)
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
static void copy_last(uint8_t *to, size_t distance, size_t length, size_t room)
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

/* The positions in both buffers, and their limits. */
struct cursors {
	const uint8_t *in;
	const uint8_t *in_end;
	uint8_t *out;
	uint8_t *out_begin;
	uint8_t *out_end;
};

/*
 * Read the long form of a length; false if it leads outside. Every byte is tested against the
 * bound, so that the sum cannot wrap.
 */
static inline bool take_length(struct cursors *c, size_t *length)
{
	const size_t room = (size_t)(c->out_end - c->out);
	uint8_t more;

	do {
		if (c->in_end - c->in <= 1)
			return false;
		more = *c->in++;
		*length += more;
		if (*length > room)
			return false;
	} while (more == 255);
	return true;
}

/* Decode one match after its control byte. A match never ends a stream. */
static inline bool take_match(struct cursors *c, unsigned control)
{
	size_t length = (control >> 5) + 2;
	size_t distance;

	if (length == 9 && !take_length(c, &length))
		return false;
	if (c->in_end - c->in <= 1)
		return false;
	distance = (size_t)(control & 31) * 256 + *c->in++ + 1;
	if (distance == NEAR_LIMIT) {
		if (c->in_end - c->in <= 2)
			return false;
		distance += bpk_get_be16(c->in);
		c->in += 2;
	}
	if (distance > (size_t)(c->out - c->out_begin) || length > (size_t)(c->out_end - c->out))
		return false;
	copy_match(c->out, distance, length, (size_t)(c->out_end - c->out));
	c->out += length;
	return true;
}

static inline bool take_literals(struct cursors *c, unsigned control)
{
	const size_t size = control + 1;
	const size_t in_left = (size_t)(c->in_end - c->in);
	const size_t out_left = (size_t)(c->out_end - c->out);

	if (in_left >= VECTOR && out_left >= VECTOR)
		copy32(c->out, c->in);
	else if (size <= in_left && size <= out_left)
		memcpy(c->out, c->in, size);
	else
		return false;
	c->in += size;
	c->out += size;
	return true;
}

static bool decode(struct cursors *c)
{
	unsigned control;

	if (c->in == c->in_end)
		return false;
	control = *c->in++ & 31; /* the first byte has a mark in its upper bits */
	for (;;) {
		if (control >= 32) {
			if (!take_match(c, control))
				return false;
		} else if (!take_literals(c, control)) {
			return false;
		} else if (c->in == c->in_end) {
			return c->out == c->out_end;
		}
		control = *c->in++; /* take_match left at least one byte */
	}
}

int bpk_blosclz_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		       struct bpk_err *err)
{
	struct cursors c = { in.data, in.data + in.size, out.data, out.data, out.data + out.size };

	(void)ctx;
	if (!decode(&c))
		return bpk_codec_corrupt(err, "blosclz", in.size, out.size, "malformed");
	return 0;
}
