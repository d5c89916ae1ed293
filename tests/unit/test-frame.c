/*
 * Reading frames: the examples of the specification, frames built by hand, frames of c-blosc2, and
 * all of them cut or with flipped bits.
 */
#include "unit/frame.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static struct bpk_buf hex(const char *text)
{
	struct bpk_buf bytes = { 0 };

	frame_hex(&bytes, text);
	return bytes;
}

static struct bpk_view text(const char *content)
{
	return bpk_view(content, strlen(content));
}

/* Read bytes by file and by pipe: both must succeed with raw. remark is part of the remarks (NULL:
 * no remark). */
static void expect(struct bpk_view bytes, struct bpk_view raw, const char *remark)
{
	for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++) {
		struct frame_outcome o = frame_read(bytes, way);

		if (!o.well)
			fail_msg("way %d: %s", (int)way, o.err.text);
		if (!frame_is(&o, raw))
			fail_msg("way %d: other bytes came out", (int)way);
		if (remark == NULL && o.remarks.size > 1)
			fail_msg("way %d: %s", (int)way, (char *)o.remarks.data);
		if (remark != NULL && strstr((char *)o.remarks.data, remark) == NULL)
			fail_msg("way %d: '%s', expected '%s'", (int)way, (char *)o.remarks.data,
				 remark);
		frame_outcome_clear(&o);
	}
}

/* Reading must fail with this line. */
static void expect_failure(struct bpk_view bytes, enum bpk_kind kind, const char *line)
{
	struct frame_outcome o = frame_read(bytes, ARCHIVE_MEMORY);

	if (o.well || o.err.kind != kind || strstr(o.err.text, line) == NULL)
		fail_msg("kind %d, '%s', expected %d, '%s'", (int)o.err.kind, o.err.text, (int)kind,
			 line);
	frame_outcome_clear(&o);
}

/* Everything reads, with raw, but the audit fails with this line. */
static void expect_in_doubt(struct frame_making *m, enum bpk_kind kind, struct bpk_view raw,
			    const char *line)
{
	struct bpk_buf bytes = frame_end(m);
	struct frame_outcome o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);

	if (o.well || o.err.kind != kind || strstr(o.err.text, line) == NULL)
		fail_msg("kind %d, '%s', expected %d, '%s'", (int)o.err.kind, o.err.text, (int)kind,
			 line);
	assert_int_equal(o.raw.size, raw.size);
	assert_memory_equal(o.raw.data, raw.data, raw.size);
	frame_outcome_clear(&o);
	bpk_buf_clear(&bytes);
}

/* The same for a frame built by hand, which is freed here. */
static void expect_made(struct frame_making *m, const char *raw, const char *remark)
{
	struct bpk_buf bytes = frame_end(m);

	expect(bpk_buf_view(&bytes), text(raw), remark);
	bpk_buf_clear(&bytes);
}

static void expect_made_bad(struct frame_making *m, const char *line)
{
	struct bpk_buf bytes = frame_end(m);

	expect_failure(bpk_buf_view(&bytes), BPK_CORRUPT, line);
	bpk_buf_clear(&bytes);
}

/* ---- "Hex examples" ---- */

#define SMALL FRAME_SMALL_HEADER FRAME_SMALL_CHUNKS FRAME_SMALL_INDEX FRAME_SMALL_TRAILER

static void small_raw(uint8_t raw[152])
{
	memset(raw, 0, 152);
	for (uint32_t i = 0; i < 16; i++)
		bpk_put_le32(raw + 4 * i, i);
	for (uint32_t i = 0; i < 6; i++)
		bpk_put_le32(raw + 128 + 4 * i, i);
}

static void test_small_example(void **state)
{
	struct bpk_buf bytes = hex(SMALL);
	struct frame_outcome o;
	uint8_t raw[152];

	(void)state;
	small_raw(raw);
	assert_int_equal(bytes.size, 409);
	expect(bpk_buf_view(&bytes), bpk_view(raw, sizeof raw), NULL);
	o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_string_equal(o.variant, "version 2");
	assert_int_equal(o.nchunks, 3);
	assert_int_equal(o.chunk_size, 64);
	assert_int_equal(o.nlayers, 2);
	assert_int_equal(o.hole_size, 0);
	frame_outcome_clear(&o);
	bpk_buf_clear(&bytes);
}

static void test_empty_example(void **state)
{
	struct bpk_buf bytes = hex(FRAME_EMPTY_HEADER FRAME_EMPTY_TRAILER);

	(void)state;
	expect(bpk_buf_view(&bytes), text(""), NULL);
	bpk_buf_clear(&bytes);
}

/* chunks.b2frame of the sparse example, with chunks of 8 bytes. */
static struct bpk_buf sparse_index(void)
{
	static const uint64_t entries[] = { 0, 2, (uint64_t)BPK_FRAME_OFFSET_ZERO << 56, 1 };
	struct frame_making m = frame_begin(4, 8);

	m.header.sparse = true;
	m.header.packed_size = 3 * 40;
	for (size_t i = 0; i < 4; i++)
		frame_add_entry(&m, entries[i], i < 3 ? 8 : 4);
	m.header.packed_size -= 4;
	return frame_end(&m);
}

