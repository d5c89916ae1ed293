/* Reads and writes the file of verify --state. Called by verify_rota.c and verify_ages.c. */
#include "cli/checks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "io/io.h"

static const char magic[] = "bpk verify state 1\n";
static const char *const kinds[] = { "bad", "never", "new", "changed", "good", "other" };

enum {
	MOST = 1 << 30, /* bytes of a file */
	NKINDS = sizeof kinds / sizeof kinds[0],
};

enum bpk_check_kind bpk_check_turn(const struct bpk_check *check)
{
	switch (check->kind) {
	case BPK_CHECK_NEVER:
		return BPK_CHECK_BAD;
	case BPK_CHECK_CHANGED:
		return BPK_CHECK_NEW;
	case BPK_CHECK_OTHER:
		return BPK_CHECK_GOOD;
	default:
		return check->kind;
	}
}

bool bpk_check_had_good(const struct bpk_check *check)
{
	return check->kind != BPK_CHECK_NEW && check->kind != BPK_CHECK_NEVER;
}

int bpk_checks_add(struct bpk_checks *checks, const struct bpk_check *check, struct bpk_err *err)
{
	struct bpk_check *all;

	if (check->path == NULL)
		return -1;
	all = bpk_alloc_grow(checks->all, checks->count, &checks->room, sizeof *all, err);
	if (all == NULL) {
		free(check->path);
		return -1;
	}
	checks->all = all;
	all[checks->count++] = *check;
	return 0;
}

void bpk_checks_clear(struct bpk_checks *checks)
{
	for (size_t i = 0; i < checks->count; i++)
		free(checks->all[i].path);
	free(checks->all);
	*checks = (struct bpk_checks){ 0 };
}

/* ---- reading ---- */

/* Take the word up to the next blank, or the end of the line. */
static struct bpk_view take_word(struct bpk_view *line)
{
	const uint8_t *blank = memchr(line->data, ' ', line->size);
	size_t size = blank != NULL ? (size_t)(blank - line->data) : line->size;
	struct bpk_view word = bpk_view(line->data, size);

	size += blank != NULL;
	*line = bpk_view(line->data + size, line->size - size);
	return word;
}

static bool take_number(struct bpk_view *line, uint64_t *out)
{
	struct bpk_view word = take_word(line);

	*out = 0;
	for (size_t i = 0; i < word.size; i++)
		if (word.data[i] < '0' || word.data[i] > '9' || !bpk_mul_u64(*out, 10, out) ||
		    !bpk_add_u64(*out, word.data[i] - '0', out))
			return false;
	return word.size > 0;
}

static bool take_kind(struct bpk_view *line, enum bpk_check_kind *kind)
{
	struct bpk_view word = take_word(line);

	for (size_t i = 0; i < NKINDS; i++)
		if (word.size == strlen(kinds[i]) && memcmp(word.data, kinds[i], word.size) == 0) {
			*kind = (enum bpk_check_kind)i;
			return true;
		}
	return false;
}

