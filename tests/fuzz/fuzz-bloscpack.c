/*
 * A Bloscpack file of hostile bytes: open it, fetch, check and decode its chunks, fetch parts of
 * them unchecked, locate them, audit the rest, and search for chunks without the header. fetch and
 * locate must agree on every chunk.
 */
#include "fuzz/fuzz.h"

#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	LARGEST = 1 << 20, /* limit of a chunk's raw size */
	MOST_CHUNKS = 64,
};

static struct bpk_chunk_ctx *ctx;

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

/* The only failures allowed for hostile bytes: damaged, repairable, unsupported, too large. */
static void judge(int rc, const struct bpk_err *err)
{
	if (rc >= 0)
		return;
	require(err->kind == BPK_CORRUPT || err->kind == BPK_UNSUPPORTED ||
			err->kind == BPK_LIMIT || err->kind == BPK_REPAIRABLE,
		err->text);
	require(err->text[0] != '\0', "failures say why");
}

static void decode(const struct bpk_parcel *parcel)
{
	struct bpk_view packed = bpk_view(parcel->packed.data, parcel->packed_size);
	bool part = parcel->want_size < parcel->raw_size &&
		    parcel->want_start <= parcel->raw_size - parcel->want_size;
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };

	require(bpk_buf_resize(&raw, parcel->raw_size, &err) == 0, "memory for a small chunk");
	if (part)
		judge(bpk_chunk_decode_range(ctx, packed, parcel->want_start,
					     bpk_span(raw.data, parcel->want_size), &err),
		      &err);
	else
		judge(bpk_chunk_decode(ctx, packed, bpk_span(raw.data, raw.size), &err), &err);
	bpk_buf_clear(&raw);
}

static void ignore(void *arg, const char *line)
{
	(void)arg;
	require(line[0] != '\0', "a remark says something");
}

static void fetch_all(const struct bpk_reader_ops *ops, void *reader, size_t input_size)
{
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err = { 0 };

	for (; parcel.number < MOST_CHUNKS; parcel.number++) {
		struct bpk_where where;
		int rc;

		parcel.want_start = (size_t)parcel.number;
		parcel.want_size = parcel.number % 2 == 0 ? SIZE_MAX : 3;
		rc = ops->fetch(reader, &parcel, &err);
		judge(rc, &err);
		if (rc != 0)
			break;
		require(parcel.packed.capacity <= 2 * input_size + 4096,
			"memory follows the input");
		require(parcel.packed_size <= parcel.packed.size, "the chunk is complete");
		if (ops->check != NULL)
			judge(ops->check(reader, &parcel, &err), &err);
		decode(&parcel);
		if (ops->locate(reader, parcel.number, &where, &err) == 0)
			require(where.packed_offset == parcel.packed_offset &&
					where.header.raw_size == parcel.raw_size,
				"chunks lie where they are fetched from");
	}
	bpk_buf_clear(&parcel.packed);
}

static void read_as(const struct bpk_format *format, struct bpk_view bytes,
		    const struct bpk_read_options *options)
{
	struct bpk_place place = { .path = "input" };
	struct bpk_err err = { 0 };
	void *reader = NULL;
	int rc;

	require(bpk_source_of_memory(bytes, &place.source, &err) == 0, "a source of memory");
	rc = format->reader->open(&place, options, &reader, &err);
	judge(rc, &err);
	if (rc == 0) {
		require(format->reader->info(reader)->chunks.checksum != NULL,
			"info names its checksum");
		fetch_all(format->reader, reader, bytes.size);
		judge(format->reader->audit(reader, ignore, NULL, &err), &err);
		format->reader->close(reader);
	}
	bpk_source_close(place.source);
}

/* Chunks that are found lie behind each other in the input, under ascending numbers. */
static void salvage(const struct bpk_format *format, struct bpk_view bytes)
{
	struct bpk_salvage found = { 0 };
	struct bpk_place place = { .path = "input" };
	struct bpk_err err = { 0 };
	uint64_t end = 0;

	require(bpk_source_of_memory(bytes, &place.source, &err) == 0, "a source of memory");
	judge(format->salvage(&place, &found, &err), &err);
	for (size_t i = 0; err.kind == BPK_OK && i < found.count; i++) {
		const struct bpk_saved *saved = &found.all[i];

		require(saved->offset >= end, "found chunks do not overlap");
		end = saved->offset + saved->packed_size + found.checksum->size;
		require(end <= bytes.size, "found chunks lie in the input");
		require(saved->number < found.nchunks, "numbers are in the archive");
		require(i == 0 || saved->number > saved[-1].number, "numbers ascend");
		require(saved->raw_size <= found.chunk_size, "chunk sizes agree");
	}
	bpk_salvage_clear(&found);
	bpk_source_close(place.source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bpk_read_options checked = { .chunk_limit = LARGEST };
	const struct bpk_read_options lenient = { .no_check = true,
						  .no_marker = true,
						  .chunk_limit = LARGEST };
	struct bpk_err err = { 0 };

	if (ctx == NULL)
		ctx = bpk_chunk_ctx_new(&err);
	require(ctx != NULL, "a context");
	read_as(bpk_format_find("blp"), bpk_view(data, size), &checked);
	read_as(bpk_format_find("blp"), bpk_view(data, size), &lenient);
	salvage(bpk_format_find("blp"), bpk_view(data, size));
	read_as(bpk_format_find("chunk"), bpk_view(data, size), &checked);
	return 0;
}
