/*
 * An archive gets a parity file when it was tested: damage would get parity, too. Called by
 * parity.c and pack_work.c. For the main thread alone. Errors name the file that they are about.
 */
#ifndef BPK_CLI_PROTECT_H
#define BPK_CLI_PROTECT_H

#include "cli/transfer.h"

/*
 * Test every checksum of the input of bpk_input_look, and write its parity file, with that share in
 * hundredths of a percent; 0: that of an older one, or 5%. Unless the user trusts the bytes, refuse
 * also an archive whose content is not that of the identity that it records, or that an older
 * parity file of its time calls damaged. Damage is BPK_CORRUPT or BPK_REPAIRABLE. The input is to
 * be closed in any case. shared: its options force and no_sync; it judges and audits.
 */
int bpk_protect(const struct bpk_shared *shared, struct bpk_input *in, unsigned share, bool trusts,
		struct bpk_err *err);

#endif
