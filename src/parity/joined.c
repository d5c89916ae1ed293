/* The files of a directory as one source. Called by cli, through its source. */
#include "parity/files.h"

#include <stdlib.h>

#include "parity/parity.h"

struct joined {
	struct bpk_dir *dir;
	const struct bpk_parity_files *files;
	bool lenient;
	size_t last;             /* the file that is open, or could not be opened */
	struct bpk_source *open; /* NULL: none */
};

/* The extent of an offset within all of them: the last one that begins there or before, and is not
 * empty. */
static size_t find_extent(const struct bpk_parity_files *files, uint64_t offset)
{
	return bpk_find_last(&files->files->start, sizeof *files->files, files->count, offset);
}

/* True if the open file is as it was listed. */
static bool is_as_listed(const struct joined *j, const struct bpk_parity_file *file)
{
	const struct timespec *time = &bpk_source_stat(j->open)->st_mtim;

	return bpk_source_size(j->open) == file->size && time->tv_sec == file->time.tv_sec &&
	       time->tv_nsec == file->time.tv_nsec;
}

static int open_file(struct joined *j, size_t number, struct bpk_err *err)
{
	const struct bpk_parity_file *file = &j->files->files[number];
	struct bpk_err why = { 0 };

	if (j->last == number)
		return 0;
	bpk_source_close(j->open);
	j->open = NULL;
	j->last = number;
	if (bpk_dir_source(j->dir, file->name, &j->open, &why) != 0) {
		if (j->lenient && why.kind != BPK_NO_MEMORY)
			return 0;
		j->last = SIZE_MAX;
		return bpk_fail_as(err, &why);
	}
	return j->lenient || is_as_listed(j, file) ? 0 : bpk_fail_changed(err);
}

/* Read bytes of one extent. */
static int read_extent(struct joined *j, size_t number, uint64_t at, struct bpk_span out,
		       struct bpk_err *err)
{
	const struct bpk_parity_file *file = &j->files->files[number];
	size_t size = at < file->size ? bpk_min_u64(out.size, file->size - at) : 0;

	memset(out.data + size, 0, out.size - size);
	if (size == 0)
		return 0;
	if (open_file(j, number, err) != 0)
		return -1;
	if (!j->lenient)
		return bpk_source_need_at(j->open, at, bpk_span(out.data, size), err);
	if (j->open != NULL)
		return bpk_parity_read(j->open, at, bpk_span(out.data, size), err);
	memset(out.data, 0, size);
	return 0;
}

static int read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		   struct bpk_err *err)
{
	struct joined *j = arg;
	size_t left = offset < j->files->size ? bpk_min_u64(out.size, j->files->size - offset) : 0;
	size_t number = left > 0 ? find_extent(j->files, offset) : 0;

	*got = 0;
	for (; left > *got; number++) {
		const struct bpk_parity_file *file = &j->files->files[number];
		uint64_t at = offset + *got - file->start;
		size_t part = bpk_min_u64(left - *got, file->room - at);

		if (part > 0 &&
		    read_extent(j, number, at, bpk_span(out.data + *got, part), err) != 0)
			return -1;
		*got += part;
	}
	return 0;
}

static void close_joined(void *arg)
{
	struct joined *j = arg;

	bpk_source_close(j->open);
	free(j);
}

int bpk_parity_files_source(struct bpk_dir *dir, const struct bpk_parity_files *files, bool lenient,
			    struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = {
		.read_at = read_at,
		.close = close_joined,
		.positional = true,
	};
	struct joined *j = bpk_calloc(1, sizeof *j, err);

	*source = NULL;
	if (j == NULL)
		return -1;
	*j = (struct joined){ .dir = dir, .files = files, .lenient = lenient, .last = SIZE_MAX };
	if (bpk_source_of(&ops, j, files->size, source, err) == 0)
		return 0;
	free(j);
	return -1;
}
