#include "io/io.h"

#include <errno.h>
#include <fts.h>

#include "io/beside.h"
#include "io/dir_ops.h"
#include "io/name.h"

struct walk {
	bool (*enter)(void *arg, const char *folder);
	int (*visit)(void *arg, const char *file);
	void (*unreadable)(void *arg, const struct bpk_err *err);
	void *arg;
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Any folder may be the root of a dataset, which has a lock and a list. */
static bool is_ours(const char *name)
{
	return bpk_dir_hides(name) || bpk_beside_is_journal(name);
}

static int meet(const struct walk *walk, FTS *tree, FTSENT *entry)
{
	struct bpk_err err = { 0 };

	switch (entry->fts_info) {
	case FTS_D:
		if ((entry->fts_level > 0 && bpk_draft_is_name(entry->fts_name)) ||
		    (walk->enter != NULL && !walk->enter(walk->arg, entry->fts_path)))
			fts_set(tree, entry, FTS_SKIP);
		return 0;
	case FTS_F:
		return is_ours(entry->fts_name) ? 0 : walk->visit(walk->arg, entry->fts_path);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		bpk_fail_errno(&err, entry->fts_errno, "%s: cannot read", entry->fts_path);
		walk->unreadable(walk->arg, &err);
		return 0;
	default: /* links, devices, folders on the way back or met before */
		return 0;
	}
}

int bpk_walk(const char *path, bool (*enter)(void *arg, const char *folder),
	     int (*visit)(void *arg, const char *file),
	     void (*unreadable)(void *arg, const struct bpk_err *err), void *arg,
	     struct bpk_err *err)
{
	struct walk walk = { enter, visit, unreadable, arg };
	char *roots[] = { (char *)path, NULL }; /* fts only reads it */
	FTSENT *entry;
	FTS *tree;
	int rc = 0;

	/* the user's own path may be a link; the names below it are not followed */
	tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	if (tree == NULL)
		return bpk_fail_errno(err, errno, "cannot read");
	while (rc == 0 && (errno = 0, entry = fts_read(tree)) != NULL) {
		if (entry->fts_level == 0 && entry->fts_info == FTS_F)
			rc = bpk_fail(err, BPK_FAILED, "is not a directory");
		else
			rc = meet(&walk, tree, entry);
	}
	if (rc == 0 && errno != 0)
		rc = bpk_fail_errno(err, errno, "cannot read");
	fts_close(tree);
	return rc;
}
