/*
 * The table of members, the entry points of the room, and helpers for members. Called by choose,
 * archive and cli; the helpers by all members.
 */
#include "layout/member.h"

#include <stdlib.h>

/* In the order of probing: the most specific signatures first. */
static const struct bpk_layout_ops *const members[] = {
	&bpk_layout_gsd, &bpk_layout_npy,       &bpk_layout_npz,
	&bpk_layout_wav, &bpk_layout_trr,       &bpk_layout_netcdf,
	&bpk_layout_dcd, &bpk_layout_fits_file, NULL,
};

struct bpk_layout {
	const struct bpk_layout_ops *ops;
	void *own;
	struct bpk_layout_info info;
};

/* ---- Opening ---- */

/* Read the first bytes; fewer in a short file. */
static int read_head(struct bpk_source *source, uint8_t bytes[BPK_LAYOUT_HEAD],
		     struct bpk_view *head, struct bpk_err *err)
{
	size_t got;

	if (bpk_source_read_at(source, 0, bpk_span(bytes, BPK_LAYOUT_HEAD), &got, err) != 0)
		return -1;
	*head = bpk_view(bytes, got);
	return 0;
}

/* Returns 1 if this member cannot read the file. */
static int open_as(const struct bpk_layout_ops *ops, struct bpk_source *source,
		   struct bpk_layout *layout, struct bpk_err *err)
{
	struct bpk_err found = { 0 };

	layout->ops = ops;
	layout->info = (struct bpk_layout_info){ .nframes = BPK_UNKNOWN, .last_step = BPK_UNKNOWN };
	if (ops->open(source, &layout->own, &layout->info, &found) == 0)
		return 0;
	layout->own = NULL;
	if (found.kind == BPK_CORRUPT || found.kind == BPK_UNSUPPORTED || found.kind == BPK_LIMIT)
		return 1;
	if (err != NULL)
		*err = found;
	return -1;
}

int bpk_layout_open(struct bpk_source *source, struct bpk_layout **layout, struct bpk_err *err)
{
	uint8_t bytes[BPK_LAYOUT_HEAD];
	struct bpk_layout *made;
	struct bpk_view head;
	int rc = 1;

	*layout = NULL;
	if (read_head(source, bytes, &head, err) != 0)
		return -1;
	made = bpk_calloc(1, sizeof *made, err);
	if (made == NULL)
		return -1;
	for (size_t i = 0; rc == 1 && members[i] != NULL; i++)
		if (members[i]->probe(head, bpk_source_size(source)))
			rc = open_as(members[i], source, made, err);
	if (rc == 0)
		*layout = made;
	else
		free(made);
	return rc < 0 ? -1 : 0;
}

const char *bpk_layout_title(struct bpk_view head, uint64_t size)
{
	for (size_t i = 0; members[i] != NULL; i++)
		if (members[i]->title != NULL && members[i]->probe(head, size))
			return members[i]->title;
	return NULL;
}

void bpk_layout_close(struct bpk_layout *layout)
{
	if (layout == NULL)
		return;
	layout->ops->close(layout->own);
	free(layout);
}

const struct bpk_layout_info *bpk_layout_info(const struct bpk_layout *layout)
{
	return &layout->info;
}

/* ---- Arrays ---- */

int bpk_layout_get(struct bpk_layout *layout, uint64_t number, struct bpk_item *item,
		   struct bpk_err *err)
{
	*item = (struct bpk_item){ .frame = BPK_UNKNOWN, .step = BPK_UNKNOWN };
	return layout->ops->get(layout->own, number, item, err);
}

/* Search all arrays; those without a frame match every frame. */
static int look_through(struct bpk_layout *layout, const char *name, uint64_t frame,
			struct bpk_item *item, struct bpk_err *err)
{
	for (uint64_t i = 0; i < layout->info.narrays; i++) {
		if (bpk_layout_get(layout, i, item, err) != 0)
			return -1;
		if ((item->frame == frame || item->frame == BPK_UNKNOWN) &&
		    strcmp(item->name, name) == 0)
			return 0;
	}
	return 1;
}

int bpk_layout_find(struct bpk_layout *layout, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err)
{
	uint64_t nframes = layout->info.nframes;

	*item = (struct bpk_item){ .frame = BPK_UNKNOWN, .step = BPK_UNKNOWN };
	if (frame != BPK_UNKNOWN && (nframes == BPK_UNKNOWN || frame >= nframes))
		return 1;
	if (layout->ops->find == NULL)
		return look_through(layout, name, frame, item, err);
	return layout->ops->find(layout->own, name, frame, defaults, item, err);
}

size_t bpk_layout_parts(const struct bpk_layout *layout,
			struct bpk_layout_part parts[BPK_LAYOUT_PARTS])
{
	return layout->ops->parts != NULL ? layout->ops->parts(layout->own, parts) : 0;
}

uint64_t bpk_layout_unused(const struct bpk_layout *layout, uint64_t at)
{
	return layout->ops->unused != NULL ? layout->ops->unused(layout->own, at) : 0;
}

/* ---- Helpers for members ---- */

char *bpk_layout_text(struct bpk_view bytes, struct bpk_err *err)
{
	const uint8_t *end = bytes.size > 0 ? memchr(bytes.data, 0, bytes.size) : NULL;
	size_t size = end != NULL ? (size_t)(end - bytes.data) : bytes.size;
	struct bpk_buf text = { 0 };
	char *made = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < size;) {
		char shown[BPK_TEXT_SHOWN];

		i += bpk_text_show(bpk_view(bytes.data + i, size - i), shown);
		rc = bpk_buf_append(&text, bpk_view(shown, strlen(shown)), err);
	}
	if (rc == 0 && bpk_buf_append(&text, bpk_view("", 1), err) == 0)
		made = bpk_strdup((const char *)text.data, err);
	bpk_buf_clear(&text);
	return made;
}

int bpk_layout_set_array(struct bpk_array *array, char kind, char byte_order, uint32_t item_size,
			 const uint64_t *shape, size_t ndimensions, struct bpk_err *err)
{
	array->dtype = (struct bpk_dtype){
		.scalar = { .kind = kind,
			    .byte_order = item_size > 1 && kind != 'S' ? byte_order : '|',
			    .item_size = item_size },
		.size = item_size,
	};
	array->fortran = false;
	return bpk_array_set_shape(array, shape, ndimensions, err);
}
