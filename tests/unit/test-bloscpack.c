/*
 * Reading Bloscpack files: the examples of the specification, archives made by hand (tests/data),
 * archives of other programs, and archives cut at every byte and with every bit flipped.
 */
#include "unit/archive.h"

#include <dirent.h>
#include <malloc.h>

static const struct bpk_reader_ops *blp(void)
{
	return bpk_format_find("blp")->reader;
}

static bool same(struct bpk_view a, struct bpk_view b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The result of reading one archive. */
struct outcome {
	int open;  /* 0 or -1 */
	int drain; /* the same; everything was fetched, checked and decoded */
	int audit;
	bool positional;
	unsigned remarks;
	struct bpk_err err; /* of the first failure */
	struct bpk_buf raw;
};

static void count_remark(void *arg, const char *line)
{
	assert_true(strlen(line) > 0);
	++*(unsigned *)arg;
}

static struct outcome read_archive(struct bpk_view bytes, enum archive_way way,
				   struct bpk_read_options options)
{
	const struct bpk_reader_ops *ops = blp();
	struct outcome o = { .open = -1, .drain = -1, .audit = -1 };
	struct archive_input input;
	void *reader;

	archive_input_open(&input, bytes, way);
	o.open = ops->open(&input.place, &options, &reader, &o.err);
	if (o.open == 0) {
		struct bpk_err err = { 0 };

		o.positional = ops->positional(reader);
		o.drain = (way == ARCHIVE_MEMORY ? archive_drain_twice
						 : archive_drain)(ops, reader, &o.raw, &o.err);
		o.audit = ops->audit(reader, count_remark, &o.remarks, &err);
		if (o.drain == 0 && o.audit != 0)
			o.err = err;
		ops->close(reader);
	}
	archive_input_close(&input);
	return o;
}

/* True if the error may report an interrupted append. */
static bool is_unfinished(const char *name, const struct bpk_err *err)
{
	return (strstr(name, "tail") != NULL || strstr(name, "interrupted") != NULL) &&
	       err->kind == BPK_REPAIRABLE;
}

/* Read bytes as a file and as a pipe; both must succeed with raw. Returns the number of remarks for
 * the file. Only offsets lead past gaps, and a pipe is read without them. */
static unsigned expect(const char *name, struct bpk_view bytes, struct bpk_view raw,
		       struct bpk_read_options options)
{
	unsigned remarks = 0;

	enum archive_way last = strstr(name, "gap") == NULL ? ARCHIVE_PIPE : ARCHIVE_MEMORY;

	for (enum archive_way way = ARCHIVE_MEMORY; way <= last; way++) {
		struct outcome o = read_archive(bytes, way, options);

		if (o.open != 0 || o.drain != 0 || (o.audit != 0 && !is_unfinished(name, &o.err)))
			fail_msg("%s, way %d: %s", name, (int)way, o.err.text);
		if (!same(bpk_buf_view(&o.raw), raw))
			fail_msg("%s, way %d: other bytes came out", name, (int)way);
		if (way == ARCHIVE_MEMORY)
			remarks = o.remarks;
		bpk_buf_clear(&o.raw);
	}
	return remarks;
}

static const struct bpk_read_options defaults;

/* ---- "Hex examples" ---- */

static struct bpk_buf from_hex(const char *text)
{
	struct bpk_buf out = { 0 };
	unsigned value;
	int used;

	while (sscanf(text, " %2x%n", &value, &used) == 1) {
		uint8_t byte = (uint8_t)value;

		assert_int_equal(bpk_buf_append(&out, bpk_view(&byte, 1), NULL), 0);
		text += used;
	}
	return out;
}

#define C  "02 01 13 08 08000000 08000000 18000000 4142434445464748 "
#define CS C "6b02610e "

static const struct {
	const char *name;
	const char *hex;
	const char *raw;
	uint64_t chunk_size; /* as in info */
} examples[] = {
	{ "version 1", "626c706b 01 000000 0200000000000000" C C, "ABCDEFGHABCDEFGH", BPK_UNKNOWN },
	{ "version 2",
	  "626c706b 02 01 01 08 08000000 08000000 0200000000000000 0000000000000000"
	  "3000000000000000 4c00000000000000" CS CS,
	  "ABCDEFGHABCDEFGH", 8 },
	{ "version 2, one chunk",
	  "626c706b 02 00 00 08 00000000 08000000 0100000000000000 0000000000000000" C, "ABCDEFGH",
	  8 },
	{ "stream",
	  "626c706b 03 00 01 08 08000000 ffffffff ffffffffffffffff 0000000000000000" CS CS
	  "02011308 00000000 01000000 10000000 3000f901",
	  "ABCDEFGHABCDEFGH", 8 },
	{ "no chunks", "626c706b 03 00 01 08 00000000 00000000 0000000000000000 0000000000000000",
	  "", BPK_UNKNOWN },
	/* quirks of version 2: the last chunk is one byte longer, or empty */
	{ "version 2, longer last chunk",
	  "626c706b 02 00 00 08 07000000 08000000 0200000000000000 0000000000000000"
	  "02 01 12 08 07000000 07000000 17000000 41414141414141" C,
	  "AAAAAAAABCDEFGH", BPK_UNKNOWN },
	{ "version 2, empty last chunk",
	  "626c706b 02 00 00 08 08000000 00000000 0200000000000000 0000000000000000" C
	  "02011308 00000000 01000000 10000000",
	  "ABCDEFGH", 8 },
};

static void test_examples_of_the_specification(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		struct bpk_buf bytes = from_hex(examples[i].hex);
		struct bpk_view raw = bpk_view(examples[i].raw, strlen(examples[i].raw));
		struct archive_input input;
		struct bpk_err err = { 0 };
		void *reader;

		assert_int_equal(expect(examples[i].name, bpk_buf_view(&bytes), raw, defaults), 0);
		archive_input_open(&input, bpk_buf_view(&bytes), ARCHIVE_MEMORY);
		assert_int_equal(blp()->open(&input.place, &defaults, &reader, &err), 0);
		assert_int_equal(blp()->info(reader)->chunks.size, examples[i].chunk_size);
		blp()->close(reader);
		archive_input_close(&input);
		bpk_buf_clear(&bytes);
	}
}

