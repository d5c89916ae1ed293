/* The recipe of chunks that are added to an archive: that of its own chunks, where the caller
 * leaves it open. Called by the files of archive that add or replace chunks. */
#include "archive/chunks.h"

static const struct bpk_chunk_header no_example = { .memcpyed = true, .typesize = 1 };

int bpk_archive_find_example(struct bpk_archive *archive, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	struct bpk_chunk_header *example = &archive->example;
	struct bpk_archive_chunk last;

	*example = no_example;
	if (info->chunks.has_first)
		*example = info->chunks.first;
	if (!bpk_recipe_is_shown(example) && info->chunks.count > 1 && info->raw_size > 0) {
		if (bpk_archive_find(archive, info->raw_size - 1, &last, err) != 0)
			return -1;
		*example = last.header;
	}
	return 0;
}

/*
 * The block size of chunks that are added. A short chunk of a single block does not show the block
 * size of a full chunk; then a full chunk is one block, of 1 MiB at most.
 */
static uint32_t block_size_of(const struct bpk_chunk_header *header, uint64_t chunk_size)
{
	if (header->block_size < header->raw_size || header->raw_size >= chunk_size)
		return header->block_size;
	return (uint32_t)bpk_min_u64(chunk_size, 1 << 20);
}

struct bpk_recipe bpk_archive_recipe(const struct bpk_archive *archive,
				     const struct bpk_chunk_header *header)
{
	bool other = !bpk_recipe_is_shown(header) && bpk_recipe_is_shown(&archive->example);
	struct bpk_recipe recipe = bpk_recipe_like(other ? &archive->example : header);

	if (archive->options.wishes.level != BPK_AUTO)
		recipe.level = (unsigned)archive->options.wishes.level;
	recipe.extended = archive->format->extended_chunks;
	return recipe;
}

/* The recipe of an archive that has an example, where the wishes leave it open. */
static struct bpk_recipe recipe_of_example(const struct bpk_archive *archive, uint64_t chunk_size)
{
	const struct bpk_wishes *wishes = &archive->options.wishes;
	struct bpk_recipe recipe = bpk_archive_recipe(archive, &archive->example);

	recipe.block_size = wishes->block_size != 0 ? wishes->block_size
						    : block_size_of(&archive->example, chunk_size);
	if (wishes->typesize != BPK_AUTO)
		recipe.typesize = (unsigned)wishes->typesize;
	if (wishes->pipeline != NULL)
		recipe.pipeline = *wishes->pipeline;
	else if (archive->options.lossy)
		recipe.pipeline = archive->example.pipeline;
	recipe.dictionary = recipe.dictionary || wishes->dictionary;
	return recipe;
}

/* Add the filters of a full chunk to the candidates for each chunk. A short chunk may have other
 * filters only because it is short. */
static void learn(const struct bpk_chunk_header *header, struct bpk_choice *choice)
{
	struct bpk_candidate seen = { .typesize = header->typesize,
				      .pipeline = bpk_recipe_like(header).pipeline };
	bool same = seen.typesize == choice->recipe.typesize;
	bool known = !bpk_recipe_is_shown(header) || header->raw_size != choice->chunk_size ||
		     (!same && choice->recipe.extended) ||
		     (same && bpk_pipeline_equal(&seen.pipeline, &choice->recipe.pipeline)) ||
		     choice->ncandidates == BPK_CHOICE_CANDIDATES;

	for (size_t i = 0; i < choice->ncandidates && !known; i++)
		known = seen.typesize == choice->candidates[i].typesize &&
			bpk_pipeline_equal(&seen.pipeline, &choice->candidates[i].pipeline);
	if (!known)
		choice->candidates[choice->ncandidates++] = seen;
}

/* Look for other filters than those of the example in some chunks, spread over the archive. */
static int find_others(struct bpk_archive *archive, struct bpk_choice *choice, struct bpk_err *err)
{
	enum { LOOKS = 8 };
	const struct bpk_wishes *wishes = &archive->options.wishes;
	const struct bpk_info *info = bpk_archive_info(archive);
	void *reader = archive->format->editor->reader(archive->editor);

	if (wishes->pipeline != NULL || archive->options.lossy || wishes->typesize != BPK_AUTO ||
	    info->directory.ncolumns > 0 || !archive->format->editor->reads->positional(reader))
		return 0;
	for (uint64_t i = 1; i <= bpk_min_u64(LOOKS, info->chunks.count); i++) {
		struct bpk_archive_chunk chunk = { .number =
							   info->chunks.count / LOOKS * i +
							   info->chunks.count % LOOKS * i / LOOKS -
							   1 };

		if (info->chunks.count < LOOKS)
			chunk.number = i - 1;
		if (bpk_archive_locate(archive, &chunk, err) != 0)
			return -1;
		learn(&chunk.header, choice);
	}
	return 0;
}

/* True if the chunks that stay hold elements of the size in the archive's header. */
static bool has_elements(const struct bpk_archive *archive)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	bool stored =
		archive->format->extended_chunks && archive->example.special == BPK_SPECIAL_NONE;

	return info->chunks.typesize > 1 ||
	       (info->chunks.typesize == 1 && stored &&
		info->chunks.count > (bpk_archive_short_size(archive, info->chunks.size) > 0));
}

/* The wishes for chunks of this archive. */
static struct bpk_wishes wishes_for(const struct bpk_archive *archive)
{
	uint64_t chunk_size = bpk_archive_info(archive)->chunks.size;
	struct bpk_wishes wishes = archive->options.wishes;

	wishes.extended = archive->format->extended_chunks;
	wishes.chunk_size = chunk_size == BPK_UNKNOWN ? 0 : chunk_size;
	return wishes;
}

