/*
 * The room checksum: digests against published values, concurrent first use, mismatches; and CRC-32
 * by each library of base against its definition.
 */
#include "unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "checksum/checksum.h"

/* The digests of "abc" by coreutils, zlib's tests and RFC 1321, 3174 and 6234. */
static const struct {
	const char *name, *hex;
} abc[] = {
	{ "none", "" },
	{ "adler32", "27014d02" }, /* 0x024d0127, little-endian */
	{ "crc32", "c2412435" },   /* 0x352441c2, little-endian */
	{ "md5", "900150983cd24fb0d6963f7d28e17f72" },
	{ "sha1", "a9993e364706816aba3e25717850c26c9cd0d89d" },
	{ "sha224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7" },
	{ "sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "sha384", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
		    "8086072ba1e7cc2358baeca134c825a7" },
	{ "sha512", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
		    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f" },
};

enum { NABC = sizeof abc / sizeof abc[0] };

static struct bpk_view view_of(const char *text)
{
	return bpk_view(text, strlen(text));
}

static void to_hex(const uint8_t *digest, unsigned size, char *text)
{
	text[0] = '\0';
	for (unsigned i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
}

static void test_known_digests(void **state)
{
	char text[2 * BPK_DIGEST_MAX + 1];
	uint8_t digest[BPK_DIGEST_MAX];
	struct bpk_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < NABC; i++) {
		const struct bpk_checksum *checksum = bpk_checksum_find(abc[i].name);

		assert_non_null(checksum);
		assert_int_equal(2 * checksum->size, strlen(abc[i].hex));
		assert_int_equal(bpk_checksum_compute(checksum, view_of("abc"), digest, &err), 0);
		to_hex(digest, checksum->size, text);
		assert_string_equal(text, abc[i].hex);
		assert_int_equal(bpk_checksum_check(checksum, view_of("abc"), digest, &err), 0);
	}
	assert_null(bpk_checksum_find("crc64"));
	assert_null(bpk_checksum_find(""));
	assert_null(bpk_checksums[NABC].name);
}

static void test_no_bytes_at_no_address(void **state)
{
	char text[2 * BPK_DIGEST_MAX + 1];
	uint8_t digest[BPK_DIGEST_MAX];
	struct bpk_err err = { 0 };

	(void)state;
	for (const struct bpk_checksum *row = bpk_checksums; row->name != NULL; row++) {
		assert_int_equal(bpk_checksum_compute(row, bpk_view(NULL, 0), digest, &err), 0);
		to_hex(digest, row->size, text);
		if (strcmp(row->name, "adler32") == 0)
			assert_string_equal(text, "01000000");
		if (strcmp(row->name, "crc32") == 0)
			assert_string_equal(text, "00000000");
		if (strcmp(row->name, "md5") == 0)
			assert_string_equal(text, "d41d8cd98f00b204e9800998ecf8427e");
	}
}

static void test_a_difference_is_told(void **state)
{
	const uint8_t wrong[BPK_DIGEST_MAX] = { 0x78, 0x56, 0x34, 0x12 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(
		bpk_checksum_check(bpk_checksum_find("crc32"), view_of("abc"), wrong, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_string_equal(err.text, "crc32 is 352441c2, expected 12345678");
	assert_int_equal(bpk_checksum_check(bpk_checksum_find("md5"), view_of("abc"), wrong, &err),
			 -1);
	assert_string_equal(err.text, "md5 is 900150983cd24fb0d6963f7d28e17f72, expected "
				      "78563412000000000000000000000000");
	assert_int_equal(
		bpk_checksum_check(bpk_checksum_find("sha512"), view_of("abc"), wrong, &err), -1);
	assert_non_null(strstr(err.text, "a54ca49f, expected 78563412"));
	assert_int_equal(bpk_checksum_check(bpk_checksums, view_of("abc"), wrong, &err), 0);
}

/* All rows from several threads at once, so that first fetches race. */
static void *digest_all(void *arg)
{
	uint8_t digest[BPK_DIGEST_MAX];
	char text[2 * BPK_DIGEST_MAX + 1];
	int *bad = arg;

	for (size_t i = 0; i < NABC * 50; i++) {
		const struct bpk_checksum *checksum = bpk_checksum_find(abc[i % NABC].name);

		if (bpk_checksum_compute(checksum, view_of("abc"), digest, NULL) != 0)
			++*bad;
		to_hex(digest, checksum->size, text);
		*bad += strcmp(text, abc[i % NABC].hex) != 0;
	}
	return NULL;
}

static void test_threads_share_what_is_fetched(void **state)
{
	pthread_t threads[4];
	int bad[4] = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, digest_all, &bad[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(bad[i], 0);
}

/* ---- CRC-32 by each library ---- */

/* RFC 1952, section 8, bit by bit. */
static uint32_t defined_crc32(uint32_t crc, struct bpk_view bytes)
{
	crc = ~crc;
	for (size_t i = 0; i < bytes.size; i++) {
		crc ^= bytes.data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static uint8_t *some_bytes(size_t size)
{
	uint8_t *bytes = malloc(size);
	uint32_t x = 1;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(x >> 24);
	}
	return bytes;
}

/* The bytes end where the allocation does, which valgrind and sanitizers watch. */
static void compare_crc32(bpk_crc32_call *crc32, uint32_t before, size_t skip, size_t size)
{
	uint8_t *bytes = some_bytes(skip + size);
	struct bpk_view view = bpk_view(bytes + skip, size);

	assert_int_equal(crc32(before, view), defined_crc32(before, view));
	free(bytes);
}

static void test_each_crc32_is_the_defined_one(void **state)
{
	static const size_t large[] = { 1023, 4096, 4099, 65535, 65536 + 17, (1 << 20) + 3 };
	size_t ways = 0;

	(void)state;
	for (bpk_crc32_call *way; (way = bpk_crc32_way(ways)) != NULL; ways++) {
		assert_int_equal(way(0, view_of("123456789")), 0xcbf43926);
		for (size_t size = 1; size <= 530; size++)
			compare_crc32(way, size % 3 == 0 ? 0 : 0x9e3779b9 * (uint32_t)size,
				      size * 7 % 64, size);
		for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
			compare_crc32(way, 0xffffffff - (uint32_t)i, i * 5 + 1, large[i]);
	}
	assert_in_range(ways, 1, bpk_crc32_library() != NULL ? 2 : 1);
	print_message("# %zu libraries\n", ways);
}

/* Pieces of any size, before and after the other library is loaded. */
static void test_crc32_goes_on_from_one_library_to_another(void **state)
{
	size_t size = (4 << 20) + 123, at = 0;
	uint8_t *bytes = some_bytes(size);
	uint32_t crc = 0;

	(void)state;
	for (size_t piece = 1; at < size; piece = piece * 5 % 99991 + 1) {
		struct bpk_view view = bpk_view(bytes + at, bpk_min_size(piece, size - at));

		crc = bpk_crc32(crc, view);
		at += view.size;
	}
	assert_int_equal(crc, defined_crc32(0, bpk_view(bytes, size)));
	assert_int_equal(bpk_crc32(crc, bpk_view(NULL, 0)), crc);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_share_what_is_fetched),
		cmocka_unit_test(test_known_digests),
		cmocka_unit_test(test_no_bytes_at_no_address),
		cmocka_unit_test(test_a_difference_is_told),
		cmocka_unit_test(test_each_crc32_is_the_defined_one),
		cmocka_unit_test(test_crc32_goes_on_from_one_library_to_another),
	};

	return UNIT_RUN(tests);
}
