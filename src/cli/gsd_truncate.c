/* bpk truncate, on a raw GSD file: frames are cut off. Called by truncate.c. */
#include "cli/gsd.h"

#include <inttypes.h>

#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"

static int resolve(const struct bpk_trajectory *t, const struct bpk_opt_offset *frames,
		   uint64_t *kept, struct bpk_err *err)
{
	uint64_t total = bpk_gsd_editor_nframes(t->editor);

	if (frames->distance > total) {
		bpk_fail(err, BPK_FAILED, "%s%" PRIu64 " frames cannot be kept, there are %" PRIu64,
			 frames->negative ? "-" : "", frames->distance, total);
		return bpk_err_subject(err, "%s", t->path);
	}
	*kept = frames->negative ? total - frames->distance : frames->distance;
	return 0;
}

static void tell_cut(const struct bpk_trajectory *t, const struct bpk_shared *shared,
		     uint64_t before)
{
	uint64_t nframes = bpk_gsd_editor_nframes(t->editor);

	if (shared->verbose)
		bpk_note(t->path, "from %" PRIu64 " to %" PRIu64 " frames", before, nframes);
	if (!shared->json)
		return;
	bpk_record_begin("truncate", t->path);
	bpk_record_u64("removed_frames", before - nframes);
	bpk_record_u64("nframes", nframes);
	bpk_record_u64("narrays", bpk_gsd_editor_narrays(t->editor));
	bpk_record_end();
}

void bpk_gsd_truncate(const char *path, const struct bpk_args *args,
		      const struct bpk_opt_offset *frames)
{
	const struct bpk_edit_options options = bpk_edited_options(args);
	struct bpk_trajectory t = { 0 };
	struct bpk_err err = { 0 };
	uint64_t before = 0, kept = 0;
	int rc;

	bpk_signals_start();
	rc = bpk_trajectory_open(&t, &options, path, true, &err);
	if (rc == 0) {
		before = bpk_gsd_editor_nframes(t.editor);
		rc = resolve(&t, frames, &kept, &err);
	}
	if (rc == 0 && bpk_gsd_editor_truncate(t.editor, kept, &err) != 0)
		rc = bpk_err_subject(&err, "%s", path);
	if (rc != 0)
		bpk_report(NULL, &err);
	else
		tell_cut(&t, &args->shared, before);
	bpk_trajectory_close(&t);
}
