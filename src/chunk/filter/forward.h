/*
 * A part of the template lanes.h, included by set.h: kernels on plain rows of bytes. The last
 * vector overlaps the one before it, so that it is whole.
 */

typedef uint8_t lane_bytes __attribute__((vector_size(sizeof(V))));

V_TARGET static void exclusive_or(const uint8_t *a, const uint8_t *b, size_t size, uint8_t *out)
{
	size_t i;

	if (size < BLOCK) {
		V_BELOW.exclusive_or(a, b, size, out);
		return;
	}
	for (i = 0; i + BLOCK <= size; i += BLOCK)
		v_store(out + i, v_load(a + i) ^ v_load(b + i));
	i = size - BLOCK;
	v_store(out + i, v_load(a + i) ^ v_load(b + i));
}

V_FN void differences_block(const uint8_t *in, uint8_t *out)
{
	v_store(out, (V)((lane_bytes)v_load(in) - (lane_bytes)v_load(in - 1)));
}

V_TARGET static void differences(const uint8_t *in, size_t size, uint8_t *out)
{
	size_t i;

	if (size < 1 + BLOCK) {
		V_BELOW.differences(in, size, out);
		return;
	}
	out[0] = in[0];
	for (i = 1; i + BLOCK <= size; i += BLOCK)
		differences_block(in + i, out + i);
	differences_block(in + size - BLOCK, out + size - BLOCK);
}
