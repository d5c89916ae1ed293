/*
 * Shared by tests of chunked directories: datasets written, read, verified and changed through
 * flow, and directories compared byte for byte.
 */
#ifndef BPK_TESTS_CHUNKDIR_H
#define BPK_TESTS_CHUNKDIR_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/unit.h"

#include "flow/flow.h"
#include "format/chunkdir/output.h"

/* The parameters for writing a dataset. */
struct chunkdir_way {
	const char *dtype; /* NULL: bytes */
	size_t ndimensions;
	uint64_t shape[4];
	bool fortran;
	const char *metadata; /* NULL: no metadata */
	const char *layout;
	const char *checksum;
	const char *codec; /* NULL: lz4 */
	unsigned level;    /* 0: 5 */
	unsigned typesize;
	uint64_t chunk_size;
	uint64_t superchunk_size;
	bool unsized; /* its length is unknown in advance */
	unsigned threads;
};

static inline struct bpk_view chunkdir_text(const char *text)
{
	return bpk_view(text, strlen(text));
}

/* The array of these parameters; false for bytes. */
static inline bool chunkdir_array(const struct chunkdir_way *way, struct bpk_array *array)
{
	struct bpk_err err = { 0 };

	*array = (struct bpk_array){ 0 };
	if (way->dtype == NULL)
		return false;
	if (bpk_dtype_parse(chunkdir_text(way->dtype), &array->dtype, &err) != 0 ||
	    bpk_array_set_shape(array, way->shape, way->ndimensions, &err) != 0)
		fail_msg("%s", err.text);
	array->fortran = way->fortran;
	return true;
}

/* The given typesize, or that of the elements. */
static inline unsigned chunkdir_typesize(const struct chunkdir_way *way)
{
	struct bpk_array array;
	unsigned size = way->typesize > 0 ? way->typesize : 1;

	if (chunkdir_array(way, &array) && way->typesize == 0)
		size = bpk_chunkdir_typesize(&array.dtype);
	bpk_array_clear(&array);
	return size;
}

static inline struct bpk_recipe chunkdir_recipe(const struct chunkdir_way *way)
{
	return (struct bpk_recipe){ .codec = bpk_codec_find(way->codec ? way->codec : "lz4"),
				    .level = way->level > 0 ? way->level : 5,
				    .typesize = chunkdir_typesize(way),
				    .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE) };
}

static inline int chunkdir_remove_one(const char *path, const struct stat *found, int flag,
				      struct FTW *where)
{
	(void)found;
	(void)flag;
	(void)where;
	return remove(path);
}

