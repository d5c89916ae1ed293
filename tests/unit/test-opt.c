/*
 * Options of the command line: values, ranges, rows of the tables.
 */
#include "unit/unit.h"

#include "cli/command.h"
#include "cli/encoding.h"
#include "cli/nearest.h"

static void test_sizes_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t size;
	} good[] = {
		{ "0", 0 },
		{ "4711", 4711 },
		{ "1K", 1 << 10 },
		{ "3k", 3 << 10 },
		{ "2M", 2 << 20 },
		{ "2MiB", 2 << 20 },
		{ "2MB", 2 << 20 },
		{ "7B", 7 },
		{ "5G", UINT64_C(5) << 30 },
		{ "1T", UINT64_C(1) << 40 },
		{ "16777215T", UINT64_C(16777215) << 40 },
		{ "18446744073709551615", UINT64_MAX },
		{ "max", UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		uint64_t size = 1;

		assert_int_equal(bpk_parse_size(good[i].text, 0, UINT64_MAX, &size, NULL), 0);
		assert_int_equal(size, good[i].size);
	}
}

static void test_what_is_no_size_is_refused(void **state)
{
	static const char *const bad[] = {
		"",     "K",   "-1",   "+1",        "1 K",
		"1.5M", "1KK", "1KBB", "1iB",       "0x10",
		"1P",   "MAX", "maxi", "16777216T", "18446744073709551616",
	};
	struct bpk_err err;
	uint64_t size;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		err.kind = BPK_OK;
		assert_int_equal(bpk_parse_size(bad[i], 0, UINT64_MAX, &size, &err), -1);
		assert_int_equal(err.kind, BPK_USAGE);
	}
	assert_int_equal(bpk_parse_size("9", 10, 20, &size, &err), -1);
	assert_int_equal(bpk_parse_size("10", 10, 20, &size, &err), 0);
	assert_int_equal(bpk_parse_size("20", 10, 20, &size, &err), 0);
	assert_int_equal(bpk_parse_size("21", 10, 20, &size, &err), -1);
	assert_int_equal(bpk_parse_size("max", 10, 20, &size, &err), 0);
	assert_int_equal(size, 20);
}

static void test_slack_is_bytes_or_percent(void **state)
{
	static const char *const bad[] = {
		"", "%", "-1%", "1.5%", "1001%", "10%%", "1K%", "0000000000000000010%", "5x",
	};
	struct bpk_args args;
	struct bpk_err err;

	(void)state;
	assert_int_equal(bpk_opt_set(&bpk_opt_slack, "64K", &args, &err), 0);
	assert_int_equal(args.encoding.slack.bytes, 64 << 10);
	assert_int_equal(args.encoding.slack.percent, 0);
	assert_int_equal(bpk_opt_set(&bpk_opt_slack, "12%", &args, &err), 0);
	assert_int_equal(args.encoding.slack.bytes, 0);
	assert_int_equal(args.encoding.slack.percent, 12);
	assert_int_equal(bpk_opt_set(&bpk_opt_slack, "max", &args, &err), 0);
	assert_int_equal(args.encoding.slack.bytes, BPK_CHUNK_MAX_RAW_SIZE);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		err.kind = BPK_OK;
		assert_int_equal(bpk_opt_set(&bpk_opt_slack, bad[i], &args, &err), -1);
		assert_int_equal(err.kind, BPK_USAGE);
	}
}

static void test_shapes_are_numbers_with_commas(void **state)
{
	static const char *const bad[] = {
		"", ",", "1,", ",1", "1,,2", "-1", "1;2", "1K", "x", "1, 2", "18446744073709551616"
	};
	struct bpk_opt_shape shape = { 0 };
	struct bpk_err err;
	char many[2 * BPK_ARRAY_MAX_DIMENSIONS + 2];

	(void)state;
	assert_int_equal(bpk_parse_shape("7", &shape, &err), 0);
	assert_int_equal(shape.ndimensions, 1);
	assert_int_equal(shape.sizes[0], 7);
	assert_int_equal(bpk_parse_shape("10,0,345", &shape, &err), 0);
	assert_int_equal(shape.ndimensions, 3);
	assert_int_equal(shape.sizes[1], 0);
	assert_int_equal(shape.sizes[2], 345);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		err.kind = BPK_OK;
		assert_int_equal(bpk_parse_shape(bad[i], &shape, &err), -1);
		assert_int_equal(err.kind, BPK_USAGE);
	}
	for (size_t i = 0; i <= BPK_ARRAY_MAX_DIMENSIONS; i++)
		memcpy(many + 2 * i, "1,", 2);
	many[2 * BPK_ARRAY_MAX_DIMENSIONS + 1] = '\0';
	assert_int_equal(bpk_parse_shape(many, &shape, &err), -1);
	many[2 * BPK_ARRAY_MAX_DIMENSIONS - 1] = '\0';
	assert_int_equal(bpk_parse_shape(many, &shape, &err), 0);
	assert_int_equal(shape.ndimensions, BPK_ARRAY_MAX_DIMENSIONS);
}

