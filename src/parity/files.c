/* The list of a directory's files: made, compared, carried on, written and read. Called by side.c,
 * make.c and cli. */
#include "parity/files.h"

#include <stdio.h>
#include <stdlib.h>

#include "parity/parity.h"

void bpk_parity_files_clear(struct bpk_parity_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->files[i].name);
	free(files->files);
	*files = (struct bpk_parity_files){ 0 };
}

/* Takes the name of the file. */
static int add_file(struct bpk_parity_files *files, const struct bpk_parity_file *file,
		    struct bpk_err *err)
{
	struct bpk_parity_file *grown =
		bpk_alloc_grow(files->files, files->count, &files->allocated, sizeof *grown, err);

	if (grown == NULL) {
		free(file->name);
		return -1;
	}
	files->files = grown;
	grown[files->count] = *file;
	grown[files->count++].start = files->size;
	if (!bpk_add_u64(files->size, file->room, &files->size) || files->size > UINT64_MAX / 4)
		return bpk_fail(err, BPK_CORRUPT, "sizes of the files under parity are too large");
	return 0;
}

static int add_copy(struct bpk_parity_files *files, const struct bpk_parity_file *file,
		    struct bpk_err *err)
{
	struct bpk_parity_file copy = *file;

	copy.name = file->name != NULL ? bpk_strdup(file->name, err) : NULL;
	if (file->name != NULL && copy.name == NULL)
		return -1;
	return add_file(files, &copy, err);
}

/* ---- listing ---- */

struct listing {
	struct bpk_dir *dir;
	bool (*owns)(const char *name);
	struct bpk_parity_files *files;
	struct bpk_err *err;
};

/* A file that was listed, and is gone, was removed meanwhile: that is no damage. Returns -1. */
static int fail_source(const struct listing *listing, const char *name)
{
	bool has;

	if (bpk_dir_has(listing->dir, name, BPK_ENTRY_FILE, &has, NULL) == 0 && !has)
		bpk_fail_changed(listing->err);
	return -1;
}

static int visit(void *arg, const char *name)
{
	const struct listing *listing = arg;
	struct bpk_parity_file file = { 0 };
	struct bpk_source *source;

	if (!listing->owns(name))
		return 0;
	if (bpk_dir_source(listing->dir, name, &source, listing->err) != 0)
		return fail_source(listing, name);
	file.name = bpk_strdup(name, listing->err);
	file.size = file.room = bpk_source_size(source);
	file.time = bpk_source_stat(source)->st_mtim;
	bpk_source_close(source);
	return file.name == NULL ? -1 : add_file(listing->files, &file, listing->err);
}

static int compare_names(const void *a, const void *b)
{
	const struct bpk_parity_file *one = a, *other = b;

	return strcmp(one->name, other->name);
}

int bpk_parity_files_list(struct bpk_dir *dir, bool (*owns)(const char *name),
			  struct bpk_parity_files *files, struct bpk_err *err)
{
	struct listing listing = { dir, owns, files, err };

	*files = (struct bpk_parity_files){ 0 };
	if (bpk_dir_list_files(dir, visit, &listing, err) != 0) {
		bpk_parity_files_clear(files);
		return -1;
	}
	if (files->count > 0)
		qsort(files->files, files->count, sizeof *files->files, compare_names);
	files->size = 0;
	for (size_t i = 0; i < files->count; i++) {
		files->files[i].start = files->size;
		files->size += files->files[i].room;
	}
	return 0;
}

const struct bpk_parity_file *bpk_parity_files_find(const struct bpk_parity_files *files,
						    const char *name)
{
	const struct bpk_parity_file key = { .name = (char *)(uintptr_t)name };

	return files->count == 0
		       ? NULL
		       : bsearch(&key, files->files, files->count, sizeof key, compare_names);
}

int bpk_parity_files_sort(const struct bpk_parity_files *files, struct bpk_parity_files *sorted,
			  struct bpk_err *err)
{
	*sorted = (struct bpk_parity_files){ .size = files->size };
	sorted->files = bpk_calloc(files->count + 1, sizeof *sorted->files, err);
	if (sorted->files == NULL)
		return -1;
	for (size_t i = 0; i < files->count; i++)
		if (files->files[i].name != NULL)
			sorted->files[sorted->count++] = files->files[i];
	qsort(sorted->files, sorted->count, sizeof *sorted->files, compare_names);
	return 0;
}

/* ---- two states ---- */

static bool same_time(const struct bpk_parity_file *a, const struct bpk_parity_file *b)
{
	return a->time.tv_sec == b->time.tv_sec && a->time.tv_nsec == b->time.tv_nsec;
}

bool bpk_parity_time_is(struct timespec then, struct timespec now)
{
	return now.tv_sec == then.tv_sec && (now.tv_nsec == then.tv_nsec || now.tv_nsec == 0);
}

