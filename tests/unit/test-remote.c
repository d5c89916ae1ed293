/*
 * io/remote: the head of a server's answer, whatever the server writes there.
 */
#include "unit/unit.h"

#include "io/remote/answer.h"

/* The answer whose head has these lines. */
static struct bpk_answer answer_of(const char *const lines[])
{
	struct bpk_answer answer = { 0 };

	for (; *lines != NULL; lines++)
		bpk_answer_take(&answer, bpk_view(*lines, strlen(*lines)));
	return answer;
}

static void test_a_part(void **state)
{
	static const char *const lines[] = { "HTTP/1.1 206 Partial Content\r\n",
					     "content-RANGE:  bytes 10-19/100 \r\n",
					     "Content-Length: 10\r\n",
					     "ETag: \"abc\"\r\n",
					     "Last-Modified: Mon\r\n",
					     "\r\n",
					     NULL };
	struct bpk_answer answer = answer_of(lines);

	(void)state;
	assert_int_equal(answer.status, 206);
	assert_string_equal(answer.reason, "Partial Content");
	assert_true(answer.has_range && !answer.is_bad && answer.is_strong);
	assert_int_equal(answer.first, 10);
	assert_int_equal(answer.size, 10);
	assert_int_equal(answer.total, 100);
	assert_string_equal(answer.version, "\"abc\"");
}

static void test_the_last_status_counts(void **state)
{
	static const char *const lines[] = {
		"HTTP/1.1 302 Found\r\n", "ETag: \"old\"\r\n",
		"Retry-After: 9\r\n",     "Content-Range: bytes 0-0/9\r\n",
		"HTTP/2 200 \r\n",        "Content-Length: 7\r\n",
		"Last-Modified: Mon\r\n", NULL
	};
	struct bpk_answer answer = answer_of(lines);

	(void)state;
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.reason, "");
	assert_false(answer.has_range);
	assert_int_equal(answer.size, 7);
	assert_true(answer.total == BPK_UNKNOWN);
	assert_int_equal(answer.retry_after, 0);
	assert_string_equal(answer.version, "Mon");
	assert_false(answer.is_strong);
}

static void test_ranges(void **state)
{
	static const struct {
		const char *line;
		bool bad, has_range;
		uint64_t first, size, total;
	} rows[] = {
		{ "Content-Range: bytes 0-0/1", false, true, 0, 1, 1 },
		{ "Content-Range: bytes 0-9/*", false, true, 0, 10, BPK_UNKNOWN },
		{ "Content-Range: bytes */77", false, false, 0, BPK_UNKNOWN, 77 },
		{ "Content-Range: Bytes 5-18446744073709551599/18446744073709551600", false, true,
		  5, UINT64_C(18446744073709551595), UINT64_C(18446744073709551600) },
		{ "Content-Range: bytes 9-8/10", .bad = true },
		{ "Content-Range: bytes 0-10/10", .bad = true },
		{ "Content-Range: bytes 0-9", .bad = true },
		{ "Content-Range: bytes 0-9/10x", .bad = true },
		{ "Content-Range: bytes -9/10", .bad = true },
		{ "Content-Range: bytes 0-99999999999999999999/100000000000000000000",
		  .bad = true },
		{ "Content-Range: items 0-9/10", .bad = true },
		{ "Content-Range: bytes", .bad = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *lines[] = { "HTTP/1.1 206 x", rows[i].line, NULL };
		struct bpk_answer answer = answer_of(lines);

		print_message("# %s\n", rows[i].line);
		assert_int_equal(answer.is_bad, rows[i].bad);
		if (rows[i].bad)
			continue;
		assert_int_equal(answer.has_range, rows[i].has_range);
		assert_true(answer.first == rows[i].first && answer.size == rows[i].size &&
			    answer.total == rows[i].total);
	}
}

static void test_versions(void **state)
{
	char longer[400], other[400];
	const char *lines[] = { "HTTP/1.1 200 OK", longer, NULL };
	const char *others[] = { "HTTP/1.1 200 OK", other, NULL };
	static const char *const weak[][3] = {
		{ "HTTP/1.1 200 OK", "ETag: W/\"x\"", NULL },
		{ "HTTP/1.1 200 OK", "ETag: x", NULL },
		{ "HTTP/1.1 200 OK", "ETag: \"a\rX: 1\rb\"", NULL },
		{ "HTTP/1.1 200 OK", "ETag: \"a\", \"b\"", NULL },
	};
	struct bpk_answer answer;

	(void)state;
	for (size_t i = 0; i < sizeof weak / sizeof weak[0]; i++)
		assert_false(answer_of(weak[i]).is_strong);
	/* one that does not fit is compared as a whole, but never sent back */
	memset(longer, 'a', sizeof longer);
	memcpy(longer, "ETag: \"", 7);
	memcpy(longer + sizeof longer - 2, "\"", 2);
	memcpy(other, longer, sizeof other);
	other[sizeof other - 3] = 'b';
	answer = answer_of(lines);
	assert_false(answer.is_strong);
	assert_int_equal(strlen(answer.version), BPK_ANSWER_TEXT - 1);
	assert_string_not_equal(answer.version, answer_of(others).version);
}

static void test_what_follows_the_head(void **state)
{
	static const char *const lines[] = { "HTTP/1.1 206 x", "Content-Range: bytes 0-9/100",
					     "\r\n",           "Content-Range: bytes 0-9/10",
					     "ETag: \"x\"",    NULL };
	static const char *const encoded[] = { "HTTP/1.1 200 x", "Content-Encoding: gzip",
					       "Content-Range: bytes 0-9/10", "", NULL };
	struct bpk_answer answer = answer_of(lines);

	(void)state;
	assert_true(answer.is_complete && !answer.is_framed);
	assert_int_equal(answer.total, 100);
	assert_string_equal(answer.version, "");
	assert_true(answer_of(encoded).is_bad);
}

static void test_odd_lines(void **state)
{
	static const char *const lines[] = { "",
					     "\r\n",
					     "HTTP/",
					     "HTTP/1.1",
					     "HTTP/1.1 ",
					     "HTTP/1.1 x",
					     ":",
					     "etag",
					     "etag:",
					     "content-range:",
					     "retry-after: -1",
					     "retry-after: 99999999999",
					     NULL };
	struct bpk_answer answer = answer_of(lines);

	(void)state;
	assert_int_equal(answer.status, 0);
	assert_int_equal(answer.retry_after, 3600);
	assert_true(answer.is_bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_part),    cmocka_unit_test(test_the_last_status_counts),
		cmocka_unit_test(test_ranges),    cmocka_unit_test(test_versions),
		cmocka_unit_test(test_odd_lines), cmocka_unit_test(test_what_follows_the_head),
	};

	return UNIT_RUN(tests);
}
