/* Two inputs of bpk cmp, opened, compared and accounted for. Called by cmp.c and cmp_tree.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/cmp.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/share.h"
#include "cli/side.h"
#include "cli/signal.h"

static int compare_contents(struct bpk_cmp *cmp, struct bpk_err *err)
{
	struct bpk_input *const inputs[2] = { &cmp->in[0], &cmp->in[1] };
	const struct bpk_shared *shared = &cmp->args->shared;
	struct bpk_progress progress;
	const struct bpk_compare_options options = {
		.limits = bpk_shared_limits(shared),
		.team = bpk_share_team(),
		.progress = bpk_progress_update,
		.progress_arg = &progress,
	};
	struct bpk_compared compared;
	int rc;

	bpk_progress_start(&progress, shared->progress, shared->quiet, inputs[0]->path,
			   inputs[0]->info->raw_size);
	rc = bpk_compare(inputs, &options, &compared, err);
	bpk_progress_hide();
	if (rc != 0)
		return -1;
	if (shared->verbose > 1)
		bpk_note(NULL,
			 "%" PRIu64 " chunks compared, %" PRIu64 " of them as they are packed",
			 compared.nchunks, compared.ntwins);
	if (!compared.differ)
		return 0;
	if (bpk_cmp_note_bytes(cmp, &compared, err) != 0)
		return -1;
	if (!compared.ends[0] && !compared.ends[1])
		bpk_cmp_locate(cmp);
	return 0;
}

/* All reads were of one state, and an input that was read to its end is accounted for. */
static int settle(struct bpk_cmp *cmp, struct bpk_err *err)
{
	bool whole = !cmp->differ && cmp->offset == BPK_UNKNOWN &&
		     cmp->args->shared.pick.name == NULL && !cmp->args->recorded;

	for (int i = 0; i < 2; i++) {
		struct bpk_input *in = &cmp->in[i];

		if (in->format == &bpk_format_raw) {
			if (bpk_source_unchanged(in->place.source, err) != 0)
				return bpk_input_subject(in, err);
			continue;
		}
		if (whole && bpk_input_account(in, err) != 0)
			return -1;
		if (bpk_input_unchanged(in, err) != 0)
			return -1;
	}
	return 0;
}

static int compare(struct bpk_cmp *cmp, const char *a, const char *b, struct bpk_err *err)
{
	const struct bpk_cmp_args *args = cmp->args;
	bool arrays = args->shared.pick.name != NULL || args->tolerance.given;
	bool known = arrays;

	bpk_signals_start();
	if (arrays && bpk_share_assists())
		return bpk_fail(err, BPK_FAILED, "has no part in this run");
	if (bpk_input_open_either(&cmp->in[0], a, &args->shared, err) != 0 ||
	    bpk_input_open_either(&cmp->in[1], b, &args->shared, err) != 0)
		return -1;
	if (arrays && bpk_cmp_arrays(cmp, &known, err) != 0)
		return -1;
	if (!known) {
		cmp->largest = -1;
		if ((args->recorded ? bpk_cmp_recorded : compare_contents)(cmp, err) != 0)
			return -1;
	}
	return settle(cmp, err);
}

int bpk_cmp_files(const struct bpk_cmp_args *args, const char *a, const char *b)
{
	struct bpk_cmp cmp = { .args = args,
			       .in = { { .path = a }, { .path = b } },
			       .offset = BPK_UNKNOWN,
			       .item = BPK_UNKNOWN,
			       .frame = BPK_UNKNOWN,
			       .largest = args->tolerance.given ? 0 : -1 };
	struct bpk_err err = { 0 };
	int rc;

	compare(&cmp, a, b, &err);
	cmp.in[0].path = a;
	cmp.in[1].path = b;
	bpk_cmp_show(&cmp, &err);
	if (err.kind != BPK_OK) {
		bpk_side_advise(&cmp.in[0], &err);
		bpk_side_advise(&cmp.in[1], &err);
		bpk_report(NULL, &err);
	}
	bpk_record_settle(&args->shared, a);
	rc = err.kind != BPK_OK ? -1 : cmp.differ;
	bpk_input_close(&cmp.in[0]);
	bpk_input_close(&cmp.in[1]);
	free(cmp.line);
	free(cmp.name);
	return rc;
}
