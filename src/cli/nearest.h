/*
 * The known word that was probably meant. Called by opt.c, commands.c, pick.c and meta.c.
 */
#ifndef BPK_CLI_NEAREST_H
#define BPK_CLI_NEAREST_H

#include <stddef.h>

/* Caller storage, valid when zeroed: offer every known word, then ask for best. */
struct bpk_nearest {
	const char *word; /* the mistyped one, borrowed */
	const char *best; /* the nearest offered so far; NULL: all are too far */
	size_t distance;  /* of best */
};

/* How many single letters must be added, left out, replaced or swapped with their neighbour. Words
 * longer than 63 bytes are as far from each other as SIZE_MAX. */
size_t bpk_word_distance(const char *a, const char *b);

/* Offer one known word (borrowed). It is near enough within a third of the longer one's letters, or
 * when the mistyped word is how it begins. The first of equals wins. */
void bpk_nearest_offer(struct bpk_nearest *nearest, const char *known);

#endif
