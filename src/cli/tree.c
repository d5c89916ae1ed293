/* The operands of a command, gathered: names, lists of names, trees. Pack, unpack, verify and cmp
 * call it. */
#include "cli/tree.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/transfer.h"
#include "parity/parity.h"

/* ---- operands ---- */

int bpk_files_add(struct bpk_files *operands, char *path, struct bpk_err *err)
{
	struct bpk_file *all;

	if (path == NULL)
		return -1;
	all = bpk_alloc_grow(operands->all, operands->count, &operands->room, sizeof *all, err);
	if (all == NULL) {
		free(path);
		return -1;
	}
	operands->all = all;
	all[operands->count++] = (struct bpk_file){ .path = path };
	return 0;
}

void bpk_files_clear(struct bpk_files *operands)
{
	for (size_t i = 0; i < operands->count; i++)
		free(operands->all[i].path);
	free(operands->all);
	*operands = (struct bpk_files){ 0 };
}

uint64_t *bpk_files_starts(const struct bpk_shared *shared, const struct bpk_files *operands)
{
	uint64_t *starts = NULL, sum = 0;
	struct stat found;

	if (operands->count > 1 && bpk_progress_is_wanted(shared->progress, shared->quiet))
		starts = bpk_calloc(operands->count + 1, sizeof *starts, NULL);
	for (size_t i = 0; starts != NULL && i < operands->count; i++) {
		if (stat(operands->all[i].path, &found) == 0 && S_ISREG(found.st_mode))
			sum += (uint64_t)found.st_size;
		starts[i + 1] = sum;
	}
	bpk_progress_all(sum);
	return starts;
}

void bpk_files_go_to(const uint64_t *starts, size_t number, size_t count)
{
	uint64_t before = starts != NULL ? starts[number] : 0;

	bpk_progress_file(number + 1, count, before,
			  starts != NULL ? starts[number + 1] - before : 0);
}

/* ---- trees ---- */

struct walk {
	const struct bpk_shared *shared;
	const struct bpk_tree_visit *visit;
	size_t below; /* where the part of a path begins that lies below the root */
};

/* Where the part of paths below root begins: bpk_walk puts one slash between. */
static size_t below(const char *root)
{
	size_t size = strlen(root);

	return size + (size > 0 && root[size - 1] != '/');
}

static bool matches_as_is(const struct bpk_opt_list *globs, const char *rest)
{
	const char *slash = strrchr(rest, '/');

	for (size_t i = 0; i < globs->count; i++) {
		const char *glob = globs->items[i];
		bool is_path = strchr(glob, '/') != NULL;

		glob += *glob == '/';
		if (fnmatch(glob, is_path || slash == NULL ? rest : slash + 1,
			    is_path ? FNM_PATHNAME : 0) == 0)
			return true;
	}
	return false;
}

/* True if the name matches, or that of the file which the archive of this name was made of. The URL
 * of a folder ends with a slash, which no glob does. */
static bool matches(const struct bpk_opt_list *globs, const char *name)
{
	char *rest = globs->count > 0 ? bpk_strdup(name, NULL) : NULL;
	const char *suffix;
	bool does;

	if (rest == NULL)
		return false;
	if (bpk_ends_with(rest, "/"))
		rest[strlen(rest) - 1] = '\0';
	suffix = bpk_format_suffix(rest);
	does = matches_as_is(globs, rest);
	if (!does && suffix != NULL) {
		rest[strlen(rest) - strlen(suffix)] = '\0';
		does = matches_as_is(globs, rest);
	}
	free(rest);
	return does;
}

/* True for a file, or a directory that is one archive, that the options leave. */
static bool is_taken(const struct walk *walk, const char *path)
{
	const struct bpk_tree_args *args = &walk->shared->tree;
	const char *rest = path + walk->below;

	return !matches(&args->exclude, rest) &&
	       (args->include.count == 0 || matches(&args->include, rest));
}

/* A link to a folder is no folder of a walk. */
static bool has_parity(const char *folder)
{
	char *name =
		bpk_path_is_url(folder) ? NULL : bpk_path_beside(folder, BPK_PARITY_SUFFIX, NULL);
	bool there, ours = false;

	if (name != NULL && bpk_parity_look(name, &there, &ours, NULL) != 0)
		ours = false;
	free(name);
	return ours;
}

/* By its content, by the promise of its name, or by the parity file of one that has lost the file
 * by which it is known. */
static bool is_dataset(const struct bpk_input *in, const char *folder)
{
	const struct bpk_format *promised = bpk_format_of_suffix(folder);

	return in->format != NULL || (promised != NULL && promised->is_directory) ||
	       has_parity(folder);
}

