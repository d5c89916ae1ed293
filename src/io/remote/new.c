/*
 * Directories in stores that are written: new ones, as drafts, and those that are added to. Called
 * by tree/new.c for bpk_draft_open, by tree/change.c for bpk_tree_open, and through the tree.
 *
 * Nothing locks a name in a store. A new directory is kept apart from another command's by its
 * files, each put only where there is none; a change by its last step, which replaces one file only
 * if that is still the one that was read, and by a reservation (objects.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/edit.h"
#include "io/file/draft.h"
#include "io/remote/objects.h"

/* A file that is to be replaced. */
struct taken {
	struct taken *next;
	char *name;
	char tag[BPK_ANSWER_TEXT]; /* its ETag */
};

struct directory {
	struct bpk_tree tree;
	struct bpk_objects objects;

	/* of one that is added to */
	char *url; /* ends with "/" */
	const char *pivot;
	struct bpk_dir *stale; /* as it was before the commit: its reader may be open yet */
	struct bpk_names removed;
	struct taken *taken;
	struct bpk_buf reservation; /* empty: no file was taken since the last one */
};

static void free_taken(struct directory *directory)
{
	for (struct taken *next; directory->taken != NULL; directory->taken = next) {
		next = directory->taken->next;
		free(directory->taken->name);
		free(directory->taken);
	}
}

static void free_directory(struct directory *directory)
{
	free_taken(directory);
	bpk_buf_clear(&directory->reservation);
	bpk_objects_close(&directory->objects);
	bpk_dir_close(directory->tree.dir);
	bpk_dir_close(directory->stale);
	bpk_names_clear(&directory->removed);
	free(directory->url);
	free(directory);
}

/* ---- looking ---- */

/* Look up a file. *is_there: there is one; answer is set then. A store may deny a look. */
static int look(const struct bpk_url *url, bool *is_there, struct bpk_answer *answer,
		struct bpk_err *err)
{
	static const char *const none[] = { NULL };
	struct bpk_request request = { .url = url, .method = "HEAD", .lines = none };
	struct bpk_err why = { 0 };

	(void)bpk_request_run(&request, &why);
	*is_there = request.outcome == BPK_OUTCOME_BYTES;
	*answer = request.answer;
	if (*is_there || request.outcome == BPK_OUTCOME_MISSING ||
	    request.outcome == BPK_OUTCOME_DENIED)
		return 0;
	bpk_fail_as(err, &why);
	return bpk_err_subject(err, "cannot be looked up");
}

static int fail_exists(const char *found, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"already exists, at least in part: %s is there; no directory in a store is "
			"replaced, so remove all of it, or choose another name",
			found);
}

/* Fail if a file has the name of the directory. */
static int check_file(const struct bpk_objects *objects, struct bpk_err *err)
{
	struct bpk_answer answer;
	struct bpk_url url;
	bool is_there = false;
	int rc = bpk_url_make(objects->path, &url, err);

	if (rc == 0)
		rc = look(&url, &is_there, &answer, err);
	bpk_url_clear(&url);
	return rc == 0 && is_there ? fail_exists("a file of that name", err) : rc;
}

/* Fail if there are files below the name. Who may not list meets them one by one. */
static int check_files(const struct bpk_objects *objects, struct bpk_err *err)
{
	struct bpk_listing listing = { 0 };
	int rc = bpk_objects_list(objects, 1, &listing, err);

	if (rc == 0 && listing.count > 0)
		rc = fail_exists(bpk_listing_name(&listing, bpk_listing_at(&listing, 0)), err);
	bpk_listing_clear(&listing);
	return rc;
}

/* ---- the tree ---- */

static int directory_draft(void *owner, const char *name, struct bpk_draft **draft,
			   struct bpk_err *err)
{
	struct directory *directory = owner;
	const struct taken *taken = directory->taken;

	while (taken != NULL && strcmp(taken->name, name) != 0)
		taken = taken->next;
	return bpk_objects_begin(&directory->objects, name, taken == NULL ? NULL : taken->tag,
				 draft, err);
}

