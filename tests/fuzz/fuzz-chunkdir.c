/* A directory of hostile files in memory: open it as a dataset, fetch, check and unpack its chunks,
 * locate them, and audit all files. */
#include "fuzz/fuzz.h"

#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>

#include "fuzz/files.h"

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

/* The only failures allowed for hostile bytes: damaged, unsupported, too large. */
static void judge(int rc, const struct bpk_err *err)
{
	if (rc >= 0)
		return;
	require(err->kind == BPK_CORRUPT || err->kind == BPK_UNSUPPORTED || err->kind == BPK_LIMIT,
		err->text);
	require(err->text[0] != '\0', "failures say why");
}

/* ---- Reading ---- */

static void unpack(const struct bpk_reader_ops *ops, void *reader, struct bpk_parcel *parcel)
{
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };
	int rc;

	parcel->data_size = bpk_min_size(parcel->data_size, parcel->raw_size);
	parcel->want_start = bpk_min_size((size_t)parcel->number, parcel->data_size);
	parcel->want_size = parcel->data_size - parcel->want_start;
	require(parcel->raw_size <= 64 * LARGEST, "chunks keep to the limit");
	require(bpk_buf_resize(&raw, parcel->want_size, &err) == 0, "memory for a small chunk");
	if (ops->unpacks(reader))
		rc = ops->unpack(reader, ctx, parcel, bpk_span(raw.data, raw.size), &err);
	else
		rc = bpk_chunk_decode_range(ctx, bpk_view(parcel->packed.data, parcel->packed_size),
					    parcel->want_start, bpk_span(raw.data, raw.size), &err);
	judge(rc, &err);
	if (rc != 0 && ops->subject != NULL && parcel->packed_offset != BPK_UNKNOWN)
		require(ops->subject(reader, parcel, &err) == -1, "a subject");
	bpk_buf_clear(&raw);
}

static void fetch_all(const struct bpk_reader_ops *ops, void *reader)
{
	struct bpk_parcel parcel = { 0 };
	struct bpk_err err = { 0 };

	for (; parcel.number < MOST_CHUNKS; parcel.number++) {
		struct bpk_where where;
		int rc;

		parcel.want_start = 0;
		parcel.want_size = parcel.data_size = SIZE_MAX;
		rc = ops->fetch(reader, &parcel, &err);
		judge(rc, &err);
		if (rc != 0)
			break;
		judge(ops->check(reader, &parcel, &err), &err);
		if (parcel.raw_size <= LARGEST)
			unpack(ops, reader, &parcel);
		judge(ops->locate(reader, parcel.number, &where, &err), &err);
	}
	bpk_buf_clear(&parcel.raw);
	bpk_buf_clear(&parcel.packed);
}

static void ignore(void *arg, const char *line)
{
	(void)arg;
	require(line[0] != '\0', "a remark says something");
}

/* Search for chunks. Their numbers ascend, and each can be fetched. */
static void salvage(const struct bpk_place *place)
{
	struct bpk_salvage found = { 0 };
	struct bpk_buf packed = { 0 };
	struct bpk_err err = { 0 };
	int rc = bpk_format_find("chunked")->salvage(place, &found, &err);

	judge(rc, &err);
	for (size_t i = 0; rc == 0 && i < found.count; i++) {
		const struct bpk_saved *saved = &found.all[i];

		require(saved->number < found.nchunks, "numbers are in the archive");
		require(i == 0 || saved->number > saved[-1].number, "numbers ascend");
		require(saved->raw_size <= found.chunk_size, "chunk sizes agree");
		if (i < MOST_CHUNKS)
			require(bpk_salvage_fetch(place, &found, saved, &packed, &err) == 0,
				"chunks that were found are there");
	}
	bpk_buf_clear(&packed);
	bpk_salvage_clear(&found);
}

static void read_as(struct fuzz_files *files, const struct bpk_read_options *options)
{
	const struct bpk_reader_ops *ops = bpk_format_find("chunked")->reader;
	struct bpk_place place = { .path = "input", .is_directory = true };
	const struct bpk_format *format;
	struct bpk_err err = { 0 };
	void *reader = NULL;
	int rc;

	require(memdir_open(&files->dir, &place.directory, &err) == 0, "a directory of memory");
	judge(bpk_format_probe(&place, &format, &err), &err);
	rc = ops->open(&place, options, &reader, &err);
	judge(rc, &err);
	if (rc == 0) {
		const struct bpk_info *info = ops->info(reader);

		require(info->chunks.checksum != NULL && info->variant != NULL, "info is whole");
		require(!info->metadata.given || bpk_json_check(info->metadata.text, &err) == 0,
			"metadata are JSON");
		fetch_all(ops, reader);
		judge(ops->audit(reader, ignore, NULL, &err), &err);
		ops->close(reader);
	}
	if (options->no_check)
		salvage(&place);
	bpk_dir_close(place.directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bpk_read_options checked = { .chunk_limit = LARGEST };
	const struct bpk_read_options lenient = { .no_check = true, .chunk_limit = LARGEST };
	static struct fuzz_files files;
	struct bpk_err err = { 0 };

	if (ctx == NULL)
		ctx = bpk_chunk_ctx_new(&err);
	require(ctx != NULL, "a context");
	fuzz_files_split(bpk_view(data, size), "data/rest", &files);
	read_as(&files, &checked);
	read_as(&files, &lenient);
	return 0;
}
