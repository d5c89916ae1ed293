/*
 * Boxes of an array, and the division of runs of items in C order into boxes, for the files of nd:
 *
 *     . . . . .
 *     . . 1 1 1        items 7 to 17 of a 5 x 5 array are three boxes, which are
 *     2 2 2 2 2        consecutive in memory
 *     3 3 3 . .
 *     . . . . .
 */
#include "format/frame/nd/nd.h"

/* ---- Boxes ---- */

uint64_t bpk_frame_box_items(const struct bpk_slice *box)
{
	uint64_t items = 1;

	for (size_t i = 0; i < box->ndimensions; i++)
		items *= box->stop[i] - box->start[i];
	return items;
}

struct bpk_slice bpk_frame_nd_whole(const struct bpk_frame_nd *nd)
{
	struct bpk_slice whole = { .ndimensions = nd->array.ndimensions };

	memcpy(whole.stop, nd->array.shape, sizeof whole.stop);
	return whole;
}

bool bpk_frame_box_meet(const struct bpk_slice *a, const struct bpk_slice *b, struct bpk_slice *out)
{
	out->ndimensions = a->ndimensions;
	for (size_t i = 0; i < a->ndimensions; i++) {
		out->start[i] = bpk_max_u64(a->start[i], b->start[i]);
		out->stop[i] = bpk_min_u64(a->stop[i], b->stop[i]);
		if (out->start[i] >= out->stop[i])
			return false;
	}
	return true;
}

/* ---- A run of items as boxes ---- */

struct cutter {
	const struct bpk_slice *box;
	uint64_t item_size;
	uint64_t inner[BPK_FRAME_MAX_DIMENSIONS]; /* items of one index of a dimension */
	struct bpk_slice now; /* single indices in the dimensions before the one being cut */
	uint64_t offset;
	struct bpk_frame_pieces *pieces;
};

/* Add indices from to to - 1 of dimension i, with all indices of the dimensions after it. */
static void add_piece(struct cutter *c, size_t i, uint64_t from, uint64_t to)
{
	struct bpk_frame_piece *piece = &c->pieces->piece[c->pieces->count++];

	piece->box = c->now;
	piece->offset = c->offset;
	for (size_t k = i; k < c->box->ndimensions; k++) {
		piece->box.start[k] = c->box->start[k] + (k == i ? from : 0);
		piece->box.stop[k] = k == i ? c->box->start[k] + to : c->box->stop[k];
	}
	c->offset += bpk_frame_box_items(&piece->box) * c->item_size;
}

static void cut(struct cutter *c, size_t i, uint64_t from, uint64_t to);

/* Cut a part of one index of dimension i: items from to to - 1 of the dimensions after it. */
static void cut_index(struct cutter *c, size_t i, uint64_t index, uint64_t from, uint64_t to)
{
	c->now.start[i] = c->box->start[i] + index;
	c->now.stop[i] = c->now.start[i] + 1;
	cut(c, i + 1, from, to);
}

/*
 * Cut the items from to to - 1 (at least one), counted in dimension i and those after it: whole
 * indices become one box, the partial ones at both ends are cut in the next dimension. Each of
 * these is partial at one side only, so each dimension adds at most two boxes.
 */
static void cut(struct cutter *c, size_t i, uint64_t from, uint64_t to)
{
	uint64_t inner, first, last;

	if (i == c->box->ndimensions) {
		add_piece(c, i, 0, 1);
		return;
	}
	inner = c->inner[i];
	first = from / inner;
	last = to / inner;
	if (from % inner != 0) {
		uint64_t end = bpk_min_u64(to - first * inner, inner);

		cut_index(c, i, first, from % inner, end);
		if (end < inner)
			return;
		first++;
	}
	if (last > first)
		add_piece(c, i, first, last);
	if (to % inner != 0)
		cut_index(c, i, last, 0, to % inner);
}

struct bpk_frame_pieces *bpk_frame_pieces_new(struct bpk_err *err)
{
	return bpk_calloc(1, sizeof(struct bpk_frame_pieces), err);
}

void bpk_frame_nd_cut(const struct bpk_frame_nd *nd, const struct bpk_slice *box, uint64_t first,
		      uint64_t count, struct bpk_frame_pieces *pieces)
{
	struct cutter c = { .box = box, .item_size = nd->array.dtype.size, .pieces = pieces };
	uint64_t inner = 1;

	pieces->count = 0;
	c.now.ndimensions = box->ndimensions;
	for (size_t i = box->ndimensions; i-- > 0;) {
		c.inner[i] = inner;
		inner *= box->stop[i] - box->start[i];
	}
	if (count > 0)
		cut(&c, 0, first, first + count);
}