/* Choose by trial. The element size and the filters of an example are kept. */
static int choose_by_trial(const struct bpk_archive *archive, struct bpk_source *source,
			   struct bpk_choice *choice, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	struct bpk_wishes wishes = wishes_for(archive);
	struct bpk_recipe like = bpk_recipe_like(&archive->example);

	if (wishes.typesize == BPK_AUTO && bpk_recipe_is_shown(&archive->example))
		wishes.typesize = (int)like.typesize;
	else if (wishes.typesize == BPK_AUTO && has_elements(archive) &&
		 info->chunks.typesize <= BPK_CHUNK_MAX_TYPESIZE)
		wishes.typesize = (int)info->chunks.typesize;
	if (wishes.pipeline == NULL && bpk_recipe_is_shown(&archive->example))
		wishes.pipeline =
			archive->options.lossy ? &archive->example.pipeline : &like.pipeline;
	return bpk_choose(source, bpk_source_size(source), &wishes, choice, err);
}

static int choose(struct bpk_archive *archive, struct bpk_source *source, struct bpk_choice *choice,
		  struct bpk_err *err)
{
	uint64_t chunk_size = bpk_archive_info(archive)->chunks.size;
	struct bpk_source *nothing = NULL;
	int rc = 0;

	if (chunk_size == BPK_UNKNOWN)
		chunk_size = 0;
	choice->chunk_size = chunk_size;
	if (bpk_recipe_is_shown(&archive->example) && archive->options.wishes.codec == NULL &&
	    chunk_size > 0) {
		choice->recipe = recipe_of_example(archive, chunk_size);
		return find_others(archive, choice, err);
	}
	if (source == NULL) {
		rc = bpk_source_of_memory(bpk_view(NULL, 0), &nothing, err);
		source = nothing;
	}
	if (rc == 0)
		rc = choose_by_trial(archive, source, choice, err);
	if (rc == 0 && chunk_size > 0)
		choice->chunk_size = chunk_size;
	bpk_source_close(nothing);
	return rc == 0 ? 0 : bpk_archive_subject(archive, err);
}

int bpk_archive_choose(struct bpk_archive *archive, struct bpk_source *source,
		       struct bpk_packing *packing, struct bpk_err *err)
{
	const struct bpk_archive_options *options = &archive->options;
	struct bpk_choice *choice = &packing->choice;

	packing->slack = options->slack;
	if (choose(archive, source, choice, err) != 0)
		return -1;
	/* either all chunks have variable blocks, or no chunk has them */
	choice->recipe.variable_blocks = archive->example.variable_blocks;
	if (options->hooks.chosen == NULL ||
	    options->hooks.chosen(options->hooks_arg, &choice->recipe, err) == 0)
		return 0;
	return bpk_archive_subject(archive, err);
}

/* ---- A first chunk that is not full ---- */

int bpk_archive_choose_anew(struct bpk_archive *archive, struct bpk_source *source, int typesize,
			    struct bpk_packing *packing, struct bpk_err *err)
{
	struct bpk_wishes wishes = wishes_for(archive);

	if (wishes.typesize == BPK_AUTO)
		wishes.typesize = typesize;
	bpk_buf_clear(&packing->choice.why);
	if (bpk_choose(source, bpk_source_size(source), &wishes, &packing->choice, err) != 0)
		return bpk_archive_subject(archive, err);
	if (wishes.chunk_size > 0)
		packing->choice.chunk_size = wishes.chunk_size;
	return 0;
}

/* True if a chunk with this header may come from the choice. */
static bool is_of_choice(const struct bpk_chunk_header *header, const struct bpk_choice *choice)
{
	const struct bpk_recipe *recipe = &choice->recipe;
	struct bpk_recipe like = bpk_recipe_like(header);
	bool same = like.typesize == recipe->typesize &&
		    bpk_pipeline_equal(&like.pipeline, &recipe->pipeline);

	for (size_t i = 0; i < choice->ncandidates && !same; i++)
		same = like.typesize == choice->candidates[i].typesize &&
		       bpk_pipeline_equal(&like.pipeline, &choice->candidates[i].pipeline);
	return same && like.codec == recipe->codec && like.dictionary == recipe->dictionary &&
	       (header->block_size >= header->raw_size || header->block_size == recipe->block_size);
}

/* *is: the archive's one chunk is packed as a trial on its content decides. */
static int is_by_trial(struct bpk_archive *archive, bool *is, struct bpk_err *err)
{
	uint64_t raw_size = bpk_archive_info(archive)->raw_size;
	struct bpk_packing packing = { 0 };
	struct bpk_source *source = NULL;
	struct bpk_buf content = { 0 };
	int rc;

	*is = !bpk_recipe_is_shown(&archive->example);
	if (*is)
		return 0;
	rc = bpk_archive_read(archive, 0, raw_size, &content, err);
	if (rc == 0 && bpk_source_of_memory(bpk_buf_view(&content), &source, err) != 0)
		rc = bpk_archive_subject(archive, err);
	if (rc == 0)
		rc = bpk_archive_choose_anew(archive, source, BPK_AUTO, &packing, err);
	*is = rc == 0 && is_of_choice(&archive->example, &packing.choice);
	bpk_buf_clear(&packing.choice.why);
	bpk_source_close(source);
	bpk_buf_clear(&content);
	return rc;
}

int bpk_archive_is_undecided(struct bpk_archive *archive, uint64_t size, bool *is,
			     struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(archive);

	*is = info->raw_size == 0 && info->array.type == NULL;
	if (info->raw_size == 0 || info->raw_size >= size || info->chunks.count > 1 ||
	    info->array.type != NULL || archive->options.lossy)
		return 0;
	return is_by_trial(archive, is, err);
}
