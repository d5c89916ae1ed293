/*
 * io/remote: files of the cache, and damage to them on the disk.
 */
#include "unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/remote/segment.h"

enum { TOTAL = 20000, HEAD = 4096, SIZE = HEAD + TOTAL, FIRST = BPK_SEGMENT_BLOCK };

static const struct bpk_segment_id file = { .key = "a key of 16 by",
					    .version = "\"v1\"",
					    .total = TOTAL };

static char folder_name[] = "/tmp/bpk-test-cache-XXXXXX";
static int folder;
static uint8_t content[TOTAL], stored[SIZE + 1];
static char name[BPK_SEGMENT_NAME];

static int setup(void **state)
{
	struct bpk_segment segment = { .fd = -1 };
	struct bpk_err err = { 0 };
	int fd;

	(void)state;
	folder = mkdtemp(folder_name) == NULL ? -1 : open(folder_name, O_DIRECTORY);
	for (size_t i = 0; i < TOTAL; i++)
		content[i] = (uint8_t)(i * 2654435761u >> 13);
	bpk_segment_name(file.key, 0, name);
	if (bpk_segment_make(folder, &file, &segment, &err) != 0 ||
	    bpk_segment_write(&segment, 0, bpk_view(content, TOTAL), &err) != 0)
		return -1;
	bpk_segment_close(&segment);
	fd = openat(folder, name, O_RDONLY);
	if (read(fd, stored, sizeof stored) != SIZE)
		return -1;
	return close(fd);
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(folder, name, 0);
	close(folder);
	return rmdir(folder_name);
}

/* Put size bytes into a new file in place of the segment's. */
static void put(const void *bytes, size_t size)
{
	int fd;

	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Open it, of any version. */
static bool open_any(struct bpk_segment_id *id, struct bpk_segment *segment)
{
	*segment = (struct bpk_segment){ .fd = -1 };
	*id = file;
	id->version[0] = '\0';
	id->total = 0;
	return bpk_segment_open(folder, id, 0, segment);
}

/* Read both blocks: each is right, or is missed. Returns how many came. */
static int read_all(void)
{
	struct bpk_segment_id id;
	struct bpk_segment segment;
	uint8_t out[FIRST];
	int came = 0;

	if (!open_any(&id, &segment))
		return 0;
	assert_string_equal(id.version, file.version);
	assert_int_equal(id.total, TOTAL);
	for (size_t n = 0; n < 2; n++) {
		size_t size = n == 0 ? FIRST : TOTAL - FIRST;

		if (!bpk_segment_read(&segment, n, bpk_span(out, size))) {
			assert_false(bpk_segment_has(&segment, n));
			continue;
		}
		assert_memory_equal(out, content + n * FIRST, size);
		came++;
	}
	for (size_t n = 2; n < BPK_SEGMENT_BLOCKS; n++)
		assert_false(bpk_segment_read(&segment, n, bpk_span(out, FIRST)));
	bpk_segment_close(&segment);
	return came;
}

static void test_every_byte_flipped(void **state)
{
	static uint8_t bytes[SIZE];
	int fd;

	(void)state;
	put(stored, SIZE);
	assert_int_equal(read_all(), 2);
	fd = openat(folder, name, O_WRONLY);
	for (size_t i = 0; i < SIZE; i++) {
		uint8_t flipped = stored[i] ^ (uint8_t)(1 << i % 8);
		int came;

		assert_int_equal(pwrite(fd, &flipped, 1, (off_t)i), 1);
		came = read_all();
		if (i < HEAD / 2)
			assert_int_equal(came, 0);
		else if (i >= HEAD || i < HEAD / 2 + 2 * BPK_SEGMENT_ROW)
			assert_int_equal(came, 1);
		assert_int_equal(pwrite(fd, stored + i, 1, (off_t)i), 1);
	}
	close(fd);
	memcpy(bytes, stored, SIZE);
	/* blocks and rows that changed their places */
	memcpy(bytes + HEAD / 2, stored + HEAD / 2 + BPK_SEGMENT_ROW, BPK_SEGMENT_ROW);
	memcpy(bytes + HEAD / 2 + BPK_SEGMENT_ROW, stored + HEAD / 2, BPK_SEGMENT_ROW);
	put(bytes, SIZE);
	assert_int_equal(read_all(), 0);
}

static void test_every_length(void **state)
{
	int fd;

	(void)state;
	put(stored, SIZE);
	fd = openat(folder, name, O_WRONLY);
	for (off_t size = SIZE - 1; size >= 0; size--) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_int_equal(read_all(), size >= HEAD + FIRST);
	}
	close(fd);
	memcpy(stored + SIZE, "x", 1);
	put(stored, SIZE + 1);
	assert_int_equal(read_all(), 2);
}

