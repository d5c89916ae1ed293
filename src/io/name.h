/*
 * Inside the room io: the names that drafts have in their folder until they are kept.
 *
 * They are .NAME.bpk-NNNNNN, numbered from 000000, and the draft is locked (flock) for as long as
 * its process lives. So one that a killed process left is told from one that is being written, and
 * looking for it takes a few open calls instead of a listing of the folder.
 */
#ifndef BPK_IO_NAME_H
#define BPK_IO_NAME_H

#include "base/base.h"

/* True of .NAME.bpk-NNNNNN, without a folder in front. */
bool bpk_draft_is_name(const char *name);

/* Take the lock of a draft that was just made. False: someone took it for one left behind. */
bool bpk_draft_lock(int fd);

/* Remove what killed processes left of drafts for name. */
void bpk_draft_clean(int folder, const char *name);

/* Make an empty, locked draft, mode 0600, open for reading and writing. *draft_name: for free(). */
int bpk_draft_create(int folder, const char *name, int *fd, char **draft_name, struct bpk_err *err);

/* The same for directories: what ours says of their files (from the draft on), and then what is
 * empty. A folder is made with mode 0700. */
void bpk_draft_clean_folders(int folder, const char *name, bool (*ours)(const char *name));
int bpk_draft_create_folder(int folder, const char *name, int *fd, char **draft_name,
			    struct bpk_err *err);

/* Give the nameless file fd a draft's name. */
int bpk_draft_link(int folder, const char *name, int fd, char **draft_name, struct bpk_err *err);

/* linkat for a nameless file; 0, or -1 with errno. */
int bpk_link_nameless(int fd, int folder, const char *name);

#endif
