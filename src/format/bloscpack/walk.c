/*
 * Finds chunks, by the offsets section or by walking from header to header. Reader, audit and
 * editor call it.
 */
#include "format/bloscpack/bloscpack.h"

#include "format/weigh.h"

#include <inttypes.h>

enum {
	/* "Validation checklist", on a pipe: packed size allowed beyond twice the raw size */
	SLACK_ON_PIPE = 64 << 10,
};

int bpk_bloscpack_chunk_subject(struct bpk_err *err, uint64_t number, uint64_t offset)
{
	return bpk_err_subject(err, "chunk %" PRIu64 " at offset %" PRIu64, number, offset);
}

uint64_t bpk_bloscpack_raw_size(const struct bpk_bloscpack_reader *reader, uint64_t number)
{
	const struct bpk_bloscpack_header *h = &reader->header;
	struct bpk_sized known;

	if (h->nchunks == BPK_UNKNOWN)
		return BPK_UNKNOWN;
	if (number == h->nchunks - 1)
		return h->last_chunk_size;
	return bpk_sizes_chunk(&reader->sizes.runs, number, &known) ? known.size : h->chunk_size;
}

/* Compare a raw size with the size that header or metadata record for chunk number. */
static int check_raw_size(const struct bpk_bloscpack_reader *reader, uint64_t number,
			  uint64_t raw_size, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *h = &reader->header;
	uint64_t expected = bpk_bloscpack_raw_size(reader, number);
	bool listed = number < reader->sizes.runs.nchunks;

	if (expected != BPK_UNKNOWN && raw_size != expected)
		return bpk_fail(err, BPK_CORRUPT,
				"it unpacks to %" PRIu64 " bytes, the file's %s %" PRIu64, raw_size,
				listed ? "metadata say" : "header says", expected);
	if (expected == BPK_UNKNOWN && h->chunk_size != BPK_UNKNOWN && raw_size > h->chunk_size)
		return bpk_fail(err, BPK_CORRUPT,
				"it unpacks to %" PRIu64
				" bytes, the file's header says at most %" PRIu64,
				raw_size, h->chunk_size);
	if (reader->options.chunk_limit != 0 && raw_size > reader->options.chunk_limit)
		return bpk_fail(err, BPK_LIMIT,
				"it unpacks to %" PRIu64 " bytes, the limit is %" PRIu64, raw_size,
				reader->options.chunk_limit);
	return 0;
}

/* Compare the packed size with the bytes available. */
static int check_packed_size(const struct bpk_bloscpack_reader *reader,
			     const struct bpk_chunk_header *chunk,
			     const struct bpk_bloscpack_extent *extent, struct bpk_err *err)
{
	uint64_t need = (uint64_t)chunk->packed_size + reader->header.checksum->size;

	if (extent->room == BPK_UNKNOWN) {
		if (chunk->packed_size > 2 * (uint64_t)chunk->raw_size + SLACK_ON_PIPE)
			return bpk_fail(err, BPK_CORRUPT,
					"it claims %" PRIu32 " packed bytes for %" PRIu32
					" raw ones",
					chunk->packed_size, chunk->raw_size);
		return 0;
	}
	if (need > extent->room)
		return bpk_fail(err, BPK_CORRUPT,
				"it needs %" PRIu64 " bytes with its digest, %" PRIu64
				" are left before %s",
				need, extent->room,
				extent->exact ? "the next chunk" : "the end of the file");
	return 0;
}

/* The chunk's header has unknown fields: decide whether that is damage. */
static int weigh(const struct bpk_bloscpack_reader *reader, struct bpk_view head,
		 const struct bpk_bloscpack_extent *extent, struct bpk_err *err)
{
	const struct bpk_suspect suspect = {
		.source = reader->source,
		.offset = extent->offset,
		.room = reader->size - bpk_min_u64(reader->size, extent->offset),
		.checksum = reader->header.checksum,
		.neighbour = reader->source,
		.neighbour_offset = reader->data_offset,
	};

	return reader->seekable ? bpk_suspect_weigh(&suspect, head, err) : -1;
}

