/*
 * The room checksum: digests against published values, concurrent first use, mismatches; and CRC-32
 * by each library of base against its definition. Trees of digests against published roots.
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

/* ---- Trees ---- */

/* The leaves of the tests of RFC 6962's authors (certificate-transparency, merkletree tests), and
 * the root over the first n of them. */
static const struct {
	const char *bytes;
	size_t size;
} ct_leaves[] = {
	{ "", 0 },
	{ "\x00", 1 },
	{ "\x10", 1 },
	{ "\x20\x21", 2 },
	{ "\x30\x31", 2 },
	{ "\x40\x41\x42\x43", 4 },
	{ "\x50\x51\x52\x53\x54\x55\x56\x57", 8 },
	{ "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16 },
};

static const char *const ct_roots[] = {
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
	"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
	"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
	"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
	"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
	"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
	"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
	"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};

enum { NCT = sizeof ct_leaves / sizeof ct_leaves[0] };

static void expect_root(const struct bpk_merkle *tree, const char *hex)
{
	char text[2 * BPK_MERKLE_SIZE + 1];
	uint8_t root[BPK_MERKLE_SIZE];
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_merkle_root(tree, root, &err), 0);
	to_hex(root, BPK_MERKLE_SIZE, text);
	assert_string_equal(text, hex);
}

static void test_roots_are_those_of_certificate_transparency(void **state)
{
	uint8_t leaf[BPK_MERKLE_SIZE];
	struct bpk_merkle tree;
	struct bpk_err err = { 0 };

	(void)state;
	bpk_merkle_init(&tree);
	expect_root(&tree, ct_roots[0]);
	for (size_t i = 0; i < NCT; i++) {
		struct bpk_view bytes = bpk_view(ct_leaves[i].bytes, ct_leaves[i].size);

		assert_int_equal(bpk_merkle_leaf(bytes, leaf, &err), 0);
		assert_int_equal(bpk_merkle_add(&tree, leaf, &err), 0);
		assert_int_equal(tree.count, i + 1);
		expect_root(&tree, ct_roots[i + 1]);
	}
}

/* The definition: the left side has the largest power of two below count. */
static void defined_root(const uint8_t (*leaves)[BPK_MERKLE_SIZE], size_t count, uint8_t *root)
{
	uint8_t sides[2][BPK_MERKLE_SIZE];
	size_t left = 1;

	if (count == 1) {
		memcpy(root, leaves[0], BPK_MERKLE_SIZE);
		return;
	}
	while (2 * left < count)
		left *= 2;
	defined_root(leaves, left, sides[0]);
	defined_root(leaves + left, count - left, sides[1]);
	assert_int_equal(bpk_merkle_node(sides[0], sides[1], root, NULL), 0);
}

static void test_any_number_of_leaves_has_the_defined_root(void **state)
{
	enum { MOST = 130 };
	static uint8_t leaves[MOST][BPK_MERKLE_SIZE];
	uint8_t root[BPK_MERKLE_SIZE], expected[BPK_MERKLE_SIZE];
	struct bpk_merkle tree = { 0 };

	(void)state;
	for (size_t i = 0; i < MOST; i++) {
		uint8_t byte = (uint8_t)i;

		assert_int_equal(bpk_merkle_leaf(bpk_view(&byte, 1), leaves[i], NULL), 0);
		assert_int_equal(bpk_merkle_add(&tree, leaves[i], NULL), 0);
		assert_int_equal(bpk_merkle_root(&tree, root, NULL), 0);
		defined_root(leaves, i + 1, expected);
		assert_memory_equal(root, expected, BPK_MERKLE_SIZE);
	}
}

/* All bits of the count are set: nothing is left to carry into. */
static void test_a_full_tree_takes_no_leaf(void **state)
{
	static struct bpk_merkle tree, before;
	uint8_t leaf[BPK_MERKLE_SIZE] = { 1 };
	struct bpk_err err = { 0 };

	(void)state;
	tree.count = UINT64_MAX - 1;
	assert_int_equal(bpk_merkle_add(&tree, leaf, &err), 0);
	assert_true(tree.count == UINT64_MAX);
	assert_memory_equal(tree.peaks[0], leaf, BPK_MERKLE_SIZE);
	before = tree;
	assert_int_equal(bpk_merkle_add(&tree, leaf, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_memory_equal(&tree, &before, sizeof tree);
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
		cmocka_unit_test(test_roots_are_those_of_certificate_transparency),
		cmocka_unit_test(test_any_number_of_leaves_has_the_defined_root),
		cmocka_unit_test(test_a_full_tree_takes_no_leaf),
	};

	return UNIT_RUN(tests);
}
