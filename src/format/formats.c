/*
 * The table of formats, one row each, and its searches by name, suffix and content. Called by
 * archive and cli.
 */
#include "format/format.h"

#include "format/bloscpack/bloscpack.h"
#include "format/chunkdir/chunkdir.h"
#include "format/frame/frame.h"
#include "format/members.h"
#include "format/plain.h"

static int open_bloscpack(struct bpk_place *place, const struct bpk_read_options *options,
			  void **reader, struct bpk_err *err)
{
	return bpk_members_open(&bpk_bloscpack_members, place, options, reader, err);
}

static int open_frames(struct bpk_place *place, const struct bpk_read_options *options,
		       void **reader, struct bpk_err *err)
{
	return bpk_members_open(&bpk_frame_members, place, options, reader, err);
}

static const struct bpk_reader_ops read_bloscpack = BPK_MEMBERS_READER(open_bloscpack);
static const struct bpk_reader_ops read_frames = BPK_MEMBERS_READER(open_frames);

static const char *obstacle_to_bloscpack(const struct bpk_info *from)
{
	return from->chunks.extended ? "its chunks are of Blosc2" : NULL;
}

static const char *obstacle_to_chunked(const struct bpk_info *from)
{
	if (from->chunks.extended)
		return obstacle_to_bloscpack(from);
	if (from->chunks.size == BPK_UNKNOWN)
		return "its chunks may differ in size, those of a directory must not";
	if (from->array.type != NULL && from->array.type->dtype.nfields > 0)
		return "a directory keeps records as columns";
	return NULL;
}

/* A frame of another program may hold chunks of Blosc 1. */
static const char *obstacle_to_frame(const struct bpk_info *from)
{
	bool plain =
		!from->chunks.extended ||
		(from->chunks.has_first && from->chunks.first.header_size == BPK_CHUNK_HEADER_SIZE);

	return plain ? "its chunks are of Blosc 1, a frame holds chunks of Blosc2" : NULL;
}

static const struct bpk_format bloscpack = {
	.name = "blp",
	.suffix = ".blp",
	.summary = "Bloscpack file",
	.probe = bpk_bloscpack_probe,
	.reader = &read_bloscpack,
	.writer = &bpk_bloscpack_writer_ops,
	.editor = &bpk_bloscpack_editor_ops,
	.array_in_metadata = true,
	.varied_chunks = true,
	.obstacle = obstacle_to_bloscpack,
	.finish = bpk_bloscpack_finish,
	.salvage = bpk_bloscpack_salvage,
	.salvage_guesses = true,
};

static const char *const chunked_layouts[] = { "blaze", "bcolz", NULL };

static const struct bpk_format chunked = {
	.name = "chunked",
	.suffix = ".blpd",
	.summary = "chunked directory",
	.probe = bpk_chunkdir_probe,
	.reader = &bpk_chunkdir_reader_ops,
	.writer = &bpk_chunkdir_writer_ops,
	.editor = &bpk_chunkdir_editor_ops,
	.is_directory = true,
	.layouts = chunked_layouts,
	.obstacle = obstacle_to_chunked,
	.salvage = bpk_chunkdir_salvage,
	.salvage_guesses = true,
	.owns = bpk_chunkdir_owns,
};

static const struct bpk_format b2frame = {
	.name = "b2frame",
	.suffix = ".b2frame",
	.array_suffix = ".b2nd",
	.summary = "Blosc2 contiguous frame",
	.probe = bpk_frame_probe,
	.reader = &read_frames,
	.writer = &bpk_frame_writer_ops,
	.editor = &bpk_frame_editor_ops,
	.tells_size = true,
	.extended_chunks = true,
	.obstacle = obstacle_to_frame,
	.divide = bpk_frame_divide,
	.repack = bpk_frame_repack,
	.salvage = bpk_frame_salvage,
	.salvage_numbers = true,
};

static const struct bpk_format b2sparse = {
	.name = "b2sparse",
	.suffix = ".b2s",
	.summary = "Blosc2 sparse frame",
	.probe = bpk_frame_probe_sparse,
	.reader = &bpk_frame_reader_ops,
	.writer = &bpk_frame_sparse_writer_ops,
	.editor = &bpk_frame_sparse_editor_ops,
	.is_directory = true,
	.extended_chunks = true,
	.obstacle = obstacle_to_frame,
	.divide = bpk_frame_divide,
	.repack = bpk_frame_repack_sparse,
	.salvage = bpk_frame_salvage_sparse,
	.salvage_numbers = true,
	.owns = bpk_frame_owns,
};

/* A bare chunk has no mark of its own, so the user must name the format. */
static const struct bpk_format chunk = {
	.name = "chunk",
	.summary = "one bare Blosc chunk (reading only)",
	.reader = &bpk_chunkfile_reader_ops,
};

