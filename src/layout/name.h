/*
 * Internal to layout: unique names for arrays of a file that may repeat names. The first of several
 * equal names stays, the others get "#2", "#3" ... appended; numbers that collide with a name of
 * the file are skipped.
 */
#ifndef BPK_LAYOUT_NAME_H
#define BPK_LAYOUT_NAME_H

#include "base/base.h"

/* Room for "#4294967295" and its NUL. */
enum { BPK_NAME_NUMBER_TEXT = 12 };

/* The hash of a name, stored instead of it. */
uint64_t bpk_name_hash(const char *name);

/* One name in a list. number is 0, or the number after '#'. */
struct bpk_named {
	uint64_t hash; /* of the name; after bpk_name_number_all of name and number */
	uint32_t number;
};

/*
 * Number the names that repeat an earlier one. stride is the distance between one struct bpk_named
 * and the next in bytes, because they may be part of larger structs. Equal hashes count as equal
 * names; at worst a name gets an unnecessary number. Fails with BPK_LIMIT (2^31 names) or
 * BPK_NO_MEMORY; uses 16 bytes per name while it runs.
 */
int bpk_name_number_all(struct bpk_named *first, size_t stride, size_t count, struct bpk_err *err);

/* "#2", or empty for 0. */
void bpk_name_print_number(uint32_t number, char out[BPK_NAME_NUMBER_TEXT]);

#endif
