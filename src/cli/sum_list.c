/* The lists of bpk sum --check: their lines, and the sum of their outcomes. Called by sum.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/report.h"
#include "cli/sum.h"
#include "cli/text.h"

/* ---- A line ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool parse_hex(const char *text, uint8_t digest[BPK_DIGEST_SIZE])
{
	for (size_t i = 0; i < BPK_DIGEST_SIZE; i++) {
		int high = digit_of(text[2 * i]), low = high < 0 ? -1 : digit_of(text[2 * i + 1]);

		if (low < 0)
			return false;
		digest[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

bool bpk_sum_unescape(char *name)
{
	char *to = name;

	for (; *name != '\0'; name++) {
		char c = *name;

		if (c == '\\') {
			c = *++name == 'n' ? '\n' : *name == 'r' ? '\r' : *name;
			if (c != '\n' && c != '\r' && c != '\\')
				return false;
		}
		*to++ = c;
	}
	*to = '\0';
	return true;
}

enum { HEX = 2 * BPK_DIGEST_SIZE };

/* "SHA256 (NAME) = HEX", behind the tag and a blank. */
static bool parse_tagged(char *text, struct bpk_sum_entry *entry)
{
	static const char between[] = ") = ";
	size_t size = strlen(text), tail = sizeof between - 1 + HEX;
	char *end;

	if (*text != '(' || size < 1 + tail)
		return false;
	end = text + size - tail;
	if (memcmp(end, between, sizeof between - 1) != 0 ||
	    !parse_hex(end + sizeof between - 1, entry->expected))
		return false;
	*end = '\0';
	entry->name = text + 1;
	return true;
}

/* "HEX  NAME", or "HEX *NAME". */
static bool parse_plain(char *text, struct bpk_sum_entry *entry)
{
	if (strlen(text) < HEX + 2 || !parse_hex(text, entry->expected) || text[HEX] != ' ' ||
	    (text[HEX + 1] != ' ' && text[HEX + 1] != '*'))
		return false;
	entry->name = text + HEX + 2;
	return true;
}

bool bpk_sum_parse(char *line, size_t size, struct bpk_sum_entry *entry)
{
	static const char plain_tag[] = "SHA256 ", tree_tag[] = "SHA256-TREE ";
	bool is_escaped, good;

	*entry = (struct bpk_sum_entry){ .is_expected = true };
	if (memchr(line, '\0', size) != NULL)
		return false;
	while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
		size--;
	line[size] = '\0';
	line += strspn(line, " \t");
	is_escaped = *line == '\\';
	line += is_escaped;
	entry->tree = strncmp(line, tree_tag, sizeof tree_tag - 1) == 0;
	if (entry->tree)
		good = parse_tagged(line + sizeof tree_tag - 1, entry);
	else if (strncmp(line, plain_tag, sizeof plain_tag - 1) == 0)
		good = parse_tagged(line + sizeof plain_tag - 1, entry);
	else
		good = parse_plain(line, entry);
	return good && *entry->name != '\0' &&
	       (!is_escaped || bpk_sum_unescape((char *)entry->name));
}

/* ---- A list ---- */

/* Lines are read and checked in batches, so that memory does not follow the list. */
enum { BATCH = 1024, LINE_MAX_SIZE = 64 << 10, PIECE = 64 << 10 };

struct list {
	const struct bpk_sum_args *args;
	const char *path;
	struct bpk_source *source;
	uint8_t piece[PIECE];
	size_t at, size; /* of piece: the bytes that were taken, and that are there */
	uint64_t number; /* of the last line, from 1 */
	struct bpk_sum_tally tally;
	struct bpk_buf line;
	char *names[BATCH]; /* lines that entries point into; owned */
	struct bpk_sum_entry entries[BATCH];
	size_t count;
};

static int fail_list(const struct list *list, struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", bpk_input_name(list->path));
}

/* Add the bytes up to a newline, or to the end of the piece. True if the line ends there. A line
 * that is too long keeps its first bytes only. */
static bool take_bytes(struct list *list, struct bpk_err *err, int *rc)
{
	const uint8_t *from = list->piece + list->at;
	const uint8_t *end = memchr(from, '\n', list->size - list->at);
	size_t size = end != NULL ? (size_t)(end - from) : list->size - list->at;
	size_t room = LINE_MAX_SIZE + 1 - bpk_min_size(LINE_MAX_SIZE + 1, list->line.size);

	list->at += size + (end != NULL);
	*rc = bpk_buf_append(&list->line, bpk_view(from, bpk_min_size(size, room)), err);
	return end != NULL;
}