/* An archive is one file, and not entered. */
static bool enter(void *arg, const char *folder)
{
	const struct walk *walk = arg;
	struct bpk_err err = { 0 };
	struct bpk_input in;
	int rc;

	if (strlen(folder) > walk->below &&
	    matches(&walk->shared->tree.exclude, folder + walk->below))
		return false;
	rc = bpk_input_look(&in, folder, NULL, &err);
	if (rc == 0 && !is_dataset(&in, folder)) {
		bpk_input_close(&in);
		return true;
	}
	if (is_taken(walk, folder))
		walk->visit->dataset(walk->visit->arg, &in, rc, &err);
	else
		bpk_input_close(&in);
	return false;
}

static int visit_file(void *arg, const char *file, uint64_t size)
{
	const struct walk *walk = arg;

	if (is_taken(walk, file))
		walk->visit->file(walk->visit->arg, file, size);
	return 0;
}

static void report_met(void *arg, const struct bpk_err *err)
{
	const struct walk *walk = arg;

	bpk_tally_failed(walk->shared, err);
	bpk_report(NULL, err);
	bpk_record_settle(walk->shared, NULL);
}

/* The URL of a store's folder ends with a slash, the user's may not. */
static char *name_root(const char *path, struct bpk_err *err)
{
	bool is_url = bpk_path_is_url(path) && path[0] != '\0';
	char *root = bpk_calloc(1, strlen(path) + 2, err);

	if (root == NULL)
		return NULL;
	strcpy(root, path);
	if (is_url && path[strlen(path) - 1] != '/')
		strcat(root, "/");
	return root;
}

int bpk_tree_walk(const struct bpk_shared *shared, const char *root,
		  const struct bpk_tree_visit *visit, struct bpk_err *err)
{
	struct walk walk = { shared, visit, below(root) };
	char *folder = name_root(root, err);
	int rc = folder == NULL ? -1 : bpk_walk(folder, enter, visit_file, report_met, &walk, err);

	free(folder);
	return rc < 0 ? bpk_err_subject(err, "%s", root) : 0;
}

int bpk_tree_is_directory(const char *path, bool *directory, struct bpk_err *err)
{
	struct stat found;
	bool there;
	int rc = 0;

	*directory = false;
	if (strcmp(path, "-") == 0)
		return 0;
	if (bpk_path_is_url(path)) {
		*directory = bpk_remote_is_folder(path);
		rc = *directory ? 0 : bpk_remote_has_folder(path, directory, err);
	} else if ((rc = bpk_path_look(path, &found, &there, err)) == 0) {
		*directory = there && S_ISDIR(found.st_mode);
	}
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", path);
}

/* ---- gathering ---- */

struct gathering {
	const struct bpk_shared *shared;
	const struct bpk_tree_kind *kind;
	struct bpk_files *operands;
	size_t below;
	struct bpk_err err; /* of the first failure */
};

static void add_found(struct gathering *g, const char *path, bool is_dataset, uint64_t size)
{
	struct bpk_file *added;

	if (g->err.kind != BPK_OK ||
	    bpk_files_add(g->operands, bpk_strdup(path, &g->err), &g->err) != 0)
		return;
	added = &g->operands->all[g->operands->count - 1];
	added->below = g->below;
	added->is_found = true;
	added->is_dataset = is_dataset;
	added->size = size;
	g->operands->nheavy++;
}

static void gather_dataset(void *arg, struct bpk_input *in, int rc, struct bpk_err *err)
{
	struct gathering *g = arg;

	if (rc != 0) {
		bpk_tally_failed(g->shared, err);
		bpk_report(NULL, err);
		bpk_record_settle(g->shared, in->path);
	} else if (g->kind->takes_datasets) {
		add_found(g, in->path, true, BPK_UNKNOWN);
	} else {
		g->operands->npassed++;
	}
	bpk_input_close(in);
}

static void gather_file(void *arg, const char *path, uint64_t size)
{
	struct gathering *g = arg;

	bool is_light = g->kind->is_light != NULL && g->kind->is_light(path);

	if (!g->kind->takes(path)) {
		g->operands->npassed++;
		return;
	}
	add_found(g, path, false, is_light ? 0 : size);
	g->operands->nheavy -= is_light;
}

