/*
 * Frames of many chunks, whose index and digests are read in pages: chunks in any order and by
 * several threads, damage in the middle, and bytes that change after open.
 */
#include "unit/frame.h"

#include "format/frame/open.h"
#include "format/frame/order.h"
#include "format/frame/parts/section.h"
#include "format/frame/survey.h"

#include <pthread.h>

enum {
	CHUNKS = 300000,
	RAW = 8,
	PACKED = RAW + BPK_CHUNK_EXTENDED_HEADER_SIZE,
	ENTRIES_PER_PAGE = BPK_FRAME_PAGE / 8,
	THREADS = 4,
	FETCHES = 3000,
};

struct large {
	struct bpk_buf bytes, entries, digests;
	struct archive_input input;
	void *reader;
	struct bpk_err err;
};

/* How chunks lie: in pairs, the second first; all in reverse; in order, but 300 of them behind the
 * others; the same, and one at the place of another. */
static enum { PAIRS, REVERSED, MOVED, SHARED } order;

enum { FIRST = 100000, STEP = 1000, OF_STEP = 3, ALL_MOVED = FIRST / STEP * OF_STEP };

static uint64_t place_of_moved(uint64_t number)
{
	uint64_t before = number / STEP * OF_STEP + bpk_min_u64(number % STEP, OF_STEP);

	if (order == SHARED && number == STEP / 2)
		return place_of_moved(2 * FIRST);
	if (number >= FIRST)
		return number - ALL_MOVED;
	return number % STEP < OF_STEP ? CHUNKS - ALL_MOVED + before : number - before;
}

/* Every chunk holds its number. */
static uint64_t place_of(uint64_t number)
{
	if (order == PAIRS)
		return (number ^ 1) * PACKED;
	return (order == REVERSED ? CHUNKS - 1 - number : place_of_moved(number)) * PACKED;
}

static void put_chunk(struct bpk_buf *bytes, size_t start, uint64_t number)
{
	uint8_t *p = bytes->data + start + place_of(number);
	const uint8_t head[4] = { 5, 1, 0x17, RAW };

	memset(p, 0, PACKED);
	memcpy(p, head, sizeof head);
	bpk_put_le32(p + 4, RAW);
	bpk_put_le32(p + 8, RAW);
	bpk_put_le32(p + 12, PACKED);
	bpk_put_le64(p + BPK_CHUNK_EXTENDED_HEADER_SIZE, number);
}

static void put_chunks(struct large *l, size_t start, const struct bpk_checksum *checksum)
{
	uint8_t digest[BPK_DIGEST_MAX];

	assert_int_equal(bpk_buf_resize(&l->bytes, start + (size_t)CHUNKS * PACKED, NULL), 0);
	assert_int_equal(bpk_buf_resize(&l->entries, (size_t)CHUNKS * 8, NULL), 0);
	for (uint64_t i = 0; i < CHUNKS; i++) {
		uint64_t entry = place_of(i);

		put_chunk(&l->bytes, start, i);
		memcpy(l->entries.data + i * 8, &entry, 8);
		if (checksum == NULL)
			continue;
		assert_int_equal(bpk_checksum_compute(
					 checksum, bpk_view(l->bytes.data + start + entry, PACKED),
					 digest, NULL),
				 0);
		assert_int_equal(
			bpk_buf_append(&l->digests, bpk_view(digest, checksum->size), NULL), 0);
	}
}

static struct large make(const char *checksum)
{
	struct frame_making m = frame_begin(RAW, RAW);
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	struct bpk_buf head = { 0 }, tail = { 0 };
	struct large l = { .reader = NULL };
	struct bpk_frame_ending ending = {
		.header = &m.header,
		.layers = &m.layers,
		.nchunks = CHUNKS,
		.checksum = checksum != NULL ? bpk_checksum_find(checksum) : NULL,
	};

