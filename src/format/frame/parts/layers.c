/*
 * Lists of layers, metadata by name: find, set, copy and remove. Readers, writers and editors of
 * frames call it.
 */
#include "format/frame/frame.h"

#include <stdlib.h>

void bpk_frame_layers_clear(struct bpk_frame_layers *layers)
{
	for (size_t i = 0; i < layers->count; i++)
		bpk_buf_clear(&layers->all[i].content);
	free(layers->all);
	*layers = (struct bpk_frame_layers){ 0 };
}

struct bpk_frame_layer *bpk_frame_layers_find(const struct bpk_frame_layers *layers,
					      const char *name)
{
	for (size_t i = 0; i < layers->count; i++)
		if (strcmp(layers->all[i].name, name) == 0)
			return &layers->all[i];
	return NULL;
}

bool bpk_frame_layer_is_ours(const char *name)
{
	return strcmp(name, BPK_FRAME_DIGESTS) == 0 || strcmp(name, BPK_FRAME_SEAL) == 0 ||
	       strcmp(name, BPK_FRAME_B2ND) == 0 || strcmp(name, BPK_FRAME_CATERVA) == 0;
}

/* Append a layer without a name. */
static struct bpk_frame_layer *grow(struct bpk_frame_layers *layers, struct bpk_err *err)
{
	size_t size = (layers->count + 1) * sizeof *layers->all;
	struct bpk_frame_layer *all = realloc(layers->all, size);

	if (all == NULL) {
		bpk_fail_memory(err, size);
		return NULL;
	}
	layers->all = all;
	all[layers->count] = (struct bpk_frame_layer){ .name = "" };
	return &all[layers->count++];
}

int bpk_frame_layers_set(struct bpk_frame_layers *layers, const char *name, struct bpk_view content,
			 struct bpk_err *err)
{
	struct bpk_frame_layer *layer = bpk_frame_layers_find(layers, name);
	struct bpk_buf copy = { 0 };
	size_t length = strlen(name);

	if (layer == NULL && length > BPK_FRAME_MAX_NAME)
		return bpk_fail(err, BPK_LIMIT,
				"a metalayer's name has %zu bytes, expected at most %d", length,
				BPK_FRAME_MAX_NAME);
	if (bpk_buf_append(&copy, content, err) != 0)
		return -1;
	if (layer == NULL) {
		layer = grow(layers, err);
		if (layer == NULL) {
			bpk_buf_clear(&copy);
			return -1;
		}
		memcpy(layer->name, name, length + 1);
	}
	bpk_buf_clear(&layer->content);
	layer->content = copy;
	return 0;
}

int bpk_frame_layers_copy(const struct bpk_frame_layers *from, struct bpk_frame_layers *to,
			  struct bpk_err *err)
{
	for (size_t i = 0; i < from->count; i++)
		if (bpk_frame_layers_set(to, from->all[i].name, bpk_buf_view(&from->all[i].content),
					 err) != 0)
			return -1;
	return 0;
}

void bpk_frame_layers_remove(struct bpk_frame_layers *layers, const char *name)
{
	struct bpk_frame_layer *layer = bpk_frame_layers_find(layers, name);
	size_t behind;

	if (layer == NULL)
		return;
	behind = layers->count - 1 - (size_t)(layer - layers->all);
	bpk_buf_clear(&layer->content);
	memmove(layer, layer + 1, behind * sizeof *layer);
	layers->count--;
}
