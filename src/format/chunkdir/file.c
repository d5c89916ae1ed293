/*
 * The cache of a dataset's data files, for reader and editor. Each file is a Bloscpack file. The
 * lock guards only the table, so that no thread waits while another reads.
 */
#include "format/chunkdir/meta.h"

#include "format/bloscpack/bloscpack.h"
#include "format/members.h"
#include "format/weigh.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	KEPT = 32, /* files that stay open; threads that need more at once open them outside */
	/* bytes of each file that are read at open: the parts before its chunks, if they are few */
	HEAD = 4 << 10,
};

/* A file whose times do not tell that it is as old as the set. */
struct young {
	uint64_t column, number;
	uint64_t state; /* bpk_source_state */
	bool is_newer;  /* its times tell that it is younger */
};

struct bpk_chunkdir_files {
	/* fixed */
	struct bpk_dir *dir;
	const struct bpk_chunkdir *set;
	struct bpk_read_options options;
	const struct bpk_dir_moment *moment;

	struct bpk_mutex lock;
	struct bpk_buf young; /* guarded by lock: struct young, of files opened */
	struct bpk_err found; /* guarded by lock: a file was written to while it was open */
	struct bpk_chunkdir_file *kept[KEPT]; /* guarded by lock */
	uint64_t clock;                       /* guarded by lock */
};

struct bpk_chunkdir_files *bpk_chunkdir_files_new(struct bpk_dir *dir,
						  const struct bpk_chunkdir *set,
						  const struct bpk_dir_moment *moment,
						  const struct bpk_read_options *options,
						  struct bpk_err *err)
{
	struct bpk_chunkdir_files *files = bpk_calloc(1, sizeof *files, err);

	if (files == NULL)
		return NULL;
	files->dir = dir;
	files->set = set;
	files->moment = moment;
	files->options = *options;
	bpk_mutex_init(&files->lock);
	return files;
}

static void free_file(struct bpk_chunkdir_file *file)
{
	if (file == NULL)
		return;
	if (file->reader != NULL)
		bpk_bloscpack_reader_ops.close(file->reader);
	bpk_source_close(file->part);
	bpk_source_close(file->whole);
	free(file->name);
	free(file);
}

/* Fails with BPK_FAILED if another program has written to the file. */
static int check_file(const struct bpk_chunkdir_files *files, const struct bpk_chunkdir_file *file,
		      struct bpk_err *err)
{
	bool written = false;

	if (files->moment->fixed || file == NULL || file->whole == NULL)
		return 0;
	if (bpk_source_is_overwritten(file->whole, &written, err) != 0)
		return -1;
	return written ? bpk_fail_changed(err) : 0;
}

/* Free a file that was read from, when nobody uses it any more. */
static void end_file(struct bpk_chunkdir_files *files, struct bpk_chunkdir_file *file)
{
	struct bpk_err found = { 0 };

	if (check_file(files, file, &found) != 0) {
		bpk_mutex_lock(&files->lock);
		files->found = found;
		bpk_mutex_unlock(&files->lock);
	}
	free_file(file);
}

void bpk_chunkdir_files_free(struct bpk_chunkdir_files *files)
{
	if (files == NULL)
		return;
	for (size_t i = 0; i < KEPT; i++)
		free_file(files->kept[i]);
	bpk_buf_clear(&files->young);
	bpk_mutex_clear(&files->lock);
	free(files);
}

/* ---- Opening ---- */

enum { HEADER = 16 }; /* of version 1 */

/* A bcolz file has a chunk with an unknown header: decide whether that is damage, by the dataset's
 * first file, or for that by its second. */
static int weigh(const struct bpk_chunkdir_files *files, const struct bpk_chunkdir_file *file,
		 struct bpk_view head, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *column = &files->set->columns[file->column];
	struct bpk_suspect suspect = { .source = file->whole,
				       .offset = HEADER,
				       .room = bpk_source_size(file->whole) - HEADER,
				       .neighbour_offset = HEADER };
	struct bpk_buf name = { 0 };

	if (column->nfiles > 1 &&
	    bpk_chunkdir_file_name(files->set, column, file->number == 0, &name, NULL) == 0)
		bpk_dir_source(files->dir, (const char *)name.data, &suspect.neighbour, NULL);
	bpk_suspect_weigh(&suspect, head, err);
	bpk_source_close(suspect.neighbour);
	bpk_buf_clear(&name);
	return -1;
}

/*
 * A bcolz file is one chunk after a header of version 1; bytes after the chunk are ignored
 * ("carray"). A Bloscpack file of that version ends there, so the reader gets a source that does.
 */
static int cut_tail(const struct bpk_chunkdir_files *files, struct bpk_chunkdir_file *file,
		    struct bpk_err *err)
{
	uint8_t head[HEADER + BPK_CHUNK_HEADER_SIZE];
	struct bpk_chunk_header chunk;
	uint64_t size = bpk_source_size(file->whole);

