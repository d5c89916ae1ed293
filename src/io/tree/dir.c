/* Directories of any kind: names checked, hidden names skipped, listings sorted. Readers of
 * datasets call it through io/dir.h. */
#include "io/io.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/tree/dir.h"
#include "io/file/hidden.h"
#include "io/tree/dir_entries.h"

enum { WAIT = 30 }; /* seconds, for the rest of a commit */

struct bpk_dir {
	/* fixed after open */
	const struct bpk_dir_ops *ops;
	void *own;
	struct stat root;

	pthread_mutex_t lock;
	struct stat like;      /* guarded by lock, like the next */
	char folder[PATH_MAX]; /* narrowed like last; "": the root */
	bool is_ours;          /* guarded by lock */
};

int bpk_dir_of(const struct bpk_dir_ops *ops, void *own, struct bpk_dir **dir, struct bpk_err *err)
{
	struct bpk_dir *new = bpk_calloc(1, sizeof *new, err);

	*dir = NULL;
	if (new == NULL) {
		ops->close(own);
		return -1;
	}
	new->ops = ops;
	new->own = own;
	new->root.st_mode = S_IFDIR | 0777;
	new->like = (struct stat){ .st_mode = S_IFREG | 0666,
				   .st_uid = (uid_t)-1,
				   .st_gid = (gid_t)-1,
				   .st_mtim.tv_nsec = UTIME_OMIT };
	pthread_mutex_init(&new->lock, NULL);
	if (bpk_dir_folder_stat(new, "", &new->root, err) != 0) {
		bpk_dir_close(new);
		return -1;
	}
	bpk_stat_narrow(&new->like, &new->root);
	*dir = new;
	return 0;
}

void bpk_dir_close(struct bpk_dir *dir)
{
	if (dir == NULL)
		return;
	dir->ops->close(dir->own);
	pthread_mutex_destroy(&dir->lock);
	free(dir);
}

/* ---- Names ---- */

static const char *why_bad_part(const char *part, size_t size)
{
	if (size == 0)
		return "has an empty part";
	if (size > NAME_MAX)
		return "has a part of more than 255 bytes";
	if (part[0] == '.' && (size == 1 || (size == 2 && part[1] == '.')))
		return "leads elsewhere";
	for (size_t i = 0; i < size; i++)
		if ((uint8_t)part[i] < 0x20 || part[i] == 0x7f)
			return "holds control bytes";
	return NULL;
}

int bpk_dir_check_name(const char *name, struct bpk_err *err)
{
	const char *part = name, *why;
	size_t size;

	if (strlen(name) >= PATH_MAX)
		return bpk_fail(err, BPK_CORRUPT, "a name of %zu bytes is too long", strlen(name));
	for (;; part += size + 1) {
		size = strcspn(part, "/");
		why = why_bad_part(part, size);
		if (why != NULL)
			return bpk_fail(err, BPK_CORRUPT, "the name \"%s\" %s", name, why);
		if (part[size] == '\0')
			return 0;
	}
}

static int check_or_root(const char *name, struct bpk_err *err)
{
	return *name == '\0' ? 0 : bpk_dir_check_name(name, err);
}

/* ---- Permissions ---- */

const struct stat *bpk_dir_stat(const struct bpk_dir *dir)
{
	return &dir->root;
}

int bpk_dir_folder_stat(struct bpk_dir *dir, const char *name, struct stat *found,
			struct bpk_err *err)
{
	return dir->ops->stat == NULL ? 0 : dir->ops->stat(dir->own, name, found, err);
}

struct stat bpk_dir_like(struct bpk_dir *dir)
{
	struct stat like;

	pthread_mutex_lock(&dir->lock);
	like = dir->like;
	pthread_mutex_unlock(&dir->lock);
	return like;
}

/* Narrow the permissions by the folders that name lies in; dir's lock is held. */
static void narrow_by_folders(struct bpk_dir *dir, const char *name)
{
	static const struct stat unknown = { .st_mode = S_IFDIR | 0700,
					     .st_uid = (uid_t)-1,
					     .st_gid = (gid_t)-1 };
	const char *end = strrchr(name, '/');
	size_t size = end == NULL ? 0 : (size_t)(end - name);
	struct stat found = { 0 };

	if (size >= sizeof dir->folder) { /* opened part by part, without openat2 */
		bpk_stat_narrow(&dir->like, &unknown);
		return;
	}
	if (strncmp(dir->folder, name, size) == 0 && dir->folder[size] == '\0')
		return;
	memcpy(dir->folder, name, size + 1);
	for (end = strchr(name, '/'); end != NULL; end = strchr(end + 1, '/')) {
		dir->folder[end - name] = '\0';
		if (bpk_dir_folder_stat(dir, dir->folder, &found, NULL) != 0)
			found = unknown;
		bpk_stat_narrow(&dir->like, &found);
		dir->folder[end - name] = '/';
	}
	dir->folder[size] = '\0';
}

