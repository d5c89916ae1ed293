/*
 * c-blosc2's view of a frame, and frames made by it. No part of the build: tests compile it against
 * the installed library named by BPK_CBLOSC2 (tests/cli/lib.bash, need_oracle2).
 *
 *     oracle2 raw FRAME               every chunk, unpacked, to standard output
 *     oracle2 array FRAME             the array of a b2nd frame in C order
 *     oracle2 names FRAME             the names of its metalayers: "fixed NAME", "variable NAME"
 *     oracle2 layer FRAME NAME        the content of one of them
 *     oracle2 append FRAME SIZE       append standard input in chunks of SIZE bytes
 *     oracle2 delete FRAME NUMBER     delete a chunk, which leaves a hole
 *     oracle2 pack FRAME SIZE TYPESIZE [sparse]   pack standard input into a new frame
 *     oracle2 blocks FRAME SIZES SIZES TYPESIZE [sparse]   the same in blocks of variable length;
 *                                     the sizes of chunks, and of their blocks, are separated by
 *                                     commas and repeated
 *     oracle2 sizes FRAME NUMBER      the sizes of the blocks of such a chunk, one a line
 *     oracle2 make FRAME TYPE ITEM SHAPE CHUNKS BLOCKS [sparse]   pack standard input as an array
 *                                     of items of ITEM bytes; shapes: numbers separated by commas
 *     oracle2 part FRAME START STOP   the part of an array from START up to STOP
 *     oracle2 judge FRAME RAW SEED COUNT   compare all of a frame, or array, with the file RAW, and
 *                                     COUNT random ranges, or slices, of it
 *     oracle2 change FRAME SEED COUNT   COUNT random changes, printed one a line: chunks appended,
 *                                     updated, inserted, deleted; layers; slices and rows of arrays
 *
 * Ends with status 1 and a line when the library refuses, and by a signal after a minute.
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

/* Chunks of variable-length blocks are unpacked block by block. */
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
		refuse("the sum of the chunks differs from the header's size", total);
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

enum { MOST_BLOCKS = 4096 }; /* in one chunk */

/* Pack one chunk of such blocks into chunk. Returns its size. */
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

/* ---- comparing with the packed input ---- */

static uint64_t state;

/* Begin a series of random numbers. Returns count as a number. */
static int64_t take_seed(const char *seed, const char *count)
{
	state = strtoull(seed, NULL, 10) * 2654435769u + 1;
	return strtoll(count, NULL, 10);
}

/* A random number below limit, which is at least 1. */
static int64_t any_below(int64_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((state >> 33) % (uint64_t)limit);
}

/* A random range inside 0..size, mostly short. */
static void any_range(int64_t size, int64_t *start, int64_t *stop)
{
	int64_t most = any_below(2) == 0 ? size : size / 8 + 1;

	*start = any_below(size);
	if (most > size - *start)
		most = size - *start;
	*stop = *start + 1 + any_below(most);
}

static uint8_t *read_file(const char *path, int64_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		refuse(path, 0);
	*size = ftell(file);
	bytes = malloc((size_t)*size + 1);
	rewind(file);
	if (bytes == NULL || fread(bytes, 1, (size_t)*size, file) != (size_t)*size)
		refuse(path, *size);
	fclose(file);
	return bytes;
}

static void judge_chunks(blosc2_schunk *schunk, const uint8_t *raw, int64_t size)
{
	int64_t at = 0;

	if (schunk->nbytes != size)
		refuse("another size than its input", schunk->nbytes);
	for (int64_t i = 0; i < schunk->nchunks; i++) {
		int32_t room = schunk->chunksize > 0 ? schunk->chunksize : (int32_t)(size - at);
		uint8_t *chunk = malloc((size_t)room + 1);
		int32_t got = blosc2_schunk_decompress_chunk(schunk, i, chunk, room);

		if (got < 0)
			refuse("a chunk cannot be unpacked", i);
		if (got > size - at || memcmp(chunk, raw + at, (size_t)got) != 0)
			refuse("a chunk differs", i);
		at += got;
		free(chunk);
	}
	if (at != size)
		refuse("the chunks are shorter than their input", at);
}

