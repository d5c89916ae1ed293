/* The calls of io/remote.h in a bpk that was built without libcurl. */
#include "io/remote.h"

void bpk_remote_set(const struct bpk_remote_options *options)
{
	(void)options;
}

static int fail(struct bpk_err *err)
{
	return bpk_fail(err, BPK_UNSUPPORTED, "is a URL, and this bpk was built without libcurl");
}

int bpk_remote_open(const char *url, struct bpk_source **source, bool *missing, struct bpk_err *err)
{
	(void)url;
	*source = NULL;
	*missing = false;
	return fail(err);
}

bool bpk_remote_is_folder(const char *path)
{
	(void)path;
	return false;
}

int bpk_remote_dir_open(const char *url, struct bpk_dir **dir, struct bpk_err *err)
{
	(void)url;
	*dir = NULL;
	return fail(err);
}

int bpk_remote_has_folder(const char *path, bool *has, struct bpk_err *err)
{
	(void)path;
	*has = false;
	return fail(err);
}

int bpk_remote_entries(const char *url, struct bpk_dir_entries *entries, struct bpk_err *err)
{
	(void)url;
	(void)entries;
	return fail(err);
}

int bpk_remote_draft(const char *url, const struct bpk_draft_options *options,
		     struct bpk_draft **draft, struct bpk_err *err)
{
	(void)url;
	(void)options;
	*draft = NULL;
	return fail(err);
}

int bpk_remote_tree_open(const char *url, const struct bpk_edit_options *options,
			 struct bpk_tree **tree, struct bpk_err *err)
{
	(void)url;
	(void)options;
	*tree = NULL;
	return fail(err);
}

struct bpk_remote_counts bpk_remote_counted(void)
{
	return (struct bpk_remote_counts){ 0 };
}

const char *bpk_remote_library(void)
{
	return NULL;
}