/* Read the next line, without its newline. Returns 1 at the end. */
static int read_line(struct list *list, struct bpk_err *err)
{
	bool is_whole = false;
	int rc = 0;

	list->line.size = 0;
	while (rc == 0 && !is_whole) {
		if (list->at == list->size) {
			list->at = list->size = 0;
			if (bpk_source_read(list->source, bpk_span(list->piece, PIECE), &list->size,
					    err) != 0)
				return fail_list(list, err);
			if (list->size == 0)
				break;
		}
		is_whole = take_bytes(list, err, &rc);
	}
	if (rc != 0)
		return -1;
	list->number++;
	return is_whole || list->line.size > 0 ? 0 : 1;
}

static void run_batch(struct list *list)
{
	bpk_sum_entries(list->args, list->entries, list->count, &list->tally);
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	list->count = 0;
}

static void note_malformed(struct list *list)
{
	list->tally.nmalformed++;
	if (list->args->shared.verbose)
		bpk_note(bpk_input_name(list->path),
			 "line %" PRIu64 " is malformed, expected a digest and a name",
			 list->number);
}

/* Blank lines, and those that begin with #, say nothing. */
static bool is_silent(const struct list *list)
{
	return list->line.size == 0 || list->line.data[0] == '#' ||
	       (list->line.size == 1 && list->line.data[0] == '\r');
}

static int add_line(struct list *list, struct bpk_err *err)
{
	size_t size = list->line.size;
	char *copy;

	if (is_silent(list))
		return 0;
	copy = bpk_alloc(size + 1, err);
	if (copy == NULL)
		return fail_list(list, err);
	memcpy(copy, list->line.data, size);
	if (size > LINE_MAX_SIZE || !bpk_sum_parse(copy, size, &list->entries[list->count])) {
		free(copy);
		note_malformed(list);
		return 0;
	}
	list->names[list->count++] = copy;
	if (list->count == BATCH)
		run_batch(list);
	return 0;
}

/* ---- The sum ---- */

static void report(const struct list *list, const char *line)
{
	struct bpk_err err = { 0 };

	bpk_fail(&err, BPK_FAILED, "%s", line);
	fail_list(list, &err);
	bpk_report(NULL, &err);
}

static void tell_malformed(const struct list *list)
{
	uint64_t n = list->tally.nmalformed;
	struct bpk_err line = { 0 };

	if (n == 0)
		return;
	bpk_fail(&line, BPK_OK, "%" PRIu64 " %s malformed, expected a digest and a name", n,
		 bpk_plural(n, "line is", "lines are"));
	if (list->args->strict)
		report(list, line.text);
	else if (!list->args->shared.quiet)
		bpk_note(bpk_input_name(list->path), "%s", line.text);
}

static void tell_sum(const struct list *list)
{
	const struct bpk_sum_tally *tally = &list->tally;
	uint64_t ngiven = tally->nsame + tally->ndifferent + tally->nfailed + tally->nmissing;

	if (ngiven == 0) {
		report(list, "has no line with a SHA-256 digest and a name");
		return;
	}
	tell_malformed(list);
	if (tally->nmissing == ngiven)
		report(list, "no file that it names is there");
	if (tally->ndifferent > 0 && !list->args->shared.quiet)
		bpk_note(bpk_input_name(list->path), "%" PRIu64 " of %" PRIu64 " contents %s",
			 tally->ndifferent, ngiven,
			 bpk_plural(tally->ndifferent, "differs", "differ"));
}

void bpk_sum_check_list(const struct bpk_sum_args *args, const char *path)
{
	struct bpk_err err = { 0 };
	struct list *list = bpk_calloc(1, sizeof *list, &err);
	int rc = list != NULL ? 0 : -1;

	if (rc == 0) {
		list->args = args;
		list->path = path;
		list->tally.standard_input_is_read = strcmp(path, "-") == 0;
		rc = bpk_source_open(path, &list->source, &err);
		if (rc != 0)
			fail_list(list, &err);
	}
	while (rc == 0 && (rc = read_line(list, &err)) == 0)
		rc = add_line(list, &err);
	if (list != NULL)
		run_batch(list);
	if (rc < 0)
		bpk_report(NULL, &err);
	else
		tell_sum(list);
	if (list == NULL)
		return;
	bpk_source_close(list->source);
	bpk_buf_clear(&list->line);
	free(list);
}
