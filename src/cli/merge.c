/* bpk repair --merge: the union of damaged copies of one archive. Called by repair.c. */
#include "cli/merge.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/report.h"
#include "cli/salvage_job.h"
#include "cli/verify.h"

/* The copies, and the job that is done with their union. */
struct merging {
	struct bpk_input copies[BPK_MERGE_MOST];
	size_t count;
	struct bpk_salvage_job job;
};

/* ---- Copies ---- */

static int fail_copy(const struct bpk_input *in, struct bpk_err *err, enum bpk_kind kind,
		     const char *text)
{
	bpk_fail(err, kind, "%s", text);
	return bpk_input_subject(in, err);
}

/* Note the generation of a seal. Nothing proves that of a damaged copy. False: it tells none. */
static bool note_generation(struct bpk_salvage_job *job, const struct bpk_input *in)
{
	const struct bpk_seal_info *seal = &in->info->seal;

	if (!seal->sealed || seal->generation == 0 || seal->generation == BPK_UNKNOWN)
		return false;
	job->differ = job->differ || (job->newest > 0 && job->newest != seal->generation);
	if (seal->generation > job->newest) {
		job->newest = seal->generation;
		job->newest_path = in->path;
	}
	return true;
}

/* Of a sealed archive with bytes behind it, the archive alone is the copy. One that does not open
 * is damaged. */
static int look_at_seal(struct merging *m, struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_shared *shared = m->job.shared;
	struct bpk_err why = { 0 };

	if (in->format == NULL || bpk_input_start(in, shared, shared->chunk_limit, &why) != 0) {
		m->job.untold = true;
		return bpk_err_pass_memory(&why, err);
	}
	if (!note_generation(&m->job, in))
		m->job.untold = true;
	if (in->place.is_directory)
		return 0;
	if (bpk_input_leave_rest(in, err) != 0)
		return -1;
	if (in->rest > 0)
		bpk_salvage_tell_rest(in);
	return 0;
}

static int open_copy(struct merging *m, const char *path, struct bpk_err *err)
{
	struct bpk_input *in = &m->copies[m->count++];
	const struct bpk_place *place = &in->place;
	char word[BPK_WORD_TEXT];

	*in = (struct bpk_input){ .path = path };
	if (strcmp(path, "-") == 0 || bpk_path_is_url(path))
		return fail_copy(in, err, BPK_USAGE, "--merge needs the names of files");
	if (bpk_input_look(in, path, m->job.shared->format, err) != 0)
		return -1;
	if (place->is_member || (!place->is_directory && !bpk_source_seekable(place->source)))
		return fail_copy(in, err, BPK_FAILED, "is no file or directory of its own");
	if (!bpk_salvage_has_leftover(place))
		return look_at_seal(m, in, err);
	bpk_fail(err, BPK_FAILED,
		 "has a change that was interrupted; bpk repair --in-place %s settles it",
		 bpk_shell_word(path, word));
	return bpk_input_subject(in, err);
}

/* Find the format that all have, as far as one can tell. */
static int find_format(struct merging *m, struct bpk_err *err)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct bpk_input *in = &m->copies[i];
		const struct bpk_format *format = bpk_salvage_format(in);

		if (in->place.is_directory != m->copies[0].place.is_directory ||
		    (format != NULL && m->job.format != NULL && format != m->job.format))
			return bpk_fail(err, BPK_FAILED,
					"%s and %s are not copies of one archive: their formats "
					"differ",
					m->copies[0].path, in->path);
		if (format != NULL)
			m->job.format = format;
	}
	return m->job.format != NULL
		       ? 0
		       : fail_copy(&m->copies[0], err, BPK_UNSUPPORTED,
				   "is of no format that repair can merge; --format names one");
}

/* The result takes the place of no copy. */
static int check_target(const struct merging *m, struct bpk_err *err)
{
	const char *target = m->job.shared->output;
	struct stat found;

	if (target == NULL || strcmp(target, "-") == 0 || stat(target, &found) != 0)
		return 0;
	for (size_t i = 0; i < m->count; i++)
		if (bpk_same_file(&found, bpk_input_stat(&m->copies[i])))
			return bpk_fail(err, BPK_FAILED,
					"%s: is one of the copies, and they are not changed",
					target);
	return 0;
}

/* bpk_merge_ident_fn; arg is the job. */
static int compare_copy(void *arg, const struct bpk_input *copy, enum bpk_merge_ident *verdict,
			struct bpk_err *err)
{
	const struct bpk_salvage_job *job = arg;
	struct bpk_shared shared = *job->shared;
	struct bpk_input fresh = { .path = copy->path, .format = job->format };
	struct bpk_err why = { 0 };
	int rc;

