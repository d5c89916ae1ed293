/*
 * The seal of a changed file: continued from the record, whose leaves are read again if a chunk
 * before the last one changes. Called by add.c, patch.c and editor.c.
 */
#include "format/bloscpack/editor.h"

static int recall(void *arg, struct bpk_buf *all, struct bpk_err *err)
{
	return bpk_bloscpack_seal_recall(((struct bpk_bloscpack_editor *)arg)->reader, all, err);
}

static int find_leaf(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	return bpk_bloscpack_seal_find(((struct bpk_bloscpack_editor *)arg)->reader, number, leaf,
				       err);
}

void bpk_bloscpack_reseal_begin(struct bpk_bloscpack_editor *e)
{
	const struct bpk_seal *seal = &e->reader->seal;

	bpk_seal_growth_clear(&e->seal);
	if (seal->marked && seal->tree != NULL)
		e->seal = (struct bpk_seal_growth){
			.generation = seal->generation + 1,
			.base = *seal->tree,
			.recall = recall,
			.find = find_leaf,
			.arg = e,
		};
}

int bpk_bloscpack_reseal_note(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			      struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (e->seal.generation == 0)
		return 0;
	if (bpk_seal_parcel(e->header.checksum, parcel, parcel->number, true, leaf, err) != 0)
		return -1;
	return bpk_seal_growth_set(&e->seal, parcel->number, leaf, err);
}
