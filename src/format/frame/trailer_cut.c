/*
 * Reads a large trailer without the digests of chunks, which bpk stores unpacked as its last value.
 * state.c calls it.
 *
 *     trailer   94 01 | section of names | values | last value | 23 bytes
 *     value     c6, size | chunk header, 32 bytes | c6, size | head | 3 digests | digests of chunks
 */
#include "format/digest_number.h"
#include "format/frame/pages.h"
#include "format/frame/parts/section.h"

enum {
	FIRST_READ = 4096, /* holds the names, and the last value's start in most trailers */
	HEAD_SIZE = 2,
	BIN = BPK_FRAME_DIGESTS_BIN,
	CONTENT = BIN + BPK_CHUNK_EXTENDED_HEADER_SIZE, /* from the value to its content ... */
	DIGESTS = CONTENT + BIN,                        /* ... and to the head of the digests */
	RAW_SIZE = 4,
	BLOCK_SIZE = 8,
	PACKED_SIZE = 12,
};

/* Read the trailer's first bytes, to the end of the last value's three digests. */
static int read_head(struct bpk_source *source, uint64_t offset, uint64_t size, size_t wanted,
		     struct bpk_buf *head, struct bpk_err *err)
{
	if (bpk_buf_resize(head, (size_t)bpk_min_u64(wanted, size), err) != 0)
		return -1;
	return bpk_source_need_at(source, offset, bpk_span(head->data, head->size), err);
}

/* True if the value at p is a stored chunk with digests of chunks, and ends where the tail begins.
 * room: bytes from p to the trailer's end. */
static bool is_last(const uint8_t *p, uint64_t room, struct bpk_frame_cut *cut)
{
	uint64_t value = bpk_get_be32(p + 1), inner = bpk_get_be32(p + CONTENT + 1);
	const struct bpk_checksum *checksum = bpk_checksum_of_number(p[DIGESTS + 5]);
	struct bpk_chunk_header chunk;
	uint64_t nchunks = bpk_get_le64(p + DIGESTS + 16);

	if (p[0] != BPK_FRAME_BIN_32 || p[CONTENT] != BPK_FRAME_BIN_32 ||
	    value + BIN + BPK_FRAME_TRAILER_TAIL != room || checksum == NULL ||
	    checksum->size == 0 || nchunks > BPK_FRAME_MAX_CHUNKS ||
	    bpk_frame_own_chunk(bpk_view(p + BIN, BPK_CHUNK_EXTENDED_HEADER_SIZE), &chunk, NULL) !=
		    0)
		return false;
	cut->digest_size = checksum->size;
	cut->left = nchunks * checksum->size;
	return chunk.memcpyed && chunk.header_size == BPK_CHUNK_EXTENDED_HEADER_SIZE &&
	       chunk.packed_size == value && chunk.raw_size == inner + BIN &&
	       chunk.raw_size == value - BPK_CHUNK_EXTENDED_HEADER_SIZE &&
	       inner == BPK_FRAME_DIGESTS_HEAD + (uint64_t)BPK_FRAME_DIGEST_PARTS * checksum->size +
				cut->left;
}

/* Make the trailer that would be stored without the digests of chunks. at: of the last value. */
static int make_trailer(struct bpk_source *source, uint64_t end, size_t at,
			struct bpk_frame_cut *cut, struct bpk_err *err)
{
	struct bpk_buf *t = &cut->trailer;
	uint32_t content = (uint32_t)(cut->head.size - at - CONTENT);
	uint8_t *p;

	if (bpk_buf_append(t, bpk_buf_view(&cut->head), err) != 0 ||
	    bpk_buf_resize(t, t->size + BPK_FRAME_TRAILER_TAIL, err) != 0)
		return -1;
	p = t->data + at;
	bpk_put_be32(p + 1, content + BPK_CHUNK_EXTENDED_HEADER_SIZE);
	bpk_put_le32(p + BIN + RAW_SIZE, content);
	bpk_put_le32(p + BIN + BLOCK_SIZE, content);
	bpk_put_le32(p + BIN + PACKED_SIZE, content + BPK_CHUNK_EXTENDED_HEADER_SIZE);
	bpk_put_be32(p + CONTENT + 1, content - BIN);
	p = t->data + cut->head.size;
	if (bpk_source_need_at(source, end - BPK_FRAME_TRAILER_TAIL,
			       bpk_span(p, BPK_FRAME_TRAILER_TAIL), err) != 0)
		return -1;
	bpk_put_be32(p + 1, (uint32_t)t->size);
	return 0;
}

/* Find the last value; sets head. Returns 1 if the trailer cannot be cut. */
static int find_last(struct bpk_source *source, uint64_t offset, uint64_t size,
		     struct bpk_frame_cut *cut, size_t *at, struct bpk_err *err)
{
	struct bpk_frame_section section = { .start = HEAD_SIZE,
					     .max = BPK_FRAME_MAX_LAYERS,
					     .in_trailer = true };
	size_t least = DIGESTS + BPK_FRAME_DIGESTS_HEAD, all;

	if (read_head(source, offset, size, FIRST_READ, &cut->head, err) != 0)
		return -1;
	section.part = bpk_buf_view(&cut->head);
	all = least + BPK_FRAME_DIGEST_PARTS * (size_t)BPK_DIGEST_MAX;
	if (!bpk_frame_section_find(&section, BPK_FRAME_DIGESTS, at) || *at > size ||
	    size - *at < all)
		return 1;
	if (read_head(source, offset, size, *at + all, &cut->head, err) != 0)
		return -1;
	if (!is_last(cut->head.data + *at, size - *at, cut) || cut->left <= BPK_FRAME_PAGED)
		return 1;
	cut->head.size = *at + least + (size_t)BPK_FRAME_DIGEST_PARTS * cut->digest_size;
	return 0;
}

int bpk_frame_cut_trailer(struct bpk_source *source, uint64_t offset, uint64_t size,
			  struct bpk_frame_cut *cut, struct bpk_err *err)
{
	size_t at;
	int rc = 1;

	*cut = (struct bpk_frame_cut){ 0 };
	if (size > BPK_FRAME_PAGED)
		rc = find_last(source, offset, size, cut, &at, err);
	if (rc == 0)
		rc = make_trailer(source, offset + size, at, cut, err);
	if (rc != 0)
		bpk_frame_cut_clear(cut);
	return rc < 0 ? -1 : 0;
}

void bpk_frame_cut_clear(struct bpk_frame_cut *cut)
{
	bpk_buf_clear(&cut->head);
	bpk_buf_clear(&cut->trailer);
	*cut = (struct bpk_frame_cut){ 0 };
}
