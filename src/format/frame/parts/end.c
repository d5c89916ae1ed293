/*
 * Builds the end of a frame and its header in agreement. Writers and editors call it through
 * output_put.c.
 */
#include "format/frame/parts/section.h"

#include <inttypes.h>
#include <stdlib.h>

/* The parts under construction. */
struct making {
	const struct bpk_frame_ending *e;
	struct bpk_buf *header_bytes, *tail;
	size_t header_start, index_start, trailer_start; /* offsets in their buffers */
	size_t digests_at;                               /* in the trailer; 0: no digests */
	bool with_digests;
};

/* Make the record of the seal, over the header as it will be. Its sizes that are not known yet are
 * not sealed. */
static int make_record(const struct making *m, struct bpk_buf *record, struct bpk_err *err)
{
	const struct bpk_frame_ending *e = m->e;
	const struct bpk_checksum *checksum = m->with_digests ? e->checksum : &bpk_checksums[0];
	uint8_t root[BPK_MERKLE_SIZE];
	struct bpk_buf header = { 0 };
	int rc = bpk_frame_header_write(e->header, &header, err);

	if (rc == 0)
		rc = bpk_frame_seal_root(bpk_buf_view(&header), e->layers, checksum, e->generation,
					 e->tree, root, err);
	if (rc == 0)
		rc = bpk_frame_seal_write(e->generation, root, e->tree, record, err);
	bpk_buf_clear(&header);
	return rc;
}

static void list_ours(struct bpk_frame_layers *layers, const char *name,
		      const struct bpk_buf *content)
{
	strcpy(layers->all[layers->count].name, name);
	layers->all[layers->count++].content = *content;
}

/* List the trailer's layers, borrowed, then seal and digests; only the list is freed by free(). */
static int collect_layers(const struct making *m, struct bpk_frame_layers *layers,
			  struct bpk_buf *record, struct bpk_buf *digests, struct bpk_err *err)
{
	const struct bpk_frame_layers *given = m->e->layers;

	layers->all = bpk_calloc(given->count + 2, sizeof *layers->all, err);
	if (layers->all == NULL)
		return -1;
	for (size_t i = 0; i < given->count; i++)
		if (strcmp(given->all[i].name, BPK_FRAME_DIGESTS) != 0 &&
		    strcmp(given->all[i].name, BPK_FRAME_SEAL) != 0)
			layers->all[layers->count++] = given->all[i];
	if (m->e->tree != NULL) {
		if (make_record(m, record, err) != 0)
			return -1;
		list_ours(layers, BPK_FRAME_SEAL, record);
	}
	if (!m->with_digests)
		return 0;
	if (bpk_frame_digests_begin(m->e->checksum, m->e->nchunks, digests, err) != 0)
		return -1;
	list_ours(layers, BPK_FRAME_DIGESTS, digests);
	return 0;
}

static int make_trailer(struct bpk_chunk_ctx *ctx, struct making *m, struct bpk_err *err)
{
	struct bpk_frame_layers layers = { 0 };
	struct bpk_buf record = { 0 }, digests = { 0 };
	int rc = collect_layers(m, &layers, &record, &digests, err);

	m->trailer_start = m->tail->size;
	if (rc == 0)
		rc = bpk_frame_trailer_write(ctx, &layers, m->tail, &m->digests_at, err);
	m->e->header->has_layers = layers.count > 0;
	bpk_buf_clear(&record);
	bpk_buf_clear(&digests);
	free(layers.all);
	return rc;
}

