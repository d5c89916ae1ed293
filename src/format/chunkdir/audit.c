/*
 * Accounts for every byte and every file of a dataset: bpk_reader_ops.audit. It checks each
 * superchunk, their number, the digests in sizes, and other files in the directory. Called through
 * the row of reader.c.
 */
#include "format/chunkdir/seal.h"

#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>

enum {
	MOST_AUDITS = 20, /* audits of a dataset that keeps changing */
};

static const struct bpk_reader_ops *const blp = &bpk_bloscpack_reader_ops;

struct audit {
	struct bpk_chunkdir_reader *reader;
	struct bpk_remarks to;
	const char *file;      /* under examination, for remarks */
	struct bpk_buf packed; /* scratch: a chunk, or its header */
	/* Sums of shares since the last comparison. A last chunk that holds more rows than sizes
	 * records is packed again, without these, in each way. */
	uint64_t data, last[BPK_CHUNKDIR_WAYS];
	/* Gets data and last of an array, whether sizes has digests or not; NULL: not wanted. */
	struct bpk_chunkdir_digests *found;
	struct bpk_err *err;
	const struct bpk_chunkdir_column *column; /* owner of the folder listed; NULL: no column */
	const char *folder;
};

static void remark_on_file(void *arg, const char *line)
{
	const struct audit *a = arg;

	bpk_remark(&a->to, "%s: %s", a->file, line);
}

/* ---- One superchunk ---- */

/* The digests that cover a column, and the column's number among those they cover. */
static const struct bpk_chunkdir_digests *digests_of(const struct bpk_chunkdir *set, size_t column,
						     size_t *number)
{
	*number = set->is_table ? 0 : column;
	return set->is_table ? &set->columns[column].digests : &set->sizes.digests;
}

/* Read the bytes that a chunk's share covers: all, if the chunk has no digest. */
static int read_shared(struct audit *a, struct bpk_chunkdir_file *file,
		       const struct bpk_where *where, struct bpk_err *err)
{
	bool digested = file->info->chunks.checksum->size > 0;
	struct bpk_source *source = file->part != NULL ? file->part : file->whole;
	struct bpk_buf *packed = &a->packed;
	size_t size = digested ? BPK_CHUNK_HEADER_SIZE : where->header.packed_size;

	return bpk_buf_resize(packed, size, err) != 0
		       ? -1
		       : bpk_source_need_at(source, where->packed_offset,
					    bpk_span(packed->data, size), err);
}

/* The rows of a last chunk that sizes does not count are those of an append which was interrupted
 * before its commit. The others must be those that sizes records. */
static int audit_longer(struct audit *a, struct bpk_chunkdir_file *file, size_t column,
			uint64_t number, const struct bpk_where *where, uint64_t need,
			struct bpk_err *err)
{
	const struct bpk_chunks_info *chunks = &a->reader->info.chunks;
	const struct bpk_chunkdir_longer longer = {
		.source = file->part != NULL ? file->part : file->whole,
		.where = where,
		.checksum = file->info->chunks.checksum,
		.first = chunks->has_first ? &chunks->first : NULL,
		.column = column,
		.number = number,
		.need = need,
	};

	return bpk_chunkdir_longer_shares(&longer, a->last, err);
}

