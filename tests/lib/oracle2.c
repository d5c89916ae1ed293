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
 *     oracle2 blocks FRAME SIZES SIZES TYPESIZE [sparse]   the same in blocks of variable length;
 *                                     sizes of chunks, and of their blocks, with commas between,
 *                                     come again and again
 *     oracle2 sizes FRAME NUMBER      the sizes of the blocks of such a chunk, one a line
 *     oracle2 make FRAME TYPE ITEM SHAPE CHUNKS BLOCKS [sparse]   the same as an array of items of
 *                                     ITEM bytes; shapes are numbers with commas between
 *     oracle2 part FRAME START STOP   what an array has from START up to STOP
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

/* ---- blocks of variable length ---- */

enum { MOST_BLOCKS = 4096 };

/* One chunk of them, in chunk; its size. */
static int32_t pack_blocks(blosc2_context *context, const uint8_t *raw, size_t size,
			   const int64_t *sizes, int nsizes, uint8_t *chunk, int32_t room)
{
	const void *blocks[MOST_BLOCKS];
	int32_t lengths[MOST_BLOCKS], count = 0;
	int packed;

	for (size_t at = 0; at < size && count < MOST_BLOCKS; count++) {
		size_t length = (size_t)sizes[count % nsizes];

		if (length > size - at)
			length = size - at;
		blocks[count] = raw + at;
		lengths[count] = (int32_t)length;
		at += length;
	}
	packed = blosc2_vlcompress_ctx(context, blocks, lengths, count, chunk, room);
	if (packed <= 0)
		refuse("blocks of variable length", packed);
	return packed;
}

static int take_shape(const char *text, int64_t *sizes);

static void pack_variable(char *path, const char *chunk_text, const char *block_text,
			  int32_t typesize, bool sparse)
{
	blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
	blosc2_storage storage = { .contiguous = !sparse, .urlpath = path, .cparams = &cparams };
	enum { MOST_RAW = 1 << 20, ROOM = MOST_RAW + 32 + 16 * MOST_BLOCKS };
	uint8_t *raw = malloc(MOST_RAW), *chunk = malloc(ROOM);
	int64_t chunks[B2ND_MAX_DIM], blocks[B2ND_MAX_DIM];
	int nchunks = take_shape(chunk_text, chunks), nblocks = take_shape(block_text, blocks);
	size_t got;
	blosc2_context *context;
	blosc2_schunk *schunk;

	cparams.typesize = typesize;
	schunk = blosc2_schunk_new(&storage);
	context = blosc2_create_cctx(cparams);
	if (schunk == NULL || context == NULL || raw == NULL || chunk == NULL)
		refuse("cannot be made", 0);
	for (int i = 0; (got = fread(raw, 1, (size_t)chunks[i % nchunks], stdin)) > 0; i++) {
		int64_t rc;

		pack_blocks(context, raw, got, blocks, nblocks, chunk, ROOM);
		rc = blosc2_schunk_append_chunk(schunk, chunk, true);
		if (rc < 0)
			refuse("append", rc);
	}
	blosc2_free_ctx(context);
	blosc2_schunk_free(schunk);
	free(raw);
	free(chunk);
}

static void show_sizes(const char *path, int64_t number)
{
	blosc2_schunk *schunk = open_frame(path);
	uint8_t *chunk;
	bool owned = false;
	int32_t nblocks = 0;
	int rc = blosc2_schunk_get_chunk(schunk, number, &chunk, &owned);

	if (rc < 0)
		refuse("a chunk cannot be read", rc);
	rc = blosc2_vlchunk_get_nblocks(chunk, rc, &nblocks);
	if (rc < 0)
		refuse("has no blocks of variable length", rc);
	for (int32_t i = 0; i < nblocks; i++) {
		uint8_t *block = NULL;
		int32_t size = 0;

		rc = blosc2_schunk_get_vlblock(schunk, number, i, &block, &size);
		if (rc < 0)
			refuse("a block of variable length", rc);
		printf("%d\n", (int)size);
		free(block);
	}
	if (owned)
		free(chunk);
	blosc2_schunk_free(schunk);
}

