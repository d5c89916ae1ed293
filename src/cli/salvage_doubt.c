/* Judges whether the chunks that were found are the archive's own, at their places: by the identity
 * that it records, its seal, digests over all chunks, and the copies that they come from. Called by
 * salvage_run.c. */
#include "cli/salvage_job.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the order ---- */

/* Compare the chunks from first to end, which may be unknown, with the seal, which covers their
 * numbers. */
static int test_seal(const struct bpk_input *in, uint64_t first, uint64_t end, struct bpk_err *err)
{
	struct bpk_parcel parcel = { .number = first, .want_size = SIZE_MAX };
	int rc;

	if (in->reader == NULL || in->format->reader->prove == NULL)
		return bpk_fail(err, BPK_CORRUPT, "without its other parts it is not tested");
	rc = in->format->reader->prove(in->reader, first, end, err);
	while (rc == 0 && parcel.number < end) {
		rc = in->format->reader->fetch(in->reader, &parcel, err);
		parcel.number++;
	}
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&parcel.raw);
	return rc < 0 ? -1 : 0;
}

/* A record of the content's identity, which only reading proves, tells more than any number. */
static int settle_ident(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_salvage *found = &job->found;
	char line[160];

	if (job->is_whole || found->numbered || (job->lost > 0 && !found->counted))
		return 0;
	if (bpk_salvage_prove(job, err) != 0)
		return -1;
	if (job->proves_ident) {
		found->counted = true;
		found->disordered = false;
	}
	if (found->counted && job->ident_size > 0 && job->from == NULL) {
		snprintf(line, sizeof line,
			 "the recorded identity is of %" PRIu64
			 " bytes, and the chunks have others",
			 job->ident_size);
		return bpk_salvage_doubt(found, line, err);
	}
	if (!found->counted || job->refuted.end == 0)
		return 0;
	found->disordered = true;
	if (job->from != NULL)
		return 0;
	snprintf(line, sizeof line,
		 "raw bytes %" PRIu64 ":%" PRIu64
		 " are not those of the recorded identity, and chunks may be swapped or copied",
		 job->refuted.start, job->refuted.end);
	return bpk_salvage_doubt(found, line, err);
}

/* Digests over all chunks, which alone tell data files that were swapped or copied, need those that
 * are lost, too, and may be lost themselves. */
static int doubt_files(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_salvage *found = &job->found;

	if (!found->exchangeable || !found->counted || job->refuted.end > 0)
		return 0;
	found->estimated = true;
	if (job->from != NULL)
		return 0;
	return bpk_salvage_doubt(found, job->lost > 0 ? BPK_DOUBT_FILES_LOST : BPK_DOUBT_FILES,
				 err);
}

/* *is: the reader, which tests the chunk by the seal, finds it where the search did. */
static int find_there(const struct bpk_salvage_job *job, const struct bpk_saved *saved, bool *is,
		      struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = job->in.format->reader;
	struct bpk_where where = { 0 };
	struct bpk_err why = { 0 };

	*is = false;
	if (!saved->intact || saved->guessed || saved->unproven || saved->place != NULL)
		return 0;
	if (ops->locate(job->in.reader, saved->number, &where, &why) != 0)
		return bpk_err_pass(&why, err);
	*is = where.packed_offset == saved->offset;
	return 0;
}

/* The record of the seal is intact, and of as many chunks. */
static bool has_tree(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;

	return found->sealed && found->counted && !found->numbered && job->in.reader != NULL &&
	       job->in.info->seal.sealed && job->in.info->damage == NULL &&
	       job->in.info->chunks.count == found->nchunks;
}

/* The seal's tree has a peak for each power of two in the number of chunks. It shows whether the
 * chunks under it are at their places, if none of them is lost. Missing bytes move them. */
int bpk_salvage_test_peaks(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_salvage *found = &job->found;
	uint64_t n = found->nchunks, first = 0;
	struct bpk_err why = { 0 };
	size_t i = 0;

	if (!has_tree(job))
		return 0;
	for (uint64_t size = (uint64_t)1 << 63; size > 0 && why.kind == BPK_OK; size /= 2) {
		uint64_t there = 0;

		if ((n & size) == 0)
			continue;
		for (; i < found->count && found->all[i].number < first + size; i++) {
			bool is;

			if (find_there(job, &found->all[i], &is, err) != 0)
				return -1;
			there += is;
		}
		if (there == size)
			(void)test_seal(&job->in, first, first + size, &why);
		first += size;
	}
	if (bpk_err_is_of_machine(&why))
		return bpk_fail_as(err, &why);
	job->is_untested = why.kind == BPK_UNSUPPORTED;
	job->is_moved = why.kind != BPK_OK && !job->is_untested;
	found->disordered = found->disordered || why.kind != BPK_OK;
	return 0;
}

static int doubt_moved(struct bpk_salvage_job *job, struct bpk_err *err)
{
	if ((!job->is_moved && !job->is_untested) || job->by_raw)
		return 0;
	return bpk_salvage_doubt(
		&job->found,
		job->is_moved ? "the seal says that some of the others are not at their places"
			      : "without sound offsets the seal does not tell whether the others "
				"are at their places",
		err);
}

