/*
 * Zips of stored members, NumPy's .npz included: names, kinds, zip64, and contradicting headers.
 */
#include "unit/layout-bytes.h"

/* The parameters of a member. */
struct made {
	const char *name, *content;
	uint16_t flags, method;
	bool zip64;
};

enum { STREAMED = 8, ENCRYPTED = 1, DEFLATED = 8 };

static const char npy[] = "\x93NUMPY\1\0\x3a\0{'descr': '<u2', 'fortran_order': False, "
			  "'shape': (2,), }\nabcd";

static size_t content_size(const struct made *made)
{
	return made->content == npy ? sizeof npy - 1 : strlen(made->content);
}

/* Two sizes, packed or not, as 32 bits or in an extra field. */
static void put_sizes(struct bpk_buf *file, const struct made *made, bool known)
{
	put_le(file, 0, 4); /* a CRC, which is not read */
	for (int i = 0; i < 2; i++)
		put_le(file, made->zip64 ? UINT32_MAX : known ? content_size(made) : 0, 4);
	put_le(file, strlen(made->name), 2);
}

static void put_local(struct bpk_buf *file, const struct made *made)
{
	put_text(file, "PK\3\4");
	put_le(file, 45, 2);
	put_le(file, made->flags, 2);
	put_le(file, made->method, 2);
	put_le(file, 0, 4);
	put_sizes(file, made, !(made->flags & STREAMED));
	put_le(file, made->zip64 ? 20 : 0, 2);
	put_text(file, made->name);
	if (made->zip64) {
		put_le(file, 1, 2);
		put_le(file, 16, 2);
		put_le(file, content_size(made), 8);
		put_le(file, content_size(made), 8);
	}
	put(file, made->content, content_size(made));
}

static void put_entry(struct bpk_buf *file, const struct made *made, uint64_t local)
{
	put_text(file, "PK\1\2");
	put_le(file, 45, 2);
	put_le(file, 45, 2);
	put_le(file, made->flags, 2);
	put_le(file, made->method, 2);
	put_le(file, 0, 4);
	put_sizes(file, made, true);
	put_le(file, made->zip64 ? 4 + 4 + 28 : 0, 2);
	put_le(file, 0, 2 + 2);
	put_le(file, 0, 2 + 4);
	put_le(file, made->zip64 ? UINT32_MAX : local, 4);
	put_text(file, made->name);
	if (made->zip64) {
		put(file, "XY\4\0abcd", 8); /* of another program */
		put_le(file, 1, 2);
		put_le(file, 24, 2);
		put_le(file, content_size(made), 8);
		put_le(file, content_size(made), 8);
		put_le(file, local, 8);
	}
}

static void put_end64(struct bpk_buf *file, uint64_t count, uint64_t directory, uint64_t size)
{
	uint64_t at = file->size;

	put_text(file, "PK\6\6");
	put_le(file, 44, 8);
	put_le(file, 45, 2);
	put_le(file, 45, 2);
	put_le(file, 0, 8);
	put_le(file, count, 8);
	put_le(file, count, 8);
	put_le(file, size, 8);
	put_le(file, directory, 8);
	put_text(file, "PK\6\7");
	put_le(file, 0, 4);
	put_le(file, at, 8);
	put_le(file, 1, 4);
}

static void put_zip(struct bpk_buf *file, const struct made *made, size_t count, bool zip64,
		    const char *comment)
{
	uint64_t locals[16], directory, size;

	for (size_t i = 0; i < count; i++) {
		locals[i] = file->size;
		put_local(file, &made[i]);
	}
	directory = file->size;
	for (size_t i = 0; i < count; i++)
		put_entry(file, &made[i], locals[i]);
	size = file->size - directory;
	if (zip64)
		put_end64(file, count, directory, size);
	put_text(file, "PK\5\6");
	put_le(file, 0, 4);
	put_le(file, zip64 ? UINT16_MAX : count, 2);
	put_le(file, zip64 ? UINT16_MAX : count, 2);
	put_le(file, zip64 ? UINT32_MAX : size, 4);
	put_le(file, zip64 ? UINT32_MAX : directory, 4);
	put_le(file, strlen(comment), 2);
	put_text(file, comment);
}