/* Whatever else has the name: it is not opened, and a segment can be made in its place. */
static void test_other_objects(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct bpk_segment_id id;
		struct bpk_segment segment;
		struct bpk_err err = { 0 };

		put(stored, SIZE);
		assert_int_equal(renameat(folder, name, folder, "other"), 0);
		if (kind == 0)
			assert_int_equal(mkfifoat(folder, name, 0600), 0);
		else if (kind == 1)
			assert_int_equal(symlinkat("other", folder, name), 0);
		else if (kind == 2)
			assert_int_equal(linkat(folder, "other", folder, name, 0), 0);
		else
			assert_int_equal(mkdirat(folder, name, 0700), 0);
		assert_false(open_any(&id, &segment));
		id = file;
		if (kind < 3) {
			assert_int_equal(bpk_segment_make(folder, &id, &segment, &err), 0);
			assert_true(bpk_segment_is_listed(&segment));
			bpk_segment_close(&segment);
			assert_true(open_any(&id, &segment));
			bpk_segment_close(&segment);
		} else {
			assert_int_equal(bpk_segment_make(folder, &id, &segment, &err), -1);
			assert_int_equal(unlinkat(folder, name, AT_REMOVEDIR), 0);
		}
		unlinkat(folder, "other", 0);
	}
}

static void test_other_versions(void **state)
{
	struct bpk_segment old = { .fd = -1 }, new = { .fd = -1 };
	struct bpk_segment_id other = file, id = file;
	struct bpk_err err = { 0 };
	uint8_t out[FIRST];

	(void)state;
	put(stored, SIZE);
	assert_true(bpk_segment_open(folder, &id, 0, &old));
	strcpy(other.version, "\"v2\"");
	assert_false(bpk_segment_open(folder, &other, 0, &new));
	other = file;
	other.total++;
	assert_false(bpk_segment_open(folder, &other, 0, &new));
	other = file;
	other.key[3]++;
	assert_false(bpk_segment_open(folder, &other, 0, &new));
	assert_false(bpk_segment_open(folder, &id, 1, &new));
	/* a new version: who has the old one open reads on, and writes to the old one */
	strcpy(other.version, "\"v2\"");
	memcpy(other.key, file.key, sizeof other.key);
	new.number = 0;
	assert_int_equal(bpk_segment_make(folder, &other, &new, &err), 0);
	assert_false(bpk_segment_is_listed(&old));
	assert_true(bpk_segment_read(&old, 0, bpk_span(out, FIRST)));
	assert_int_equal(bpk_segment_write(&old, 0, bpk_view(content, FIRST), &err), 0);
	assert_false(bpk_segment_read(&new, 0, bpk_span(out, FIRST)));
	bpk_segment_close(&old);
	bpk_segment_close(&new);
}

static void test_names(void **state)
{
	static const char *const others[] = {
		"",
		"bpk-",
		"bpk-0123456789abcdef0123456789abcdef",
		"bpk-0123456789abcdef0123456789abcdef-",
		"bpk-0123456789abcdef0123456789abcde-00",
		"bpk-0123456789abcdef0123456789abcdeg-0",
		"bpk-0123456789abcdef0123456789abcdef-x",
		"bpk-0123456789abcdef0123456789abcdef-0.blp",
		"bpk-0123456789abcdef0123456789abcdef-01234567890123456",
		"x.blp",
	};
	char long_name[BPK_SEGMENT_NAME];

	(void)state;
	assert_true(bpk_segment_is_name(name));
	bpk_segment_name(file.key, UINT64_MAX, long_name);
	assert_true(bpk_segment_is_name(long_name));
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		assert_false(bpk_segment_is_name(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte_flipped),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_other_objects),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
