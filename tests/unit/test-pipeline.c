/*
 * Lists of filters: their text, their requirements, and their losses.
 */
#include "unit/unit.h"

#include "chunk/chunk.h"

/* Parse and print: the text comes back, or as `as`. */
static void test_lists_are_read_and_printed(void **state)
{
	static const struct {
		const char *text, *as;
	} lists[] = {
		{ "none", NULL },
		{ "shuffle", NULL },
		{ "bitshuffle", NULL },
		{ "delta,shuffle", NULL },
		{ "shuffle,bytedelta", NULL },
		{ "shuffle:4,bytedelta:4", NULL },
		{ "trunc:12,shuffle", NULL },
		{ "trunc:-30,bitshuffle", NULL },
		{ "delta,int_trunc:5,shuffle:255,bytedelta:1,bitshuffle,shuffle", NULL },
		{ "none,shuffle,none", "shuffle" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct bpk_pipeline pipeline;
		char text[BPK_PIPELINE_TEXT];

		assert_int_equal(bpk_pipeline_parse(lists[i].text, &pipeline, NULL), 0);
		assert_string_equal(bpk_pipeline_print(&pipeline, text),
				    lists[i].as != NULL ? lists[i].as : lists[i].text);
	}
}

/* Refused as wrong usage, with a line that contains says; typesize 0: when parsing. */
static void test_what_filters_need(void **state)
{
	static const struct {
		const char *text;
		unsigned typesize;
		const char *says;
	} cases[] = {
		{ "", 0, "unknown filter ''" },
		{ "shuffle,", 0, "unknown filter ''" },
		{ "shufle", 0, "unknown filter 'shufle'" },
		{ "shuffle:0", 0, "from 1 to 255" },
		{ "shuffle:256", 0, "from 1 to 255" },
		{ "shuffle:", 0, "from 1 to 255" },
		{ "shuffle:4x", 0, "from 1 to 255" },
		{ "bitshuffle:4", 0, "takes no number" },
		{ "trunc", 0, "needs a number of bits" },
		{ "trunc:128", 0, "from -128 to 127" },
		{ "trunc:99999999999999999999", 0, "from -128 to 127" },
		{ "shuffle,delta", 0, "must be the first" },
		{ "delta,delta", 0, "must be the first" },
		{ "shuffle,shuffle,shuffle,shuffle,shuffle,shuffle,shuffle", 0, "more than 6" },
		{ "trunc:12", 2, "4 or 8 bytes, not of 2" },
		{ "trunc:12", 12, "4 or 8 bytes, not of 12" },
		{ "trunc:0", 4, "from 1 to 23" },
		{ "trunc:24", 4, "from 1 to 23" },
		{ "trunc:-23", 4, "from -1 to -22" },
		{ "trunc:53", 8, "from 1 to 52" },
		{ "int_trunc:5", 3, "1, 2, 4 or 8 bytes, not of 3" },
		{ "int_trunc:0", 1, "from 1 to 8" },
		{ "int_trunc:9", 1, "from 1 to 8" },
		{ "int_trunc:-8", 1, "from -1 to -7" },
		{ "shuffle,trunc:12", 4, "trunc must stand before shuffle" },
		{ "bytedelta,int_trunc:3", 4, "int_trunc must stand before bytedelta" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bpk_pipeline pipeline;
		struct bpk_err err = { 0 };
		int rc = bpk_pipeline_parse(cases[i].text, &pipeline, &err);

		assert_int_equal(rc, cases[i].typesize == 0 ? -1 : 0);
		if (cases[i].typesize > 0)
			rc = bpk_pipeline_check(&pipeline, cases[i].typesize, &err);
		assert_int_equal(rc, -1);
		assert_int_equal(err.kind, BPK_USAGE);
		if (strstr(err.text, cases[i].says) == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void test_losses_are_told(void **state)
{
	static const struct {
		const char *text;
		unsigned typesize;
		const char *loss, *exact;
	} cases[] = {
		{ "shuffle,bytedelta", 4, "", "shuffle,bytedelta" },
		{ "trunc:12,shuffle", 4,
		  "filter trunc:12 keeps 12 of 23 bits of each float32's mantissa", "shuffle" },
		{ "delta,trunc:-50", 8,
		  "filter trunc:-50 keeps 2 of 52 bits of each float64's mantissa", "delta" },
		{ "int_trunc:16", 2,
		  "filter int_trunc:16 keeps 16 of 16 bits of each 16-bit integer", "none" },
		{ "int_trunc:-3,int_trunc:9", 4,
		  "filter int_trunc:-3 keeps 29 of 32 bits of each 32-bit integer, filter "
		  "int_trunc:9 "
		  "keeps 9 of 32 bits of each 32-bit integer",
		  "none" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bpk_pipeline pipeline, exact;
		char loss[BPK_PIPELINE_LOSS_TEXT], text[BPK_PIPELINE_TEXT];

		assert_int_equal(bpk_pipeline_parse(cases[i].text, &pipeline, NULL), 0);
		assert_int_equal(bpk_pipeline_check(&pipeline, cases[i].typesize, NULL), 0);
		assert_string_equal(bpk_pipeline_loss(&pipeline, cases[i].typesize, loss),
				    cases[i].loss);
		assert_int_equal(bpk_pipeline_is_lossy(&pipeline), cases[i].loss[0] != '\0');
		exact = bpk_pipeline_exact(&pipeline);
		assert_string_equal(bpk_pipeline_print(&exact, text), cases[i].exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_are_read_and_printed),
		cmocka_unit_test(test_what_filters_need),
		cmocka_unit_test(test_losses_are_told),
	};

	return UNIT_RUN(tests);
}