static struct bpk_buf chunk_of(const char *raw)
{
	struct frame_making m = frame_begin(4, 8);

	frame_add(&m, text(raw));
	return m.payload;
}

static void test_sparse(void **state)
{
	struct bpk_buf index = sparse_index();
	struct bpk_buf a = chunk_of("aaaabbbb"), b = chunk_of("ccccdddd"), c = chunk_of("eeee");
	struct memdir_file files[] = {
		{ .name = "chunks.b2frame", .bytes = bpk_buf_view(&index) },
		{ .name = "00000000.chunk", .bytes = bpk_buf_view(&a) },
		{ .name = "00000001.chunk", .bytes = bpk_buf_view(&c) },
		{ .name = "00000002.chunk", .bytes = bpk_buf_view(&b) },
		{ .name = ".b2lock", .bytes = text("") },
		{ .name = "00000003.chunk", .bytes = text("") },
		{ .name = "0000000a.chunk", .bytes = text("small letters") },
	};
	struct bpk_view raw = bpk_view("aaaabbbbccccdddd\0\0\0\0\0\0\0\0eeee", 28);
	struct frame_outcome o = frame_read_files(files, 5);

	(void)state;
	if (!frame_is(&o, raw) || o.remarks.size > 1)
		fail_msg("%s%s", o.err.text, (char *)o.remarks.data);
	frame_outcome_clear(&o);
	o = frame_read_files(files, 7);
	assert_true(frame_is(&o, raw));
	assert_non_null(
		strstr((char *)o.remarks.data, "00000003.chunk is not the file of any chunk"));
	assert_non_null(strstr((char *)o.remarks.data, "0000000a.chunk is not part"));
	frame_outcome_clear(&o);
	o = frame_read_files(files, 3);
	assert_int_equal(o.err.kind, BPK_CORRUPT);
	assert_non_null(strstr(o.err.text, "chunk 1"));
	frame_outcome_clear(&o);
	files[2].bytes = text("");
	o = frame_read_files(files, 5);
	assert_non_null(strstr(o.err.text, "chunk 3 in 00000001.chunk: the file is empty"));
	frame_outcome_clear(&o);
	files[2].strange = true;
	o = frame_read_files(files, 5);
	assert_int_equal(o.err.kind, BPK_CORRUPT);
	frame_outcome_clear(&o);
	bpk_buf_clear(&index);
	bpk_buf_clear(&a);
	bpk_buf_clear(&b);
	bpk_buf_clear(&c);
}

static void test_blocks_of_variable_length(void **state)
{
	static const char chunk[] =
		"06013504 0d000000 03000000 45000000 0000000000010000 0000000000000100"
		"2c000000 35000000 40000000 05000000 68656c6c6f 07000000 776f726c647321"
		"01000000 78";
	struct frame_making m = frame_begin(4, 13);

	(void)state;
	m.header.variable_blocks = true;
	frame_hex(&m.payload, chunk);
	frame_add_entry(&m, 0, 13);
	expect_made(&m, "helloworlds!x", NULL);
	m = frame_begin(4, 13);
	frame_hex(&m.payload, chunk);
	frame_add_entry(&m, 0, 13);
	expect_made(&m, "helloworlds!x", "flags say that blocks are of one length");
}

/* 63 chunks by an index of one repeated value; and an index that claims 2^27. */
static void test_uniform_index(void **state)
{
	struct frame_making m = frame_begin(4, 64);
	struct bpk_buf bytes;
	struct frame_outcome o;

	(void)state;
	for (size_t i = 0; i < 16; i++)
		frame_add_entry(&m, (uint64_t)BPK_FRAME_OFFSET_ZERO << 56, i < 15 ? 64 : 32);
	bytes = frame_end(&m);
	o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_true(o.well);
	assert_int_equal(o.raw.size, 15 * 64 + 32);
	frame_outcome_clear(&o);
	bpk_buf_clear(&bytes);
}

/* ---- Version 1 ---- */

static void test_version_1(void **state)
{
	/* by 2.0.0.beta.5: chunks of 8 bytes, the second shorter */
	static const char head[] =
		"9d a8 62326672616d6500 d2 0000005c cf 0000000000000113"
		"a4 21 00 50 03 d3 000000000000000c d3 000000000000004c d2 00000004 d2 00000008"
		"d1 0001 d1 0001 c2 d8 08 0100000000000000 0000000000000000"
		"93 cd 0007 de 0000 dc 0000";
	static const char rest[] =
		"04 01 17 04 08000000 08000000 28000000 0000000000000000 0000000000000000"
		"6162636465666768"
		"04 01 17 04 04000000 04000000 24000000 0000000000000000 0000000000000000 696a6b6c"
		"04 01 17 08 10000000 10000000 30000000 0000000000000000 0000000000000000"
		"0000000000000000 2800000000000000"
		"94 01 c6 00000021 05 01 17 01 01000000 01000000 21000000 0000000000000000"
		"0000000000000000 78 ce 0000003f d8 00 00000000000000000000000000000000";
	struct bpk_buf bytes = hex(head);
	struct frame_outcome o;

	(void)state;
	assert_int_equal(bytes.size, 92);
	frame_hex(&bytes, rest);
	bpk_put_be64(bytes.data + 16, bytes.size);
	o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	if (!frame_is(&o, text("abcdefghijkl")))
		fail_msg("%s", o.err.text);
	assert_string_equal(o.variant, "version 1");
	assert_int_equal(o.nlayers, 1);
	frame_outcome_clear(&o);
	frame_shake(bpk_buf_view(&bytes), text("abcdefghijkl"), false);
	bpk_buf_clear(&bytes);
}

