/*
 * Comparison of the first frames of two GSD files, for gsd_copy.c. With the schema hoomd, a frame
 * that omits an array has that of its file's first frame, so appended to another file it could get
 * other content.
 */
#include <stdio.h>
#include <stdlib.h>

#include "layout/gsd_first.h"
#include "layout/layout.h"

static struct bpk_gsd_first *first_at(const struct bpk_gsd_copy *copy, size_t i)
{
	return (struct bpk_gsd_first *)(void *)copy->firsts.data + i;
}

static size_t count_firsts(const struct bpk_gsd_copy *copy)
{
	return copy->firsts.size / sizeof(struct bpk_gsd_first);
}

static int add_first(struct bpk_gsd_copy *copy, const char *name, struct bpk_err *err)
{
	struct bpk_gsd_first first = { 0 };

	for (size_t i = 0; i < count_firsts(copy); i++)
		if (strcmp(first_at(copy, i)->name, name) == 0)
			return 0;
	first.name = bpk_strdup(name, err);
	if (first.name == NULL)
		return -1;
	if (bpk_buf_append(&copy->firsts, bpk_view(&first, sizeof first), err) == 0)
		return 0;
	free(first.name);
	return -1;
}

static int add_firsts(struct bpk_gsd_copy *copy, const struct bpk_gsd_file *t, struct bpk_err *err)
{
	struct bpk_item item;

	for (uint64_t i = 0; i < t->info->narrays; i++) {
		if (bpk_layout_get(t->layout, i, &item, err) != 0)
			return -1;
		if (item.frame > 0)
			return 0;
		if (add_first(copy, item.name, err) != 0)
			return -1;
	}
	return 0;
}

/* *same: both first frames have an equal array of that name, or both lack it. */
static int compare_first(struct bpk_gsd_copy *copy, const char *name, bool *same,
			 struct bpk_err *err)
{
	struct bpk_item a, b;
	int has_a = bpk_layout_find(copy->held.layout, name, 0, true, &a, err);
	int has_b = bpk_layout_find(copy->more.layout, name, 0, true, &b, err);

	if (has_a < 0 || has_b < 0)
		return -1;
	*same = has_a == has_b;
	if (has_a != 0 || has_b != 0)
		return 0;
	return bpk_gsd_copy_compare(copy, &a, &b, same, err);
}

/* The first frame's rows of a group apply only to frames with as many rows. */
static int compare_rows(struct bpk_gsd_copy *copy, const char *name, bool *same,
			struct bpk_err *err)
{
	const char *slash = strchr(name, '/');
	char count[64];
	int size = slash != NULL ? (int)(slash - name) : 0;

	if (!*same || size == 0 || size > 40 || strncmp(name, "log/", 4) == 0 ||
	    strncmp(name, "configuration/", 14) == 0)
		return 0;
	snprintf(count, sizeof count, "%.*s/N", size, name);
	return compare_first(copy, count, same, err);
}

int bpk_gsd_firsts_compare(struct bpk_gsd_copy *copy, struct bpk_err *err)
{
	if (copy->held.info->nframes == 0)
		return 0;
	if (add_firsts(copy, &copy->held, err) != 0 || add_firsts(copy, &copy->more, err) != 0)
		return -1;
	for (size_t i = 0; i < count_firsts(copy); i++) {
		struct bpk_gsd_first *first = first_at(copy, i);
		bool same = true;

		if (compare_first(copy, first->name, &same, err) != 0 ||
		    compare_rows(copy, first->name, &same, err) != 0)
			return -1;
		first->explicit = !same;
	}
	return 0;
}

void bpk_gsd_firsts_clear(struct bpk_gsd_copy *copy)
{
	for (size_t i = 0; i < count_firsts(copy); i++)
		free(first_at(copy, i)->name);
	bpk_buf_clear(&copy->firsts);
}

int bpk_gsd_firsts_put_absent(struct bpk_gsd_copy *copy, uint64_t frame, struct bpk_err *err)
{
	struct bpk_layout *layout = copy->more.layout;
	struct bpk_item item;

	for (size_t i = 0; i < count_firsts(copy); i++) {
		const struct bpk_gsd_first *first = first_at(copy, i);
		int rc;

		if (!first->explicit)
			continue;
		rc = bpk_layout_find(layout, first->name, frame, false, &item, err);
		if (rc == 1)
			rc = bpk_layout_find(layout, first->name, frame, true, &item, err);
		else if (rc == 0)
			continue;
		if (rc < 0 || (rc == 0 && bpk_gsd_copy_put(copy, first->name, &item, err) != 0))
			return -1;
	}
	return 0;
}
