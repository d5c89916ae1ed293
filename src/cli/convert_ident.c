/* The identity that a converted archive records: the source's, or with --identity a new one.
 * Called by convert_work.c. */
#include "cli/convert.h"

#include "cli/describe.h"
#include "cli/progress.h"

/* Of the content, without the padding of arrays that are copied as they are stored. */
static uint64_t content_size(const struct bpk_convert *c)
{
	return c->in.info->members > 1 ? c->raw_size : bpk_describe_raw_size(c->in.info);
}

static bool loses_bytes(const struct bpk_convert *c)
{
	return c->obstacle != NULL && bpk_pipeline_is_lossy(&c->packing.choice.recipe.pipeline);
}

/* Read the raw content once more, by another reader: that of the copy takes some arrays as they are
 * stored, in another order. */
static int find_tree(struct bpk_convert *c, struct bpk_ident *tree, struct bpk_err *err)
{
	struct bpk_progress progress;
	const struct bpk_digest_options options = {
		.limits = bpk_shared_limits(&c->shared),
		.progress = bpk_progress_update,
		.progress_arg = &progress,
	};
	struct bpk_shared shared = c->shared;
	struct bpk_input in = { 0 };
	int rc;

	shared.as_stored = false;
	shared.quiet = true; /* it is the second time */
	rc = bpk_input_open(&in, c->path, &shared, err);
	bpk_progress_start(&progress, c->shared.progress, c->shared.quiet, c->path, c->raw_size);
	if (rc == 0)
		rc = bpk_input_identity(&in, &options, tree, err);
	bpk_progress_hide();
	if (rc == 0)
		rc = bpk_input_unchanged(&in, err);
	if (rc == 0)
		rc = bpk_input_unchanged(&c->in, err);
	if (rc == 0 && tree->size != content_size(c)) {
		bpk_fail_changed(err);
		rc = bpk_input_subject(&in, err);
	}
	bpk_input_close(&in);
	return rc;
}

static int add(struct bpk_convert *c, struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_ident tree = { 0 };
	int rc = find_tree(c, &tree, err);

	if (rc == 0 && (bpk_ident_leave_out(info, &c->less, err) != 0 ||
			bpk_ident_put_in(info, &tree, &c->less, err) != 0))
		rc = bpk_input_subject(&c->in, err);
	bpk_ident_clear(&tree);
	return rc;
}

static int check(const struct bpk_convert *c, const struct bpk_info *info, struct bpk_err *err)
{
	if (strcmp(c->path, "-") == 0 ||
	    (!c->in.place.is_directory && !bpk_source_seekable(c->in.place.source)))
		bpk_fail(err, BPK_USAGE, "a pipe, and --identity reads a file twice");
	else if (c->raw_size == BPK_UNKNOWN)
		bpk_fail(err, BPK_FAILED, "does not tell its number of bytes, as --identity needs");
	else if (loses_bytes(c))
		bpk_fail(err, BPK_USAGE, "--identity is of the bytes that lossy filters change");
	else if (info->metadata.given && info->metadata.nlayers == 0 &&
		 bpk_json_kind(info->metadata.text) != BPK_JSON_OBJECT)
		bpk_fail(err, BPK_FAILED, "has metadata that are no object, as --identity needs");
	else
		return 0;
	return bpk_input_subject(&c->in, err);
}

/* The raw content is the same, and so is its identity; but for lossy filters, and for archives that
 * follow each other, of which the record is the first one's. */
int bpk_convert_judge_ident(struct bpk_convert *c, struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_ident tree = { 0 };
	enum bpk_ident_state state;
	int rc = bpk_ident_find(info, content_size(c), &tree, &state, err);
	bool fits = state == BPK_IDENT_GOOD && c->raw_size != BPK_UNKNOWN && !loses_bytes(c);

	bpk_ident_clear(&tree);
	if (rc == 0 && c->identity && !fits)
		return check(c, info, err) != 0 ? -1 : add(c, info, err);
	c->loses_ident = rc == 0 && state != BPK_IDENT_NONE && !fits;
	if (c->loses_ident)
		rc = bpk_ident_leave_out(info, &c->less, err);
	return rc == 0 ? 0 : bpk_input_subject(&c->in, err);
}
