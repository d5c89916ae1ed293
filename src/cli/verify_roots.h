/* The directories that a run of verify --state walks. Called by verify_rota.c. For the main thread
 * alone. */
#ifndef BPK_CLI_VERIFY_ROOTS_H
#define BPK_CLI_VERIFY_ROOTS_H

#include "cli/checks.h"
#include "cli/verify.h"

struct bpk_verify_root {
	const char *path;
	bool has_files; /* none are found below a disk that is not mounted */
};

/* Valid when zeroed; the owner frees all. */
struct bpk_verify_roots {
	struct bpk_verify_root *all;
	size_t count;
	bool is_everything; /* the files come from a list, which stands for the whole state */
};

/* Find the operands that are walked, and whether files were found below them. */
int bpk_verify_roots_find(struct bpk_verify_roots *roots, const struct bpk_verify_args *args,
			  const struct bpk_files *files, struct bpk_err *err);

/* True if this run would have found a file of that name, if it were there. */
bool bpk_verify_roots_have(const struct bpk_verify_roots *roots, const char *path);

/* Report each directory below which none of the checks is of an archive. */
void bpk_verify_roots_judge(const struct bpk_verify_roots *roots,
			    const struct bpk_verify_args *args, struct bpk_check *const *checks,
			    size_t count);

#endif
