/*
 * What a Bloscpack file to be changed holds: as its header and offsets say, or as a walk finds.
 */
#include "format/bloscpack/editor.h"

enum {
	SMALL_CHUNK = 64 << 10, /* an archive of one such chunk was made small, not cut small */
	NEW_CHUNK = 1 << 20,
};

/* Chunk sizes as a walk finds them. */
struct survey {
	uint64_t first;
	bool uniform; /* all but the last are as the first */
};

static int walk_all(struct bpk_bloscpack_editor *e, struct survey *found, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = e->reader;
	struct bpk_bloscpack_walk walk = bpk_bloscpack_walk_start(r);
	struct bpk_bloscpack_step step;
	int rc;

	*found = (struct survey){ .uniform = true };
	while ((rc = bpk_bloscpack_walk_look(r, &walk, r->positional, &step, err)) == 0) {
		if (walk.number == 0)
			found->first = step.header.raw_size;
		else if (walk.last_raw != found->first)
			found->uniform = false;
		bpk_bloscpack_walk_move(r, &walk, &step);
	}
	if (rc < 0)
		return -1;
	if (walk.last_raw > found->first)
		found->uniform = false;
	e->header.nchunks = walk.number;
	e->header.last_chunk_size = walk.last_raw;
	e->header.raw_size = walk.raw_offset;
	e->chunks_end = walk.offset;
	e->archive_end = walk.end;
	return 0;
}

/* Offsets and header say it all, but where the last chunk ends. */
static int look_at_last(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_bloscpack_header *h = &e->header;
	struct bpk_where where;

	if (bpk_bloscpack_reader_ops.locate(e->reader, h->nchunks - 1, &where, err) != 0)
		return -1;
	h->last_chunk_size = where.header.raw_size;
	h->raw_size = where.raw_offset + where.header.raw_size;
	e->chunks_end = where.packed_offset + where.header.packed_size + h->checksum->size;
	e->archive_end = e->chunks_end;
	return 0;
}

/* Can the header, or the sizes in the metadata, be believed without a walk? Not where version 2
 * lets the last chunk be larger. */
static bool is_plain(const struct bpk_bloscpack_reader *r)
{
	const struct bpk_bloscpack_header *h = &r->header;

	return r->positional && h->version == 3 &&
	       (h->chunk_size == BPK_UNKNOWN ? r->sizes.runs.nchunks > 0 : h->chunk_size > 0);
}

int bpk_bloscpack_survey(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_bloscpack_reader *r = e->reader;
	struct bpk_bloscpack_header *h = &e->header;
	struct survey found;

	*h = r->header;
	h->version = 3;
	h->append_space = r->offsets.count - (h->has_offsets ? h->nchunks : 0);
	e->in_place = r->header.version == 3 && !r->header.blaze;
	e->adds_in_place = e->in_place && (!h->has_offsets || r->positional || h->nchunks == 0);
	if (is_plain(r)) {
		if (look_at_last(e, err) != 0)
			return -1;
	} else if (walk_all(e, &found, err) != 0) {
		return -1;
	} else if (!found.uniform) {
		h->chunk_size = BPK_UNKNOWN;
	} else if (h->nchunks > 1 || h->chunk_size == BPK_UNKNOWN || h->chunk_size < found.first) {
		h->chunk_size = found.first;
	}
	e->end = h->has_offsets ? e->chunks_end : r->size;
	return 0;
}

/* What chunks to be added should hold: an archive of one small chunk had no more to put in it. */
static uint64_t chunk_size_to_add(const struct bpk_bloscpack_editor *e)
{
	const struct bpk_bloscpack_header *h = &e->header;
	unsigned typesize = h->typesize > 0 ? h->typesize : 1;

	if (h->chunk_size != BPK_UNKNOWN && h->chunk_size > 0 &&
	    (h->nchunks > 1 || h->chunk_size >= SMALL_CHUNK))
		return h->chunk_size;
	return NEW_CHUNK / typesize * typesize;
}

void bpk_bloscpack_survey_info(struct bpk_bloscpack_editor *e)
{
	const struct bpk_bloscpack_header *h = &e->header;

	e->info = e->reader->info;
	e->info.raw_size = h->raw_size;
	e->info.nchunks = h->nchunks;
	e->info.last_chunk_size = h->last_chunk_size;
	e->info.append_space = h->append_space;
	e->info.chunk_size = chunk_size_to_add(e);
}
