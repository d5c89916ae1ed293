/* The choice of the inner loop: ISA-L, vector kernels, or portable code. Called by the files of the
 * room. */
#include "parity/kernel.h"

#include <stdlib.h>

#include "config.h"
#include "parity/matrix.h"

#ifdef HAVE_ISAL
#include <isa-l.h>
#endif

/* ---- ISA-L ---- */

#ifdef HAVE_ISAL

#define CALLS(X) X(ec_init_tables) X(ec_encode_data_update)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(ISAL_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(ISAL_SONAME, names, calls);

static bool isal_runs(void)
{
	return bpk_library_need(&library, NULL) == 0;
}

/* The library takes bytes that it does not change without const. */
static void isal_prepare(unsigned rows, unsigned columns, const uint8_t *factors, uint8_t *tables)
{
	calls.ec_init_tables((int)columns, (int)rows, (unsigned char *)(uintptr_t)factors, tables);
}

/* A part of whole vectors: some of the library's loops refuse fewer bytes than a vector has. */
static void isal_add(unsigned rows, unsigned columns, unsigned column, const uint8_t *tables,
		     const uint8_t *in, uint8_t *const *out, size_t size)
{
	calls.ec_encode_data_update(
		(int)size, (int)columns, (int)rows, (int)column, (unsigned char *)(uintptr_t)tables,
		(unsigned char *)(uintptr_t)in, (unsigned char **)(uintptr_t)out);
}

static const struct bpk_code_way isal = { "ISA-L", isal_runs, isal_prepare, isal_add };
#endif

/* ---- portable ---- */

void bpk_code_prepare(unsigned rows, unsigned columns, const uint8_t *factors, uint8_t *tables)
{
	for (size_t i = 0; i < (size_t)rows * columns; i++, tables += BPK_CODE_TABLE)
		for (unsigned four = 0; four < 16; four++) {
			tables[four] = bpk_gf_multiply(factors[i], (uint8_t)four);
			tables[16 + four] = bpk_gf_multiply(factors[i], (uint8_t)(four << 4));
		}
}

void bpk_code_add_portable(unsigned rows, unsigned columns, unsigned column, const uint8_t *tables,
			   const uint8_t *in, uint8_t *const *out, size_t size)
{
	for (unsigned row = 0; row < rows; row++) {
		const uint8_t *table = tables + ((size_t)row * columns + column) * BPK_CODE_TABLE;
		uint8_t *to = out[row];

		for (size_t i = 0; i < size; i++)
			to[i] ^= table[in[i] & 15] ^ table[16 + (in[i] >> 4)];
	}
}

static bool always(void)
{
	return true;
}

static const struct bpk_code_way portable = { "portable", always, bpk_code_prepare,
					      bpk_code_add_portable };

const struct bpk_code_way *const bpk_code_ways[] = {
#ifdef HAVE_ISAL
	&isal,
#endif
#ifdef __x86_64__
	&bpk_code_avx2, &bpk_code_ssse3,
#endif
	&portable,      NULL,
};

const struct bpk_code_way *bpk_code_way(void)
{
	const struct bpk_code_way *const *way = bpk_code_ways;

	while (!(*way)->runs())
		way++;
	return *way;
}

/* ---- codes ---- */

int bpk_code_init_factors(struct bpk_code *code, unsigned rows, unsigned columns,
			  const uint8_t *factors, struct bpk_err *err)
{
	*code = (struct bpk_code){ .rows = rows, .columns = columns, .way = bpk_code_way() };
	code->tables = bpk_calloc((size_t)rows * columns, BPK_CODE_TABLE, err);
	if (code->tables == NULL)
		return -1;
	code->way->prepare(rows, columns, factors, code->tables);
	return 0;
}

int bpk_code_init(struct bpk_code *code, unsigned rows, unsigned columns, struct bpk_err *err)
{
	uint8_t *factors = bpk_calloc((size_t)rows * columns, 1, err);
	int rc = -1;

	for (unsigned row = 0; factors != NULL && row < rows; row++)
		for (unsigned column = 0; column < columns; column++)
			factors[row * columns + column] = bpk_code_factor(row, column);
	if (factors != NULL)
		rc = bpk_code_init_factors(code, rows, columns, factors, err);
	free(factors);
	return rc;
}

void bpk_code_clear(struct bpk_code *code)
{
	free(code->tables);
	*code = (struct bpk_code){ 0 };
}

void bpk_code_add(const struct bpk_code *code, unsigned column, const uint8_t *in,
		  uint8_t *const *out, size_t size)
{
	code->way->add(code->rows, code->columns, column, code->tables, in, out, size);
}
