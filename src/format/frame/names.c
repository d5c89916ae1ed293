/*
 * Names of a frame's files ("Sparse frame"), and the probes that recognise frames.
 */
#include "format/frame/names.h"

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
