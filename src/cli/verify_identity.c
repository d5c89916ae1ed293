/*
 * bpk verify: the raw content against the identity that the archive records, found while its chunks
 * are verified where these are the content in order, and otherwise by reading it once more. Called
 * by verify_work.c.
 */
#include <inttypes.h>

#include "cli/identity.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/transfer.h"
#include "cli/verify.h"

/* Why the record, which is good, is not compared; NULL: it is. */
static const char *find_reason(const struct bpk_verify_args *args, const struct bpk_input *in)
{
	const struct bpk_info *info = in->info;

	if (bpk_program->team != NULL)
		return "the recorded identity was not compared, which bpk alone does";
	if (strcmp(in->path, "-") == 0 ||
	    (in->place.source != NULL && !bpk_source_seekable(in->place.source)))
		return "the recorded identity was not compared, since the input is a pipe";
	if (info->members > 1)
		return "the recorded identity was not compared: it is that of the first archive "
		       "of several";
	if (!args->identity && bpk_identity_is_bomb(info->raw_size, info->stored_size))
		return "the recorded identity was not compared, since more than 1000 times the "
		       "archive's size would be unpacked; --identity does that";
	return NULL;
}

bool bpk_verify_compares_identity(const struct bpk_verify_args *args, const struct bpk_input *in)
{
	return bpk_ident_is_recorded(in->info) && !args->quick && find_reason(args, in) == NULL;
}

/* ---- beside the verification of chunks ---- */

bool bpk_verify_identity_beside(const struct bpk_verify_args *args, const struct bpk_input *in)
{
	return bpk_verify_compares_identity(args, in) && !in->place.is_member &&
	       !bpk_path_is_url(in->path) && in->info->array.chunk_shape == NULL &&
	       in->info->raw_size != BPK_UNKNOWN &&
	       bpk_plan_all(in->info).chunk_size != BPK_UNKNOWN;
}

int bpk_verify_identity_run(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
			    struct bpk_ident *tree, struct bpk_err *err)
{
	const struct bpk_info *info = transfer->in->info;
	struct bpk_ident recorded = { 0 };
	struct bpk_leaves leaves;
	struct bpk_flow flow = {
		.out = &bpk_leaves_writer,
		.writer = &leaves,
		.plan = bpk_plan_all(info),
		.check = true,
		.decode = true,
		.pace = args->shared.pace,
		.reader_memory = 2 * BPK_IDENT_LEAF,
	};
	bool has = false;
	int rc = bpk_identity_take(info, info->raw_size, &recorded, &has, err);

	*tree = (struct bpk_ident){ .level = recorded.level, .most = UINT64_MAX };
	bpk_ident_clear(&recorded);
	if (rc != 0 || !has)
		return -1;
	bpk_leaves_init(&leaves, tree);
	rc = bpk_transfer_run(transfer, &flow, err);
	if (rc == 0)
		rc = bpk_leaves_finish(&leaves, err);
	bpk_leaves_clear(&leaves);
	return rc;
}

static int compare(const struct bpk_input *in, struct bpk_ident *recorded, struct bpk_ident *tree,
		   struct bpk_ident_ranges *differing, struct bpk_err *err)
{
	int rc = tree->size != recorded->size ? bpk_fail_changed(err)
					      : bpk_ident_compare(recorded, tree, differing, err);

	return rc == 0 ? 0 : bpk_input_subject(in, err);
}

static int compare_tree(const struct bpk_input *in, struct bpk_ident *tree,
			struct bpk_ident_ranges *differing, struct bpk_err *err)
{
	struct bpk_ident recorded = { 0 };
	bool has = false;
	int rc = bpk_identity_take(in->info, in->info->raw_size, &recorded, &has, err) == 0
			 ? compare(in, &recorded, tree, differing, err)
			 : bpk_input_subject(in, err);

	bpk_ident_clear(&recorded);
	return rc;
}

/* ---- once more ---- */

/* Read the content of a fresh input, in C's order. */
static int read_again(const struct bpk_verify_args *args, struct bpk_input *in,
		      struct bpk_ident *tree, struct bpk_err *err)
{
	const struct bpk_digest_options options = { .limits = bpk_shared_limits(&args->shared),
						    .pace = args->shared.pace };

	return bpk_input_identity(in, &options, tree, err) != 0 ? -1 : bpk_input_unchanged(in, err);
}

/* in is fresh. */
static int compare_fresh(const struct bpk_verify_args *args, struct bpk_input *in,
			 struct bpk_ident_ranges *differing, struct bpk_err *err)
{
	struct bpk_ident recorded = { 0 }, found = { .most = UINT64_MAX };
	bool has = false;
	int rc = 0;

