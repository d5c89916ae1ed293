/*
 * The parts of Blosc2 frames: header, index, trailer, layers, digests. The examples of the
 * specification byte for byte, in both directions, and damaged parts.
 */
#include "unit/frame-bytes.h"

#include <stdio.h>

static struct bpk_chunk_ctx *ctx;

static int set_up(void **state)
{
	(void)state;
	ctx = bpk_chunk_ctx_new(NULL);
	return ctx == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	bpk_chunk_ctx_free(ctx);
	return 0;
}

static struct bpk_buf hex(const char *text)
{
	struct bpk_buf bytes = { 0 };

	frame_hex(&bytes, text);
	return bytes;
}

static void same_bytes(const struct bpk_buf *found, const char *expected)
{
	struct bpk_buf bytes = hex(expected);

	assert_int_equal(found->size, bytes.size);
	assert_memory_equal(found->data, bytes.data, bytes.size);
	bpk_buf_clear(&bytes);
}

static void set_layer(struct bpk_frame_layers *layers, const char *name, const char *content)
{
	struct bpk_err err = { 0 };

	assert_int_equal(
		bpk_frame_layers_set(layers, name, bpk_view(content, strlen(content)), &err), 0);
}

static void read_header(const char *text, struct bpk_frame_header *header)
{
	struct bpk_buf bytes = hex(text);
	struct bpk_err err = { 0 };
	uint32_t size = 0;

	assert_int_equal(bpk_frame_header_size(bpk_view(bytes.data, 16), &size, &err), 0);
	assert_int_equal(size, bytes.size);
	if (bpk_frame_header_read(bpk_buf_view(&bytes), header, &err) != 0)
		fail_msg("%s", err.text);
	bpk_buf_clear(&bytes);
}

/* ---- Layers ---- */

