/*
 * Write a data set of the benches to standard output: make-data NAME SIZE [SEED]. Without
 * arguments, list the sets.
 */
#include "bench/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void list(void)
{
	const struct bench_data *data;

	for (size_t i = 0; (data = bench_data_at(i)) != NULL; i++)
		printf("%-14s typesize %2u  %s\n", data->name, data->typesize, data->summary);
}

static int fail(const char *what)
{
	fprintf(stderr, "make-data: %s\n", what);
	return 1;
}

/* A plain number of bytes, or -1. */
static int parse(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno != 0 || end == text || *end != '\0' ? -1 : 0;
}

int main(int argc, char **argv)
{
	uint64_t size, seed = 1;
	uint8_t *bytes;
	int rc = 0;

	if (argc == 1) {
		list();
		return 0;
	}
	if (argc < 3 || argc > 4 || parse(argv[2], &size) != 0 || size > SIZE_MAX - 1 ||
	    (argc == 4 && parse(argv[3], &seed) != 0))
		return fail("usage: make-data NAME BYTES [SEED]");
	bytes = malloc((size_t)size + 1);
	if (bytes == NULL)
		return fail("no memory");
	if (bench_data_make(argv[1], seed, (size_t)size, bytes) != 0)
		rc = fail("no such data set");
	else if (fwrite(bytes, 1, (size_t)size, stdout) != size || fflush(stdout) != 0)
		rc = fail("cannot write");
	free(bytes);
	return rc;
}
