/*
 * The first bytes of an LZ4 stream, without the rest of it. Called through the table in codecs.c.
 * LZ4_decompress_safe_partial does the same, but copies the match that it cuts byte by byte: for
 * zeros it took up to 45 times as long as LZ4_decompress_safe for the whole stream. Before 1.9.4 it
 * has no variant for dictionaries.
 * Source: LZ4 block format.
 *
 *  sequence   token [literal length bytes] literals offset [match length bytes]
 *
 * The last sequence ends behind its literals.
 */
#include "chunk/codec/match.h"
#include "chunk/codec/state.h"

enum { LENGTH = 15, LEAST_MATCH = 4 };

/* Add the bytes of a long length; the sum stops at most. */
static inline size_t add_length(struct bpk_cursor *in, size_t length, size_t most)
{
	uint8_t more;

	do {
		more = bpk_cursor_u8(in);
		length = bpk_min_size(length + more, most);
	} while (more == 255);
	return length;
}

/* Copy size literals, of which size may be more than out has room for. */
static inline bool take_literals(struct bpk_cursor *in, size_t size, struct bpk_span *out)
{
	size_t count = bpk_min_size(size, out->size);

	if (count > in->left)
		return false;
	if (count <= VECTOR && in->left >= VECTOR && out->size >= VECTOR)
		copy32(out->data, in->next);
	else
		memcpy(out->data, in->next, count);
	in->next += count;
	in->left -= count;
	*out = bpk_span(out->data + count, out->size - count);
	return true;
}

/* Copy a match behind done bytes of output, cut to the room. A dictionary lies before them. */
static inline bool take_match(size_t done, struct bpk_view before, size_t distance, size_t length,
			      struct bpk_span *out)
{
	length = bpk_min_size(length, out->size);
	if (distance > done) {
		size_t back = distance - done, count = bpk_min_size(back, length);

		if (back > before.size)
			return false;
		memcpy(out->data, before.data + before.size - back, count);
		*out = bpk_span(out->data + count, out->size - count);
		length -= count;
	}
	if (length > 0)
		copy_match(out->data, distance, length, out->size);
	*out = bpk_span(out->data + length, out->size - length);
	return true;
}

/* Take a sequence of short lengths far from both ends. False: it is another one, and not taken. */
static inline bool take_short(struct bpk_cursor *in, const uint8_t *begin, struct bpk_span *out)
{
	enum { IN_ROOM = 1 + 16 + 2, OUT_ROOM = 16 + VECTOR };
	size_t literals, length, distance;

	if (in->left < IN_ROOM || out->size < OUT_ROOM)
		return false;
	literals = *in->next >> 4;
	length = (*in->next & LENGTH) + LEAST_MATCH;
	distance = bpk_get_le16(in->next + 1 + literals);
	if (literals == LENGTH || length == LENGTH + LEAST_MATCH || distance < 16 ||
	    distance > (size_t)(out->data - begin) + literals)
		return false;
	copy16(out->data, in->next + 1);
	copy16(out->data + literals, out->data + literals - distance);
	copy16(out->data + literals + 16, out->data + literals + 16 - distance);
	in->next += 1 + literals + 2;
	in->left -= 1 + literals + 2;
	*out = bpk_span(out->data + literals + length, out->size - literals - length);
	return true;
}

/* Fill out, which is not empty. Past the end of in the cursor gives zeros; no distance is 0. */
static bool decode(struct bpk_cursor in, struct bpk_view before, struct bpk_span out)
{
	const uint8_t *begin = out.data;

	while (out.size > 0) {
		size_t size, distance;
		unsigned token;

		if (take_short(&in, begin, &out))
			continue;
		token = bpk_cursor_u8(&in);
		size = token >> 4;
		if (size == LENGTH)
			size = add_length(&in, size, LENGTH + out.size);
		if (!take_literals(&in, size, &out))
			return false;
		if (out.size == 0)
			return true;
		distance = bpk_cursor_le16(&in);
		size = token & LENGTH;
		if (size == LENGTH)
			size = add_length(&in, size, LENGTH + out.size);
		if (distance == 0 || !take_match((size_t)(out.data - begin), before, distance,
						 size + LEAST_MATCH, &out))
			return false;
	}
	return true;
}

int bpk_lz4_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			struct bpk_span out, struct bpk_err *err)
{
	if (!decode(bpk_cursor(in), ctx->lz4_dictionary, out))
		return bpk_codec_corrupt(err, "lz4", in.size, whole, "malformed");
	return 0;
}
