/*
 * Lost cells of a group are restored. With the good data cells' part taken from as many good parity
 * cells as cells are lost, a square system is left, whose matrix is a part of the code's. Called by
 * cli.
 */
#include "parity/lost.h"

#include <stdlib.h>

struct heal {
	struct bpk_parity *parity;
	struct bpk_source *archive;
	const struct bpk_segment *segment;
	uint64_t group;
	struct bpk_group found;
	unsigned n;                  /* cells to restore */
	uint8_t *rest[BPK_CODE_MAX]; /* the lost cells' part of the parity cells used */
	uint8_t *cells[BPK_CODE_MAX];
	uint8_t *room;
	bpk_parity_put_fn *put;
	void *arg;
};

/* The cell of that row is lost. */
static bool is_lost(const struct heal *h, unsigned row)
{
	for (unsigned i = 0; i < h->n; i++)
		if (h->found.rows[i] == row)
			return true;
	return false;
}

/* The factors of the parity cells that are used: a row for each. */
static int init_code(const struct heal *h, struct bpk_code *code, struct bpk_err *err)
{
	unsigned k = h->segment->k;
	uint8_t *factors = bpk_calloc(h->n, k, err);
	int rc = -1;

	for (unsigned j = 0; factors != NULL && j < h->n; j++)
		for (unsigned i = 0; i < k; i++)
			factors[j * k + i] = bpk_code_factor(h->found.good_j[j], i);
	if (factors != NULL)
		rc = bpk_code_init_factors(code, bpk_code_way(), h->n, k, factors, err);
	free(factors);
	return rc;
}

/* The inverse of the part of the matrix that leads from the lost cells to the parity cells. */
static int init_inverse(const struct heal *h, struct bpk_code *code, struct bpk_err *err)
{
	unsigned n = h->n;
	uint8_t *matrix = bpk_calloc(2 * n, n, err);
	int rc = matrix == NULL ? -1 : 0;

	for (unsigned j = 0; rc == 0 && j < n; j++)
		for (unsigned i = 0; i < n; i++)
			matrix[j * n + i] = bpk_code_factor(h->found.good_j[j], h->found.rows[i]);
	if (rc == 0 && !bpk_gf_invert(matrix, matrix + (size_t)n * n, n))
		rc = bpk_fail(err, BPK_BUG, "a part of a Cauchy matrix has no inverse");
	if (rc == 0)
		rc = bpk_code_init_factors(code, bpk_code_way(), n, n, matrix, err);
	free(matrix);
	return rc;
}

/* Read a cell, with zeros behind the last one's end. A cell that is lost, or behind the end, counts
 * as zeros, which add nothing. */
static int read_good(const struct heal *h, unsigned row, uint8_t *cell, struct bpk_err *err)
{
	const struct bpk_segment *s = h->segment;
	uint64_t number = row * s->groups + h->group;

	memset(cell, 0, s->cell);
	if (number >= s->cells || is_lost(h, row))
		return 0;
	return bpk_side_read(h->parity, h->archive, s->start + number * s->cell,
			     bpk_span(cell, bpk_cell_size(s, number)), err);
}

static int subtract_good(struct heal *h, struct bpk_err *err)
{
	const struct bpk_segment *s = h->segment;
	struct bpk_code code = { 0 };
	int rc = init_code(h, &code, err);

	for (unsigned j = 0; rc == 0 && j < h->n; j++)
		rc = bpk_side_read(h->parity, h->parity->source,
				   bpk_side_offset(s, h->found.good_j[j], h->group),
				   bpk_span(h->rest[j], s->cell), err);
	for (unsigned row = 0, count; rc == 0 && row < s->k; row += count) {
		const uint8_t *cells[BPK_CODE_TOGETHER];

		count = (unsigned)bpk_min_size(BPK_CODE_TOGETHER, s->k - row);
		for (unsigned i = 0; rc == 0 && i < count; i++) {
			cells[i] = h->room + i * s->cell;
			rc = read_good(h, row + i, h->room + i * s->cell, err);
		}
		if (rc == 0)
			bpk_code_add(&code, &(struct bpk_code_in){ row, count, cells }, h->rest,
				     s->cell);
	}
	bpk_code_clear(&code);
	return rc;
}

static int solve(struct heal *h, struct bpk_err *err)
{
	const struct bpk_code_in all = { 0, h->n, (const uint8_t *const *)h->rest };
	struct bpk_code code = { 0 };
	int rc = init_inverse(h, &code, err);

	for (unsigned i = 0; rc == 0 && i < h->n; i++)
		memset(h->cells[i], 0, h->segment->cell);
	if (rc == 0)
		bpk_code_add(&code, &all, h->cells, h->segment->cell);
	bpk_code_clear(&code);
	return rc;
}

static int put_cells(const struct heal *h, struct bpk_err *err)
{
	const struct bpk_segment *s = h->segment;

	for (unsigned i = 0; i < h->n; i++) {
		uint64_t number = h->found.rows[i] * s->groups + h->group;
		struct bpk_view cell = bpk_view(h->cells[i], bpk_cell_size(s, number));
		uint8_t digest[BPK_SIDE_DIGEST];

		if (bpk_side_sum(cell, digest, err) != 0)
			return -1;
		if (memcmp(digest, bpk_cell_digest(h->parity, s, number), sizeof digest) != 0)
			return bpk_fail(err, BPK_CORRUPT,
					"the cell that parity gives at offset %llu has another "
					"digest than the lost one",
					(unsigned long long)(s->start + number * s->cell));
		if (h->put(h->arg, s->start + number * s->cell, cell, err) != 0)
			return -1;
	}
	return 0;
}

static int heal_group(struct heal *h, struct bpk_err *err)
{
	size_t cell = h->segment->cell;
	int rc = -1;

	h->n = h->found.bad;
	h->room = bpk_alloc((2 * (size_t)h->n + BPK_CODE_TOGETHER) * cell, err);
	if (h->room == NULL)
		return -1;
	for (unsigned i = 0; i < h->n; i++) {
		h->rest[i] = h->room + (BPK_CODE_TOGETHER + i) * cell;
		h->cells[i] = h->rest[i] + h->n * cell;
	}
	if (subtract_good(h, err) == 0 && solve(h, err) == 0)
		rc = put_cells(h, err);
	free(h->room);
	return rc;
}

int bpk_parity_heal(struct bpk_parity *parity, struct bpk_source *archive,
		    const struct bpk_parity_scan *scan, bpk_parity_put_fn *put, void *arg,
		    struct bpk_err *err)
{
	struct heal h = { .parity = parity, .archive = archive, .put = put, .arg = arg };

	for (size_t i = 0; i < parity->nsegments; i++) {
		h.segment = &parity->segments[i];
		for (h.group = 0; h.group < h.segment->groups; h.group++) {
			h.found = bpk_group_of(scan, h.segment, h.group);
			if (h.found.bad == 0 || h.found.bad > h.segment->m - h.found.bad_parity)
				continue;
			if (heal_group(&h, err) != 0)
				return -1;
		}
	}
	return 0;
}
