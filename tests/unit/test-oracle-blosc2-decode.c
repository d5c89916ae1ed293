/*
 * Chunks by an installed c-blosc2 (BPK_CBLOSC2 is its prefix), read by us: codecs, pipelines,
 * widths, ways to split, dictionaries, special chunks, variable-length blocks; whole and in ranges
 * from only the bytes that a range needs. Thinned under sanitizers and when BPK_TEST_THIN is set.
 */
#include "unit/oracle.h"

#include "chunk/chunk.h"
#include "unit/cblosc2.h"

/* The declarations of its header, for versions 2 and 3. */
struct cparams {
	uint8_t compcode, compcode_meta, clevel;
	int use_dict;
	int32_t typesize;
	int16_t nthreads;
	int32_t blocksize, splitmode;
	void *schunk;
	uint8_t filters[6], filters_meta[6];
	void *prefilter, *preparams, *tuner_params;
	int tuner_id;
	bool instr_codec;
	void *codec_params, *filter_params[6];
};

struct dparams {
	int16_t nthreads;
	void *schunk, *postfilter, *postparams;
	int32_t typesize;
};

struct library {
	struct cblosc2 library;
	void *(*create_cctx)(struct cparams);
	void *(*create_dctx)(struct dparams);
	void (*free_ctx)(void *);
	int (*compress)(void *, const void *, int32_t, void *, int32_t);
	int (*decompress)(void *, const void *, int32_t, void *, int32_t);
	/* NULL before 3.0 */
	int (*compress_blocks)(void *, const void *const *, const int32_t *, int32_t, void *,
			       int32_t);
	int (*zeros)(struct cparams, int32_t, void *, int32_t);
	int (*nans)(struct cparams, int32_t, void *, int32_t);
	int (*uninit)(struct cparams, int32_t, void *, int32_t);
	int (*repeat)(struct cparams, int32_t, void *, int32_t, const void *);
};

enum { LARGEST = 300000, ROOM = LARGEST + 65536, NBLOCKS = 40 };

struct bench {
	struct library theirs;
	struct bpk_chunk_ctx *ctx;
	uint8_t raw[LARGEST], packed[ROOM], needed[ROOM], want[LARGEST], back[LARGEST];
	unsigned long chunks, agreed; /* chunks that c-blosc2 reads itself */
};

struct pipeline {
	const char *name;
	uint8_t filters[6], metas[6];
	bool lossy;
};

enum { OWN_WIDTH = 254 }; /* a meta of the typesize */

static const struct pipeline pipelines[] = {
	{ "none", { 0 }, { 0 }, false },
	{ "shuffle", { 0, 0, 0, 0, 0, 1 }, { 0 }, false },
	{ "bitshuffle", { 0, 0, 0, 0, 0, 2 }, { 0 }, false },
	{ "delta", { 3 }, { 0 }, false },
	{ "delta, shuffle", { 0, 0, 0, 0, 3, 1 }, { 0 }, false },
	{ "delta, bitshuffle", { 3, 0, 0, 0, 0, 2 }, { 0 }, false },
	{ "shuffle, bytedelta", { 0, 1, 0, 35 }, { 0, 0, 0, OWN_WIDTH }, false },
	{ "shuffle:3, bytedelta:3", { 0, 0, 1, 35 }, { 0, 0, 3, 3 }, false },
	{ "bytedelta:5", { 35 }, { 5 }, false },
	{ "shuffle:2", { 0, 1 }, { 0, 2 }, false },
	{ "shuffle, shuffle:4", { 1, 1 }, { 0, 4 }, false },
	{ "shuffle, delta", { 1, 3 }, { 0 }, false },
	{ "trunc:10, shuffle", { 4, 1 }, { 10 }, true },
	{ "int_trunc:-2, bitshuffle", { 36, 2 }, { 254 }, true },
};

enum { NPIPELINES = sizeof pipelines / sizeof pipelines[0] };

struct extents {
	const struct bench *b;
	uint8_t *needed;
	uint32_t end;
};

static int take_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	struct extents *e = arg;

	(void)err;
	assert_true(size > 0 && offset >= e->end);
	e->end = offset + size;
	memcpy(e->needed + offset, e->b->packed + offset, size);
	return 0;
}

/* Decode a range from only the bytes that it needs. */
static bool range_agrees(struct bench *b, size_t packed, size_t start, size_t size,
			 struct bpk_err *err)
{
	struct extents e = { b, b->needed, 0 };
	struct bpk_chunk_header header;
	size_t head;

