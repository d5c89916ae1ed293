/* A growing file, compared with the archive that follows it. Called by follow.c. */
#include "archive/followed.h"

#include <inttypes.h>

#include "flow/flow.h"

enum {
	PIECE = 64 << 10, /* bytes of a sample, and of a step through the tables of a file */
	PLACES = 64,      /* where samples are taken, in turn */
	/* places from one sample to the next: prime to PLACES, so that samples spread early */
	STRIDE = 27,
	SLOTS = 2, /* chunks that a view keeps */
};

/* ---- The file ---- */

static int check_identity(struct bpk_followed *f, const struct stat *now, struct bpk_err *err)
{
	if (f->seen.st_ino == 0)
		f->seen = *now;
	if (bpk_same_file(now, &f->seen))
		return 0;
	return bpk_fail(err, BPK_FAILED, "was replaced by another file, which is not followed");
}

static int open_file(struct bpk_followed *f, struct bpk_source **source, struct bpk_err *err)
{
	if (bpk_source_open(f->opened != NULL ? f->opened : f->path, source, err) != 0)
		return -1;
	return check_identity(f, bpk_source_stat(*source), err);
}

int bpk_followed_read(struct bpk_followed *f, uint64_t start, struct bpk_span out,
		      struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	int rc = open_file(f, &source, err);

	if (rc == 0)
		rc = bpk_source_need_at(source, start, out, err);
	bpk_source_close(source);
	if (rc != 0 && err->kind == BPK_CORRUPT)
		err->kind = BPK_FAILED; /* the file is short, and no archive is damaged */
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", f->path);
}

/* ---- Parts that may change ---- */

/* A part that fills up begins behind its last byte in the archive that is not zero. */
static int skip_filled(struct bpk_source *held, struct bpk_layout_part *part, struct bpk_err *err)
{
	uint64_t end = bpk_min_u64(part->offset + part->size, bpk_source_size(held)), at = end;
	uint8_t bytes[4096];

	while (at > part->offset) {
		size_t size = (size_t)bpk_min_u64(at - part->offset, sizeof bytes);

		if (bpk_source_need_at(held, at - size, bpk_span(bytes, size), err) != 0)
			return -1;
		for (; size > 0 && bytes[size - 1] == 0; size--)
			at--;
		if (size > 0)
			break;
	}
	part->offset = bpk_min_u64(at, end);
	part->size = end - part->offset;
	return 0;
}

/* Add the parts that may change, if source is a file of a kind that has such parts. */
static int add_parts(struct bpk_followed *f, struct bpk_source *source, struct bpk_source *held,
		     struct bpk_err *err)
{
	struct bpk_layout *layout = NULL;
	size_t count;

	if (bpk_layout_open(source, &layout, err) != 0)
		return -1;
	count = layout != NULL ? bpk_layout_parts(layout, f->parts + f->nparts) : 0;
	bpk_layout_close(layout);
	for (; count > 0; count--) {
		struct bpk_layout_part *part = &f->parts[f->nparts++];

		if (part->offset >= bpk_source_size(held))
			part->size = 0;
		else
			part->size = bpk_min_u64(part->size, bpk_source_size(held) - part->offset);
		if (part->fills && skip_filled(held, part, err) != 0)
			return -1;
	}
	return 0;
}

/* Of an archive without offsets no part is known: every difference counts. */
static int look_for_parts(struct bpk_followed *f, struct bpk_err *err)
{
	struct bpk_archive *archive = f->archive;
	struct bpk_source *held = NULL, *file = NULL;
	const struct bpk_view_options options = { .nchunks = SLOTS };
	int rc = bpk_view_open(archive->format->editor->reads,
			       archive->format->editor->reader(archive->editor), &options, &held,
			       err);

	f->nparts = 0;
	if (rc == 0 && bpk_source_seekable(held))
		rc = add_parts(f, held, held, err);
	if (rc != 0)
		bpk_archive_subject(archive, err);
	if (rc == 0 && bpk_source_seekable(held) &&
	    (open_file(f, &file, err) != 0 || add_parts(f, file, held, err) != 0))
		rc = bpk_err_subject(err, "%s", f->path);
	bpk_source_close(file);
	bpk_source_close(held);
	return rc;
}

static bool may_change(const struct bpk_followed *f, uint64_t at, uint8_t held)
{
	for (size_t i = 0; i < f->nparts; i++) {
		const struct bpk_layout_part *part = &f->parts[i];

		if (at >= part->offset && at - part->offset < part->size &&
		    (!part->fills || held == 0))
			return true;
	}
	return false;
}

/* The number of first bytes that are equal, or may differ. */
static size_t count_explained(const struct bpk_followed *f, uint64_t at, struct bpk_view held,
			      struct bpk_view bytes)
{
	size_t i = 0;

	while (i < held.size &&
	       (held.data[i] == bytes.data[i] || may_change(f, at + i, held.data[i])))
		i++;
	return i;
}

/* The number of first bytes, at most, that are equal, or zeros in the archive. */
static size_t count_filled(struct bpk_view held, struct bpk_view bytes, uint64_t most)
{
	size_t i = 0;

	while (i < held.size && i < most && (held.data[i] == 0 || held.data[i] == bytes.data[i]))
		i++;
	return i;
}

/* As count_explained; zeros may also be filled where the file has neither a table nor an array now:
 * in a table that it has outgrown since. */
