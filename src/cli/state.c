/* Reads and writes the file of --resume. share.c calls it. */
#include "cli/state.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/io.h"

static const char magic[] = "bpk-mpi state 1 ";

enum { MOST = 1 << 30 }; /* bytes of a state */

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The line of an operand as it is now, without its newline; 1: it cannot be looked at. */
static int make_line(const char *operand, struct bpk_buf *line, struct bpk_err *err)
{
	struct stat found;
	bool there;
	int rc;

	line->size = 0;
	if (bpk_path_look(operand, &found, &there, NULL) != 0 || !there)
		return 1;
	rc = bpk_buf_printf(line, err, "%" PRIu64 " %lld.%09ld ", (uint64_t)found.st_size,
			    (long long)found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
	for (const char *c = operand; rc == 0 && *c != '\0'; c++) {
		bool plain = *c > ' ' && *c < 127 && *c != '%';

		rc = plain ? bpk_buf_append(line, bpk_view(c, 1), err)
			   : bpk_buf_printf(line, err, "%%%02x", (unsigned char)*c);
	}
	return rc == 0 ? bpk_buf_append(line, bpk_view("", 1), err) : rc;
}

/* ---- Reading ---- */

/* The tree borrows from lines, whose newlines become ends of texts. */
static int read_lines(struct bpk_state *state, struct bpk_err *err)
{
	char *at = (char *)state->lines.data, *end = at + state->lines.size;

	while (at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));

		if (newline == NULL)
			return bpk_fail(err, BPK_FAILED, "ends within a line");
		*newline = '\0';
		if (tsearch(at, &state->tree, compare) == NULL)
			return bpk_fail_memory(err, state->lines.size);
		at = newline + 1;
	}
	return 0;
}

static int take_head(struct bpk_state *state, struct bpk_err *err)
{
	char head[sizeof magic + 9];
	size_t size = strlen(magic) + 9;

	snprintf(head, sizeof head, "%s%08" PRIx32 "\n", magic, state->command);
	if (state->lines.size < size || memcmp(state->lines.data, magic, strlen(magic)) != 0)
		return bpk_fail(err, BPK_FAILED, "is not a state of bpk-mpi");
	if (memcmp(state->lines.data, head, size) != 0)
		return bpk_fail(err, BPK_FAILED, "is the state of another command");
	memmove(state->lines.data, state->lines.data + size, state->lines.size - size);
	state->lines.size -= size;
	return 0;
}

static int read_state(struct bpk_state *state, struct bpk_err *err)
{
	struct bpk_place place;
	uint64_t size;
	int rc;

	if (bpk_place_open(state->path, NULL, &place, err) != 0)
		return -1;
	size = place.source != NULL ? bpk_source_size(place.source) : BPK_UNKNOWN;
	rc = size > MOST ? bpk_fail(err, BPK_FAILED, "is not a state of bpk-mpi")
			 : bpk_buf_resize(&state->lines, (size_t)size, err);
	if (rc == 0)
		rc = bpk_source_need_at(place.source, 0,
					bpk_span(state->lines.data, state->lines.size), err);
	bpk_place_close(&place);
	if (rc == 0)
		rc = take_head(state, err);
	return rc == 0 ? read_lines(state, err) : -1;
}

int bpk_state_open(struct bpk_state *state, const char *path, int argc, char **argv,
		   struct bpk_err *err)
{
	struct stat found;
	bool there;

	state->path = path;
	for (int i = 0; i < argc; i++)
		state->command = bpk_crc32(state->command, bpk_view(argv[i], strlen(argv[i]) + 1));
	if (bpk_path_look(path, &found, &there, err) != 0 || (there && read_state(state, err) != 0))
		return bpk_err_subject(err, "%s", path);
	return 0;
}

/* ---- Operands ---- */

bool bpk_state_is_done(const struct bpk_state *state, const char *operand)
{
	struct bpk_buf line = { 0 };
	bool is_done = state->tree != NULL && make_line(operand, &line, NULL) == 0 &&
		       tfind(line.data, &state->tree, compare) != NULL;

	bpk_buf_clear(&line);
	return is_done;
}

int bpk_state_add(struct bpk_state *state, const char *operand, struct bpk_err *err)
{
	struct bpk_buf line = { 0 };
	int rc = state->path == NULL ? 1 : make_line(operand, &line, err);

	if (rc == 0)
		rc = bpk_buf_append(&state->done, bpk_buf_view(&line), err);
	bpk_buf_clear(&line);
	return rc < 0 ? -1 : 0;
}

/* ---- Writing ---- */

static int write_state(const struct bpk_state *state, struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc = bpk_buf_printf(&text, err, "%s%08" PRIx32 "\n", magic, state->command);

	if (rc == 0)
		rc = bpk_buf_append(&text, bpk_buf_view(&state->lines), err);
	if (rc == 0)
		rc = bpk_buf_append(&text, bpk_buf_view(&state->done), err);
	/* lines are kept as texts */
	for (size_t i = 0; rc == 0 && i < text.size; i++)
		if (text.data[i] == '\0')
			text.data[i] = '\n';
	if (rc == 0)
		rc = bpk_draft_write(draft, bpk_buf_view(&text), err);
	bpk_buf_clear(&text);
	return rc;
}

int bpk_state_keep(const struct bpk_state *state, struct bpk_err *err)
{
	const struct bpk_draft_options options = { .overwrite = true, .sync = true };
	struct bpk_draft *draft;

	if (state->path == NULL || state->done.size == 0)
		return 0;
	if (bpk_draft_open(state->path, &options, &draft, err) != 0)
		return bpk_err_subject(err, "%s", state->path);
	if (write_state(state, draft, err) != 0)
		bpk_draft_drop(draft);
	else if (bpk_draft_keep(draft, NULL, err) == 0)
		return 0;
	return bpk_err_subject(err, "%s", state->path);
}

void bpk_state_clear(struct bpk_state *state)
{
	while (state->tree != NULL)
		tdelete(*(char **)state->tree, &state->tree, compare);
	bpk_buf_clear(&state->lines);
	bpk_buf_clear(&state->done);
}
