/*
 * The choice of element size, filters and codec, on made and on bench data.
 */
#include "unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/data.h"
#include "flow/flow.h"

static const struct bpk_wishes no_wishes = { .level = BPK_AUTO, .typesize = BPK_AUTO };

enum made {
	MADE_NOISE,
	MADE_PROSE,
	MADE_F64,     /* eight bytes: a slow ramp over three bytes of noise */
	MADE_RECORDS, /* twelve bytes: a counter, a flag, five bytes of noise, two of rare change */
	MADE_TRIPLES, /* three bytes: a slow ramp, big-endian */
	MADE_FRAMES,  /* the same 300000 bytes of noise again and again */
	MADE_KINDS,
};

static void put_record(uint8_t *out, uint64_t number, struct unit_random *random)
{
	bpk_put_le32(out, (uint32_t)number);
	out[4] = number % 7 == 0;
	for (int i = 5; i < 10; i++)
		out[i] = (uint8_t)unit_random_next(random);
	out[10] = (uint8_t)(number >> 9);
	out[11] = 0;
}

static void make_data(enum made kind, uint8_t *out, size_t size)
{
	static const char words[][9] = { "the ",   "force ",  "on ", "particle ", "is ",
					 "small,", " while ", "its", "energy ",   "grows " };
	struct unit_random random = { 42 };
	uint8_t *end = out + size;
	uint8_t unit[12];
	size_t n;

	for (uint64_t i = 0; out < end; i++, out += n) {
		uint64_t ramp = (UINT64_C(0x4010) << 48) + (i << 22);

		n = 1;
		if (kind == MADE_NOISE || (kind == MADE_FRAMES && i < 300000)) {
			unit[0] = (uint8_t)unit_random_next(&random);
		} else if (kind == MADE_FRAMES) {
			unit[0] = out[-300000];
		} else if (kind == MADE_PROSE) {
			const char *word = words[unit_random_next(&random) % 10];

			n = strnlen(word, 9);
			memcpy(unit, word, n);
		} else if (kind == MADE_F64) {
			bpk_put_le64(unit, ramp + unit_random_next(&random) % (1 << 24));
			n = 8;
		} else if (kind == MADE_RECORDS) {
			put_record(unit, i, &random);
			n = 12;
		} else {
			bpk_put_le32(unit, (uint32_t)(i / 900) << 8 | (i / 3 & 0xff));
			n = 3;
		}
		n = bpk_min_size(n, (size_t)(end - out));
		memcpy(out, unit, n);
	}
}

static void choose(enum made kind, size_t size, const struct bpk_wishes *wishes,
		   struct bpk_choice *choice)
{
	uint8_t *bytes = malloc(size + 1);
	struct bpk_source *source;
	struct bpk_err err = { 0 };

	make_data(kind, bytes, size);
	assert_int_equal(bpk_source_of_memory(bpk_view(bytes, size), &source, &err), 0);
	assert_int_equal(bpk_choose(source, size, wishes, choice, &err), 0);
	assert_true(choice->why.size > 0);
	assert_int_equal(choice->why.data[choice->why.size - 1], '\n');
	assert_int_equal(choice->chunk_size % choice->recipe.typesize, 0);
	assert_true(choice->recipe.block_size <= choice->chunk_size);
	bpk_source_close(source);
	free(bytes);
}

