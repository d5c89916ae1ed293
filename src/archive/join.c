/* Trajectories joined, frame by frame. */
#include "archive/join.h"

#include <inttypes.h>

enum {
	SLOTS = 8,
	MOST_EMPTY = 1 << 24, /* more frames without an array are believed of nobody */
};

/* ---- Opening ---- */

void bpk_join_file_close(struct bpk_join_file *t)
{
	bpk_layout_close(t->layout);
	bpk_source_close(t->source);
	*t = (struct bpk_join_file){ 0 };
}

/* source is taken. */
int bpk_join_file_open(struct bpk_join_file *t, struct bpk_err *err)
{
	if (bpk_layout_open(t->source, &t->layout, err) != 0)
		return -1;
	if (t->layout == NULL || strcmp(bpk_layout_info(t->layout)->kind, "gsd") != 0)
		return bpk_fail(err, BPK_CORRUPT, "the GSD file is too damaged to be read");
	t->info = bpk_layout_info(t->layout);
	if (t->info->damage != NULL)
		return bpk_fail(err, BPK_CORRUPT, "%s", t->info->damage);
	return 0;
}

static int open_view(struct bpk_archive *archive, struct bpk_source **view, struct bpk_err *err)
{
	void *reader = archive->format->editor->reader(archive->editor);

	return bpk_view_open(archive->format->editor->reads, reader, false, SLOTS, view, err);
}

int bpk_archive_is_gsd(struct bpk_archive *archive, bool *is_gsd, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	struct bpk_source *view = NULL;
	int rc;

	*is_gsd = false;
	if (info->raw_size == 0 || info->chunk_shape != NULL || info->array != NULL)
		return 0;
	rc = open_view(archive, &view, err);
	if (rc == 0)
		rc = bpk_gsd_probe(view, is_gsd, err);
	bpk_source_close(view);
	return rc == 0 ? 0 : bpk_archive_subject(archive, err);
}

/* ---- Arrays ---- */

int bpk_join_read(struct bpk_joining *j, const struct bpk_join_file *from,
		  const struct bpk_item *item, uint64_t at, struct bpk_err *err)
{
	size_t size = (size_t)bpk_min_u64(item->array->size - at, BPK_JOIN_STEP);

	if (bpk_buf_resize(&j->piece, size, err) != 0)
		return -1;
	if (item->offset != BPK_UNKNOWN)
		return bpk_source_need_at(from->source, item->offset + at,
					  bpk_span(j->piece.data, size), err);
	for (size_t i = 0; i < size; i++)
		j->piece.data[i] = item->fill.data[(at + i) % item->fill.size];
	return 0;
}

int bpk_join_put(struct bpk_joining *j, const char *name, const struct bpk_item *item,
		 struct bpk_err *err)
{
	const struct bpk_array *array = item->array;
	struct bpk_scalar scalar = array->dtype.scalar;
	uint64_t nrows = array->ndimensions > 0 ? array->shape[0] : 1;
	uint64_t ncolumns = array->ndimensions > 1 ? array->shape[1] : 1;
	int rc;

	if (scalar.kind == 'S') { /* text is one string here, and so many characters there */
		nrows = array->size;
		scalar.item_size = 1;
	}
	rc = bpk_gsd_editor_put(j->editor, name, &scalar, nrows, ncolumns, err);
	for (uint64_t at = 0; rc == 0 && at < array->size; at += BPK_JOIN_STEP) {
		rc = bpk_join_read(j, &j->more, item, at, err);
		if (rc == 0)
			rc = bpk_gsd_editor_write(j->editor, bpk_buf_view(&j->piece), err);
	}
	return rc;
}

/* ---- Frames ---- */

/* They come in the order of frames. */
int bpk_join_find_frame(const struct bpk_join_file *file, uint64_t frame, uint64_t *number,
			struct bpk_err *err)
{
	uint64_t high = file->info->narrays;
	struct bpk_item item;

	*number = 0;
	while (*number < high) {
		uint64_t middle = *number + (high - *number) / 2;

		if (bpk_layout_get(file->layout, middle, &item, err) != 0)
			return -1;
		if (item.frame < frame)
			*number = middle + 1;
		else
			high = middle;
	}
	return 0;
}

