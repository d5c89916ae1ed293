/*
 * A frame's named metadata as one JSON object, and back.
 */
#include "unit/unit.h"

#include <stdio.h>

#include "format/frame/frame.h"

struct pair {
	struct bpk_frame_layers fixed, layers;
};

static void set(struct bpk_frame_layers *layers, const char *name, const char *hex)
{
	struct bpk_buf content = { 0 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_hex_take(bpk_view(hex, strlen(hex)), &content, &err), 0);
	assert_int_equal(bpk_frame_layers_set(layers, name, bpk_buf_view(&content), &err), 0);
	bpk_buf_clear(&content);
}

static void prints(const struct pair *p, const char *expected)
{
	struct bpk_buf text = { 0 };
	struct bpk_err err = { 0 };
	bool is_empty = false;

	if (bpk_frame_layers_print(&p->fixed, &p->layers, &text, &is_empty, &err) != 0)
		fail_msg("%s", err.text);
	if (text.size != strlen(expected) ||
	    (text.size > 0 && memcmp(text.data, expected, text.size) != 0))
		fail_msg("%.*s, expected %s", (int)text.size, (const char *)text.data, expected);
	assert_int_equal(is_empty, *expected == '\0');
	if (!is_empty && bpk_json_check(bpk_buf_view(&text), &err) != 0)
		fail_msg("%s", err.text);
	bpk_buf_clear(&text);
}

static void parses(struct pair *p, const char *json, enum bpk_kind kind)
{
	struct bpk_err err = { 0 };
	int rc = bpk_frame_layers_parse(bpk_view(json, strlen(json)), &p->fixed, &p->layers, &err);

	if (rc != (kind == BPK_OK ? 0 : -1) || err.kind != kind)
		fail_msg("%s: kind %d: %s", json, err.kind, err.text);
}

static void holds(const struct bpk_frame_layers *layers, const char *name, const char *hex)
{
	struct bpk_frame_layer *layer = bpk_frame_layers_find(layers, name);
	struct bpk_buf found = { 0 };
	struct bpk_err err = { 0 };

	assert_non_null(layer);
	assert_int_equal(bpk_hex_put(&found, bpk_buf_view(&layer->content), &err), 0);
	if (found.size != strlen(hex) ||
	    (found.size > 0 && memcmp(found.data, hex, found.size) != 0))
		fail_msg("%s holds %.*s, expected %s", name, (int)found.size,
			 (const char *)found.data, hex);
	bpk_buf_clear(&found);
}

static void clear(struct pair *p)
{
	bpk_frame_layers_clear(&p->fixed);
	bpk_frame_layers_clear(&p->layers);
}

static void test_print(void **state)
{
	struct pair p = { 0 };

	(void)state;
	prints(&p, "");
	set(&p.fixed, "b2nd", "00");
	set(&p.layers, "bpk_digests", "00");
	prints(&p, "");
	set(&p.fixed, "demo", "81a16b01");
	set(&p.layers, "note", "a26869");
	set(&p.layers, "odd", "c1");
	set(&p.layers, "none", "");
	set(&p.layers, "two", "0102");
	prints(&p, "{\"demo\": {\"k\": 1}, \"note\": \"hi\", \"odd\": {\"$raw\": \"c1\"},"
		   " \"none\": {\"$raw\": \"\"}, \"two\": {\"$raw\": \"0102\"}}");
	clear(&p);
}

static void test_names_that_json_cannot_hold(void **state)
{
	struct pair p = { 0 };
	const char *other = "{\"both\": 2, \"\": 3, \"$trailer:both\": 4, \"$hex:ff61\": 5,"
			    " \"$hex:246865783a\": 6}";

	(void)state;
	set(&p.fixed, "both", "01");
	set(&p.fixed, "", "02");
	set(&p.layers, "both", "03");
	set(&p.layers,
	    "\xff"
	    "a",
	    "04");
	set(&p.layers, "$hex:", "05");
	prints(&p, "{\"both\": 1, \"\": 2, \"$trailer:both\": 3, \"$hex:ff61\": 4,"
		   " \"$hex:246865783a\": 5}");
	parses(&p, other, BPK_OK);
	prints(&p, other);
	assert_int_equal(p.layers.count, 3);
	clear(&p);
	set(&p.fixed, "both", "01");
	set(&p.fixed, "", "02");
	set(&p.fixed, "\xfe", "00");
	set(&p.layers, "both", "03");
	set(&p.layers,
	    "\xff"
	    "a",
	    "04");
	set(&p.layers, "$hex:", "05");
	set(&p.layers, "\xfe", "06");
	prints(&p, "{\"both\": 1, \"\": 2, \"$hex:fe\": 0, \"$trailer:both\": 3, \"$hex:ff61\": 4,"
		   " \"$hex:246865783a\": 5, \"$trailer:$hex:fe\": 6}");
	clear(&p);
}

