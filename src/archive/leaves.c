/*
 * Leaves of a tree, from bytes in any order (ident.h). Called by digest.c and keep_ident.c,
 * and by bpk pack.
 *
 *     chunks   |   0   |   1   |   2   |   3   |   put by any thread
 *     leaves   |     0     |     1     |  2 ...    a leaf inside a chunk is digested at once; of
 *                                                  others the parts are gathered
 *
 * Chunks are claimed in order, so each leaf that waits for a part reaches into a parcel that some
 * thread has in hand, or is the last one that was begun: there are never more than two for each
 * thread, and one.
 */
#include "archive/ident.h"

#include <stdlib.h>

enum { LEAF = BPK_IDENT_LEAF };

/* A leaf whose parts come from several parcels. The thread that brings a part writes its bytes
 * without the lock. */
struct bpk_gathered {
	struct bpk_gathered *next;
	uint64_t number;
	size_t filled; /* bytes that are there; guarded by the lock */
	struct bpk_buf bytes;
};

/* The digest of a leaf whose turn in the tree has not come. */
struct bpk_early {
	bool is_there;
	uint8_t digest[BPK_MERKLE_SIZE];
};

/* ---- The tree ---- */

static int grow_ring(struct bpk_leaves *leaves, uint64_t ahead, struct bpk_err *err)
{
	size_t room = leaves->room > 0 ? leaves->room : 64;
	struct bpk_early *ring;

	while (room <= ahead)
		if (room > SIZE_MAX / 2 / sizeof *ring)
			return bpk_fail_memory(err, SIZE_MAX);
		else
			room *= 2;
	if (room == leaves->room)
		return 0;
	ring = bpk_calloc(room, sizeof *ring, err);
	if (ring == NULL)
		return -1;
	for (uint64_t i = 0; i < leaves->room; i++) {
		uint64_t number = bpk_ident_leaves(leaves->tree) + i;

		ring[number & (room - 1)] = leaves->early[number & (leaves->room - 1)];
	}
	free(leaves->early);
	leaves->early = ring;
	leaves->room = room;
	return 0;
}

/* Under the lock: add a digest to the tree in its turn, with those that waited for it. */
static int note_locked(struct bpk_leaves *leaves, uint64_t number, const uint8_t *digest,
		       struct bpk_err *err)
{
	struct bpk_early *next;

	if (grow_ring(leaves, number - bpk_ident_leaves(leaves->tree), err) != 0)
		return -1;
	next = &leaves->early[number & (leaves->room - 1)];
	next->is_there = true;
	memcpy(next->digest, digest, sizeof next->digest);
	while ((next = &leaves->early[bpk_ident_leaves(leaves->tree) & (leaves->room - 1)])
		       ->is_there) {
		if (bpk_ident_add(leaves->tree, next->digest, err) != 0)
			return -1;
		next->is_there = false;
	}
	return 0;
}

static int add_leaf(struct bpk_leaves *leaves, uint64_t number, struct bpk_view bytes,
		    struct bpk_err *err)
{
	uint8_t digest[BPK_MERKLE_SIZE];
	int rc;

	if (bpk_merkle_leaf(bytes, digest, err) != 0)
		return -1;
	bpk_mutex_lock(&leaves->lock);
	rc = note_locked(leaves, number, digest, err);
	bpk_mutex_unlock(&leaves->lock);
	return rc;
}

/* ---- Leaves that are gathered ---- */

/* Room for a leaf; NULL without memory. */
static struct bpk_gathered *make_gathered(struct bpk_err *err)
{
	struct bpk_gathered *leaf = bpk_calloc(1, sizeof *leaf, err);

	if (leaf == NULL || bpk_buf_resize(&leaf->bytes, LEAF, err) == 0)
		return leaf;
	free(leaf);
	return NULL;
}

/* Under the lock: the leaf of that number, begun now or before; NULL without memory. */
static struct bpk_gathered *find_locked(struct bpk_leaves *leaves, uint64_t number,
					struct bpk_err *err)
{
	struct bpk_gathered *leaf = leaves->begun;

