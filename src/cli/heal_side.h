/* The parity file of a damaged archive, inside the family of heal.h. For the main thread alone. */
#ifndef BPK_CLI_HEAL_SIDE_H
#define BPK_CLI_HEAL_SIDE_H

#include "cli/side.h"

/* Open the parity file of path as bpk_side_open does; its cells are read at the pace of
 * --limit-rate. */
int bpk_heal_open(const struct bpk_shared *shared, struct bpk_side *side, const char *path,
		  bool *there, struct bpk_err *err);

/* Print the lost runs of a scanned archive, and fail with BPK_CORRUPT and the damage, a text that
 * names the path. */
int bpk_heal_fail_lost(const struct bpk_shared *shared, const struct bpk_side *side,
		       const char *path, const char *damage, struct bpk_err *err);

/* Fail with BPK_FAILED, without the path, unless the archive's owner or this user made the parity:
 * in a folder that others may write to, anybody can put a file beside an archive, and only such a
 * file heals in place. */
int bpk_heal_check_owner(const struct bpk_side *side, const char *path, struct bpk_err *err);

/* Open the archive as far as it opens, for bpk_input_close. False: not even its place does. */
bool bpk_heal_look(struct bpk_input *in, const char *path);

/* True if nobody wrote to the archive, which was compared with its parity, since that was made: by
 * its times. Where these were cut to seconds, it may have been changed in the second of the parity:
 * then only if it has no checksums, does not open, or differs by damaged chunks alone. These are
 * read. */
bool bpk_heal_is_unwritten(const struct bpk_side *side, const struct bpk_input *in);

/* True if no byte of the archive differs from its parity, to which it was compared, but those of
 * damaged chunks: the state that parity restores lacks nothing that was written since. in was read,
 * or does not open. */
bool bpk_heal_is_damage_alone(const struct bpk_side *side, const struct bpk_input *in);

/* True if the state that parity restores has the same bytes of every chunk in found that is intact
 * and proven, so that it lacks none of them. The archive was compared with it. */
bool bpk_heal_keeps(const struct bpk_side *side, const struct bpk_input *in,
		    const struct bpk_salvage *found);

/* True if the archive at path is not exactly of the time of its parity file, or of an earlier one.
 * Nothing is read. */
bool bpk_heal_seems_other(const struct bpk_side *side, const char *path);
bool bpk_heal_seems_earlier(const struct bpk_side *side, const char *path);

/* True if the archive, which was compared and is not empty, has no cell but zeros in common with
 * its parity file, and several cells, or was written since: that may be another archive's. */
bool bpk_heal_is_strange(const struct bpk_side *side, const char *path);

/* True if the parity file is of a later state than the archive at path, which was compared with it:
 * bytes differ, and its times are earlier. */
bool bpk_heal_is_earlier(const struct bpk_side *side, const char *path);

/* Find the run of bad cells, in bytes, at *offset or behind it. False: there is none. */
bool bpk_heal_find_bad(const struct bpk_side *side, uint64_t *offset, uint64_t *size);

#endif
