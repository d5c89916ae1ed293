/* bpk tar: store datasets in a tar; if one fails, no tar is kept. Called by tar.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/tar.h"
#include "cli/tar_store.h"
#include "cli/text.h"

int bpk_tar_subject(const struct bpk_tar_storing *s, struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", bpk_output_name(s->tar));
}

/* ---- the datasets ---- */

static int name_dataset(const struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			struct bpk_err *err)
{
	const char *suffix;

	dataset->name = bpk_tar_name(dataset->path, err);
	if (dataset->name == NULL)
		return bpk_err_subject(err, "%s", dataset->path);
	suffix = bpk_format_suffix(dataset->name);
	if (s->args->raw && suffix != NULL)
		dataset->name[strlen(dataset->name) - strlen(suffix)] = '\0';
	return 0;
}

/* A member is as its tar is; a directory of members has no mode or time of its own. */
static int look_at(struct bpk_tar_dataset *dataset, const struct bpk_input *in, struct bpk_err *err)
{
	static const struct stat folder = { .st_mode = S_IFDIR | 0755 };

	if (in->place.source != NULL) {
		dataset->stat = *bpk_source_stat(in->place.source);
		if (bpk_source_seekable(in->place.source))
			return 0;
		bpk_fail(err, BPK_FAILED, "is a pipe, which does not say how much it brings");
		return bpk_input_subject(in, err);
	}
	dataset->stat = folder;
	if (in->place.is_member || stat(in->path, &dataset->stat) == 0)
		return 0;
	if (bpk_is_missing(errno))
		bpk_fail(err, BPK_FAILED, "is not there any more");
	else
		bpk_fail_errno(err, errno, "cannot be looked at");
	return bpk_input_subject(in, err);
}

static int check_dataset(const struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			 struct bpk_err *err)
{
	struct bpk_input in;
	int rc = bpk_input_find(&in, dataset->path, &s->args->shared, err);

	if (rc == 0 && in.format == NULL)
		rc = bpk_input_fail_unknown(&in, err);
	if (rc == 0)
		rc = look_at(dataset, &in, err);
	bpk_input_close(&in);
	return rc == 0 ? name_dataset(s, dataset, err) : -1;
}

/* Would one name be the other, or lie below it? */
static bool clash(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] != '\0' && a[i] == b[i])
		i++;
	return (a[i] == '\0' || a[i] == '/') && (b[i] == '\0' || b[i] == '/') &&
	       (a[i] == '\0' || b[i] == '\0');
}

static int check_names(const struct bpk_tar_storing *s, struct bpk_err *err)
{
	for (size_t i = 0; i < s->count; i++)
		for (size_t j = i + 1; j < s->count; j++)
			if (clash(s->datasets[i].name, s->datasets[j].name))
				return bpk_fail(err, BPK_USAGE,
						"%s and %s would both be stored as %s",
						s->datasets[i].path, s->datasets[j].path,
						s->datasets[i].name);
	return 0;
}

/* The tar may not replace one of its datasets. */
static int check_output(const struct bpk_tar_storing *s, struct bpk_err *err)
{
	bool is_stdout = strcmp(s->tar, "-") == 0;
	bool there = true;
	struct stat out;

	if (is_stdout && fstat(STDOUT_FILENO, &out) != 0)
		return bpk_fail_errno(err, errno, "standard output: fstat");
	if (!is_stdout && bpk_path_look(s->tar, &out, &there, err) != 0)
		return bpk_err_subject(err, "%s", s->tar);
	if (!there || !S_ISREG(out.st_mode))
		return 0;
	for (size_t i = 0; i < s->count; i++) {
		const struct stat *in = &s->datasets[i].stat;

		if (in->st_dev == out.st_dev && in->st_ino == out.st_ino) {
			bpk_fail(err, BPK_FAILED, "input and output are the same file");
			return bpk_err_subject(err, "%s", s->datasets[i].path);
		}
	}
	return 0;
}

static int check_all(struct bpk_tar_storing *s, char **operands, struct bpk_err *err)
{
	s->datasets = bpk_calloc(s->count, sizeof *s->datasets, err);
	if (s->datasets == NULL)
		return -1;
	for (size_t i = 0; i < s->count; i++) {
		s->datasets[i].path = operands[i];
		if (check_dataset(s, &s->datasets[i], err) != 0)
			return -1;
	}
	return check_names(s, err) != 0 ? -1 : check_output(s, err);
}

/* ---- raw content ---- */

static int unpack_into(const struct bpk_tar_storing *s, struct bpk_job *job, uint64_t size,
		       struct bpk_err *err)
{
	const struct bpk_write_options options = { 0 };
	struct bpk_flow flow = { .check = !s->args->shared.no_check, .decode = true };
	struct bpk_info info = *job->in->info;

	flow.plan = bpk_plan_all(&info);
	info.raw_size = size;
	if (bpk_job_start_writer(job, &bpk_format_raw, &info, &options, err) != 0 ||
	    bpk_job_run(job, &flow, err) != 0 || bpk_input_account(job->in, err) != 0 ||
	    bpk_job_finish_writer(job, err) != 0)
		return -1;
	return bpk_job_keep(job, NULL, err);
}

