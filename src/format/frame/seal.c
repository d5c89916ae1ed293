/*
 * Tests the seal of a frame (parts/seal.c): root and chunks. Called by the audit, the editor and
 * repack.
 */
#include "format/frame/seal.h"

#include "format/frame/chunks.h"
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
				"another program changed it since it was sealed; " BPK_SEAL_ADVICE);
	return bpk_fail_as(err, &why);
}

/* ---- The chunks ---- */

struct finding {
	struct bpk_frame_reader *reader;
	struct bpk_parcel parcel;
	bool checks; /* a damaged chunk is named by its own digest */
};

static int find_leaf(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	struct finding *f = arg;
	bool found;

	f->parcel.number = number;
	if (bpk_frame_seal_find_entry(f->reader, number, leaf, &found, err) != 0)
		return -1;
	if (found)
		return 0;
	if (bpk_frame_fetch(f->reader, &f->parcel, err) != 0 ||
	    (f->checks && bpk_frame_chunk_check(f->reader, &f->parcel, err) != 0))
		return -1;
	return bpk_seal_parcel(bpk_frame_seal_checksum(f->reader), &f->parcel, number, f->checks,
			       leaf, err);
}

int bpk_frame_seal_find(struct bpk_frame_reader *r, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE],
			struct bpk_err *err)
{
	struct finding f = { r, { .want_size = SIZE_MAX }, false };
	int rc = find_leaf(&f, number, leaf, err);

	bpk_buf_clear(&f.parcel.packed);
	return rc;
}

int bpk_frame_seal_walk(struct bpk_frame_reader *r, bool compares, struct bpk_buf *all,
			struct bpk_err *err)
{
	struct finding f = { r, { .want_size = SIZE_MAX }, false };
	int rc = bpk_seal_walk(find_leaf, &f, r->state.nchunks, compares ? &r->state.seal : NULL,
			       all, err);

	bpk_buf_clear(&f.parcel.packed);
	return rc;
}

int bpk_frame_seal_audit(struct bpk_frame_reader *r, struct bpk_err *err)
{
	bool whole;

	if (bpk_frame_seal_check(r, err) != 0)
		return -1;
	if (!r->state.seal.marked)
		return 0;
	if (bpk_seal_leaves_judge(r->leaves, r->state.nchunks, &r->state.seal, &whole, err) != 0)
		return -1;
	return whole ? 0 : bpk_frame_seal_walk(r, true, NULL, err);
}

/* ---- Proofs ---- */

/* The leaf by the digest that is recorded, without a look at the chunk. */
static int find_recorded(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE],
			 struct bpk_err *err)
{
	struct bpk_frame_reader *r = ((struct finding *)arg)->reader;
	struct bpk_where where = { 0 };
	struct bpk_frame_found place;
	bool found;

	if (bpk_frame_seal_find_entry(r, number, leaf, &found, err) != 0)
		return -1;
	if (found)
		return 0;
	if (!bpk_frame_has_seal(&r->state, number))
		return find_leaf(arg, number, leaf, err);
	if (bpk_frame_look(r, number, &place, err) != 0 ||
	    bpk_frame_get_seal(&r->state, number, where.digest, err) != 0)
		return -1;
	where.header = place.header;
	return bpk_seal_leaf_at(r->state.digests.checksum, number, &where, leaf, err);
}

/* Bands take their items from many chunks. */
int bpk_frame_seal_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err)
{
	struct bpk_frame_reader *r = reader;
	struct finding f = { r, { .want_size = SIZE_MAX }, true };
	bool recorded = bpk_frame_seal_checksum(r)->size > 0 && !r->state.stale;
	int rc = bpk_frame_seal_check(r, err);

	if (r->array.bands != NULL && first != end) {
		first = 0;
		end = BPK_UNKNOWN;
	}
	if (rc == 0)
		rc = bpk_seal_prove(r->state.seal.tree, first, end,
				    recorded ? find_recorded : find_leaf, &f, &r->proof, err);
	bpk_buf_clear(&f.parcel.packed);
	return rc;
}

int bpk_frame_seal_refutes(void *reader, const struct bpk_place *place,
			   const struct bpk_salvage *found, bool *refuted, struct bpk_err *err)
{
	const struct bpk_frame_reader *r = reader;
	struct bpk_err why = { 0 };
	bool fits;

	if (bpk_err_settle(bpk_frame_seal_check(r, &why), &why, &fits, err) != 0)
		return -1;
	return bpk_seal_refutes(fits ? r->state.seal.tree : NULL, place, found,
				bpk_frame_offset_of_special, refuted, err);
}
