/*
 * Reads and writes the index: one chunk of 64-bit entries ("Index chunk and offsets"). Called by
 * readers, writers and editors of frames.
 */
#include "format/frame/parts/section.h"

#include <inttypes.h>

enum {
	ENTRY_SIZE = 8,
	REPEATED = BPK_SPECIAL_VALUE << 4, /* in the last byte of a header */
	REPEATED_FLAGS = 0x05,
	/* Limit on the memory for unpacking an index: MODEST, which is enough for millions of
	 * special values, plus DENSE for each packed byte. Distinct offsets pack at most eightfold,
	 * so only a forged index claims more. */
	MODEST = 40 << 20,
	DENSE = 1024,
	BLOCKS = 3, /* blocks in memory while the index is unpacked: packed, and between filters */
	/* Limit on the chunks that an index leads to: ANY_STORED or ANY_FILES, plus those that fit
	 * into the payload at 16 bytes each, or FILES for each packed byte, since the entry of a
	 * file takes at least a sixteenth of a byte. */
	ANY_STORED = 1 << 16,
	ANY_FILES = 1 << 14,
	FILES = 16,
};

int bpk_frame_offset_special(uint64_t entry)
{
	if (entry >> 63 == 0)
		return BPK_SPECIAL_NONE;
	switch (entry) {
	case (uint64_t)BPK_FRAME_OFFSET_ZERO << 56:
		return BPK_SPECIAL_ZERO;
	case (uint64_t)BPK_FRAME_OFFSET_NAN << 56:
		return BPK_SPECIAL_NAN;
	case (uint64_t)BPK_FRAME_OFFSET_UNINIT << 56:
		return BPK_SPECIAL_UNINIT;
	default:
		return -1;
	}
}

uint64_t bpk_frame_offset_of_special(enum bpk_special special)
{
	uint64_t top = BPK_FRAME_OFFSET_ZERO;

	if (special == BPK_SPECIAL_NAN)
		top = BPK_FRAME_OFFSET_NAN;
	if (special == BPK_SPECIAL_UNINIT)
		top = BPK_FRAME_OFFSET_UNINIT;
	return top << 56;
}

/* ---- Reading ---- */

static int check_entry(const struct bpk_frame_header *h, uint64_t entry, struct bpk_err *err)
{
	int special = bpk_frame_offset_special(entry);

	if (special < 0)
		return bpk_fail(err, BPK_CORRUPT,
				"%016" PRIx64 " is neither an offset nor a special value", entry);
	if (special != BPK_SPECIAL_NONE)
		return 0;
	if (h->sparse && entry > UINT32_MAX)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " is not the number of a file, expected"
				" less than 2^32",
				entry);
	/* chunks of Blosc1 are read, though no library writes them into frames */
	if (!h->sparse && (h->packed_size < BPK_CHUNK_HEADER_SIZE ||
			   entry > h->packed_size - BPK_CHUNK_HEADER_SIZE))
		return bpk_fail(err, BPK_CORRUPT,
				"offset %" PRIu64 " leads outside the payload of %" PRIu64 " bytes",
				entry, h->packed_size);
	return 0;
}

int bpk_frame_index_check_stored(const struct bpk_frame_header *header, uint64_t nstored,
				 uint32_t packed_size, struct bpk_err *err)
{
	uint64_t most = header->sparse ? ANY_FILES + (uint64_t)FILES * packed_size
				       : ANY_STORED + header->packed_size / BPK_CHUNK_HEADER_SIZE;

	if (nstored <= most)
		return 0;
	return bpk_fail(err, BPK_LIMIT,
			"index leads to chunks %" PRIu64 " times, at most %" PRIu64
			" are read of a frame of this size",
			nstored, most);
}

int bpk_frame_index_take(const struct bpk_frame_header *header, uint64_t first,
			 struct bpk_buf *entries, struct bpk_err *err)
{
	uint64_t n = entries->size / ENTRY_SIZE;

	for (uint64_t i = 0; i < n; i++) {
		uint8_t *place = entries->data + i * ENTRY_SIZE;
		uint64_t entry = bpk_get_le64(place);

		if (check_entry(header, entry, err) != 0)
			return bpk_err_subject(err, "index entry %" PRIu64, first + i);
		memcpy(place, &entry, sizeof entry);
	}
	return 0;
}

static uint64_t count_stored(const struct bpk_buf *entries)
{
	uint64_t count = 0, entry;

	for (size_t at = 0; at < entries->size; at += sizeof entry) {
		memcpy(&entry, entries->data + at, sizeof entry);
		count += bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE;
	}
	return count;
}

int bpk_frame_index_check_count(const struct bpk_chunk_header *chunk, uint64_t expected,
				struct bpk_err *err)
{
	uint64_t n = chunk->raw_size / ENTRY_SIZE;

