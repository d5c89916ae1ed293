/*
 * Damaged directories are restored by their parity files: in place, and into another directory.
 * Called by heal.c. For the main thread alone.
 */
#ifndef BPK_CLI_HEAL_TREE_H
#define BPK_CLI_HEAL_TREE_H

#include "cli/heal.h"
#include "cli/side.h"

static inline void bpk_healed_add(struct bpk_healed *healed, struct bpk_view cell)
{
	healed->cells++;
	healed->bytes += cell.size;
}

/* Write the damaged files of the directory at path again, and replace them at once, under its lock;
 * only if it still is as it was when its parity file was made. Errors do not name it. */
int bpk_heal_tree_in_place(struct bpk_side *side, const char *path, struct bpk_healed *healed,
			   struct bpk_err *err);

/* True if the directory at path, read through the list that an interrupted healing has left, has
 * the files of then. */
bool bpk_heal_tree_is_whole(const struct bpk_side *side, const char *path);

/* Carry out the list of changes that an interrupted healing of the directory at path has left.
 * Returns -1 if it left none. */
int bpk_heal_tree_settle(const struct bpk_side *side, const char *path);

/* Write all files of the directory at path, which was compared, as they were, into the --output. */
int bpk_heal_tree_into(const struct bpk_shared *shared, struct bpk_side *side, const char *path,
		       struct bpk_healed *healed, struct bpk_err *err);

#endif
