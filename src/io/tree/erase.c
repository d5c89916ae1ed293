/* Directories examined, erased or cleaned of drafts. --rm, replaced directories, draft_name.c and
 * tree opens call it. */
#include "io/tree/erase.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/tree/dir.h"
#include "io/full.h"
#include "io/file/hidden.h"

/* folders below the top; each level holds a descriptor, and no dataset is that deep */
enum { DEPTH_MAX = 64 };

enum { TRIES_MAX = 100 }; /* to remove a folder in which writers leave locks */

struct walk {
	bool (*ours)(const char *name);
	enum { VET, ERASE, ERASE_DRAFTS } task;
	struct bpk_stranger *stranger;
	uid_t owner;         /* of the top */
	char name[PATH_MAX]; /* of the current entry, relative to the top */
	int depth;
};

bool bpk_erase_may(uid_t owner, const struct stat *found)
{
	return found->st_uid == owner || found->st_uid == geteuid();
}

/* A lock may belong to anybody who has changed the dataset. */
static bool is_ours(const struct walk *walk, const struct stat *found)
{
	if (walk->ours == NULL || walk->ours(walk->name) || bpk_hidden_is_lock(walk->name))
		return true;
	return bpk_hidden_is_name(walk->name) && bpk_erase_may(walk->owner, found);
}

static int meet_stranger(struct walk *walk)
{
	if (walk->stranger->name[0] == '\0')
		memcpy(walk->stranger->name, walk->name, strlen(walk->name) + 1);
	return 0;
}

static int walk_below(struct walk *walk, int folder, struct bpk_err *err);

static int fail_at(const struct walk *walk, struct bpk_err *err)
{
	return bpk_fail_errno(err, errno, "%s: cannot be %s", walk->name,
			      walk->task == VET ? "examined" : "removed");
}

static int meet_folder(struct walk *walk, int parent, const char *base, struct bpk_err *err)
{
	int fd, rc;

	if (walk->depth == DEPTH_MAX)
		return meet_stranger(walk);
	fd = bpk_full_openat(parent, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return errno == ENOENT ? 0 : fail_at(walk, err);
	walk->depth++;
	rc = walk_below(walk, fd, err); /* which closes fd */
	walk->depth--;
	if (rc != 0 || walk->task != ERASE || unlinkat(parent, base, AT_REMOVEDIR) == 0 ||
	    errno == ENOENT)
		return rc;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return meet_stranger(walk); /* met below, or added since */
	return fail_at(walk, err);
}

static void mix_file(const struct walk *walk, const struct stat *found)
{
	const uint64_t facts[] = {
		found->st_ino,
		(uint64_t)found->st_size,
		(uint64_t)found->st_mtim.tv_sec,
		(uint64_t)found->st_mtim.tv_nsec,
		(uint64_t)found->st_ctim.tv_sec,
		(uint64_t)found->st_ctim.tv_nsec,
	};

	if (!bpk_hidden_is_name(walk->name))
		walk->stranger->seen += bpk_hash(bpk_hash_text(BPK_HASH_START, walk->name),
						 bpk_view(facts, sizeof facts));
}

static int meet_file(const struct walk *walk, int parent, const char *base, struct bpk_err *err)
{
	if (walk->task == VET || unlinkat(parent, base, 0) == 0 || errno == ENOENT)
		return 0;
	return fail_at(walk, err);
}

/* True if no process works on the draft any more. */
static bool is_left_behind(int parent, const char *base)
{
	int fd = bpk_full_openat(parent, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	bool left = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

	if (fd >= 0)
		close(fd);
	return left;
}

/* Failures are ignored: the next writer tries again. */
static int meet_draft(struct walk *walk, int parent, const char *base, const struct stat *found)
{
	bool is_draft = bpk_hidden_is_draft(base);

	if (S_ISDIR(found->st_mode) && !is_draft)
		(void)meet_folder(walk, parent, base, NULL);
	else if (S_ISREG(found->st_mode) && is_draft && bpk_erase_may(walk->owner, found) &&
		 is_left_behind(parent, base))
		unlinkat(parent, base, 0);
	return 0;
}

static int meet(struct walk *walk, int parent, const char *base, struct bpk_err *err)
{
	struct stat found;

	if (fstatat(parent, base, &found, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : fail_at(walk, err);
	if (walk->task == ERASE_DRAFTS)
		return meet_draft(walk, parent, base, &found);
	if (S_ISDIR(found.st_mode) && walk->ours != NULL && bpk_hidden_is_name(walk->name))
		return meet_stranger(walk); /* bpk makes these as files only */
	if (S_ISDIR(found.st_mode))
		return meet_folder(walk, parent, base, err);
	if (!S_ISREG(found.st_mode) || !is_ours(walk, &found))
		return meet_stranger(walk);
	mix_file(walk, &found);
	return meet_file(walk, parent, base, err);
}

/* True for an entry that need not be examined: a directory may hold a file for each chunk. */
static bool is_passed_over(const struct walk *walk, const struct dirent *entry)
{
	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return true;
	return walk->task == ERASE_DRAFTS && entry->d_type == DT_REG &&
	       !bpk_hidden_is_draft(entry->d_name);
}

/* Takes folder. */
static int walk_below(struct walk *walk, int folder, struct bpk_err *err)
{
	size_t above = strlen(walk->name);
	const struct dirent *entry;
	DIR *stream = fdopendir(folder);
	int rc = 0;

	if (stream == NULL) {
		fail_at(walk, err);
		close(folder);
		return -1;
	}
	while (rc == 0 && (errno = 0, entry = readdir(stream)) != NULL) {
		if (is_passed_over(walk, entry))
			continue;
		snprintf(walk->name + above, sizeof walk->name - above, "%s%s",
			 above == 0 ? "" : "/", entry->d_name);
		rc = meet(walk, dirfd(stream), entry->d_name, err);
		walk->name[above] = '\0';
	}
	if (rc == 0 && errno != 0)
		rc = fail_at(walk, err);
	closedir(stream);
	return rc;
}

static int walk_from(int folder, bool (*ours)(const char *name), int task,
		     struct bpk_stranger *stranger, struct bpk_err *err)
{
	struct walk walk = { .ours = ours, .task = task, .stranger = stranger };
	int top = bpk_full_openat(folder, ".", O_RDONLY | O_DIRECTORY, 0);
	struct stat found;

	stranger->name[0] = '\0';
	stranger->seen = 0;
	if (top < 0 || fstat(top, &found) != 0)
		return fail_at(&walk, err);
	walk.owner = found.st_uid;
	return walk_below(&walk, top, err);
}

int bpk_erase_vet(int folder, bool (*ours)(const char *name), struct bpk_stranger *stranger,
		  struct bpk_err *err)
{
	return walk_from(folder, ours, VET, stranger, err);
}

int bpk_erase_below(int folder, bool (*ours)(const char *name), struct bpk_stranger *stranger,
		    struct bpk_err *err)
{
	return walk_from(folder, ours, ERASE, stranger, err);
}

int bpk_erase_folder(int parent, const char *name, int folder, bool (*ours)(const char *name),
		     struct bpk_stranger *stranger, struct bpk_err *err)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		if (bpk_erase_below(folder, ours, stranger, err) != 0)
			return -1;
		if (stranger->name[0] != '\0' || unlinkat(parent, name, AT_REMOVEDIR) == 0 ||
		    errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			break;
	}
	return bpk_fail_errno(err, errno, "cannot be removed");
}

void bpk_erase_drafts(int folder)
{
	struct bpk_stranger stranger;

	(void)walk_from(folder, NULL, ERASE_DRAFTS, &stranger, NULL);
}
