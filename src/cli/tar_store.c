/* bpk tar: store datasets in a tar; if one fails, no tar is kept. Called by tar.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/tar.h"
#include "cli/tar_store.h"
#include "cli/text.h"

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

static int check_dataset(const struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			 struct bpk_err *err)
{
	struct bpk_input in;
	int rc = bpk_tar_input(s, &in, dataset, err);

	bpk_input_close(&in);
	dataset->seen = dataset->stat;
	return rc == 0 ? name_dataset(s, dataset, err) : -1;
}

/* True if one name is the other, or lies below it. */
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

static bool is_dataset(void *arg, const struct stat *folder)
{
	const struct bpk_tar_storing *s = arg;

	for (size_t i = 0; i < s->count; i++)
		if (bpk_same_file(&s->datasets[i].stat, folder))
			return true;
	return false;
}

/* The tar may not replace one of its datasets, or lie in one. */
static int check_output(struct bpk_tar_storing *s, struct bpk_err *err)
{
	bool is_stdout = strcmp(s->tar, "-") == 0;
	bool there = true;
	struct stat out;

	if (is_stdout && fstat(STDOUT_FILENO, &out) != 0)
		return bpk_fail_errno(err, errno, "standard output: fstat");
	if (!is_stdout && bpk_path_look(s->tar, &out, &there, err) != 0)
		return bpk_err_subject(err, "%s", s->tar);
	if (!is_stdout && bpk_path_lies_in(s->tar, true, is_dataset, s)) {
		bpk_fail(err, BPK_FAILED, "lies in a dataset that it is to hold");
		return bpk_err_subject(err, "%s", s->tar);
	}
	if (!there || !S_ISREG(out.st_mode))
		return 0;
	for (size_t i = 0; i < s->count; i++) {
		const struct stat *in = &s->datasets[i].stat;

		if (bpk_same_file(in, &out)) {
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

static int unpack_into(const struct bpk_tar_storing *s, struct bpk_transfer *transfer,
		       uint64_t size, struct bpk_err *err)
{
	const struct bpk_write_options options = { 0 };
	struct bpk_flow flow = { .check = !s->args->shared.no_check, .decode = true };
	struct bpk_info info = *transfer->in->info;

	flow.plan = bpk_plan_all(&info);
	info.raw_size = size;
	if (bpk_transfer_start_writer(transfer, &bpk_format_raw, &info, &options, err) != 0 ||
	    bpk_transfer_run(transfer, &flow, err) != 0 ||
	    bpk_input_account(transfer->in, err) != 0 ||
	    bpk_transfer_finish_writer(transfer, err) != 0)
		return -1;
	return bpk_transfer_keep(transfer, err);
}

/* The permissions are those of a file, also for a dataset that is a directory. */
static int begin_raw(struct bpk_tar_storing *s, const struct bpk_tar_dataset *dataset,
		     uint64_t size, struct bpk_transfer *transfer, struct bpk_err *err)
{
	struct stat member = dataset->stat, like;

	if (bpk_input_like(transfer->in, &like))
		member.st_mode = like.st_mode;
	transfer->target = bpk_strdup(s->tar, err);
	if (transfer->target == NULL)
		return -1;
	if (bpk_tar_member(s->writer, dataset->name, size, &member, &transfer->draft, err) != 0)
		return bpk_tar_subject(s, err);
	return 0;
}

static int store_raw(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
		     struct bpk_err *err)
{
	const struct bpk_shared *shared = &s->args->shared;
	struct bpk_input in;
	struct bpk_transfer transfer = { .shared = shared, .in = &in };
	uint64_t size;
	int rc = -1;

	if (bpk_tar_input(s, &in, dataset, err) != 0 ||
	    bpk_input_start(&in, shared, shared->chunk_limit, err) != 0 ||
	    bpk_input_raw_size(&in, &size, err) != 0)
		goto out;
	if (size > shared->max_output) {
		bpk_fail(err, BPK_LIMIT,
			 "unpacks to %" PRIu64 " bytes, --max-output allows %" PRIu64, size,
			 shared->max_output);
		bpk_input_subject(&in, err);
		goto out;
	}
	if (begin_raw(s, dataset, size, &transfer, err) != 0)
		goto out;
	rc = unpack_into(s, &transfer, size, err);
	bpk_tar_count_like(s, &in);
	dataset->size = size;
	dataset->nfiles = 1;
out:
	bpk_transfer_clear(&transfer);
	bpk_input_close(&in);
	return rc;
}

/* ---- all of them ---- */

static int open_output(struct bpk_tar_storing *s, struct bpk_err *err)
{
	const struct bpk_draft_options options = {
		.overwrite = s->args->shared.force,
		.remedy = BPK_REMEDY_FORCE,
		.follow_links = true,
		.sync = !s->args->shared.no_sync,
	};
	const struct bpk_tar_options with = {
		.has_date = s->args->date != BPK_UNKNOWN,
		.date = (int64_t)s->args->date,
	};

	if (bpk_transfer_check_terminal(&s->args->shared, s->tar, err) != 0)
		return -1;
	bpk_signals_start();
	if (bpk_buf_reserve(&s->piece, BPK_TAR_PIECE, err) != 0)
		return -1;
	if (bpk_draft_open(s->tar, &options, &s->draft, err) != 0 ||
	    bpk_tar_writer_open(s->draft, &with, &s->writer, err) != 0)
		return bpk_tar_subject(s, err);
	return 0;
}

static int keep_output(struct bpk_tar_storing *s, struct bpk_err *err)
{
	struct bpk_draft *draft = s->draft;

	if (bpk_tar_writer_finish(s->writer, err) != 0)
		return bpk_tar_subject(s, err);
	s->draft = NULL;
	if (bpk_draft_keep(draft, &s->like, err) != 0)
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
		bpk_record_u64("nfiles", dataset->nfiles);
		bpk_record_end();
		bpk_record_settle(&s->args->shared, dataset->path);
	}
}

/* Judge a failure to store: a dataset that changed since the first check is not called damaged. */
static int judge(const struct bpk_tar_dataset *dataset, struct bpk_err *err)
{
	struct stat now;

	if ((err->kind != BPK_CORRUPT && err->kind != BPK_UNSUPPORTED) ||
	    stat(dataset->path, &now) != 0 || bpk_is_still(&now, &dataset->seen))
		return -1;
	return bpk_fail(err, BPK_FAILED, "%s: changed while it was read", dataset->path);
}

static int store_all(struct bpk_tar_storing *s, char **operands, struct bpk_err *err)
{
	if (check_all(s, operands, err) != 0 || open_output(s, err) != 0)
		return -1;
	for (size_t i = 0; i < s->count; i++)
		if ((s->args->raw ? store_raw : bpk_tar_store_packed)(s, &s->datasets[i], err) != 0)
			return judge(&s->datasets[i], err);
	return keep_output(s, err);
}

void bpk_tar_store(const struct bpk_tar_args *args, char **operands, size_t count, const char *tar)
{
	struct bpk_tar_storing s = {
		.args = args,
		.tar = tar,
		.count = count,
		.like = { .st_mode = S_IFREG | 0666,
			  .st_uid = (uid_t)-1,
			  .st_gid = (gid_t)-1,
			  .st_mtim.tv_nsec = UTIME_OMIT },
	};
	struct bpk_err err = { 0 };

	if (store_all(&s, operands, &err) == 0)
		tell(&s);
	else
		bpk_report(NULL, &err);
	bpk_record_settle(&args->shared, count == 1 ? operands[0] : NULL);
	bpk_tar_writer_close(s.writer);
	bpk_draft_drop(s.draft);
	for (size_t i = 0; s.datasets != NULL && i < count; i++)
		free(s.datasets[i].name);
	free(s.datasets);
	bpk_buf_clear(&s.piece);
}
