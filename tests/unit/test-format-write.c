/*
 * Readers find the content that writers wrote: Bloscpack in every form of draft, and raw bytes,
 * placed and in order.
 */
#include "unit/archive.h"

#include <sys/stat.h>

static char folder[64];
static char path[96];

/* The parameters for writing an archive: known size, seekable draft. */
struct manner {
	bool sized;
	bool seeks;
	bool no_offsets;
	uint64_t append_space;
	const char *checksum;
	const char *metadata;
};

static const struct manner plain = { true, true, false, BPK_UNKNOWN, "crc32", NULL };

/* A draft on path, a FIFO unless it seeks; *end then reads the FIFO. */
static struct bpk_draft *open_draft(bool seeks, int *end)
{
	struct bpk_draft_options options = { .overwrite = true, .follow_links = true };
	struct bpk_draft *draft = NULL;
	struct bpk_err err = { 0 };

	unlink(path);
	*end = -1;
	if (!seeks) {
		assert_int_equal(mkfifo(path, 0600), 0);
		*end = open(path, O_RDONLY | O_NONBLOCK);
		assert_true(*end >= 0);
		assert_true(fcntl(*end, F_SETPIPE_SZ, 1 << 20) > 0);
	}
	if (bpk_draft_open(path, &options, &draft, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(bpk_draft_seekable(draft), seeks);
	return draft;
}

/* Keep the draft and return its content. */
static struct bpk_buf keep_draft(struct bpk_draft *draft, int end)
{
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };
	int fd = end;
	ssize_t got;

	if (bpk_draft_keep(draft, NULL, &err) != 0)
		fail_msg("%s", err.text);
	if (fd < 0)
		fd = open(path, O_RDONLY);
	assert_int_equal(bpk_buf_reserve(&bytes, 1 << 20, &err), 0);
	while ((got = read(fd, bytes.data + bytes.size, bytes.capacity - bytes.size)) > 0)
		bytes.size += (size_t)got;
	close(fd);
	return bytes;
}

static void fill_parcel(struct bpk_chunk_ctx *ctx, struct bpk_parcel *parcel, struct bpk_view raw)
{
	struct bpk_recipe recipe = { .codec = bpk_codec_find("lz4"), .level = 5, .typesize = 4 };
	struct bpk_err err = { 0 };

	parcel->raw_size = raw.size;
	assert_int_equal(bpk_buf_reserve(&parcel->packed, bpk_chunk_bound(raw.size), &err), 0);
	assert_int_equal(bpk_chunk_encode(ctx, &recipe, raw, bpk_buf_room(&parcel->packed),
					  &parcel->packed_size, &err),
			 0);
}

/* Pass raw to an open writer, cut into chunks. */
static int put_all(const struct bpk_writer_ops *ops, void *writer, struct bpk_view raw,
		   size_t chunk_size, struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	struct bpk_parcel parcel = { 0 };
	size_t done = 0;
	int rc = 0;

	do {
		size_t size = bpk_min_size(chunk_size, raw.size - done);

		fill_parcel(ctx, &parcel, bpk_view(raw.data + done, size));
		rc = ops->seal(writer, &parcel, err);
		if (rc == 0)
			rc = ops->put(writer, &parcel, err);
		done += size;
		parcel.number++;
	} while (rc == 0 && done < raw.size);
	bpk_buf_clear(&parcel.packed);
	bpk_chunk_ctx_free(ctx);
	return rc;
}

static int write_to(struct bpk_draft *draft, struct bpk_view raw, size_t chunk_size,
		    uint64_t announced, const struct manner *how, struct bpk_err *err)
{
	const struct bpk_writer_ops *ops = bpk_format_find("blp")->writer;
	struct bpk_write_options options = { .no_offsets = how->no_offsets,
					     .append_space = how->append_space };
	struct bpk_info info = { .raw_size = announced,
				 .chunks.count = BPK_UNKNOWN,
				 .chunks.size = chunk_size,
				 .chunks.last_size = BPK_UNKNOWN,
				 .chunks.typesize = 4,
				 .chunks.checksum = bpk_checksum_find(how->checksum) };
	void *writer;
	int rc;

	if (how->metadata != NULL) {
		info.metadata.given = true;
		info.metadata.text = bpk_view(how->metadata, strlen(how->metadata));
	}
	if (ops->open(draft, &info, &options, &writer, err) != 0)
		return -1;
	rc = put_all(ops, writer, raw, chunk_size, err);
	if (rc == 0)
		rc = ops->finish(writer, err);
	ops->close(writer);
	return rc;
}

static struct bpk_buf pack(struct bpk_view raw, size_t chunk_size, const struct manner *how)
{
	struct bpk_err err = { 0 };
	int end;
	struct bpk_draft *draft = open_draft(how->seeks, &end);

