/* Damaged directories are restored by their parity files. Restored cells wait in a spool, since a
 * file's cells belong to many groups, and files are written one after the other. Called by
 * heal.c. */
#include "cli/heal_tree.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1 << 20 };

struct work {
	struct bpk_side *side;
	struct bpk_source *source; /* all files, with zeros for missing bytes */
	struct bpk_draft *spool;   /* restored cells at their offsets */
	struct bpk_tree *tree;     /* the files are written into it */
	bool all;                  /* files, not the damaged ones alone */
	struct bpk_healed *healed;
};

/* ---- one file ---- */

static int put_in_spool(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct work *w = arg;

	bpk_healed_add(w->healed, bytes);
	return bpk_draft_write_at(w->spool, offset, bytes, err);
}

/* True if the file is missing, has another size, or has a bad cell. */
static bool is_damaged(const struct work *w, const struct bpk_parity_file *file)
{
	const struct bpk_parity_file *now = bpk_parity_files_find(&w->side->now, file->name);
	uint64_t run;

	if (now == NULL || now->size != file->size)
		return true;
	for (uint64_t at = 0; at < file->size; at += run)
		if (bpk_parity_is_bad(w->side->parity, &w->side->scan, file->start + at, &run))
			return true;
	return false;
}

/* Bytes of the file as they were: of bad cells from the spool. A piece of equal cells at a time. */
static int copy_piece(const struct work *w, const struct bpk_parity_file *file, uint64_t *at,
		      struct bpk_span room, struct bpk_draft *draft, struct bpk_err *err)
{
	const struct bpk_side *side = w->side;
	uint64_t start = file->start + *at, left = file->size - *at, size = 0, run;
	bool bad = bpk_parity_is_bad(side->parity, &side->scan, start, &run);
	struct bpk_span piece;

	for (size = run; size < left && size < room.size; size += run)
		if (bpk_parity_is_bad(side->parity, &side->scan, start + size, &run) != bad)
			break;
	piece = bpk_span(room.data, bpk_min_u64(bpk_min_u64(size, left), room.size));
	if (bad && bpk_draft_read_at(w->spool, start, piece, err) != 0)
		return -1;
	if (!bad && bpk_source_need_at(w->source, start, piece, err) != 0)
		return -1;
	if (bpk_draft_write_at(draft, *at, bpk_view_of_span(piece), err) != 0)
		return -1;
	*at += piece.size;
	return 0;
}

static int write_file(const struct work *w, const struct bpk_parity_file *file,
		      struct bpk_span room, struct bpk_err *err)
{
	struct bpk_draft *draft;
	int rc;

	/* the folder may be lost, too */
	if (bpk_tree_folder_of(w->tree, file->name, err) != 0 ||
	    bpk_tree_draft(w->tree, file->name, &draft, err) != 0)
		return -1;
	rc = bpk_draft_set_size(draft, file->size, err);
	if (!w->all)
		bpk_draft_keep_time(draft, file->time);
	for (uint64_t at = 0; rc == 0 && at < file->size;)
		rc = copy_piece(w, file, &at, room, draft, err);
	if (rc == 0)
		return bpk_tree_stage(w->tree, draft, err);
	bpk_draft_drop(draft);
	return rc;
}

/* ---- all files ---- */

/* Names of a parity file are not believed: none may lead to a file that no archive has. */
static int check_name(const struct bpk_parity_file *file, struct bpk_err *err)
{
	return bpk_format_owns(file->name)
		       ? 0
		       : bpk_fail(err, BPK_CORRUPT,
				  "its parity file names a file that no archive has");
}

static int write_files(const struct work *w, struct bpk_err *err)
{
	const struct bpk_parity_files *files = bpk_parity_files(w->side->parity);
	struct bpk_buf room = { 0 };
	int rc = bpk_buf_resize(&room, PIECE, err);

	for (size_t i = 0; rc == 0 && i < files->count; i++) {
		const struct bpk_parity_file *file = &files->files[i];

		if (file->name == NULL)
			continue;
		rc = check_name(file, err);
		if (rc == 0 && (w->all || is_damaged(w, file)))
			rc = write_file(w, file, bpk_span(room.data, room.size), err);
	}
	bpk_buf_clear(&room);
	return rc;
}