const struct bpk_format bpk_format_raw = {
	.name = "raw",
	.summary = "bytes as they are",
	.reader = &bpk_raw_reader_ops,
	.writer = &bpk_raw_writer_ops,
};

const struct bpk_format *const bpk_formats[] = {
	&bloscpack, &chunked, &b2frame, &b2sparse, &chunk, NULL,
};

const struct bpk_format *bpk_format_find(const char *name)
{
	for (size_t i = 0; bpk_formats[i] != NULL; i++)
		if (strcmp(bpk_formats[i]->name, name) == 0)
			return bpk_formats[i];
	return NULL;
}

/* A path that is nothing but the suffix is a hidden file's name. A directory's path may end in
 * slashes, a URL in a query. */
static bool ends_in(const char *path, const char *suffix)
{
	size_t length = bpk_path_name_size(path);
	size_t tail = strlen(suffix);

	while (length > 0 && path[length - 1] == '/')
		length--;
	return length > tail && path[length - tail - 1] != '/' &&
	       memcmp(path + length - tail, suffix, tail) == 0;
}

/* The suffix of format at the end of path, or NULL. */
static const char *suffix_of(const struct bpk_format *format, const char *path)
{
	if (format->suffix != NULL && ends_in(path, format->suffix))
		return format->suffix;
	if (format->array_suffix != NULL && ends_in(path, format->array_suffix))
		return format->array_suffix;
	return NULL;
}

const struct bpk_format *bpk_format_of_suffix(const char *path)
{
	for (size_t i = 0; bpk_formats[i] != NULL; i++)
		if (suffix_of(bpk_formats[i], path) != NULL)
			return bpk_formats[i];
	return NULL;
}

const char *bpk_format_suffix(const char *path)
{
	const struct bpk_format *format = bpk_format_of_suffix(path);

	return format == NULL ? NULL : suffix_of(format, path);
}

bool bpk_format_owns(const char *name)
{
	bool owned = false;

	for (size_t i = 0; bpk_formats[i] != NULL && !owned; i++)
		owned = bpk_formats[i]->owns != NULL && bpk_formats[i]->owns(name);
	return owned;
}

const char *bpk_format_obstacle(const struct bpk_format *target, const struct bpk_info *from)
{
	/* one index has no place for the headers and metadata of several frames */
	if (from->members > 1 && (from->uneven || from->chunks.extended))
		return "it is several archives";
	return from->chunks.composed != NULL ? from->chunks.composed : target->obstacle(from);
}

int bpk_format_probe(const struct bpk_place *place, const struct bpk_format **format,
		     struct bpk_err *err)
{
	struct bpk_view head = { 0 };
	bool found = false;

	*format = NULL;
	if (place->source != NULL &&
	    bpk_source_peek(place->source, BPK_PROBE_SIZE, &head, err) != 0)
		return -1;
	for (size_t i = 0; bpk_formats[i] != NULL && !found; i++) {
		if (bpk_formats[i]->probe == NULL)
			continue;
		if (bpk_formats[i]->probe(place, head, &found, err) != 0)
			return -1;
		if (found)
			*format = bpk_formats[i];
	}
	return 0;
}

int bpk_format_check(const struct bpk_place *place, const struct bpk_format *format,
		     struct bpk_err *err)
{
	const struct bpk_format *found;

	/* a directory that cannot be examined fails where it is read */
	if (bpk_format_probe(place, &found, NULL) != 0 || found == NULL || found == format)
		return 0;
	return bpk_fail(err, BPK_FAILED, "has format %s, not %s", found->name, format->name);
}

int bpk_format_fail_unknown(const struct bpk_place *place, struct bpk_err *err)
{
	const struct bpk_format *promised = bpk_format_of_suffix(place->path);

	if (place->is_directory && !bpk_dir_lists(place->directory))
		return bpk_fail(err, BPK_FAILED,
				"is a directory that cannot be listed, and no archive");
	if (place->is_directory && (promised == NULL || !promised->is_directory))
		return bpk_fail(err, BPK_FAILED, "is a directory, expected an archive");
	if (place->is_directory)
		return bpk_fail(err, BPK_CORRUPT, "is not a %s, although its name says so",
				promised->summary);
	if (promised != NULL && promised->is_directory && bpk_path_is_url(place->path))
		return bpk_fail(err, BPK_FAILED,
				"is no directory; the URL of a directory ends with /");
	if (promised != NULL)
		return bpk_fail(err, BPK_CORRUPT,
				"does not begin like a %s, although its name says so",
				promised->summary);
	return bpk_fail(err, BPK_UNSUPPORTED, "is not an archive in a format that bpk knows");
}
