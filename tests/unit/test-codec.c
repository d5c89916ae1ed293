/*
 * Inner codecs on single streams. Every buffer is adjacent to an inaccessible page, so an access
 * outside terminates the program.
 */
#include "unit/unit.h"

#include "chunk/chunk.h"
#include "chunk/codec/codec.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef HAVE_BLOSC
#include <blosc.h>
#endif

enum {
	ROOM = (1 << 20) + 4096, /* the largest buffer in a fence; a multiple of any page size */
	NEAR = 8191,             /* BloscLZ's last distance in the short form */
	FAR = 73727,             /* the same for the long form */
};

/* ROOM bytes between two inaccessible pages. */
struct fence {
	uint8_t *begin;
	uint8_t *end;
};

static struct fence raw_fence, packed_fence, back_fence;

static struct fence fence_new(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *all = mmap(NULL, ROOM + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED || mprotect(all + page, ROOM, PROT_READ | PROT_WRITE) != 0)
		abort();
	return (struct fence){ all + page, all + page + ROOM };
}

static struct bpk_span at_end(const struct fence *fence, size_t size)
{
	return bpk_span(fence->end - size, size);
}

static struct bpk_view copy_at_end(const struct fence *fence, const void *bytes, size_t size)
{
	bpk_copy(fence->end - size, bytes, size);
	return bpk_view(fence->end - size, size);
}

static const struct bpk_codec *blosclz(void)
{
	return bpk_codec_find("blosclz");
}

/* Kinds of content. */
enum content {
	ZEROS,
	RAMP,
	TEXT,
	RANDOM,
	RUNS,
	NOISE_THEN_RUNS,
	PERIOD_3,
	PERIOD_7,
	PERIOD_13,
	PERIOD_21,
	REPEAT_NEAR,
	REPEAT_PAST_NEAR,
	REPEAT_FAR,
	REPEAT_PAST_FAR,
	NCONTENTS
};

static void fill_random(uint8_t *p, size_t size, uint64_t seed)
{
	struct unit_random r = { seed };

	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(unit_random_next(&r) >> 7);
}

/* Periodic noise; a long period is mostly zeros, so that samples do not reject it. */
static void fill_period(uint8_t *p, size_t size, size_t period)
{
	fill_random(p, bpk_min_size(size, period), period);
	for (size_t i = 64; period >= NEAR && i < bpk_min_size(size, period); i++)
		if (i % 256 >= 64)
			p[i] = 0;
	for (size_t i = period; i < size; i++)
		p[i] = p[i - period];
}

static void fill_text(uint8_t *p, size_t size)
{
	static const char *const words[] = { "step ",   "energy=",    "-1.25e-03 ", "atom ",
					     "x y z\n", "converged ", "0.5 ",       "warning: ",
					     "box ",    "17 " };
	struct unit_random r = { 5 };

	for (size_t i = 0; i < size;) {
		const char *word = words[unit_random_next(&r) % 10];

		for (; *word != '\0' && i < size; i++)
			p[i] = (uint8_t)*word++;
	}
}

/* Runs of 1 to 1000 equal bytes. */
static void fill_runs(uint8_t *p, size_t size)
{
	struct unit_random r = { 9 };

	for (size_t i = 0; i < size;) {
		size_t run = bpk_min_size(size - i, 1 + unit_random_next(&r) % 1000);

		memset(p + i, (int)unit_random_next(&r), run);
		i += run;
	}
}

static void fill(enum content content, uint8_t *p, size_t size)
{
	static const size_t periods[NCONTENTS] = {
		[PERIOD_3] = 3,       [PERIOD_7] = 7,
		[PERIOD_13] = 13,     [PERIOD_21] = 21,
		[REPEAT_NEAR] = NEAR, [REPEAT_PAST_NEAR] = NEAR + 1,
		[REPEAT_FAR] = FAR,   [REPEAT_PAST_FAR] = FAR + 1,
	};

	if (periods[content] != 0)
		fill_period(p, size, periods[content]);
	else if (content == TEXT)
		fill_text(p, size);
	else if (content == RUNS)
		fill_runs(p, size);
	else
		memset(p, 0, size);
	if (content == RAMP)
		for (size_t i = 0; i < size; i++)
			p[i] = (uint8_t)((i / 4) >> (8 * (i % 4)));
	if (content == RANDOM || content == NOISE_THEN_RUNS)
		fill_random(p, content == RANDOM ? size : size / 2, 3);
}