/* The spool has the parity file's name, which it never gets. */
static int restore(struct work *w, struct bpk_dir *dir, struct bpk_err *err)
{
	const struct bpk_draft_options options = { .overwrite = true };
	struct bpk_side *side = w->side;
	int rc =
		bpk_parity_files_source(dir, bpk_parity_files(side->parity), true, &w->source, err);

	w->healed->cut = side->drift.grown_size;
	if (rc == 0)
		rc = bpk_draft_open(side->name, &options, &w->spool, err);
	if (rc == 0)
		rc = bpk_draft_reread(w->spool, err);
	if (rc == 0)
		rc = bpk_parity_heal(side->parity, w->source, &side->scan, put_in_spool, w, err);
	if (rc == 0)
		rc = write_files(w, err);
	bpk_draft_drop(w->spool);
	bpk_source_close(w->source);
	return rc;
}

/* ---- in place ---- */

/* Under the lock: the directory is still the one that was judged, and can be restored. */
static int heal_tree(struct work *w, const char *path, struct bpk_err *err)
{
	struct bpk_dir *dir = bpk_tree_dir(w->tree);

	if (bpk_side_compare_dir(w->side, dir, err) != 0)
		return -1;
	if (w->side->scan.lost > 0 || !bpk_side_is_unwritten(w->side, path))
		return bpk_fail_changed(err);
	return restore(w, dir, err) != 0 ? -1 : bpk_tree_commit(w->tree, NULL, err);
}

int bpk_heal_tree_in_place(struct bpk_side *side, const char *path, struct bpk_healed *healed,
			   struct bpk_err *err)
{
	const struct bpk_edit_options options = { .sync = true, .owns = bpk_format_owns };
	struct work w = { .side = side, .healed = healed };
	int rc = bpk_tree_open(path, &options, &w.tree, err);

	if (rc == 0)
		rc = heal_tree(&w, path, err);
	bpk_tree_close(w.tree);
	return rc;
}

bool bpk_heal_tree_is_whole(const struct bpk_side *side, const char *path)
{
	struct bpk_parity_files now;
	bool same = bpk_side_list(path, &now, NULL) == 0 &&
		    bpk_parity_files_same(bpk_parity_files(side->parity), &now);

	bpk_parity_files_clear(&now);
	return same;
}

int bpk_heal_tree_settle(const struct bpk_side *side, const char *path)
{
	const struct bpk_edit_options options = { .sync = true, .owns = bpk_format_owns };
	struct bpk_tree *tree;

	if (!bpk_heal_tree_is_whole(side, path) || bpk_tree_open(path, &options, &tree, NULL) != 0)
		return -1;
	bpk_tree_close(tree);
	return 0;
}

/* ---- into another directory ---- */

static int fill(struct bpk_side *side, struct bpk_dir *dir, struct bpk_draft *draft,
		struct bpk_healed *healed, struct bpk_err *err)
{
	struct work w = {
		.side = side, .tree = bpk_draft_tree(draft), .all = true, .healed = healed
	};
	uint64_t generation;

	if (bpk_dir_generation(dir, &generation, err) != 0 || restore(&w, dir, err) != 0)
		return -1;
	return bpk_dir_settle(dir, generation, true, err);
}

int bpk_heal_tree_into(const struct bpk_shared *shared, struct bpk_side *side, const char *path,
		       struct bpk_healed *healed, struct bpk_err *err)
{
	struct bpk_draft_options options = { .overwrite = shared->force,
					     .remedy = BPK_REMEDY_FORCE,
					     .follow_links = true,
					     .sync = !shared->no_sync,
					     .directory = true,
					     .ours = bpk_format_owns };
	struct bpk_draft *draft = NULL;
	struct stat like;
	struct bpk_dir *dir;
	int rc = bpk_dir_open(path, bpk_format_owns, &dir, err);

	if (rc != 0)
		return bpk_err_subject(err, "%s", path);
	like = bpk_dir_like(dir);
	options.not_this = bpk_dir_stat(dir);
	options.like = &like;
	if (bpk_draft_open(shared->output, &options, &draft, err) != 0)
		rc = bpk_err_subject(err, "%s", shared->output);
	else if (fill(side, dir, draft, healed, err) != 0)
		rc = bpk_err_subject(err, "%s", path);
	like = bpk_dir_like(dir); /* of the files that were opened */
	if (rc == 0 && bpk_draft_keep(draft, &like, err) != 0)
		rc = bpk_err_subject(err, "%s", shared->output);
	else if (rc != 0)
		bpk_draft_drop(draft);
	bpk_dir_close(dir);
	return rc;
}
