/*
 * Chunks against libblosc 1.x, in both directions: every codec, filter, level and width, at sizes
 * around every boundary; thinned under sanitizers and when BPK_TEST_THIN is set. And damaged
 * chunks, of which both make the same bytes or nothing: BPK_MUTANTS=N tries so many.
 */
#include "unit/oracle.h"

#include "chunk/chunk.h"

#ifndef HAVE_BLOSC

int main(void)
{
	puts("1..0 # SKIP libblosc is not installed");
	return 0;
}

#else

#include <blosc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGEST = 140000, ROOM = LARGEST + 4096 };

/* One point of the matrix; number counts them, to vary independent parameters. */
struct point {
	const char *codec;
	enum bpk_filter filter;
	unsigned level, typesize;
	size_t size;
	uint32_t block_size;
	uint32_t number;
};

struct bench {
	struct bpk_chunk_ctx *ctx;
	uint8_t raw[LARGEST], packed[ROOM], back[ROOM];
};

static const char *const codecs[] = { "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd" };

static void describe(const struct point *p, const char *what, const struct bpk_err *err)
{
	fprintf(stderr, "%s: %s filter %d level %u typesize %u size %zu block %u: %s\n", what,
		p->codec, (int)p->filter, p->level, p->typesize, p->size, p->block_size, err->text);
}

/* A range of the chunk, and the items that libblosc finds there. */
static void check_range(struct bench *b, const struct point *p, struct bpk_view chunk)
{
	struct unit_random r = { p->number };
	size_t start = p->size == 0 ? 0 : unit_random_next(&r) % p->size;
	size_t size = p->size == 0 ? 0 : unit_random_next(&r) % (p->size - start + 1);
	size_t item = start / p->typesize, nitems = size / p->typesize;
	struct bpk_err err = { 0 };
	int got;

	if (bpk_chunk_decode_range(b->ctx, chunk, start, bpk_span(b->back, size), &err) != 0) {
		describe(p, "range", &err);
		fail();
	}
	if (size > 0)
		assert_memory_equal(b->back, b->raw + start, size);
	if (nitems == 0)
		return;
	got = blosc_getitem(chunk.data, (int)item, (int)nitems, b->back);
	assert_int_equal(got, (int)(nitems * p->typesize));
	assert_memory_equal(b->back, b->raw + item * p->typesize, (size_t)got);
}

static void check_theirs(struct bench *b, const struct point *p)
{
	int packed = blosc_compress_ctx((int)p->level, (int)p->filter, p->typesize, p->size, b->raw,
					b->packed, ROOM, p->codec, p->block_size, 1);
	struct bpk_view chunk = bpk_view(b->packed, packed > 0 ? (size_t)packed : 0);
	struct bpk_err err = { 0 };

	assert_true(packed > 0);
	memset(b->back, 0xa5, p->size);
	if (bpk_chunk_decode(b->ctx, chunk, bpk_span(b->back, p->size), &err) != 0) {
		describe(p, "theirs", &err);
		fail();
	}
	assert_memory_equal(b->back, b->raw, p->size);
	check_range(b, p, chunk);
}

/* The same chunk with slack: all of it, and items of it. */
static void check_slack(struct bench *b, const struct point *p, size_t packed)
{
	struct bpk_chunk_header header;
	uint32_t slot;

	assert_int_equal(bpk_chunk_header_read(bpk_view(b->packed, packed), &header, NULL), 0);
	slot = bpk_chunk_slot(bpk_view(b->packed, packed), &header,
			      p->number % 2 == 0 ? UINT64_MAX : p->number % 5000);
	assert_int_equal(bpk_chunk_pad(bpk_span(b->packed, slot), packed, NULL), 0);
	memset(b->back, 0xa5, p->size);
	assert_int_equal(blosc_decompress_ctx(b->packed, b->back, p->size, 1), (int)p->size);
	assert_memory_equal(b->back, b->raw, p->size);
	check_range(b, p, bpk_view(b->packed, slot));
}

