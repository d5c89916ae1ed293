/* A side file is made: parity of groups in batches, so that memory does not follow the archive.
 * Called by cli. */
#include "parity/side.h"

#include <stdlib.h>

enum {
	HALF = 32 << 20,   /* bytes of cells that are held, and as many of parity */
	CLOSED = 64 << 20, /* a segment of so many bytes stays as it is */
	PIECE = 1 << 20,   /* bytes that are copied at a time */
};

/* The work on one segment. */
struct work {
	struct bpk_parity *parity;
	struct bpk_source *archive;
	const struct bpk_parity_change *change; /* NULL: all cells are new */
	struct bpk_draft *draft;
	struct bpk_segment *segment;
	struct bpk_code code;
	uint8_t *data, *side; /* rows of cells, and of parity cells, of width cells each */
	size_t width, rows;
	bool kept; /* the digests of the old side file are there */
};

/* ---- bytes that were written ---- */

static bool overlaps(const struct bpk_parity_range *range, uint64_t offset, uint64_t size)
{
	return range->offset < offset ? offset - range->offset < range->size
				      : range->offset - offset < size;
}

static bool was_written(const struct bpk_parity_change *change, uint64_t offset, uint64_t size)
{
	for (size_t i = 0; i < change->count; i++)
		if (overlaps(&change->written[i], offset, size))
			return true;
	return false;
}

static int fail_differs(uint64_t offset, uint64_t size, struct bpk_err *err)
{
	return bpk_fail(err, BPK_CORRUPT,
			"bytes %llu to %llu differ from the parity file, and were not changed",
			(unsigned long long)offset, (unsigned long long)(offset + size));
}

/* ---- batches ---- */

/* Note the digest of a cell, or compare it where the cell should be as it was. */
static int sum_cell(struct work *w, uint64_t number, const uint8_t *cell, struct bpk_err *err)
{
	const struct bpk_segment *s = w->segment;
	uint8_t *noted = bpk_cell_digest(w->parity, s, number), digest[BPK_SIDE_DIGEST];
	uint64_t offset = s->start + number * s->cell;
	size_t size = bpk_cell_size(s, number);

	if (bpk_side_sum(bpk_view(cell, size), digest, err) != 0)
		return -1;
	if (w->kept && !was_written(w->change, offset, size) &&
	    memcmp(noted, digest, sizeof digest) != 0)
		return fail_differs(offset, size, err);
	memcpy(noted, digest, sizeof digest);
	return 0;
}

/* Read width cells of row, from group on, and sum them up. Cells behind the end are zeros. */
static int read_row(struct work *w, unsigned row, uint64_t group, size_t width, uint8_t *out,
		    struct bpk_err *err)
{
	const struct bpk_segment *s = w->segment;
	uint64_t number = row * s->groups + group, at = number * s->cell;
	size_t size = number < s->cells ? bpk_min_u64(width * s->cell, s->size - at) : 0;

	if (size > 0 &&
	    bpk_source_need_at(w->archive, s->start + at, bpk_span(out, size), err) != 0)
		return -1;
	memset(out + size, 0, width * s->cell - size);
	for (size_t i = 0; i < width && number + i < s->cells; i++)
		if (sum_cell(w, number + i, out + i * s->cell, err) != 0)
			return -1;
	return 0;
}

/* Add nrows rows, the first of which is row, to the parity of width groups. */
static void add_rows(struct work *w, unsigned row, size_t nrows, size_t width)
{
	size_t line = width * w->segment->cell;
	const uint8_t *cells[BPK_CODE_MAX];
	uint8_t *out[BPK_CODE_MAX];

	for (unsigned j = 0; j < w->segment->m; j++)
		out[j] = w->side + j * line;
	for (size_t i = 0; i < nrows; i++)
		cells[i] = w->data + i * line;
	bpk_code_add(&w->code, &(struct bpk_code_in){ row, (unsigned)nrows, cells }, out, line);
}

static int put_side(struct work *w, uint64_t group, size_t width, struct bpk_err *err)
{
	const struct bpk_segment *s = w->segment;

	for (unsigned j = 0; j < s->m; j++) {
		const uint8_t *cells = w->side + j * width * s->cell;

		for (size_t i = 0; i < width; i++)
			if (bpk_side_sum(bpk_view(cells + i * s->cell, s->cell),
					 bpk_side_digest(w->parity, s, j, group + i), err) != 0)
				return -1;
		if (bpk_draft_write_at(w->draft, bpk_side_offset(s, j, group),
				       bpk_view(cells, width * s->cell), err) != 0)
			return -1;
	}
	return 0;
}

