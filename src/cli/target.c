/* Where the results of commands go: whether options allow it, their names, and results that are
 * there already. pack, unpack, cat and convert call it. */
#include "cli/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/text.h"
#include "cli/tree.h"

/* ---- the output's name ---- */

static bool is_dash(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* True when the result for source goes to standard output. */
static bool goes_to_stdout(const struct bpk_shared *shared, const char *source)
{
	if (shared->output != NULL)
		return is_dash(shared->output);
	return shared->to_stdout || is_dash(source);
}

static int check_removal(const struct bpk_shared *shared, const char *source, struct bpk_err *err)
{
	if (!shared->remove)
		return 0;
	if (is_dash(source))
		return bpk_fail(err, BPK_USAGE,
				"--rm needs a FILE, standard input cannot be removed");
	if (bpk_path_is_url(source))
		return bpk_fail(err, BPK_USAGE, "--rm needs a FILE, a URL cannot be removed");
	if (goes_to_stdout(shared, source))
		return bpk_fail(err, BPK_USAGE,
				"--rm needs a result in a file, not on standard output");
	if (shared->no_sync)
		return bpk_fail(err, BPK_USAGE, "--rm needs a synced result, without --no-sync");
	if (shared->no_check)
		return bpk_fail(err, BPK_USAGE, "--rm needs tested checksums, without --no-check");
	return 0;
}

static bool goes_to_store(const struct bpk_shared *shared)
{
	const char *place = shared->output != NULL ? shared->output : shared->output_dir;

	return place != NULL && bpk_path_is_url(place);
}

/* A URL has no time to compare with. */
static int check_update(const struct bpk_shared *shared, const char *source, struct bpk_err *err)
{
	if (!shared->tree.update)
		return 0;
	if (goes_to_store(shared))
		return bpk_fail(err, BPK_USAGE,
				"--update needs a result in a file, not in a store");
	if (is_dash(source) || bpk_path_is_url(source))
		return bpk_fail(err, BPK_USAGE,
				"--update needs a FILE, %s has no modification time",
				is_dash(source) ? "standard input" : "a URL");
	return goes_to_stdout(shared, source)
		       ? bpk_fail(err, BPK_USAGE,
				  "--update needs a result in a file, not on standard output")
		       : 0;
}

/* There may be any number of files. */
static int check_tree(const struct bpk_shared *shared, struct bpk_err *err)
{
	const char *many = shared->tree.recursive             ? "--recursive"
			   : shared->tree.files0_from != NULL ? "--files0-from"
							      : NULL;

	if (many == NULL || (!shared->to_stdout && shared->output == NULL))
		return 0;
	return bpk_fail(err, BPK_USAGE, "%s goes to many files; use --output-dir instead of %s",
			many, shared->to_stdout ? "--stdout" : "--output");
}

static int check_one(const struct bpk_shared *shared, const char *source, struct bpk_err *err)
{
	if (check_update(shared, source, err) != 0)
		return -1;
	if (shared->json && goes_to_stdout(shared, source))
		return bpk_fail(
			err, BPK_USAGE,
			"--json needs standard output for itself, name a file with --output");
	if (shared->output_dir != NULL && is_dash(source))
		return bpk_fail(
			err, BPK_USAGE,
			"--output-dir needs a FILE, standard input has no name to derive one from");
	return check_removal(shared, source, err);
}

int bpk_transfer_check(const struct bpk_shared *shared, char **operands, size_t count,
		       struct bpk_err *err)
{
	int ways = shared->to_stdout + (shared->output != NULL) + (shared->output_dir != NULL);

	if (ways > 1)
		return bpk_fail(err, BPK_USAGE,
				"only one of --stdout, --output and --output-dir can be given");
	if (shared->output != NULL && count > 1)
		return bpk_fail(err, BPK_USAGE,
				"--output takes a single source, %zu were given; use --output-dir",
				count);
	if (check_tree(shared, err) != 0)
		return -1;
	if (count == 0)
		return shared->tree.files0_from != NULL ? 0 : check_one(shared, "-", err);
	for (size_t i = 0; i < count; i++)
		if (check_one(shared, operands[i], err) != 0)
			return -1;
	return 0;
}

bool bpk_transfer_is_listed(const struct bpk_shared *shared)
{
	return shared->tree.recursive || shared->tree.files0_from != NULL ||
	       shared->tree.share.count > 0;
}

int bpk_transfer_gather(const struct bpk_shared *shared, const struct bpk_tree_kind *kind,
			char *const *named, size_t count, struct bpk_files *operands,
			struct bpk_err *err)
{
	if (bpk_files_gather(shared, kind, named, count, operands, err) != 0)
		return -1;
	for (size_t i = 0; shared->tree.files0_from != NULL && i < operands->count; i++)
		if (check_one(shared, operands->all[i].path, err) != 0)
			return -1;
	return 0;
}

/* The derived path itself; or, below the output directory, its part below the tree that is walked,
 * or its last part. That directory is the current one for a URL. */
static char *move_to_dir(const struct bpk_shared *shared, char *derived, struct bpk_err *err)
{
	const char *slash = derived == NULL ? NULL : strrchr(derived, '/');
	const char *dir = shared->output_dir, *kept = slash != NULL ? slash + 1 : derived;
	char *moved = NULL;

	if (derived != NULL && dir == NULL && bpk_path_is_url(derived))
		dir = ".";
	if (derived == NULL || dir == NULL)
		return derived;
	if (shared->below > 0)
		kept = derived + shared->below;
	/* a second slash would be a part of a key */
	if (asprintf(&moved, "%s%s%s", dir, bpk_ends_with(dir, "/") ? "" : "/", kept) < 0) {
		moved = NULL;
		bpk_fail_memory(err, strlen(derived));
	}
	free(derived);
	return moved;
}

/* derive's name for a result of source; the query of a URL is no part of it. */
static char *derive_name(const struct bpk_transfer *transfer, const char *source,
			 char *(*derive)(const struct bpk_transfer *transfer, const char *source,
					 struct bpk_err *err),
			 struct bpk_err *err)
{
	char *name = bpk_strdup(source, err), *derived;

	if (name == NULL)
		return NULL;
	name[bpk_path_name_size(source)] = '\0';
	derived = derive(transfer, name, err);
	free(name);
	return derived;
}

int bpk_transfer_name_target(struct bpk_transfer *transfer,
			     char *(*derive)(const struct bpk_transfer *transfer,
					     const char *source, struct bpk_err *err),
			     struct bpk_err *err)
{
	const struct bpk_shared *shared = transfer->shared;
	const char *source = transfer->in->path;

	if (goes_to_stdout(shared, source)) {
		transfer->target = bpk_strdup("-", err);
	} else if (shared->output != NULL) {
		transfer->target = bpk_strdup(shared->output, err);
	} else if (derive == NULL) {
		bpk_fail(err, BPK_BUG, "the result has no name");
	} else {
		transfer->target_derived = true;
		transfer->target =
			move_to_dir(shared, derive_name(transfer, source, derive, err), err);
	}
	return transfer->target != NULL ? 0 : bpk_input_subject(transfer->in, err);
}

/* ---- the output's suffix ---- */

const char *bpk_output_suffix(const char *path)
{
	size_t size = bpk_path_name_size(path);
	const char *slash = memrchr(path, '/', size);
	const char *name = slash != NULL ? slash + 1 : path;
	const char *dot = memrchr(name, '.', size - (size_t)(name - path));
	bool is_word = dot != NULL && dot > name &&
		       ((dot[1] >= 'a' && dot[1] <= 'z') || (dot[1] >= 'A' && dot[1] <= 'Z'));

	return is_word ? dot : NULL;
}

/* ".blp, .blpd": the suffixes of the formats that can be written. */
static const char *known_suffixes(char *out, size_t room)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; bpk_formats[i] != NULL; i++) {
		const char *const both[] = { bpk_formats[i]->suffix, bpk_formats[i]->array_suffix };

		for (size_t k = 0; k < 2 && bpk_formats[i]->writer != NULL && used < room; k++)
			if (both[k] != NULL)
				used += (size_t)snprintf(out + used, room - used, "%s%s",
							 used > 0 ? ", " : "", both[k]);
	}
	return out;
}