	if (bpk_identity_take(in->info, in->info->raw_size, &recorded, &has, err) != 0)
		rc = bpk_input_subject(in, err);
	found.level = recorded.level;
	if (rc == 0 && has)
		rc = read_again(args, in, &found, err) == 0
			     ? compare(in, &recorded, &found, differing, err)
			     : -1;
	bpk_ident_clear(&found);
	bpk_ident_clear(&recorded);
	return rc;
}

static int compare_content(const struct bpk_verify_args *args, const char *path,
			   struct bpk_ident_ranges *differing, struct bpk_err *err)
{
	struct bpk_shared shared = args->shared;
	struct bpk_input again = { 0 };
	int rc;

	shared.as_stored = shared.audits = false;
	shared.quiet = true;
	rc = bpk_input_open(&again, path, &shared, err);
	if (rc == 0)
		rc = compare_fresh(args, &again, differing, err);
	bpk_input_close(&again);
	return rc;
}

static void fail_range(const struct bpk_ident_ranges *differing, size_t number,
		       const struct bpk_input *in, struct bpk_err *err)
{
	bpk_fail(err, BPK_CORRUPT,
		 "raw bytes %" PRIu64 ":%" PRIu64 " are not those of the recorded identity",
		 differing->all[number].start, differing->all[number].end);
	bpk_input_subject(in, err);
}

int bpk_verify_identity(const struct bpk_verify_args *args, const struct bpk_input *in,
			struct bpk_ident *tree, struct bpk_ident_ranges *differing,
			const struct bpk_remarks *remarks, struct bpk_err *err)
{
	const char *reason;

	if (!bpk_ident_is_recorded(in->info) || args->quick)
		return 0;
	reason = find_reason(args, in);
	if (reason != NULL && args->identity) {
		bpk_fail(err, BPK_FAILED, "%s", reason);
		return bpk_input_subject(in, err);
	}
	if (reason != NULL) {
		bpk_remark(remarks, "%s", reason);
		return 0;
	}
	if ((tree->size > 0 ? compare_tree(in, tree, differing, err)
			    : compare_content(args, in->path, differing, err)) != 0)
		return -1;
	if (differing->count == 0)
		return 0;
	fail_range(differing, 0, in, err);
	return -1;
}

int bpk_verify_recorded(const struct bpk_shared *shared, const struct bpk_input *in, bool all,
			struct bpk_err *err)
{
	const struct bpk_remarks nobody = { bpk_remark_ignore, NULL };
	struct bpk_ident_ranges differing = { 0 };
	struct bpk_verify_args args = { .shared = *shared };
	struct bpk_ident unread = { 0 };
	int rc;

	args.identity = all && in->info->members <= 1 && bpk_program->team == NULL &&
			bpk_ident_is_recorded(in->info);
	rc = bpk_verify_identity(&args, in, &unread, &differing, &nobody, err);
	bpk_ident_ranges_clear(&differing);
	return rc;
}

int bpk_verify_fresh(const struct bpk_shared *shared, struct bpk_input *fresh, struct bpk_err *err)
{
	const struct bpk_verify_args args = { .shared = *shared };
	struct bpk_ident_ranges differing = { 0 };
	int rc = compare_fresh(&args, fresh, &differing, err);

	if (rc == 0 && differing.count > 0) {
		fail_range(&differing, 0, fresh, err);
		rc = -1;
	}
	bpk_ident_ranges_clear(&differing);
	return rc;
}

void bpk_verify_report_differing(const struct bpk_ident_ranges *differing,
				 const struct bpk_input *in)
{
	enum { LINES = 20 };
	struct bpk_err err;

	for (size_t i = 1; i < differing->count && i <= LINES; i++) {
		err = (struct bpk_err){ 0 };
		if (i < LINES) {
			fail_range(differing, i, in, &err);
		} else {
			bpk_fail(&err, BPK_CORRUPT, "and %zu more ranges that differ",
				 differing->count - i);
			bpk_input_subject(in, &err);
		}
		bpk_report(NULL, &err);
	}
}

void bpk_verify_record_differing(const struct bpk_ident_ranges *differing)
{
	bpk_record_list_begin("differing");
	for (size_t i = 0; i < differing->count; i++) {
		bpk_record_item_begin();
		bpk_record_u64("start", differing->all[i].start);
		bpk_record_u64("end", differing->all[i].end);
		bpk_record_item_end();
	}
	bpk_record_list_end();
}
