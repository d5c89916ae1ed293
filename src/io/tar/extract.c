/*
 * Extraction. libarchive only reads, because its own extraction writes files under their final
 * names. The checks of its flags SECURE_NODOTDOT, SECURE_NOABSOLUTEPATHS and SECURE_SYMLINKS are
 * made here by bpk_tar_clean and io/beneath.h, which opens every folder below the target without
 * following links; so a link that is in the tar, or created meanwhile, leads nowhere. bpk tar -x
 * calls it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/tree/dir.h"
#include "io/file/draft.h"
#include "io/file/hidden.h"
#include "io/tar/hold.h"
#include "io/tar/name.h"
#include "io/tar/read.h"

/* A folder in the tar. It gets its mode and time after its content. */
struct folder {
	char *name;
	mode_t mode;
	struct timespec time;
};

struct extraction {
	const struct bpk_tar_extract_options *options;
	struct bpk_tar_stream *stream;
	int root;
	struct bpk_buf folders; /* of struct folder */
	struct bpk_tar_holds holds;
	void *made; /* tree of names made here, which later members may replace */
	uint64_t skipped;
};

/* The current member. */
struct member {
	const struct bpk_tar_entry *entry;
	char *name;       /* clean; owned */
	int folder;       /* that holds it, or -1 */
	const char *base; /* its name there */
};

/* ---- Names made ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool is_made(const struct extraction *x, const char *name)
{
	return tfind(name, &x->made, compare_names) != NULL;
}

static int remember(struct extraction *x, const char *name, struct bpk_err *err)
{
	char *copy;

	if (is_made(x, name))
		return 0;
	copy = bpk_strdup(name, err);
	if (copy == NULL)
		return -1;
	if (tsearch(copy, &x->made, compare_names) != NULL)
		return 0;
	free(copy);
	return bpk_fail_memory(err, strlen(name));
}

static void leave_out(struct extraction *x, const struct member *member, const char *reason)
{
	x->skipped++;
	if (x->options->tell != NULL)
		x->options->tell(x->options->arg, member->entry->name, reason);
}

/* ---- Folders ---- */

/* Create the folder name, base in the open folder parent. */
static int make_folder(struct extraction *x, int parent, const char *base, const char *name,
		       mode_t mode, struct bpk_err *err)
{
	/* writable for us until the end, whatever the tar says */
	if (mkdirat(parent, base, mode | 0700) != 0)
		return bpk_fail_errno(err, errno, "cannot make the folder");
	if (x->options->sync && bpk_folder_sync(parent) != 0)
		return bpk_fail_errno(err, errno, "sync its folder");
	return remember(x, name, err);
}

/* Make the missing folders above name, one by one from the top. */
static int make_parents(struct extraction *x, const char *name, struct bpk_err *err)
{
	char *path = bpk_strdup(name, err);
	int rc = path == NULL ? -1 : 0;

	for (char *slash = path; rc == 0 && (slash = strchr(slash, '/')) != NULL; slash++) {
		const char *base;
		struct stat found;
		int parent;

		*slash = '\0';
		if (bpk_beneath_stat(x->root, path, &found) != 0 && errno == ENOENT) {
			parent = bpk_beneath_parent(x->root, path, &base);
			if (parent < 0)
				rc = bpk_fail_errno(err, errno, "cannot open its folder");
			else
				rc = make_folder(x, parent, base, path, 0777, err);
			if (parent >= 0)
				close(parent);
		}
		*slash = '/';
	}
	free(path);
	return rc;
}

/* Open the folder that holds member, after creating it if necessary. Returns 1 if the member is
 * skipped. */
static int open_parent(struct extraction *x, struct member *member, struct bpk_err *err)
{
	member->folder = bpk_beneath_parent(x->root, member->name, &member->base);
	if (member->folder < 0 && errno == ENOENT) {
		if (make_parents(x, member->name, err) != 0)
			return -1;
		member->folder = bpk_beneath_parent(x->root, member->name, &member->base);
	}
	if (member->folder >= 0)
		return 0;
	if (errno != ELOOP && errno != ENOTDIR)
		return bpk_fail_errno(err, errno, "cannot open its folder");
	leave_out(x, member, "lies behind a link, or below a file");
	return 1;
}

static int extract_folder(struct extraction *x, const struct member *member, struct bpk_err *err)
{
	const struct stat *stat = member->entry->stat;
	struct folder folder = { .mode = stat->st_mode & 0777, .time = stat->st_mtim };
	struct stat found;

	if (fstatat(member->folder, member->base, &found, AT_SYMLINK_NOFOLLOW) != 0) {
		if (make_folder(x, member->folder, member->base, member->name, folder.mode, err) !=
		    0)
			return -1;
	} else if (!S_ISDIR(found.st_mode)) {
		leave_out(x, member, "already exists, and is no folder");
		return 1;
	} else if (!is_made(x, member->name)) {
		return 0; /* an existing folder keeps its mode and time */
	}
	folder.name = bpk_strdup(member->name, err);
	if (folder.name == NULL ||
	    bpk_buf_append(&x->folders, bpk_view(&folder, sizeof folder), err) != 0) {
		free(folder.name);
		return -1;
	}
	return 0;
}