int bpk_output_fail_suffix(const char *path, struct bpk_err *err)
{
	char known[128];

	return bpk_fail(err, BPK_USAGE, "the suffix of %s names no format (%s); give --format",
			bpk_output_name(path), known_suffixes(known, sizeof known));
}

/* ---- results that are there ---- */

/* A file system that keeps whole seconds cut off the rest of the source's time. The time of a
 * result's last change, which nobody can set, shows what the file system keeps. */
static bool is_current_at(const struct stat *result, struct timespec source)
{
	if (result->st_mtim.tv_nsec == 0 && result->st_ctim.tv_nsec == 0)
		source.tv_nsec = 0;
	return !bpk_time_is_before(&result->st_mtim, &source);
}

static int count_time(void *arg, const char *path, uint64_t size)
{
	struct timespec *newest = arg;
	struct stat found;

	(void)size;
	if (lstat(path, &found) == 0 && bpk_time_is_before(newest, &found.st_mtim))
		*newest = found.st_mtim;
	return 0;
}

/* The time of the input: of a dataset, that of its newest file. */
static int find_time(const struct bpk_input *in, struct timespec *time, struct bpk_err *err)
{
	*time = bpk_input_stat(in)->st_mtim;
	if (!in->place.is_directory || in->place.is_member)
		return 0;
	return bpk_walk(in->path, NULL, count_time, NULL, time, err);
}

