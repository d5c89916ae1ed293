/* The raw data that stand for lost chunks: salvage_job.h. Called by salvage.c. */
#include "cli/salvage_job.h"

#include <inttypes.h>

#include "layout/layout.h"

/* Of an .npy file the data are behind its head, which pack --as-array leaves out. */
static int pass_head(struct bpk_salvage_job *job, uint64_t size, struct bpk_err *err)
{
	uint64_t all = bpk_source_size(job->raw);
	struct bpk_array array = { 0 };
	struct bpk_source *data = NULL;
	struct bpk_err why = { 0 };
	size_t head;

	if (all <= size || all == BPK_UNKNOWN)
		return 0;
	if (bpk_npy_peek(job->raw, &array, &head, &why) != 0)
		return bpk_err_pass_memory(&why, err);
	bpk_array_clear(&array);
	if (all - head != size)
		return 0;
	if (bpk_source_part(job->raw, head, size, &data, err) != 0)
		return bpk_err_subject(err, "%s", job->from);
	bpk_source_close(job->raw);
	job->raw = data;
	return 0;
}

/* The raw data must be those of the archive as far as sizes tell. */
static int check_sizes(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t size = found->shaped ? found->array_size : bpk_salvage_raw_size(job);

	for (uint64_t n = 0; n < found->nchunks; n++)
		if (bpk_salvage_size(job, n) == BPK_UNKNOWN) {
			bpk_fail(err, BPK_CORRUPT,
				 "lost chunks have unknown sizes, as --from needs them");
			return bpk_input_subject(&job->in, err);
		}
	if (pass_head(job, size, err) != 0)
		return -1;
	if (bpk_source_size(job->raw) == size)
		return 0;
	bpk_fail(err, BPK_FAILED, "is no file of the %" PRIu64 " raw bytes that %s has", size,
		 bpk_input_name(job->in.path));
	return bpk_err_subject(err, "%s", job->from);
}

int bpk_salvage_open_raw(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;

	if (!found->counted || (found->shaped && found->gather == NULL)) {
		bpk_fail(err, BPK_CORRUPT,
			 found->counted ? "the shape of its array is damaged, as --from needs it"
					: "the places of its chunks are not certain, as --from "
					  "needs them");
		return bpk_input_subject(&job->in, err);
	}
	if (bpk_source_open(job->from, &job->raw, err) != 0)
		return bpk_err_subject(err, "%s", job->from);
	return check_sizes(job, err);
}
