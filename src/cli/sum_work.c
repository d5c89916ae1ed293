/* The contents that bpk sum digests: found, read by all threads or beside each other, and compared
 * with the lines of a list. Called by sum.c and sum_list.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/identity.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/signal.h"
#include "cli/sum.h"
#include "cli/transfer.h"

/* One content on its way. */
struct job {
	struct bpk_input in;
	char *path; /* of an archive in place of a missing file, owned; NULL: the entry's name */
	bool tree;
	uint8_t digest[BPK_DIGEST_SIZE];
	int rc;
	struct bpk_err err;
};

/* All entries on their way. */
struct course {
	const struct bpk_sum_args *args;
	const struct bpk_sum_entry *entries;
	struct bpk_sum_tally *tally; /* NULL: they are operands */
	struct bpk_limits each;      /* of a file beside others */
	struct job *jobs;            /* by place */
};

/* ---- Files that are missing ---- */

static bool is_missing(const char *path)
{
	struct stat found;

	return stat(path, &found) != 0 && bpk_is_missing(errno);
}

/* A part of name before a colon is a file: it may be a member of a tar. */
static bool may_be_member(const char *name)
{
	for (const char *colon = name; (colon = strchr(colon, ':')) != NULL; colon++) {
		char *tar = strndup(name, (size_t)(colon - name));
		bool is_there = tar != NULL && *tar != '\0' && !is_missing(tar);

		free(tar);
		if (is_there)
			return true;
	}
	return false;
}

/* Find the first archive of that name with the suffix of a format, in the order of their table.
 * *path stays NULL if none is there. */
static int find_packed(const char *name, char **path, struct bpk_err *err)
{
	for (const struct bpk_format *const *format = bpk_formats; *format != NULL; format++) {
		const char *const suffixes[] = { (*format)->suffix, (*format)->array_suffix };

		for (size_t i = 0; i < 2; i++) {
			if (suffixes[i] == NULL)
				continue;
			if (asprintf(path, "%s%s", name, suffixes[i]) < 0) {
				*path = NULL;
				return bpk_fail_memory(err, strlen(name));
			}
			if (!is_missing(*path))
				return 0;
			free(*path);
			*path = NULL;
		}
	}
	return 0;
}

/* Find the file of a line. *is_gone: it has none. */
static int find_listed(const struct bpk_sum_entry *entry, struct job *job, bool *is_gone,
		       struct bpk_err *err)
{
	const char *name = entry->name;

	*is_gone = false;
	if (!entry->is_expected || strcmp(name, "-") == 0 || bpk_path_is_url(name) ||
	    !is_missing(name) || may_be_member(name))
		return 0;
	if (find_packed(name, &job->path, err) != 0)
		return -1;
	*is_gone = job->path == NULL;
	return 0;
}

/* ---- A content ---- */

static int open_job(const struct course *course, const struct bpk_sum_entry *entry, struct job *job,
		    struct bpk_err *err)
{
	const char *path = job->path != NULL ? job->path : entry->name;

	if (course->tally != NULL && strcmp(path, "-") == 0) {
		if (course->tally->standard_input_is_read)
			return bpk_fail(err, BPK_FAILED,
					"standard input: can be read but once, and was read");
		course->tally->standard_input_is_read = true;
	}
	return bpk_input_open_either(&job->in, path, &course->args->shared, err);
}

/* All reads were of one state, and nothing but the content is there. */
static int settle(struct bpk_input *in, struct bpk_err *err)
{
	if (in->format != &bpk_format_raw)
		return bpk_input_unchanged(in, err);
	return bpk_source_unchanged(in->place.source, err) == 0 ? 0 : bpk_input_subject(in, err);
}

/* The root that the input records. */
static int take_recorded(struct job *job, struct bpk_err *err)
{
	struct bpk_ident tree = { 0 };
	int rc = bpk_identity_recorded(&job->in, &tree, err);

	if (rc == 0)
		rc = bpk_ident_root(&tree, job->digest, err);
	bpk_ident_clear(&tree);
	return rc;
}

static int read_all(const struct course *course, const struct bpk_sum_entry *entry, struct job *job,
		    struct bpk_err *err)
{
	const struct bpk_shared *shared = &course->args->shared;
	struct bpk_progress progress;
	const struct bpk_digest_options options = {
		.tree = entry->tree,
		.limits = bpk_shared_limits(shared),
		.progress = bpk_progress_update,
		.progress_arg = &progress,
	};
	int rc;

	bpk_progress_start(&progress, shared->progress, shared->quiet, job->in.path,
			   job->in.info->raw_size);
	rc = bpk_input_digest(&job->in, &options, job->digest, err);
	bpk_progress_hide();
	return rc;
}

static int digest(const struct course *course, const struct bpk_sum_entry *entry, struct job *job,
		  struct bpk_err *err)
{
	return course->args->recorded ? take_recorded(job, err) : read_all(course, entry, job, err);
}

static void clear_job(struct job *job)
{
	bpk_input_close(&job->in);
	free(job->path);
	job->path = NULL;
}

