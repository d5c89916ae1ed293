/*
 * A part of the template lanes.h, which set.h includes: bytes added up in a row. What one vector
 * adds to all that follow is known before it is itself complete, so that they wait only for one
 * addition each.
 *
 *   v_add(a, b)    bytes, modulo 256
 *   v_sums(v)      byte i plus all before it in the vector
 *   v_last(v)      the last byte of the vector, in all places
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
