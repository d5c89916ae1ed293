/* Results and operands of one command, in a tree by device and inode. Pack and unpack ask it. */
#include "cli/taken.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/report.h"
#include "cli/text.h"

/* A file, directory or link. It is operand and result where a removed operand's inode was used
 * again. */
struct node {
	dev_t device;
	ino_t inode;
	size_t place;       /* behind the last such operand; 0: no operand */
	const char *result; /* the operand whose result it is, or NULL. Borrowed */
};

struct bpk_taken {
	void *tree;    /* of struct node */
	bool *is_done; /* of each operand */
	size_t current;
};

static int compare(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->inode > b->inode) - (a->inode < b->inode);
}

/* The node of a file, added if it is missing; NULL without memory. */
static struct node *node_of(struct bpk_taken *taken, const struct stat *found, struct bpk_err *err)
{
	struct node *node = bpk_calloc(1, sizeof *node, err), **seen;

	if (node == NULL)
		return NULL;
	node->device = found->st_dev;
	node->inode = found->st_ino;
	seen = tsearch(node, &taken->tree, compare);
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

static int add_operand(struct bpk_taken *taken, const struct stat *found, size_t number,
		       struct bpk_err *err)
{
	struct node *node;

	if (!can_be_lost(found))
		return 0;
	node = node_of(taken, found, err);
	if (node == NULL)
		return -1;
	node->place = number + 1;
	return 0;
}

/* The result of standard input goes to standard output, which may be a file with a name. */
static int add_streams(struct bpk_taken *taken, const char *path, size_t number,
		       struct bpk_err *err)
{
	struct stat found;
	struct node *node;

	if (fstat(STDIN_FILENO, &found) == 0 && add_operand(taken, &found, number, err) != 0)
		return -1;
	if (fstat(STDOUT_FILENO, &found) != 0 || !can_be_lost(&found))
		return 0;
	node = node_of(taken, &found, err);
	if (node == NULL)
		return -1;
	node->result = path;
	return 0;
}

/* An operand is lost with the folders, or the tar, that path names in front of a separator. Names
 * may hold colons, so each cut is tried. */
static int add_holders(struct bpk_taken *taken, const char *path, char separator, size_t number,
		       struct bpk_err *err)
{
	char *holder = bpk_strdup(path, err);
	struct stat found;
	int rc = holder == NULL ? -1 : 0;

	for (char *cut = holder == NULL ? NULL : strchr(holder, separator); rc == 0 && cut != NULL;
	     cut = strchr(cut + 1, separator)) {
		*cut = '\0';
		if (stat(holder, &found) == 0)
			rc = add_operand(taken, &found, number, err);
		*cut = separator;
	}
	free(holder);
	return rc;
}

/* A link counts as itself and as its target. An operand that is missing is reported when it
 * is opened. */
static int add_path(struct bpk_taken *taken, const char *path, size_t number, struct bpk_err *err)
{
	struct stat found;

	if (strcmp(path, "-") == 0)
		return add_streams(taken, path, number, err);
	if (add_holders(taken, path, '/', number, err) != 0)
		return -1;
	if (lstat(path, &found) != 0)
		return add_holders(taken, path, ':', number, err);
	if (add_operand(taken, &found, number, err) != 0)
		return -1;
	if (!S_ISLNK(found.st_mode) || stat(path, &found) != 0)
		return 0;
	return add_operand(taken, &found, number, err);
}

/* ---- results ---- */

int bpk_taken_check(const struct bpk_shared *shared, const char *target, struct bpk_err *err)
{
	const struct bpk_taken *taken = shared->taken;
	bool is_stream = strcmp(target, "-") == 0;
	struct node **seen, wanted;
	struct stat found;

	if (taken == NULL ||
	    (is_stream ? fstat(STDOUT_FILENO, &found) : lstat(target, &found)) != 0)
		return 0; /* the draft reports other errors */
	wanted = (struct node){ .device = found.st_dev, .inode = found.st_ino };
	seen = tfind(&wanted, &taken->tree, compare);
	if (seen == NULL)
		return 0;
	if (!is_stream && (*seen)->result != NULL)
		return bpk_fail(err, BPK_FAILED, "is the result of %s already",
				bpk_input_name((*seen)->result));
	if ((*seen)->place == 0 || (*seen)->place == taken->current + 1 ||
	    taken->is_done[(*seen)->place - 1])
		return 0;
	return bpk_fail(err, BPK_FAILED, "is an operand of this command, or holds one");
}

int bpk_taken_add(const struct bpk_shared *shared, const char *target, const char *source,
		  struct bpk_err *err)
{
	struct stat found;
	struct node *node;

	if (shared->taken == NULL || strcmp(target, "-") == 0)
		return 0;
	if (lstat(target, &found) != 0)
		return bpk_fail_errno(err, errno, "cannot be looked at");
	node = node_of(shared->taken, &found, err);
	if (node == NULL)
		return -1;
	node->result = source;
	return 0;
}

void bpk_taken_release(const struct bpk_shared *shared)
{
	if (shared->taken != NULL)
		shared->taken->is_done[shared->taken->current] = true;
}

/* ---- all of them ---- */

static int take(struct bpk_taken *taken, char **operands, size_t count, struct bpk_err *err)
{
	taken->is_done = bpk_calloc(count, sizeof *taken->is_done, err);
	if (taken->is_done == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (add_path(taken, operands[i], i, err) != 0)
			return -1;
	return 0;
}

void bpk_each_result(struct bpk_shared *shared, char **operands, size_t count,
		     void (*one)(void *arg, const char *path), void *arg)
{
	struct bpk_taken taken = { 0 };
	struct bpk_err err = { 0 };

	if (count < 2) {
		bpk_each_operand(operands, count, one, arg);
		return;
	}
	if (take(&taken, operands, count, &err) != 0) {
		bpk_report(NULL, &err);
		count = 0;
	}
	shared->taken = &taken;
	for (; taken.current < count; taken.current++)
		one(arg, operands[taken.current]);
	shared->taken = NULL;
	tdestroy(taken.tree, free);
	free(taken.is_done);
}
