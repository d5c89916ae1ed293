/* Results and operands of one command, in a tree by device and inode. Called by operands.c and
 * transfer.c. */
#include "cli/results.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/transfer.h"
#include "cli/text.h"

/* A file, directory or link. It is operand and result where a removed operand's inode was used
 * again. */
struct node {
	dev_t device;
	ino_t inode;
	size_t place;       /* behind the last operand lost with it; 0: no operand */
	size_t itself;      /* behind the last operand that it is; 0: no operand */
	const char *result; /* the operand whose result it is, or NULL. Borrowed */
	struct node *above; /* the folder that holds it, on the way up from nearest */
};

struct operand {
	bool is_done;
	bool is_small; /* a small file, and no other operand is the same one */
};

/* A result in a store. */
struct remote {
	const char *source; /* the operand whose result it is. Borrowed */
	char url[];
};

struct bpk_results {
	void *tree;    /* of struct node */
	void *remotes; /* of struct remote */
	struct operand *operands;
	bool has_folders; /* an operand is one */
	size_t current;

	/* while operands are added: the folder of the last one, if no link leads to it. Operands of
	 * one folder mostly follow each other */
	const char *folder; /* as the operand spells it, folder_size bytes; NULL: none. Borrowed */
	size_t folder_size;
	struct node *nearest;
};

static int compare(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->inode > b->inode) - (a->inode < b->inode);
}

/* The node of a file, added if it is missing; NULL without memory. */
static struct node *node_of(struct bpk_results *results, const struct stat *found,
			    struct bpk_err *err)
{
	struct node *node = bpk_calloc(1, sizeof *node, err), **seen;

	if (node == NULL)
		return NULL;
	node->device = found->st_dev;
	node->inode = found->st_ino;
	seen = tsearch(node, &results->tree, compare);
	if (seen == NULL)
		bpk_fail_memory(err, sizeof *node);
	if (seen == NULL || *seen != node)
		free(node);
	return seen == NULL ? NULL : *seen;
}

/* ---- operands ---- */

/* Devices, pipes and terminals can be both ends of a command. */
static bool can_be_lost(const struct stat *found)
{
	return S_ISREG(found->st_mode) || S_ISDIR(found->st_mode) || S_ISLNK(found->st_mode);
}

static int add_operand(struct bpk_results *results, const struct stat *found, bool is_holder,
		       size_t number, struct bpk_err *err)
{
	struct node *node;

	if (!can_be_lost(found))
		return 0;
	node = node_of(results, found, err);
	if (node == NULL)
		return -1;
	node->place = number + 1;
	if (is_holder)
		return 0;
	if (node->itself > 0)
		results->operands[node->itself - 1].is_small = false;
	results->operands[number].is_small =
		S_ISREG(found->st_mode) && node->itself == 0 && found->st_size <= BPK_SMALL_FILE;
	node->itself = number + 1;
	results->has_folders = results->has_folders || S_ISDIR(found->st_mode);
	return 0;
}

/* The result of standard input goes to standard output, which may be a file with a name. */
static int add_streams(struct bpk_results *results, const char *path, size_t number,
		       struct bpk_err *err)
{
	struct stat found;
	struct node *node;

	if (fstat(STDIN_FILENO, &found) == 0 &&
	    add_operand(results, &found, false, number, err) != 0)
		return -1;
	if (fstat(STDOUT_FILENO, &found) != 0 || !can_be_lost(&found))
		return 0;
	node = node_of(results, &found, err);
	if (node == NULL)
		return -1;
	node->result = path;
	return 0;
}

/* An operand being added, for add_folder. */
struct adding {
	struct bpk_results *results;
	size_t number;
	struct node **holder; /* where the next folder on the way up is noted */
	struct bpk_err *err;
	int rc;
};

static bool add_folder(void *arg, const struct stat *folder)
{
	struct adding *a = arg;
	struct node *node = node_of(a->results, folder, a->err);

	a->rc = node == NULL ? -1 : 0;
	if (node == NULL)
		return true;
	node->place = a->number + 1;
	node->above = NULL;
	*a->holder = node;
	a->holder = &node->above;
	return false;
}

