/*
 * Inside the room layout: names that must be alone in a file, though the file may repeat them.
 * Of several equal ones the first keeps its name, the others get "#2", "#3" ... behind theirs; a
 * number is passed over where the file itself has that name.
 */
#ifndef BPK_LAYOUT_UNIQUE_H
#define BPK_LAYOUT_UNIQUE_H

#include "base/base.h"

/* Room for "#4294967295" and its NUL. */
enum { BPK_NAME_NUMBER_TEXT = 12 };

/* A name's hash, which is kept instead of it. */
uint64_t bpk_name_hash(const char *name);

/* One name in a list of them. number is 0, or what stands behind '#'. */
struct bpk_named {
	uint64_t hash; /* of the name alone; bpk_names_number makes it that of name and number */
	uint32_t number;
};

/*
 * Give numbers to the names that were there before. stride is the distance of one struct bpk_named
 * to the next in bytes, as they may be parts of something larger. Names of equal hashes count as
 * equal, which at worst gives a number to one that needs none. Fails with BPK_LIMIT (2^32 names) or
 * BPK_NO_MEMORY; takes 16 bytes a name while it runs.
 */
int bpk_names_number(struct bpk_named *first, size_t stride, size_t count, struct bpk_err *err);

/* "#2", or nothing for 0. */
void bpk_name_print_number(uint32_t number, char out[BPK_NAME_NUMBER_TEXT]);

#endif