static size_t encode(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec, unsigned level,
		     struct bpk_view raw, struct bpk_span packed)
{
	size_t size = SIZE_MAX;

	assert_int_equal(codec->encode(ctx, level, raw, packed, &size, NULL), 0);
	assert_true(size <= packed.size);
	return size;
}

/* Encode and decode, the stream flush with both fences in turn. Returns its size, 0 if it does not
 * fit. */
static size_t round_trip(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec, unsigned level,
			 enum content content, size_t size)
{
	struct bpk_span raw = at_end(&raw_fence, size), back = at_end(&back_fence, size);
	struct bpk_span packed = at_end(&packed_fence, size - 1);
	struct bpk_err err = { 0 };
	size_t packed_size;

	fill(content, raw.data, size);
	packed_size = encode(ctx, codec, level, bpk_view_of_span(raw), packed);
	if (packed_size == 0)
		return 0;
	memmove(packed_fence.end - packed_size, packed.data, packed_size);
	if (codec->decode(ctx, bpk_view(packed_fence.end - packed_size, packed_size), back, &err) !=
	    0)
		fail_msg("%s level %u content %d size %zu: %s", codec->name, level, content, size,
			 err.text);
	assert_memory_equal(raw.data, back.data, size);
	return packed_size;
}

static void test_table_of_codecs(void **state)
{
	static const char *const names[] = { "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd" };
	static const unsigned formats[] = { 0, 1, 1, 2, 3, 4 };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		const struct bpk_codec *codec = bpk_codec_find(names[i]);

		assert_ptr_equal(codec, bpk_codec_at(i));
		assert_string_equal(bpk_codec_name(codec), names[i]);
		assert_int_equal(codec->code, i);
		assert_int_equal(codec->format, formats[i]);
		assert_int_equal(bpk_codec_of_format(formats[i])->format, formats[i]);
		/* blosclz is our own, and snappy does not say its version */
		assert_int_equal(bpk_codec_library_version(codec) == NULL,
				 i == 0 || strcmp(bpk_codec_name(codec), "snappy") == 0);
	}
	assert_null(bpk_codec_at(6));
	assert_null(bpk_codec_find("lizard"));
	assert_null(bpk_codec_of_format(5));
	bpk_codec_ctx_free(NULL);
}

static void test_small_round_trips(void **state)
{
	static const size_t edges[] = { 127, 128, 129, 4095, 4096, 4097 };
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	const struct bpk_codec *codec;

	(void)state;
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (unsigned level = 1; level <= 9; level++)
			for (enum content content = 0; content < NCONTENTS; content++) {
				for (size_t size = 1; size <= 100; size++)
					round_trip(ctx, codec, level, content, size);
				for (size_t k = 0; k < 6; k++)
					round_trip(ctx, codec, level, content, edges[k]);
			}
	bpk_codec_ctx_free(ctx);
}

/* The highest levels of Zstd and zlib are slow, so they get less data. */
static void test_large_round_trips(void **state)
{
	static const size_t sizes[] = { 65537, 65536, 65535, 1 << 20 };
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	const struct bpk_codec *codec;

	(void)state;
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (unsigned level = 1; level <= 9; level++)
			for (enum content content = 0; content < NCONTENTS; content++) {
				bool slow = codec->format == BPK_CODEC_FORMAT_ZSTD && level > 4;
				size_t n = strcmp(codec->name, "blosclz") == 0 ? 4 : slow ? 1 : 2;

				for (size_t k = 0; k < n; k++)
					round_trip(ctx, codec, level, content, sizes[k]);
				if (level == 3)
					round_trip(ctx, codec, level, content, sizes[3]);
			}
	bpk_codec_ctx_free(ctx);
}