int bpk_bloscpack_examine(const struct bpk_bloscpack_reader *reader, uint64_t number,
			  struct bpk_view head, const struct bpk_bloscpack_extent *extent,
			  struct bpk_chunk_header *header, struct bpk_err *err)
{
	if (bpk_is_zero(bpk_view(head.data, BPK_CHUNK_HEADER_SIZE)))
		return bpk_fail(err, BPK_CORRUPT, "zeros, expected a chunk's header");
	if (bpk_chunk_header_read_plain(head, header, err) != 0)
		return weigh(reader, head, extent, err);
	/* Bloscpack files have no chunks with extended headers ("Chunks") */
	if (header->header_size != BPK_CHUNK_HEADER_SIZE) {
		bpk_fail(err, BPK_UNSUPPORTED, "chunk version %u, expected 1 or 2",
			 header->version);
		return weigh(reader, head, extent, err);
	}
	if (check_raw_size(reader, number, header->raw_size, err) != 0)
		return -1;
	return check_packed_size(reader, header, extent, err);
}

struct bpk_bloscpack_walk bpk_bloscpack_walk_start(const struct bpk_bloscpack_reader *reader)
{
	return (struct bpk_bloscpack_walk){ .offset = reader->data_offset };
}

/* All bytes from offset on. */
static struct bpk_bloscpack_extent rest_from(const struct bpk_bloscpack_reader *reader,
					     uint64_t offset)
{
	struct bpk_bloscpack_extent extent = { .offset = offset, .room = BPK_UNKNOWN };

	if (reader->seekable)
		extent.room = offset < reader->size ? reader->size - offset : 0;
	return extent;
}

/* n consecutive entries, of page if there is one. */
static int get_entries(const struct bpk_bloscpack_offsets *offsets, struct bpk_bloscpack_page *page,
		       uint64_t first, unsigned n, uint64_t *entries, struct bpk_err *err)
{
	if (page == NULL)
		return bpk_bloscpack_offsets_get(offsets, first, n, entries, err);
	for (unsigned i = 0; i < n; i++)
		if (bpk_bloscpack_offsets_turn(offsets, page, first + i, &entries[i], err) != 0)
			return -1;
	return 0;
}

/*
 * An entry must lie between its neighbours, if they are known: a damaged entry then cannot lead to
 * another chunk, whose own digest would match.
 */
int bpk_bloscpack_find(struct bpk_bloscpack_reader *reader, uint64_t number,
		       struct bpk_bloscpack_page *page, struct bpk_bloscpack_extent *extent,
		       struct bpk_err *err)
{
	uint64_t entries[3] = { 0, 0, BPK_UNKNOWN };
	bool first = number == 0;
	bool last = number == reader->header.nchunks - 1;
	uint64_t here, next;

	if (get_entries(&reader->offsets, page, number - !first, 3u - first - last, entries + first,
			err) != 0)
		return -1;
	here = entries[1];
	next = last ? BPK_UNKNOWN : entries[2];
	if (here == BPK_UNKNOWN)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk %" PRIu64 ": its offset entry is -1 between known ones "
				"(through a pipe the file is read without them)",
				number);
	if (here < reader->data_offset || here > reader->size ||
	    reader->size - here < BPK_CHUNK_HEADER_SIZE)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk %" PRIu64 ": its offset entry is %" PRIu64
				", expected %" PRIu64 " to %" PRIu64,
				number, here, reader->data_offset,
				reader->size - BPK_CHUNK_HEADER_SIZE);
	*extent = rest_from(reader, here);
	if ((!first && entries[0] != BPK_UNKNOWN && entries[0] >= here) ||
	    (next != BPK_UNKNOWN && (next <= here || next > reader->size)))
		return bpk_fail(err, BPK_CORRUPT,
				"chunk %" PRIu64 ": its offset entry is %" PRIu64
				", not between its neighbours",
				number, here);
	if (next != BPK_UNKNOWN) {
		extent->room = next - here;
		extent->exact = true;
	}
	return 0;
}