	if (write_to(draft, raw, chunk_size, how->sized ? raw.size : BPK_UNKNOWN, how, &err) != 0)
		fail_msg("%s", err.text);
	return keep_draft(draft, end);
}

static void no_remark(void *arg, const char *line)
{
	*(bool *)arg = true;
	print_message("# %s\n", line);
}

/* Read an archive as file and pipe; no remark may occur. */
static void check_archive(struct bpk_view archive, struct bpk_view raw, const struct manner *how)
{
	const struct bpk_reader_ops *ops = bpk_format_find("blp")->reader;
	struct bpk_read_options options = { 0 };

	for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++) {
		struct archive_input input;
		struct bpk_buf out = { 0 };
		struct bpk_err err = { 0 };
		const struct bpk_info *info;
		bool remarked = false;
		void *reader;

		archive_input_open(&input, archive, way);
		if (ops->open(&input.place, &options, &reader, &err) != 0 ||
		    (way == ARCHIVE_MEMORY ? archive_drain_twice : archive_drain)(ops, reader, &out,
										  &err) != 0 ||
		    ops->audit(reader, way == ARCHIVE_MEMORY ? no_remark : NULL, &remarked, &err) !=
			    0)
			fail_msg("%s", err.text);
		info = ops->info(reader);
		assert_false(remarked);
		assert_int_equal(out.size, raw.size);
		assert_memory_equal(out.data, raw.data, raw.size);
		assert_int_equal(info->chunks.has_offsets, how->seeks && !how->no_offsets);
		assert_int_equal(ops->positional(reader),
				 info->chunks.has_offsets && way == ARCHIVE_MEMORY);
		assert_int_equal(info->chunks.typesize, 4);
		assert_string_equal(info->chunks.checksum->name, how->checksum);
		assert_int_equal(info->metadata.given, how->metadata != NULL);
		if (how->metadata != NULL) {
			assert_int_equal(info->metadata.text.size, strlen(how->metadata));
			assert_memory_equal(info->metadata.text.data, how->metadata,
					    info->metadata.text.size);
		}
		ops->close(reader);
		bpk_buf_clear(&out);
		archive_input_close(&input);
	}
}

static uint8_t *numbers(size_t size)
{
	uint8_t *raw = test_malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		raw[i] = (uint8_t)(i * i >> 7);
	return raw;
}

static void test_every_form_reads_back(void **state)
{
	static const size_t sizes[] = { 0, 1, 99, 100, 101, 200, 1000, 12345 };
	uint8_t *raw = numbers(12345);

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (unsigned form = 0; form < 8; form++) {
			struct manner how = plain;
			struct bpk_buf archive;

			how.sized = form & 1;
			how.seeks = form & 2;
			how.no_offsets = form & 4;
			archive = pack(bpk_view(raw, sizes[i]), 100, &how);
			check_archive(bpk_buf_view(&archive), bpk_view(raw, sizes[i]), &how);
			bpk_buf_clear(&archive);
		}
	test_free(raw);
}

static void test_every_checksum_seals(void **state)
{
	uint8_t *raw = numbers(250);

	(void)state;
	for (const struct bpk_checksum *c = bpk_checksums; c->name != NULL; c++) {
		struct manner how = plain;
		struct bpk_buf archive;

		how.checksum = c->name;
		archive = pack(bpk_view(raw, 250), 100, &how);
		check_archive(bpk_buf_view(&archive), bpk_view(raw, 250), &how);
		bpk_buf_clear(&archive);
	}
	test_free(raw);
}

static void test_metadata_is_packed_when_that_is_smaller(void **state)
{
	static const char long_text[] =
		"{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}";
	static const char *const texts[] = { "7", long_text };
	uint8_t *raw = numbers(10);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct manner how = plain;
		struct bpk_buf archive;

		how.metadata = texts[i];
		for (unsigned seeks = 0; seeks < 2; seeks++) {
			how.seeks = seeks;
			archive = pack(bpk_view(raw, 10), 100, &how);
			check_archive(bpk_buf_view(&archive), bpk_view(raw, 10), &how);
			/* codec, level, size, ten times the room */
			assert_int_equal(archive.data[32 + 10], i);
			assert_int_equal(archive.data[32 + 11], 6);
			assert_int_equal(bpk_get_le32(archive.data + 32 + 12), strlen(texts[i]));
			assert_int_equal(bpk_get_le32(archive.data + 32 + 16),
					 10 * strlen(texts[i]));
			bpk_buf_clear(&archive);
		}
	}
	test_free(raw);
}

