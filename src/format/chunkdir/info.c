/*
 * Fills in the bpk_info of a chunked directory, for the reader.
 */
#include "format/chunkdir/meta.h"

/* Total size of the data files, counted from the first of each column up to a missing one. */
static int sum_files(struct bpk_chunkdir_reader *r, uint64_t *total, struct bpk_err *err)
{
	struct bpk_buf name = { 0 };
	int rc = 0;

	*total = 0;
	for (size_t i = 0; rc == 0 && i < r->set.ncolumns; i++) {
		const struct bpk_chunkdir_column *column = &r->set.columns[i];
		enum bpk_entry entry = BPK_ENTRY_FILE;
		uint64_t size;

		for (uint64_t n = 0; rc == 0 && n < column->nfiles; n++) {
			rc = bpk_chunkdir_file_name(&r->set, column, n, &name, err);
			if (rc == 0)
				rc = bpk_dir_look(r->dir, (const char *)name.data, &entry, &size,
						  err);
			if (rc == 0 && entry != BPK_ENTRY_FILE)
				break;
			if (rc == 0)
				*total += size;
		}
	}
	bpk_buf_clear(&name);
	return rc;
}

/* Take checksum and codec from the first file that opens: the root of a seal covers the checksum,
 * and tells about the other files if the first is lost. Damage is reported when a file is read. */
static int look_at_first_file(struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	enum { MOST = 16 }; /* files, each of which may be a request */
	uint64_t most = bpk_min_u64(r->set.columns[0].nfiles, MOST);
	struct bpk_info *info = &r->info;
	struct bpk_chunkdir_file *file = NULL;
	struct bpk_err why = { 0 };

	info->chunks.checksum = &bpk_checksums[0];
	if (r->set.nchunks == 0)
		return 0;
	for (uint64_t n = 0; n < most && file == NULL; n++)
		if (bpk_chunkdir_file_open(r->files, 0, n, &file, &why) != 0 &&
		    bpk_err_pass(&why, err) != 0)
			return -1;
	if (file == NULL)
		return 0;
	info->chunks.checksum = file->info->chunks.checksum;
	info->chunks.has_offsets = file->info->chunks.has_offsets;
	info->chunks.has_first = file->info->chunks.has_first;
	info->chunks.first = file->info->chunks.first;
	/* to the dataset they are bytes; the packer may have known larger elements */
	if (info->array.type == NULL)
		info->chunks.typesize = file->info->chunks.typesize;
	bpk_chunkdir_file_close(r->files, file);
	return 0;
}

/* Restore the array and the user's metadata. */
static int fill_metadata(struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	struct bpk_view attributes = bpk_view(NULL, 0);
	struct bpk_info *info = &r->info;

	if (r->set.attributes.has_members)
		attributes = bpk_buf_view(&r->set.attributes.text);
	if (bpk_chunkdir_attributes_read(&r->set.array, bpk_chunkdir_keeps_bytes(&r->set),
					 attributes, &r->described, err) != 0)
		return -1;
	if (r->set.attributes.damage.kind != BPK_OK)
		info->damage = r->set.attributes.damage.text;
	info->array.type = r->described.has_array ? &r->described.array : NULL;
	info->metadata.given = r->described.has_metadata;
	if (!info->metadata.given)
		return 0;
	info->metadata.text = bpk_buf_view(&r->described.metadata);
	/* without members it is made of the files under meta, as python bloscpack would write it */
	info->metadata.stored_size =
		attributes.size > 0 ? r->set.attributes.text.size : BPK_UNKNOWN;
	info->metadata.room = BPK_CHUNKDIR_MAX_ATTRIBUTES;
	info->metadata.codec = "none";
	return 0;
}

/* The parts that can change unseen. Our digests cover the chunks and their order, and the small
 * files except cbytes, which no reader uses. */
#define FILES "the headers of the data files, cbytes in meta/sizes and a return to earlier sizes"

static const char *unprotected(const struct bpk_chunkdir_reader *r)
{
	const struct bpk_chunkdir *set = &r->set;

	if (set->seal.recorded)
		return "the headers of the data files and a return to an earlier state with its "
		       "seal";
	if (set->sizes.digests.given)
		return set->sizes.digests.has_attributes ? FILES : "the attributes, " FILES;
	if (set->is_table && set->columns[0].digests.given)
		return "the attributes, the names of columns, " FILES;
	return r->info.chunks.checksum->size == 0
		       ? "the chunks and their order, sizes, storage and attributes"
		       : "the order of chunks, sizes, storage and attributes";
}

int bpk_chunkdir_fill_info(struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	const struct bpk_chunkdir *set = &r->set;
	struct bpk_info *info = &r->info;
	uint64_t data_size;

	info->format = "chunked";
	info->variant = bpk_chunkdir_variant(set->layout);
	info->chunks.count = set->nchunks;
	info->chunks.size = set->nchunks > 0 ? set->chunk_rows * set->row_size : BPK_UNKNOWN;
	info->raw_size = set->rows * set->row_size;
	info->chunks.last_size =
		set->nchunks > 0 ? info->raw_size - (set->nchunks - 1) * info->chunks.size : 0;
	info->chunks.typesize = set->array.dtype.size < 256 && !set->has_columns
					? (unsigned)set->array.dtype.size
					: 0;
	if (set->has_columns) {
		info->chunks.composed = "its chunks are those of columns";
		info->directory.ncolumns = set->ncolumns;
	}
	info->directory.has_digests =
		set->sizes.digests.given || (set->is_table && set->columns[0].digests.given);
	info->directory.superchunk_chunks = set->columns[0].superchunk_chunks;
	for (size_t i = 0; i < set->ncolumns; i++)
		info->directory.nfiles += set->columns[i].nfiles;
	info->pending = bpk_dir_pending(r->dir);
	info->seal.sealed = set->seal.recorded || set->seal.marked;
	info->directory.exchangeable =
		(info->directory.has_digests || info->seal.sealed) && info->directory.nfiles > 1;
	info->seal.generation = set->seal.generation;
	memcpy(info->seal.root, set->seal.root, sizeof info->seal.root);
	if (fill_metadata(r, err) != 0 || look_at_first_file(r, err) != 0)
		return -1;
	info->unprotected = unprotected(r);
	if (bpk_dtype_is_opaque(&set->array.dtype))
		info->raw_size = info->chunks.size = info->chunks.last_size = BPK_UNKNOWN;
	info->stored_size = BPK_UNKNOWN;
	if (!bpk_dir_lists(r->dir))
		return 0; /* a request for each file takes too long */
	if (sum_files(r, &data_size, err) != 0)
		return -1;
	info->stored_size = data_size + set->meta_size;
	return 0;
}
