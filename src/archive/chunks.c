/* Single chunks of an open archive: finding and reading them, and packing bytes into new ones.
 * Called by the other files of archive, and by the commands that change archives. */
#include "archive/chunks.h"

#include <inttypes.h>

int bpk_archive_subject(const struct bpk_archive *archive, struct bpk_err *err)
{
	bpk_err_name_file(err, archive->path);
	return bpk_err_subject(err, "%s", bpk_input_name(archive->path));
}

const struct bpk_info *bpk_archive_info(const struct bpk_archive *archive)
{
	return archive->format->editor->info(archive->editor);
}

int bpk_archive_locate(struct bpk_archive *archive, struct bpk_archive_chunk *chunk,
		       struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = archive->format->editor->reads;
	void *reader = archive->format->editor->reader(archive->editor);
	uint64_t chunk_size = ops->info(reader)->chunks.size;
	struct bpk_where where;
	int rc = ops->locate(reader, chunk->number, &where, err);

	if (rc > 0)
		bpk_fail(err, BPK_CORRUPT, "ends before chunk %" PRIu64, chunk->number);
	if (rc != 0)
		return bpk_archive_subject(archive, err);
	chunk->header = where.header;
	/* a last chunk may hold more than was committed, a chunk of columns less than a row */
	chunk->size = bpk_archive_info(archive)->raw_size - chunk->start;
	if (chunk_size == BPK_UNKNOWN || chunk_size == 0)
		chunk_size = where.header.raw_size;
	chunk->size = bpk_min_u64(chunk->size, chunk_size);
	return 0;
}

int bpk_archive_find(struct bpk_archive *archive, uint64_t offset, struct bpk_archive_chunk *chunk,
		     struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = archive->format->editor->reads;
	void *reader = archive->format->editor->reader(archive->editor);
	struct bpk_plan plan;

	if (bpk_plan_range(ops, reader, offset, offset + 1, &plan, err) != 0)
		return bpk_archive_subject(archive, err);
	chunk->number = plan.first;
	chunk->start =
		plan.chunk_size == BPK_UNKNOWN ? plan.first_offset : plan.first * plan.chunk_size;
	return bpk_archive_locate(archive, chunk, err);
}

int bpk_archive_next(struct bpk_archive *archive, struct bpk_archive_chunk *chunk,
		     struct bpk_err *err)
{
	chunk->number++;
	chunk->start += chunk->size;
	return bpk_archive_locate(archive, chunk, err);
}

static int gather(void *out, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	return bpk_buf_append(out, bpk_buf_view(&parcel->raw), err);
}

int bpk_archive_read(struct bpk_archive *archive, uint64_t start, uint64_t size,
		     struct bpk_buf *out, struct bpk_err *err)
{
	static const struct bpk_writer_ops into_memory = { .put = gather };
	struct bpk_flow_result result;
	struct bpk_flow flow = {
		.in = archive->format->editor->reads,
		.reader = archive->format->editor->reader(archive->editor),
		.out = &into_memory,
		.writer = out,
		.check = true,
		.decode = true,
		.limits = archive->options.limits,
	};

	if (size == 0)
		return 0;
	if (bpk_plan_range(flow.in, flow.reader, start, start + size, &flow.plan, err) != 0 ||
	    bpk_buf_reserve(out, out->size + (size_t)size, err) != 0 ||
	    bpk_flow_run(&flow, &result, err) != 0)
		return bpk_archive_subject(archive, err);
	return 0;
}

int bpk_archive_cut(struct bpk_archive *archive, uint64_t nchunks, struct bpk_err *err)
{
	if (archive->format->editor->cut(archive->editor, nchunks, err) != 0)
		return bpk_archive_subject(archive, err);
	return 0;
}

/* A failure to read or write names both sides; any other failure is about the archive. */
static int put_subject(const struct bpk_archive *archive, const struct bpk_archive_batch *batch,
		       struct bpk_err *err)
{
	if (batch->name == NULL || err->kind != BPK_FAILED)
		return bpk_archive_subject(archive, err);
	return bpk_err_subject(err, "%s -> %s", bpk_input_name(batch->name), archive->path);
}

static int run(struct bpk_archive *archive, const struct bpk_archive_batch *batch,
	       struct bpk_flow *flow, struct bpk_flow_result *result, struct bpk_err *err)
{
	const struct bpk_archive_hooks *hooks = &archive->options.hooks;
	void *arg = archive->options.hooks_arg;
	int rc;

	flow->limits = archive->options.limits;
	if (batch->name == NULL || hooks->progress == NULL)
		return bpk_flow_run(flow, result, err);
	flow->progress = hooks->progress;
	flow->progress_arg = arg;
	if (hooks->begin != NULL)
		hooks->begin(arg, batch->name, batch->raw_size);
	rc = bpk_flow_run(flow, result, err);
	if (hooks->end != NULL)
		hooks->end(arg);
	return rc;
}

int bpk_archive_run(struct bpk_archive *archive, const struct bpk_archive_batch *batch,
		    const struct bpk_writer_ops *ops, void *writer, struct bpk_flow_result *result,
		    struct bpk_err *err)
{
	static const struct bpk_read_options options;
	struct bpk_place place = { .path = archive->path, .source = batch->source };
	struct bpk_flow flow = {
		.in = bpk_format_raw.reader,
		.out = ops,
		.writer = writer,
		.plan = bpk_plan_cut(batch->raw_size, batch->packing->choice.chunk_size),
		.packing = batch->packing,
		.first_sizes = batch->first_sizes,
		.kept = batch->kept,
		.first_number = batch->first,
		.packed = batch->packed,
		.packed_arg = batch->packed_arg,
	};
	int rc = flow.in->open(&place, &options, &flow.reader, err);

	if (rc == 0)
		rc = run(archive, batch, &flow, result, err);
	if (flow.reader != NULL)
		flow.in->close(flow.reader);
	return rc == 0 ? 0 : put_subject(archive, batch, err);
}

int bpk_archive_put(struct bpk_archive *archive, const struct bpk_archive_batch *batch,
		    struct bpk_flow_result *result, struct bpk_err *err)
{
	return bpk_archive_run(archive, batch, archive->format->editor->appender, archive->editor,
			       result, err);
}

/* False where the header has no chunk size: then chunks of all sizes may follow each other. */
static bool is_uniform(const struct bpk_archive *archive)
{
	void *reader = archive->format->editor->reader(archive->editor);

	return archive->format->editor->reads->info(reader)->chunks.size != BPK_UNKNOWN;
}

uint64_t bpk_archive_short_size(const struct bpk_archive *archive, uint64_t chunk_size)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	uint64_t last = info->chunks.count > 0 ? info->chunks.last_size : 0;

	if (last < chunk_size || (last > chunk_size && is_uniform(archive)))
		return last;
	return 0;
}