/*
 * c-blosc2 3.3.3 puts a block in the wrong place when a range inside a chunk is as long as the
 * block but begins before it (_blosc_getitem, get_single_block): in its own frames as in ours.
 */
static bool is_misplaced(blosc2_schunk *schunk, int64_t number, int64_t from, int64_t to)
{
	uint8_t *chunk;
	bool owned = false;
	int32_t size = 0, blocks = 0;
	int64_t last;

	if (blosc2_schunk_get_lazychunk(schunk, number, &chunk, &owned) < 0 ||
	    blosc2_cbuffer_sizes(chunk, &size, NULL, &blocks) < 0)
		refuse("a chunk cannot be read", number);
	if (owned)
		free(chunk);
	last = size % blocks;
	return from / blocks < (to - 1) / blocks && (to - from == blocks || to - from == last);
}

static bool meets_misplaced(blosc2_schunk *schunk, int64_t start, int64_t stop)
{
	int64_t full = schunk->chunksize, first = start / full, last = (stop - 1) / full;

	/* chunks between the two are unpacked as a whole */
	return is_misplaced(schunk, first, start % full,
			    first == last ? (stop - 1) % full + 1 : full) ||
	       is_misplaced(schunk, last, first == last ? start % full : 0, (stop - 1) % full + 1);
}

/* Ranges are counted in items, and need chunks of one size. */
static void judge_ranges(blosc2_schunk *schunk, const uint8_t *raw, int64_t count)
{
	int64_t typesize = schunk->typesize, nitems = schunk->nbytes / typesize, start, stop;

	for (int64_t i = 0; i < count && nitems > 0 && schunk->chunksize > 0; i++) {
		uint8_t *part;
		int rc;

		any_range(nitems, &start, &stop);
		if (meets_misplaced(schunk, start * typesize, stop * typesize))
			continue;
		part = malloc((size_t)((stop - start) * typesize));
		rc = blosc2_schunk_get_slice_buffer(schunk, start, stop, part);
		if (rc < 0 || memcmp(part, raw + start * typesize,
				     (size_t)((stop - start) * typesize)) != 0) {
			fprintf(stderr, "oracle2: %s items %lld to %lld of %lld bytes\n",
				rc < 0 ? "cannot read" : "other", (long long)start, (long long)stop,
				(long long)typesize);
			exit(1);
		}
		free(part);
	}
}

/* True if part holds the items of raw, in C order, from start to stop. */
static bool is_slice(const b2nd_array_t *array, const uint8_t *raw, const int64_t *start,
		     const int64_t *stop, const uint8_t *part)
{
	int64_t at[B2ND_MAX_DIM], item = array->sc->typesize;
	int d = 0;

	memcpy(at, start, sizeof at);
	while (d >= 0) {
		int64_t from = 0;

		for (int i = 0; i < array->ndim; i++)
			from = from * array->shape[i] + at[i];
		if (memcmp(part, raw + from * item, (size_t)item) != 0)
			return false;
		part += item;
		for (d = array->ndim - 1; d >= 0 && ++at[d] == stop[d]; d--)
			at[d] = start[d];
	}
	return true;
}

static void judge_slices(b2nd_array_t *array, const uint8_t *raw, int64_t count)
{
	int64_t start[B2ND_MAX_DIM] = { 0 }, stop[B2ND_MAX_DIM] = { 0 }, shape[B2ND_MAX_DIM];

	for (int64_t i = 0; i < count && array->nitems > 0; i++) {
		int64_t size = array->sc->typesize;
		uint8_t *part;
		int rc;

		for (int d = 0; d < array->ndim; d++) {
			any_range(array->shape[d], &start[d], &stop[d]);
			shape[d] = stop[d] - start[d];
			size *= shape[d];
		}
		part = malloc((size_t)size);
		rc = b2nd_get_slice_cbuffer(array, start, stop, part, shape, size);
		if (rc < 0 || !is_slice(array, raw, start, stop, part))
			refuse(rc < 0 ? "a slice cannot be read" : "a slice differs", i);
		free(part);
	}
}