/* ---- The outcome ---- */

static void show_checked(const struct course *course, const struct bpk_sum_entry *entry,
			 const struct job *job)
{
	struct bpk_sum_tally *tally = course->tally;

	if (job->rc != 0) {
		tally->nfailed++;
		bpk_sum_show_verdict(entry->name, "FAILED open or read");
		bpk_report(NULL, &job->err);
	} else if (memcmp(job->digest, entry->expected, BPK_DIGEST_SIZE) != 0) {
		tally->ndifferent++;
		bpk_sum_show_verdict(entry->name, "FAILED");
		bpk_report_difference();
	} else {
		tally->nsame++;
		if (!course->args->shared.quiet)
			bpk_sum_show_verdict(entry->name, "OK");
	}
}

/* Account for what lies beside the chunks, print the outcome, and forget the job. */
static void end_job(const struct course *course, const struct bpk_sum_entry *entry, struct job *job)
{
	if (job->rc == 0 && !course->args->recorded)
		job->rc = bpk_input_account(&job->in, &job->err);
	if (job->rc == 0)
		job->rc = settle(&job->in, &job->err);
	if (job->rc == 0 && job->path != NULL && course->args->shared.verbose)
		bpk_note(bpk_input_name(entry->name), "is not there; %s was read", job->path);
	if (job->rc != 0)
		bpk_side_advise(&job->in, &job->err);
	if (entry->is_expected)
		show_checked(course, entry, job);
	else if (job->rc == 0)
		bpk_sum_show(entry, job->digest);
	else
		bpk_report(NULL, &job->err);
	clear_job(job);
}

static void sum_one(const struct course *course, const struct bpk_sum_entry *entry)
{
	struct job job = { .rc = 0 };
	bool is_gone;

	job.rc = find_listed(entry, &job, &is_gone, &job.err);
	if (job.rc == 0 && is_gone && course->args->ignore_missing) {
		course->tally->nmissing++;
		return;
	}
	if (job.rc == 0)
		job.rc = open_job(course, entry, &job, &job.err);
	if (job.rc == 0)
		job.rc = digest(course, entry, &job, &job.err);
	end_job(course, entry, &job);
}

/* ---- Beside each other ---- */

/* Open a small file, and print nothing: one with something to be noted is left to its turn. */
static bool open_small(const struct course *course, struct job *job, const char *path)
{
	struct bpk_input *in = &job->in;
	struct bpk_err why = { 0 };

	return bpk_operand_look(in, path, NULL) &&
	       bpk_input_start_either(in, &course->args->shared, &why) == 0 &&
	       in->info->raw_size <= BPK_SMALL_INPUT;
}

/* All that cannot be begun so, failures too, is left to a turn of its own. */
static bool begin(void *arg, size_t number, unsigned place)
{
	struct course *course = arg;
	const struct bpk_sum_entry *entry = &course->entries[number];
	struct job *job = &course->jobs[place];
	bool is_gone;

	*job = (struct job){ .tree = entry->tree };
	if (find_listed(entry, job, &is_gone, NULL) == 0 && !is_gone &&
	    open_small(course, job, job->path != NULL ? job->path : entry->name))
		return true;
	clear_job(job);
	return false;
}

static void work(void *arg, unsigned place)
{
	struct course *course = arg;
	struct job *job = &course->jobs[place];
	struct bpk_digest_options options = { .tree = job->tree, .limits = course->each };

	if (course->args->recorded)
		job->rc = take_recorded(job, &job->err);
	else
		job->rc = bpk_input_digest(&job->in, &options, job->digest, &job->err);
}

static void end(void *arg, size_t number, unsigned place)
{
	struct course *course = arg;

	end_job(course, &course->entries[number], &course->jobs[place]);
}

static void alone(void *arg, size_t number)
{
	struct course *course = arg;

	sum_one(course, &course->entries[number]);
}

/* False: no entry is begun. */
static bool run_beside(struct course *course, struct bpk_line *line)
{
	bool is_run;

	bpk_operands_set_threads(&course->args->shared, line);
	if (line->threads < 2)
		return false;
	course->jobs = bpk_calloc(line->nplaces, sizeof *course->jobs, NULL);
	is_run = course->jobs != NULL && bpk_line_run(line, NULL) == 0;
	free(course->jobs);
	return is_run;
}

void bpk_sum_entries(const struct bpk_sum_args *args, const struct bpk_sum_entry *entries,
		     size_t count, struct bpk_sum_tally *tally)
{
	struct course course = { args, entries, tally, bpk_shared_limits(&args->shared), NULL };
	struct bpk_line line = { .count = count,
				 .begin = begin,
				 .work = work,
				 .end = end,
				 .alone = alone,
				 .arg = &course };

	course.each.threads = 1;
	bpk_signals_start(); /* before the first thread */
	if (run_beside(&course, &line))
		return;
	for (size_t i = 0; i < count; i++)
		alone(&course, i);
}