static void test_what_shrinks(void **state)
{
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	const struct bpk_codec *codec;

	(void)state;
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (unsigned level = 1; level <= 9; level++) {
			assert_in_range(round_trip(ctx, codec, level, ZEROS, 65536), 1, 4096);
			assert_in_range(round_trip(ctx, codec, level, NOISE_THEN_RUNS, 65536), 1,
					36000);
			assert_int_equal(round_trip(ctx, codec, level, RANDOM, 65536), 0);
			assert_int_equal(round_trip(ctx, codec, level, RANDOM, 1), 0);
		}
	/* the last distance of each form is matched, one more than the long form is not */
	assert_in_range(round_trip(ctx, blosclz(), 9, REPEAT_NEAR, 1 << 20), 1, 8000);
	assert_in_range(round_trip(ctx, blosclz(), 9, REPEAT_PAST_NEAR, 1 << 20), 1, 8000);
	assert_in_range(round_trip(ctx, blosclz(), 9, REPEAT_FAR, 1 << 20), 1, 26000);
	assert_true(round_trip(ctx, blosclz(), 9, REPEAT_PAST_FAR, 1 << 20) > 260000);
	bpk_codec_ctx_free(ctx);
}

/* The stream depends on bytes and level only, not on earlier calls of the context. */
static void test_history_does_not_show(void **state)
{
	enum { SIZE = 20000 };
	struct bpk_codec_ctx *kept = bpk_codec_ctx_new(NULL);
	const struct bpk_codec *codec;
	uint8_t other[SIZE];

	(void)state;
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (enum content content = 0; content < NCONTENTS; content++) {
			unsigned level = 1 + content % 9;
			struct bpk_codec_ctx *fresh = bpk_codec_ctx_new(NULL);
			struct bpk_span raw = at_end(&raw_fence, SIZE);
			struct bpk_span packed = at_end(&packed_fence, SIZE - 1);
			size_t size;

			fill(content, raw.data, SIZE);
			size = encode(kept, codec, level, bpk_view_of_span(raw), packed);
			assert_int_equal(encode(fresh, codec, level, bpk_view_of_span(raw),
						bpk_span(other, SIZE - 1)),
					 size);
			assert_memory_equal(other, packed.data, size);
			bpk_codec_ctx_free(fresh);
		}
	bpk_codec_ctx_free(kept);
}

/* Enough streams for BloscLZ's positions to exceed 32 bits. */
static void test_positions_start_over(void **state)
{
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	size_t first = round_trip(ctx, blosclz(), 5, RUNS, 4096);
	size_t longest = 0;

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		size_t size = round_trip(ctx, blosclz(), 5, ZEROS, 64 + i % 2);

		longest = size > longest ? size : longest;
	}
	assert_in_range(longest, 1, 10);
	assert_int_equal(round_trip(ctx, blosclz(), 5, RUNS, 4096), first);
	bpk_codec_ctx_free(ctx);
}

/* Any capacity: the stream stays inside, and a produced stream decodes. */
static void test_every_capacity(void **state)
{
	enum { SIZE = 700 };
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	const struct bpk_codec *codec;

	(void)state;
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (enum content content = 0; content < NCONTENTS; content++) {
			struct bpk_span raw = at_end(&raw_fence, SIZE);
			struct bpk_span back = at_end(&back_fence, SIZE);

			fill(content, raw.data, SIZE);
			for (size_t capacity = 1; capacity < SIZE; capacity++) {
				struct bpk_span packed = at_end(&packed_fence, capacity);
				size_t size = encode(ctx, codec, 4, bpk_view_of_span(raw), packed);

				if (size == 0)
					continue;
				assert_int_equal(
					codec->decode(ctx, bpk_view(packed.data, size), back, NULL),
					0);
				assert_memory_equal(raw.data, back.data, SIZE);
			}
		}
	bpk_codec_ctx_free(ctx);
}

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t size = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[size++] = (uint8_t)byte;
	return size;
}