static void test_layers_by_name(void **state)
{
	struct bpk_frame_layers layers = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_null(bpk_frame_layers_find(&layers, "a"));
	set_layer(&layers, "a", "first");
	set_layer(&layers, "b", "second");
	set_layer(&layers, "c", "");
	set_layer(&layers, "a", "other");
	assert_int_equal(layers.count, 3);
	assert_ptr_equal(bpk_frame_layers_find(&layers, "a"), &layers.all[0]);
	assert_memory_equal(layers.all[0].content.data, "other", 5);
	bpk_frame_layers_remove(&layers, "b");
	bpk_frame_layers_remove(&layers, "b");
	assert_int_equal(layers.count, 2);
	assert_string_equal(layers.all[1].name, "c");
	assert_int_equal(bpk_frame_layers_set(&layers, "0123456789012345678901234567890x",
					      bpk_view("", 0), &err),
			 -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_frame_layers_clear(&layers);
}

/* ---- Header ---- */

static void test_header_of_the_example(void **state)
{
	struct bpk_frame_header header;
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	read_header(FRAME_SMALL_HEADER, &header);
	assert_int_equal(header.version, 2);
	assert_false(header.sparse || header.variable_chunks || header.variable_blocks);
	assert_int_equal(header.size, 0x74);
	assert_int_equal(header.frame_size, 409);
	assert_int_equal(header.raw_size, 152);
	assert_int_equal(header.packed_size, 152);
	assert_int_equal(header.typesize, 4);
	assert_int_equal(header.chunk_size, 64);
	assert_int_equal(header.codec, 0);
	assert_int_equal(header.level, 5);
	assert_int_equal(header.split, 3);
	assert_true(header.has_layers);
	assert_false(header.dictionary);
	assert_int_equal(header.nfilters, 6);
	assert_int_equal(header.filters[5], BPK_FILTER_SHUFFLE);
	assert_int_equal(bpk_frame_count(&header), 3);
	assert_int_equal(header.fixed.count, 1);
	assert_string_equal(header.fixed.all[0].name, "demo");
	assert_int_equal(header.fixed.all[0].content.size, 4);
	assert_memory_equal(header.fixed.all[0].content.data, "\x81\xa1k\x01", 4);
	assert_int_equal(bpk_frame_header_write(&header, &out, &err), 0);
	same_bytes(&out, FRAME_SMALL_HEADER);
	bpk_buf_clear(&out);
	bpk_frame_header_clear(&header);
}

/* A header like the empty frame's, with differences set by the caller. */
static void test_header_variants(void **state)
{
	static const struct {
		bool sparse, chunks, blocks;
		unsigned codec, level;
		const char *flags;
	} cases[] = {
		{ false, false, false, 0, 5, "a412005003" },
		{ true, false, false, 1, 5, "a412015103" },
		{ false, true, false, 1, 5, "a453005103" },
		{ false, false, true, 1, 5, "a493005103" },
		{ false, true, true, 1, 5, "a4d3005103" },
		{ false, false, false, 4, 3, "a412003403" },
		{ false, false, false, 5, 3, "a412003503" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bpk_frame_header header, again;
		struct bpk_buf out = { 0 }, flags = hex(cases[i].flags);
		struct bpk_err err = { 0 };

		read_header(FRAME_EMPTY_HEADER, &header);
		assert_int_equal(header.chunk_size, -1);
		assert_int_equal(bpk_frame_count(&header), 0);
		header.sparse = cases[i].sparse;
		header.variable_chunks = cases[i].chunks;
		header.variable_blocks = cases[i].blocks;
		header.chunk_size = cases[i].chunks ? 0 : -1;
		header.codec = cases[i].codec;
		header.level = cases[i].level;
		assert_int_equal(bpk_frame_header_write(&header, &out, &err), 0);
		assert_memory_equal(out.data + 24, flags.data, 5);
		assert_int_equal(out.data[77], cases[i].codec);
		assert_int_equal(bpk_frame_header_read(bpk_buf_view(&out), &again, &err), 0);
		assert_int_equal(again.version, cases[i].chunks || cases[i].blocks ? 3 : 2);
		assert_int_equal(again.sparse, cases[i].sparse);
		assert_int_equal(again.variable_chunks, cases[i].chunks);
		assert_int_equal(again.variable_blocks, cases[i].blocks);
		assert_int_equal(again.codec, cases[i].codec);
		bpk_frame_header_clear(&header);
		bpk_frame_header_clear(&again);
		bpk_buf_clear(&out);
		bpk_buf_clear(&flags);
	}
}

static void test_header_of_version_1(void **state)
{
	struct bpk_frame_header header;

	(void)state;
	read_header("9d a8 62326672616d6500 d2 0000005c cf 00000000000000da"
		    "a4 21 00 51 00  d3 0000000000000040  d3 0000000000000060"
		    "d2 00000004  d2 00000040  d1 0001  d1 0001  c2"
		    "d8 02 0301000000000000 0007000000000000 93cd0007de0000dc0000",
		    &header);
	assert_int_equal(header.version, 1);
	assert_int_equal(header.size, 92);
	assert_int_equal(header.typesize, 4);
	assert_int_equal(header.chunk_size, 64);
	assert_int_equal(header.block_size, 0);
	assert_int_equal(header.codec, 1);
	assert_int_equal(header.nfilters, 2);
	assert_int_equal(header.filters[0], BPK_FILTER_DELTA);
	assert_int_equal(header.filters[1], BPK_FILTER_SHUFFLE);
	assert_int_equal(header.filter_metas[1], 7);
	assert_int_equal(bpk_frame_count(&header), 1);
	bpk_frame_header_clear(&header);
}

/* Replace the bytes from at on, and expect this result. */
static void broken_header(size_t at, const char *bytes, enum bpk_kind expected)
{
	struct bpk_buf text = hex(FRAME_SMALL_HEADER), other = hex(bytes);
	struct bpk_frame_header header;
	struct bpk_err err = { 0 };
	int rc;

	memcpy(text.data + at, other.data, other.size);
	rc = bpk_frame_header_read(bpk_buf_view(&text), &header, &err);
	if (rc != (expected == BPK_OK ? 0 : -1) || err.kind != expected)
		fail_msg("%s at %zu: kind %d: %s", bytes, at, err.kind, err.text);
	bpk_frame_header_clear(&header);
	bpk_buf_clear(&text);
	bpk_buf_clear(&other);
}

static void test_header_says_what_is_wrong(void **state)
{
	(void)state;
	broken_header(0, "9e", BPK_OK);
	broken_header(0, "9f", BPK_CORRUPT);
	broken_header(2, "63", BPK_CORRUPT);
	broken_header(10, "d3", BPK_CORRUPT);       /* marker */
	broken_header(11, "00000060", BPK_CORRUPT); /* header_len too small */
	broken_header(11, "00000075", BPK_CORRUPT); /* or not the real length */
	broken_header(11, "ffffffff", BPK_CORRUPT);
	broken_header(16, "ffffffffffffffff", BPK_CORRUPT); /* frame_len */
	broken_header(16, "0000000000000096", BPK_CORRUPT); /* without room for a trailer */
	broken_header(16, "000000000000012e", BPK_CORRUPT); /* without room for the payload */
	broken_header(16, "000000000000012f", BPK_OK);
	broken_header(25, "14", BPK_UNSUPPORTED); /* version */
	broken_header(25, "15", BPK_CORRUPT);
	broken_header(25, "11", BPK_CORRUPT);
	broken_header(25, "22", BPK_CORRUPT);               /* width of offsets */
	broken_header(25, "52", BPK_OK);                    /* flags that contradict chunksize */
	broken_header(26, "02", BPK_CORRUPT);               /* type */
	broken_header(30, "ffffffffffffffff", BPK_CORRUPT); /* uncompressed_size */
	broken_header(30, "7fffffffffffffff", BPK_CORRUPT); /* too many chunks */
	broken_header(39, "7fffffffffffffff", BPK_CORRUPT); /* compressed_size */
	broken_header(48, "00000000", BPK_CORRUPT);         /* typesize */
	broken_header(48, "80000000", BPK_CORRUPT);
	broken_header(48, "7fffffff", BPK_OK);
	broken_header(53, "ffffffff", BPK_CORRUPT); /* blocksize */
	broken_header(58, "fffffffe", BPK_CORRUPT); /* chunksize */
	broken_header(58, "ffffffff", BPK_CORRUPT); /* size unknown, although there is data */
	broken_header(58, "00000000", BPK_OK);
	broken_header(68, "c4", BPK_CORRUPT);   /* a bool */
	broken_header(70, "07", BPK_CORRUPT);   /* filter slots */
	broken_header(87, "94", BPK_CORRUPT);   /* the section */
	broken_header(92, "0002", BPK_CORRUPT); /* names */
	broken_header(92, "ffff", BPK_CORRUPT);
	broken_header(94, "c4", BPK_CORRUPT);        /* not a fixstr */
	broken_header(94, "bf", BPK_CORRUPT);        /* one past the end */
	broken_header(97, "00", BPK_CORRUPT);        /* a NUL in it */
	broken_header(100, "0000006a", BPK_CORRUPT); /* offset of its value */
	broken_header(100, "0000006c", BPK_CORRUPT);
	broken_header(100, "ffffffff", BPK_CORRUPT);
	broken_header(100, "00000074", BPK_CORRUPT);
	broken_header(105, "0002", BPK_CORRUPT);     /* values */
	broken_header(108, "00000005", BPK_CORRUPT); /* value's size */
	broken_header(108, "ffffffff", BPK_CORRUPT);
	broken_header(108, "00000003", BPK_OK);
}

static void test_header_names_are_unique(void **state)
{
	struct bpk_frame_header header;
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	read_header(FRAME_EMPTY_HEADER, &header);
	header.frame_size = 1000;
	for (int i = 0; i < 16; i++) {
		char name[2] = { (char)('a' + i), 0 };

		set_layer(&header.fixed, name, "");
	}
	assert_int_equal(bpk_frame_header_write(&header, &out, &err), 0);
	bpk_frame_header_clear(&header);
	assert_int_equal(bpk_frame_header_read(bpk_buf_view(&out), &header, &err), 0);
	assert_int_equal(header.fixed.count, 16);
	assert_string_equal(header.fixed.all[15].name, "p");
	set_layer(&header.fixed, "q", "");
	assert_int_equal(bpk_frame_header_write(&header, &out, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_frame_header_clear(&header);
	out.data[95] = 'b';
	assert_int_equal(bpk_frame_header_read(bpk_buf_view(&out), &header, &err), -1);
	assert_string_equal(err.text, "two metalayers are named 'b'");
	bpk_buf_clear(&out);
}

/* ---- Index ---- */

static void test_special_offsets(void **state)
{
	(void)state;
	assert_int_equal(bpk_frame_offset_special(0), BPK_SPECIAL_NONE);
	assert_int_equal(bpk_frame_offset_special(INT64_MAX), BPK_SPECIAL_NONE);
	assert_int_equal(bpk_frame_offset_special(UINT64_C(0x81) << 56), BPK_SPECIAL_ZERO);
	assert_int_equal(bpk_frame_offset_special(UINT64_C(0x82) << 56), BPK_SPECIAL_NAN);
	assert_int_equal(bpk_frame_offset_special(UINT64_C(0x84) << 56), BPK_SPECIAL_UNINIT);
	assert_int_equal(bpk_frame_offset_special(UINT64_C(0x80) << 56), -1);
	assert_int_equal(bpk_frame_offset_special(UINT64_C(0x83) << 56), -1);
	assert_int_equal(bpk_frame_offset_special((UINT64_C(0x81) << 56) + 1), -1);
	for (int i = BPK_SPECIAL_ZERO; i <= BPK_SPECIAL_UNINIT; i++)
		if (i != BPK_SPECIAL_VALUE)
			assert_int_equal(bpk_frame_offset_special(
						 bpk_frame_offset_of_special((enum bpk_special)i)),
					 i);
}

static void write_index(const uint64_t *entries, uint64_t n, struct bpk_buf *out)
{
	struct bpk_err err = { 0 };

	out->size = 0;
	if (bpk_frame_index_write(ctx, entries, n, out, &err) != 0)
		fail_msg("%s", err.text);
}

static void test_indexes_of_the_examples(void **state)
{
	const uint64_t zeros = bpk_frame_offset_of_special(BPK_SPECIAL_ZERO);
	const uint64_t small[] = { 0, zeros, 0x60 }, sparse[] = { 0, 2, zeros, 1 };
	uint64_t all[63];
	struct bpk_buf out = { 0 };

	(void)state;
	write_index(small, 3, &out);
	same_bytes(&out, FRAME_SMALL_INDEX);
	write_index(sparse, 4, &out);
	same_bytes(&out, FRAME_SPARSE_INDEX);
	for (size_t i = 0; i < 63; i++)
		all[i] = zeros;
	write_index(all, 63, &out);
	same_bytes(&out, FRAME_ZEROS_INDEX);
	write_index(small, 0, &out);
	assert_int_equal(out.size, 0);
	bpk_buf_clear(&out);
}

static int read_index(const struct bpk_frame_header *header, struct bpk_view bytes,
		      uint64_t expected, struct bpk_buf *entries, struct bpk_err *err)
{
	uint64_t nchunks = 0;
	uint32_t packed_size = 0;
	int rc = bpk_frame_index_read(ctx, header, bytes, expected, entries, &nchunks, &packed_size,
				      err);

	if (rc == 0) {
		assert_true(packed_size <= bytes.size);
		assert_int_equal(nchunks, entries->size / 8);
	} else {
		assert_int_equal(entries->size, 0);
	}
	return rc;
}

static void test_index_read(void **state)
{
	struct bpk_frame_header header = { .chunk_size = 64, .packed_size = 152 };
	struct bpk_buf bytes = hex(FRAME_SMALL_INDEX), entries = { 0 };
	struct bpk_err err = { 0 };
	uint64_t found[3];

	(void)state;
	if (read_index(&header, bpk_buf_view(&bytes), 3, &entries, &err) != 0)
		fail_msg("%s", err.text);
	memcpy(found, entries.data, sizeof found);
	assert_int_equal(found[0], 0);
	assert_int_equal(found[1], bpk_frame_offset_of_special(BPK_SPECIAL_ZERO));
	assert_int_equal(found[2], 0x60);
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), BPK_UNKNOWN, &entries, &err), 0);
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), 4, &entries, &err), -1);
	assert_string_equal(err.text, "index has 3 entries, expected 4");
	header.packed_size = 0x60 + 15;
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), 3, &entries, &err), -1);
	assert_string_equal(err.text,
			    "index entry 2: offset 96 leads outside the payload of 111 bytes");
	header.packed_size = 15;
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), 3, &entries, &err), -1);
	header.sparse = true; /* then it is the number of a file */
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), 3, &entries, &err), 0);
	bytes.data[32 + 16 + 4] = 1;
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), 3, &entries, &err), -1);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&entries);
}

