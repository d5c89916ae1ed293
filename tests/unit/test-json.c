/*
 * JSON text against hand-made cases, and against jansson as an oracle where both mean the same.
 */
#include "unit/unit.h"

#include <jansson.h>
#include <stdio.h>

#include "base/json.h"

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
	assert_string_equal(err.text, "JSON: expected a value at byte 8");
	bpk_json_check(view_of("{\"k\":1,\"k\":1}"), &err);
	assert_string_equal(err.text, "JSON: key \"k\" at byte 8 comes twice");
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

/* Many keys, the last a duplicate of one among them: found, and in no more than a moment. */
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

/* Where jansson and we differ on purpose: what it is asked about must have none of that. */
static bool comparable(struct bpk_view text)
{
	for (size_t i = 0; i + 1 < text.size; i++)
		if (memcmp(text.data + i, "\\u", 2) == 0 || memcmp(text.data + i, "Na", 2) == 0 ||
		    memcmp(text.data + i, "In", 2) == 0)
			return false;
	return true;
}

static void test_agrees_with_jansson(void **state)
{
	static const char seed[] = "{\"a\": [1, -2.5e+3, true, false, null, \"x\\n\xc3\xa9\"], "
				   "\"b\": {\"a\": {}, \"c\": []}, \"d\" :\t0}";
	static const char bytes[] = "{}[]\",:0123.eE+-\\ntabcd \t\xc3\xa9";
	struct unit_random random = { 5 };
	int agreed_good = 0, agreed_bad = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char text[sizeof seed];
		size_t size = sizeof seed - 1;
		json_t *tree;
		bool theirs;

		memcpy(text, seed, sizeof seed);
		for (uint32_t n = unit_random_next(&random) % 3 + 1; n > 0; n--) {
			size_t at = unit_random_next(&random) % size;

			if (unit_random_next(&random) % 3 == 0)
				memmove(text + at, text + at + 1, size-- - at);
			else
				text[at] = bytes[unit_random_next(&random) % (sizeof bytes - 1)];
		}
		if (!comparable(bpk_view(text, size)))
			continue;
		tree = json_loadb(text, size,
				  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		theirs = tree != NULL;
		json_decref(tree);
		if (theirs != (kind_of(bpk_view(text, size)) == BPK_OK))
			fail_msg("jansson %s: %.*s", theirs ? "accepts" : "refuses", (int)size,
				 text);
		agreed_good += theirs;
		agreed_bad += !theirs;
	}
	assert_true(agreed_good > 1000 && agreed_bad > 1000);
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
	assert_set("{\"a\":1}", "\\u0061", "2", "{\"a\":1, \"\\\\u0061\": 2}");
	assert_set("{}", "\"q\"\t", "\xc3\xa9\x7f", "{\"\\\"q\\\"\\t\": \"\xc3\xa9\\u007f\"}");
	/* what only other writers may leave there is written as text */
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
		cmocka_unit_test(test_agrees_with_jansson),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_utf8),
	};

	return UNIT_RUN(tests);
}