/* Write the header twice: its own size, and the frame's, are known only after the first time. */
static int make_header(struct making *m, struct bpk_err *err)
{
	struct bpk_frame_header *h = m->e->header;
	uint64_t tail = m->tail->size - m->index_start;

	m->header_start = m->header_bytes->size;
	if (m->with_digests)
		h->pack_threads = h->unpack_threads = 0; /* the header's mark (frame.h) */
	if (bpk_frame_header_write(h, m->header_bytes, err) != 0)
		return -1;
	if (!h->sparse && m->e->payload_end < h->size)
		return bpk_fail(err, BPK_BUG,
				"index at %" PRIu64 " lies in the header of %" PRIu32 " bytes",
				m->e->payload_end, h->size);
	if (!h->sparse)
		h->packed_size = m->e->payload_end - h->size;
	h->frame_size = tail + (h->sparse ? h->size : m->e->payload_end);
	m->header_bytes->size = m->header_start;
	return bpk_frame_header_write(h, m->header_bytes, err);
}

static int put_digest(const struct making *m, uint8_t *digests, enum bpk_frame_digest_part part,
		      struct bpk_view bytes, struct bpk_err *err)
{
	const struct bpk_checksum *checksum = m->e->checksum;
	uint8_t digest[BPK_DIGEST_MAX];

	if (bpk_checksum_compute(checksum, bytes, digest, err) != 0)
		return -1;
	memcpy(digests + BPK_FRAME_DIGESTS_HEAD + (size_t)part * checksum->size, digest,
	       checksum->size);
	return 0;
}

static struct bpk_view part_of(const struct bpk_buf *buf, size_t from, size_t to)
{
	return bpk_view(buf->data + from, to - from);
}

static int fill_digests(const struct making *m, struct bpk_err *err)
{
	uint8_t *digests = m->tail->data + m->trailer_start + m->digests_at + BPK_FRAME_DIGESTS_BIN;
	size_t chunks = (size_t)BPK_FRAME_DIGEST_PARTS * m->e->checksum->size;
	struct bpk_view header = part_of(m->header_bytes, m->header_start, m->header_bytes->size);
	struct bpk_view index = part_of(m->tail, m->index_start, m->trailer_start);
	struct bpk_view trailer = part_of(m->tail, m->trailer_start, m->tail->size);

	bpk_frame_digests_set_header(digests, m->e->header->frame_size, header);
	bpk_copy(digests + BPK_FRAME_DIGESTS_HEAD + chunks, m->e->chunk_digests.data,
		 m->e->chunk_digests.size);
	if (put_digest(m, digests, BPK_FRAME_DIGEST_HEADER, header, err) != 0 ||
	    put_digest(m, digests, BPK_FRAME_DIGEST_INDEX, index, err) != 0)
		return -1;
	return put_digest(m, digests, BPK_FRAME_DIGEST_TRAILER, trailer, err);
}

static int check_ending(const struct bpk_frame_ending *e, bool with_digests, struct bpk_err *err)
{
	const struct bpk_frame_header *h = e->header;

	if (!h->variable_chunks && e->nchunks != bpk_frame_count(h))
		return bpk_fail(err, BPK_BUG,
				"%" PRIu64 " chunks for %" PRIu64 " bytes in chunks of %" PRId32,
				e->nchunks, h->raw_size, h->chunk_size);
	if (with_digests && e->chunk_digests.size != e->nchunks * e->checksum->size)
		return bpk_fail(err, BPK_BUG, "%zu bytes of digests for %" PRIu64 " chunks",
				e->chunk_digests.size, e->nchunks);
	return 0;
}

int bpk_frame_end(struct bpk_chunk_ctx *ctx, const struct bpk_frame_ending *ending,
		  struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err)
{
	struct making m = { .e = ending,
			    .header_bytes = header_bytes,
			    .tail = tail,
			    .index_start = tail->size,
			    .with_digests =
				    ending->checksum != NULL && ending->checksum->size > 0 };

	if (check_ending(ending, m.with_digests, err) != 0 ||
	    bpk_frame_index_write(ctx, ending->entries, ending->nchunks, tail, err) != 0 ||
	    make_trailer(ctx, &m, err) != 0 || make_header(&m, err) != 0 ||
	    (ending->tree != NULL &&
	     bpk_frame_seal_check_count(ending->header, ending->nchunks, err) != 0))
		return -1;
	return m.with_digests ? fill_digests(&m, err) : 0;
}