static void test_choosing_sees_elements_and_records(void **state)
{
	static const struct {
		enum made kind;
		unsigned typesize;
		bool filtered;
	} rows[] = {
		{ MADE_NOISE, 1, false },   { MADE_PROSE, 1, false },  { MADE_F64, 8, true },
		{ MADE_RECORDS, 12, true }, { MADE_TRIPLES, 3, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (size_t size = 200000; size <= 9000000; size *= 6) {
			struct bpk_choice choice;

			choose(rows[i].kind, size, &no_wishes, &choice);
			assert_int_equal(choice.recipe.typesize, rows[i].typesize);
			assert_int_equal(choice.recipe.pipeline.nsteps > 0, rows[i].filtered);
			assert_int_equal(choice.chunk_size / 1000, 1048);
			assert_string_equal(bpk_codec_name(choice.recipe.codec), "zstd");
			bpk_buf_clear(&choice.why);
		}
	}
}

/* Every set of the benches, whose table gives the element sizes. Noise and zeros have no detectable
 * size, and for some sets several elements together are as good. */
static void test_choosing_sees_the_elements_of_bench_data(void **state)
{
	enum { SIZE = 3 << 20 };
	uint8_t *bytes = malloc(SIZE);
	const struct bench_data *set;

	(void)state;
	for (size_t i = 0; (set = bench_data_at(i)) != NULL; i++) {
		struct bpk_source *source;
		struct bpk_choice choice;
		struct bpk_err err = { 0 };

		assert_int_equal(bench_data_make(set->name, 1, SIZE, bytes), 0);
		assert_int_equal(bpk_source_of_memory(bpk_view(bytes, SIZE), &source, &err), 0);
		assert_int_equal(bpk_choose(source, SIZE, &no_wishes, &choice, &err), 0);
		if (strcmp(set->name, "noise") == 0 || strcmp(set->name, "zeros") == 0)
			assert_int_equal(choice.recipe.typesize, 1);
		else
			assert_int_equal(choice.recipe.typesize % set->typesize, 0);
		assert_true(strncmp(set->name, "records", 7) != 0 ||
			    choice.recipe.typesize == set->typesize);
		bpk_buf_clear(&choice.why);
		bpk_source_close(source);
	}
	free(bytes);
}

static void test_choosing_sees_repeats_across_megabytes(void **state)
{
	struct bpk_choice choice;

	(void)state;
	choose(MADE_FRAMES, 5000000, &no_wishes, &choice);
	assert_int_equal(choice.recipe.pipeline.nsteps, 0);
	assert_int_equal(choice.chunk_size, 4 << 20);
	assert_int_equal(choice.recipe.block_size, 4 << 20);
	bpk_buf_clear(&choice.why);
}

/* Frames as in a GSD file: a header, types from 0 to 3, and box images of -1 to 1, some of which
 * change. */
static void make_frames(uint8_t *out, size_t size)
{
	enum { HEADER = 2048, TYPES = HEADER + 24000, FRAME = TYPES + 72000 };
	struct unit_random random = { 7 };

	for (size_t at = 0; at < size; at += 4) {
		size_t within = at % FRAME;

		if (within < HEADER)
			bpk_put_le32(out + at, within % 8 == 0 ? within / 8 % 32 : 0);
		else if (at >= FRAME && (within < TYPES || unit_random_next(&random) % 2000 > 0))
			memcpy(out + at, out + at - FRAME, 4);
		else if (within < TYPES)
			bpk_put_le32(out + at, unit_random_next(&random) % 4);
		else
			bpk_put_le32(out + at, unit_random_next(&random) % 3 - 1);
	}
}

static size_t packed_size(const struct bpk_recipe *recipe, struct bpk_view raw)
{
	size_t bound = bpk_chunk_bound(raw.size), size;
	struct bpk_err err = { 0 };
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(&err);
	uint8_t *out = malloc(bound);

	assert_int_equal(bpk_chunk_encode(ctx, recipe, raw, bpk_span(out, bound), &size, &err), 0);
	free(out);
	bpk_chunk_ctx_free(ctx);
	return size;
}

/* Neither the best filters of pieces nor those of a run need be the best of large chunks. */
static void test_choosing_compares_filters_of_repeats(void **state)
{
	enum { SIZE = 1900000 };
	struct bpk_wishes wishes = no_wishes;
	uint8_t *bytes = malloc(SIZE);
	struct bpk_source *source;
	struct bpk_choice choice;
	struct bpk_recipe recipe;
	struct bpk_err err = { 0 };
	size_t of_choice;

	(void)state;
	make_frames(bytes, SIZE);
	wishes.level = 1;
	wishes.extended = true;
	assert_int_equal(bpk_source_of_memory(bpk_view(bytes, SIZE), &source, &err), 0);
	assert_int_equal(bpk_choose(source, SIZE, &wishes, &choice, &err), 0);
	assert_true(choice.chunk_size > SIZE);
	of_choice = packed_size(&choice.recipe, bpk_view(bytes, SIZE));
	recipe = choice.recipe;
	for (unsigned i = 0; i < 6; i++) {
		recipe.typesize = 1U << i / 2;
		recipe.pipeline =
			bpk_pipeline_of(i % 2 == 0 ? BPK_FILTER_SHUFFLE : BPK_FILTER_BITSHUFFLE);
		assert_true(of_choice <= packed_size(&recipe, bpk_view(bytes, SIZE)) / 100 * 105);
	}
	bpk_buf_clear(&choice.why);
	bpk_source_close(source);
	free(bytes);
}

static void test_choosing_is_deterministic(void **state)
{
	(void)state;
	for (int kind = 0; kind < MADE_KINDS; kind++) {
		struct bpk_choice first, second;

		choose(kind, 3000000, &no_wishes, &first);
		choose(kind, 3000000, &no_wishes, &second);
		assert_int_equal(first.why.size, second.why.size);
		assert_memory_equal(first.why.data, second.why.data, first.why.size);
		bpk_buf_clear(&first.why);
		bpk_buf_clear(&second.why);
	}
}

/* Text and numbers, concatenated or alternating every MiB: filters for both, with one element
 * size. */
static void test_choosing_sees_regions(void **state)
{
	static const struct {
		const char *a, *b;
		size_t turn;
		unsigned typesize;
	} cases[] = {
		{ "text", "field-f64", 4 << 20, 8 },
		{ "text", "field-f64", 1 << 20, 8 },
		{ "field-f32", "text", 1 << 20, 4 },
		{ "text", "records-12", 1 << 20, 12 },
	};
	enum { SIZE = 8 << 20 };
	uint8_t *a = malloc(SIZE), *b = malloc(SIZE);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bpk_source *source;
		struct bpk_choice choice;

		bench_data_make(cases[i].a, 1, SIZE, a);
		bench_data_make(cases[i].b, 1, SIZE, b);
		for (size_t at = cases[i].turn; at < SIZE; at += 2 * cases[i].turn)
			memcpy(a + at, b + at, cases[i].turn);
		assert_int_equal(bpk_source_of_memory(bpk_view(a, SIZE), &source, NULL), 0);
		assert_int_equal(bpk_choose(source, SIZE, &no_wishes, &choice, NULL), 0);
		assert_int_equal(choice.ncandidates, 1);
		assert_int_equal(choice.recipe.typesize, cases[i].typesize);
		assert_int_equal(
			choice.recipe.pipeline.nsteps + choice.candidates[0].pipeline.nsteps, 1);
		bpk_buf_clear(&choice.why);
		bpk_source_close(source);
	}
	free(a);
	free(b);
}

