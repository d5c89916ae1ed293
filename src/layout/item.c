/*
 * Reading the bytes of an array. Called by archive/content.c and gsd_copy_array.c.
 */
#include "layout/layout.h"

/* Repeat fill, from its byte at on. */
static void repeat(struct bpk_view fill, uint64_t at, struct bpk_span out)
{
	size_t n;

	for (size_t i = 0; i < bpk_min_size(fill.size, out.size); i++)
		out.data[i] = fill.data[(at + i) % fill.size];
	for (size_t done = fill.size; done < out.size; done += n) {
		n = bpk_min_size(done, out.size - done);
		memcpy(out.data + done, out.data, n);
	}
}

int bpk_item_read(struct bpk_source *source, const struct bpk_item *item, uint64_t at,
		  struct bpk_span out, struct bpk_err *err)
{
	if (item->offset != BPK_UNKNOWN)
		return bpk_source_need_at(source, item->offset + at, out, err);
	repeat(item->fill, at, out);
	return 0;
}
