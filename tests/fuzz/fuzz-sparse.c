/*
 * A directory of hostile files in memory, read as a sparse frame.
 */
#include "fuzz/fuzz.h"

#include "fuzz/files.h"
#include "fuzz/frame.h"

static struct bpk_chunk_ctx *ctx;

static void read_as(struct fuzz_files *files, const struct bpk_read_options *options)
{
	struct bpk_place place = { .path = "input", .is_directory = true };
	const struct bpk_format *format;
	struct bpk_err err = { 0 };

	fuzz_require(memdir_open(&files->dir, &place.directory, &err) == 0,
		     "a directory of memory");
	fuzz_judge(bpk_format_probe(&place, &format, &err), &err);
	fuzz_read_frame("b2sparse", &place, options, ctx);
	if (options->no_check)
		fuzz_salvage("b2sparse", &place);
	bpk_dir_close(place.directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bpk_read_options checked = { .chunk_limit = FUZZ_LARGEST };
	const struct bpk_read_options lenient = { .no_check = true,
						  .as_stored = true,
						  .chunk_limit = FUZZ_LARGEST };
	static struct fuzz_files files;
	struct bpk_err err = { 0 };

	if (ctx == NULL)
		ctx = bpk_chunk_ctx_new(&err);
	fuzz_require(ctx != NULL, "a context");
	fuzz_files_split(bpk_view(data, size), "00000001.chunk", &files);
	read_as(&files, &checked);
	read_as(&files, &lenient);
	return 0;
}
