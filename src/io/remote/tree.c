/*
 * Directories behind URLs: the file NAME is the URL/NAME. Called by place.c and walk.c, and by
 * readers of datasets through io/dir.h.
 *
 * A store lists its folders; each is listed once, and answers all questions for names in it. A web
 * server does not, and a store only those who may. Then a file is asked for, and kept until it
 * is opened.
 */
#include "io/remote.h"

#include <pthread.h>
#include <stdlib.h>

#include "io/dir.h"
#include "io/remote/list.h"
#include "io/remote/seen.h"
#include "io/remote/source.h"
#include "io/tree/dir.h"
#include "io/tree/dir_entries.h"

enum {
	KEPT = 8,            /* answers that wait for their use */
	GENERATION_SIZE = 8, /* bytes of the number in .lock: io/tree/generation.c */
	COMPARED = 4096,     /* bytes that tell a file from the one that replaced it */
};

/* A folder that was listed; fixed once made. */
struct folder {
	struct folder *next;
	char *name; /* "" is the root */
	struct bpk_listing listing;
};

/* An answer to look: the file, or that there is none. */
struct kept {
	char *name; /* NULL: free */
	struct bpk_source *source;
};

struct tree {
	/* fixed after open */
	struct bpk_url url; /* ends with "/" */
	bool lists;
	struct bpk_err denied; /* why the store does not list; reset once it was reported */

	pthread_mutex_t lock;   /* guards the following */
	struct folder *folders; /* these are only added */
	struct kept kept[KEPT];
	unsigned next_kept;
	struct bpk_seen members; /* files opened so far */
};

static int fail_listing(struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "a web server does not list its directories");
}

/* ---- listings, with the lock ---- */

static struct folder *find_folder(const struct tree *tree, const char *name, size_t size)
{
	struct folder *folder = tree->folders;

	while (folder != NULL &&
	       (strncmp(folder->name, name, size) != 0 || folder->name[size] != '\0'))
		folder = folder->next;
	return folder;
}

static void free_folder(struct folder *folder)
{
	bpk_listing_clear(&folder->listing);
	free(folder->name);
	free(folder);
}

static int list_url(const struct tree *tree, const char *name, struct bpk_listing *listing,
		    enum bpk_outcome *outcome, struct bpk_err *err)
{
	struct bpk_url folder;
	int rc;

	*outcome = BPK_OUTCOME_FAILED;
	rc = bpk_url_below(&tree->url, name, &folder, err);
	if (rc == 0)
		rc = bpk_listing_make(&folder, SIZE_MAX, listing, outcome, err);
	bpk_url_clear(&folder);
	return rc;
}

/* The listing of the folder of the size bytes at name. */
static struct folder *list_folder(struct tree *tree, const char *name, size_t size,
				  enum bpk_outcome *outcome, struct bpk_err *err)
{
	struct folder *folder = find_folder(tree, name, size);
	char *path;

	if (folder != NULL)
		return folder;
	folder = bpk_calloc(1, sizeof *folder, err);
	if (folder == NULL)
		return NULL;
	/* with a slash behind, but for the root */
	path = bpk_calloc(1, size + 2, err);
	folder->name = bpk_calloc(1, size + 1, err);
	if (path != NULL && folder->name != NULL) {
		memcpy(folder->name, name, size);
		memcpy(path, name, size);
		path[size] = size > 0 ? '/' : '\0';
		if (list_url(tree, path, &folder->listing, outcome, err) == 0) {
			free(path);
			folder->next = tree->folders;
			tree->folders = folder;
			return folder;
		}
	}
	free(path);
	free_folder(folder);
	return NULL;
}

/* Look name up in the listings of the folders on its way; *found is NULL if it is in none. */
static int look_in_lists(struct tree *tree, const char *name, const struct bpk_listed **found,
			 struct bpk_err *err)
{
	enum bpk_outcome outcome;
	const char *part = name;

	for (*found = NULL;;) {
		size_t size = part == name ? 0 : (size_t)(part - name) - 1;
		size_t length = strcspn(part, "/");
		struct folder *folder = list_folder(tree, name, size, &outcome, err);

		if (folder == NULL)
			return -1;
		*found = bpk_listing_find(&folder->listing, part, length);
		if (*found == NULL || part[length] == '\0')
			return 0;
		part += length + 1;
	}
}

