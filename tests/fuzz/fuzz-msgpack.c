/* Hostile msgpack: a value that prints as JSON text must parse, and print the same again. JSON text
 * that parses must become msgpack that prints. */
#include "fuzz/fuzz.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

static bool same(const struct bpk_buf *a, const struct bpk_buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* text was printed from msgpack: parsed and printed again it must be the same. */
static void go_round(const struct bpk_buf *text)
{
	struct bpk_buf bytes = { 0 }, again = { 0 };
	struct bpk_err err = { 0 };

	if (bpk_msgpack_parse(bpk_buf_view(text), &bytes, &err) != 0) {
		require(err.kind == BPK_LIMIT, err.text);
		return;
	}
	require(bpk_msgpack_print(bpk_buf_view(&bytes), &again, &err) == 0, err.text);
	require(same(text, &again), "a value prints the same again");
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpk_buf text = { 0 }, bytes = { 0 };
	struct bpk_err err = { 0 };

	if (bpk_msgpack_print(bpk_view(data, size), &text, &err) == 0)
		go_round(&text);
	else
		require(text.size == 0 && (err.kind == BPK_CORRUPT || err.kind == BPK_LIMIT),
			err.text);
	text.size = 0;
	if (bpk_msgpack_parse(bpk_view(data, size), &bytes, &err) != 0)
		require(bytes.size == 0 && (err.kind == BPK_USAGE || err.kind == BPK_LIMIT),
			err.text);
	else if (bpk_msgpack_print(bpk_buf_view(&bytes), &text, &err) == 0)
		go_round(&text);
	else
		require(err.kind == BPK_LIMIT, err.text);
	bpk_buf_clear(&text);
	bpk_buf_clear(&bytes);
	return 0;
}
