/* Raw GSD files that are changed. Called to append a frame, to truncate frames, and to settle an
 * interrupted change. */
#include "archive/trajectory.h"

static int probe(const char *path, bool *is_gsd, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	struct stat seen;
	bool there;
	int rc;

	if (bpk_path_look(path, &seen, &there, err) != 0)
		return -1;
	if (!there || !S_ISREG(seen.st_mode))
		return 0;
	rc = bpk_source_open(path, &source, err);
	if (rc == 0 && bpk_source_seekable(source))
		rc = bpk_gsd_probe(source, is_gsd, err);
	bpk_source_close(source);
	return rc;
}

int bpk_path_is_gsd(const char *path, bool *is_gsd, struct bpk_err *err)
{
	*is_gsd = false;
	if (strcmp(path, "-") == 0 || probe(path, is_gsd, err) == 0)
		return 0;
	return bpk_err_subject(err, "%s", path);
}

static int claims(const struct bpk_place *place, bool *claimed, struct bpk_err *err)
{
	return bpk_gsd_probe(place->source, claimed, err);
}

static int open_there(struct bpk_trajectory *t, const struct bpk_edit_options *options, bool to_cut,
		      struct bpk_err *err)
{
	struct bpk_edit_options with = *options;
	struct bpk_gsd_store store;

	with.claims = claims;
	if (bpk_edit_open(t->path, &with, &t->edit, err) != 0)
		return -1;
	store = bpk_gsd_store_of_edit(t->edit);
	return bpk_gsd_editor_open(&store, bpk_edit_source(t->edit), to_cut, &t->editor, err);
}

int bpk_trajectory_recover(const char *path, const struct bpk_edit_options *options,
			   struct bpk_err *err)
{
	struct bpk_edit_options with = *options;
	struct bpk_edit *edit;

	with.claims = claims;
	if (bpk_edit_open(path, &with, &edit, err) != 0)
		return -1;
	bpk_edit_close(edit);
	return 0;
}

int bpk_trajectory_open(struct bpk_trajectory *trajectory, const struct bpk_edit_options *options,
			const char *path, bool to_cut, struct bpk_err *err)
{
	*trajectory = (struct bpk_trajectory){ .path = path };
	if (open_there(trajectory, options, to_cut, err) != 0) {
		bpk_err_name_file(err, path);
		return bpk_err_subject(err, "%s", path);
	}
	return 0;
}

int bpk_trajectory_create(struct bpk_trajectory *trajectory, bool sync, const char *path,
			  const struct bpk_gsd_head *head, struct bpk_err *err)
{
	const struct bpk_draft_options options = { .sync = sync };
	struct bpk_gsd_store store;

	*trajectory = (struct bpk_trajectory){ .path = path };
	if (bpk_draft_open(path, &options, &trajectory->draft, err) != 0)
		return bpk_err_subject(err, "%s", path);
	store = bpk_gsd_store_of_draft(trajectory->draft);
	if (bpk_gsd_editor_create(&store, head, &trajectory->editor, err) != 0)
		return bpk_err_subject(err, "%s", path);
	return 0;
}

int bpk_trajectory_keep(struct bpk_trajectory *trajectory, const struct stat *like,
			struct bpk_err *err)
{
	struct bpk_draft *draft = trajectory->draft;

	trajectory->draft = NULL;
	if (draft != NULL && bpk_draft_keep(draft, like, err) != 0)
		return bpk_err_subject(err, "%s", trajectory->path);
	return 0;
}

void bpk_trajectory_close(struct bpk_trajectory *trajectory)
{
	bpk_gsd_editor_close(trajectory->editor);
	bpk_draft_drop(trajectory->draft);
	bpk_edit_close(trajectory->edit);
	*trajectory = (struct bpk_trajectory){ 0 };
}