static void test_choosing_honours_wishes(void **state)
{
	const struct bpk_pipeline bitshuffle = bpk_pipeline_of(BPK_FILTER_BITSHUFFLE);
	const struct bpk_pipeline no_filter = { 0 };
	struct bpk_wishes wishes = { .codec = bpk_codec_find("lz4"),
				     .level = 7,
				     .typesize = 6,
				     .pipeline = &bitshuffle,
				     .chunk_size = 100000,
				     .block_size = 4800 };
	struct bpk_choice choice;

	(void)state;
	for (int kind = 0; kind < MADE_KINDS; kind++) {
		choose(kind, 900000, &wishes, &choice);
		assert_ptr_equal(choice.recipe.codec, wishes.codec);
		assert_int_equal(choice.recipe.level, 7);
		assert_int_equal(choice.recipe.typesize, 6);
		assert_true(bpk_pipeline_equal(&choice.recipe.pipeline, &bitshuffle));
		assert_int_equal(choice.recipe.block_size, 4800);
		assert_int_equal(choice.chunk_size, 100000 / 6 * 6);
		bpk_buf_clear(&choice.why);
	}
	wishes = no_wishes;
	wishes.level = 0;
	choose(MADE_F64, 900000, &wishes, &choice);
	assert_int_equal(choice.recipe.level, 0);
	bpk_buf_clear(&choice.why);
	wishes = no_wishes;
	wishes.typesize = 255;
	wishes.chunk_size = 100;
	choose(MADE_F64, 900000, &wishes, &choice);
	assert_int_equal(choice.recipe.typesize, 255);
	assert_int_equal(choice.chunk_size, 255);
	bpk_buf_clear(&choice.why);
	wishes = no_wishes;
	wishes.codec = bpk_codec_find("lz4");
	choose(MADE_RECORDS, 900000, &wishes, &choice);
	assert_ptr_equal(choice.recipe.codec, wishes.codec);
	assert_int_equal(choice.recipe.level, 5);
	assert_int_equal(choice.recipe.typesize, 12);
	bpk_buf_clear(&choice.why);
	wishes = no_wishes;
	wishes.level = 4;
	choose(MADE_F64, 900000, &wishes, &choice);
	assert_int_equal(choice.recipe.level, 4);
	assert_int_equal(choice.recipe.typesize, 8);
	bpk_buf_clear(&choice.why);
	wishes = no_wishes;
	wishes.pipeline = &no_filter;
	choose(MADE_FRAMES, 3000000, &wishes, &choice);
	assert_int_equal(choice.recipe.pipeline.nsteps, 0);
	bpk_buf_clear(&choice.why);
}

