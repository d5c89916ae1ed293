/* bpk repair, on a raw GSD file: the frames that are left of a damaged one are shown, and written
 * to another file. Called by repair.c. */
#include "cli/gsd.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/heal.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"

struct job {
	const struct bpk_args *args;
	const struct bpk_salvage_how *how;
	struct bpk_input in;
	struct bpk_gsd_found *found;
	const struct bpk_gsd_found_info *info; /* of found */
	bool is_saved;
};

/* ---- The map ---- */

static const char *name_fate(const struct job *job, enum bpk_gsd_fate fate)
{
	if (fate == BPK_GSD_LOST)
		return "have lost arrays";
	return fate == BPK_GSD_INTACT && job->info->doubt[0] == '\0'
		       ? "are intact"
		       : "are intact, but not certain";
}

/* Neighbours with the same words are one line. */
static void show_map(const struct job *job)
{
	const struct bpk_gsd_run *runs = job->info->runs;
	size_t n = job->info->nruns;

	for (size_t i = 0, next; i < n && !job->args->shared.json; i = next) {
		const char *words = name_fate(job, runs[i].fate);

		for (next = i + 1; next < n; next++)
			if (strcmp(name_fate(job, runs[next].fate), words) != 0)
				break;
		printf("%s: frames %" PRIu64 ":%" PRIu64 " %s\n", bpk_input_name(job->in.path),
		       runs[i].first, runs[next - 1].end, words);
	}
	bpk_flush_results();
}

static void record_runs(const struct job *job, const char *name, enum bpk_gsd_fate fate)
{
	bpk_record_list_begin(name);
	for (size_t i = 0; i < job->info->nruns; i++) {
		const struct bpk_gsd_run *run = &job->info->runs[i];

		if (run->fate != fate)
			continue;
		bpk_record_item_begin();
		bpk_record_u64("frame", run->first);
		bpk_record_u64("nframes", run->end - run->first);
		bpk_record_item_end();
	}
	bpk_record_list_end();
}

static void record(const struct job *job)
{
	const struct bpk_shared *shared = &job->args->shared;

	if (!shared->json || job->info == NULL)
		return;
	bpk_record_begin("repair", job->in.path);
	bpk_record_text("output", job->is_saved ? shared->output : NULL);
	bpk_record_u64("nframes", job->info->nframes);
	bpk_record_u64("narrays", job->info->narrays);
	bpk_record_u64("nlost", job->info->nlost);
	bpk_record_bool("certain", job->info->certain);
	record_runs(job, "lost", BPK_GSD_LOST);
	record_runs(job, "unproven", BPK_GSD_UNPROVEN);
	record_runs(job, "good", BPK_GSD_INTACT);
	bpk_record_end();
}

/* ---- The result ---- */

static int write_draft(const struct job *job, struct bpk_draft *draft, struct bpk_err *err)
{
	bool skip = job->how->fill == BPK_FILL_SKIP;

	if (!bpk_draft_is_hidden(draft)) {
		bpk_fail(err, BPK_FAILED, "is no file, expected one for --output");
		return -1;
	}
	return bpk_gsd_found_write(job->found, skip, draft, err);
}

static int check_suffix(const char *target, struct bpk_err *err)
{
	const struct bpk_format *named = bpk_format_of_suffix(target);

	if (named == NULL)
		return 0;
	bpk_fail(err, BPK_USAGE,
		 "the suffix is that of format %s, and the result is a GSD file; bpk pack makes an "
		 "archive of it",
		 named->name);
	return bpk_err_subject(err, "%s", target);
}

