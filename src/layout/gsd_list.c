/* GSD: the names of a file being written, in a hash table. Called by gsd_put.c and gsd_editor.c. */
#include "layout/gsd_write.h"

#include <stdlib.h>

#include "layout/name.h"

enum { FIRST_ROOM = 64 };

struct bpk_gsd_listed *bpk_gsd_list_at(const struct bpk_gsd_list *list, uint32_t id)
{
	return (struct bpk_gsd_listed *)(void *)list->names.data + id;
}

static const char *text_of(const struct bpk_gsd_list *list, uint32_t id)
{
	return (const char *)list->texts.data + bpk_gsd_list_at(list, id)->at;
}

/* The slot of a name in the table, or a free one for it. The table is never full. */
static uint32_t *place_of(const struct bpk_gsd_list *list, const char *name)
{
	size_t at = (size_t)bpk_name_hash(name) & (list->room - 1);

	while (list->table[at] != 0 && strcmp(text_of(list, list->table[at] - 1), name) != 0)
		at = (at + 1) & (list->room - 1);
	return &list->table[at];
}

bool bpk_gsd_list_find(const struct bpk_gsd_list *list, const char *name, uint32_t *id)
{
	const uint32_t *place;

	if (list->room == 0)
		return false;
	place = place_of(list, name);
	if (*place == 0)
		return false;
	*id = *place - 1;
	return true;
}

/* Grow so that at most half of the table is in use. */
static int grow(struct bpk_gsd_list *list, struct bpk_err *err)
{
	struct bpk_gsd_list larger = *list;

	if (list->count < list->room / 2)
		return 0;
	larger.room = list->room == 0 ? FIRST_ROOM : 2 * list->room;
	larger.table = bpk_calloc(larger.room, sizeof *larger.table, err);
	if (larger.table == NULL)
		return -1;
	for (uint32_t id = 0; id < list->count; id++)
		*place_of(&larger, text_of(list, id)) = id + 1;
	free(list->table);
	*list = larger;
	return 0;
}

int bpk_gsd_list_add(struct bpk_gsd_list *list, const char *name, uint32_t *id, struct bpk_err *err)
{
	const struct bpk_gsd_listed listed = { .at = list->texts.size };

	if (list->count == BPK_GSD_MAX_NAMES)
		return bpk_fail(err, BPK_LIMIT, "a GSD file has at most %d names",
				BPK_GSD_MAX_NAMES);
	if (grow(list, err) != 0 ||
	    bpk_buf_append(&list->texts, bpk_view(name, strlen(name) + 1), err) != 0 ||
	    bpk_buf_append(&list->names, bpk_view(&listed, sizeof listed), err) != 0)
		return -1;
	*id = list->count++;
	*place_of(list, name) = list->count;
	return 0;
}

void bpk_gsd_list_clear(struct bpk_gsd_list *list)
{
	bpk_buf_clear(&list->texts);
	bpk_buf_clear(&list->names);
	free(list->table);
}
