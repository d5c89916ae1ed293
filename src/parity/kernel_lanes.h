/*
 * The vector kernel as a template: sums of a few rows stay in registers while the cells of all
 * columns are added to them. Included by kernel_x86.c and kernel_arm.c, which define, for each set
 * of instructions,
 *
 *     V_NAME(x)           the name x with that of the set behind
 *     V_TARGET            the function's attribute
 *     V                   a vector
 *     V_ROWS              rows whose sums fit the registers, at most 8, with two vectors each
 *     V_FACTOR, V_IN      what is made of a table, and of a vector of a cell
 *     V_LOAD(from), V_STORE(to, v), V_XOR(a, b)
 *     V_TABLE(table), V_SPLIT(v), V_PRODUCT(factor, in)
 *     V_REST              the function that adds the bytes behind the last two vectors
 *
 * and undefined here at the end.
 */

/* Both vectors at that offset, of rows that begin at row. */
static inline __attribute__((always_inline)) V_TARGET void
V_NAME(add_tile)(unsigned rows, const struct bpk_code *code, const struct bpk_code_in *in,
		 unsigned row, uint8_t *const *out, size_t at)
{
	V sums[V_ROWS][2];

#pragma GCC unroll 8
	for (unsigned i = 0; i < rows; i++) {
		sums[i][0] = V_LOAD(out[row + i] + at);
		sums[i][1] = V_LOAD(out[row + i] + at + sizeof(V));
	}
	for (unsigned c = 0; c < in->count; c++) {
		const uint8_t *table = bpk_code_table(code, row, in->column + c);
		const V_IN first = V_SPLIT(V_LOAD(in->cells[c] + at));
		const V_IN second = V_SPLIT(V_LOAD(in->cells[c] + at + sizeof(V)));

#pragma GCC unroll 8
		for (unsigned i = 0; i < rows; i++) {
			const V_FACTOR factor = V_TABLE(table);

			sums[i][0] = V_XOR(sums[i][0], V_PRODUCT(factor, first));
			sums[i][1] = V_XOR(sums[i][1], V_PRODUCT(factor, second));
			table += (size_t)code->columns * BPK_CODE_TABLE;
		}
	}
#pragma GCC unroll 8
	for (unsigned i = 0; i < rows; i++) {
		V_STORE(out[row + i] + at, sums[i][0]);
		V_STORE(out[row + i] + at + sizeof(V), sums[i][1]);
	}
}

/* A loop for each number of rows, which the compiler then knows. */
#define V_LOOP(ROWS)                                                                               \
	case ROWS:                                                                                 \
		for (size_t end = at + whole, i = at; i < end; i += 2 * sizeof(V))                 \
			V_NAME(add_tile)(ROWS, code, in, row, out, i);                             \
		break;

static V_TARGET void V_NAME(add)(const struct bpk_code *code, const struct bpk_code_in *in,
				 uint8_t *const *out, size_t at, size_t size)
{
	size_t whole = size - size % (2 * sizeof(V));

	for (unsigned row = 0, rows; row < code->rows; row += rows) {
		rows = code->rows - row < V_ROWS ? code->rows - row : V_ROWS;
		switch (rows) {
			V_LOOP(1)
			V_LOOP(2)
			V_LOOP(3)
			V_LOOP(4)
#if V_ROWS > 4
			V_LOOP(5)
			V_LOOP(6)
			V_LOOP(7)
			V_LOOP(8)
#endif
		}
	}
	V_REST(code, in, out, at + whole, size - whole);
}

#undef V_LOOP
#undef V_NAME
#undef V_TARGET
#undef V
#undef V_ROWS
#undef V_FACTOR
#undef V_IN
#undef V_LOAD
#undef V_STORE
#undef V_XOR
#undef V_TABLE
#undef V_SPLIT
#undef V_PRODUCT
#undef V_REST
