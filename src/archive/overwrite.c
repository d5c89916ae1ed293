/* Raw bytes of an archive, overwritten chunk by chunk. */
#include "archive/chunks.h"

enum { WINDOW = 64 << 20 }; /* bytes of a pipe that are taken at a time */

/* What is being written, and how far it has come. */
struct overwriting {
	struct bpk_archive *archive;
	struct bpk_source *source;
	const char *name;
	const struct bpk_slack *slack;
	uint64_t at;     /* where the next byte goes */
	uint64_t done;   /* bytes of source that were put */
	bool ended;      /* source has no more */
	uint64_t to_end; /* raw bytes of the archive from the beginning on */
};

/* Chunks one after the other that are packed alike, and, but for the last, are of one size. */
struct alike {
	struct bpk_piece first;
	uint64_t end; /* raw bytes before what follows */
};

static bool packed_alike(const struct bpk_chunk_header *a, const struct bpk_chunk_header *b)
{
	/* each has block sizes of its own */
	if (a->variable_blocks || b->variable_blocks)
		return false;
	return a->memcpyed == b->memcpyed && a->codec_format == b->codec_format &&
	       a->typesize == b->typesize && a->block_size == b->block_size &&
	       bpk_pipeline_equal(&a->pipeline, &b->pipeline);
}

/* From piece on, until end is reached; piece is then the last one, or the first that differs. */
static int gather_alike(struct bpk_archive *archive, struct bpk_piece *piece, uint64_t end,
			struct alike *alike, struct bpk_err *err)
{
	uint64_t size = piece->size;

	alike->first = *piece;
	alike->end = piece->start + size;
	while (alike->end < end && piece->size == size) {
		if (bpk_archive_next(archive, piece, err) != 0)
			return -1;
		if (piece->size > size || !packed_alike(&alike->first.header, &piece->header))
			break;
		alike->end += piece->size;
	}
	return 0;
}

/* What lies before, in and behind what is written, as one source. */
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

/* Lay bytes, which belong at at, over the chunks alike. */
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

/* Would a chunk outgrow the one that it is to replace? */
struct measure {
	struct bpk_archive *archive;
	bool outgrown;
};

static int measure_put(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct measure *m = arg;
	struct bpk_piece piece = { .number = parcel->number };

	if (bpk_archive_locate(m->archive, &piece, err) != 0)
		return -1;
	m->outgrown = m->outgrown || parcel->packed_size > piece.header.packed_size;
	return 0;
}

/*
 * Room inside chunks is for those that do not fit in place anyway; one that does must not be made
 * larger.
 */
static int choose_slack(struct bpk_archive *archive, struct bpk_load *load,
			const struct bpk_slack *slack, struct bpk_err *err)
{
	static const struct bpk_writer_ops ops = { .put = measure_put };
	struct measure measure = { .archive = archive };
	struct bpk_flow_result result;

	if (slack->bytes == 0 && slack->percent == 0)
		return 0;
	if (bpk_archive_run(archive, load, &ops, &measure, &result, err) != 0)
		return -1;
	if (measure.outgrown)
		load->slack = *slack;
	return 0;
}

static int put_alike(const struct overwriting *o, const struct alike *alike,
		     struct bpk_source *bytes, struct bpk_err *err)
{
	struct bpk_archive *archive = o->archive;
	struct bpk_recipe recipe = bpk_archive_recipe(archive, &alike->first.header);
	struct bpk_load load = {
		.name = o->name,
		.raw_size = alike->end - alike->first.start,
		.chunk_size = alike->first.size,
		.first = alike->first.number,
		.recipe = &recipe,
	};
	struct patch patch = { 0 };
	struct bpk_buf sizes = { 0 };
	struct bpk_flow_result result;
	int rc = patch_make(archive, alike, o->at, bytes, &patch, err);

	load.source = patch.whole;
	if (rc == 0)
		rc = bpk_archive_block_sizes(archive, &alike->first, &sizes, err);
	load.first_sizes = bpk_buf_view(&sizes);
	if (rc == 0)
		rc = choose_slack(archive, &load, o->slack, err);
	if (rc == 0)
		rc = bpk_archive_put(archive, &load, &result, err);
	patch_clear(&patch);
	bpk_buf_clear(&sizes);
	return rc;
}

static int fail_too_long(const struct overwriting *o, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"%s: brings more than the %llu bytes that %s has from there on",
			bpk_input_name(o->name), (unsigned long long)o->to_end, o->archive->path);
}

/* Put the next bytes into the chunks alike, which are more than enough when the bytes end. */
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

/* The archive has no more room: is there more to be written? */
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
	struct bpk_piece piece;
	struct alike alike;

	if (size != BPK_UNKNOWN && size > o->to_end)
		return fail_too_long(o, err);
	if (o->at == raw_size || size == 0)
		return check_end(o, err);
	if (bpk_archive_find(o->archive, o->at, &piece, err) != 0)
		return -1;
	while (!o->ended && o->at < raw_size && o->done < size) {
		end = o->at +
		      bpk_min_u64(size == BPK_UNKNOWN ? WINDOW : size - o->done, raw_size - o->at);
		if (piece.start + piece.size <= o->at &&
		    bpk_archive_next(o->archive, &piece, err) != 0)
			return -1;
		if (gather_alike(o->archive, &piece, end, &alike, err) != 0 ||
		    put_next(o, &alike, err) != 0)
			return -1;
	}
	return check_end(o, err);
}

int bpk_archive_overwrite(struct bpk_archive *archive, uint64_t at, struct bpk_source *source,
			  const char *name, const struct bpk_slack *slack, uint64_t *written,
			  struct bpk_err *err)
{
	struct overwriting o = {
		.archive = archive,
		.source = source,
		.name = name,
		.slack = slack,
		.at = at,
		.to_end = bpk_archive_info(archive)->raw_size - at,
	};
	int rc = overwrite(&o, err);

	*written = o.done;
	return rc;
}
