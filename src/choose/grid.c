/*
 * Arrays of one name that lie one period apart are frames. The bytes between them repeat with the
 * same period and are predicted along with them. Called by predict.c.
 *
 *     head | box  positions  velocities | box  positions  velocities | box ...
 *               ^-------- period --------^
 *
 * The first dimension of a single array gives frames, all of its dimensions give a grid; trials
 * decide between them. Short last dimensions are components of one point.
 */
#include "choose/grid.h"
#include "choose/tuning.h"

#include <stdlib.h>

#include "layout/layout.h"

/* Arrays that are looked at. It bounds time: each record of a NetCDF file may list thousands of
 * arrays that have no bytes. */
enum { MOST_ARRAYS = 1 << 20 };

/* Arrays of one name and type. */
struct group {
	uint64_t name; /* its hash */
	struct bpk_scalar scalar;
	uint64_t count, bytes;
	uint64_t first, last; /* where they begin */
	uint64_t period;      /* in bytes: the most frequent distance so far, */
	uint64_t matches;     /* and its lead in the vote */
	struct bpk_grid found;
};

/* ---- One array ---- */

/* Read the element type. False unless it is a number; a complex number has two parts. */
static bool grid_of_scalar(const struct bpk_scalar *scalar, struct bpk_grid *o, unsigned *parts)
{
	unsigned size = scalar->item_size;

	*parts = 1;
	if (scalar->kind == 'c') {
		size /= 2;
		*parts = 2;
	}
	if (strchr("iufcMm", scalar->kind) == NULL ||
	    (size != 1 && size != 2 && size != 4 && size != 8))
		return false;
	o->size = size;
	o->is_float = scalar->kind == 'f' || scalar->kind == 'c';
	o->big_endian = scalar->byte_order == '>' && size > 1;
	return true;
}

/* List the dimensions from the slowest to the fastest, the item's own behind them. */
static size_t list_dimensions(const struct bpk_array *array, unsigned parts, uint64_t *out)
{
	const struct bpk_dtype *dtype = &array->dtype;
	size_t n = array->ndimensions, count = 0;

	for (size_t i = 0; i < n; i++)
		out[count++] = array->shape[array->fortran ? n - 1 - i : i];
	for (size_t i = 0; i < dtype->ndimensions; i++)
		out[count++] = dtype->shape[i];
	if (parts > 1)
		out[count++] = parts;
	return count;
}

/* Describe one array of numbers at offset in o. Its period is that of its first dimension, if it
 * has more than one. */
static bool grid_of_array(const struct bpk_array *array, uint64_t offset, struct bpk_grid *o)
{
	uint64_t dimensions[2 * BPK_ARRAY_MAX_DIMENSIONS + 1], stride = 1;
	unsigned parts;
	size_t n;

	*o = (struct bpk_grid){ .origin = offset };
	if (array->dtype.nfields > 0 || !grid_of_scalar(&array->dtype.scalar, o, &parts))
		return false;
	n = list_dimensions(array, parts, dimensions);
	for (; n > 1 && dimensions[n - 1] <= GRID_MOST_COMPONENTS; n--)
		stride *= dimensions[n - 1];
	for (; n > 0; stride *= dimensions[--n]) {
		if (dimensions[n - 1] <= 1)
			continue;
		if (o->nstrides < BPK_GRID_DIMENSIONS)
			o->strides[o->nstrides++] = stride;
		o->period = o->nstrides > 1 ? stride : 0;
	}
	return true;
}

/* ---- All of a layout's ---- */

/* The group of an item, a new one if there is room, or NULL. */
static struct group *group_of(struct group *groups, size_t *ngroups, const struct bpk_item *item)
{
	const struct bpk_scalar *scalar = &item->array->dtype.scalar;
	uint64_t name = bpk_hash_text(BPK_HASH_START, item->name);

	for (size_t i = 0; i < *ngroups; i++)
		if (groups[i].name == name && bpk_scalar_is_like(&groups[i].scalar, scalar) &&
		    groups[i].scalar.byte_order == scalar->byte_order)
			return &groups[i];
	if (*ngroups == GRID_NAMES)
		return NULL;
	groups[*ngroups] = (struct group){ .name = name, .scalar = *scalar };
	return &groups[(*ngroups)++];
}

/* A majority vote: the distance that leads at the end is the most frequent one, if one has a
 * majority. */
static void vote(struct group *group, uint64_t distance)
{
	if (group->matches == 0)
		group->period = distance;
	if (group->period == distance)
		group->matches++;
	else
		group->matches--;
}

static void add_item(struct group *groups, size_t *ngroups, const struct bpk_item *item)
{
	struct group *group;
	struct bpk_grid grid;

	if (item->offset == BPK_UNKNOWN || item->array->size == 0 ||
	    !grid_of_array(item->array, item->offset, &grid))
		return;
	group = group_of(groups, ngroups, item);
	if (group == NULL)
		return;
	if (group->count == 0) {
		group->found = grid;
		group->first = item->offset;
	} else if (item->offset > group->last) {
		vote(group, item->offset - group->last);
	}
	group->count++;
	group->bytes += item->array->size;
	group->last = item->offset;
}

/* The grid of a group; false if its arrays have no common distance, or hold too little of the
 * input. */
static bool grid_of_group(const struct group *group, uint64_t raw_size, struct bpk_grid *grid)
{
	*grid = group->found;
	if (group->count < 3)
		return group->bytes >= raw_size / 2;
	if (group->matches == 0 || group->period % grid->size != 0 ||
	    group->period > group->bytes / group->count * 64)
		return false;
	grid->period = group->period / grid->size;
	return group->last - group->first >= raw_size / 2;
}

static int grid_of_layout(struct bpk_layout *layout, uint64_t raw_size, struct bpk_grid *grid,
			  struct bpk_err *err)
{
	uint64_t narrays = bpk_min_u64(bpk_layout_info(layout)->narrays, MOST_ARRAYS);
	struct group *groups = bpk_calloc(GRID_NAMES, sizeof *groups, err);
	uint64_t largest = 0;
	size_t ngroups = 0;
	struct bpk_item item;
	int rc = groups == NULL ? -1 : 0;

	for (uint64_t i = 0; i < narrays && rc == 0; i++) {
		rc = bpk_layout_get(layout, i, &item, err);
		if (rc == 0)
			add_item(groups, &ngroups, &item);
	}
	for (size_t i = 0; i < ngroups && rc == 0; i++) {
		struct bpk_grid candidate;

		if (groups[i].bytes > largest && grid_of_group(&groups[i], raw_size, &candidate)) {
			largest = groups[i].bytes;
			*grid = candidate;
		}
	}
	free(groups);
	return rc;
}

int bpk_grid_find(struct bpk_source *source, uint64_t raw_size, const struct bpk_array *array,
		  struct bpk_grid *grid, struct bpk_err *err)
{
	struct bpk_layout *layout = NULL;
	int rc = 0;

	*grid = (struct bpk_grid){ 0 };
	if (array != NULL) {
		if (!grid_of_array(array, 0, grid))
			grid->size = 0;
		return 0;
	}
	if (!bpk_source_seekable(source))
		return 0;
	if (bpk_layout_open(source, &layout, err) != 0)
		return -1;
	if (layout != NULL)
		rc = grid_of_layout(layout, raw_size, grid, err);
	bpk_layout_close(layout);
	return rc;
}
