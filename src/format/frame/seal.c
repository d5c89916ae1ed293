/*
 * Tests the seal of a frame (parts/seal.c): root and chunks. Called by the audit, the editor and
 * repack.
 */
#include "format/frame/seal.h"

#include "format/frame/fetch.h"

#include <inttypes.h>

/* ---- Without the chunks ---- */

static int check_root(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &r->state;
	const struct bpk_seal *seal = &state->seal;
	uint8_t root[BPK_MERKLE_SIZE];
	bool sealed;

	if (bpk_seal_check(seal, state->nchunks, &sealed, err) != 0)
		return -1;
	if (!sealed)
		return 0;
	if (bpk_frame_seal_root(bpk_buf_view(&state->head), &state->layers,
				bpk_frame_seal_checksum(r), seal->generation, seal->tree, root,
				err) != 0 ||
	    bpk_seal_compare(seal, root, err) != 0)
		return -1;
	return bpk_frame_seal_check_count(&state->header, state->nchunks, err);
}

int bpk_frame_seal_check(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	bool foreign = r->state.stale || r->state.stale_header;

	if (check_root(r, &why) == 0)
		return 0;
	if (foreign && why.kind == BPK_CORRUPT)
		return bpk_fail(err, why.kind,
				"another program changed it since it was sealed; repair --reseal "
				"makes a new seal");
	return bpk_fail(err, why.kind, "%s", why.text);
}

/* ---- The chunks ---- */

static int find_leaf(struct bpk_frame_reader *r, struct bpk_parcel *parcel,
		     uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	bool found;

	if (bpk_frame_seal_find_entry(r, parcel->number, leaf, &found, err) != 0)
		return -1;
	if (found)
		return 0;
	if (bpk_frame_fetch(r, parcel, err) != 0)
		return -1;
	return bpk_seal_parcel(bpk_frame_seal_checksum(r), parcel, parcel->number, false, leaf,
			       err);
}

int bpk_frame_seal_walk(struct bpk_frame_reader *r, bool compares, struct bpk_buf *all,
			struct bpk_err *err)
{
	struct bpk_parcel parcel = { .want_size = SIZE_MAX };
	struct bpk_seal_tree tree = { 0 };
	uint8_t leaf[BPK_MERKLE_SIZE];
	int rc = 0;

	for (; rc == 0 && parcel.number < r->state.nchunks; parcel.number++) {
		rc = find_leaf(r, &parcel, leaf, err);
		if (rc == 0)
			rc = bpk_seal_tree_add(&tree, leaf, err);
		if (rc == 0 && all != NULL)
			rc = bpk_buf_append(all, bpk_view(leaf, sizeof leaf), err);
	}
	bpk_buf_clear(&parcel.packed);
	if (rc != 0)
		return -1;
	return !compares || bpk_seal_tree_equals(&tree, r->state.seal.tree) ? 0
									    : bpk_seal_refuse(err);
}

int bpk_frame_seal_audit(struct bpk_frame_reader *r, struct bpk_err *err)
{
	bool whole;

	if (bpk_frame_seal_check(r, err) != 0)
		return -1;
	if (!r->state.seal.marked)
		return 0;
	if (bpk_seal_leaves_judge(r->leaves, r->state.nchunks, r->state.seal.tree, &whole, err) !=
	    0)
		return -1;
	return whole ? 0 : bpk_frame_seal_walk(r, true, NULL, err);
}