/* A file, as itself and as the target of a link, and the folders that either lies in. */
static int add_file(struct bpk_results *results, const char *path, size_t number,
		    struct bpk_err *err)
{
	struct adding a = {
		.results = results, .number = number, .holder = &results->nearest, .err = err
	};
	struct stat found;
	bool is_link;

	if (lstat(path, &found) != 0)
		return 0;
	if (add_operand(results, &found, false, number, err) != 0)
		return -1;
	is_link = S_ISLNK(found.st_mode);
	if (is_link && stat(path, &found) == 0 &&
	    add_operand(results, &found, false, number, err) != 0)
		return -1;
	if (!bpk_path_lies_in(path, false, add_folder, &a) && is_link)
		bpk_path_lies_in(path, true, add_folder, &a);
	return a.rc;
}

/* What path names in front of a separator: links to folders, or a tar. Names may hold colons, so
 * each cut is tried. *nlinks: the number of links. */
static int add_holders(struct bpk_results *results, const char *path, char separator, size_t number,
		       size_t *nlinks, struct bpk_err *err)
{
	char *holder = bpk_strdup(path, err);
	struct stat found;
	int rc = holder == NULL ? -1 : 0;

	*nlinks = 0;
	for (char *cut = holder == NULL ? NULL : strchr(holder, separator); rc == 0 && cut != NULL;
	     cut = strchr(cut + 1, separator)) {
		bool there;

		*cut = '\0';
		there = lstat(holder, &found) == 0;
		*nlinks += there && S_ISLNK(found.st_mode);
		if (there && separator == ':')
			rc = add_file(results, holder, number, err);
		else if (there && S_ISLNK(found.st_mode))
			rc = add_operand(results, &found, true, number, err);
		*cut = separator;
	}
	free(holder);
	return rc;
}

/* A file in the folder of the last operand: nothing above it is looked at again. */
static int add_neighbour(struct bpk_results *results, const struct stat *found, size_t number,
			 struct bpk_err *err)
{
	for (struct node *node = results->nearest; node != NULL; node = node->above)
		node->place = number + 1;
	return add_operand(results, found, false, number, err);
}

static size_t size_of_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static bool is_neighbour(const struct bpk_results *results, const char *path)
{
	return results->folder != NULL && size_of_folder(path) == results->folder_size &&
	       memcmp(path, results->folder, results->folder_size) == 0;
}

/* An operand that is missing is reported when it is opened. */
static int add_path(struct bpk_results *results, const char *path, size_t number,
		    struct bpk_err *err)
{
	struct stat found;
	size_t nlinks;
	bool there;

	if (strcmp(path, "-") == 0)
		return add_streams(results, path, number, err);
	there = lstat(path, &found) == 0;
	if (there && S_ISREG(found.st_mode) && is_neighbour(results, path))
		return add_neighbour(results, &found, number, err);
	results->folder = NULL;
	results->nearest = NULL;
	if (add_holders(results, path, '/', number, &nlinks, err) != 0)
		return -1;
	if (!there)
		return add_holders(results, path, ':', number, &nlinks, err);
	if (S_ISREG(found.st_mode) && nlinks == 0) {
		results->folder = path;
		results->folder_size = size_of_folder(path);
	}
	return add_file(results, path, number, err);
}

/* ---- results ---- */

static struct node *find(const struct bpk_results *results, const struct stat *found)
{
	const struct node wanted = { .device = found->st_dev, .inode = found->st_ino };
	struct node **seen = tfind(&wanted, &results->tree, compare);

	return seen == NULL ? NULL : *seen;
}

/* True for the place of an operand, not the current one, that has no whole result yet. */
static bool is_to_come(const struct bpk_results *results, size_t place)
{
	return place > 0 && place != results->current + 1 && !results->operands[place - 1].is_done;
}

static bool is_operand(void *arg, const struct stat *folder)
{
	const struct bpk_results *results = arg;
	const struct node *node = find(results, folder);

	return node != NULL && is_to_come(results, node->itself);
}

static int compare_remotes(const void *left, const void *right)
{
	const struct remote *a = left, *b = right;

	return strcmp(a->url, b->url);
}

