/*
 * Accounts for every byte of a Bloscpack file outside its chunks: bpk_reader_ops.audit. Called
 * through the row of reader.c.
 */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	FILL_PIECE = 64 << 10, /* bytes of the metadata's room that are read at a time */
	MOST_AUDITS = 20,      /* audits of a file that keeps changing */
};

struct audit {
	struct bpk_bloscpack_reader *reader;
	bpk_remark_fn *remark;
	void *arg;
	bool unsealed;     /* the seal is not tested */
	uint64_t nunknown; /* chunks whose entry is -1 */
	uint64_t ngaps;    /* between chunks */
	uint64_t gap_bytes;
	uint64_t ninterrupted; /* spare entries set by an append that did not commit */
	uint64_t end;          /* of the last chunk */
	struct bpk_bloscpack_page page;
};

static void say(const struct audit *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct audit *a, const char *format, ...)
{
	char line[256];
	va_list args;

	if (a->remark == NULL)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	a->remark(a->arg, line);
}

/* ---- Metadata ---- */

/* Test the zeros between metadata and digest; not possible on a pipe. */
static int audit_fill(const struct audit *a, struct bpk_err *err)
{
	const struct bpk_bloscpack_metadata *m = &a->reader->metadata;
	struct bpk_buf piece = { 0 };
	uint64_t done = 0;
	bool zero = true;
	int rc = 0;

	while (rc == 0 && zero && done < m->fill_size) {
		size_t size = (size_t)bpk_min_u64(FILL_PIECE, m->fill_size - done);

		piece.size = 0;
		rc = bpk_source_hold(a->reader->source, err);
		if (rc != 0)
			break;
		rc = bpk_bloscpack_append(a->reader->source, m->fill_offset + done, size, &piece,
					  "metadata's room", err);
		bpk_source_release(a->reader->source);
		zero = bpk_is_zero(bpk_view(piece.data, piece.size));
		done += size;
	}
	bpk_buf_clear(&piece);
	if (rc == 0 && !zero)
		say(a, "the room after the metadata holds bytes other than zeros");
	return rc;
}

/* Metadata belong to the user, and other programs append without updating them: only a remark. */
static void audit_array(const struct audit *a)
{
	const struct bpk_array *array = &a->reader->array;
	uint64_t raw_size = a->reader->info.raw_size;

	if (array->dtype.size > 0 && raw_size != BPK_UNKNOWN && raw_size != array->size)
		say(a,
		    "metadata describes an array of %" PRIu64 " bytes, the data has %" PRIu64
		    " bytes",
		    array->size, raw_size);
}

static int audit_metadata(const struct audit *a, struct bpk_err *err)
{
	const struct bpk_bloscpack_metadata *m = &a->reader->metadata;

	if (!a->reader->header.has_metadata)
		return 0;
	if (m->damage.kind != BPK_OK)
		return bpk_fail_as(err, &m->damage);
	if (a->reader->sizes.wrong)
		return bpk_fail(
			err, BPK_CORRUPT,
			"the list of chunk sizes in the metadata does not fit an archive of "
			"%" PRIu64 " chunks",
			a->reader->header.nchunks);
	if (m->strange_magic)
		say(a, "metadata is not JSON, and was not read");
	audit_array(a);
	return a->reader->seekable ? audit_fill(a, err) : 0;
}

/* ---- Chunks ---- */

/* Check the entry of chunk number, which lies at offset; the chunk before it ended at a->end. */
static int audit_entry(struct audit *a, uint64_t number, uint64_t offset, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = a->reader;
	uint64_t entry;

	if (bpk_bloscpack_offsets_check(&r->offsets, &a->page, number, offset, &entry, err) != 0)
		return -1;
	a->nunknown += entry == BPK_UNKNOWN;
	if (offset < a->end)
		return bpk_fail(err, BPK_CORRUPT,
				"chunk %" PRIu64 " lies at offset %" PRIu64
				", before the end of the one before it, %" PRIu64,
				number, offset, a->end);
	if (offset > a->end) {
		a->ngaps++;
		a->gap_bytes += offset - a->end;
	}
	return 0;
}

/* Audit the next chunk of walk and its entry; returns 1 after the last. */
static int audit_chunk(struct audit *a, struct bpk_bloscpack_walk *walk, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = a->reader;
	struct bpk_bloscpack_step step;
	int rc;

	rc = bpk_bloscpack_walk_look(r, walk, r->positional, &a->page, &step, err);
	if (rc == 0 && r->header.has_offsets)
		rc = audit_entry(a, walk->number, step.extent.offset, err);
	if (rc == 0) {
		bpk_bloscpack_walk_move(r, walk, &step);
		a->end = walk->offset;
	}
	return rc;
}

