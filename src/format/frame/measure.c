/*
 * Measures raw sizes, for open, if the chunks of a frame differ in size. Each stored chunk has its
 * size in its header. Special values in a frame of variable chunk sizes have no size at all
 * ("Version 3 additions"), and c-blosc2, which writes them, loses count of the header's total when
 * it replaces or deletes them.
 */
#include "format/frame/chunks.h"

#include <inttypes.h>

/* Most chunks whose headers are read at open. With more, the header's total is trusted, and audit
 * compares it with the chunks. */
enum { MOST_TO_MEASURE = 1 << 17 };

struct measuring {
	uint64_t stored;                /* raw bytes of stored chunks */
	uint64_t nspecial, first, last; /* special values without a size, and their range */
	int special;                    /* the kind of the first */
	bool alike;                     /* they have equal content: NaN, or zeros */
};

static void take_special(struct measuring *m, int special, uint64_t number, uint64_t times)
{
	if (m->nspecial == 0) {
		m->first = number;
		m->special = special;
		m->alike = true;
	}
	if ((special == BPK_SPECIAL_NAN) != (m->special == BPK_SPECIAL_NAN))
		m->alike = false;
	m->nspecial += times;
	m->last = number + times - 1;
}

/* Measure times chunks with equal entries, from number on. Returns 1 if their header is bad. */
static int take(struct bpk_frame_reader *r, struct measuring *m, uint64_t number, uint64_t times,
		struct bpk_err *err)
{
	struct bpk_frame_found found;
	struct bpk_err why = { 0 };
	uint64_t size, entry;
	int special;

	if (bpk_frame_entry(&r->state, number, &entry, &why) != 0)
		return bpk_err_is_of_machine(&why) ? bpk_fail_as(err, &why) : 1;
	special = bpk_frame_offset_special(entry);
	if (special != BPK_SPECIAL_NONE && r->state.header.chunk_size == 0) {
		take_special(m, special, number, times);
		return 0;
	}
	if (bpk_frame_chunk_look(r, number, &found, NULL, &why) != 0)
		return bpk_err_is_of_machine(&why) ? bpk_fail_as(err, &why) : 1;
	return bpk_mul_u64(found.header.raw_size, times, &size) &&
			       bpk_add_u64(m->stored, size, &m->stored)
		       ? 0
		       : 1;
}

/* Set the reader's sizes from the measurement, and any damage found. */
static void settle(struct bpk_frame_reader *r, const struct measuring *m)
{
	uint64_t total = r->state.header.raw_size, left;

	r->sizes.raw = m->stored;
	if (m->nspecial == 0) {
		if (m->stored != total)
			bpk_fail(&r->sizes.damage, BPK_CORRUPT,
				 "chunks unpack to %" PRIu64
				 " bytes in all, the header says %" PRIu64,
				 m->stored, total);
		return;
	}
	left = total > m->stored ? total - m->stored : 0;
	if (!m->alike || m->last - m->first + 1 != m->nspecial || left < m->nspecial) {
		r->sizes.special = 0;
		bpk_fail(&r->sizes.damage, BPK_CORRUPT,
			 "no size is stored for its special values (%" PRIu64
			 ", from chunk %" PRIu64 " on): they are left out, and the header has "
			 "%" PRIu64 " bytes for them",
			 m->nspecial, m->first, left);
		return;
	}
	r->sizes.raw = total;
	r->sizes.special = left / m->nspecial;
	r->sizes.special_rest = left % m->nspecial;
	r->sizes.last_special = m->last;
	bpk_fail(&r->sizes.damage, BPK_REPAIRABLE,
		 "no size is stored for its special values (%" PRIu64 ", from chunk %" PRIu64
		 " on): %" PRIu64 " bytes were assumed, the rest of the header's raw size",
		 m->nspecial, m->first, left);
}

int bpk_frame_measure(struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &r->state;
	bool sealed = state->digests.checksum != NULL && !state->stale;
	uint64_t n = state->nchunks;
	struct measuring m = { 0 };
	int rc = 0;

	if (n == 0 || sealed || (n > MOST_TO_MEASURE && !state->uniform))
		return 0;
	if (state->uniform)
		rc = take(r, &m, 0, n, err);
	for (uint64_t i = 0; rc == 0 && !state->uniform && i < n; i++)
		rc = take(r, &m, i, 1, err);
	if (rc == 0)
		settle(r, &m);
	return rc < 0 ? -1 : 0; /* a bad chunk is reported when it is fetched */
}