/* The 61 bytes of metadata of the specification, and the Blaze layout with 43. */
static void test_metadata_of_both_layouts(void **state)
{
	static const char json[] = "{\"dtype\":\"float64\",\"shape\":[1],\"order\":\"C\"}";
	struct bpk_buf bytes = from_hex("626c706b 03 03 01 08 08000000 08000000 0100000000000000"
					"2b000000 00000000");
	struct bpk_buf tail = from_hex("5300000000000000" CS);
	struct archive_input input;
	struct bpk_err err = { 0 };
	const struct bpk_info *info;
	void *reader;

	(void)state;
	assert_int_equal(sizeof json - 1, 43);
	assert_int_equal(bpk_buf_append(&bytes, bpk_view(json, 43), &err), 0);
	assert_int_equal(bpk_buf_append(&bytes, bpk_buf_view(&tail), &err), 0);
	assert_int_equal(expect("Blaze", bpk_buf_view(&bytes), bpk_view("ABCDEFGH", 8), defaults),
			 0);
	archive_input_open(&input, bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_int_equal(blp()->open(&input.place, &defaults, &reader, &err), 0);
	info = blp()->info(reader);
	assert_string_equal(info->variant, "version 3 (Blaze)");
	assert_true(info->metadata.given);
	assert_int_equal(info->metadata.text.size, 43);
	assert_memory_equal(info->metadata.text.data, json, 43);
	blp()->close(reader);
	archive_input_close(&input);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&tail);
}

/* ---- Files ---- */

static struct bpk_buf load(const char *folder, const char *name, const char *suffix)
{
	struct bpk_buf bytes = { 0 };
	char path[512];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
	file = fopen(path, "rb");
	if (file == NULL)
		fail_msg("%s cannot be opened", path);
	assert_int_equal(bpk_buf_reserve(&bytes, 1 << 20, NULL), 0);
	bytes.size = fread(bytes.data, 1, bytes.capacity, file);
	fclose(file);
	return bytes;
}