/* The size of a file, if its folder was listed; 0: unknown. */
static uint64_t size_in_lists(struct tree *tree, const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash == NULL ? name : slash + 1;
	const struct bpk_listed *entry = NULL;
	struct folder *folder;

	pthread_mutex_lock(&tree->lock);
	folder = find_folder(tree, name, slash == NULL ? 0 : (size_t)(slash - name));
	if (folder != NULL)
		entry = bpk_listing_find(&folder->listing, base, strlen(base));
	pthread_mutex_unlock(&tree->lock);
	return entry == NULL ? 0 : entry->size;
}

/* ---- kept answers ---- */

static struct kept *find_kept(struct tree *tree, const char *name)
{
	for (size_t i = 0; i < KEPT; i++)
		if (tree->kept[i].name != NULL && strcmp(tree->kept[i].name, name) == 0)
			return &tree->kept[i];
	return NULL;
}

static void drop_kept(struct kept *kept)
{
	bpk_source_close(kept->source);
	free(kept->name);
	*kept = (struct kept){ 0 };
}

/* Keep an answer, instead of the oldest; without memory it is asked for again. Takes source. */
static struct kept *keep(struct tree *tree, const char *name, struct bpk_source *source)
{
	struct kept *kept = &tree->kept[tree->next_kept++ % KEPT];

	drop_kept(kept);
	*kept = (struct kept){ bpk_strdup(name, NULL), source };
	if (kept->name == NULL)
		drop_kept(kept);
	return kept;
}

/* ---- the operations ---- */

static int open_below(const struct tree *tree, const char *name, uint64_t size,
		      struct bpk_source **source, enum bpk_outcome *outcome, struct bpk_err *err)
{
	struct bpk_url url;

	*source = NULL;
	*outcome = BPK_OUTCOME_FAILED;
	if (bpk_url_below(&tree->url, name, &url, err) != 0)
		return -1;
	return bpk_remote_source(&url, size, source, outcome, err);
}

/* Report that the store does not list, once a file of the directory was found nevertheless; with
 * the lock. */
static void tell_denied(struct tree *tree)
{
	if (tree->denied.kind != BPK_OK)
		bpk_request_tell(tree->url.text, tree->denied.text);
	tree->denied = (struct bpk_err){ 0 };
}

/* A store denies access to a missing file, too, to those who may not list. */
static bool is_absent(enum bpk_outcome outcome)
{
	return outcome == BPK_OUTCOME_MISSING || outcome == BPK_OUTCOME_DENIED;
}

/* Ask for the file, with the lock, and keep the answer. */
static int look_by_request(struct tree *tree, const char *name, enum bpk_entry *entry,
			   uint64_t *size, struct bpk_err *err)
{
	struct kept *kept = find_kept(tree, name);
	enum bpk_outcome outcome;
	struct bpk_source *source = NULL;
	struct bpk_err why = { 0 };

	if (kept != NULL)
		source = kept->source;
	else if (open_below(tree, name, 0, &source, &outcome, &why) != 0 && !is_absent(outcome))
		return bpk_fail_as(err, &why);
	if (source != NULL) {
		*entry = BPK_ENTRY_FILE;
		*size = bpk_source_size(source);
		tell_denied(tree);
	}
	if (kept == NULL)
		keep(tree, name, source);
	return 0;
}

static int tree_look(void *dir, const char *name, enum bpk_entry *entry, uint64_t *size,
		     struct bpk_err *err)
{
	struct tree *tree = dir;
	const struct bpk_listed *found;
	int rc;

	if (*name == '\0') {
		*entry = BPK_ENTRY_DIRECTORY;
		return 0;
	}
	pthread_mutex_lock(&tree->lock);
	if (!tree->lists) {
		rc = look_by_request(tree, name, entry, size, err);
	} else {
		rc = look_in_lists(tree, name, &found, err);
		if (rc == 0 && found != NULL) {
			*entry = found->is_folder ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_FILE;
			*size = found->size;
		}
	}
	pthread_mutex_unlock(&tree->lock);
	return rc;
}

static int open_member(void *arg, const char *name, struct bpk_source **source, struct bpk_err *err)
{
	struct tree *tree = arg;
	enum bpk_outcome outcome;

	if (open_below(tree, name, size_in_lists(tree, name), source, &outcome, err) == 0)
		return 0;
	return outcome == BPK_OUTCOME_MISSING ? bpk_fail(err, BPK_CORRUPT, "is missing") : -1;
}

