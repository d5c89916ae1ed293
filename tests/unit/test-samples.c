/*
 * Real simulation outputs, in the folder BPK_SAMPLES, packed with automatic choices.
 */
#include "unit/unit.h"

#include <stdio.h>
#include <zstd.h>

#include "flow/flow.h"

/* Encode all of source with the choice; returns the packed size. */
static uint64_t packed_size_of(struct bpk_source *source, const struct bpk_choice *choice)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	size_t room = choice->chunk_size, got, packed_size;
	uint8_t *raw = malloc(room), *packed = malloc(bpk_chunk_bound(room));
	uint64_t total = 0, size = bpk_source_size(source);

	for (uint64_t at = 0; at < size; at += got) {
		assert_int_equal(bpk_source_read_at(source, at, bpk_span(raw, room), &got, NULL),
				 0);
		assert_int_equal(bpk_chunk_encode(ctx, &choice->recipe, bpk_view(raw, got),
						  bpk_span(packed, bpk_chunk_bound(room)),
						  &packed_size, NULL),
				 0);
		total += packed_size;
	}
	free(raw);
	free(packed);
	bpk_chunk_ctx_free(ctx);
	return total;
}

static uint64_t zstd_size_of(struct bpk_source *source)
{
	size_t size = (size_t)bpk_source_size(source), got, packed_size;
	uint8_t *raw = malloc(size), *packed = malloc(ZSTD_compressBound(size));

	assert_int_equal(bpk_source_read_at(source, 0, bpk_span(raw, size), &got, NULL), 0);
	packed_size = ZSTD_compress(packed, ZSTD_compressBound(size), raw, got, 3);
	assert_false(ZSTD_isError(packed_size));
	free(raw);
	free(packed);
	return packed_size;
}

static void test_real_files_are_smaller_than_with_zstd(void **state)
{
	static const char *const names[] = { "adk_dims.dcd", "bala.ncdf", "cobrotoxin.trr",
					     "example_longer.gsd" };
	enum { CONTAINER = 200 }; /* bytes that an archive of a few chunks adds */
	const struct bpk_wishes no_wishes = { .level = BPK_AUTO, .typesize = BPK_AUTO };
	const char *folder = getenv("BPK_SAMPLES");

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct bpk_source *source;
		struct bpk_choice choice;
		struct bpk_err err = { 0 };
		char path[4096];

		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		assert_int_equal(bpk_source_open(path, &source, &err), 0);
		assert_int_equal(
			bpk_choose(source, bpk_source_size(source), &no_wishes, &choice, &err), 0);
		assert_true(packed_size_of(source, &choice) + CONTAINER < zstd_size_of(source));
		bpk_buf_clear(&choice.why);
		bpk_source_close(source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_files_are_smaller_than_with_zstd),
	};

	/* cmocka reports a skipped test as "not ok", which Automake's driver counts as a failure */
	if (getenv("BPK_SAMPLES") == NULL) {
		puts("1..0 # SKIP BPK_SAMPLES is not set");
		return 0;
	}
	return UNIT_RUN(tests);
}