/* Header fields of an archive of 5000 one-byte chunks, and the offset of its first chunk. */
static void check_entries(size_t nchunks, bool sized, uint64_t append_space, uint64_t expected)
{
	struct manner how = plain;
	uint8_t *raw = numbers(nchunks);
	struct bpk_buf archive;

	how.sized = sized;
	how.append_space = append_space;
	archive = pack(bpk_view(raw, nchunks), 1, &how);
	check_archive(bpk_buf_view(&archive), bpk_view(raw, nchunks), &how);
	assert_int_equal(bpk_get_le64(archive.data + 16), nchunks);
	assert_int_equal(bpk_get_le64(archive.data + 24), expected);
	assert_int_equal(bpk_get_le64(archive.data + 32), 32 + 8 * (nchunks + expected));
	bpk_buf_clear(&archive);
	test_free(raw);
}

static void test_entries_are_as_many_as_asked_for(void **state)
{
	(void)state;
	check_entries(3, true, BPK_UNKNOWN, 10);
	check_entries(3, true, 0, 0);
	check_entries(5000, true, 7, 7);
	/* with unknown size: the 1024 reserved entries, or as many as the chunks need */
	check_entries(3, false, BPK_UNKNOWN, 1021);
	check_entries(1014, false, BPK_UNKNOWN, 10);
	check_entries(1015, false, BPK_UNKNOWN, 10);
	check_entries(3, false, 0, 1021);
	check_entries(3, false, 5000, 5000);
	check_entries(1024, false, 0, 0);
	check_entries(1025, false, 0, 0);
	check_entries(4096, false, 1, 1);
	check_entries(4097, false, 1, 1);
	check_entries(5000, false, BPK_UNKNOWN, 10);
}

static void test_small_input_keeps_the_chunk_size(void **state)
{
	uint8_t *raw = numbers(8);
	struct bpk_buf archive = pack(bpk_view(raw, 8), 1 << 20, &plain);

	(void)state;
	assert_int_equal(bpk_get_le32(archive.data + 8), 1 << 20);
	assert_int_equal(bpk_get_le32(archive.data + 12), 8);
	bpk_buf_clear(&archive);
	/* "Zero-length input": 32 + 8 * 11 + 16 + 4 bytes */
	archive = pack(bpk_view(raw, 0), 1 << 20, &plain);
	assert_int_equal(archive.size, 140);
	assert_int_equal(bpk_get_le64(archive.data + 16), 1);
	bpk_buf_clear(&archive);
	test_free(raw);
}

/* "Hex examples", the stream of unknown length: all bytes except those of the chunks. */
static void test_stream_ends_with_the_marker(void **state)
{
	static const uint8_t front[32] = { 'b', 'l', 'p', 'k', 3,   0,   1,   4,
					   8,   0,   0,   0,   255, 255, 255, 255,
					   255, 255, 255, 255, 255, 255, 255, 255 };
	static const uint8_t marker[] = { 2, 1, 0x13, 4, 0, 0, 0, 0, 1, 0, 0, 0, 16, 0, 0, 0 };
	struct manner how = plain;
	struct bpk_buf archive;

	(void)state;
	how.sized = how.seeks = false;
	how.checksum = "adler32";
	archive = pack(bpk_view("ABCDEFGHABCDEFGH", 16), 8, &how);
	assert_int_equal(archive.size, 32 + 2 * 28 + 20);
	assert_memory_equal(archive.data, front, sizeof front);
	assert_memory_equal(archive.data + archive.size - 20, marker, sizeof marker);
	bpk_buf_clear(&archive);
}

static void test_another_total_than_announced_fails(void **state)
{
	static const uint64_t announced[] = { 0, 299, 301, 400, 1000 };
	uint8_t *raw = numbers(300);

	(void)state;
	for (size_t i = 0; i < sizeof announced / sizeof *announced; i++) {
		struct bpk_err err = { 0 };
		int end;
		struct bpk_draft *draft = open_draft(i % 2 == 0, &end);

		assert_int_equal(
			write_to(draft, bpk_view(raw, 300), 100, announced[i], &plain, &err), -1);
		assert_int_equal(err.kind, BPK_FAILED);
		assert_non_null(strstr(err.text, "announced"));
		bpk_draft_drop(draft);
		if (end >= 0)
			close(end);
	}
	test_free(raw);
}

