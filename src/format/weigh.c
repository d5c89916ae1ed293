/* Decides whether unknown fields in a chunk's header mean a later program or damage. Called by the
 * readers of Bloscpack files, chunked directories and frames. */
#include "format/weigh.h"

#include "chunk/chunk.h"

enum { CODEC_AND_DELTA = 0xe8 }; /* bits of the flags that must agree between neighbours */

/* Compare a chunk with its digest, which stands after it or elsewhere. */
static int check_digest(const struct bpk_suspect *s, struct bpk_span chunk, size_t behind,
			struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];

	if (bpk_source_need_at(s->source, s->offset, chunk, err) != 0)
		return -1;
	if (behind > 0 && bpk_source_need_at(s->source, s->offset + chunk.size,
					     bpk_span(digest, behind), err) != 0)
		return -1;
	return bpk_checksum_check(s->checksum, bpk_view(chunk.data, chunk.size),
				  behind > 0 ? digest : s->digest, err);
}

/* *intact is false if the digest cannot match the chunk. */
static int test_digest(const struct bpk_suspect *s, uint64_t packed_size, bool *intact,
		       struct bpk_err *err)
{
	size_t behind = s->digest == NULL ? s->checksum->size : 0;
	struct bpk_buf bytes = { 0 };
	struct bpk_err why = { 0 };
	int rc;

	*intact = false;
	if (packed_size < BPK_CHUNK_HEADER_SIZE || behind > s->room ||
	    packed_size > s->room - behind)
		return 0;
	rc = bpk_buf_resize(&bytes, (size_t)packed_size, &why);
	if (rc == 0)
		rc = check_digest(s, bpk_span(bytes.data, bytes.size), behind, &why);
	bpk_buf_clear(&bytes);
	return bpk_err_settle(rc, &why, intact, err);
}

/* True if a known chunk stands at offset that the same program would not have written next to head.
 * Chunks of one repeated value have no codec and no filters; stored chunks name both. */
static bool is_contradicted(struct bpk_view head, struct bpk_source *source, uint64_t offset)
{
	uint8_t other[BPK_CHUNK_EXTENDED_HEADER_SIZE];
	struct bpk_chunk_header header;
	size_t got = 0, words;

	if (source == NULL ||
	    bpk_source_read_at(source, offset, bpk_span(other, sizeof other), &got, NULL) != 0 ||
	    bpk_chunk_header_read(bpk_view(other, got), &header, NULL) != 0)
		return false;
	if (other[0] != head.data[0])
		return true;
	if (header.special != BPK_SPECIAL_NONE)
		return false;
	words = bpk_min_size(header.header_size, head.size) - BPK_CHUNK_HEADER_SIZE;
	return other[1] != head.data[1] || ((other[2] ^ head.data[2]) & CODEC_AND_DELTA) != 0 ||
	       memcmp(other + BPK_CHUNK_HEADER_SIZE, head.data + BPK_CHUNK_HEADER_SIZE, words) != 0;
}

int bpk_suspect_weigh(const struct bpk_suspect *s, struct bpk_view head, struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	const char *why = NULL;
	uint64_t packed_size;
	bool intact;

	if (err == NULL || err->kind != BPK_UNSUPPORTED || head.size < BPK_CHUNK_HEADER_SIZE)
		return -1;
	packed_size = bpk_get_le32(head.data + 12);
	found = *err;
	if (s->checksum != NULL && s->checksum->size > 0) {
		if (test_digest(s, packed_size, &intact, err) != 0)
			return -1;
		why = intact ? NULL : "and its digest does not match";
	} else if (is_contradicted(head, s->neighbour, s->neighbour_offset) ||
		   is_contradicted(head, s->source, s->offset + packed_size)) {
		why = "and the neighbouring chunk does not use it";
	}
	if (why == NULL)
		return -1;
	return bpk_fail(err, BPK_CORRUPT, "%s, %s", found.text, why);
}
