/*
 * Sidecars: the lock files of other programs. A part of the room's door.
 *
 * c-blosc2 keeps one beside a frame, NAME.b2lock, or as .b2lock in a frame's directory, when it was
 * asked to lock. A process that changes the frame locks the whole file exclusively (flock) and
 * increments the counter in it; readers take a shared lock for each access. It holds no data. bpk
 * takes part when the file exists. bpk never creates it, because only its creator looks at it, and
 * never removes it. Source: the Blosc2 frame format, "Sparse frame".
 *
 * A writer of bpk leaves the committed content readable all the time. So a reader of bpk waits only
 * for other programs.
 */
#ifndef BPK_IO_SIDECAR_H
#define BPK_IO_SIDECAR_H

#include "io/io.h"

#define BPK_SIDECAR ".b2lock"

struct bpk_sidecar;

/* True for NAME.b2lock and .b2lock, without a folder in front. */
bool bpk_sidecar_is_name(const char *name);

/*
 * Open the sidecar of path for reading. *sidecar is NULL when it does not exist or this user may
 * not read it. Fails with BPK_NO_MEMORY, or with BPK_FAILED for other errors of opening it.
 */
int bpk_sidecar_open(const char *path, bool is_directory, struct bpk_sidecar **sidecar,
		     struct bpk_err *err);

/*
 * Open the sidecar to change the archive, and take it. Also fails with BPK_FAILED when it exists
 * and cannot be opened or is no such file (not with options->no_lock), and as bpk_sidecar_take. For
 * bpk_edit_open and bpk_tree_open; *sidecar is NULL unless options->sidecar is set.
 */
int bpk_sidecar_open_to_change(const char *path, bool is_directory,
			       const struct bpk_edit_options *options, struct bpk_sidecar **sidecar,
			       struct bpk_err *err);

/* Release the lock if it is taken, and free. NULL is harmless here and in all calls below. */
void bpk_sidecar_close(struct bpk_sidecar *sidecar);

/*
 * Between share and release no other participating program changes the archive. Any thread may
 * call, and several at once. When others share it without end, pauses give a writer its turn. Fails
 * with BPK_FAILED when another program has held its lock for a minute.
 */
int bpk_sidecar_share(struct bpk_sidecar *sidecar, struct bpk_err *err);
void bpk_sidecar_release(struct bpk_sidecar *sidecar);

/*
 * Exclude every other program and count a change; harmless when it is taken already. Waits as the
 * writer lock does. Fails with BPK_FAILED: "is being changed by another process", no locks here, or
 * another program has changed the archive since it was last taken. One thread.
 */
int bpk_sidecar_take(struct bpk_sidecar *sidecar, struct bpk_err *err);
void bpk_sidecar_give(struct bpk_sidecar *sidecar); /* harmless when it is not taken */

#endif
