/*
 * msgpack as JSON text and back, and JSON numbers.
 */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"

static void take_hex(struct bpk_buf *out, const char *hex)
{
	struct bpk_err err = { 0 };

	if (bpk_hex_take(bpk_view(hex, strlen(hex)), out, &err) != 0)
		fail_msg("%s", err.text);
}

/* Print and compare; an empty text means failure of this kind. */
static void prints(const char *hex, const char *text, enum bpk_kind kind)
{
	struct bpk_buf bytes = { 0 }, json = { 0 };
	struct bpk_err err = { 0 };
	int rc;

	take_hex(&bytes, hex);
	rc = bpk_msgpack_print(bpk_buf_view(&bytes), &json, &err);
	if (rc != (kind == BPK_OK ? 0 : -1) || err.kind != kind)
		fail_msg("%s: kind %d: %s", hex, err.kind, err.text);
	if (json.size != strlen(text) || (json.size > 0 && memcmp(json.data, text, json.size) != 0))
		fail_msg("%s: %.*s, expected %s", hex, (int)json.size, (const char *)json.data,
			 text);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&json);
}

/* ---- In pieces ---- */

enum { MOST_PIECE = 64 << 10 };

static int collect(void *arg, struct bpk_view piece, struct bpk_err *err)
{
	assert_true(piece.size <= MOST_PIECE);
	assert_true(bpk_utf8_valid(piece));
	return bpk_buf_append(arg, piece, err);
}

/* The pieces together are the whole text, of the size that is told before. */
static void streams(struct bpk_view bytes)
{
	struct bpk_buf whole = { 0 }, pieces = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_msgpack_text text;

	assert_int_equal(bpk_msgpack_print_any(bytes, &whole, &err), 0);
	assert_int_equal(bpk_msgpack_stream_any(bytes, collect, &pieces, &err), 0);
	assert_int_equal(bpk_msgpack_measure(bytes, &text, &err), 0);
	assert_true(text.most >= whole.size);
	assert_int_equal(pieces.size, whole.size);
	assert_memory_equal(pieces.data, whole.data, whole.size);
	assert_int_equal(bpk_json_check(bpk_buf_view(&whole), &err), 0);
	bpk_buf_clear(&whole);
	bpk_buf_clear(&pieces);
}

/* size bytes of a value behind a head; pattern again and again. */
static void streams_many(const char *head, const char *pattern, size_t size)
{
	struct bpk_buf bytes = { 0 };

	take_hex(&bytes, head);
	for (int shift = 24; shift >= 0; shift -= 8)
		bytes.data[bytes.size - 4 + (size_t)(24 - shift) / 8] = (uint8_t)(size >> shift);
	size += bytes.size;
	while (bytes.size < size)
		take_hex(&bytes, pattern);
	bytes.size = size;
	streams(bpk_buf_view(&bytes));
	bpk_buf_clear(&bytes);
}

static void test_pieces(void **state)
{
	(void)state;
	for (size_t size = 8190; size <= 8194; size++) {
		streams_many("db00000000", "01", size); /* escapes */
		streams_many("db00000000", "61c2856b",
			     size & ~3u); /* one of a character of two bytes */
		streams_many("db00000000", "61f09f8c8d6b", size / 6 * 6);
		streams_many("db00000000", "61ff", size); /* no text */
		streams_many("c600000000", "00", size);
		streams_many("dd00000000", "c2", size);
		streams_many("dd00000000", "c1", size); /* not msgpack */
	}
	streams_many("dd00000000", "c2", 1 << 20);
	streams(bpk_view("\xc1", 1));
	streams(bpk_view("\x01", 1));
}

static void parses(const char *text, const char *hex, enum bpk_kind kind)
{
	struct bpk_buf bytes = { 0 }, found = { 0 };
	struct bpk_err err = { 0 };
	int rc = bpk_msgpack_parse(bpk_view(text, strlen(text)), &bytes, &err);

	if (rc != (kind == BPK_OK ? 0 : -1) || err.kind != kind)
		fail_msg("%s: kind %d: %s", text, err.kind, err.text);
	assert_int_equal(bpk_hex_put(&found, bpk_buf_view(&bytes), &err), 0);
	if (found.size != strlen(hex) ||
	    (found.size > 0 && memcmp(found.data, hex, found.size) != 0))
		fail_msg("%s: %.*s, expected %s", text, (int)found.size, (const char *)found.data,
			 hex);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&found);
}

/* Parse and print: hex is the shortest form. */
static void both(const char *hex, const char *text)
{
	prints(hex, text, BPK_OK);
	parses(text, hex, BPK_OK);
}

