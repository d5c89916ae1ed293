/*
 * Reading chunked directories: the examples of the specification and datasets made by hand
 * (tests/data), datasets of bcolz, hostile ones, and ones with every bit flipped.
 */
#include "unit/archive.h"

#include <dirent.h>
#include <pthread.h>

#include "lib/memdir.h"

static const struct bpk_reader_ops *ops(void)
{
	return bpk_format_find("chunked")->reader;
}

/* ---- One dataset, read in all ways ---- */

struct outcome {
	int rc; /* 0: opened, fetched, checked, decoded and audited */
	struct bpk_err err;
	struct bpk_buf raw;
	struct bpk_buf told; /* dtype, shape and metadata, as text */
	unsigned remarks;
	char remark[256]; /* the last one */
};

static void outcome_clear(struct outcome *o)
{
	bpk_buf_clear(&o->raw);
	bpk_buf_clear(&o->told);
}

static void take_remark(void *arg, const char *line)
{
	struct outcome *o = arg;

	assert_true(strlen(line) > 0);
	o->remarks++;
	snprintf(o->remark, sizeof o->remark, "%s", line);
}

/* Decode a fetched parcel as flow does. */
static int unpack(void *reader, struct bpk_chunk_ctx *ctx, struct bpk_parcel *parcel, size_t start,
		  size_t size, uint8_t *out, struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);

	parcel->want_start = start;
	parcel->want_size = size;
	if (ops()->unpacks(reader))
		return ops()->unpack(reader, ctx, parcel, bpk_span(out, size), err);
	return bpk_chunk_decode_range(ctx, chunk, start, bpk_span(out, size), err);
}

/* Parts of a parcel, at odd offsets, equal parts of the whole. */
static void compare_parts(void *reader, struct bpk_chunk_ctx *ctx, struct bpk_parcel *parcel,
			  const uint8_t *whole)
{
	uint8_t part[7];
	struct bpk_err err = { 0 };

	for (size_t start = 0; start < parcel->data_size; start += 5) {
		size_t size = bpk_min_size(sizeof part, parcel->data_size - start);

		if (unpack(reader, ctx, parcel, start, size, part, &err) != 0)
			fail_msg("%s", err.text);
		assert_memory_equal(part, whole + start, size);
	}
}

static int drain(void *reader, struct bpk_buf *raw, struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	struct bpk_parcel parcel = { 0 };
	struct bpk_where where;
	int rc = 0;

	for (; rc == 0; parcel.number++) {
		size_t before = raw->size;

		parcel.data_size = parcel.want_size = SIZE_MAX;
		rc = ops()->fetch(reader, &parcel, err);
		if (rc == 0)
			rc = ops()->check(reader, &parcel, err);
		if (rc != 0)
			break;
		parcel.data_size = bpk_min_size(parcel.data_size, parcel.raw_size);
		assert_int_equal(parcel.raw_offset, before);
		assert_int_equal(bpk_buf_resize(raw, before + parcel.data_size, err), 0);
		rc = unpack(reader, ctx, &parcel, 0, parcel.data_size, raw->data + before, err);
		if (rc != 0)
			break;
		compare_parts(reader, ctx, &parcel, raw->data + before);
		assert_int_equal(ops()->locate(reader, parcel.number, &where, err), 0);
		assert_int_equal(where.raw_offset, before);
		assert_int_equal(where.header.raw_size, parcel.raw_size);
	}
	bpk_buf_clear(&parcel.raw);
	bpk_buf_clear(&parcel.packed);
	bpk_chunk_ctx_free(ctx);
	return rc > 0 ? 0 : -1;
}

static void tell(const struct bpk_info *info, struct bpk_buf *told)
{
	struct bpk_err err = { 0 };

	if (info->array.type != NULL) {
		assert_int_equal(bpk_array_print(info->array.type, told, &err), 0);
	}
	if (info->metadata.given)
		assert_int_equal(bpk_buf_append(told, info->metadata.text, &err), 0);
}

static void check_info(const struct bpk_info *info, const struct outcome *o)
{
	uint64_t full = info->chunks.count > 1 ? (info->chunks.count - 1) * info->chunks.size : 0;

	assert_string_equal(info->format, "chunked");
	assert_non_null(info->variant);
	assert_non_null(info->chunks.checksum);
	assert_int_equal(info->raw_size, o->raw.size);
	if (info->chunks.count > 0)
		assert_int_equal(full + info->chunks.last_size, info->raw_size);
	assert_true(info->directory.superchunk_chunks > 0);
}

