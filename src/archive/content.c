/* The arrays inside raw bytes: the layout of an input, opened within limits, and its arrays copied.
 * Called by cat, info and unpack. */
#include "archive/content.h"

/* ---- Opening ---- */

/* False for input without offsets, such as a pipe, and for an array in chunks of several
 * dimensions, which is no file. */
static bool can_look(const struct bpk_input *in)
{
	return bpk_input_can_locate(in) && in->info->array.chunk_shape == NULL &&
	       in->info->raw_size != BPK_UNKNOWN && in->format->reader->positional(in->reader);
}

/* A layout reads tables, and keeps about as many bytes of its own. */
static int read_table(struct bpk_content *content, uint64_t offset, struct bpk_span out,
		      size_t *got, struct bpk_err *err)
{
	int rc;

	if (content->tables_left < out.size)
		return bpk_fail(
			err, BPK_LIMIT,
			"the tables of the arrays inside need more memory than an archive of "
			"this size gets; --memory-limit allows more");
	content->limits.left = content->unpacked_left;
	rc = bpk_source_read_at(content->view, offset, out, got, err);
	if (content->tables_left != BPK_UNKNOWN)
		content->tables_left -= out.size;
	content->unpacked_left = content->limits.left;
	content->limits.left = BPK_UNKNOWN;
	return rc;
}

/* Remember a failure: a layout could take a damaged archive for a file that it does not know. */
static int read_view(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	struct bpk_content *content = arg;
	struct bpk_err found = { 0 };

	if (read_table(content, offset, out, got, &found) == 0)
		return 0;
	if (content->damage.kind == BPK_OK)
		content->damage = found;
	if (err != NULL)
		*err = found;
	return -1;
}

/* bytes plus times the size of the archive, limit at most */
static uint64_t worth(const struct bpk_input *in, uint64_t bytes, uint64_t times, uint64_t limit)
{
	uint64_t size = bpk_input_weight(in), most;

	if (!bpk_mul_u64(size, times, &most) || !bpk_add_u64(most, bytes, &most))
		most = BPK_UNKNOWN;
	return limit == 0 ? most : bpk_min_u64(most, limit);
}

/*
 * Bound the cost of looking inside. Tables pack well, and are a small part of a file: no archive
 * of a real trajectory came near these bounds. A limit that the user gave replaces them.
 */
static void set_limits(const struct bpk_content_options *options, struct bpk_content *content)
{
	enum {
		MEMORY = 24 << 20,
		MEMORY_TIMES = 512,
		TABLES = 2 << 20, /* a layout's take up to 22 times as much in memory (GSD) */
		TABLES_TIMES = 64,
		UNPACKED = 256 << 20,
		UNPACKED_TIMES = 4096,
		FOR_MEMORY = 3,
		FOR_TABLES = 8
	};
	uint64_t limit = options->limits.memory;

	content->limits =
		(struct bpk_view_limits){ .memory = limit / FOR_MEMORY, .left = BPK_UNKNOWN };
	content->tables_left = limit == 0 ? BPK_UNKNOWN : limit / FOR_TABLES;
	content->unpacked_left = BPK_UNKNOWN;
	if (!options->limits.memory_is_default)
		return;
	content->limits.memory = worth(content->in, MEMORY, MEMORY_TIMES, limit / FOR_MEMORY);
	content->tables_left = worth(content->in, TABLES, TABLES_TIMES, limit / FOR_TABLES);
	content->unpacked_left = worth(content->in, UNPACKED, UNPACKED_TIMES, 0);
}

static int open_view(const struct bpk_input *in, const struct bpk_content_options *options,
		     struct bpk_content *content, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_view, .positional = true };
	const struct bpk_view_options viewing = { .no_check = options->no_check,
						  .nchunks = 8,
						  .limits = &content->limits };

	set_limits(options, content);
	if (bpk_view_open(in->format->reader, in->reader, &viewing, &content->view, err) != 0)
		return -1;
	return bpk_source_of(&ops, content, bpk_source_size(content->view), &content->source, err);
}

size_t bpk_content_piece(const struct bpk_content *content)
{
	enum { PIECE = 1 << 20, MOST = 16 << 20 };
	const struct bpk_info *info = content->in->info;
	uint64_t size = info == NULL ? BPK_UNKNOWN : info->chunks.size;

	if (size == BPK_UNKNOWN || size == 0 || size > MOST)
		return PIECE;
	return (size_t)(size >= PIECE ? size : PIECE - PIECE % size);
}

