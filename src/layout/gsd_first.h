/*
 * Internal to the copying of GSD frames: the arrays for which the first frames of two files differ.
 */
#ifndef BPK_LAYOUT_GSD_FIRST_H
#define BPK_LAYOUT_GSD_FIRST_H

#include "layout/gsd_copy.h"

/* An array of one of the first frames. */
struct bpk_gsd_first {
	char *name;    /* owned */
	bool explicit; /* its content differs between the first frames */
};

/* Find the names whose content differs between the first frames of held and more. */
int bpk_gsd_firsts_compare(struct bpk_gsd_copy *copy, struct bpk_err *err);
void bpk_gsd_firsts_clear(struct bpk_gsd_copy *copy);

/* Put the arrays that a frame of more omits and whose content would change in held. */
int bpk_gsd_firsts_put_absent(struct bpk_gsd_copy *copy, uint64_t frame, struct bpk_err *err);

/* Put an array of more into the current frame, under that name. In gsd_copy_array.c. */
int bpk_gsd_copy_put(struct bpk_gsd_copy *copy, const char *name, const struct bpk_item *item,
		     struct bpk_err *err);

#endif
