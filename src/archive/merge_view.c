/* The files of damaged copies, and places that are made of their bytes. Called by merge.c and the
 * other files merge*.c. */
#include "archive/merge_inner.h"

#include <stdlib.h>

/* ---- Files ---- */

struct listing {
	struct bpk_merge *merge;
	size_t copy;
	struct bpk_err *err;
};

static struct bpk_merge_file *add_file(struct bpk_merge *m, const char *name, struct bpk_err *err)
{
	struct bpk_merge_file *files =
		bpk_alloc_grow(m->files, m->nfiles, &m->files_room, sizeof *files, err);
	struct bpk_merge_file *file;

	if (files == NULL)
		return NULL;
	m->files = files;
	file = &files[m->nfiles];
	*file = (struct bpk_merge_file){ .name = bpk_strdup(name, err) };
	if (file->name == NULL)
		return NULL;
	for (size_t c = 0; c < BPK_MERGE_MOST; c++)
		file->sizes[c] = file->first[c] = BPK_UNKNOWN;
	m->nfiles++;
	return file;
}

static int visit(void *arg, const char *name)
{
	const struct listing *l = arg;
	struct bpk_merge_file *file;
	enum bpk_entry entry;
	uint64_t size;

	if (!bpk_format_owns(name))
		return 0;
	file = add_file(l->merge, name, l->err);
	if (file == NULL || bpk_dir_look(l->merge->copies[l->copy].place.directory, name, &entry,
					 &size, l->err) != 0)
		return -1;
	file->sizes[l->copy] = size;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct bpk_merge_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void bpk_merge_clear_file(struct bpk_merge_file *file)
{
	free(file->name);
	free(file->parts);
	free(file->runs);
}

/* Make one of the files of each name. */
static void unite(struct bpk_merge *m)
{
	size_t kept = 0;

	if (m->nfiles > 0)
		qsort(m->files, m->nfiles, sizeof *m->files, compare_names);
	for (size_t i = 0; i < m->nfiles; i++) {
		struct bpk_merge_file *file = &m->files[i];

		if (kept == 0 || strcmp(m->files[kept - 1].name, file->name) != 0) {
			m->files[kept++] = *file;
			continue;
		}
		for (size_t c = 0; c < m->ncopies; c++)
			if (file->sizes[c] != BPK_UNKNOWN)
				m->files[kept - 1].sizes[c] = file->sizes[c];
		bpk_merge_clear_file(file);
	}
	m->nfiles = kept;
}

struct bpk_merge_file *bpk_merge_find_file(struct bpk_merge *m, const char *name)
{
	const struct bpk_merge_file *end = m->files + m->nfiles;

	for (struct bpk_merge_file *low = m->files; low < end;) {
		struct bpk_merge_file *middle = low + (end - low) / 2;
		int order = strcmp(middle->name, name);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

struct bpk_merge_file *bpk_merge_file_of(struct bpk_merge *m, const struct bpk_salvage *found,
					 const struct bpk_saved *saved)
{
	if (saved->special != BPK_SPECIAL_NONE)
		return NULL;
	if (found->nfiles == 0)
		return &m->files[0];
	return bpk_merge_find_file(m, found->files[saved->file]);
}

int bpk_merge_compare_known(const void *a, const void *b)
{
	const struct bpk_merge_known *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->packed_size < y->packed_size ? -1 : x->packed_size > y->packed_size;
}

static void note_chunks(struct bpk_merge *m, size_t copy)
{
	const struct bpk_salvage *found = &m->found[copy];

	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_merge_file *file = bpk_merge_file_of(m, found, saved);
		uint64_t end = saved->offset + saved->packed_size + found->seal_size;

		if (!saved->intact || file == NULL)
			continue;
		file->first[copy] = bpk_min_u64(file->first[copy], saved->offset);
		file->end[copy] = bpk_max_u64(file->end[copy], end);
	}
}

static int list_file(struct bpk_merge *m, struct bpk_err *err)
{
	struct bpk_merge_file *file = add_file(m, "", err);

	for (size_t c = 0; file != NULL && c < m->ncopies; c++)
		file->sizes[c] = bpk_source_size(m->copies[c].place.source);
	return file == NULL ? -1 : 0;
}

static int list_directory(struct bpk_merge *m, struct bpk_err *err)
{
	for (size_t c = 0; c < m->ncopies; c++) {
		struct listing listing = { m, c, err };

		if (bpk_dir_list_files(m->copies[c].place.directory, visit, &listing, err) != 0)
			return bpk_input_subject(&m->copies[c], err);
	}
	unite(m);
	m->names = bpk_calloc(m->nfiles + 1, sizeof *m->names, err);
	for (size_t i = 0; m->names != NULL && i < m->nfiles; i++)
		m->names[i] = m->files[i].name;
	return m->names == NULL ? -1 : 0;
}

int bpk_merge_list(struct bpk_merge *m, struct bpk_err *err)
{
	bool is_directory = m->copies[0].place.is_directory;

	if ((is_directory ? list_directory : list_file)(m, err) != 0)
		return -1;
	for (size_t c = 0; c < m->ncopies; c++)
		note_chunks(m, c);
	return 0;
}

int bpk_merge_borrow(const struct bpk_merge *m, size_t copy, const struct bpk_merge_file *file,
		     struct bpk_source **source, struct bpk_err *err)
{
	const struct bpk_place *place = &m->copies[copy].place;

	*source = place->source;
	if (!place->is_directory || file->sizes[copy] == BPK_UNKNOWN ||
	    bpk_dir_source(place->directory, file->name, source, err) == 0)
		return 0;
	return bpk_input_subject(&m->copies[copy], err);
}

void bpk_merge_release(const struct bpk_merge *m, struct bpk_source *source)
{
	if (m->copies[0].place.is_directory)
		bpk_source_close(source);
}

/* ---- The bytes of a view ---- */

/* A file of a view, and those of the copies that it is made of. */
struct layers {
	const struct bpk_merge *merge;
	const struct bpk_merge_file *file;
	struct bpk_source *copies[BPK_MERGE_MOST]; /* NULL: not used, or missing */
	size_t base;
	uint64_t size;
	bool with_runs, with_parts;
};

/* Bytes of a copy, and zeros behind its end. */
static int read_copy(const struct layers *l, size_t copy, uint64_t offset, struct bpk_span out,
		     struct bpk_err *err)
{
	size_t got = 0;

	if (l->copies[copy] != NULL &&
	    bpk_source_read_at(l->copies[copy], offset, out, &got, err) != 0)
		return bpk_input_subject(&l->merge->copies[copy], err);
	if (got < out.size)
		memset(out.data + got, 0, out.size - got);
	return 0;
}

/* Bytes of the base, and zeros where the copy is not trusted. */
static int read_base(const struct layers *l, uint64_t offset, struct bpk_span out,
		     struct bpk_err *err)
{
	const struct bpk_merge_file *file = l->file;
	uint64_t start = bpk_max_u64(file->low, offset);
	uint64_t end = bpk_min_u64(file->high, offset + out.size);

	if (read_copy(l, l->base, offset, out, err) != 0)
		return -1;
	if (l->with_runs && file->masked && start < end)
		memset(out.data + (start - offset), 0, (size_t)(end - start));
	return 0;
}

/* Lay the size bytes at at, which are those of the copy from offset on, over out, which begins at
 * start. */
static int lay(const struct layers *l, size_t copy, uint64_t at, uint64_t size, uint64_t offset,
	       uint64_t start, struct bpk_span out, struct bpk_err *err)
{
	uint64_t first = bpk_max_u64(at, start), end = bpk_min_u64(at + size, start + out.size);

	if (first >= end)
		return 0;
	return read_copy(l, copy, offset + (first - at),
			 bpk_span(out.data + (first - start), (size_t)(end - first)), err);
}

/* The first run that ends behind offset. */
static size_t find_run(const struct bpk_merge_file *file, uint64_t offset)
{
	size_t i = 0;

	if (file->nruns > 0)
		i = bpk_find_behind(&file->runs->at, sizeof *file->runs, file->nruns, offset);
	return i > 0 && offset - file->runs[i - 1].at < file->runs[i - 1].size ? i - 1 : i;
}

/* Lay the chunks that have moved, or those that have not. */
static int lay_runs(const struct layers *l, bool moved, uint64_t offset, struct bpk_span out,
		    struct bpk_err *err)
{
	const struct bpk_merge_file *file = l->file;

	for (size_t i = find_run(file, offset);
	     i < file->nruns && file->runs[i].at < offset + out.size; i++)
		if ((file->runs[i].at != file->runs[i].offset) == moved &&
		    lay(l, file->runs[i].copy, file->runs[i].at, file->runs[i].size,
			file->runs[i].offset, offset, out, err) != 0)
			return -1;
	return 0;
}

static int lay_parts(const struct layers *l, uint64_t offset, struct bpk_span out,
		     struct bpk_err *err)
{
	for (size_t i = 0; i < l->file->nparts; i++) {
		const struct bpk_merge_part *part = &l->file->parts[i];

		if (lay(l, part->variants[part->chosen], part->at, part->size, part->at, offset,
			out, err) != 0)
			return -1;
	}
	return 0;
}

static int layers_read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			  struct bpk_err *err)
{
	const struct layers *l = arg;

	*got = 0;
	if (offset >= l->size)
		return 0;
	out.size = (size_t)bpk_min_u64(out.size, l->size - offset);
	if (read_base(l, offset, out, err) != 0 ||
	    (l->with_runs && lay_runs(l, false, offset, out, err) != 0) ||
	    (l->with_parts && lay_parts(l, offset, out, err) != 0) ||
	    (l->with_runs && lay_runs(l, true, offset, out, err) != 0))
		return -1;
	*got = out.size;
	return 0;
}

static void layers_close(void *arg)
{
	struct layers *l = arg;

	for (size_t c = 0; c < l->merge->ncopies; c++)
		bpk_merge_release(l->merge, l->copies[c]);
	free(l);
}

static int open_copies(struct layers *l, struct bpk_err *err)
{
	bool used[BPK_MERGE_MOST] = { [0] = false };
	const struct bpk_merge_file *file = l->file;

	used[l->base] = true;
	for (size_t i = 0; l->with_parts && i < file->nparts;
	     i++) /* each may be chosen meanwhile */
		for (size_t v = 0; v < file->parts[i].nvariants; v++)
			used[file->parts[i].variants[v]] = true;
	for (size_t i = 0; l->with_runs && i < file->nruns; i++)
		used[file->runs[i].copy] = true;
	for (size_t c = 0; c < l->merge->ncopies; c++)
		if (used[c] && file->sizes[c] != BPK_UNKNOWN &&
		    bpk_merge_borrow(l->merge, c, file, &l->copies[c], err) != 0)
			return -1;
	return 0;
}

static int open_layers(const struct bpk_merge_view *view, const struct bpk_merge_file *file,
		       struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = {
		.read_at = layers_read_at,
		.close = layers_close,
		.positional = true,
	};
	struct layers *l = bpk_calloc(1, sizeof *l, err);
	bool is_union = view->whose == BPK_MERGE_UNION;
	bool is_base = is_union || file->sizes[view->whose] == BPK_UNKNOWN;

	*source = NULL;
	if (l == NULL)
		return -1;
	*l = (struct layers){
		.merge = view->merge,
		.file = file,
		.base = is_base ? file->base : (size_t)view->whose,
		.size = file->size,
		.with_runs = is_union,
		.with_parts = true,
	};
	if (is_union && view->merge->alone != BPK_MERGE_UNION) {
		l->base = (size_t)view->merge->alone;
		l->size = file->sizes[l->base];
		l->with_runs = l->with_parts = false;
	}
	if (open_copies(l, err) == 0 && bpk_source_of(&ops, l, l->size, source, err) == 0)
		return 0;
	layers_close(l);
	return -1;
}

/* ---- Views ---- */

static int open_file(void *arg, size_t number, struct bpk_source **source, struct bpk_err *err)
{
	const struct bpk_merge_view *view = arg;

	return open_layers(view, &view->merge->files[number], source, err);
}

int bpk_merge_view_open(struct bpk_merge *m, int whose, struct bpk_merge_file *only,
			struct bpk_merge_view *view, struct bpk_err *err)
{
	const struct bpk_dir_files files = {
		.names = m->names,
		.count = m->nfiles,
		.open = open_file,
		.arg = view,
	};
	int one = whose == BPK_MERGE_UNION ? m->alone : whose;
	size_t copy = one == BPK_MERGE_UNION ? 0 : (size_t)one;

	*view = (struct bpk_merge_view){ .merge = m, .whose = whose };
	view->place.path = m->copies[copy].path;
	view->place.is_directory = m->copies[copy].place.is_directory && only == NULL;
	if (view->place.is_directory)
		return bpk_dir_of_files(&files, &view->place.directory, err);
	return open_layers(view, only != NULL ? only : &m->files[0], &view->place.source, err);
}

void bpk_merge_view_close(struct bpk_merge_view *view)
{
	bpk_place_close(&view->place);
}

int bpk_merge_union_open(struct bpk_merge *m, struct bpk_merge_view *view, void **reader,
			 struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true, .saves = true };

	*reader = NULL;
	if (bpk_merge_view_open(m, BPK_MERGE_UNION, NULL, view, err) != 0)
		return -1;
	if (m->format->reader->open(&view->place, &options, reader, NULL) != 0)
		*reader = NULL;
	return 0;
}

void bpk_merge_union_close(const struct bpk_merge *m, struct bpk_merge_view *view, void *reader)
{
	if (reader != NULL)
		m->format->reader->close(reader);
	bpk_merge_view_close(view);
}
