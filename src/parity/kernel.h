/*
 * The inner loop of the code: the multiples of some cells are added to several others. A part of
 * the room's door, for its own files, unit tests and benches.
 */
#ifndef BPK_PARITY_KERNEL_H
#define BPK_PARITY_KERNEL_H

#include "base/base.h"

enum {
	BPK_CODE_TABLE = 32, /* bytes of a table for each factor; their content is each way's own */
	BPK_CODE_TOGETHER = 16,    /* cells that are added at once */
	BPK_CODE_STRIPE = 4 << 10, /* and bytes of each of them */
};

/* A matrix of factors, made ready. Caller storage, valid when zeroed; for bpk_code_clear. Any
 * number of threads may add. */
struct bpk_code {
	unsigned rows, columns;
	const struct bpk_code_way *way;
	uint8_t *tables; /* row by row */
};

/* The cells of some columns that follow each other. */
struct bpk_code_in {
	unsigned column, count;
	const uint8_t *const *cells;
};

/* A way to add; all of them give the same bytes. */
struct bpk_code_way {
	const char *name;
	/* True if this machine can go it. */
	bool (*runs)(void);
	/* Make the table of a factor. */
	void (*prepare)(uint8_t factor, uint8_t *table);
	/* For each row add the multiples of size bytes of the cells from at on to out[row], from
	 * at on, by the row's factors in their columns. */
	void (*add)(const struct bpk_code *code, const struct bpk_code_in *in, uint8_t *const *out,
		    size_t at, size_t size);
};

/* All of them, the fastest first, ended by NULL. The last one is portable, and the definition. */
extern const struct bpk_code_way *const bpk_code_ways[];

/* The first that this machine can go. Any thread. */
const struct bpk_code_way *bpk_code_way(void);

/* Make the code that has rows parity cells for columns data cells. */
int bpk_code_init(struct bpk_code *code, unsigned rows, unsigned columns, struct bpk_err *err);

/* Make a matrix of other factors ready, row by row, for that way. */
int bpk_code_init_factors(struct bpk_code *code, const struct bpk_code_way *way, unsigned rows,
			  unsigned columns, const uint8_t *factors, struct bpk_err *err);
void bpk_code_clear(struct bpk_code *code);

/* Add the multiples of the cells, size bytes of each, to all rows. Fastest with many cells. */
void bpk_code_add(const struct bpk_code *code, const struct bpk_code_in *in, uint8_t *const *out,
		  size_t size);

static inline const uint8_t *bpk_code_table(const struct bpk_code *code, unsigned row,
					    unsigned column)
{
	return code->tables + ((size_t)row * code->columns + column) * BPK_CODE_TABLE;
}

/* The vector kernels: kernel_x86.c and kernel_arm.c. */
extern const struct bpk_code_way bpk_code_avx512, bpk_code_avx2, bpk_code_ssse3, bpk_code_neon;

/* Tables of products with the low and with the high four bits of a byte, 16 of each. */
void bpk_code_prepare(uint8_t factor, uint8_t *table);

/* The rest behind the last whole vector: a byte at a time, by these tables. */
void bpk_code_add_bytes(const struct bpk_code *code, const struct bpk_code_in *in,
			uint8_t *const *out, size_t at, size_t size);

#endif