static inline void chunkdir_remove(const char *path)
{
	nftw(path, chunkdir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Pass raw, cut into chunks, to a writer or an editor's appender. */
static inline int chunkdir_feed(const struct bpk_writer_ops *out, void *writer, struct bpk_view raw,
				uint64_t chunk_size, uint64_t first_number,
				const struct bpk_recipe *recipe, unsigned threads,
				struct bpk_err *err)
{
	const struct bpk_reader_ops *in = bpk_format_raw.reader;
	struct bpk_read_options options = { 0 };
	struct bpk_place place = { .path = "memory" };
	const struct bpk_packing packing = { .choice.recipe = *recipe };
	struct bpk_flow flow = { .in = in,
				 .out = out,
				 .writer = writer,
				 .plan = bpk_plan_cut(raw.size, chunk_size),
				 .packing = &packing,
				 .first_number = first_number,
				 .compare = true,
				 .limits.threads = threads > 0 ? threads : 1 };
	struct bpk_flow_result result;
	int rc;

	assert_int_equal(bpk_source_of_memory(raw, &place.source, err), 0);
	assert_int_equal(in->open(&place, &options, &flow.reader, err), 0);
	rc = bpk_flow_run(&flow, &result, err);
	in->close(flow.reader);
	bpk_place_close(&place);
	return rc;
}

/* Write raw as the directory path, replacing it. */
static inline int chunkdir_write(const char *path, struct bpk_view raw,
				 const struct chunkdir_way *way, struct bpk_err *err)
{
	const struct bpk_writer_ops *ops = &bpk_chunkdir_writer_ops;
	struct bpk_draft_options draft_options = { .directory = true, .ours = bpk_chunkdir_owns };
	struct bpk_recipe recipe = chunkdir_recipe(way);
	struct bpk_write_options options = { .layout = way->layout,
					     .superchunk_size = way->superchunk_size,
					     .append_space = BPK_UNKNOWN,
					     .recipe = &recipe };
	struct bpk_array array;
	struct bpk_info info = { .raw_size = way->unsized ? BPK_UNKNOWN : raw.size,
				 .chunks.count = BPK_UNKNOWN,
				 .chunks.size = way->chunk_size,
				 .chunks.last_size = BPK_UNKNOWN,
				 .chunks.typesize = recipe.typesize,
				 .chunks.checksum = bpk_checksum_find(way->checksum ? way->checksum
										    : "crc32") };
	struct bpk_draft *draft = NULL;
	void *writer = NULL;
	int rc = -1;

	if (chunkdir_array(way, &array))
		info.array.type = &array;
	if (way->metadata != NULL) {
		info.metadata.given = true;
		info.metadata.text = chunkdir_text(way->metadata);
	}
	chunkdir_remove(path);
	if (bpk_draft_open(path, &draft_options, &draft, err) != 0)
		goto out;
	if (ops->open(draft, &info, &options, &writer, err) != 0)
		goto out;
	if (chunkdir_feed(ops, writer, raw, way->chunk_size, 0, &recipe, way->threads, err) != 0 ||
	    ops->finish(writer, err) != 0)
		goto out;
	rc = 0;
out:
	if (writer != NULL)
		ops->close(writer);
	if (rc == 0)
		rc = bpk_draft_keep(draft, NULL, err);
	else
		bpk_draft_drop(draft);
	bpk_array_clear(&array);
	return rc;
}

/* A dataset open for reading. */
struct chunkdir_input {
	struct bpk_place place;
	void *reader;
	const struct bpk_info *info;
};

static inline int chunkdir_open(const char *path, struct chunkdir_input *input, struct bpk_err *err)
{
	struct bpk_read_options options = { 0 };

	*input = (struct chunkdir_input){ 0 };
	if (bpk_place_open(path, NULL, &input->place, err) != 0)
		return -1;
	if (bpk_chunkdir_reader_ops.open(&input->place, &options, &input->reader, err) != 0) {
		input->reader = NULL;
		return -1;
	}
	input->info = bpk_chunkdir_reader_ops.info(input->reader);
	return 0;
}

static inline void chunkdir_close(struct chunkdir_input *input)
{
	if (input->reader != NULL)
		bpk_chunkdir_reader_ops.close(input->reader);
	bpk_place_close(&input->place);
}

/* Append all raw bytes of a reader to out. */
static inline int chunkdir_drain(void *reader, struct bpk_buf *out, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_chunkdir_reader_ops.info(reader);
	const struct bpk_view_options options = { .nchunks = 2 };
	struct bpk_source *source = NULL;
	size_t got;
	int rc;

	if (info->raw_size == 0)
		return 0;
	if (bpk_view_open(&bpk_chunkdir_reader_ops, reader, &options, &source, err) != 0)
		return -1;
	rc = bpk_buf_resize(out, (size_t)info->raw_size, err);
	if (rc == 0)
		rc = bpk_source_read_at(source, 0, bpk_span(out->data, out->size), &got, err);
	if (rc == 0)
		assert_int_equal(got, out->size);
	bpk_source_close(source);
	return rc;
}

static inline void chunkdir_remark(void *arg, const char *line)
{
	(*(int *)arg)++;
	print_message("# %s\n", line);
}

/* Do all checks of verify; count the remarks. */
static inline int chunkdir_verify(const char *path, int *remarks, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_chunkdir_reader_ops;
	struct chunkdir_input input;
	struct bpk_flow_result result;
	int rc;

	*remarks = 0;
	if (chunkdir_open(path, &input, err) != 0) {
		chunkdir_close(&input);
		return -1;
	}
	rc = bpk_flow_run(&(struct bpk_flow){ .in = ops,
					      .reader = input.reader,
					      .plan = bpk_plan_all(input.info),
					      .check = true,
					      .decode = true,
					      .limits.threads = 1 },
			  &result, err);
	if (rc == 0)
		rc = ops->audit(input.reader, chunkdir_remark, remarks, err);
	chunkdir_close(&input);
	return rc;
}

/* Assert that the dataset is sound and unpacks to raw. */
static inline void chunkdir_check(const char *path, struct bpk_view raw)
{
	struct chunkdir_input input;
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };
	int remarks;

	if (chunkdir_open(path, &input, &err) != 0 || chunkdir_drain(input.reader, &out, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(out.size, raw.size);
	if (raw.size > 0)
		assert_memory_equal(out.data, raw.data, raw.size);
	chunkdir_close(&input);
	bpk_buf_clear(&out);
	if (chunkdir_verify(path, &remarks, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(remarks, 0);
}

/* The bytes of the file PATH/NAME. */
static inline struct bpk_buf chunkdir_slurp(const char *path, const char *name)
{
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };
	struct stat found;
	char full[512];
	FILE *file;

	snprintf(full, sizeof full, "%s%s%s", path, *name ? "/" : "", name);
	file = fopen(full, "rb");
	if (file == NULL || fstat(fileno(file), &found) != 0)
		fail_msg("%s is missing", full);
	assert_int_equal(bpk_buf_resize(&bytes, (size_t)found.st_size, &err), 0);
	if (bytes.size > 0)
		assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
	return bytes;
}

struct chunkdir_listing {
	struct bpk_buf all;
	size_t root;
	bool data_alone;
	struct bpk_err err;
};

static inline bool chunkdir_ends_in(const char *name, const char *end)
{
	return strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/* Replace the eight digits after a key by blanks. */
static inline void chunkdir_blank(struct bpk_buf *text, const char *key)
{
	uint8_t *found = memmem(text->data, text->size, key, strlen(key));

	if (found != NULL)
		memset(found + strlen(key), '-', 8);
}

static inline int chunkdir_list_one(void *arg, const char *file, uint64_t size)
{
	struct chunkdir_listing *l = arg;
	struct bpk_buf bytes;

	(void)size;
	if (l->data_alone &&
	    (chunkdir_ends_in(file, "/meta/storage") || chunkdir_ends_in(file, "/.lock")))
		return 0;
	bytes = chunkdir_slurp(file, "");
	if (l->data_alone && chunkdir_ends_in(file, "/meta/sizes")) {
		chunkdir_blank(&bytes, "\"storage\": \"");
		chunkdir_blank(&bytes, "\"sizes\": \"");
	}
	assert_int_equal(bpk_buf_printf(&l->all, &l->err, "%s %zu\n", file + l->root, bytes.size),
			 0);
	assert_int_equal(bpk_buf_append(&l->all, bpk_buf_view(&bytes), &l->err), 0);
	bpk_buf_clear(&bytes);
	return 0;
}

static inline void chunkdir_unreadable(void *arg, const struct bpk_err *err)
{
	(void)arg;
	fail_msg("%s", err->text);
}

/* All files below path, with names, sizes and bytes; for bpk_buf_clear. data_alone: without the
 * lock, and without storage, which records how the writing began, and its dependants. */
static inline struct bpk_buf chunkdir_listing(const char *path, bool data_alone)
{
	struct chunkdir_listing l = { .root = strlen(path), .data_alone = data_alone };

	if (bpk_walk(path, NULL, chunkdir_list_one, chunkdir_unreadable, &l, &l.err) != 0)
		fail_msg("%s", l.err.text);
	return l.all;
}

static inline void chunkdir_fill(struct bpk_buf *raw, size_t size, uint64_t seed)
{
	struct unit_random random = { seed };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_buf_resize(raw, size, &err), 0);
	for (size_t i = 0; i < size; i++)
		raw->data[i] = (uint8_t)(i % 8 < 2 ? unit_random_next(&random) : i >> 8);
}

#endif
