/*
 * Shared by tests of formats: sources over memory and pipes, and unpacking an archive with the
 * reader's operations alone, without flow.
 */
#ifndef BPK_TESTS_ARCHIVE_H
#define BPK_TESTS_ARCHIVE_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "unit/unit.h"

#include "format/format.h"

enum archive_way { ARCHIVE_MEMORY, ARCHIVE_PIPE };

/* An open place over bytes. */
struct archive_input {
	struct bpk_place place;
	int pipe_end;
};

/* For a pipe, bytes must fit into it. */
static inline void archive_input_open(struct archive_input *input, struct bpk_view bytes,
				      enum archive_way way)
{
	struct bpk_err err = { 0 };
	char path[64];
	int ends[2];

	*input = (struct archive_input){ .place = { .path = "test" }, .pipe_end = -1 };
	if (way == ARCHIVE_MEMORY) {
		assert_int_equal(bpk_source_of_memory(bytes, &input->place.source, &err), 0);
		return;
	}
	assert_int_equal(pipe(ends), 0);
	if (bytes.size > 65536)
		assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= (int)bytes.size);
	assert_int_equal(write(ends[1], bytes.data, bytes.size), bytes.size);
	/* open the reading end again before the writing end is closed */
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	if (bpk_source_open(path, &input->place.source, &err) != 0)
		fail_msg("%s", err.text);
	close(ends[1]);
	input->pipe_end = ends[0];
	assert_false(bpk_source_seekable(input->place.source));
}

static inline void archive_input_close(struct archive_input *input)
{
	bpk_source_close(input->place.source);
	if (input->pipe_end >= 0)
		close(input->pipe_end);
}

/* Decode one fetched chunk and append it to out. */
static inline int archive_decode(struct bpk_chunk_ctx *ctx, const struct bpk_parcel *parcel,
				 struct bpk_buf *out, struct bpk_err *err)
{
	size_t before = out->size;

	if (bpk_buf_resize(out, before + parcel->raw_size, err) != 0)
		return -1;
	return bpk_chunk_decode(
		ctx, bpk_view(parcel->packed.data, parcel->packed_size),
		bpk_span(out->size > 0 ? out->data + before : NULL, parcel->raw_size), err);
}

/* The same for a parcel of any reader. */
static inline int archive_unpack(const struct bpk_reader_ops *ops, void *reader,
				 struct bpk_chunk_ctx *ctx, const struct bpk_parcel *parcel,
				 struct bpk_buf *out, struct bpk_err *err)
{
	size_t before = out->size;

	if (ops->unpacks == NULL || !ops->unpacks(reader))
		return archive_decode(ctx, parcel, out, err);
	if (bpk_buf_resize(out, before + parcel->raw_size, err) != 0)
		return -1;
	return ops->unpack(reader, ctx, parcel, bpk_span(out->data + before, parcel->raw_size),
			   err);
}

/* Fetch, check and decode every chunk of an open reader; append the decoded bytes to out. */
static inline int archive_drain(const struct bpk_reader_ops *ops, void *reader, struct bpk_buf *out,
				struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	struct bpk_parcel parcel = { .want_size = SIZE_MAX };
	int rc = 0;

	assert_non_null(ctx);
	for (; rc == 0; parcel.number++) {
		rc = ops->fetch(reader, &parcel, err);
		if (rc == 0 && ops->check != NULL)
			rc = ops->check(reader, &parcel, err);
		if (rc == 0)
			rc = archive_unpack(ops, reader, ctx, &parcel, out, err);
	}
	bpk_buf_clear(&parcel.raw);
	bpk_buf_clear(&parcel.packed);
	bpk_chunk_ctx_free(ctx);
	return rc > 0 ? 0 : -1;
}

/* The same for a reader that may begin again: a second time gives the same bytes and failure. */
static inline int archive_drain_twice(const struct bpk_reader_ops *ops, void *reader,
				      struct bpk_buf *out, struct bpk_err *err)
{
	size_t before = out->size;
	int rc = archive_drain(ops, reader, out, err);
	struct bpk_buf again = { 0 };
	struct bpk_err found = { 0 };

	if (archive_drain(ops, reader, &again, &found) != rc)
		fail_msg("once %d (%s), then %d (%s)", rc, err->text, -1 - rc, found.text);
	if (rc != 0)
		assert_string_equal(found.text, err->text);
	assert_int_equal(again.size, out->size - before);
	if (again.size > 0)
		assert_memory_equal(again.data, out->data + before, again.size);
	bpk_buf_clear(&again);
	return rc;
}

#endif
