/*
 * The room base: errors, cursor, buffers, hashes, arithmetic, processors and memory limits.
 */
#include "unit/unit.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

static void test_error_line_is_printable(void **state)
{
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_fail(&err, BPK_CORRUPT, "name \x1b[31m%s", "x\ny"), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_string_equal(err.text, "name \\x1b[31mx\\x0ay");
	bpk_err_subject(&err, "chunk %d", 3);
	assert_string_equal(err.text, "chunk 3: name \\x1b[31mx\\x0ay");
}

static void test_advice_names_the_file(void **state)
{
	char name[BPK_WORD_TEXT] = "";
	struct bpk_err err = { 0 };

	(void)state;
	bpk_fail(&err, BPK_CORRUPT, "no FILE; bpk repair FILE, or bpk verify FILE: x");
	bpk_err_name_file(&err, "a FILE b");
	assert_string_equal(err.text,
			    "no FILE; bpk repair 'a FILE b', or bpk verify 'a FILE b': x");
	bpk_fail(&err, BPK_CORRUPT, "FILE is none");
	bpk_err_name_file(&err, "a");
	assert_string_equal(err.text, "FILE is none");
	memset(name, 'x', sizeof name - 1);
	bpk_fail(&err, BPK_CORRUPT, "bpk %*s FILE FILE FILE", BPK_ERR_TEXT - 24, "");
	bpk_err_name_file(&err, name);
	assert_int_equal(strlen(err.text), BPK_ERR_TEXT - 1);
	bpk_err_name_file(NULL, "a");
}

static void test_cursor_turns_bad_at_its_end(void **state)
{
	const uint8_t bytes[5] = { 1, 2, 3, 4, 5 };
	struct bpk_cursor cursor = bpk_cursor(bpk_view(bytes, sizeof bytes));

	(void)state;
	assert_int_equal(bpk_cursor_le32(&cursor), 0x04030201);
	assert_false(cursor.bad);
	assert_int_equal(bpk_cursor_le32(&cursor), 0);
	assert_true(cursor.bad);
	assert_int_equal(bpk_cursor_u8(&cursor), 0);
}

static void test_buffer_grows_and_keeps(void **state)
{
	struct bpk_buf buf = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(bpk_buf_printf(&buf, &err, "%03d ", i), 0);
	assert_int_equal(buf.size, 4000);
	assert_memory_equal(buf.data, "000 001 ", 8);
	assert_memory_equal(buf.data + 3996, "999 ", 4);
	assert_int_equal((uintptr_t)buf.data % BPK_ALIGNMENT, 0);
	assert_int_equal(bpk_buf_reserve(&buf, SIZE_MAX, &err), -1);
	assert_int_equal(err.kind, BPK_NO_MEMORY);
	assert_int_equal(buf.size, 4000);
	bpk_buf_clear(&buf);
	assert_null(buf.data);
}

/* FNV's own test vectors. */
static void test_hash_is_fnv_1a_and_goes_on(void **state)
{
	(void)state;
	assert_true(bpk_hash_text(BPK_HASH_START, "") == 0xcbf29ce484222325u);
	assert_true(bpk_hash_text(BPK_HASH_START, "a") == 0xaf63dc4c8601ec8cu);
	assert_true(bpk_hash_text(BPK_HASH_START, "foobar") == 0x85944171f73967e8u);
	assert_true(bpk_hash_text(bpk_hash_text(BPK_HASH_START, "foo"), "bar") ==
		    bpk_hash_text(BPK_HASH_START, "foobar"));
}

static void test_zeros_are_told_from_other_bytes(void **state)
{
	uint8_t bytes[5] = { 0 };

	(void)state;
	assert_true(bpk_is_zero(bpk_view(NULL, 0)));
	assert_true(bpk_is_zero(bpk_view(bytes, 1)));
	assert_true(bpk_is_zero(bpk_view(bytes, sizeof bytes)));
	for (size_t i = 0; i < sizeof bytes; i++) {
		bytes[i] = 1;
		assert_false(bpk_is_zero(bpk_view(bytes, sizeof bytes)));
		bytes[i] = 0;
	}
}

static void test_last_key_that_is_at_most(void **state)
{
	static const struct {
		uint32_t other;
		uint64_t key;
	} all[] = { { 9, 0 }, { 8, 5 }, { 7, 5 }, { 6, 9 } };

	(void)state;
	assert_int_equal(bpk_find_last(&all[0].key, sizeof *all, 4, 0), 0);
	assert_int_equal(bpk_find_last(&all[0].key, sizeof *all, 4, 4), 0);
	assert_int_equal(bpk_find_last(&all[0].key, sizeof *all, 4, 5), 2);
	assert_int_equal(bpk_find_last(&all[0].key, sizeof *all, 4, 8), 2);
	assert_int_equal(bpk_find_last(&all[0].key, sizeof *all, 4, UINT64_MAX), 3);
	assert_int_equal(bpk_find_last(&all[1].key, sizeof *all, 3, 0), 0);
}

