/*
 * c-blosc2 in compare: whole files, as users of its library write them. No part of the build;
 * compare compiles it against the library that BPK_CBLOSC2 names.
 *
 *     frames2 pack FILE FRAME THREADS CHUNK TYPESIZE CODEC LEVEL
 *     frames2 unpack FRAME FILE THREADS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <blosc2.h>

static int fail(const char *what)
{
	fprintf(stderr, "frames2: %s\n", what);
	return 1;
}

static int append_all(FILE *in, blosc2_schunk *schunk, int32_t chunk)
{
	uint8_t *raw = malloc((size_t)chunk);
	size_t got;
	int rc = raw == NULL;

	while (rc == 0 && (got = fread(raw, 1, (size_t)chunk, in)) > 0)
		rc = blosc2_schunk_append_buffer(schunk, raw, (int32_t)got) < 0;
	free(raw);
	return rc;
}

static int pack(char **argv)
{
	blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
	blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
	blosc2_storage storage = {
		.contiguous = true, .urlpath = argv[3], .cparams = &cparams, .dparams = &dparams
	};
	blosc2_schunk *schunk;
	FILE *in = fopen(argv[2], "rb");
	int rc;

	cparams.nthreads = dparams.nthreads = (int16_t)atoi(argv[4]);
	cparams.typesize = atoi(argv[6]);
	cparams.compcode = (uint8_t)blosc2_compname_to_compcode(argv[7]);
	cparams.clevel = (uint8_t)atoi(argv[8]);
	unlink(argv[3]);
	schunk = blosc2_schunk_new(&storage);
	if (in == NULL || schunk == NULL)
		return fail("cannot open");
	rc = append_all(in, schunk, atoi(argv[5]));
	fclose(in);
	blosc2_schunk_free(schunk);
	return rc != 0 ? fail("cannot pack") : 0;
}

static int unpack(char **argv)
{
	blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
	blosc2_schunk *schunk = blosc2_schunk_open(argv[2]);
	FILE *out = fopen(argv[3], "wb");
	uint8_t *raw;
	int rc = 0;

	if (schunk == NULL || out == NULL)
		return fail("cannot open");
	dparams.nthreads = (int16_t)atoi(argv[4]);
	dparams.schunk = schunk;
	blosc2_free_ctx(schunk->dctx);
	schunk->dctx = blosc2_create_dctx(dparams);
	raw = malloc((size_t)schunk->chunksize);
	if (raw == NULL || schunk->dctx == NULL)
		return fail("no memory");
	for (int64_t i = 0; rc == 0 && i < schunk->nchunks; i++) {
		int size = blosc2_schunk_decompress_chunk(schunk, i, raw, schunk->chunksize);

		rc = size < 0 || fwrite(raw, 1, (size_t)size, out) != (size_t)size;
	}
	free(raw);
	blosc2_schunk_free(schunk);
	return rc != 0 || fclose(out) != 0 ? fail("cannot unpack") : 0;
}

int main(int argc, char **argv)
{
	int rc = 2;

	blosc2_init();
	if (argc == 9 && strcmp(argv[1], "pack") == 0)
		rc = pack(argv);
	else if (argc == 5 && strcmp(argv[1], "unpack") == 0)
		rc = unpack(argv);
	blosc2_destroy();
	return rc;
}
