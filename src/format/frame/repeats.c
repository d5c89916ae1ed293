/*
 * Finds chunks that occur more than once in an index: bpk_reader_ops.repeats, in the row of
 * reader_ops.c. Earlier entries are remembered in a table of fixed size, where a later entry may
 * replace an earlier one: a forgotten entry costs time, but no memory. All offsets of a small frame
 * fit.
 */
#include "format/frame/fetch.h"

#include <stdlib.h>

enum {
	SLOTS = 1 << 16,
	OFFSET_SLOTS = 65521, /* a prime below it; the other slots are for special values */
	ENTRIES = 256,        /* copied at once: pages have a lock */
};

struct slot {
	uint64_t entry;
	uint64_t number; /* of the chunk with that entry, plus 1; 0: the slot is empty */
};

struct bpk_frame_repeats {
	/* Entries from start to seen - 1 were put into slots. start is before the first chunk that
	 * was asked for, so that a range deep inside a large index costs no walk to it. */
	uint64_t start, seen;
	uint64_t first, count; /* of entries that were copied from a page of the index: */
	uint64_t entries[ENTRIES];
	struct slot slots[SLOTS];
};

static bool is_special(uint64_t entry)
{
	return bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE;
}

static struct slot *slot_of(struct bpk_frame_repeats *repeats, uint64_t entry)
{
	if (is_special(entry))
		return &repeats->slots[OFFSET_SLOTS + (entry >> 56) % (SLOTS - OFFSET_SLOTS)];
	return &repeats->slots[entry % OFFSET_SLOTS];
}

/* The entry of a chunk; false if it cannot be read: the chunk then counts as new. */
static bool get_entry(const struct bpk_frame_reader *r, uint64_t number, uint64_t *entry)
{
	struct bpk_frame_repeats *repeats = r->repeats;

	if (repeats == NULL || r->state.entry_pages == NULL)
		return bpk_frame_entry(&r->state, number, entry, NULL) == 0;
	if (number < repeats->first || number - repeats->first >= repeats->count) {
		size_t count = ENTRIES;

		repeats->count = 0;
		if (bpk_frame_entries(&r->state, number, &count, repeats->entries, NULL) != 0)
			return false;
		repeats->first = number;
		repeats->count = count;
	}
	*entry = repeats->entries[number - repeats->first];
	return true;
}

/* A chunk that others are compared with. Pages of an index are not read again for it. */
struct model {
	uint64_t entry;
	bool has_digest;
	uint8_t digest[BPK_DIGEST_MAX];
};

/* Special values have no digests. False if the digest cannot be read. */
static bool get_model(const struct bpk_frame_reader *r, uint64_t entry, uint64_t number,
		      struct model *model)
{
	*model = (struct model){ .entry = entry };
	model->has_digest = !is_special(entry) && bpk_frame_has_seal(&r->state, number);
	return !model->has_digest ||
	       bpk_frame_get_seal(&r->state, number, model->digest, NULL) == 0;
}

static bool is_like(const struct bpk_frame_reader *r, const struct model *first, uint64_t number)
{
	struct model model;
	uint64_t entry;

	return get_entry(r, number, &entry) && entry == first->entry &&
	       get_model(r, entry, number, &model) && model.has_digest == first->has_digest &&
	       (!model.has_digest ||
		memcmp(model.digest, first->digest, r->state.digests.checksum->size) == 0);
}

/* Remember the entries before number; false if one cannot be read. */
static bool remember(struct bpk_frame_reader *r, uint64_t number)
{
	struct bpk_frame_repeats *repeats = r->repeats;
	uint64_t entry;

	if (repeats->seen == 0)
		repeats->start = repeats->seen = number - 1;
	if (number <= repeats->start) /* at most once */
		memset(repeats, 0, sizeof *repeats);
	for (; repeats->seen < number; repeats->seen++) {
		struct slot *place;

		if (!get_entry(r, repeats->seen, &entry))
			return false;
		place = slot_of(repeats, entry);
		if (place->number == 0 || place->entry != entry)
			*place = (struct slot){ .entry = entry, .number = repeats->seen + 1 };
	}
	return true;
}

/* The earliest known chunk that equals number, and its model; number itself if no earlier one is
 * known. */
static uint64_t find_first(struct bpk_frame_reader *r, uint64_t number, struct model *model)
{
	const struct slot *slot;
	uint64_t entry, first = 0;

	if (!r->state.uniform && !remember(r, number))
		return number;
	if (!get_entry(r, number, &entry))
		return number;
	if (!r->state.uniform) {
		slot = slot_of(r->repeats, entry);
		if (slot->number == 0 || slot->number > number || slot->entry != entry)
			return number;
		first = slot->number - 1;
	}
	return get_model(r, entry, first, model) && is_like(r, model, number) ? first : number;
}

/* The first chunk from number on that may differ in size from those before it: the last one, or the
 * last special value that shares the header's remaining bytes. */
static uint64_t last_alike(const struct bpk_frame_reader *r, uint64_t number)
{
	uint64_t last = r->state.nchunks - 1;

	return r->sizes.special_rest > 0 && r->sizes.last_special >= number
		       ? bpk_min_u64(last, r->sizes.last_special)
		       : last;
}

/* The number of chunks from number on, before that one, that equal the model. */
static uint64_t count_same(const struct bpk_frame_reader *r, const struct model *model,
			   uint64_t number)
{
	uint64_t last = last_alike(r, number), end = number + 1;

	if (r->state.uniform && (r->state.digests.checksum == NULL || is_special(model->entry)))
		return last - number;
	while (end < last && is_like(r, model, end))
		end++;
	return end - number;
}

/* Look up a chunk. A special value needs no read, and no hold. */
static bool look(struct bpk_frame_reader *r, uint64_t number, struct bpk_frame_found *found)
{
	uint64_t entry;

	if (get_entry(r, number, &entry) && is_special(entry))
		return bpk_frame_look(r, number, found, NULL) == 0;
	return bpk_frame_look_on(r, &r->located.ahead, number, found, NULL) == 0;
}

uint64_t bpk_frame_repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size)
{
	struct bpk_frame_reader *r = reader;
	struct bpk_frame_found found;
	struct model model;
	uint64_t count;

	/* each chunk is compared with its own proof */
	if (r->array.bands != NULL || r->proof != NULL || number == 0 ||
	    number >= r->state.nchunks || number == last_alike(r, number))
		return 0;
	if (r->repeats == NULL && !r->state.uniform)
		r->repeats = calloc(
			1, sizeof *r->repeats); /* pages of it that are not used stay untouched */
	if (r->repeats == NULL && !r->state.uniform)
		return 0; /* treat every chunk as new */
	*first = find_first(r, number, &model);
	if (*first == number || !look(r, number, &found))
		return 0;
	count = count_same(r, &model, number);
	if (!bpk_mul_u64(count, found.header.raw_size, raw_size))
		*raw_size = UINT64_MAX;
	return count;
}