static int audit_chunks(struct audit *a, struct bpk_err *err)
{
	struct bpk_source *source = a->reader->source;
	struct bpk_bloscpack_walk walk = bpk_bloscpack_walk_start(a->reader);
	struct timespec since;
	int rc = 0;

	a->end = a->reader->offsets_end;
	while (rc == 0) {
		if (bpk_source_hold(source, err) != 0)
			return -1;
		a->page.n = 0;
		clock_gettime(CLOCK_MONOTONIC, &since);
		do
			rc = audit_chunk(a, &walk, err);
		while (rc == 0 && !bpk_hold_is_long(&since));
		bpk_source_release(source);
	}
	if (rc > 0)
		a->reader->located = walk; /* tells the reader where the archive ends */
	return rc < 0 ? -1 : 0;
}

/* ---- Spare entries and the tail ---- */

static int audit_spare(struct audit *a, uint64_t number, uint64_t entry, struct bpk_err *err)
{
	bool has_tail = bpk_source_size(a->reader->source) > a->end;

	a->ninterrupted += entry != BPK_UNKNOWN;
	return bpk_bloscpack_spare_check(number, entry, a->end, has_tail, err);
}

static int audit_spares(struct audit *a, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = a->reader;
	uint64_t i = r->header.nchunks;

	while (i < r->offsets.count) {
		unsigned n = (unsigned)bpk_min_u64(BPK_BLOSCPACK_PAGE, r->offsets.count - i);
		uint64_t entries[BPK_BLOSCPACK_PAGE];
		int rc = bpk_source_hold(r->source, err);

		if (rc != 0)
			return -1;
		rc = bpk_bloscpack_offsets_get(&r->offsets, i, n, entries, err);
		bpk_source_release(r->source);
		for (unsigned k = 0; rc == 0 && k < n; k++)
			rc = audit_spare(a, i + k, entries[k], err);
		if (rc != 0)
			return -1;
		i += n;
	}
	return 0;
}

static void say_what_was_found(const struct audit *a)
{
	const struct bpk_bloscpack_reader *r = a->reader;
	const struct bpk_bloscpack_header *h = &r->header;
	bool at_work = bpk_source_in_change(r->source);

	if (h->typesize > 0 && r->info.chunks.has_first &&
	    r->info.chunks.first.typesize != h->typesize)
		say(a, "header says typesize %u, the first chunk %u", h->typesize,
		    r->info.chunks.first.typesize);
	if (a->nunknown > 0)
		say(a,
		    "%" PRIu64 " of %" PRIu64 " chunks have no offset; they are found by walking",
		    a->nunknown, h->nchunks);
	if (a->ngaps > 0)
		say(a, "%" PRIu64 " %s in %" PRIu64 " %s before chunks", a->gap_bytes,
		    bpk_plural(a->gap_bytes, "byte", "bytes"), a->ngaps,
		    bpk_plural(a->ngaps, "gap", "gaps"));
	if (a->ninterrupted > 0 && !at_work)
		say(a, "%" PRIu64 " spare offset entries are set; an append was interrupted",
		    a->ninterrupted);
	if (r->torn && !at_work)
		say(a,
		    "last-chunk in the header is not %" PRIu64
		    ", the size of the last chunk; an append was interrupted",
		    h->last_chunk_size);
	if (!h->has_offsets && h->append_space > 0)
		say(a, "header has room for %" PRIu64 " more chunks, but there are no offsets",
		    h->append_space);
	if (h->has_offsets && a->end < r->size && !r->options.followed && !at_work)
		say(a, "%" PRIu64 " %s after the last chunk, from offset %" PRIu64,
		    r->size - a->end, bpk_plural(r->size - a->end, "byte", "bytes"), a->end);
}

/* Test the chunks by their leaves, if all were fetched, or read them again. */
static int audit_tree(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	bool whole;

	if (bpk_seal_leaves_judge(r->leaves, r->header.nchunks, &r->seal, &whole, err) != 0)
		return -1;
	return whole ? 0 : bpk_bloscpack_seal_walk(r, err);
}

/* A sealed archive ends with its last chunk; a writer at work has begun behind it. */
static int audit_seal(struct audit *a, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = a->reader;

	if (!r->seal.marked && !r->seal.recorded)
		return 0;
	if (bpk_bloscpack_seal_check(r, err) != 0 || audit_tree(r, err) != 0)
		return -1;
	return bpk_source_in_change(r->source)
		       ? 0
		       : bpk_seal_check_end(a->end, bpk_source_size(r->source), err);
}