static int gather_name(struct gathering *g, const char *path, struct bpk_err *err)
{
	const struct bpk_tree_visit visit = { gather_dataset, gather_file, g };
	bool walks = false;

	if (g->shared->tree.recursive && g->kind != NULL &&
	    bpk_tree_is_directory(path, &walks, err) != 0) {
		bpk_tally_failed(g->shared, err);
		bpk_report(NULL, err);
		bpk_record_settle(g->shared, path);
		*err = (struct bpk_err){ 0 };
		return 0;
	}
	if (!walks) {
		if (bpk_files_add(g->operands, bpk_strdup(path, err), err) != 0)
			return -1;
		g->operands->all[g->operands->count - 1].size = BPK_UNKNOWN;
		g->operands->nheavy++;
		return 0;
	}
	g->below = below(path);
	if (bpk_tree_walk(g->shared, path, &visit, err) != 0)
		return -1;
	if (g->err.kind == BPK_OK)
		return 0;
	*err = g->err;
	return -1;
}

/* The whole list, with a NUL behind. */
static int read_list(const char *path, struct bpk_buf *list, struct bpk_err *err)
{
	enum { PIECE = 64 << 10 };
	struct bpk_source *source;
	size_t got = PIECE;
	int rc = bpk_source_open(path, &source, err);

	while (rc == 0 && got == PIECE) {
		size_t size = list->size;

		rc = bpk_buf_resize(list, size + PIECE, err);
		if (rc == 0)
			rc = bpk_source_read(source, bpk_span(list->data + size, PIECE), &got, err);
		list->size = size + (rc == 0 ? got : 0);
	}
	bpk_source_close(source);
	if (rc == 0 && list->size > 0 && list->data[list->size - 1] != '\0')
		rc = bpk_buf_append(list, bpk_view("", 1), err);
	return rc;
}

static int gather_listed(struct gathering *g, struct bpk_err *err)
{
	const char *from = g->shared->tree.files0_from, *name;
	struct bpk_buf list = { 0 };
	int rc = read_list(from, &list, err);

	for (size_t at = 0; rc == 0 && at < list.size; at += strlen(name) + 1) {
		name = (const char *)list.data + at;
		if (*name == '\0')
			rc = bpk_fail(err, BPK_FAILED, "has an empty name at byte %zu", at);
		else if (strcmp(name, "-") == 0)
			rc = bpk_fail(err, BPK_FAILED, "names standard input at byte %zu", at);
		if (rc != 0)
			break;
		rc = gather_name(g, name, err);
		if (rc != 0) {
			bpk_buf_clear(&list);
			return -1;
		}
	}
	bpk_buf_clear(&list);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", bpk_input_name(from));
}

static int check_usage(const struct bpk_shared *shared, char *const *named, size_t count,
		       struct bpk_err *err)
{
	const struct bpk_tree_args *args = &shared->tree;

	if (args->files0_from != NULL && count > 0)
		return bpk_fail(err, BPK_USAGE,
				"--files0-from takes the place of all operands, '%s' is one",
				named[0]);
	if (args->recursive && args->files0_from == NULL && count == 0)
		return bpk_fail(err, BPK_USAGE, "--recursive needs a DIR");
	if (!args->recursive && args->include.count + args->exclude.count > 0)
		return bpk_fail(err, BPK_USAGE, "--include and --exclude need --recursive");
	for (size_t i = 0; args->share.count > 0 && i < bpk_max_u64(count, 1); i++)
		if (args->files0_from == NULL && (count == 0 || strcmp(named[i], "-") == 0))
			return bpk_fail(err, BPK_USAGE, "standard input has no shares");
	return bpk_input_check_operands(named, count, err);
}

/* kind is NULL: nothing is walked. */
static int gather(const struct bpk_shared *shared, const struct bpk_tree_kind *kind,
		  char *const *named, size_t count, struct bpk_files *operands, struct bpk_err *err)
{
	struct gathering g = { .shared = shared, .kind = kind, .operands = operands };

	if (check_usage(shared, named, count, err) != 0)
		return -1;
	if (shared->tree.files0_from != NULL && gather_listed(&g, err) != 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (gather_name(&g, named[i], err) != 0)
			return -1;
	if (count == 0 && shared->tree.files0_from == NULL &&
	    bpk_files_add(operands, bpk_strdup("-", err), err) != 0)
		return -1;
	return 0;
}

int bpk_files_gather(const struct bpk_shared *shared, const struct bpk_tree_kind *kind,
		     char *const *named, size_t count, struct bpk_files *operands,
		     struct bpk_err *err)
{
	if (gather(shared, kind, named, count, operands, err) != 0)
		return -1;
	return shared->tree.share.count > 0 ? bpk_files_share(shared, operands, err) : 0;
}

int bpk_files_name(const struct bpk_shared *shared, char *const *named, size_t count,
		   struct bpk_files *operands, struct bpk_err *err)
{
	return gather(shared, NULL, named, count, operands, err);
}
