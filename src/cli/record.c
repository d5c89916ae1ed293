/* Writes results as JSON Lines. All commands with --json call it, member by member. */
#include "cli/record.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/report.h"

static bool need_comma;
static bool is_open; /* a record without its status */

static void print_buf(const struct bpk_buf *buf)
{
	fwrite(buf->data, 1, buf->size, stdout);
}

static void print_comma(void)
{
	if (need_comma)
		putchar(',');
	need_comma = true;
}

static void print_key(const char *key, const char *suffix)
{
	print_comma();
	printf("\"%s%s\":", key, suffix);
}

/* Without memory for a line's worth of text nothing sensible can follow. */
void bpk_record_piece(struct bpk_view text)
{
	struct bpk_buf buf = { 0 };
	struct bpk_err err = { 0 };

	while (text.size > 0) {
		if (bpk_json_put_piece(&buf, &text, &err) != 0)
			bpk_report(NULL, &err);
		print_buf(&buf);
		buf.size = 0;
	}
	bpk_buf_clear(&buf);
}

static void print_quoted(struct bpk_view text)
{
	putchar('"');
	bpk_record_piece(text);
	putchar('"');
}

static void print_base64(struct bpk_view bytes)
{
	struct bpk_buf buf = { 0 };
	struct bpk_err err = { 0 };

	if (bpk_base64_put(&buf, bytes, &err) != 0)
		bpk_report(NULL, &err);
	putchar('"');
	print_buf(&buf);
	putchar('"');
	bpk_buf_clear(&buf);
}

void bpk_record_bytes(const char *key, struct bpk_view text)
{
	bool readable = bpk_utf8_valid(text);

	print_key(key, readable ? "" : "_b64");
	if (readable)
		print_quoted(text);
	else
		print_base64(text);
}

void bpk_record_text(const char *key, const char *text)
{
	if (text != NULL) {
		bpk_record_bytes(key, bpk_view(text, strlen(text)));
		return;
	}
	print_key(key, "");
	fputs("null", stdout);
}

void bpk_record_pieces_begin(const char *key)
{
	print_key(key, "");
	putchar('"');
}

void bpk_record_pieces_end(void)
{
	putchar('"');
}

void bpk_record_begin(const char *command, const char *path)
{
	fputs("{\"bpk\":1", stdout);
	need_comma = true;
	bpk_record_text("command", command);
	bpk_record_text("path", path);
}

void bpk_record_end(void)
{
	is_open = true;
}

void bpk_record_u64(const char *key, uint64_t value)
{
	print_key(key, "");
	if (value == BPK_UNKNOWN)
		fputs("null", stdout);
	else
		printf("%" PRIu64, value);
}

void bpk_record_bool(const char *key, bool value)
{
	print_key(key, "");
	fputs(value ? "true" : "false", stdout);
}

void bpk_record_seconds(const char *key, double value)
{
	print_key(key, "");
	printf("%.6f", value);
}

void bpk_record_double(const char *key, double value)
{
	print_key(key, "");
	printf("%.17g", value);
}

void bpk_record_number(const char *key, const char *text)
{
	print_key(key, "");
	fputs(text != NULL ? text : "null", stdout);
}

void bpk_record_list_begin(const char *key)
{
	print_key(key, "");
	putchar('[');
	need_comma = false;
}

void bpk_record_list_end(void)
{
	putchar(']');
	need_comma = true;
}

void bpk_record_item_begin(void)
{
	print_comma();
	putchar('{');
	need_comma = false;
}

void bpk_record_item_end(void)
{
	putchar('}');
	need_comma = true;
}

void bpk_record_list_text(const char *text)
{
	struct bpk_view bytes = bpk_view(text, strlen(text));

	print_comma();
	if (bpk_utf8_valid(bytes))
		print_quoted(bytes);
	else
		print_base64(bytes);
}

void bpk_record_list_u64(uint64_t value)
{
	print_comma();
	printf("%" PRIu64, value);
}

void bpk_record_settle(const struct bpk_shared *shared, const char *path)
{
	char line[BPK_ERR_TEXT];
	int status;

	if (!shared->json)
		return;
	status = bpk_report_recent(line);
	if (!is_open && status == 0)
		return;
	if (!is_open)
		bpk_record_begin(shared->command, path);
	bpk_record_u64("status", (uint64_t)status);
	bpk_record_text("error", line[0] != '\0' ? line : NULL);
	is_open = false;
	fputs("}\n", stdout);
	bpk_flush_results();
}