/* Is an input of that kind given the choice of an earlier one? */
static bool is_known(enum made kind, size_t size, const struct bpk_wishes *wishes)
{
	static const char said[] = "looks like an earlier input";
	struct bpk_choice choice;
	bool known;

	choose(kind, size, wishes, &choice);
	known = memcmp(choice.why.data, said, sizeof said - 1) == 0;
	bpk_buf_clear(&choice.why);
	return known;
}

static void test_small_inputs_that_look_alike_share_a_choice(void **state)
{
	struct bpk_wishes wishes = no_wishes, four;
	struct bpk_choice own, shared;
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_known_new(&wishes.known, &err), 0);
	for (int kind = 0; kind < MADE_FRAMES; kind++)
		assert_false(is_known(kind, 20000, &wishes));
	for (int kind = 0; kind < MADE_FRAMES; kind++)
		assert_true(is_known(kind, 21001, &wishes));
	choose(MADE_RECORDS, 20000, &no_wishes, &own);
	choose(MADE_RECORDS, 21001, &wishes, &shared);
	assert_int_equal(shared.recipe.typesize, own.recipe.typesize);
	assert_int_equal(shared.recipe.level, own.recipe.level);
	assert_int_equal(shared.chunk_size, own.chunk_size);
	assert_memory_equal(&shared.recipe.pipeline, &own.recipe.pipeline,
			    sizeof own.recipe.pipeline);
	bpk_buf_clear(&own.why);
	bpk_buf_clear(&shared.why);

	/* neither too little to see, nor too much to guess, nor for other wishes */
	assert_false(is_known(MADE_F64, 8000, &wishes));
	assert_false(is_known(MADE_F64, 8000, &wishes));
	assert_false(is_known(MADE_F64, 300000, &wishes));
	assert_false(is_known(MADE_F64, 300000, &wishes));
	four = wishes;
	four.typesize = 4;
	assert_false(is_known(MADE_F64, 20000, &four));
	assert_true(is_known(MADE_F64, 20000, &four));
	assert_false(is_known(MADE_F64, 20000, &no_wishes));
	bpk_known_free(wishes.known);
}