static struct outcome read_dir(struct bpk_dir *dir, bool no_check)
{
	struct bpk_place place = { .path = "test", .is_directory = true, .directory = dir };
	const struct bpk_read_options options = { .no_check = no_check };
	struct outcome o = { .rc = -1 };
	void *reader = NULL;

	if (ops()->open(&place, &options, &reader, &o.err) != 0)
		return o;
	assert_true(ops()->positional(reader));
	o.rc = drain(reader, &o.raw, &o.err);
	if (o.rc == 0)
		o.rc = ops()->audit(reader, take_remark, &o, &o.err);
	if (o.rc == 0)
		check_info(ops()->info(reader), &o);
	tell(ops()->info(reader), &o.told);
	ops()->close(reader);
	return o;
}

static struct outcome read_path(const char *path)
{
	struct bpk_err err = { 0 };
	struct bpk_dir *dir;
	struct outcome o;

	if (bpk_dir_open(path, NULL, &dir, &err) != 0)
		fail_msg("%s: %s", path, err.text);
	o = read_dir(dir, false);
	bpk_dir_close(dir);
	return o;
}

/* ---- Datasets made by hand, and bcolz's ---- */

static struct bpk_buf read_file(const char *path)
{
	struct bpk_source *source;
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };
	size_t size;

	if (bpk_source_open(path, &source, &err) != 0)
		fail_msg("%s: %s", path, err.text);
	size = (size_t)bpk_source_size(source);
	assert_int_equal(bpk_buf_resize(&bytes, size + 1, &err), 0);
	assert_int_equal(bpk_source_need_at(source, 0, bpk_span(bytes.data, size), &err), 0);
	bytes.data[size] = '\0';
	bytes.size = size;
	bpk_source_close(source);
	return bytes;
}

static void assert_raw(const char *name, const struct outcome *o, struct bpk_view raw)
{
	if (o->rc != 0)
		fail_msg("%s: %s", name, o->err.text);
	if (o->raw.size != raw.size ||
	    (raw.size > 0 && memcmp(o->raw.data, raw.data, raw.size) != 0))
		fail_msg("%s: other bytes came out", name);
}

static void expect_good(const char *path)
{
	struct outcome o = read_path(path);
	struct bpk_buf raw;
	char beside[512];

	snprintf(beside, sizeof beside, "%s.raw", path);
	raw = read_file(beside);
	assert_raw(path, &o, bpk_buf_view(&raw));
	bpk_buf_clear(&raw);
	outcome_clear(&o);
}

static void expect_error(const char *path, bool unsupported)
{
	struct outcome o = read_path(path);
	struct bpk_buf expected;
	char beside[512];

	snprintf(beside, sizeof beside, "%s.error", path);
	expected = read_file(beside);
	expected.data[expected.size - 1] = '\0'; /* drop the newline */
	if (o.rc == 0)
		fail_msg("%s: was read, expected: %s", path, (char *)expected.data);
	if (strstr(o.err.text, (char *)expected.data) == NULL)
		fail_msg("%s: %s, expected: %s", path, o.err.text, (char *)expected.data);
	if (unsupported ? o.err.kind != BPK_UNSUPPORTED
			: o.err.kind != BPK_CORRUPT && o.err.kind != BPK_LIMIT &&
				  o.err.kind != BPK_UNSUPPORTED)
		fail_msg("%s: kind %d: %s", path, (int)o.err.kind, o.err.text);
	bpk_buf_clear(&expected);
	outcome_clear(&o);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
	size_t size = strlen(text), tail = strlen(with);

	return size > tail && strcmp(text + size - tail, with) == 0;
}

static void test_data(void **state)
{
	const char *top = getenv("top_srcdir");
	unsigned good = 0, bad = 0, unsupported = 0;
	const struct dirent *entry;
	char folder[400], path[700];
	DIR *stream;

	(void)state;
	snprintf(folder, sizeof folder, "%s/tests/data/chunkdir", top != NULL ? top : ".");
	stream = opendir(folder);
	assert_non_null(stream);
	while ((entry = readdir(stream)) != NULL) {
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (ends(path, ".raw") || ends(path, ".error"))
			continue;
		if (begins(entry->d_name, "good-")) {
			expect_good(path);
			good++;
		} else if (begins(entry->d_name, "bad-")) {
			expect_error(path, false);
			bad++;
		} else if (begins(entry->d_name, "unsupported-")) {
			expect_error(path, true);
			unsupported++;
		}
	}
	closedir(stream);
	assert_true(good >= 29 && bad >= 60 && unsupported >= 6);
}

