/* Raw bytes of an archive, overwritten chunk by chunk. Called by write, and by a following that
 * mends. */
#include "archive/keep_ident.h"

#include <inttypes.h>

enum { WINDOW = 64 << 20 }; /* bytes of a pipe that are read at a time: bounds memory */

/* One call of bpk_archive_overwrite, and its progress. */
struct overwriting {
	struct bpk_archive *archive;
	struct bpk_source *source;
	const char *name;
	const struct bpk_slack *slack;
	uint64_t at;     /* raw offset of the next byte */
	uint64_t done;   /* bytes of source so far */
	bool ended;      /* source has no more */
	uint64_t to_end; /* raw bytes of the archive from the first at on */
};

/* Consecutive chunks with one recipe and, but for the last, one size. */
struct alike {
	struct bpk_archive_chunk first;
	uint64_t end; /* raw offset behind the last */
};

static bool packed_alike(const struct bpk_chunk_header *a, const struct bpk_chunk_header *b)
{
	/* each chunk has its own block sizes */
	if (a->variable_blocks || b->variable_blocks)
		return false;
	return a->memcpyed == b->memcpyed && a->codec_format == b->codec_format &&
	       a->typesize == b->typesize && a->block_size == b->block_size &&
	       bpk_pipeline_equal(&a->pipeline, &b->pipeline);
}

/* Gather chunks from chunk on, until end is reached; chunk is then the last of them, or the first
 * that differs. */
static int gather_alike(struct bpk_archive *archive, struct bpk_archive_chunk *chunk, uint64_t end,
			struct alike *alike, struct bpk_err *err)
{
	uint64_t size = chunk->size;

	alike->first = *chunk;
	alike->end = chunk->start + size;
	while (alike->end < end && chunk->size == size) {
		if (bpk_archive_next(archive, chunk, err) != 0)
			return -1;
		if (chunk->size > size || !packed_alike(&alike->first.header, &chunk->header))
			break;
		alike->end += chunk->size;
	}
	return 0;
}

/* The new content of some chunks: kept bytes, new bytes, kept bytes. */
struct patch {
	struct bpk_buf before, behind;
	struct bpk_source *parts[3]; /* the middle one is borrowed */
	struct bpk_source *whole;
};

static void patch_clear(struct patch *patch)
{
	bpk_source_close(patch->whole);
	bpk_source_close(patch->parts[0]);
	bpk_source_close(patch->parts[2]);
	bpk_buf_clear(&patch->before);
	bpk_buf_clear(&patch->behind);
}

/* Make the content of the chunks, with bytes at raw offset at. */
static int patch_make(struct bpk_archive *archive, const struct alike *alike, uint64_t at,
		      struct bpk_source *bytes, struct patch *patch, struct bpk_err *err)
{
	uint64_t start = alike->first.start, end = at + bpk_source_size(bytes);

	patch->parts[1] = bytes;
	if (bpk_archive_read(archive, start, at - start, &patch->before, err) != 0 ||
	    bpk_archive_read(archive, end, alike->end - end, &patch->behind, err) != 0)
		return -1;
	if (bpk_source_of_memory(bpk_buf_view(&patch->before), &patch->parts[0], err) != 0 ||
	    bpk_source_of_memory(bpk_buf_view(&patch->behind), &patch->parts[2], err) != 0 ||
	    bpk_source_join(patch->parts, 3, &patch->whole, err) != 0)
		return bpk_archive_subject(archive, err);
	return 0;
}

/* A writer that keeps nothing: it compares the size of each chunk with the one that it replaces. */
struct measure {
	struct bpk_archive *archive;
	bool outgrown;
};

static int measure_put(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct measure *m = arg;
	struct bpk_archive_chunk chunk = { .number = parcel->number };

	if (bpk_archive_locate(m->archive, &chunk, err) != 0)
		return -1;
	m->outgrown = m->outgrown || parcel->packed_size > chunk.header.packed_size;
	return 0;
}

/* Chunks get slack only where one of them outgrows its place: slack could make a chunk that fits
 * too large. */
static int choose_slack(struct bpk_archive *archive, const struct bpk_archive_batch *batch,
			const struct bpk_slack *slack, struct bpk_slack *chosen,
			struct bpk_err *err)
{
	static const struct bpk_writer_ops ops = { .put = measure_put };
	struct measure measure = { .archive = archive };
	struct bpk_flow_result result;

	if (slack->bytes == 0 && slack->percent == 0)
		return 0;
	if (bpk_archive_run(archive, batch, &ops, &measure, &result, err) != 0)
		return -1;
	if (measure.outgrown)
		*chosen = *slack;
	return 0;
}

