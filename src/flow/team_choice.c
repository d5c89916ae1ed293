/* Gives rank 0's choice of recipes to a team. The commands that pack call it, through flow.h. All
 * ranks run one program, so structs travel as they are, but for pointers. */
#include "flow/flow.h"

/* ---- One choice ---- */

static void share_recipe(struct bpk_team *team, struct bpk_recipe *recipe)
{
	uint64_t index = 0;

	if (team->rank == 0)
		while (bpk_codec_at(index) != recipe->codec)
			index++;
	team->broadcast(team->arg, 0, &index, sizeof index);
	team->broadcast(team->arg, 0, recipe, sizeof *recipe);
	recipe->codec = bpk_codec_at(index);
}

static void share_one(struct bpk_team *team, struct bpk_choice *choice)
{
	struct bpk_buf why = choice->why;

	share_recipe(team, &choice->recipe);
	team->broadcast(team->arg, 0, choice->candidates, sizeof choice->candidates);
	team->broadcast(team->arg, 0, &choice->ncandidates, sizeof choice->ncandidates);
	team->broadcast(team->arg, 0, &choice->chunk_size, sizeof choice->chunk_size);
	choice->why = why;
}

/* ---- Cuts ---- */

static int share_cuts(struct bpk_team *team, struct bpk_cuts *cuts, struct bpk_err *err)
{
	struct bpk_sizes *runs = &cuts->runs;
	uint64_t counts[] = { cuts->nkinds, runs->count, runs->nchunks, runs->raw_size };
	int rc = 0;

	team->broadcast(team->arg, 0, counts, sizeof counts);
	if (counts[0] == 0)
		return 0;
	if (team->rank > 0) {
		runs->all = bpk_calloc((size_t)counts[1], sizeof *runs->all, err);
		rc = runs->all == NULL ? -1 : 0;
		*runs = (struct bpk_sizes){ .count = rc == 0 ? (size_t)counts[1] : 0,
					    .room = rc == 0 ? (size_t)counts[1] : 0,
					    .all = runs->all,
					    .nchunks = counts[2],
					    .raw_size = counts[3] };
	}
	if (bpk_team_agree(team, rc, err) != 0)
		return -1;
	cuts->nkinds = (size_t)counts[0];
	team->broadcast(team->arg, 0, runs->all, runs->count * sizeof *runs->all);
	for (size_t i = 0; i < cuts->nkinds; i++)
		share_one(team, &cuts->kinds[i]);
	return 0;
}

int bpk_team_share_choice(struct bpk_team *team, struct bpk_choice *choice, struct bpk_cuts *cuts,
			  struct bpk_predictions *predictions, struct bpk_err *err)
{
	if (bpk_team_meet(team, BPK_TEAM_CHOICE, 0, err) != 0)
		return -1;
	share_one(team, choice);
	if (predictions != NULL)
		team->broadcast(team->arg, 0, predictions, sizeof *predictions);
	return cuts != NULL ? share_cuts(team, cuts, err) : 0;
}