static void narrow(struct bpk_dir *dir, const char *name, const struct bpk_source *source)
{
	if (dir->ops->stat == NULL)
		return;
	pthread_mutex_lock(&dir->lock);
	bpk_stat_narrow(&dir->like, bpk_source_stat(source));
	narrow_by_folders(dir, name);
	pthread_mutex_unlock(&dir->lock);
}

/* ---- Examining and opening ---- */

int bpk_dir_look(struct bpk_dir *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		 struct bpk_err *err)
{
	*entry = BPK_ENTRY_NONE;
	*size = 0;
	if (check_or_root(name, err) != 0)
		return -1;
	if (dir->ops->look(dir->own, name, entry, size, err) != 0)
		return bpk_err_subject(err, "%s", name);
	return 0;
}

int bpk_dir_has(struct bpk_dir *dir, const char *name, enum bpk_entry wanted, bool *has,
		struct bpk_err *err)
{
	enum bpk_entry entry;
	uint64_t size;
	int rc = bpk_dir_look(dir, name, &entry, &size, err);

	*has = rc == 0 && entry == wanted;
	return rc;
}

int bpk_dir_source(struct bpk_dir *dir, const char *name, struct bpk_source **source,
		   struct bpk_err *err)
{
	*source = NULL;
	if (bpk_dir_check_name(name, err) != 0)
		return -1;
	if (dir->ops->source(dir->own, name, source, err) != 0)
		return bpk_err_subject(err, "%s", name);
	narrow(dir, name, *source);
	return 0;
}

void bpk_dir_mark_changed(struct bpk_dir *dir)
{
	pthread_mutex_lock(&dir->lock);
	dir->is_ours = true;
	pthread_mutex_unlock(&dir->lock);
}

void bpk_dir_begin(struct bpk_dir *dir, struct bpk_dir_moment *moment)
{
	pthread_mutex_lock(&dir->lock);
	*moment = (struct bpk_dir_moment){ .fixed = dir->ops->source_as_named == NULL ||
						    dir->is_ours };
	pthread_mutex_unlock(&dir->lock);
	clock_gettime(CLOCK_REALTIME_COARSE, &moment->at);
	clock_gettime(CLOCK_REALTIME, &moment->at_most);
}

int bpk_dir_begun(struct bpk_dir *dir, struct bpk_dir_moment *moment, struct bpk_err *err)
{
	return moment->fixed ? 0 : dir->ops->is_quick(dir->own, &moment->quick, err);
}

bool bpk_dir_is_old(const struct bpk_dir_moment *moment, const struct bpk_source *source)
{
	if (moment->fixed || !moment->quick)
		return moment->fixed;
	return bpk_time_is_before(&bpk_source_stat(source)->st_ctim, &moment->at);
}

bool bpk_dir_is_newer(const struct bpk_dir_moment *moment, const struct bpk_source *source)
{
	return !moment->fixed && moment->quick &&
	       bpk_time_is_before(&moment->at_most, &bpk_source_stat(source)->st_ctim);
}

/* Wait for the end of the tick in which the time at is, if it is the current one. */
static bool end_tick(const struct timespec *at)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct timespec now;
	bool waited = false;

	while (clock_gettime(CLOCK_REALTIME_COARSE, &now), !bpk_time_is_before(at, &now)) {
		nanosleep(&pause, NULL);
		waited = true;
	}
	return waited;
}

int bpk_dir_source_since(struct bpk_dir *dir, const char *name, const struct bpk_dir_moment *moment,
			 struct bpk_source **source, bool *old, struct bpk_err *err)
{
	*source = NULL;
	*old = true;
	if (bpk_dir_check_name(name, err) != 0)
		return -1;
	if (moment->quick && dir->ops->source_as_named(dir->own, name, source) == 0 &&
	    bpk_dir_is_old(moment, *source)) {
		narrow(dir, name, *source);
		return 0;
	}
	bpk_source_close(*source);
	if (bpk_dir_source(dir, name, source, err) != 0)
		return -1;
	*old = bpk_dir_is_old(moment, *source);
	if (*old || !moment->quick || bpk_dir_is_newer(moment, *source) ||
	    !end_tick(&moment->at_most))
		return 0;
	bpk_source_close(*source);
	return bpk_dir_source(dir, name, source, err);
}

int bpk_dir_has_state(struct bpk_dir *dir, const char *name, uint64_t state, bool *has,
		      struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	struct bpk_source *source;

	*has = false;
	if (bpk_dir_source(dir, name, &source, &found) != 0)
		return found.kind == BPK_CORRUPT ? 0 : bpk_fail_as(err, &found);
	*has = bpk_source_has_state(source, state);
	bpk_source_close(source);
	return 0;
}

int bpk_dir_is_current(struct bpk_dir *dir, const char *name, const struct bpk_source *source,
		       bool *current, struct bpk_err *err)
{
	bool overwritten;

	*current = false;
	if (bpk_source_is_overwritten(source, &overwritten, err) != 0)
		return -1;
	*current = !overwritten;
	if (overwritten || dir->ops->is_current == NULL)
		return 0;
	return dir->ops->is_current(dir->own, name, source, current, err);
}

bool bpk_dir_in_change(struct bpk_dir *dir)
{
	return dir->ops->has_writer != NULL && dir->ops->has_writer(dir->own);
}

