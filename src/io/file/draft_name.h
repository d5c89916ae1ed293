/*
 * Inside the room io: the names of drafts in their folder until they are kept.
 *
 * A draft is .NAME.bpk-NNNNNN, numbered from 000000, and stays locked (flock) while its process
 * lives. The lock tells a leftover of a killed process from a draft being written, and the numbers
 * make the search for leftovers a few open calls instead of a listing of the folder.
 */
#ifndef BPK_IO_FILE_DRAFT_NAME_H
#define BPK_IO_FILE_DRAFT_NAME_H

#include "base/base.h"

enum {
	BPK_DRAFT_DIGITS = 6,
	BPK_DRAFT_SUFFIX = sizeof ".bpk-" - 1 + BPK_DRAFT_DIGITS,
};

/* Take the lock of a draft just created. False: another process took it for a leftover. */
bool bpk_draft_lock(int fd);

/* Remove the drafts of name that killed processes left. */
void bpk_draft_clean(int folder, const char *name);

/* Create an empty, locked draft, mode 0600, open for reading and writing. *draft_name: for
 * free(). */
int bpk_draft_create(int folder, const char *name, int *fd, char **draft_name, struct bpk_err *err);

/* The same for directories. clean removes the files that ours accepts (by their names in the draft)
 * and the folders left empty. create makes the folder with mode 0700. */
void bpk_draft_clean_folders(int folder, const char *name, bool (*ours)(const char *name));
int bpk_draft_create_folder(int folder, const char *name, int *fd, char **draft_name,
			    struct bpk_err *err);

/* Give the nameless file fd the name of a draft. */
int bpk_draft_link(int folder, const char *name, int fd, char **draft_name, struct bpk_err *err);

/* Call linkat for a nameless file. Returns 0, or -1 with errno. */
int bpk_link_nameless(int fd, int folder, const char *name);

#endif