	m.header.raw_size = (uint64_t)CHUNKS * RAW;
	assert_int_equal(bpk_frame_header_write(&m.header, &head, NULL), 0);
	put_chunks(&l, head.size, ending.checksum);
	ending.payload_end = l.bytes.size;
	ending.entries = (const uint64_t *)(const void *)l.entries.data;
	ending.chunk_digests = bpk_buf_view(&l.digests);
	head.size = 0;
	assert_int_equal(bpk_frame_end(ctx, &ending, &head, &tail, &l.err), 0);
	memcpy(l.bytes.data, head.data, head.size);
	assert_int_equal(bpk_buf_append(&l.bytes, bpk_buf_view(&tail), NULL), 0);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	bpk_chunk_ctx_free(ctx);
	return l;
}

static int open_large(struct large *l)
{
	const struct bpk_read_options options = { .as_stored = true };

	archive_input_open(&l->input, bpk_buf_view(&l->bytes), ARCHIVE_MEMORY);
	return bpk_frame_reader_ops.open(&l->input.place, &options, &l->reader, &l->err);
}

static const struct bpk_frame_state *state_of(const struct large *l)
{
	return &((const struct bpk_frame_reader *)l->reader)->state;
}

static void close_large(struct large *l)
{
	if (l->reader != NULL)
		bpk_frame_reader_ops.close(l->reader);
	archive_input_close(&l->input);
	bpk_buf_clear(&l->bytes);
	bpk_buf_clear(&l->entries);
	bpk_buf_clear(&l->digests);
}

/* Fetch and check a chunk, and compare its content. */
static int fetch(struct large *l, uint64_t number, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_frame_reader_ops;

	*err = (struct bpk_err){ 0 };
	parcel->number = number;
	parcel->want_size = SIZE_MAX;
	if (ops->fetch(l->reader, parcel, err) != 0 || ops->check(l->reader, parcel, err) != 0)
		return -1;
	if (parcel->packed_size != PACKED ||
	    bpk_get_le64(parcel->packed.data + BPK_CHUNK_EXTENDED_HEADER_SIZE) != number)
		return bpk_fail(err, BPK_BUG, "other bytes came out");
	return 0;
}

static void expect(struct large *l, uint64_t number, enum bpk_kind kind, const char *line)
{
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err;

	if (fetch(l, number, &parcel, &err) != 0 && kind == BPK_OK)
		fail_msg("chunk %d: %s", (int)number, err.text);
	if (err.kind != kind || (kind != BPK_OK && strstr(err.text, line) == NULL))
		fail_msg("chunk %d: '%s', expected '%s'", (int)number, err.text, line);
	bpk_buf_clear(&parcel.packed);
}

/* ---- All is well ---- */

static void *fetch_many(void *arg)
{
	struct large *l = arg;
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err;
	uint64_t number = 1;
	void *result = l;

	for (unsigned i = 0; i < FETCHES; i++) {
		number = (number * 48271 + i) % CHUNKS;
		/* a few neighbours, which are read in advance */
		for (uint64_t next = number; next < CHUNKS && next < number + 20; next++)
			if (fetch(l, next, &parcel, &err) != 0)
				result = NULL;
	}
	bpk_buf_clear(&parcel.packed);
	return result;
}

static void test_any_order_and_threads(void **state)
{
	struct large l = make("crc32");
	pthread_t threads[THREADS];
	void *result;

	(void)state;
	assert_int_equal(open_large(&l), 0);
	assert_non_null(state_of(&l)->entry_pages);
	assert_non_null(state_of(&l)->digest_pages);
	assert_true(state_of(&l)->entries.size == 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fetch_many, &l), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_non_null(result);
	}
	for (uint64_t i = CHUNKS; i > 0; i -= CHUNKS / 100)
		expect(&l, i - 1, BPK_OK, "");
	close_large(&l);
}

/* Digests in an order of bytes, and items that do not divide a page. */
static void test_other_checksums(void **state)
{
	static const char *const names[] = { NULL, "adler32", "sha1" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct large l = make(names[i]);
		struct bpk_buf remarks = { 0 };

		if (open_large(&l) != 0)
			fail_msg("%s", l.err.text);
		assert_true((names[i] != NULL) == (state_of(&l)->digest_pages != NULL));
		expect(&l, CHUNKS - 1, BPK_OK, "");
		expect(&l, ENTRIES_PER_PAGE, BPK_OK, "");
		expect(&l, ENTRIES_PER_PAGE - 1, BPK_OK, "");
		if (bpk_frame_reader_ops.audit(l.reader, frame_take_remark, &remarks, &l.err) != 0)
			fail_msg("%s", l.err.text);
		bpk_buf_clear(&remarks);
		close_large(&l);
	}
}