int bpk_dir_stays_current(struct bpk_dir *dir, const char *name, const struct bpk_source *source,
			  bool *current, struct bpk_err *err)
{
	static const struct timespec pause = { .tv_nsec = 2000000 };
	double end = bpk_clock() + WAIT;
	bool writes;

	do {
		/* in this order: a writer gives its lock back after the commit */
		writes = bpk_dir_in_change(dir);
		if (bpk_dir_is_current(dir, name, source, current, err) != 0)
			return -1;
		if (writes && *current)
			nanosleep(&pause, NULL);
	} while (writes && *current && bpk_clock() < end);
	return 0;
}

bool bpk_dir_pending(const struct bpk_dir *dir)
{
	return dir->ops->pending != NULL && dir->ops->pending(dir->own);
}

const char *bpk_dir_remark(const struct bpk_dir *dir)
{
	return dir->ops->remark != NULL ? dir->ops->remark(dir->own) : NULL;
}

bool bpk_dir_is_torn(const struct bpk_dir *dir)
{
	return dir->ops->is_torn != NULL && dir->ops->is_torn(dir->own);
}

int bpk_dir_generation(struct bpk_dir *dir, uint64_t *generation, struct bpk_err *err)
{
	*generation = 0;
	return dir->ops->generation == NULL ? 0 : dir->ops->generation(dir->own, generation, err);
}

int bpk_dir_in_place(struct bpk_dir *dir, struct bpk_err *err)
{
	bool replaced = false;

	if (dir->ops->is_replaced != NULL && dir->ops->is_replaced(dir->own, &replaced, err) != 0)
		return -1;
	return replaced ? bpk_fail_changed(err) : 0;
}

int bpk_dir_settle(struct bpk_dir *dir, uint64_t generation, bool failed, struct bpk_err *err)
{
	uint64_t now;

	if (bpk_dir_generation(dir, &now, err) != 0)
		return -1;
	if (now != generation)
		return bpk_fail_changed(err);
	return failed ? bpk_dir_in_place(dir, err) : 0;
}

/* ---- Listing ---- */

bool bpk_dir_lists(const struct bpk_dir *dir)
{
	return dir->ops->lists == NULL || dir->ops->lists(dir->own);
}

/* name is the directory's: locks and lists are hidden in the root only. */
static bool is_shown(const struct bpk_dir_entries *entries, size_t i, const char *name)
{
	const struct bpk_dir_entry *entry = bpk_dir_entries_at(entries, i);

	if (entry->entry == BPK_ENTRY_NONE ||
	    (i + 1 < entries->count && strcmp(entry->name, entry[1].name) == 0))
		return false;
	return *name == '\0' ? !bpk_hidden_is_name(entry->name)
			     : !bpk_hidden_is_leftover(entry->name);
}

int bpk_dir_list(struct bpk_dir *dir, const char *name,
		 int (*visit)(void *arg, const char *entry_name, enum bpk_entry entry), void *arg,
		 struct bpk_err *err)
{
	struct bpk_dir_entries entries = { 0 };
	int rc;

	if (check_or_root(name, err) != 0)
		return -1;
	rc = dir->ops->list(dir->own, name, &entries, err);
	if (rc != 0 && *name != '\0')
		bpk_err_subject(err, "%s", name);
	bpk_dir_entries_sort(&entries);
	for (size_t i = 0; rc == 0 && i < entries.count; i++)
		if (is_shown(&entries, i, name))
			rc = visit(arg, bpk_dir_entries_at(&entries, i)->name,
				   bpk_dir_entries_at(&entries, i)->entry);
	bpk_dir_entries_clear(&entries);
	return rc;
}

/* A walk over all files. */
struct walk {
	struct bpk_dir *dir;
	int (*visit)(void *arg, const char *name);
	void *arg;
	const char *folder;
	struct bpk_err *err;
};

static int walk_folder(const struct walk *walk, const char *folder);

static int meet(void *arg, const char *entry_name, enum bpk_entry entry)
{
	const struct walk *walk = arg;
	char *name;
	int rc = 0;

	if (asprintf(&name, "%s%s%s", walk->folder, *walk->folder == '\0' ? "" : "/", entry_name) <
	    0)
		return bpk_fail_memory(walk->err, strlen(entry_name));
	if (entry == BPK_ENTRY_FILE)
		rc = walk->visit(walk->arg, name);
	else if (entry == BPK_ENTRY_DIRECTORY)
		rc = walk_folder(walk, name);
	free(name);
	return rc;
}

/* Folders are as deep as paths are long, which the kernel limits. */
static int walk_folder(const struct walk *walk, const char *folder)
{
	struct walk below = *walk;

	below.folder = folder;
	return bpk_dir_list(walk->dir, folder, meet, &below, walk->err);
}

int bpk_dir_list_files(struct bpk_dir *dir, int (*visit)(void *arg, const char *name), void *arg,
		       struct bpk_err *err)
{
	const struct walk walk = { .dir = dir, .visit = visit, .arg = arg, .err = err };

	return walk_folder(&walk, "");
}
