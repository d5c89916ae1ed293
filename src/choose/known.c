/*
 * Choices that small inputs of one command share. Their trials take longer than packing them, and
 * mostly give the same answer: files of one kind look alike, as regions of one group do inside a
 * large input (look.c). Called by choose.c.
 */
#include "choose/known.h"

#include <stdlib.h>

#include "choose/look.h"
#include "choose/tuning.h"

/* The inputs of a command are seldom of more kinds. */
enum { KINDS = 8 };

struct bpk_known {
	size_t count, next; /* next: the place of the next one, the oldest if all are in use */
	struct kind {
		struct bpk_wishes wishes;
		struct bpk_known_input input;
		struct bpk_choice choice;
	} kinds[KINDS];
};

int bpk_known_new(struct bpk_known **known, struct bpk_err *err)
{
	*known = bpk_calloc(1, sizeof **known, err);
	return *known == NULL ? -1 : 0;
}

void bpk_known_free(struct bpk_known *known)
{
	free(known);
}

struct bpk_known_input bpk_known_look(const struct bpk_sample *sample)
{
	struct bpk_known_input input = { 0 };
	struct bpk_view all = sample->window;

	if (!sample->window_is_all || sample->pieces.ngroups > 1 || all.size > KNOWN_MOST ||
	    all.size < BPK_KNOWN_LOOKS * BPK_LOOK_REGION)
		return input;
	input.is_small = true;
	for (size_t i = 0; i < BPK_KNOWN_LOOKS; i++)
		bpk_look_at(all.data + (all.size - BPK_LOOK_REGION) / (BPK_KNOWN_LOOKS - 1) * i,
			    &input.looks[i]);
	return input;
}

static bool is_alike(const struct bpk_known_input *a, const struct bpk_known_input *b)
{
	for (size_t i = 0; i < BPK_KNOWN_LOOKS; i++)
		if (bpk_look_distance(&a->looks[i], &b->looks[i]) > 0)
			return false;
	return true;
}

/* The command's options are the same for all inputs; their arrays set the other wishes. */
static bool are_same(const struct bpk_wishes *a, const struct bpk_wishes *b)
{
	return a->typesize == b->typesize && a->row_size == b->row_size &&
	       a->only_hints == b->only_hints && a->is_part == b->is_part &&
	       memcmp(a->hints, b->hints, sizeof a->hints) == 0;
}

const struct bpk_choice *bpk_known_find(const struct bpk_wishes *wishes,
					const struct bpk_known_input *input)
{
	const struct bpk_known *known = wishes->known;

	for (size_t i = 0; known != NULL && input->is_small && i < known->count; i++)
		if (are_same(wishes, &known->kinds[i].wishes) &&
		    is_alike(input, &known->kinds[i].input))
			return &known->kinds[i].choice;
	return NULL;
}

void bpk_known_add(const struct bpk_wishes *wishes, const struct bpk_known_input *input,
		   const struct bpk_choice *choice)
{
	struct bpk_known *known = wishes->known;
	struct kind *kind;

	if (known == NULL || !input->is_small)
		return;
	kind = &known->kinds[known->next];
	*kind = (struct kind){ *wishes, *input, *choice };
	kind->choice.why = (struct bpk_buf){ 0 };
	known->next = (known->next + 1) % KINDS;
	known->count += known->count < KINDS;
}