bool bpk_parity_time_passed(struct timespec then, struct timespec now)
{
	return now.tv_sec > then.tv_sec ||
	       (now.tv_sec == then.tv_sec && now.tv_nsec > then.tv_nsec);
}

struct timespec bpk_parity_files_last(const struct bpk_parity_files *files)
{
	struct timespec last = { 0 };

	for (size_t i = 0; i < files->count; i++)
		if (files->files[i].name != NULL &&
		    bpk_parity_time_passed(last, files->files[i].time))
			last = files->files[i].time;
	return last;
}

static void add_grown(struct bpk_parity_drift *drift, const struct bpk_parity_file *old,
		      const struct bpk_parity_file *new)
{
	drift->grown++;
	drift->grown_size += new->size - old->size;
	drift->tails += same_time(old, new) && old->time.tv_nsec != 0;
}

struct bpk_parity_drift bpk_parity_files_drift(const struct bpk_parity_files *then,
					       const struct bpk_parity_files *now)
{
	const struct timespec last = bpk_parity_files_last(then);
	struct bpk_parity_drift drift = { 0 };
	uint64_t found = 0;

	for (size_t i = 0; i < then->count; i++) {
		const struct bpk_parity_file *old = &then->files[i], *new;

		if (old->name == NULL)
			continue;
		new = bpk_parity_files_find(now, old->name);
		found += new != NULL;
		drift.missing += new == NULL;
		drift.resized += new != NULL &&new->size != old->size;
		if (new == NULL)
			continue;
		if (!bpk_parity_time_is(old->time, new->time))
			drift.newer++;
		else if (new->size > old->size)
			add_grown(&drift, old, new);
		drift.cut += bpk_parity_time_is(old->time, new->time) && !same_time(old, new);
	}
	drift.added = now->count - found;
	for (size_t i = 0; i < now->count; i++)
		drift.later += bpk_parity_time_passed(last, now->files[i].time);
	return drift;
}

bool bpk_parity_files_same(const struct bpk_parity_files *then, const struct bpk_parity_files *now)
{
	struct bpk_parity_drift drift = bpk_parity_files_drift(then, now);

	return drift.missing + drift.resized + drift.newer + drift.added == 0;
}

int bpk_parity_files_unchanged(struct bpk_dir *dir, bool (*owns)(const char *name),
			       const struct bpk_parity_files *listed, struct bpk_err *err)
{
	struct bpk_parity_files now;
	int rc = bpk_parity_files_list(dir, owns, &now, err);

	if (rc == 0 && !bpk_parity_files_same(listed, &now))
		rc = bpk_fail_changed(err);
	bpk_parity_files_clear(&now);
	return rc;
}

/* A list that is carried on. */
struct follow {
	const struct bpk_parity_files *old, *now;
	struct bpk_parity_files *next;
	bool *has;     /* files of now that have an extent */
	bool *changed; /* extents whose bytes may differ; with room for those of all new files */
};

/* The extents of the old list, in their order, with the files that fit into them. */
static int keep_extents(struct follow *f, struct bpk_err *err)
{
	for (size_t i = 0; i < f->old->count; i++) {
		struct bpk_parity_file extent = f->old->files[i];
		const struct bpk_parity_file *new = NULL;

		if (extent.name != NULL)
			new = bpk_parity_files_find(f->now, extent.name);
		if (new != NULL &&new->size > extent.room)
			new = NULL;
		if (new != NULL) {
			f->has[new - f->now->files] = true;
			f->changed[i] = !same_time(&extent, new) || extent.size != new->size;
			extent.size = new->size;
			extent.time = new->time;
		} else {
			f->changed[i] = extent.name != NULL;
			extent.name = NULL;
			extent.size = 0;
		}
		if (add_copy(f->next, &extent, err) != 0)
			return -1;
	}
	return 0;
}

/* The first free extent, from *from on, of which the file leaves less than half. */
static struct bpk_parity_file *find_free(const struct follow *f, size_t from, uint64_t size)
{
	for (size_t i = from; i < f->old->count; i++) {
		struct bpk_parity_file *extent = &f->next->files[i];

		if (extent->name == NULL && size <= extent->room && extent->room / 2 <= size)
			return extent;
	}
	return NULL;
}

static int place_new(struct follow *f, struct bpk_err *err)
{
	enum { LOOKS = 4096 }; /* so that the time does not grow with the square of the files */
	size_t looks = 0;

	for (size_t i = 0; i < f->now->count; i++) {
		const struct bpk_parity_file *new = &f->now->files[i];
		struct bpk_parity_file *extent = NULL;

		if (f->has[i])
			continue;
		if (looks++ < LOOKS)
			extent = find_free(f, 0, new->size);
		if (extent == NULL) {
			f->changed[f->next->count] = true;
			if (add_copy(f->next, new, err) != 0)
				return -1;
			continue;
		}
		extent->name = bpk_strdup(new->name, err);
		if (extent->name == NULL)
			return -1;
		extent->size = new->size;
		extent->time = new->time;
		f->changed[extent - f->next->files] = true;
	}
	return 0;
}