static void check_ours(struct bench *b, const struct point *p)
{
	struct bpk_recipe recipe = { bpk_codec_find(p->codec), p->level, p->typesize,
				     bpk_pipeline_of(p->filter), .block_size = p->block_size };
	struct bpk_err err = { 0 };
	size_t packed = 0;

	assert_non_null(recipe.codec);
	if (bpk_chunk_encode(b->ctx, &recipe, bpk_view(b->raw, p->size),
			     bpk_span(b->packed, bpk_chunk_bound(p->size)), &packed, &err) != 0) {
		describe(p, "ours", &err);
		fail();
	}
	assert_true(packed <= bpk_chunk_bound(p->size));
	memset(b->back, 0xa5, p->size);
	assert_int_equal(blosc_decompress_ctx(b->packed, b->back, p->size, 1), (int)p->size);
	if (memcmp(b->back, b->raw, p->size) != 0) {
		describe(p, "libblosc read other bytes", &err);
		fail();
	}
	check_range(b, p, bpk_view(b->packed, packed));
	check_slack(b, p, packed);
}

/* Points left out to save time. */
static bool skipped(const struct point *p)
{
	bool large = p->size > 20000;
	uint32_t every = 1;

	if (large)
		every = p->level >= 3 ? 7 : 2;
	if (large && strcmp(p->codec, "zstd") == 0 && p->level >= 5)
		every = p->level == 9 ? 61 : 17;
	if (strcmp(p->codec, "zstd") == 0 && p->level == 9 && !large)
		every = 7;
	if (oracle_is_thin())
		every *= 11;
	return p->number % every != 0;
}

static void check_sizes(struct bench *b, struct point p, uint32_t *number)
{
	const unsigned ts = p.typesize;
	const size_t sizes[] = { 0,     1,     ts - 1,   ts,           127,
				 128,   129,   128 * ts, 128 * ts + 1, 136 * ts + ts / 2,
				 32767, 32768, 32769,    65536 + ts,   131072 + 3 };
	const uint32_t blocks[] = { 0, 128 * ts, 4096, 0, 1000, 16 * ts + 5 };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		p.size = sizes[i];
		p.number = ++*number;
		p.block_size = blocks[p.number / 7 % 6];
		if (skipped(&p))
			continue;
		check_theirs(b, &p);
		check_ours(b, &p);
	}
}

static void test_both_ways(void **state)
{
	static const unsigned widths[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					   11, 12, 13, 14, 15, 16, 17, 24, 255 };
	struct bench *b = *state;
	uint32_t number = 0;

	for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
		oracle_fill(b->raw, LARGEST, widths[w], widths[w]);
		for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)
			for (unsigned filter = 0; filter < 3; filter++)
				for (unsigned level = 0; level <= 9; level++)
					check_sizes(b,
						    (struct point){ .codec = codecs[c],
								    .filter = filter,
								    .level = level,
								    .typesize = widths[w] },
						    &number);
	}
}

/* Chunks of noise: incompressible input is stored, and never exceeds its bound. */
static void test_noise_both_ways(void **state)
{
	struct bench *b = *state;
	struct unit_random r = { 1 };

	for (size_t i = 0; i < LARGEST; i++)
		b->raw[i] = (uint8_t)unit_random_next(&r);
	for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)
		for (unsigned ts = 1; ts <= 17; ts += 4) {
			struct point p = { codecs[c], BPK_FILTER_SHUFFLE, 1, ts, 100000, 0, ts };

			check_theirs(b, &p);
			check_ours(b, &p);
		}
}

/* ---- damaged chunks ---- */

enum { MUTANT_RAW = 3000, HEADER = 48 /* and the offsets of the first blocks */ };

/* The result of a reader on a damaged chunk. */
struct verdict {
	bool begun, accepts;
	size_t size;
	uint64_t sum; /* FNV-1a of its bytes */
};

static struct verdict verdict_of(const uint8_t *raw, size_t size)
{
	struct verdict verdict = { true, true, size, 0xcbf29ce484222325u };

	for (size_t i = 0; i < size; i++)
		verdict.sum = (verdict.sum ^ raw[i]) * 0x100000001b3u;
	return verdict;
}