/* No batch of chunks lies after the one before: a survey then needs all at once. */
static void test_reversed(void **state)
{
	struct bpk_buf remarks = { 0 };
	struct large l;

	(void)state;
	order = REVERSED;
	l = make("crc32");
	assert_int_equal(open_large(&l), 0);
	expect(&l, 1, BPK_OK, "");
	if (bpk_frame_reader_ops.audit(l.reader, frame_take_remark, &remarks, &l.err) != 0)
		fail_msg("%s", l.err.text);
	assert_int_equal(remarks.size, 0);
	bpk_buf_clear(&remarks);
	close_large(&l);
	order = PAIRS;
}

/* A chunk that was written again lies behind all others: only such chunks are kept. */
static void test_moved(void **state)
{
	(void)state;
	for (order = MOVED; order <= SHARED; order++) {
		struct large l = make("crc32");
		struct bpk_frame_survey survey;
		struct bpk_frame_order *found;
		uint64_t nmoved, shared = order == SHARED;
		bool moved;

		assert_int_equal(open_large(&l), 0);
		assert_int_equal(bpk_frame_order_new(state_of(&l), &found, &nmoved, NULL), 0);
		assert_int_equal(nmoved, ALL_MOVED + shared);
		for (uint64_t i = 0; i < CHUNKS; i++) {
			bool is = (i < FIRST && i % STEP < OF_STEP) || (shared && i == STEP / 2);

			assert_int_equal(bpk_frame_order_is_moved(found, i, &moved, NULL), 0);
			assert_int_equal(moved, is);
		}
		bpk_frame_order_free(found);
		assert_int_equal(bpk_frame_survey_here(l.reader, &survey, NULL), 0);
		assert_int_equal(survey.nstored, CHUNKS);
		assert_int_equal(survey.nshared, shared);
		assert_int_equal(survey.noverlaps, 0);
		assert_int_equal(survey.nholes, shared);
		assert_int_equal(survey.hole_size, shared * PACKED);
		assert_int_equal(survey.packed_size, (CHUNKS - shared) * PACKED);
		assert_int_equal(survey.raw_size, CHUNKS * RAW);
		close_large(&l);
	}
	order = PAIRS;
}

/* An index that does not pack is stored, and its pages are places in it. */
static void test_stored_index(void **state)
{
	struct bpk_frame_header header = { .packed_size = UINT64_MAX >> 1 };
	struct bpk_summing sum = { .checksum = bpk_checksum_find("none") };
	struct bpk_buf raw = { 0 }, chunk = { 0 };
	struct bpk_frame_pages *pages;
	struct bpk_chunk_header head;
	struct bpk_source *source;
	uint64_t entry;

	(void)state;
	assert_int_equal(bpk_buf_resize(&raw, (size_t)CHUNKS * 8, NULL), 0);
	for (uint64_t i = 0; i < CHUNKS; i++)
		bpk_put_le64(raw.data + 8 * i, i * 1000);
	bpk_put_le64(raw.data + 8 * (CHUNKS / 2), UINT64_MAX);
	assert_int_equal(bpk_frame_pack_stored(bpk_buf_view(&raw), BPK_FRAME_STORED, &chunk, NULL),
			 0);
	assert_int_equal(bpk_source_of_memory(bpk_buf_view(&chunk), &source, NULL), 0);
	assert_int_equal(bpk_frame_own_chunk(bpk_buf_view(&chunk), &head, NULL), 0);
	assert_int_equal(bpk_frame_pages_of_index(source, 0, &header, &head, &pages, NULL), 0);
	assert_non_null(pages);
	assert_int_equal(bpk_frame_pages_scan(pages, &sum, NULL), 0);
	for (uint64_t i = 0; i < CHUNKS; i += 1021) {
		struct bpk_err err = { 0 };
		bool bad = i / ENTRIES_PER_PAGE == CHUNKS / 2 / ENTRIES_PER_PAGE;
		int rc = bpk_frame_pages_get(pages, 8 * i, bpk_span((uint8_t *)&entry, 8), &err);

		assert_int_equal(rc, bad ? -1 : 0);
		assert_true(bad || entry == i * 1000);
		assert_true(!bad || (err.kind == BPK_CORRUPT &&
				     strstr(err.text, "index entry 150000: ffff") != NULL));
	}
	bpk_frame_pages_free(pages);
	bpk_source_close(source);
	bpk_buf_clear(&raw);
	bpk_buf_clear(&chunk);
}

