/*
 * JSON text: cases made by hand, and variants of good text with a known result.
 */
#include "unit/unit.h"

#include <regex.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/text.h"

static struct bpk_view view_of(const char *text)
{
	return bpk_view(text, strlen(text));
}

static enum bpk_kind kind_of(struct bpk_view text)
{
	struct bpk_err err = { 0 };

	return bpk_json_check(text, &err) == 0 ? BPK_OK : err.kind;
}

static void test_good(void **state)
{
	static const char *const good[] = {
		"0",
		"-0",
		" 12 ",
		"1.5e+300",
		"1E-2",
		"1e999",
		"\"\"",
		"true",
		"false",
		"null",
		"[]",
		"{}",
		" [ 1 , 2 ] ",
		"{\"a\":{\"a\":1},\"b\":{\"a\":2}}",
		"NaN",
		"-Infinity",
		"[NaN,Infinity,-Infinity]",
		"\"\\u0000\\ud800\\\"\\/\"",
		"{\"\":0}",
		"\"\xc3\xa9\"",
		"123456789012345678901234567890123456789012345678901234567890.123456789",
		"{\"a\":1,\"\\u0062\":2,\"c\":[{},{},{}]}",
		"\"NaN,\\\"NaN\"",
		"\"\\udc00\\ud800\\ud83d\\ude00\\uDBFF\\ud8ff\"",
		"{\"\\u0000\":1,\"\\ud800\":2,\"\\uD801\":3,\"\\udfff\":4,\"\":5}",
		"\"\\\\ud800\\\\\"",
		"[Infinity ,\tNaN\n]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		if (kind_of(view_of(good[i])) != BPK_OK)
			fail_msg("refused: %s", good[i]);
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"nan",
		"inf",
		"+1",
		"01",
		"1.",
		".5",
		"1e",
		"1e+",
		"-",
		"--1",
		"-NaN",
		"NaN5",
		"5NaN",
		"Infinit",
		"tru",
		"truefalse",
		"1 2",
		"[",
		"]",
		"[1",
		"[1,",
		"[1,]",
		"[,1]",
		"[1 2]",
		"{",
		"}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{a:1}",
		"{1:1}",
		"{\"a\" 1}",
		"{\"a\":1 \"b\":2}",
		"\"",
		"\"\\",
		"\"\\x\"",
		"\"\\u12g4\"",
		"\"\\u12",
		"\"a\nb\"",
		"'a'",
		"\"\xc3\"",
		"\"\xff\"",
		"\"\xed\xa0\x80\"",
		"\"\xc0\x80\"",
		"\xef\xbb\xbf{}",
		"[1}",
		"{\"a\":1,\"a\":2}",
		"{\"a\":1,\"b\":0,\"\\u0061\":2}",
		"[{\"x\":{\"y\":1,\"y\":1}}]",
		"{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
		"{\"\\n\":1,\"\\u000a\":2}",
		"{\"/\":1,\"\\/\":2}",
		"/**/1",
		"NaN.5",
		"NaNNaN",
		"5-Infinity",
		"1e-Infinity",
		"-1NaN",
		"{NaN:1}",
		"\"a\"NaN",
		"00000",
		"-0123456",
		"12345 6",
		"12345true",
		"\"\\ud8zz\"",
		"\"\\ud800\\udczz\"",
		"\"\\ud8\"",
		"\"\\u000\"",
		"{\"\\ud800\":1,\"\\uD800\":2}",
		"{\"\\u0000\":1,\"\\u0000\":2}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (kind_of(view_of(bad[i])) != BPK_CORRUPT)
			fail_msg("not refused: %s", bad[i]);
	assert_int_equal(kind_of(bpk_view("[1,\0]", 6)), BPK_CORRUPT);
	assert_int_equal(kind_of(bpk_view("1\0", 2)), BPK_CORRUPT);
}

static void test_lines(void **state)
{
	struct bpk_err err = { 0 };

	(void)state;
	bpk_json_check(view_of("{\"a\":[1,x]}"), &err);
	assert_string_equal(err.text, "JSON: invalid token before byte 9");
	bpk_json_check(view_of("{\"k\":1,\"k\":1}"), &err);
	assert_string_equal(err.text, "JSON: duplicate object key before byte 10");
}

static void test_limits(void **state)
{
	static char text[300];
	char *big;

	(void)state;
	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	assert_int_equal(kind_of(bpk_view(text, 128)), BPK_OK);
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	assert_int_equal(kind_of(bpk_view(text, 130)), BPK_LIMIT);
	big = malloc(BPK_JSON_MAX_SIZE + 1);
	assert_non_null(big);
	memset(big, ' ', BPK_JSON_MAX_SIZE + 1);
	big[0] = '1';
	assert_int_equal(kind_of(bpk_view(big, BPK_JSON_MAX_SIZE)), BPK_OK);
	assert_int_equal(kind_of(bpk_view(big, BPK_JSON_MAX_SIZE + 1)), BPK_LIMIT);
	free(big);
}

/* Many keys, the last one a duplicate: found, in a short time. */
static void test_duplicate_among_many(void **state)
{
	struct bpk_buf text = { 0 };

	(void)state;
	assert_int_equal(bpk_buf_printf(&text, NULL, "{"), 0);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(bpk_buf_printf(&text, NULL, "\"k%d\":{\"k%d\":0},", i, i), 0);
	assert_int_equal(bpk_buf_printf(&text, NULL, "\"x\":0}"), 0);
	assert_int_equal(kind_of(bpk_buf_view(&text)), BPK_OK);
	text.size -= strlen("\"x\":0}");
	assert_int_equal(bpk_buf_printf(&text, NULL, "\"k4711\":0}"), 0);
	assert_int_equal(kind_of(bpk_buf_view(&text)), BPK_CORRUPT);
	bpk_buf_clear(&text);
}

/* No two adjacent digits: a comma between them would be harmless. */
static const char seed[] = "{\"a\": [1, -2.5e+3, true, false, null, \"x\\n\xc3\xa9\", NaN], "
			   "\"b\": {\"a\": {}, \"c\": []}, \"d\" :\t0, \"[{,\": \":}]\"}";

static void assert_mutant(struct bpk_buf *text, enum bpk_kind kind)
{
	if (kind_of(bpk_buf_view(text)) != kind)
		fail_msg("%s: %.*s", kind == BPK_OK ? "refused" : "not refused", (int)text->size,
			 (char *)text->data);
	text->size = 0;
}

/* The seed with bytes from..to replaced. */
static void mutate(struct bpk_buf *text, size_t from, size_t to, const char *by)
{
	assert_int_equal(bpk_buf_append(text, bpk_view(seed, from), NULL), 0);
	assert_int_equal(bpk_buf_append(text, view_of(by), NULL), 0);
	assert_int_equal(bpk_buf_append(text, view_of(seed + to), NULL), 0);
}

/*
 * Every proper prefix is bad, and so is the text without one of its punctuation marks or with one
 * more; spaces beside a mark are harmless. Inside strings it is the reverse.
 */
static void test_mutants(void **state)
{
	static const char marks[] = "{}[]:,";
	struct bpk_buf text = { 0 };
	bool inside = false;
	char mark[2] = "";

	(void)state;
	for (size_t at = 0; at < strlen(seed); at++) {
		bool inner = (seed[at] & 0xc0) == 0x80 || (at > 0 && seed[at - 1] == '\\');
		bool quote = seed[at] == '"', is_mark = strchr(marks, seed[at]) != NULL;

		assert_int_equal(kind_of(bpk_view(seed, at)), BPK_CORRUPT);
		for (size_t i = 0; i < strlen(marks) && !inner; i++) {
			mark[0] = marks[i];
			mutate(&text, at, at, mark);
			assert_mutant(&text, inside ? BPK_OK : BPK_CORRUPT);
		}
		if (quote || is_mark) {
			mutate(&text, at, at + 1, "");
			assert_mutant(&text, inside && !quote ? BPK_OK : BPK_CORRUPT);
		}
		if (is_mark) {
			mutate(&text, at, at, " \t\r");
			assert_mutant(&text, inside ? BPK_CORRUPT : BPK_OK);
		}
		inside ^= quote;
	}
	mutate(&text, 0, 0, "");
	assert_mutant(&text, BPK_OK);
	bpk_buf_clear(&text);
}

/* All short words of the characters of numbers, against the RFC's grammar as a regular expression;
 * and the same with more digits than any type holds. */
static void test_numbers(void **state)
{
	static const char letters[] = "-+.eE019", grammar[] = "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?"
							      "([eE][+-]?[0-9]+)?$";
	static const unsigned lengths[] = { 1, 8, 64, 512, 4096, 32768 };
	struct bpk_buf stretched = { 0 };
	int good = 0, bad = 0;
	regex_t regex;

	(void)state;
	assert_int_equal(regcomp(&regex, grammar, REG_EXTENDED | REG_NOSUB), 0);
	for (size_t length = 1; length < sizeof lengths / sizeof lengths[0]; length++) {
		for (unsigned number = 0; number < lengths[length]; number++) {
			char word[8] = "";
			bool is_number;

			for (size_t i = 0; i < length; i++)
				word[i] = letters[number / lengths[i] % 8];
			is_number = regexec(&regex, word, 0, NULL, 0) == 0;
			if ((kind_of(view_of(word)) == BPK_OK) != is_number)
				fail_msg("%s: %s", is_number ? "refused" : "not refused", word);
			good += is_number;
			bad += !is_number;
			if (number % 8 != 0)
				continue;
			stretched.size = 0;
			for (size_t i = 0; i < length; i++)
				assert_int_equal(bpk_buf_printf(&stretched, NULL, "%c%s", word[i],
								word[i] == '9' ? "99999999999999999"
										 "99999999999999999"
									       : ""),
						 0);
			if ((kind_of(bpk_buf_view(&stretched)) == BPK_OK) != is_number)
				fail_msg("stretched, %s: %s", is_number ? "refused" : "not refused",
					 word);
		}
	}
	assert_true(good > 1000 && bad > 1000);
	regfree(&regex);
	bpk_buf_clear(&stretched);
}

static size_t peak_memory(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (size_t)usage.ru_maxrss << 10;
}

/* size bytes of repeated piece, in brackets; the last piece may be one byte short. */
static void repeat(struct bpk_buf *text, const char *piece, size_t size)
{
	text->size = 0;
	assert_int_equal(bpk_buf_resize(text, size, NULL), 0);
	for (size_t at = 0; at < size; at++)
		text->data[at] = (uint8_t)piece[at % strlen(piece)];
	text->data[0] = '[';
	text->data[size - 1] = ']';
}

/* Text whose tree is many times its size: small ones pass, large ones stay within the limit. */
static void test_bombs(void **state)
{
	static const char *const pieces[] = { ",{}", ",[]", ",0", ",\"\"", ",[{}]" };
	size_t size = 16 << 20, before = peak_memory();
	struct bpk_buf text = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
		size_t step = strlen(pieces[i]);

		/* the first comma becomes the bracket, so whole pieces and one byte are a text */
		repeat(&text, pieces[i], (256 << 10) / step * step + 1);
		assert_int_equal(kind_of(bpk_buf_view(&text)), BPK_OK);
		repeat(&text, pieces[i], size / step * step + 1);
		assert_int_equal(bpk_json_check(bpk_buf_view(&text), &err), -1);
		assert_int_equal(err.kind, BPK_LIMIT);
		assert_non_null(strstr(err.text, "bytes of memory"));
	}
	/* twice 32 MiB + 8 x text, the text, its copy, and slack; the whole tree would be 1 GiB */
	assert_true(peak_memory() - before < (64 << 20) + 20 * size);
	/* one long string, as value or as key, is no bomb */
	repeat(&text, "x", 60 << 20);
	text.data[0] = text.data[text.size - 1] = '"';
	assert_int_equal(kind_of(bpk_buf_view(&text)), BPK_OK);
	memcpy(text.data, "{\"", 2);
	memcpy(text.data + text.size - 4, "\":1}", 4);
	assert_int_equal(kind_of(bpk_buf_view(&text)), BPK_OK);
	bpk_buf_clear(&text);
}