static void test_scalars(void **state)
{
	(void)state;
	both("c0", "null");
	both("c2", "false");
	both("c3", "true");
	both("00", "0");
	both("7f", "127");
	both("cc80", "128");
	both("ccff", "255");
	both("cd0100", "256");
	both("cdffff", "65535");
	both("ce00010000", "65536");
	both("ceffffffff", "4294967295");
	both("cf0000000100000000", "4294967296");
	both("cfffffffffffffffff", "18446744073709551615");
	both("ff", "-1");
	both("e0", "-32");
	both("d0df", "-33");
	both("d080", "-128");
	both("d1ff7f", "-129");
	both("d18000", "-32768");
	both("d2ffff7fff", "-32769");
	both("d280000000", "-2147483648");
	both("d3ffffffff7fffffff", "-2147483649");
	both("d38000000000000000", "-9223372036854775808");
	both("a0", "\"\"");
	both("a26869", "\"hi\"");
	both("a3c3a909", "\"\xc3\xa9\\t\"");
	both("d920"
	     "6161616161616161616161616161616161616161616161616161616161616161",
	     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"");
	prints("cc05", "5", BPK_OK);
	prints("d005", "5", BPK_OK);
	prints("d30000000000000005", "5", BPK_OK);
	prints("d9026869", "\"hi\"", BPK_OK);
	prints("db000000026869", "\"hi\"", BPK_OK);
	parses(" \n 5 ", "05", BPK_OK);
	parses("\"\\u00e9\\/\\ud83d\\ude00\"", "a7c3a92ff09f9880", BPK_OK);
}

static void test_floats(void **state)
{
	(void)state;
	both("cb3ff0000000000000", "1.0");
	both("cbbff8000000000000", "-1.5");
	both("cb8000000000000000", "-0.0");
	both("cb3fb999999999999a", "0.1");
	both("cb7e37e43c8800759c", "1e+300");
	both("cb0000000000000001", "5e-324");
	both("cb7fefffffffffffff", "1.7976931348623157e+308");
	both("cb44b52d02c7e14af6", "1e+23");
	both("cb7ff8000000000000", "NaN");
	both("cb7ff0000000000000", "Infinity");
	both("cbfff0000000000000", "-Infinity");
	prints("ca3fc00000", "1.5", BPK_OK);
	prints("ca3dcccccd", "0.10000000149011612", BPK_OK);
	prints("ca7fc00000", "NaN", BPK_OK);
	parses("0.10", "cb3fb999999999999a", BPK_OK);
	parses("1E0", "cb3ff0000000000000", BPK_OK);
	parses("-0", "cb8000000000000000", BPK_OK);
	parses("10000000000000000000000e1", "cb44b52d02c7e14af6", BPK_OK);
	parses("0.000e99", "cb0000000000000000", BPK_OK);
}

/* Numbers that no other form holds keep their digits. */
static void test_digits(void **state)
{
	(void)state;
	both("c71564"
	     "313233343536373839303132333435363738393031",
	     "123456789012345678901");
	both("c71464"
	     "3138343436373434303733373039353531363136",
	     "18446744073709551616");
	both("c70564"
	     "3165343030",
	     "1e400");
	both("c71464"
	     "302e313030303030303030303030303030303031",
	     "0.100000000000000001");
	both("c70564"
	     "3165393939",
	     "1e999");
	/* invalid digits, and digits that another form holds */
	prints("d46435", "{\"$ext\": 100, \"$bin\": \"35\"}", BPK_OK);
	prints("c70464"
	       "312e3530",
	       "{\"$ext\": 100, \"$bin\": \"312e3530\"}", BPK_OK);
	prints("c70664"
	       "316534303020",
	       "{\"$ext\": 100, \"$bin\": \"316534303020\"}", BPK_OK);
	prints("c70664"
	       "303165343030",
	       "{\"$ext\": 100, \"$bin\": \"303165343030\"}", BPK_OK);
	prints("c70064", "{\"$ext\": 100, \"$bin\": \"\"}", BPK_OK);
}

static void test_containers(void **state)
{
	(void)state;
	both("90", "[]");
	both("80", "{}");
	both("93010203", "[1, 2, 3]");
	both("82a16101a16292c0c3", "{\"a\": 1, \"b\": [null, true]}");
	both("dc001000000000000000000000000000000000",
	     "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]");
	prints("dd0000000101", "[1]", BPK_OK);
	prints("df00000001a16101", "{\"a\": 1}", BPK_OK);
	parses("{ \"a\" : 1 , \"b\":[null,true] }", "82a16101a16292c0c3", BPK_OK);
}