static size_t count_outgrown(const struct bpk_followed *f, const struct bpk_layout *layout,
			     uint64_t at, struct bpk_view held, struct bpk_view bytes)
{
	size_t i = 0, step;

	do {
		struct bpk_view held_rest = bpk_view(held.data + i, held.size - i);
		struct bpk_view rest = bpk_view(bytes.data + i, held.size - i);

		step = count_explained(f, at + i, held_rest, rest);
		if (step == 0)
			step = count_filled(held_rest, rest, bpk_layout_unused(layout, at + i));
		i += step;
	} while (step > 0 && i < held.size);
	return i;
}

static int look_for_outgrown(struct bpk_followed *f, uint64_t at, struct bpk_view held,
			     struct bpk_view bytes, size_t *same, struct bpk_err *err)
{
	struct bpk_layout *layout = NULL;
	struct bpk_source *file = NULL;
	int rc = open_file(f, &file, err);

	if (rc == 0)
		rc = bpk_layout_open(file, &layout, err);
	if (rc == 0 && layout != NULL)
		*same = count_outgrown(f, layout, at, held, bytes);
	bpk_layout_close(layout);
	bpk_source_close(file);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", f->path);
}

int bpk_followed_judge(struct bpk_followed *f, uint64_t at, struct bpk_view held,
		       struct bpk_view bytes, struct bpk_err *err)
{
	size_t same;

	if (f->mend || count_explained(f, at, held, bytes) == held.size)
		return 0;
	if (look_for_parts(f, err) != 0)
		return -1;
	same = count_explained(f, at, held, bytes);
	if (same < held.size && held.data[same] == 0 &&
	    look_for_outgrown(f, at, held, bytes, &same, err) != 0)
		return -1;
	if (same == held.size)
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"%s: differs from %s: byte %" PRIu64 " is 0x%02x, 0x%02x is "
			"committed; --mend accepts the file",
			f->path, f->archive->path, at + same, bytes.data[same], held.data[same]);
}

/* ---- Samples ---- */

static int compare(struct bpk_followed *f, uint64_t start, uint64_t size, struct bpk_buf *held,
		   struct bpk_buf *bytes, struct bpk_err *err)
{
	held->size = 0;
	if (bpk_archive_read(f->archive, start, size, held, err) != 0 ||
	    bpk_buf_resize(bytes, held->size, err) != 0 ||
	    bpk_followed_read(f, start, bpk_span(bytes->data, bytes->size), err) != 0)
		return -1;
	return bpk_followed_judge(f, start, bpk_buf_view(held), bpk_buf_view(bytes), err);
}

/* A sample differs: find the first difference of all, and report that. */
static int find_first(struct bpk_followed *f, struct bpk_buf *held, struct bpk_buf *bytes,
		      struct bpk_err *err)
{
	uint64_t raw_size = bpk_archive_info(f->archive)->raw_size;
	struct bpk_err found = { 0 };
	uint64_t size;

	for (uint64_t at = 0; at < raw_size; at += size) {
		size = bpk_min_u64(raw_size - at, 16 * PIECE);
		if (compare(f, at, size, held, bytes, &found) != 0) {
			*err = found;
			return -1;
		}
	}
	return -1; /* the file changed back; the sample's difference is reported */
}

static int sample_end(struct bpk_followed *f, bool whole, struct bpk_buf *held,
		      struct bpk_buf *bytes, struct bpk_err *err)
{
	uint64_t raw_size = bpk_archive_info(f->archive)->raw_size, start = 0;
	struct bpk_archive_chunk last;

	if (whole && bpk_archive_find(f->archive, raw_size - 1, &last, err) != 0)
		return -1;
	if (whole)
		start = last.start;
	else if (raw_size > PIECE)
		start = raw_size - PIECE;
	return compare(f, start, raw_size - start, held, bytes, err);
}

static int sample_start(struct bpk_followed *f, bool whole, struct bpk_buf *held,
			struct bpk_buf *bytes, struct bpk_err *err)
{
	uint64_t size = bpk_min_u64(bpk_archive_info(f->archive)->raw_size, PIECE);
	struct bpk_archive_chunk first;

	if (whole && bpk_archive_find(f->archive, 0, &first, err) != 0)
		return -1;
	return compare(f, 0, whole ? first.size : size, held, bytes, err);
}

static int sample(struct bpk_followed *f, unsigned count, bool whole, struct bpk_buf *held,
		  struct bpk_buf *bytes, struct bpk_err *err)
{
	uint64_t raw_size = bpk_archive_info(f->archive)->raw_size, start;
	int rc = sample_end(f, whole, held, bytes, err);

	if (rc == 0)
		rc = sample_start(f, whole, held, bytes, err);
	for (; rc == 0 && count > 0; count--) {
		start = raw_size / PLACES * (f->turn++ * STRIDE % PLACES);
		rc = compare(f, start, bpk_min_u64(raw_size - start, PIECE), held, bytes, err);
	}
	return rc;
}

int bpk_followed_sample(struct bpk_followed *f, unsigned count, bool whole, struct bpk_err *err)
{
	struct bpk_buf held = { 0 }, bytes = { 0 };
	struct bpk_err found = { 0 };
	int rc = 0;

	if (bpk_archive_info(f->archive)->raw_size > 0)
		rc = sample(f, count, whole, &held, &bytes, &found);
	if (rc != 0) {
		*err = found;
		if (found.kind == BPK_FAILED)
			rc = find_first(f, &held, &bytes, err);
	}
	bpk_buf_clear(&held);
	bpk_buf_clear(&bytes);
	return rc;
}
