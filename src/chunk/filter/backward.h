/*
 * A part of the template lanes.h, included by set.h: prefix sums of bytes. The total of a vector is
 * known before its prefix sums are complete, so the next vector waits for one addition only.
 *
 *   v_add(a, b)    bytes, modulo 256
 *   v_sums(v)      byte i plus all earlier bytes of the vector
 *   v_last(v)      the last byte of the vector, in all positions
 */
#ifdef v_sums
V_TARGET static void sums(const uint8_t *in, size_t size, uint8_t before, uint8_t *out)
{
	uint8_t bytes[BLOCK];
	size_t i = 0;
	V last;

	memset(bytes, before, sizeof bytes);
	last = v_load(bytes);
	for (; i + BLOCK <= size; i += BLOCK) {
		V here = v_sums(v_load(in + i));

		v_store(out + i, v_add(here, last));
		last = v_add(last, v_last(here));
	}
	if (i < size)
		V_BELOW.sums(in + i, size - i, i > 0 ? out[i - 1] : before, out + i);
}
#else
static void sums(const uint8_t *in, size_t size, uint8_t before, uint8_t *out)
{
	V_BELOW.sums(in, size, before, out);
}
#endif
