#include "choose/zones.h"

#include <stdlib.h>

enum {
	TINY = 1 << 10,   /* bytes that belong to whatever is around them */
	SMALL = 64 << 10, /* bytes that are worth no zone of their own */
	KEYS = 64,        /* kinds that are told apart until it is known which are the largest */
	WAITING = 4096,   /* arrays that are put into order */
};

/* What is being made. */
struct making {
	struct bpk_zones *zones;
	struct bpk_zone_kind keys[KEYS];
	size_t nkeys;

	/* the zone under way: [start, end) */
	uint64_t start, end;
	struct bpk_segment type; /* what its elements are */
	uint64_t typed;          /* bytes of it that are such */

	/* arrays that came, the one with the lowest offset first: a heap */
	size_t nwaiting;
	struct bpk_segment waiting[WAITING];
};

/* ---- Keys ---- */

static bool is_key(const struct bpk_zone_kind *key, const struct bpk_segment *type)
{
	return key->element == type->element && key->row == type->row &&
	       key->letter == type->letter;
}

/* The key of a type, a new one if there is room; key 0 is the mixed one. */
static uint32_t key_of(struct making *m, const struct bpk_segment *type)
{
	struct bpk_zone_kind *key;

	if (type->element == 0)
		return 0;
	for (size_t i = 1; i < m->nkeys; i++)
		if (is_key(&m->keys[i], type))
			return (uint32_t)i;
	if (m->nkeys == KEYS)
		return 0;
	key = &m->keys[m->nkeys];
	*key = (struct bpk_zone_kind){ .element = type->element,
				       .row = type->row,
				       .letter = type->letter };
	return (uint32_t)m->nkeys++;
}

static void add_name(struct bpk_zone_kind *key, const char *name)
{
	for (unsigned i = 0; i < key->nnames; i++)
		if (strcmp(key->names[i], name) == 0)
			return;
	if (key->nnames < BPK_ZONE_NAMES && name[0] != '\0')
		memcpy(key->names[key->nnames++], name, BPK_ZONE_NAME);
}

/* ---- Zones ---- */

static int add_zone(struct bpk_zones *zones, uint64_t offset, uint32_t kind, struct bpk_err *err)
{
	if (zones->count > 0 && zones->all[zones->count - 1].kind == kind)
		return 0;
	if (zones->count == zones->room) {
		size_t room = zones->room == 0 ? 16 : 2 * zones->room;
		struct bpk_zone *all = realloc(zones->all, room * sizeof *all);

		if (all == NULL)
			return bpk_fail_memory(err, room * sizeof *all);
		zones->all = all;
		zones->room = room;
	}
	zones->all[zones->count++] = (struct bpk_zone){ offset, kind };
	return 0;
}

/* The zone under way is over. A tiny one stays with the one before it. */
static int close_zone(struct making *m, struct bpk_err *err)
{
	uint64_t size = m->end - m->start;
	uint32_t key;

	if (size == 0)
		return 0;
	if (m->typed < size / 4 * 3)
		m->type.element = 0;
	if (size < TINY && m->zones->count > 0) {
		key = m->zones->all[m->zones->count - 1].kind;
	} else {
		key = key_of(m, &m->type);
		add_name(&m->keys[key], m->type.name);
	}
	m->keys[key].size += size;
	return add_zone(m->zones, m->start, key, err);
}

static void begin_zone(struct making *m, const struct bpk_segment *piece)
{
	m->start = m->end;
	m->type = *piece;
	m->typed = 0;
}

/* Can piece be a part of the zone under way, and does its type become that of all? */
static bool joins(struct making *m, const struct bpk_segment *piece)
{
	uint64_t size = m->end - m->start;
	bool same = m->type.element == piece->element && piece->element > 0;
	bool alike = same && m->type.letter == piece->letter;

	if (m->type.element == piece->element && m->type.row == piece->row &&
	    m->type.letter == piece->letter)
		return true;
	if (piece->size < TINY)
		return true;
	if (size < TINY) {
		m->type = *piece;
		return true;
	}
	if ((alike && (size < SMALL || piece->size < SMALL)) ||
	    (same && size < SMALL && piece->size < SMALL)) {
		m->type.row = m->type.row == piece->row ? piece->row : 0;
		m->type.letter = alike ? piece->letter : '\0';
		return true;
	}
	if (size < SMALL && piece->size < SMALL) {
		m->type.element = m->type.row = 0;
		m->type.letter = '\0';
		return true;
	}
	return false;
}

