/*
 * Our Blosc2 chunks, read by an installed c-blosc2 and by ourselves: every codec, pipeline and
 * width, at sizes around every boundary; thinned under sanitizers and when BPK_TEST_THIN is set. A
 * c-blosc2 without its plugins has no bytedelta; its rows are then left out.
 */
#include "unit/oracle.h"

#include "chunk/chunk.h"
#include "unit/cblosc2.h"

enum { LARGEST = 140000, MAX_BLOCKS = 400, ROOM = LARGEST + 8 * MAX_BLOCKS + 4096 };

/* One point of the matrix; number counts them, to vary independent parameters. */
struct point {
	struct bpk_recipe recipe;
	const char *pipeline;
	size_t size;
	uint32_t number;
	uint32_t nblocks; /* of variable length, in sizes of the bench; 0: blocks of one size */
};

struct bench {
	struct cblosc2 theirs;
	struct bpk_chunk_ctx *ctx;
	uint8_t raw[LARGEST], packed[ROOM], back[ROOM];
	bool plugins;
	uint32_t sizes[MAX_BLOCKS];
	unsigned long judged, agreed; /* chunks passed to c-blosc2, and those read alike */
	unsigned long items, items_agreed;
};

static const char *const codecs[] = { "blosclz", "lz4", "lz4hc", "zlib", "zstd" };

static const char *const pipelines[] = {
	"none",
	"shuffle",
	"bitshuffle",
	"delta",
	"delta,shuffle",
	"shuffle,bytedelta",
	"delta,bitshuffle",
	"shuffle:3,bytedelta:3",
	"delta,shuffle,bytedelta,shuffle:2,bitshuffle,bytedelta:5"
};

static void describe(const struct point *p, const char *what, const char *why)
{
	const struct bpk_recipe *r = &p->recipe;

	print_error("%s: %s %s level %u typesize %u size %zu block %u dictionary %d: %s\n", what,
		    bpk_codec_name(r->codec), p->pipeline, r->level, r->typesize, p->size,
		    r->block_size, r->dictionary, why);
}

/*
 * True for items that c-blosc2 is known to read wrongly: those of delta chunks, and those as long
 * as one of two blocks that they span. It refuses variable-length blocks.
 */
static bool known_wrong(const struct bench *b, const struct point *p, size_t start, size_t size)
{
	size_t block = bpk_get_le32(b->packed + 8);

	if (p->recipe.dictionary || b->packed[0] == 6 || strncmp(p->pipeline, "delta", 5) == 0)
		return true;
	return start % block != 0 && (size == block || size == p->size % block);
}

static void check_items(struct bench *b, const struct point *p, size_t packed)
{
	struct unit_random r = { p->number };
	size_t ts = p->recipe.typesize, nitems = p->size / ts, start, count;
	int got;

	if (nitems == 0)
		return;
	start = unit_random_next(&r) % nitems;
	count = 1 + unit_random_next(&r) % (nitems - start);
	if (known_wrong(b, p, start * ts, count * ts))
		return;
	memset(b->back, 0xa5, count * ts);
	got = b->theirs.getitem(b->packed, (int32_t)packed, (int)start, (int)count, b->back, ROOM);
	b->items++;
	if (got == (int)(count * ts) && memcmp(b->back, b->raw + start * ts, count * ts) == 0)
		b->items_agreed++;
	else
		describe(p, "c-blosc2 gets other items", "");
}

static void check_theirs(struct bench *b, const struct point *p, size_t packed)
{
	int got;

	memset(b->back, 0xa5, p->size);
	got = b->theirs.decompress(b->packed, (int32_t)packed, b->back, (int32_t)p->size);
	b->judged++;
	if (got == (int)p->size && (p->size == 0 || memcmp(b->back, b->raw, p->size) == 0))
		b->agreed++;
	else
		describe(p, "c-blosc2 reads other bytes", "");
	check_items(b, p, packed);
}

/* All of it, and a range of bytes. */
static void check_ours(struct bench *b, const struct point *p, struct bpk_view chunk)
{
	struct unit_random r = { p->number + 1 };
	size_t start = p->size == 0 ? 0 : unit_random_next(&r) % p->size;
	size_t size = p->size == 0 ? 0 : unit_random_next(&r) % (p->size - start + 1);
	struct bpk_err err = { 0 };

	memset(b->back, 0xa5, p->size);
	if (bpk_chunk_decode(b->ctx, chunk, bpk_span(b->back, p->size), &err) != 0) {
		describe(p, "decode", err.text);
		fail();
	}
	if (p->size > 0)
		assert_memory_equal(b->back, b->raw, p->size);
	memset(b->back, 0xa5, size);
	assert_int_equal(
		bpk_chunk_decode_range(b->ctx, chunk, start, bpk_span(b->back, size), &err), 0);
	if (size > 0)
		assert_memory_equal(b->back, b->raw + start, size);
}

