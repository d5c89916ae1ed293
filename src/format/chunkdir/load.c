/*
 * Loads a dataset from its meta files: its layout ("Recognising a directory"), its elements, and
 * the position of its data. Reader and editor call it.
 */
#include "format/chunkdir/meta.h"

#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Recognising ---- */

/* The kinds of entries in the folder data. */
struct data_listing {
	bool bcolz_files;
	bool blaze_files;
	bool blaze_regular; /* one of these is a regular file */
	bool folders;
};

static int look_at_entry(void *arg, const char *name, enum bpk_entry entry)
{
	struct data_listing *found = arg;
	uint64_t number;

	if (entry == BPK_ENTRY_DIRECTORY)
		found->folders = true;
	else if (bpk_chunkdir_is_bcolz_file(name, &number))
		found->bcolz_files = true;
	else if (bpk_chunkdir_is_blaze_file(name, &number)) {
		found->blaze_files = true;
		found->blaze_regular = found->blaze_regular || entry == BPK_ENTRY_FILE;
	}
	return 0;
}

/* The same where entries cannot be listed: by the name that the first file has in each layout. A
 * table of columns has neither. */
static int look_for_first(struct bpk_dir *dir, struct data_listing *found, struct bpk_err *err)
{
	if (bpk_dir_has(dir, "data/__1__.bin", BPK_ENTRY_FILE, &found->blaze_files, err) != 0)
		return -1;
	found->blaze_regular = found->blaze_files;
	return found->blaze_files
		       ? 0
		       : bpk_dir_has(dir, "data/__0.blp", BPK_ENTRY_FILE, &found->bcolz_files, err);
}

/* Test whether attributes exist at bcolz's path, and not at blaze's. */
static int has_bcolz_attributes(struct bpk_dir *dir, bool *has, struct bpk_err *err)
{
	bool blaze;

	*has = false;
	if (bpk_dir_has(dir, "meta/attributes", BPK_ENTRY_FILE, &blaze, err) != 0 || blaze)
		return blaze ? 0 : -1;
	return bpk_dir_has(dir, "__attrs__", BPK_ENTRY_FILE, has, err);
}

/* Find the layout of a dataset that is not a table; *in_columns: a record is stored as columns. */
static int recognise(struct bpk_dir *dir, struct bpk_chunkdir *set, bool *in_columns,
		     struct bpk_err *err)
{
	struct data_listing found = { 0 };
	bool attributes = false;

	if (bpk_dir_lists(dir) ? bpk_dir_list(dir, "data", look_at_entry, &found, err) != 0
			       : look_for_first(dir, &found, err) != 0)
		return -1;
	if (found.bcolz_files && found.blaze_files)
		return bpk_fail(err, BPK_CORRUPT,
				"data: has files of both layouts, __0.blp and __1__.bin");
	set->layout = BPK_CHUNKDIR_BLAZE;
	if (!found.blaze_files && !found.folders &&
	    has_bcolz_attributes(dir, &attributes, err) != 0)
		return -1;
	if (found.bcolz_files || attributes)
		set->layout = BPK_CHUNKDIR_BCOLZ;
	*in_columns = set->layout == BPK_CHUNKDIR_BLAZE && !found.blaze_regular;
	return 0;
}

/* ---- sizes and storage ---- */

/* Both files of an array below home ("" or "x/"). */
struct meta {
	struct bpk_chunkdir_sizes sizes;
	struct bpk_chunkdir_storage storage;
};

static int load_storage(const char *path, struct bpk_view text, struct meta *meta,
			struct bpk_err *err)
{
	if (meta->sizes.digests.given &&
	    bpk_chunkdir_check_crc(text, meta->sizes.digests.storage, err) != 0)
		return bpk_err_subject(err, "%s does not match its digest in sizes", path);
	if (bpk_chunkdir_storage_parse(text, &meta->storage, err) != 0)
		return bpk_err_subject(err, "%s", path);
	return 0;
}

/* Note the mark of a seal, and the digest of storage for its root. */
static int note_storage(struct bpk_view text, struct bpk_chunkdir *set, struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];

	set->seal.marked = bpk_json_member(text, BPK_SEAL_NAME).size > 0;
	if (!set->seal.marked)
		return 0;
	if (bpk_checksum_compute(bpk_checksum_find("sha256"), text, digest, err) != 0)
		return -1;
	memcpy(set->storage_digest, digest, sizeof set->storage_digest);
	return 0;
}

