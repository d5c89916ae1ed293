/*
 * Speed of parity: GB/s of data over one core, for each inner loop that this machine runs, with the
 * share of parity that 1, 5, 10 and 20 percent need in groups of up to 255 cells. Cells lie in
 * memory as bpk parity has them, worked on in stripes of 4 KiB. Prints a table, never fails.
 * bench-parity [MiB, 64] [rounds, 5]
 */
#include "parity/parity.h"

#include "bench/turns.h"

enum { CELL = 64 << 10, STRIPE = 4 << 10 };

static double encode(const struct bpk_code_way *way, unsigned k, unsigned m, const uint8_t *data,
		     size_t size, uint8_t *parity, const uint8_t *tables)
{
	size_t cells = size / CELL;
	double start = turns_now();

	for (size_t first = 0; first < cells; first += k)
		for (size_t at = 0; at < CELL; at += STRIPE) {
			uint8_t *out[BPK_CODE_MAX];

			for (unsigned j = 0; j < m; j++)
				out[j] = parity + (size_t)j * CELL + at;
			for (unsigned i = 0; i < k && first + i < cells; i++)
				way->add(m, k, i, tables, data + (first + i) * CELL + at, out,
					 STRIPE);
		}
	return (double)size / (turns_now() - start) / 1e9;
}

static double best_of(const struct bpk_code_way *way, unsigned k, unsigned m, const uint8_t *data,
		      size_t size, uint8_t *parity, unsigned rounds)
{
	uint8_t *factors = turns_allocate((size_t)k * m);
	uint8_t *tables = turns_allocate((size_t)k * m * BPK_CODE_TABLE);
	double best = 0;

	for (unsigned j = 0; j < m; j++)
		for (unsigned i = 0; i < k; i++)
			factors[j * k + i] = bpk_code_factor(j, i);
	way->prepare(m, k, factors, tables);
	for (unsigned round = 0; round < rounds; round++) {
		double speed = encode(way, k, m, data, size, parity, tables);

		best = speed > best ? speed : best;
	}
	free(tables);
	free(factors);
	return best;
}

int main(int argc, char **argv)
{
	static const unsigned percents[] = { 1, 5, 10, 20 };
	size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 64) << 20;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
	uint8_t *data = turns_allocate(size), *parity = turns_allocate((size_t)BPK_CODE_MAX * CELL);

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 13);
	printf("data, GB/s\n%8s", "parity");
	for (size_t w = 0; bpk_code_ways[w] != NULL; w++)
		if (bpk_code_ways[w]->runs())
			printf(" %9s", bpk_code_ways[w]->name);
	for (size_t p = 0; p < sizeof percents / sizeof percents[0]; p++) {
		unsigned k = BPK_CODE_MAX * 100 / (100 + percents[p]), m = BPK_CODE_MAX - k;

		printf("\n%7u%%", percents[p]);
		for (size_t w = 0; bpk_code_ways[w] != NULL; w++)
			if (bpk_code_ways[w]->runs())
				printf(" %9.2f",
				       best_of(bpk_code_ways[w], k, m, data, size, parity, rounds));
		fflush(stdout);
	}
	putchar('\n');
	free(data);
	free(parity);
	return 0;
}
