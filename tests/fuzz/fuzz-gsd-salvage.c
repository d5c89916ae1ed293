/*
 * Damaged GSD files, of which frames are saved. The result must be sound, whatever the bytes are,
 * and have as many frames and arrays as its map says. Each array must have the bytes of the input.
 *
 * The last byte of an input tells whether damaged frames are left out.
 */
#include "fuzz/fuzz.h"

#include "layout/layout.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	LARGEST = 1 << 16, /* bytes of an input */
	FULL = 16 << 20,   /* bytes of a result: an index has a slot for every frame */
	MOST_ITEMS = 200,  /* arrays that are compared */
};

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

/* ---- The result ---- */

static int write_at(void *own, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_buf *file = own;

	require(offset <= file->size && bytes.size <= file->size - offset,
		"bytes are written within the size that was set");
	(void)err;
	bpk_copy(file->data + offset, bytes.data, bytes.size);
	return 0;
}

static int set_size(void *own, uint64_t size, struct bpk_err *err)
{
	struct bpk_buf *file = own;

	require(size <= FULL, "a result is bounded");
	if (bpk_buf_resize(file, (size_t)size, err) != 0)
		return -1;
	memset(file->data, 0, file->size);
	return 0;
}

static int keep(void *own, const struct stat *like, struct bpk_err *err)
{
	(void)own;
	(void)like;
	(void)err;
	return 0;
}

static void drop(void *own)
{
	(void)own;
}

static void write_result(const struct bpk_gsd_found *found, bool skip, struct bpk_buf *file)
{
	static const struct bpk_draft_ops ops = {
		.write_at = write_at, .set_size = set_size, .keep = keep, .drop = drop
	};
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;

	require(bpk_draft_of_ops(&ops, file, &draft, &err) == 0, err.text);
	require(bpk_gsd_found_write(found, skip, draft, &err) == 0, err.text);
	require(bpk_draft_keep(draft, NULL, &err) == 0, err.text);
}

/* ---- The promises ---- */

static void check_map(const struct bpk_gsd_found_info *info)
{
	uint64_t next = 0, lost = 0;

	for (size_t i = 0; i < info->nruns; i++) {
		const struct bpk_gsd_run *run = &info->runs[i];

		require(run->first == next && run->end > run->first, "runs follow each other");
		next = run->end;
		lost += run->fate == BPK_GSD_LOST ? run->end - run->first : 0;
	}
	require(next == info->nframes && lost == info->nlost, "they are all frames");
	require(info->narrays > 0, "something was found");
}

/* Data behind the end of the input are zeros. */
static void check_item(const struct bpk_item *item, struct bpk_view input, struct bpk_view result)
{
	uint64_t size = item->array->size, present;

	require(item->offset <= result.size && size <= result.size - item->offset,
		"an array lies in the file");
	present = item->offset < input.size ? bpk_min_u64(size, input.size - item->offset) : 0;
	require(present == 0 || memcmp(input.data + item->offset, result.data + item->offset,
				       (size_t)present) == 0,
		"it has the bytes of the input");
	require(bpk_is_zero(
			bpk_view(result.data + item->offset + present, (size_t)(size - present))),
		"and zeros");
}

static void check_result(const struct bpk_gsd_found_info *info, bool skip, struct bpk_view input,
			 struct bpk_view result)
{
	struct bpk_gsd_verdict verdict;
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	struct bpk_layout *layout;
	struct bpk_item item;

	require(bpk_source_of_memory(result, &source, &err) == 0, err.text);
	require(bpk_gsd_verify(source, NULL, NULL, &verdict, &err) == 0, err.text);
	require(skip || verdict.narrays == info->narrays, "it has all arrays that were found");
	require(verdict.nframes <= info->nframes, "it has no more frames");
	require(bpk_layout_open(source, &layout, &err) == 0 && layout != NULL, "it opens");
	for (uint64_t i = 0; i < verdict.narrays && i < MOST_ITEMS; i++) {
		require(bpk_layout_get(layout, i, &item, &err) == 0, err.text);
		check_item(&item, input, result);
	}
	bpk_layout_close(layout);
	bpk_source_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bpk_gsd_found_info *info;
	struct bpk_gsd_found *found;
	struct bpk_buf result = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_source *source;
	bool skip;

	if (size == 0 || size > LARGEST)
		return 0;
	skip = (data[size - 1] & 1) != 0;
	require(bpk_source_of_memory(bpk_view(data, size - 1), &source, &err) == 0, err.text);
	if (bpk_gsd_found_open(source, &found, &err) != 0) {
		require(err.kind == BPK_CORRUPT || err.kind == BPK_UNSUPPORTED, err.text);
		bpk_source_close(source);
		return 0;
	}
	info = bpk_gsd_found_info(found);
	check_map(info);
	if (!skip || info->nlost < info->nframes) {
		write_result(found, skip, &result);
		check_result(info, skip, bpk_view(data, size - 1), bpk_buf_view(&result));
	}
	bpk_gsd_found_close(found);
	bpk_source_close(source);
	bpk_buf_clear(&result);
	return 0;
}