static int load_meta(struct bpk_dir *dir, const char *home, bool no_check, struct meta *meta,
		     struct bpk_chunkdir *set, struct bpk_err *err)
{
	struct bpk_buf path = { 0 }, text = { 0 };
	int rc = -1;

	if (bpk_chunkdir_path(home, "meta/sizes", &path, err) != 0 ||
	    bpk_chunkdir_read(dir, (char *)path.data, BPK_CHUNKDIR_MAX_JSON, &text, err) != 0)
		goto out;
	set->meta_size += text.size;
	set->sizes_seen = bpk_chunkdir_concurrent_add(set->sizes_seen, bpk_buf_view(&text));
	if (bpk_chunkdir_sizes_parse(bpk_buf_view(&text), no_check, &meta->sizes, err) != 0) {
		bpk_err_subject(err, "%s", (char *)path.data);
		goto out;
	}
	set->record.size = 0;
	if (bpk_buf_append(&set->record, bpk_json_member(bpk_buf_view(&text), BPK_SEAL_NAME),
			   err) != 0)
		goto out;
	if (bpk_chunkdir_path(home, "meta/storage", &path, err) != 0 ||
	    bpk_chunkdir_read(dir, (char *)path.data, BPK_CHUNKDIR_MAX_JSON, &text, err) != 0)
		goto out;
	set->meta_size += text.size;
	rc = load_storage((char *)path.data, bpk_buf_view(&text), meta, err);
	if (rc == 0)
		rc = note_storage(bpk_buf_view(&text), set, err);
out:
	bpk_buf_clear(&path);
	bpk_buf_clear(&text);
	return rc;
}

/* Compare nbytes with shape and type; for objects it is the size of pickles. */
static int check_nbytes(const char *home, const struct bpk_chunkdir_sizes *sizes, bool opaque,
			uint64_t size, struct bpk_err *err)
{
	if (opaque || sizes->nbytes == BPK_UNKNOWN || sizes->nbytes == size)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"%smeta/sizes: nbytes is %" PRIu64 ", shape and dtype have %" PRIu64
			" bytes",
			home, sizes->nbytes, size);
}

/* ---- Attributes ---- */

struct bpk_view bpk_chunkdir_trimmed(struct bpk_view text)
{
	static const char spaces[] = " \t\r\n";

	while (text.size > 0 && memchr(spaces, text.data[text.size - 1], 4) != NULL)
		text.size--;
	while (text.size > 0 && memchr(spaces, text.data[0], 4) != NULL)
		text = bpk_view(text.data + 1, text.size - 1);
	return text;
}

/* Check the attributes; the data stay readable without them. */
static int judge_attributes(const struct bpk_chunkdir *set, struct bpk_view text,
			    struct bpk_err *err)
{
	const struct bpk_chunkdir_digests *d = &set->sizes.digests;

	if (d->given && d->has_attributes && bpk_chunkdir_check_crc(text, d->attributes, err) != 0)
		return -1;
	if (bpk_json_check(text, err) != 0)
		return -1;
	if (bpk_json_kind(text) != BPK_JSON_OBJECT)
		return bpk_fail(err, BPK_CORRUPT, "holds no JSON object");
	return 0;
}

static int load_attributes(struct bpk_dir *dir, struct bpk_chunkdir *set, struct bpk_err *err)
{
	struct bpk_err *why = &set->attributes.damage;
	struct bpk_view text, key, value;
	enum bpk_entry entry;
	bool bcolz = true;
	uint64_t size;

	if (set->layout == BPK_CHUNKDIR_BLAZE && has_bcolz_attributes(dir, &bcolz, err) != 0)
		return -1;
	set->attributes.name = bcolz ? "__attrs__" : "meta/attributes";
	if (bpk_dir_look(dir, set->attributes.name, &entry, &size, err) != 0)
		return -1;
	if (entry == BPK_ENTRY_NONE && !set->sizes.digests.has_attributes)
		return 0;
	if (bpk_chunkdir_read(dir, set->attributes.name, BPK_CHUNKDIR_MAX_ATTRIBUTES,
			      &set->attributes.text, why) != 0)
		return bpk_err_is_of_machine(why) ? bpk_fail_as(err, why) : 0;
	set->meta_size += set->attributes.text.size;
	text = bpk_buf_view(&set->attributes.text);
	if (judge_attributes(set, text, why) != 0) {
		if (bpk_err_is_of_machine(why))
			return bpk_fail_as(err, why);
		bpk_err_subject(why, "%s", set->attributes.name);
		return 0;
	}
	set->attributes.has_members = bpk_json_next(text, &(size_t){ 0 }, &key, &value);
	text = bpk_chunkdir_trimmed(text);
	memmove(set->attributes.text.data, text.data, text.size);
	set->attributes.text.size = text.size;
	return 0;
}