/* Blosc chunk format, "BloscLZ raw streams". */
static void test_blosclz_specified_streams(void **state)
{
	static const char alphabet[] = "3a6162636465666768696a6b6c6d6e6f707172737475767778797a61"
				       "e07719007a";
	const char *mark = "0123456789abcdef";
	uint8_t packed[128], raw[8333];
	size_t size;

	(void)state;
	size = from_hex(alphabet, packed);
	for (int i = 0; i < 156; i++)
		raw[i] = (uint8_t)('a' + i % 26);
	assert_int_equal(blosclz()->decode(NULL, copy_at_end(&packed_fence, packed, size),
					   at_end(&back_fence, 156), NULL),
			 0);
	assert_memory_equal(back_fence.end - 156, raw, 156);

	size = from_hex("303031323334353637383961626364656600e0", packed);
	memset(packed + size, 0xff, 32);
	size += 32;
	size += from_hex("8200ff07ff007c0021", packed + size);
	memset(raw, 0, sizeof raw);
	memcpy(raw, mark, 16);
	memcpy(raw + 8316, mark, 16);
	raw[8332] = '!';
	assert_int_equal(blosclz()->decode(NULL, copy_at_end(&packed_fence, packed, size),
					   at_end(&back_fence, sizeof raw), NULL),
			 0);
	assert_memory_equal(back_fence.end - sizeof raw, raw, sizeof raw);
}

/* A simple decoder, to compare the fast one with. False: not a valid stream. */
static bool plain_decode(struct bpk_view in, struct bpk_span out)
{
	size_t p = 1, o = 0;
	unsigned control;

	if (in.size == 0)
		return false;
	control = in.data[0] & 31;
	for (;; control = in.data[p++]) {
		size_t length = control + 1, distance = 0;

		if (control >= 32) {
			length = (control >> 5) + 2;
			if (length == 9) {
				uint8_t more;

				do {
					if (p + 1 >= in.size)
						return false;
					more = in.data[p++];
					length += more;
				} while (more == 255);
			}
			if (p + 1 >= in.size)
				return false;
			distance = (control & 31) * 256u + in.data[p++] + 1;
			if (distance == 8192) {
				if (p + 2 >= in.size)
					return false;
				distance += in.data[p] * 256u + in.data[p + 1];
				p += 2;
			}
			if (distance > o || length > out.size - o || p >= in.size)
				return false;
		} else if (length > in.size - p || length > out.size - o) {
			return false;
		}
		for (; length > 0; length--, o++)
			out.data[o] = distance > 0 ? out.data[o - distance] : in.data[p++];
		if (control < 32 && p == in.size)
			return o == out.size;
	}
}

/* Both decoders give the same verdict on a stream, and the same bytes if it is valid. */
static bool same_as_plain(struct bpk_view stream, size_t size)
{
	struct bpk_view in = copy_at_end(&packed_fence, stream.data, stream.size);
	struct bpk_span plain = at_end(&raw_fence, size);
	bool sound = plain_decode(in, plain);

	for (int flush_begin = 0; flush_begin < 2; flush_begin++) {
		struct bpk_span back =
			flush_begin ? bpk_span(back_fence.begin, size) : at_end(&back_fence, size);
		struct bpk_err err = { 0 };
		int rc = blosclz()->decode(NULL, in, back, &err);

		assert_int_equal(rc, sound ? 0 : -1);
		if (sound)
			assert_memory_equal(plain.data, back.data, size);
		else
			assert_int_equal(err.kind, BPK_CORRUPT);
	}
	return sound;
}

