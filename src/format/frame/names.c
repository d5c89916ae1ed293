/*
 * Names and ids of a frame's files ("Sparse frame"), and the probes that recognise frames. Called
 * by reader, writer and editors, and through formats.c.
 */
#include "format/frame/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char digits[] = "0123456789ABCDEF";

void bpk_frame_file_name(uint32_t id, char name[BPK_FRAME_FILE_NAME])
{
	snprintf(name, BPK_FRAME_FILE_NAME, "%08" PRIX32 ".chunk", id);
}

bool bpk_frame_file_id(const char *name, uint32_t *id)
{
	enum { DIGITS = 8 };

	if (strspn(name, digits) != DIGITS || strcmp(name + DIGITS, ".chunk") != 0)
		return false;
	*id = 0;
	for (int i = 0; i < DIGITS; i++)
		*id = *id << 4 | (uint32_t)(strchr(digits, name[i]) - digits);
	return true;
}

/* ---- Lists of ids ---- */

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void sort(struct bpk_buf *ids)
{
	if (ids->size > 0)
		qsort(ids->data, ids->size / sizeof(uint32_t), sizeof(uint32_t), compare);
}

bool bpk_frame_ids_have(const struct bpk_buf *ids, uint32_t id)
{
	return ids->size > 0 &&
	       bsearch(&id, ids->data, ids->size / sizeof id, sizeof id, compare) != NULL;
}

uint32_t bpk_frame_ids_last(const struct bpk_buf *ids)
{
	uint32_t id;

	memcpy(&id, ids->data + ids->size - sizeof id, sizeof id);
	return id;
}

/* Append the id of an entry, if it has one. */
static int add(struct bpk_buf *ids, uint64_t entry, struct bpk_err *err)
{
	uint32_t id = (uint32_t)entry; /* below 2^32: tested when the entry was read */

	return bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE
		       ? bpk_buf_append(ids, bpk_view(&id, sizeof id), err)
		       : 0;
}

int bpk_frame_ids_of_state(const struct bpk_frame_state *state, struct bpk_buf *ids,
			   struct bpk_err *err)
{
	uint64_t n = state->uniform ? 1 : state->nchunks, entry;

	ids->size = 0;
	for (uint64_t i = 0; i < n; i++)
		if (bpk_frame_entry(state, i, &entry, err) != 0 || add(ids, entry, err) != 0)
			return -1;
	sort(ids);
	return 0;
}

int bpk_frame_ids_list(const struct bpk_buf *entries, struct bpk_buf *ids, struct bpk_err *err)
{
	uint64_t entry;

	ids->size = 0;
	for (size_t at = 0; at < entries->size; at += sizeof entry) {
		memcpy(&entry, entries->data + at, sizeof entry);
		if (add(ids, entry, err) != 0)
			return -1;
	}
	sort(ids);
	return 0;
}

/* ---- Probes ---- */

bool bpk_frame_owns(const char *name)
{
	uint32_t id;

	return strcmp(name, BPK_FRAME_SPARSE_INDEX) == 0 || strcmp(name, BPK_SIDECAR) == 0 ||
	       bpk_frame_file_id(name, &id);
}

bool bpk_frame_is_trailer_start(const uint8_t *bytes)
{
	static const uint8_t start[BPK_FRAME_TRAILER_START] = { 0x94, 1, 0x93, 0xcd };

	return memcmp(bytes, start, sizeof start) == 0;
}

int bpk_frame_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
		    struct bpk_err *err)
{
	static const uint8_t magic[] = { 0xa8, 'b', '2', 'f', 'r', 'a', 'm', 'e', 0 };

	(void)err;
	*found = !place->is_directory && head.size > sizeof magic &&
		 (head.data[0] == 0x9e || head.data[0] == 0x9d) &&
		 memcmp(head.data + 1, magic, sizeof magic) == 0;
	return 0;
}

int bpk_frame_probe_sparse(const struct bpk_place *place, struct bpk_view head, bool *found,
			   struct bpk_err *err)
{
	(void)head;
	*found = false;
	if (place->directory == NULL)
		return 0;
	return bpk_dir_has(place->directory, BPK_FRAME_SPARSE_INDEX, BPK_ENTRY_FILE, found, err);
}

int bpk_frame_claims(const struct bpk_place *place, bool *claimed, struct bpk_err *err)
{
	return bpk_format_holds(place, bpk_frame_probe, claimed, err);
}

int bpk_frame_claims_sparse(const struct bpk_place *place, bool *claimed, struct bpk_err *err)
{
	return bpk_format_holds(place, bpk_frame_probe_sparse, claimed, err);
}
