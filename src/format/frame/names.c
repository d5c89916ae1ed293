/*
 * Which files are a frame's ("Sparse frame"), and how frames are known.
 */
#include "format/frame/reader.h"

#include <inttypes.h>
#include <stdio.h>

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

bool bpk_frame_owns(const char *name)
{
	uint32_t id;

	return strcmp(name, BPK_FRAME_SPARSE_INDEX) == 0 || strcmp(name, BPK_SIDECAR) == 0 ||
	       bpk_frame_file_id(name, &id);
}

bool bpk_frame_probe(const struct bpk_place *place, struct bpk_view head)
{
	static const uint8_t magic[] = { 0xa8, 'b', '2', 'f', 'r', 'a', 'm', 'e', 0 };

	return !place->is_directory && head.size > sizeof magic &&
	       (head.data[0] == 0x9e || head.data[0] == 0x9d) &&
	       memcmp(head.data + 1, magic, sizeof magic) == 0;
}

bool bpk_frame_probe_sparse(const struct bpk_place *place, struct bpk_view head)
{
	enum bpk_entry entry;
	uint64_t size;

	(void)head;
	return place->directory != NULL &&
	       bpk_dir_look(place->directory, BPK_FRAME_SPARSE_INDEX, &entry, &size, NULL) == 0 &&
	       entry == BPK_ENTRY_FILE;
}
