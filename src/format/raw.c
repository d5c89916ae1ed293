/*
 * The raw format: reads bytes as the plan cuts them, and writes the wanted bytes of parcels. Its
 * row is in formats.c.
 */
#include "format/plain.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- Reader ---- */

struct raw_reader {
	struct bpk_source *source; /* its cursor belongs to the thread that fetches in order */
	struct bpk_info info;      /* fixed after open */
};

static int raw_open(struct bpk_place *place, const struct bpk_read_options *options, void **reader,
		    struct bpk_err *err)
{
	struct raw_reader *r;

	(void)options;
	*reader = NULL;
	if (place->is_directory)
		return bpk_fail(err, BPK_FAILED, "a directory, expected a file");
	r = bpk_calloc(1, sizeof *r, err);
	if (r == NULL)
		return -1;
	r->source = place->source;
	r->info = (struct bpk_info){ .format = "raw",
				     .stored_size = bpk_source_size(place->source),
				     .raw_size = bpk_source_size(place->source),
				     .chunks.count = BPK_UNKNOWN,
				     .chunks.size = BPK_UNKNOWN,
				     .chunks.last_size = BPK_UNKNOWN,
				     .chunks.checksum = &bpk_checksums[0] };
	*reader = r;
	return 0;
}

static const struct bpk_info *raw_info(const void *reader)
{
	return &((const struct raw_reader *)reader)->info;
}

static bool raw_positional(const void *reader)
{
	return bpk_source_seekable(((const struct raw_reader *)reader)->source);
}

/* Read at the cursor, after skipping the bytes that the plan leaves out. */
static int read_in_order(struct raw_reader *r, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	uint64_t here = bpk_source_tell(r->source);
	uint64_t skipped;

	if (offset != BPK_UNKNOWN && offset > here) {
		if (bpk_source_skip(r->source, offset - here, &skipped, err) != 0)
			return -1;
	}
	return bpk_source_read(r->source, out, got, err);
}

static int raw_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct raw_reader *r = reader;
	struct bpk_span out;
	size_t got;
	int rc;

	if (bpk_buf_resize(&parcel->raw, parcel->raw_size, err) != 0)
		return -1;
	out = bpk_span(parcel->raw.data, parcel->raw_size);
	rc = raw_positional(r) ? bpk_source_read_shared_at(r->source, parcel->raw_offset, out,
							   parcel->sharing, &got, err)
			       : read_in_order(r, parcel->raw_offset, out, &got, err);
	if (rc != 0)
		return -1;
	parcel->raw.size = got;
	parcel->raw_size = got;
	parcel->packed_offset = parcel->raw_offset;
	/* an empty input is one empty parcel */
	return got == 0 && parcel->number > 0 ? 1 : 0;
}

const struct bpk_reader_ops bpk_raw_reader_ops = {
	.open = raw_open,
	.info = raw_info,
	.positional = raw_positional,
	.fetch = raw_fetch,
	.close = free,
};

/* ---- Writer ---- */

struct raw_writer {
	struct bpk_draft *draft; /* fixed after open, like the next two members */
	bool places;
	uint64_t raw_size;
	_Atomic uint64_t placed; /* bytes, by any thread */

	/* Used if the data are written in order and a head was given; size 0: no head, or it is
	 * written. */
	struct bpk_view head, mark;
	struct bpk_buf first; /* the first bytes of the data, held until mark can be compared */

	bool gathers;
	struct bpk_buf held; /* bytes in order that are still to be written */
};

/* Chunks below SMALL bytes are gathered, if they may be, and not placed: a system call for each
 * would cost more than the rest of the work. */
enum { SMALL = 4 << 10, GATHERED = 64 << 10 };

static int raw_writer_open(struct bpk_draft *draft, const struct bpk_info *info,
			   const struct bpk_write_options *options, void **writer,
			   struct bpk_err *err)
{
	struct raw_writer *w = bpk_calloc(1, sizeof *w, err);

	*writer = w;
	if (w == NULL)
		return -1;
	w->draft = draft;
	w->head = options->head;
	w->mark = options->mark;
	w->raw_size = info->raw_size;
	w->gathers = options->gathers;
	w->places = bpk_draft_is_hidden(draft) && !options->in_order &&
		    info->raw_size != BPK_UNKNOWN && info->chunks.size != BPK_UNKNOWN &&
		    w->head.size == 0 && !(w->gathers && info->chunks.size < SMALL);
	return 0;
}

static bool raw_places(const void *writer)
{
	return ((const struct raw_writer *)writer)->places;
}

