/* Numbers in the bytes of arrays. Called by compare_items.c, measure.c, cli/plot_read.c and
 * cli/rows.c. */
#include "archive/number.h"

#include <math.h>

bool bpk_number_is_integer(const struct bpk_scalar *type)
{
	return type->kind == 'i' || type->kind == 'u' || type->kind == 'b';
}

uint32_t bpk_number_size(const struct bpk_scalar *type)
{
	return type->kind == 'c' ? type->item_size / 2 : type->item_size;
}

bool bpk_is_number(const struct bpk_dtype *dtype)
{
	const struct bpk_scalar *type = &dtype->scalar;
	uint32_t size = bpk_number_size(type);

	if (dtype->nfields > 0 || dtype->ndimensions > 0)
		return false;
	if (bpk_number_is_integer(type))
		return size == 1 || size == 2 || size == 4 || size == 8;
	return (type->kind == 'f' || type->kind == 'c') && (size == 2 || size == 4 || size == 8);
}

/* ---- Bits ---- */

static uint64_t swap(uint64_t bits, unsigned size)
{
	return __builtin_bswap64(bits) >> (64 - 8 * size);
}

/* Numbers of size bytes in little-endian order; size is a constant where it is inlined. */
static inline void take_little(const uint8_t *bytes, unsigned size, size_t count, uint64_t *bits)
{
	for (size_t i = 0; i < count; i++, bytes += size)
		bits[i] = size == 8   ? bpk_get_le64(bytes)
			  : size == 4 ? bpk_get_le32(bytes)
			  : size == 2 ? bpk_get_le16(bytes)
				      : bytes[0];
}

static void extend_sign(unsigned size, size_t count, uint64_t *bits)
{
	uint64_t sign = UINT64_C(1) << (8 * size - 1);

	for (size_t i = 0; i < count; i++)
		bits[i] = (bits[i] ^ sign) - sign;
}

void bpk_number_take_bits(const struct bpk_scalar *type, const uint8_t *bytes, size_t count,
			  uint64_t *bits)
{
	unsigned size = bpk_number_size(type);

	if (size == 8)
		take_little(bytes, 8, count, bits);
	else if (size == 4)
		take_little(bytes, 4, count, bits);
	else if (size == 2)
		take_little(bytes, 2, count, bits);
	else
		take_little(bytes, 1, count, bits);
	for (size_t i = 0; type->byte_order == '>' && i < count; i++)
		bits[i] = swap(bits[i], size);
	if (type->kind == 'i')
		extend_sign(size, count, bits);
}

/* ---- Numbers ---- */

/* Source: IEEE 754, binary16. */
static double half(uint64_t bits)
{
	int exponent = (int)(bits >> 10 & 31);
	double mantissa = (double)(bits & 1023);
	double value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);

	if (exponent == 31)
		value = mantissa != 0 ? NAN : INFINITY;
	return (bits & 0x8000) != 0 ? -value : value;
}

static double single(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof value);
	return value;
}

void bpk_number_of_bits(const struct bpk_scalar *type, const uint64_t *bits, size_t count,
			double *numbers)
{
	unsigned size = bpk_number_size(type);

	if (type->kind == 'i')
		for (size_t i = 0; i < count; i++)
			numbers[i] = (double)(int64_t)bits[i];
	else if (bpk_number_is_integer(type))
		for (size_t i = 0; i < count; i++)
			numbers[i] = (double)bits[i];
	else if (size == 8)
		memcpy(numbers, bits, count * sizeof *numbers);
	else
		for (size_t i = 0; i < count; i++)
			numbers[i] = size == 4 ? single(bits[i]) : half(bits[i]);
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_ORDER '<'
#else
#define HOST_ORDER '>'
#endif

bool bpk_number_is_native(const struct bpk_scalar *type)
{
	return (type->byte_order == '>') == (HOST_ORDER == '>');
}