/* Check the size of a chunk, by its number in the column, and add its share. */
static int audit_chunk(struct audit *a, struct bpk_chunkdir_file *file, uint64_t number,
		       const struct bpk_where *where, struct bpk_err *err)
{
	const struct bpk_chunkdir *set = &a->reader->set;
	const struct bpk_chunkdir_column *column = &set->columns[file->column];
	uint64_t need = bpk_chunkdir_chunk_size(set, column, number);
	uint64_t full = column->chunk_rows * set->row_items * column->item_size;
	uint64_t raw_size = where->header.raw_size;
	const struct bpk_chunkdir_digests *digests;
	size_t number_of_column;
	bool last = number == column->nchunks - 1;
	uint64_t share;

	if (raw_size != need && !(last && raw_size > need && raw_size <= full))
		return bpk_fail(err, BPK_CORRUPT,
				"chunk %" PRIu64 " at offset %" PRIu64 ": it unpacks to %" PRIu64
				" bytes, sizes and storage say %s%" PRIu64,
				bpk_chunkdir_position(column, number), where->packed_offset,
				raw_size, last ? "at least " : "", need);
	if (raw_size > need)
		bpk_remark(&a->to,
			   "%s: its last chunk holds %" PRIu64 " bytes that sizes does not count",
			   file->name, raw_size - need);
	digests = digests_of(set, file->column, &number_of_column);
	if (!digests->given && a->found == NULL)
		return 0;
	if (raw_size > need)
		return audit_longer(a, file, number_of_column, number, where, need, err);
	if (read_shared(a, file, where, err) != 0)
		return -1;
	share = bpk_chunkdir_share(number_of_column, number, bpk_buf_view(&a->packed),
				   bpk_view(where->digest, file->info->chunks.checksum->size));
	a->data += need == full ? share : 0;
	for (size_t way = 0; need < full && way < BPK_CHUNKDIR_WAYS; way++)
		a->last[way] += share;
	return 0;
}

/* Check all chunks of a file within the rows, then count those after them. */
static int audit_chunks(struct audit *a, struct bpk_chunkdir_file *file, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *column = &a->reader->set.columns[file->column];
	uint64_t first = file->number * column->superchunk_chunks;
	uint64_t count = bpk_min_u64(column->superchunk_chunks, column->nchunks - first);
	bool last = first + count == column->nchunks;
	struct bpk_where where;
	uint64_t position = 0;
	int rc;

	while ((rc = blp->locate(file->reader, position, &where, err)) == 0) {
		if (position < count && audit_chunk(a, file, first + position, &where, err) != 0)
			return -1;
		position++;
		if (position > count && !last)
			return bpk_fail(err, BPK_CORRUPT,
					"holds more chunks than the %" PRIu64
					" that storage gives for each file",
					count);
	}
	if (rc < 0)
		return -1;
	if (position < count)
		return bpk_fail(err, BPK_CORRUPT, "holds %" PRIu64 " chunks, expected %" PRIu64,
				position, count);
	if (position > count)
		bpk_remark(&a->to, "%s: holds %" PRIu64 " chunks that sizes does not count",
			   file->name, position - count);
	return 0;
}

/* The root of a seal has one checksum for all. */
static int check_checksum(const struct audit *a, const struct bpk_chunkdir_file *file,
			  struct bpk_err *err)
{
	const struct bpk_checksum *checksum = a->reader->info.chunks.checksum;
	const struct bpk_seal *seal = &a->reader->set.seal;

	if ((!seal->marked && !seal->recorded) || file->info->chunks.checksum == checksum)
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "its checksum is %s, the first file's %s",
			file->info->chunks.checksum->name, checksum->name);
}

static int audit_file(struct audit *a, struct bpk_chunkdir_file *file, struct bpk_err *err)
{
	a->file = file->name;
	if (blp->audit(file->reader, remark_on_file, a, err) != 0 ||
	    audit_chunks(a, file, err) != 0 || bpk_chunkdir_file_check_end(file, err) != 0 ||
	    check_checksum(a, file, err) != 0)
		return bpk_err_subject(err, "%s", file->name);
	if (file->tail > 0)
		bpk_remark(&a->to, "%s: %" PRIu64 " zeros after its chunk", file->name, file->tail);
	return 0;
}

static int compare(struct audit *a, const struct bpk_chunkdir_digests *digests, const char *home,
		   struct bpk_err *err)
{
	bool same = false;

	for (size_t way = 0; way < BPK_CHUNKDIR_WAYS; way++)
		same = same || digests->last == a->last[way];
	same = !digests->given || (same && digests->data == a->data);
	if (a->found != NULL) {
		a->found->data = a->data;
		a->found->last = a->last[0];
	}
	a->data = 0;
	memset(a->last, 0, sizeof a->last);
	if (same)
		return 0;
	return bpk_fail(
		err, BPK_CORRUPT,
		"%smeta/sizes: its digests do not match the chunks: some were changed or swapped, "
		"or come from another state of the dataset",
		home);
}

