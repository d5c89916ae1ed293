/*
 * Determines the committed content of a Bloscpack file for the editor, from its header and offsets
 * or by a walk.
 */
#include "format/bloscpack/editor.h"

enum {
	/* a single chunk below this size reflects small data, not a chosen chunk size */
	SMALL_CHUNK = 64 << 10,
	NEW_CHUNK = 1 << 20, /* size of added chunks if the archive does not decide it */
};

/* Chunk sizes found by a walk. */
struct survey {
	uint64_t first;
	bool uniform; /* all but the last have the size of the first */
};

static int walk_all(struct bpk_bloscpack_editor *e, struct survey *found, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = e->reader;
	struct bpk_bloscpack_walk walk = bpk_bloscpack_walk_start(r);
	struct bpk_bloscpack_page page = { 0 };
	struct bpk_bloscpack_step step;
	uint64_t entry;
	int rc;

	*found = (struct survey){ .uniform = true };
	while ((rc = bpk_bloscpack_walk_look(r, &walk, r->positional, &page, &step, err)) == 0) {
		if (walk.number == 0)
			found->first = step.header.raw_size;
		else if (walk.last_raw != found->first)
			found->uniform = false;
		/* a rewrite would hide a damaged entry */
		if (e->header.has_offsets &&
		    bpk_bloscpack_offsets_check(&r->offsets, &page, walk.number, step.extent.offset,
						&entry, err) != 0)
			return -1;
		bpk_bloscpack_walk_move(r, &walk, &step);
	}
	if (rc < 0)
		return -1;
	if (walk.last_raw > found->first)
		found->uniform = false;
	e->header.nchunks = walk.number;
	e->header.last_chunk_size = walk.last_raw;
	e->header.raw_size = walk.raw_offset;
	e->ends.chunks = walk.offset;
	e->ends.archive = walk.end;
	return 0;
}

/* Header and offsets give everything except the end of the last chunk. */
static int look_at_last(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_bloscpack_header *h = &e->header;
	struct bpk_where where;

	if (bpk_bloscpack_reader_ops.locate(e->reader, h->nchunks - 1, &where, err) != 0)
		return -1;
	h->last_chunk_size = where.header.raw_size;
	h->raw_size = where.raw_offset + where.header.raw_size;
	e->ends.chunks = where.packed_offset + where.header.packed_size + h->checksum->size;
	e->ends.archive = e->ends.chunks;
	return 0;
}

/* True if the header, or the sizes in the metadata, suffice without a walk. They do not for version
 * 2, whose last chunk may be larger. */
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
	e->ends.all = h->has_offsets ? e->ends.chunks : r->size;
	return 0;
}

/* The size of chunks to be added; a single small chunk does not decide it, but the header of an
 * empty file does. */
static uint64_t chunk_size_to_add(const struct bpk_bloscpack_editor *e)
{
	const struct bpk_bloscpack_header *h = &e->header;
	unsigned typesize = h->typesize > 0 ? h->typesize : 1;

	if (h->chunk_size != BPK_UNKNOWN && h->chunk_size > 0 &&
	    (h->nchunks > 1 || h->last_chunk_size == 0 || h->chunk_size >= SMALL_CHUNK))
		return h->chunk_size;
	return NEW_CHUNK / typesize * typesize;
}

void bpk_bloscpack_survey_info(struct bpk_bloscpack_editor *e)
{
	const struct bpk_bloscpack_header *h = &e->header;

	e->info = e->reader->info;
	e->info.raw_size = h->raw_size;
	e->info.chunks.count = h->nchunks;
	e->info.chunks.last_size = h->last_chunk_size;
	e->info.chunks.append_space = h->append_space;
	e->info.chunks.size = chunk_size_to_add(e);
}
