/* Blocks of variable length. A chunk keeps their sizes when it is recompressed. Called by append.c,
 * overwrite.c and truncate.c. */
#include "archive/chunks.h"

static int list_sizes(const struct bpk_parcel *parcel, struct bpk_buf *sizes, struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);
	struct bpk_chunk_header header;

	if (bpk_chunk_header_read(chunk, &header, err) != 0 ||
	    bpk_buf_resize(sizes, (size_t)header.nblocks * sizeof(uint32_t), err) != 0)
		return -1;
	return bpk_chunk_block_sizes(chunk, (uint32_t *)(void *)sizes->data, err); /* aligned */
}

int bpk_archive_block_sizes(struct bpk_archive *archive, const struct bpk_archive_chunk *chunk,
			    struct bpk_buf *sizes, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = archive->format->editor->reads;
	void *reader = archive->format->editor->reader(archive->editor);
	struct bpk_parcel parcel = { .number = chunk->number, .want_size = SIZE_MAX };
	int rc;

	if (!chunk->header.variable_blocks)
		return 0;
	rc = ops->fetch(reader, &parcel, err);
	if (rc == 0 && ops->check != NULL)
		rc = ops->check(reader, &parcel, err);
	if (rc == 0)
		rc = list_sizes(&parcel, sizes, err);
	bpk_buf_clear(&parcel.packed);
	return rc == 0 ? 0 : bpk_archive_subject(archive, err);
}