static void judge(const char *path, const char *raw_path, int64_t count)
{
	int64_t size;
	uint8_t *raw = read_file(raw_path, &size);
	blosc2_schunk *schunk = open_frame(path);
	bool is_array = blosc2_meta_exists(schunk, "b2nd") >= 0;

	if (!is_array) {
		judge_chunks(schunk, raw, size);
		judge_ranges(schunk, raw, count);
	}
	blosc2_schunk_free(schunk);
	if (is_array) {
		b2nd_array_t *array;
		uint8_t *all = malloc((size_t)size + 1);
		int rc = b2nd_open(path, &array);

		if (rc < 0 || array->nitems * array->sc->typesize != size)
			refuse("is no such array", rc);
		rc = b2nd_to_cbuffer(array, all, size);
		if (rc < 0 || memcmp(all, raw, (size_t)size) != 0)
			refuse("the array cannot be unpacked, or differs", rc);
		judge_slices(array, raw, count);
		b2nd_free(array);
		free(all);
	}
	free(raw);
}

/* ---- random changes ---- */

/* Equal or random items. Zeros only if they end with an item: c-blosc2 cannot open its own frames
 * of others. */
static uint8_t *any_bytes(int64_t size, int64_t typesize)
{
	uint8_t *bytes = malloc((size_t)size + 1);
	int64_t kind = size % typesize == 0 ? any_below(3) : 2;

	for (int64_t i = 0; i < size; i++)
		bytes[i] = kind == 0   ? 0
			   : kind == 1 ? (uint8_t)(i % typesize + 1)
				       : (uint8_t)any_below(256);
	return bytes;
}

/* Replace chunk number by a new one of size raw bytes, or insert that before it. */
static int64_t put_any_chunk(blosc2_schunk *schunk, int64_t number, int64_t size, bool insert)
{
	uint8_t *raw = any_bytes(size, schunk->typesize);
	uint8_t *chunk = malloc((size_t)size + BLOSC2_MAX_OVERHEAD);
	int64_t rc = blosc2_compress_ctx(schunk->cctx, raw, (int32_t)size, chunk,
					 (int32_t)size + BLOSC2_MAX_OVERHEAD);

	if (rc > 0)
		rc = insert ? blosc2_schunk_insert_chunk(schunk, number, chunk, true)
			    : blosc2_schunk_update_chunk(schunk, number, chunk, true);
	free(chunk);
	free(raw);
	return rc;
}

/* Append whole items, and never after a short chunk: c-blosc2 may not find such chunks again. */
static int64_t append_any(blosc2_schunk *schunk)
{
	int64_t full = schunk->chunksize > 0 ? schunk->chunksize : 1024 * schunk->typesize;
	int64_t size = full, rc;
	uint8_t *raw;

	if (schunk->nbytes % full != 0)
		return -1;
	if (any_below(2) == 0 && full >= schunk->typesize)
		size = (1 + any_below(full / schunk->typesize)) * schunk->typesize;
	raw = any_bytes(size, schunk->typesize);
	rc = blosc2_schunk_append_buffer(schunk, raw, (int32_t)size);
	free(raw);
	return rc;
}

/* The raw size of a chunk. */
static int32_t size_of_chunk(blosc2_schunk *schunk, int64_t number)
{
	uint8_t *chunk;
	bool owned = false;
	int32_t size = 0;

	if (blosc2_schunk_get_chunk(schunk, number, &chunk, &owned) < 0 ||
	    blosc2_cbuffer_sizes(chunk, &size, NULL, NULL) < 0)
		refuse("a chunk cannot be read", number);
	if (owned)
		free(chunk);
	return size;
}

