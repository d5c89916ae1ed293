/*
 * io/remote: the body of an answer to several ranges, however it arrives, and whatever a server
 * writes there. A range is whole only with its own bytes, and none is written outside.
 */
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/remote/multipart.h"

enum { TOTAL = 1000, RANGES = 3, GUARD = 8 };

/* The ranges asked for: 10-19, 20-24 and 100-139, of a file whose byte n is n % 251. */
static const struct {
	size_t offset, size;
} asked[RANGES] = { { 10, 10 }, { 20, 5 }, { 100, 40 } };

struct fixture {
	struct bpk_multipart body;
	uint8_t bytes[RANGES][GUARD + 40 + GUARD];
};

/* ---- bodies ---- */

static void add(struct bpk_buf *text, const char *line)
{
	assert_int_equal(bpk_buf_append(text, bpk_view(line, strlen(line)), NULL), 0);
}

/* Append the bytes first to last of the file. */
static void add_content(struct bpk_buf *text, size_t first, size_t last)
{
	for (size_t i = first; i <= last; i++) {
		uint8_t byte = (uint8_t)(i % 251);

		assert_int_equal(bpk_buf_append(text, bpk_view(&byte, 1), NULL), 0);
	}
}

/* The body that script describes: "$10-19" stands for these bytes of the file, "#300" for as many
 * letters, "|" for CR LF. */
static struct bpk_buf body_of(const char *script)
{
	struct bpk_buf text = { 0 };

	while (*script != '\0') {
		char letter[2] = { *script, '\0' };
		size_t first = 0, last = 0;
		int used = 0;

		if (sscanf(script, "$%zu-%zu%n", &first, &last, &used) == 2) {
			add_content(&text, first, last);
			script += used;
		} else if (sscanf(script, "#%zu%n", &last, &used) == 1) {
			for (size_t i = 0; i < last; i++)
				add(&text, "x");
			script += used;
		} else {
			add(&text, *script == '|' ? "\r\n" : letter);
			script++;
		}
	}
	return text;
}

/* ---- answers ---- */

static struct fixture *begin(const char *type, bool *is_good)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct bpk_answer answer = { 0 };

	assert_non_null(f);
	bpk_answer_take(&answer, bpk_view("HTTP/1.1 206 x", 14));
	bpk_answer_take(&answer, bpk_view(type, strlen(type)));
	f->body.total = TOTAL;
	f->body.count = RANGES;
	for (size_t i = 0; i < RANGES; i++)
		f->body.ranges[i] =
			(struct bpk_multipart_range){ .offset = asked[i].offset,
						      .out = bpk_span(f->bytes[i] + GUARD,
								      asked[i].size) };
	*is_good = bpk_multipart_begin(&f->body, &answer);
	return f;
}

/* Check the memory: nothing outside of the ranges, and whole ones have the bytes of the file.
 * Returns the whole ones, a bit each. */
static unsigned look_at(const struct fixture *f)
{
	unsigned whole = 0;

	for (size_t i = 0; i < RANGES; i++) {
		for (size_t k = 0; k < sizeof f->bytes[i]; k++)
			if (k < GUARD || k >= GUARD + asked[i].size)
				assert_int_equal(f->bytes[i][k], 0);
		if (!f->body.ranges[i].is_whole)
			continue;
		whole |= 1u << i;
		for (size_t k = 0; k < asked[i].size; k++)
			assert_int_equal(f->bytes[i][GUARD + k], (asked[i].offset + k) % 251);
	}
	return whole;
}

/* Feed the body in pieces: the first one, and then others of step bytes. Returns the ranges that
 * are whole; all bits if the answer is wrong. */
static unsigned feed(const char *type, struct bpk_view body, size_t first, size_t step)
{
	bool is_good;
	struct fixture *f = begin(type, &is_good);
	unsigned whole;

	for (size_t size = first; is_good && body.size > 0; size = step) {
		size = bpk_min_size(size, body.size);
		is_good = size == 0 || bpk_multipart_take(&f->body, bpk_view(body.data, size));
		body = bpk_view(body.data + size, body.size - size);
	}
	whole = look_at(f);
	if (!is_good) {
		assert_int_equal(whole, 0);
		assert_false(bpk_multipart_take(&f->body, bpk_view("x", 1)));
	}
	free(f);
	return is_good ? whole : ~0u;
}