/* No writer of ours changes a raw file while its tables are read; a view holds for itself. */
static int open_layout(struct bpk_content *content, struct bpk_err *err)
{
	int rc;

	if (bpk_source_hold(content->source, err) != 0)
		return -1;
	rc = bpk_layout_open(content->source, &content->layout, err);
	bpk_source_release(content->source);
	if (rc != 0)
		return -1;
	if (content->damage.kind == BPK_OK)
		return 0;
	return bpk_fail_as(err, &content->damage);
}

int bpk_content_open(const struct bpk_input *in, const struct bpk_content_options *options,
		     struct bpk_content *content, struct bpk_err *err)
{
	int rc = 0;

	*content = (struct bpk_content){ .in = in, .source = in->place.source };
	clock_gettime(CLOCK_REALTIME, &content->watch.opened);
	if (in->format != &bpk_format_raw) {
		if (!can_look(in))
			return 0;
		content->source = NULL;
		rc = open_view(in, options, content, err);
	}
	if (rc == 0)
		rc = open_layout(content, err);
	if (rc == 0 && content->view == NULL)
		rc = bpk_content_watch(content, err);
	if (rc == 0)
		return 0;
	bpk_content_close(content);
	return bpk_input_subject(in, err);
}

int bpk_content_open_whole(const struct bpk_input *in, unsigned nchunks, uint64_t memory,
			   struct bpk_content *content, struct bpk_err *err)
{
	const struct bpk_view_options viewing = { .nchunks = nchunks, .limits = &content->limits };

	*content = (struct bpk_content){
		.in = in,
		.source = in->place.source,
		.limits = { .memory = memory, .left = BPK_UNKNOWN },
	};
	if (in->format == &bpk_format_raw)
		content->view = in->place.source;
	else if (bpk_view_open(in->format->reader, in->reader, &viewing, &content->view, err) != 0)
		return bpk_input_subject(in, err);
	if (bpk_source_seekable(content->view))
		return 0;
	bpk_content_close(content);
	bpk_fail(err, BPK_FAILED, "cannot be read by place, as numbers in it must be");
	return bpk_input_subject(in, err);
}

void bpk_content_close(struct bpk_content *content)
{
	bpk_layout_close(content->layout);
	if (content->in != NULL && content->source != content->in->place.source)
		bpk_source_close(content->source);
	if (content->in != NULL && content->view != content->in->place.source)
		bpk_source_close(content->view);
	if (content->watch.started)
		bpk_mutex_clear(&content->watch.lock);
	bpk_buf_clear(&content->watch.reads);
	*content = (struct bpk_content){ 0 };
}

/* ---- Copying ---- */

enum { STEP = 1 << 20 }; /* bytes that are copied at a time */

int bpk_content_copy(const struct bpk_content *content, const struct bpk_item *item,
		     struct bpk_draft *draft, struct bpk_err *err)
{
	uint64_t size = item->array->size;
	struct bpk_buf buf = { 0 };
	int rc = bpk_buf_resize(&buf, (size_t)bpk_min_u64(size, STEP), err);

	for (uint64_t at = 0; rc == 0 && at < size; at += STEP) {
		struct bpk_span step = bpk_span(buf.data, (size_t)bpk_min_u64(size - at, STEP));

		rc = bpk_item_read(content->view, item, at, step, err);
		if (rc == 0)
			rc = bpk_draft_write(draft, bpk_view_of_span(step), err);
	}
	bpk_buf_clear(&buf);
	return rc;
}

/* ---- Copying a part ---- */

static int read_fill(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	*got = out.size;
	return bpk_item_read(NULL, arg, offset, out, err);
}

/* A part of an array that is not stored, and has the bytes of fill. */
static int slice_fill(const struct bpk_item *item, const struct bpk_slice *slice,
		      struct bpk_draft *draft, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_fill, .positional = true };
	struct bpk_item own = *item;
	struct bpk_source *source;
	int rc;

	if (bpk_source_of(&ops, &own, item->array->size, &source, err) != 0)
		return -1;
	rc = bpk_slice_copy(source, 0, item->array, slice, draft, err);
	bpk_source_close(source);
	return rc;
}

int bpk_content_copy_slice(const struct bpk_content *content, const struct bpk_item *item,
			   const struct bpk_slice *slice, struct bpk_draft *draft,
			   struct bpk_err *err)
{
	if (item->offset == BPK_UNKNOWN)
		return slice_fill(item, slice, draft, err);
	return bpk_slice_copy(content->view, item->offset, item->array, slice, draft, err);
}
