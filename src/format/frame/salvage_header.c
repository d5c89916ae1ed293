/*
 * Finds the header that is left of a damaged frame: before the chunks, or its fixed part as the
 * digests copy it, and its layers where they lie. salvage_parts.c calls it.
 */
#include "format/frame/salvage.h"

enum {
	MAGIC = 10,         /* bytes of a header up to its length */
	MOST_TRIES = 256,   /* headers that are tried */
	EMPTY_SECTION = 10, /* "Metalayer section" */
};

/* True if the header is the frame's, and not that of a frame in its data: it is where the file
 * begins, or the trailer is where it says. */
static bool is_in_place(const struct bpk_frame_left *left, uint64_t at)
{
	return at == 0 || left->digests.checksum != NULL ||
	       (left->trailer.end > at && left->trailer.end - at == left->header.frame_size);
}

static struct bpk_frame_sizes sizes_of(const struct bpk_frame_header *header)
{
	return (struct bpk_frame_sizes){ header->frame_size, header->packed_size,
					 header->raw_size };
}

static int try_header(struct bpk_scan *scan, uint64_t at, struct bpk_frame_left *left,
		      struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_view bytes;
	uint32_t size;

	if (bpk_scan_bring(scan, at, BPK_FRAME_FIXED_SIZE, 0, err) != 0)
		return -1;
	if (bpk_frame_header_size(bpk_buf_view(&scan->chunk), &size, NULL) != 0 ||
	    size > scan->size - at)
		return 0;
	if (bpk_scan_bring(scan, at, size, 0, err) != 0)
		return -1;
	bytes = bpk_buf_view(&scan->chunk);
	if (bpk_frame_header_read(bytes, &left->header, &why) != 0)
		return bpk_err_pass_memory(&why, err);
	left->has_header = left->header.sparse == left->sparse && is_in_place(left, at) &&
			   (left->digests.checksum == NULL ||
			    bpk_frame_header_author(bytes) == BPK_FRAME_BY_OTHER ||
			    bpk_frame_digests_check(&left->digests, BPK_FRAME_DIGEST_HEADER, bytes,
						    NULL) == 0);
	left->has_fields = left->has_header;
	left->bad_header =
		left->has_header && left->hints.checksum != NULL &&
		bpk_frame_header_author(bytes) != BPK_FRAME_BY_OTHER &&
		bpk_frame_digests_check(&left->hints, BPK_FRAME_DIGEST_HEADER, bytes, NULL) != 0;
	left->payload = at + size;
	if (at == 0 && bpk_frame_left_fits(left))
		left->seen = sizes_of(&left->header);
	if (!left->has_header)
		bpk_frame_header_clear(&left->header);
	return 0;
}

/* Find the header before the first chunk: bytes may have come before it. */
static int find_header(struct bpk_scan *scan, struct bpk_frame_left *left, uint64_t end,
		       struct bpk_err *err)
{
	static const uint8_t magic[MAGIC] = { 0x9e, 0xa8, 'b', '2', 'f', 'r', 'a', 'm', 'e', 0 };
	const uint8_t *bytes;
	unsigned tries = 0;

	for (uint64_t at = 0; !left->has_header && tries < MOST_TRIES && at < end &&
			      scan->size - at >= BPK_FRAME_FIXED_SIZE;
	     at = bpk_scan_find(scan, at + 1, magic[0], magic[0])) {
		if (bpk_scan_see(scan, at, MAGIC, &bytes, err) != 0)
			return -1;
		if (memcmp(bytes, magic, MAGIC) != 0)
			continue;
		tries++;
		if (try_header(scan, at, left, err) != 0)
			return -1;
	}
	return 0;
}

/* Complete the copy of a header's fixed part by the layers behind it, in a file where the header
 * begins at offset at; *is: the digest proves the whole. */
