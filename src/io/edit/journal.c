/* A journal in memory: its end, its refusal, and reading the old content through it. The other
 * journal_*.c files, edits and shared sources call it. */
#include "io/edit/journal.h"

#include <inttypes.h>
#include <unistd.h>

#include "io/full.h"

void bpk_journal_init(struct bpk_journal *journal, const struct bpk_resolved *resolved)
{
	*journal = (struct bpk_journal){ .resolved = resolved, .fd = -1 };
}

void bpk_journal_close(struct bpk_journal *journal)
{
	if (journal->fd >= 0)
		close(journal->fd);
	bpk_regions_clear(&journal->saved);
	bpk_buf_clear(&journal->start);
	bpk_buf_clear(&journal->next);
	*journal = (struct bpk_journal){
		.resolved = journal->resolved,
		.fd = -1,
		.any_file = journal->any_file,
	};
}

int bpk_journal_refuse(const struct bpk_journal *journal, struct bpk_err *err, const char *why)
{
	bpk_fail(err, BPK_FAILED, "its journal %s is not used: %s", journal->resolved->journal,
		 why);
	return 1;
}

int bpk_journal_fail_stranger(const struct bpk_journal *journal, uint64_t offset,
			      struct bpk_err *err)
{
	return bpk_fail(err, BPK_CORRUPT,
			"its journal %s does not match its content: another program has"
			" written at %" PRIu64 " since",
			journal->resolved->journal, offset);
}

/* ---- Reading the old content ---- */

int bpk_journal_read_at(const struct bpk_journal *journal, int fd, uint64_t offset,
			struct bpk_span out, size_t *got, struct bpk_err *err)
{
	*got = 0;
	if (offset >= journal->old_size)
		return 0;
	out.size = (size_t)bpk_min_u64(out.size, journal->old_size - offset);
	while (*got < out.size) {
		uint64_t at = offset + *got, size = out.size - *got;
		const struct bpk_region *region = bpk_regions_from(&journal->saved, at);
		bool saved = region != NULL && region->offset <= at;
		uint64_t from = saved ? region->where + (at - region->offset) : at;
		size_t step;

		if (saved)
			size = bpk_min_u64(size, region->offset + region->size - at);
		else if (region != NULL)
			size = bpk_min_u64(size, region->offset - at);
		if (bpk_full_read_at(saved ? journal->fd : fd, from,
				     bpk_span(out.data + *got, (size_t)size), &step, err) != 0)
			return -1;
		*got += step;
		if (step < size)
			break;
	}
	return 0;
}