/* ---- Arrays ---- */

/* Count the chunks that reader finds, up to the first damaged one. */
static uint64_t count_chunks(void *reader, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_bloscpack_reader_ops;
	uint64_t count = ops->info(reader)->chunks.count;
	struct bpk_where where;

	if (count == BPK_UNKNOWN)
		for (count = 0; ops->locate(reader, count, &where, err) == 0;)
			count++;
	return count;
}

/* Without superchunksize in storage: the number of chunks in the first file. Damage there counts as
 * its end, and is reported when the file is read. */
static int count_in_first_file(struct bpk_dir *dir, const struct bpk_chunkdir *set,
			       const struct bpk_chunkdir_column *column, uint64_t *nchunks,
			       struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_bloscpack_reader_ops;
	const struct bpk_read_options options = { 0 };
	struct bpk_place place = { 0 };
	struct bpk_buf name = { 0 };
	struct bpk_err why = { 0 };
	void *reader = NULL;

	*nchunks = 0;
	if (bpk_chunkdir_file_name(set, column, 0, &name, &why) == 0 &&
	    bpk_dir_source(dir, (char *)name.data, &place.source, &why) == 0 &&
	    ops->open(&place, &options, &reader, &why) == 0) {
		*nchunks = count_chunks(reader, &why);
		ops->close(reader);
	}
	bpk_source_close(place.source);
	bpk_buf_clear(&name);
	*nchunks = bpk_max_u64(*nchunks, 1);
	return bpk_err_pass(&why, err);
}

static int load_array(struct bpk_dir *dir, bool no_check, struct bpk_chunkdir *set,
		      struct bpk_err *err)
{
	struct meta meta = { 0 };
	bool in_columns = false, opaque;
	int rc = -1;

	if (recognise(dir, set, &in_columns, err) != 0 ||
	    load_meta(dir, "", no_check, &meta, set, err) != 0)
		goto out;
	if (set->layout == BPK_CHUNKDIR_BCOLZ && meta.storage.blz)
		set->layout = BPK_CHUNKDIR_BLZ;
	set->sizes = meta.sizes;
	set->array.dtype = meta.storage.dtype;
	set->array.fortran = meta.storage.fortran;
	meta.storage.dtype = (struct bpk_dtype){ 0 };
	set->has_columns =
		in_columns && set->array.dtype.nfields > 0 && set->array.dtype.ndimensions == 0;
	opaque = bpk_dtype_is_opaque(&set->array.dtype);
	if (bpk_array_set_shape(&set->array, meta.sizes.shape, meta.sizes.ndimensions, err) != 0 ||
	    check_nbytes("", &meta.sizes, opaque, set->array.size, err) != 0 ||
	    bpk_chunkdir_add_columns(set, err) != 0)
		goto out;
	for (size_t i = 0; i < set->ncolumns; i++) {
		struct bpk_chunkdir_column *column = &set->columns[i];

		column->chunk_rows = meta.storage.chunk_rows;
		column->superchunk_chunks = 1;
		if (set->layout != BPK_CHUNKDIR_BLAZE)
			continue;
		column->superchunk_chunks = meta.storage.superchunk_chunks;
		if (column->superchunk_chunks == 0 &&
		    count_in_first_file(dir, set, column, &column->superchunk_chunks, err) != 0)
			goto out;
	}
	rc = bpk_chunkdir_count(set, err);
	if (rc == 0 && set->record.size > 0)
		rc = bpk_seal_take(bpk_buf_view(&set->record), set->nchunks, &set->seal, err);
out:
	bpk_chunkdir_storage_clear(&meta.storage);
	return rc;
}

/* ---- Tables ---- */

/* The description of each column of a table, in order. */
struct column_meta {
	char *name;
	char *home;
	struct meta meta;
};

struct table {
	size_t ncolumns;
	struct column_meta *columns;
};