static int audit_columns(struct audit *a, struct bpk_err *err)
{
	struct bpk_chunkdir_reader *r = a->reader;

	for (size_t i = 0; i < r->set.ncolumns; i++) {
		const struct bpk_chunkdir_column *column = &r->set.columns[i];

		for (uint64_t n = 0; n < column->nfiles; n++) {
			struct bpk_chunkdir_file *file;
			int rc;

			if (bpk_chunkdir_file_open(r->files, i, n, &file, err) != 0)
				return -1;
			rc = audit_file(a, file, err);
			bpk_chunkdir_file_close(r->files, file);
			if (rc != 0)
				return -1;
		}
		if (r->set.is_table && compare(a, &column->digests, column->home, err) != 0)
			return -1;
	}
	return r->set.is_table ? 0 : compare(a, &r->set.sizes.digests, "", err);
}

/* ---- Other files ---- */

/* Report an entry that is not part of the dataset. A link or device is damage: no writer makes
 * it. */
static int foreign(struct audit *a, const char *name, enum bpk_entry entry)
{
	const char *slash = *a->folder == '\0' ? "" : "/";

	if (entry == BPK_ENTRY_OTHER)
		return bpk_fail(a->err, BPK_CORRUPT,
				"%s%s%s is a link, a device or a FIFO, expected files and folders",
				a->folder, slash, name);
	bpk_remark(&a->to, "%s%s%s is not part of the dataset", a->folder, slash, name);
	return 0;
}

/* Check an entry of a folder of data files. */
static int look_at_data(struct audit *a, const char *name, enum bpk_entry entry)
{
	bool blaze = a->reader->set.layout == BPK_CHUNKDIR_BLAZE;
	uint64_t number;
	bool ours = entry == BPK_ENTRY_FILE && (blaze ? bpk_chunkdir_is_blaze_file
						      : bpk_chunkdir_is_bcolz_file)(name, &number);

	if (!ours)
		return foreign(a, name, entry);
	if (number >= a->column->nfiles)
		bpk_remark(&a->to, "%s/%s follows the last file that sizes counts", a->folder,
			   name);
	return 0;
}

/* True if path is a folder of data files, or a parent of one. */
static bool leads_to_data(const struct bpk_chunkdir *set, const char *path, size_t *column)
{
	size_t size = strlen(path);
	bool leads = false;

	*column = set->ncolumns;
	for (size_t i = 0; i < set->ncolumns; i++) {
		const char *folder = set->columns[i].folder;

		if (strncmp(folder, path, size) != 0)
			continue;
		if (folder[size] == '\0')
			*column = i;
		leads = leads || folder[size] == '\0' || folder[size] == '/';
	}
	return leads;
}

static int list(struct audit *a, const char *folder);

/* True if path is home followed by name. */
static bool is_below(const char *path, const char *home, const char *name)
{
	size_t size = strlen(home);

	return strncmp(path, home, size) == 0 && strcmp(path + size, name) == 0;
}

/* True if path is one of the names below the root, or below a column of a table. */
static bool is_at_home(const struct bpk_chunkdir *set, const char *path, const char *const *names)
{
	size_t nhomes = set->is_table ? set->ncolumns : 1;

	for (; *names != NULL; names++)
		for (size_t i = 0; i < nhomes; i++)
			if (is_below(path, set->columns[i].home, *names))
				return true;
	return false;
}

static bool is_meta(const struct bpk_chunkdir *set, const char *path)
{
	static const char *const array[] = { "meta/sizes", "meta/storage", NULL };
	static const char *const column[] = { "meta/sizes", "meta/storage", "__attrs__", NULL };

	if (strcmp(path, set->attributes.name) == 0 ||
	    (set->is_table && strcmp(path, "__rootdirs__") == 0))
		return true;
	return is_at_home(set, path, set->is_table ? column : array);
}

static bool is_meta_folder(const struct bpk_chunkdir *set, const char *path)
{
	static const char *const names[] = { "meta", NULL };

	return is_at_home(set, path, names);
}

