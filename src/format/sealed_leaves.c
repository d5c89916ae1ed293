/* Leaves of a seal in any order (sealed.h): those that wait stand in a ring, by their numbers.
 * Called by readers, whose checks bring them. */
#include "format/sealed.h"

#include <stdlib.h>

enum {
	FIRST_ROOM = 64,
	MOST_ROOM = 1 << 14, /* leaves that wait: more than threads hold parcels; 528 KiB */
};

struct slot {
	bool full;
	uint8_t leaf[BPK_MERKLE_SIZE];
};

struct bpk_seal_leaves {
	bpk_seal_fill_fn *fill;
	void *arg;
	struct bpk_mutex lock;     /* guards the rest */
	struct bpk_seal_tree tree; /* of the leaves in order; the next has its count as number */
	struct slot *ring;         /* of chunk number at number % room */
	uint64_t room;
	bool ended;
};

int bpk_seal_leaves_new(bpk_seal_fill_fn *fill, void *arg, struct bpk_seal_leaves **leaves,
			struct bpk_err *err)
{
	struct bpk_seal_leaves *new = bpk_calloc(1, sizeof *new, err);

	*leaves = new;
	if (new == NULL)
		return -1;
	new->fill = fill;
	new->arg = arg;
	bpk_mutex_init(&new->lock);
	return 0;
}

void bpk_seal_leaves_free(struct bpk_seal_leaves *leaves)
{
	if (leaves == NULL)
		return;
	bpk_mutex_clear(&leaves->lock);
	free(leaves->ring);
	free(leaves);
}

/* ---- The ring; the caller has the lock ---- */

static struct slot *slot_of(const struct bpk_seal_leaves *l, uint64_t number)
{
	return &l->ring[number % l->room];
}

/* Make room for the leaf that is ahead of the next one by so much; below MOST_ROOM. */
static int make_room(struct bpk_seal_leaves *l, uint64_t ahead, struct bpk_err *err)
{
	uint64_t room = bpk_max_u64(l->room, FIRST_ROOM), next = bpk_seal_tree_count(&l->tree);
	struct slot *ring;

	while (ahead >= room)
		room *= 2;
	if (room == l->room)
		return 0;
	ring = bpk_calloc((size_t)room, sizeof *ring, err);
	if (ring == NULL)
		return -1;
	for (uint64_t i = next; i < next + l->room; i++)
		ring[i % room] = *slot_of(l, i);
	free(l->ring);
	l->ring = ring;
	l->room = room;
	return 0;
}

/* Find the next leaf: one that waits, or one that no thread brings. */
static int find_next(struct bpk_seal_leaves *l, uint8_t leaf[BPK_MERKLE_SIZE], bool *found,
		     struct bpk_err *err)
{
	uint64_t next = bpk_seal_tree_count(&l->tree);
	struct slot *slot = l->room > 0 ? slot_of(l, next) : NULL;

	*found = slot != NULL && slot->full;
	if (!*found)
		return l->fill == NULL ? 0 : l->fill(l->arg, next, leaf, found, err);
	memcpy(leaf, slot->leaf, BPK_MERKLE_SIZE);
	slot->full = false;
	return 0;
}

/* Add the leaves that are there, up to nchunks. */
static int add_all(struct bpk_seal_leaves *l, uint64_t nchunks, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];
	bool found = true;

	while (bpk_seal_tree_count(&l->tree) < nchunks) {
		if (find_next(l, leaf, &found, err) != 0)
			return -1;
		if (!found)
			return 0;
		if (bpk_seal_tree_add(&l->tree, leaf, err) != 0)
			return -1;
	}
	return 0;
}

static int store(struct bpk_seal_leaves *l, uint64_t number, const uint8_t leaf[BPK_MERKLE_SIZE],
		 struct bpk_err *err)
{
	uint64_t next;

	if (l->ended || add_all(l, number, err) != 0)
		return l->ended ? 0 : -1;
	next = bpk_seal_tree_count(&l->tree);
	if (number == next)
		return bpk_seal_tree_add(&l->tree, leaf, err);
	l->ended = number < next || number - next >= MOST_ROOM;
	if (l->ended)
		return 0;
	if (make_room(l, number - next, err) != 0)
		return -1;
	l->ended = slot_of(l, number)->full;
	slot_of(l, number)->full = true;
	memcpy(slot_of(l, number)->leaf, leaf, BPK_MERKLE_SIZE);
	return 0;
}

/* ---- Bringing and taking ---- */

int bpk_seal_leaves_set(struct bpk_seal_leaves *l, uint64_t number,
			const uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	int rc;

	bpk_mutex_lock(&l->lock);
	rc = store(l, number, leaf, err);
	bpk_mutex_unlock(&l->lock);
	return rc;
}

int bpk_seal_leaves_bring(struct bpk_seal_leaves *l, const struct bpk_checksum *checksum,
			  const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (bpk_seal_parcel(checksum, parcel, parcel->number, true, leaf, err) != 0)
		return -1;
	return bpk_seal_leaves_set(l, parcel->number, leaf, err);
}

int bpk_seal_leaves_tree(struct bpk_seal_leaves *l, uint64_t nchunks, struct bpk_seal_tree *tree,
			 bool *whole, struct bpk_err *err)
{
	int rc = 0;

	*whole = false;
	if (l == NULL)
		return 0;
	bpk_mutex_lock(&l->lock);
	if (!l->ended)
		rc = add_all(l, nchunks, err);
	*whole = rc == 0 && !l->ended && bpk_seal_tree_count(&l->tree) == nchunks;
	*tree = l->tree;
	bpk_mutex_unlock(&l->lock);
	return rc;
}

int bpk_seal_leaves_judge(struct bpk_seal_leaves *leaves, uint64_t nchunks,
			  const struct bpk_seal *recorded, bool *whole, struct bpk_err *err)
{
	struct bpk_seal_tree tree;

	if (bpk_seal_leaves_tree(leaves, nchunks, &tree, whole, err) != 0)
		return -1;
	return !*whole || bpk_seal_tree_equals(&tree, recorded->tree)
		       ? 0
		       : bpk_seal_refuse(recorded, err);
}
