/*
 * Speed of parity: GB/s of data over one core, for each inner loop that this machine runs, with the
 * share of parity that 1, 5, 10 and 20 percent need in groups of up to 255 cells. Cells lie in
 * memory as bpk parity has them. The loops take turns, and the fastest turn of each counts. Prints
 * a table, never fails. bench-parity [MiB, 64] [rounds, 5]
 */
#include "parity/parity.h"

#include "bench/turns.h"

enum { CELL = 64 << 10, WAYS = 8 };

static double encode(const struct bpk_code *code, const uint8_t *data, size_t size, uint8_t *parity)
{
	size_t cells = size / CELL;
	const uint8_t *from[BPK_CODE_MAX];
	uint8_t *out[BPK_CODE_MAX];
	double start = turns_now();

	for (unsigned j = 0; j < code->rows; j++)
		out[j] = parity + (size_t)j * CELL;
	for (size_t first = 0, count; first < cells; first += count) {
		count = bpk_min_size(code->columns, cells - first);
		for (size_t i = 0; i < count; i++)
			from[i] = data + (first + i) * CELL;
		bpk_code_add(code, &(struct bpk_code_in){ 0, (unsigned)count, from }, out, CELL);
	}
	return (double)size / (turns_now() - start) / 1e9;
}

static void print_row(unsigned k, const uint8_t *data, size_t size, uint8_t *parity,
		      unsigned rounds)
{
	unsigned m = BPK_CODE_MAX - k;
	uint8_t *factors = turns_allocate((size_t)k * m);
	double best[WAYS] = { 0 };

	for (unsigned j = 0; j < m; j++)
		for (unsigned i = 0; i < k; i++)
			factors[j * k + i] = bpk_code_factor(j, i);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t w = 0; bpk_code_ways[w] != NULL; w++) {
			struct bpk_code code = { 0 };
			double speed;

			if (!bpk_code_ways[w]->runs() ||
			    bpk_code_init_factors(&code, bpk_code_ways[w], m, k, factors, NULL) !=
				    0)
				continue;
			speed = encode(&code, data, size, parity);
			best[w] = speed > best[w] ? speed : best[w];
			bpk_code_clear(&code);
		}
	for (size_t w = 0; bpk_code_ways[w] != NULL; w++)
		if (best[w] > 0)
			printf(" %9.2f", best[w]);
	free(factors);
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
		unsigned k = BPK_CODE_MAX * 100 / (100 + percents[p]);

		printf("\n%7u%%", percents[p]);
		print_row(k, data, size, parity, rounds);
		fflush(stdout);
	}
	putchar('\n');
	free(data);
	free(parity);
	return 0;
}
