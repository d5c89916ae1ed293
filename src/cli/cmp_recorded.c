/* bpk cmp --recorded: two contents compared by the trees that they record. Called by cmp_work.c. */
#include <inttypes.h>

#include "cli/cmp.h"
#include "cli/identity.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signal.h"

/* The tree that an input records; that of a content without one is found by reading. */
static int find_tree(const struct bpk_cmp *cmp, struct bpk_input *in, bool *is_recorded,
		     struct bpk_ident *tree, struct bpk_err *err)
{
	const struct bpk_shared *shared = &cmp->args->shared;
	struct bpk_progress progress;
	const struct bpk_digest_options options = {
		.limits = bpk_shared_limits(shared),
		.progress = bpk_progress_update,
		.progress_arg = &progress,
	};
	int rc;

	*is_recorded = bpk_ident_is_recorded(in->info);
	if (*is_recorded)
		return bpk_identity_recorded(in, tree, err);
	bpk_progress_start(&progress, shared->progress, shared->quiet, in->path,
			   in->info->raw_size);
	rc = bpk_input_identity(in, &options, tree, err);
	bpk_progress_hide();
	return rc;
}

/* With -v: the ranges, in units of nodes. The last common bytes of two sizes may be equal. */
static void list(const struct bpk_cmp *cmp, const struct bpk_ident_ranges *ranges, uint64_t unknown)
{
	for (size_t i = 0; i < ranges->count; i++)
		bpk_note(NULL, "bytes %" PRIu64 ":%" PRIu64 " of %s %s from those of %s",
			 ranges->all[i].start, ranges->all[i].end, bpk_input_name(cmp->in[0].path),
			 ranges->all[i].end == unknown ? "may differ" : "differ",
			 bpk_input_name(cmp->in[1].path));
}

static int compare(struct bpk_cmp *cmp, struct bpk_ident *const trees[2],
		   struct bpk_ident_ranges *ranges, struct bpk_compared *compared,
		   struct bpk_err *err)
{
	struct bpk_input *const inputs[2] = { &cmp->in[0], &cmp->in[1] };
	const struct bpk_compare_options options = {
		.limits = bpk_shared_limits(&cmp->args->shared),
	};
	bool recorded[2];

	if (find_tree(cmp, inputs[0], &recorded[0], trees[0], err) != 0 ||
	    find_tree(cmp, inputs[1], &recorded[1], trees[1], err) != 0)
		return -1;
	if (!recorded[0] && !recorded[1])
		return bpk_fail(err, BPK_FAILED,
				"%s, %s: neither records an identity, as bpk convert --identity "
				"FILE NEW does",
				bpk_input_name(inputs[0]->path), bpk_input_name(inputs[1]->path));
	return bpk_compare_trees(inputs, trees, &options, ranges, compared, err);
}

int bpk_cmp_recorded(struct bpk_cmp *cmp, struct bpk_err *err)
{
	struct bpk_ident a = { 0 }, b = { 0 };
	struct bpk_ident *const trees[2] = { &a, &b };
	struct bpk_ident_ranges ranges = { 0 };
	struct bpk_compared compared;
	int rc = compare(cmp, trees, &ranges, &compared, err);

	if (rc == 0 && compared.differ)
		rc = bpk_cmp_note_bytes(cmp, &compared, err);
	if (rc == 0 && compared.differ && !compared.ends[0] && !compared.ends[1])
		bpk_cmp_locate(cmp);
	if (rc == 0 && cmp->args->shared.verbose)
		list(cmp, &ranges, a.size == b.size ? BPK_UNKNOWN : bpk_min_u64(a.size, b.size));
	bpk_ident_ranges_clear(&ranges);
	bpk_ident_clear(&a);
	bpk_ident_clear(&b);
	return rc;
}
