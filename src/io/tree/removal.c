/*
 * Removing an input directory after its result was kept, for --rm of pack and unpack. It is renamed
 * first, in one step: if the process is killed after that, the rest has the name of a draft, which
 * the next command removes.
 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/tree/erase.h"
#include "io/full.h"
#include "io/lock.h"
#include "io/file/draft_name.h"
#include "io/tree/changes.h"

struct bpk_removal {
	char *path;       /* without trailing slashes */
	const char *name; /* its last part */
	int folder, root;
	bool (*owns)(const char *name);
	uint64_t seen;
};

void bpk_removal_drop(struct bpk_removal *removal)
{
	if (removal == NULL)
		return;
	if (removal->folder >= 0)
		close(removal->folder);
	if (removal->root >= 0)
		close(removal->root);
	free(removal->path);
	free(removal);
}

/* ---- Looking ---- */

/* Open the folder that holds it; path is cut after its last slash for that moment. */
static int open_parent(struct bpk_removal *removal)
{
	char *slash = strrchr(removal->path, '/'), after;
	int folder;

	removal->name = slash == NULL ? removal->path : slash + 1;
	if (slash == NULL)
		return bpk_folder_open(".");
	after = slash[1];
	slash[1] = '\0';
	folder = bpk_folder_open(removal->path);
	slash[1] = after;
	return folder;
}

static int open_both(struct bpk_removal *removal, struct bpk_err *err)
{
	removal->folder = open_parent(removal);
	if (removal->folder < 0)
		return bpk_fail_errno(err, errno, "cannot open its folder");
	removal->root = bpk_full_openat(removal->folder, removal->name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (removal->root < 0)
		return bpk_fail_errno(err, errno, "cannot be opened to be removed");
	return 0;
}

static int vet(const struct bpk_removal *removal, uint64_t *seen, struct bpk_err *err)
{
	struct bpk_stranger stranger;

	if (bpk_erase_vet(removal->root, removal->owns, &stranger, err) != 0)
		return -1;
	if (stranger.name[0] != '\0')
		return bpk_fail(err, BPK_FAILED, "holds %s, which is no part of it; not removed",
				stranger.name);
	*seen = stranger.seen;
	return 0;
}

int bpk_removal_begin(const char *path, bool (*owns)(const char *name),
		      struct bpk_removal **removal, struct bpk_err *err)
{
	struct bpk_removal *r = bpk_calloc(1, sizeof *r, err);

	*removal = NULL;
	if (r == NULL)
		return -1;
	r->folder = r->root = -1;
	r->owns = owns;
	r->path = bpk_strdup(path, err);
	for (size_t size = r->path == NULL ? 0 : strlen(path); size > 1 && path[size - 1] == '/';
	     size--)
		r->path[size - 1] = '\0';
	if (r->path == NULL || open_both(r, err) != 0 || vet(r, &r->seen, err) != 0) {
		bpk_removal_drop(r);
		return -1;
	}
	*removal = r;
	return 0;
}

/* ---- Removing ---- */

static bool is_current(const struct bpk_removal *r)
{
	struct stat now, own;

	return fstatat(r->folder, r->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(r->root, &own) == 0 && bpk_same_file(&now, &own);
}

static int check_same(const struct bpk_removal *r, struct bpk_err *err)
{
	uint64_t seen;

	if (vet(r, &seen, err) != 0)
		return -1;
	if (seen != r->seen || !is_current(r))
		return bpk_fail(err, BPK_FAILED, "is not removed: it was changed meanwhile");
	return 0;
}

/* Create an empty draft directory, then rename the directory over it. */
static int rename_to_draft(const struct bpk_removal *r, char **draft_name, struct bpk_err *err)
{
	int draft;

	if (bpk_draft_create_folder(r->folder, r->name, &draft, draft_name, err) != 0)
		return -1;
	(void)bpk_draft_lock(r->root); /* without it others may help to remove it: no harm */
	if (renameat(r->folder, r->name, r->folder, *draft_name) == 0) {
		close(draft);
		return 0;
	}
	bpk_fail_errno(err, errno, "cannot be removed");
	unlinkat(r->folder, *draft_name, AT_REMOVEDIR);
	close(draft);
	free(*draft_name);
	return -1;
}

static int erase(const struct bpk_removal *r, const char *draft_name, struct bpk_err *err)
{
	struct bpk_stranger stranger;

	if (bpk_folder_sync(r->folder) != 0)
		return bpk_fail_errno(err, errno, "sync its folder; the rest is in %s", draft_name);
	if (bpk_erase_folder(r->folder, draft_name, r->root, r->owns, &stranger, err) != 0)
		return bpk_err_subject(err, "is removed in part, the rest is in %s", draft_name);
	if (stranger.name[0] != '\0')
		return bpk_fail(err, BPK_FAILED,
				"is removed except for %s, a new file that stays in %s",
				stranger.name, draft_name);
	return 0;
}

/* A program that writes by names cannot reach the files any more. If one did so just before, they
 * get their name back. */
static int check_renamed(const struct bpk_removal *r, const char *draft_name, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	uint64_t seen = r->seen;

	if (vet(r, &seen, &why) == 0 && seen == r->seen)
		return 0;
	if (renameat2(r->folder, draft_name, r->folder, r->name, RENAME_NOREPLACE) != 0)
		return bpk_fail_errno(err, errno, "was changed meanwhile, and is in %s",
				      draft_name);
	return why.kind != BPK_OK
		       ? bpk_fail_as(err, &why)
		       : bpk_fail(err, BPK_FAILED, "is not removed: it was changed meanwhile");
}

static int remove_locked(const struct bpk_removal *r, struct bpk_err *err)
{
	char *draft_name;
	int rc;

	if (check_same(r, err) != 0 || rename_to_draft(r, &draft_name, err) != 0)
		return -1;
	rc = check_renamed(r, draft_name, err);
	if (rc == 0)
		rc = erase(r, draft_name, err);
	free(draft_name);
	return rc;
}

int bpk_removal_end(struct bpk_removal *r, struct bpk_err *err)
{
	int rc = check_same(r, err), lock = -1;

	/* create the lock if it is missing, so that no writer gets in between */
	if (rc == 0)
		lock = bpk_changes_open_lock(r->root, O_RDWR | O_CREAT, NULL);
	if (rc == 0 && lock < 0)
		rc = bpk_fail_errno(err, errno, "cannot be locked to be removed");
	if (rc == 0)
		rc = bpk_lock_need(lock, BPK_LOCK_WRITER, BPK_LOCK_MOMENT, true, NULL, err);
	if (rc == 0)
		rc = remove_locked(r, err);
	if (lock >= 0)
		close(lock);
	bpk_removal_drop(r);
	return rc;
}