static void table_clear(struct table *table)
{
	for (size_t i = 0; i < table->ncolumns; i++) {
		free(table->columns[i].name);
		free(table->columns[i].home);
		bpk_chunkdir_storage_clear(&table->columns[i].meta.storage);
	}
	free(table->columns);
}

static int parse_column_name(struct table *table, struct bpk_view value, struct bpk_err *err)
{
	struct column_meta *column = &table->columns[table->ncolumns];
	struct bpk_buf text = { 0 };
	bool safe;

	if (bpk_json_kind(value) != BPK_JSON_STRING)
		return bpk_fail(err, BPK_CORRUPT, "\"names\" holds an item that is not a name");
	if (bpk_json_string(value, &text, err) == 0 &&
	    bpk_buf_append(&text, bpk_view("", 1), err) == 0)
		column->name = bpk_strdup((char *)text.data, err);
	safe = column->name != NULL && strlen(column->name) + 1 == text.size &&
	       bpk_chunkdir_is_safe_name(column->name);
	bpk_buf_clear(&text);
	if (column->name == NULL)
		return -1;
	table->ncolumns++;
	if (!safe)
		return bpk_fail(err, BPK_CORRUPT, "column \"%s\" leads elsewhere", column->name);
	for (size_t i = 0; i + 1 < table->ncolumns; i++)
		if (strcmp(table->columns[i].name, column->name) == 0)
			return bpk_fail(err, BPK_CORRUPT, "two columns \"%s\"", column->name);
	return asprintf(&column->home, "%s/", column->name) < 0 ? bpk_fail_memory(err, 256) : 0;
}

static int parse_names(struct table *table, struct bpk_view text, struct bpk_err *err)
{
	struct bpk_view names, value;
	size_t count = 0;

	if (bpk_chunkdir_check_object(text, err) != 0)
		return -1;
	names = bpk_json_member(text, "names");
	if (bpk_json_kind(names) != BPK_JSON_LIST)
		return bpk_fail(err, BPK_CORRUPT, "has no list \"names\"");
	for (size_t at = 0; bpk_json_next(names, &at, NULL, &value);)
		count++;
	if (count == 0 || count > BPK_CHUNKDIR_MAX_COLUMNS)
		return bpk_fail(err, count == 0 ? BPK_UNSUPPORTED : BPK_LIMIT,
				"has %zu columns, expected 1 to %d", count,
				BPK_CHUNKDIR_MAX_COLUMNS);
	table->columns = bpk_calloc(count, sizeof *table->columns, err);
	if (table->columns == NULL)
		return -1;
	for (size_t at = 0; bpk_json_next(names, &at, NULL, &value);)
		if (parse_column_name(table, value, err) != 0)
			return -1;
	return 0;
}

/* The inner dimensions of a column precede the dimensions of its type. */
static int make_field(struct column_meta *column, const struct bpk_chunkdir_sizes *first,
		      struct bpk_field *field, struct bpk_err *err)
{
	const struct bpk_chunkdir_sizes *sizes = &column->meta.sizes;
	struct bpk_dtype *dtype = &field->dtype;
	size_t inner = sizes->ndimensions - 1;

	field->name = column->name;
	column->name = NULL;
	*dtype = column->meta.storage.dtype;
	column->meta.storage.dtype = (struct bpk_dtype){ 0 };
	if (sizes->shape[0] != first->shape[0])
		return bpk_fail(err, BPK_CORRUPT,
				"%smeta/sizes: has %" PRIu64 " rows, the first column %" PRIu64,
				column->home, sizes->shape[0], first->shape[0]);
	if (column->meta.storage.fortran && inner > 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "%smeta/storage: a column in Fortran's order",
				column->home);
	if (inner + dtype->ndimensions > BPK_ARRAY_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_LIMIT, "%smeta/sizes: too many dimensions", column->home);
	memmove(dtype->shape + inner, dtype->shape, dtype->ndimensions * sizeof *dtype->shape);
	bpk_copy(dtype->shape, sizes->shape + 1, inner * sizeof *dtype->shape);
	dtype->ndimensions += inner;
	for (size_t i = 0; i < inner; i++)
		if (dtype->shape[i] == 0 ||
		    !bpk_mul_u64(dtype->size, dtype->shape[i], &dtype->size) ||
		    dtype->size > BPK_CHUNKDIR_MAX_SPAN)
			return bpk_fail(err, BPK_LIMIT,
					"%smeta/sizes: rows of no bytes, or of too many",
					column->home);
	return 0;
}

