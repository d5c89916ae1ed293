/*
 * The digest of a raw content: a flow whose parcels are put into SHA-256, in order, or into the
 * leaves of a tree, in any order. Called by cli/sum_work.c.
 *
 *     chunks   |   0   |   1   |   2   |   3   |   put by any thread
 *     leaves   |     0     |     1     |  2 ...    a leaf inside a chunk is digested at once; of
 *                                                  others the parts are gathered
 *
 * Chunks are claimed in order, so each leaf that waits for a part reaches into a parcel that some
 * thread has in hand, or is the last one that was begun: there are never more than two for each
 * thread, and one.
 */
#include "archive/digest.h"

#include <pthread.h>
#include <stdlib.h>

enum { LEAF = BPK_DIGEST_LEAF };

/* A leaf whose parts come from several parcels. The thread that brings a part writes its bytes
 * without the lock. */
struct gathered {
	struct gathered *next;
	uint64_t number;
	size_t filled; /* bytes that are there; guarded by the lock */
	struct bpk_buf bytes;
};

/* The digest of a leaf whose turn in the tree has not come. */
struct early {
	bool is_there;
	uint8_t digest[BPK_DIGEST_SIZE];
};

struct leaves {
	pthread_mutex_t lock; /* guards the following */
	struct bpk_merkle tree;
	struct gathered *begun, *idle;
	struct early *early; /* a ring: leaf n lies at n modulo its room, a power of two */
	size_t room;
};

/* ---- The tree ---- */

static int grow_ring(struct leaves *leaves, uint64_t ahead, struct bpk_err *err)
{
	size_t room = leaves->room > 0 ? leaves->room : 64;
	struct early *ring;

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
		uint64_t number = leaves->tree.count + i;

		ring[number & (room - 1)] = leaves->early[number & (leaves->room - 1)];
	}
	free(leaves->early);
	leaves->early = ring;
	leaves->room = room;
	return 0;
}

/* Under the lock: add a digest to the tree in its turn, with those that waited for it. */
static int note_locked(struct leaves *leaves, uint64_t number, const uint8_t *digest,
		       struct bpk_err *err)
{
	struct early *next;

	if (grow_ring(leaves, number - leaves->tree.count, err) != 0)
		return -1;
	next = &leaves->early[number & (leaves->room - 1)];
	next->is_there = true;
	memcpy(next->digest, digest, sizeof next->digest);
	while ((next = &leaves->early[leaves->tree.count & (leaves->room - 1)])->is_there) {
		if (bpk_merkle_add(&leaves->tree, next->digest, err) != 0)
			return -1;
		next->is_there = false;
	}
	return 0;
}

static int add_leaf(struct leaves *leaves, uint64_t number, struct bpk_view bytes,
		    struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_SIZE];
	int rc;

	if (bpk_merkle_leaf(bytes, digest, err) != 0)
		return -1;
	pthread_mutex_lock(&leaves->lock);
	rc = note_locked(leaves, number, digest, err);
	pthread_mutex_unlock(&leaves->lock);
	return rc;
}

/* ---- Leaves that are gathered ---- */

/* Room for a leaf; NULL without memory. */
static struct gathered *make_gathered(struct bpk_err *err)
{
	struct gathered *leaf = bpk_calloc(1, sizeof *leaf, err);

	if (leaf == NULL || bpk_buf_resize(&leaf->bytes, LEAF, err) == 0)
		return leaf;
	free(leaf);
	return NULL;
}

/* Under the lock: the leaf of that number, begun now or before; NULL without memory. */
static struct gathered *find_locked(struct leaves *leaves, uint64_t number, struct bpk_err *err)
{
	struct gathered *leaf = leaves->begun;

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
static bool count_locked(struct leaves *leaves, struct gathered *leaf, size_t size)
{
	struct gathered **at = &leaves->begun;

	leaf->filled += size;
	if (leaf->filled < LEAF)
		return false;
	while (*at != leaf)
		at = &(*at)->next;
	*at = leaf->next;
	return true;
}

static int add_part(struct leaves *leaves, uint64_t number, size_t start, struct bpk_view part,
		    struct bpk_err *err)
{
	struct gathered *leaf;
	bool is_complete;
	int rc;