static void test_arithmetic_reports_wrapping(void **state)
{
	uint64_t out;

	(void)state;
	assert_true(bpk_mul_u64(UINT32_MAX, UINT32_MAX, &out));
	assert_false(bpk_mul_u64(UINT64_MAX, 2, &out));
	assert_false(bpk_add_u64(UINT64_MAX, 1, &out));
	assert_int_equal(bpk_div_up(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(bpk_div_up(0, 7), 0);
	assert_int_equal(bpk_div_up(8, 7), 2);
}

static void test_cpu_count_is_positive(void **state)
{
	(void)state;
	assert_true(bpk_cpu_count() >= 1);
	assert_true(bpk_cpu_has(BPK_SIMD_PORTABLE));
	assert_string_equal(bpk_simd_name(BPK_SIMD_PORTABLE), "portable");
}

/* Create a file below root, and its parent folders. */
static void put_file(const char *root, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof path, "%s%s", root, name);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat, (void)type, (void)walk;
	return remove(path);
}

static void test_memory_of_control_groups(void **state)
{
	char root[] = "/tmp/bpk-memory-XXXXXX";

	(void)state;
	assert_true(bpk_memory_size() > 1 << 20);
	assert_non_null(mkdtemp(root));
	assert_int_equal(bpk_memory_of_groups(root), UINT64_MAX);
	put_file(root, "/proc/self/cgroup", "0::/user/run\n");
	put_file(root, "/sys/fs/cgroup/user/run/memory.max", "max\n");
	assert_int_equal(bpk_memory_of_groups(root), UINT64_MAX);
	put_file(root, "/sys/fs/cgroup/user/memory.max", "3000\n");
	assert_int_equal(bpk_memory_of_groups(root), 3000);
	put_file(root, "/sys/fs/cgroup/user/run/memory.max", "2000\n");
	assert_int_equal(bpk_memory_of_groups(root), 2000);
	put_file(root, "/proc/self/cgroup", "5:cpu:/\n4:memory:/batch\n0::/user\n");
	put_file(root, "/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "1000\n");
	assert_int_equal(bpk_memory_of_groups(root), 1000);
	assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Lines of text: no controls, not too many bytes beyond ASCII, and newlines. */
static void test_lines(void **state)
{
	static uint8_t bytes[100000];
	const struct bpk_view all = { bytes, sizeof bytes };

	(void)state;
	assert_false(bpk_text_is_lines(bpk_view(NULL, 0)));
	memset(bytes, '7', sizeof bytes);
	assert_false(bpk_text_is_lines(all));
	for (size_t i = 0; i < sizeof bytes; i += 80)
		bytes[i] = '\n';
	assert_true(bpk_text_is_lines(all));
	assert_true(bpk_text_is_lines(bpk_view(bytes, 1000)));
	bytes[5] = 0xc3;
	assert_true(bpk_text_is_lines(all));
	bytes[5] = 1;
	assert_false(bpk_text_is_lines(all));
	bytes[5] = '\t';
	memset(bytes + 1000, 0xff, 900);
	assert_true(bpk_text_is_lines(all));
	assert_false(bpk_text_is_lines(bpk_view(bytes, 2000)));
}

/* Names as words of a command line, none of which the error line's escape changes. */
static void test_words_of_a_shell(void **state)
{
	static const char *const rows[][2] = {
		{ "dir/run-7.blp", "dir/run-7.blp" },
		{ "", "''" },
		{ "-", "FILE" },
		{ "-rf", "./-rf" },
		{ "- x", "./'- x'" },
		{ "a b", "'a b'" },
		{ "it's $x", "'it'\\''s $x'" },
		{ "~x", "'~x'" },
		{ "gr\xc3\xb6\xc3\x9f\x65", "'gr\xc3\xb6\xc3\x9f\x65'" },
		{ "a\n'b\\\xff\x31", "$'a\\012\\047b\\134\\3771'" },
	};
	char word[BPK_WORD_TEXT], name[BPK_WORD_TEXT + 2];
	struct bpk_err err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_string_equal(bpk_shell_word(rows[i][0], word), rows[i][1]);
		bpk_fail(&err, BPK_FAILED, "%s", word);
		assert_string_equal(err.text, word);
	}
	assert_string_equal(bpk_shell_word(NULL, word), "FILE");
	for (size_t size = BPK_WORD_TEXT - 4; size <= BPK_WORD_TEXT; size++) {
		memset(name, 'x', size);
		name[size] = '\0';
		assert_string_equal(bpk_shell_word(name, word),
				    size < BPK_WORD_TEXT ? name : "FILE");
		name[0] = ' ';
		assert_true(strlen(bpk_shell_word(name, word)) ==
			    (size < BPK_WORD_TEXT - 2 ? size + 2 : 4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_line_is_printable),
		cmocka_unit_test(test_advice_names_the_file),
		cmocka_unit_test(test_cursor_turns_bad_at_its_end),
		cmocka_unit_test(test_buffer_grows_and_keeps),
		cmocka_unit_test(test_hash_is_fnv_1a_and_goes_on),
		cmocka_unit_test(test_zeros_are_told_from_other_bytes),
		cmocka_unit_test(test_last_key_that_is_at_most),
		cmocka_unit_test(test_arithmetic_reports_wrapping),
		cmocka_unit_test(test_cpu_count_is_positive),
		cmocka_unit_test(test_memory_of_control_groups),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_words_of_a_shell),
	};

	return UNIT_RUN(tests);
}
