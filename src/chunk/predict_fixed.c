/*
 * Prediction in fixed point, called by predict.c. Differences of floats taken as ordered integers
 * jump where a value crosses a power of two, and most at zero; differences of the values do not. So
 * each number is also converted to a multiple of one unit, in 64 bits:
 *
 *     x       the float                   rank(x)   its ordered integer
 *     q       fix(x), that multiple, cut toward zero; 0 for infinite, NaN and too large values
 *     guess   q - D q, where D are the differences at all strides: a sum of earlier numbers
 *     stored  rank(x) - rank(unfix(guess)), folded
 *
 * Every bit is restored, however bad the guess. All arithmetic is on integers, except one
 * conversion to the nearest float, which is the same on all machines.
 *
 * The guess sums one term per stride. With u[0] = q and u[k][i] = u[k-1][i] - u[k-1][i-s[k]], it is
 * u[0][i-s[1]] + u[1][i-s[2]] + ..., so s[k] numbers of each row are kept.
 */
#include "chunk/number.h"
#include "chunk/predict.h"

#define INLINE static inline __attribute__((always_inline))

enum {
	/* bits of mantissas, largest exponents, and the distance of the unit below the last bit of
	 * the largest numbers: 64 bits minus mantissa and sign leave room to add up 64 of them */
	MANTISSA_4 = 23,
	MANTISSA_8 = 52,
	LARGEST_4 = 254,
	LARGEST_8 = 2046,
	ROOM_4 = 32,
	ROOM_8 = 3,
	RARE = 1024, /* one number in this many may be too large for the scale */
};

/* ---- One number ---- */

INLINE unsigned mantissa_of(size_t width)
{
	return width == 4 ? MANTISSA_4 : MANTISSA_8;
}

INLINE unsigned largest_of(size_t width)
{
	return width == 4 ? LARGEST_4 : LARGEST_8;
}

INLINE unsigned exponent_of(uint64_t bits, size_t width)
{
	return (unsigned)(bits >> mantissa_of(width)) & (largest_of(width) + 1);
}

/* A float as a multiple of the unit of scale, modulo 2^64. */
INLINE uint64_t fix(uint64_t bits, size_t width, unsigned scale)
{
	unsigned exponent = exponent_of(bits, width), shift;
	uint64_t one = (uint64_t)1 << mantissa_of(width), value = bits & (one - 1);

	if (exponent > scale)
		return 0;
	value |= exponent > 0 ? one : 0;
	shift = scale - (exponent > 0 ? exponent : 1);
	value = value << (width == 4 ? ROOM_4 : ROOM_8) >> (shift < 63 ? shift : 63);
	return (bits & bpk_number_high(width)) != 0 ? 0 - value : value;
}

/* Convert to the nearest float. The copy through memory drops any extra precision of the
 * machine. */
INLINE uint64_t nearest(uint64_t value, size_t width)
{
	uint64_t bits = 0;

	if (width == 4) {
		float f = (float)(int64_t)value;
		uint32_t bits4;

		memcpy(&bits4, &f, sizeof bits4);
		bits = bits4;
	} else {
		double f = (double)(int64_t)value;

		memcpy(&bits, &f, sizeof bits);
	}
	return bits;
}

INLINE uint64_t unfix(uint64_t value, size_t width, unsigned scale)
{
	unsigned mantissa = mantissa_of(width), bias = largest_of(width) / 2;
	uint64_t bits = nearest(value, width);
	int up = (int)scale - (int)(bias + mantissa) - (width == 4 ? ROOM_4 : ROOM_8);
	int exponent = (int)exponent_of(bits, width) + up;

	if (value == 0 || exponent < 1 || exponent > (int)largest_of(width))
		return 0;
	return bits + ((uint64_t)(int64_t)up << mantissa);
}

/* ---- All of them ---- */

/* The last s[k] numbers of u[k], as a ring. */
struct row {
	uint64_t *at, *start, *end;
};

/* Set up the rows, filled with 0 for the numbers before the first. */
static int lay_rows(const struct bpk_prediction *prediction, struct bpk_buf *buf,
		    struct row rows[BPK_PREDICTION_STRIDES], struct bpk_err *err)
{
	uint64_t *next;
	size_t size = 0;

	for (unsigned k = 0; k < prediction->nstrides; k++)
		size += prediction->strides[k] * sizeof *next;
	if (bpk_buf_reserve(buf, size, err) != 0)
		return -1;
	memset(buf->data, 0, size);
	next = (uint64_t *)(void *)buf->data;
	for (unsigned k = 0; k < prediction->nstrides; k++) {
		rows[k].at = rows[k].start = next;
		next += prediction->strides[k];
		rows[k].end = next;
	}
	return 0;
}

