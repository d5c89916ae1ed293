/* An archive and its side file are compared, cell by cell. Called by cli. */
#include "parity/side.h"
#include "parity/lost.h"

#include <stdlib.h>

enum { PIECE = 1 << 20 };

static void mark(uint8_t *bits, uint64_t number)
{
	bits[number / 8] |= (uint8_t)(1 << number % 8);
}

static bool is_good(struct bpk_view cell, const uint8_t *digest, bool *good, struct bpk_err *err)
{
	uint8_t found[BPK_SIDE_DIGEST];

	if (bpk_side_sum(cell, found, err) != 0)
		return false;
	*good = memcmp(found, digest, sizeof found) == 0;
	return true;
}

/* Compare the cells of a piece that was read; there bytes of it exist. */
static int compare_piece(const struct bpk_parity *parity, const struct bpk_segment *s,
			 uint64_t number, struct bpk_span piece, uint64_t there,
			 struct bpk_parity_scan *scan, struct bpk_err *err)
{
	for (size_t at = 0; at < piece.size; at += s->cell, number++) {
		size_t size = bpk_cell_size(s, number);
		bool good;

		if (!is_good(bpk_view(piece.data + at, size), bpk_cell_digest(parity, s, number),
			     &good, err))
			return -1;
		if (good && at + size <= there) {
			scan->alike += !bpk_is_zero(bpk_view(piece.data + at, size));
			continue;
		}
		mark(scan->data, s->first + number);
		scan->bad++;
	}
	return 0;
}

static void mark_all(const struct bpk_segment *s, struct bpk_parity_scan *scan)
{
	for (uint64_t number = 0; number < s->cells; number++)
		mark(scan->data, s->first + number);
	scan->bad += s->cells;
}

static int compare_cells(struct bpk_parity *parity, struct bpk_source *archive,
			 const struct bpk_segment *s, uint8_t *room, struct bpk_parity_scan *scan,
			 struct bpk_err *err)
{
	if (archive == NULL)
		mark_all(s, scan);
	for (uint64_t at = 0; archive != NULL && at < s->size; at += PIECE) {
		uint64_t offset = s->start + at;
		size_t size = bpk_min_u64(PIECE, s->size - at);
		uint64_t there = offset < scan->size ? scan->size - offset : 0;

		if (bpk_side_read(parity, archive, offset, bpk_span(room, size), err) != 0 ||
		    compare_piece(parity, s, at / s->cell, bpk_span(room, size), there, scan,
				  err) != 0)
			return -1;
	}
	return 0;
}

static int compare_side(struct bpk_parity *parity, const struct bpk_segment *s, uint8_t *room,
			struct bpk_parity_scan *scan, struct bpk_err *err)
{
	uint64_t count = s->groups * s->m;

	for (uint64_t i = 0; i < count; i++) {
		bool good;

		if (bpk_side_read(parity, parity->source, s->parity_start + i * s->cell,
				  bpk_span(room, s->cell), err) != 0 ||
		    !is_good(bpk_view(room, s->cell), bpk_cell_digest(parity, s, s->cells + i),
			     &good, err))
			return -1;
		if (good)
			continue;
		mark(scan->side, s->side + i);
		scan->bad_parity++;
	}
	return 0;
}

static void count_lost(const struct bpk_parity *parity, struct bpk_parity_scan *scan)
{
	for (size_t i = 0; i < parity->nsegments; i++) {
		const struct bpk_segment *s = &parity->segments[i];

		for (uint64_t group = 0; group < s->groups; group++) {
			struct bpk_group found = bpk_group_of(scan, s, group);

			if (found.bad > s->m - found.bad_parity)
				scan->lost += found.bad;
		}
	}
}

int bpk_parity_compare(struct bpk_parity *parity, struct bpk_source *archive,
		       struct bpk_parity_scan *scan, struct bpk_err *err)
{
	uint8_t *room = bpk_alloc(PIECE, err);
	int rc = room == NULL ? -1 : 0;

	*scan = (struct bpk_parity_scan){ .size = archive != NULL ? bpk_source_size(archive) : 0,
					  .bad_tables = parity->bad_tables };
	scan->data = bpk_calloc(parity->cells / 8 + 1, 1, err);
	scan->side = scan->data != NULL ? bpk_calloc(parity->side_cells / 8 + 1, 1, err) : NULL;
	if (scan->side == NULL)
		rc = -1;
	for (size_t i = 0; rc == 0 && i < parity->nsegments; i++) {
		rc = compare_cells(parity, archive, &parity->segments[i], room, scan, err);
		if (rc == 0)
			rc = compare_side(parity, &parity->segments[i], room, scan, err);
	}
	if (rc == 0)
		count_lost(parity, scan);
	free(room);
	return rc;
}

void bpk_parity_scan_clear(struct bpk_parity_scan *scan)
{
	free(scan->data);
	free(scan->side);
	*scan = (struct bpk_parity_scan){ 0 };
}
