/*
 * An input as a directory in memory, for fuzz-chunkdir.c and fuzz-sparse.c: concatenated files,
 * each
 *
 *      NAME '\n' size as decimal digits '\n' bytes
 *
 * A name that begins with '!' stands for a link, a device or a FIFO. The first bytes that do not
 * continue in this form, and all after them, are one more file.
 */
#ifndef BPK_TESTS_FUZZ_FILES_H
#define BPK_TESTS_FUZZ_FILES_H

#include "base/base.h"

#include "lib/memdir.h"

enum { FUZZ_MOST_FILES = 64, FUZZ_LONGEST_NAME = 200 };

struct fuzz_files {
	struct memdir dir;
	struct memdir_file files[FUZZ_MOST_FILES];
	char names[FUZZ_MOST_FILES][FUZZ_LONGEST_NAME + 1];
};

/* Take the line at the start of *rest, without its end. False when there is no line of at most
 * longest bytes. */
static inline bool fuzz_take_line(struct bpk_view *rest, size_t longest, struct bpk_view *line)
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

static inline void fuzz_files_add(struct fuzz_files *f, struct bpk_view name, struct bpk_view bytes)
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

static inline void fuzz_files_split(struct bpk_view input, const char *rest_name,
				    struct fuzz_files *f)
{
	struct bpk_view rest = input, name, digits;
	uint64_t size;

	memset(f, 0, sizeof *f);
	while (f->dir.nfiles < FUZZ_MOST_FILES - 1) {
		input = rest;
		if (!fuzz_take_line(&rest, FUZZ_LONGEST_NAME, &name) ||
		    !fuzz_take_line(&rest, 7, &digits) || !bpk_json_u64(digits, &size) ||
		    size > rest.size || memchr(name.data, 0, name.size) != NULL)
			break;
		fuzz_files_add(f, name, bpk_view(rest.data, (size_t)size));
		rest = bpk_view(rest.data + size, rest.size - (size_t)size);
	}
	if (input.size > 0)
		fuzz_files_add(f, bpk_view(rest_name, strlen(rest_name)), input);
}

#endif
