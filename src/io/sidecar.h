/*
 * Sidecars: the lock files of other programs. A part of the room's door.
 *
 * c-blosc2 keeps one beside a frame, NAME.b2lock, or as .b2lock in a frame's directory, when it was
 * asked to lock: whoever changes the frame takes an exclusive lock on the whole of it (flock) and
 * adds one to the counter in it, readers take a shared one for each access. It holds no data. We
 * take part where it is there; it is never made by us, since nobody looks at it who did not make
 * it, and never removed. Source: the Blosc2 frame format, "Sparse frame".
 *
 * A writer of ours leaves what is committed readable all the time, so a reader of ours does not
 * wait for one: only for another program's.
 */
#ifndef BPK_IO_SIDECAR_H
#define BPK_IO_SIDECAR_H

#include "io/io.h"

#define BPK_SIDECAR ".b2lock"

struct bpk_sidecar;

/* True of NAME.b2lock and .b2lock, without a folder in front. */
bool bpk_sidecar_is_name(const char *name);

/*
 * The sidecar of what path names, for reading; NULL where none is there, or it cannot be opened,
 * as on a medium where nothing can be written. Fails with BPK_NO_MEMORY alone.
 */
int bpk_sidecar_open(const char *path, bool is_directory, struct bpk_sidecar **sidecar,
		     struct bpk_err *err);

/* The same to change the archive, and taken at once. Fails with BPK_FAILED too when it is there and
 * cannot be opened, or is no such file (not with options->no_lock), and as bpk_sidecar_take. For
 * bpk_edit_open and bpk_tree_open; NULL where options do not ask for it. */
int bpk_sidecar_open_to_change(const char *path, bool is_directory,
			       const struct bpk_edit_options *options, struct bpk_sidecar **sidecar,
			       struct bpk_err *err);

/* Gives back what is taken. All calls but those that open take NULL, and do nothing. */
void bpk_sidecar_close(struct bpk_sidecar *sidecar);

/*
 * Between share and release no other program that takes part changes the archive. Any thread, and
 * several at once. Where others hold it for ever there are pauses, so that a writer gets its turn.
 * Fails with BPK_FAILED when another program has not let go of it for a minute.
 */
int bpk_sidecar_share(struct bpk_sidecar *sidecar, struct bpk_err *err);
void bpk_sidecar_release(struct bpk_sidecar *sidecar);

/*
 * Keep every other program out, and count a change; harmless when it is taken already. Waits as the
 * writer lock does. Fails with BPK_FAILED: "is being changed by another process", no locks here, or
 * that another program was here since it was taken before. One thread.
 */
int bpk_sidecar_take(struct bpk_sidecar *sidecar, struct bpk_err *err);
void bpk_sidecar_give(struct bpk_sidecar *sidecar); /* harmless when it is not taken */

#endif
