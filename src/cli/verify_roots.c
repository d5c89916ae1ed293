/* The directories that a run of verify --state walks (verify_roots.h): a disk that is not mounted
 * looks like an empty one. */
#include "cli/verify_roots.h"

static bool is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	while (size > 1 && folder[size - 1] == '/')
		size--;
	return strncmp(path, folder, size) == 0 && (path[size] == '/' || folder[size - 1] == '/');
}

int bpk_verify_roots_find(struct bpk_verify_roots *roots, const struct bpk_verify_args *args,
			  const struct bpk_files *files, struct bpk_err *err)
{
	bool walks = false;

	roots->is_everything = args->noperands == 0 && files->count > 0;
	roots->all = bpk_calloc(args->noperands + 1, sizeof *roots->all, err);
	if (roots->all == NULL)
		return -1;
	for (size_t i = 0; args->shared.tree.recursive && i < args->noperands; i++) {
		struct bpk_verify_root root = { .path = args->operands[i] };

		if (bpk_tree_is_directory(root.path, &walks, NULL) != 0 || !walks)
			continue;
		for (size_t j = 0; j < files->count && !root.has_files; j++)
			root.has_files = is_below(files->all[j].path, root.path);
		roots->all[roots->count++] = root;
	}
	return 0;
}

bool bpk_verify_roots_have(const struct bpk_verify_roots *roots, const char *path)
{
	for (size_t i = 0; i < roots->count; i++)
		if (roots->all[i].has_files && is_below(path, roots->all[i].path))
			return true;
	return roots->is_everything;
}

void bpk_verify_roots_judge(const struct bpk_verify_roots *roots,
			    const struct bpk_verify_args *args, struct bpk_check *const *checks,
			    size_t count)
{
	for (size_t i = 0; i < roots->count; i++) {
		const char *path = roots->all[i].path;
		bool found = false;

		for (size_t j = 0; j < count && !found; j++)
			found = checks[j]->kind != BPK_CHECK_OTHER &&
				is_below(checks[j]->path, path);
		if (!found)
			bpk_verify_fail_empty(args, path);
	}
}