/* Literals up to the distance, one match, one literal: every short distance and both long forms. */
static void test_blosclz_matches(void **state)
{
	static uint8_t stream[FAR + FAR / 32 + 64];
	static const struct {
		size_t length, distance;
		const char *hex;
	} known[] = {
		{ 20, 1, "e00b00" },         { 20, 8191, "ff0bfe" }, { 20, 8192, "ff0bff0000" },
		{ 20, 73727, "ff0bffffff" }, { 3, 600, "2257" },     { 8, 600, "c257" },
		{ 9, 600, "e20057" },        { 263, 600, "e2fe57" }, { 264, 600, "e2ff0057" },
		{ 519, 600, "e2ffff0057" },
	};

	(void)state;
	for (size_t i = 0; i < 10 + 40 * 60; i++) {
		size_t distance = i < 10 ? known[i].distance : 1 + (i - 10) % 40;
		size_t length = i < 10 ? known[i].length : 3 + (i - 10) / 40;
		size_t size = 0, left = distance;

		for (; left > 0; left -= bpk_min_size(left, 32)) {
			size_t run = bpk_min_size(left, 32);

			stream[size++] = (uint8_t)(run - 1);
			fill_random(stream + size, run, left);
			size += run;
		}
		if (i < 10) {
			size += from_hex(known[i].hex, stream + size);
		} else {
			stream[size++] = (uint8_t)(bpk_min_size(length - 2, 7) << 5);
			if (length >= 9)
				stream[size++] = (uint8_t)(length - 9);
			stream[size++] = (uint8_t)(distance - 1);
		}
		stream[size++] = 0;
		stream[size++] = '!';
		assert_true(same_as_plain(bpk_view(stream, size), distance + length + 1));
		assert_false(same_as_plain(bpk_view(stream, size), distance + length));
		assert_false(same_as_plain(bpk_view(stream, size), distance + length + 2));
		assert_false(same_as_plain(bpk_view(stream, size - 1), distance + length));
		assert_false(same_as_plain(bpk_view(stream, size - 2), distance + length));
	}
}

static void test_blosclz_damage(void **state)
{
	enum { SIZE = 3000 };
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	uint8_t raw[SIZE], packed[SIZE];
	struct unit_random r = { 11 };
	unsigned sound = 0;

	(void)state;
	for (enum content content = 0; content < NCONTENTS; content++) {
		size_t size;

		fill(content, raw, SIZE);
		size = encode(ctx, blosclz(), 9, bpk_view(raw, SIZE), bpk_span(packed, SIZE - 1));
		for (size_t cut = 0; cut < size; cut++)
			same_as_plain(bpk_view(packed, cut), SIZE);
		for (unsigned i = 0; size > 0 && i < 4000; i++) {
			uint8_t damaged[SIZE];

			memcpy(damaged, packed, size);
			for (unsigned k = unit_random_next(&r) % 3; k < 3; k++)
				damaged[unit_random_next(&r) % size] ^=
					(uint8_t)(1 << unit_random_next(&r) % 8);
			sound += same_as_plain(bpk_view(damaged, size), SIZE);
		}
	}
	/* random bytes */
	for (unsigned i = 0; i < 20000; i++) {
		size_t size = 1 + unit_random_next(&r) % 60;

		fill_random(packed, size, i);
		packed[0] |= 15;
		sound += same_as_plain(bpk_view(packed, size), 1 + unit_random_next(&r) % 200);
	}
	assert_true(sound > 100);
	bpk_codec_ctx_free(ctx);
}