/* ---- Sizes ---- */

static void test_variable_chunks(void **state)
{
	struct frame_making m = frame_begin(1, 0);
	struct bpk_buf bytes;
	struct frame_outcome o;

	(void)state;
	frame_add(&m, text("abcdefgh"));
	frame_add(&m, text("ij"));
	frame_add(&m, text("klmnopqrstuv"));
	bytes = frame_end(&m);
	expect(bpk_buf_view(&bytes), text("abcdefghijklmnopqrstuv"), NULL);
	o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_string_equal(o.variant, "version 3");
	assert_int_equal(o.chunk_size, BPK_UNKNOWN);
	frame_outcome_clear(&o);
	bytes.data[25] &= 0xbf;
	expect(bpk_buf_view(&bytes), text("abcdefghijklmnopqrstuv"), "flags say that chunk sizes");
	bpk_buf_clear(&bytes);
}

/* 3.x writes special offsets here but cannot read them. Consecutive ones share the remaining size
 * in the header; the sizes of separate ones are unknown. */
static void test_special_in_variable_chunks(void **state)
{
	static const uint64_t zero = (uint64_t)BPK_FRAME_OFFSET_ZERO << 56;
	static const uint64_t nan = (uint64_t)BPK_FRAME_OFFSET_NAN << 56;
	struct frame_making m = frame_begin(1, 0);

	(void)state;
	frame_add(&m, text("abc"));
	frame_add_entry(&m, zero, 4);
	frame_add(&m, text("de"));
	expect_in_doubt(&m, BPK_REPAIRABLE, bpk_view("abc\0\0\0\0de", 9),
			"(1, from chunk 1 on): 4 bytes were assumed");
	m = frame_begin(1, 0);
	frame_add(&m, text("abc"));
	frame_add_entry(&m, zero, 2);
	frame_add_entry(&m, (uint64_t)BPK_FRAME_OFFSET_UNINIT << 56, 3);
	expect_in_doubt(&m, BPK_REPAIRABLE, bpk_view("abc\0\0\0\0\0", 8),
			"(2, from chunk 1 on): 5 bytes were assumed");
	m = frame_begin(1, 0);
	frame_add_entry(&m, zero, 2);
	frame_add(&m, text("abc"));
	frame_add_entry(&m, zero, 3);
	frame_add(&m, text("defg"));
	expect_in_doubt(&m, BPK_CORRUPT, text("abcdefg"),
			"(2, from chunk 0 on): they are left out, and the header has 5 bytes");
	m = frame_begin(4, 0);
	frame_add(&m, text("abcd"));
	frame_add_entry(&m, zero, 8);
	frame_add_entry(&m, nan, 4);
	expect_in_doubt(&m, BPK_CORRUPT, text("abcd"), "they are left out");
	m = frame_begin(1, 0);
	frame_add(&m, text("abc"));
	frame_add_entry(&m, zero, 0);
	frame_add(&m, text("de"));
	expect_in_doubt(&m, BPK_CORRUPT, text("abcde"), "the header has 0 bytes");
}

/* c-blosc2 2.15 appends a whole chunk after a short one. */
static void test_short_chunk_in_the_middle(void **state)
{
	struct frame_making m = frame_begin(1, 8);
	struct bpk_buf bytes;
	struct frame_outcome o;

	(void)state;
	frame_add(&m, text("abcdefgh"));
	frame_add(&m, text("ijk"));
	frame_add(&m, text("lmnopqrs"));
	bytes = frame_end(&m);
	expect(bpk_buf_view(&bytes), text("abcdefghijklmnopqrs"),
	       "1 chunks before the last are shorter");
	o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_int_equal(o.chunk_size, BPK_UNKNOWN);
	frame_outcome_clear(&o);
	bpk_buf_clear(&bytes);
}

static void test_sizes_that_contradict(void **state)
{
	struct frame_making m = frame_begin(1, 8);

	(void)state;
	frame_add(&m, text("abcdefghij")); /* more than the chunk size */
	m.header.raw_size = 8;
	expect_made_bad(&m, "chunk 0 at offset 97: it unpacks to 10 bytes, expected 8");
	m = frame_begin(1, 8);
	frame_add(&m, text("abcdefgh"));
	frame_add(&m, text("abc"));
	m.header.raw_size = 12;
	expect_in_doubt(&m, BPK_CORRUPT, text("abcdefghabc"),
			"chunks unpack to 11 bytes in all, the header says 12");
	m = frame_begin(1, 0);
	frame_add(&m, text("abcdefgh"));
	m.header.raw_size = 9;
	expect_in_doubt(&m, BPK_CORRUPT, text("abcdefgh"),
			"chunks unpack to 8 bytes in all, the header says 9");
}

