/* An open archive: opening it through its format's editor, reading its raw bytes, packing bytes
 * into it, committing. Called by the commands that change archives. */
#include "archive/archive.h"

#include <errno.h>
#include <stdlib.h>

#include "archive/chunks.h"

/* ---- opening ---- */

int bpk_archive_subject(const struct bpk_archive *archive, struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", bpk_input_name(archive->path));
}

static int look(struct bpk_archive *archive, struct bpk_err *err)
{
	if (stat(archive->path, &archive->seen) != 0)
		return bpk_fail_errno(err, errno, "cannot open");
	return 0;
}

/* The format of the archive, by content unless the caller names one. */
static int find_format(struct bpk_archive *archive, struct bpk_err *err)
{
	struct bpk_place place = { 0 };
	int rc = bpk_place_open(archive->path, bpk_format_owns, &place, err);

	archive->format = archive->options.format;
	if (rc == 0 && archive->format == NULL)
		rc = bpk_format_probe(&place, &archive->format, err);
	if (rc == 0 && archive->format == NULL)
		rc = bpk_format_fail_unknown(&place, err);
	bpk_place_close(&place);
	return rc;
}

static int open_editor(struct bpk_archive *archive, struct bpk_err *err)
{
	if (stat(archive->path, &archive->seen) != 0)
		return bpk_is_missing(errno)
			       ? bpk_fail(err, BPK_FAILED,
					  "lies in a tar, where nothing can be changed")
			       : bpk_fail_errno(err, errno, "cannot open");
	if (archive->format->editor == NULL)
		return bpk_fail(err, BPK_UNSUPPORTED, "has format %s, which cannot be changed",
				archive->format->name);
	return archive->format->editor->open(archive->path, &archive->options.editor,
					     &archive->editor, err);
}

void bpk_archive_close(struct bpk_archive *archive)
{
	if (archive->editor != NULL)
		archive->format->editor->close(archive->editor);
	archive->editor = NULL;
}

const struct bpk_info *bpk_archive_info(const struct bpk_archive *archive)
{
	return archive->format->editor->info(archive->editor);
}

/* *real is the real path, for free(), or NULL where name has no path that this process may see. */
static int find_real(const char *name, char **real, struct bpk_err *err)
{
	*real = realpath(name, NULL);
	if (*real != NULL || bpk_is_missing(errno) || errno == EACCES || errno == ENAMETOOLONG)
		return 0;
	return bpk_fail_errno(err, errno, "%s: cannot be looked at", name);
}

/* *below: name lies below folder. Standard input has a path too, where it is a file. */
static int lies_below(const char *folder, const char *name, bool *below, struct bpk_err *err)
{
	char *inner = NULL, *outer = NULL;
	size_t size;
	int rc = find_real(strcmp(name, "-") == 0 ? "/dev/stdin" : name, &inner, err);

	if (rc == 0)
		rc = find_real(folder, &outer, err);
	size = outer != NULL ? strlen(outer) : 0;
	*below = inner != NULL && outer != NULL && strncmp(inner, outer, size) == 0 &&
		 inner[size] == '/';
	free(inner);
	free(outer);
	return rc;
}

int bpk_archive_is_not(const struct bpk_archive *archive, const struct stat *file, const char *name,
		       struct bpk_err *err)
{
	bool below = false;

	if (S_ISDIR(archive->seen.st_mode) && lies_below(archive->path, name, &below, err) != 0)
		return -1;
	if (below)
		return bpk_fail(err, BPK_FAILED, "%s: lies in the archive itself",
				bpk_input_name(name));
	if (file->st_dev != archive->seen.st_dev || file->st_ino != archive->seen.st_ino)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: is the archive itself", bpk_input_name(name));
}

/* ---- chunks ---- */

