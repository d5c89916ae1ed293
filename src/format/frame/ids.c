/*
 * Lists the ids of a sparse frame's chunk files. The editor's store and audit call it.
 */
#include "format/frame/ids.h"

#include <stdlib.h>

#include "format/frame/frame.h"

size_t bpk_frame_ids_count(const struct bpk_buf *ids)
{
	return ids->size / sizeof(uint32_t);
}

uint32_t bpk_frame_ids_at(const struct bpk_buf *ids, size_t i)
{
	uint32_t id;

	memcpy(&id, ids->data + i * sizeof id, sizeof id);
	return id;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

bool bpk_frame_ids_have(const struct bpk_buf *ids, uint32_t id)
{
	return ids->size > 0 &&
	       bsearch(&id, ids->data, bpk_frame_ids_count(ids), sizeof id, compare) != NULL;
}

int bpk_frame_ids_list(const struct bpk_buf *entries, struct bpk_buf *ids, struct bpk_err *err)
{
	ids->size = 0;
	for (size_t at = 0; at < entries->size; at += sizeof(uint64_t)) {
		uint64_t entry;
		uint32_t id;

		memcpy(&entry, entries->data + at, sizeof entry);
		id = (uint32_t)entry; /* below 2^32: tested when the index was read */
		if (bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE &&
		    bpk_buf_append(ids, bpk_view(&id, sizeof id), err) != 0)
			return -1;
	}
	if (ids->size > 0)
		qsort(ids->data, bpk_frame_ids_count(ids), sizeof(uint32_t), compare);
	return 0;
}