static void test_types_that_contradict(void **state)
{
	struct frame_making m = frame_begin(2, 8);
	struct bpk_buf bytes;

	(void)state;
	frame_add(&m, text("abcdefgh"));
	frame_add(&m, text("abcdefgh"));
	m.payload.data[m.entries[1] + 3] = 4;
	bytes = frame_end(&m);
	expect(bpk_buf_view(&bytes), text("abcdefghabcdefgh"),
	       "1 chunks have another typesize than the header's 2, chunk 1 first with 4");
	bpk_buf_clear(&bytes);
	m = frame_begin(1, 4); /* a chunk has 1 if the header's typesize is too large */
	frame_add(&m, text("abcd"));
	m.header.typesize = 300;
	bytes = frame_end(&m);
	expect(bpk_buf_view(&bytes), text("abcd"), NULL);
	bpk_buf_clear(&bytes);
}

/* ---- Offsets ---- */

static void test_holes_and_shared_places(void **state)
{
	struct frame_making m = frame_begin(1, 4);
	struct bpk_buf bytes;
	struct frame_outcome o;

	(void)state;
	frame_add_hole(&m, 5);
	frame_add(&m, text("abcd"));
	frame_add_hole(&m, 7);
	frame_add(&m, text("efgh"));
	frame_add_entry(&m, m.entries[0], 4);
	bytes = frame_end(&m);
	expect(bpk_buf_view(&bytes), text("abcdefghabcd"), "12 bytes in 2 holes");
	expect(bpk_buf_view(&bytes), text("abcdefghabcd"),
	       "1 chunk is stored at the place of another");
	o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_int_equal(o.hole_size, 12);
	frame_outcome_clear(&o);
	bpk_buf_clear(&bytes);
}

/* Repeated chunks: found one by one, or requested at once. */
static void test_repeats(void **state)
{
	/* number of chunks from there on, and the repeated one */
	static const uint64_t expected[][2] = { { 0, 0 }, { 0, 0 }, { 2, 0 }, { 1, 0 },
						{ 0, 0 }, { 1, 4 }, { 1, 1 }, { 0, 0 } };
	const struct bpk_reader_ops *ops = &bpk_frame_reader_ops;
	const struct bpk_read_options options = { .as_stored = true };
	struct frame_making m = frame_begin(1, 4);
	struct archive_input input;
	struct bpk_buf bytes;
	uint64_t zero = (uint64_t)BPK_FRAME_OFFSET_ZERO << 56, first, size;
	void *reader;

	(void)state;
	frame_add(&m, text("abcd"));
	frame_add(&m, text("efgh"));
	frame_add_entry(&m, m.entries[0], 4);
	frame_add_entry(&m, m.entries[0], 4);
	frame_add_entry(&m, zero, 4);
	frame_add_entry(&m, zero, 4);
	frame_add_entry(&m, m.entries[1], 4);
	frame_add_entry(&m, m.entries[1], 4);
	bytes = frame_end(&m);
	archive_input_open(&input, bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_int_equal(ops->open(&input.place, &options, &reader, NULL), 0);
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
			assert_int_equal(ops->repeats(reader, i, &first, &size), expected[i][0]);
			if (expected[i][0] == 0)
				continue;
			assert_int_equal(first, expected[i][1]);
			assert_int_equal(size, 4 * expected[i][0]);
		}
	assert_int_equal(ops->repeats(reader, 1000, &first, &size), 0);
	ops->close(reader);
	archive_input_close(&input);
	bpk_buf_clear(&bytes);
}

/* A chunk inside the bytes of another: valid, with a remark. */
static void test_overlap(void **state)
{
	struct frame_making m = frame_begin(1, 68);
	struct frame_making inner = frame_begin(1, 36);
	struct bpk_buf bytes, raw = { 0 };

	(void)state;
	frame_add(&inner, text("0123456789abcdefghijklmnopqrstuvwxyz"));
	frame_add(&m, bpk_buf_view(&inner.payload));
	frame_add_entry(&m, BPK_CHUNK_EXTENDED_HEADER_SIZE, 36);
	assert_int_equal(bpk_buf_append(&raw, bpk_buf_view(&inner.payload), NULL), 0);
	assert_int_equal(bpk_buf_append(&raw, text("0123456789abcdefghijklmnopqrstuvwxyz"), NULL),
			 0);
	bytes = frame_end(&m);
	expect(bpk_buf_view(&bytes), bpk_buf_view(&raw),
	       "1 chunks share bytes with others, chunk 1 with chunk 0 first");
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&raw);
	bpk_buf_clear(&inner.payload);
}

static void test_chunk_of_blosc1(void **state)
{
	struct frame_making m = frame_begin(4, 8);

	(void)state;
	frame_hex(&m.payload, "02 01 12 04 08000000 08000000 18000000 6162636465666768");
	frame_add_entry(&m, 0, 8);
	frame_add(&m, text("ijkl"));
	expect_made(&m, "abcdefghijkl", NULL);
	/* less than an extended header follows it */
	m = frame_begin(4, 8);
	frame_hex(&m.payload, "02 01 12 04 08000000 08000000 18000000 6162636465666768");
	frame_add_entry(&m, 0, 8);
	expect_made(&m, "abcdefgh", NULL);
}

