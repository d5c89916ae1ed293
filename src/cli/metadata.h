/*
 * User metadata as options give it. Called by pack and meta.
 */
#ifndef BPK_CLI_METADATA_H
#define BPK_CLI_METADATA_H

#include "cli/opt.h"

/* Set one member, KEY=VALUE, of the object in text (empty: a new one). Fails with BPK_USAGE. */
int bpk_metadata_set(struct bpk_buf *text, const char *pair, struct bpk_err *err);

/*
 * Read the JSON text in file (NULL: no file, "-": standard input), set the KEY=VALUE pairs in it,
 * and store it in text, which stays empty if neither is given. Errors name the file or the option.
 */
int bpk_metadata_gather(const char *file, const struct bpk_opt_list *pairs, struct bpk_buf *text,
			struct bpk_err *err);

#endif
