#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dir_ops.h"
#include "io/journal.h"
#include "io/lock.h"
#include "io/source.h"

enum { REOPENED_MAX = 20 };

/* With the file open for writing. Only a journal that is not to be believed is a failure: through
 * any other the file can be read as it was, though nothing could be written. */
static int recover_file(const struct bpk_beside *beside, int fd, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	/* alive, it will bring its work to an end; without locks nobody knows */
	if (bpk_lock_take(fd, BPK_LOCK_WRITER, BPK_LOCK_TRY, NULL) != BPK_LOCK_TAKEN ||
	    !bpk_beside_is(beside, fd) || bpk_journal_recover(beside, fd, true, &why) == 0 ||
	    why.kind == BPK_FAILED || why.kind == BPK_NO_MEMORY)
		return 0;
	if (err != NULL)
		*err = why;
	return -1;
}

/* Put back what a writer that died left of path, where that may be written. */
static int recover(const char *path, struct bpk_err *err)
{
	struct bpk_beside beside;
	struct stat found;
	int fd, rc = 0;

	if (bpk_beside_find(path, &beside, NULL) != 0)
		return 0;
	if (bpk_beside_has_journal(&beside, &found)) {
		fd = bpk_beside_open(&beside, O_RDWR);
		if (fd >= 0) {
			rc = recover_file(&beside, fd, err);
			close(fd);
		}
	}
	bpk_beside_clear(&beside);
	return rc;
}

static int open_once(const char *path, bool as_is, struct bpk_source **source, struct bpk_err *err)
{
	int rc = 0;

	if (!as_is && recover(path, err) != 0)
		return -1;
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

/* A writer may have changed the file between its opening and the moment in which another one got
 * its name: then it is opened again. A path that never leads to what it opens (a deleted file, by
 * its descriptor) has no writer of ours. */
static int open_file(const char *path, bool as_is, struct bpk_source **source, struct bpk_err *err)
{
	int rc = open_once(path, as_is, source, err);

	for (int i = 0; rc > 0 && i < REOPENED_MAX; i++) {
		bpk_source_close(*source);
		rc = open_once(path, as_is, source, err);
	}
	return rc < 0 ? -1 : 0;
}

/* Open name in the tar of that path. 1: there is no such tar. */
static int open_in(const char *tar, const char *name, struct bpk_place *place, struct bpk_err *err)
{
	struct bpk_source *source;
	struct stat found;

	if (stat(tar, &found) != 0 || !S_ISREG(found.st_mode))
		return 1;
	if (bpk_source_open(tar, &source, err) != 0)
		return -1;
	if (bpk_tar_find(source, name, &place->source, &place->directory, err) != 0)
		return -1;
	place->is_member = true;
	place->is_directory = place->directory != NULL;
	return place->source == NULL && place->directory == NULL;
}

/* PATH:NAME, cut at each colon in turn; names in a tar may hold some, too. 1: it is none. */
static int open_member(const char *path, struct bpk_place *place, struct bpk_err *err)
{
	char *tar = bpk_strdup(path, err);
	int rc = 1;

	if (tar == NULL)
		return -1;
	for (char *colon = strchr(tar, ':'); rc > 0 && colon != NULL;
	     colon = strchr(colon + 1, ':')) {
		*colon = '\0';
		rc = open_in(tar, colon + 1, place, err);
		*colon = ':';
	}
	free(tar);
	return rc;
}

/* With errno of path, which is no file. What is too long for one may still be a member's name. */
static int open_missing(const char *path, struct bpk_place *place, struct bpk_err *err)
{
	int rc = 1;

	if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)
		rc = open_member(path, place, err);
	if (rc <= 0)
		return rc;
	place->is_member = false;
	return bpk_source_open(path, &place->source, err); /* which says what is wrong */
}

int bpk_place_open_as(const char *path, bool as_is, struct bpk_place *place, struct bpk_err *err)
{
	struct stat found;

	*place = (struct bpk_place){ .path = path };
	if (strcmp(path, "-") == 0)
		return bpk_source_open(path, &place->source, err);
	if (stat(path, &found) != 0)
		return open_missing(path, place, err);
	if (S_ISDIR(found.st_mode)) {
		place->is_directory = true;
		return bpk_dir_open_as(path, as_is, &place->directory, err);
	}
	if (S_ISREG(found.st_mode))
		return open_file(path, as_is, &place->source, err);
	return bpk_source_open(path, &place->source, err);
}

int bpk_place_open(const char *path, struct bpk_place *place, struct bpk_err *err)
{
	return bpk_place_open_as(path, false, place, err);
}

void bpk_place_close(struct bpk_place *place)
{
	bpk_source_close(place->source);
	bpk_dir_close(place->directory);
	*place = (struct bpk_place){ 0 };
}
