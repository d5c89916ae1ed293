/* A column of a bcolz table that is changed by itself, as an array of its own: its table is locked,
 * too. Called by editor.c. */
#include "format/chunkdir/editor.h"

#include <stdio.h>
#include <stdlib.h>

static const char NAMES[] = "__rootdirs__";

/* folder is path/.., and *is_table is true if that is a table; for free(). */
static int find_table(const char *path, char **folder, bool *is_table, struct bpk_err *err)
{
	char *names = NULL;
	struct stat found;
	int rc;

	*is_table = false;
	if (asprintf(folder, "%s/..", path) < 0) {
		*folder = NULL;
		return bpk_fail_memory(err, strlen(path));
	}
	if (asprintf(&names, "%s/%s", *folder, NAMES) < 0)
		return bpk_fail_memory(err, strlen(path));
	rc = bpk_path_look(names, &found, is_table, err);
	free(names);
	return rc;
}

/* *is_sound is true if all columns have the same rows. An append of bcolz that was interrupted
 * leaves others. */
static int judge_table(struct bpk_tree *table, bool *is_sound, struct bpk_err *err)
{
	struct bpk_chunkdir set = { 0 };
	struct bpk_err why = { 0 };

	*is_sound = bpk_chunkdir_load(bpk_tree_dir(table), false, &set, &why) == 0;
	bpk_chunkdir_clear(&set);
	return *is_sound || why.kind == BPK_CORRUPT ? 0 : bpk_fail_as(err, &why);
}

int bpk_chunkdir_lock_table(struct bpk_chunkdir_editor *e, const struct bpk_edit_options *with,
			    struct bpk_err *err)
{
	char *folder = NULL;
	bool is_table;
	int rc = find_table(e->path, &folder, &is_table, err);

	if (rc == 0 && is_table && bpk_tree_open(folder, with, &e->table, err) != 0)
		rc = bpk_err_subject(err, "the table that it is a column of");
	if (rc == 0 && is_table)
		rc = judge_table(e->table, &e->grows_with_table, err);
	free(folder);
	return rc;
}

int bpk_chunkdir_fail_in_store(struct bpk_err *err)
{
	return bpk_fail(err, BPK_UNSUPPORTED,
			"is a table of bcolz in a store, or a column of one, and its columns do "
			"not grow in one step; bpk convert FILE NEW makes a local copy");
}

/* Behind the last slash of the folder that has path in it; 0: path is a bucket. */
static size_t folder_of(const char *path)
{
	size_t size = strlen(path);

	while (size > 0 && path[size - 1] == '/')
		size--;
	while (size > 0 && path[size - 1] != '/')
		size--;
	return size > strlen("s3://") ? size : 0;
}

int bpk_chunkdir_refuse_column(const struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	size_t size = folder_of(e->path);
	struct bpk_source *source;
	struct bpk_err why = { 0 };
	bool missing;
	char *names;
	int rc;

	if (size == 0)
		return 0;
	if (asprintf(&names, "%.*s%s", (int)size, e->path, NAMES) < 0)
		return bpk_fail_memory(err, size);
	rc = bpk_remote_open(names, &source, &missing, &why);
	free(names);
	if (rc == 0) {
		bpk_source_close(source);
		return bpk_chunkdir_fail_in_store(err);
	}
	return missing ? 0 : bpk_fail_as(err, &why);
}
