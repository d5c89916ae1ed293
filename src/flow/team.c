/* How the ranks of a team agree. The other parts of flow that know teams call it, and cli. */
#include "flow/flow.h"

/* ---- Agreement ---- */

/* Copy err of rank from to all. */
static int share_failure(struct bpk_team *team, unsigned from, struct bpk_err *err)
{
	struct bpk_err shared = { 0 };

	if (from == team->rank)
		shared = *err;
	team->broadcast(team->arg, from, &shared, sizeof shared);
	shared.text[sizeof shared.text - 1] = '\0';
	*err = shared;
	return -1;
}

unsigned bpk_team_lowest(const struct bpk_team *team, uint64_t number)
{
	uint64_t lowest = team->minimum(team->arg, number);

	if (lowest == BPK_UNKNOWN)
		return team->size;
	return (unsigned)team->minimum(team->arg, number == lowest ? team->rank : BPK_UNKNOWN);
}

int bpk_team_agree_at(struct bpk_team *team, int rc, uint64_t number, struct bpk_err *err)
{
	unsigned rank = bpk_team_lowest(team, rc != 0 ? number : BPK_UNKNOWN);

	return rank == team->size ? 0 : share_failure(team, rank, err);
}

int bpk_team_agree(struct bpk_team *team, int rc, struct bpk_err *err)
{
	return bpk_team_agree_at(team, rc, 0, err);
}

/* ---- Meetings ---- */

static uint32_t next_step(struct bpk_team *team, uint32_t own)
{
	team->broadcast(team->arg, 0, &own, sizeof own);
	team->ended = team->rank > 0 && own == BPK_TEAM_END;
	return own;
}

int bpk_team_meet(struct bpk_team *team, enum bpk_team_step step, int rc, struct bpk_err *err)
{
	uint32_t met;

	if (team->ended)
		return bpk_fail(err, BPK_FAILED, "rank 0 has ended");
	met = next_step(team, step);
	if (team->ended)
		return bpk_fail(err, BPK_FAILED, "rank 0 has ended");
	if (rc == 0 && met != step)
		rc = bpk_fail(err, BPK_FAILED, "its input is another one than that of rank 0");
	if (rc != 0 && team->rank > 0)
		bpk_err_subject(err, "rank %u", team->rank);
	return bpk_team_agree(team, rc, err);
}

void bpk_team_end(struct bpk_team *team, const struct bpk_err *why)
{
	struct bpk_err err;

	if (team->rank == 0)
		next_step(team, BPK_TEAM_END);
	while (team->rank > 0 && !team->ended) {
		next_step(team, 0);
		if (team->ended)
			break;
		if (why != NULL && why->kind != BPK_OK)
			err = *why;
		else
			bpk_fail(&err, BPK_FAILED, "found no work to share");
		bpk_err_subject(&err, "rank %u", team->rank);
		(void)bpk_team_agree(team, -1, &err);
	}
	team->ended = false;
}
