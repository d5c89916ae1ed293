/* Hostile simulation files: every array that a layout finds must lie inside the file, have a
 * printable name, and be found again by that name. */
#include "fuzz/fuzz.h"

#include "layout/layout.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_ITEMS = 2000 }; /* arrays checked in one file */

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

static void check_name(const char *name)
{
	require(name != NULL && *name != '\0', "a name is not empty");
	require(bpk_utf8_valid(bpk_view(name, strlen(name))), "a name is UTF-8");
	for (; *name != '\0'; name++)
		require((unsigned char)*name >= 0x20 && *name != 0x7f, "no control bytes");
}

static void check_item(const struct bpk_item *item, size_t size)
{
	struct bpk_buf text = { 0 };

	check_name(item->name);
	if (item->offset != BPK_UNKNOWN)
		require(item->offset <= size && item->array->size <= size - item->offset,
			"an array lies inside the file");
	else if (item->array->size > 0)
		require(item->fill.size > 0 && item->array->size % item->fill.size == 0,
			"a fill value divides its array");
	require(bpk_dtype_print(&item->array->dtype, &text, NULL) == 0, "a type can be printed");
	bpk_buf_clear(&text);
}

static void check_found(struct bpk_layout *layout, const struct bpk_item *item, size_t size)
{
	char *name = bpk_strdup(item->name, NULL);
	struct bpk_item found;
	struct bpk_err err = { 0 };
	int rc;

	require(name != NULL, "memory");
	rc = bpk_layout_find(layout, name, item->frame, false, &found, &err);
	require(rc == 0 || (rc < 0 && err.kind == BPK_CORRUPT), "an array is found by its name");
	if (rc == 0)
		check_item(&found, size);
	if (item->frame != BPK_UNKNOWN &&
	    bpk_layout_find(layout, name, item->frame / 2, true, &found, &err) == 0)
		check_item(&found, size);
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpk_source *source;
	struct bpk_layout *layout;
	struct bpk_err err = { 0 };
	struct bpk_item item;

	if (bpk_source_of_memory(bpk_view(data, size), &source, &err) != 0)
		return 0;
	require(bpk_layout_open(source, &layout, &err) == 0, err.text);
	for (uint64_t i = 0; layout != NULL && i < bpk_layout_info(layout)->narrays; i++) {
		if (i == MOST_ITEMS)
			break;
		if (bpk_layout_get(layout, i, &item, &err) != 0) {
			require(err.kind == BPK_CORRUPT || err.kind == BPK_LIMIT, err.text);
			continue;
		}
		check_item(&item, size);
		check_found(layout, &item, size);
	}
	bpk_layout_close(layout);
	bpk_source_close(source);
	return 0;
}
