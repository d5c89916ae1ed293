/* Sizes, ratios, wrapped paragraphs and escaped names, for messages and results of all commands. */
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>

const char *bpk_size_text(uint64_t size, char out[BPK_SIZE_TEXT])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)size / 1024;
	size_t unit = 0;

	if (size == BPK_UNKNOWN)
		snprintf(out, BPK_SIZE_TEXT, "-");
	else if (size < 1024)
		snprintf(out, BPK_SIZE_TEXT, "%" PRIu64 " B", size);
	else {
		for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
			value /= 1024;
		snprintf(out, BPK_SIZE_TEXT, "%.1f %s", value, units[unit]);
	}
	return out;
}

const char *bpk_ratio_text(uint64_t raw, uint64_t packed, char out[BPK_SIZE_TEXT])
{
	if (raw == BPK_UNKNOWN || packed == BPK_UNKNOWN || packed == 0)
		snprintf(out, BPK_SIZE_TEXT, "-");
	else
		snprintf(out, BPK_SIZE_TEXT, "%.3f", (double)raw / (double)packed);
	return out;
}

void bpk_print_wrapped(const char *text, size_t column, size_t indent, size_t width)
{
	bool fresh = true; /* nothing stands on this line yet */

	while (*text != '\0') {
		size_t word = strcspn(text, " ");

		if (!fresh && column + 1 + word > width) {
			printf("\n%*s", (int)indent, "");
			column = indent;
			fresh = true;
		}
		column += (size_t)printf("%s%.*s", fresh ? "" : " ", (int)word, text);
		fresh = false;
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

const char *bpk_printable(const char *text, struct bpk_err *out)
{
	bpk_fail(out, BPK_OK, "%s", text);
	return out->text;
}

/* Bytes at the start of text that show as themselves. */
static size_t ascii_size(struct bpk_view text)
{
	size_t size = 0;

	while (size < text.size && text.data[size] >= ' ' && text.data[size] <= '~')
		size++;
	return size;
}

void bpk_print_escaped(struct bpk_view text)
{
	char shown[BPK_TEXT_SHOWN];

	while (text.size > 0) {
		size_t taken = ascii_size(text);

		fwrite(text.data, 1, taken, stdout);
		if (taken == 0) {
			taken = bpk_text_show(text, shown);
			fputs(shown, stdout);
		}
		text = bpk_view(text.data + taken, text.size - taken);
	}
}

/* True if text, of which size bytes are there, ends like the scheme of a web server's URL. */
static bool ends_in_scheme(const char *text, size_t size)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < 2; i++)
		if (size >= strlen(schemes[i]) &&
		    memcmp(text + size - strlen(schemes[i]), schemes[i], strlen(schemes[i])) == 0)
			return true;
	return false;
}

/* Bytes of a URL's user in front of "@"; 0: none. */
static size_t user_size(const char *host)
{
	size_t size = strcspn(host, "/?# ");

	while (size > 0 && host[size - 1] != '@')
		size--;
	return size > 0 ? size - 1 : 0;
}

/* Bytes of a query: messages go on behind a blank, a quote, or a colon and a blank. */
static size_t query_size(const char *query)
{
	size_t size = strcspn(query, " \"");

	return size > 0 && query[size] == ' ' && query[size - 1] == ':' ? size - 1 : size;
}

void bpk_text_hide(const char *text, char out[BPK_ERR_TEXT])
{
	static const char dots[] = "...";
	size_t used = 0, hidden = 0;
	bool in_url = false;

	for (const char *at = text; *at != '\0' && used < BPK_ERR_TEXT - sizeof dots; at++) {
		out[used++] = *at;
		in_url = in_url && *at != ' ' && *at != '"';
		if (ends_in_scheme(out, used)) {
			in_url = true;
			hidden = user_size(at + 1);
		} else if (in_url && (*at == '?' || *at == '#')) {
			hidden = query_size(at + 1);
		}
		if (hidden > 0) {
			memcpy(out + used, dots, strlen(dots));
			used += strlen(dots);
		}
		at += hidden;
		hidden = 0;
	}
	out[used] = '\0';
}

const char *bpk_output_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard output" : path;
}