static void test_index_of_variable_chunks(void **state)
{
	struct bpk_frame_header header = { .packed_size = 152, .variable_chunks = true };
	struct bpk_buf bytes = hex(FRAME_SMALL_INDEX), entries = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), BPK_UNKNOWN, &entries, &err), 0);
	bytes.data[32 + 16] = 0;
	bytes.data[32 + 23] = 0x82; /* another special value */
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), BPK_UNKNOWN, &entries, &err), 0);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&entries);
}

static void test_index_claims_are_bounded(void **state)
{
	struct bpk_frame_header header = { .chunk_size = 64 };
	struct bpk_buf bytes = hex(FRAME_ZEROS_INDEX), entries = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	if (read_index(&header, bpk_buf_view(&bytes), 63, &entries, &err) != 0)
		fail_msg("%s", err.text);
	bpk_put_le32(bytes.data + 4, 0x70000000);
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), BPK_UNKNOWN, &entries, &err),
			 -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_put_le32(bytes.data + 4, 0x1f9);
	assert_int_equal(read_index(&header, bpk_buf_view(&bytes), BPK_UNKNOWN, &entries, &err),
			 -1);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&entries);
}

/* Many entries of many sizes, in both directions. */
static void test_long_indexes(void **state)
{
	static const size_t counts[] = { 1, 2, 31, 32, 33, 1000, 5000, 100000 };
	struct unit_random random = { 7 };
	struct bpk_frame_header header = { .chunk_size = 64, .packed_size = INT64_MAX };
	struct bpk_buf out = { 0 }, entries = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		uint64_t *list = calloc(counts[k], sizeof *list);
		uint64_t at = 0;

		for (size_t i = 0; i < counts[k]; i++) {
			list[i] = at;
			at += 500000 + unit_random_next(&random) % 100000;
		}
		write_index(list, counts[k], &out);
		if (read_index(&header, bpk_buf_view(&out), counts[k], &entries, &err) != 0)
			fail_msg("%s", err.text);
		assert_memory_equal(entries.data, list, counts[k] * sizeof *list);
		free(list);
	}
	bpk_buf_clear(&out);
	bpk_buf_clear(&entries);
}

