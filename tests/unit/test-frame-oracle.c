/*
 * Frames built from the parts of the room, read by an installed c-blosc2: it opens them, decodes
 * their chunks and finds their layers.
 */
#include "unit/cblosc2.h"
#include "unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "format/frame/frame.h"
#include "format/frame/names.h"

enum { ITEMS = 16, CHUNK = 4 * ITEMS, PACKED = BPK_CHUNK_EXTENDED_HEADER_SIZE + CHUNK };

/* The functions for frames, declared by hand; a super-chunk is opaque. */
static struct {
	void *(*open)(const char *path);
	int (*free)(void *schunk);
	int (*decompress_chunk)(void *schunk, int64_t number, void *out, int32_t size);
	int (*vlmeta_get)(void *schunk, const char *name, uint8_t **content, int32_t *size);
	int (*vlmeta_exists)(void *schunk, const char *name);
} frames;

static struct cblosc2 cblosc2;
static struct bpk_chunk_ctx *ctx;
static char folder[64];

/* The parameters of a frame. */
struct frame_case {
	bool sparse;
	uint64_t nchunks;
	const char *checksum; /* NULL: no checksum */
	size_t nlayers;
	bool special; /* every third chunk is special */
};

/* ---- Building ---- */

static void write_file(const char *path, struct bpk_view first, struct bpk_view second)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(first.data, 1, first.size, file), first.size);
	assert_int_equal(fwrite(second.data, 1, second.size, file), second.size);
	assert_int_equal(fclose(file), 0);
}

/* Layer i: empty, noise, runs or zeros, of many sizes. */
static void make_layer(size_t i, char name[32], struct bpk_buf *content)
{
	static const size_t sizes[] = { 0, 1, 3, 31, 32, 63, 64, 200, 1000, 70000 };
	struct unit_random random = { i };
	struct bpk_err err = { 0 };

	snprintf(name, 32, "layer %zu", i);
	assert_int_equal(bpk_buf_resize(content, sizes[i % 10], &err), 0);
	for (size_t k = 0; k < content->size; k++)
		content->data[k] = (uint8_t)(i % 3 == 0   ? unit_random_next(&random)
					     : i % 3 == 1 ? k / 50
							  : 0);
}

static bool is_special(const struct frame_case *c, uint64_t number)
{
	return c->special && number % 3 == 1;
}

static void make_chunk(uint64_t number, uint8_t chunk[PACKED])
{
	static const uint8_t head[] = { 5, 1, 0x17, 4, CHUNK, 0, 0, 0, CHUNK, 0, 0, 0, PACKED };

	memset(chunk, 0, PACKED);
	memcpy(chunk, head, sizeof head);
	for (uint32_t i = 0; i < ITEMS; i++)
		bpk_put_le32(chunk + BPK_CHUNK_EXTENDED_HEADER_SIZE + 4 * (size_t)i,
			     (uint32_t)number * 1000 + i);
}

/* Everything before the index: entries, digests, the payload or the files. */
struct made {
	uint64_t *entries;
	uint8_t *digests;
	struct bpk_buf payload;
	uint64_t nstored;
};

static void make_chunks(const struct frame_case *c, const struct bpk_checksum *checksum,
			const char *path, struct made *m)
{
	struct bpk_err err = { 0 };
	uint8_t chunk[PACKED], digest[BPK_DIGEST_MAX];
	size_t size = checksum == NULL ? 0 : checksum->size;

	*m = (struct made){ .entries = calloc(c->nchunks, 8), .digests = calloc(c->nchunks, 64) };
	for (uint64_t i = 0; i < c->nchunks; i++) {
		char file[160], name[BPK_FRAME_FILE_NAME];

		if (is_special(c, i)) {
			m->entries[i] = bpk_frame_offset_of_special(BPK_SPECIAL_ZERO);
			continue;
		}
		make_chunk(i, chunk);
		m->entries[i] = c->sparse ? m->nstored : m->payload.size;
		bpk_frame_file_name((uint32_t)m->nstored++, name);
		snprintf(file, sizeof file, "%s/%s", path, name);
		if (c->sparse)
			write_file(file, bpk_view(chunk, PACKED), bpk_view(NULL, 0));
		else
			assert_int_equal(bpk_buf_append(&m->payload, bpk_view(chunk, PACKED), &err),
					 0);
		if (size > 0) {
			assert_int_equal(bpk_checksum_compute(checksum, bpk_view(chunk, PACKED),
							      digest, &err),
					 0);
			memcpy(m->digests + i * size, digest, size);
		}
	}
}

