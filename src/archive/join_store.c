/* A store of GSD's editor, over the content of an archive. Called by join.c and join_follow.c. */
#include <inttypes.h>

#include "archive/join.h"

/* Bytes of slack, so that an index that fills up, and the header's numbers, fit in their place. */
enum { APPENDED_SLACK = 1024, PATCH_SLACK = 8192 };

static uint64_t begin(void *own, uint64_t end)
{
	struct bpk_join_store *store = own;

	store->end = bpk_archive_info(store->archive)->raw_size;
	return bpk_max_u64(store->end, end);
}

static void set_free(void *own, uint64_t offset, uint64_t size)
{
	(void)own;
	(void)offset;
	(void)size;
}

static int put_aside(struct bpk_join_store *store, uint64_t offset, struct bpk_view bytes,
		     struct bpk_err *err)
{
	if (store->spool == NULL && bpk_spool_open(&store->spool, err) != 0)
		return -1;
	if (offset - store->end != bpk_spool_size(store->spool))
		return bpk_fail(err, BPK_BUG, "bytes for %" PRIu64 " leave a hole", offset);
	return bpk_spool_write(store->spool, bytes, err);
}

static int write_at(void *own, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_join_store *store = own;

	if (offset >= store->end)
		return put_aside(store, offset, bytes, err);
	if (store->patch.size == 0)
		store->patch_at = offset;
	if (offset - store->patch_at != store->patch.size)
		return bpk_fail(err, BPK_BUG, "bytes for %" PRIu64 " are not in turn", offset);
	return bpk_buf_append(&store->patch, bytes, err);
}

static struct bpk_slack slack_of(const struct bpk_archive *archive, uint64_t bytes)
{
	struct bpk_slack slack = archive->options.slack;

	if (slack.bytes == 0 && slack.percent == 0)
		slack.bytes = bytes;
	return slack;
}

static int commit_archive(struct bpk_join_store *store, struct bpk_err *err)
{
	store->commits++;
	return bpk_archive_commit(store->archive, err);
}

static int append_source(struct bpk_join_store *store, struct bpk_source *source,
			 struct bpk_err *err)
{
	struct bpk_packing packing = { 0 };
	struct bpk_flow_result result;
	int rc = bpk_archive_choose(store->archive, source, &packing, err);

	packing.slack = slack_of(store->archive, APPENDED_SLACK);
	if (rc == 0)
		rc = bpk_archive_append(store->archive, source, NULL, &packing, &result, err);
	if (rc == 0)
		rc = commit_archive(store, err);
	bpk_buf_clear(&packing.choice.why);
	return rc;
}

static int append_spool(struct bpk_join_store *store, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	int rc = 0;

	if (store->spool == NULL)
		return 0;
	rc = bpk_spool_source(store->spool, &source, err);
	if (rc != 0)
		bpk_archive_subject(store->archive, err);
	else
		rc = append_source(store, source, err);
	bpk_source_close(source);
	bpk_spool_close(store->spool);
	store->spool = NULL;
	store->end = bpk_archive_info(store->archive)->raw_size;
	return rc;
}

static int overwrite(struct bpk_join_store *store, uint64_t at, struct bpk_view bytes,
		     struct bpk_err *err)
{
	struct bpk_overwrite change = {
		.at = at,
		.slack = slack_of(store->archive, PATCH_SLACK),
	};
	uint64_t written;
	int rc;

	if (bytes.size == 0)
		return 0;
	if (bpk_source_of_memory(bytes, &change.source, err) != 0)
		return bpk_archive_subject(store->archive, err);
	rc = bpk_archive_overwrite(store->archive, &change, &written, err);
	if (rc == 0)
		rc = commit_archive(store, err);
	bpk_source_close(change.source);
	return rc;
}

/* Each step by itself leaves the old frames or the new: only the header, which comes last, leads to
 * the new data and the new index. */
static int commit(void *own, struct bpk_view header, uint64_t end, struct bpk_err *err)
{
	struct bpk_join_store *store = own;

	(void)end;
	if (append_spool(store, err) != 0 ||
	    overwrite(store, store->patch_at, bpk_buf_view(&store->patch), err) != 0)
		return -1;
	store->patch.size = 0;
	return overwrite(store, 0, header, err);
}

struct bpk_gsd_store bpk_gsd_store_of_archive(struct bpk_join_store *store)
{
	static const struct bpk_gsd_store_ops ops = {
		.begin = begin,
		.set_free = set_free,
		.write_at = write_at,
		.commit = commit,
	};

	return (struct bpk_gsd_store){ &ops, store };
}

void bpk_join_store_clear(struct bpk_join_store *store)
{
	bpk_spool_close(store->spool);
	store->spool = NULL;
	bpk_buf_clear(&store->patch);
}