static int store_raw(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
		     struct bpk_err *err)
{
	const struct bpk_shared *shared = &s->args->shared;
	struct bpk_input in;
	struct bpk_job job = { .shared = shared, .in = &in };
	uint64_t size;
	int rc = -1;

	if (bpk_input_open(&in, dataset->path, shared, err) != 0 ||
	    bpk_input_raw_size(&in, &size, err) != 0)
		goto out;
	if (size > shared->max_output) {
		bpk_fail(err, BPK_LIMIT,
			 "unpacks to %" PRIu64 " bytes, --max-output allows %" PRIu64, size,
			 shared->max_output);
		bpk_input_subject(&in, err);
		goto out;
	}
	job.target = bpk_strdup(s->tar, err);
	if (job.target == NULL)
		goto out;
	if (bpk_tar_member(s->writer, dataset->name, size, &dataset->stat, &job.draft, err) != 0) {
		bpk_tar_subject(s, err);
		goto out;
	}
	rc = unpack_into(s, &job, size, err);
	dataset->size = size;
	dataset->nfiles = 1;
out:
	bpk_job_clear(&job);
	bpk_input_close(&in);
	return rc;
}

/* ---- all of them ---- */

static int open_output(struct bpk_tar_storing *s, struct bpk_err *err)
{
	const struct bpk_draft_options options = {
		.overwrite = s->args->shared.force,
		.follow_links = true,
		.sync = !s->args->shared.no_sync,
	};
	const struct bpk_tar_options with = {
		.has_date = s->args->date != BPK_UNKNOWN,
		.date = (int64_t)s->args->date,
	};

	if (bpk_output_check_terminal(&s->args->shared, s->tar, err) != 0)
		return -1;
	bpk_signals_start();
	if (bpk_buf_reserve(&s->piece, BPK_TAR_PIECE, err) != 0)
		return -1;
	if (bpk_draft_open(s->tar, &options, &s->draft, err) != 0 ||
	    bpk_tar_writer_open(s->draft, &with, &s->writer, err) != 0)
		return bpk_tar_subject(s, err);
	return 0;
}

/* The tar may be read by those only who may read everything in it. Its group is where it lies, so
 * what is meant for the group of a dataset counts as little as what is meant for others, unless it
 * is the same for all. */
static struct stat like_all(const struct bpk_tar_storing *s)
{
	struct stat like = { .st_mode = S_IFREG | 0666, .st_gid = s->datasets[0].stat.st_gid };

	like.st_mtim.tv_nsec = UTIME_OMIT; /* now */
	for (size_t i = 0; i < s->count; i++) {
		const struct stat *stat = &s->datasets[i].stat;

		like.st_mode &= S_IFMT | (stat->st_mode & 0666);
		if (stat->st_gid != like.st_gid)
			like.st_mode &= ~(mode_t)070 | (stat->st_mode & 07) << 3;
	}
	return like;
}

static int keep_output(struct bpk_tar_storing *s, struct bpk_err *err)
{
	struct stat like = like_all(s);
	struct bpk_draft *draft = s->draft;

	if (bpk_tar_writer_finish(s->writer, err) != 0)
		return bpk_tar_subject(s, err);
	s->draft = NULL;
	if (bpk_draft_keep(draft, &like, err) != 0)
		return bpk_tar_subject(s, err);
	return 0;
}

static void tell(const struct bpk_tar_storing *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct bpk_tar_dataset *dataset = &s->datasets[i];

		if (s->args->shared.verbose > 0)
			bpk_note(dataset->path, "stored as %s, %" PRIu64 " bytes", dataset->name,
				 dataset->size);
		if (!s->args->shared.json)
			continue;
		bpk_record_begin("tar", dataset->path);
		bpk_record_text("output", s->tar);
		bpk_record_text("name", dataset->name);
		bpk_record_u64("size", dataset->size);
		bpk_record_u64("files", dataset->nfiles);
		bpk_record_end();
	}
}

static int store_all(struct bpk_tar_storing *s, char **operands, struct bpk_err *err)
{
	if (check_all(s, operands, err) != 0 || open_output(s, err) != 0)
		return -1;
	for (size_t i = 0; i < s->count; i++)
		if ((s->args->raw ? store_raw : bpk_tar_store_packed)(s, &s->datasets[i], err) != 0)
			return -1;
	return keep_output(s, err);
}

void bpk_tar_store(const struct bpk_tar_args *args, char **operands, size_t count, const char *tar)
{
	struct bpk_tar_storing s = { .args = args, .tar = tar, .count = count };
	struct bpk_err err = { 0 };

	if (store_all(&s, operands, &err) == 0)
		tell(&s);
	else
		bpk_report(NULL, &err);
	bpk_tar_writer_close(s.writer);
	bpk_draft_drop(s.draft);
	for (size_t i = 0; s.datasets != NULL && i < count; i++)
		free(s.datasets[i].name);
	free(s.datasets);
	bpk_buf_clear(&s.piece);
}