/* The folder was created with the tar's permissions and the owner's, or with all that the umask
 * allows; remove those that the tar does not give. Set-id bits never come from the tar. */
static void finish_folder(const struct extraction *x, const struct folder *folder)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, folder->time };
	int fd = bpk_beneath_open(x->root, folder->name, O_RDONLY | O_DIRECTORY);
	struct stat found;

	if (fd < 0)
		return;
	if (fstat(fd, &found) == 0) {
		(void)futimens(fd, times);
		found.st_mode = bpk_acl_mode(fd, found.st_mode);
		bpk_acl_set_mode(fd, fd, found.st_mode & (S_ISGID | folder->mode), false);
	}
	close(fd);
}

/* Outer folders come before inner ones, so the last one is finished first. */
static void finish_folders(struct extraction *x)
{
	struct folder *folders = (struct folder *)(void *)x->folders.data;

	for (size_t i = x->folders.size / sizeof *folders; i-- > 0;) {
		finish_folder(x, &folders[i]);
		free(folders[i].name);
	}
	bpk_buf_clear(&x->folders);
}

/* ---- Files ---- */

/* Check whether the file may be written there. Returns 1 if it is skipped. */
static int check_target(struct extraction *x, const struct member *member, bool *overwrite)
{
	struct stat found;

	*overwrite = x->options->overwrite || is_made(x, member->name);
	if (fstatat(member->folder, member->base, &found, AT_SYMLINK_NOFOLLOW) != 0)
		return 0; /* other problems show when it is written */
	if (S_ISREG(found.st_mode) || S_ISLNK(found.st_mode)) {
		if (*overwrite)
			return 0;
		leave_out(x, member, "already exists");
	} else {
		leave_out(x, member, "already exists, and is not a regular file");
	}
	return 1;
}

static int copy_content(struct extraction *x, const struct bpk_tar_entry *entry,
			struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_view bytes;
	uint64_t offset;
	int rc;

	while ((rc = bpk_tar_stream_data(x->stream, &bytes, &offset, err)) == 0) {
		if (offset > entry->size || bytes.size > entry->size - offset)
			return bpk_fail(err, BPK_CORRUPT, "tar is broken: data behind its end");
		if (bpk_draft_write_at(draft, offset, bytes, err) != 0)
			return -1;
	}
	return rc < 0 ? -1 : bpk_draft_set_size(draft, entry->size, err);
}

