/*
 * The BloscLZ decoder. Called through the table in codecs.c. Source: Blosc chunk format, "BloscLZ
 * stream".
 *
 *  literal run    C < 32        C + 1 bytes follow
 *  match          C >= 32       [length bytes] low [far high] [far low]
 *
 * Copies use whole vectors where both buffers have that much room after the item, and single bytes
 * elsewhere, so no byte outside the stream and the output is touched.
 *
 * The same functions decode the head of a stream: the constant head is true, and the item that does
 * not fit into the output is cut, and is the last one.
 */
#include "chunk/codec/match.h"
#include "chunk/codec/state.h"

#define INLINE static inline __attribute__((always_inline))

enum { NEAR_LIMIT = 8192 };

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
INLINE bool take_length(struct cursors *c, size_t *length, bool head)
{
	const size_t room = (size_t)(c->out_end - c->out);
	uint8_t more;

	do {
		if (c->in_end - c->in <= 1)
			return false;
		more = *c->in++;
		*length += more;
		if (*length > room) {
			if (!head)
				return false;
			*length = room;
		}
	} while (more == 255);
	return true;
}

/* Decode one match after its control byte. A match never ends a stream. */
INLINE bool take_match(struct cursors *c, unsigned control, bool head)
{
	const size_t room = (size_t)(c->out_end - c->out);
	size_t length = (control >> 5) + 2;
	size_t distance;

	if (length == 9 && !take_length(c, &length, head))
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
	if (distance > (size_t)(c->out - c->out_begin))
		return false;
	if (length > room) {
		if (!head)
			return false;
		length = room;
	}
	copy_match(c->out, distance, length, room);
	c->out += length;
	return true;
}

INLINE bool take_literals(struct cursors *c, unsigned control, bool head)
{
	const size_t in_left = (size_t)(c->in_end - c->in);
	const size_t out_left = (size_t)(c->out_end - c->out);
	const size_t size = head ? bpk_min_size(control + 1, out_left) : control + 1;

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

INLINE bool decode(struct cursors *c, bool head)
{
	unsigned control;

	if (c->in == c->in_end)
		return false;
	control = *c->in++ & 31; /* the first byte has a mark in its upper bits */
	for (;;) {
		if (control >= 32) {
			if (!take_match(c, control, head))
				return false;
		} else if (!take_literals(c, control, head)) {
			return false;
		} else if (c->in == c->in_end) {
			return c->out == c->out_end;
		}
		if (head && c->out == c->out_end)
			return true;
		control = *c->in++; /* take_match left at least one byte */
	}
}

int bpk_blosclz_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		       struct bpk_err *err)
{
	struct cursors c = { in.data, in.data + in.size, out.data, out.data, out.data + out.size };

	(void)ctx;
	if (!decode(&c, false))
		return bpk_codec_corrupt(err, "blosclz", in.size, out.size, "malformed");
	return 0;
}

int bpk_blosclz_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			    struct bpk_span out, struct bpk_err *err)
{
	struct cursors c = { in.data, in.data + in.size, out.data, out.data, out.data + out.size };

	(void)ctx;
	if (!decode(&c, true))
		return bpk_codec_corrupt(err, "blosclz", in.size, whole, "malformed");
	return 0;
}