int bpk_join_frames(struct bpk_joining *j, uint64_t from, uint64_t to, struct bpk_err *err)
{
	const struct bpk_layout_info *info = j->more.info;
	struct bpk_item item;
	uint64_t number;

	if (to - from > MOST_EMPTY && to - from - MOST_EMPTY > info->narrays)
		return bpk_fail(err, BPK_LIMIT, "claims %" PRIu64 " frames in %" PRIu64 " arrays",
				info->nframes, info->narrays);
	if (bpk_join_find_frame(&j->more, from, &number, err) != 0)
		return -1;
	for (uint64_t frame = from; frame < to; frame++) {
		for (; number < info->narrays; number++) {
			if (bpk_layout_get(j->more.layout, number, &item, err) != 0)
				return -1;
			if (item.frame > frame)
				break;
			if (bpk_join_put(j, item.name, &item, err) != 0)
				return -1;
		}
		if (bpk_join_put_absent(j, frame, err) != 0 ||
		    bpk_gsd_editor_end_frame(j->editor, err) != 0)
			return -1;
	}
	return 0;
}

/* "hoomd 1.4" and "hoomd 1.2" are of one kind: up to the major version, which is behind the last
 * space, as names may have spaces and dots, too. */
static int check_schema(const struct bpk_joining *j, struct bpk_err *err)
{
	const char *held = j->held.info->schema, *more = j->more.info->schema;
	const char *version = held != NULL ? strrchr(held, ' ') : NULL;
	size_t size = version != NULL ? (size_t)(version - held) + strcspn(version, ".") : 0;

	if ((held == NULL) == (more == NULL) &&
	    (held == NULL || (strncmp(held, more, size) == 0 && more[size] == '.')))
		return 0;
	return bpk_fail(err, BPK_FAILED, "has schema '%s', the archive has '%s'",
			more != NULL ? more : "", held != NULL ? held : "");
}

static int join_opened(struct bpk_joining *j, struct bpk_err *err)
{
	const char *schema;

	if (bpk_join_file_open(&j->more, err) != 0 || check_schema(j, err) != 0)
		return -1;
	schema = j->held.info->schema;
	if (schema != NULL && strncmp(schema, "hoomd ", 6) == 0 &&
	    bpk_join_compare_firsts(j, err) != 0)
		return -1;
	if (bpk_join_frames(j, 0, j->more.info->nframes, err) != 0)
		return -1;
	return bpk_source_unchanged(j->more.source, err);
}

static int join_file(struct bpk_joining *j, const char *path, struct bpk_err *err)
{
	int rc = bpk_source_open(path, &j->more.source, err);

	if (rc == 0)
		rc = join_opened(j, err);
	if (rc != 0)
		bpk_err_subject(err, "%s", bpk_input_name(path));
	bpk_join_clear_firsts(j);
	bpk_join_file_close(&j->more);
	return rc;
}

/* ---- All of it ---- */

int bpk_join_hold(struct bpk_joining *j, struct bpk_err *err)
{
	if (open_view(j->archive, &j->held.source, err) != 0 ||
	    bpk_join_file_open(&j->held, err) != 0)
		return bpk_archive_subject(j->archive, err);
	return 0;
}

int bpk_join_begin(struct bpk_joining *j, const struct bpk_gsd_store *store, struct bpk_err *err)
{
	if (bpk_join_hold(j, err) != 0)
		return -1;
	if (bpk_gsd_editor_open(store, j->held.source, false, &j->editor, err) != 0)
		return bpk_archive_subject(j->archive, err);
	return 0;
}

static int join(struct bpk_joining *j, char *const *paths, size_t count, struct bpk_err *err)
{
	if (j->held.info->nframes == 0 && count > 1) /* whose first frame counts? */
		return bpk_fail(err, BPK_FAILED, "%s: has no frames yet, append one file first",
				j->archive->path);
	for (size_t i = 0; i < count; i++)
		if (join_file(j, paths[i], err) != 0)
			return -1;
	/* the view is of what is about to change */
	bpk_join_file_close(&j->held);
	return bpk_gsd_editor_commit(j->editor, err);
}

int bpk_archive_join(struct bpk_archive *archive, char *const *paths, size_t count,
		     struct bpk_joined *joined, struct bpk_err *err)
{
	struct bpk_join_store own = { .archive = archive };
	struct bpk_gsd_store store = bpk_gsd_store_of_archive(&own);
	struct bpk_joining j = { .archive = archive };
	uint64_t before = 0;
	int rc = bpk_join_begin(&j, &store, err);

	if (rc == 0) {
		before = bpk_gsd_editor_nframes(j.editor);
		rc = join(&j, paths, count, err);
	}
	if (rc == 0) {
		joined->nframes = bpk_gsd_editor_nframes(j.editor);
		joined->appended_frames = joined->nframes - before;
		joined->commits = own.commits;
	}
	bpk_gsd_editor_close(j.editor);
	bpk_join_file_close(&j.held);
	bpk_buf_clear(&j.piece);
	bpk_join_store_clear(&own);
	return rc;
}
