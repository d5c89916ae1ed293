/*
 * Divides an open array, or a slice of it, into the bands in which it is read. The reader calls it.
 */
#include <inttypes.h>

#include "format/frame/nd/bands.h"

static int check_slice(const struct bpk_array *array, const struct bpk_slice *slice,
		       struct bpk_err *err)
{
	if (slice->ndimensions != array->ndimensions)
		return bpk_fail(err, BPK_USAGE, "the slice has %zu dimensions, the array has %zu",
				slice->ndimensions, array->ndimensions);
	for (size_t i = 0; i < array->ndimensions; i++)
		if (slice->start[i] > slice->stop[i] || slice->stop[i] > array->shape[i])
			return bpk_fail(err, BPK_USAGE,
					"the slice %" PRIu64 ":%" PRIu64
					" leaves dimension %zu of the array, which is %" PRIu64
					" long",
					slice->start[i], slice->stop[i], i, array->shape[i]);
	return 0;
}

/* Set the sizes in info to those of bands. */
static void fill_info(const struct bpk_frame_bands *bands, struct bpk_info *info)
{
	uint64_t item_size = bands->nd->array.dtype.size, first;
	bool even = bands->count == 1 || bands->first == bands->size;

	info->raw_size = bands->items * item_size;
	info->chunks.count = bands->count;
	info->chunks.size = even ? bands->size * item_size : BPK_UNKNOWN;
	info->chunks.last_size = 0;
	if (bands->count > 0)
		info->chunks.last_size =
			bpk_frame_band_items(bands, bands->count - 1, &first) * item_size;
}

/* Bands of a small archive are smaller, so that it cannot claim much memory. */
static uint64_t most_of_band(uint64_t stored_size)
{
	enum { ANY = 8 << 20, TIMES = 1024 };

	return bpk_max_u64(ANY, bpk_min_u64(stored_size, BPK_FRAME_BAND_MOST / TIMES) * TIMES);
}

static enum bpk_frame_purpose purpose_of(const struct bpk_frame_reader *r)
{
	return r->options.saves ? BPK_FRAME_SAVING : BPK_FRAME_READING;
}

int bpk_frame_bands_begin(struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_slice whole;

	/* without the geometry padding looks like data, so an array with damage is not read */
	if (r->options.as_stored || !r->array.is_nd)
		return 0;
	if (r->array.damage.kind != BPK_OK)
		return bpk_fail_as(err, &r->array.damage);
	whole = bpk_frame_nd_whole(&r->array.nd);
	r->array.nd.band_most = most_of_band(r->info.stored_size);
	r->array.bands = bpk_calloc(1, sizeof *r->array.bands, err);
	if (r->array.bands == NULL)
		return -1;
	*r->array.bands = bpk_frame_bands_of(&r->array.nd, &whole, purpose_of(r));
	fill_info(r->array.bands, &r->info);
	return 0;
}

int bpk_frame_bands_narrow(void *reader, const struct bpk_slice *slice, struct bpk_err *err)
{
	struct bpk_frame_reader *r = reader;

	if (r->array.bands == NULL)
		return bpk_fail(err, BPK_USAGE, "is not an array, so it has no slices");
	if (check_slice(&r->array.nd.array, slice, err) != 0)
		return -1;
	*r->array.bands = bpk_frame_bands_of(&r->array.nd, slice, purpose_of(r));
	fill_info(r->array.bands, &r->info);
	return 0;
}

void bpk_frame_bands_for_changing(struct bpk_frame_reader *r)
{
	struct bpk_slice box = r->array.bands->box;

	*r->array.bands = bpk_frame_bands_of(&r->array.nd, &box, BPK_FRAME_CHANGING);
	fill_info(r->array.bands, &r->info);
}
