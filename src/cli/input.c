/* Opens the inputs of commands, and reports pending changes there. Called by the commands that read
 * archives. */
#include "cli/transfer.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/text.h"

/* ---- interrupted changes ---- */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* True once for each line about a path. */
static bool is_new(const char *path, const char *line)
{
	static void *told; /* until the process ends */
	char *both, **node;

	if (asprintf(&both, "%s: %s", path, line) < 0)
		return true;
	node = tsearch(both, &told, compare_lines);
	if (node != NULL && *node == both)
		return true;
	free(both);
	return node == NULL;
}

/* Inputs may be opened twice, to look at all of them first. The advice is a command before the
 * name, and its use. */
static void note_once(const char *path, const char *line, const char *command, const char *use)
{
	char word[BPK_WORD_TEXT];

	if (is_new(path, line))
		bpk_note(bpk_input_name(path), "%s; %s %s %s", line, command,
			 bpk_shell_word(path, word), use);
}

void bpk_input_tell(const struct bpk_input *in, const struct bpk_shared *shared)
{
	const char *remark = bpk_place_remark(&in->place);

	if (shared->quiet)
		return;
	if (remark != NULL && !bpk_place_is_torn(&in->place)) /* otherwise it is an error */
		note_once(in->path, remark, "bpk repair", "shows the choices");
	if (!shared->judges && bpk_place_pending(&in->place))
		note_once(
			in->path,
			"a change was interrupted and is pending; the last committed state is read",
			"bpk repair --in-place", "settles it");
}

/* ---- opening ---- */

int bpk_input_find(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		   struct bpk_err *err)
{
	*in = (struct bpk_input){ .path = path };
	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO)) {
		bpk_fail(err, BPK_USAGE, "is a terminal, expected an archive; name a FILE");
		return bpk_input_subject(in, err);
	}
	if (bpk_input_look(in, path, shared->format, err) != 0)
		return -1;
	bpk_input_tell(in, shared);
	return 0;
}

int bpk_input_start(struct bpk_input *in, const struct bpk_shared *shared, uint64_t chunk_limit,
		    struct bpk_err *err)
{
	const struct bpk_read_options options = {
		.no_check = shared->no_check,
		.no_marker = shared->no_marker,
		.chunk_limit = chunk_limit,
		.as_stored = shared->as_stored,
		.saves = shared->saves,
		.audits = shared->audits,
		.to_end = !shared->outline,
	};

	return bpk_input_read(in, &options, err);
}

int bpk_input_open(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		   struct bpk_err *err)
{
	if (bpk_input_find(in, path, shared, err) != 0)
		return -1;
	return bpk_input_start(in, shared, shared->chunk_limit, err);
}

int bpk_input_open_any(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		       struct bpk_err *err)
{
	if (bpk_input_find(in, path, shared, err) != 0)
		return -1;
	if (in->format == NULL && !in->place.is_directory && bpk_format_of_suffix(path) == NULL &&
	    bpk_source_seekable(in->place.source))
		in->format = &bpk_format_raw;
	return bpk_input_start(in, shared, shared->chunk_limit, err);
}

int bpk_input_start_either(struct bpk_input *in, const struct bpk_shared *shared,
			   struct bpk_err *err)
{
	if (in->format == NULL && !in->place.is_directory && bpk_format_of_suffix(in->path) == NULL)
		in->format = &bpk_format_raw;
	return bpk_input_start(in, shared, shared->chunk_limit, err);
}

int bpk_input_open_either(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
			  struct bpk_err *err)
{
	return bpk_input_find(in, path, shared, err) != 0 ? -1
							  : bpk_input_start_either(in, shared, err);
}

int bpk_input_open_raw(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		       struct bpk_err *err)
{
	const struct bpk_read_options options = { 0 };

	*in = (struct bpk_input){ .path = path, .format = &bpk_format_raw };
	if (bpk_place_open(path, NULL, &in->place, err) != 0)
		return bpk_input_subject(in, err);
	bpk_input_tell(in, shared);
	if (in->place.is_directory) {
		bpk_fail(err, BPK_FAILED, "is a directory, expected a file; -r walks it");
		return bpk_input_subject(in, err);
	}
	return bpk_input_read(in, &options, err);
}

/* Report that an append was interrupted; any other failure stays one. */
static int report_unfinished(struct bpk_input *in, int rc, struct bpk_err *err)
{
	if (rc == 0 || err->kind != BPK_REPAIRABLE)
		return rc;
	bpk_report(NULL, err);
	*err = (struct bpk_err){ 0 };
	in->unfinished = true;
	return 0;
}

int bpk_input_account(struct bpk_input *in, struct bpk_err *err)
{
	return report_unfinished(in, bpk_input_audit(in, NULL, NULL, err), err);
}

int bpk_input_tail(struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format->reader;

	if (ops->tail == NULL || ops->tail(in->reader, err) == 0)
		return 0;
	return report_unfinished(in, bpk_input_subject(in, err), err);
}

int bpk_input_account_part(struct bpk_input *in, const struct bpk_shared *shared,
			   struct bpk_err *err)
{
	if (bpk_input_tail(in, err) != 0)
		return -1;
	return shared->no_check ? 0 : bpk_input_check_damage(in, err);
}

int bpk_input_check_end(struct bpk_input *in, struct bpk_err *err)
{
	enum { PLACES = 4096 }; /* some milliseconds each on a slow disk */
	const struct bpk_info *info = in->info;
	uint64_t n = info->chunks.count, step = bpk_max_u64(n, 1), number;
	struct bpk_where where;

	if (n == 0 || n == BPK_UNKNOWN || !bpk_input_can_locate(in) ||
	    (in->format->extended_chunks &&
	     (!in->place.is_directory || info->chunks.size == BPK_UNKNOWN)))
		return 0;
	if (in->place.is_directory)
		step = bpk_max_u64(bpk_max_u64(info->directory.superchunk_chunks, 1), n / PLACES);
	for (number = bpk_min_u64(step, n) - 1; number < n; number += bpk_min_u64(step, n - number))
		if (in->format->reader->locate(in->reader, number, &where, err) < 0)
			return bpk_input_subject(in, err);
	if (in->format->reader->locate(in->reader, n - 1, &where, err) < 0)
		return bpk_input_subject(in, err);
	return 0;
}

int bpk_input_check_operands(char *const *operands, size_t count, struct bpk_err *err)
{
	size_t dashes = 0;

	for (size_t i = 0; i < count; i++)
		dashes += strcmp(operands[i], "-") == 0;
	return dashes < 2 ? 0 : bpk_fail(err, BPK_USAGE, "standard input can be read but once");
}

void bpk_input_each(char **operands, size_t count, void (*one)(void *arg, const char *path),
		    void *arg)
{
	struct bpk_err err = { 0 };

	if (bpk_input_check_operands(operands, count, &err) != 0) {
		bpk_report(NULL, &err);
		return;
	}
	if (count == 0)
		one(arg, "-");
	for (size_t i = 0; i < count; i++)
		one(arg, operands[i]);
}
