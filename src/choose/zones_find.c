/*
 * Where the zones of a file come from, its layout, and the bytes of those of one kind.
 */
#include <stdlib.h>

#include "choose/zones.h"
#include "layout/layout.h"

enum {
	LEAST_ARRAY = 1 << 10, /* arrays that are smaller, on the average, are not gone through, */
	FEW = 100000,          /* unless they are few */
};

/* ---- From the layout ---- */

struct listing {
	struct bpk_layout *layout;
	uint64_t next, count;
};

/* Bytes of the elements that lie side by side, as long as they are few enough to be one. */
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
	if (listing.count > FEW && listing.count > size / LEAST_ARRAY)
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
	size_t low = 0, high = part->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (part->pieces[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
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