static void test_parse_changes_what_changed(void **state)
{
	struct pair p = { 0 };

	(void)state;
	set(&p.fixed, "b2nd", "00");
	set(&p.fixed, "size", "d200000005"); /* 5, in a long form */
	set(&p.layers, "keep", "cd0001");    /* 1, in a long form */
	set(&p.layers, "bpk_digests", "00");
	set(&p.layers, "go", "01");
	set(&p.layers, "raw", "c1c1");
	parses(&p, " {\"new\" : [1,2.5], \"raw\":{\"$raw\" :\"c1C1\"}, \"keep\": 1, \"size\": 5 }",
	       BPK_OK);
	assert_int_equal(p.layers.count, 4);
	holds(&p.fixed, "size", "d200000005");
	holds(&p.fixed, "b2nd", "00");
	holds(&p.layers, "keep", "cd0001");
	holds(&p.layers, "bpk_digests", "00");
	holds(&p.layers, "raw", "c1c1");
	holds(&p.layers, "new", "9201cb4004000000000000");
	assert_string_equal(p.layers.all[0].name, "keep");
	assert_string_equal(p.layers.all[3].name, "new");
	parses(&p, "{\"size\": {\"$raw\": \"d200000006\"}, \"keep\": 2}", BPK_OK);
	holds(&p.fixed, "size", "d200000006");
	holds(&p.layers, "keep", "02");
	assert_int_equal(p.layers.count, 2);
	clear(&p);
}

static void test_fixed_layers_keep_their_size(void **state)
{
	struct pair p = { 0 };

	(void)state;
	set(&p.fixed, "a", "01");
	set(&p.layers, "b", "01");
	parses(&p, "{\"a\": 2, \"b\": 300}", BPK_OK);
	holds(&p.fixed, "a", "02");
	parses(&p, "{\"a\": 300, \"b\": 1}", BPK_UNSUPPORTED);
	parses(&p, "{\"b\": 1}", BPK_UNSUPPORTED);
	parses(&p, "", BPK_UNSUPPORTED);
	parses(&p, "[1]", BPK_UNSUPPORTED);
	parses(&p, "{\"a\": 2", BPK_CORRUPT);
	holds(&p.fixed, "a", "02");
	holds(&p.layers, "b", "cd012c");
	parses(&p, "{\"a\": 2}", BPK_OK);
	assert_int_equal(p.layers.count, 0);
	clear(&p);
}

/* Metadata without our layers is one text and comes back unchanged. */
static void test_other_texts(void **state)
{
	static const char *const texts[] = {
		"[1,  2]",
		"\"text\"",
		"1.50",
		"{\"a name of more than thirty-one bytes\":1}",
		"{\"bpk_digests\": 1}",
		"{\"b2nd\": 1}",
		"{\"\\u0000\": 1}",
		"{\"\\ud800\": 1}",
		("{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":"
		 "1,"
		 "\"11\":1,\"12\":1,\"13\":1,\"14\":1,\"15\":1,\"16\":1}"),
	};
	struct pair p = { 0 };

	(void)state;
	set(&p.layers, "gone", "01");
	set(&p.layers, "bpk_digests", "00");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		parses(&p, texts[i], BPK_OK);
		assert_int_equal(p.layers.count, 2);
		assert_non_null(bpk_frame_layers_find(&p.layers, "json"));
		prints(&p, texts[i]);
		parses(&p, texts[i], BPK_OK);
		prints(&p, texts[i]);
	}
	parses(&p,
	       "{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,"
	       "\"10\":1,\"11\":1,\"12\":1,\"13\":1,\"14\":1,\"15\":1}",
	       BPK_OK);
	assert_int_equal(p.layers.count, 16);
	parses(&p, "", BPK_OK);
	assert_int_equal(p.layers.count, 1);
	prints(&p, "");
	/* a layer of that name with other content is an ordinary member */
	set(&p.layers, "json",
	    "a7"
	    "7b2261223a317d");
	prints(&p, "{\"json\": \"{\\\"a\\\":1}\"}");
	set(&p.layers, "json",
	    "a3"
	    "5b315d");
	prints(&p, "[1]");
	set(&p.layers, "more", "01");
	prints(&p, "{\"json\": \"[1]\", \"more\": 1}");
	clear(&p);
}

static void begins(const struct pair *p, const char *with)
{
	struct bpk_buf text = { 0 };
	struct bpk_err err = { 0 };
	bool is_empty;

	assert_int_equal(bpk_frame_layers_print(&p->fixed, &p->layers, &text, &is_empty, &err), 0);
	assert_true(text.size > strlen(with));
	assert_memory_equal(text.data, with, strlen(with));
	assert_int_equal(bpk_json_check(bpk_buf_view(&text), &err), 0);
	bpk_buf_clear(&text);
}

/* Content too deep for JSON is shown as bytes. */
static void test_deep_contents(void **state)
{
	char hex[2 * BPK_MSGPACK_MAX_DEPTH + 5], *end = hex + 2 * (size_t)BPK_MSGPACK_MAX_DEPTH;
	struct pair p = { 0 };

	(void)state;
	for (char *at = hex; at < end; at += 2)
		memcpy(at, "91", 2);
	memcpy(end, "01", 3);
	set(&p.layers, "deep", hex);
	begins(&p, "{\"deep\": [[[");
	memcpy(end, "9101", 5);
	set(&p.layers, "deep", hex);
	begins(&p, "{\"deep\": {\"$raw\": \"9191");
	clear(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_names_that_json_cannot_hold),
		cmocka_unit_test(test_parse_changes_what_changed),
		cmocka_unit_test(test_fixed_layers_keep_their_size),
		cmocka_unit_test(test_other_texts),
		cmocka_unit_test(test_deep_contents),
	};

	return UNIT_RUN(tests);
}
