/* Leaves of a seal that come in any order, against a tree that was made in order. */
#include "unit/unit.h"

#include <stdlib.h>

#include "format/sealed.h"

enum { MOST = 300, FAR = 1 << 14 };

static const struct bpk_checksum *none(void)
{
	return bpk_checksum_find("none");
}

/* Chunk number: its bytes differ from the others'. */
static struct bpk_parcel make(uint64_t number, uint8_t bytes[8])
{
	bpk_put_le64(bytes, number * 7919);
	return (struct bpk_parcel){ .number = number,
				    .packed = { .data = bytes, .size = 8, .capacity = 8 },
				    .packed_size = 8,
				    .raw_size = 100 };
}

static void bring(struct bpk_seal_leaves *leaves, uint64_t number)
{
	uint8_t bytes[8];
	struct bpk_parcel parcel = make(number, bytes);
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_seal_leaves_bring(leaves, none(), &parcel, &err), 0);
}

static struct bpk_seal_tree in_order(uint64_t n)
{
	struct bpk_seal_tree tree = { 0 };
	struct bpk_err err = { 0 };
	uint8_t bytes[8];

	for (uint64_t i = 0; i < n; i++) {
		struct bpk_parcel parcel = make(i, bytes);

		assert_int_equal(bpk_seal_tree_put(&tree, none(), &parcel, false, &err), 0);
	}
	return tree;
}

static void expect(struct bpk_seal_leaves *leaves, uint64_t n, bool whole)
{
	struct bpk_seal_tree tree, right = in_order(n);
	struct bpk_err err = { 0 };
	bool is_whole;

	assert_int_equal(bpk_seal_leaves_tree(leaves, n, &tree, &is_whole, &err), 0);
	assert_int_equal(is_whole, whole);
	if (whole)
		assert_true(bpk_seal_tree_equals(&tree, &right));
}

/* Every third chunk is one that no thread brings. */
static int fill_third(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], bool *found,
		      struct bpk_err *err)
{
	uint8_t bytes[8];
	struct bpk_parcel parcel = make(number, bytes);

	(void)arg;
	*found = number % 3 == 0;
	return *found ? bpk_seal_parcel(none(), &parcel, number, true, leaf, err) : 0;
}

static void shuffle(uint64_t *order, unsigned n)
{
	for (unsigned i = n; i-- > 1;) {
		unsigned k = (unsigned)rand() % (i + 1);
		uint64_t kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
}

static void test_any_order_gives_one_tree(void **state)
{
	struct bpk_err err = { 0 };
	uint64_t order[MOST];

	(void)state;
	srand(1);
	for (unsigned n = 0; n <= MOST; n += n < 20 ? 1 : 35) {
		struct bpk_seal_leaves *all, *some;

		assert_int_equal(bpk_seal_leaves_new(NULL, NULL, &all, &err), 0);
		assert_int_equal(bpk_seal_leaves_new(fill_third, NULL, &some, &err), 0);
		for (unsigned i = 0; i < n; i++)
			order[i] = i;
		shuffle(order, n);
		for (unsigned i = 0; i < n; i++) {
			bring(all, order[i]);
			if (order[i] % 3 != 0)
				bring(some, order[i]);
		}
		expect(all, n, true);
		expect(some, n, true);
		bpk_seal_leaves_free(all);
		bpk_seal_leaves_free(some);
	}
}

static void test_missing_and_repeated_ones_end_it(void **state)
{
	static const uint64_t twice[] = { 0, 1, 1, 2 }, waits[] = { 0, 2, 2, 1 },
			      far[] = { 0, FAR + 1, 1, 2 };
	static const uint64_t *const orders[] = { twice, waits, far };
	struct bpk_seal_leaves *leaves;
	struct bpk_err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(bpk_seal_leaves_new(NULL, NULL, &leaves, &err), 0);
		for (unsigned k = 0; k < 4; k++)
			bring(leaves, orders[i][k]);
		expect(leaves, 3, false);
		bpk_seal_leaves_free(leaves);
	}
	assert_int_equal(bpk_seal_leaves_new(NULL, NULL, &leaves, &err), 0);
	bring(leaves, 0);
	bring(leaves, 2);
	expect(leaves, 3, false);
	bring(leaves, 1);
	expect(leaves, 3, true);
	expect(leaves, 2, false);
	bpk_seal_leaves_free(leaves);
	expect(NULL, 3, false);
}

/* A generation that no reader takes is not written, whoever made the one before. */
static void test_the_last_generation_is_not_followed(void **state)
{
	struct bpk_seal seal = { .marked = true, .recorded = true };
	uint64_t next = 0;
	struct bpk_err err = { 0 };

	(void)state;
	seal.generation = INT64_MAX - 1;
	assert_int_equal(bpk_seal_next(&seal, &next, &err), 0);
	assert_true(next == INT64_MAX);
	seal.generation = next;
	assert_int_equal(bpk_seal_next(&seal, &next, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	seal.marked = seal.recorded = false;
	assert_int_equal(bpk_seal_next(&seal, &next, &err), 0);
	assert_true(next == 0);
}

/* A record whose generation cannot be read is followed by none: it must not go back to 1. */
static void test_an_unreadable_generation_is_not_followed(void **state)
{
	static const char *const records[] = { "{\"generation\":9223372036854775808}",
					       "{\"generation\":\"7\"}", "{}" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bpk_seal seal = { .marked = true };
		struct bpk_err err = { 0 };
		uint64_t next = 0;

		assert_int_equal(
			bpk_seal_take(bpk_view(records[i], strlen(records[i])), 1, &seal, &err), 0);
		assert_int_equal(bpk_seal_next(&seal, &next, &err), -1);
		assert_int_equal(err.kind, BPK_LIMIT);
		bpk_seal_clear(&seal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order_gives_one_tree),
		cmocka_unit_test(test_missing_and_repeated_ones_end_it),
		cmocka_unit_test(test_the_last_generation_is_not_followed),
		cmocka_unit_test(test_an_unreadable_generation_is_not_followed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
