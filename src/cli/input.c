/* Inputs of jobs. */
#include "cli/job.h"

#include <unistd.h>

#include "cli/report.h"
#include "cli/text.h"

int bpk_input_subject(const struct bpk_input *in, struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", bpk_input_name(in->path));
}

int bpk_input_find(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		   struct bpk_err *err)
{
	*in = (struct bpk_input){ .path = path };
	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO)) {
		bpk_fail(err, BPK_USAGE, "is a terminal, expected an archive; name a FILE");
		return bpk_input_subject(in, err);
	}
	if (bpk_place_open_as(path, shared->as_is, &in->place, err) != 0)
		return bpk_input_subject(in, err);
	in->format = shared->format;
	if (in->format == NULL && bpk_format_probe(&in->place, &in->format, err) != 0)
		return bpk_input_subject(in, err);
	return 0;
}

int bpk_input_fail_unknown(const struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_format *promised = bpk_format_of_suffix(in->path);

	if (in->place.is_directory && (promised == NULL || !promised->is_directory))
		bpk_fail(err, BPK_FAILED, "is a directory, expected an archive");
	else if (in->place.is_directory)
		bpk_fail(err, BPK_CORRUPT, "is no %s, as its name says it should be",
			 promised->summary);
	else if (promised != NULL)
		bpk_fail(err, BPK_CORRUPT, "does not begin as a %s, as its name says it should",
			 promised->summary);
	else
		bpk_fail(err, BPK_UNSUPPORTED, "is no archive in a format that bpk knows");
	return bpk_input_subject(in, err);
}

int bpk_input_start(struct bpk_input *in, const struct bpk_shared *shared, uint64_t chunk_limit,
		    struct bpk_err *err)
{
	const struct bpk_read_options options = {
		.no_check = shared->no_check,
		.no_marker = shared->no_marker,
		.chunk_limit = chunk_limit,
		.slice = shared->slice,
		.as_stored = shared->as_stored,
	};

	if (in->format == NULL)
		return bpk_input_fail_unknown(in, err);
	if (in->format->reader->open(&in->place, &options, &in->reader, err) != 0)
		return bpk_input_subject(in, err);
	in->info = in->format->reader->info(in->reader);
	return 0;
}

int bpk_input_open(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		   struct bpk_err *err)
{
	if (bpk_input_find(in, path, shared, err) != 0)
		return -1;
	return bpk_input_start(in, shared, shared->memory_limit, err);
}

int bpk_input_open_raw(struct bpk_input *in, const char *path, struct bpk_err *err)
{
	const struct bpk_read_options options = { 0 };

	*in = (struct bpk_input){ .path = path, .format = &bpk_format_raw };
	if (bpk_place_open(path, &in->place, err) != 0)
		return bpk_input_subject(in, err);
	if (in->place.is_directory) {
		bpk_fail(err, BPK_FAILED, "is a directory, expected a file");
		return bpk_input_subject(in, err);
	}
	if (in->format->reader->open(&in->place, &options, &in->reader, err) != 0)
		return bpk_input_subject(in, err);
	in->info = in->format->reader->info(in->reader);
	return 0;
}

void bpk_input_close(struct bpk_input *in)
{
	if (in->reader != NULL)
		in->format->reader->close(in->reader);
	in->reader = NULL;
	bpk_place_close(&in->place);
	in->place = (struct bpk_place){ 0 };
}

int bpk_input_item_size(const struct bpk_info *info, uint64_t *size, struct bpk_err *err)
{
	unsigned said = info->typesize;
	unsigned packed = info->has_first_chunk ? info->first_chunk.typesize : 0;

	if (info->array != NULL) {
		*size = info->array->dtype.size;
		return 0;
	}
	*size = said > 0 ? said : packed;
	if (*size == 0)
		return bpk_fail(err, BPK_FAILED,
				"does not say how large its items are, use --bytes");
	if (said > BPK_CHUNK_MAX_TYPESIZE)
		return 0; /* chunks cannot say it */
	if (said > 0 && packed > 0 && said != packed)
		return bpk_fail(err, BPK_FAILED,
				"header says items of %u bytes, the first chunk %u, use --bytes",
				said, packed);
	return 0;
}

static void keep_silent(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

int bpk_input_audit(struct bpk_input *in, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format->reader;

	if (ops->audit == NULL)
		return 0;
	if (ops->audit(in->reader, remark != NULL ? remark : keep_silent, arg, err) != 0)
		return bpk_input_subject(in, err);
	return 0;
}

bool bpk_input_can_locate(const struct bpk_input *in)
{
	return in->format->reader->locate != NULL &&
	       (in->place.is_directory || bpk_source_seekable(in->place.source));
}

const struct stat *bpk_input_stat(const struct bpk_input *in)
{
	return in->place.is_directory ? NULL : bpk_source_stat(in->place.source);
}

int bpk_input_raw_size(struct bpk_input *in, uint64_t *raw_size, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format->reader;
	struct bpk_where where;
	uint64_t total = 0;
	int rc = 0;

	*raw_size = in->info->raw_size;
	if (*raw_size != BPK_UNKNOWN || !bpk_input_can_locate(in))
		return 0;
	for (uint64_t number = 0; rc == 0; number++) {
		rc = ops->locate(in->reader, number, &where, err);
		if (rc == 0 && !bpk_add_u64(total, where.header.raw_size, &total))
			rc = bpk_fail(err, BPK_CORRUPT, "unpacks to more than 2^64 bytes");
	}
	if (rc < 0)
		return bpk_input_subject(in, err);
	*raw_size = total;
	return 0;
}

void bpk_each_operand(char **operands, size_t count, void (*one)(void *arg, const char *path),
		      void *arg)
{
	if (count == 0)
		one(arg, "-");
	for (size_t i = 0; i < count; i++)
		one(arg, operands[i]);
}
