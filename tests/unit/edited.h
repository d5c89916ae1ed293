/*
 * Shared by tests of changing archives: the three kinds of change, made with the editor's
 * operations alone, without flow, and a check of the result.
 */
#ifndef BPK_TESTS_EDITED_H
#define BPK_TESTS_EDITED_H

#include "unit/archive.h"

/* An open editor, and the encoder for it. */
struct edited {
	const struct bpk_format *format;
	const struct bpk_editor_ops *ops;
	void *editor;
	struct bpk_chunk_ctx *ctx;
	struct bpk_parcel parcel;
	struct bpk_err err;
};

static inline int edited_open(struct edited *ed, const char *path,
			      const struct bpk_editor_options *options)
{
	*ed = (struct edited){ .format = bpk_format_find("blp") };
	ed->ops = ed->format->editor;
	ed->ctx = bpk_chunk_ctx_new(&ed->err);
	return ed->ops->open(path, options, &ed->editor, &ed->err);
}

static inline void edited_close(struct edited *ed)
{
	if (ed->editor != NULL)
		ed->ops->close(ed->editor);
	bpk_buf_clear(&ed->parcel.packed);
	bpk_chunk_ctx_free(ed->ctx);
}

static inline int edited_put(struct edited *ed, uint64_t number, struct bpk_view raw,
			     unsigned level)
{
	struct bpk_recipe recipe = { .codec = bpk_codec_find("lz4"),
				     .level = level,
				     .typesize = 4,
				     .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE) };
	struct bpk_parcel *parcel = &ed->parcel;

	parcel->number = number;
	parcel->raw_size = raw.size;
	if (bpk_buf_reserve(&parcel->packed, bpk_chunk_bound(raw.size), &ed->err) != 0 ||
	    bpk_chunk_encode(ed->ctx, &recipe, raw, bpk_buf_room(&parcel->packed),
			     &parcel->packed_size, &ed->err) != 0 ||
	    ed->ops->appender->seal(ed->editor, parcel, &ed->err) != 0)
		return -1;
	return ed->ops->appender->put(ed->editor, parcel, &ed->err);
}

/* Decode chunk number and append it to out. */
static inline int edited_chunk(struct edited *ed, uint64_t number, struct bpk_buf *out)
{
	const struct bpk_reader_ops *ops = ed->ops->reads;
	void *reader = ed->ops->reader(ed->editor);

	ed->parcel.number = number;
	ed->parcel.want_size = SIZE_MAX;
	if (ops->fetch(reader, &ed->parcel, &ed->err) != 0 ||
	    ops->check(reader, &ed->parcel, &ed->err) != 0)
		return -1;
	return archive_decode(ed->ctx, &ed->parcel, out, &ed->err);
}

static inline int edited_append(struct edited *ed, struct bpk_view more, unsigned level)
{
	const struct bpk_info *info = ed->ops->info(ed->editor);
	uint64_t number = info->chunks.count, size = info->chunks.size;
	struct bpk_buf all = { 0 };
	int rc = 0;

	if (number > 0 && info->chunks.last_size < size)
		rc = edited_chunk(ed, --number, &all);
	if (rc == 0)
		rc = bpk_buf_append(&all, more, &ed->err);
	if (rc == 0)
		rc = ed->ops->cut(ed->editor, number, &ed->err);
	for (size_t at = 0; rc == 0 && at < all.size; at += size)
		rc = edited_put(ed, number++,
				bpk_view(all.data + at, bpk_min_size(size, all.size - at)), level);
	bpk_buf_clear(&all);
	return rc;
}

/* Find the chunk that holds the raw byte at, and the start of its bytes. */
static inline int edited_find(struct edited *ed, uint64_t at, uint64_t *number, uint64_t *start)
{
	void *reader = ed->ops->reader(ed->editor);
	struct bpk_where where;

	for (*number = 0;; ++*number) {
		int rc = ed->ops->reads->locate(reader, *number, &where, &ed->err);

		if (rc != 0)
			return rc;
		*start = where.raw_offset;
		if (at < where.raw_offset + where.header.raw_size)
			return 0;
	}
}

