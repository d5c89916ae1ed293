/* Raw bytes added behind an archive's content. Called by append, in rounds and at once. */
#include "archive/chunks.h"
#include "archive/keep_ident.h"
#include "layout/layout.h"

/* *is_array: the format records an array, or the content is an .npy file. */
static int look_for_array(struct bpk_archive *archive, bool *is_array, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	struct bpk_buf head = { 0 };
	int rc = 0;

	*is_array = info->array.type != NULL;
	if (!*is_array && info->raw_size >= BPK_NPY_MAGIC_SIZE) {
		rc = bpk_archive_read(archive, 0, BPK_NPY_MAGIC_SIZE, &head, err);
		*is_array = rc == 0 && bpk_npy_begins(bpk_buf_view(&head));
	}
	bpk_buf_clear(&head);
	return rc;
}

int bpk_archive_check_npy(struct bpk_archive *archive, struct bpk_view head, const char *name,
			  struct bpk_err *err)
{
	bool is_array;

	if (archive->options.any_bytes || !bpk_npy_begins(head))
		return 0;
	if (look_for_array(archive, &is_array, err) != 0)
		return -1;
	if (!is_array)
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"%s: is a NumPy file, its header is no part of the array in %s; --bytes "
			"appends the file as it is",
			bpk_input_name(name), archive->path);
}

/* A last chunk that is not full, or empty, is replaced by one with more bytes. */
static uint64_t kept_chunks(const struct bpk_archive *archive, uint64_t short_size)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	bool empty = info->chunks.count > 0 && info->chunks.last_size == 0;

	return info->chunks.count - (short_size > 0 || empty);
}

static int append_joined(struct bpk_archive *archive, struct bpk_source *const *parts,
			 struct bpk_archive_batch *batch, struct bpk_flow_result *result,
			 struct bpk_err *err)
{
	uint64_t chunk_size = batch->packing->choice.chunk_size;
	int rc;

	if (bpk_source_join(parts, 2, &batch->source, err) != 0)
		return bpk_archive_subject(archive, err);
	batch->raw_size = bpk_source_size(batch->source);
	rc = bpk_archive_cut(archive, batch->first, err);
	if (rc == 0 && archive->format->editor->announce != NULL && batch->raw_size != BPK_UNKNOWN)
		archive->format->editor->announce(archive->editor,
						  bpk_div_up(batch->raw_size, chunk_size));
	if (rc == 0)
		rc = bpk_archive_put(archive, batch, result, err);
	bpk_source_close(batch->source);
	return rc;
}

/* Read the raw bytes of a short last chunk, and the sizes of its blocks, if they vary. */
static int read_last(struct bpk_archive *archive, uint64_t size, struct bpk_buf *last,
		     struct bpk_buf *sizes, struct bpk_err *err)
{
	uint64_t start = bpk_archive_info(archive)->raw_size - size;
	struct bpk_archive_chunk chunk;

	if (size == 0)
		return 0;
	if (bpk_archive_find(archive, start, &chunk, err) != 0 ||
	    bpk_archive_block_sizes(archive, &chunk, sizes, err) != 0)
		return -1;
	return bpk_archive_read(archive, start, size, last, err);
}

int bpk_archive_append(struct bpk_archive *archive, struct bpk_source *source, const char *name,
		       const struct bpk_packing *packing, struct bpk_flow_result *result,
		       struct bpk_err *err)
{
	uint64_t short_size = bpk_archive_short_size(archive, packing->choice.chunk_size);
	uint64_t raw_size = bpk_archive_info(archive)->raw_size;
	struct bpk_source *parts[] = { NULL, source };
	struct bpk_archive_batch batch = {
		.name = name,
		.first = kept_chunks(archive, short_size),
		.kept = short_size,
		.packing = packing,
		.packed = bpk_archive_ident_packed,
		.packed_arg = archive,
	};
	struct bpk_buf last = { 0 }, sizes = { 0 };
	int rc = read_last(archive, short_size, &last, &sizes, err);

	batch.first_sizes = bpk_buf_view(&sizes);
	if (rc == 0 && bpk_source_of_memory(bpk_buf_view(&last), &parts[0], err) != 0)
		rc = bpk_archive_subject(archive, err);
	if (rc == 0)
		rc = bpk_archive_ident_begin(archive, raw_size, raw_size - short_size, err);
	if (rc == 0)
		rc = append_joined(archive, parts, &batch, result, err);
	bpk_source_close(parts[0]);
	bpk_buf_clear(&last);
	bpk_buf_clear(&sizes);
	return rc;
}