static void make_frame(const struct frame_case *c, const char *path)
{
	const struct bpk_checksum *checksum =
		c->checksum == NULL ? NULL : bpk_checksum_find(c->checksum);
	struct bpk_frame_header header = { .version = 2,
					   .typesize = 4,
					   .chunk_size = CHUNK,
					   .codec = 1,
					   .level = 5,
					   .split = 3,
					   .pack_threads = 1,
					   .unpack_threads = 1,
					   .nfilters = 6,
					   .sparse = c->sparse };
	struct bpk_frame_layers layers = { 0 };
	struct bpk_buf head = { 0 }, tail = { 0 }, body = { 0 };
	struct bpk_err err = { 0 };
	struct made made;
	struct bpk_frame_ending ending = {
		.header = &header, .layers = &layers, .nchunks = c->nchunks, .checksum = checksum
	};
	char file[160];

	header.raw_size = CHUNK * c->nchunks;
	assert_int_equal(bpk_frame_layers_set(&header.fixed, "demo", bpk_view("\x01", 1), &err), 0);
	for (size_t i = 0; i < c->nlayers; i++) {
		struct bpk_buf content = { 0 };
		char name[32];

		make_layer(i, name, &content);
		assert_int_equal(bpk_frame_layers_set(&layers, name, bpk_buf_view(&content), &err),
				 0);
		bpk_buf_clear(&content);
	}
	if (c->sparse)
		assert_int_equal(mkdir(path, 0700), 0);
	make_chunks(c, checksum, path, &made);
	header.packed_size = PACKED * made.nstored;
	assert_int_equal(bpk_frame_header_write(&header, &head, &err), 0);
	head.size = 0;
	ending.payload_end = header.size + made.payload.size;
	ending.entries = made.entries;
	if (checksum != NULL)
		ending.chunk_digests = bpk_view(made.digests, (size_t)c->nchunks * checksum->size);
	if (bpk_frame_end(ctx, &ending, &head, &tail, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(bpk_buf_append(&body, bpk_buf_view(&head), &err), 0);
	assert_int_equal(bpk_buf_append(&body, bpk_buf_view(&made.payload), &err), 0);
	assert_int_equal(header.frame_size, body.size + tail.size);
	snprintf(file, sizeof file, c->sparse ? "%s/" BPK_FRAME_SPARSE_INDEX : "%s", path);
	write_file(file, bpk_buf_view(&body), bpk_buf_view(&tail));
	bpk_frame_header_clear(&header);
	bpk_frame_layers_clear(&layers);
	free(made.entries);
	free(made.digests);
	bpk_buf_clear(&made.payload);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	bpk_buf_clear(&body);
}

/* ---- Reading with c-blosc2 ---- */

static void judge_chunks(const struct frame_case *c, void *schunk)
{
	uint8_t chunk[PACKED], out[CHUNK];

	for (uint64_t i = 0; i < c->nchunks; i++) {
		make_chunk(i, chunk);
		if (is_special(c, i))
			memset(chunk, 0, sizeof chunk);
		assert_int_equal(frames.decompress_chunk(schunk, (int64_t)i, out, CHUNK), CHUNK);
		assert_memory_equal(out, chunk + BPK_CHUNK_EXTENDED_HEADER_SIZE, CHUNK);
	}
	assert_true(frames.decompress_chunk(schunk, (int64_t)c->nchunks, out, CHUNK) < 0);
}

static void judge_layers(const struct frame_case *c, void *schunk)
{
	for (size_t i = 0; i < c->nlayers; i++) {
		struct bpk_buf content = { 0 };
		uint8_t *found = NULL;
		int32_t size = -1;
		char name[32];

		make_layer(i, name, &content);
		assert_true(frames.vlmeta_get(schunk, name, &found, &size) >= 0);
		assert_int_equal(size, content.size);
		if (size > 0)
			assert_memory_equal(found, content.data, content.size);
		free(found);
		bpk_buf_clear(&content);
	}
	assert_int_equal(frames.vlmeta_exists(schunk, BPK_FRAME_DIGESTS) >= 0, c->checksum != NULL);
}

static void remove_frame(const struct frame_case *c, const char *path)
{
	char file[160], name[BPK_FRAME_FILE_NAME];

	for (uint64_t i = 0; c->sparse && i < c->nchunks; i++) {
		bpk_frame_file_name((uint32_t)i, name);
		snprintf(file, sizeof file, "%s/%s", path, name);
		unlink(file);
	}
	snprintf(file, sizeof file, "%s/" BPK_FRAME_SPARSE_INDEX, path);
	unlink(file);
	if (remove(path) != 0)
		fail_msg("%s stays", path);
}

static void judge(const struct frame_case *c)
{
	char path[96];
	void *schunk;

	snprintf(path, sizeof path, "%s/frame.b2frame", folder);
	make_frame(c, path);
	schunk = frames.open(path);
	assert_non_null(schunk);
	judge_chunks(c, schunk);
	judge_layers(c, schunk);
	frames.free(schunk);
	remove_frame(c, path);
}

static void test_frames_of_parts(void **state)
{
	static const uint64_t counts[] = { 0, 1, 2, 3, 4, 9, 40, 600 };
	static const char *const checksums[] = { NULL, "crc32", "sha512" };
	static const size_t nlayers[] = { 0, 1, 15 };
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 8 * 3 * 3 * 4; i++) {
		struct frame_case c = {
			.sparse = i % 2,
			.special = i / 2 % 2,
			.nlayers = nlayers[i / 4 % 3],
			.checksum = checksums[i / 12 % 3],
			.nchunks = counts[i / 36],
		};

		judge(&c);
		n++;
	}
	print_message("# c-blosc2 reads %u of %u frames\n", n, n);
}

static int set_up(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.40s/frame-oracle-XXXXXX", tmp == NULL ? "/tmp" : tmp);
	ctx = bpk_chunk_ctx_new(NULL);
	return ctx == NULL || mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	bpk_chunk_ctx_free(ctx);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_of_parts),
	};
	const char *why = cblosc2_open(&cblosc2);
	int missing = 0, failed;

	if (why == NULL) {
		cblosc2_find(&cblosc2, "blosc2_schunk_open", &frames.open, &missing);
		cblosc2_find(&cblosc2, "blosc2_schunk_free", &frames.free, &missing);
		cblosc2_find(&cblosc2, "blosc2_schunk_decompress_chunk", &frames.decompress_chunk,
			     &missing);
		cblosc2_find(&cblosc2, "blosc2_vlmeta_get", &frames.vlmeta_get, &missing);
		cblosc2_find(&cblosc2, "blosc2_vlmeta_exists", &frames.vlmeta_exists, &missing);
		why = missing ? "libblosc2.so lacks a function" : NULL;
	}
	if (why != NULL) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, set_up, tear_down);
	cblosc2_close(&cblosc2);
	return failed;
}