static void test_bcolz(void **state)
{
	static const char *const names[] = { "S5",      "bigendian", "bool",   "f4_2d", "f8_exact",
					     "f8_trim", "i4",        "i8_app", "one" };
	const char *fixtures = getenv("BPK_FIXTURES");
	static const char *const columns[] = { "x", "y", "label" };
	static const size_t sizes[] = { 4, 8, 4 };
	struct outcome o;
	char path[512];
	size_t at = 0;

	(void)state;
	if (fixtures == NULL)
		skip();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/bcolz/%s", fixtures, names[i]);
		expect_good(path);
	}
	snprintf(path, sizeof path, "%s/bcolz/table", fixtures);
	o = read_path(path);
	assert_int_equal(o.rc, 0);
	for (size_t c = 0; c < 3; c++) {
		struct bpk_buf raw;

		snprintf(path, sizeof path, "%s/bcolz/table.%s.raw", fixtures, columns[c]);
		raw = read_file(path);
		assert_int_equal(raw.size / sizes[c], o.raw.size / 16);
		for (size_t i = 0; i < raw.size / sizes[c]; i++)
			assert_memory_equal(o.raw.data + 16 * i + at, raw.data + i * sizes[c],
					    sizes[c]);
		at += sizes[c];
		bpk_buf_clear(&raw);
	}
	outcome_clear(&o);
}

/* ---- Datasets in memory ---- */

enum { MOST_FILES = 64 };

/* Files of a dataset on disk, loaded; and a copy to modify. */
struct loaded {
	struct memdir dir;
	struct memdir_file files[MOST_FILES];
	struct bpk_buf bytes[MOST_FILES];
	char names[MOST_FILES][128];
};

static void load(const char *root, const char *below, struct loaded *l)
{
	const struct dirent *entry;
	char path[700], name[128];
	DIR *stream;

	snprintf(path, sizeof path, "%s/%s", root, below);
	stream = opendir(path);
	assert_non_null(stream);
	while ((entry = readdir(stream)) != NULL) {
		size_t n = l->dir.nfiles;

		if (entry->d_name[0] == '.')
			continue;
		assert_true(snprintf(name, sizeof name, "%s%s%s", below, *below ? "/" : "",
				     entry->d_name) < (int)sizeof name);
		if (entry->d_type == DT_DIR) {
			load(root, name, l);
			continue;
		}
		assert_true(n < MOST_FILES);
		snprintf(path, sizeof path, "%s/%s", root, name);
		strcpy(l->names[n], name);
		l->bytes[n] = read_file(path);
		l->files[n].name = l->names[n];
		l->files[n].bytes = bpk_buf_view(&l->bytes[n]);
		l->dir.files = l->files;
		l->dir.nfiles++;
	}
	closedir(stream);
}

static struct loaded *load_data(const char *name)
{
	const char *top = getenv("top_srcdir");
	struct loaded *l = calloc(1, sizeof *l);
	char path[512];

	assert_non_null(l);
	snprintf(path, sizeof path, "%s/tests/data/chunkdir/%s", top != NULL ? top : ".", name);
	load(path, "", l);
	return l;
}

static void unload(struct loaded *l)
{
	for (size_t i = 0; i < l->dir.nfiles; i++)
		bpk_buf_clear(&l->bytes[i]);
	free(l);
}

static struct bpk_buf *file_of(struct loaded *l, const char *name)
{
	for (size_t i = 0; i < l->dir.nfiles; i++)
		if (strcmp(l->names[i], name) == 0)
			return &l->bytes[i];
	fail_msg("no %s", name);
	return NULL;
}

static struct outcome read_loaded(struct loaded *l, bool no_check)
{
	struct bpk_err err = { 0 };
	struct bpk_dir *dir;
	struct outcome o;

	for (size_t i = 0; i < l->dir.nfiles; i++)
		l->files[i].bytes = bpk_buf_view(&l->bytes[i]);
	assert_int_equal(memdir_open(&l->dir, &dir, &err), 0);
	o = read_dir(dir, no_check);
	bpk_dir_close(dir);
	return o;
}