static void test_wrong_kind(void **state)
{
	struct bpk_buf index = sparse_index(), frame = hex(SMALL);
	struct memdir_file files[] = {
		{ .name = "chunks.b2frame", .bytes = bpk_buf_view(&frame) },
	};
	struct frame_outcome o;

	(void)state;
	expect_failure(bpk_buf_view(&index), BPK_CORRUPT, "index of a sparse frame");
	o = frame_read_files(files, 1);
	assert_non_null(strstr(o.err.text, "contiguous"));
	bpk_buf_clear(&index);
	bpk_buf_clear(&frame);
}

/* ---- Digests ---- */

static struct bpk_buf sealed(struct bpk_view *raw)
{
	struct frame_making m = frame_begin(4, 8);

	m.checksum = bpk_checksum_find("crc32");
	assert_int_equal(bpk_frame_layers_set(&m.layers, "note", text("\xa2hi"), NULL), 0);
	assert_int_equal(bpk_frame_layers_set(&m.header.fixed, "demo", text("\x01"), NULL), 0);
	frame_add(&m, text("abcdefgh"));
	frame_add_entry(&m, (uint64_t)BPK_FRAME_OFFSET_ZERO << 56, 8);
	frame_add(&m, text("ijkl"));
	*raw = bpk_view("abcdefgh\0\0\0\0\0\0\0\0ijkl", 20);
	return frame_end(&m);
}

static void test_digests(void **state)
{
	struct bpk_view raw;
	struct bpk_buf bytes = sealed(&raw);

	(void)state;
	expect(bpk_buf_view(&bytes), raw, NULL);
	frame_shake(bpk_buf_view(&bytes), raw, true);
	bytes.data[BPK_FRAME_FIXED_SIZE + 60] ^= 1; /* in chunk 0 */
	expect_failure(bpk_buf_view(&bytes), BPK_CORRUPT, "chunk 0 at offset");
	bpk_buf_clear(&bytes);
}

/* The layer of digests of a frame. */
static struct bpk_view digests_of(const struct bpk_buf *frame, size_t nchunks)
{
	size_t size = BPK_FRAME_DIGESTS_BIN + BPK_FRAME_DIGESTS_HEAD +
		      (BPK_FRAME_DIGEST_PARTS + nchunks) * 4;

	return bpk_view(frame->data + frame->size - BPK_FRAME_TRAILER_TAIL - size, size);
}

/* Another program changed two of four chunks and copied the layer. */
static void test_digests_of_before(void **state)
{
	static const char name[] = "bpk_digestX";
	struct bpk_view raw;
	struct bpk_buf before = sealed(&raw), bytes;
	struct frame_making m = frame_begin(4, 8);
	size_t i;

	(void)state;
	assert_int_equal(bpk_frame_layers_set(&m.layers, name, digests_of(&before, 3), NULL), 0);
	frame_add(&m, text("abcdefgh"));
	frame_add(&m, text("ABCDEFGH"));
	frame_add(&m, text("ijkl!!!!"));
	frame_add(&m, text("more"));
	bytes = frame_end(&m);
	expect_failure(bpk_buf_view(&bytes), BPK_CORRUPT, "holds digests");
	for (i = 0; memcmp(bytes.data + i, name, sizeof name - 1) != 0; i++)
		assert_true(i + sizeof name < bytes.size);
	memcpy(bytes.data + i, BPK_FRAME_DIGESTS, sizeof name - 1);
	expect(bpk_buf_view(&bytes), text("abcdefghABCDEFGHijkl!!!!more"),
	       "1 chunks match their digests, 2 differ, 1 have no digest");
	bpk_buf_clear(&before);
	bpk_buf_clear(&bytes);
}

/* A layer under a damaged name, and with a damaged head, is a user's by its form. */
static void test_mark_needs_digests(void **state)
{
	struct bpk_view raw;
	struct bpk_buf bytes = sealed(&raw);
	struct bpk_view frame = bpk_buf_view(&bytes);
	uint8_t *name = memmem(bytes.data, bytes.size, "bpk_d", 5);
	uint8_t *head = memmem(bytes.data, bytes.size, "bpkd", 4);

	(void)state;
	assert_true(name != NULL && head != NULL);
	name[1] = head[1] = 'X';
	expect_failure(frame, BPK_CORRUPT, "no metalayer bpk_digests");
	/* another program does without */
	memset(bytes.data + bytes.size - BPK_FRAME_MARK_SIZE, 0, BPK_FRAME_MARK_SIZE);
	expect(frame, raw, NULL);
	bpk_buf_clear(&bytes);
}

/* ---- Another program's changes of equal frame length ---- */

enum { THREADS = 63, UNPACK_THREADS = 66, RAW_SIZE = 30, TYPESIZE = 48 };