/* Make the type of a table's rows. */
static int make_record(struct table *table, struct bpk_dtype *record, struct bpk_err *err)
{
	record->fields = bpk_calloc(table->ncolumns, sizeof *record->fields, err);
	if (record->fields == NULL)
		return -1;
	for (size_t i = 0; i < table->ncolumns; i++) {
		struct bpk_field *field = &record->fields[record->nfields++];

		if (make_field(&table->columns[i], &table->columns[0].meta.sizes, field, err) != 0)
			return -1;
		field->offset = record->size;
		record->size += field->dtype.size; /* both far below 2^63 */
		if (record->size > BPK_CHUNKDIR_MAX_SPAN)
			return bpk_fail(err, BPK_LIMIT, "rows have more than %d bytes",
					BPK_CHUNKDIR_MAX_SPAN);
	}
	record->scalar = (struct bpk_scalar){ .kind = 'V',
					      .byte_order = '|',
					      .item_size = (uint32_t)record->size };
	return 0;
}

static int load_columns(struct bpk_dir *dir, bool no_check, struct table *table,
			struct bpk_chunkdir *set, struct bpk_err *err)
{
	for (size_t i = 0; i < table->ncolumns; i++) {
		struct column_meta *column = &table->columns[i];

		if (load_meta(dir, column->home, no_check, &column->meta, set, err) != 0)
			return -1;
		if (column->meta.storage.blz)
			set->layout = BPK_CHUNKDIR_BLZ;
	}
	return 0;
}

static int check_columns(const struct table *table, const struct bpk_chunkdir *set,
			 struct bpk_err *err)
{
	for (size_t i = 0; i < table->ncolumns; i++) {
		const struct bpk_dtype *dtype = set->columns[i].dtype;
		uint64_t size;

		if (!bpk_mul_u64(dtype->size, set->rows, &size))
			size = BPK_UNKNOWN;
		if (check_nbytes(table->columns[i].home, &table->columns[i].meta.sizes,
				 bpk_dtype_is_opaque(dtype), size, err) != 0)
			return -1;
	}
	return 0;
}

static int load_table(struct bpk_dir *dir, bool no_check, struct bpk_chunkdir *set,
		      struct bpk_err *err)
{
	struct table table = { 0 };
	struct bpk_buf text = { 0 };
	int rc = -1;

	set->layout = BPK_CHUNKDIR_BCOLZ;
	set->is_table = set->has_columns = true;
	if (bpk_chunkdir_read(dir, "__rootdirs__", BPK_CHUNKDIR_MAX_JSON, &text, err) != 0)
		goto out;
	set->meta_size += text.size;
	if (parse_names(&table, bpk_buf_view(&text), err) != 0) {
		bpk_err_subject(err, "__rootdirs__");
		goto out;
	}
	if (load_columns(dir, no_check, &table, set, err) != 0 ||
	    make_record(&table, &set->array.dtype, err) != 0 ||
	    bpk_array_set_shape(&set->array, table.columns[0].meta.sizes.shape, 1, err) != 0 ||
	    bpk_chunkdir_add_columns(set, err) != 0)
		goto out;
	for (size_t i = 0; i < set->ncolumns; i++) {
		set->columns[i].chunk_rows = table.columns[i].meta.storage.chunk_rows;
		set->columns[i].superchunk_chunks = 1;
		set->columns[i].digests = table.columns[i].meta.sizes.digests;
	}
	if (bpk_chunkdir_count(set, err) == 0)
		rc = check_columns(&table, set, err);
out:
	table_clear(&table);
	bpk_buf_clear(&text);
	return rc;
}

int bpk_chunkdir_load(struct bpk_dir *dir, bool no_check, struct bpk_chunkdir *set,
		      struct bpk_err *err)
{
	enum bpk_entry entry;
	uint64_t size;
	int rc;

	*set = (struct bpk_chunkdir){ 0 };
	if (bpk_dir_look(dir, "__rootdirs__", &entry, &size, err) != 0)
		return -1;
	rc = entry == BPK_ENTRY_NONE ? load_array(dir, no_check, set, err)
				     : load_table(dir, no_check, set, err);
	if (rc == 0)
		rc = load_attributes(dir, set, err);
	if (rc != 0) {
		uint64_t seen = set->sizes_seen;

		bpk_chunkdir_clear(set);
		set->sizes_seen = seen;
	}
	return rc;
}
