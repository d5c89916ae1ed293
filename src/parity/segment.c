/* The sizes of segments, groups and cells, and their places. Called by side.c, make.c, compare.c
 * and heal.c. */
#include "parity/side.h"

/* About 1024 cells, so that their digests, twice, take 3% of an archive and less of a large one. */
static uint32_t choose_cell(uint64_t size)
{
	uint32_t cell = BPK_CELL_MIN;

	while (cell < BPK_CELL_MAX && size / 1024 > cell)
		cell *= 2;
	return cell;
}

/* A hole of the share covers so many cells at most, wherever it begins. */
static uint64_t cells_of_hole(uint64_t cells, unsigned share)
{
	uint64_t part = cells / BPK_PARITY_MOST * share;
	uint64_t rest = bpk_div_up(cells % BPK_PARITY_MOST * share, BPK_PARITY_MOST);

	return part + rest + 1;
}

void bpk_segment_choose(struct bpk_segment *segment, unsigned share)
{
	uint64_t hole;

	segment->cell = choose_cell(segment->size);
	segment->cells = bpk_div_up(segment->size, segment->cell);
	hole = cells_of_hole(segment->cells, share);
	/* the fewest groups whose cells fit the code: large ones survive more scattered damage */
	segment->groups = bpk_max_u64(bpk_div_up(segment->cells + hole, BPK_CODE_MAX), 1);
	while (bpk_div_up(segment->cells, segment->groups) + bpk_div_up(hole, segment->groups) >
	       BPK_CODE_MAX)
		segment->groups++;
	segment->k = (unsigned)bpk_div_up(segment->cells, segment->groups);
	segment->m = (unsigned)bpk_div_up(hole, segment->groups);
}

/* Are the sizes of a segment, which a file may hold, those of one? k is set. */
static bool is_sound(struct bpk_segment *s)
{
	uint64_t k;

	if (s->size == 0 || s->cell < BPK_CELL_MIN || s->cell > BPK_CELL_MAX ||
	    (s->cell & (s->cell - 1)) != 0)
		return false;
	s->cells = bpk_div_up(s->size, s->cell);
	if (s->groups == 0 || s->groups > s->cells)
		return false;
	k = bpk_div_up(s->cells, s->groups);
	if (s->m == 0 || s->m > BPK_CODE_MAX || k > BPK_CODE_MAX - s->m)
		return false;
	s->k = (unsigned)k;
	return true;
}

/* Cells are at least 512 bytes, so that no sum of their numbers in 64 bits can wrap before that of
 * the segments' sizes does. */
uint64_t bpk_side_place(struct bpk_parity *parity)
{
	uint64_t tables = (uint64_t)parity->nsegments * BPK_SIDE_RECORD, start = 0, bytes = 0;

	parity->cells = parity->side_cells = 0;
	for (size_t i = 0; i < parity->nsegments; i++) {
		struct bpk_segment *s = &parity->segments[i];
		uint64_t side, parity_bytes;

		if (!is_sound(s) || !bpk_mul_u64(s->groups, s->m, &side) ||
		    !bpk_mul_u64(side, s->cell, &parity_bytes))
			return 0;
		s->start = start;
		s->first = parity->cells;
		s->side = parity->side_cells;
		s->digests = tables;
		s->parity_start = bytes;
		if (!bpk_add_u64(start, s->size, &start) ||
		    !bpk_add_u64(bytes, parity_bytes, &bytes) || bytes > UINT64_MAX / 4 ||
		    start > UINT64_MAX / 4 || tables > UINT64_MAX / 4)
			return 0;
		parity->cells += s->cells;
		parity->side_cells += side;
		tables += (s->cells + side) * BPK_SIDE_DIGEST;
	}
	if (!bpk_add_u64(tables, parity->list_size, &tables) || tables > UINT64_MAX / 4)
		return 0;
	for (size_t i = 0; i < parity->nsegments; i++)
		parity->segments[i].parity_start +=
			BPK_SIDE_HEAD + bpk_div_up(tables, BPK_SIDE_PAYLOAD) * BPK_SIDE_PAGE;
	parity->size = start;
	parity->parity_size = bytes;
	return tables;
}

size_t bpk_cell_size(const struct bpk_segment *segment, uint64_t number)
{
	return (size_t)bpk_min_u64(segment->cell, segment->size - number * segment->cell);
}

uint8_t *bpk_cell_digest(const struct bpk_parity *parity, const struct bpk_segment *segment,
			 uint64_t number)
{
	return parity->tables.data + segment->digests + number * BPK_SIDE_DIGEST;
}

uint8_t *bpk_side_digest(const struct bpk_parity *parity, const struct bpk_segment *segment,
			 unsigned j, uint64_t group)
{
	return bpk_cell_digest(parity, segment, segment->cells + j * segment->groups + group);
}

uint64_t bpk_side_offset(const struct bpk_segment *segment, unsigned j, uint64_t group)
{
	return segment->parity_start + (j * segment->groups + group) * segment->cell;
}