	while (leaf != NULL && leaf->number != number)
		leaf = leaf->next;
	if (leaf != NULL)
		return leaf;
	leaf = leaves->idle;
	if (leaf == NULL && (leaf = make_gathered(err)) == NULL)
		return NULL;
	leaves->idle = leaf->next;
	leaf->number = number;
	leaf->filled = 0;
	leaf->next = leaves->begun;
	leaves->begun = leaf;
	return leaf;
}

/* Under the lock: count a part that was written. True if the leaf is complete, and the caller's. */
static bool count_locked(struct bpk_leaves *leaves, struct bpk_gathered *leaf, size_t size)
{
	struct bpk_gathered **at = &leaves->begun;

	leaf->filled += size;
	if (leaf->filled < LEAF)
		return false;
	while (*at != leaf)
		at = &(*at)->next;
	*at = leaf->next;
	return true;
}

static int add_part(struct bpk_leaves *leaves, uint64_t number, size_t start, struct bpk_view part,
		    struct bpk_err *err)
{
	struct bpk_gathered *leaf;
	bool is_complete;
	int rc;

	bpk_mutex_lock(&leaves->lock);
	leaf = find_locked(leaves, number, err);
	bpk_mutex_unlock(&leaves->lock);
	if (leaf == NULL)
		return -1;
	memcpy(leaf->bytes.data + start, part.data, part.size);
	bpk_mutex_lock(&leaves->lock);
	is_complete = count_locked(leaves, leaf, part.size);
	bpk_mutex_unlock(&leaves->lock);
	if (!is_complete)
		return 0;
	rc = add_leaf(leaves, number, bpk_view(leaf->bytes.data, LEAF), err);
	bpk_mutex_lock(&leaves->lock);
	leaf->next = leaves->idle;
	leaves->idle = leaf;
	bpk_mutex_unlock(&leaves->lock);
	return rc;
}

int bpk_leaves_put(struct bpk_leaves *leaves, uint64_t offset, struct bpk_view bytes,
		   struct bpk_err *err)
{
	size_t known = 0;

	if (offset < leaves->from)
		known = (size_t)bpk_min_u64(leaves->from - offset, bytes.size);
	offset += known;
	for (size_t at = known, size; at < bytes.size; at += size) {
		size_t start = (size_t)(offset % LEAF);

		size = bpk_min_size(bytes.size - at, LEAF - start);
		if ((size == LEAF
			     ? add_leaf(leaves, offset / LEAF, bpk_view(bytes.data + at, size), err)
			     : add_part(leaves, offset / LEAF, start,
					bpk_view(bytes.data + at, size), err)) != 0)
			return -1;
		offset += size;
	}
	return 0;
}

int bpk_leaves_finish(struct bpk_leaves *leaves, struct bpk_err *err)
{
	struct bpk_gathered *last = leaves->begun;
	uint8_t digest[BPK_MERKLE_SIZE];

	if (last == NULL)
		return 0;
	if (last->next != NULL || last->number != bpk_ident_leaves(leaves->tree))
		return bpk_fail(err, BPK_BUG, "a leaf of the tree is not complete");
	if (bpk_merkle_leaf(bpk_view(last->bytes.data, last->filled), digest, err) != 0)
		return -1;
	bpk_ident_end(leaves->tree, last->filled, digest);
	return 0;
}

static void free_gathered(struct bpk_gathered *leaf)
{
	while (leaf != NULL) {
		struct bpk_gathered *next = leaf->next;

		bpk_buf_clear(&leaf->bytes);
		free(leaf);
		leaf = next;
	}
}

void bpk_leaves_init(struct bpk_leaves *leaves, struct bpk_ident *tree)
{
	*leaves = (struct bpk_leaves){ .tree = tree };
	bpk_mutex_init(&leaves->lock);
}

void bpk_leaves_clear(struct bpk_leaves *leaves)
{
	bpk_mutex_clear(&leaves->lock);
	free_gathered(leaves->begun);
	free_gathered(leaves->idle);
	free(leaves->early);
	leaves->begun = leaves->idle = NULL;
	leaves->early = NULL;
}
