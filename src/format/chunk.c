/*
 * One bare Blosc chunk as a file: an archive of one chunk, without a header or digest of its own.
 * Its row is in formats.c.
 */
#include "format/plain.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	/* the largest first read from a pipe, so that memory use follows the bytes that arrive */
	PIECE = 1 << 20,
};

struct chunkfile {
	struct bpk_source *source;
	struct bpk_read_options options;
	struct bpk_info info; /* fixed after open */
	bool ended;           /* the chunk was fetched from a pipe */
};

static int read_header(struct chunkfile *c, struct bpk_err *err)
{
	struct bpk_chunk_header *chunk = &c->info.chunks.first;
	struct bpk_view head;

	if (bpk_source_peek(c->source, BPK_CHUNK_EXTENDED_HEADER_SIZE, &head, err) != 0)
		return -1;
	if (head.size < BPK_CHUNK_HEADER_SIZE)
		return bpk_fail(err, BPK_CORRUPT, "chunk header ends after %zu bytes, expected %d",
				head.size, BPK_CHUNK_HEADER_SIZE);
	if (bpk_chunk_header_read(head, chunk, err) != 0)
		return -1;
	if (bpk_source_seekable(c->source) && chunk->packed_size > bpk_source_size(c->source))
		return bpk_fail(err, BPK_CORRUPT, "chunk has %" PRIu32 " bytes, the file %" PRIu64,
				chunk->packed_size, bpk_source_size(c->source));
	if (c->options.chunk_limit != 0 && chunk->raw_size > c->options.chunk_limit)
		return bpk_fail(err, BPK_LIMIT,
				"chunk unpacks to %" PRIu32 " bytes, the limit is %" PRIu64,
				chunk->raw_size, c->options.chunk_limit);
	return 0;
}

static int chunkfile_open(struct bpk_place *place, const struct bpk_read_options *options,
			  void **reader, struct bpk_err *err)
{
	struct chunkfile *c;

	*reader = NULL;
	if (place->is_directory)
		return bpk_fail(err, BPK_CORRUPT, "a directory, expected a chunk");
	c = bpk_calloc(1, sizeof *c, err);
	if (c == NULL)
		return -1;
	c->source = place->source;
	c->options = *options;
	if (read_header(c, err) != 0) {
		free(c);
		return -1;
	}
	c->info.format = "chunk";
	c->info.stored_size = bpk_source_size(c->source);
	c->info.raw_size = c->info.chunks.last_size = c->info.chunks.first.raw_size;
	c->info.chunks.size = c->info.raw_size > 0 ? c->info.raw_size : BPK_UNKNOWN;
	c->info.chunks.count = 1;
	c->info.chunks.typesize = c->info.chunks.first.typesize;
	c->info.chunks.checksum = &bpk_checksums[0];
	c->info.unprotected = "the chunk";
	c->info.chunks.has_first = true;
	*reader = c;
	return 0;
}

static const struct bpk_info *chunkfile_info(const void *reader)
{
	return &((const struct chunkfile *)reader)->info;
}

static bool chunkfile_positional(const void *reader)
{
	return bpk_source_seekable(((const struct chunkfile *)reader)->source);
}

/* Read size bytes from the start; from a pipe in pieces, so that memory use follows the input. */
static int bring(struct chunkfile *c, size_t size, struct bpk_buf *packed, struct bpk_err *err)
{
	bool seekable = bpk_source_seekable(c->source);

	packed->size = 0;
	while (packed->size < size) {
		size_t left = size - packed->size;
		size_t piece =
			seekable ? left
				 : bpk_min_size(left, packed->size > PIECE ? packed->size : PIECE);
		struct bpk_span out;
		size_t got;

		if (bpk_buf_reserve(packed, packed->size + piece, err) != 0)
			return -1;
		out = bpk_span(packed->data + packed->size, piece);
		if ((seekable ? bpk_source_read_at(c->source, packed->size, out, &got, err)
			      : bpk_source_read(c->source, out, &got, err)) != 0)
			return -1;
		packed->size += got;
		if (got < piece)
			return bpk_fail(err, BPK_CORRUPT,
					"chunk ends after %zu bytes, expected %zu", packed->size,
					size);
	}
	return 0;
}

static int chunkfile_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct chunkfile *c = reader;
	const struct bpk_chunk_header *chunk = &c->info.chunks.first;

	if (parcel->number > 0)
		return 1;
	if (c->ended)
		return bpk_fail(err, BPK_BUG, "chunk 0 was asked for twice");
	parcel->packed_offset = 0;
	parcel->raw_offset = 0;
	parcel->raw_size = chunk->raw_size;
	parcel->packed_size = chunk->packed_size;
	c->ended = !bpk_source_seekable(c->source);
	return bring(c, chunk->packed_size, &parcel->packed, err);
}

static int chunkfile_locate(void *reader, uint64_t number, struct bpk_where *where,
			    struct bpk_err *err)
{
	const struct chunkfile *c = reader;

	(void)err;
	if (number > 0)
		return 1;
	*where = (struct bpk_where){ .header = c->info.chunks.first };
	return 0;
}

/* Bytes after the chunk are damage: a piece of a larger file would pass otherwise. */
static int chunkfile_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	struct chunkfile *c = reader;
	uint64_t size = c->info.chunks.first.packed_size;
	uint64_t skipped, tail;

	(void)remark;
	(void)arg;
	if (bpk_source_seekable(c->source)) {
		tail = bpk_source_size(c->source) - size;
	} else {
		if (!c->ended && bpk_source_skip(c->source, size, &skipped, err) != 0)
			return -1;
		if (bpk_source_skip(c->source, UINT64_MAX, &tail, err) != 0)
			return -1;
		if (!c->ended && skipped < size)
			return bpk_fail(err, BPK_CORRUPT,
					"chunk ends after %" PRIu64 " bytes, expected %" PRIu64,
					skipped, size);
	}
	if (tail > 0)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " %s after the chunk, from offset %" PRIu64, tail,
				bpk_plural(tail, "byte", "bytes"), size);
	return 0;
}

const struct bpk_reader_ops bpk_chunkfile_reader_ops = {
	.open = chunkfile_open,
	.info = chunkfile_info,
	.positional = chunkfile_positional,
	.fetch = chunkfile_fetch,
	.locate = chunkfile_locate,
	.audit = chunkfile_audit,
	.close = free,
};