/* Write the head, unless the data brought it, and then the bytes held back. */
static int write_head(struct raw_writer *w, struct bpk_err *err)
{
	bool brought = w->mark.size > 0 && w->first.size == w->mark.size &&
		       memcmp(w->first.data, w->mark.data, w->mark.size) == 0;

	if (!brought && bpk_draft_write(w->draft, w->head, err) != 0)
		return -1;
	w->head.size = 0;
	return bpk_draft_write(w->draft, bpk_buf_view(&w->first), err);
}

static int write_held(struct raw_writer *w, struct bpk_err *err)
{
	struct bpk_view held = bpk_buf_view(&w->held);

	w->held.size = 0;
	return held.size > 0 ? bpk_draft_write(w->draft, held, err) : 0;
}

/* Write bytes, or hold them back to write them with the next ones. */
static int gather(struct raw_writer *w, struct bpk_view bytes, struct bpk_err *err)
{
	bool small = w->gathers && bytes.size <= GATHERED / 4;

	if ((!small || bytes.size > GATHERED - w->held.size) && write_held(w, err) != 0)
		return -1;
	if (!small)
		return bpk_draft_write(w->draft, bytes, err);
	if (bpk_buf_reserve(&w->held, GATHERED, err) != 0)
		return -1;
	return bpk_buf_append(&w->held, bytes, err);
}

/* Write bytes of the data; the first ones may be held back until mark can be compared. */
static int write_in_order(struct raw_writer *w, struct bpk_view bytes, struct bpk_err *err)
{
	size_t waits = w->head.size > 0 ? w->mark.size - w->first.size : 0;

	waits = bpk_min_size(waits, bytes.size);
	if (waits > 0) {
		if (bpk_buf_append(&w->first, bpk_view(bytes.data, waits), err) != 0)
			return -1;
		bytes = bpk_view(bytes.data + waits, bytes.size - waits);
	}
	if (w->head.size > 0 && w->first.size == w->mark.size && write_head(w, err) != 0)
		return -1;
	return gather(w, bytes, err);
}

static int raw_put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct raw_writer *w = writer;
	struct bpk_view bytes;

	if (parcel->want_start > parcel->raw.size ||
	    parcel->want_size > parcel->raw.size - parcel->want_start)
		return bpk_fail(
			err, BPK_BUG,
			"chunk %" PRIu64 ": has %zu bytes, %zu bytes from byte %zu were expected",
			parcel->number, parcel->raw.size, parcel->want_size, parcel->want_start);
	bytes = bpk_view(parcel->want_size > 0 ? parcel->raw.data + parcel->want_start : NULL,
			 parcel->want_size);
	if (!w->places)
		return write_in_order(w, bytes, err);
	if (parcel->raw_offset > w->raw_size ||
	    parcel->raw_offset + parcel->want_start > w->raw_size ||
	    bytes.size > w->raw_size - parcel->raw_offset - parcel->want_start)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk %" PRIu64 " exceeds the %" PRIu64
				" bytes that were announced",
				parcel->number, w->raw_size);
	atomic_fetch_add(&w->placed, bytes.size);
	return bpk_draft_write_at(w->draft, parcel->raw_offset + parcel->want_start, bytes, err);
}

static void raw_placed_by_others(void *writer, uint64_t raw_size)
{
	atomic_fetch_add(&((struct raw_writer *)writer)->placed, raw_size);
}

static int raw_finish(void *writer, struct bpk_err *err)
{
	struct raw_writer *w = writer;
	uint64_t placed = atomic_load(&w->placed);

	if (w->places && placed != w->raw_size)
		return bpk_fail(err, BPK_FAILED,
				"%" PRIu64 " bytes were announced, %" PRIu64 " came", w->raw_size,
				placed);
	if (w->head.size > 0 && write_head(w, err) != 0)
		return -1;
	if (write_held(w, err) != 0)
		return -1;
	if (!bpk_draft_seekable(w->draft))
		return 0;
	return bpk_draft_set_size(w->draft, w->places ? placed : bpk_draft_tell(w->draft), err);
}

static void raw_writer_close(void *writer)
{
	struct raw_writer *w = writer;

	if (w == NULL)
		return;
	(void)write_held(w, NULL); /* of a run that failed: what lies before the failure */
	bpk_buf_clear(&w->held);
	bpk_buf_clear(&w->first);
	free(w);
}

const struct bpk_writer_ops bpk_raw_writer_ops = {
	.open = raw_writer_open,
	.places = raw_places,
	.put = raw_put,
	.placed_by_others = raw_placed_by_others,
	.finish = raw_finish,
	.close = raw_writer_close,
};