/* After the last of a known number of chunks: test that the file has no more. */
static int end_counted(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
		       struct bpk_err *err)
{
	bool ends = true;

	walk->ended = true;
	walk->end = walk->offset;
	/* With offsets, an append may have left bytes after the last chunk. Without them, a lowered
	 * chunk count would pass unnoticed. */
	if (!reader->header.has_offsets && !reader->options.followed &&
	    bpk_bloscpack_ends_at(reader->source, walk->offset, &ends, err) != 0)
		return -1;
	if (!ends)
		return bpk_fail(err, BPK_CORRUPT,
				"more bytes at offset %" PRIu64 ", after the last of %" PRIu64
				" chunks",
				walk->offset, reader->header.nchunks);
	return 1;
}

/* At the end of a stream of unknown length: test the size of the last chunk. */
static int end_stream(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
		      uint64_t end, struct bpk_err *err)
{
	uint64_t expected = reader->header.last_chunk_size;

	walk->ended = true;
	walk->end = end;
	if (expected != BPK_UNKNOWN && walk->last_raw != expected)
		return bpk_fail(err, BPK_CORRUPT,
				"last chunk unpacks to %" PRIu64
				" bytes, the file's header says %" PRIu64,
				walk->last_raw, expected);
	return 1;
}

static int end_without_marker(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
			      struct bpk_err *err)
{
	/* "Version 1": chunks run to the end of the file, without an end marker */
	if (!reader->options.no_marker && reader->header.version > 1)
		return bpk_fail(err, BPK_CORRUPT,
				"stream ends without its end marker; it may have been cut short "
				"(--no-marker accepts it)");
	return end_stream(reader, walk, walk->offset, err);
}

/* An empty chunk ends a stream of unknown length ("Streaming"); only its digest may follow it. */
static int end_by_marker(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
			 const struct bpk_bloscpack_step *step, struct bpk_err *err)
{
	const struct bpk_checksum *checksum = reader->header.checksum;
	uint64_t behind = walk->offset + step->header.packed_size + checksum->size;
	uint8_t digest[BPK_DIGEST_MAX];
	bool ends;

	if (step->header.packed_size != BPK_CHUNK_HEADER_SIZE)
		return bpk_fail(err, BPK_CORRUPT, "end marker has %" PRIu32 " bytes, expected %d",
				step->header.packed_size, BPK_CHUNK_HEADER_SIZE);
	if (bpk_bloscpack_need(reader->source, walk->offset + BPK_CHUNK_HEADER_SIZE,
			       bpk_span(digest, checksum->size), "end marker's digest", err) != 0)
		return -1;
	if (!reader->options.no_check &&
	    bpk_checksum_check(checksum, bpk_view(step->head, sizeof step->head), digest, err) != 0)
		return bpk_err_subject(err, "end marker at offset %" PRIu64, walk->offset);
	ends = reader->options.followed;
	if (!ends && bpk_bloscpack_ends_at(reader->source, behind, &ends, err) != 0)
		return -1;
	if (!ends)
		return bpk_fail(err, BPK_CORRUPT,
				"more bytes at offset %" PRIu64 ", after the end marker", behind);
	return end_stream(reader, walk, behind, err);
}

/* Test for the end of a stream that another archive may follow: the input ends, or that archive
 * begins; no chunk begins with its magic. */
static int ends_here(struct bpk_bloscpack_reader *reader, uint64_t offset, bool *ends,
		     struct bpk_err *err)
{
	const struct bpk_place place = { 0 };
	uint8_t bytes[BPK_CHUNK_HEADER_SIZE];
	struct bpk_view head = bpk_view(bytes, 0);