/* Rewrite header and trailer as c-blosc2 does. */
static void write_as_other(struct bpk_buf *frame, bool header, bool trailer)
{
	if (header) {
		bpk_put_be16(frame->data + THREADS, 1);
		bpk_put_be16(frame->data + UNPACK_THREADS, 8);
	}
	if (trailer)
		memset(frame->data + frame->size - BPK_FRAME_MARK_SIZE, 0, BPK_FRAME_MARK_SIZE);
}

/* The last byte before end that is equal to byte. */
static uint8_t *find_byte(struct bpk_buf *frame, size_t end, uint8_t byte)
{
	while (frame->data[--end] != byte)
		assert_true(end > 0);
	return frame->data + end;
}

static void test_marks(void **state)
{
	struct bpk_view raw;
	struct bpk_buf bytes = sealed(&raw);
	struct bpk_view frame = bpk_buf_view(&bytes);
	uint32_t size = bpk_get_be32(bytes.data + 11);

	(void)state;
	assert_memory_equal(bytes.data + bytes.size - BPK_FRAME_MARK_SIZE, "bpk sealed frame",
			    BPK_FRAME_MARK_SIZE);
	write_as_other(&bytes, true, false);
	expect(frame, raw, "another program wrote its header");
	*find_byte(&bytes, size, 1) = 2; /* the content of a fixed metalayer */
	expect(frame, raw, "another program wrote its header");
	bytes.data[RAW_SIZE + 7] ^= 1;
	expect_failure(frame, BPK_CORRUPT, "header: its raw size has changed since");
	bytes.data[RAW_SIZE + 7] ^= 1;
	bytes.data[size + BPK_CHUNK_EXTENDED_HEADER_SIZE] ^= 1;
	expect_failure(frame, BPK_CORRUPT, "chunk 0 at offset");
	bytes.data[size + BPK_CHUNK_EXTENDED_HEADER_SIZE] ^= 1;
	write_as_other(&bytes, false, true);
	expect(frame, raw, "2 chunks match their digests, 0 differ, 0 have no digest");
	bytes.data[TYPESIZE + 3] ^= 1;
	expect_failure(frame, BPK_CORRUPT, "header: its typesize has changed since");
	bpk_buf_clear(&bytes);
	bytes = sealed(&raw);
	write_as_other(&bytes, false, true);
	expect_failure(bpk_buf_view(&bytes), BPK_CORRUPT, "trailer: crc32 is");
	bpk_buf_clear(&bytes);
}

/* Moved chunks keep their digests; a changed one has lost its digest. */
static void test_moved_chunks(void **state)
{
	struct frame_making m = frame_begin(4, 8);
	struct bpk_buf bytes;
	uint8_t *entries;
	struct bpk_view frame;

	(void)state;
	m.checksum = bpk_checksum_find("sha256");
	frame_add(&m, text("abcdefgh"));
	frame_add(&m, text("ABCDEFGH"));
	frame_add(&m, text("12345678"));
	bytes = frame_end(&m);
	frame = bpk_buf_view(&bytes);
	entries = bytes.data + bpk_get_be32(bytes.data + 11) + 3 * (8 + 32) + 32;
	assert_int_equal(bpk_get_le64(entries + 8), 40);
	bpk_put_le64(entries, 80);
	bpk_put_le64(entries + 16, 0);
	expect_failure(frame, BPK_CORRUPT, "index: sha256 is");
	write_as_other(&bytes, true, true);
	expect(frame, text("12345678ABCDEFGHabcdefgh"), "3 chunks match their digests, 0 differ");
	find_byte(&bytes, (size_t)(entries - bytes.data), 'H')[0] = 'h';
	expect(frame, text("12345678ABCDEFGhabcdefgh"),
	       "2 chunks match their digests, 1 differ, 0 have no digest\nno checksum shows "
	       "whether");
	bpk_buf_clear(&bytes);
}

/* Bits of a frame that another program changed: parts with their own protection are found, and so
 * are unprotected bits of the header. A flipped chunk that still decodes cannot be told from a
 * changed one. */
static void test_damage_behind_a_change(void **state)
{
	struct bpk_view raw;
	struct bpk_buf bytes = sealed(&raw);
	uint32_t size = bpk_get_be32(bytes.data + 11);

	(void)state;
	write_as_other(&bytes, true, true);
	for (size_t bit = 0; bit < 8 * (size_t)size; bit++) {
		struct frame_outcome o;

		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		o = frame_read(bpk_buf_view(&bytes), ARCHIVE_MEMORY);
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		frame_judge(&o, "bit", bit);
		if (o.well && !frame_is(&o, raw))
			fail_msg("bit %zu of byte %zu was turned, and other bytes came out",
				 bit % 8, bit / 8);
		if (o.well && bit / 8 >= TYPESIZE && bit / 8 < TYPESIZE + 4)
			fail_msg("bit %zu of byte %zu of the typesize", bit % 8, bit / 8);
		frame_outcome_clear(&o);
	}
	bpk_buf_clear(&bytes);
}

