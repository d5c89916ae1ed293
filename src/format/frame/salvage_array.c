/*
 * Brings the chunks of an array in chunks of several dimensions out of its raw data, which are in C
 * order: bpk_salvage.gather. salvage_parts.c calls it.
 *
 *     raw data    0  1  2 | 3  4 . .         chunk 1, of 2 x 3 items:    3 4 0
 *                 5  6  7 | 8  9 . .                                     8 9 0
 */
#include "format/frame/salvage.h"

#include <inttypes.h>
#include <stdlib.h>
#include "format/frame/nd/nd.h"

enum { PAGE = 4096 }; /* bytes that are read at a time where runs are shorter */

/* ---- A part of the raw data ---- */

/* Read runs that lie close to each other together. */
static int read_run(struct bpk_source *raw, uint64_t at, struct bpk_span out, struct bpk_buf *page,
		    uint64_t *page_at, struct bpk_err *err)
{
	if (out.size >= PAGE)
		return bpk_source_need_at(raw, at, out, err);
	if (at < *page_at || at - *page_at > page->size ||
	    out.size > page->size - (size_t)(at - *page_at)) {
		*page_at = at;
		if (bpk_buf_resize(page, PAGE, err) != 0 ||
		    bpk_source_read_at(raw, at, bpk_span(page->data, PAGE), &page->size, err) != 0)
			return -1;
		if (page->size < out.size)
			return bpk_fail(err, BPK_FAILED, "has become shorter");
	}
	memcpy(out.data, page->data + (at - *page_at), out.size);
	return 0;
}

/* Read a box of the array. */
static int read_box(const struct bpk_frame_nd *nd, const struct bpk_slice *box,
		    struct bpk_source *raw, struct bpk_buf *run, struct bpk_err *err)
{
	size_t all = (size_t)(bpk_frame_box_items(box) * nd->array.dtype.size), got = 0;
	uint64_t offset, size, page_at = 0;
	struct bpk_buf page = { 0 };
	struct bpk_runs runs;
	int rc = bpk_buf_resize(run, all, err);

	bpk_runs_begin(&nd->array, box, &runs);
	while (rc == 0 && got < all && bpk_runs_next(&runs, &offset, &size)) {
		rc = read_run(raw, offset, bpk_span(run->data + got, (size_t)size), &page, &page_at,
			      err);
		got += (size_t)size;
	}
	bpk_buf_clear(&page);
	return rc;
}

/* ---- A chunk ---- */

/* The items of the array in a chunk. */
static struct bpk_slice box_of(const struct bpk_frame_nd *nd, uint64_t number)
{
	struct bpk_slice box = { .ndimensions = nd->array.ndimensions };

	for (size_t i = box.ndimensions; i-- > 0;) {
		box.start[i] = number % nd->grid[i] * nd->chunk_shape[i];
		box.stop[i] = bpk_min_u64(box.start[i] + nd->chunk_shape[i], nd->array.shape[i]);
		number /= nd->grid[i];
	}
	return box;
}

/* Put a box that is in run into its chunk, with zeros for padding. */
static int put_box(const struct bpk_frame_nd *nd, uint64_t number, const struct bpk_slice *box,
		   const struct bpk_buf *run, struct bpk_span chunk, struct bpk_err *err)
{
	struct bpk_frame_pieces *pieces = bpk_frame_pieces_new(err);

	if (pieces == NULL)
		return -1;
	pieces->count = 1;
	pieces->piece[0] = (struct bpk_frame_piece){ .box = *box };
	bpk_frame_nd_gather(nd, number, pieces, run->data, chunk.data);
	free(pieces);
	return 0;
}

/* A frame may claim a shorter last chunk. */
static int check_size(const struct bpk_frame_left *left, struct bpk_span chunk, struct bpk_err *err)
{
	return chunk.size == left->nd->chunk_size
		       ? 0
		       : bpk_fail(err, BPK_CORRUPT,
				  "a chunk of %zu bytes, those of its array have %" PRIu64,
				  chunk.size, left->nd->chunk_size);
}

static int gather(void *parts, struct bpk_source *raw, uint64_t number, struct bpk_span chunk,
		  struct bpk_err *err)
{
	struct bpk_frame_left *left = parts;
	struct bpk_slice box = box_of(left->nd, number);

	if (check_size(left, chunk, err) != 0 ||
	    read_box(left->nd, &box, raw, &left->run, err) != 0)
		return -1;
	return put_box(left->nd, number, &box, &left->run, chunk, err);
}

/* Set the padding of a chunk to 0, whatever other programs leave there. */
static int clear_padding(void *parts, uint64_t number, struct bpk_span chunk, struct bpk_err *err)
{
	struct bpk_frame_left *left = parts;
	struct bpk_slice box = box_of(left->nd, number);
	struct bpk_buf mask = { 0 };
	size_t size = (size_t)(bpk_frame_box_items(&box) * left->nd->array.dtype.size);
	int rc = check_size(left, chunk, err);

	if (rc == 0)
		rc = bpk_buf_resize(&left->run, size, err);
	if (rc == 0)
		rc = bpk_buf_resize(&mask, chunk.size, err);
	if (rc == 0) {
		memset(left->run.data, 0xff, size);
		rc = put_box(left->nd, number, &box, &left->run, bpk_span(mask.data, mask.size),
			     err);
	}
	for (size_t i = 0; rc == 0 && i < mask.size; i++)
		chunk.data[i] &= mask.data[i];
	bpk_buf_clear(&mask);
	return rc;
}

/* A frame with a geometry that is not that of its chunks could not be read. */
static int drop_geometry(struct bpk_frame_left *left, const char *name, struct bpk_salvage *salvage,
			 struct bpk_err *err)
{
	bpk_frame_layers_remove(&left->header.fixed, name);
	return bpk_salvage_doubt(salvage,
				 "the shape of its array is damaged or not that of its chunks, and "
				 "lost",
				 err);
}

int bpk_frame_left_set_array(struct bpk_frame_left *left, struct bpk_salvage *salvage,
			     struct bpk_err *err)
{
	const struct bpk_frame_layers *fixed = &left->header.fixed;
	const struct bpk_frame_layer *layer = bpk_frame_layers_find(fixed, BPK_FRAME_B2ND);
	bool older = layer == NULL;
	const char *name = older ? BPK_FRAME_CATERVA : BPK_FRAME_B2ND;
	struct bpk_err why = { 0 };

	if (older)
		layer = bpk_frame_layers_find(fixed, BPK_FRAME_CATERVA);
	salvage->shaped = layer != NULL;
	if (layer == NULL)
		return 0;
	left->nd = bpk_calloc(1, sizeof *left->nd, err);
	if (left->nd == NULL)
		return -1;
	if (bpk_frame_nd_read(bpk_buf_view(&layer->content), older, left->header.typesize, left->nd,
			      &why) != 0)
		return bpk_err_pass_memory(&why, err) != 0
			       ? -1
			       : drop_geometry(left, name, salvage, err);
	if (left->nd->nchunks != salvage->nchunks || left->nd->chunk_size != salvage->chunk_size)
		return drop_geometry(left, name, salvage, err);
	salvage->array_size = left->nd->array.size;
	salvage->block_size = (uint32_t)left->nd->block_size;
	salvage->gather = gather;
	salvage->clear_padding = clear_padding;
	return 0;
}