	pthread_mutex_lock(&leaves->lock);
	leaf = find_locked(leaves, number, err);
	pthread_mutex_unlock(&leaves->lock);
	if (leaf == NULL)
		return -1;
	memcpy(leaf->bytes.data + start, part.data, part.size);
	pthread_mutex_lock(&leaves->lock);
	is_complete = count_locked(leaves, leaf, part.size);
	pthread_mutex_unlock(&leaves->lock);
	if (!is_complete)
		return 0;
	rc = add_leaf(leaves, number, bpk_view(leaf->bytes.data, LEAF), err);
	pthread_mutex_lock(&leaves->lock);
	leaf->next = leaves->idle;
	leaves->idle = leaf;
	pthread_mutex_unlock(&leaves->lock);
	return rc;
}

static int put_leaves(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct leaves *leaves = writer;
	uint64_t offset = parcel->raw_offset + parcel->want_start;
	const uint8_t *data;

	if (parcel->want_size == 0)
		return 0; /* an empty chunk may have no buffer */
	data = parcel->raw.data + parcel->want_start;
	for (size_t left = parcel->want_size, size; left > 0; left -= size) {
		size_t start = (size_t)(offset % LEAF);

		size = bpk_min_size(left, LEAF - start);
		if ((size == LEAF ? add_leaf(leaves, offset / LEAF, bpk_view(data, size), err)
				  : add_part(leaves, offset / LEAF, start, bpk_view(data, size),
					     err)) != 0)
			return -1;
		offset += size;
		data += size;
	}
	return 0;
}

/* All is put: the last leaf may be short. */
static int finish_leaves(struct leaves *leaves, uint8_t *digest, struct bpk_err *err)
{
	struct gathered *last = leaves->begun;

	if (last != NULL) {
		if (last->next != NULL || last->number != leaves->tree.count)
			return bpk_fail(err, BPK_BUG, "a leaf of the tree is not complete");
		if (add_leaf(leaves, last->number, bpk_view(last->bytes.data, last->filled), err) !=
		    0)
			return -1;
	}
	return bpk_merkle_root(&leaves->tree, digest, err);
}

static void free_gathered(struct gathered *leaf)
{
	while (leaf != NULL) {
		struct gathered *next = leaf->next;

		bpk_buf_clear(&leaf->bytes);
		free(leaf);
		leaf = next;
	}
}

static bool places(const void *writer)
{
	(void)writer;
	return true;
}

static const struct bpk_writer_ops leaves_writer = { .places = places, .put = put_leaves };

/* ---- All bytes in order ---- */

static int put_bytes(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	return bpk_summing_add(
		writer, bpk_view(parcel->raw.data + parcel->want_start, parcel->want_size), err);
}

static const struct bpk_writer_ops bytes_writer = { .put = put_bytes };

/* ---- The run ---- */

static int make_plan(const struct bpk_input *in, struct bpk_sizes *sizes, struct bpk_plan *plan,
		     struct bpk_err *err)
{
	if (in->format != &bpk_format_raw)
		return bpk_plan_found(in->format->reader, in->reader, sizes, plan, err);
	*plan = bpk_plan_cut(in->info->raw_size, LEAF);
	return 0;
}

/* Put the content into a writer of this file. */
static int run(const struct bpk_input *in, const struct bpk_digest_options *options,
	       const struct bpk_writer_ops *out, void *writer, struct bpk_err *err)
{
	struct bpk_flow flow = {
		.in = in->format->reader,
		.reader = in->reader,
		.out = out,
		.writer = writer,
		.check = true,
		.decode = true,
		.limits = options->limits,
		.reader_memory = options->tree ? 2 * LEAF : 0,
		.progress = options->progress,
		.progress_arg = options->progress_arg,
	};
	struct bpk_flow_result result;
	struct bpk_sizes sizes = { 0 };
	int rc = make_plan(in, &sizes, &flow.plan, err);

	if (rc == 0)
		rc = bpk_flow_run(&flow, &result, err);
	bpk_sizes_clear(&sizes);
	return rc;
}

static int digest_tree(const struct bpk_input *in, const struct bpk_digest_options *options,
		       uint8_t *digest, struct bpk_err *err)
{
	struct leaves leaves = { 0 };
	int rc;

	pthread_mutex_init(&leaves.lock, NULL);
	rc = run(in, options, &leaves_writer, &leaves, err);
	if (rc == 0)
		rc = finish_leaves(&leaves, digest, err);
	pthread_mutex_destroy(&leaves.lock);
	free_gathered(leaves.begun);
	free_gathered(leaves.idle);
	free(leaves.early);
	return rc;
}

static int digest_bytes(const struct bpk_input *in, const struct bpk_digest_options *options,
			uint8_t *digest, struct bpk_err *err)
{
	uint8_t whole[BPK_DIGEST_MAX];
	struct bpk_summing summing = { 0 };
	int rc = bpk_summing_begin(&summing, bpk_checksum_find("sha256"), err);

	if (rc == 0)
		rc = run(in, options, &bytes_writer, &summing, err);
	if (rc == 0)
		rc = bpk_summing_end(&summing, whole, err);
	if (rc == 0)
		memcpy(digest, whole, BPK_DIGEST_SIZE);
	bpk_summing_clear(&summing);
	return rc;
}

int bpk_input_digest(struct bpk_input *in, const struct bpk_digest_options *options,
		     uint8_t digest[BPK_DIGEST_SIZE], struct bpk_err *err)
{
	if ((options->tree ? digest_tree : digest_bytes)(in, options, digest, err) == 0)
		return 0;
	bpk_input_subject(in, err);
	return bpk_input_judge(in, err);
}
