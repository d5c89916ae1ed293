/* Arithmetic in GF(2^8), and matrices of it. Called by kernel.c. */
#include "parity/matrix.h"

enum { POLYNOMIAL = 0x1d }; /* x^8 is replaced by x^4 + x^3 + x^2 + 1 */

uint8_t bpk_gf_multiply(uint8_t a, uint8_t b)
{
	uint8_t product = 0;

	for (; b != 0; b >>= 1) {
		product ^= (b & 1) != 0 ? a : 0;
		a = (uint8_t)(a << 1 ^ ((a & 0x80) != 0 ? POLYNOMIAL : 0));
	}
	return product;
}

/* a to the power of 254, as a to the power of 255 is 1. */
uint8_t bpk_gf_inverse(uint8_t a)
{
	uint8_t result = 1;

	for (unsigned power = 254; power != 0; power >>= 1) {
		if ((power & 1) != 0)
			result = bpk_gf_multiply(result, a);
		a = bpk_gf_multiply(a, a);
	}
	return result;
}

uint8_t bpk_code_factor(unsigned parity, unsigned data)
{
	return bpk_gf_inverse((uint8_t)(data ^ (BPK_CODE_MAX - parity)));
}

static void swap_rows(uint8_t *a, uint8_t *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t kept = a[i];

		a[i] = b[i];
		b[i] = kept;
	}
}

static void scale_row(uint8_t *row, uint8_t by, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		row[i] = bpk_gf_multiply(row[i], by);
}

static void add_row(uint8_t *to, const uint8_t *row, uint8_t by, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		to[i] ^= bpk_gf_multiply(row[i], by);
}

/* Gauss and Jordan: the steps that lead to the unit matrix lead from that to the inverse. */
bool bpk_gf_invert(uint8_t *matrix, uint8_t *scratch, unsigned n)
{
	memset(scratch, 0, (size_t)n * n);
	for (unsigned i = 0; i < n; i++)
		scratch[i * n + i] = 1;
	for (unsigned column = 0; column < n; column++) {
		unsigned pivot = column;
		uint8_t scale;

		while (pivot < n && matrix[pivot * n + column] == 0)
			pivot++;
		if (pivot == n)
			return false;
		swap_rows(matrix + pivot * n, matrix + column * n, n);
		swap_rows(scratch + pivot * n, scratch + column * n, n);
		scale = bpk_gf_inverse(matrix[column * n + column]);
		scale_row(matrix + column * n, scale, n);
		scale_row(scratch + column * n, scale, n);
		for (unsigned row = 0; row < n; row++) {
			uint8_t by = row == column ? 0 : matrix[row * n + column];

			add_row(matrix + row * n, matrix + column * n, by, n);
			add_row(scratch + row * n, scratch + column * n, by, n);
		}
	}
	memcpy(matrix, scratch, (size_t)n * n);
	return true;
}