/* Call visit for every NAME.blp in folder, without the suffix. Returns their number. */
static unsigned each_archive(const char *folder, const char *prefix,
			     void (*visit)(const char *folder, const char *name))
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned n = 0;

	if (dir == NULL)
		fail_msg("%s cannot be opened", folder);
	while ((entry = readdir(dir)) != NULL) {
		size_t length = strlen(entry->d_name);
		char name[256];

		if (length < 4 || strcmp(entry->d_name + length - 4, ".blp") != 0 ||
		    strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)length - 4, entry->d_name);
		visit(folder, name);
		n++;
	}
	closedir(dir);
	return n;
}

static void visit_good(const char *folder, const char *name)
{
	struct bpk_buf bytes = load(folder, name, ".blp");
	struct bpk_buf raw = load(folder, name, ".raw");

	expect(name, bpk_buf_view(&bytes), bpk_buf_view(&raw), defaults);
	bpk_buf_clear(&bytes);
	bpk_buf_clear(&raw);
}

/* Reading must fail, with a message, of the kind in the file's name. */
static void visit_wrong(const char *folder, const char *name)
{
	struct bpk_buf bytes = load(folder, name, ".blp");
	struct outcome o = read_archive(bpk_buf_view(&bytes), ARCHIVE_MEMORY, defaults);

	if (o.open == 0 && o.drain == 0 && o.audit == 0)
		fail_msg("%s was accepted", name);
	if (o.err.kind != (name[0] == 'b' ? BPK_CORRUPT : BPK_UNSUPPORTED))
		fail_msg("%s: kind %d: %s", name, (int)o.err.kind, o.err.text);
	bpk_buf_clear(&o.raw);
	o = read_archive(bpk_buf_view(&bytes), ARCHIVE_PIPE, defaults);
	/* a pipe is read without its offsets */
	if (o.open == 0 && o.drain == 0 && o.audit == 0 && strstr(name, "offset") == NULL &&
	    strstr(name, "spare") == NULL)
		fail_msg("%s was accepted through a pipe", name);
	bpk_buf_clear(&o.raw);
	bpk_buf_clear(&bytes);
}

static const char *data_folder(void)
{
	static char folder[512];
	const char *top = getenv("top_srcdir");

	snprintf(folder, sizeof folder, "%s/tests/data/bloscpack", top == NULL ? "." : top);
	return folder;
}

static void test_archives_made_by_hand(void **state)
{
	(void)state;
	assert_true(each_archive(data_folder(), "good-", visit_good) >= 20);
	assert_true(each_archive(data_folder(), "bad-", visit_wrong) >= 40);
	assert_true(each_archive(data_folder(), "unsupported-", visit_wrong) >= 2);
}

static void test_archives_of_python_bloscpack(void **state)
{
	const char *fixtures = getenv("BPK_FIXTURES");
	char folder[512];

	(void)state;
	if (fixtures == NULL) {
		print_message("# BPK_FIXTURES names no folder with archives of other programs\n");
		skip();
	}
	snprintf(folder, sizeof folder, "%s/bloscpack", fixtures);
	assert_true(each_archive(folder, "", visit_good) > 0);
}

/* ---- Damage ---- */

/* Archives in which digests or cross-checks cover every part. */
static const char *const small_archives[] = {
	"good-v2",
	"good-v3-spare",
	"good-v3-metadata-zlib",
	"good-v3-stream",
	"good-v3",
	"good-v3-larger-chunk-size",
	"good-v3-one-empty",
	"good-blaze-offsets",
	"good-blaze-zlib",
	"good-v3-sizes",
};

