/* Shares the operands of a command among the ranks of a team: those that are divided, and the end
 * of all. The commands of bpk-mpi call it; share_files.c hands out the others. */
#include "cli/share.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/share_catch.h"
#include "cli/share_files.h"
#include "cli/signal.h"
#include "cli/text.h"

static struct bpk_state state; /* rank 0's, and empty on others */
static double deadline;        /* on bpk_clock; 0: none */
static uint64_t max_time;
static atomic_int taken;          /* a signal that asks for an end */
static struct bpk_err stopped;    /* why no rank begins more; without a kind: they may */
static struct bpk_team *together; /* works on the operand */
static bool is_begun;             /* the work, or the end without work */
static bool is_asked;             /* options, or other ranks, need the ways of a team */

/* ---- The end before the end ---- */

/* The first signal lets the round end; with the second the process ends. */
static void note_signal(int sig)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&taken, &none, sig))
		return;
	bpk_signals_drop_all();
	_exit(128 + sig);
}

static int should_stop(void *arg, struct bpk_err *err)
{
	(void)arg;
	if (stopped.kind != BPK_OK) {
		*err = stopped;
		return -1;
	}
	if (taken != 0)
		return bpk_fail(err, BPK_PARTIAL, "stopped by signal %d", taken);
	if (deadline > 0 && bpk_clock() >= deadline)
		return bpk_fail(err, BPK_PARTIAL, "stopped after the %llu %s of --max-time",
				(unsigned long long)max_time,
				bpk_plural(max_time, "second", "seconds"));
	return 0;
}

void bpk_share_end(void)
{
	struct bpk_team *team = bpk_program->team;
	struct bpk_err err = { 0 };

	if (!is_asked || is_begun)
		return;
	is_begun = true;
	if (team->total(team->arg, 0) == 0)
		return;
	bpk_fail(&err, BPK_FAILED, "could not begin: %s", bpk_report_silenced());
	team->abort(team->arg, EXIT_FAILURE, &err);
}

/* All ranks come to the work, or to the end without it. A rank that fails before ends the
 * others. */
static void begin_together(struct bpk_team *team)
{
	is_begun = true;
	if (team->total(team->arg, 1) < team->size)
		team->minimum(team->arg, 0); /* until that rank has ended all */
}

/* A failure ends this process in the middle of shared work: the others must not wait for it. */
static void end_all(void)
{
	struct bpk_team *team = bpk_program->team;

	if (together != NULL || bpk_catch_release())
		team->abort(team->arg, bpk_report_status(), NULL);
	bpk_share_end();
}

int bpk_share_begin(const struct bpk_main_args *args, int argc, char **argv, struct bpk_err *err)
{
	struct bpk_team *team = bpk_program->team;
	int rc = 0;

	if (team == NULL)
		return 0;
	is_asked = team->size > 1 || args->max_time > 0 || args->resume != NULL;
	if (!is_asked)
		return 0;
	max_time = args->max_time;
	deadline = max_time > 0 ? bpk_clock() + (double)max_time : 0;
	team->stop = should_stop;
	bpk_signals_tell(note_signal);
	bpk_report_on_end(end_all);
	if (args->resume == NULL)
		return 0;
	if (team->rank == 0)
		rc = bpk_state_open(&state, args->resume, argc, argv, err);
	return bpk_team_agree(team, rc, err);
}

/* ---- Operands that are divided ---- */

struct bpk_team *bpk_share_team(void)
{
	return together;
}

static void divide_one(struct bpk_share_files *files, size_t number)
{
	struct bpk_team *team = files->team;
	struct bpk_err why = { 0 };

	together = team;
	if (team->rank == 0) {
		bpk_share_files_do(files, number);
	} else {
		bpk_report_withhold();
		files->one(files->arg, number);
		why = bpk_report_withheld();
	}
	bpk_team_end(team, &why);
	together = NULL;
}

/* True if the next one is begun: no rank was asked to stop. */
static bool goes_on(struct bpk_team *team)
{
	struct bpk_err err = { 0 };
	int rc = should_stop(NULL, &err);

	if (bpk_team_agree(team, rc, &err) == 0)
		return true;
	stopped = err;
	return false;
}

static void divide_large(struct bpk_share_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->jobs[i].way == BPK_SHARE_DIVIDED) {
			if (!goes_on(files->team))
				return;
			divide_one(files, i);
		}
}

/* ---- All of them ---- */

static void tell_end(const struct bpk_share_files *files, const struct bpk_shared *shared)
{
	struct bpk_err err = { 0 };
	size_t missing = files->count - files->ndone;

	if (missing > 0 && should_stop(NULL, &err) == 0)
		bpk_fail(&err, BPK_PARTIAL, "stopped by another rank");
	if (missing > 0) {
		bpk_err_subject(&err, "%zu of %zu files are not done", missing, files->count);
		bpk_report(NULL, &err);
	}
	if (shared->verbose && files->count > 1)
		bpk_note(NULL, "%zu files on %u ranks, %zu of them done before", files->count,
			 files->team->size, files->npassed);
}

bool bpk_share_is_asked(void)
{
	return is_asked;
}

bool bpk_share_leads(void)
{
	return !is_asked || bpk_program->team->rank == 0;
}

bool bpk_share_assists(void)
{
	return together != NULL && together->rank > 0;
}

void bpk_share_total(uint64_t *count)
{
	struct bpk_team *team = bpk_program->team;

	if (is_asked)
		*count = team->total(team->arg, *count);
}

/* End all ranks if their lists differ: files may appear while the ranks look for them. */
static void compare_lists(struct bpk_team *team, const struct bpk_files *operands)
{
	uint64_t hash = BPK_HASH_START, first;
	struct bpk_err err = { 0 };

	for (size_t i = 0; i < operands->count; i++)
		hash = bpk_hash(hash,
				bpk_view(operands->all[i].path, strlen(operands->all[i].path) + 1));
	first = hash;
	team->broadcast(team->arg, 0, &first, sizeof first);
	if (team->total(team->arg, hash == first) == team->size)
		return;
	bpk_fail(&err, BPK_FAILED, "the processes found different files");
	team->abort(team->arg, EXIT_FAILURE, &err);
}

static void sum_tally(struct bpk_tally *tally)
{
	uint64_t *const counts[] = { &tally->done,    &tally->raw_size, &tally->packed_size,
				     &tally->skipped, &tally->damaged,  &tally->failed };

	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		bpk_share_total(counts[i]);
}

bool bpk_share_each(const struct bpk_shared *shared, const struct bpk_files *operands,
		    void (*one)(void *arg, size_t number), void *arg)
{
	struct bpk_team *team = bpk_program->team;
	struct bpk_share_files files = { .team = team,
					 .operands = operands->all,
					 .count = operands->count,
					 .one = one,
					 .arg = arg,
					 .state = &state };
	struct bpk_err err = { 0 };

	if (!is_asked)
		return false;
	begin_together(team);
	compare_lists(team, operands);
	bpk_signals_start();
	if (bpk_share_files_plan(&files, shared, &err) != 0)
		team->abort(team->arg, EXIT_FAILURE, &err);
	divide_large(&files);
	bpk_share_files_hand_out(&files);
	if (shared->tally != NULL)
		sum_tally(shared->tally);
	if (team->rank == 0)
		tell_end(&files, shared);
	if (team->rank == 0 && bpk_state_keep(&state, &err) != 0)
		bpk_report(NULL, &err);
	bpk_share_files_clear(&files);
	bpk_state_clear(&state);
	return true;
}