/* The value of a hexadecimal digit as write_path prints it, or -1. */
static int digit_value(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL: it is no path as write_path prints it, or memory is missing. */
static char *read_path(struct bpk_view text)
{
	char *path = bpk_calloc(1, text.size + 1, NULL), *out = path;
	bool valid = path != NULL && text.size > 0;

	for (size_t i = 0; valid && i < text.size; i++) {
		int high, low, value = text.data[i];

		if (value == '%') {
			valid = text.size - i > 2;
			high = valid ? digit_value(text.data[i + 1]) : -1;
			low = valid ? digit_value(text.data[i + 2]) : -1;
			valid = high >= 0 && low >= 0 && high + low > 0;
			value = 16 * high + low;
			i += 2;
		} else {
			valid = value > ' ' && value < 127;
		}
		*out++ = (char)value;
	}
	if (valid)
		return path;
	free(path);
	return NULL;
}

static int read_check(struct bpk_checks *checks, struct bpk_view line, struct bpk_err *err)
{
	struct bpk_check check = { .number = SIZE_MAX };

	if (!take_kind(&line, &check.kind) || !take_number(&line, &check.good) ||
	    !take_number(&line, &check.last) || !take_number(&line, &check.size) ||
	    !take_number(&line, &check.mtime) || (check.path = read_path(line)) == NULL)
		return bpk_fail(err, BPK_FAILED, "is damaged: line %zu has no check of a file",
				checks->count + 2);
	if (checks->count > 0 && strcmp(checks->all[checks->count - 1].path, check.path) >= 0) {
		free(check.path);
		return bpk_fail(err, BPK_FAILED,
				"is damaged: line %zu is not in the order of paths",
				checks->count + 2);
	}
	return bpk_checks_add(checks, &check, err);
}

/* The last line proves that no other is missing or wrong. Takes it away. */
static int check_end(struct bpk_view *text, size_t *count, struct bpk_err *err)
{
	const uint8_t *start = text->size > 1 ? memrchr(text->data, '\n', text->size - 1) : NULL;
	size_t size = start != NULL ? (size_t)(start + 1 - text->data) : 0;
	struct bpk_view line = bpk_view(text->data + size, text->size - size);
	struct bpk_view all = bpk_view(text->data, size), word = take_word(&line);
	char crc[16];
	uint64_t n;

	snprintf(crc, sizeof crc, "%08" PRIx32 "\n", bpk_crc32(0, all));
	if (word.size != 3 || memcmp(word.data, "end", 3) != 0 || !take_number(&line, &n))
		return bpk_fail(err, BPK_FAILED, "is damaged: it has no last line");
	if (line.size != strlen(crc) || memcmp(line.data, crc, line.size) != 0)
		return bpk_fail(err, BPK_FAILED, "is damaged: the CRC-32 of its lines is %.8s",
				crc);
	*count = n;
	*text = all;
	return 0;
}

static bool has_magic(struct bpk_view text)
{
	return text.size >= strlen(magic) && memcmp(text.data, magic, strlen(magic)) == 0;
}

static int read_lines(struct bpk_checks *checks, struct bpk_view text, struct bpk_err *err)
{
	size_t head = strlen(magic), count = 0;

	if (check_end(&text, &count, err) != 0)
		return -1;
	for (size_t at = head; at < text.size;) {
		const uint8_t *end = memchr(text.data + at, '\n', text.size - at);
		size_t size = (size_t)(end - text.data) - at; /* the last byte is a newline */

		if (read_check(checks, bpk_view(text.data + at, size), err) != 0)
			return -1;
		at += size + 1;
	}
	return checks->count == count
		       ? 0
		       : bpk_fail(err, BPK_FAILED, "is damaged: it has %zu files, expected %zu",
				  checks->count, count);
}

/* A damaged state would fail every run from now on. Returns -1. */
static int fail_lines(struct bpk_err *err)
{
	struct bpk_err plain = *err;

	return bpk_fail(err, plain.kind, "%s; remove it to begin anew", plain.text);
}

static int read_file(struct bpk_checks *checks, const char *path, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	struct bpk_place place;
	uint64_t size;
	int rc;

	if (bpk_place_open(path, NULL, &place, err) != 0)
		return -1;
	size = place.source != NULL ? bpk_source_size(place.source) : BPK_UNKNOWN;
	rc = size > MOST
		     ? bpk_fail(err, BPK_FAILED, "is not a state of bpk verify; name a new file")
		     : bpk_buf_resize(&text, (size_t)size, err);
	if (rc == 0)
		rc = bpk_source_need_at(place.source, 0, bpk_span(text.data, text.size), err);
	bpk_place_close(&place);
	/* another file, which may be one of the user's archives */
	if (rc == 0 && text.size == 0)
		rc = bpk_fail(err, BPK_FAILED, "is empty; remove it to begin anew");
	else if (rc == 0 && !has_magic(bpk_buf_view(&text)))
		rc = bpk_fail(err, BPK_FAILED, "is not a state of bpk verify; name a new file");
	if (rc == 0 && read_lines(checks, bpk_buf_view(&text), err) != 0)
		rc = fail_lines(err);
	bpk_buf_clear(&text);
	return rc;
}

int bpk_checks_read(struct bpk_checks *checks, const char *path, struct bpk_err *err)
{
	struct stat found;
	int rc = 0;

	if (stat(path, &found) == 0) /* a FIFO would wait for a writer */
		rc = S_ISREG(found.st_mode) ? read_file(checks, path, err)
					    : bpk_fail(err, BPK_FAILED, "is no regular file");
	else if (errno != ENOENT)
		rc = bpk_fail_errno(err, errno, "cannot open");
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", path);
}

/* ---- writing ---- */

static int write_path(struct bpk_buf *text, const char *path, struct bpk_err *err)
{
	int rc = 0;

	for (const char *c = path; rc == 0 && *c != '\0'; c++) {
		bool plain = *c > ' ' && *c < 127 && *c != '%';

		rc = plain ? bpk_buf_append(text, bpk_view(c, 1), err)
			   : bpk_buf_printf(text, err, "%%%02x", (unsigned char)*c);
	}
	return rc == 0 ? bpk_buf_append(text, bpk_view("\n", 1), err) : rc;
}

static int write_lines(const struct bpk_checks *checks, struct bpk_buf *text, struct bpk_err *err)
{
	int rc = bpk_buf_append(text, bpk_view(magic, strlen(magic)), err);
	size_t count = 0;

	for (size_t i = 0; rc == 0 && i < checks->count; i++) {
		const struct bpk_check *check = &checks->all[i];

		if (check->path == NULL)
			continue;
		count++;
		rc = bpk_buf_printf(
			text, err, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
			kinds[check->kind], check->good, check->last, check->size, check->mtime);
		if (rc == 0)
			rc = write_path(text, check->path, err);
	}
	return rc == 0 ? bpk_buf_printf(text, err, "end %zu %08" PRIx32 "\n", count,
					bpk_crc32(0, bpk_buf_view(text)))
		       : rc;
}

int bpk_checks_write(const struct bpk_checks *checks, const char *path, struct bpk_err *err)
{
	const struct bpk_draft_options options = { .overwrite = true,
						   .follow_links = true,
						   .sync = true };
	struct bpk_buf text = { 0 };
	struct bpk_draft *draft;
	int rc = write_lines(checks, &text, err);

	if (rc == 0 && (rc = bpk_draft_open(path, &options, &draft, err)) == 0) {
		rc = bpk_draft_write(draft, bpk_buf_view(&text), err);
		if (rc == 0)
			rc = bpk_draft_keep(draft, NULL, err);
		else
			bpk_draft_drop(draft);
	}
	bpk_buf_clear(&text);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", path);
}
