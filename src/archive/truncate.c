/* An archive cut short. Called by bpk truncate. */
#include "archive/keep_ident.h"

/* Replace a chunk, and all behind it, by a chunk of its first size bytes, with its recipe. */
static int put_shortened(struct bpk_archive *archive, const struct bpk_archive_chunk *chunk,
			 uint64_t size, struct bpk_err *err)
{
	const struct bpk_packing packing = {
		.choice.recipe = bpk_archive_recipe(archive, &chunk->header),
		.choice.chunk_size = chunk->size,
		.slack = archive->options.slack,
	};
	struct bpk_archive_batch batch = {
		.raw_size = size,
		.first = chunk->number,
		.packing = &packing,
		.packed = bpk_archive_ident_packed,
		.packed_arg = archive,
	};
	struct bpk_buf kept = { 0 }, sizes = { 0 };
	struct bpk_flow_result result;
	int rc = bpk_archive_read(archive, chunk->start, size, &kept, err);

	if (rc == 0)
		rc = bpk_archive_block_sizes(archive, chunk, &sizes, err);
	batch.first_sizes = bpk_buf_view(&sizes);
	if (rc == 0)
		rc = bpk_source_of_memory(bpk_buf_view(&kept), &batch.source, err);
	if (rc == 0)
		rc = bpk_archive_cut(archive, chunk->number, err);
	if (rc == 0)
		rc = bpk_archive_put(archive, &batch, &result, err);
	bpk_source_close(batch.source);
	bpk_buf_clear(&kept);
	bpk_buf_clear(&sizes);
	return rc;
}

int bpk_archive_truncate(struct bpk_archive *archive, uint64_t raw_size, struct bpk_err *err)
{
	struct bpk_archive_chunk chunk;

	if (raw_size == bpk_archive_info(archive)->raw_size)
		return 0;
	if (bpk_archive_find(archive, raw_size, &chunk, err) != 0 ||
	    bpk_archive_ident_begin(archive, raw_size, chunk.start, err) != 0)
		return -1;
	/* an empty archive keeps one empty chunk */
	if (raw_size > 0 && chunk.start == raw_size)
		return bpk_archive_cut(archive, chunk.number, err);
	return put_shortened(archive, &chunk, raw_size - chunk.start, err);
}
