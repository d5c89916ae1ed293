/*
 * Damage that parity files restore: in the verdict of verify, in place, and into another file.
 * Called by verify_work.c and repair.c. For the main thread alone. Errors name the file that they
 * are about.
 */
#ifndef BPK_CLI_HEAL_H
#define BPK_CLI_HEAL_H

#include "cli/edit.h"

/* The result of a comparison with the parity file. */
struct bpk_heal_verdict {
	bool heals; /* there is damage, and --heal restores it */
	bool later; /* parity restores a later state; heals is false */
	bool other; /* there is or may be some, and parity restores a state, perhaps another */
	bool gone;  /* there was some, which another command restores, or has restored */
	/* BPK_SIDE_DAMAGED, however much it restores still; BPK_SIDE_STALE, of another state by its
	 * content; BPK_SIDE_CURRENT, a healing by it is pending; or BPK_SIDE_NONE: no such thing */
	enum bpk_side_state parity;
};

/* True if another command changes the archive, or has since it was opened: its parity file
 * may be of another state than the one that was read. */
bool bpk_heal_is_moving(const struct bpk_input *in);

/*
 * The archive at path, an input, was verified with rc and err: add to the verdict the one of its
 * parity file, if it has one. Damage that can be restored, a healing that is pending, a parity file
 * that is damaged, and one of another state of the archive are BPK_REPAIRABLE. The parity of an
 * archive that is whole and moves is not judged. Returns rc, or -1.
 */
int bpk_heal_judge(const struct bpk_shared *shared, const struct bpk_input *in, int rc,
		   struct bpk_heal_verdict *verdict, struct bpk_err *err);

/* Fail with BPK_REPAIRABLE if the parity file of the archive at path, which is whole, is of a later
 * state than the archive: an older copy was put into its place. */
int bpk_heal_refuse_earlier(const char *path, struct bpk_err *err);

/* Fail with BPK_REPAIRABLE or BPK_CORRUPT if the archive at path is damaged, and its parity file,
 * of another time, restores it or a former state: a change could leave it damaged beyond that. */
int bpk_heal_refuse_damaged(const struct bpk_shared *shared, const char *path, struct bpk_err *err);

/* If err is damage of the archive at path, which a command refuses to change, and its parity
 * restores that in place: err becomes BPK_REPAIRABLE, with the next step. All of the archive is
 * read once, and again where its times were cut to seconds; nothing if its parity is of another
 * time, but for a directory. */
void bpk_heal_weigh(const char *path, struct bpk_err *err);

/* True if a whole archive, which was read, is proven to be as it was written: by its seal, or by
 * checksums that are hard to forge and the identity that it records. Parity that differs is of
 * another state then, whatever the times say. */
bool bpk_heal_is_proven(const struct bpk_shared *shared, const struct bpk_input *in);

/* The restored cells, and their bytes; and those that were cut off behind the end. */
struct bpk_healed {
	uint64_t cells, bytes, cut;
};

/* Restore the damaged archive at path in place, by a journal. The caller verifies it, and then
 * tells. */
int bpk_heal_in_place(const struct bpk_shared *shared, const char *path, struct bpk_healed *healed,
		      struct bpk_err *err);

/* Undo or complete the healing of the archive at path that a killed process has left. False: there
 * was none, or that failed, and another change may be pending. */
bool bpk_heal_settle(const struct bpk_shared *shared, const char *path);

/* True if the parity file of the file at path is of another time, and not of a larger file: it is
 * stale, or an interrupted change has left something. False for a directory. */
bool bpk_heal_may_be_earlier(const char *path);

/* A change of the file at path was undone: if it has the content of its parity file, it gets that
 * time again, as damage that comes later needs it. Of a directory nothing is done. */
void bpk_heal_keep_time(const char *path);

void bpk_heal_tell(const struct bpk_shared *shared, const char *path,
		   const struct bpk_healed *healed);

/* Write the file at path to the --output as it was when its parity file was written, and verify
 * that; nothing if it needs no repair. Reports failures. False: its parity does not suffice, as err
 * says, nothing is written, and intact chunks may be saved. */
bool bpk_heal_into(const struct bpk_args *args, const char *path, struct bpk_err *err);

/* Say, unless the user wants quiet, that path needs no repair, and that so nothing was written. */
void bpk_heal_tell_whole(const struct bpk_shared *shared, const char *path);

#endif
