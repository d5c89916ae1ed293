/* The lines of bpk sum. Called by sum_work.c. */
#include <stdio.h>

#include "cli/report.h"
#include "cli/sum.h"
#include "cli/text.h"

/* The characters that a line of sha256sum escapes, and their letters. */
static const char escaped[] = "\\\n\r", letters[] = "\\nr";

void bpk_sum_begin_line(const char *name)
{
	if (strpbrk(name, escaped) != NULL)
		putchar('\\');
}

void bpk_sum_print_name(const char *name)
{
	for (; *name != '\0'; name++) {
		const char *found = strchr(escaped, *name);

		if (found != NULL)
			putchar('\\');
		putchar(found != NULL ? letters[found - escaped] : *name);
	}
}

static void print_hex(const uint8_t digest[BPK_DIGEST_SIZE])
{
	for (size_t i = 0; i < BPK_DIGEST_SIZE; i++)
		printf("%02x", digest[i]);
}

void bpk_sum_show(const struct bpk_sum_entry *entry, const uint8_t digest[BPK_DIGEST_SIZE])
{
	bpk_sum_begin_line(entry->name);
	if (entry->tree) {
		fputs("SHA256-TREE (", stdout);
		bpk_sum_print_name(entry->name);
		fputs(") = ", stdout);
		print_hex(digest);
	} else {
		print_hex(digest);
		fputs("  ", stdout);
		bpk_sum_print_name(entry->name);
	}
	putchar('\n');
	bpk_flush_results();
}

/* sha256sum escapes a name here only if it has a newline. Names of a list may come from anybody, so
 * other control characters are escaped, too. */
void bpk_sum_show_verdict(const char *name, const char *verdict)
{
	if (strchr(name, '\n') != NULL) {
		putchar('\\');
		for (const char *end; *name != '\0'; name = end) {
			size_t plain = strcspn(name, escaped);

			bpk_print_escaped(bpk_view(name, plain));
			end = name + plain;
			if (*end == '\0')
				continue;
			putchar('\\');
			putchar(letters[strchr(escaped, *end++) - escaped]);
		}
	} else {
		bpk_print_escaped(bpk_view(name, strlen(name)));
	}
	printf(": %s\n", verdict);
	bpk_flush_results();
}