/* Take the file that look has kept, with the lock; NULL: it has none. */
static struct bpk_source *take_kept(struct tree *tree, const char *name)
{
	struct kept *kept = find_kept(tree, name);
	struct bpk_source *source = kept != NULL ? kept->source : NULL;

	if (source != NULL) {
		kept->source = NULL;
		drop_kept(kept);
	}
	return source;
}

static int tree_source(void *dir, const char *name, struct bpk_source **source, struct bpk_err *err)
{
	struct tree *tree = dir;
	int rc = 0;

	pthread_mutex_lock(&tree->lock);
	*source = take_kept(tree, name);
	if (*source == NULL)
		rc = bpk_seen_open(&tree->members, name, open_member, tree, source, err);
	pthread_mutex_unlock(&tree->lock);
	if (rc != 0 || *source != NULL)
		return rc;
	if (open_member(tree, name, source, err) != 0)
		return -1;
	pthread_mutex_lock(&tree->lock);
	tell_denied(tree);
	bpk_seen_add(&tree->members, name, *source);
	pthread_mutex_unlock(&tree->lock);
	return 0;
}

/* *same: both begin alike, and have one size. */
static int compare(const struct bpk_source *was, struct bpk_source *is, bool *same,
		   struct bpk_err *err)
{
	uint8_t before[COMPARED], now[COMPARED];
	size_t size, got;

	*same = false;
	if (bpk_source_size(was) != bpk_source_size(is) ||
	    bpk_source_read_at((struct bpk_source *)was, 0, bpk_span(before, COMPARED), &size,
			       NULL) != 0)
		return 0; /* its bytes are not there any more */
	if (bpk_source_read_at(is, 0, bpk_span(now, COMPARED), &got, err) != 0)
		return -1;
	*same = got == size && memcmp(before, now, size) == 0;
	return 0;
}

/* Asked where a file was missing or wrong. All beginnings of files are forgotten once one of them
 * was replaced. */
static int tree_is_current(void *dir, const char *name, const struct bpk_source *source,
			   bool *current, struct bpk_err *err)
{
	struct tree *tree = dir;
	enum bpk_outcome outcome;
	struct bpk_source *now;
	int rc;

	*current = false;
	if (open_below(tree, name, bpk_source_size(source), &now, &outcome, err) != 0) {
		if (!is_absent(outcome))
			return -1;
	} else {
		rc = compare(source, now, current, err);
		bpk_source_close(now);
		if (rc != 0)
			return -1;
	}
	if (*current)
		return 0;
	pthread_mutex_lock(&tree->lock);
	bpk_seen_clear(&tree->members);
	pthread_mutex_unlock(&tree->lock);
	return 0;
}

static int add_entries(const struct bpk_listing *listing, struct bpk_dir_entries *entries,
		       struct bpk_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < listing->count; i++) {
		const struct bpk_listed *entry = bpk_listing_at(listing, i);

		rc = bpk_dir_entries_add(entries, bpk_listing_name(listing, entry),
					 entry->is_folder ? BPK_ENTRY_DIRECTORY : BPK_ENTRY_FILE,
					 err);
		if (rc == 0)
			bpk_dir_entries_at(entries, entries->count - 1)->size = entry->size;
	}
	return rc;
}

static int tree_list(void *dir, const char *name, struct bpk_dir_entries *entries,
		     struct bpk_err *err)
{
	struct tree *tree = dir;
	enum bpk_outcome outcome;
	struct folder *folder;

	if (!tree->lists)
		return fail_listing(err);
	pthread_mutex_lock(&tree->lock);
	folder = list_folder(tree, name, strlen(name), &outcome, err);
	pthread_mutex_unlock(&tree->lock);
	if (folder == NULL)
		return -1;
	if (folder->listing.count == 0 && *name != '\0')
		return bpk_fail(err, BPK_CORRUPT, "is not a directory");
	return add_entries(&folder->listing, entries, err);
}

static bool tree_lists(const void *dir)
{
	const struct tree *tree = dir;

	return tree->lists;
}