/* Wrong bytes must not be returned with success. */
static void judge_damage(const char *name, struct bpk_view bytes, struct bpk_view raw,
			 const char *what, size_t at)
{
	for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++) {
		struct outcome o = read_archive(bytes, way, defaults);

		if (o.open == 0 && o.drain == 0 && !same(bpk_buf_view(&o.raw), raw))
			fail_msg("%s, way %d, %s %zu: wrong bytes", name, (int)way, what, at);
		if ((o.open != 0 || o.drain != 0) &&
		    (o.err.text[0] == '\0' || o.err.kind == BPK_BUG || o.err.kind == BPK_USAGE ||
		     o.err.kind == BPK_NO_MEMORY))
			fail_msg("%s, way %d, %s %zu: kind %d: %s", name, (int)way, what, at,
				 (int)o.err.kind, o.err.text);
		bpk_buf_clear(&o.raw);
	}
}

static void test_every_bit_turned(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof small_archives / sizeof *small_archives; i++) {
		struct bpk_buf bytes = load(data_folder(), small_archives[i], ".blp");
		struct bpk_buf raw = load(data_folder(), small_archives[i], ".raw");

		for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
			bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			judge_damage(small_archives[i], bpk_buf_view(&bytes), bpk_buf_view(&raw),
				     "bit", bit);
			bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		bpk_buf_clear(&bytes);
		bpk_buf_clear(&raw);
	}
}

/* Three archives as one, read twice: the walk goes back from any member to the first. */
static void test_every_bit_of_members_turned(void **state)
{
	static const char *const names[] = { "good-v3-stream", "good-v3", "good-v3-stream" };
	struct bpk_buf all = { 0 }, raw = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct bpk_buf bytes = load(data_folder(), names[i], ".blp");
		struct bpk_buf part = load(data_folder(), names[i], ".raw");

		assert_int_equal(bpk_buf_append(&all, bpk_buf_view(&bytes), NULL), 0);
		assert_int_equal(bpk_buf_append(&raw, bpk_buf_view(&part), NULL), 0);
		bpk_buf_clear(&bytes);
		bpk_buf_clear(&part);
	}
	expect("three members", bpk_buf_view(&all), bpk_buf_view(&raw), defaults);
	for (size_t bit = 0; bit < 8 * all.size; bit++) {
		struct outcome o;

		all.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		o = read_archive(bpk_buf_view(&all), ARCHIVE_MEMORY, defaults);
		if (o.open == 0 && o.drain == 0 && o.audit == 0 &&
		    !same(bpk_buf_view(&o.raw), bpk_buf_view(&raw)))
			fail_msg("bit %zu: wrong bytes", bit);
		bpk_buf_clear(&o.raw);
		all.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	bpk_buf_clear(&all);
	bpk_buf_clear(&raw);
}

static void test_every_byte_cut_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof small_archives / sizeof *small_archives; i++) {
		struct bpk_buf bytes = load(data_folder(), small_archives[i], ".blp");

		for (size_t size = 0; size < bytes.size; size++)
			for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++) {
				struct outcome o =
					read_archive(bpk_view(bytes.data, size), way, defaults);

				if (o.open == 0 && o.drain == 0)
					fail_msg("%s cut at %zu was accepted, way %d",
						 small_archives[i], size, (int)way);
				assert_int_equal(o.err.kind, BPK_CORRUPT);
				bpk_buf_clear(&o.raw);
			}
		bpk_buf_clear(&bytes);
	}
}

static size_t bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Counts and sizes that no file can hold are refused before any allocation; through a pipe, whose
 * end is unknown, memory follows the bytes. */
