/* The lines of bpk verify --print-root, read again by --roots: "PATH: ROOT generation N". Called by
 * verify_tree.c and verify_work.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/seal.h"
#include "cli/sum.h"
#include "cli/verify.h"

/* Take a line apart. */
static bool parse(char *line, struct bpk_verify_anchor *anchor)
{
	const char *root = bpk_seal_find_root(line);

	if (root == NULL || root == line)
		return false;
	anchor->root = root;
	anchor->path = line + (*line == '\\');
	line[root - line - 2] = '\0';
	return *line != '\\' || bpk_sum_unescape(anchor->path);
}

static int add(struct bpk_verify_anchors *anchors, const struct bpk_verify_anchor *anchor,
	       struct bpk_err *err)
{
	struct bpk_verify_anchor *all =
		bpk_alloc_grow(anchors->all, anchors->count, &anchors->room, sizeof *all, err);

	if (all == NULL)
		return -1;
	anchors->all = all;
	all[anchors->count++] = *anchor;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct bpk_verify_anchor *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* Put them in the order of paths; of several lines with one path the last counts. */
static int settle(struct bpk_verify_anchors *anchors, struct bpk_err *err)
{
	size_t kept = 0;

	qsort(anchors->all, anchors->count, sizeof *anchors->all, by_path);
	for (size_t i = 0; i < anchors->count; i++) {
		kept -= kept > 0 && strcmp(anchors->all[kept - 1].path, anchors->all[i].path) == 0;
		anchors->all[kept++] = anchors->all[i];
	}
	anchors->count = kept;
	anchors->paths = bpk_calloc(kept, sizeof *anchors->paths, err);
	for (size_t i = 0; anchors->paths != NULL && i < kept; i++)
		anchors->paths[i] = anchors->all[i].path;
	return anchors->paths != NULL ? 0 : -1;
}

static int read_lines(struct bpk_verify_anchors *anchors, struct bpk_err *err)
{
	struct bpk_verify_lines lines = { .text = &anchors->text };
	struct bpk_verify_anchor anchor;
	char *line;

	while ((line = bpk_verify_next_line(&lines)) != NULL) {
		anchor.line = lines.number;
		if (!parse(line, &anchor))
			return bpk_fail(err, BPK_FAILED,
					"line %" PRIu64 " is no line of bpk verify --print-root",
					anchor.line);
		if (add(anchors, &anchor, err) != 0)
			return -1;
	}
	return anchors->count > 0 ? settle(anchors, err)
				  : bpk_fail(err, BPK_FAILED, "names no archive");
}

int bpk_verify_anchors_read(struct bpk_verify_anchors *anchors, const char *path,
			    struct bpk_err *err)
{
	if (bpk_verify_read_list(path, &anchors->text, err) != 0)
		return -1;
	return read_lines(anchors, err) == 0 ? 0 : bpk_err_subject(err, "%s", path);
}

static int compare_path(const void *path, const void *anchor)
{
	return strcmp(path, ((const struct bpk_verify_anchor *)anchor)->path);
}

const char *bpk_verify_anchors_root(const struct bpk_verify_anchors *anchors, const char *path)
{
	const struct bpk_verify_anchor *found =
		bsearch(path, anchors->all, anchors->count, sizeof *anchors->all, compare_path);

	return found != NULL ? found->root : NULL;
}

void bpk_verify_anchors_clear(struct bpk_verify_anchors *anchors)
{
	bpk_buf_clear(&anchors->text);
	free(anchors->all);
	free(anchors->paths);
	*anchors = (struct bpk_verify_anchors){ 0 };
}