/* The next bytes of the input. */
static int add_piece(struct making *m, const struct bpk_segment *piece, struct bpk_err *err)
{
	if (m->end == m->start)
		begin_zone(m, piece);
	if (!joins(m, piece)) {
		if (close_zone(m, err) != 0)
			return -1;
		begin_zone(m, piece);
	}
	m->end += piece->size;
	if (m->type.element == piece->element)
		m->typed += piece->size;
	return 0;
}

/* An array, and what lies before it. */
static int add_segment(struct making *m, const struct bpk_segment *segment, struct bpk_err *err)
{
	struct bpk_segment gap = { .size = segment->offset - m->end };

	if (segment->offset < m->end || segment->size > m->zones->size ||
	    segment->offset > m->zones->size - segment->size)
		return 0;
	if (gap.size > 0 && add_piece(m, &gap, err) != 0)
		return -1;
	return segment->size > 0 ? add_piece(m, segment, err) : 0;
}

/* ---- Into order ---- */

static void swap(struct bpk_segment *a, struct bpk_segment *b)
{
	struct bpk_segment kept = *a;

	*a = *b;
	*b = kept;
}

static void push(struct making *m, const struct bpk_segment *segment)
{
	struct bpk_segment *heap = m->waiting;
	size_t at = m->nwaiting++;

	heap[at] = *segment;
	for (; at > 0 && heap[at].offset < heap[(at - 1) / 2].offset; at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

/* Take the first one off. */
static int pop(struct making *m, struct bpk_err *err)
{
	struct bpk_segment *heap = m->waiting, first = heap[0];
	size_t at = 0, least;

	heap[0] = heap[--m->nwaiting];
	while ((least = 2 * at + 1) < m->nwaiting) {
		if (least + 1 < m->nwaiting && heap[least + 1].offset < heap[least].offset)
			least++;
		if (heap[at].offset <= heap[least].offset)
			break;
		swap(&heap[at], &heap[least]);
		at = least;
	}
	return add_segment(m, &first, err);
}

/* ---- All of it ---- */

/* Leave the largest kinds, and make the others mixed. */
static void settle_kinds(struct making *m)
{
	struct bpk_zones *zones = m->zones;
	uint32_t kinds[KEYS] = { 0 };
	size_t kept = 0;

	zones->nkinds = 1;
	zones->kinds[0] = m->keys[0];
	while (zones->nkinds < BPK_ZONE_KINDS) {
		size_t most = 0;

		for (size_t i = 1; i < m->nkeys; i++)
			if (kinds[i] == 0 && m->keys[i].size > 0 &&
			    (most == 0 || m->keys[i].size > m->keys[most].size))
				most = i;
		if (most == 0)
			break;
		kinds[most] = (uint32_t)zones->nkinds;
		zones->kinds[zones->nkinds++] = m->keys[most];
	}
	for (size_t i = 1; i < m->nkeys; i++)
		if (kinds[i] == 0)
			zones->kinds[0].size += m->keys[i].size;
	for (size_t i = 0; i < zones->count; i++) {
		uint32_t kind = kinds[zones->all[i].kind];

		if (kept == 0 || zones->all[kept - 1].kind != kind)
			zones->all[kept++] = (struct bpk_zone){ zones->all[i].offset, kind };
	}
	zones->count = kept;
}

static int make(struct making *m,
		int (*next)(void *arg, struct bpk_segment *segment, struct bpk_err *err), void *arg,
		struct bpk_err *err)
{
	struct bpk_segment segment;
	int rc;

	while ((rc = next(arg, &segment, err)) == 0) {
		if (m->nwaiting == WAITING && pop(m, err) != 0)
			return -1;
		push(m, &segment);
	}
	while (rc > 0 && m->nwaiting > 0)
		if (pop(m, err) != 0)
			return -1;
	segment = (struct bpk_segment){ .offset = m->zones->size };
	if (rc < 0 || add_segment(m, &segment, err) != 0 || close_zone(m, err) != 0)
		return -1;
	return 0;
}

int bpk_zones_make(uint64_t size,
		   int (*next)(void *arg, struct bpk_segment *segment, struct bpk_err *err),
		   void *arg, struct bpk_zones *zones, struct bpk_err *err)
{
	struct making *m = bpk_calloc(1, sizeof *m, err);
	int rc = -1;

	*zones = (struct bpk_zones){ .size = size };
	if (m == NULL)
		return -1;
	m->zones = zones;
	m->nkeys = 1;
	rc = make(m, next, arg, err);
	if (rc == 0)
		settle_kinds(m);
	else
		bpk_zones_clear(zones);
	free(m);
	return rc;
}

void bpk_zones_clear(struct bpk_zones *zones)
{
	free(zones->all);
	*zones = (struct bpk_zones){ 0 };
}