	*verdict = BPK_MERGE_NOT_RECORDED;
	shared.as_stored = shared.audits = false;
	shared.quiet = true;
	rc = bpk_input_open(&fresh, copy->path, &shared, &why);
	if (rc == 0 && bpk_input_leave_rest(&fresh, &why) == 0 && fresh.rest == 0 &&
	    fresh.info->members <= 1 && bpk_ident_is_recorded(fresh.info)) {
		rc = bpk_verify_fresh(&shared, &fresh, &why);
		*verdict = rc == 0 ? BPK_MERGE_PROVEN : BPK_MERGE_REFUTED;
	}
	bpk_input_close(&fresh);
	return rc == 0 ? 0 : bpk_err_pass(&why, err);
}

/* Permissions and time for the result: the first copy's, less those that another one lacks. */
static void find_like(struct merging *m)
{
	struct stat more;

	m->job.has_like = bpk_input_like(&m->copies[0], &m->job.like);
	for (size_t i = 1; i < m->count; i++)
		if (bpk_input_like(&m->copies[i], &more))
			bpk_stat_narrow(&m->job.like, &more);
}

static int open_all(struct merging *m, char *const *paths, size_t count, struct bpk_err *err)
{
	struct bpk_salvage_job *job = &m->job;

	for (size_t i = 0; i < count; i++)
		if (open_copy(m, paths[i], err) != 0)
			return -1;
	if (check_target(m, err) != 0 || find_format(m, err) != 0 ||
	    bpk_merge_open(m->copies, count, job->format, compare_copy, job, &job->merge, err) != 0)
		return -1;
	find_like(m);
	job->in = (struct bpk_input){ .path = paths[0], .format = job->format };
	return bpk_merge_place(job->merge, &job->in.place, err);
}

/* ---- The union ---- */

static void print_whole(struct bpk_salvage_job *job, bool applies)
{
	if (job->shared->json || !applies)
		bpk_salvage_map(job);
}

/* The content is the one whose identity the copies record; *proven: they do. */
static int compare_ident(const struct bpk_salvage_job *job, bool *proven, struct bpk_err *err)
{
	const struct bpk_info *info = job->in.info;
	struct bpk_shared shared = *job->shared;
	struct bpk_input fresh = { .path = job->in.path, .format = job->format };
	int rc;

	/* of several archives it is that of the first */
	*proven = info->members <= 1 && bpk_ident_is_recorded(info);
	if (!*proven)
		return 0;
	shared.as_stored = shared.audits = false;
	shared.quiet = true;
	rc = bpk_merge_place(job->merge, &fresh.place, err);
	if (rc == 0)
		rc = bpk_input_start(&fresh, &shared, shared.chunk_limit, err);
	if (rc == 0)
		rc = bpk_verify_fresh(&shared, &fresh, err);
	bpk_input_close(&fresh);
	return rc;
}

/* Without checksums a chunk that unpacks may be damaged. */
static int fail_bare(const struct bpk_salvage_job *job, struct bpk_err *err)
{
	bpk_fail(err, BPK_CORRUPT,
		 "%" PRIu64 " of %" PRIu64
		 " chunks stand on no checksum: copies differ in them, or "
		 "one copy alone has them",
		 bpk_merge_bare(job->merge), job->in.info->chunks.count);
	return bpk_input_subject(&job->in, err);
}

static int fail_older(const struct bpk_salvage_job *job, struct bpk_err *err)
{
	bpk_fail(err, BPK_CORRUPT,
		 "the result is of an older state: its seal is of generation %" PRIu64
		 ", and that of %s of %" PRIu64,
		 job->in.info->seal.generation, job->newest_path, job->newest);
	return bpk_input_subject(&job->in, err);
}

/* True if copies are of two states, and no seals say which is the newest. */
static bool may_be_older(const struct bpk_salvage_job *job)
{
	return bpk_merge_since(job->merge, true) != NULL && job->untold;
}

/* True if checksums or a seal of the union were tested. */
static bool has_digests(const struct bpk_info *info)
{
	return info->seal.sealed ||
	       (info->chunks.checksum != NULL && info->chunks.checksum->size > 0);
}

/* Turn to the place, which has become that of one copy. */
static int start_again(struct bpk_salvage_job *job, bool alone, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	bpk_input_close(&job->in);
	job->in = (struct bpk_input){ .path = job->in.path, .format = job->format };
	if (bpk_merge_place(job->merge, &job->in.place, err) != 0)
		return -1;
	job->in.path = job->in.place.path;
	if (alone)
		bpk_note(bpk_input_name(job->in.path),
			 "gives more chunks than the copies together, and is taken alone");
	/* its reader proves the order of chunks, as far as it opens */
	return bpk_side_verify(job->shared, &job->in, &why) == 0 || !bpk_err_is_of_machine(&why)
		       ? 0
		       : bpk_fail_as(err, &why);
}