int bpk_archive_locate(struct bpk_archive *archive, struct bpk_archive_chunk *chunk,
		       struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = archive->format->editor->reads;
	void *reader = archive->format->editor->reader(archive->editor);
	uint64_t chunk_size = ops->info(reader)->chunk_size;
	struct bpk_where where;
	int rc = ops->locate(reader, chunk->number, &where, err);

	if (rc > 0)
		bpk_fail(err, BPK_CORRUPT, "ends before chunk %llu",
			 (unsigned long long)chunk->number);
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

int bpk_archive_open(struct bpk_archive *archive, const struct bpk_archive_options *options,
		     const char *path, struct bpk_err *err)
{
	*archive = (struct bpk_archive){ .options = *options, .path = path };
	if (strcmp(path, "-") == 0)
		return bpk_fail(err, BPK_USAGE,
				"standard input cannot be changed, name an ARCHIVE");
	/* another may replace it while we wait for the lock */
	if (find_format(archive, err) != 0 || open_editor(archive, err) != 0 ||
	    look(archive, err) != 0)
		return bpk_archive_subject(archive, err);
	archive->was_array = bpk_archive_info(archive)->array != NULL;
	return bpk_archive_find_example(archive, err);
}

/* ---- reading ---- */

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
		.threads = archive->options.threads,
		.memory_limit = archive->options.memory_limit,
		.memory_is_default = archive->options.memory_is_default,
	};

	if (size == 0)
		return 0;
	if (bpk_plan_range(flow.in, flow.reader, start, start + size, &flow.plan, err) != 0 ||
	    bpk_buf_reserve(out, out->size + (size_t)size, err) != 0 ||
	    bpk_flow_run(&flow, &result, err) != 0)
		return bpk_archive_subject(archive, err);
	return 0;
}

/* ---- packing ---- */

int bpk_archive_cut(struct bpk_archive *archive, uint64_t nchunks, struct bpk_err *err)
{
	if (archive->format->editor->cut(archive->editor, nchunks, err) != 0)
		return bpk_archive_subject(archive, err);
	return 0;
}

/* A failure to read or write names both sides; any other failure is about the archive. */
static int put_subject(const struct bpk_archive *archive, const struct bpk_packing *packing,
		       struct bpk_err *err)
{
	if (packing->name == NULL || err->kind != BPK_FAILED)
		return bpk_archive_subject(archive, err);
	return bpk_err_subject(err, "%s -> %s", bpk_input_name(packing->name), archive->path);
}

static int run(struct bpk_archive *archive, const struct bpk_packing *packing,
	       struct bpk_flow *flow, struct bpk_flow_result *result, struct bpk_err *err)
{
	const struct bpk_archive_hooks *hooks = &archive->options.hooks;
	void *arg = archive->options.hooks_arg;
	int rc;

	flow->threads = archive->options.threads;
	flow->memory_limit = archive->options.memory_limit;
	flow->memory_is_default = archive->options.memory_is_default;
	if (packing->name == NULL || hooks->progress == NULL)
		return bpk_flow_run(flow, result, err);
	flow->progress = hooks->progress;
	flow->progress_arg = arg;
	if (hooks->begin != NULL)
		hooks->begin(arg, packing->name, packing->raw_size);
	rc = bpk_flow_run(flow, result, err);
	if (hooks->end != NULL)
		hooks->end(arg);
	return rc;
}

int bpk_archive_run(struct bpk_archive *archive, const struct bpk_packing *packing,
		    const struct bpk_writer_ops *ops, void *writer, struct bpk_flow_result *result,
		    struct bpk_err *err)
{
	static const struct bpk_read_options options;
	struct bpk_place place = { .path = archive->path, .source = packing->source };
	struct bpk_flow flow = {
		.in = bpk_format_raw.reader,
		.out = ops,
		.writer = writer,
		.plan = bpk_plan_cut(packing->raw_size, packing->chunk_size),
		.recipe = packing->recipe,
		.candidates = packing->candidates,
		.ncandidates = packing->ncandidates,
		.first_sizes = packing->first_sizes,
		.slack = packing->slack,
		.first_number = packing->first,
	};
	int rc = flow.in->open(&place, &options, &flow.reader, err);

	if (rc == 0)
		rc = run(archive, packing, &flow, result, err);
	if (flow.reader != NULL)
		flow.in->close(flow.reader);
	return rc == 0 ? 0 : put_subject(archive, packing, err);
}

int bpk_archive_put(struct bpk_archive *archive, const struct bpk_packing *packing,
		    struct bpk_flow_result *result, struct bpk_err *err)
{
	return bpk_archive_run(archive, packing, archive->format->editor->appender, archive->editor,
			       result, err);
}

int bpk_archive_commit(struct bpk_archive *archive, struct bpk_err *err)
{
	struct stat before = archive->seen;

	if (archive->format->editor->commit(archive->editor, err) != 0 || look(archive, err) != 0)
		return bpk_archive_subject(archive, err);
	if (before.st_ino != archive->seen.st_ino || before.st_dev != archive->seen.st_dev)
		archive->rewritten = true;
	return 0;
}
