/*
 * Choices made for small inputs of one command, for those that follow and look alike. Inside
 * choose; choose.c calls it, and commands own the store (choose.h).
 */
#ifndef BPK_CHOOSE_KNOWN_H
#define BPK_CHOOSE_KNOWN_H

#include "choose/look.h"
#include "choose/sample.h"

enum { BPK_KNOWN_LOOKS = 4 };

/* The look of a small input: of regions in equal distances. */
struct bpk_known_input {
	bool is_small; /* else it has no looks, and no choice is shared */
	struct bpk_look looks[BPK_KNOWN_LOOKS];
};

/* The look of the input of a sample that has pieces. */
struct bpk_known_input bpk_known_look(const struct bpk_sample *sample);

/* The choice for an earlier input that looks alike, made for the same wishes; NULL: there is none.
 * Valid until the next call of bpk_known_add. */
const struct bpk_choice *bpk_known_find(const struct bpk_wishes *wishes,
					const struct bpk_known_input *input);

/* Keep a copy of the choice, without its text, for later inputs; it may replace the oldest. */
void bpk_known_add(const struct bpk_wishes *wishes, const struct bpk_known_input *input,
		   const struct bpk_choice *choice);

#endif
