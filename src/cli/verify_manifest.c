/* The files of bpk verify that must be there, and those that are left out: --manifest and --since.
 * Called by verify_tree.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/record.h"
#include "cli/report.h"
#include "cli/sum.h"
#include "cli/verify.h"

/* ---- --manifest ---- */

/* Fail if the last bytes, which have no newline yet, are too many for a name and its digest. */
static int check_line(const struct bpk_buf *text, struct bpk_err *err)
{
	enum { MOST = 64 << 10 };
	const uint8_t *end = text->size > 0 ? memrchr(text->data, '\n', text->size) : NULL;
	size_t begun = end != NULL ? (size_t)(end + 1 - text->data) : 0;

	return text->size - begun <= MOST
		       ? 0
		       : bpk_fail(err, BPK_FAILED,
				  "is no list of names, a line has more than %d bytes", MOST);
}

static int read_all(const char *path, struct bpk_buf *text, struct bpk_err *err)
{
	enum { PIECE = 64 << 10 };
	struct bpk_source *source;
	size_t got = PIECE;
	int rc = bpk_source_open(path, &source, err);

	while (rc == 0 && got == PIECE) {
		size_t size = text->size;

		rc = bpk_buf_resize(text, size + PIECE, err);
		if (rc == 0)
			rc = bpk_source_read(source, bpk_span(text->data + size, PIECE), &got, err);
		text->size = size + (rc == 0 ? got : 0);
		if (rc == 0)
			rc = check_line(text, err);
	}
	bpk_source_close(source);
	if (rc == 0 && memchr(text->data, '\0', text->size) != NULL)
		rc = bpk_fail(err, BPK_FAILED, "is no list of names, it has a NUL");
	/* room for the end of the last line */
	return rc == 0 ? bpk_buf_append(text, bpk_view("\n", 1), err) : rc;
}

/* True if the file is there, or under the suffix of a format; or cannot be looked for: whoever
 * opens it says why. */
static bool is_there(const char *name, const char *suffix)
{
	struct stat found;
	bool there = true;
	char *path = NULL;

	if (asprintf(&path, "%s%s", name, suffix) < 0)
		return true;
	if (bpk_path_look(path, &found, &there, NULL) != 0)
		there = true;
	else
		there = there && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
	free(path);
	return there;
}

static bool is_kept(const char *name)
{
	if (bpk_path_is_url(name) || is_there(name, ""))
		return true;
	for (size_t i = 0; bpk_formats[i] != NULL; i++) {
		const struct bpk_format *format = bpk_formats[i];

		if ((format->suffix != NULL && is_there(name, format->suffix)) ||
		    (format->array_suffix != NULL && is_there(name, format->array_suffix)))
			return true;
	}
	return false;
}

void bpk_verify_report_missing(const struct bpk_verify_args *args, const char *path,
			       const char *why, uint64_t *nmissing)
{
	enum { LINES = 20 };
	const struct bpk_shared *shared = &args->shared;
	struct bpk_err err = { 0 };

	bpk_fail(&err, BPK_FAILED, "is missing, %s", why);
	bpk_tally_failed(shared, &err);
	if ((*nmissing)++ >= LINES && !shared->json)
		return;
	if (shared->json) {
		bpk_record_begin(shared->command, path);
		bpk_record_bool("missing", true);
		bpk_record_end();
	}
	bpk_report(path, &err);
	bpk_record_settle(shared, path);
}

/* The name of a line, alone or behind a digest. */
static const char *name_of(char *line, size_t size)
{
	struct bpk_sum_entry entry;

	return bpk_sum_parse(line, size, &entry) ? entry.name : line;
}

int bpk_verify_read_list(const char *path, struct bpk_buf *text, struct bpk_err *err)
{
	return read_all(path, text, err) == 0 ? 0 : bpk_err_subject(err, "%s", path);
}

char *bpk_verify_next_line(struct bpk_verify_lines *lines)
{
	while (lines->at < lines->text->size) {
		char *line = (char *)lines->text->data + lines->at;
		char *end = memchr(line, '\n', lines->text->size - lines->at);

		lines->size = (size_t)(end - line);
		lines->at += lines->size + 1;
		lines->number++;
		*end = '\0';
		if (*line != '\0' && *line != '#')
			return line;
	}
	return NULL;
}

void bpk_verify_manifest(const struct bpk_verify_args *args, struct bpk_buf *text)
{
	uint64_t nmissing = 0, nnames = 0;
	struct bpk_err err = { 0 };
	char why[sizeof err.text];
	struct bpk_verify_lines lines = { .text = text };
	const char *name;
	char *line;

	snprintf(why, sizeof why, "%s names it", args->manifest);
	for (; (line = bpk_verify_next_line(&lines)) != NULL; nnames++) {
		name = name_of(line, lines.size);
		if (!is_kept(name))
			bpk_verify_report_missing(args, name, why, &nmissing);
	}
	if (nmissing > 20 && !args->shared.json)
		bpk_note(args->manifest, "%" PRIu64 " of its files are missing", nmissing);
	if (nnames > 0)
		return;
	bpk_fail(&err, BPK_FAILED, "names no file");
	bpk_report(args->manifest, &err);
}

/* ---- --since ---- */

static int find_latest(void *arg, const char *path, uint64_t size)
{
	time_t *latest = arg;
	struct stat found;

	(void)size;
	/* a restored file has the time of its original, but a time of change of its own */
	if (lstat(path, &found) != 0)
		return 0;
	if (found.st_ctim.tv_sec > *latest)
		*latest = found.st_ctim.tv_sec;
	return 0;
}

static void note_unread(void *arg, const struct bpk_err *err)
{
	time_t *latest = arg;

	(void)err;
	*latest = INT64_MAX;
}

/* Files without a time count as changed: those of URLs, missing ones, and directories that cannot
 * be read. */
static bool is_changed(const char *path, time_t since)
{
	struct stat found;
	time_t latest = 0;

	if (bpk_path_is_url(path) || strcmp(path, "-") == 0 || stat(path, &found) != 0)
		return true;
	latest = found.st_ctim.tv_sec;
	if (S_ISDIR(found.st_mode) && latest < since &&
	    bpk_walk(path, NULL, find_latest, note_unread, &latest, NULL) != 0)
		return true;
	return latest >= since;
}

void bpk_verify_since(const struct bpk_verify_args *args, struct bpk_files *files)
{
	time_t since = time(NULL) - (time_t)args->since;
	size_t kept = 0;

	for (size_t i = 0; i < files->count; i++)
		if (is_changed(files->all[i].path, since))
			files->all[kept++] = files->all[i];
		else
			free(files->all[i].path);
	files->count = kept;
}