/* Every range against the result of Python's data[A:B] for total items. */
static void test_ranges_are_pythons(void **state)
{
	static const struct {
		const char *text;
		uint64_t total, start, end;
	} good[] = {
		{ ":", 10, 0, 10 },
		{ "2:5", 10, 2, 5 },
		{ "2:", 10, 2, 10 },
		{ ":5", 10, 0, 5 },
		{ "-3:", 10, 7, 10 },
		{ ":-3", 10, 0, 7 },
		{ "-5:-2", 10, 5, 8 },
		{ "-50:2", 10, 0, 2 },
		{ "8:50", 10, 8, 10 },
		{ "50:60", 10, 10, 10 },
		{ "5:2", 10, 5, 5 },
		{ ":-50", 10, 0, 0 },
		{ "0:0", 10, 0, 0 },
		{ "1K:2K", 4096, 1024, 2048 },
		{ "-1K:", 4096, 3072, 4096 },
		{ "-9223372036854775807:9223372036854775807", 3, 0, 3 },
		{ "3:7", BPK_UNKNOWN, 3, 7 },
		{ "3:", BPK_UNKNOWN, 3, BPK_UNKNOWN },
	};
	struct bpk_opt_range range;
	uint64_t start, end;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(bpk_parse_range(good[i].text, &range, NULL), 0);
		assert_true(range.given);
		assert_int_equal(bpk_range_resolve(&range, good[i].total, &start, &end, NULL), 0);
		assert_int_equal(start, good[i].start);
		assert_int_equal(end, good[i].end);
	}
}