static bool same_buf(const struct bpk_buf *a, const struct bpk_buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Flip every bit of a dataset with digests: effective changes are found. */
static void turn_bits(const char *name)
{
	struct loaded *l = load_data(name);
	struct outcome good = read_loaded(l, false);
	unsigned turned = 0, harmless = 0;

	assert_int_equal(good.rc, 0);
	assert_int_equal(good.remarks, 0);
	for (size_t i = 0; i < l->dir.nfiles; i++)
		for (size_t bit = 0; bit < 8 * l->bytes[i].size; bit++) {
			struct outcome o;

			l->bytes[i].data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			o = read_loaded(l, false);
			turned++;
			harmless += o.rc == 0;
			if (o.rc == 0 &&
			    (!same_buf(&o.raw, &good.raw) || !same_buf(&o.told, &good.told)))
				fail_msg("%s, bit %zu of %s: not found", name, bit, l->names[i]);
			l->bytes[i].data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			outcome_clear(&o);
		}
	/* header typesizes, keys for other programs, and the key "bpk" itself */
	if (harmless > turned / 10)
		fail_msg("%s: %u of %u bits pass", name, harmless, turned);
	outcome_clear(&good);
	unload(l);
}

static void test_bits(void **state)
{
	(void)state;
	turn_bits("good-digests");
	turn_bits("good-digests-columns");
}

/* Cut every file at every length, and remove every file. */
static void test_cuts(void **state)
{
	struct loaded *l = load_data("good-digests");

	(void)state;
	for (size_t i = 0; i < l->dir.nfiles; i++) {
		size_t whole = l->bytes[i].size;

		for (size_t size = 0; size < whole; size++) {
			struct outcome o;

			/* the newline after JSON has no meaning, but the digest covers it */
			l->bytes[i].size = size;
			o = read_loaded(l, false);
			if (o.rc == 0 && size + 1 < whole)
				fail_msg("%s cut to %zu bytes: not found", l->names[i], size);
			outcome_clear(&o);
		}
		l->bytes[i].size = whole;
	}
	unload(l);
}

/* ---- Foreign files ---- */

static void expect_remark(const char *base, const char *name, bool strange, const char *remark,
			  int rc)
{
	struct loaded *l = load_data(base);
	size_t n = l->dir.nfiles++;
	struct outcome o;

	strcpy(l->names[n], name);
	l->files[n] = (struct memdir_file){ .name = l->names[n], .strange = strange };
	o = read_loaded(l, false);
	assert_int_equal(o.rc, rc);
	if (strstr(rc == 0 ? o.remark : o.err.text, remark) == NULL)
		fail_msg("%s: %s %s", name, o.remark, o.err.text);
	assert_int_equal(o.remarks, rc == 0 ? 1 : 0);
	outcome_clear(&o);
	unload(l);
}

static void test_other_files(void **state)
{
	(void)state;
	expect_remark("good-digests", "README", false, "README is not part of the dataset", 0);
	expect_remark("good-digests", "data/__01__.bin", false, "data/__01__.bin is not part", 0);
	expect_remark("good-digests", "data/__0__.bin", false, "data/__0__.bin is not part", 0);
	expect_remark("good-digests", "data/__4__.bin", false,
		      "data/__4__.bin follows the last file that sizes counts", 0);
	expect_remark("good-digests", "data/x/__1__.bin", false, "data/x is not part", 0);
	expect_remark("good-digests", "meta/sizes.old", false, "meta/sizes.old is not part", 0);
	expect_remark("good-digests", "other/deep/file", false, "other is not part", 0);
	expect_remark("good-digests", "link", true, "link is a link, a device or a FIFO", -1);
	expect_remark("good-digests", "data/__4__.bin", true, "data/__4__.bin is a link", -1);
	expect_remark("good-digests", "meta/x", true, "meta/x is a link", -1);
	expect_remark("good-digests-columns", "data/__1__.bin", true, "data/__1__.bin is a link",
		      -1);
	expect_remark("good-digests-columns", "data/p/z", false, "data/p/z is not part", 0);
	expect_remark("good-digests-columns", "data/p/u/z", false, "data/p/u/z is not part", 0);
	expect_remark("good-digests-table", "z/__attrs__", false, "z is not part", 0);
	expect_remark("good-digests-table", "x/data/__2.blp", false, "follows the last", 0);
	expect_remark("good-digests-table", "x/meta/z", false, "x/meta/z is not part", 0);
	expect_remark("good-bcolz", "data/__00.blp", false, "data/__00.blp is not part", 0);
	expect_remark("good-bcolz", "meta/attributes", false, "meta/attributes is not part", 0);
}

static void test_remarks(void **state)
{
	static const struct {
		const char *name;
		unsigned remarks;
		const char *last;
	} rows[] = {
		{ "good-bcolz", 0, "" },
		{ "good-bcolz-stale", 1, "data/__2.blp follows the last" },
		{ "good-bcolz-padded", 1,
		  "its last chunk holds 8 bytes that sizes does not count" },
		{ "good-bcolz-slack", 1, "data/__1.blp: 16 zeros after its chunk" },
		{ "good-blaze-uncommitted", 3, "data/__3__.bin follows the last" },
		{ "good-digests-uncommitted", 2, "holds 1 chunks that sizes does not count" },
		{ "good-digests-table", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct loaded *l = load_data(rows[i].name);
		struct outcome o = read_loaded(l, false);

		if (o.rc != 0 || o.remarks != rows[i].remarks ||
		    strstr(o.remark, rows[i].last) == NULL)
			fail_msg("%s: %u remarks, %s %s", rows[i].name, o.remarks, o.remark,
				 o.err.text);
		outcome_clear(&o);
		unload(l);
	}
}

/* Without checks the total in sizes is ignored. */
static void test_unchecked(void **state)
{
	struct loaded *l = load_data("bad-digests-storage");
	struct outcome o = read_loaded(l, true);

	(void)state;
	assert_int_equal(o.rc, 0);
	outcome_clear(&o);
	unload(l);
}

/* ---- Hostile numbers: small files must stay cheap ---- */

static void put_text(struct bpk_buf *buf, const char *text)
{
	buf->size = 0;
	assert_int_equal(bpk_buf_append(buf, bpk_view(text, strlen(text)), NULL), 0);
}

static void test_huge_counts(void **state)
{
	static const struct {
		const char *sizes, *storage;
	} rows[] = {
		{ "{\"shape\": [2305843009213693951], \"nbytes\": 9223372036854775804}",
		  "{\"dtype\": \"<i4\", \"cparams\": {}, \"chunklen\": 4}" },
		{ "{\"shape\": [9223372036854775807], \"nbytes\": 9223372036854775807}",
		  "{\"dtype\": \"|u1\", \"cparams\": {}, \"chunklen\": 1}" },
		{ "{\"shape\": [9223372036854775807], \"nbytes\": 9223372036854775807}",
		  "{\"dtype\": \"|u1\", \"cparams\": {}, \"chunklen\": 2147483631}" },
		{ "{\"shape\": [1, 9223372036854775807]}",
		  "{\"dtype\": \"|u1\", \"cparams\": {}, \"chunklen\": 1}" },
		{ "{\"shape\": [0, 9223372036854775807]}",
		  "{\"dtype\": \"<i4\", \"cparams\": {}, \"chunklen\": 1}" },
		{ "{\"shape\": [4]}",
		  "{\"dtype\": \"|S4294967295\", \"cparams\": {}, \"chunklen\": 1}" },
	};
	struct loaded *l = load_data("good-bcolz");

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct outcome o;

		put_text(file_of(l, "meta/sizes"), rows[i].sizes);
		put_text(file_of(l, "meta/storage"), rows[i].storage);
		o = read_loaded(l, false);
		assert_int_equal(o.rc, -1);
		assert_true(o.err.kind == BPK_CORRUPT || o.err.kind == BPK_LIMIT);
		outcome_clear(&o);
	}
	unload(l);
}

/* ---- Many threads ---- */

enum { FILES = 80, ROWS = 16, THREADS = 4 };

struct reading {
	void *reader;
	uint32_t seed;
	int failed;
};

static void *read_at_random(void *arg)
{
	struct reading *reading = arg;
	struct unit_random random = { reading->seed };
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(&err);

	for (int i = 0; i < 400 && !reading->failed; i++) {
		uint8_t raw[ROWS];

		parcel.number = unit_random_next(&random) % FILES;
		parcel.want_size = SIZE_MAX;
		reading->failed =
			ops()->fetch(reading->reader, &parcel, &err) != 0 ||
			ops()->check(reading->reader, &parcel, &err) != 0 ||
			bpk_chunk_decode(ctx, bpk_view(parcel.packed.data, parcel.packed_size),
					 bpk_span(raw, sizeof raw), &err) != 0 ||
			raw[3] != (uint8_t)parcel.number;
	}
	bpk_chunk_ctx_free(ctx);
	bpk_buf_clear(&parcel.packed);
	return NULL;
}

/* A superchunk of one stored chunk of ROWS bytes; version 3 with offsets, so that it stays open. */
static void make_superchunk(uint8_t value, struct bpk_buf *out)
{
	uint8_t file[40 + 16 + ROWS] = { 'b', 'l', 'p', 'k', 3, 1, 0, 1, ROWS, 0, 0, 0, ROWS };

	file[16] = 1;
	file[32] = 40;
	memcpy(file + 40, (uint8_t[]){ 2, 1, 0x13, 1, ROWS, 0, 0, 0, ROWS, 0, 0, 0, 16 + ROWS },
	       13);
	memset(file + 56, value, ROWS);
	assert_int_equal(bpk_buf_append(out, bpk_view(file, sizeof file), NULL), 0);
}

static void test_threads(void **state)
{
	static struct memdir_file files[FILES + 2];
	static struct bpk_buf bytes[FILES];
	static char names[FILES][32];
	struct memdir memory = { FILES + 2, files };
	struct bpk_place place = { .path = "test", .is_directory = true };
	const struct bpk_read_options options = { 0 };
	struct reading readings[THREADS];
	pthread_t threads[THREADS];
	struct bpk_err err = { 0 };
	static const char sizes[] = "{\"shape\": [1280], \"nbytes\": 1280}";
	static const char storage[] =
		"{\"dtype\": \"|u1\", \"cparams\": {}, \"chunklen\": 16, \"superchunksize\": 1}";
	void *reader;

	(void)state;
	for (int i = 0; i < FILES; i++) {
		make_superchunk((uint8_t)i, &bytes[i]);
		snprintf(names[i], sizeof names[i], "data/__%d__.bin", i + 1);
		files[i] = (struct memdir_file){ names[i], bpk_buf_view(&bytes[i]), false };
	}
	files[FILES] =
		(struct memdir_file){ "meta/sizes", bpk_view(sizes, sizeof sizes - 1), false };
	files[FILES + 1] = (struct memdir_file){ "meta/storage",
						 bpk_view(storage, sizeof storage - 1), false };
	assert_int_equal(memdir_open(&memory, &place.directory, &err), 0);
	if (ops()->open(&place, &options, &reader, &err) != 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < THREADS; i++) {
		readings[i] = (struct reading){ reader, (uint32_t)i + 1, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, &readings[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_false(readings[i].failed);
	}
	ops()->close(reader);
	bpk_dir_close(place.directory);
	for (int i = 0; i < FILES; i++)
		bpk_buf_clear(&bytes[i]);
}

static void test_owns(void **state)
{
	static const char *const ours[] = {
		"meta/sizes",           "meta/storage",   "meta/attributes", "__attrs__",
		"__rootdirs__",         "data/__1__.bin", "data/__0.blp",    "data/x/__12__.bin",
		"data/x/y/z/__1__.bin", "x/__attrs__",    "x/meta/sizes",    "x/data/__0.blp",
	};
	static const char *const others[] = {
		"README",
		"data/__0__.bin",
		"data/__01.blp",
		"data/x/__0.txt",
		"meta/other",
		"meta/sizes/x",
		"x/y/meta/sizes",
		"data/__1__.bin.bak",
		"sizes",
		"data/",
		"data/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/__1__.bin",
		"data/__-1__.bin",
		"data/__18446744073709551617__.bin",
	};

	(void)state;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (!bpk_format_find("chunked")->owns(ours[i]))
			fail_msg("not owned: %s", ours[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (bpk_format_find("chunked")->owns(others[i]))
			fail_msg("owned: %s", others[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),        cmocka_unit_test(test_bcolz),
		cmocka_unit_test(test_bits),        cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_other_files), cmocka_unit_test(test_remarks),
		cmocka_unit_test(test_unchecked),   cmocka_unit_test(test_huge_counts),
		cmocka_unit_test(test_threads),     cmocka_unit_test(test_owns),
	};

	return UNIT_RUN(tests);
}