static void test_forms(void **state)
{
	(void)state;
	both("c40200ff", "{\"$bin\": \"00ff\"}");
	both("c400", "{\"$bin\": \"\"}");
	both("a2ff41", "{\"$str\": \"ff41\"}");
	both("a100", "{\"$str\": \"00\"}");
	both("d4ff07", "{\"$ext\": -1, \"$bin\": \"07\"}");
	both("d8050102030405060708090a0b0c0d0e0f10",
	     "{\"$ext\": 5, \"$bin\": \"0102030405060708090a0b0c0d0e0f10\"}");
	both("c7030501"
	     "0203",
	     "{\"$ext\": 5, \"$bin\": \"010203\"}");
	both("810102", "{\"$map\": [[1, 2]]}");
	both("82a16101a16102", "{\"$map\": [[\"a\", 1], [\"a\", 2]]}");
	both("81a1ff01", "{\"$map\": [[{\"$str\": \"ff\"}, 1]]}");
	/* keys that resemble ours */
	both("81a424626966"
	     "01",
	     "{\"$map\": [[\"$bif\", 1]]}");
	both("81a42462696ea23030", "{\"$map\": [[\"$bin\", \"00\"]]}");
	/* an object that only resembles a form is a map */
	parses("{\"$bin\": \"0\"}", "81a42462696ea130", BPK_OK);
	parses("{\"$bin\": \"0g\"}", "81a42462696ea23067", BPK_OK);
	parses("{\"$bin\": 5}", "81a42462696e05", BPK_OK);
	parses("{\"$ext\": 128, \"$bin\": \"\"}", "82a424657874cc80a42462696ea0", BPK_OK);
	parses("{\"$ext\": 1.0, \"$bin\": \"\"}", "82a424657874cb3ff0000000000000a42462696ea0",
	       BPK_OK);
	parses("{\"$map\": [[1]]}",
	       "81a4246d61709191"
	       "01",
	       BPK_OK);
	parses("{\"$map\": []}", "80", BPK_OK);
	parses("{\"$bin\": \"AB\"}", "c401ab", BPK_OK);
}

static void test_broken(void **state)
{
	static const char *const broken[] = {
		"",       "c1",           "cc",         "cd00",     "ca000000", "a5616263",
		"c4ff00", "c6ffffffff00", "91",         "9201",     "81a161",   "ddffffffff",
		"0101",   "d4",           "dfffffffff", "c7ff0000", "8101",     "91c1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		prints(broken[i], "", BPK_CORRUPT);
	parses("", "", BPK_USAGE);
	parses("[1", "", BPK_USAGE);
	parses("{\"a\": 1, \"a\": 2}", "", BPK_USAGE);
	parses("nope", "", BPK_USAGE);
	parses("1 2", "", BPK_USAGE);
}

static void test_depth(void **state)
{
	struct bpk_buf bytes = { 0 }, json = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_buf_resize(&bytes, 1000001, &err), 0);
	memset(bytes.data, 0x91, bytes.size);
	bytes.data[BPK_MSGPACK_MAX_DEPTH] = 1;
	assert_int_equal(
		bpk_msgpack_print(bpk_view(bytes.data, BPK_MSGPACK_MAX_DEPTH + 1), &json, &err), 0);
	assert_int_equal(bpk_json_check(bpk_buf_view(&json), &err), 0);
	bytes.data[BPK_MSGPACK_MAX_DEPTH] = 0x91;
	json.size = 0;
	assert_int_equal(bpk_msgpack_print(bpk_buf_view(&bytes), &json, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_int_equal(json.size, 0);
	/* maps with maps as keys, whose text is three levels each */
	memset(bytes.data, 0x81, bytes.size);
	assert_int_equal(bpk_msgpack_print(bpk_buf_view(&bytes), &json, &err), -1);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&json);
}

static void test_random_doubles_come_back(void **state)
{
	struct unit_random random = { 3 };
	struct bpk_err err = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t bits = (uint64_t)unit_random_next(&random) << 33 ^
				(uint64_t)unit_random_next(&random) << 11 ^
				unit_random_next(&random);
		struct bpk_json_number number;
		struct bpk_buf text = { 0 };
		double value;

		memcpy(&value, &bits, sizeof value);
		if (!isfinite(value))
			continue;
		assert_int_equal(bpk_json_put_double(&text, value, &err), 0);
		number = bpk_json_number(bpk_buf_view(&text));
		assert_int_equal(number.kind, BPK_JSON_DOUBLE);
		assert_memory_equal(&number.f64, &value, sizeof value);
		bpk_buf_clear(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_random_doubles_come_back),
	};

	return UNIT_RUN(tests);
}
