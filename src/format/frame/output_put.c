/*
 * Collects the content of a frame's end while its chunks come; writers and editors call it. In a
 * frame of version 2 all chunks but the last have one size, and chunks of zeros, NaN or
 * uninitialised values are then entries of the index without a stored chunk. If sizes differ
 * (version 3) such an entry would have no length, so the chunk is stored, as a repeated value.
 */
#include <inttypes.h>

#include "format/frame/output.h"

/* ---- Chunks in another form ---- */

/* Store chunk number in c-blosc2's form, and write its digest, if there is one, to digest. */
static int store_compatible(struct bpk_frame_output *out, uint64_t number, struct bpk_view as_it_is,
			    const struct bpk_chunk_header *header, uint64_t *entry, uint8_t *digest,
			    struct bpk_err *err)
{
	struct bpk_buf chunk = { 0 };
	uint8_t found[BPK_DIGEST_MAX];
	int rc = bpk_frame_compat_encode(out, as_it_is, header, &chunk, err);

	if (rc == 0)
		rc = bpk_checksum_compute(out->checksum, bpk_buf_view(&chunk), found, err);
	if (rc == 0)
		rc = out->store(out->arg, bpk_buf_view(&chunk), entry, err);
	if (rc == 0)
		rc = bpk_frame_output_seal_chunk(out, number, header->raw_size,
						 bpk_buf_view(&chunk), err);
	bpk_copy(digest, found, out->checksum->size);
	bpk_buf_clear(&chunk);
	out->nstored += rc == 0;
	return rc;
}

/* Store a chunk for the special entry of number, of the size that all chunks before the last
 * have. */
static int store_entry(struct bpk_frame_output *out, uint64_t number, enum bpk_special special,
		       struct bpk_err *err)
{
	uint8_t bytes[BPK_CHUNK_EXTENDED_HEADER_SIZE];
	struct bpk_view chunk = bpk_view(bytes, sizeof bytes);
	bool is_last = number + 1 == out->nchunks;
	uint64_t size = is_last ? out->last_size : out->full;
	/* NaN is in the index only if it fits the typesize */
	unsigned typesize = special == BPK_SPECIAL_NAN ? out->header.typesize : 1;
	struct bpk_chunk_header header;
	uint8_t *digest = NULL;
	uint64_t entry;

	if (out->checksum->size > 0)
		digest = out->digests.data + number * out->checksum->size;
	bpk_chunk_write_special(special, (uint32_t)size, typesize, bytes);
	if (bpk_chunk_header_read(chunk, &header, err) != 0 ||
	    store_compatible(out, number, chunk, &header, &entry, digest, err) != 0)
		return -1;
	memcpy(out->entries.data + number * sizeof entry, &entry, sizeof entry);
	return 0;
}