/* Encode into b->packed; returns the size of the chunk. */
static size_t encode(struct bench *b, const struct point *p)
{
	struct bpk_view raw = bpk_view(b->raw, p->size);
	size_t bound = bpk_chunk_bound(p->size) + 8 * (size_t)p->nblocks, packed = 0;
	struct bpk_err err = { 0 };
	int rc;

	if (p->nblocks > 0)
		rc = bpk_chunk_encode_blocks(b->ctx, &p->recipe, raw, b->sizes, p->nblocks,
					     bpk_span(b->packed, bound), &packed, &err);
	else
		rc = bpk_chunk_encode(b->ctx, &p->recipe, raw, bpk_span(b->packed, bound), &packed,
				      &err);
	if (rc != 0) {
		describe(p, "encode", err.text);
		fail();
	}
	assert_true(packed <= bound);
	return packed;
}

static void check_point(struct bench *b, const struct point *p)
{
	size_t packed = encode(b, p);

	check_theirs(b, p, packed);
	check_ours(b, p, bpk_view(b->packed, packed));
}

/* Points left out to save time. */
static bool skipped(const struct point *p)
{
	const char *codec = bpk_codec_name(p->recipe.codec);
	bool large = p->size > 20000;
	uint32_t every = large ? 3 : 1;

	if (strcmp(codec, "zstd") == 0 && p->recipe.level >= 5)
		every *= p->recipe.level == 9 ? 19 : 5;
	if (oracle_is_thin())
		every *= 11;
	return p->number % every != 0;
}

static void check_sizes(struct bench *b, struct point p, uint32_t *number)
{
	const unsigned ts = p.recipe.typesize;
	const size_t sizes[] = { 0,     1,     ts - 1,   ts,           31,
				 32,    33,    128 * ts, 128 * ts + 1, 136 * ts + ts / 2,
				 32767, 32768, 32769,    65536 + ts,   131072 + 3 };
	const uint32_t blocks[] = { 0, 128 * ts, 4096, 0, 1000, 16 * ts + 5, 200 };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		p.size = sizes[i];
		p.number = ++*number;
		p.recipe.block_size = blocks[p.number / 7 % 7];
		if (!skipped(&p))
			check_point(b, &p);
	}
}

/* True unless c-blosc2 was built without its plugins, which contain bytedelta. */
static bool has_plugins(struct bench *b)
{
	struct bpk_recipe recipe = { bpk_codec_find("lz4"), 5, 1,
				     bpk_pipeline_of(BPK_FILTER_BYTEDELTA), .extended = true };
	size_t packed;

	for (size_t i = 0; i < 1000; i++)
		b->raw[i] = (uint8_t)(i / 3);
	if (bpk_chunk_encode(b->ctx, &recipe, bpk_view(b->raw, 1000), bpk_span(b->packed, ROOM),
			     &packed, NULL) != 0)
		return false;
	return b->theirs.decompress(b->packed, (int32_t)packed, b->back, 1000) == 1000;
}

static void check_pipelines(struct bench *b, const char *codec, unsigned ts, uint32_t *number)
{
	static const unsigned levels[] = { 0, 1, 5, 7, 9 };

	for (size_t i = 0; i < sizeof pipelines / sizeof pipelines[0]; i++)
		for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
			struct point p = { { bpk_codec_find(codec), levels[l], ts,
					     .extended = true },
					   .pipeline = pipelines[i] };

			if (!b->plugins && strstr(pipelines[i], "bytedelta") != NULL)
				continue;
			assert_int_equal(bpk_pipeline_parse(pipelines[i], &p.recipe.pipeline, NULL),
					 0);
			check_sizes(b, p, number);
		}
}

static void report(const struct bench *b)
{
	print_message("# c-blosc2 reads %lu of %lu chunks, and gets %lu of %lu ranges of items\n",
		      b->agreed, b->judged, b->items_agreed, b->items);
	assert_true(b->judged > 0);
	assert_int_equal(b->agreed, b->judged);
	assert_int_equal(b->items_agreed, b->items);
}

static void test_matrix(void **state)
{
	static const unsigned widths[] = { 1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 255 };
	struct bench *b = *state;
	uint32_t number = 0;

	for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
		oracle_fill(b->raw, LARGEST, widths[w], widths[w]);
		for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)
			check_pipelines(b, codecs[c], widths[w], &number);
	}
	report(b);
}

/* Noise, which is stored; zeros, NaN and other repeated items; different runs. */
static void make_kind(uint8_t *raw, unsigned kind, unsigned ts)
{
	static const uint8_t nan4[4] = { 0, 0, 0xc0, 0x7f };
	static const uint8_t nan8[8] = { 0, 0, 0, 0, 0, 0, 0xf8, 0x7f };
	struct unit_random r = { kind };

	for (size_t i = 0; i < LARGEST; i++)
		switch (kind) {
		case 0:
			raw[i] = (uint8_t)unit_random_next(&r);
			break;
		case 1:
			raw[i] = 0;
			break;
		case 2:
			raw[i] = ts == 4 ? nan4[i % 4] : nan8[i % 8];
			break;
		case 3:
			raw[i] = (uint8_t)(i % ts + 7);
			break;
		default:
			raw[i] = (uint8_t)(i / 20000 * 3);
			break;
		}
}

