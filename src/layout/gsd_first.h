/*
 * Inside the copying of GSD frames: the content that arrays left out of a frame have by the first
 * frame of their file.
 */
#ifndef BPK_LAYOUT_GSD_FIRST_H
#define BPK_LAYOUT_GSD_FIRST_H

#include "layout/gsd_copy.h"

/* An array of one of the first frames. */
struct bpk_gsd_first {
	char *name;    /* owned */
	bool explicit; /* the two first frames give it different content */
};

/* Find the names that the first frames of held and more give different content. */
int bpk_gsd_firsts_compare(struct bpk_gsd_copy *copy, struct bpk_err *err);
void bpk_gsd_firsts_clear(struct bpk_gsd_copy *copy);

/* Put the arrays that a frame of more leaves out, and that would change their content in held. */
int bpk_gsd_firsts_put_absent(struct bpk_gsd_copy *copy, uint64_t frame, struct bpk_err *err);

/* Put an array of more into the frame to come, by that name. In gsd_copy.c. */
int bpk_gsd_copy_put(struct bpk_gsd_copy *copy, const char *name, const struct bpk_item *item,
		     struct bpk_err *err);

#endif