static void test_what_is_no_range_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "5", "a:b", "1:2:3", "1-2", "--1:", "1:2x", "+1:", "9223372036854775808:"
	};
	struct bpk_opt_range range;
	struct bpk_err err = { 0 };
	uint64_t start, end;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(bpk_parse_range(bad[i], &range, &err), -1);
	assert_int_equal(bpk_parse_range("-1:", &range, &err), 0);
	assert_int_equal(bpk_range_resolve(&range, BPK_UNKNOWN, &start, &end, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
}

static void test_distance_counts_single_letters(void **state)
{
	(void)state;
	assert_int_equal(bpk_word_distance("", ""), 0);
	assert_int_equal(bpk_word_distance("pack", "pack"), 0);
	assert_int_equal(bpk_word_distance("", "abc"), 3);
	assert_int_equal(bpk_word_distance("pakc", "pack"), 1);
	assert_int_equal(bpk_word_distance("unpak", "unpack"), 1);
	assert_int_equal(bpk_word_distance("kitten", "sitting"), 3);
	assert_int_equal(bpk_word_distance("sitting", "kitten"), 3);
}

static void expect_nearest(const char *typed, const char *expected)
{
	struct bpk_nearest nearest = { .word = typed };

	for (size_t i = 0; bpk_commands[i] != NULL; i++)
		bpk_nearest_offer(&nearest, bpk_commands[i]->name);
	if (expected == NULL)
		assert_null(nearest.best);
	else
		assert_string_equal(nearest.best, expected);
}

static void test_mistyped_commands_find_the_nearest(void **state)
{
	(void)state;
	expect_nearest("pakc", "pack");
	expect_nearest("unpak", "unpack");
	expect_nearest("vrify", "verify");
	expect_nearest("ver", "verify");
	expect_nearest("inof", "info");
	expect_nearest("frobozzle", NULL);
	expect_nearest("", NULL);
}

/* getopt and the printers rely on these. */
static void check_row(const struct bpk_command *command, size_t i)
{
	const struct bpk_opt *opt = command->options[i];
	bool bare = opt->type == OPT_FLAG || opt->type == OPT_UNFLAG || opt->type == OPT_COUNT ||
		    opt->type == OPT_DIGITS;

	assert_non_null(opt->help);
	assert_true(opt->offset < command->args_size);
	assert_int_equal(bpk_opt_takes_argument(opt), !bare);
	assert_true(opt->name != NULL || opt->type == OPT_DIGITS);
	for (size_t j = 0; j < i; j++) {
		const struct bpk_opt *other = command->options[j];

		assert_true(opt->letter == 0 || opt->letter != other->letter);
		assert_true(opt->name == NULL || other->name == NULL ||
			    strcmp(opt->name, other->name) != 0);
		assert_true(opt->group >= other->group);
	}
}

static void test_tables_are_sound(void **state)
{
	(void)state;
	for (size_t c = 0; bpk_commands[c] != NULL; c++) {
		const struct bpk_command *command = bpk_commands[c];

		assert_ptr_equal(bpk_command_find(command->name), command);
		assert_non_null(command->run);
		assert_true(command->args_size >= sizeof(struct bpk_shared));
		for (size_t i = 0; command->options[i] != NULL; i++)
			check_row(command, i);
	}
}

/* Parse a command line of pack; -1 and err as from bpk_opts_parse. */
static int parse(char *args, int argc, const char *const *argv, int *first, struct bpk_err *err)
{
	char *copy[16] = { NULL };

	memcpy(args, bpk_command_pack.defaults, bpk_command_pack.args_size);
	for (int i = 0; i < argc; i++)
		copy[i] = (char *)argv[i];
	return bpk_opts_parse(&bpk_command_pack, argc, copy, args, first, err);
}

static void expect_usage(const char *word, const char *line)
{
	const char *argv[] = { "pack", word };
	char *args = calloc(1, bpk_command_pack.args_size);
	struct bpk_err err = { 0 };
	int first;

	assert_int_equal(parse(args, 2, argv, &first, &err), -1);
	assert_int_equal(err.kind, BPK_USAGE);
	assert_string_equal(err.text, line);
	free(args);
}

static void test_wrong_options_are_explained(void **state)
{
	(void)state;
	expect_usage("--forze", "unknown option --forze, did you mean --force?");
	expect_usage("--qqqqqqqqq", "unknown option --qqqqqqqqq");
	expect_usage("--force=yes", "option --force takes no argument");
	expect_usage("--codec", "--codec: needs an argument");
	expect_usage("-T", "-T: needs an argument");
	expect_usage("-J", "unknown option -J");
	expect_usage("-Tx", "-T: 'x' is not a number from 0 to 1024");
	expect_usage("--codec=zst", "--codec: unknown codec 'zst', did you mean 'zstd'?");
	expect_usage("--filter=shufle:4",
		     "--filter: unknown filter 'shufle', did you mean 'shuffle'?");
	expect_usage("--co", "option --co is ambiguous: --codec, --compare, --connections");
	expect_usage("--level=10", "--level: '10' is not a number from 0 to 9");
	expect_usage("-10", "levels go from -0 to -9, not to -10");
	expect_usage("-v19", "levels go from -0 to -9, not to -19");
}

static void test_options_are_taken(void **state)
{
	const char *argv[] = { "pack", "file", "-9", "--thr", "3", "-vv", "--", "-x" };
	char *args = calloc(1, bpk_command_pack.args_size);
	const struct bpk_shared *shared = (const void *)args;
	struct bpk_err err = { 0 };
	int first = 0;

	(void)state;
	assert_int_equal(parse(args, 8, argv, &first, &err), 0);
	assert_int_equal(first, 6);
	assert_int_equal(shared->threads, 3);
	assert_int_equal(shared->verbose, 2);
	assert_false(shared->force);
	free(args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_read),
		cmocka_unit_test(test_what_is_no_size_is_refused),
		cmocka_unit_test(test_slack_is_bytes_or_percent),
		cmocka_unit_test(test_shapes_are_numbers_with_commas),
		cmocka_unit_test(test_ranges_are_pythons),
		cmocka_unit_test(test_what_is_no_range_is_refused),
		cmocka_unit_test(test_distance_counts_single_letters),
		cmocka_unit_test(test_mistyped_commands_find_the_nearest),
		cmocka_unit_test(test_tables_are_sound),
		cmocka_unit_test(test_wrong_options_are_explained),
		cmocka_unit_test(test_options_are_taken),
	};

	return UNIT_RUN(tests);
}
