/*
 * A part of the template lanes.h, included by set.h: the number kernels of prediction, for numbers
 * of 1, 2, 4 or 8 bytes. The numbers after the last whole vector are left to the set below.
 */
typedef uint8_t lane_1 __attribute__((vector_size(sizeof(V))));
typedef uint16_t lane_2 __attribute__((vector_size(sizeof(V))));
typedef uint32_t lane_4 __attribute__((vector_size(sizeof(V))));
typedef uint64_t lane_8 __attribute__((vector_size(sizeof(V))));
typedef int8_t signed_1 __attribute__((vector_size(sizeof(V))));
typedef int16_t signed_2 __attribute__((vector_size(sizeof(V))));
typedef int32_t signed_4 __attribute__((vector_size(sizeof(V))));
typedef int64_t signed_8 __attribute__((vector_size(sizeof(V))));

/* Reverse bytes: swap halves of ever larger words. */
V_FN V turn_bytes(V v, size_t width)
{
	if (width >= 2)
		v = (V)((lane_2)v << 8 | (lane_2)v >> 8);
	if (width >= 4)
		v = (V)((lane_4)v << 16 | (lane_4)v >> 16);
	if (width >= 8)
		v = (V)((lane_8)v << 32 | (lane_8)v >> 32);
	return v;
}

/* signs: all ones if the highest bit is set. */
#define NUMBER_OF(WIDTH)                                                                           \
	V_FN V number_of_##WIDTH(enum bpk_filter_number what, V v)                                 \
	{                                                                                          \
		lane_##WIDTH x = (lane_##WIDTH)v, signs = (lane_##WIDTH)((signed_##WIDTH)v < 0);   \
		lane_##WIDTH high = ~(~(x ^ x) >> 1);                                              \
                                                                                                   \
		switch (what) {                                                                    \
		case BPK_NUMBER_ORDER:                                                             \
			return (V)(x ^ (signs | high));                                            \
		case BPK_NUMBER_UNORDER:                                                           \
			return (V)(x ^ (~signs | high));                                           \
		case BPK_NUMBER_FOLD:                                                              \
			return (V)((x + x) ^ signs);                                               \
		case BPK_NUMBER_UNFOLD:                                                            \
			return (V)((x >> 1) ^ -(x & 1));                                           \
		default:                                                                           \
			return turn_bytes(v, WIDTH);                                               \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	V_FN V sum_of_##WIDTH(V a, V b, bool minus)                                                \
	{                                                                                          \
		return minus ? (V)((lane_##WIDTH)a - (lane_##WIDTH)b)                              \
			     : (V)((lane_##WIDTH)a + (lane_##WIDTH)b);                             \
	}

NUMBER_OF(1)
NUMBER_OF(2)
NUMBER_OF(4)
NUMBER_OF(8)

V_FN V number_of(enum bpk_filter_number what, size_t width, V v)
{
	return width == 1   ? number_of_1(what, v)
	       : width == 2 ? number_of_2(what, v)
	       : width == 4 ? number_of_4(what, v)
			    : number_of_8(what, v);
}

V_FN V sum_of(size_t width, V a, V b, bool minus)
{
	return width == 1   ? sum_of_1(a, b, minus)
	       : width == 2 ? sum_of_2(a, b, minus)
	       : width == 4 ? sum_of_4(a, b, minus)
			    : sum_of_8(a, b, minus);
}

/* One loop for each constant width. */
#define EACH_WIDTH(loop, ...)                                                                      \
	switch (width) {                                                                           \
	case 1:                                                                                    \
		loop(1, __VA_ARGS__);                                                              \
		break;                                                                             \
	case 2:                                                                                    \
		loop(2, __VA_ARGS__);                                                              \
		break;                                                                             \
	case 4:                                                                                    \
		loop(4, __VA_ARGS__);                                                              \
		break;                                                                             \
	default:                                                                                   \
		loop(8, __VA_ARGS__);                                                              \
		break;                                                                             \
	}

V_FN void convert_run(size_t width, enum bpk_filter_number what, const uint8_t *in, size_t size,
		      uint8_t *out)
{
	for (size_t i = 0; i < size; i += BLOCK)
		v_store(out + i, number_of(what, width, v_load(in + i)));
}

V_FN void convert_all(enum bpk_filter_number what, const uint8_t *in, size_t width, size_t size,
		      uint8_t *out){ EACH_WIDTH(convert_run, what, in, size, out) }

V_TARGET static void convert(enum bpk_filter_number what, const uint8_t *in, size_t width,
			     size_t count, uint8_t *out)
{
	size_t size = width * count / BLOCK * BLOCK;

	switch (what) {
	case BPK_NUMBER_ORDER:
		convert_all(BPK_NUMBER_ORDER, in, width, size, out);
		break;
	case BPK_NUMBER_UNORDER:
		convert_all(BPK_NUMBER_UNORDER, in, width, size, out);
		break;
	case BPK_NUMBER_FOLD:
		convert_all(BPK_NUMBER_FOLD, in, width, size, out);
		break;
	case BPK_NUMBER_UNFOLD:
		convert_all(BPK_NUMBER_UNFOLD, in, width, size, out);
		break;
	case BPK_NUMBER_SWAP:
		convert_all(BPK_NUMBER_SWAP, in, width, size, out);
		break;
	}
	V_BELOW.convert(what, in + size, width, count - size / width, out + size);
}

/* Downward: the number at the stride is still unchanged. */
V_FN void subtract_run(size_t width, uint8_t *numbers, size_t distance, size_t lo, size_t hi)
{
	for (size_t i = hi; i > lo; i -= BLOCK) {
		uint8_t *p = numbers + i - BLOCK;

		v_store(p, sum_of(width, v_load(p), v_load(p - distance), true));
	}
}

V_TARGET static void subtract(uint8_t *numbers, size_t width, size_t stride, size_t count)
{
	size_t distance = stride * width, size = count * width;
	size_t lo = size < distance ? size : distance + (size - distance) % BLOCK;

	EACH_WIDTH(subtract_run, numbers, distance, lo, size)
	V_BELOW.subtract(numbers, width, stride, lo / width);
}

/* Upward: the number at the stride is complete, unless it is in the same vector. */
V_FN void add_run(size_t width, uint8_t *numbers, size_t distance, size_t size)
{
	for (size_t i = distance; i < size; i += BLOCK) {
		uint8_t *p = numbers + i;

		v_store(p, sum_of(width, v_load(p), v_load(p - distance), false));
	}
}

V_TARGET static void add(uint8_t *numbers, size_t width, size_t stride, size_t count)
{
	size_t distance = stride * width, done = 0;

	if (distance >= BLOCK && count > stride) {
		done = (count - stride) * width / BLOCK * BLOCK;
		EACH_WIDTH(add_run, numbers, distance, distance + done)
	}
	V_BELOW.add(numbers + done, width, stride, count - done / width);
}