/* Apply or undo, in place. width, n and back are compile-time constants. */
INLINE void run(struct row rows[BPK_PREDICTION_STRIDES], unsigned n, unsigned scale, size_t width,
		bool back, uint8_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++, numbers += width) {
		uint64_t number = bpk_number_get(numbers, width), guess = 0, left, value;
		uint64_t old[BPK_PREDICTION_STRIDES];

		/* the shortest stride comes last: it uses the number that was just found */
		for (unsigned k = n; k-- > 0;)
			guess += old[k] = *rows[k].at;
		left = bpk_number_order(unfix(guess, width, scale), width);
		if (back)
			number = bpk_number_unorder(bpk_number_unfold(number, width) + left, width);
		value = fix(width == 4 ? (uint32_t)number : number, width, scale);
		bpk_number_put(
			numbers, width,
			back ? number
			     : bpk_number_fold(bpk_number_order(number, width) - left, width));
		for (unsigned k = 0; k < n; k++) {
			*rows[k].at = value;
			value -= old[k];
			if (++rows[k].at == rows[k].end)
				rows[k].at = rows[k].start;
		}
	}
}

INLINE void run_width(struct row rows[BPK_PREDICTION_STRIDES], unsigned n, unsigned scale,
		      size_t width, bool back, uint8_t *numbers, size_t count)
{
	switch (n) {
	case 1:
		run(rows, 1, scale, width, back, numbers, count);
		break;
	case 2:
		run(rows, 2, scale, width, back, numbers, count);
		break;
	case 3:
		run(rows, 3, scale, width, back, numbers, count);
		break;
	case 4:
		run(rows, 4, scale, width, back, numbers, count);
		break;
	case 5:
		run(rows, 5, scale, width, back, numbers, count);
		break;
	default:
		run(rows, BPK_PREDICTION_STRIDES, scale, width, back, numbers, count);
		break;
	}
}

int bpk_fixed_run(const struct bpk_prediction *prediction, bool back, uint8_t *numbers,
		  size_t count, struct bpk_buf *scratch, struct bpk_err *err)
{
	struct row rows[BPK_PREDICTION_STRIDES];
	unsigned n = prediction->nstrides, scale = prediction->scale;

	if (lay_rows(prediction, scratch, rows, err) != 0)
		return -1;
	if (prediction->size == 4 && back)
		run_width(rows, n, scale, 4, true, numbers, count);
	else if (prediction->size == 4)
		run_width(rows, n, scale, 4, false, numbers, count);
	else if (back)
		run_width(rows, n, scale, 8, true, numbers, count);
	else
		run_width(rows, n, scale, 8, false, numbers, count);
	return 0;
}

/* ---- Pieces, and the choice of the unit ---- */

INLINE void take(const uint8_t *numbers, unsigned scale, size_t width, size_t count, uint8_t *out)
{
	for (size_t i = 0; i < count; i++)
		bpk_put_le64(out + 8 * i,
			     fix(bpk_number_get(numbers + i * width, width), width, scale));
}

void bpk_fixed_take(const struct bpk_prediction *prediction, const uint8_t *numbers, size_t count,
		    uint8_t *out)
{
	if (prediction->size == 4)
		take(numbers, prediction->scale, 4, count, out);
	else
		take(numbers, prediction->scale, 8, count, out);
}

INLINE void leave(const uint8_t *numbers, const uint8_t *differences, unsigned scale, size_t width,
		  size_t count, uint8_t *out)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t number = bpk_number_get(numbers + i * width, width);
		uint64_t guess = fix(number, width, scale) - bpk_get_le64(differences + 8 * i);
		uint64_t left = bpk_number_order(unfix(guess, width, scale), width);

		left = bpk_number_order(number, width) - left;
		bpk_number_put(out + i * width, width, bpk_number_fold(left, width));
	}
}

void bpk_fixed_leave(const struct bpk_prediction *prediction, const uint8_t *numbers,
		     const uint8_t *differences, size_t count, uint8_t *out)
{
	if (prediction->size == 4)
		leave(numbers, differences, prediction->scale, 4, count, out);
	else
		leave(numbers, differences, prediction->scale, 8, count, out);
}

bool bpk_prediction_equal(const struct bpk_prediction *a, const struct bpk_prediction *b)
{
	return a->size == b->size && a->is_float == b->is_float && a->big_endian == b->big_endian &&
	       a->phase == b->phase && a->nstrides == b->nstrides && a->scale == b->scale &&
	       memcmp(a->strides, b->strides, a->nstrides * sizeof a->strides[0]) == 0;
}

unsigned bpk_prediction_scale(const struct bpk_prediction *prediction, struct bpk_view raw)
{
	size_t width = prediction->size, seen = 0, skipped = 0;
	uint32_t counts[LARGEST_8 + 2] = { 0 };
	unsigned scale = largest_of(width);

	for (size_t at = prediction->phase; at + width <= raw.size; at += 4 * width, seen++) {
		const uint8_t *p = raw.data + at;
		uint64_t bits = width == 4
					? prediction->big_endian ? bpk_get_be32(p) : bpk_get_le32(p)
				: prediction->big_endian ? bpk_get_be64(p)
							 : bpk_get_le64(p);

		counts[exponent_of(bits, width)]++;
	}
	for (; scale > 1 && skipped + counts[scale] <= seen / RARE; scale--)
		skipped += counts[scale];
	return scale;
}

bool bpk_fixed_is_scale(unsigned scale, size_t width)
{
	return (width == 4 || width == 8) && scale >= 1 && scale <= largest_of(width);
}