/* The parity of width groups from group on. */
static int encode(struct work *w, uint64_t group, size_t width, struct bpk_err *err)
{
	const struct bpk_segment *s = w->segment;
	size_t n;

	memset(w->side, 0, s->m * width * s->cell);
	for (unsigned row = 0; row < s->k; row += (unsigned)n) {
		n = bpk_min_size(w->rows, s->k - row);
		for (size_t i = 0; i < n; i++)
			if (read_row(w, row + (unsigned)i, group, width,
				     w->data + i * width * s->cell, err) != 0)
				return -1;
		add_rows(w, row, n, width);
	}
	return put_side(w, group, width, err);
}

static void end_work(struct work *w)
{
	free(w->data);
	free(w->side);
	bpk_code_clear(&w->code);
}

static int begin_work(struct work *w, struct bpk_segment *segment, struct bpk_err *err)
{
	size_t line = (size_t)segment->m * segment->cell;

	w->segment = segment;
	w->width = bpk_min_u64(bpk_max_u64(HALF / line, 1), segment->groups);
	w->rows = bpk_min_u64(bpk_max_u64(HALF / (w->width * segment->cell), 1), segment->k);
	w->side = bpk_alloc(w->width * line, err);
	w->data = w->side != NULL ? bpk_alloc(w->rows * w->width * segment->cell, err) : NULL;
	if (w->data == NULL)
		return -1;
	return bpk_code_init(&w->code, segment->m, segment->k, err);
}

/* ---- a segment that stays ---- */

static void mark(uint8_t *bits, uint64_t number)
{
	bits[number / 8] |= (uint8_t)(1 << number % 8);
}

static bool is_marked(const uint8_t *bits, uint64_t number)
{
	return (bits[number / 8] >> number % 8 & 1) != 0;
}

void bpk_segment_mark(const struct bpk_segment *s, const struct bpk_parity_range *range,
		      uint8_t *groups, uint64_t first)
{
	uint64_t from = bpk_max_u64(range->offset, s->start), last, count;

	if (range->size == 0 || !overlaps(range, s->start, s->size))
		return;
	last = bpk_min_u64(range->size - 1 - (from - range->offset), s->start + s->size - 1 - from);
	last = (from + last - s->start) / s->cell;
	from = (from - s->start) / s->cell;
	count = bpk_min_u64(last - from + 1, s->groups);
	for (uint64_t i = 0; i < count; i++)
		mark(groups, first + (from + i) % s->groups);
}

static int encode_marked(struct work *w, const uint8_t *groups, struct bpk_err *err)
{
	uint64_t count = w->segment->groups;

	for (uint64_t group = 0; group < count;) {
		size_t width = 0;

		while (group + width < count && width < w->width &&
		       is_marked(groups, group + width))
			width++;
		if (width > 0 && encode(w, group, width, err) != 0)
			return -1;
		group += bpk_max_u64(width, 1);
	}
	return 0;
}

/* The digests and parity cells of a segment, as they are. */
static int copy_segment(struct work *w, const struct bpk_segment *old, struct bpk_err *err)
{
	const struct bpk_parity *from = w->change->old;
	const struct bpk_segment *s = w->segment;
	uint64_t side = s->groups * s->m, size = side * s->cell;
	struct bpk_buf piece = { 0 };
	int rc = bpk_buf_resize(&piece, PIECE, err);

	memcpy(bpk_cell_digest(w->parity, s, 0), bpk_cell_digest(from, old, 0),
	       (s->cells + side) * BPK_SIDE_DIGEST);
	for (uint64_t at = 0; rc == 0 && at < size; at += PIECE) {
		size_t part = bpk_min_u64(PIECE, size - at);

		rc = bpk_parity_read(from->source, old->parity_start + at,
				     bpk_span(piece.data, part), err);
		if (rc == 0)
			rc = bpk_draft_write_at(w->draft, s->parity_start + at,
						bpk_view(piece.data, part), err);
	}
	bpk_buf_clear(&piece);
	return rc;
}

static int keep_segment(struct work *w, const struct bpk_segment *old, struct bpk_err *err)
{
	uint8_t *groups = bpk_calloc(w->segment->groups / 8 + 1, 1, err);
	int rc = groups == NULL ? -1 : copy_segment(w, old, err);

	w->kept = true;
	for (size_t i = 0; rc == 0 && i < w->change->count; i++)
		bpk_segment_mark(w->segment, &w->change->written[i], groups, 0);
	if (rc == 0)
		rc = encode_marked(w, groups, err);
	free(groups);
	return rc;
}

/* ---- a segment that is new ---- */

/* Compare the cells of an old segment that is computed again, so that no damage becomes its
 * content. */