/* ---- tests ---- */

#define MULTIPART   "Content-Type: multipart/byteranges; boundary=B"
#define HEAD(range) "|--B|Content-Range: bytes " range "/1000||"
#define FIRST       HEAD("10-19") "$10-19"
#define SECOND      HEAD("20-24") "$20-24"
#define THIRD       HEAD("100-139") "$100-139"
#define END         "|--B--|"

enum { NONE = 0, ALL = 7, WRONG = ~0u };

static const struct row {
	const char *type, *script;
	unsigned whole;
} rows[] = {
	{ MULTIPART, FIRST SECOND THIRD END, ALL },
	{ MULTIPART, THIRD FIRST SECOND END, ALL },
	{ MULTIPART, FIRST SECOND THIRD "|--B--", ALL },
	{ MULTIPART, FIRST SECOND THIRD "|--B-- |and so on|--B|#900", ALL },
	/* put together by the server, with what lies between */
	{ MULTIPART, HEAD("10-24") "$10-24" THIRD END, ALL },
	{ MULTIPART, HEAD("10-139") "$10-139" END, ALL },
	/* a preamble, and heads as they may be */
	{ MULTIPART, "hello|--Bx|-- B|--|" FIRST SECOND THIRD END, ALL },
	{ MULTIPART,
	  "--B \t|CONTENT-range:bytes 10-19/1000 |X: y|Content-Length: 3||$10-19" SECOND THIRD END,
	  ALL },
	{ MULTIPART, "\n--B\nContent-Range: bytes 10-19/1000\n\n$10-19\n--B--\n", 1 },
	{ "Content-type:  Multipart/ByteRanges ; x=y;BOUNDARY=\"a b:\" ; z",
	  "|--a b:|Content-Range: bytes 20-24/1000||$20-24|--a b:--", 2 },
	/* not all of them */
	{ MULTIPART, "", NONE },
	{ MULTIPART, END, NONE },
	{ MULTIPART, FIRST END, 1 },
	{ MULTIPART, FIRST "|--B|", 1 },
	{ MULTIPART, FIRST "|", NONE },
	{ MULTIPART, FIRST "|--B", NONE },
	{ MULTIPART, FIRST SECOND HEAD("100-139") "$100-138", 3 },
	{ MULTIPART, FIRST SECOND "|--B|Content-Ra", 3 },
	{ MULTIPART, "|--C|Content-Range: bytes 10-19/1000||$10-19|--C--", NONE },
	/* one range */
	{ "Content-Range: bytes 100-139/1000", "$100-139", 4 },
	{ "Content-Range: bytes 10-24/1000", "$10-24", 3 },
	{ "Content-Range: bytes 10-139/1000", "$10-139", ALL },
	{ "Content-Range: bytes 10-139/1000", "$10-138", NONE },
	{ "Content-Range: bytes 10-139/1000", "$10-140", WRONG },
	{ "Content-Range: bytes 10-139/1001", "$10-139", WRONG },
	{ "Content-Range: bytes 10-139/*", "$10-139", WRONG },
	{ "Content-Range: bytes 0-139/1000", "$0-139", WRONG },
	{ "Content-Range: bytes 10-999/1000", "$10-999", WRONG },
	{ "Content-Range: bytes 10-18/1000", "$10-18", WRONG },
	{ "Content-Range: bytes */1000", "", WRONG },
	{ "X: y", "hello", WRONG },
	/* heads of answers */
	{ "Content-Type: multipart/byteranges", FIRST END, WRONG },
	{ "Content-Type: multipart/byteranges; boundary=", FIRST END, WRONG },
	{ "Content-Type: multipart/byteranges; boundary=\"B", FIRST END, WRONG },
	{ "Content-Type: multipart/byteranges; boundary=\"B \"", FIRST END, WRONG },
	{ "Content-Type: multipart/byteranges; boundary=B\"", FIRST END, WRONG },
	{ "Content-Type: multipart/byteranges; boundary=B*", FIRST END, WRONG },
	{ "Content-Type: multipart/byterangesx; boundary=B", FIRST END, WRONG },
	{ "Content-Type: multipart/mixed; boundary=B", FIRST END, WRONG },
	{ "Content-Type: multipart/byteranges; boundary="
	  "1234567890123456789012345678901234567890123456789012345678901234567890",
	  END, NONE },
	{ "Content-Type: multipart/byteranges; boundary="
	  "12345678901234567890123456789012345678901234567890123456789012345678901",
	  END, WRONG },
	/* wrong parts */
	{ MULTIPART, FIRST FIRST END, WRONG },
	{ MULTIPART, FIRST HEAD("10-24") "$10-24" END, WRONG },
	{ MULTIPART, HEAD("10-24") "$10-24" SECOND END, WRONG },
	{ MULTIPART, FIRST HEAD("19-24") "$19-24" END, WRONG },
	{ MULTIPART, FIRST HEAD("21-24") "$21-24" END, WRONG },
	{ MULTIPART, FIRST HEAD("20-25") "$20-25" END, WRONG },
	{ MULTIPART, FIRST HEAD("20-23") "$20-23" END, WRONG },
	{ MULTIPART, FIRST HEAD("500-509") "$500-509" END, WRONG },
	{ MULTIPART, FIRST HEAD("0-999") "$0-999" END, WRONG },
	{ MULTIPART, FIRST HEAD("24-20") "$20-24" END, WRONG },
	{ MULTIPART, FIRST HEAD("20-") "$20-24" END, WRONG },
	{ MULTIPART, FIRST HEAD("20-99999999999999999999") "$20-24" END, WRONG },
	{ MULTIPART, FIRST HEAD("20-18446744073709551614") "$20-24" END, WRONG },
	{ MULTIPART, FIRST "|--B|Content-Range: bytes 20-24/999||$20-24" END, WRONG },
	{ MULTIPART, FIRST "|--B|Content-Range: bytes 20-24/*||$20-24" END, WRONG },
	{ MULTIPART, FIRST "|--B|Content-Type: a||$20-24" END, WRONG },
	{ MULTIPART, FIRST "|--B||$20-24" END, WRONG },
	{ MULTIPART,
	  FIRST "|--B|Content-Encoding: gzip|Content-Range: bytes 20-24/1000||$20-24" END, WRONG },
	/* contents that are no more and no less than their heads say */
	{ MULTIPART, HEAD("10-19") "$10-20" END, WRONG },
	{ MULTIPART, HEAD("10-19") "$10-18" END "#20", WRONG },
	{ MULTIPART, HEAD("10-19") "$10-19--B|", WRONG },
	{ MULTIPART, HEAD("10-19") "$10-19||--B|", WRONG },
	{ MULTIPART, FIRST "|--Bx|", WRONG },
	{ MULTIPART, FIRST "|x|", WRONG },
	/* without an end */
	{ MULTIPART, "#2000", WRONG },
	{ MULTIPART, "#900|#900|#900|#900|#900|" FIRST END, WRONG },
	{ MULTIPART, "#900|#900|#900|" FIRST SECOND THIRD END "#900|#900|#900", ALL },
	{ MULTIPART, FIRST END "#5000", WRONG },
	{ MULTIPART, FIRST "|--B|#2000", WRONG },
	{ MULTIPART, FIRST "|--B|#900|#900|#900|#900|#900|", WRONG },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct bpk_buf text = body_of(rows[i].script);
		struct bpk_view body = bpk_buf_view(&text);

		print_message("# %s: %.100s\n", rows[i].type, rows[i].script);
		assert_int_equal(feed(rows[i].type, body, body.size, 1), rows[i].whole);
		assert_int_equal(feed(rows[i].type, body, 1, 1), rows[i].whole);
		assert_int_equal(feed(rows[i].type, body, 3, 7), rows[i].whole);
		for (size_t split = 0; split < body.size; split++)
			assert_int_equal(feed(rows[i].type, body, split, SIZE_MAX), rows[i].whole);
		bpk_buf_clear(&text);
	}
}

