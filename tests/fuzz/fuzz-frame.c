/*
 * A contiguous frame of hostile bytes.
 */
#include "fuzz/fuzz.h"

#include "fuzz/frame.h"

static struct bpk_chunk_ctx *ctx;

static void read_as(struct bpk_view bytes, const struct bpk_read_options *options)
{
	struct bpk_place place = { .path = "input" };
	struct bpk_err err = { 0 };

	fuzz_require(bpk_source_of_memory(bytes, &place.source, &err) == 0, "a source of memory");
	fuzz_read_frame("b2frame", &place, options, ctx);
	if (options->no_check)
		fuzz_salvage("b2frame", &place);
	bpk_source_close(place.source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bpk_read_options checked = { .chunk_limit = FUZZ_LARGEST };
	const struct bpk_read_options lenient = { .no_check = true,
						  .as_stored = true,
						  .chunk_limit = FUZZ_LARGEST };
	struct bpk_err err = { 0 };

	if (ctx == NULL)
		ctx = bpk_chunk_ctx_new(&err);
	fuzz_require(ctx != NULL, "a context");
	read_as(bpk_view(data, size), &checked);
	read_as(bpk_view(data, size), &lenient);
	return 0;
}