static inline int edited_truncate(struct edited *ed, uint64_t to, unsigned level)
{
	struct bpk_buf raw = { 0 };
	uint64_t number = 0, start = 0;
	int rc = 0;

	if (to < ed->ops->info(ed->editor)->raw_size)
		rc = edited_find(ed, to, &number, &start);
	else
		return 0;
	if (rc == 0 && to > start)
		rc = edited_chunk(ed, number, &raw);
	if (rc == 0)
		rc = ed->ops->cut(ed->editor, number, &ed->err);
	if (rc == 0 && to > start)
		rc = edited_put(ed, number, bpk_view(raw.data, to - start), level);
	bpk_buf_clear(&raw);
	return rc;
}

static inline int edited_write(struct edited *ed, uint64_t at, struct bpk_view bytes,
			       unsigned level)
{
	size_t done = 0;
	int rc = 0;

	while (rc == 0 && done < bytes.size) {
		struct bpk_buf raw = { 0 };
		uint64_t number, start;
		size_t from, n;

		rc = edited_find(ed, at + done, &number, &start);
		if (rc == 0)
			rc = edited_chunk(ed, number, &raw);
		if (rc == 0) {
			from = at + done - start;
			n = bpk_min_size(raw.size - from, bytes.size - done);
			memcpy(raw.data + from, bytes.data + done, n);
			done += n;
			rc = edited_put(ed, number, bpk_buf_view(&raw), level);
		}
		bpk_buf_clear(&raw);
	}
	return rc;
}

static inline int edited_commit(struct edited *ed)
{
	return ed->ops->commit(ed->editor, &ed->err);
}

/* The view of an independent reader: content and remarks. */
struct edited_seen {
	struct bpk_buf raw;
	struct bpk_buf metadata;
	bool remarked;
	bool pending;
	struct bpk_err err;
};

static inline void edited_remark(void *arg, const char *line)
{
	struct edited_seen *seen = arg;

	seen->remarked = true;
	snprintf(seen->err.text, sizeof seen->err.text, "%s", line);
}

static inline int edited_drain(const struct bpk_reader_ops *ops, void *reader,
			       struct edited_seen *seen)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(&seen->err);
	struct bpk_parcel parcel = { .want_size = SIZE_MAX };
	uint64_t nchunks = ops->info(reader)->chunks.count;
	int rc = 0;

	for (; rc == 0 && parcel.number < nchunks; parcel.number++) {
		size_t before = seen->raw.size;

		parcel.data_size = SIZE_MAX;
		rc = ops->fetch(reader, &parcel, &seen->err);
		if (rc == 0)
			rc = ops->check(reader, &parcel, &seen->err);
		if (rc == 0)
			rc = archive_decode(ctx, &parcel, &seen->raw, &seen->err);
		if (rc == 0)
			seen->raw.size = before + bpk_min_size(parcel.data_size, parcel.raw_size);
	}
	bpk_buf_clear(&parcel.packed);
	bpk_chunk_ctx_free(ctx);
	return rc < 0 ? -1 : 0;
}

static inline int edited_see(const char *path, struct edited_seen *seen)
{
	const struct bpk_reader_ops *ops = bpk_format_find("blp")->reader;
	const struct bpk_read_options options = { 0 };
	struct bpk_place place;
	void *reader = NULL;
	int rc;

	*seen = (struct edited_seen){ 0 };
	if (bpk_place_open(path, NULL, &place, &seen->err) != 0)
		return -1;
	rc = ops->open(&place, &options, &reader, &seen->err);
	if (rc == 0)
		rc = edited_drain(ops, reader, seen);
	if (rc == 0)
		rc = ops->audit(reader, edited_remark, seen, &seen->err);
	/* bytes that an append left after the end */
	if (rc != 0 && seen->err.kind == BPK_REPAIRABLE) {
		seen->remarked = true;
		rc = 0;
	}
	if (rc == 0) {
		const struct bpk_info *info = ops->info(reader);

		seen->pending = info->pending;
		if (info->metadata.given)
			rc = bpk_buf_append(&seen->metadata, info->metadata.text, &seen->err);
	}
	ops->close(reader);
	bpk_place_close(&place);
	return rc;
}

static inline void edited_forget(struct edited_seen *seen)
{
	bpk_buf_clear(&seen->raw);
	bpk_buf_clear(&seen->metadata);
}

#endif