static void test_absurd_counts_allocate_nothing(void **state)
{
	static const char *const hex[] = {
		/* nchunks, then max-app-chunks of 2^62, then both near overflow */
		"626c706b 03 01 01 08 08000000 08000000 0000000000000040 0000000000000000" CS,
		"626c706b 03 01 01 08 08000000 08000000 0100000000000000 0000000000000040" CS,
		"626c706b 03 01 01 08 08000000 08000000 ffffffffffffff7f ffffffffffffff7f" CS,
		"626c706b 03 00 01 08 08000000 08000000 ffffffffffffff0f 0000000000000000" CS,
		"626c706b 01 000000 ffffffffffffff7f" C,
		/* a chunk of 2 GiB, and one of 2 GiB packed */
		"626c706b 03 00 01 08 efffff7f efffff7f 0100000000000000 0000000000000000"
		"02 01 13 08 efffff7f efffff7f ffffff7f 4142434445464748",
		"626c706b 03 00 01 08 08000000 08000000 0100000000000000 0000000000000000"
		"02 01 11 08 08000000 08000000 ffffff7f 4142434445464748",
		/* metadata of 4 GiB: text, room, packed */
		"626c706b 03 02 01 08 08000000 08000000 0100000000000000 0000000000000000"
		"4a534f4e00000000 00 01 01 06 ffffffff ffffffff ffffffff 0000000000000000" CS,
	};

	(void)state;
	for (size_t i = 0; i < sizeof hex / sizeof *hex; i++)
		for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++) {
			struct bpk_buf bytes = from_hex(hex[i]);
			size_t before = bytes_in_use();
			struct archive_input input;
			struct bpk_parcel parcel = { .want_size = SIZE_MAX };
			struct bpk_err err = { 0 };
			void *reader = NULL;
			int rc;

			archive_input_open(&input, bpk_buf_view(&bytes), way);
			rc = blp()->open(&input.place, &defaults, &reader, &err);
			for (; rc == 0; parcel.number++)
				rc = blp()->fetch(reader, &parcel, &err);
			assert_int_equal(rc, -1);
			assert_int_equal(err.kind, BPK_CORRUPT);
			assert_true(bytes_in_use() - before < 4 << 20);
			bpk_buf_clear(&parcel.packed);
			if (reader != NULL)
				blp()->close(reader);
			archive_input_close(&input);
			bpk_buf_clear(&bytes);
		}
}

/* ---- Ways of reading ---- */

static void test_a_stream_without_marker_gives_what_is_there(void **state)
{
	struct bpk_buf bytes = from_hex(
		"626c706b 03 00 01 08 08000000 ffffffff ffffffffffffffff 0000000000000000" CS CS);
	struct bpk_read_options accepting = { .no_marker = true };

	(void)state;
	for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++) {
		struct outcome o = read_archive(bpk_buf_view(&bytes), way, defaults);

		assert_int_equal(o.drain, -1);
		assert_int_equal(o.err.kind, BPK_CORRUPT);
		assert_non_null(strstr(o.err.text, "--no-marker"));
		assert_int_equal(o.raw.size, 16);
		assert_memory_equal(o.raw.data, "ABCDEFGHABCDEFGH", 16);
		bpk_buf_clear(&o.raw);
	}
	expect("no marker", bpk_buf_view(&bytes), bpk_view("ABCDEFGHABCDEFGH", 16), accepting);
	bpk_buf_clear(&bytes);
}

static void test_damaged_metadata_leaves_the_data(void **state)
{
	static const char *const names[] = { "bad-metadata-digest", "bad-metadata-json",
					     "bad-metadata-size-zlib", "bad-metadata-keys",
					     "bad-metadata-codec" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct bpk_buf bytes = load(data_folder(), names[i], ".blp");
		struct outcome o = read_archive(bpk_buf_view(&bytes), ARCHIVE_MEMORY, defaults);

		assert_int_equal(o.drain, 0);
		assert_int_equal(o.audit, -1);
		assert_non_null(strstr(o.err.text, "metadata"));
		assert_int_equal(o.raw.size, 16);
		bpk_buf_clear(&o.raw);
		bpk_buf_clear(&bytes);
	}
}

static void test_remarks_tell_what_is_no_damage(void **state)
{
	static const char *const names[] = { "good-v3-tail",
					     "good-v3-gap",
					     "good-v3-no-offsets-known",
					     "good-v3-interrupted-append",
					     "good-v3-metadata-fill",
					     "good-v3-metadata-foreign" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct bpk_buf bytes = load(data_folder(), names[i], ".blp");
		struct outcome o = read_archive(bpk_buf_view(&bytes), ARCHIVE_MEMORY, defaults);

		bool unfinished =
			strstr(names[i], "tail") != NULL || strstr(names[i], "interrupted") != NULL;

		if (unfinished ? o.err.kind != BPK_REPAIRABLE : o.audit != 0 || o.remarks == 0)
			fail_msg("%s: audit %d, %u remarks", names[i], o.audit, o.remarks);
		bpk_buf_clear(&o.raw);
		bpk_buf_clear(&bytes);
	}
}

