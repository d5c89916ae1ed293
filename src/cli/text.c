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

void bpk_print_escaped(struct bpk_view text)
{
	char shown[BPK_TEXT_SHOWN];

	while (text.size > 0) {
		size_t taken = bpk_text_show(text, shown);

		fputs(shown, stdout);
		text = bpk_view(text.data + taken, text.size - taken);
	}
}

const char *bpk_output_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard output" : path;
}
