/*
 * io/remote: URLs of stores, files of keys, and the XML that a store sends, whatever is in it.
 */
#include "unit/unit.h"

#include "io/remote/list.h"
#include "io/remote/s3.h"
#include "io/remote/xml.h"

static struct bpk_view view_of(const char *text)
{
	return bpk_view(text, strlen(text));
}

/* ---- URLs ---- */

static void test_encoding(void **state)
{
	struct bpk_buf text = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_url_encode(&text, "aZ9-._~ /+%&\xc3\xa4?#\x01", "/", &err), 0);
	assert_int_equal(bpk_buf_append(&text, bpk_view("", 1), &err), 0);
	assert_string_equal((char *)text.data, "aZ9-._~%20/%2B%25%26%C3%A4%3F%23%01");
	text.size = 0;
	assert_int_equal(bpk_url_encode(&text, "a/b", "", &err), 0);
	assert_memory_equal(text.data, "a%2Fb", 5);
	bpk_buf_clear(&text);
}

static void test_urls_of_stores(void **state)
{
	static char endpoint[] = "http://127.0.0.1:9000", region[] = "eu-west-1";
	static const struct bpk_store amazon = { .region = region },
				      own = { .region = region, .endpoint = endpoint };
	static const struct {
		const struct bpk_store *store;
		const char *path, *url; /* NULL: refused */
	} rows[] = {
		{ &amazon, "s3://buck-1/a/b c",
		  "https://buck-1.s3.eu-west-1.amazonaws.com/a/b%20c" },
		{ &amazon, "s3://a.b/k", "https://s3.eu-west-1.amazonaws.com/a.b/k" },
		{ &amazon, "s3://A_b/k", "https://s3.eu-west-1.amazonaws.com/A_b/k" },
		{ &amazon, "s3://b-/k", "https://s3.eu-west-1.amazonaws.com/b-/k" },
		{ &amazon, "s3://b", "https://b.s3.eu-west-1.amazonaws.com/" },
		{ &own, "s3://b/a%2F?x=#", "http://127.0.0.1:9000/b/a%252F%3Fx%3D%23" },
		{ &own, "s3://b//../x/", "http://127.0.0.1:9000/b//../x/" },
		{ &own, "s3:///k", NULL },
		{ &own, "s3://", NULL },
		{ &own, "s3://../k", NULL },
		{ &own, "s3://b@host/k", NULL },
		{ &own, "s3://b:80/k", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct bpk_err err = { 0 };
		struct bpk_url url, below;
		int rc = bpk_s3_url_of(rows[i].store, rows[i].path, &url, &err);

		print_message("# %s\n", rows[i].path);
		assert_int_equal(rc, rows[i].url == NULL ? -1 : 0);
		if (rows[i].url == NULL) {
			assert_int_equal(err.kind, BPK_USAGE);
			assert_null(url.text);
			continue;
		}
		assert_string_equal(url.text, rows[i].url);
		assert_int_equal(bpk_url_below(&url, "x/\xc3\xa4", &below, &err), 0);
		assert_true(bpk_ends_with(below.text, "x/%C3%A4"));
		assert_true(below.store == rows[i].store);
		bpk_url_clear(&below);
		bpk_url_clear(&url);
	}
}

/* ---- files of keys ---- */

static void test_profiles(void **state)
{
	static const char text[] = "# aws_access_key_id = no\n"
				   "aws_access_key_id = before any section\n"
				   "[default]\r\n"
				   "aws_access_key_id = ID\r\n"
				   "aws_secret_access_key=a/b+c==\n"
				   "s3 =\n"
				   "  aws_session_token = of another setting\n"
				   "\n[profile  other]\n"
				   "region = eu-west-1\n"
				   "aws_access_key_id\n"
				   "aws_access_key_id = first\n"
				   "aws_access_key_id = second\n"
				   "aws_secret_access_key =\n"
				   "[profile]\n[]\n[\n]\n=\n"
				   "[default]\n"
				   "aws_session_token = T";
	struct bpk_s3_profile found = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_s3_profile_read(view_of(text), "default", &found, &err), 0);
	assert_string_equal(found.key_id, "ID");
	assert_string_equal(found.secret, "a/b+c==");
	assert_string_equal(found.token, "T");
	assert_null(found.region);
	bpk_s3_profile_clear(&found);
	assert_int_equal(bpk_s3_profile_read(view_of(text), "other", &found, &err), 0);
	assert_string_equal(found.key_id, "first");
	assert_string_equal(found.region, "eu-west-1");
	assert_null(found.secret);
	bpk_s3_profile_clear(&found);
	assert_int_equal(bpk_s3_profile_read(view_of(text), "missing", &found, &err), 0);
	assert_null(found.key_id);
}