/* Every body that breaks off, and every byte of a good one changed: whole ranges have their bytes,
 * unless one of these was changed itself. */
static void test_cut_and_changed(void **state)
{
	struct bpk_buf text = body_of(THIRD FIRST SECOND END);
	struct bpk_view body = bpk_buf_view(&text);

	(void)state;
	for (size_t size = 0; size < body.size; size++)
		(void)feed(MULTIPART, bpk_view(body.data, size), size, 1);
	for (size_t i = 0; i < body.size; i++) {
		uint8_t kept = text.data[i];

		for (const char *c = "\n\r-B0129 :/x"; *c != '\0'; c++) {
			bool is_good;
			struct fixture *f = begin(MULTIPART, &is_good);

			text.data[i] = (uint8_t)*c;
			assert_true(is_good);
			(void)bpk_multipart_take(&f->body, body);
			for (size_t k = 0; k < RANGES; k++) {
				for (size_t n = 0; n < GUARD; n++)
					assert_int_equal(f->bytes[k][n], 0);
				for (size_t n = GUARD + asked[k].size; n < sizeof f->bytes[k]; n++)
					assert_int_equal(f->bytes[k][n], 0);
			}
			free(f);
		}
		text.data[i] = kept;
	}
	bpk_buf_clear(&text);
}

