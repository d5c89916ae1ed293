/*
 * Inside the room io: the entries of one folder, which io/dir.h lists and bpk_walk goes through.
 */
#ifndef BPK_IO_LISTING_H
#define BPK_IO_LISTING_H

#include "io/io.h"

struct bpk_dir_entry {
	char *name;
	size_t turn; /* when it was added */
	enum bpk_entry entry;
};

/* Caller storage, valid when zeroed; for bpk_dir_entries_clear. One thread's own. */
struct bpk_dir_entries {
	struct bpk_buf all; /* of struct bpk_dir_entry */
	size_t count;
};

/* The nth entry. */
struct bpk_dir_entry *bpk_dir_entries_at(const struct bpk_dir_entries *entries, size_t n);

/* Add all that the folder fd holds, but "." and ".."; takes fd, also when it fails. Fails with
 * BPK_FAILED, "cannot be listed", when reading it or looking at one of its entries fails. */
int bpk_dir_entries_read(struct bpk_dir_entries *entries, int fd, struct bpk_err *err);

/* Order them by their names (bytes), equal ones by their turns. */
void bpk_dir_entries_sort(struct bpk_dir_entries *entries);
void bpk_dir_entries_clear(struct bpk_dir_entries *entries);

#endif
