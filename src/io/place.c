/*
 * Opening a path as an archive: a file, a directory, standard input or a member of a tar. Every
 * command that reads an archive calls it.
 */
#include "io/io.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "io/tree/dir.h"
#include "io/file/source.h"

enum { REOPENED_MAX = 20 }; /* tries to open a file whose name others keep replacing */

static int open_once(const char *path, struct bpk_source **source, struct bpk_err *err)
{
	int rc = 0;

	if (bpk_source_open(path, source, err) != 0)
		return -1;
	if (bpk_source_seekable(*source) && S_ISREG(bpk_source_stat(*source)->st_mode))
		rc = bpk_source_share(*source, path, err);
	if (rc < 0) {
		bpk_source_close(*source);
		*source = NULL;
	}
	return rc;
}

/*
 * Another file may have taken the name between open and the first look at its locks: then open
 * again. A path that never leads to the file that it opens (a deleted file, by its descriptor) has
 * no writer of bpk.
 */
static int open_file(const char *path, struct bpk_source **source, struct bpk_err *err)
{
	int rc = open_once(path, source, err);

	for (int i = 0; rc > 0 && i < REOPENED_MAX; i++) {
		bpk_source_close(*source);
		rc = open_once(path, source, err);
	}
	return rc < 0 ? -1 : 0;
}

/* Open a file that may be a tar. Returns 1 if there is no such file. */
static int open_tar(const char *tar, struct bpk_source **source, struct bpk_err *err)
{
	bool missing = false;
	struct stat found;

	if (bpk_path_is_url(tar)) {
		int rc = bpk_remote_open(tar, source, &missing, err);

		return missing ? 1 : rc;
	}
	if (stat(tar, &found) != 0)
		return bpk_is_absent(errno) ? 1 : bpk_fail_errno(err, errno, "cannot stat");
	return S_ISREG(found.st_mode) ? bpk_source_open(tar, source, err) : 1;
}

/* Open name in the tar of that path. Returns 1 if there is no such tar or member; *is_tar: no such
 * member. */
static int open_in(const char *tar, const char *name, struct bpk_place *place, bool *is_tar,
		   struct bpk_err *err)
{
	struct bpk_source *source;
	int rc = open_tar(tar, &source, err);

	if (rc != 0)
		return rc;
	if (bpk_tar_find(source, name, is_tar, &place->source, &place->directory, err) != 0)
		return -1;
	place->is_member = true;
	place->is_directory = place->directory != NULL;
	return place->source == NULL && place->directory == NULL;
}

/* Try PATH:NAME with each colon from byte first on in turn; names in a tar may contain colons too.
 * Returns 1 if no split works, and -1 if the first tar found has no such member. */
static int open_member(const char *path, size_t first, struct bpk_place *place, struct bpk_err *err)
{
	char *tar = bpk_strdup(path, err);
	struct bpk_err missing = { 0 };
	int rc = 1;

	if (tar == NULL)
		return -1;
	for (char *colon = strchr(tar + first, ':'); rc > 0 && colon != NULL;
	     colon = strchr(colon + 1, ':')) {
		bool is_tar = false;

		*colon = '\0';
		rc = open_in(tar, colon + 1, place, &is_tar, err);
		if (rc > 0 && is_tar && missing.kind == BPK_OK)
			bpk_fail(&missing, BPK_FAILED, "the tar %s has no member %s", tar,
				 colon + 1);
		*colon = ':';
	}
	free(tar);
	if (rc > 0 && missing.kind != BPK_OK) {
		place->is_member = false;
		return bpk_fail_as(err, &missing);
	}
	return rc;
}

/* Open a path that stat could not find; errnum says why. */
static int open_missing(const char *path, int errnum, struct bpk_place *place, struct bpk_err *err)
{
	int rc = 1;

	if (bpk_is_absent(errnum))
		rc = open_member(path, 0, place, err);
	if (rc <= 0)
		return rc;
	place->is_member = false;
	if (strstr(path, "://") != NULL && bpk_is_absent(errnum))
		return bpk_fail(
			err, BPK_FAILED,
			"there is no such file, and URLs begin with http://, https:// or s3://");
	return bpk_fail_errno(err, errnum, "cannot open");
}

/* True if a store has files below path, as far as it tells. */
static bool has_folder(const char *path)
{
	bool has = false;

	return bpk_remote_has_folder(path, &has, NULL) == 0 && has;
}

static int open_url(const char *path, struct bpk_place *place, struct bpk_err *err)
{
	const char *host = strstr(path, "://") + 3;
	size_t name_at = (size_t)(host - path) + strcspn(host, "/");
	struct bpk_err why = { 0 };
	bool missing;
	int rc;

	if (bpk_remote_is_folder(path)) {
		rc = open_member(path, name_at, place, err);
		if (rc <= 0)
			return rc;
		place->is_member = false;
		place->is_directory = true;
		return bpk_remote_dir_open(path, &place->directory, err);
	}
	if (bpk_remote_open(path, &place->source, &missing, &why) == 0)
		return 0;
	rc = missing ? open_member(path, name_at, place, err) : 1;
	if (rc <= 0)
		return rc;
	place->is_member = false;
	if (missing && has_folder(path))
		return bpk_fail(err, BPK_FAILED, "is a directory in the store; write %s/", path);
	return bpk_fail_as(err, &why);
}

int bpk_place_open(const char *path, bool (*owns)(const char *name), struct bpk_place *place,
		   struct bpk_err *err)
{
	struct stat found;

	*place = (struct bpk_place){ .path = path };
	if (strcmp(path, "-") == 0)
		return bpk_source_open(path, &place->source, err);
	if (bpk_path_is_url(path))
		return open_url(path, place, err);
	if (stat(path, &found) != 0)
		return open_missing(path, errno, place, err);
	if (S_ISDIR(found.st_mode)) {
		place->is_directory = true;
		return bpk_dir_open(path, owns, &place->directory, err);
	}
	if (S_ISREG(found.st_mode))
		return open_file(path, &place->source, err);
	return bpk_source_open(path, &place->source, err);
}

void bpk_place_close(struct bpk_place *place)
{
	bpk_source_close(place->source);
	bpk_dir_close(place->directory);
	*place = (struct bpk_place){ 0 };
}

bool bpk_place_pending(const struct bpk_place *place)
{
	return place->directory != NULL ? bpk_dir_pending(place->directory)
					: bpk_source_pending(place->source);
}

int bpk_place_unchanged(const struct bpk_place *place, struct bpk_err *err)
{
	if (place->directory != NULL)
		return bpk_dir_in_place(place->directory, err);
	return place->source != NULL ? bpk_source_unchanged(place->source, err) : 0;
}

const char *bpk_place_remark(const struct bpk_place *place)
{
	return place->directory != NULL ? bpk_dir_remark(place->directory)
					: bpk_source_remark(place->source);
}

bool bpk_place_is_torn(const struct bpk_place *place)
{
	return place->directory != NULL && bpk_dir_is_torn(place->directory);
}
