/* Inside the room io: the entries of one folder, for the listings of io/dir.h and for bpk_walk. */
#ifndef BPK_IO_TREE_DIR_ENTRIES_H
#define BPK_IO_TREE_DIR_ENTRIES_H

#include "io/io.h"

struct bpk_dir_entry {
	char *name;
	size_t turn; /* its number in the order of adding */
	enum bpk_entry entry;
	uint64_t size; /* of a file, as it was listed; BPK_UNKNOWN: no listing has it */
};

/* Caller storage, valid when zeroed; for bpk_dir_entries_clear. Belongs to one thread. */
struct bpk_dir_entries {
	struct bpk_buf all; /* of struct bpk_dir_entry */
	size_t count;
};

/* The nth entry. */
struct bpk_dir_entry *bpk_dir_entries_at(const struct bpk_dir_entries *entries, size_t n);

/*
 * Add all entries of the folder fd except "." and ".."; takes fd, also on failure. Fails with
 * BPK_FAILED, "cannot be listed", when the folder cannot be read, and when an entry cannot be
 * examined.
 */
int bpk_dir_entries_read(struct bpk_dir_entries *entries, int fd, struct bpk_err *err);

/* Sort by name (bytes), equal names by turn. */
void bpk_dir_entries_sort(struct bpk_dir_entries *entries);
void bpk_dir_entries_clear(struct bpk_dir_entries *entries);

#endif