/* ---- XML ---- */

static int note(void *arg, const char *path, const char *value, struct bpk_err *err)
{
	(void)err;
	return bpk_buf_printf(arg, err, "%s=%s;", path, value);
}

/* The ends of all elements in text, "" where it is refused. */
static void scans_as(const char *text, const char *expected)
{
	struct bpk_buf found = { 0 };
	struct bpk_err err = { 0 };
	int rc = bpk_xml_scan(view_of(text), note, &found, &err);

	print_message("# %s\n", text);
	if (*expected == '\0') {
		assert_int_equal(rc, -1);
		assert_int_equal(err.kind, BPK_FAILED);
	} else {
		assert_int_equal(rc, 0);
		assert_int_equal(found.size, strlen(expected));
		assert_memory_equal(found.data, expected, found.size);
	}
	bpk_buf_clear(&found);
}

static void test_xml(void **state)
{
	(void)state;
	scans_as("<?xml version=\"1.0\"?>\n<a x='>' y=\"<\"><b>t</b> <c/>\n</a >\n",
		 "a/b=t;a/c=;a=\n;");
	scans_as("<a>&amp;&lt;&gt;&quot;&apos;&#65;&#x20AC;&#x1F600;</a>",
		 "a=&<>\"'A\xe2\x82\xac\xf0\x9f\x98\x80;");
	scans_as("\xef\xbb\xbf<a/>", "a=;");
	scans_as("", "");
	scans_as("text", "");
	scans_as("<a>", "");
	scans_as("<a></b>", "");
	scans_as("<a><b></a></b>", "");
	scans_as("<ab></b>", "");
	scans_as("<a/><a/>", "");
	scans_as("</a>", "");
	scans_as("<a>&bad;</a>", "");
	scans_as("<a>&#0;</a>", "");
	scans_as("<a>&#xD800;</a>", "");
	scans_as("<a>&#x110000;</a>", "");
	scans_as("<a>&#18446744073709551681;</a>", "");
	scans_as("<a>&#;</a>", "");
	scans_as("<a>&#65</a>", "");
	scans_as("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "");
	scans_as("<a><![CDATA[x]]></a>", "");
	scans_as("<a><!-- x --></a>", "");
	scans_as("<?xml", "");
	scans_as("<a x='", "");
	scans_as("<", "");
	scans_as("<a", "");
	scans_as("<a/", "");
	scans_as("<a>x</", "");
}

static void test_xml_has_bounds(void **state)
{
	enum { MANY = 20000 };
	char *text = calloc(1, MANY + 100);
	struct bpk_buf found = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < MANY; i += 3)
		memcpy(text + i, "<a>", 3);
	assert_int_equal(bpk_xml_scan(view_of(text), note, &found, &err), -1);
	memset(text, 'x', MANY);
	memcpy(text, "<a>", 3);
	strcpy(text + MANY, "</a>");
	assert_int_equal(bpk_xml_scan(view_of(text), note, &found, &err), -1);
	/* every beginning of a sound text is refused */
	strcpy(text, "<?xml?><a><b k='v'>&#x20;</b><c/></a>");
	for (size_t size = 0; size < strlen(text); size++)
		assert_int_equal(bpk_xml_scan(bpk_view(text, size), note, &found, &err), -1);
	bpk_buf_clear(&found);
	free(text);
}

/* ---- listings ---- */

#define PAGE(content) "<ListBucketResult xmlns=\"x\">" content "</ListBucketResult>"
#define KEY(key)      "<Contents><Key>" key "</Key><Size>7</Size></Contents>"
#define FOLDER(key)   "<CommonPrefixes><Prefix>" key "</Prefix></CommonPrefixes>"

static int read_page(const char *text, struct bpk_listing *listing, char **next)
{
	struct bpk_page page = { .listing = listing, .prefix = "p/" };
	struct bpk_err err = { 0 };
	int rc = bpk_page_read(&page, view_of(text), &err);

	if (rc != 0)
		print_message("# %s\n", err.text);
	if (next != NULL)
		*next = page.next;
	else
		free(page.next);
	return rc;
}