static int try_copy(struct bpk_scan *scan, const struct bpk_frame_left *left, uint64_t at,
		    uint32_t size, bool *is, struct bpk_err *err)
{
	const uint8_t *copy = left->digests.bytes.data + BPK_FRAME_DIGESTS_COPY;

	*is = at <= scan->size && size <= scan->size - at;
	if (!*is)
		return 0;
	if (bpk_scan_bring(scan, at, size, 0, err) != 0)
		return -1;
	memcpy(scan->chunk.data, copy, BPK_FRAME_FIXED_SIZE);
	*is = bpk_frame_digests_check(&left->digests, BPK_FRAME_DIGEST_HEADER,
				      bpk_buf_view(&scan->chunk), NULL) == 0;
	return 0;
}

/* Take the header with its layers: at the file's start, or as far before the trailer as the copy
 * says. */
static int take_whole_copy(struct bpk_scan *scan, struct bpk_frame_left *left, uint32_t size,
			   uint64_t frame_size, struct bpk_err *err)
{
	uint64_t at = 0;
	struct bpk_err why = { 0 };
	bool is;

	if (try_copy(scan, left, at, size, &is, err) != 0)
		return -1;
	if (!is && left->trailer.end > frame_size) {
		at = left->trailer.end - frame_size;
		if (try_copy(scan, left, at, size, &is, err) != 0)
			return -1;
	}
	if (!is)
		return 0;
	bpk_frame_header_clear(&left->header);
	if (bpk_frame_header_read(bpk_buf_view(&scan->chunk), &left->header, &why) != 0) {
		left->has_fields = false;
		return bpk_err_pass_memory(&why, err);
	}
	left->has_header = true;
	left->payload = at + size;
	return 0;
}

/* Take the fixed part from the digests' copy: a header whose layers are intact, or that had none,
 * is whole again. */
static int take_copy(struct bpk_scan *scan, struct bpk_frame_left *left, struct bpk_err *err)
{
	static const uint8_t section[EMPTY_SECTION] = { 0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0 };
	enum { LENGTH_AT = 11 };
	uint8_t bytes[BPK_FRAME_LEAST_HEADER];
	struct bpk_err why = { 0 };
	uint32_t size;

	if (!left->digests.marked)
		return 0;
	memcpy(bytes, left->digests.bytes.data + BPK_FRAME_DIGESTS_COPY, BPK_FRAME_FIXED_SIZE);
	memcpy(bytes + BPK_FRAME_FIXED_SIZE, section, sizeof section);
	size = bpk_get_be32(bytes + LENGTH_AT);
	bpk_put_be32(bytes + LENGTH_AT, sizeof bytes);
	if (bpk_frame_header_read(bpk_view(bytes, sizeof bytes), &left->header, &why) != 0)
		return bpk_err_pass_memory(&why, err);
	left->has_fields = true;
	left->has_header = size == sizeof bytes;
	left->header.size = size;
	return left->has_header ? 0
				: take_whole_copy(scan, left, size, left->header.frame_size, err);
}

/* True if the header at the file's start is of a longer frame than the trailer that was found. Two
 * sizes differ, which one damaged field does not. Where no digests tell states apart, chunks end
 * behind that trailer. */
static bool is_later(const struct bpk_frame_left *left)
{
	const struct bpk_frame_sizes found = sizes_of(&left->header);

	if (left->digests.checksum == NULL)
		return !left->sparse && left->trailer.end > 0 &&
		       left->seen.frame > left->trailer.end &&
		       left->seen.packed + left->header.size >= left->trailer.end;
	return left->seen.frame > found.frame &&
	       (left->seen.packed != found.packed || left->seen.raw != found.raw);
}

int bpk_frame_left_find_header(struct bpk_scan *scan, struct bpk_frame_left *left, uint64_t end,
			       struct bpk_err *err)
{
	if (find_header(scan, left, end, err) != 0)
		return -1;
	if (!left->has_header) {
		if (take_copy(scan, left, err) != 0)
			return -1;
		left->is_followed =
			!left->sparse && left->trailer.end > 0 && left->trailer.end < scan->size;
	}
	left->is_cut = left->has_fields && is_later(left);
	return 0;
}