/* The union is not whole: save its chunks, or those of a copy that gives more by itself. */
static int save_chunks(struct bpk_salvage_job *job, bool applies, struct bpk_err *err)
{
	const char *disorder = bpk_merge_disorder(job->merge);
	bool changed, alone;

	job->in_doubt = disorder != NULL;
	if (bpk_merge_fall_back(job->merge, &changed, &alone, err) != 0 ||
	    (changed && start_again(job, alone, err) != 0))
		return -1;
	if (bpk_salvage_run(job, applies, err) != 0)
		return -1;
	return disorder == NULL ? 0 : bpk_fail(err, BPK_CORRUPT, "%s", disorder);
}

/* Its chunks are not those of the identity: with --fill they are saved without it. */
static int save_less(struct bpk_salvage_job *job, bool applies, struct bpk_err *err)
{
	*err = (struct bpk_err){ 0 };
	job->is_whole = false;
	return save_chunks(job, applies, err);
}

/* Every byte of the union is accounted for, and every chunk is intact. */
static int give_whole(struct bpk_salvage_job *job, bool applies, struct bpk_err *err)
{
	const char *disorder = bpk_merge_disorder(job->merge);
	bool between, proven, is_bare, is_older = may_be_older(job);
	bool lacks_newest = job->in.info->seal.generation < job->newest;
	const char *doubt = bpk_merge_doubt(job->merge, &between);

	if (job->from != NULL && job->in.info->members <= 1 &&
	    bpk_salvage_compare_whole(job, err) != 0)
		return -1;
	job->is_whole = true;
	if (compare_ident(job, &proven, err) != 0)
		return err->kind == BPK_CORRUPT && job->fill != BPK_FILL_NONE
			       ? save_less(job, applies, err)
			       : -1;
	if (between)
		disorder = doubt;
	if (proven || job->in.info->seal.sealed)
		disorder = NULL;
	proven = proven || has_digests(job->in.info);
	is_bare = bpk_merge_bare(job->merge) > 0 && !proven;
	job->in_doubt = disorder != NULL || is_bare || is_older || lacks_newest;
	if (applies && bpk_salvage_save(job, err) != 0)
		return -1;
	print_whole(job, applies);
	if (doubt != NULL && doubt != disorder)
		bpk_note(bpk_input_name(job->in.path), "%s", doubt);
	if (disorder != NULL)
		return bpk_fail(err, BPK_CORRUPT, "%s", disorder);
	if (is_bare)
		return fail_bare(job, err);
	if (lacks_newest)
		return fail_older(job, err);
	if (is_older)
		return bpk_fail(err, BPK_CORRUPT, "%s", bpk_merge_since(job->merge, true));
	if (!applies && bpk_merge_changes(job->merge))
		return fail_copy(&job->in, err, BPK_REPAIRABLE,
				 "is damaged, but the copies together have all of it; -o OUT "
				 "writes that");
	return 0;
}

static int unite(struct merging *m, char *const *paths, size_t count, struct bpk_err *err)
{
	struct bpk_salvage_job *job = &m->job;
	bool applies = job->shared->output != NULL, is_refuted;
	struct bpk_err why = { 0 };

	if (open_all(m, paths, count, err) != 0)
		return -1;
	if (bpk_side_verify(job->shared, &job->in, &why) == 0) {
		if (bpk_merge_is_refuted(job->merge, &is_refuted, err) != 0)
			return -1;
		return is_refuted ? save_chunks(job, applies, err) : give_whole(job, applies, err);
	}
	if (why.kind != BPK_CORRUPT && why.kind != BPK_UNSUPPORTED && why.kind != BPK_REPAIRABLE)
		return bpk_fail_as(err, &why);
	return save_chunks(job, applies, err);
}

/* A verdict on copies that have changed meanwhile is none. */
static int merge(struct merging *m, char *const *paths, size_t count, struct bpk_err *err)
{
	struct bpk_err changed = { 0 };
	int rc = unite(m, paths, count, err);

	if (m->job.merge == NULL || m->job.is_saved || err->kind == BPK_NO_MEMORY ||
	    bpk_merge_unchanged(m->job.merge, &changed) == 0)
		return rc;
	*err = changed;
	return -1;
}

void bpk_merge_files(const struct bpk_args *args, char *const *paths, size_t count,
		     enum bpk_fill fill, const char *from)
{
	struct merging m = { .job = { .shared = &args->shared, .fill = fill, .from = from } };
	struct bpk_err err = { 0 };

	if (merge(&m, paths, count, &err) != 0)
		bpk_report(NULL, &err);
	bpk_salvage_record(&m.job);
	bpk_salvage_job_clear(&m.job);
	for (size_t i = 0; i < m.count; i++)
		bpk_input_close(&m.copies[i]);
}
