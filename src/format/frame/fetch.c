/*
 * Finds and fetches the chunks of a frame by their numbers, also while a writer changes the frame.
 * Reader, audit and surveys call it.
 */
#include "format/frame/fetch.h"
#include "format/frame/latest.h"
#include "format/frame/notes.h"
#include "format/frame/seal.h"

/* A special value of a contiguous frame is in the index, which stays as it was at open: it needs no
 * hold. */
static bool is_in_index(const struct bpk_frame_reader *r, uint64_t number)
{
	uint64_t entry;

	return r->dir == NULL && bpk_frame_entry(&r->state, number, &entry, NULL) == 0 &&
	       bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE;
}

/* Of the raw_size bytes that chunk number has now, the bytes it had at open: a last chunk may have
 * grown. */
static size_t size_at_open(const struct bpk_frame_reader *r, uint64_t number, size_t raw_size)
{
	if (number != r->state.nchunks - 1 || r->sizes.last == BPK_UNKNOWN)
		return raw_size;
	return (size_t)bpk_min_u64(raw_size, r->sizes.last);
}

struct bring {
	struct bpk_parcel *parcel;
	const struct bpk_frame_ranges *wanted;
};

static int bring_step(struct bpk_frame_reader *on, void *arg, struct bpk_frame_sight *sight,
		      struct bpk_err *err)
{
	struct bring *bring = arg;

	return bpk_frame_chunk_fetch(on, bring->parcel, bring->wanted, sight, err);
}

int bpk_frame_fetch_ranges(struct bpk_frame_reader *r, struct bpk_parcel *parcel,
			   const struct bpk_frame_ranges *wanted, struct bpk_err *err)
{
	struct bring bring = { parcel, wanted };
	int rc;

	if (parcel->number >= r->state.nchunks)
		return 1;
	if (bpk_frame_chunk_take(r, parcel, wanted))
		rc = 0;
	else if (is_in_index(r, parcel->number))
		rc = bpk_frame_chunk_fetch(r, parcel, wanted, NULL, err);
	else
		rc = bpk_frame_latest_do(r, parcel->number, bring_step, &bring, err);
	if (rc == 0)
		parcel->data_size = size_at_open(r, parcel->number, parcel->raw_size);
	return rc == 0 ? bpk_frame_seal_test(r, parcel, err) : rc;
}

/* Chunks mostly follow each other, so that a chunk ends where the next one begins. */
void bpk_frame_announce(const struct bpk_frame_reader *r, uint64_t number, uint64_t most)
{
	uint64_t entry, next, room;

	if (r->dir != NULL || !bpk_source_is_remote(r->source) || number >= r->state.nchunks ||
	    bpk_frame_entry(&r->state, number, &entry, NULL) != 0 ||
	    bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE)
		return;
	room = r->state.header.packed_size - entry;
	if (number + 1 < r->state.nchunks &&
	    bpk_frame_entry(&r->state, number + 1, &next, NULL) == 0 && next > entry)
		room = bpk_min_u64(room, next - entry);
	room = bpk_min_u64(room, bpk_chunk_bound(r->state.header.chunk_size));
	bpk_source_ahead(r->source, r->state.header.size + entry, bpk_min_u64(room, most));
}

int bpk_frame_fetch(struct bpk_frame_reader *r, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_frame_range want = { parcel->want_start, parcel->want_size };
	bool all = r->proof != NULL || parcel->number >= r->state.nchunks || want.size == 0 ||
		   want.size == SIZE_MAX ||
		   (want.start == 0 && want.size >= bpk_frame_chunk_size(r, parcel->number));
	const struct bpk_frame_ranges wanted = { &want, all ? 0 : 1 };

	return bpk_frame_fetch_ranges(r, parcel, &wanted, err);
}

struct look {
	uint64_t number;
	struct bpk_frame_found *found;
};

static int look_step(struct bpk_frame_reader *on, void *arg, struct bpk_frame_sight *sight,
		     struct bpk_err *err)
{
	struct look *look = arg;

	return bpk_frame_chunk_look(on, look->number, look->found, sight, err);
}

int bpk_frame_look(struct bpk_frame_reader *r, uint64_t number, struct bpk_frame_found *found,
		   struct bpk_err *err)
{
	struct look look = { number, found };

	if ((is_in_index(r, number) ? bpk_frame_chunk_look(r, number, found, NULL, err)
				    : bpk_frame_latest_do(r, number, look_step, &look, err)) != 0)
		return -1;
	found->header.raw_size = (uint32_t)size_at_open(r, number, found->header.raw_size);
	return 0;
}

struct look_ahead {
	uint64_t number;
	unsigned wished;
	struct bpk_frame_ahead *ahead;
};

/* Damage in a chunk looked up in advance is reported when that chunk is wanted. A failed read is
 * reported at once, since it may not occur again. */
static int look_ahead_step(struct bpk_frame_reader *on, void *arg, struct bpk_frame_sight *sight,
			   struct bpk_err *err)
{
	struct look_ahead *look = arg;
	struct bpk_frame_ahead *ahead = look->ahead;

	ahead->first = look->number;
	ahead->count = 0;
	if (bpk_frame_chunk_look(on, look->number, ahead->found, sight, err) != 0)
		return -1;
	for (ahead->count = 1; ahead->count < look->wished; ahead->count++) {
		struct bpk_err why = { 0 };

		if (bpk_frame_chunk_look(on, look->number + ahead->count,
					 &ahead->found[ahead->count], sight, &why) == 0)
			continue;
		return bpk_err_pass(&why, err);
	}
	return 0;
}

int bpk_frame_look_on(struct bpk_frame_reader *r, struct bpk_frame_ahead *ahead, uint64_t number,
		      struct bpk_frame_found *found, struct bpk_err *err)
{
	struct look_ahead look = { number, 1, ahead };

	/* a sparse frame is compared with its current state at each chunk; and a walk asks for a
	 * chunk again after the next one */
	if (r->dir != NULL || number + 1 == ahead->first)
		return bpk_frame_look(r, number, found, err);
	if (number < ahead->first || number - ahead->first >= ahead->count) {
		if (number == ahead->first + ahead->count)
			look.wished = (unsigned)bpk_min_u64(2 * (uint64_t)ahead->count + 1,
							    BPK_FRAME_AHEAD);
		look.wished = (unsigned)bpk_min_u64(look.wished, r->state.nchunks - number);
		if (bpk_frame_latest_do(r, number, look_ahead_step, &look, err) != 0)
			return -1;
	}
	*found = ahead->found[number - ahead->first];
	return 0;
}

static int look_on(void *arg, struct bpk_frame_reader *r, uint64_t number,
		   struct bpk_frame_found *found, struct bpk_err *err)
{
	return bpk_frame_noted(r, number, found) ? 0
						 : bpk_frame_look_on(r, arg, number, found, err);
}

int bpk_frame_fetch_survey(struct bpk_frame_reader *r, struct bpk_frame_survey *survey,
			   struct bpk_err *err)
{
	struct bpk_frame_ahead ahead = { 0 };

	return bpk_frame_survey_by(r, look_on, &ahead, survey, err);
}
