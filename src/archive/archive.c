/* An open archive: opening it through its format's editor, and committing. Called by the commands
 * that change archives. */
#include "archive/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "archive/chunks.h"
#include "archive/keep_ident.h"

/* ---- opening ---- */

static int look(struct bpk_archive *archive, struct bpk_err *err)
{
	if (archive->url == NULL && stat(archive->path, &archive->seen) != 0)
		return bpk_fail_errno(err, errno, "cannot open");
	return 0;
}

/* The format of the archive, by content unless the caller names one. */
static int find_format(struct bpk_archive *archive, struct bpk_err *err)
{
	struct bpk_place place = { 0 };
	int rc = bpk_place_open(archive->path, bpk_format_owns, &place, err);

	if (rc == 0 && bpk_path_is_url(archive->path) && !place.is_directory)
		rc = bpk_fail_url_change(err); /* a member of a tar */
	archive->format = archive->options.format;
	if (rc == 0 && archive->format == NULL)
		rc = bpk_format_probe(&place, &archive->format, err);
	if (rc == 0 && archive->format == NULL)
		rc = bpk_foreign_fail(&place, false, err);
	if (rc == 0 && archive->options.format != NULL)
		rc = bpk_format_check(&place, archive->format, err);
	bpk_place_close(&place);
	return rc;
}

static int open_editor(struct bpk_archive *archive, struct bpk_err *err)
{
	if (archive->url == NULL && stat(archive->path, &archive->seen) != 0)
		return bpk_is_missing(errno)
			       ? bpk_fail(err, BPK_FAILED,
					  "is a member of a tar, and these cannot be changed")
			       : bpk_fail_errno(err, errno, "cannot open");
	if (archive->format->editor == NULL)
		return bpk_fail(err, BPK_UNSUPPORTED, "has format %s, which cannot be changed",
				archive->format->name);
	return archive->format->editor->open(archive->path, &archive->options.editor,
					     &archive->editor, err);
}

void bpk_archive_close(struct bpk_archive *archive)
{
	bpk_archive_ident_close(archive);
	if (archive->editor != NULL)
		archive->format->editor->close(archive->editor);
	archive->editor = NULL;
	free(archive->url);
	archive->url = NULL;
}

/* *real is the real path, for free(), or NULL where name has no path that this process may see. */
static int find_real(const char *name, char **real, struct bpk_err *err)
{
	*real = realpath(name, NULL);
	if (*real != NULL || bpk_is_absent(errno) || errno == EACCES)
		return 0;
	return bpk_fail_errno(err, errno, "%s: cannot stat", name);
}

/* *below: name lies below folder. Standard input has a path too, where it is a file. */
static int lies_below(const char *folder, const char *name, bool *below, struct bpk_err *err)
{
	char *inner = NULL, *outer = NULL;
	size_t size;
	int rc = find_real(strcmp(name, "-") == 0 ? "/dev/stdin" : name, &inner, err);

	if (rc == 0)
		rc = find_real(folder, &outer, err);
	size = outer != NULL ? strlen(outer) : 0;
	*below = inner != NULL && outer != NULL && strncmp(inner, outer, size) == 0 &&
		 inner[size] == '/';
	free(inner);
	free(outer);
	return rc;
}

int bpk_archive_is_not(const struct bpk_archive *archive, const struct stat *file, const char *name,
		       struct bpk_err *err)
{
	bool below = false;

	if (S_ISDIR(archive->seen.st_mode) && lies_below(archive->path, name, &below, err) != 0)
		return -1;
	if (below)
		return bpk_fail(err, BPK_FAILED, "%s: lies in the archive itself",
				bpk_input_name(name));
	if (!bpk_same_file(file, &archive->seen))
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: is the archive itself", bpk_input_name(name));
}

int bpk_fail_url_change(struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"is a URL, and what is behind one is not changed in place; bpk-remote(7), "
			"WRITING, shows another way");
}

static int fail_no_append(struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"is no sparse frame or chunked directory in a store, and append adds only "
			"to these behind a URL; bpk-remote(7), WRITING, shows how to create one, "
			"or to replace a file");
}

/* Take a URL that names a directory in a store, with or without a slash behind. Where listings are
 * denied, one with a slash is taken by its word. */
static int take_url(struct bpk_archive *archive, struct bpk_err *err)
{
	const char *path = archive->path;
	bool is_folder = bpk_remote_is_folder(path), has;

	if (!archive->options.only_adds)
		return bpk_fail_url_change(err);
	if (!bpk_path_is_s3(path))
		return fail_no_append(err);
	if (bpk_remote_has_folder(path, &has, is_folder ? NULL : err) != 0) {
		if (!is_folder)
			return -1;
		has = true;
	}
	if (!has)
		return fail_no_append(err);
	if (asprintf(&archive->url, "%s%s", path, is_folder ? "" : "/") < 0) {
		archive->url = NULL;
		return bpk_fail_memory(err, strlen(path));
	}
	archive->path = archive->url;
	return 0;
}

int bpk_archive_open(struct bpk_archive *archive, const struct bpk_archive_options *options,
		     const char *path, struct bpk_err *err)
{
	*archive = (struct bpk_archive){ .options = *options, .path = path };
	if (strcmp(path, "-") == 0)
		return bpk_fail(err, BPK_USAGE,
				"standard input cannot be changed, name an ARCHIVE");
	if (bpk_path_is_url(path) && take_url(archive, err) != 0)
		return bpk_archive_subject(archive, err);
	/* another may replace it while we wait for the lock */
	if (find_format(archive, err) != 0 || open_editor(archive, err) != 0 ||
	    look(archive, err) != 0)
		return bpk_archive_subject(archive, err);
	archive->was_array = bpk_archive_info(archive)->array.type != NULL;
	if (bpk_archive_ident_open(archive, err) != 0)
		return -1;
	return bpk_archive_find_example(archive, err);
}

static int commit_by(struct bpk_archive *archive, int (*commit)(void *editor, struct bpk_err *err),
		     struct bpk_err *err)
{
	struct stat before = archive->seen, now;

	if (commit(archive->editor, err) != 0)
		return bpk_archive_subject(archive, err);
	/* its folder may have another name by now: that is no failure of the change */
	if (stat(archive->path, &now) == 0)
		archive->seen = now;
	if (!bpk_same_file(&before, &archive->seen))
		archive->rewritten = true;
	return 0;
}

int bpk_archive_commit(struct bpk_archive *archive, struct bpk_err *err)
{
	if (bpk_archive_ident_settle(archive, err) != 0 ||
	    commit_by(archive, archive->format->editor->commit, err) != 0)
		return -1;
	bpk_archive_ident_settled(archive);
	return 0;
}

int bpk_archive_compact(struct bpk_archive *archive, struct bpk_err *err)
{
	const struct bpk_editor_ops *ops = archive->format->editor;

	return ops->compact == NULL ? 0 : commit_by(archive, ops->compact, err);
}