/* ---- arrays ---- */

static int take_shape(const char *text, int64_t *sizes)
{
	int count = 0;
	char *rest;

	while (*text != '\0' && count < B2ND_MAX_DIM) {
		sizes[count++] = strtoll(text, &rest, 10);
		text = *rest == ',' ? rest + 1 : rest;
	}
	return count;
}

static void make(char *path, char *type, int32_t item, char *const *shapes, bool sparse)
{
	blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
	blosc2_storage storage = { .contiguous = !sparse, .urlpath = path, .cparams = &cparams };
	int64_t shape[B2ND_MAX_DIM], wide[B2ND_MAX_DIM], size = item;
	int32_t chunks[B2ND_MAX_DIM], blocks[B2ND_MAX_DIM];
	int count = take_shape(shapes[0], shape);
	b2nd_context_t *context;
	b2nd_array_t *array;
	uint8_t *raw;
	int rc;

	take_shape(shapes[1], wide);
	for (int i = 0; i < count; i++)
		chunks[i] = (int32_t)wide[i];
	take_shape(shapes[2], wide);
	for (int i = 0; i < count; i++) {
		blocks[i] = (int32_t)wide[i];
		size *= shape[i];
	}
	raw = malloc((size_t)size + 1);
	if (raw == NULL || fread(raw, 1, (size_t)size, stdin) != (size_t)size)
		refuse("standard input", size);
	cparams.typesize = item;
	context = b2nd_create_ctx(&storage, (int8_t)count, shape, chunks, blocks, type,
				  DTYPE_NUMPY_FORMAT, NULL, 0);
	rc = context == NULL ? -1 : b2nd_from_cbuffer(context, &array, raw, size);
	if (rc < 0)
		refuse("the array cannot be made", rc);
	b2nd_free(array);
	b2nd_free_ctx(context);
	free(raw);
}

static void show_part(const char *path, const char *from, const char *to)
{
	int64_t start[B2ND_MAX_DIM], stop[B2ND_MAX_DIM], shape[B2ND_MAX_DIM], size;
	int count = take_shape(from, start);
	b2nd_array_t *array;
	int rc = b2nd_open(path, &array);
	uint8_t *raw;

	if (rc < 0 || take_shape(to, stop) != count || count != array->ndim)
		refuse("is no such array", rc);
	size = array->sc->typesize;
	for (int i = 0; i < count; i++) {
		shape[i] = stop[i] - start[i];
		size *= shape[i];
	}
	raw = malloc((size_t)size + 1);
	rc = raw == NULL ? -1 : b2nd_get_slice_cbuffer(array, start, stop, raw, shape, size);
	if (rc < 0)
		refuse("the part cannot be unpacked", rc);
	put(raw, (size_t)size);
	free(raw);
	b2nd_free(array);
}

static int usage(void)
{
	fputs("usage: oracle2 raw|array|part|names|layer|append|delete|pack|blocks|sizes|make "
	      "FRAME "
	      "[ARGUMENT]...\n",
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
	else if (strcmp(what, "blocks") == 0 && argc > 5)
		pack_variable(argv[2], argv[3], argv[4], atoi(argv[5]), argc > 6);
	else if (strcmp(what, "sizes") == 0 && argc > 3)
		show_sizes(argv[2], strtoll(argv[3], NULL, 10));
	else if (strcmp(what, "make") == 0 && argc > 7)
		make(argv[2], argv[3], atoi(argv[4]), argv + 5, argc > 8);
	else if (strcmp(what, "part") == 0 && argc > 4)
		show_part(argv[2], argv[3], argv[4]);
	else
		return usage();
	blosc2_destroy();
	return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
