/* An archive cut short. Called by truncate. */
#include "archive/chunks.h"

/* Pack the first size bytes of a chunk as a chunk of its own, with its recipe. */
static int put_shortened(struct bpk_archive *archive, const struct bpk_piece *piece, uint64_t size,
			 struct bpk_err *err)
{
	struct bpk_recipe recipe = bpk_archive_recipe(archive, &piece->header);
	struct bpk_load load = {
		.raw_size = size,
		.chunk_size = piece->size,
		.first = piece->number,
		.recipe = &recipe,
		.slack = archive->options.slack,
	};
	struct bpk_buf kept = { 0 }, sizes = { 0 };
	struct bpk_flow_result result;
	int rc = bpk_archive_read(archive, piece->start, size, &kept, err);

	if (rc == 0)
		rc = bpk_archive_block_sizes(archive, piece, &sizes, err);
	load.first_sizes = bpk_buf_view(&sizes);
	if (rc == 0)
		rc = bpk_source_of_memory(bpk_buf_view(&kept), &load.source, err);
	if (rc == 0)
		rc = bpk_archive_cut(archive, piece->number, err);
	if (rc == 0)
		rc = bpk_archive_put(archive, &load, &result, err);
	bpk_source_close(load.source);
	bpk_buf_clear(&kept);
	bpk_buf_clear(&sizes);
	return rc;
}

int bpk_archive_truncate(struct bpk_archive *archive, uint64_t raw_size, struct bpk_err *err)
{
	struct bpk_piece piece;

	if (raw_size == bpk_archive_info(archive)->raw_size)
		return 0;
	if (bpk_archive_find(archive, raw_size, &piece, err) != 0)
		return -1;
	/* an empty archive keeps one empty chunk */
	if (raw_size > 0 && piece.start == raw_size)
		return bpk_archive_cut(archive, piece.number, err);
	return put_shortened(archive, &piece, raw_size - piece.start, err);
}