static void assert_set(const char *text, const char *key, const char *value, const char *result)
{
	struct bpk_buf buf = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_buf_append(&buf, view_of(text), &err), 0);
	if (bpk_json_set(&buf, key, value, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(bpk_buf_printf(&buf, &err, "%c", 0), 0);
	assert_string_equal((char *)buf.data, result);
	bpk_buf_clear(&buf);
}

static void assert_not_set(const char *text, const char *key, const char *value, enum bpk_kind kind)
{
	struct bpk_buf buf = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_buf_append(&buf, view_of(text), &err), 0);
	assert_int_equal(bpk_json_set(&buf, key, value, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_int_equal(buf.size, strlen(text));
	assert_memory_equal(buf.data, text, strlen(text));
	bpk_buf_clear(&buf);
}

static void test_set(void **state)
{
	char deep[2 * BPK_JSON_MAX_DEPTH + 1] = { 0 };

	(void)state;
	assert_set("", "k", "1", "{\"k\": 1}");
	assert_set("{ }", "k", "true", "{\"k\": true }");
	assert_set("{\"a\":NaN }\n", "b", "text", "{\"a\":NaN, \"b\": \"text\" }\n");
	assert_set(" { \"a\" : 1.50 , \"b\":2}", "a", "[1, 2.0]", " { \"a\" : [1, 2.0] , \"b\":2}");
	assert_set("{\"b\":{\"a\":1},\"a\":{\"x\":[]}}", "a", "0", "{\"b\":{\"a\":1},\"a\":0}");
	assert_set("{\"\\u0061\\n\":1}", "a\n", "2", "{\"\\u0061\\n\":2}");
	assert_set("{\"\\ud800\":1,\"\\u0000\":[\"]\\\"}\"] }", "", "2",
		   "{\"\\ud800\":1,\"\\u0000\":[\"]\\\"}\"], \"\": 2 }");
	assert_set("{\"\\u00e9\\ud83d\\ude00\":{\"x\":[1,2]}\n,\"y\":0}",
		   "\xc3\xa9\xf0\x9f\x98\x80", "2", "{\"\\u00e9\\ud83d\\ude00\":2\n,\"y\":0}");
	assert_set("{\"a\":1}", "\\u0061", "2", "{\"a\":1, \"\\\\u0061\": 2}");
	assert_set("{}", "\"q\"\t", "\xc3\xa9\x7f", "{\"\\\"q\\\"\\t\": \"\xc3\xa9\\u007f\"}");
	/* values that only other writers produce are set as text */
	assert_set("{}", "n", "NaN", "{\"n\": \"NaN\"}");
	assert_set("{}", "n", "", "{\"n\": \"\"}");
	assert_set("{}", "n", "{\"a\":1,\"a\":1}", "{\"n\": \"{\\\"a\\\":1,\\\"a\\\":1}\"}");
	assert_not_set("[1]", "a", "1", BPK_USAGE);
	assert_not_set("{\"a\"}", "a", "1", BPK_USAGE);
	assert_not_set("{}", "\xff", "1", BPK_USAGE);
	assert_not_set("{}", "a", "\xff", BPK_USAGE);
	memset(deep, '[', BPK_JSON_MAX_DEPTH);
	memset(deep + BPK_JSON_MAX_DEPTH, ']', BPK_JSON_MAX_DEPTH);
	assert_not_set("{\"b\":1}", "b", deep, BPK_LIMIT);
}

static void assert_removed(const char *text, const char *key, const char *result)
{
	struct bpk_buf buf = { 0 };
	struct bpk_err err = { 0 };
	bool found;

	assert_int_equal(bpk_buf_append(&buf, view_of(text), &err), 0);
	if (bpk_json_remove(&buf, key, &found, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(found, strcmp(text, result) != 0);
	assert_int_equal(buf.size, strlen(result));
	assert_memory_equal(buf.data, result, buf.size);
	bpk_buf_clear(&buf);
}

static void test_remove(void **state)
{
	struct bpk_buf list = { 0 };
	struct bpk_err err = { 0 };
	bool found;

	(void)state;
	assert_removed("{\"a\":1}", "a", "{}");
	assert_removed(" { \"a\" : [1,{\"b\":2}] } ", "a", " {} ");
	assert_removed("{\"a\": 1, \"b\": NaN, \"c\": 3}", "a", "{\"b\": NaN, \"c\": 3}");
	assert_removed("{\"a\": 1, \"b\": NaN, \"c\": 3}", "b", "{\"a\": 1, \"c\": 3}");
	assert_removed("{\"a\": 1, \"b\": NaN, \"c\": 3 }\n", "c", "{\"a\": 1, \"b\": NaN }\n");
	assert_removed("{\"a\": 1 ,\n \"b\": \"}\" }", "b", "{\"a\": 1 }");
	assert_removed("{\"\\u0062\":0,\"x\":{\"b\":1}}", "b", "{\"x\":{\"b\":1}}");
	assert_removed("{\"x\":{\"b\":1}}", "b", "{\"x\":{\"b\":1}}");
	assert_removed("{}", "b", "{}");
	assert_removed("{\"\":0}", "", "{}");
	assert_int_equal(bpk_buf_append(&list, view_of("[\"a\"]"), &err), 0);
	assert_int_equal(bpk_json_remove(&list, "a", &found, &err), -1);
	assert_int_equal(err.kind, BPK_USAGE);
	assert_int_equal(list.size, 5);
	bpk_buf_clear(&list);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *text;
		enum bpk_json_kind kind;
	} rows[] = {
		{ "", BPK_JSON_NONE },      { " \n", BPK_JSON_NONE },     { "null", BPK_JSON_NULL },
		{ "true", BPK_JSON_TRUE },  { " false", BPK_JSON_FALSE }, { "-1", BPK_JSON_NUMBER },
		{ "NaN", BPK_JSON_NUMBER }, { "\"\"", BPK_JSON_STRING },  { "\t[]", BPK_JSON_LIST },
		{ "{ }", BPK_JSON_OBJECT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(bpk_json_kind(view_of(rows[i].text)), rows[i].kind);
}

static void assert_slice(struct bpk_view slice, const char *text)
{
	assert_int_equal(slice.size, strlen(text));
	assert_memory_equal(slice.data, text, slice.size);
}

static void test_members(void **state)
{
	struct bpk_view list = view_of(" [ 1 ,\"a,]\" , [2, [3]],{\"x\":[ ]} ] ");
	struct bpk_view object = view_of("{ \"a\" : 1.50 ,\"\\u0062\\\"\":{\"c\": [1, 2 ]}, "
					 "\"\":null}");
	struct bpk_view key, value;
	size_t at = 0;

	(void)state;
	assert_true(bpk_json_next(list, &at, &key, &value));
	assert_slice(value, "1");
	assert_int_equal(key.size, 0);
	assert_true(bpk_json_next(list, &at, NULL, &value));
	assert_slice(value, "\"a,]\"");
	assert_true(bpk_json_next(list, &at, NULL, &value));
	assert_slice(value, "[2, [3]]");
	assert_true(bpk_json_next(list, &at, NULL, &value));
	assert_slice(value, "{\"x\":[ ]}");
	assert_false(bpk_json_next(list, &at, NULL, &value));
	assert_false(bpk_json_next(list, &at, NULL, &value));

	at = 0;
	assert_true(bpk_json_next(object, &at, &key, &value));
	assert_slice(key, "\"a\"");
	assert_slice(value, "1.50");
	assert_true(bpk_json_next(object, &at, &key, &value));
	assert_slice(key, "\"\\u0062\\\"\"");
	assert_slice(bpk_json_member(object, "b\""), "{\"c\": [1, 2 ]}");
	assert_slice(bpk_json_member(bpk_json_member(object, "b\""), "c"), "[1, 2 ]");
	assert_slice(bpk_json_member(object, ""), "null");
	assert_int_equal(bpk_json_member(object, "c").size, 0);
	assert_int_equal(bpk_json_member(list, "a").size, 0);
	at = 0;
	assert_false(bpk_json_next(view_of("12"), &at, NULL, &value));
	assert_false(bpk_json_next(view_of("{}"), &at, NULL, &value));
}

static void test_integers(void **state)
{
	static const char *const bad[] = { "",
					   "-1",
					   "1.0",
					   "1e3",
					   "9223372036854775808",
					   "NaN",
					   "\"1\"",
					   "[1]",
					   "18446744073709551617" };
	uint64_t number = 1;

	(void)state;
	assert_true(bpk_json_u64(view_of("0"), &number));
	assert_true(number == 0);
	assert_true(bpk_json_u64(view_of("9223372036854775807"), &number));
	assert_true(number == INT64_MAX);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (bpk_json_u64(view_of(bad[i]), &number))
			fail_msg("taken for an integer: %s", bad[i]);
}

static void assert_says(const char *string, const char *text, size_t size)
{
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(kind_of(view_of(string)), BPK_OK);
	assert_int_equal(bpk_json_string(view_of(string), &out, &err), 0);
	assert_int_equal(out.size, size);
	assert_memory_equal(out.data, text, size);
	bpk_buf_clear(&out);
}

static void test_strings(void **state)
{
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_says("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t", 9);
	assert_says("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"",
		    "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10);
	assert_says("\"\\u0000\"", "\0", 1);
	assert_says("\"\\ud800x\\udc00\\ud800\\u0041\"",
		    "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd"
		    "A",
		    11);
	assert_int_equal(bpk_json_string(view_of("12"), &out, &err), -1);
	assert_int_equal(err.kind, BPK_USAGE);
	assert_true(bpk_json_string_is(view_of("\"\\u0041b\""), "Ab"));
	assert_false(bpk_json_string_is(view_of("\"\\u0041b\""), "A"));
	assert_false(bpk_json_string_is(view_of("\"\\u0041\""), "Ab"));
	assert_false(bpk_json_string_is(view_of("\"\\ud800\""), "\xef\xbf\xbd"));
	assert_false(bpk_json_string_is(view_of("\"\\u0000\""), ""));
	assert_false(bpk_json_string_is(view_of("12"), "12"));
	assert_false(bpk_json_string_is(view_of(""), ""));
	bpk_buf_clear(&out);
}

/* Without memory of their own, so that nothing but the text decides. */
static void test_copies(void **state)
{
	static const uint8_t bytes[] = { 0x0a, 0xbc };
	uint8_t out[4] = { 0 };

	(void)state;
	assert_int_equal(bpk_json_string_copy(view_of("\"\\u0041bcd\""), out, 4), 4);
	assert_memory_equal(out, "Abcd", 4);
	assert_true(bpk_json_string_copy(view_of("\"\\u0041bcd\""), out, 3) == SIZE_MAX);
	assert_true(bpk_json_string_copy(view_of("12"), out, 4) == SIZE_MAX);
	assert_int_equal(bpk_json_string_copy(view_of("\"\""), out, 0), 0);
	assert_true(bpk_hex_fill(view_of("0aBC"), out, 2));
	assert_memory_equal(out, bytes, 2);
	assert_false(bpk_hex_fill(view_of("0aBC"), out, 3));
	assert_false(bpk_hex_fill(view_of("0aBC0"), out, 2));
	assert_false(bpk_hex_fill(view_of("0aBx"), out, 2));
}

static void test_put(void **state)
{
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(
		bpk_json_put_string(&out, bpk_view("a\"\\\n\0\x1b\xc2\x9b\xc2\xa0", 10), &err), 0);
	assert_int_equal(out.size, strlen("\"a\\\"\\\\\\n\\u0000\\u001b\\u009b\xc2\xa0\""));
	assert_memory_equal(out.data, "\"a\\\"\\\\\\n\\u0000\\u001b\\u009b\xc2\xa0\"", out.size);
	out.size = 0;
	assert_int_equal(bpk_json_put_string(&out, bpk_view(NULL, 0), &err), 0);
	assert_int_equal(out.size, 2);
	out.size = 0;
	for (size_t size = 0; size <= 6; size++)
		assert_int_equal(bpk_base64_put(&out, bpk_view("foobar", size), &err), 0);
	/* RFC 4648, section 10 */
	assert_int_equal(out.size, strlen("Zg==Zm8=Zm9vZm9vYg==Zm9vYmE=Zm9vYmFy"));
	assert_memory_equal(out.data, "Zg==Zm8=Zm9vZm9vYg==Zm9vYmE=Zm9vYmFy", out.size);
	bpk_buf_clear(&out);
}

static void test_utf8(void **state)
{
	(void)state;
	assert_true(bpk_utf8_valid(bpk_view(NULL, 0)));
	assert_true(
		bpk_utf8_valid(view_of("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf")));
	assert_false(bpk_utf8_valid(bpk_view("a\0b", 3)));
	assert_false(bpk_utf8_valid(view_of("\x80")));
	assert_false(bpk_utf8_valid(view_of("\xc1\xbf")));
	assert_false(bpk_utf8_valid(view_of("\xe0\x9f\xbf")));
	assert_false(bpk_utf8_valid(view_of("\xf0\x8f\xbf\xbf")));
	assert_false(bpk_utf8_valid(view_of("\xf4\x90\x80\x80")));
	assert_false(bpk_utf8_valid(view_of("\xe2\x82")));
	assert_false(bpk_utf8_valid(view_of("\xf0\x9f\x98"
					    "a")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_duplicate_among_many),
		cmocka_unit_test(test_mutants),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_utf8),
	};

	return UNIT_RUN(tests);
}
