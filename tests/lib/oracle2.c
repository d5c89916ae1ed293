/*
 * What c-blosc2 makes of a frame. No part of the build: tests compile it against the installed
 * library that BPK_CBLOSC2 names (tests/cli/lib.bash, need_oracle2).
 *
 *     oracle2 raw FRAME               every chunk, unpacked, to standard output
 *     oracle2 array FRAME             the array of a b2nd frame in C order
 *     oracle2 names FRAME             the names of its metalayers: "fixed NAME", "variable NAME"
 *     oracle2 layer FRAME NAME        the content of one of them
 *     oracle2 append FRAME SIZE       append standard input in chunks of SIZE bytes
 *     oracle2 delete FRAME NUMBER     delete a chunk, which leaves a hole
 *     oracle2 pack FRAME SIZE TYPESIZE [sparse]   the same into a new frame
 *
 * Ends with status 1 and a line when the library refuses, and by a signal when it takes a minute.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <b2nd.h>
#include <blosc2.h>

enum { SECONDS = 60 };

static void refuse(const char *what, int64_t code)
{
	fprintf(stderr, "oracle2: %s: %lld\n", what, (long long)code);
	exit(1);
}

static void put(const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, stdout) != size)
		refuse("standard output", 0);
}

static blosc2_schunk *open_frame(const char *path)
{
	blosc2_schunk *schunk = blosc2_schunk_open(path);

	if (schunk == NULL)
		refuse("cannot be opened", 0);
	return schunk;
}

/* ---- content ---- */

/* Chunks of blocks of variable length are unpacked block by block. */
static void put_blocks(blosc2_schunk *schunk, int64_t number, int32_t nblocks)
{
	for (int32_t i = 0; i < nblocks; i++) {
		uint8_t *block = NULL;
		int32_t size = 0;
		int rc = blosc2_schunk_get_vlblock(schunk, number, i, &block, &size);

		if (rc < 0)
			refuse("a block of variable length", rc);
		put(block, (size_t)size);
		free(block);
	}
}

/* Returns the chunk's raw size. */
static int32_t put_chunk(blosc2_schunk *schunk, int64_t number)
{
	uint8_t *chunk, *raw;
	bool owned = false;
	int32_t raw_size, packed_size, nblocks;
	int rc = blosc2_schunk_get_chunk(schunk, number, &chunk, &owned);

	if (rc < 0)
		refuse("a chunk cannot be read", rc);
	rc = blosc2_cbuffer_sizes(chunk, &raw_size, &packed_size, &nblocks);
	if (rc < 0)
		refuse("a chunk's header", rc);
	if (chunk[0] >= 6 && (chunk[30] & 1) != 0) {
		put_blocks(schunk, number, (int32_t)(chunk[8] | chunk[9] << 8 | chunk[10] << 16));
	} else {
		raw = malloc((size_t)raw_size + 1);
		if (raw == NULL)
			refuse("memory", raw_size);
		rc = blosc2_schunk_decompress_chunk(schunk, number, raw, raw_size);
		if (rc != raw_size)
			refuse("a chunk cannot be unpacked", rc);
		put(raw, (size_t)raw_size);
		free(raw);
	}
	if (owned)
		free(chunk);
	return raw_size;
}

static void show_raw(const char *path)
{
	blosc2_schunk *schunk = open_frame(path);
	int64_t total = 0;

	for (int64_t i = 0; i < schunk->nchunks; i++)
		total += put_chunk(schunk, i);
	if (total != schunk->nbytes)
		refuse("the sum of the chunks is not what the header says", total);
	blosc2_schunk_free(schunk);
}

static void show_array(const char *path)
{
	b2nd_array_t *array;
	int rc = b2nd_open(path, &array);
	int64_t size = 0;
	void *raw;

	if (rc < 0)
		refuse("is no array", rc);
	size = array->nitems * array->sc->typesize;
	raw = malloc((size_t)size + 1);
	if (raw == NULL)
		refuse("memory", size);
	rc = b2nd_to_cbuffer(array, raw, size);
	if (rc < 0)
		refuse("the array cannot be unpacked", rc);
	put(raw, (size_t)size);
	free(raw);
	b2nd_free(array);
}

/* ---- metalayers ---- */

static void show_names(const char *path)
{
	blosc2_schunk *schunk = open_frame(path);

	for (int i = 0; i < schunk->nmetalayers; i++)
		printf("fixed %s\n", schunk->metalayers[i]->name);
	for (int i = 0; i < schunk->nvlmetalayers; i++)
		printf("variable %s\n", schunk->vlmetalayers[i]->name);
	blosc2_schunk_free(schunk);
}

static void show_layer(const char *path, const char *name)
{
	blosc2_schunk *schunk = open_frame(path);
	uint8_t *content = NULL;
	int32_t size = 0;
	int rc = blosc2_meta_exists(schunk, name) >= 0
			 ? blosc2_meta_get(schunk, name, &content, &size)
			 : blosc2_vlmeta_get(schunk, name, &content, &size);

	if (rc < 0)
		refuse("has no such metalayer", rc);
	put(content, (size_t)size);
	free(content);
	blosc2_schunk_free(schunk);
}

/* ---- writing ---- */

static void append_to(blosc2_schunk *schunk, size_t chunk_size)
{
	uint8_t *raw = malloc(chunk_size);
	size_t got;

	if (raw == NULL)
		refuse("memory", (int64_t)chunk_size);
	while ((got = fread(raw, 1, chunk_size, stdin)) > 0) {
		int64_t rc = blosc2_schunk_append_buffer(schunk, raw, (int32_t)got);

		if (rc < 0)
			refuse("append", rc);
	}
	free(raw);
	blosc2_schunk_free(schunk);
}

static void delete_chunk(const char *path, int64_t number)
{
	blosc2_schunk *schunk = open_frame(path);
	int64_t rc = blosc2_schunk_delete_chunk(schunk, number);

	if (rc < 0)
		refuse("delete", rc);
	blosc2_schunk_free(schunk);
}

static void pack(char *path, size_t chunk_size, int32_t typesize, bool sparse)
{
	blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
	blosc2_storage storage = { .contiguous = !sparse, .urlpath = path, .cparams = &cparams };
	blosc2_schunk *schunk;

	cparams.typesize = typesize;
	schunk = blosc2_schunk_new(&storage);
	if (schunk == NULL)
		refuse("cannot be made", 0);
	append_to(schunk, chunk_size);
}

static int usage(void)
{
	fputs("usage: oracle2 raw|array|names|layer|append|delete|pack FRAME [ARGUMENT]...\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	alarm(SECONDS);
	blosc2_init();
	if (strcmp(what, "raw") == 0)
		show_raw(argv[2]);
	else if (strcmp(what, "array") == 0)
		show_array(argv[2]);
	else if (strcmp(what, "names") == 0)
		show_names(argv[2]);
	else if (strcmp(what, "layer") == 0 && argc > 3)
		show_layer(argv[2], argv[3]);
	else if (strcmp(what, "append") == 0 && argc > 3)
		append_to(open_frame(argv[2]), strtoul(argv[3], NULL, 10));
	else if (strcmp(what, "delete") == 0 && argc > 3)
		delete_chunk(argv[2], strtoll(argv[3], NULL, 10));
	else if (strcmp(what, "pack") == 0 && argc > 4)
		pack(argv[2], strtoul(argv[3], NULL, 10), atoi(argv[4]), argc > 5);
	else
		return usage();
	blosc2_destroy();
	return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