/* A file that replaces another one is sent after a reservation. */
static int reserve(struct directory *directory, struct bpk_err *err)
{
	int rc = bpk_objects_reserve(&directory->objects, directory->pivot,
				     bpk_buf_view(&directory->reservation), err);

	directory->reservation.size = 0;
	return rc;
}

static int directory_stage(void *owner, struct bpk_draft *draft, struct bpk_err *err)
{
	struct directory *directory = owner;

	if (directory->reservation.size > 0 && bpk_upload_of(draft)->old_tag[0] != '\0' &&
	    reserve(directory, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	return bpk_objects_stage(&directory->objects, draft, err);
}

static int directory_remove(void *owner, const char *name, struct bpk_err *err)
{
	struct directory *directory = owner;

	return bpk_names_add(&directory->removed, strdup(name), err);
}

/* ---- a new directory ---- */

static const struct bpk_tree_ops new_ops = { .draft = directory_draft, .stage = directory_stage };

static int new_keep(void *owner, const struct stat *like, struct bpk_err *err)
{
	struct directory *directory = owner;
	int rc = bpk_objects_commit(&directory->objects, err);

	(void)like;
	free_directory(directory);
	return rc;
}

static void new_drop(void *owner)
{
	free_directory(owner);
}

static struct bpk_tree *new_tree(void *owner)
{
	struct directory *directory = owner;

	return &directory->tree;
}

static int open_draft(const char *path, struct bpk_draft **draft, struct bpk_err *err)
{
	static const struct bpk_draft_ops ops = { .keep = new_keep,
						  .drop = new_drop,
						  .tree = new_tree };
	struct directory *directory = bpk_calloc(1, sizeof *directory, err);

	if (directory == NULL)
		return -1;
	directory->tree = (struct bpk_tree){ .ops = &new_ops, .owner = directory, .is_new = true };
	if (bpk_objects_open(&directory->objects, path, err) == 0 &&
	    check_file(&directory->objects, err) == 0 &&
	    check_files(&directory->objects, err) == 0 &&
	    bpk_draft_of_ops(&ops, directory, draft, err) == 0)
		return 0;
	free_directory(directory);
	return -1;
}

int bpk_remote_draft(const char *path, const struct bpk_draft_options *options,
		     struct bpk_draft **draft, struct bpk_err *err)
{
	*draft = NULL;
	if (!bpk_path_is_s3(path))
		return bpk_fail(err, BPK_FAILED,
				"is on a web server, and results go to files or to s3:// URLs");
	/* no directory is replaced, and a store has no permissions */
	return options->directory ? open_draft(path, draft, err)
				  : bpk_upload_open(path, options, draft, err);
}

/* ---- a directory that is added to ---- */

/* Look up a file of the directory; tag is its ETag, "" if it is not there. */
static int look_up_tag(const struct directory *directory, const char *name,
		       char tag[BPK_ANSWER_TEXT], struct bpk_err *err)
{
	struct bpk_answer answer;
	struct bpk_url url;
	bool is_there = false;
	int rc = bpk_url_below(&directory->objects.url, name, &url, err);

	*tag = '\0';
	if (rc == 0)
		rc = look(&url, &is_there, &answer, err);
	bpk_url_clear(&url);
	if (rc != 0 || !is_there)
		return rc;
	if (!answer.is_strong || strlen(answer.version) > BPK_ANSWER_TEXT / 2)
		return bpk_fail(
			err, BPK_FAILED,
			"the store has no strong ETags, by which two writers are told apart");
	strcpy(tag, answer.version);
	return 0;
}

/* Note which version of the pivot the commit is to replace, before any of it is read. */
static int note_pivot(struct directory *directory, struct bpk_err *err)
{
	struct bpk_objects *objects = &directory->objects;
	char tag[BPK_ANSWER_TEXT];

	if (look_up_tag(directory, directory->pivot, tag, err) != 0)
		return -1;
	free(objects->pivot_tag);
	objects->pivot_tag = *tag == '\0' ? NULL : bpk_strdup(tag, err);
	return *tag != '\0' && objects->pivot_tag == NULL ? -1 : 0;
}

static int fail_absent(const char *name, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "%s: does not exist, or cannot be looked up", name);
}

static int change_take(void *owner, const char *name, struct bpk_view reservation,
		       struct bpk_err *err)
{
	struct directory *directory = owner;
	struct taken *taken = bpk_calloc(1, sizeof *taken, err);

	if (taken == NULL)
		return -1;
	taken->next = directory->taken;
	directory->taken = taken;
	taken->name = bpk_strdup(name, err);
	if (taken->name == NULL)
		return -1;
	if (look_up_tag(directory, name, taken->tag, err) != 0)
		return bpk_err_subject(err, "%s", name);
	if (taken->tag[0] == '\0')
		return fail_absent(name, err);
	directory->reservation.size = 0;
	return bpk_buf_append(&directory->reservation, reservation, err);
}

/* Open the directory as it is now; the one opened before stays for its reader. */
static int open_state(struct directory *directory, struct bpk_err *err)
{
	if (note_pivot(directory, err) != 0)
		return -1;
	bpk_dir_close(directory->stale);
	directory->stale = directory->tree.dir;
	return bpk_remote_dir_open(directory->url, &directory->tree.dir, err);
}

static int change_commit(void *owner, const char *pivot, struct bpk_err *err)
{
	struct directory *directory = owner;
	const struct bpk_upload *last = directory->objects.last;

	if (!directory->tree.only_adds)
		return bpk_fail(err, BPK_FAILED, "is in a store, where data is only added");
	if (pivot == NULL || strcmp(pivot, directory->pivot) != 0 || last == NULL)
		return bpk_fail(err, BPK_BUG, "a commit without %s", directory->pivot);
	if (bpk_objects_commit(&directory->objects, err) != 0)
		return -1;
	bpk_objects_remove(&directory->objects, &directory->removed);
	bpk_names_clear(&directory->removed);
	free_taken(directory);
	directory->tree.only_adds = false;
	return open_state(directory, err) == 0 ? 0 : bpk_edit_fail_reread(err);
}

static void change_close(void *owner)
{
	free_directory(owner);
}

static const struct bpk_tree_ops change_ops = { .take = change_take,
						.draft = directory_draft,
						.stage = directory_stage,
						.remove = directory_remove,
						.commit = change_commit,
						.close = change_close };

static int check_claim(const struct directory *directory, const struct bpk_edit_options *options,
		       struct bpk_err *err)
{
	const struct bpk_place place = { .path = directory->url,
					 .is_directory = true,
					 .directory = directory->tree.dir };
	bool claimed = true;

	if (options->claims != NULL && options->claims(&place, &claimed, err) != 0)
		return -1;
	return claimed ? 0 : bpk_fail(err, BPK_FAILED, "is no longer a dataset of that format");
}

static int open_change(struct directory *directory, const char *path,
		       const struct bpk_edit_options *options, struct bpk_err *err)
{
	char *url;

	if (bpk_objects_open(&directory->objects, path, err) != 0)
		return -1;
	if (asprintf(&url, "%s/", directory->objects.path) < 0)
		return bpk_fail_memory(err, strlen(path));
	directory->url = url;
	directory->pivot = options->pivot;
	directory->objects.shares_names = options->shares_names;
	if (open_state(directory, err) != 0 || check_claim(directory, options, err) != 0)
		return -1;
	return directory->objects.pivot_tag == NULL ? fail_absent(directory->pivot, err) : 0;
}

int bpk_remote_tree_open(const char *path, const struct bpk_edit_options *options,
			 struct bpk_tree **tree, struct bpk_err *err)
{
	struct directory *directory;

	*tree = NULL;
	if (options->pivot == NULL || !bpk_path_is_s3(path))
		return bpk_fail(err, BPK_UNSUPPORTED, "is a URL, and is not changed in place");
	directory = bpk_calloc(1, sizeof *directory, err);
	if (directory == NULL)
		return -1;
	directory->tree = (struct bpk_tree){ .ops = &change_ops, .owner = directory };
	if (open_change(directory, path, options, err) != 0) {
		free_directory(directory);
		return -1;
	}
	*tree = &directory->tree;
	return 0;
}
