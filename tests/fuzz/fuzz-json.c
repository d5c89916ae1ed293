/* Hostile JSON text: check it, walk over all of its slices, and change its members. A text found
 * valid must stay valid and keep its other members. */
#include "fuzz/fuzz.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_MEMBERS = 4096 }; /* members visited in one text */

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

static void judge(int rc, const struct bpk_err *err)
{
	require(rc == 0 || err->kind == BPK_LIMIT, err->text);
}

static bool inside(struct bpk_view part, struct bpk_view whole)
{
	return part.size == 0 || (part.data >= whole.data && part.size <= whole.size &&
				  (size_t)(part.data - whole.data) <= whole.size - part.size);
}

static bool same(struct bpk_view a, struct bpk_view b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* A string decodes to UTF-8, NULs aside, and compares equal to its decoded text. */
static void look_at_string(struct bpk_view string)
{
	struct bpk_buf text = { 0 };
	struct bpk_err err = { 0 };
	bool plain;

	judge(bpk_json_string(string, &text, &err), &err);
	require(text.size <= string.size, "an escape is at least as long as its text");
	plain = memchr(string.data, '\\', string.size) == NULL;
	require(!plain || text.size == string.size - 2, "without escapes a string is its text");
	if (text.size == 0 || memchr(text.data, 0, text.size) == NULL) {
		require(bpk_utf8_valid(bpk_buf_view(&text)), "strings are UTF-8");
		require(bpk_buf_append(&text, bpk_view("", 1), &err) == 0, "memory");
		require(!plain || bpk_json_string_is(string, (const char *)text.data),
			"a string equals its text");
	}
	bpk_buf_clear(&text);
}

static void walk(struct bpk_view value, unsigned depth, unsigned *members)
{
	enum bpk_json_kind kind = bpk_json_kind(value);
	struct bpk_view key, part;
	uint64_t number;

	require(kind != BPK_JSON_NONE, "a good text has values");
	require(depth <= BPK_JSON_MAX_DEPTH, "a good text is not too deep");
	if (kind == BPK_JSON_STRING)
		look_at_string(value);
	require(!bpk_json_u64(value, &number) || kind == BPK_JSON_NUMBER, "integers are numbers");
	for (size_t at = 0; *members < MOST_MEMBERS && bpk_json_next(value, &at, &key, &part);) {
		++*members;
		require(inside(key, value) && inside(part, value), "slices lie in their container");
		require((key.size > 0) == (kind == BPK_JSON_OBJECT),
			"members of objects have keys");
		if (key.size > 0)
			look_at_string(key);
		walk(part, depth + 1, members);
	}
}

/* Set a member that does not exist, then remove it: only white space may change. */
static void change(struct bpk_view text)
{
	static const char key[] = "\x01 no text has this \xc3\xa9";
	struct bpk_view name, value, now;
	struct bpk_buf buf = { 0 };
	struct bpk_err err = { 0 };
	bool found;
	size_t at = 0, at_now = 0;

	if (bpk_json_member(text, key).size > 0)
		return;
	require(bpk_buf_append(&buf, text, &err) == 0, "memory");
	if (bpk_json_set(&buf, key, "[1, \"}\"]", &err) != 0) {
		judge(-1, &err);
		goto out;
	}
	require(same(bpk_json_member(bpk_buf_view(&buf), key), bpk_view("[1, \"}\"]", 8)),
		"a member that was set exists");
	judge(bpk_json_remove(&buf, key, &found, &err), &err);
	require(found, "a member that was set can be removed");
	judge(bpk_json_check(bpk_buf_view(&buf), &err), &err);
	while (bpk_json_next(text, &at, &name, &value)) {
		struct bpk_view name_now;

		require(bpk_json_next(bpk_buf_view(&buf), &at_now, &name_now, &now) &&
				same(name, name_now) && same(value, now),
			"other members stay as they are");
	}
	require(!bpk_json_next(bpk_buf_view(&buf), &at_now, NULL, &now), "nothing was added");
out:
	bpk_buf_clear(&buf);
}

/* Remove the first member by its name. */
static void shorten(struct bpk_view text)
{
	struct bpk_buf buf = { 0 }, key = { 0 };
	struct bpk_view name, value;
	struct bpk_err err = { 0 };
	size_t at = 0;
	bool found;

	if (!bpk_json_next(text, &at, &name, &value))
		return;
	require(bpk_json_string(name, &key, &err) == 0 &&
			bpk_buf_append(&key, bpk_view("", 1), &err) == 0 &&
			bpk_buf_append(&buf, text, &err) == 0,
		"memory");
	if (bpk_json_string_is(name, (const char *)key.data)) {
		judge(bpk_json_remove(&buf, (const char *)key.data, &found, &err), &err);
		require(found, "the first member is found by its name");
		judge(bpk_json_check(bpk_buf_view(&buf), &err), &err);
	}
	bpk_buf_clear(&buf);
	bpk_buf_clear(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpk_view text = bpk_view(data, size);
	struct bpk_err err = { 0 };
	unsigned members = 0;

	if (bpk_json_check(text, &err) != 0) {
		require(err.kind == BPK_CORRUPT || err.kind == BPK_LIMIT, err.text);
		return 0;
	}
	walk(text, 0, &members);
	if (bpk_json_kind(text) != BPK_JSON_OBJECT)
		return 0;
	change(text);
	shorten(text);
	return 0;
}
