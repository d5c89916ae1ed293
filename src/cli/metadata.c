/* User metadata from files and KEY=VALUE pairs. pack and meta call it. */
#include "cli/metadata.h"

#include <stdlib.h>

#include "cli/report.h"
#include "cli/text.h"
#include "io/io.h"

/* Everything in source; a pipe has no size, so the buffer doubles. */
static int read_all(struct bpk_source *source, struct bpk_buf *text, struct bpk_err *err)
{
	size_t old, room, got;

	do {
		old = text->size;
		room = old > 0 ? old : 4096;
		if (old > BPK_JSON_MAX_SIZE)
			return bpk_fail(err, BPK_LIMIT, "has more than %d bytes",
					BPK_JSON_MAX_SIZE);
		if (bpk_buf_resize(text, old + room, err) != 0 ||
		    bpk_source_read(source, bpk_span(text->data + old, room), &got, err) != 0)
			return -1;
		text->size = old + got;
	} while (got == room);
	return 0;
}

static int read_file(const char *path, struct bpk_buf *text, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	int rc = bpk_source_open(path, &source, err);

	if (rc == 0)
		rc = read_all(source, text, err);
	if (rc == 0) {
		rc = bpk_json_check(bpk_buf_view(text), err);
		/* the user's text is wrong, no archive is damaged */
		if (rc != 0 && err->kind == BPK_CORRUPT)
			err->kind = BPK_FAILED;
	}
	bpk_source_close(source);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", bpk_input_name(path));
}

int bpk_metadata_set(struct bpk_buf *text, const char *pair, struct bpk_err *err)
{
	size_t key_size = strcspn(pair, "=");
	char *key;
	int rc;

	if (pair[key_size] == '\0' || key_size == 0)
		return bpk_fail(err, BPK_USAGE, "'%s' is not KEY=VALUE", pair);
	key = strndup(pair, key_size);
	if (key == NULL)
		return bpk_fail_memory(err, key_size);
	rc = bpk_json_set(text, key, pair + key_size + 1, err);
	free(key);
	return rc;
}

int bpk_metadata_gather(const char *file, const struct bpk_opt_list *pairs, struct bpk_buf *text,
			struct bpk_err *err)
{
	if (file != NULL && read_file(file, text, err) != 0)
		return -1;
	for (size_t i = 0; i < pairs->count; i++)
		if (bpk_metadata_set(text, pairs->items[i], err) != 0)
			return bpk_err_subject(err, "--set");
	return 0;
}