static int save(struct job *job, struct bpk_err *err)
{
	const struct bpk_shared *shared = &job->args->shared;
	struct stat like = { 0 };
	bool has_like = bpk_input_like(&job->in, &like);
	const struct bpk_draft_options options = {
		.overwrite = shared->force,
		.remedy = BPK_REMEDY_FORCE,
		.follow_links = true,
		.sync = !shared->no_sync,
		.not_this = bpk_input_stat(&job->in),
	};
	struct bpk_draft *draft;
	int rc;

	if (check_suffix(shared->output, err) != 0)
		return -1;
	bpk_signals_start();
	if (bpk_draft_open(shared->output, &options, &draft, err) != 0)
		return bpk_err_subject(err, "%s", shared->output);
	rc = write_draft(job, draft, err);
	if (rc != 0)
		bpk_err_subject(err, "%s", shared->output);
	else if (bpk_place_unchanged(&job->in.place, err) != 0)
		rc = bpk_input_subject(&job->in, err);
	if (rc != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	job->is_saved = bpk_draft_keep(draft, has_like ? &like : NULL, err) == 0;
	return job->is_saved ? 0 : bpk_err_subject(err, "%s", shared->output);
}

/* ---- The verdict ---- */

static const char *consequence_of(const struct job *job)
{
	if (job->is_saved && job->info->nlost > 0)
		return job->how->fill == BPK_FILL_SKIP ? "; they are left out"
						       : "; they have what is left of them";
	if (job->is_saved)
		return "";
	if (job->info->nlost == 0)
		return "; bpk repair --apply -o OUT FILE writes them";
	if (job->info->needs_first || job->info->nlost == job->info->nframes)
		return job->how->applies ? "; --fill zero keeps what is left of them"
					 : "; bpk repair --apply --fill zero -o OUT FILE keeps "
					   "what is left of them";
	return job->how->applies
		       ? "; --fill zero keeps what is left of them, --fill skip leaves them out"
		       : "; bpk repair --apply --fill zero -o OUT FILE keeps what is left of them, "
			 "--fill skip leaves them out";
}

static int judge(const struct job *job, struct bpk_err *err)
{
	const struct bpk_gsd_found_info *info = job->info;
	const char *semicolon = info->doubt[0] != '\0' ? "; " : "";

	if (job->is_saved && info->nlost == 0 && info->certain)
		return 0;
	if (info->nlost > 0)
		bpk_fail(err, BPK_CORRUPT, "%" PRIu64 " of %" PRIu64 " frames %s lost arrays%s%s%s",
			 info->nlost, info->nframes, bpk_plural(info->nlost, "has", "have"),
			 consequence_of(job), semicolon, info->doubt);
	else if (!info->certain)
		bpk_fail(err, BPK_CORRUPT,
			 "all %" PRIu64 " frames that were found are intact, but not certain%s%s%s",
			 info->nframes, semicolon, info->doubt, consequence_of(job));
	else
		bpk_fail(err, BPK_REPAIRABLE, "is damaged, but all %" PRIu64 " frames are intact%s",
			 info->nframes, consequence_of(job));
	return bpk_input_subject(&job->in, err);
}

/* ---- Entry ---- */

/* True if the input is a GSD file, by its content or its name. */
static bool is_gsd(const struct job *job)
{
	const struct bpk_input *in = &job->in;
	bool begins = false;

	if (in->format != NULL || in->place.is_directory ||
	    !bpk_source_seekable(in->place.source) || bpk_place_pending(&in->place) ||
	    bpk_place_remark(&in->place) != NULL || bpk_format_of_suffix(in->path) != NULL)
		return false;
	return bpk_ends_with(in->path, ".gsd") ||
	       (bpk_gsd_probe(in->place.source, &begins, NULL) == 0 && begins);
}

static int check_usage(const struct bpk_salvage_how *how, struct bpk_err *err)
{
	if (how->from != NULL || how->guesses)
		return bpk_fail(err, BPK_USAGE,
				"--from and --guess are for archives, not for a GSD file");
	return 0;
}

/* Frames that others need, or all, are not left out. */
static int check_skip(const struct job *job, struct bpk_err *err)
{
	const struct bpk_gsd_found_info *info = job->info;

	if (!job->how->applies || job->how->fill != BPK_FILL_SKIP)
		return 0;
	if (info->needs_first)
		bpk_fail(err, BPK_CORRUPT,
			 "frame 0 has lost arrays, and readers of the schema hoomd take from it "
			 "those that later frames lack; --fill zero keeps it");
	else if (info->nlost == info->nframes)
		bpk_fail(err, BPK_CORRUPT,
			 "%" PRIu64 " of %" PRIu64 " frames %s lost arrays; --fill zero keeps "
			 "what is left of them",
			 info->nlost, info->nframes, bpk_plural(info->nlost, "has", "have"));
	else
		return 0;
	return bpk_input_subject(&job->in, err);
}

static int repair(struct job *job, struct bpk_err *err)
{
	const struct bpk_salvage_how *how = job->how;

	if (check_usage(how, err) != 0)
		return bpk_input_subject(&job->in, err);
	if (bpk_gsd_found_open(job->in.place.source, &job->found, err) != 0)
		return bpk_input_subject(&job->in, err);
	job->info = bpk_gsd_found_info(job->found);
	show_map(job);
	if (check_skip(job, err) != 0)
		return -1;
	if (how->applies && (job->info->nlost == 0 || how->fill != BPK_FILL_NONE) &&
	    save(job, err) != 0)
		return -1;
	return judge(job, err);
}

bool bpk_gsd_repair(const struct bpk_args *args, const char *path,
		    const struct bpk_salvage_how *how)
{
	struct job job = { .args = args, .how = how };
	struct bpk_gsd_verdict verdict;
	struct bpk_err err = { 0 };
	bool ours = bpk_input_look(&job.in, path, args->shared.format, &err) == 0 && is_gsd(&job);

	if (ours && bpk_gsd_verify(job.in.place.source, NULL, NULL, &verdict, &err) != 0) {
		if (bpk_err_is_of_machine(&err))
			bpk_input_subject(&job.in, &err);
		if (bpk_err_is_of_machine(&err) || repair(&job, &err) != 0)
			bpk_report(NULL, &err);
	} else if (ours && how->applies) {
		bpk_heal_tell_whole(&args->shared, path);
	} else {
		ours = false;
	}
	record(&job);
	bpk_gsd_found_close(job.found);
	bpk_input_close(&job.in);
	return ours;
}