	memset(b->needed, 0xee, packed);
	assert_int_equal(bpk_chunk_header_read(bpk_view(b->packed, packed), &header, err), 0);
	head = header.header_size + (size_t)4 * header.nblocks;
	memcpy(b->needed, b->packed, head);
	if (bpk_chunk_extents(bpk_view(b->needed, head), start, size, take_extent, &e, err) != 0 ||
	    bpk_chunk_decode_range(b->ctx, bpk_view(b->needed, packed), start,
				   bpk_span(b->back, size), err) != 0)
		return false;
	return memcmp(b->back, b->want + start, size) == 0;
}

static bool agrees(struct bench *b, size_t packed, size_t size, uint32_t seed, struct bpk_err *err)
{
	struct unit_random r = { seed };

	memset(b->back, 0xa5, size);
	if (bpk_chunk_decode(b->ctx, bpk_view(b->packed, packed), bpk_span(b->back, size), err) !=
	    0)
		return false;
	if (memcmp(b->back, b->want, size) != 0)
		return false;
	for (unsigned i = 0; i < 3 && size > 0; i++) {
		size_t start = unit_random_next(&r) % size;
		size_t most = i == 0 ? 100 : size;
		size_t count = 1 + unit_random_next(&r) % bpk_min_size(most, size - start);

		if (!range_agrees(b, packed, start, count, err))
			return false;
	}
	return true;
}

/* c-blosc2 must read its own chunk; otherwise it is not compared. */
static bool read_by_them(struct bench *b, size_t packed, size_t size)
{
	void *dctx = b->theirs.create_dctx((struct dparams){ .nthreads = 1, .typesize = 8 });
	int got = b->theirs.decompress(dctx, b->packed, (int32_t)packed, b->back, (int32_t)size);

	b->theirs.free_ctx(dctx);
	return got == (int)size;
}

static void judge(struct bench *b, const struct cparams *p, const char *name, int packed,
		  size_t size, uint32_t number)
{
	struct bpk_err err = { 0 };

	b->chunks++;
	if (agrees(b, (size_t)packed, size, number, &err)) {
		b->agreed++;
		return;
	}
	print_error(
		"codec %u level %u %s typesize %d size %zu block %d split %d dictionary %d: %s\n",
		p->compcode, p->clevel, name, p->typesize, size, p->blocksize, p->splitmode,
		p->use_dict, err.text[0] ? err.text : "other bytes");
}

static void check(struct bench *b, struct cparams p, const struct pipeline *pipeline, size_t size,
		  uint32_t number)
{
	void *cctx = b->theirs.create_cctx(p);
	int packed;

	assert_non_null(cctx);
	packed = b->theirs.compress(cctx, b->raw, (int32_t)size, b->packed, ROOM);
	b->theirs.free_ctx(cctx);
	if (packed <= 0 || !read_by_them(b, (size_t)packed, size) ||
	    (!pipeline->lossy && memcmp(b->back, b->raw, size) != 0))
		return;
	memcpy(b->want, pipeline->lossy ? b->back : b->raw, size);
	judge(b, &p, pipeline->name, packed, size, number);
}

/* c-blosc2 loses the bytes after the last whole word of delta, and refuses blocks without one. */
static bool suits(const struct pipeline *pipeline, unsigned ts, size_t size)
{
	unsigned width = ts <= 2 || ts == 4 ? ts : ts % 8 == 0 ? 8 : 1;

	for (unsigned i = 0; i < 6; i++) {
		if (pipeline->filters[i] == 3 && size % width != 0)
			return false;
		if (pipeline->filters[i] == 4 && ts != 4 && ts != 8)
			return false;
		if (pipeline->filters[i] == 36 && ts != 1 && ts != 2 && ts != 4 && ts != 8)
			return false;
	}
	return true;
}

static void check_sizes(struct bench *b, struct cparams p, const struct pipeline *pipeline,
			uint32_t *number)
{
	const unsigned ts = (unsigned)p.typesize;
	const size_t sizes[] = {
		1,     31,    32,   100,    ts * 33,     ts * 100 + 1, ts * 1000,
		32768, 65536, 9999, 131072, 262144 + ts, ts * 1024L,   ts * 600L + ts / 2
	};
	const int32_t blocks[] = { 0, 0, (int32_t)ts * 64, 0, (int32_t)ts * 1000 };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t size = sizes[i];

		++*number;
		if (!suits(pipeline, ts, size) || (size > 20000 && *number % 3 != 0) ||
		    (p.compcode >= 4 && *number % 4 != 0) ||
		    (oracle_is_thin() && *number % 11 != 0))
			continue;
		p.clevel = (uint8_t)(*number / 5 % (p.compcode == 5 ? 6 : 10));
		p.splitmode = (int32_t)(1 + *number / 3 % 4);
		p.blocksize = blocks[*number / 7 % 5];
		check(b, p, pipeline, size, *number);
	}
}