	if (chunk->raw_size % ENTRY_SIZE != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"index unpacks to %" PRIu32 " bytes, expected a multiple of %d",
				chunk->raw_size, ENTRY_SIZE);
	if (n > BPK_FRAME_MAX_CHUNKS || (expected != BPK_UNKNOWN && n != expected))
		return bpk_fail(err, BPK_CORRUPT,
				"index has %" PRIu64 " entries, expected %s%" PRIu64, n,
				expected == BPK_UNKNOWN ? "at most " : "",
				expected == BPK_UNKNOWN ? BPK_FRAME_MAX_CHUNKS : expected);
	if (chunk->raw_size + (uint64_t)BLOCKS * chunk->block_size >
	    MODEST + (uint64_t)DENSE * chunk->packed_size)
		return bpk_fail(err, BPK_LIMIT,
				"index has %" PRIu64 " entries in %" PRIu32 " bytes, at most %d"
				" and %d for each byte are read",
				n, chunk->packed_size, MODEST / ENTRY_SIZE, DENSE / ENTRY_SIZE);
	return 0;
}

int bpk_frame_own_chunk(struct bpk_view head, struct bpk_chunk_header *chunk, struct bpk_err *err)
{
	int rc = bpk_chunk_header_read(head, chunk, err);

	if (rc != 0 && err != NULL && err->kind == BPK_UNSUPPORTED)
		err->kind = BPK_CORRUPT;
	return rc;
}

static int read_index(struct bpk_chunk_ctx *ctx, const struct bpk_frame_header *header,
		      struct bpk_view bytes, uint64_t expected, struct bpk_buf *entries,
		      uint32_t *packed_size, struct bpk_err *err)
{
	struct bpk_chunk_header chunk;
	struct bpk_view head =
		bpk_view(bytes.data, bpk_min_size(bytes.size, BPK_CHUNK_EXTENDED_HEADER_SIZE));

	if (bpk_frame_own_chunk(head, &chunk, err) != 0)
		return bpk_err_subject(err, "index");
	if (chunk.packed_size > bytes.size)
		return bpk_fail(err, BPK_CORRUPT,
				"index has %" PRIu32 " bytes, %zu are left before the trailer",
				chunk.packed_size, bytes.size);
	if (bpk_frame_index_check_count(&chunk, expected, err) != 0 ||
	    bpk_buf_resize(entries, chunk.raw_size, err) != 0)
		return -1;
	if (bpk_chunk_decode(ctx, bpk_view(bytes.data, chunk.packed_size),
			     bpk_span(entries->data, entries->size), err) != 0)
		return bpk_err_subject(err, "index");
	*packed_size = chunk.packed_size;
	if (bpk_frame_index_take(header, 0, entries, err) != 0)
		return -1;
	return bpk_frame_index_check_stored(header, count_stored(entries), chunk.packed_size, err);
}

int bpk_frame_index_read(struct bpk_chunk_ctx *ctx, const struct bpk_frame_header *header,
			 struct bpk_view bytes, uint64_t expected, struct bpk_buf *entries,
			 uint64_t *nchunks, uint32_t *packed_size, struct bpk_err *err)
{
	entries->size = 0;
	if (read_index(ctx, header, bytes, expected, entries, packed_size, err) != 0) {
		entries->size = 0;
		return -1;
	}
	*nchunks = entries->size / ENTRY_SIZE;
	return 0;
}

/* ---- Writing ---- */

static bool all_equal(const uint64_t *entries, uint64_t nchunks)
{
	for (uint64_t i = 1; i < nchunks; i++)
		if (entries[i] != entries[0])
			return false;
	return nchunks > 1;
}

/* Append one entry, repeated ("Simplest forms a writer needs"). */
static int put_repeated(uint64_t entry, uint64_t nchunks, struct bpk_buf *out, struct bpk_err *err)
{
	uint8_t chunk[BPK_CHUNK_EXTENDED_HEADER_SIZE + ENTRY_SIZE] = { 5, 1, REPEATED_FLAGS,
								       ENTRY_SIZE };
	uint32_t size = (uint32_t)(nchunks * ENTRY_SIZE);

	bpk_put_le32(chunk + 4, size);
	bpk_put_le32(chunk + 8, size);
	bpk_put_le32(chunk + 12, sizeof chunk);
	chunk[BPK_CHUNK_EXTENDED_HEADER_SIZE - 1] = REPEATED;
	bpk_put_le64(chunk + BPK_CHUNK_EXTENDED_HEADER_SIZE, entry);
	return bpk_buf_append(out, bpk_view(chunk, sizeof chunk), err);
}

int bpk_frame_index_write(struct bpk_chunk_ctx *ctx, const uint64_t *entries, uint64_t nchunks,
			  struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_buf raw = { 0 };
	int rc;

	if (nchunks == 0)
		return 0;
	if (nchunks > BPK_FRAME_MAX_CHUNKS)
		return bpk_fail(err, BPK_LIMIT, "%" PRIu64 " chunks in a frame, at most %d fit",
				nchunks, BPK_FRAME_MAX_CHUNKS);
	if (all_equal(entries, nchunks))
		return put_repeated(entries[0], nchunks, out, err);
	if (bpk_buf_resize(&raw, (size_t)nchunks * ENTRY_SIZE, err) != 0)
		return -1;
	for (uint64_t i = 0; i < nchunks; i++)
		bpk_put_le64(raw.data + i * ENTRY_SIZE, entries[i]);
	rc = bpk_frame_pack(ctx, bpk_buf_view(&raw), BPK_FRAME_STORED, out, err);
	bpk_buf_clear(&raw);
	return rc;
}