static void test_choosing_keeps_rows_whole(void **state)
{
	static const struct {
		uint64_t row_size, wished, chunk_size;
	} rows[] = {
		{ 100000, 0, 1000000 }, { 3000001, 0, 3000001 }, { 700, 1500, 1400 },
		{ 700, 10, 700 },       { 4, 0, 1 << 20 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_wishes wishes = no_wishes;
		struct bpk_choice choice;

		wishes.typesize = 1;
		wishes.row_size = rows[i].row_size;
		wishes.chunk_size = rows[i].wished;
		choose(MADE_F64, 900000, &wishes, &choice);
		assert_int_equal(choice.chunk_size, rows[i].chunk_size);
		bpk_buf_clear(&choice.why);
	}
}

/* A recipe taken from a chunk encodes the same bytes to the same chunk, except for its level. */
static void test_a_chunk_tells_its_recipe(void **state)
{
	static uint8_t raw[50000], packed[50016];
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	const struct bpk_codec *codec;

	(void)state;
	make_data(MADE_F64, raw, sizeof raw);
	for (int i = 0; (codec = bpk_codec_at((size_t)(i / 3))) != NULL; i++) {
		struct bpk_recipe recipe = { codec, 5, 8, bpk_pipeline_of(i % 3),
					     .block_size = 8192 },
				  like;
		struct bpk_chunk_header header;
		size_t size;

		assert_int_equal(bpk_chunk_encode(ctx, &recipe, bpk_view(raw, sizeof raw),
						  bpk_span(packed, sizeof packed), &size, NULL),
				 0);
		assert_int_equal(bpk_chunk_header_read(bpk_view(packed, size), &header, NULL), 0);
		like = bpk_recipe_like(&header);
		assert_int_equal(like.typesize, 8);
		assert_int_equal(like.pipeline.nsteps, i % 3 > 0);
		assert_int_equal(like.pipeline.steps[0].filter, i % 3);
		assert_int_equal(like.block_size, header.block_size);
		/* lz4 and lz4hc share a format */
		assert_int_equal(strncmp(bpk_codec_name(codec), bpk_codec_name(like.codec),
					 strlen(bpk_codec_name(like.codec))),
				 0);
	}
	bpk_chunk_ctx_free(ctx);
}

static void test_choosing_needs_little_to_go_on(void **state)
{
	struct bpk_choice choice;

	(void)state;
	for (size_t size = 0; size < 3000; size += 1 + size / 3) {
		choose(MADE_RECORDS, size, &no_wishes, &choice);
		bpk_buf_clear(&choice.why);
	}
}

static void *feed(void *arg)
{
	int fd = *(int *)arg;
	uint8_t *bytes = malloc(1500000);
	size_t at = 0;
	ssize_t n = 1;

	make_data(MADE_RECORDS, bytes, 1500000);
	while (at < 1500000 && n > 0) {
		n = write(fd, bytes + at, 1500000 - at);
		at += n > 0 ? (size_t)n : 0;
	}
	free(bytes);
	close(fd);
	return NULL;
}

/* A small pipe is sampled completely, like a small file, and loses no byte. */
static void test_choosing_peeks_into_pipes(void **state)
{
	struct bpk_choice of_memory, of_pipe;
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	pthread_t feeder;
	uint64_t skipped;
	char path[40];
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
	pthread_create(&feeder, NULL, feed, &fds[1]);
	assert_int_equal(bpk_source_open(path, &source, &err), 0);
	assert_int_equal(bpk_choose(source, BPK_UNKNOWN, &no_wishes, &of_pipe, &err), 0);
	choose(MADE_RECORDS, 1500000, &no_wishes, &of_memory);
	assert_int_equal(of_pipe.why.size, of_memory.why.size);
	assert_memory_equal(of_pipe.why.data, of_memory.why.data, of_pipe.why.size);
	assert_int_equal(bpk_source_skip(source, 2000000, &skipped, &err), 0);
	assert_int_equal(skipped, 1500000);
	pthread_join(feeder, NULL);
	bpk_source_close(source);
	close(fds[0]);
	bpk_buf_clear(&of_pipe.why);
	bpk_buf_clear(&of_memory.why);
}

/* Bytes in memory whose reads fail from a number on. */
struct failing {
	struct bpk_view bytes;
	unsigned reads, good;
};

static int read_failing(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			struct bpk_err *err)
{
	struct failing *f = arg;

	if (f->reads++ >= f->good)
		return bpk_fail(err, BPK_FAILED, "a bad sector");
	*got = bpk_min_size(out.size, f->bytes.size - (size_t)offset);
	memcpy(out.data, f->bytes.data + offset, *got);
	return 0;
}

/* Choose for bytes in which the reads after the first good ones fail. */
static int choose_failing(struct bpk_view bytes, unsigned good)
{
	static const struct bpk_source_ops ops = { .read_at = read_failing, .positional = true };
	struct failing failing = { .bytes = bytes, .good = good };
	struct bpk_choice choice = { 0 };
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	int rc;

	assert_int_equal(bpk_source_of(&ops, &failing, bytes.size, &source, &err), 0);
	rc = bpk_choose(source, bytes.size, &no_wishes, &choice, &err);
	assert_true(rc == 0 || strstr(err.text, "a bad sector") != NULL);
	bpk_buf_clear(&choice.why);
	bpk_source_close(source);
	return rc;
}

/* Regions of two kinds are read again one by one, for runs of each. */
static void test_choosing_fails_where_a_read_fails(void **state)
{
	enum { SIZE = 3 << 20 };
	uint8_t *bytes = malloc(SIZE);
	unsigned good = 0;

	(void)state;
	make_data(MADE_F64, bytes, SIZE / 2);
	make_data(MADE_RECORDS, bytes + SIZE / 2, SIZE / 2);
	while (choose_failing(bpk_view(bytes, SIZE), good) != 0)
		good++;
	assert_true(good > 2);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choosing_sees_elements_and_records),
		cmocka_unit_test(test_choosing_sees_the_elements_of_bench_data),
		cmocka_unit_test(test_choosing_sees_repeats_across_megabytes),
		cmocka_unit_test(test_choosing_compares_filters_of_repeats),
		cmocka_unit_test(test_choosing_is_deterministic),
		cmocka_unit_test(test_choosing_sees_regions),
		cmocka_unit_test(test_choosing_honours_wishes),
		cmocka_unit_test(test_small_inputs_that_look_alike_share_a_choice),
		cmocka_unit_test(test_choosing_keeps_rows_whole),
		cmocka_unit_test(test_a_chunk_tells_its_recipe),
		cmocka_unit_test(test_choosing_needs_little_to_go_on),
		cmocka_unit_test(test_choosing_peeks_into_pipes),
		cmocka_unit_test(test_choosing_fails_where_a_read_fails),
	};

	return UNIT_RUN(tests);
}