static int visit_entry(void *arg, const char *name, enum bpk_entry entry)
{
	struct audit *a = arg;
	const struct bpk_chunkdir *set = &a->reader->set;
	struct bpk_buf path = { 0 };
	const char *full;
	size_t column;
	int rc = -1;

	if (bpk_buf_printf(&path, a->err, "%s%s%s", a->folder, *a->folder == '\0' ? "" : "/",
			   name) != 0 ||
	    bpk_buf_append(&path, bpk_view("", 1), a->err) != 0)
		goto out;
	full = (const char *)path.data;
	if (entry == BPK_ENTRY_DIRECTORY &&
	    (is_meta_folder(set, full) || leads_to_data(set, full, &column)))
		rc = list(a, full);
	else if (a->column != NULL)
		rc = look_at_data(a, name, entry);
	else if (entry == BPK_ENTRY_FILE && is_meta(set, full))
		rc = 0;
	else
		rc = foreign(a, name, entry);
out:
	bpk_buf_clear(&path);
	return rc;
}

/* Check every entry of a folder, and of the dataset's folders below it. */
static int list(struct audit *a, const char *folder)
{
	const struct bpk_chunkdir *set = &a->reader->set;
	const struct bpk_chunkdir_column *column_before = a->column;
	const char *folder_before = a->folder;
	size_t column;
	int rc;

	leads_to_data(set, folder, &column);
	a->folder = folder;
	a->column = column < set->ncolumns ? &set->columns[column] : NULL;
	rc = bpk_dir_list(a->reader->dir, folder, visit_entry, a, a->err);
	a->folder = folder_before;
	a->column = column_before;
	return rc;
}

/* ---- The whole ---- */

/* Check the attributes and the data files. */
static int audit_parts(struct audit *a, struct bpk_err *err)
{
	const struct bpk_chunkdir *set = &a->reader->set;
	int rc = 0;

	if (set->attributes.damage.kind != BPK_OK)
		return bpk_fail_as(err, &set->attributes.damage);
	if (!bpk_dtype_is_opaque(&set->array.dtype))
		rc = audit_columns(a, err);
	bpk_buf_clear(&a->packed);
	return rc;
}

int bpk_chunkdir_audit_unsealed(struct bpk_chunkdir_reader *r, struct bpk_chunkdir_digests *found,
				struct bpk_err *err)
{
	struct audit a = {
		.reader = r, .to = { bpk_remark_ignore, NULL }, .err = err, .found = found
	};

	return audit_parts(&a, err);
}

static int audit_all(struct bpk_chunkdir_reader *r, bpk_remark_fn *remark, void *arg,
		     struct bpk_err *err)
{
	struct audit a = { .reader = r, .to = { remark, arg }, .err = err };
	int rc = audit_parts(&a, err);

	if (rc == 0)
		rc = bpk_chunkdir_seal_audit(r, err);
	if (rc == 0 && bpk_dir_lists(r->dir))
		rc = list(&a, "");
	else if (rc == 0)
		bpk_remark_unlisted(&a.to);
	return rc;
}

/* True if a change by a writer looked like damage. */
static bool was_changed(const struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	bool damaged = err->kind == BPK_CORRUPT;

	bpk_chunkdir_concurrent_judge(r, err);
	return damaged && err->kind != BPK_CORRUPT;
}

/* A dataset that a writer changed meanwhile is audited again, in its new state. */
int bpk_chunkdir_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_chunkdir_reader_ops;
	struct bpk_chunkdir_reader *r = reader;
	struct bpk_place place = { .is_directory = true, .directory = r->dir };
	struct bpk_err found = { 0 };
	void *now = reader;
	int rc = audit_all(r, remark, arg, &found);

	for (int i = 0; rc != 0 && was_changed(now, &found) && i < MOST_AUDITS; i++) {
		if (now != reader)
			ops->close(now);
		found = (struct bpk_err){ 0 };
		rc = ops->open(&place, &r->options, &now, &found);
		if (rc != 0)
			break;
		rc = audit_all(now, remark, arg, &found);
		r->info.seal = ops->info(now)->seal;
	}
	if (now != reader && now != NULL)
		ops->close(now);
	if (rc != 0 && err != NULL)
		*err = found;
	return rc;
}