static int put_alike(const struct overwriting *o, const struct alike *alike,
		     struct bpk_source *bytes, struct bpk_err *err)
{
	struct bpk_archive *archive = o->archive;
	struct bpk_packing packing = {
		.choice.recipe = bpk_archive_recipe(archive, &alike->first.header),
		.choice.chunk_size = alike->first.size,
	};
	struct bpk_archive_batch batch = {
		.name = o->name,
		.raw_size = alike->end - alike->first.start,
		.first = alike->first.number,
		.packing = &packing,
	};
	struct patch patch = { 0 };
	struct bpk_buf sizes = { 0 };
	struct bpk_flow_result result;
	int rc = patch_make(archive, alike, o->at, bytes, &patch, err);

	bpk_archive_ident_drop(archive);
	batch.source = patch.whole;
	if (rc == 0)
		rc = bpk_archive_block_sizes(archive, &alike->first, &sizes, err);
	batch.first_sizes = bpk_buf_view(&sizes);
	if (rc == 0)
		rc = choose_slack(archive, &batch, o->slack, &packing.slack, err);
	if (rc == 0)
		rc = bpk_archive_put(archive, &batch, &result, err);
	patch_clear(&patch);
	bpk_buf_clear(&sizes);
	return rc;
}

static int fail_too_long(const struct overwriting *o, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"%s: has more than the %" PRIu64
			" bytes that %s has from that offset to its end",
			bpk_input_name(o->name), o->to_end, o->archive->path);
}

/* Put the next bytes into the chunks. The chunks reach farther than the last bytes of source. */
static int put_bytes(struct overwriting *o, struct alike *alike, struct bpk_source *bytes,
		     struct bpk_err *err)
{
	uint64_t size = bpk_source_size(bytes), room = alike->end - o->at;
	uint64_t covered = o->at + size - alike->first.start;

	o->ended = size < room;
	if (size == 0)
		return 0;
	covered = bpk_div_up(covered, alike->first.size) * alike->first.size;
	alike->end = bpk_min_u64(alike->end, alike->first.start + covered);
	if (put_alike(o, alike, bytes, err) != 0)
		return -1;
	o->at += size;
	o->done += size;
	return 0;
}

static int put_next(struct overwriting *o, struct alike *alike, struct bpk_err *err)
{
	uint64_t room = alike->end - o->at, skipped;
	struct bpk_source *bytes = NULL;
	struct bpk_view head;
	int rc;

	if (bpk_source_seekable(o->source)) {
		room = bpk_min_u64(room, bpk_source_size(o->source) - o->done);
		rc = bpk_source_slice(o->source, o->done, room, &bytes, err);
	} else {
		rc = bpk_source_peek(o->source, (size_t)room, &head, err);
		if (rc == 0)
			rc = bpk_source_of_memory(head, &bytes, err);
	}
	if (rc != 0)
		return bpk_err_subject(err, "%s", bpk_input_name(o->name));
	rc = put_bytes(o, alike, bytes, err);
	if (rc == 0 && !bpk_source_seekable(o->source))
		rc = bpk_source_skip(o->source, bpk_source_size(bytes), &skipped, err);
	bpk_source_close(bytes);
	return rc;
}

/* Fails where source has more bytes than the archive. */
static int check_end(struct overwriting *o, struct bpk_err *err)
{
	struct bpk_view head = { NULL, 0 };

	if (bpk_source_seekable(o->source) || o->ended)
		return 0;
	if (bpk_source_peek(o->source, 1, &head, err) != 0)
		return bpk_err_subject(err, "%s", bpk_input_name(o->name));
	return head.size == 0 ? 0 : fail_too_long(o, err);
}

static int overwrite(struct overwriting *o, struct bpk_err *err)
{
	uint64_t raw_size = bpk_archive_info(o->archive)->raw_size;
	uint64_t size = bpk_source_size(o->source), end;
	struct bpk_archive_chunk chunk;
	struct alike alike;

	if (size != BPK_UNKNOWN && size > o->to_end)
		return fail_too_long(o, err);
	if (o->at == raw_size || size == 0)
		return check_end(o, err);
	if (bpk_archive_find(o->archive, o->at, &chunk, err) != 0)
		return -1;
	while (!o->ended && o->at < raw_size && o->done < size) {
		end = o->at +
		      bpk_min_u64(size == BPK_UNKNOWN ? WINDOW : size - o->done, raw_size - o->at);
		if (chunk.start + chunk.size <= o->at &&
		    bpk_archive_next(o->archive, &chunk, err) != 0)
			return -1;
		if (gather_alike(o->archive, &chunk, end, &alike, err) != 0 ||
		    put_next(o, &alike, err) != 0)
			return -1;
	}
	return check_end(o, err);
}

int bpk_archive_overwrite(struct bpk_archive *archive, const struct bpk_overwrite *bytes,
			  uint64_t *written, struct bpk_err *err)
{
	struct overwriting o = {
		.archive = archive,
		.source = bytes->source,
		.name = bytes->name,
		.slack = &bytes->slack,
		.at = bytes->at,
		.to_end = bpk_archive_info(archive)->raw_size - bytes->at,
	};
	int rc = overwrite(&o, err);

	*written = o.done;
	return rc;
}