static struct cparams params(unsigned codec, unsigned typesize, const struct pipeline *pipeline)
{
	struct cparams p = { .compcode = (uint8_t)codec,
			     .clevel = 5,
			     .typesize = (int32_t)typesize,
			     .nthreads = 1,
			     .splitmode = 4 };

	memcpy(p.filters, pipeline->filters, 6);
	memcpy(p.filters_meta, pipeline->metas, 6);
	for (unsigned i = 0; i < 6; i++)
		if (pipeline->filters[i] == 35 && pipeline->metas[i] == OWN_WIDTH)
			p.filters_meta[i] = (uint8_t)typesize;
	return p;
}

static const unsigned codecs[] = { 0, 1, 2, 4, 5 };

static void report(struct bench *b, const char *what)
{
	print_message("# %s by c-blosc2: %lu of %lu chunks agree\n", what, b->agreed, b->chunks);
	assert_true(b->chunks > 0);
	assert_int_equal(b->agreed, b->chunks);
	b->agreed = b->chunks = 0;
}

static void test_pipelines(void **state)
{
	static const unsigned widths[] = { 1, 2, 3, 4, 7, 8, 12, 16, 17, 255 };
	struct bench *b = *state;
	uint32_t number = 0;

	for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
		oracle_fill(b->raw, LARGEST, widths[w], widths[w]);
		for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)
			for (size_t i = 0; i < NPIPELINES; i++)
				check_sizes(b, params(codecs[c], widths[w], &pipelines[i]),
					    &pipelines[i], &number);
	}
	report(b, "pipelines");
}

/* Mostly runs and zeros: streams without a codec. */
static void test_runs(void **state)
{
	struct bench *b = *state;
	uint32_t number = 0;

	for (unsigned ts = 1; ts <= 16; ts *= 2) {
		for (size_t i = 0; i < LARGEST; i++)
			b->raw[i] = (uint8_t)(i / 40000 + (i % ts < 2 ? 0 : i % ts * 17));
		for (size_t i = 0; i < NPIPELINES; i++)
			check_sizes(b, params(1, ts, &pipelines[i]), &pipelines[i], &number);
	}
	report(b, "runs");
}

static void test_dictionaries(void **state)
{
	static const unsigned with[] = { 1, 2, 5 };
	struct bench *b = *state;
	struct bpk_chunk_header header;
	unsigned nwith = 0;

	/* c-blosc2 encodes them with an overlapping memcpy, at which the sanitizer ends the
	 * program */
	if (ORACLE_SANITIZED)
		skip();
	oracle_fill_text(b->raw, LARGEST);
	for (size_t c = 0; c < sizeof with / sizeof with[0]; c++)
		for (size_t i = 0; i < 3; i++)
			for (unsigned ts = 1; ts <= 4; ts += 3) {
				struct cparams p = params(with[c], ts, &pipelines[i]);

				p.use_dict = 1;
				p.blocksize = 16384;
				check(b, p, &pipelines[i], LARGEST - LARGEST % 4, (uint32_t)i);
				bpk_chunk_header_read(bpk_view(b->packed, ROOM), &header, NULL);
				nwith += header.dictionary;
			}
	assert_true(nwith >= 6);
	report(b, "dictionaries");
}