/* Chunks in any order, as threads request them, and their offsets. */
static void test_chunks_are_found_by_number(void **state)
{
	static const char *const names[] = { "good-v2", "good-v3-spare", "good-v3-gap",
					     "good-v3", "good-v1",       "good-v3-stream" };
	const struct bpk_reader_ops *ops = blp();

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct bpk_buf bytes = load(data_folder(), names[i], ".blp");
		struct bpk_parcel parcel = { .want_size = SIZE_MAX };
		struct archive_input input;
		struct bpk_where where;
		struct bpk_err err = { 0 };
		void *reader;

		archive_input_open(&input, bpk_buf_view(&bytes), ARCHIVE_MEMORY);
		assert_int_equal(ops->open(&input.place, &defaults, &reader, &err), 0);
		assert_int_equal(ops->positional(reader), i < 3);
		for (uint64_t n = 2; n-- > 0;) {
			assert_int_equal(ops->locate(reader, n, &where, &err), 0);
			assert_int_equal(where.raw_offset, 8 * n);
			assert_int_equal(where.header.raw_size, 8);
			assert_memory_equal(bytes.data + where.packed_offset, "\2\1", 2);
			if (!ops->positional(reader))
				continue;
			parcel.number = n;
			assert_int_equal(ops->fetch(reader, &parcel, &err), 0);
			assert_int_equal(parcel.packed_offset, where.packed_offset);
			assert_int_equal(parcel.raw_offset, 8 * n);
			assert_int_equal(ops->check(reader, &parcel, &err), 0);
			parcel.packed.data[20] ^= 1;
			assert_int_equal(ops->check(reader, &parcel, &err), -1);
			assert_non_null(strstr(err.text,
					       n == 0 ? "chunk 0 at offset" : "chunk 1 at offset"));
		}
		assert_int_equal(ops->locate(reader, 2, &where, &err), 1);
		parcel.number = 2;
		assert_int_equal(ops->fetch(reader, &parcel, &err), 1);
		bpk_buf_clear(&parcel.packed);
		ops->close(reader);
		archive_input_close(&input);
		bpk_buf_clear(&bytes);
	}
}

/* Without checks only the bytes for the wanted range are read, and the parcel has no stale ones. */
static void test_single_blocks_are_fetched(void **state)
{
	enum { RAW = 1 << 18, BLOCK = 1 << 12, START = 100000, SIZE = 5000 };
	struct bpk_recipe recipe = { .codec = bpk_codec_find("lz4"),
				     .level = 5,
				     .typesize = 4,
				     .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE),
				     .block_size = BLOCK };
	struct bpk_read_options options = { .no_check = true };
	struct bpk_parcel parcel = { .want_start = START, .want_size = SIZE };
	struct bpk_buf bytes = from_hex("626c706b 03 01 02 04 00000400 00000400 0100000000000000"
					"0000000000000000 2800000000000000");
	struct bpk_err err = { 0 };
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(&err);
	uint8_t *raw = test_malloc(RAW), *out = test_malloc(SIZE);
	struct archive_input input;
	size_t packed_size, zeros = 0;
	void *reader;

	(void)state;
	for (size_t i = 0; i < RAW; i++)
		raw[i] = (uint8_t)(i % 4 == 0 ? i * i >> 5 : i >> 12);
	assert_int_equal(bpk_buf_reserve(&bytes, 40 + bpk_chunk_bound(RAW) + 4, &err), 0);
	assert_int_equal(bpk_chunk_encode(ctx, &recipe, bpk_view(raw, RAW),
					  bpk_span(bytes.data + 40, bpk_chunk_bound(RAW)),
					  &packed_size, &err),
			 0);
	bytes.size = 40 + packed_size + 4;
	archive_input_open(&input, bpk_buf_view(&bytes), ARCHIVE_MEMORY);
	assert_int_equal(blp()->open(&input.place, &options, &reader, &err), 0);
	/* stale bytes of an earlier chunk */
	assert_int_equal(bpk_buf_resize(&parcel.packed, RAW, &err), 0);
	memset(parcel.packed.data, 0x55, RAW);
	assert_int_equal(blp()->fetch(reader, &parcel, &err), 0);
	assert_int_equal(bpk_chunk_decode_range(ctx,
						bpk_view(parcel.packed.data, parcel.packed_size),
						START, bpk_span(out, SIZE), &err),
			 0);
	assert_memory_equal(out, raw + START, SIZE);
	for (size_t i = 0; i < parcel.packed_size; i++) {
		zeros += parcel.packed.data[i] == 0;
		assert_true(parcel.packed.data[i] == 0 ||
			    parcel.packed.data[i] == bytes.data[40 + i]);
	}
	assert_true(zeros > packed_size / 2);
	blp()->close(reader);
	archive_input_close(&input);
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&bytes);
	bpk_chunk_ctx_free(ctx);
	test_free(raw);
	test_free(out);
}