/* abcdefghijkl in chunks of 8 bytes, as an early bpk wrote it. */
#define LAYOUT_1_FRAME                                                                             \
	"9ea862326672616d6500d200000061cf000000000000016ba412005103d3000000000000000cd3"           \
	"000000000000004cd200000004d200000008d200000008d10001d10001c3d80600000000000101"           \
	"00000000000000000093cd0007de0000dc00000501070408000000080000002800000000000000"           \
	"000001000000000000000000616263646566676805010704040000000400000024000000000000"           \
	"00000001000000000000000000696a6b6c05011708100000001000000030000000000000000001"           \
	"0000000000000000000000000000000000002800000000000000940193cd0017de0001ab62706b"           \
	"5f64696765737473d20000001ddc0001c600000055050117083500000030000000550000000000"           \
	"0000000100000000000000000000c60000003062706b64010200006b0100000000000002000000"           \
	"00000000ca80009e0679bfc66d9f6bfe5bfe602bf9c1902c3cdbac90ce0000008ed80000000000"           \
	"000000000000000000000000"

/* Digests of early versions of bpk: without marks, by the frame's length alone. */
static void test_digests_of_layout_1(void **state)
{
	static const char frame[] = LAYOUT_1_FRAME;
	struct bpk_buf bytes = hex(frame);
	struct bpk_view raw = text("abcdefghijkl");

	(void)state;
	expect(bpk_buf_view(&bytes), raw, NULL);
	frame_shake(bpk_buf_view(&bytes), raw, true);
	bytes.data[THREADS + 1] = 4;
	expect_failure(bpk_buf_view(&bytes), BPK_CORRUPT,
		       "it is damaged, or another program changed the frame");
	bpk_buf_clear(&bytes);
}

/* ---- Damage ---- */

static void test_damage_to_the_examples(void **state)
{
	static const char *const examples[] = { SMALL, FRAME_EMPTY_HEADER FRAME_EMPTY_TRAILER };

	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		struct bpk_buf bytes = hex(examples[i]);

		frame_shake(bpk_buf_view(&bytes), bpk_view(NULL, 0), false);
		bpk_buf_clear(&bytes);
	}
}

static void test_damage_to_a_sparse_index(void **state)
{
	struct bpk_buf index = sparse_index();
	struct bpk_buf a = chunk_of("aaaabbbb"), b = chunk_of("ccccdddd"), c = chunk_of("eeee");
	struct memdir_file files[] = {
		{ .name = "chunks.b2frame" },
		{ .name = "00000000.chunk", .bytes = bpk_buf_view(&a) },
		{ .name = "00000001.chunk", .bytes = bpk_buf_view(&c) },
		{ .name = "00000002.chunk", .bytes = bpk_buf_view(&b) },
	};

	(void)state;
	for (size_t bit = 0; bit < 8 * index.size; bit++) {
		struct frame_outcome o;

		index.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		files[0].bytes = bpk_buf_view(&index);
		o = frame_read_files(files, 4);
		index.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		frame_judge(&o, "bit", bit);
		frame_outcome_clear(&o);
	}
	bpk_buf_clear(&index);
	bpk_buf_clear(&a);
	bpk_buf_clear(&b);
	bpk_buf_clear(&c);
}

/* ---- Concurrent writers ---- */

/* Write bytes as a file of folder through another name; bytes are freed. */
static void put_file(const char *folder, const char *name, struct bpk_buf bytes)
{
	char path[256], draft[256];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	snprintf(draft, sizeof draft, "%s/draft", folder);
	file = fopen(draft, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(draft, path), 0);
	bpk_buf_clear(&bytes);
}

static void remove_file(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

/* chunks.b2frame of chunks of 8 bytes, raw_size in total, in files with these numbers. */
static struct bpk_buf index_of(const uint64_t *ids, size_t n, uint64_t raw_size)
{
	struct frame_making m = frame_begin(4, 8);

	m.header.sparse = true;
	m.header.packed_size = n * BPK_CHUNK_EXTENDED_HEADER_SIZE + raw_size;
	for (size_t i = 0; i < n; i++)
		frame_add_entry(&m, ids[i], i + 1 < n ? 8 : raw_size - 8 * (n - 1));
	return frame_end(&m);
}

/* Fetch and decode chunk number: its data are raw, or (NULL) it fails as changed. */
static void expect_chunk(void *reader, uint64_t number, const char *raw)
{
	const struct bpk_reader_ops *ops = &bpk_frame_reader_ops;
	struct bpk_parcel parcel = { .number = number, .want_size = SIZE_MAX };
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	if (ops->fetch(reader, &parcel, &err) != 0) {
		if (raw != NULL)
			fail_msg("chunk %d: %s", (int)number, err.text);
		assert_string_equal(err.text, "changed while it was read");
	} else {
		assert_non_null(raw);
		assert_int_equal(parcel.data_size, strlen(raw));
		assert_int_equal(archive_decode(ctx, &parcel, &out, &err), 0);
		assert_memory_equal(out.data, raw, strlen(raw));
	}
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&out);
	bpk_chunk_ctx_free(ctx);
}

/* A sparse frame grows while it is read: the last chunk is recompressed with more data, its old
 * file is removed, and its number is used again. Then a chunk is replaced. */
