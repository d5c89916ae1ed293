/* The sum of a command's work on many files. Called by pack, unpack and verify. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/record.h"
#include "cli/report.h"
#include "cli/share.h"
#include "cli/text.h"
#include "cli/tree.h"

/* The tally of the command, if this process counts. Of work that ranks do together one does. */
static struct bpk_tally *tally_of(const struct bpk_shared *shared)
{
	return bpk_share_assists() ? NULL : shared->tally;
}

void bpk_tally_failed(const struct bpk_shared *shared, const struct bpk_err *err)
{
	struct bpk_tally *tally = tally_of(shared);

	if (tally == NULL)
		return;
	tally->skipped += err->kind == BPK_PARTIAL;
	tally->damaged += err->kind == BPK_CORRUPT || err->kind == BPK_REPAIRABLE;
	tally->failed +=
		err->kind != BPK_PARTIAL && err->kind != BPK_CORRUPT && err->kind != BPK_REPAIRABLE;
}

void bpk_tally_done(const struct bpk_shared *shared, uint64_t raw_size, uint64_t packed_size)
{
	struct bpk_tally *tally = tally_of(shared);

	if (tally == NULL)
		return;
	tally->done++;
	tally->raw_size += raw_size;
	tally->packed_size += packed_size;
}

void bpk_tally_skipped(const struct bpk_shared *shared, const char *path, const char *why)
{
	struct bpk_tally *tally = tally_of(shared);

	if (tally != NULL)
		tally->skipped++;
	if (shared->verbose > 0)
		bpk_note(bpk_input_name(path), "%s, skipped", why);
	if (!shared->json)
		return;
	bpk_record_begin(shared->command, path);
	bpk_record_text("skipped", why);
	bpk_record_end();
}

/* ", 3 failed", if there is something to count. */
static void put_count(char *line, size_t room, uint64_t count, const char *word)
{
	size_t used = strlen(line);

	if (count > 0)
		snprintf(line + used, room - used, ", %" PRIu64 " %s", count, word);
}

void bpk_tally_tell(const struct bpk_shared *shared, const char *verb)
{
	const struct bpk_tally *tally = shared->tally;
	char raw[BPK_SIZE_TEXT], packed[BPK_SIZE_TEXT], ratio[BPK_SIZE_TEXT], line[256] = "";

	if (tally == NULL || !bpk_share_leads() || shared->quiet ||
	    (shared->verbose == 0 && !isatty(STDERR_FILENO)))
		return;
	put_count(line, sizeof line, tally->skipped, "skipped");
	put_count(line, sizeof line, tally->damaged, "damaged");
	put_count(line, sizeof line, tally->failed, "failed");
	bpk_note(NULL, "%" PRIu64 " file%s %s, %s raw, %s packed, ratio %s%s", tally->done,
		 tally->done == 1 ? "" : "s", verb, bpk_size_text(tally->raw_size, raw),
		 bpk_size_text(tally->packed_size, packed),
		 bpk_ratio_text(tally->raw_size, tally->packed_size, ratio), line);
}