static int tree_generation(void *dir, uint64_t *generation, struct bpk_err *err)
{
	uint8_t bytes[GENERATION_SIZE + 1];
	struct bpk_err why = { 0 };
	enum bpk_outcome outcome;
	struct bpk_source *source;
	size_t got;
	int rc;

	if (open_below(dir, BPK_DIR_LOCK, sizeof bytes, &source, &outcome, &why) != 0) {
		if (is_absent(outcome))
			return 0;
		bpk_fail_as(err, &why);
		return bpk_err_subject(err, BPK_DIR_LOCK);
	}
	rc = bpk_source_read_at(source, 0, bpk_span(bytes, sizeof bytes), &got, err);
	if (rc == 0 && got == GENERATION_SIZE)
		*generation = bpk_get_le64(bytes);
	bpk_source_close(source);
	return rc;
}

static void tree_close(void *dir)
{
	struct tree *tree = dir;

	for (struct folder *next; tree->folders != NULL; tree->folders = next) {
		next = tree->folders->next;
		free_folder(tree->folders);
	}
	for (size_t i = 0; i < KEPT; i++)
		drop_kept(&tree->kept[i]);
	bpk_seen_clear(&tree->members);
	pthread_mutex_destroy(&tree->lock);
	bpk_url_clear(&tree->url);
	free(tree);
}

static const struct bpk_dir_ops ops = {
	.look = tree_look,
	.source = tree_source,
	.is_current = tree_is_current,
	.list = tree_list,
	.lists = tree_lists,
	.generation = tree_generation,
	.close = tree_close,
};

/* ---- walks ---- */

int bpk_remote_entries(const char *path, struct bpk_dir_entries *entries, struct bpk_err *err)
{
	struct bpk_listing listing = { 0 };
	enum bpk_outcome outcome;
	struct bpk_url url;
	int rc = bpk_url_make(path, &url, err);

	if (rc == 0)
		rc = url.store == NULL ? fail_listing(err)
				       : bpk_listing_make(&url, SIZE_MAX, &listing, &outcome, err);
	if (rc == 0)
		rc = add_entries(&listing, entries, err);
	bpk_listing_clear(&listing);
	bpk_url_clear(&url);
	return rc;
}

int bpk_remote_has_folder(const char *path, bool *has, struct bpk_err *err)
{
	struct bpk_listing listing = { 0 };
	enum bpk_outcome outcome;
	struct bpk_url url, folder = { 0 };
	int rc = bpk_url_make(path, &url, err);

	*has = false;
	if (rc == 0 && url.store != NULL) {
		rc = bpk_url_below(&url, bpk_remote_is_folder(path) ? "" : "/", &folder, err);
		if (rc == 0)
			rc = bpk_listing_make(&folder, 1, &listing, &outcome, err);
		*has = rc == 0 && listing.count > 0;
	}
	bpk_listing_clear(&listing);
	bpk_url_clear(&folder);
	bpk_url_clear(&url);
	return rc;
}

/* ---- opening ---- */

/* List the root, which shows whether the store lists at all. */
static int list_root(struct tree *tree, struct bpk_err *err)
{
	enum bpk_outcome outcome;
	struct bpk_err why = { 0 };
	struct folder *root = list_folder(tree, "", 0, &outcome, &why);

	tree->lists = root != NULL;
	if (root == NULL && outcome != BPK_OUTCOME_DENIED)
		return bpk_fail_as(err, &why);
	if (root == NULL) {
		tree->denied = why;
		return 0;
	}
	if (root->listing.count == 0)
		return bpk_fail(err, BPK_FAILED, "does not exist");
	if (bpk_listing_find(&root->listing, BPK_DIR_LIST, strlen(BPK_DIR_LIST)) != NULL)
		return bpk_fail(err, BPK_FAILED,
				"holds " BPK_DIR_LIST ", a change that was interrupted; bpk repair "
				"--in-place COPY settles it in a local copy");
	return 0;
}

int bpk_remote_dir_open(const char *path, struct bpk_dir **dir, struct bpk_err *err)
{
	struct tree *tree = bpk_calloc(1, sizeof *tree, err);

	*dir = NULL;
	if (tree == NULL)
		return -1;
	pthread_mutex_init(&tree->lock, NULL);
	if (bpk_url_make(path, &tree->url, err) != 0 ||
	    (tree->url.store != NULL && list_root(tree, err) != 0)) {
		tree_close(tree);
		return -1;
	}
	return bpk_dir_of(&ops, tree, dir, err);
}