static int compare_old(const struct work *w, const struct bpk_segment *old, struct bpk_err *err)
{
	uint8_t *cell = bpk_alloc(old->cell, err), digest[BPK_SIDE_DIGEST];
	int rc = cell == NULL ? -1 : 0;

	for (uint64_t i = 0; rc == 0 && i < old->cells; i++) {
		uint64_t offset = old->start + i * old->cell;
		size_t size = bpk_cell_size(old, i);

		if (offset >= w->parity->size || size > w->parity->size - offset)
			break;
		if (was_written(w->change, offset, size))
			continue;
		rc = bpk_source_need_at(w->archive, offset, bpk_span(cell, size), err);
		if (rc == 0)
			rc = bpk_side_sum(bpk_view(cell, size), digest, err);
		if (rc == 0 &&
		    memcmp(digest, bpk_cell_digest(w->change->old, old, i), sizeof digest) != 0)
			rc = fail_differs(offset, size, err);
	}
	free(cell);
	return rc;
}

static int compare_replaced(const struct work *w, size_t kept, struct bpk_err *err)
{
	const struct bpk_parity *old = w->change != NULL ? w->change->old : NULL;

	for (size_t i = kept; old != NULL && i < old->nsegments; i++)
		if (compare_old(w, &old->segments[i], err) != 0)
			return -1;
	return 0;
}

static int encode_all(struct work *w, struct bpk_err *err)
{
	size_t width;

	for (uint64_t group = 0; group < w->segment->groups; group += width) {
		width = bpk_min_u64(w->width, w->segment->groups - group);
		if (encode(w, group, width, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- all ---- */

bool bpk_segment_is_open(const struct bpk_segment *segment)
{
	return segment->size < CLOSED;
}

/* The number of old segments that stay: they are within the archive, and the last one is closed. */
static size_t count_kept(const struct bpk_parity_change *change, uint64_t size)
{
	const struct bpk_parity *old = change != NULL ? change->old : NULL;
	size_t kept = 0;

	while (old != NULL && kept < old->nsegments) {
		const struct bpk_segment *s = &old->segments[kept];

		if (s->start > size || s->size > size - s->start ||
		    (kept + 1 == old->nsegments && bpk_segment_is_open(s)))
			break;
		kept++;
	}
	return kept;
}

/* list: that of the files, which ends the tables. */
static int plan(struct bpk_parity *parity, const struct bpk_parity_change *change, size_t kept,
		uint64_t size, struct bpk_view list, struct bpk_err *err)
{
	uint64_t start = 0, tables;

	parity->segments = bpk_calloc(kept + 1, sizeof *parity->segments, err);
	if (parity->segments == NULL)
		return -1;
	for (size_t i = 0; i < kept; i++) {
		parity->segments[i] = change->old->segments[i];
		start += parity->segments[i].size;
	}
	parity->nsegments = kept + (start < size);
	parity->list_size = list.size;
	parity->segments[kept].size = size - start;
	if (start < size)
		bpk_segment_choose(&parity->segments[kept], parity->share);
	tables = bpk_side_place(parity);
	if (tables == 0 && size > 0)
		return bpk_fail(err, BPK_LIMIT, "is too large for parity");
	if (bpk_buf_resize(&parity->tables, tables, err) != 0)
		return -1;
	if (list.size > 0)
		bpk_copy(parity->tables.data + tables - list.size, list.data, list.size);
	return 0;
}

static int make_segment(struct work *w, size_t number, size_t kept, struct bpk_err *err)
{
	int rc = begin_work(w, &w->parity->segments[number], err);

	if (rc == 0 && number < kept)
		rc = keep_segment(w, &w->change->old->segments[number], err);
	else if (rc == 0)
		rc = encode_all(w, err);
	end_work(w);
	return rc;
}

int bpk_parity_make(struct bpk_source *archive, const struct bpk_parity_files *files,
		    unsigned share, const struct bpk_parity_change *change, struct bpk_draft *draft,
		    struct bpk_err *err)
{
	uint64_t size = bpk_source_size(archive);
	size_t kept = count_kept(change, size);
	struct bpk_parity parity = { .share = share,
				     .time = bpk_source_stat(archive)->st_mtim,
				     .is_directory = files != NULL };
	struct work all = {
		.parity = &parity, .archive = archive, .change = change, .draft = draft
	};
	struct bpk_buf list = { 0 };
	int rc = files != NULL ? bpk_parity_files_put(files, &list, err) : 0;

	if (rc == 0)
		rc = plan(&parity, change, kept, size, bpk_buf_view(&list), err);
	if (rc == 0)
		rc = bpk_draft_reread(draft, err);
	if (rc == 0)
		rc = compare_replaced(&all, kept, err);
	for (size_t i = 0; rc == 0 && i < parity.nsegments; i++) {
		struct work w = all;

		rc = make_segment(&w, i, kept, err);
	}
	if (rc == 0)
		rc = bpk_side_write(&parity, draft, err);
	free(parity.segments);
	bpk_buf_clear(&parity.tables);
	bpk_buf_clear(&list);
	return rc;
}