static void test_chunks_above_the_limit_are_refused(void **state)
{
	struct bpk_buf bytes = load(data_folder(), "good-v3", ".blp");
	struct outcome o;

	(void)state;
	o = read_archive(bpk_buf_view(&bytes), ARCHIVE_MEMORY,
			 (struct bpk_read_options){ .chunk_limit = 7 });
	assert_int_equal(o.drain, -1);
	assert_int_equal(o.err.kind, BPK_LIMIT);
	bpk_buf_clear(&o.raw);
	expect("limit", bpk_buf_view(&bytes), bpk_view("ABCDEFGHABCDEFGH", 16),
	       (struct bpk_read_options){ .chunk_limit = 8 });
	bpk_buf_clear(&bytes);
}

/* ---- A bare chunk ---- */

static void test_a_bare_chunk(void **state)
{
	const struct bpk_reader_ops *ops = bpk_format_find("chunk")->reader;
	struct bpk_buf bytes = from_hex(C "00");

	(void)state;
	for (enum archive_way way = ARCHIVE_MEMORY; way <= ARCHIVE_PIPE; way++)
		for (size_t size = 0; size <= 25; size++) {
			struct archive_input input;
			struct bpk_buf out = { 0 };
			struct bpk_err err = { 0 };
			void *reader = NULL;
			int rc;

			archive_input_open(&input, bpk_view(bytes.data, size), way);
			rc = ops->open(&input.place, &defaults, &reader, &err);
			if (rc == 0)
				rc = archive_drain(ops, reader, &out, &err);
			assert_int_equal(rc, size < 24 ? -1 : 0);
			if (rc == 0)
				assert_int_equal(ops->audit(reader, NULL, NULL, &err),
						 size == 24 ? 0 : -1);
			if (size >= 24)
				assert_memory_equal(out.data, "ABCDEFGH", 8);
			if (size != 24)
				assert_int_equal(err.kind, BPK_CORRUPT);
			if (reader != NULL)
				ops->close(reader);
			bpk_buf_clear(&out);
			archive_input_close(&input);
		}
	bpk_buf_clear(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples_of_the_specification),
		cmocka_unit_test(test_metadata_of_both_layouts),
		cmocka_unit_test(test_archives_made_by_hand),
		cmocka_unit_test(test_archives_of_python_bloscpack),
		cmocka_unit_test(test_every_bit_turned),
		cmocka_unit_test(test_every_bit_of_members_turned),
		cmocka_unit_test(test_every_byte_cut_off),
		cmocka_unit_test(test_absurd_counts_allocate_nothing),
		cmocka_unit_test(test_a_stream_without_marker_gives_what_is_there),
		cmocka_unit_test(test_damaged_metadata_leaves_the_data),
		cmocka_unit_test(test_remarks_tell_what_is_no_damage),
		cmocka_unit_test(test_chunks_are_found_by_number),
		cmocka_unit_test(test_single_blocks_are_fetched),
		cmocka_unit_test(test_chunks_above_the_limit_are_refused),
		cmocka_unit_test(test_a_bare_chunk),
	};

	return UNIT_RUN(tests);
}