static int64_t change_layer(blosc2_schunk *schunk)
{
	uint8_t content[] = { 0xa4, 'a', 'b', 'c', (uint8_t)any_below(128) };
	bool there = blosc2_vlmeta_exists(schunk, "any") >= 0;

	if (there && any_below(4) == 0)
		return blosc2_vlmeta_delete(schunk, "any");
	return (there ? blosc2_vlmeta_update : blosc2_vlmeta_add)(schunk, "any", content,
								  sizeof content, NULL);
}

static int64_t change_frame(blosc2_schunk *schunk, const char **what)
{
	static const char *const names[] = { "append", "update", "insert", "delete", "layer" };
	int64_t kind = any_below(5), number, size;

	if (kind > 0 && kind < 4 && schunk->nchunks == 0)
		kind = 0;
	*what = names[kind];
	if (kind == 0)
		return append_any(schunk);
	if (kind == 4)
		return change_layer(schunk);
	number = any_below(schunk->nchunks);
	if (kind == 3)
		return blosc2_schunk_delete_chunk(schunk, number);
	size = size_of_chunk(schunk, number);
	/* c-blosc2 miscounts its chunks when it inserts short ones */
	if (kind == 2 && size != schunk->chunksize)
		return -1;
	return put_any_chunk(schunk, number, size, kind == 2);
}

static int64_t change_array(b2nd_array_t *array, const char **what)
{
	int64_t start[B2ND_MAX_DIM] = { 0 }, stop[B2ND_MAX_DIM] = { 0 }, shape[B2ND_MAX_DIM];
	int64_t size = array->sc->typesize, kind = any_below(3), rc;
	uint8_t *raw;

	if (kind == 0 || array->nitems == 0) {
		*what = "layer";
		return change_layer(array->sc);
	}
	memcpy(shape, array->shape, sizeof shape);
	if (kind == 1 && array->ndim > 0) {
		*what = "resize";
		shape[0] = 1 + any_below(2 * shape[0]);
		return b2nd_resize(array, shape, NULL);
	}
	*what = "slice";
	for (int d = 0; d < array->ndim; d++) {
		any_range(array->shape[d], &start[d], &stop[d]);
		shape[d] = stop[d] - start[d];
		size *= shape[d];
	}
	raw = any_bytes(size, array->sc->typesize);
	rc = b2nd_set_slice_cbuffer(raw, shape, size, start, stop, array);
	free(raw);
	return rc;
}

/* The frame is opened for each change, because another program may change it in between. */
static void change(const char *path, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		blosc2_schunk *schunk = open_frame(path);
		bool is_array = blosc2_meta_exists(schunk, "b2nd") >= 0;
		const char *what = "";
		b2nd_array_t *array;
		int64_t rc;

		if (is_array) {
			blosc2_schunk_free(schunk);
			if (b2nd_open(path, &array) < 0)
				refuse("is no array", 0);
			rc = change_array(array, &what);
			b2nd_free(array);
		} else {
			rc = change_frame(schunk, &what);
			blosc2_schunk_free(schunk);
		}
		printf("%s%s\n", what, rc < 0 ? " refused" : "");
	}
}

static int usage(void)
{
	fputs("usage: oracle2 raw|array|part|names|layer|append|delete|pack|blocks|sizes|make|"
	      "judge|change FRAME [ARGUMENT]...\n",
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
	else if (strcmp(what, "judge") == 0 && argc > 5)
		judge(argv[2], argv[3], take_seed(argv[4], argv[5]));
	else if (strcmp(what, "change") == 0 && argc > 4)
		change(argv[2], take_seed(argv[3], argv[4]));
	else
		return usage();
	blosc2_destroy();
	return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
