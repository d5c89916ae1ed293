/*
 * Shared by tests that encode Blosc2 chunks: recipes from names, and a context for a test group.
 */
#ifndef BPK_TESTS_RECIPES_H
#define BPK_TESTS_RECIPES_H

#include "unit/unit.h"

#include "chunk/chunk.h"

static inline struct bpk_recipe recipe_of(const char *codec, unsigned level, unsigned typesize,
					  const char *pipeline)
{
	struct bpk_recipe recipe = { bpk_codec_find(codec), level, typesize, .extended = true };
	struct bpk_err err = { 0 };

	if (bpk_pipeline_parse(pipeline, &recipe.pipeline, &err) != 0)
		fail_msg("%s", err.text);
	return recipe;
}

static inline int context_new(void **state)
{
	*state = bpk_chunk_ctx_new(NULL);
	return *state == NULL ? -1 : 0;
}

static inline int context_free(void **state)
{
	bpk_chunk_ctx_free(*state);
	return 0;
}

#endif
