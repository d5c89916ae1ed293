/* The sum of a run of verify --state, and the archives whose last good check is too old. Called by
 * verify_rota.c; for the main thread alone. */
#ifndef BPK_CLI_VERIFY_AGES_H
#define BPK_CLI_VERIFY_AGES_H

#include "cli/checks.h"
#include "cli/verify.h"

struct bpk_verify_ages {
	const struct bpk_verify_args *args; /* with a state */
	struct bpk_check *const *checks;    /* of the files of the run, after it */
	size_t count, ndone;
	uint64_t at; /* the time of the ages, in nanoseconds since 1970 */
};

/* Print the sum with -v, or as an object of --json, and report the archives without a good check
 * within --max-age. Returns how many archives the run has. */
uint64_t bpk_verify_ages_report(const struct bpk_verify_ages *ages);

#endif