static void test_specials(void **state)
{
	static const uint8_t value[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct bench *b = *state;

	for (unsigned ts = 1; ts <= 9; ts++)
		for (unsigned kind = 0; kind < 4; kind++) {
			struct cparams p = params(5, ts, &pipelines[1]);
			int32_t size = (int32_t)ts * 777;
			int packed;

			if (kind == 1 && ts != 4 && ts != 8)
				continue;
			packed = kind == 0   ? b->theirs.zeros(p, size, b->packed, ROOM)
				 : kind == 1 ? b->theirs.nans(p, size, b->packed, ROOM)
				 : kind == 2 ? b->theirs.uninit(p, size, b->packed, ROOM)
					     : b->theirs.repeat(p, size, b->packed, ROOM, value);
			assert_true(packed >= 32);
			memset(b->back, 0, (size_t)size);
			assert_true(read_by_them(b, (size_t)packed, (size_t)size));
			memcpy(b->want, b->back, (size_t)size);
			judge(b, &p, "special", packed, (size_t)size, kind + ts);
		}
	report(b, "special chunks");
}

static void test_variable_blocks(void **state)
{
	struct bench *b = *state;
	struct unit_random r = { 5 };

	if (b->theirs.compress_blocks == NULL)
		skip();
	oracle_fill_text(b->raw, LARGEST);
	for (unsigned number = 0; number < 60; number++) {
		/* without delta: c-blosc2 does not read its own */
		static const uint8_t chosen[] = { 0, 1, 2, 6, 8 };
		const struct pipeline *pipeline = &pipelines[chosen[number % 5]];
		struct cparams p = params(codecs[number / 5 % 5], 1 + number % 8, pipeline);
		int32_t sizes[NBLOCKS], nblocks = (int32_t)(1 + number % NBLOCKS);
		const void *blocks[NBLOCKS];
		size_t size = 0;
		void *cctx;
		int packed;

		p.use_dict = !ORACLE_SANITIZED && number % 3 == 0 &&
			     (p.compcode == 1 || p.compcode == 5);
		for (int32_t k = 0; k < nblocks; k++) {
			sizes[k] = (int32_t)(1 + unit_random_next(&r) % (k % 3 ? 7000 : 50));
			blocks[k] = b->raw + size;
			size += (size_t)sizes[k];
		}
		cctx = b->theirs.create_cctx(p);
		packed = b->theirs.compress_blocks(cctx, blocks, sizes, nblocks, b->packed, ROOM);
		b->theirs.free_ctx(cctx);
		/* filters that it was built without */
		if (packed <= 0)
			continue;
		memcpy(b->want, b->raw, size);
		judge(b, &p, pipeline->name, packed, size, number);
		if (b->agreed == b->chunks) {
			uint32_t ours[NBLOCKS];

			assert_int_equal(bpk_chunk_block_sizes(bpk_view(b->packed, (size_t)packed),
							       ours, NULL),
					 0);
			assert_memory_equal(ours, sizes, (size_t)nblocks * 4);
		}
	}
	report(b, "blocks of variable length");
}

/* "A B2 3.0 - 3.3 writer defect": a block size that is not a multiple of the typesize. */
static void test_misstated_block_sizes(void **state)
{
	struct bench *b = *state;
	struct bpk_err err = { 0 };
	unsigned salvaged = 0;

	oracle_fill(b->raw, LARGEST, 8, 8);
	memcpy(b->want, b->raw, LARGEST);
	for (unsigned number = 0; number < 40; number++) {
		struct cparams p =
			params(codecs[number % 5], 7 + number % 3, &pipelines[number % 3]);
		size_t size = 5000 + 1000 * number;
		void *cctx;
		int packed;

		p.blocksize = 1000 + (int32_t)number;
		p.splitmode = 1 + (int32_t)number % 2;
		cctx = b->theirs.create_cctx(p);
		packed = b->theirs.compress(cctx, b->raw, (int32_t)size, b->packed, ROOM);
		b->theirs.free_ctx(cctx);
		if (packed <= 0)
			continue;
		b->chunks++;
		b->agreed += agrees(b, (size_t)packed, size, number, &err);
		salvaged += !read_by_them(b, (size_t)packed, size);
	}
	print_message("# %u chunks that c-blosc2 does not read itself\n", salvaged);
	report(b, "misstated block sizes");
}

/* NULL, or the reason for a skip. */
static const char *open_library(struct library *b)
{
	const char *reason = cblosc2_open(&b->library);
	int missing = 0, may_be_missing = 0;

	if (reason != NULL)
		return reason;
	cblosc2_find(&b->library, "blosc2_create_cctx", &b->create_cctx, &missing);
	cblosc2_find(&b->library, "blosc2_create_dctx", &b->create_dctx, &missing);
	cblosc2_find(&b->library, "blosc2_free_ctx", &b->free_ctx, &missing);
	cblosc2_find(&b->library, "blosc2_compress_ctx", &b->compress, &missing);
	cblosc2_find(&b->library, "blosc2_decompress_ctx", &b->decompress, &missing);
	cblosc2_find(&b->library, "blosc2_vlcompress_ctx", &b->compress_blocks, &may_be_missing);
	cblosc2_find(&b->library, "blosc2_chunk_zeros", &b->zeros, &missing);
	cblosc2_find(&b->library, "blosc2_chunk_nans", &b->nans, &missing);
	cblosc2_find(&b->library, "blosc2_chunk_uninit", &b->uninit, &missing);
	cblosc2_find(&b->library, "blosc2_chunk_repeatval", &b->repeat, &missing);
	return missing ? "libblosc2.so lacks a function" : NULL;
}

int main(void)
{
	static struct bench bench;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_pipelines, &bench),
		cmocka_unit_test_prestate(test_runs, &bench),
		cmocka_unit_test_prestate(test_dictionaries, &bench),
		cmocka_unit_test_prestate(test_specials, &bench),
		cmocka_unit_test_prestate(test_variable_blocks, &bench),
		cmocka_unit_test_prestate(test_misstated_block_sizes, &bench),
	};
	const char *reason = open_library(&bench.theirs);
	int failed;

	if (reason != NULL) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	bench.ctx = bpk_chunk_ctx_new(NULL);
	if (bench.ctx == NULL)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bpk_chunk_ctx_free(bench.ctx);
	cblosc2_close(&bench.theirs.library);
	return failed;
}
