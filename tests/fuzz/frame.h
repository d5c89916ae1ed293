/* Reading a frame of hostile bytes, contiguous or sparse, for fuzz-frame.c and fuzz-sparse.c: open
 * it, fetch, check and unpack its chunks and parts of them, locate them, and audit the rest. */
#ifndef BPK_TESTS_FUZZ_FRAME_H
#define BPK_TESTS_FUZZ_FRAME_H

#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	FUZZ_LARGEST = 1 << 20, /* chunks above this raw size are not unpacked */
	FUZZ_MOST_CHUNKS = 64,
};

static inline void fuzz_require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

/* The only failures allowed for hostile bytes: damaged, repairable, unsupported, too large. */
static inline void fuzz_judge(int rc, const struct bpk_err *err)
{
	if (rc >= 0)
		return;
	fuzz_require(err->kind == BPK_CORRUPT || err->kind == BPK_REPAIRABLE ||
			     err->kind == BPK_UNSUPPORTED || err->kind == BPK_LIMIT,
		     err->text);
	fuzz_require(err->text[0] != '\0', "failures say why");
}

/* Search place for chunks. Their numbers ascend, and each can be fetched. */
static inline void fuzz_salvage(const char *format, const struct bpk_place *place)
{
	struct bpk_salvage found = { 0 };
	struct bpk_buf packed = { 0 };
	struct bpk_err err = { 0 };
	int rc = bpk_format_find(format)->salvage(place, &found, &err);

	fuzz_judge(rc, &err);
	for (size_t i = 0; rc == 0 && i < found.count; i++) {
		const struct bpk_saved *saved = &found.all[i];

		fuzz_require(saved->number < found.nchunks, "numbers are in the archive");
		fuzz_require(i == 0 || saved->number > saved[-1].number, "numbers ascend");
		fuzz_require(found.uneven || saved->raw_size <= found.chunk_size,
			     "chunk sizes agree");
		if (saved->intact && i < FUZZ_MOST_CHUNKS)
			fuzz_require(bpk_salvage_fetch(place, &found, saved, &packed, &err) == 0,
				     "chunks that were found are there");
	}
	bpk_buf_clear(&packed);
	bpk_salvage_clear(&found);
}

static inline void fuzz_unpack(const struct bpk_reader_ops *ops, void *reader,
			       struct bpk_chunk_ctx *ctx, struct bpk_parcel *parcel)
{
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };
	int rc;

	fuzz_require(parcel->raw_size <= 64 * FUZZ_LARGEST, "parcels keep to a limit");
	parcel->want_start = bpk_min_size(parcel->want_start, parcel->raw_size);
	parcel->want_size = bpk_min_size(parcel->want_size, parcel->raw_size - parcel->want_start);
	fuzz_require(bpk_buf_resize(&raw, parcel->want_size + 1, &err) == 0, "a little memory");
	if (ops->unpacks != NULL && ops->unpacks(reader))
		rc = ops->unpack(reader, ctx, parcel, bpk_span(raw.data, parcel->want_size), &err);
	else
		rc = bpk_chunk_decode_range(ctx, bpk_view(parcel->packed.data, parcel->packed_size),
					    parcel->want_start,
					    bpk_span(raw.data, parcel->want_size), &err);
	fuzz_judge(rc, &err);
	if (rc != 0 && ops->subject != NULL && parcel->packed_offset != BPK_UNKNOWN)
		fuzz_require(ops->subject(reader, parcel, &err) == -1, "a subject");
	bpk_buf_clear(&raw);
}

static inline void fuzz_fetch_all(const struct bpk_reader_ops *ops, void *reader,
				  struct bpk_chunk_ctx *ctx)
{
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err = { 0 };

	for (; parcel.number < FUZZ_MOST_CHUNKS; parcel.number++) {
		struct bpk_where where;
		int rc;

		parcel.want_start = (size_t)parcel.number;
		parcel.want_size = parcel.number % 2 == 0 ? SIZE_MAX : 3;
		parcel.data_size = SIZE_MAX;
		rc = ops->fetch(reader, &parcel, &err);
		fuzz_judge(rc, &err);
		if (rc > 0)
			break;
		if (rc < 0)
			continue;
		fuzz_require(parcel.packed_size <= parcel.packed.size, "the chunk is complete");
		fuzz_judge(ops->check(reader, &parcel, &err), &err);
		if (parcel.raw_size <= FUZZ_LARGEST)
			fuzz_unpack(ops, reader, ctx, &parcel);
		fuzz_judge(ops->locate(reader, parcel.number, &where, &err), &err);
	}
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&parcel.raw);
}

static inline void fuzz_ignore(void *arg, const char *line)
{
	(void)arg;
	fuzz_require(line[0] != '\0', "a remark says something");
}

/* Read the frame with these options. */
static inline void fuzz_read_frame(const char *format, struct bpk_place *place,
				   const struct bpk_read_options *options,
				   struct bpk_chunk_ctx *ctx)
{
	const struct bpk_reader_ops *ops = bpk_format_find(format)->reader;
	struct bpk_err err = { 0 };
	void *reader = NULL;
	int rc = ops->open(place, options, &reader, &err);

	fuzz_judge(rc, &err);
	if (rc != 0)
		return;
	fuzz_require(ops->info(reader)->chunks.checksum != NULL, "info names its checksum");
	fuzz_require(!ops->info(reader)->metadata.given ||
			     bpk_json_check(ops->info(reader)->metadata.text, &err) == 0,
		     "metadata are JSON");
	fuzz_fetch_all(ops, reader, ctx);
	fuzz_judge(ops->audit(reader, fuzz_ignore, NULL, &err), &err);
	ops->close(reader);
}

#endif
