/* Catches the output of this process, on standard output and standard error. Called by
 * share_files.c and share.c. */
#ifndef BPK_CLI_SHARE_CATCH_H
#define BPK_CLI_SHARE_CATCH_H

#include "base/base.h"

/* Begin to catch. Fails with BPK_FAILED. */
int bpk_catch_begin(struct bpk_err *err);

/* End it, and append standard output, out_size bytes, and then standard error. */
int bpk_catch_end(struct bpk_buf *said, uint64_t *out_size, struct bpk_err *err);

/* End it, if it was begun, and print all of it on standard error. True: it was. */
bool bpk_catch_release(void);

#endif