static void test_noise_and_runs(void **state)
{
	static const unsigned widths[] = { 1, 4, 8, 12, 100 };
	struct bench *b = *state;
	uint32_t number = 0;

	for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
		for (unsigned kind = 0; kind < 5; kind++) {
			make_kind(b->raw, kind, widths[w]);
			check_pipelines(b, kind == 0 ? "zstd" : "lz4", widths[w], &number);
		}
	report(b);
}

static void test_dictionaries(void **state)
{
	static const char *const takers[] = { "lz4", "lz4hc", "zstd" };
	static const char *const filters[] = { "none", "shuffle", "delta,shuffle", "bitshuffle" };
	static const uint32_t blocks[] = { 2048, 4096, 16384, 0 };
	struct bench *b = *state;
	struct point p = { .recipe = { .extended = true, .dictionary = true } };
	unsigned long with = 0;

	oracle_fill_text(b->raw, LARGEST);
	for (unsigned i = 0; i < 3 * 4 * 4 * 9; i++) {
		struct bpk_chunk_header header;

		p.recipe.codec = bpk_codec_find(takers[i % 3]);
		p.pipeline = filters[i / 3 % 4];
		assert_int_equal(bpk_pipeline_parse(p.pipeline, &p.recipe.pipeline, NULL), 0);
		p.recipe.block_size = blocks[i / 12 % 4];
		p.recipe.level = 1 + i / 48 % 9;
		p.recipe.typesize = i % 5 == 0 ? 1 : 4;
		p.size = i % 7 == 0 ? 5000 : LARGEST - i;
		p.number = i;
		if (strcmp(takers[i % 3], "zstd") == 0 && p.recipe.level == 9 && i % 4 != 0)
			continue;
		check_point(b, &p);
		assert_int_equal(bpk_chunk_header_read(bpk_view(b->packed, ROOM), &header, NULL),
				 0);
		with += header.dictionary;
	}
	print_message("# %lu chunks have a dictionary\n", with);
	assert_true(with > 100);
	report(b);
}

/* Cut size bytes into blocks of many sizes; returns their number. */
static uint32_t cut(uint32_t *sizes, size_t size, uint32_t seed)
{
	struct unit_random r = { seed };
	uint32_t nblocks = 0;

	while (size > 0) {
		uint32_t most = unit_random_next(&r) % 7 == 0 ? 9 : 40000;
		size_t next = 1 + unit_random_next(&r) % most;

		if (nblocks == MAX_BLOCKS - 1 || next > size)
			next = size;
		sizes[nblocks++] = (uint32_t)next;
		size -= next;
	}
	return nblocks;
}

static void test_variable_blocks(void **state)
{
	static const char *const filters[] = { "none", "shuffle", "bitshuffle",
					       "shuffle:8,bytedelta:8" };
	struct bench *b = *state;
	struct point p = { .recipe = { .extended = true } };

	oracle_fill_text(b->raw, LARGEST / 2);
	oracle_fill(b->raw + LARGEST / 2, LARGEST / 4, 4, 9);
	memset(b->raw + LARGEST / 4 * 3, 0, LARGEST / 4);
	for (uint32_t i = 0; i < 300; i++) {
		p.recipe.codec = bpk_codec_find(codecs[i % 5]);
		p.pipeline = filters[i / 5 % (b->plugins ? 4 : 3)];
		assert_int_equal(bpk_pipeline_parse(p.pipeline, &p.recipe.pipeline, NULL), 0);
		p.recipe.level = i % 9;
		p.recipe.typesize = 1 + i % 9;
		p.recipe.dictionary = i % 3 == 0 && strstr(codecs[i % 5], "lz4") != NULL;
		p.size = i % 11 == 0 ? 1 + i : LARGEST - i;
		p.number = i;
		p.recipe.variable_blocks = i % 2 == 0;
		p.recipe.block_size = 500 + i;
		p.nblocks = i % 2 == 0 && i % 11 != 0 ? 0 : cut(b->sizes, p.size, i);
		check_point(b, &p);
		if (p.nblocks > 0)
			assert_int_equal(b->packed[0], 6);
	}
	report(b);
}

int main(void)
{
	static struct bench bench;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_matrix, &bench),
		cmocka_unit_test_prestate(test_noise_and_runs, &bench),
		cmocka_unit_test_prestate(test_dictionaries, &bench),
		cmocka_unit_test_prestate(test_variable_blocks, &bench),
	};
	const char *reason = cblosc2_open(&bench.theirs);
	int failed;

	if (reason != NULL) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	bench.ctx = bpk_chunk_ctx_new(NULL);
	if (bench.ctx == NULL)
		return 1;
	bench.plugins = has_plugins(&bench);
	if (!bench.plugins)
		puts("# not tested: this c-blosc2 has no bytedelta");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bpk_chunk_ctx_free(bench.ctx);
	cblosc2_close(&bench.theirs);
	return failed;
}