/* 2^31 / 255 extension bytes could wrap a decoder's length. */
static void test_blosclz_length_cannot_wrap(void **state)
{
	size_t size = 8421600;
	uint8_t *stream = malloc(size);
	struct bpk_err err = { 0 };
	uint8_t out[100];

	(void)state;
	assert_non_null(stream);
	memset(stream, 0xff, size);
	memcpy(stream, "\x20z\xe0", 3);
	memcpy(stream + size - 4, "\x10\0\0z", 4);
	assert_int_equal(blosclz()->decode(NULL, bpk_view(stream, size), bpk_span(out, 100), &err),
			 -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_non_null(strstr(err.text, "blosclz stream of 8421600 bytes does not unpack to 100"));
	free(stream);
}

static void damage(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec, enum content content)
{
	enum { SIZE = 1500 };
	uint8_t raw[SIZE], packed[SIZE], damaged[SIZE];
	size_t size;

	fill(content, raw, SIZE);
	size = encode(ctx, codec, 5, bpk_view(raw, SIZE), bpk_span(packed, SIZE - 1));
	for (size_t bit = 0; bit < 8 * size; bit++) {
		struct bpk_err err = { 0 };

		memcpy(damaged, packed, size);
		damaged[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (codec->decode(ctx, copy_at_end(&packed_fence, damaged, size),
				  at_end(&back_fence, SIZE), &err) < 0)
			assert_int_equal(err.kind, BPK_CORRUPT);
	}
	for (size_t cut = 0; cut < size; cut++) {
		struct bpk_err err = { 0 };

		assert_int_equal(codec->decode(ctx, copy_at_end(&packed_fence, packed, cut),
					       at_end(&back_fence, SIZE), &err),
				 -1);
		assert_int_equal(err.kind, BPK_CORRUPT);
	}
	for (size_t other = 1; size > 0 && other < 2 * SIZE; other++)
		if (other != SIZE)
			assert_int_equal(codec->decode(ctx,
						       copy_at_end(&packed_fence, packed, size),
						       at_end(&back_fence, other), NULL),
					 -1);
}

/* Every bit flipped, every byte cut, every other size: no access outside, and no cut stream
 * decodes. */
static void test_damage(void **state)
{
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	const struct bpk_codec *codec;

	(void)state;
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		damage(ctx, codec, TEXT);
		damage(ctx, codec, PERIOD_13);
		damage(ctx, codec, NOISE_THEN_RUNS);
	}
	bpk_codec_ctx_free(ctx);
}

/* Bytes after a whole stream; for Zstd several frames. */
static void test_more_than_one_stream(void **state)
{
	static const uint8_t skippable[] = { 0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4 };
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	const struct bpk_codec *codec, *zstd = bpk_codec_find("zstd");
	uint8_t raw[1000], packed[2000], back[2000];
	struct bpk_err err = { 0 };
	size_t size;

	(void)state;
	fill(TEXT, raw, sizeof raw);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		size = encode(ctx, codec, 5, bpk_view(raw, 1000), bpk_span(packed, 999));
		memset(packed + size, 0, 20);
		assert_int_equal(
			codec->decode(ctx, bpk_view(packed, size + 20), bpk_span(back, 1000), &err),
			-1);
		assert_int_equal(err.kind, BPK_CORRUPT);
	}
	size = encode(ctx, zstd, 5, bpk_view(raw, 1000), bpk_span(packed, 999));
	memcpy(packed + size, packed, size);
	assert_int_equal(zstd->decode(ctx, bpk_view(packed, 2 * size), bpk_span(back, 2000), &err),
			 -1);
	assert_non_null(strstr(err.text, "holds another number of bytes"));
	assert_int_equal(zstd->decode(ctx, bpk_view(packed, 2 * size), bpk_span(back, 1000), NULL),
			 -1);
	memmove(packed + sizeof skippable, packed, size);
	memcpy(packed, skippable, sizeof skippable);
	assert_int_equal(zstd->decode(ctx, bpk_view(packed, size + sizeof skippable),
				      bpk_span(back, 1000), NULL),
			 -1);
	bpk_codec_ctx_free(ctx);
}

