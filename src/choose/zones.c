/*
 * Zones are made in one pass: a bounded heap puts arrays into order, and neighbours of one type are
 * joined. cuts.c calls this.
 */
#include "choose/zones.h"

#include <stdlib.h>

#include "choose/tuning.h"
#include "layout/layout.h"

/* The zones that are being made. */
struct making {
	struct bpk_zones *zones;
	struct bpk_zone_kind keys[ZONE_KEYS];
	size_t nkeys;

	/* the zone under way: [start, end) */
	uint64_t start, end;
	struct bpk_segment type; /* the type of its elements */
	uint64_t typed;          /* bytes of it that have this type */

	/* arrays that wait, the one with the lowest offset first: a heap */
	size_t nwaiting;
	struct bpk_segment waiting[ZONE_WAITING];
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
	if (m->nkeys == ZONE_KEYS)
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
	struct bpk_zone *all;

	if (zones->count > 0 && zones->all[zones->count - 1].kind == kind)
		return 0;
	all = bpk_grow(zones->all, zones->count, &zones->room, sizeof *all, err);
	if (all == NULL)
		return -1;
	zones->all = all;
	zones->all[zones->count++] = (struct bpk_zone){ offset, kind };
	return 0;
}

/* End the zone under way. A tiny one joins the one before it. */
static int close_zone(struct making *m, struct bpk_err *err)
{
	uint64_t size = m->end - m->start;
	uint32_t key;

	if (size == 0)
		return 0;
	if (m->typed < size / 4 * 3)
		m->type.element = 0;
	if (size < ZONE_TINY && m->zones->count > 0) {
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

/* True if piece can be a part of the zone under way; the zone may then take its type. */
static bool joins(struct making *m, const struct bpk_segment *piece)
{
	uint64_t size = m->end - m->start;
	bool same = m->type.element == piece->element && piece->element > 0;
	bool alike = same && m->type.letter == piece->letter;

	if (m->type.element == piece->element && m->type.row == piece->row &&
	    m->type.letter == piece->letter)
		return true;
	if (piece->size < ZONE_TINY)
		return true;
	if (size < ZONE_TINY) {
		m->type = *piece;
		return true;
	}
	if ((alike && (size < ZONE_SMALL || piece->size < ZONE_SMALL)) ||
	    (same && size < ZONE_SMALL && piece->size < ZONE_SMALL)) {
		m->type.row = m->type.row == piece->row ? piece->row : 0;
		m->type.letter = alike ? piece->letter : '\0';
		return true;
	}
	if (size < ZONE_SMALL && piece->size < ZONE_SMALL) {
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

/* Add an array, and the bytes before it. */
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

/* Take the first array off. */
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

/* Keep the largest kinds, and make the others mixed. */
static void settle_kinds(struct making *m)
{
	struct bpk_zones *zones = m->zones;
	uint32_t kinds[ZONE_KEYS] = { 0 };
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
		if (m->nwaiting == ZONE_WAITING && pop(m, err) != 0)
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

/* ---- From the layout ---- */

struct listing {
	struct bpk_layout *layout;
	uint64_t next, count;
};

/* Bytes of a row of elements, if they are few enough to be one element. */
static unsigned row_of(const struct bpk_array *array, uint64_t element)
{
	uint64_t row = element;

	if (array->ndimensions > 1 &&
	    !bpk_mul_u64(element, array->shape[array->fortran ? 0 : array->ndimensions - 1], &row))
		return 0;
	return row <= BPK_CHUNK_MAX_TYPESIZE ? (unsigned)row : 0;
}

static void describe(const struct bpk_item *item, struct bpk_segment *segment)
{
	const struct bpk_array *array = item->array;
	uint64_t element = array->dtype.size;

	segment->offset = item->offset;
	segment->size = array->size;
	segment->letter = array->dtype.scalar.kind;
	/* text of four bytes a letter */
	if (segment->letter == 'U')
		element = 4;
	if (element == 0 || element > BPK_CHUNK_MAX_TYPESIZE)
		return;
	segment->element = (unsigned)element;
	segment->row = row_of(array, array->dtype.size);
	bpk_copy(segment->name, item->name, bpk_min_size(strlen(item->name), BPK_ZONE_NAME - 1));
}

static int next_item(void *arg, struct bpk_segment *segment, struct bpk_err *err)
{
	struct listing *listing = arg;
	struct bpk_item item;

	*segment = (struct bpk_segment){ 0 };
	if (listing->next == listing->count)
		return 1;
	if (bpk_layout_get(listing->layout, listing->next++, &item, err) != 0)
		return -1;
	if (item.offset != BPK_UNKNOWN)
		describe(&item, segment);
	return 0;
}

int bpk_zones_find(struct bpk_source *source, struct bpk_zones *zones, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(source);
	struct listing listing = { 0 };
	int rc;

	*zones = (struct bpk_zones){ 0 };
	if (bpk_layout_open(source, &listing.layout, err) != 0)
		return -1;
	if (listing.layout != NULL)
		listing.count = bpk_layout_info(listing.layout)->narrays;
	if (listing.count > ZONE_FEW && listing.count > size / ZONE_LEAST_ARRAY)
		listing.count = 0;
	rc = bpk_zones_make(size, next_item, &listing, zones, err);
	bpk_layout_close(listing.layout);
	return rc;
}

/* ---- The bytes of a kind ---- */

struct part {
	const struct bpk_zones *zones;
	struct bpk_source *whole;
	size_t count;
	struct {
		uint64_t start; /* in this source */
		size_t zone;
	} pieces[];
};

/* The piece that holds offset, which is inside. */
static size_t find_piece(const struct part *part, uint64_t offset)
{
	return bpk_find_last(&part->pieces[0].start, sizeof *part->pieces, part->count, offset);
}

static int read_part(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	const struct part *part = arg;
	size_t i = part->count > 0 ? find_piece(part, offset) : 0;

	*got = 0;
	for (; *got < out.size && i < part->count; i++) {
		size_t zone = part->pieces[i].zone, n;
		uint64_t skip = offset + *got - part->pieces[i].start;
		uint64_t start = part->zones->all[zone].offset + skip;
		uint64_t end = bpk_zone_end(part->zones, zone);
		struct bpk_span piece = { out.data + *got, out.size - *got };

		if (start >= end)
			break;
		piece.size = (size_t)bpk_min_u64(piece.size, end - start);
		if (bpk_source_read_at(part->whole, start, piece, &n, err) != 0)
			return -1;
		*got += n;
		if (n < piece.size)
			break;
	}
	return 0;
}

static const struct bpk_source_ops part_ops = {
	.read_at = read_part,
	.close = free,
	.positional = true,
};

int bpk_zones_source(const struct bpk_zones *zones, uint32_t kind, struct bpk_source *whole,
		     struct bpk_source **source, struct bpk_err *err)
{
	struct part *part;
	uint64_t size = 0;
	size_t count = 0;

	*source = NULL;
	for (size_t i = 0; i < zones->count; i++)
		count += zones->all[i].kind == kind;
	part = bpk_calloc(1, sizeof *part + count * sizeof *part->pieces, err);
	if (part == NULL)
		return -1;
	part->zones = zones;
	part->whole = whole;
	for (size_t i = 0; i < zones->count; i++) {
		if (zones->all[i].kind != kind)
			continue;
		part->pieces[part->count].start = size;
		part->pieces[part->count++].zone = i;
		size += bpk_zone_end(zones, i) - zones->all[i].offset;
	}
	if (bpk_source_of(&part_ops, part, size, source, err) == 0)
		return 0;
	free(part);
	return -1;
}
