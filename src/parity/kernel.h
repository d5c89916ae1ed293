/*
 * The inner loop of the code: the multiples of one cell are added to several others. A part of the
 * room's door, for its own files, unit tests and benches.
 */
#ifndef BPK_PARITY_KERNEL_H
#define BPK_PARITY_KERNEL_H

#include "base/base.h"

/* Bytes of a table for each factor. Their content is each way's own. */
enum { BPK_CODE_TABLE = 32 };

/* A way to add; all of them give the same bytes. */
struct bpk_code_way {
	const char *name;
	/* True if this machine can go it. */
	bool (*runs)(void);
	/* Make the tables of the matrix of rows times columns factors, row by row. */
	void (*prepare)(unsigned rows, unsigned columns, const uint8_t *factors, uint8_t *tables);
	/* For each row add the multiple of in, size bytes, by the row's factor in that column to
	 * out[row]. */
	void (*add)(unsigned rows, unsigned columns, unsigned column, const uint8_t *tables,
		    const uint8_t *in, uint8_t *const *out, size_t size);
};

/* All of them, the fastest first, ended by NULL. The last one is portable, and the definition. */
extern const struct bpk_code_way *const bpk_code_ways[];

/* The first that this machine can go. Any thread. */
const struct bpk_code_way *bpk_code_way(void);

/* A matrix of factors, made ready. Caller storage, valid when zeroed; for bpk_code_clear. Any
 * number of threads may add. */
struct bpk_code {
	unsigned rows, columns;
	const struct bpk_code_way *way;
	uint8_t *tables;
};

/* Make the code that has rows parity cells for columns data cells. */
int bpk_code_init(struct bpk_code *code, unsigned rows, unsigned columns, struct bpk_err *err);

/* Make a matrix of other factors ready, row by row. */
int bpk_code_init_factors(struct bpk_code *code, unsigned rows, unsigned columns,
			  const uint8_t *factors, struct bpk_err *err);
void bpk_code_clear(struct bpk_code *code);

/* Add the multiples of in, which stands in that column, to all rows. */
void bpk_code_add(const struct bpk_code *code, unsigned column, const uint8_t *in,
		  uint8_t *const *out, size_t size);

/* The vector kernels of x86: kernel_x86.c. */
extern const struct bpk_code_way bpk_code_avx2, bpk_code_ssse3;

/* Tables of products with the low and with the high four bits of a byte, 16 of each. */
void bpk_code_prepare(unsigned rows, unsigned columns, const uint8_t *factors, uint8_t *tables);

/* The portable way. */
void bpk_code_add_portable(unsigned rows, unsigned columns, unsigned column, const uint8_t *tables,
			   const uint8_t *in, uint8_t *const *out, size_t size);

#endif