	if (bpk_source_need_at(file->whole, 0, bpk_span(head, sizeof head), err) != 0)
		return -1;
	if (memcmp(head, "blpk\1", 5) != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"does not begin as a Bloscpack file of version 1, as bcolz's do");
	if (bpk_get_le64(head + 8) != 1 && bpk_get_le64(head + 8) != UINT64_MAX)
		return bpk_fail(err, BPK_CORRUPT, "has %" PRIu64 " chunks, expected 1",
				bpk_get_le64(head + 8));
	if (bpk_chunk_header_read_plain(bpk_view(head + HEADER, BPK_CHUNK_HEADER_SIZE), &chunk,
					err) != 0)
		return weigh(files, file, bpk_view(head + HEADER, BPK_CHUNK_HEADER_SIZE), err);
	if (chunk.packed_size > size - HEADER)
		return 0; /* the reader reports it */
	file->tail = size - HEADER - chunk.packed_size;
	return bpk_source_slice(file->whole, 0, HEADER + (uint64_t)chunk.packed_size, &file->part,
				err);
}

static int note_young(struct bpk_chunkdir_files *files, const struct bpk_chunkdir_file *file,
		      struct bpk_err *err)
{
	const struct young young = {
		.column = file->column,
		.number = file->number,
		.state = bpk_source_state(file->whole),
		.is_newer = bpk_dir_is_newer(files->moment, file->whole),
	};
	int rc;

	bpk_mutex_lock(&files->lock);
	rc = bpk_buf_append(&files->young, bpk_view(&young, sizeof young), err);
	bpk_mutex_unlock(&files->lock);
	return rc;
}

static int open_source(struct bpk_chunkdir_files *files, struct bpk_chunkdir_file *file,
		       struct bpk_err *err)
{
	bool old;

	if (bpk_dir_source_since(files->dir, file->name, files->moment, &file->whole, &old, err) !=
	    0)
		return -1; /* the error names the file */
	if (!old && note_young(files, file, err) != 0)
		return -1;
	return bpk_source_keep_head(file->whole, HEAD, err) != 0
		       ? bpk_err_subject(err, "%s", file->name)
		       : 0;
}

static int open_reader(struct bpk_chunkdir_files *files, struct bpk_chunkdir_file *file,
		       struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_bloscpack_reader_ops;
	struct bpk_place place = { .path = file->name };

	if (open_source(files, file, err) != 0)
		return -1;
	if ((files->set->layout != BPK_CHUNKDIR_BLAZE && cut_tail(files, file, err) != 0))
		goto failed;
	place.source = file->part != NULL ? file->part : file->whole;
	if (ops->open(&place, &files->options, &file->reader, err) != 0)
		goto failed;
	file->info = ops->info(file->reader);
	file->positional = ops->positional(file->reader);
	return 0;
failed:
	return bpk_err_subject(err, "%s", file->name);
}

static struct bpk_chunkdir_file *open_file(struct bpk_chunkdir_files *files, size_t column,
					   uint64_t number, struct bpk_err *err)
{
	struct bpk_chunkdir_file *file = bpk_calloc(1, sizeof *file, err);
	struct bpk_buf name = { 0 };

	if (file == NULL)
		return NULL;
	file->column = column;
	file->number = number;
	file->users = 1;
	if (bpk_chunkdir_file_name(files->set, &files->set->columns[column], number, &name, err) ==
	    0)
		file->name = bpk_strdup((const char *)name.data, err);
	bpk_buf_clear(&name);
	if (file->name == NULL || open_reader(files, file, err) != 0) {
		end_file(files, file);
		return NULL;
	}
	return file;
}

/* ---- The cache; the caller has the lock ---- */

static struct bpk_chunkdir_file *find(struct bpk_chunkdir_files *files, size_t column,
				      uint64_t number)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct bpk_chunkdir_file *file = files->kept[i];

		if (file == NULL || file->column != column || file->number != number)
			continue;
		file->users++;
		file->used = ++files->clock;
		return file;
	}
	return NULL;
}

/* Put file into the cache if there is a free or unused place. Returns the file it replaces. */
static struct bpk_chunkdir_file *keep(struct bpk_chunkdir_files *files,
				      struct bpk_chunkdir_file *file)
{
	struct bpk_chunkdir_file *old;
	size_t place = KEPT;

	for (size_t i = 0; i < KEPT; i++) {
		if (files->kept[i] != NULL && files->kept[i]->users > 0)
			continue;
		if (place == KEPT || files->kept[i] == NULL ||
		    (files->kept[place] != NULL && files->kept[i]->used < files->kept[place]->used))
			place = i;
	}
	if (place == KEPT)
		return NULL;
	old = files->kept[place];
	files->kept[place] = file;
	file->kept = true;
	file->used = ++files->clock;
	return old;
}