/* Make damaged chunk n: of one to three bytes, every other one near its start. Returns its size. */
static size_t make_mutant(struct bench *b, uint32_t n)
{
	struct unit_random r = { n };
	size_t size = 1 + unit_random_next(&r) % MUTANT_RAW, width = 1 + n / 18 % 8;
	int level = (int)(n / 7 % 9) + 1, filter = (int)(n / 6 % 3);
	int packed = blosc_compress_ctx(level, filter, width, size, b->raw, b->packed, ROOM,
					codecs[n % 6], n % 5 == 0 ? 256 : 0, 1);
	uint32_t room = n % 2 == 0 && packed > HEADER ? HEADER : (uint32_t)packed;

	assert_true(packed > 0);
	for (uint32_t i = 0; i <= n / 3 % 3; i++)
		b->packed[unit_random_next(&r) % room] ^=
			(uint8_t)(n % 11 == 0 ? 0xff : 1u << unit_random_next(&r) % 8);
	memset(b->back, 0xa5, ROOM);
	return (size_t)packed;
}

static struct verdict read_mutant(struct bench *b, uint32_t n)
{
	struct bpk_view chunk = bpk_view(b->packed, make_mutant(b, n));
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };

	if (bpk_chunk_header_read(chunk, &header, &err) != 0 || header.raw_size > ROOM ||
	    bpk_chunk_decode(b->ctx, chunk, bpk_span(b->back, header.raw_size), &err) != 0)
		return (struct verdict){ .begun = true };
	return verdict_of(b->back, header.raw_size);
}

/* libblosc reads the mutants from n on, and may crash over one. */
_Noreturn static void let_them_read(struct bench *b, struct verdict *theirs, uint32_t n,
				    uint32_t count)
{
	for (; n < count; n++) {
		size_t size, packed = make_mutant(b, n);

		theirs[n].begun = true;
		if (blosc_cbuffer_validate(b->packed, packed, &size) == 0 && size <= ROOM &&
		    blosc_decompress_ctx(b->packed, b->back, size, 1) == (int)size)
			theirs[n] = verdict_of(b->back, size);
	}
	_exit(0);
}

/* The oracle reads in processes of its own. Returns how many of them crashed. */
static unsigned read_by_them(struct bench *b, struct verdict *theirs, uint32_t count)
{
	unsigned crashes = 0;

	for (uint32_t n = 0; n < count;) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			let_them_read(b, theirs, n, count);
		assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
		while (n < count && theirs[n].begun)
			n++;
		crashes += status != 0;
		assert_true(status != 0 || n == count);
	}
	return crashes;
}

/* Of a chunk that both accept they make the same bytes. libblosc alone accepts both shuffles at
 * once, and a block that starts inside the header; bpk alone newer versions, and a block size above
 * the chunk's size. */
static void test_damaged_chunks(void **state)
{
	const char *wish = getenv("BPK_MUTANTS");
	uint32_t count = wish != NULL ? (uint32_t)atol(wish) : oracle_is_thin() ? 500 : 3000;
	size_t size = (count + 1) * sizeof(struct verdict);
	struct verdict *theirs =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned both = 0, ours_alone = 0, theirs_alone = 0, crashes;
	struct bench *b = *state;

	assert_true(theirs != MAP_FAILED);
	oracle_fill(b->raw, LARGEST, 4, 1);
	crashes = read_by_them(b, theirs, count);
	for (uint32_t n = 0; n < count; n++) {
		struct verdict ours = read_mutant(b, n);

		both += ours.accepts && theirs[n].accepts;
		ours_alone += ours.accepts && !theirs[n].accepts;
		theirs_alone += !ours.accepts && theirs[n].accepts;
		if (ours.accepts && theirs[n].accepts &&
		    (ours.size != theirs[n].size || ours.sum != theirs[n].sum))
			fail_msg("damaged chunk %u: other bytes than libblosc's", n);
	}
	print_message(
		"# %u damaged chunks: %u read by both, %u by bpk alone, %u by libblosc alone, "
		"which crashed %u times\n",
		count, both, ours_alone, theirs_alone, crashes);
	assert_true(both > count / 10);
	munmap(theirs, size);
}

static int set_up(void **state)
{
	struct bench *b = malloc(sizeof *b);

	*state = b;
	if (b == NULL)
		return -1;
	b->ctx = bpk_chunk_ctx_new(NULL);
	return b->ctx == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	bpk_chunk_ctx_free(b->ctx);
	free(b);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_noise_both_ways),
		cmocka_unit_test(test_damaged_chunks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

#endif
