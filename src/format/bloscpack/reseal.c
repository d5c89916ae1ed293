/*
 * The seal of a changed file: continued from the record, whose leaves are read again if a chunk
 * before the last one changes; or renewed, where another program's change broke it. Called by
 * add.c, patch.c and editor.c.
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
			.old = seal,
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

int bpk_bloscpack_reseal_look(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = e->reader;
	struct bpk_seal_tree tree;
	struct bpk_err why = { 0 };
	bool fits;

	if (!r->seal.marked && !r->seal.recorded)
		return 0;
	if (bpk_bloscpack_seal_gather(r, &tree, err) != 0 ||
	    bpk_bloscpack_audit_unsealed(r, err) != 0 ||
	    bpk_err_settle(bpk_bloscpack_seal_check(r, &why), &why, &fits, err) != 0)
		return -1;
	return bpk_seal_growth_renew(&e->renewed, &r->seal, fits, &tree, err);
}

int bpk_bloscpack_reseal(void *editor, bool *needed, struct bpk_err *err)
{
	struct bpk_bloscpack_editor *e = editor;

	(void)err;
	e->reseals = *needed = e->renewed.generation > 0;
	if (e->reseals) {
		e->seal = e->renewed;
		e->seal.old = &e->reader->seal; /* by now of another reader */
	}
	return 0;
}
