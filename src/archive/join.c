/* Trajectories joined: the frames of GSD files, put behind those that an archive holds. Called by
 * join_follow.c and the command append. */
#include "archive/join.h"

enum { SLOTS = 8 }; /* chunks that the view of the archive keeps */

/* ---- Opening ---- */

static int open_view(struct bpk_archive *archive, struct bpk_source **view, struct bpk_err *err)
{
	const struct bpk_view_options options = { .nchunks = SLOTS };
	void *reader = archive->format->editor->reader(archive->editor);

	return bpk_view_open(archive->format->editor->reads, reader, &options, view, err);
}

int bpk_archive_is_gsd(struct bpk_archive *archive, bool *is_gsd, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	struct bpk_source *view = NULL;
	int rc;

	*is_gsd = false;
	if (info->raw_size == 0 || info->array.chunk_shape != NULL || info->array.type != NULL)
		return 0;
	rc = open_view(archive, &view, err);
	if (rc == 0)
		rc = bpk_gsd_probe(view, is_gsd, err);
	if (rc == 0 && *is_gsd && !bpk_source_seekable(view))
		rc = bpk_fail(err, BPK_FAILED,
			      "holds a GSD file, whose frames cannot be looked up without offsets; "
			      "--bytes appends bytes, bpk convert FILE NEW makes an archive with "
			      "offsets");
	bpk_source_close(view);
	return rc == 0 ? 0 : bpk_archive_subject(archive, err);
}

/* ---- Files ---- */

static int join_file(struct bpk_joining *j, const char *path, struct bpk_err *err)
{
	struct bpk_gsd_file *file = &j->copy.more;
	struct bpk_gsd_verdict verdict;
	int rc = bpk_source_open(path, &file->source, err);

	if (rc == 0)
		rc = bpk_gsd_file_open(file, err);
	if (rc == 0)
		rc = bpk_gsd_verify(file->source, NULL, NULL, &verdict, err);
	if (rc == 0)
		rc = bpk_gsd_copy_all(&j->copy, err);
	if (rc != 0)
		bpk_err_subject(err, "%s", bpk_input_name(path));
	bpk_gsd_file_close(file);
	return rc;
}

/* ---- Joining ---- */

int bpk_join_hold(struct bpk_joining *j, struct bpk_err *err)
{
	if (open_view(j->archive, &j->copy.held.source, err) != 0 ||
	    bpk_gsd_file_open(&j->copy.held, err) != 0)
		return bpk_archive_subject(j->archive, err);
	return 0;
}

int bpk_join_begin(struct bpk_joining *j, const struct bpk_gsd_store *store, struct bpk_err *err)
{
	if (bpk_join_hold(j, err) != 0)
		return -1;
	if (bpk_gsd_editor_open(store, j->copy.held.source, false, &j->copy.editor, err) != 0)
		return bpk_archive_subject(j->archive, err);
	return 0;
}

static int join(struct bpk_joining *j, char *const *paths, size_t count, struct bpk_err *err)
{
	if (j->copy.held.info->nframes == 0 && count > 1) /* the first frames may differ */
		return bpk_fail(err, BPK_FAILED, "%s: has no frames yet, append one file first",
				j->archive->path);
	for (size_t i = 0; i < count; i++)
		if (join_file(j, paths[i], err) != 0)
			return -1;
	/* the view is of content that is about to change */
	bpk_gsd_file_close(&j->copy.held);
	return bpk_gsd_editor_commit(j->copy.editor, err);
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
		before = bpk_gsd_editor_nframes(j.copy.editor);
		rc = join(&j, paths, count, err);
	}
	if (rc == 0) {
		joined->nframes = bpk_gsd_editor_nframes(j.copy.editor);
		joined->appended_frames = joined->nframes - before;
		joined->commits = own.commits;
	}
	bpk_gsd_copy_clear(&j.copy);
	bpk_join_store_clear(&own);
	return rc;
}