static const struct made mixed[] = {
	{ .name = "arr_0.npy", .content = npy },
	{ .name = "group/x.npy", .content = npy, .zip64 = true },
	{ .name = "folder/", .content = "" },
	{ .name = "text", .content = "hello", .flags = STREAMED },
	{ .name = "text.npy", .content = "no npy" },
	{ .name = "packed.npy", .content = "?", .method = DEFLATED },
	{ .name = "text#2", .content = "" },
	{ .name = "text", .content = "again" },
	{ .name = "\x1b[\xff", .content = "secret", .flags = ENCRYPTED },
	{ .name = "\x1b[\xff", .content = "name" },
	{ .name = ".npy", .content = "" },
};

enum { NMIXED = sizeof mixed / sizeof *mixed };

static void expect_mixed(struct opened *opened)
{
	static const struct {
		const char *name, *type;
		uint64_t size;
	} rows[] = {
		{ "arr_0", "<u2", 2 },       { "group/x", "<u2", 2 }, { "text", "|u1", 5 },
		{ "text#3", "|u1", 6 },      { "text#2", "|u1", 0 },  { "text#4", "|u1", 5 },
		{ "\\x1b[\\xff", "|u1", 4 }, { ".npy", "|u1", 0 },
	};
	const size_t count = sizeof rows / sizeof *rows;
	struct bpk_item item;

	assert_non_null(opened->layout);
	assert_string_equal(bpk_layout_info(opened->layout)->kind, "npz");
	assert_string_equal(bpk_layout_info(opened->layout)->variant, "2 packed members left out");
	assert_null(bpk_layout_info(opened->layout)->damage);
	assert_int_equal(bpk_layout_info(opened->layout)->narrays, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(bpk_layout_get(opened->layout, i, &item, NULL), 0);
		expect_array(opened, i, rows[i].name, rows[i].type, &rows[i].size, 1, item.offset);
	}
	assert_int_equal(
		bpk_layout_find(opened->layout, "group/x", BPK_UNKNOWN, false, &item, NULL), 0);
	assert_string_equal(item.name, "group/x");
	assert_int_equal(bpk_layout_find(opened->layout, "packed", BPK_UNKNOWN, false, &item, NULL),
			 -1);
	assert_int_equal(bpk_layout_find(opened->layout, "none", BPK_UNKNOWN, false, &item, NULL),
			 1);
	assert_string_equal(bpk_layout_info(opened->layout)->left_out,
			    "'packed' is compressed in the zip, and left out, with 1 more");
}