/* True if a body of that script breaks off. */
static bool is_cut(const char *type, const char *script)
{
	struct bpk_buf text = body_of(script);
	bool is_good, is_cut;
	struct fixture *f = begin(type, &is_good);

	if (is_good && text.size > 0)
		(void)bpk_multipart_take(&f->body, bpk_buf_view(&text));
	is_cut = bpk_multipart_is_cut(&f->body);
	bpk_buf_clear(&text);
	free(f);
	return is_cut;
}

static void test_is_cut(void **state)
{
	(void)state;
	assert_false(is_cut(MULTIPART, ""));
	assert_false(is_cut(MULTIPART, "|--"));
	assert_true(is_cut(MULTIPART, "|--B|"));
	assert_true(is_cut(MULTIPART, HEAD("10-19")));
	assert_true(is_cut(MULTIPART, HEAD("10-19") "$10-18"));
	assert_true(is_cut(MULTIPART, FIRST));
	assert_true(is_cut(MULTIPART, FIRST "|--B-"));
	assert_false(is_cut(MULTIPART, FIRST "|--B--"));
	assert_false(is_cut(MULTIPART, FIRST FIRST));
	assert_false(is_cut("Content-Range: bytes 10-19/1000", "$10-19"));
	assert_true(is_cut("Content-Range: bytes 10-19/1000", "$10-18"));
	assert_true(is_cut("Content-Range: bytes 10-19/1000", ""));
}

/* The bytes of a range whose memory is gone are passed over. */
static void test_no_memory(void **state)
{
	struct bpk_buf text = body_of(FIRST HEAD("20-139") "$20-139" END);
	struct bpk_view body = bpk_buf_view(&text);

	(void)state;
	for (size_t split = 0; split < body.size; split++) {
		bool is_good;
		struct fixture *f = begin(MULTIPART, &is_good);
		uint8_t before[sizeof f->bytes[1]];

		assert_true(split == 0 || bpk_multipart_take(&f->body, bpk_view(body.data, split)));
		f->body.ranges[1].out.data = NULL;
		memcpy(before, f->bytes[1], sizeof before);
		assert_true(bpk_multipart_take(&f->body,
					       bpk_view(body.data + split, body.size - split)));
		assert_memory_equal(before, f->bytes[1], sizeof before);
		assert_true(f->body.ranges[0].is_whole && f->body.ranges[2].is_whole);
		assert_int_equal(f->bytes[2][GUARD + 39], 139);
		free(f);
	}
	bpk_buf_clear(&text);
}

/* Gaps are bounded in the whole answer. */
static void test_gaps(void **state)
{
	static const uint64_t gaps[] = { BPK_MULTIPART_GAPS, BPK_MULTIPART_GAPS + 1 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bpk_multipart body = { .total = 1 << 20, .count = 2 };
		struct bpk_answer answer = { .status = 206, .has_range = true, .total = 1 << 20 };
		uint8_t bytes[2];

		body.ranges[0] = (struct bpk_multipart_range){ .out = bpk_span(bytes, 1) };
		body.ranges[1] = (struct bpk_multipart_range){ .offset = 1 + gaps[i],
							       .out = bpk_span(bytes + 1, 1) };
		answer.size = gaps[i] + 2;
		assert_int_equal(bpk_multipart_begin(&body, &answer), i == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_cut_and_changed),
		cmocka_unit_test(test_is_cut), cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_gaps),
	};

	return UNIT_RUN(tests);
}