static int extract_file(struct extraction *x, const struct member *member, struct bpk_err *err)
{
	struct bpk_draft_options options = { .sync = x->options->sync };
	struct stat like = *member->entry->stat;
	struct bpk_draft *draft;

	if (check_target(x, member, &options.overwrite) != 0)
		return 1;
	if (bpk_tar_hold(&x->holds, x->root, member->name, err) != 0)
		return -1;
	if (bpk_draft_open_at(member->folder, member->base, &options, &draft, err) != 0)
		return -1;
	/* remember it first: nothing may fail after it has its name */
	if (copy_content(x, member->entry, draft, err) != 0 ||
	    remember(x, member->name, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	like.st_mode = S_IFREG | (like.st_mode & 0777);
	like.st_uid = (uid_t)-1; /* keep owner and group of new files here */
	like.st_gid = (gid_t)-1;
	return bpk_draft_keep(draft, &like, err);
}

/* ---- Links ---- */

/* rc is the result of making a link, which never replaces anything. */
static int finish_link(struct extraction *x, const struct member *member, int rc,
		       struct bpk_err *err)
{
	if (rc != 0 && errno != EEXIST)
		return bpk_fail_errno(err, errno, "cannot make the link");
	if (rc != 0) {
		leave_out(x, member, "already exists, and a link does not replace it");
		return 1;
	}
	if (x->options->sync && bpk_folder_sync(member->folder) != 0)
		return bpk_fail_errno(err, errno, "sync its folder");
	return remember(x, member->name, err);
}

static int link_to(struct extraction *x, const struct member *member, const char *target,
		   struct bpk_err *err)
{
	const char *base = NULL;
	int folder = bpk_beneath_parent(x->root, target, &base);
	struct stat found;
	int rc;

	if (folder < 0 || fstatat(folder, base, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(found.st_mode)) {
		leave_out(x, member, "is a hard link to a missing or special file");
		rc = 1;
	} else {
		rc = linkat(folder, base, member->folder, member->base, 0);
		rc = finish_link(x, member, rc, err);
	}
	if (folder >= 0)
		close(folder);
	return rc;
}

static int extract_hard_link(struct extraction *x, const struct member *member, struct bpk_err *err)
{
	const char *link = member->entry->link;
	char *target = bpk_strdup(link, err);
	int rc = 1;

	if (target == NULL)
		return -1;
	if (bpk_tar_clean(link, target) != NULL || *target == '\0')
		leave_out(x, member, "is a hard link out of the folder");
	else
		rc = link_to(x, member, target, err);
	free(target);
	return rc;
}

static int extract_link(struct extraction *x, const struct member *member, struct bpk_err *err)
{
	const char *link = member->entry->link;

	if (member->entry->is_hard_link)
		return extract_hard_link(x, member, err);
	if (!bpk_tar_link_stays(member->name, link)) {
		leave_out(x, member, "is a symbolic link that may lead out of the folder");
		return 1;
	}
	return finish_link(x, member, symlinkat(link, member->folder, member->base), err);
}

/* ---- Members ---- */

/* Returns 1 if it was skipped, which has been reported. */
static int extract_found(struct extraction *x, struct member *member, struct bpk_err *err)
{
	const struct bpk_tar_entry *entry = member->entry;
	int rc;

	if (entry->entry == BPK_ENTRY_OTHER && entry->link == NULL) {
		leave_out(x, member, "is a device, a FIFO or a socket");
		return 1;
	}
	rc = open_parent(x, member, err);
	if (rc != 0)
		return rc;
	if (entry->entry == BPK_ENTRY_DIRECTORY)
		return extract_folder(x, member, err);
	if (entry->entry == BPK_ENTRY_FILE)
		return extract_file(x, member, err);
	return extract_link(x, member, err);
}

/* Leftovers of a writer would belong to another archive here: a lock, a list of changes, a journal,
 * a draft, or a file in a draft. */
static const char *why_left_over(const char *name)
{
	char part[PATH_MAX];

	for (size_t size; *name != '\0'; name += size + (name[size] == '/')) {
		size = strcspn(name, "/");
		snprintf(part, sizeof part, "%.*s", (int)size, name);
		if (bpk_hidden_is_name(part) || (name[size] == '\0' && bpk_sidecar_is_name(part)))
			return "is a journal, a list of changes, a lock or a draft of another"
			       " archive";
	}
	return NULL;
}

static int extract_one(struct extraction *x, const struct bpk_tar_entry *entry, struct bpk_err *err)
{
	struct member member = { .entry = entry, .folder = -1 };
	const char *why;
	int rc = 0;

	member.name = bpk_strdup(entry->name, err);
	if (member.name == NULL)
		return -1;
	why = bpk_tar_clean(entry->name, member.name);
	if (why == NULL && *member.name == '\0' && entry->entry != BPK_ENTRY_DIRECTORY)
		why = "has no name";
	if (why == NULL)
		why = why_left_over(member.name);
	if (why != NULL)
		leave_out(x, &member, why);
	else if (*member.name != '\0')
		rc = extract_found(x, &member, err);
	if (rc < 0)
		bpk_err_subject(err, "%s", entry->name);
	else if (rc == 0 && why == NULL && *member.name != '\0' && x->options->tell != NULL)
		x->options->tell(x->options->arg, entry->name, NULL);
	if (member.folder >= 0)
		close(member.folder);
	free(member.name);
	return rc < 0 ? -1 : 0;
}

static int extract_all(struct extraction *x, struct bpk_err *err)
{
	const struct bpk_tar_entry *entry;
	int rc;

	do {
		rc = bpk_tar_stream_next(x->stream, &entry, err);
		if (rc == 0 && extract_one(x, entry, err) != 0)
			rc = -1;
	} while (rc == 0);
	return rc < 0 ? -1 : bpk_tar_stream_check_rest(x->stream, err);
}

int bpk_tar_extract(struct bpk_source *source, const char *folder,
		    const struct bpk_tar_extract_options *options, uint64_t *skipped,
		    struct bpk_err *err)
{
	struct extraction x = { .options = options, .root = bpk_folder_open(folder) };
	int rc = -1;

	*skipped = 0;
	if (x.root < 0) {
		bpk_fail_errno(err, errno, "cannot open the folder %s", folder);
	} else if (bpk_tar_stream_open(source, &x.stream, err) == 0) {
		rc = extract_all(&x, err);
		finish_folders(&x);
		*skipped = x.skipped;
	}
	bpk_tar_stream_close(x.stream);
	bpk_tar_holds_clear(&x.holds);
	tdestroy(x.made, free);
	if (x.root >= 0)
		close(x.root);
	return rc;
}