/* Entries or bytes beyond the end, which no interrupted append may have left: by the header they
 * were committed since it was read. Fails with BPK_CORRUPT then, for a look at the new state. */
static int audit_header(const struct audit *a, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = a->reader;
	uint8_t head[BPK_BLOSCPACK_HEADER_SIZE];
	int rc;

	if (a->ninterrupted == 0 && a->end >= r->size)
		return 0;
	rc = bpk_source_hold(r->source, err);
	if (rc != 0)
		return -1;
	rc = bpk_bloscpack_need(r->source, 0, bpk_span(head, r->header.size), "header", err);
	bpk_source_release(r->source);
	if (rc == 0 && memcmp(head, r->head, r->header.size) != 0)
		rc = bpk_fail(err, BPK_CORRUPT, "the header has changed");
	return rc;
}

static int audit_content(struct audit *a, struct bpk_err *err)
{
	if (audit_chunks(a, err) != 0 || (!a->unsealed && audit_seal(a, err) != 0))
		return -1;
	if (a->reader->header.has_offsets && audit_spares(a, err) != 0)
		return -1;
	return audit_header(a, err);
}

int bpk_bloscpack_audit_unsealed(struct bpk_bloscpack_reader *reader, struct bpk_err *err)
{
	struct audit a = { .reader = reader, .unsealed = true };

	return audit_metadata(&a, err) != 0 ? -1 : audit_content(&a, err);
}

/* The file has changed since it was opened; audit its current state. */
static int audit_again(struct audit *a, bool *changed, struct bpk_err *err)
{
	struct bpk_place place = { .source = a->reader->source };
	struct audit again = { .remark = a->remark, .arg = a->arg };
	struct bpk_bloscpack_reader now;
	struct bpk_err found = { 0 };
	void *reader;
	int rc;

	*changed = false;
	if (bpk_bloscpack_reader_ops.open(&place, &a->reader->options, &reader, err) != 0)
		return -1;
	again.reader = reader;
	rc = audit_content(&again, &found);
	if (rc == 0) {
		say_what_was_found(&again);
		a->reader->info.seal = again.reader->info.seal;
	} else
		*changed =
			bpk_bloscpack_concurrent_judge(reader, &now, &found) != BPK_BLOSCPACK_SAME;
	bpk_bloscpack_reader_ops.close(reader);
	if (rc != 0 && err != NULL)
		*err = found;
	return rc;
}

/* Audit a file; changes by an active writer are not damage. */
static int audit_seekable(struct audit *a, struct bpk_err *err)
{
	struct bpk_bloscpack_reader now;
	struct bpk_err found = { 0 };
	bool changed = true;

	if (audit_content(a, &found) == 0) {
		say_what_was_found(a);
		return 0;
	}
	if (bpk_bloscpack_concurrent_judge(a->reader, &now, &found) == BPK_BLOSCPACK_SAME) {
		if (err != NULL)
			*err = found;
		return -1;
	}
	for (int i = 0; i < MOST_AUDITS; i++)
		if (audit_again(a, &changed, err) == 0)
			return 0;
		else if (!changed)
			return -1;
	say(a, "keeps changing; offset entries and bytes after the chunks were not audited");
	return 0;
}

/* On a pipe, chunks already read were tested; the rest is skipped now. */
static int audit_pipe(struct audit *a, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = a->reader;
	struct bpk_bloscpack_walk *walk = &r->sequence;
	struct bpk_bloscpack_step step;
	uint64_t tail;
	int rc;

	if (r->seal.marked || r->seal.recorded)
		say(a, "the seal was not tested, since the input is a pipe");
	while ((rc = bpk_bloscpack_walk_look(r, walk, false, NULL, &step, err)) == 0)
		bpk_bloscpack_walk_move(r, walk, &step);
	if (rc < 0 || !r->header.has_offsets)
		return rc < 0 ? -1 : 0;
	say(a, "offset entries were not compared, since the input is a pipe");
	if (r->options.followed)
		return 0;
	if (bpk_bloscpack_read(r->source, walk->offset, bpk_span(NULL, 0), &(size_t){ 0 }, err) !=
		    0 ||
	    bpk_source_skip(r->source, UINT64_MAX, &tail, err) != 0)
		return -1;
	if (tail > 0)
		say(a, "%" PRIu64 " %s after the last chunk, from offset %" PRIu64, tail,
		    bpk_plural(tail, "byte", "bytes"), walk->offset);
	return 0;
}

int bpk_bloscpack_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	struct audit a = { .reader = reader, .remark = remark, .arg = arg };

	if (audit_metadata(&a, err) != 0)
		return -1;
	return a.reader->seekable ? audit_seekable(&a, err) : audit_pipe(&a, err);
}