	*ends = false;
	if (!reader->options.followed || reader->header.nchunks != BPK_UNKNOWN)
		return 0;
	if ((reader->seekable ? bpk_source_read_at(reader->source, offset,
						   bpk_span(bytes, sizeof bytes), &head.size, err)
			      : bpk_source_peek(reader->source, sizeof bytes, &head, err)) != 0)
		return -1;
	return bpk_bloscpack_probe(&place, head, ends, err);
}

/* Read the header of the next chunk. */
static int look(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
		struct bpk_bloscpack_step *step, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *h = &reader->header;
	bool ends;
	size_t got;

	if (ends_here(reader, step->extent.offset, &ends, err) != 0)
		return -1;
	if (ends)
		return end_without_marker(reader, walk, err);
	if (bpk_bloscpack_read(reader->source, step->extent.offset,
			       bpk_span(step->head, sizeof step->head), &got, err) != 0)
		return -1;
	if (got == 0 && h->nchunks == BPK_UNKNOWN)
		return end_without_marker(reader, walk, err);
	if (got == 0) {
		bpk_fail(err, BPK_CORRUPT,
			 "input ends, expected a chunk, one of %" PRIu64 " chunks", h->nchunks);
		goto bad;
	}
	if (got < sizeof step->head) {
		bpk_fail(err, BPK_CORRUPT, "input ends after %zu bytes of its header, expected %zu",
			 got, sizeof step->head);
		goto bad;
	}
	if (bpk_bloscpack_examine(reader, walk->number, bpk_view(step->head, sizeof step->head),
				  &step->extent, &step->header, err) != 0)
		goto bad;
	if (h->nchunks != BPK_UNKNOWN)
		return 0;
	if (step->header.raw_size == 0)
		return end_by_marker(reader, walk, step, err);
	if (walk->number > 0 && h->chunk_size != BPK_UNKNOWN && walk->last_raw != h->chunk_size) {
		bpk_fail(err, BPK_CORRUPT,
			 "the chunk before it unpacks to %" PRIu64
			 " bytes, as only the last may; the file's header says %" PRIu64,
			 walk->last_raw, h->chunk_size);
		goto bad;
	}
	return 0;
bad:
	return bpk_bloscpack_chunk_subject(err, walk->number, step->extent.offset);
}

int bpk_bloscpack_walk_look(struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_walk *walk,
			    bool by_offsets, struct bpk_bloscpack_page *page,
			    struct bpk_bloscpack_step *step, struct bpk_err *err)
{
	if (walk->ended)
		return 1;
	if (walk->number == reader->header.nchunks)
		return end_counted(reader, walk, err);
	if (!by_offsets)
		step->extent = rest_from(reader, walk->offset);
	else if (bpk_bloscpack_find(reader, walk->number, page, &step->extent, err) != 0)
		return -1;
	return look(reader, walk, step, err);
}

void bpk_bloscpack_walk_move(const struct bpk_bloscpack_reader *reader,
			     struct bpk_bloscpack_walk *walk, const struct bpk_bloscpack_step *step)
{
	walk->number++;
	walk->offset =
		step->extent.offset + step->header.packed_size + reader->header.checksum->size;
	walk->raw_offset += step->header.raw_size;
	walk->last_raw = step->header.raw_size;
}

int bpk_bloscpack_walk_check(struct bpk_bloscpack_reader *reader, struct bpk_err *err)
{
	struct bpk_bloscpack_walk walk = bpk_bloscpack_walk_start(reader);
	struct bpk_bloscpack_page page = { 0 };
	struct bpk_bloscpack_step step;
	uint64_t entry;
	int rc;

	if (reader->positional || !reader->header.has_offsets)
		return 0;
	while ((rc = bpk_bloscpack_walk_look(reader, &walk, false, NULL, &step, err)) == 0) {
		if (bpk_bloscpack_offsets_check(&reader->offsets, &page, walk.number,
						step.extent.offset, &entry, err) != 0)
			return -1;
		bpk_bloscpack_walk_move(reader, &walk, &step);
	}
	return rc > 0 ? 0 : -1;
}
