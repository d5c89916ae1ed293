/* Finds the places of chunks in the raw data of an archive whose chunks differ in size:
 * salvage_job.h. Called by salvage_run.c. */
#include "cli/salvage_job.h"

#include <inttypes.h>
#include <stdlib.h>

/* Add up the sizes of intact chunks, from the first on until one is lost, and from the last one
 * back, if the whole is known: a single lost one has the rest. */
static void add_up(const struct bpk_salvage *found, const uint32_t *sizes, uint64_t *starts)
{
	uint64_t n = found->nchunks, at = 0, end = found->counted ? found->raw_size : BPK_UNKNOWN;

	for (uint64_t i = 0; i <= n; i++) {
		starts[i] = at;
		if (i < n && at != BPK_UNKNOWN)
			at = sizes[i] > 0 ? at + sizes[i] : BPK_UNKNOWN;
	}
	for (uint64_t i = n; end != BPK_UNKNOWN && starts[i] == BPK_UNKNOWN; i--) {
		starts[i] = end;
		end = sizes[i - 1] > 0 && sizes[i - 1] <= end ? end - sizes[i - 1] : BPK_UNKNOWN;
	}
}

/* Places that contradict each other come from a damaged header: only those from the start count. */
static void drop_wrong(uint64_t n, const uint32_t *sizes, uint64_t *starts)
{
	bool wrong = false, lost = false;

	for (uint64_t i = 0; i < n; i++)
		wrong = wrong || (starts[i] != BPK_UNKNOWN && starts[i + 1] != BPK_UNKNOWN &&
				  (starts[i + 1] <= starts[i] ||
				   starts[i + 1] - starts[i] > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED));
	for (uint64_t i = 0; wrong && i < n; i++) {
		lost = lost || sizes[i] == 0;
		if (lost)
			starts[i + 1] = BPK_UNKNOWN;
	}
}

int bpk_salvage_place(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t n = found->nchunks;
	uint32_t *sizes;

	if (!found->uneven || n == 0)
		return 0;
	job->starts = bpk_calloc((size_t)n + 1, sizeof *job->starts, err);
	sizes = bpk_calloc((size_t)n, sizeof *sizes, err);
	if (job->starts == NULL || sizes == NULL) {
		free(sizes);
		return -1;
	}
	for (size_t i = 0; i < found->count; i++)
		if (found->all[i].intact && found->all[i].number < n)
			sizes[found->all[i].number] = found->all[i].raw_size;
	add_up(found, sizes, job->starts);
	drop_wrong(n, sizes, job->starts);
	free(sizes);
	return 0;
}

bool bpk_salvage_lacks_size(const struct bpk_salvage_job *job)
{
	for (uint64_t n = 0; job->starts != NULL && n < job->found.nchunks; n++)
		if (bpk_salvage_size(job, n) == BPK_UNKNOWN)
			return true;
	return false;
}