/* ---- Trailer ---- */

static int read_trailer(struct bpk_view bytes, unsigned version, uint64_t limit,
			struct bpk_frame_layers *layers, struct bpk_err *err)
{
	struct bpk_frame_header header = { .version = version };

	return bpk_frame_trailer_read(ctx, &header, bytes, limit, layers, err);
}

static void test_trailers_of_the_examples(void **state)
{
	struct bpk_frame_layers layers = { 0 };
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };
	size_t digests_at = 1;

	(void)state;
	assert_int_equal(bpk_frame_trailer_write(ctx, &layers, &out, &digests_at, &err), 0);
	assert_int_equal(digests_at, 0);
	same_bytes(&out, FRAME_EMPTY_TRAILER);
	assert_int_equal(read_trailer(bpk_buf_view(&out), 2, 0, &layers, &err), 0);
	assert_int_equal(layers.count, 0);
	out.size = 0;
	set_layer(&layers, "note", "\xa2hi");
	assert_int_equal(bpk_frame_trailer_write(ctx, &layers, &out, &digests_at, &err), 0);
	same_bytes(&out, FRAME_SMALL_TRAILER);
	bpk_frame_layers_clear(&layers);
	if (read_trailer(bpk_buf_view(&out), 2, 3, &layers, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(layers.count, 1);
	assert_string_equal(layers.all[0].name, "note");
	assert_int_equal(layers.all[0].content.size, 3);
	assert_memory_equal(layers.all[0].content.data, "\xa2hi", 3);
	bpk_frame_layers_clear(&layers);
	assert_int_equal(read_trailer(bpk_buf_view(&out), 2, 2, &layers, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_buf_clear(&out);
}

static void test_trailer_of_version_1(void **state)
{
	struct bpk_buf bytes = hex("94 01 c6 00000023 05 01 07 08 03000000 01000000 23000000"
				   "0000000000000000 0000000000000000 a26869"
				   "ce 00000041 d8 00 00000000000000000000000000000000");
	struct bpk_buf none = hex("94 01 c6 00000000"
				  "ce 0000001e d8 00 00000000000000000000000000000000");
	struct bpk_frame_layers layers = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	if (read_trailer(bpk_buf_view(&bytes), 1, 100, &layers, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(layers.count, 1);
	assert_string_equal(layers.all[0].name, "usermeta");
	assert_memory_equal(layers.all[0].content.data, "\xa2hi", 3);
	bpk_frame_layers_clear(&layers);
	assert_int_equal(read_trailer(bpk_buf_view(&none), 1, 100, &layers, &err), 0);
	assert_int_equal(layers.count, 0);
	assert_int_equal(read_trailer(bpk_buf_view(&bytes), 2, 100, &layers, &err), -1);
	bytes.data[6] = 0x24;
	assert_int_equal(read_trailer(bpk_buf_view(&bytes), 1, 100, &layers, &err), -1);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&none);
}

static void test_trailer_of_many_layers(void **state)
{
	struct bpk_frame_layers layers = { 0 }, again;
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };
	size_t digests_at;
	char name[32];

	(void)state;
	set_layer(&layers, BPK_FRAME_DIGESTS, "digests");
	for (int i = 1; i < BPK_FRAME_MAX_LAYERS_WRITTEN; i++) {
		snprintf(name, sizeof name, "layer of the number %d", i);
		set_layer(&layers, name, i % 2 ? name : "");
	}
	set_layer(&layers, "layer of the number 3", "");
	layers.all[3].content.size = 0;
	assert_int_equal(bpk_buf_resize(&layers.all[3].content, 100000, &err), 0);
	memset(layers.all[3].content.data, 'x', 100000);
	assert_int_equal(bpk_frame_trailer_write(ctx, &layers, &out, &digests_at, &err), 0);
	/* last, and stored */
	assert_memory_equal(out.data + digests_at, "digests", 7);
	assert_int_equal(out.size - digests_at, 7 + BPK_FRAME_TRAILER_TAIL);
	if (read_trailer(bpk_buf_view(&out), 2, 1000000, &again, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(again.count, layers.count);
	for (size_t i = 0; i < layers.count; i++) {
		struct bpk_frame_layer *layer = bpk_frame_layers_find(&again, layers.all[i].name);

		assert_non_null(layer);
		assert_int_equal(layer->content.size, layers.all[i].content.size);
		if (layer->content.size > 0)
			assert_memory_equal(layer->content.data, layers.all[i].content.data,
					    layer->content.size);
	}
	set_layer(&layers, "one more", "");
	assert_int_equal(bpk_frame_trailer_write(ctx, &layers, &out, &digests_at, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	bpk_frame_layers_clear(&layers);
	bpk_frame_layers_clear(&again);
	bpk_buf_clear(&out);
}

/* ---- Whole frames ---- */

/* Build header, chunks, index and trailer of the example with bpk_frame_end. */
static void make_frame(const struct bpk_checksum *checksum, struct bpk_buf *head,
		       struct bpk_buf *tail)
{
	const uint64_t entries[] = { 0, bpk_frame_offset_of_special(BPK_SPECIAL_ZERO), 0x60 };
	struct bpk_frame_header header;
	struct bpk_frame_layers layers = { 0 };
	struct bpk_buf chunks = hex(FRAME_SMALL_CHUNKS);
	uint8_t digests[3 * BPK_DIGEST_MAX] = { 0 }, *digest = digests;
	struct bpk_err err = { 0 };
	struct bpk_frame_ending ending = {
		.header = &header,
		.layers = &layers,
		.entries = entries,
		.nchunks = 3,
		.checksum = checksum,
		.payload_end = 0x74 + 152,
	};

	if (checksum != NULL) {
		assert_int_equal(
			bpk_checksum_compute(checksum, bpk_view(chunks.data, 0x60), digest, &err),
			0);
		digest += checksum->size;
		memset(digest, 0, checksum->size);
		digest += checksum->size;
		assert_int_equal(bpk_checksum_compute(checksum, bpk_view(chunks.data + 0x60, 56),
						      digest, &err),
				 0);
		ending.chunk_digests = bpk_view(digests, 3 * (size_t)checksum->size);
	}
	read_header(FRAME_SMALL_HEADER, &header);
	header.frame_size = 0;
	header.packed_size = 0;
	header.has_layers = false;
	set_layer(&layers, "note", "\xa2hi");
	if (bpk_frame_end(ctx, &ending, head, tail, &err) != 0)
		fail_msg("%s", err.text);
	bpk_frame_header_clear(&header);
	bpk_frame_layers_clear(&layers);
	bpk_buf_clear(&chunks);
}

static void test_end_makes_the_example(void **state)
{
	struct bpk_buf head = { 0 }, tail = { 0 };

	(void)state;
	make_frame(NULL, &head, &tail);
	same_bytes(&head, FRAME_SMALL_HEADER);
	same_bytes(&tail, FRAME_SMALL_INDEX FRAME_SMALL_TRAILER);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
}

enum { INDEX_SIZE = 32 + 24 };

/* Read the frame's parts and check them all against its digests. Returns 0, or -1. */
static int verify(struct bpk_view head, struct bpk_view tail, struct bpk_err *err)
{
	struct bpk_view index = bpk_view(tail.data, INDEX_SIZE);
	struct bpk_view trailer = bpk_view(tail.data + INDEX_SIZE, tail.size - INDEX_SIZE);
	struct bpk_buf chunks = hex(FRAME_SMALL_CHUNKS), entries = { 0 };
	struct bpk_frame_layers layers = { 0 };
	struct bpk_frame_digests digests = { 0 };
	struct bpk_frame_header header;
	int rc = -1;

	if (bpk_frame_header_read(head, &header, err) == 0 &&
	    read_index(&header, index, 3, &entries, err) == 0 &&
	    bpk_frame_trailer_read(ctx, &header, trailer, 1000, &layers, err) == 0 &&
	    bpk_frame_digests_find(&layers, 0, &digests, err) == 0)
		rc = 0;
	if (rc == 0 && (digests.checksum == NULL || digests.frame_size != header.frame_size))
		rc = bpk_fail(err, BPK_CORRUPT, "no digests of this frame");
	if (rc == 0 &&
	    (bpk_frame_digests_check(&digests, BPK_FRAME_DIGEST_HEADER, head, err) != 0 ||
	     bpk_frame_digests_check(&digests, BPK_FRAME_DIGEST_INDEX, index, err) != 0 ||
	     bpk_frame_digests_check_trailer(&digests, trailer, err) != 0))
		rc = -1;
	if (rc == 0) {
		assert_null(bpk_frame_digests_chunk(&digests, 3));
		rc = bpk_checksum_check(digests.checksum, bpk_view(chunks.data + 0x60, 56),
					bpk_frame_digests_chunk(&digests, 2), err);
	}
	bpk_frame_header_clear(&header);
	bpk_frame_layers_clear(&layers);
	bpk_frame_digests_clear(&digests);
	bpk_buf_clear(&chunks);
	bpk_buf_clear(&entries);
	return rc;
}

static void test_every_flip_is_found(void **state)
{
	static const char *const names[] = { "crc32", "sha512" };

	(void)state;
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		struct bpk_buf head = { 0 }, tail = { 0 };
		struct bpk_err err = { 0 };

		make_frame(bpk_checksum_find(names[k]), &head, &tail);
		if (verify(bpk_buf_view(&head), bpk_buf_view(&tail), &err) != 0)
			fail_msg("%s", err.text);
		for (size_t i = 0; i < 8 * (head.size + tail.size); i++) {
			struct bpk_buf *part = i < 8 * head.size ? &head : &tail;
			size_t bit = part == &head ? i : i - 8 * head.size;

			part->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			err.kind = BPK_OK;
			if (verify(bpk_buf_view(&head), bpk_buf_view(&tail), &err) == 0)
				fail_msg("%s: bit %zu of byte %zu of the %s", names[k], bit % 8,
					 bit / 8, part == &head ? "header" : "tail");
			assert_int_not_equal(err.kind, BPK_OK);
			part->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		bpk_buf_clear(&head);
		bpk_buf_clear(&tail);
	}
}

/* Every part, cut at every byte, in memory of the exact size. */
static void test_every_cut_is_found(void **state)
{
	struct bpk_buf head = { 0 }, tail = { 0 }, entries = { 0 };
	struct bpk_frame_header header = { 0 };
	struct bpk_frame_layers layers;
	struct bpk_err err = { 0 };

	(void)state;
	make_frame(bpk_checksum_find("crc32"), &head, &tail);
	for (size_t size = 0; size < head.size; size++) {
		uint8_t *copy = malloc(size + 1);
		uint32_t length;

		memcpy(copy + 1, head.data, size);
		assert_int_equal(bpk_frame_header_read(bpk_view(copy + 1, size), &header, &err),
				 -1);
		(void)bpk_frame_header_size(bpk_view(copy + 1, size), &length, &err);
		free(copy);
	}
	header = (struct bpk_frame_header){ .version = 2, .chunk_size = 64, .packed_size = 152 };
	for (size_t size = 0; size < tail.size; size++) {
		uint8_t *copy = malloc(size + 1);

		memcpy(copy + 1, tail.data, size);
		assert_int_equal(read_index(&header, bpk_view(copy + 1, size), 3, &entries, &err),
				 size < INDEX_SIZE ? -1 : 0);
		free(copy);
	}
	for (size_t size = 0; size < tail.size - INDEX_SIZE; size++) {
		uint8_t *copy = malloc(size + 1);

		memcpy(copy + 1, tail.data + INDEX_SIZE, size);
		assert_int_equal(bpk_frame_trailer_read(ctx, &header, bpk_view(copy + 1, size),
							1000, &layers, &err),
				 -1);
		free(copy);
	}
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	bpk_buf_clear(&entries);
}

static void test_end_of_a_sparse_frame(void **state)
{
	const uint64_t zeros = bpk_frame_offset_of_special(BPK_SPECIAL_ZERO);
	const uint64_t entries[] = { 0, 2, zeros, 1 };
	struct bpk_frame_layers layers = { 0 };
	struct bpk_buf head = { 0 }, tail = { 0 };
	struct bpk_frame_header header;
	struct bpk_err err = { 0 };
	struct bpk_frame_ending ending = {
		.header = &header,
		.layers = &layers,
		.entries = entries,
		.nchunks = 4,
	};

	(void)state;
	read_header(FRAME_EMPTY_HEADER, &header);
	header.sparse = true;
	header.codec = 1;
	header.chunk_size = 64;
	header.raw_size = 3 * 64 + 24;
	header.packed_size = 300;
	if (bpk_frame_end(ctx, &ending, &head, &tail, &err) != 0)
		fail_msg("%s", err.text);
	same_bytes(&tail, FRAME_SPARSE_INDEX FRAME_EMPTY_TRAILER);
	assert_int_equal(header.frame_size, 196);
	assert_int_equal(head.size + tail.size, 196);
	assert_int_equal(header.packed_size, 300);
	ending.nchunks = 3;
	assert_int_equal(bpk_frame_end(ctx, &ending, &head, &tail, &err), -1);
	assert_int_equal(err.kind, BPK_BUG);
	bpk_frame_header_clear(&header);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
}

static void test_end_of_an_empty_frame(void **state)
{
	struct bpk_frame_layers layers = { 0 };
	struct bpk_buf head = { 0 }, tail = { 0 };
	struct bpk_frame_header header;
	struct bpk_err err = { 0 };
	struct bpk_frame_ending ending = { .header = &header,
					   .layers = &layers,
					   .payload_end = 97 };

	(void)state;
	read_header(FRAME_EMPTY_HEADER, &header);
	assert_int_equal(bpk_frame_end(ctx, &ending, &head, &tail, &err), 0);
	same_bytes(&head, FRAME_EMPTY_HEADER);
	same_bytes(&tail, FRAME_EMPTY_TRAILER);
	bpk_frame_header_clear(&header);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers_by_name),
		cmocka_unit_test(test_header_of_the_example),
		cmocka_unit_test(test_header_variants),
		cmocka_unit_test(test_header_of_version_1),
		cmocka_unit_test(test_header_says_what_is_wrong),
		cmocka_unit_test(test_header_names_are_unique),
		cmocka_unit_test(test_special_offsets),
		cmocka_unit_test(test_indexes_of_the_examples),
		cmocka_unit_test(test_index_read),
		cmocka_unit_test(test_index_of_variable_chunks),
		cmocka_unit_test(test_index_claims_are_bounded),
		cmocka_unit_test(test_long_indexes),
		cmocka_unit_test(test_trailers_of_the_examples),
		cmocka_unit_test(test_trailer_of_version_1),
		cmocka_unit_test(test_trailer_of_many_layers),
		cmocka_unit_test(test_end_makes_the_example),
		cmocka_unit_test(test_every_flip_is_found),
		cmocka_unit_test(test_every_cut_is_found),
		cmocka_unit_test(test_end_of_a_sparse_frame),
		cmocka_unit_test(test_end_of_an_empty_frame),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
