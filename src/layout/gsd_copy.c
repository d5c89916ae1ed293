/*
 * Appending the frames of one GSD file to another. Called to join trajectories.
 */
#include "layout/gsd_copy.h"

#include <inttypes.h>

#include "layout/gsd_first.h"
#include "layout/layout.h"

enum {
	/* frames without arrays that a file may claim, beyond its number of arrays */
	MOST_EMPTY = 1 << 24,
};

/* ---- Files ---- */

int bpk_gsd_file_open(struct bpk_gsd_file *file, struct bpk_err *err)
{
	if (bpk_layout_open(file->source, &file->layout, err) != 0)
		return -1;
	if (file->layout == NULL || strcmp(bpk_layout_info(file->layout)->kind, "gsd") != 0)
		return bpk_fail(err, BPK_CORRUPT, "the GSD file is too damaged to be read");
	file->info = bpk_layout_info(file->layout);
	if (file->info->damage != NULL)
		return bpk_fail(err, BPK_CORRUPT, "%s", file->info->damage);
	return 0;
}

void bpk_gsd_file_close(struct bpk_gsd_file *file)
{
	bpk_layout_close(file->layout);
	bpk_source_close(file->source);
	*file = (struct bpk_gsd_file){ 0 };
}

/* Arrays are in the order of their frames. */
int bpk_gsd_file_find_frame(const struct bpk_gsd_file *file, uint64_t frame, uint64_t *number,
			    struct bpk_err *err)
{
	uint64_t high = file->info->narrays;
	struct bpk_item item;

	*number = 0;
	while (*number < high) {
		uint64_t middle = *number + (high - *number) / 2;

		if (bpk_layout_get(file->layout, middle, &item, err) != 0)
			return -1;
		if (item.frame < frame)
			*number = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/* ---- Frames ---- */

int bpk_gsd_copy_frames(struct bpk_gsd_copy *copy, uint64_t from, uint64_t to, struct bpk_err *err)
{
	const struct bpk_layout_info *info = copy->more.info;
	struct bpk_item item;
	uint64_t number;

	if (to - from > MOST_EMPTY && to - from - MOST_EMPTY > info->narrays)
		return bpk_fail(err, BPK_LIMIT, "claims %" PRIu64 " frames in %" PRIu64 " arrays",
				info->nframes, info->narrays);
	if (bpk_gsd_file_find_frame(&copy->more, from, &number, err) != 0)
		return -1;
	for (uint64_t frame = from; frame < to; frame++) {
		for (; number < info->narrays; number++) {
			if (bpk_layout_get(copy->more.layout, number, &item, err) != 0)
				return -1;
			if (item.frame > frame)
				break;
			if (bpk_gsd_copy_put(copy, item.name, &item, err) != 0)
				return -1;
		}
		if (bpk_gsd_firsts_put_absent(copy, frame, err) != 0 ||
		    bpk_gsd_editor_end_frame(copy->editor, err) != 0)
			return -1;
	}
	return 0;
}

/* Schemas such as "hoomd 1.4" and "hoomd 1.2" match up to the major version, which follows the last
 * space, because names may contain spaces and dots. */
static int check_schema(const struct bpk_gsd_copy *copy, struct bpk_err *err)
{
	const char *held = copy->held.info->schema, *more = copy->more.info->schema;
	const char *version = held != NULL ? strrchr(held, ' ') : NULL;
	size_t size = version != NULL ? (size_t)(version - held) + strcspn(version, ".") : 0;

	if ((held == NULL) == (more == NULL) &&
	    (held == NULL || (strncmp(held, more, size) == 0 && more[size] == '.')))
		return 0;
	return bpk_fail(err, BPK_FAILED, "has schema '%s', the archive has '%s'",
			more != NULL ? more : "", held != NULL ? held : "");
}

int bpk_gsd_copy_all(struct bpk_gsd_copy *copy, struct bpk_err *err)
{
	const char *schema = copy->held.info->schema;
	int rc = check_schema(copy, err);

	if (rc == 0 && schema != NULL && strncmp(schema, "hoomd ", 6) == 0)
		rc = bpk_gsd_firsts_compare(copy, err);
	if (rc == 0)
		rc = bpk_gsd_copy_frames(copy, 0, copy->more.info->nframes, err);
	if (rc == 0)
		rc = bpk_source_unchanged(copy->more.source, err);
	bpk_gsd_firsts_clear(copy);
	return rc;
}

void bpk_gsd_copy_clear(struct bpk_gsd_copy *copy)
{
	bpk_gsd_editor_close(copy->editor);
	bpk_gsd_file_close(&copy->more);
	bpk_gsd_file_close(&copy->held);
	bpk_buf_clear(&copy->piece);
	*copy = (struct bpk_gsd_copy){ 0 };
}
