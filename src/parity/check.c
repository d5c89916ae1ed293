/* An archive is compared with its side file before a change, so that no damage becomes its content.
 * Called by cli. */
#include "parity/side.h"

#include <stdlib.h>

static bool is_marked(const uint8_t *bits, uint64_t number)
{
	return (bits[number / 8] >> number % 8 & 1) != 0;
}

static int check_cell(const struct bpk_parity *parity, struct bpk_source *archive,
		      const struct bpk_segment *s, uint64_t number, uint8_t *room, bool *differs,
		      struct bpk_err *err)
{
	struct bpk_span cell = bpk_span(room, bpk_cell_size(s, number));
	uint8_t digest[BPK_SIDE_DIGEST];

	if (bpk_parity_read(archive, s->start + number * s->cell, cell, err) != 0 ||
	    bpk_side_sum(bpk_view_of_span(cell), digest, err) != 0)
		return -1;
	*differs = memcmp(digest, bpk_cell_digest(parity, s, number), sizeof digest) != 0;
	return 0;
}

/* Compare the marked groups that were not seen, in the order of their bytes. */
static int check_marked(const struct bpk_parity *parity, struct bpk_source *archive,
			const struct bpk_segment *s, const uint8_t *groups, const uint8_t *seen,
			bool *differs, struct bpk_err *err)
{
	uint8_t *room = bpk_alloc(s->cell, err);
	int rc = room == NULL ? -1 : 0;

	for (uint64_t number = 0; rc == 0 && !*differs && number < s->cells; number++) {
		uint64_t group = number % s->groups;

		if (is_marked(groups, group) && !is_marked(seen, s->side + group))
			rc = check_cell(parity, archive, s, number, room, differs, err);
	}
	free(room);
	return rc;
}

static int check_segment(const struct bpk_parity *parity, struct bpk_source *archive,
			 const struct bpk_segment *s, const struct bpk_parity_range *range,
			 uint8_t *seen, bool *differs, struct bpk_err *err)
{
	uint8_t *groups = bpk_calloc(s->groups / 8 + 1, 1, err);
	uint64_t fresh = 0;
	int rc = groups == NULL ? -1 : 0;

	if (rc == 0)
		bpk_segment_mark(s, range, groups, 0);
	for (uint64_t group = 0; rc == 0 && group < s->groups; group++)
		fresh += is_marked(groups, group) && !is_marked(seen, s->side + group);
	if (fresh > 0)
		rc = check_marked(parity, archive, s, groups, seen, differs, err);
	if (fresh > 0)
		bpk_segment_mark(s, range, seen, s->side);
	free(groups);
	return rc;
}

int bpk_parity_check(struct bpk_parity *parity, struct bpk_source *archive,
		     struct bpk_parity_range range, struct bpk_parity_check *check, bool *differs,
		     struct bpk_err *err)
{
	bool begins = check->seen == NULL;
	int rc = 0;

	*differs = false;
	/* the groups of a segment are no more than its parity cells, whose numbers serve */
	if (begins)
		check->seen = bpk_calloc(parity->side_cells / 8 + 1, 1, err);
	if (check->seen == NULL)
		return -1;
	for (size_t i = parity->nsegments; rc == 0 && !*differs && i-- > 0;) {
		const struct bpk_segment *s = &parity->segments[i];
		const struct bpk_parity_range all = { s->start, s->size };
		bool wholly = begins && i + 1 == parity->nsegments && bpk_segment_is_open(s);

		if (wholly || (range.offset < s->start + s->size &&
			       (range.offset >= s->start || s->start - range.offset < range.size)))
			rc = check_segment(parity, archive, s, wholly ? &all : &range, check->seen,
					   differs, err);
	}
	return rc;
}

void bpk_parity_check_clear(struct bpk_parity_check *check)
{
	free(check->seen);
	*check = (struct bpk_parity_check){ 0 };
}