static int note_written(const struct follow *f, struct bpk_parity_range **written, size_t *count,
			struct bpk_err *err)
{
	*count = 0;
	*written = bpk_calloc(f->next->count + 1, sizeof **written, err);
	if (*written == NULL)
		return -1;
	for (size_t i = 0; i < f->next->count; i++) {
		const struct bpk_parity_file *extent = &f->next->files[i];
		struct bpk_parity_range *last = *count > 0 ? &(*written)[*count - 1] : NULL;

		if (!f->changed[i] || extent->room == 0)
			continue;
		if (last != NULL && last->offset + last->size == extent->start)
			last->size += extent->room;
		else
			(*written)[(*count)++] =
				(struct bpk_parity_range){ extent->start, extent->room };
	}
	return 0;
}

int bpk_parity_files_follow(const struct bpk_parity_files *old, const struct bpk_parity_files *now,
			    struct bpk_parity_files *next, struct bpk_parity_range **written,
			    size_t *count, struct bpk_err *err)
{
	struct follow f = { .old = old, .now = now, .next = next };
	int rc = -1;

	*next = (struct bpk_parity_files){ 0 };
	f.has = bpk_calloc(now->count + 1, sizeof *f.has, err);
	f.changed = f.has == NULL ? NULL
				  : bpk_calloc(old->count + now->count + 1, sizeof *f.changed, err);
	if (f.changed != NULL && keep_extents(&f, err) == 0 && place_new(&f, err) == 0)
		rc = note_written(&f, written, count, err);
	free(f.has);
	free(f.changed);
	if (rc != 0)
		bpk_parity_files_clear(next);
	return rc;
}

/* ---- bytes ---- */

/* Of each extent: u64 room, u64 size, u64 seconds, u32 nanoseconds, u32 bytes of the name, name. */
enum { FIXED = 32 };

int bpk_parity_files_put(const struct bpk_parity_files *files, struct bpk_buf *bytes,
			 struct bpk_err *err)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct bpk_parity_file *file = &files->files[i];
		size_t size = file->name == NULL ? 0 : strlen(file->name);
		uint8_t fixed[FIXED];

		bpk_put_le64(fixed, file->room);
		bpk_put_le64(fixed + 8, file->size);
		bpk_put_le64(fixed + 16, (uint64_t)file->time.tv_sec);
		bpk_put_le32(fixed + 24, (uint32_t)file->time.tv_nsec);
		bpk_put_le32(fixed + 28, (uint32_t)size);
		if (bpk_buf_append(bytes, bpk_view(fixed, FIXED), err) != 0 ||
		    bpk_buf_append(bytes, bpk_view((const uint8_t *)file->name, size), err) != 0)
			return -1;
	}
	return 0;
}

static int get_file(struct bpk_cursor *cursor, struct bpk_parity_files *files, struct bpk_err *err)
{
	const uint8_t *fixed = bpk_cursor_take(cursor, FIXED), *name = NULL;
	struct bpk_parity_file file = { 0 };
	uint32_t size = fixed != NULL ? bpk_get_le32(fixed + 28) : 0;

	name = bpk_cursor_take(cursor, size);
	if (!cursor->bad) {
		file.room = bpk_get_le64(fixed);
		file.size = bpk_get_le64(fixed + 8);
		file.time.tv_sec = (time_t)bpk_get_le64(fixed + 16);
		file.time.tv_nsec = (long)(bpk_get_le32(fixed + 24) % 1000000000u);
	}
	if (cursor->bad || file.size > file.room || (size == 0 && file.size > 0) ||
	    memchr(name, '\0', size) != NULL)
		return bpk_fail(err, BPK_CORRUPT, "the list of the files under parity is damaged");
	if (size > 0 && asprintf(&file.name, "%.*s", (int)size, (const char *)name) < 0)
		return bpk_fail_memory(err, size);
	return add_file(files, &file, err);
}

static int compare_texts(const void *a, const void *b)
{
	const char *const *one = a, *const *other = b;

	return strcmp(*one, *other);
}

static int check_names(const struct bpk_parity_files *files, struct bpk_err *err)
{
	const char **names = bpk_calloc(files->count + 1, sizeof *names, err);
	size_t count = 0;
	int rc = names == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < files->count; i++)
		if (files->files[i].name != NULL)
			names[count++] = files->files[i].name;
	if (rc == 0)
		qsort(names, count, sizeof *names, compare_texts);
	for (size_t i = 1; rc == 0 && i < count; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			rc = bpk_fail(err, BPK_CORRUPT, "two files under parity have one name");
	free(names);
	return rc;
}

int bpk_parity_files_get(struct bpk_view bytes, struct bpk_parity_files *files, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(bytes);

	*files = (struct bpk_parity_files){ 0 };
	while (cursor.left > 0)
		if (get_file(&cursor, files, err) != 0)
			return -1;
	return check_names(files, err);
}