/* ---- Damage ---- */

static uint8_t *index_of(struct large *l)
{
	return l->bytes.data + BPK_FRAME_LEAST_HEADER + (size_t)CHUNKS * PACKED;
}

/* Without digests, only the chunks whose entries are damaged cannot be read. */
static void test_damaged_block(void **state)
{
	struct large l = make(NULL);
	uint32_t start;

	(void)state;
	start = bpk_get_le32(index_of(&l) + BPK_CHUNK_EXTENDED_HEADER_SIZE + 4 * 60);
	memset(index_of(&l) + start, 0xff, 8);
	if (open_large(&l) != 0)
		fail_msg("%s", l.err.text);
	for (unsigned i = 0; i < 2; i++) {
		expect(&l, 60 * 2048, BPK_CORRUPT, "chunk 122880: index: ");
		expect(&l, 10, BPK_OK, "");
		expect(&l, CHUNKS - 1, BPK_OK, "");
	}
	close_large(&l);
}

/* A digest shows the damage at open. */
static void test_damaged_index_with_digest(void **state)
{
	struct large l = make("crc32");

	(void)state;
	index_of(&l)[5000] ^= 1;
	assert_int_equal(open_large(&l), -1);
	assert_int_equal(l.err.kind, BPK_CORRUPT);
	assert_non_null(strstr(l.err.text, "index: crc32 is "));
	close_large(&l);
}

static void test_damaged_digest(void **state)
{
	struct large l = make("crc32");
	struct bpk_buf remarks = { 0 };

	(void)state;
	l.bytes.data[l.bytes.size - BPK_FRAME_TRAILER_TAIL - 4 * 1000] ^= 1;
	if (open_large(&l) != 0)
		fail_msg("%s", l.err.text);
	expect(&l, CHUNKS - 1000, BPK_CORRUPT, "crc32 is ");
	expect(&l, CHUNKS - 999, BPK_OK, "");
	assert_int_equal(bpk_frame_reader_ops.audit(l.reader, frame_take_remark, &remarks, &l.err),
			 -1);
	assert_non_null(strstr(l.err.text, "trailer: crc32 is "));
	bpk_buf_clear(&remarks);
	close_large(&l);
}

/* Another program overwrites the index after open: its new bytes are never taken for entries. */
static void test_changed_after_open(void **state)
{
	struct large l = make("crc32");
	uint32_t start;

	(void)state;
	start = bpk_get_le32(index_of(&l) + BPK_CHUNK_EXTENDED_HEADER_SIZE + 4 * 60);
	assert_int_equal(open_large(&l), 0);
	index_of(&l)[start + 10] ^= 1;
	expect(&l, 60 * 2048, BPK_FAILED, "changed while it was read");
	index_of(&l)[start + 10] ^= 1;
	expect(&l, 60 * 2048, BPK_OK, "");
	close_large(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order_and_threads),
		cmocka_unit_test(test_other_checksums),
		cmocka_unit_test(test_reversed),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_stored_index),
		cmocka_unit_test(test_damaged_block),
		cmocka_unit_test(test_damaged_index_with_digest),
		cmocka_unit_test(test_damaged_digest),
		cmocka_unit_test(test_changed_after_open),
	};

	return UNIT_RUN(tests);
}
