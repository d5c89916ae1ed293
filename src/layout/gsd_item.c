/*
 * Entries of a GSD file's index as arrays: shape, name and step. For gsd.c and gsd_hoomd.c.
 */
#include "layout/gsd.h"

/* Read configuration/step of exactly this frame. 1: missing, or not one uint64. */
static int read_step(struct bpk_gsd *gsd, uint64_t frame, uint64_t *step, struct bpk_err *err)
{
	const struct bpk_gsd_entry *entry;
	uint64_t number;
	uint8_t bytes[8];

	if (!bpk_gsd_find_name(gsd, frame, "configuration/step", &number))
		return 1;
	entry = bpk_gsd_entry(gsd, number);
	*step = BPK_UNKNOWN;
	if (entry->type != BPK_GSD_UINT64 || entry->nrows != 1 || entry->ncolumns != 1)
		return 0;
	if (bpk_source_need_at(gsd->source, entry->location, bpk_span(bytes, 8), err) != 0)
		return -1;
	*step = bpk_get_le64(bytes);
	return 0;
}

/* The step of a frame: its own; with the schema hoomd that of frame 0, or 0. */
static int resolve_step(struct bpk_gsd *gsd, uint64_t frame, uint64_t *step, struct bpk_err *err)
{
	int rc = read_step(gsd, frame, step, err);

	if (rc == 1 && gsd->hoomd && frame > 0)
		rc = read_step(gsd, 0, step, err);
	if (rc == 1)
		*step = gsd->hoomd ? 0 : BPK_UNKNOWN;
	return rc < 0 ? -1 : 0;
}

/* The same, cached for the next array. Damage in the step itself is not a failure, because the
 * arrays are still readable. */
int bpk_gsd_step(struct bpk_gsd *gsd, uint64_t frame, uint64_t *step, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	if (frame != gsd->step_frame) {
		gsd->step_frame = BPK_UNKNOWN;
		gsd->step = BPK_UNKNOWN;
		if (resolve_step(gsd, frame, &gsd->step, &why) != 0 && why.kind != BPK_CORRUPT) {
			if (err != NULL)
				*err = why;
			return -1;
		}
		gsd->step_frame = frame;
	}
	*step = gsd->step;
	return 0;
}

int bpk_gsd_set_array(struct bpk_gsd *gsd, uint8_t type, uint64_t nrows, uint64_t ncolumns,
		      struct bpk_item *item, struct bpk_err *err)
{
	struct bpk_scalar scalar = *bpk_gsd_scalar(type);
	uint64_t shape[2] = { nrows, ncolumns };
	size_t ndimensions = ncolumns == 1 ? 1 : 2;

	if (type == BPK_GSD_CHARACTER && ncolumns > 1) {
		scalar.kind = 'i';
		shape[0] = ncolumns;
		shape[1] = nrows;
	} else if (type == BPK_GSD_CHARACTER && nrows > 0 && nrows <= INT32_MAX) {
		scalar.item_size = (uint32_t)nrows;
		ndimensions = 0;
	}
	item->array = &gsd->array;
	return bpk_layout_set_array(&gsd->array, scalar.kind, '<', scalar.item_size, shape,
				    ndimensions, err);
}

static int name_entry(struct bpk_gsd *gsd, uint64_t number, struct bpk_item *item,
		      struct bpk_err *err)
{
	uint32_t id = bpk_gsd_entry(gsd, number)->id;
	uint64_t turn = gsd->repeats ? bpk_gsd_turn(gsd, number) : 1;

	item->name = bpk_gsd_name(&gsd->names, id);
	if (turn == 1)
		return 0;
	if (bpk_gsd_label(&gsd->names, id, turn, &gsd->label, err) != 0)
		return -1;
	item->name = (const char *)gsd->label.data;
	return 0;
}

int bpk_gsd_give(struct bpk_gsd *gsd, uint64_t number, uint64_t frame, struct bpk_item *item,
		 struct bpk_err *err)
{
	const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, number);

	item->frame = frame;
	item->offset = entry->location;
	if (gsd->version == 0)
		bpk_copy(&item->step, gsd->steps.data + number * 8, 8);
	else if (bpk_gsd_step(gsd, frame, &item->step, err) != 0)
		return -1;
	if (name_entry(gsd, number, item, err) != 0)
		return -1;
	return bpk_gsd_set_array(gsd, entry->type, entry->nrows, entry->ncolumns, item, err);
}