static void put_raw(void *writer, struct bpk_view raw, uint64_t offset, size_t start, size_t size)
{
	struct bpk_parcel parcel = { .raw_offset = offset, .want_start = start, .want_size = size };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_buf_append(&parcel.raw, raw, &err), 0);
	if (bpk_format_raw.writer->put(writer, &parcel, &err) != 0)
		fail_msg("%s", err.text);
	bpk_buf_clear(&parcel.raw);
}

static void test_raw_bytes_are_placed_or_in_order(void **state)
{
	const struct bpk_writer_ops *ops = bpk_format_raw.writer;
	struct bpk_write_options options = { 0 };

	(void)state;
	for (unsigned form = 0; form < 3; form++) {
		struct bpk_info info = { .raw_size = 8,
					 .chunks.size = form == 2 ? 5 : BPK_UNKNOWN,
					 .chunks.count = BPK_UNKNOWN };
		struct bpk_err err = { 0 };
		struct bpk_buf out;
		void *writer;
		int end;
		struct bpk_draft *draft = open_draft(form > 0, &end);

		assert_int_equal(ops->open(draft, &info, &options, &writer, &err), 0);
		assert_int_equal(ops->places(writer), form == 2);
		if (form == 2) {
			put_raw(writer, bpk_view("fgh", 3), 5, 0, 3);
			assert_int_equal(ops->finish(writer, &err), -1);
			put_raw(writer, bpk_view("abcde", 5), 0, 0, 5);
		} else {
			put_raw(writer, bpk_view("zabcdez", 7), 3, 1, 5);
			put_raw(writer, bpk_view("fghz", 4), 10, 0, 3);
		}
		assert_int_equal(ops->finish(writer, &err), 0);
		ops->close(writer);
		out = keep_draft(draft, end);
		assert_int_equal(out.size, 8);
		assert_memory_equal(out.data, "abcdefgh", 8);
		bpk_buf_clear(&out);
	}
}

static void test_raw_bytes_are_read_as_they_are_cut(void **state)
{
	const struct bpk_reader_ops *ops = bpk_format_raw.reader;
	struct bpk_read_options options = { 0 };

	(void)state;
	for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++)
		for (size_t size = 0; size < 12; size++) {
			struct archive_input input;
			struct bpk_parcel parcel = { 0 };
			struct bpk_err err = { 0 };
			size_t done = 0;
			void *reader;
			int rc;

			archive_input_open(&input, bpk_view("abcdefghijkl", size), way);
			assert_int_equal(ops->open(&input.place, &options, &reader, &err), 0);
			assert_int_equal(ops->positional(reader), way == ARCHIVE_MEMORY);
			for (;; parcel.number++, done += parcel.raw_size) {
				parcel.raw_offset = 5 * parcel.number;
				parcel.raw_size = 5;
				rc = ops->fetch(reader, &parcel, &err);
				if (rc != 0 || (size == 0 && parcel.number > 0))
					break;
				assert_memory_equal(parcel.raw.data, &"abcdefghijkl"[done],
						    parcel.raw_size);
			}
			assert_int_equal(rc, 1);
			assert_int_equal(done, size);
			assert_int_equal(parcel.number, size == 0 ? 1 : (size + 4) / 5);
			ops->close(reader);
			bpk_buf_clear(&parcel.raw);
			archive_input_close(&input);
		}
}

static void test_formats_are_found(void **state)
{
	(void)state;
	assert_string_equal(bpk_format_find("blp")->name, "blp");
	assert_string_equal(bpk_format_find("chunk")->name, "chunk");
	assert_null(bpk_format_find("raw"));
	assert_null(bpk_format_find("blpx"));
	assert_string_equal(bpk_format_of_suffix("a/b.blp")->name, "blp");
	assert_null(bpk_format_of_suffix("a/.blp"));
	assert_null(bpk_format_of_suffix(".blp"));
	assert_null(bpk_format_of_suffix("blp"));
}

static int make_folder(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.40s/bpk-XXXXXX", base == NULL ? "/tmp" : base);
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/archive", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_reads_back),
		cmocka_unit_test(test_every_checksum_seals),
		cmocka_unit_test(test_metadata_is_packed_when_that_is_smaller),
		cmocka_unit_test(test_entries_are_as_many_as_asked_for),
		cmocka_unit_test(test_small_input_keeps_the_chunk_size),
		cmocka_unit_test(test_stream_ends_with_the_marker),
		cmocka_unit_test(test_another_total_than_announced_fails),
		cmocka_unit_test(test_raw_bytes_are_placed_or_in_order),
		cmocka_unit_test(test_raw_bytes_are_read_as_they_are_cut),
		cmocka_unit_test(test_formats_are_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
