/*
 * A directory of hostile files in memory: open it as a dataset, fetch, check and unpack its chunks,
 * locate them, and account for all files. An input is files one behind the other:
 *
 *      NAME '\n' size as decimal digits '\n' bytes
 *
 * and what does not go on like that is one more file, "data/rest".
 */
#include "fuzz/fuzz.h"

#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/memdir.h"

enum { LARGEST = 1 << 20, MOST_CHUNKS = 64, MOST_FILES = 64, LONGEST_NAME = 200 };

static struct bpk_chunk_ctx *ctx;

static void require(bool promise, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}

/* Hostile bytes can be damaged, unknown or too large; nothing else can be wrong with them. */
static void judge(int rc, const struct bpk_err *err)
{
	if (rc >= 0)
		return;
	require(err->kind == BPK_CORRUPT || err->kind == BPK_UNSUPPORTED || err->kind == BPK_LIMIT,
		err->text);
	require(err->text[0] != '\0', "failures say why");
}

/* ---- The files ---- */

struct files {
	struct memdir dir;
	struct memdir_file files[MOST_FILES];
	char names[MOST_FILES][LONGEST_NAME + 1];
};

/* The line at the start of *rest, without its end; false when there is none of that length. */
static bool take_line(struct bpk_view *rest, size_t longest, struct bpk_view *line)
{
	const uint8_t *end =
		rest->size == 0 ? NULL
				: memchr(rest->data, '\n', bpk_min_size(rest->size, longest + 1));

	if (end == NULL)
		return false;
	*line = bpk_view(rest->data, (size_t)(end - rest->data));
	*rest = bpk_view(end + 1, rest->size - line->size - 1);
	return true;
}

static void add(struct files *f, struct bpk_view name, struct bpk_view bytes)
{
	size_t n = f->dir.nfiles++;

	bpk_copy(f->names[n], name.data, name.size);
	f->names[n][name.size] = '\0';
	f->files[n] = (struct memdir_file){ .name = f->names[n],
					    .bytes = bytes,
					    .strange = name.size > 0 && name.data[0] == '!' };
	f->files[n].name += f->files[n].strange;
	f->dir.files = f->files;
}

static void split(struct bpk_view input, struct files *f)
{
	struct bpk_view rest = input, name, digits;
	uint64_t size;

	memset(f, 0, sizeof *f);
	while (f->dir.nfiles < MOST_FILES - 1) {
		input = rest;
		if (!take_line(&rest, LONGEST_NAME, &name) || !take_line(&rest, 7, &digits) ||
		    !bpk_json_u64(digits, &size) || size > rest.size ||
		    memchr(name.data, 0, name.size) != NULL)
			break;
		add(f, name, bpk_view(rest.data, (size_t)size));
		rest = bpk_view(rest.data + size, rest.size - (size_t)size);
	}
	if (input.size > 0)
		add(f, bpk_view("data/rest", 9), input);
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

static void read_as(struct files *files, const struct bpk_read_options *options)
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

		require(info->checksum != NULL && info->variant != NULL, "info is whole");
		require(!info->has_metadata || bpk_json_check(info->metadata, &err) == 0,
			"metadata are JSON");
		fetch_all(ops, reader);
		judge(ops->audit(reader, ignore, NULL, &err), &err);
		ops->close(reader);
	}
	bpk_dir_close(place.directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bpk_read_options checked = { .chunk_limit = LARGEST };
	const struct bpk_read_options lenient = { .no_check = true, .chunk_limit = LARGEST };
	static struct files files;
	struct bpk_err err = { 0 };

	if (ctx == NULL)
		ctx = bpk_chunk_ctx_new(&err);
	require(ctx != NULL, "a context");
	split(bpk_view(data, size), &files);
	read_as(&files, &checked);
	read_as(&files, &lenient);
	return 0;
}
