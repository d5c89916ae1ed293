/* Inside the room io: the names of bpk's own files beside the data. No dataset shows them, and only
 * the removal of a dataset touches them. */
#ifndef BPK_IO_FILE_HIDDEN_H
#define BPK_IO_FILE_HIDDEN_H

#include <stdbool.h>

/* True for a file that is no part of a dataset: a draft or journal of bpk in any folder; the lock,
 * the list and other programs' lock (sidecar.h) in the root. */
bool bpk_hidden_is_name(const char *name);

/* True for one of the two locks in the root. */
bool bpk_hidden_is_lock(const char *name);

/* True for the name of a draft or journal, given without folders, in any folder. */
bool bpk_hidden_is_leftover(const char *base);

/* True for .NAME.bpk-NNNNNN, without a folder in front. */
bool bpk_hidden_is_draft(const char *name);

#endif