/* Of chunks of several copies nobody has compared the digests over all of them. */
static bool is_united(const struct bpk_salvage *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->all[i].place != NULL)
			return true;
	return false;
}

/* Digests over all chunks are there, and the search could not compare them. */
static bool has_untested(const struct bpk_salvage *found)
{
	return found->exchangeable && found->state != 0 && found->refutes == NULL;
}

bool bpk_salvage_has_judge(const struct bpk_salvage *found)
{
	return found->refutes != NULL && found->count == found->nchunks && !is_united(found);
}

int bpk_salvage_test_numbers(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_input *in = &job->in;
	struct bpk_salvage *found = &job->found;
	bool refuted = bpk_salvage_has_judge(found) && found->refutes(found);

	if (refuted)
		job->raw_doubt = "in the order of the raw data the chunks are not those that "
				 "meta/sizes records";
	if (!refuted && has_tree(job) && in->format->reader->refutes != NULL) {
		if (in->format->reader->refutes(in->reader, &in->place, found, &refuted, err) != 0)
			return bpk_input_subject(in, err);
		if (refuted)
			job->raw_doubt = "in the order of the raw data the chunks are not those "
					 "that were sealed";
	}
	found->disordered = refuted;
	return 0;
}

/*
 * Chunks that are all intact may be swapped, copied or exchanged, if each has its digest behind it:
 * those over all of them tell. Raw data that are compared tell more.
 */
static int settle_order(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_salvage *found = &job->found;
	struct bpk_err why = { 0 };
	char line[sizeof why.text + 64];
	char *advice;

	if (!found->counted && found->unplaced != NULL &&
	    bpk_salvage_doubt(found, found->unplaced, err) != 0)
		return -1;
	if (!job->is_whole && (job->lost > 0 || found->is_least || has_untested(found)))
		return doubt_files(job, err) != 0 ? -1 : doubt_moved(job, err);
	if (job->is_whole || job->from != NULL || !found->counted || job->proves_ident ||
	    job->refuted.end > 0)
		return 0;
	if (is_united(found) && !found->numbered)
		return doubt_files(job, err);
	if (found->disordered)
		return bpk_salvage_doubt(
			found,
			found->proven
				? "they are not those that meta/sizes records: some were swapped "
				  "or copied"
				: "they are not those that meta/sizes records: some were changed, "
				  "swapped or copied",
			err);
	if (!found->sealed || found->numbered || found->nunproven > 0 ||
	    test_seal(&job->in, 0, BPK_UNKNOWN, &why) == 0)
		return 0;
	if (bpk_err_is_of_machine(&why))
		return bpk_fail_as(err, &why);
	found->disordered = true;
	advice = strstr(why.text, "; bpk repair "); /* --reseal, which fails on damaged parts */
	if (advice != NULL)
		*advice = '\0';
	snprintf(line, sizeof line, "the seal does not prove them: %s", why.text);
	return bpk_salvage_doubt(found, line, err);
}

/* Without checksums a chunk that unpacks may have other bytes, unless a seal or the identity, which
 * were tested, or the raw data tell. The loss of digests is told by the format. */
static int settle_content(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_salvage *found = &job->found;

	if (found->proven || found->unnoticed || found->nunproven > 0 || job->proves_ident ||
	    (found->sealed && job->lost == 0 && found->counted && !is_united(found)))
		return 0;
	found->unnoticed = true;
	if (job->from != NULL)
		return 0;
	return bpk_salvage_doubt(
		found, "they stand on no checksum, and changed bytes may go unnoticed", err);
}

/* ---- copies ---- */

/* The copies may be of two states, or of two archives. */
static int doubt_copies(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const char *since = job->merge != NULL ? bpk_merge_since(job->merge, false) : NULL;
	const char *lone = job->merge != NULL ? bpk_merge_lone(job->merge) : NULL;
	struct bpk_err line = { 0 };

	if (job->differ)
		since = "the copies have seals of two generations, and may be of two states";
	job->in_doubt = job->in_doubt || since != NULL;
	if (since != NULL && bpk_salvage_doubt(&job->found, since, err) != 0)
		return -1;
	if (lone == NULL)
		return 0;
	job->found.estimated = true;
	bpk_fail(&line, BPK_CORRUPT,
		 "no chunk that %s has once is in another copy, and it may be of another archive",
		 lone);
	return bpk_salvage_doubt(&job->found, line.text, err);
}

/* Nothing but its shape tells the places of an array's bytes. */
static int doubt_shape(struct bpk_salvage_job *job, struct bpk_err *err)
{
	if (job->is_whole || !bpk_salvage_lacks_shape(&job->found))
		return 0;
	return bpk_salvage_doubt(
		&job->found,
		"without the shape the bytes of an array are in the order of its chunks, with "
		"their padding",
		err);
}

int bpk_salvage_settle(struct bpk_salvage_job *job, struct bpk_err *err)
{
	return settle_ident(job, err) != 0 || settle_order(job, err) != 0 ||
			       settle_content(job, err) != 0 || doubt_shape(job, err) != 0 ||
			       doubt_copies(job, err) != 0
		       ? -1
		       : 0;
}
