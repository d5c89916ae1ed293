/* Which cells are damaged, and which of them are lost. Called by compare.c, heal.c and cli. */
#include "parity/lost.h"

#include <stdlib.h>

static bool is_marked(const uint8_t *bits, uint64_t number)
{
	return (bits[number / 8] >> number % 8 & 1) != 0;
}

struct bpk_group bpk_group_of(const struct bpk_parity_scan *scan, const struct bpk_segment *s,
			      uint64_t group)
{
	struct bpk_group found = { 0 };
	unsigned good = 0;

	for (uint64_t number = group, row = 0; number < s->cells; number += s->groups, row++)
		if (is_marked(scan->data, s->first + number))
			found.rows[found.bad++] = (uint8_t)row;
	for (unsigned j = 0; j < s->m; j++) {
		if (is_marked(scan->side, s->side + j * s->groups + group))
			found.bad_parity++;
		else
			found.good_j[good++] = (uint8_t)j;
	}
	return found;
}

bool bpk_parity_is_bad(const struct bpk_parity *parity, const struct bpk_parity_scan *scan,
		       uint64_t offset, uint64_t *size)
{
	const struct bpk_segment *s = parity->segments;
	uint64_t number;

	while (offset - s->start >= s->size)
		s++;
	number = (offset - s->start) / s->cell;
	*size = bpk_cell_size(s, number) - (offset - s->start) % s->cell;
	return is_marked(scan->data, s->first + number);
}

/* A run of lost bytes that grows. */
struct run {
	uint64_t offset, size;
	void (*lost)(void *arg, uint64_t offset, uint64_t size);
	void *arg;
};

static void add_lost(struct run *run, uint64_t offset, uint64_t size)
{
	if (run->size > 0 && run->offset + run->size == offset) {
		run->size += size;
		return;
	}
	if (run->size > 0)
		run->lost(run->arg, run->offset, run->size);
	run->offset = offset;
	run->size = size;
}

/* lost: a bit for each group. */
static void mark_lost(const struct bpk_parity_scan *scan, const struct bpk_segment *s,
		      uint8_t *lost)
{
	for (uint64_t group = 0; group < s->groups; group++) {
		struct bpk_group found = bpk_group_of(scan, s, group);

		if (found.bad > s->m - found.bad_parity)
			lost[group / 8] |= (uint8_t)(1 << group % 8);
	}
}

int bpk_parity_losses(const struct bpk_parity *parity, const struct bpk_parity_scan *scan,
		      void (*lost)(void *arg, uint64_t offset, uint64_t size), void *arg,
		      struct bpk_err *err)
{
	struct run run = { .lost = lost, .arg = arg };

	for (size_t i = 0; i < parity->nsegments; i++) {
		const struct bpk_segment *s = &parity->segments[i];
		uint8_t *groups = bpk_calloc(s->groups / 8 + 1, 1, err);

		if (groups == NULL)
			return -1;
		mark_lost(scan, s, groups);
		for (uint64_t n = 0; n < s->cells; n++)
			if (is_marked(scan->data, s->first + n) && is_marked(groups, n % s->groups))
				add_lost(&run, s->start + n * s->cell, bpk_cell_size(s, n));
		free(groups);
	}
	if (run.size > 0)
		lost(arg, run.offset, run.size);
	return 0;
}