static void test_a_page(void **state)
{
	struct bpk_listing listing = { 0 };
	const struct bpk_listed *entry;
	char *next;

	(void)state;
	assert_int_equal(
		read_page(PAGE("<IsTruncated>true</IsTruncated>" KEY("p/") KEY("p/a&amp;b") FOLDER(
				  "p/c/") "<NextContinuationToken>t/=</NextContinuationToken>"),
			  &listing, &next),
		0);
	assert_string_equal(next, "t/=");
	free(next);
	assert_int_equal(listing.count, 2);
	entry = bpk_listing_find(&listing, "a&b", 3);
	assert_non_null(entry);
	assert_true(!entry->is_folder && entry->size == 7);
	entry = bpk_listing_find(&listing, "cut", 1);
	assert_true(entry != NULL && entry->is_folder);
	assert_null(bpk_listing_find(&listing, "a", 1));
	assert_null(bpk_listing_find(&listing, "d", 1));
	/* a token of a page that is the last means nothing */
	assert_int_equal(read_page(PAGE("<IsTruncated>false</IsTruncated>"
					"<NextContinuationToken>t</NextContinuationToken>"),
				   &listing, &next),
			 0);
	assert_null(next);
	bpk_listing_clear(&listing);
}

static void test_hostile_pages(void **state)
{
	static const char *const pages[] = {
		PAGE(KEY("q/a")),
		PAGE(KEY("p/a/b")),
		PAGE(KEY("p/..")),
		PAGE(FOLDER("p/../")),
		PAGE(FOLDER("p//")),
		PAGE(KEY("p/a&#10;b")),
		PAGE("<Contents><Key>p/a</Key><Size>-1</Size></Contents>"),
		PAGE("<Contents><Key>p/a</Key><Size>99999999999999999999999</Size></Contents>"),
		PAGE("<IsTruncated>true</IsTruncated>"),
		"<Error><Code>SlowDown</Code></Error>",
		"<html></html>",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		struct bpk_listing listing = { 0 };

		print_message("# %s\n", pages[i]);
		assert_int_equal(read_page(pages[i], &listing, NULL), -1);
		bpk_listing_clear(&listing);
	}
}

/* ---- errors ---- */

static void test_errors(void **state)
{
	static const struct {
		unsigned status;
		const char *body, *location, *line;
		enum bpk_s3_meaning meaning;
	} rows[] = {
		{ 403, "<Error><Code>AccessDenied</Code><Message>no\x1b[1m</Message>", NULL,
		  "the store answered 403 Reason: AccessDenied (no\\x1b[1m)", BPK_S3_DENIED },
		{ 404, "<Error><Code>NoSuchKey</Code></Error>", NULL,
		  "the store answered 404 Reason: NoSuchKey", BPK_S3_MISSING },
		{ 404, "<Error><Code>NoSuchBucket</Code></Error>", NULL, "no such bucket",
		  BPK_S3_FAILED },
		{ 404, "", NULL, "the store answered 404 Reason", BPK_S3_MISSING },
		{ 301, "<Error><Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint></Error>", NULL,
		  "the store redirects to b.s3.eu-west-1.amazonaws.com; name its --region or "
		  "--endpoint",
		  BPK_S3_FAILED },
		{ 307, "", "https://other.example:1/b/k?secret",
		  "the store redirects to other.example:1; name its --region or --endpoint",
		  BPK_S3_FAILED },
		{ 307, "", "/b/k",
		  "the store redirects to elsewhere; name its --region or --endpoint",
		  BPK_S3_FAILED },
		{ 300, "", NULL,
		  "the store redirects to elsewhere; name its --region or --endpoint",
		  BPK_S3_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct bpk_answer answer = { .status = rows[i].status, .reason = "Reason" };
		struct bpk_err err = { 0 };

		if (rows[i].location != NULL)
			strcpy(answer.location, rows[i].location);
		assert_int_equal(bpk_s3_explain(&answer, view_of(rows[i].body), &err),
				 rows[i].meaning);
		assert_string_equal(err.text, rows[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encoding),       cmocka_unit_test(test_urls_of_stores),
		cmocka_unit_test(test_profiles),       cmocka_unit_test(test_xml),
		cmocka_unit_test(test_xml_has_bounds), cmocka_unit_test(test_a_page),
		cmocka_unit_test(test_hostile_pages),  cmocka_unit_test(test_errors),
	};

	return UNIT_RUN(tests);
}