int bpk_chunkdir_file_open(struct bpk_chunkdir_files *files, size_t column, uint64_t number,
			   struct bpk_chunkdir_file **file, struct bpk_err *err)
{
	struct bpk_chunkdir_file *old = NULL;

	bpk_mutex_lock(&files->lock);
	*file = find(files, column, number);
	bpk_mutex_unlock(&files->lock);
	if (*file != NULL)
		return 0;
	*file = open_file(files, column, number, err);
	if (*file == NULL)
		return -1;
	if (!(*file)->positional)
		return 0;
	bpk_mutex_lock(&files->lock);
	old = keep(files, *file);
	bpk_mutex_unlock(&files->lock);
	end_file(files, old);
	return 0;
}

void bpk_chunkdir_file_close(struct bpk_chunkdir_files *files, struct bpk_chunkdir_file *file)
{
	bool done;

	if (file == NULL)
		return;
	bpk_mutex_lock(&files->lock);
	done = --file->users == 0 && !file->kept;
	bpk_mutex_unlock(&files->lock);
	if (done)
		end_file(files, file);
}

void bpk_chunkdir_files_drop(struct bpk_chunkdir_files *files)
{
	struct bpk_chunkdir_file *unused[KEPT];
	size_t count = 0;

	bpk_mutex_lock(&files->lock);
	for (size_t i = 0; i < KEPT; i++) {
		struct bpk_chunkdir_file *file = files->kept[i];

		files->kept[i] = NULL;
		if (file == NULL)
			continue;
		file->kept = false; /* its last user frees it */
		if (file->users == 0)
			unused[count++] = file;
	}
	bpk_mutex_unlock(&files->lock);
	while (count > 0)
		end_file(files, unused[--count]);
}

/* ---- In the end ---- */

static int has_its_state(const struct bpk_chunkdir_files *files, const struct young *young,
			 bool *has, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *column = &files->set->columns[young->column];
	struct bpk_buf name = { 0 };
	int rc = bpk_chunkdir_file_name(files->set, column, young->number, &name, err);

	if (rc == 0)
		rc = bpk_dir_has_state(files->dir, (const char *)name.data, young->state, has, err);
	bpk_buf_clear(&name);
	return rc;
}

/* Fails with BPK_FAILED if another program must have written the file. sizes is written after the
 * files that it counts, so none of them is younger than it. */
static int check_young(const struct bpk_chunkdir_files *files, const struct young *young,
		       const struct bpk_source *sizes, const char *sizes_name, struct bpk_err *err)
{
	bool is_last = young->number + 1 >= files->set->columns[young->column].nfiles;
	bool same = false, current = true;

	if (!(young->is_newer && bpk_dir_is_old(files->moment, sizes)) &&
	    has_its_state(files, young, &same, err) != 0)
		return -1;
	/* an append by bpk replaces the last file, and then sizes */
	if (!same && is_last &&
	    bpk_dir_stays_current(files->dir, sizes_name, sizes, &current, err) != 0)
		return -1;
	return same || !current ? 0 : bpk_fail_changed(err);
}

static int check_all_young(const struct bpk_chunkdir_files *files, const struct bpk_source *sizes,
			   const char *sizes_name, struct bpk_err *err)
{
	bool written;

	if (bpk_source_is_overwritten(sizes, &written, err) != 0)
		return -1;
	if (written)
		return bpk_fail_changed(err);
	for (size_t at = 0; at < files->young.size; at += sizeof(struct young)) {
		struct young young;

		memcpy(&young, files->young.data + at, sizeof young);
		if (check_young(files, &young, sizes, sizes_name, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_chunkdir_files_settle(struct bpk_chunkdir_files *files, struct bpk_source *sizes,
			      const char *sizes_name, struct bpk_err *err)
{
	if (files->found.kind != BPK_OK)
		return bpk_fail_as(err, &files->found);
	for (size_t i = 0; i < KEPT; i++)
		if (check_file(files, files->kept[i], err) != 0)
			return -1;
	return files->young.size > 0 ? check_all_young(files, sizes, sizes_name, err) : 0;
}

int bpk_chunkdir_file_check_end(const struct bpk_chunkdir_file *file, struct bpk_err *err)
{
	uint64_t end;
	bool zero;

	if (file->part == NULL)
		return bpk_bloscpack_check_end(file->reader, err);
	end = bpk_source_size(file->part);
	if (bpk_members_only_zeros(file->whole, end, &zero, err) != 0)
		return -1;
	if (zero) /* bcolz's proposal allows such room after a chunk */
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"%" PRIu64 " %s from offset %" PRIu64
			" on, after its chunk, %s to no archive",
			file->tail, bpk_plural(file->tail, "byte", "bytes"), end,
			bpk_plural(file->tail, "belongs", "belong"));
}
