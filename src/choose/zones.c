/*
 * Zones are made in one pass over the arrays: neighbours of one type are joined. cuts.c calls this.
 */
#include "choose/zones.h"

#include <stdlib.h>

#include "choose/tuning.h"
#include "layout/layout.h"

/* The zones that are being made, and the last one of them: [start, end). */
struct making {
	struct bpk_zones *zones;
	uint64_t start, end;
	struct bpk_segment type; /* the type of its elements */
	uint64_t typed;          /* bytes of it that have this type */
};

/* ---- Kinds ---- */

static bool is_alike(const struct bpk_segment *a, const struct bpk_segment *b)
{
	return a->element == b->element && a->row == b->row && a->letter == b->letter;
}

/* The kind of a type, a new one if there is room; kind 0 is the mixed one. */
static uint32_t kind_of(struct bpk_zones *zones, const struct bpk_segment *type)
{
	if (type->element == 0)
		return 0;
	for (size_t i = 1; i < zones->nkinds; i++)
		if (is_alike(&zones->kinds[i], type))
			return (uint32_t)i;
	if (zones->nkinds == BPK_ZONE_KINDS)
		return 0;
	zones->kinds[zones->nkinds] = *type;
	zones->kinds[zones->nkinds].size = 0;
	return (uint32_t)zones->nkinds++;
}

/* ---- Zones ---- */

static int add_zone(struct bpk_zones *zones, uint64_t offset, uint32_t kind, struct bpk_err *err)
{
	struct bpk_zone *all;

	if (zones->count > 0 && zones->all[zones->count - 1].kind == kind)
		return 0;
	all = bpk_alloc_grow(zones->all, zones->count, &zones->room, sizeof *all, err);
	if (all == NULL)
		return -1;
	zones->all = all;
	zones->all[zones->count++] = (struct bpk_zone){ offset, kind };
	return 0;
}

/* End the last zone. A tiny one joins the one before it. */
static int close_zone(struct making *m, struct bpk_err *err)
{
	struct bpk_zones *zones = m->zones;
	uint64_t size = m->end - m->start;
	uint32_t kind;

	if (size == 0)
		return 0;
	if (m->typed < size / 4 * 3)
		m->type.element = 0;
	if (size < ZONE_LEAST && zones->count > 0) {
		kind = zones->all[zones->count - 1].kind;
	} else {
		kind = kind_of(zones, &m->type);
	}
	zones->kinds[kind].size += size;
	return add_zone(zones, m->start, kind, err);
}

static void begin_zone(struct making *m, const struct bpk_segment *piece)
{
	m->start = m->end;
	m->type = *piece;
	m->typed = 0;
}

/* True if piece is a part of the last zone, which has no type of its own while it is small. */
static bool joins(struct making *m, const struct bpk_segment *piece)
{
	bool alike = is_alike(&m->type, piece);

	if (!alike && m->end - m->start < ZONE_LEAST && piece->size > m->typed) {
		m->type = *piece;
		m->typed = 0;
		return true;
	}
	return alike || piece->size < ZONE_LEAST;
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

/* ---- All of it ---- */

int bpk_zones_make(uint64_t size,
		   int (*next)(void *arg, struct bpk_segment *segment, struct bpk_err *err),
		   void *arg, struct bpk_zones *zones, struct bpk_err *err)
{
	struct making m = { .zones = zones };
	struct bpk_segment segment;
	int rc;

	*zones = (struct bpk_zones){ .size = size, .nkinds = 1 };
	while ((rc = next(arg, &segment, err)) == 0)
		if (add_segment(&m, &segment, err) != 0)
			break;
	segment = (struct bpk_segment){ .offset = size };
	if (rc > 0 && add_segment(&m, &segment, err) == 0 && close_zone(&m, err) == 0)
		return 0;
	bpk_zones_clear(zones);
	return -1;
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
	if (listing.count > size / ZONE_LEAST_ARRAY)
		listing.count = 0;
	rc = bpk_zones_make(size, next_item, &listing, zones, err);
	bpk_layout_close(listing.layout);
	return rc;
}

/* ---- The bytes of a kind ---- */

struct part {
	const struct bpk_zones *zones;
	uint32_t kind;
	struct bpk_source *whole;
};

static int read_part(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	const struct part *part = arg;
	const struct bpk_zones *zones = part->zones;
	uint64_t skip = offset; /* bytes of the kind before the wanted ones */

	*got = 0;
	for (size_t i = 0; i < zones->count && *got < out.size; i++) {
		uint64_t size = bpk_zone_end(zones, i) - zones->all[i].offset;
		struct bpk_span piece = { out.data + *got, out.size - *got };
		size_t n;

		if (zones->all[i].kind != part->kind)
			continue;
		if (skip >= size) {
			skip -= size;
			continue;
		}
		piece.size = (size_t)bpk_min_u64(piece.size, size - skip);
		if (bpk_source_read_at(part->whole, zones->all[i].offset + skip, piece, &n, err) !=
		    0)
			return -1;
		*got += n;
		if (n < piece.size)
			break;
		skip = 0;
	}
	return 0;
}

int bpk_zones_source(const struct bpk_zones *zones, uint32_t kind, struct bpk_source *whole,
		     struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_part,
						   .close = free,
						   .positional = true };
	struct part *part = bpk_calloc(1, sizeof *part, err);

	*source = NULL;
	if (part == NULL)
		return -1;
	*part = (struct part){ zones, kind, whole };
	if (bpk_source_of(&ops, part, zones->kinds[kind].size, source, err) == 0)
		return 0;
	free(part);
	return -1;
}