static int add_remote(struct bpk_results *results, const char *url, const char *source,
		      struct bpk_err *err)
{
	size_t size = strlen(url) + 1;
	struct remote *remote = bpk_alloc(sizeof *remote + size, err), **seen;

	if (remote == NULL)
		return -1;
	remote->source = source;
	memcpy(remote->url, url, size);
	seen = tsearch(remote, &results->remotes, compare_remotes);
	if (seen == NULL)
		bpk_fail_memory(err, size);
	if (seen == NULL || *seen != remote)
		free(remote);
	return seen == NULL ? -1 : 0;
}

/* No operand is in a store and removed, so that only results count there. */
static int check_remote(const struct bpk_results *results, const char *url, struct bpk_err *err)
{
	struct remote *wanted, **seen;
	int rc = 0;

	wanted = bpk_alloc(sizeof *wanted + strlen(url) + 1, err);
	if (wanted == NULL)
		return -1;
	memcpy(wanted->url, url, strlen(url) + 1);
	seen = tfind(wanted, &results->remotes, compare_remotes);
	if (seen != NULL)
		rc = bpk_fail(err, BPK_FAILED, "is the result of %s already",
			      bpk_input_name((*seen)->source));
	free(wanted);
	return rc;
}

int bpk_results_check(const struct bpk_shared *shared, const char *target, struct bpk_err *err)
{
	struct bpk_results *results = shared->results;
	bool is_stream = strcmp(target, "-") == 0;
	const struct node *node;
	struct stat found;

	if (results == NULL)
		return 0;
	if (bpk_path_is_url(target))
		return check_remote(results, target, err);
	if (!is_stream && results->has_folders &&
	    bpk_path_lies_in(target, false, is_operand, results))
		return bpk_fail(err, BPK_FAILED, "lies in an operand of this command");
	if ((is_stream ? fstat(STDOUT_FILENO, &found) : lstat(target, &found)) != 0)
		return 0; /* the draft reports other errors */
	node = find(results, &found);
	if (node != NULL && !is_stream && node->result != NULL)
		return bpk_fail(err, BPK_FAILED, "is the result of %s already",
				bpk_input_name(node->result));
	if (node == NULL || !is_to_come(results, node->place))
		return 0;
	return bpk_fail(err, BPK_FAILED, "is an operand of this command, or holds one");
}

int bpk_results_add(const struct bpk_shared *shared, const char *target, const char *source,
		    struct bpk_err *err)
{
	struct stat found;
	struct node *node;

	if (shared->results == NULL || strcmp(target, "-") == 0)
		return 0;
	if (bpk_path_is_url(target))
		return add_remote(shared->results, target, source, err);
	if (lstat(target, &found) != 0)
		return bpk_fail_errno(err, errno, "cannot stat");
	node = node_of(shared->results, &found, err);
	if (node == NULL)
		return -1;
	node->result = source;
	return 0;
}

void bpk_results_release(const struct bpk_shared *shared)
{
	if (shared->results != NULL)
		shared->results->operands[shared->results->current].is_done = true;
}

/* ---- a command ---- */

static int take(struct bpk_results *results, const struct bpk_files *operands, struct bpk_err *err)
{
	results->operands = bpk_calloc(operands->count, sizeof *results->operands, err);
	if (results->operands == NULL)
		return -1;
	for (size_t i = 0; i < operands->count; i++)
		if (add_path(results, operands->all[i].path, i, err) != 0)
			return -1;
	return 0;
}

struct bpk_results *bpk_results_open(const struct bpk_files *operands, struct bpk_err *err)
{
	struct bpk_results *results = bpk_calloc(1, sizeof *results, err);

	if (results != NULL && take(results, operands, err) != 0) {
		bpk_results_close(results);
		return NULL;
	}
	return results;
}

void bpk_results_close(struct bpk_results *results)
{
	if (results == NULL)
		return;
	tdestroy(results->tree, free);
	tdestroy(results->remotes, free);
	free(results->operands);
	free(results);
}

void bpk_results_go_to(struct bpk_results *results, size_t number)
{
	results->current = number;
}

bool bpk_results_is_small(const struct bpk_results *results, size_t number)
{
	return results->operands[number].is_small;
}