static void test_beside_a_writer(void **state)
{
	static const uint64_t before[] = { 0, 1 }, after[] = { 0, 2, 1 }, replaced[] = { 3, 2, 1 };
	const char *temporary = getenv("TMPDIR");
	const struct bpk_read_options options = { 0 };
	struct bpk_place place;
	char folder[128];
	void *reader;

	(void)state;
	snprintf(folder, sizeof folder, "%s/frame-XXXXXX", temporary != NULL ? temporary : "/tmp");
	assert_non_null(mkdtemp(folder));
	put_file(folder, "00000000.chunk", chunk_of("abcdefgh"));
	put_file(folder, "00000001.chunk", chunk_of("ijkl"));
	put_file(folder, "chunks.b2frame", index_of(before, 2, 12));
	assert_int_equal(bpk_place_open(folder, NULL, &place, NULL), 0);
	assert_int_equal(bpk_frame_reader_ops.open(&place, &options, &reader, NULL), 0);
	expect_chunk(reader, 1, "ijkl");
	put_file(folder, "00000002.chunk", chunk_of("ijklmnop"));
	put_file(folder, "chunks.b2frame", index_of((const uint64_t[]){ 0, 2 }, 2, 16));
	remove_file(folder, "00000001.chunk");
	expect_chunk(reader, 1, "ijkl");
	put_file(folder, "00000001.chunk", chunk_of("qrst"));
	put_file(folder, "chunks.b2frame", index_of(after, 3, 20));
	expect_chunk(reader, 0, "abcdefgh");
	expect_chunk(reader, 1, "ijkl");
	put_file(folder, "00000003.chunk", chunk_of("ABCDEFGH"));
	put_file(folder, "chunks.b2frame", index_of(replaced, 3, 20));
	remove_file(folder, "00000000.chunk");
	expect_chunk(reader, 0, NULL);
	expect_chunk(reader, 1, "ijkl");
	bpk_frame_reader_ops.close(reader);
	bpk_place_close(&place);
	for (int i = 1; i < 4; i++) {
		char name[32];

		snprintf(name, sizeof name, "%08d.chunk", i);
		remove_file(folder, name);
	}
	remove_file(folder, "chunks.b2frame");
	assert_int_equal(rmdir(folder), 0);
}

/* ---- Files of other programs ---- */

static struct bpk_buf load(const char *path)
{
	struct bpk_buf bytes = { 0 };
	FILE *file = fopen(path, "rb");
	struct stat found;

	if (file == NULL || fstat(fileno(file), &found) != 0)
		fail_msg("%s cannot be opened", path);
	assert_int_equal(bpk_buf_resize(&bytes, (size_t)found.st_size, NULL), 0);
	assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
	return bytes;
}

/* Every frame in the folder, with its raw bytes. */
static void test_fixtures(void **state)
{
	const char *folder = getenv("BPK_FIXTURES");
	char path[1024], raw_path[1024];
	unsigned read = 0;
	struct dirent *entry;
	DIR *dir;

	(void)state;
	if (folder == NULL)
		skip();
	snprintf(path, sizeof path, "%s/blosc2", folder);
	dir = opendir(path);
	if (dir == NULL)
		skip();
	while ((entry = readdir(dir)) != NULL) {
		const struct bpk_read_options options = { 0 };
		const char *dot = strrchr(entry->d_name, '.');
		struct bpk_place place;
		struct frame_outcome o;
		struct bpk_buf raw;

		if (dot == NULL || strcmp(dot, ".b2frame") != 0)
			continue;
		snprintf(path, sizeof path, "%s/blosc2/%s", folder, entry->d_name);
		snprintf(raw_path, sizeof raw_path, "%.*s.raw", (int)(strlen(path) - strlen(dot)),
			 path);
		raw = load(raw_path);
		assert_int_equal(bpk_place_open(path, NULL, &place, NULL), 0);
		o = frame_read_place(&place, &options);
		if (!frame_is(&o, bpk_buf_view(&raw)))
			fail_msg("%s: %s", path, o.err.text);
		frame_outcome_clear(&o);
		bpk_buf_clear(&raw);
		bpk_place_close(&place);
		read++;
	}
	closedir(dir);
	assert_true(read > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_example),
		cmocka_unit_test(test_empty_example),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_blocks_of_variable_length),
		cmocka_unit_test(test_uniform_index),
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_variable_chunks),
		cmocka_unit_test(test_special_in_variable_chunks),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_short_chunk_in_the_middle),
		cmocka_unit_test(test_sizes_that_contradict),
		cmocka_unit_test(test_types_that_contradict),
		cmocka_unit_test(test_holes_and_shared_places),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_chunk_of_blosc1),
		cmocka_unit_test(test_wrong_kind),
		cmocka_unit_test(test_digests),
		cmocka_unit_test(test_digests_of_before),
		cmocka_unit_test(test_mark_needs_digests),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_moved_chunks),
		cmocka_unit_test(test_damage_behind_a_change),
		cmocka_unit_test(test_digests_of_layout_1),
		cmocka_unit_test(test_damage_to_the_examples),
		cmocka_unit_test(test_damage_to_a_sparse_index),
		cmocka_unit_test(test_beside_a_writer),
		cmocka_unit_test(test_fixtures),
	};

	return UNIT_RUN(tests);
}