#ifdef HAVE_BLOSC
/* Blosc chunk format, "Header": a version 2 chunk of one unsplit block around a stream. */
static void test_libblosc_reads_ours(void **state)
{
	enum { SIZE = 200000, HEAD = 24 };
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	uint8_t *chunk = malloc(SIZE + HEAD), *raw = malloc(SIZE), *back = malloc(SIZE);
	const struct bpk_codec *codec;
	unsigned read = 0;

	(void)state;
	assert_true(chunk != NULL && raw != NULL && back != NULL);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (unsigned n = 0; n < 9 * NCONTENTS; n++) {
			unsigned level = 1 + n % 9;
			size_t size = n / 9 % 2 == 0 ? 300 + n * 7 : SIZE - n;
			size_t packed;

			if (blosc_compname_to_compcode(codec->name) < 0 ||
			    (codec->code == 5 && level > 6))
				continue;
			fill(n / 9, raw, size);
			packed = encode(ctx, codec, level, bpk_view(raw, size),
					bpk_span(chunk + HEAD, size - 1));
			if (packed == 0)
				continue;
			memcpy(chunk, "\x02\x01\x10\x01", 4);
			chunk[2] |= (uint8_t)(codec->format << 5);
			bpk_put_le32(chunk + 4, (uint32_t)size);
			bpk_put_le32(chunk + 8, (uint32_t)size);
			bpk_put_le32(chunk + 12, (uint32_t)packed + HEAD);
			bpk_put_le32(chunk + 16, 20);
			bpk_put_le32(chunk + 20, (uint32_t)packed);
			assert_int_equal(blosc_decompress_ctx(chunk, back, size, 1), size);
			assert_memory_equal(raw, back, size);
			read++;
		}
	assert_true(read > 300);
	free(chunk);
	free(raw);
	free(back);
	bpk_codec_ctx_free(ctx);
}

static void test_we_read_libblosc(void **state)
{
	enum { SIZE = 200000 };
	struct bpk_codec_ctx *ctx = bpk_codec_ctx_new(NULL);
	uint8_t *chunk = malloc(SIZE + 64);
	const struct bpk_codec *codec;
	unsigned read = 0;

	(void)state;
	assert_non_null(chunk);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++)
		for (unsigned n = 0; n < 9 * NCONTENTS; n++) {
			unsigned level = 1 + n % 9;
			size_t size = n / 9 % 2 == 0 ? 300 + n * 7 : SIZE - n;
			struct bpk_span raw = at_end(&raw_fence, size);
			struct bpk_span back = at_end(&back_fence, size);
			size_t packed;

			if (blosc_compname_to_compcode(codec->name) < 0 ||
			    (codec->code == 5 && level > 6))
				continue;
			fill(n / 9, raw.data, size);
			assert_true(blosc_compress_ctx((int)level, BLOSC_NOSHUFFLE, 1, size,
						       raw.data, chunk, SIZE + 64, codec->name,
						       SIZE, 1) > 0);
			packed = bpk_get_le32(chunk + 20);
			if (chunk[2] & BLOSC_MEMCPYED || packed == size)
				continue;
			assert_int_equal(bpk_get_le32(chunk + 8), size);
			assert_int_equal(
				codec->decode(ctx, copy_at_end(&packed_fence, chunk + 24, packed),
					      back, NULL),
				0);
			assert_memory_equal(raw.data, back.data, size);
			read++;
		}
	assert_true(read > 300);
	free(chunk);
	bpk_codec_ctx_free(ctx);
}
#else
static void test_libblosc_reads_ours(void **state)
{
	(void)state;
	skip();
}

static void test_we_read_libblosc(void **state)
{
	(void)state;
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_of_codecs),
		cmocka_unit_test(test_small_round_trips),
		cmocka_unit_test(test_large_round_trips),
		cmocka_unit_test(test_what_shrinks),
		cmocka_unit_test(test_history_does_not_show),
		cmocka_unit_test(test_positions_start_over),
		cmocka_unit_test(test_every_capacity),
		cmocka_unit_test(test_blosclz_specified_streams),
		cmocka_unit_test(test_blosclz_matches),
		cmocka_unit_test(test_blosclz_damage),
		cmocka_unit_test(test_blosclz_length_cannot_wrap),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_more_than_one_stream),
		cmocka_unit_test(test_libblosc_reads_ours),
		cmocka_unit_test(test_we_read_libblosc),
	};

	raw_fence = fence_new();
	packed_fence = fence_new();
	back_fence = fence_new();
	return UNIT_RUN(tests);
}
