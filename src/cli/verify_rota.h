/* The files of a verification in turn: within a time, and with a state over many runs. Called by
 * verify_tree.c; for the main thread alone. */
#ifndef BPK_CLI_VERIFY_ROTA_H
#define BPK_CLI_VERIFY_ROTA_H

#include "cli/verify.h"

/* Fail with BPK_USAGE if options of the rota contradict each other. */
int bpk_verify_rota_check(const struct bpk_verify_args *args, struct bpk_err *err);

/*
 * Take the turns of the files within --max-time: in their order, or with --state first those that
 * were damaged, then new and changed ones, then those that were checked longest ago. The state is
 * kept up to date, and failures are reported: so is a file that was there and is missing, and one
 * without a good check within --max-age. Sets nknown.
 */
void bpk_verify_rota_run(struct bpk_verify_args *args, const struct bpk_files *files,
			 const struct bpk_verify_turns *turns);

#endif
