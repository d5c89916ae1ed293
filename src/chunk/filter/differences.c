/*
 * Kernels of delta and bytedelta in portable C: the definition that the vector kernels are tested
 * against. Called through the portable set in shuffle.c. Source: Blosc chunk format, "DELTA" and
 * "BYTEDELTA".
 */
#include "chunk/filter/kernels.h"

void bpk_filter_exclusive_or_portable(const uint8_t *a, const uint8_t *b, size_t size, uint8_t *out)
{
	for (size_t i = 0; i < size; i++)
		out[i] = a[i] ^ b[i];
}

void bpk_filter_differences_portable(const uint8_t *in, size_t size, uint8_t *out)
{
	uint8_t before = 0;

	for (size_t i = 0; i < size; i++) {
		out[i] = (uint8_t)(in[i] - before);
		before = in[i];
	}
}

void bpk_filter_sums_portable(const uint8_t *in, size_t size, uint8_t before, uint8_t *out)
{
	for (size_t i = 0; i < size; i++)
		out[i] = before = (uint8_t)(before + in[i]);
}