int bpk_frame_output_vary(struct bpk_frame_output *out, struct bpk_err *err)
{
	out->header.variable_chunks = true;
	for (uint64_t i = 0; i < out->nchunks; i++) {
		uint64_t entry;
		int special;

		memcpy(&entry, out->entries.data + i * sizeof entry, sizeof entry);
		special = bpk_frame_offset_special(entry);
		if (special != BPK_SPECIAL_NONE &&
		    store_entry(out, i, (enum bpk_special)special, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Chunks ---- */

/* others: number of stored chunks besides this one */
static int check_chunk(const struct bpk_frame_output *out, uint64_t number,
		       const struct bpk_chunk_header *header, uint64_t others, struct bpk_err *err)
{
	bool stored = header->special == BPK_SPECIAL_NONE || header->special == BPK_SPECIAL_VALUE;

	if (header->header_size != BPK_CHUNK_EXTENDED_HEADER_SIZE)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk %" PRIu64 " is one of Blosc 1, which frames do not hold",
				number);
	if (stored && others > 0 && header->variable_blocks != out->header.variable_blocks)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk %" PRIu64 " has blocks of %s length, other chunks have "
				"not: a frame does not hold both",
				number, header->variable_blocks ? "variable" : "fixed");
	if (number == BPK_FRAME_MAX_CHUNKS)
		return bpk_fail(err, BPK_LIMIT, "more than %d chunks, which no frame can have",
				BPK_FRAME_MAX_CHUNKS);
	return 0;
}

static int append_entry(struct bpk_frame_output *out, uint64_t entry, struct bpk_err *err)
{
	return bpk_buf_append(&out->entries, bpk_view(&entry, sizeof entry), err);
}

/* Store the chunk, or represent it in the index. digest is the chunk's, or stays zero. */
static int place(struct bpk_frame_output *out, uint64_t number, const struct bpk_parcel *parcel,
		 const struct bpk_chunk_header *header, uint64_t *entry, uint8_t *digest,
		 struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);
	bool readable;

	if (bpk_frame_compat_in_index(out, header)) {
		*entry = bpk_frame_offset_of_special(header->special);
		return bpk_frame_output_seal_entry(out, number, header->raw_size, *entry, err);
	}
	if (!parcel->unseen) {
		if (bpk_frame_compat_test(out, chunk, header, &readable, err) != 0)
			return -1;
		if (!readable)
			return store_compatible(out, number, chunk, header, entry, digest, err);
	}
	if (parcel->packed.size < parcel->packed_size + out->checksum->size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was not sealed", number);
	bpk_copy(digest, parcel->packed.data + parcel->packed_size, out->checksum->size);
	out->header.variable_blocks = header->variable_blocks;
	out->nstored++;
	if (bpk_frame_output_seal_parcel(out, number, parcel, err) != 0)
		return -1;
	return out->store(out->arg, chunk, entry, err);
}

/* Read a chunk's header, and check it for this place. */
static int examine(const struct bpk_frame_output *out, uint64_t number, uint64_t others,
		   const struct bpk_parcel *parcel, struct bpk_chunk_header *header,
		   struct bpk_err *err)
{
	if (bpk_chunk_header_read(bpk_view(parcel->packed.data, parcel->packed_size), header,
				  err) != 0)
		return -1;
	return check_chunk(out, number, header, others, err);
}

static bool has_nans(const struct bpk_frame_output *out)
{
	for (uint64_t i = 0; i < out->nchunks; i++) {
		uint64_t entry;

		memcpy(&entry, out->entries.data + i * sizeof entry, sizeof entry);
		if (bpk_frame_offset_special(entry) == BPK_SPECIAL_NAN)
			return true;
	}
	return false;
}

/* Take the typesize from the first stored chunk, unless earlier special chunks contradict: all
 * chunks have items of one size (compat.c). */
static void settle_typesize(struct bpk_frame_output *out, const struct bpk_chunk_header *header)
{
	uint32_t item = out->header.typesize;

	if (!out->open_typesize || header->special == BPK_SPECIAL_ZERO ||
	    header->special == BPK_SPECIAL_UNINIT)
		return;
	out->open_typesize = false;
	/* larger than the typesize field of a chunk */
	if (item > BPK_CHUNK_MAX_TYPESIZE && item % header->typesize == 0)
		return;
	if (out->full % header->typesize != 0 || has_nans(out) ||
	    (out->nchunks > 0 && out->last_size != out->full))
		return;
	out->header.typesize = header->typesize;
}

bool bpk_frame_output_takes_unseen(const struct bpk_frame_output *out,
				   const struct bpk_parcel *parcel, bool all_there)
{
	struct bpk_chunk_header header;
	bool fits = true;

	if ((out->seal.generation > 0 && out->checksum->size == 0) ||
	    examine(out, out->nchunks, out->nstored, parcel, &header, NULL) != 0 ||
	    header.special != BPK_SPECIAL_NONE || parcel->raw_size == 0)
		return false;
	if (all_there && !header.variable_blocks && header.prediction.size == 0 &&
	    bpk_chunk_blocks_fit(bpk_view(parcel->packed.data, parcel->packed_size), &header, &fits,
				 NULL) != 0)
		return false;
	return fits && (all_there || bpk_frame_compat_by_header(out, parcel->raw_size, &header));
}

int bpk_frame_output_put(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX] = { 0 };
	struct bpk_chunk_header header;
	uint64_t entry;

	if (parcel->raw_size == 0)
		return 0;
	if (examine(out, out->nchunks, out->nstored, parcel, &header, err) != 0)
		return -1;
	if (out->full == BPK_UNKNOWN)
		out->full = header.raw_size;
	settle_typesize(out, &header);
	if (!out->header.variable_chunks &&
	    (header.raw_size > out->full || (out->nchunks > 0 && out->last_size != out->full)) &&
	    bpk_frame_output_vary(out, err) != 0)
		return -1;
	if (place(out, out->nchunks, parcel, &header, &entry, digest, err) != 0 ||
	    append_entry(out, entry, err) != 0 ||
	    bpk_buf_append(&out->digests, bpk_view(digest, out->checksum->size), err) != 0)
		return -1;
	out->nchunks++;
	out->raw_size += header.raw_size;
	out->last_size = header.raw_size;
	return 0;
}

int bpk_frame_output_replace(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			     struct bpk_err *err)
{
	uint8_t *place_of_entry = out->entries.data + parcel->number * sizeof(uint64_t);
	uint8_t digest[BPK_DIGEST_MAX] = { 0 };
	struct bpk_chunk_header header;
	uint64_t entry, was_stored;

	memcpy(&entry, place_of_entry, sizeof entry);
	was_stored = bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE;
	if (examine(out, parcel->number, out->nstored - was_stored, parcel, &header, err) != 0 ||
	    place(out, parcel->number, parcel, &header, &entry, digest, err) != 0)
		return -1;
	out->nstored -= was_stored;
	memcpy(place_of_entry, &entry, sizeof entry);
	if (out->checksum->size > 0)
		memcpy(out->digests.data + parcel->number * out->checksum->size, digest,
		       out->checksum->size);
	return 0;
}

/* ---- The end ---- */

int bpk_frame_output_check(const struct bpk_frame_output *out, uint64_t announced,
			   struct bpk_err *err)
{
	if (out->has_nd && out->nchunks != out->nd.nchunks)
		return bpk_fail(err, BPK_FAILED,
				"the array has %" PRIu64 " chunks, %" PRIu64 " came",
				out->nd.nchunks, out->nchunks);
	if (!out->has_nd && announced != BPK_UNKNOWN && out->raw_size != announced)
		return bpk_fail(err, BPK_FAILED,
				"%" PRIu64 " bytes were announced, %" PRIu64 " came", announced,
				out->raw_size);
	return 0;
}

int bpk_frame_output_end(struct bpk_frame_output *out, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err)
{
	struct bpk_frame_header *header = &out->header;
	struct bpk_seal_tree tree;
	struct bpk_frame_ending ending = {
		.header = header,
		.layers = &out->layers,
		.entries = (const uint64_t *)(const void *)out->entries.data, /* aligned */
		.nchunks = out->nchunks,
		.checksum = out->checksum,
		.chunk_digests = bpk_buf_view(&out->digests),
		.payload_end = payload_end,
		.generation = out->seal.generation,
	};

	if (out->seal.generation > 0) {
		if (bpk_seal_growth_tree(&out->seal, &tree, err) != 0)
			return -1;
		ending.tree = &tree;
	}
	header->raw_size = out->raw_size;
	header->packed_size = payload;
	header->has_layers = out->layers.count > 0;
	/* without chunks it stays unchanged: -1, or the chunk size of an array without items */
	if (out->nchunks > 0)
		header->chunk_size = header->variable_chunks ? 0 : (int32_t)out->full;
	return bpk_frame_end(out->ctx, &ending, header_bytes, tail, err);
}