static void test_mixed(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;
		struct bpk_item item;
		uint8_t byte[5];

		put_zip(&file, mixed, NMIXED, i & 1, i & 2 ? "a remark with PK\5\6 in it" : "");
		open_buf(&file, &opened);
		expect_mixed(&opened);
		assert_int_equal(bpk_layout_get(opened.layout, 2, &item, NULL), 0);
		assert_int_equal(
			bpk_source_need_at(opened.source, item.offset, bpk_span(byte, 5), NULL), 0);
		assert_memory_equal(byte, "hello", 5);
		assert_int_equal(bpk_layout_get(opened.layout, 0, &item, NULL), 0);
		assert_memory_equal(file.data + item.offset, "abcd", 4);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

/* Only packed members: NumPy's are recognised, others are plain bytes. */
static void test_packed(void **state)
{
	const struct made one = { .name = "a.npy", .content = "?", .method = DEFLATED };
	const struct made other = { .name = "a.txt", .content = "?", .method = DEFLATED };
	struct bpk_buf file = { 0 };
	struct opened opened;

	(void)state;
	put_zip(&file, &one, 1, false, "");
	open_buf(&file, &opened);
	assert_non_null(opened.layout);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 0);
	assert_null(bpk_layout_info(opened.layout)->damage);
	close_bytes(&opened);
	bpk_buf_clear(&file);
	put_zip(&file, &other, 1, false, "");
	open_buf(&file, &opened);
	assert_null(opened.layout);
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

/* A member whose local header disagrees is left out and reported. */
static void test_disagree(void **state)
{
	static const struct {
		size_t at; /* offset in the second local header */
		const char *damage;
	} rows[] = {
		{ 0, "member 1: it has no local header" },
		{ 6, "member 1: its local header has another method" },
		{ 8, "member 1: its local header has another method" },
		{ 18, "member 1: its local header has other sizes" },
		{ 22, "member 1: its local header has other sizes" },
		{ 26, "member 1: its local header has another name" },
		{ 30, "member 1: its local header has another name" },
	};
	const struct made made[] = { { .name = "a", .content = "first" },
				     { .name = "b", .content = "second" },
				     { .name = "c", .content = "third" } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_buf file = { 0 };
		struct opened opened;

		put_zip(&file, made, 3, false, "");
		file.data[30 + 1 + 5 + rows[i].at] ^= 1;
		open_buf(&file, &opened);
		assert_non_null(opened.layout);
		assert_int_equal(bpk_layout_info(opened.layout)->narrays, 2);
		assert_string_equal(bpk_layout_info(opened.layout)->damage, rows[i].damage);
		expect_array(&opened, 1, "c", "|u1", (uint64_t[]){ 5 }, 1, 3 * 31 + 5 + 6);
		close_bytes(&opened);
		bpk_buf_clear(&file);
	}
}

/* A truncated directory ends the arrays there; a wrong count is reported. */
static void test_directory(void **state)
{
	const struct made made[] = { { .name = "a", .content = "first" },
				     { .name = "b", .content = "second" } };
	struct bpk_buf file = { 0 };
	struct opened opened;
	size_t directory = 2 * 31 + 11;

	(void)state;
	put_zip(&file, made, 2, false, "");
	file.data[directory + 47] = 'Q';
	open_buf(&file, &opened);
	assert_non_null(opened.layout);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 1);
	assert_non_null(bpk_layout_info(opened.layout)->damage);
	close_bytes(&opened);
	file.data[directory + 47] = 'P';
	for (int count = 0; count < 4; count++) {
		file.data[directory + 94 + 10] = (uint8_t)count;
		open_buf(&file, &opened);
		if (count > 0) {
			assert_non_null(opened.layout);
			assert_int_equal(bpk_layout_info(opened.layout)->narrays,
					 count == 1 ? 1 : 2);
			assert_int_equal(bpk_layout_info(opened.layout)->damage == NULL,
					 count == 2);
		}
		close_bytes(&opened);
	}
	bpk_buf_clear(&file);
}

/* Several entries for one member, or for its inside, count as that member only. */
static void test_overlaps(void **state)
{
	static const struct made made = { .name = "x.npy", .content = npy };
	struct bpk_buf file = { 0 };
	uint64_t directory;
	struct opened opened;

	(void)state;
	put_local(&file, &made);
	put_local(&file, &made);
	directory = file.size;
	for (int i = 0; i < 3; i++)
		put_entry(&file, &made, 0);
	put_entry(&file, &made, directory / 2);
	put_text(&file, "PK\5\6");
	put_le(&file, 0, 4);
	put_le(&file, 4, 2);
	put_le(&file, 4, 2);
	put_le(&file, file.size - directory - 12, 4);
	put_le(&file, directory, 4);
	put_le(&file, 0, 2);
	open_buf(&file, &opened);
	assert_non_null(opened.layout);
	assert_int_equal(bpk_layout_info(opened.layout)->narrays, 2);
	assert_string_equal(bpk_layout_info(opened.layout)->damage,
			    "array 1 shares bytes with another one");
	close_bytes(&opened);
	bpk_buf_clear(&file);
}

static void test_hostile(void **state)
{
	struct bpk_buf file = { 0 };

	(void)state;
	put_zip(&file, mixed, NMIXED, true, "");
	sweep(&file, SIZE_MAX);
	bpk_buf_clear(&file);
	put_zip(&file, mixed, NMIXED, false, "PK\5\6 a remark");
	sweep(&file, SIZE_MAX);
	bpk_buf_clear(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mixed),    cmocka_unit_test(test_packed),
		cmocka_unit_test(test_disagree), cmocka_unit_test(test_directory),
		cmocka_unit_test(test_overlaps), cmocka_unit_test(test_hostile),
	};

	return UNIT_RUN(tests);
}
