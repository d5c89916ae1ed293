/* What the first frames of joined trajectories stand for. */
#include <stdio.h>
#include <stdlib.h>

#include "archive/join.h"

static struct bpk_join_first *first_at(const struct bpk_joining *j, size_t i)
{
	return (struct bpk_join_first *)(void *)j->firsts.data + i;
}

static size_t count_firsts(const struct bpk_joining *j)
{
	return j->firsts.size / sizeof(struct bpk_join_first);
}

static int add_first(struct bpk_joining *j, const char *name, struct bpk_err *err)
{
	struct bpk_join_first first = { 0 };

	for (size_t i = 0; i < count_firsts(j); i++)
		if (strcmp(first_at(j, i)->name, name) == 0)
			return 0;
	first.name = bpk_strdup(name, err);
	if (first.name == NULL)
		return -1;
	if (bpk_buf_append(&j->firsts, bpk_view(&first, sizeof first), err) == 0)
		return 0;
	free(first.name);
	return -1;
}

static int add_firsts(struct bpk_joining *j, const struct bpk_join_file *t, struct bpk_err *err)
{
	struct bpk_item item;

	for (uint64_t i = 0; i < t->info->narrays; i++) {
		if (bpk_layout_get(t->layout, i, &item, err) != 0)
			return -1;
		if (item.frame > 0)
			return 0;
		if (add_first(j, item.name, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_join_compare(struct bpk_joining *j, const struct bpk_item *held,
		     const struct bpk_item *more, bool *same, struct bpk_err *err)
{
	struct bpk_buf other = { 0 };
	int rc = 0;

	*same = bpk_array_is_like(held->array, more->array);
	for (uint64_t at = 0; rc == 0 && *same && at < held->array->size; at += BPK_JOIN_STEP) {
		rc = bpk_join_read(j, &j->held, held, at, err);
		if (rc == 0)
			rc = bpk_buf_resize(&other, j->piece.size, err);
		if (rc == 0) {
			bpk_copy(other.data, j->piece.data, other.size);
			rc = bpk_join_read(j, &j->more, more, at, err);
		}
		*same = rc == 0 && memcmp(other.data, j->piece.data, other.size) == 0;
	}
	bpk_buf_clear(&other);
	return rc;
}

/* Do both first frames say the same by that name? */
static int compare_first(struct bpk_joining *j, const char *name, bool *same, struct bpk_err *err)
{
	struct bpk_item a, b;
	int has_a = bpk_layout_find(j->held.layout, name, 0, true, &a, err);
	int has_b = bpk_layout_find(j->more.layout, name, 0, true, &b, err);

	if (has_a < 0 || has_b < 0)
		return -1;
	*same = has_a == has_b;
	if (has_a != 0 || has_b != 0)
		return 0;
	return bpk_join_compare(j, &a, &b, same, err);
}

/* Rows of a group count for a frame only where there are as many as in the first. */
static int compare_rows(struct bpk_joining *j, const char *name, bool *same, struct bpk_err *err)
{
	const char *slash = strchr(name, '/');
	char count[64];
	int size = slash != NULL ? (int)(slash - name) : 0;

	if (!*same || size == 0 || size > 40 || strncmp(name, "log/", 4) == 0 ||
	    strncmp(name, "configuration/", 14) == 0)
		return 0;
	snprintf(count, sizeof count, "%.*s/N", size, name);
	return compare_first(j, count, same, err);
}

int bpk_join_compare_firsts(struct bpk_joining *j, struct bpk_err *err)
{
	if (j->held.info->nframes == 0)
		return 0;
	if (add_firsts(j, &j->held, err) != 0 || add_firsts(j, &j->more, err) != 0)
		return -1;
	for (size_t i = 0; i < count_firsts(j); i++) {
		struct bpk_join_first *first = first_at(j, i);
		bool same = true;

		if (compare_first(j, first->name, &same, err) != 0 ||
		    compare_rows(j, first->name, &same, err) != 0)
			return -1;
		first->explicit = !same;
	}
	return 0;
}

void bpk_join_clear_firsts(struct bpk_joining *j)
{
	for (size_t i = 0; i < count_firsts(j); i++)
		free(first_at(j, i)->name);
	bpk_buf_clear(&j->firsts);
}

/* What frame leaves out, and means otherwise than it would mean in the archive. */
int bpk_join_put_absent(struct bpk_joining *j, uint64_t frame, struct bpk_err *err)
{
	struct bpk_layout *layout = j->more.layout;
	struct bpk_item item;

	for (size_t i = 0; i < count_firsts(j); i++) {
		const struct bpk_join_first *first = first_at(j, i);
		int rc;

		if (!first->explicit)
			continue;
		rc = bpk_layout_find(layout, first->name, frame, false, &item, err);
		if (rc == 1)
			rc = bpk_layout_find(layout, first->name, frame, true, &item, err);
		else if (rc == 0)
			continue;
		if (rc < 0 || (rc == 0 && bpk_join_put(j, first->name, &item, err) != 0))
			return -1;
	}
	return 0;
}
