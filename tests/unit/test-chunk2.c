/*
 * Reading chunks of Blosc2: extended headers, pipelines, runs, special chunks, dictionaries, blocks
 * of variable length.
 */
#include "unit/guarded.h"

#include "chunk/chunk.h"

/*
 * Blosc chunk format, "Version 5 and 6 chunks": chunks by c-blosc2, and the bytes in them as a
 * pattern, how often it stands there, and what follows it.
 */
struct vector {
	const char *name, *chunk, *pattern;
	unsigned times;
	const char *rest;
};

static const struct vector vectors[] = {
	{ "B1", "0501070400000000010000002000000000000000000101000000000000000000", "", 0, "" },
	{ "B2",
	  "050107081e000000180000003e000000000000000001050000000000000000000000000000000000000000"
	  "00000000000000000000000000000000000000",
	  "00", 30, "" },
	{ "B3", "0501950840000000400000002000000000000000000105000000000000000010", "00", 64, "" },
	{ "B4",
	  "050135014000000040000000290000000000000000000100000000000000000024000000f9ffffff01",
	  "07", 64, "" },
	{ "B5",
	  "050125048000000080000000380000000000000000010100000000000000000024000000ffffffff01fe"
	  "ffffff01fdffffff01fcffffff01",
	  "01020304", 32, "" },
	{ "B6",
	  "05012504800000008000000035000000000000000001010000000000000000002400000001ffffff0100"
	  "0000000000000000000000",
	  "ff000000", 32, "" },
	{ "B7",
	  "050115016000000060000000380000000000000000000000000000000000000024000000100000002700"
	  "01020304050607e04c0702050607",
	  "0001020304050607", 12, "" },
	{ "B8",
	  "0501350140000000400000003a0000000000000000000200000000000000000024000000120000008f00"
	  "01020304050607080020500304050607",
	  "0001020304050607", 8, "" },
	{ "B9",
	  "0501750140000000400000003b000000000000000000040000000000000000002400000013000000785e"
	  "636064626661656367209306001b6000e1",
	  "0001020304050607", 8, "" },
	{ "B10",
	  "0501950140000000400000003f0000000000000000000500000000000000000024000000170000"
	  "0028b52ffd20407500004000010203040506070100dd59b8",
	  "0001020304050607", 8, "" },
	{ "B11",
	  "05013d0140000000200000003d0000000000000003000100000000000000000028000000380000000c00"
	  "00002f0500010006500000000000fdffffff01",
	  NULL, 64, "" },
	{ "B12", "0501050840000000400000002000000000000000000000000000000000000020",
	  "000000000000f87f", 8, "" },
	{ "NaN of 4 bytes", "0501050440000000400000002000000000000000000000000000000000000020",
	  "0000c07f", 16, "" },
	{ "B13", "050105044000000040000000240000000000000000000000000000000000003001020304",
	  "01020304", 16, "" },
	{ "a value of 3 bytes",
	  "05010501270000002700000023000000000000000000000000000000000000300a0b0c", "0a0b0c", 13,
	  "" },
	{ "B14", "0501050440000000400000002000000000000000000000000000000000000040", "00", 64, "" },
	{ "B15",
	  "050135022800000028000000380000000000000000020100000000000000000024000000100000003fff"
	  "ff0001000a800100010001000100",
	  "0100", 20, "" },
	{ "B16",
	  "0601350105000000010000002d0000000000000000000100000000000000010024000000050000"
	  "00d84b9dc6ac",
	  "d84b9dc6ac", 1, "" },
};

enum { NVECTORS = sizeof vectors / sizeof vectors[0] };

static void expand(const struct vector *v, struct bytes *chunk, struct bytes *raw)
{
	chunk->size = raw->size = 0;
	add_hex(chunk, v->chunk);
	for (unsigned i = 0; i < v->times; i++)
		add_hex(raw, v->pattern != NULL ? v->pattern : i < 32 ? "05" : "06");
	add_hex(raw, v->rest);
}

struct extents {
	const struct bytes *chunk;
	struct bytes part; /* what was asked for, where it stands; the rest is other bytes */
	uint32_t end;
};

static int take_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	struct extents *e = arg;

	(void)err;
	assert_true(size > 0 && offset >= e->end && offset + size <= e->chunk->size);
	e->end = offset + size;
	memcpy(e->part.data + offset, e->chunk->data + offset, size);
	return 0;
}

/* The chunk with all bytes wrong that extents does not name for a range. */
static struct bytes needed(const struct bytes *chunk, size_t start, size_t size)
{
	struct bpk_chunk_header header;
	struct extents e = { .chunk = chunk };
	struct bpk_err err = { 0 };
	size_t head;

	e.part.size = chunk->size;
	memset(e.part.data, 0xee, SMALL);
	assert_int_equal(bpk_chunk_header_read(bpk_view(chunk->data, chunk->size), &header, &err),
			 0);
	head = header.header_size + 4 * header.nblocks;
	memcpy(e.part.data, chunk->data, head);
	if (size > 0 &&
	    bpk_chunk_extents(bpk_view(e.part.data, head), start, size, take_extent, &e, &err) != 0)
		fail_msg("%s", err.text);
	return e.part;
}

/* Whole and every range, of just the bytes that the range needs. */
static void check_chunk(struct bpk_chunk_ctx *ctx, const char *name, const struct bytes *chunk,
			const struct bytes *raw)
{
	struct guarded in = guarded_new(chunk->data, chunk->size, true);
	struct guarded out = guarded_new(NULL, raw->size, true);
	struct bpk_err err = { 0 };
	uint8_t part[SMALL];

	if (bpk_chunk_decode(ctx, bpk_view(in.bytes, chunk->size), bpk_span(out.bytes, raw->size),
			     &err) != 0)
		fail_msg("%s: %s", name, err.text);
	if (raw->size > 0 && memcmp(out.bytes, raw->data, raw->size) != 0)
		fail_msg("%s: other bytes", name);
	for (size_t start = 0; start <= raw->size; start++)
		for (size_t size = 0; size <= raw->size - start; size += 1 + size / 8) {
			struct bytes some = needed(chunk, start, size);

			if (bpk_chunk_decode_range(ctx, bpk_view(some.data, some.size), start,
						   bpk_span(part, size), &err) != 0)
				fail_msg("%s, %zu+%zu: %s", name, start, size, err.text);
			if (memcmp(part, raw->data + start, size) != 0)
				fail_msg("%s, %zu+%zu: other bytes", name, start, size);
		}
	guarded_free(&in);
	guarded_free(&out);
}

static void test_vectors(void **state)
{
	for (size_t i = 0; i < NVECTORS; i++) {
		struct bytes chunk, raw;

		expand(&vectors[i], &chunk, &raw);
		check_chunk(*state, vectors[i].name, &chunk, &raw);
	}
}

static int set_up(void **state)
{
	*state = bpk_chunk_ctx_new(NULL);
	return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	bpk_chunk_ctx_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