void bpk_transfer_date_before(const struct bpk_input *in, struct stat *like)
{
	struct timespec time = { 0 };

	if (in->place.is_directory)
		like->st_mtim = find_time(in, &time, NULL) == 0 ? time : (struct timespec){ 1, 0 };
	like->st_mtim.tv_sec--;
}

/* True if the target is a result of the command: an archive, or any file. */
static bool is_result(const struct bpk_transfer *transfer, const struct stat *found)
{
	struct bpk_input in;
	bool is;

	if (transfer->format == NULL)
		return S_ISREG(found->st_mode);
	if (!S_ISREG(found->st_mode) && !S_ISDIR(found->st_mode))
		return false;
	is = bpk_input_look(&in, transfer->target, NULL, NULL) == 0 && in.format != NULL;
	bpk_input_close(&in);
	return is;
}

int bpk_transfer_update(struct bpk_transfer *transfer, bool *is_current, struct bpk_err *err)
{
	struct timespec time;
	struct stat found;

	*is_current = false;
	if (!transfer->shared->tree.update || lstat(transfer->target, &found) != 0 ||
	    !is_result(transfer, &found))
		return 0;
	if (find_time(transfer->in, &time, err) != 0)
		return bpk_input_subject(transfer->in, err);
	*is_current = is_current_at(&found, time);
	transfer->replaces = !*is_current;
	return 0;
}

/* ---- the folders of a tree ---- */

int bpk_transfer_make_folders(const struct bpk_transfer *transfer, struct bpk_err *err)
{
	const struct bpk_shared *shared = transfer->shared;
	const char *dir = shared->output_dir != NULL ? shared->output_dir : ".";
	size_t kept = strlen(dir) + !bpk_ends_with(dir, "/"); /* move_to_dir */

	if (shared->below == 0 || !transfer->target_derived || goes_to_store(shared) ||
	    (shared->output_dir == NULL && !bpk_path_is_url(transfer->in->path)))
		return 0;
	return bpk_folders_make(dir, transfer->target + kept, transfer->in->path, shared->below,
				!shared->no_sync, err);
}
