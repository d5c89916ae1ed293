/*
 * The rota of bpk verify: which file is next, and until when. With a state every file is checked
 * once before any is checked again, however often the command is ended. Called by verify_tree.c.
 */
#include "cli/verify_rota.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/checks.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/verify_ages.h"
#include "cli/verify_roots.h"

struct rota {
	const struct bpk_verify_args *args;
	const struct bpk_files *files;
	struct bpk_checks checks; /* in the order of paths; no state: empty */
	struct bpk_check **turns; /* those of this run: the bad ones, then the others */
	size_t nturns, nbad;
	struct bpk_verify_roots roots;
	size_t bad, other;                   /* the next of each */
	const struct bpk_verify_turns *turn; /* of the files */
	struct bpk_check *
		*chosen; /* by the number of the turn; NULL: the time is over, or saving failed */
	size_t nbegun, ndone;
	int rc; /* of saving */
	struct bpk_err err;
	double started, saved, saving; /* on bpk_clock; seconds that the last save took */
};

int bpk_verify_rota_check(const struct bpk_verify_args *args, struct bpk_err *err)
{
	const char *state = args->shared.state;

	if (args->max_age > 0 && state == NULL)
		return bpk_fail(err, BPK_USAGE, "--max-age needs --state");
	if ((args->max_time > 0 || state != NULL) && bpk_program->team != NULL)
		return bpk_fail(err, BPK_USAGE,
				"give --max-time and --resume before the command; --state is "
				"for bpk alone");
	return 0;
}

/* ---- times ---- */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * BPK_CHECK_SECOND + (uint64_t)time.tv_nsec;
}

/* Size and time of change, as far as they are known without opening it. */
static void look(const char *path, uint64_t *size, uint64_t *mtime)
{
	struct stat found;

	*size = *mtime = 0;
	if (bpk_path_is_url(path) || stat(path, &found) != 0 ||
	    !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)))
		return;
	*size = S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
	if (found.st_mtim.tv_sec > 0)
		*mtime = (uint64_t)found.st_mtim.tv_sec * BPK_CHECK_SECOND +
			 (uint64_t)found.st_mtim.tv_nsec;
}

static bool is_missing(const char *path)
{
	struct stat found;
	bool there;

	return !bpk_path_is_url(path) && bpk_path_look(path, &found, &there, NULL) == 0 && !there;
}

/* True if the name of a file has become that of something that no run visits. */
static bool is_replaced(const struct bpk_check *check)
{
	struct stat found;

	if (bpk_path_is_url(check->path) || lstat(check->path, &found) != 0)
		return false;
	return S_ISDIR(found.st_mode) ? check->size > 0 : !S_ISREG(found.st_mode);
}

/* ---- the files of this run, and of the state ---- */

static int by_path(const void *a, const void *b)
{
	return strcmp((*(const struct bpk_file *const *)a)->path,
		      (*(const struct bpk_file *const *)b)->path);
}

/* The files of the run in the order of paths; free it. */
static const struct bpk_file **sort_files(const struct bpk_files *files, struct bpk_err *err)
{
	const struct bpk_file **sorted = bpk_calloc(files->count + 1, sizeof *sorted, err);

	for (size_t i = 0; sorted != NULL && i < files->count; i++)
		sorted[i] = &files->all[i];
	if (sorted != NULL && files->count > 0)
		qsort(sorted, files->count, sizeof *sorted, by_path);
	return sorted;
}

/* A parity file is checked with its archive. */
static bool is_parity(const char *path)
{
	return bpk_ends_with(path, BPK_PARITY_SUFFIX);
}

/* True if a file of the state is missing: a line says so. */
static bool report_gone(const struct rota *rota, const struct bpk_check *check, uint64_t *nmissing)
{
	if (is_replaced(check))
		bpk_verify_report_missing(rota->args, check->path,
					  "it was a file at its last check, and is none now",
					  nmissing);
	else if (is_missing(check->path))
		bpk_verify_report_missing(rota->args, check->path, "it was there at its last check",
					  nmissing);
	else
		return false;
	return true;
}

/* Take over a check from the state into merged, for file, or for no file of this run. */
static int take_over(struct rota *rota, struct bpk_checks *merged, struct bpk_check *check,
		     const struct bpk_file *file, uint64_t at, uint64_t *nmissing,
		     struct bpk_err *err)
{
	struct bpk_check own = *check;
	uint64_t size, mtime;

	check->path = NULL;
	if (file == NULL && own.kind != BPK_CHECK_OTHER &&
	    bpk_verify_roots_have(&rota->roots, own.path))
		own.gone = report_gone(rota, &own, nmissing);
	/* times that a wrong clock gave would put the check off for long */
	own.last = own.last > at ? 0 : own.last;
	own.good = bpk_min_u64(own.good, at);
	if (file != NULL) {
		own.number = (size_t)(file - rota->files->all);
		look(own.path, &size, &mtime);
		own.rewritten = size != own.size || mtime != own.mtime;
		if (own.rewritten && own.kind == BPK_CHECK_GOOD)
			own.kind = BPK_CHECK_CHANGED;
		else if (own.rewritten && own.kind == BPK_CHECK_OTHER && !is_parity(own.path))
			own.kind = BPK_CHECK_NEW;
	}
	return bpk_checks_add(merged, &own, err);
}

static int add_new(struct rota *rota, struct bpk_checks *merged, const struct bpk_file *file,
		   uint64_t at, struct bpk_err *err)
{
	const struct bpk_check check = { .path = bpk_strdup(file->path, err),
					 .kind = is_parity(file->path) ? BPK_CHECK_OTHER
								       : BPK_CHECK_NEW,
					 .good = at,
					 .number = (size_t)(file - rota->files->all) };

	return bpk_checks_add(merged, &check, err);
}

/* Merge the files of this run, sorted, into the checks of the state. */
static int merge(struct rota *rota, const struct bpk_file *const *sorted, struct bpk_checks *merged,
		 struct bpk_err *err)
{
	struct bpk_checks *old = &rota->checks;
	size_t i = 0, j = 0;
	uint64_t at = now(), nmissing = 0;
	int rc = 0;

	while (rc == 0 && (i < old->count || j < rota->files->count)) {
		int order = i == old->count           ? 1
			    : j == rota->files->count ? -1
						      : strcmp(old->all[i].path, sorted[j]->path);

		if (order > 0)
			rc = add_new(rota, merged, sorted[j], at, err);
		else
			rc = take_over(rota, merged, &old->all[i++], order == 0 ? sorted[j] : NULL,
				       at, &nmissing, err);
		if (order < 0)
			continue;
		/* a file that is named twice has one check */
		for (j++; j < rota->files->count && by_path(&sorted[j - 1], &sorted[j]) == 0;)
			j++;
	}
	if (nmissing > 20 && !rota->args->shared.json)
		bpk_note(NULL, "%" PRIu64 " files of the state are missing", nmissing);
	return rc;
}

/* ---- turns ---- */

static int by_turn(const void *a, const void *b)
{
	const struct bpk_check *x = *(struct bpk_check *const *)a;
	const struct bpk_check *y = *(struct bpk_check *const *)b;

	if (bpk_check_turn(x) != bpk_check_turn(y))
		return bpk_check_turn(x) < bpk_check_turn(y) ? -1 : 1;
	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int set_turns(struct rota *rota, struct bpk_err *err)
{
	rota->turns = bpk_calloc(rota->checks.count + 1, sizeof *rota->turns, err);
	if (rota->turns == NULL)
		return -1;
	for (size_t i = 0; i < rota->checks.count; i++) {
		struct bpk_check *check = &rota->checks.all[i];

		if (check->number == SIZE_MAX)
			continue;
		rota->turns[rota->nturns++] = check;
		rota->nbad += bpk_check_turn(check) == BPK_CHECK_BAD;
	}
	if (rota->nturns > 0)
		qsort(rota->turns, rota->nturns, sizeof *rota->turns, by_turn);
	rota->other = rota->nbad;
	return 0;
}

static double elapsed(const struct rota *rota)
{
	return bpk_clock() - rota->started;
}

/* True if no further file is begun; one is checked in any case, so that every run gets on. */
static bool is_over(const struct rota *rota)
{
	return rota->args->max_time > 0 && rota->nbegun > 0 &&
	       elapsed(rota) >= (double)rota->args->max_time;
}

/* The next file; NULL: all had their turn. Damaged ones get half of the time at most, or many of
 * them would keep the others waiting for ever. */
static struct bpk_check *next(struct rota *rota)
{
	uint64_t max = rota->args->max_time;
	bool may_bad = max == 0 || rota->other == rota->nturns || elapsed(rota) < (double)max / 2;

	if (rota->bad < rota->nbad && may_bad)
		return rota->turns[rota->bad++];
	return rota->other < rota->nturns ? rota->turns[rota->other++] : NULL;
}

/* ---- the run ---- */

static int save(struct rota *rota, struct bpk_err *err)
{
	double from = bpk_clock();
	int rc = bpk_checks_write(&rota->checks, rota->args->shared.state, err);

	rota->saved = bpk_clock();
	rota->saving = rota->saved - from;
	return rc;
}

/* A save every second, but no more than a tenth of the time. */
static bool is_due(const struct rota *rota)
{
	double since = bpk_clock() - rota->saved;

	return since >= 1 && since >= 10 * rota->saving;
}

static const char *begin_check(void *arg, size_t number)
{
	struct rota *rota = arg;
	struct bpk_check *check = rota->rc == 0 && !is_over(rota) ? next(rota) : NULL;

	rota->chosen[number] = check;
	if (check == NULL)
		return NULL;
	rota->nbegun++;
	look(check->path, &check->size, &check->mtime);
	return rota->turn->begin(rota->turn->arg, check->number);
}

static void note(struct rota *rota, struct bpk_check *check, enum bpk_check_kind found)
{
	check->last = now();
	check->kind =
		found == BPK_CHECK_BAD && !bpk_check_had_good(check) ? BPK_CHECK_NEVER : found;
	if (found != BPK_CHECK_BAD)
		check->good = check->last;
	rota->ndone++;
	if (rota->rc == 0 && is_due(rota))
		rota->rc = save(rota, &rota->err);
}

static void end_check(void *arg, size_t number)
{
	struct rota *rota = arg;

	note(rota, rota->chosen[number], BPK_CHECK_GOOD);
}

/* No archive was found in the file. One that was there may have lost its first bytes, or the file
 * was written anew: that is reported once, and damage until it is repaired. */
static enum bpk_check_kind judge_other(const struct rota *rota, const struct bpk_check *check)
{
	const struct bpk_shared *shared = &rota->args->shared;
	struct bpk_err err = { 0 };

	if (!bpk_check_had_good(check) || check->kind == BPK_CHECK_OTHER ||
	    bpk_side_is(check->path))
		return BPK_CHECK_OTHER;
	bpk_fail(&err, BPK_CORRUPT, "was an archive at its last check, and does not begin as one");
	bpk_tally_failed(shared, &err);
	bpk_report(check->path, &err);
	bpk_record_settle(shared, check->path);
	return check->rewritten ? BPK_CHECK_OTHER : BPK_CHECK_BAD;
}

static void check_alone(void *arg, size_t number)
{
	struct rota *rota = arg;
	struct bpk_check *check = rota->chosen[number];
	const struct bpk_tally *tally = rota->args->shared.tally;
	uint64_t bad = tally->damaged + tally->failed, done = tally->done;

	if (check == NULL)
		return;
	rota->turn->alone(rota->turn->arg, check->number);
	/* a parity file may be all that is left of an archive, and stays no archive */
	if (tally->damaged + tally->failed > bad && !bpk_side_is(check->path)) {
		/* a name that never was a file's is no file that was lost */
		check->gone = !bpk_check_had_good(check) && is_missing(check->path);
		note(rota, check, BPK_CHECK_BAD);
	} else {
		note(rota, check, tally->done > done ? BPK_CHECK_GOOD : judge_other(rota, check));
	}
}

/* Files that are gone were reported, once. A run that is killed does not come here: the next one
 * reports them again. */
static void forget_gone(struct bpk_checks *checks)
{
	for (size_t i = 0; i < checks->count; i++)
		if (checks->all[i].gone) {
			free(checks->all[i].path);
			checks->all[i].path = NULL;
		}
}

static int run_turns(struct rota *rota, struct bpk_err *err)
{
	const struct bpk_verify_turns turns = { rota->nturns, begin_check, end_check, check_alone,
						rota };

	rota->chosen = bpk_calloc(rota->nturns + 1, sizeof *rota->chosen, err);
	if (rota->chosen == NULL)
		return -1;
	bpk_verify_take_turns(rota->args, &turns);
	free(rota->chosen);
	forget_gone(&rota->checks);
	if (rota->rc == 0)
		return save(rota, err);
	*err = rota->err;
	return -1;
}

/* Returns how many archives the run has. */
static uint64_t end_state(const struct rota *rota)
{
	const struct bpk_verify_ages ages = { rota->args, rota->turns, rota->nturns, rota->ndone,
					      now() };

	bpk_verify_roots_judge(&rota->roots, rota->args, rota->turns, rota->nturns);
	return bpk_verify_ages_report(&ages);
}

/* ---- all ---- */

static int check_names(const struct bpk_files *files, struct bpk_err *err)
{
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->all[i].path, "-") == 0)
			return bpk_fail(err, BPK_USAGE, "standard input has no check in a --state");
	return 0;
}

static int begin_state(struct rota *rota, struct bpk_err *err)
{
	const struct bpk_file **sorted;
	struct bpk_checks merged = { 0 };
	int rc = bpk_verify_roots_find(&rota->roots, rota->args, rota->files, err);

	if (rc == 0)
		rc = bpk_checks_read(&rota->checks, rota->args->shared.state, err);
	if (rc != 0)
		return rc;
	sorted = sort_files(rota->files, err);
	rc = sorted == NULL ? -1 : merge(rota, sorted, &merged, err);
	free(sorted);
	bpk_checks_clear(&rota->checks);
	rota->checks = merged;
	return rc == 0 ? set_turns(rota, err) : rc;
}

static uint64_t run_with_state(struct rota *rota)
{
	struct bpk_err err = { 0 };
	uint64_t narchives = BPK_UNKNOWN;
	struct bpk_err why = { 0 };
	int rc = check_names(rota->files, &err);

	if (rc == 0)
		rc = begin_state(rota, &why);

	/* whether it can be written is known before the work */
	if (rc == 0)
		rc = save(rota, &why);
	if (why.kind != BPK_OK)
		rc = bpk_fail(&err, why.kind, "%s; no archive was checked", why.text);
	if (rc == 0)
		rc = run_turns(rota, &err);
	if (rc == 0)
		narchives = end_state(rota);
	else
		bpk_report(err.kind == BPK_USAGE ? "verify" : NULL, &err);
	bpk_checks_clear(&rota->checks);
	free(rota->turns);
	free(rota->roots.all);
	return narchives;
}

/* ---- without a state ---- */

static const char *begin_in_order(void *arg, size_t number)
{
	struct rota *rota = arg;

	if (is_over(rota))
		return NULL;
	rota->nbegun++;
	return rota->turn->begin(rota->turn->arg, number);
}

static void end_in_order(void *arg, size_t number)
{
	struct rota *rota = arg;

	(void)number;
	rota->ndone++;
}

static void do_in_order(void *arg, size_t number)
{
	struct rota *rota = arg;

	if (number >= rota->nbegun)
		return;
	rota->turn->alone(rota->turn->arg, number);
	rota->ndone++;
}

static void run_in_order(struct rota *rota)
{
	size_t count = rota->files->count;
	const struct bpk_verify_turns turns = { count, begin_in_order, end_in_order, do_in_order,
						rota };
	struct bpk_err err = { 0 };

	bpk_verify_take_turns(rota->args, &turns);
	if (rota->ndone == count)
		return;
	bpk_fail(&err, BPK_PARTIAL, "stopped after the %" PRIu64 " %s of --max-time",
		 rota->args->max_time, bpk_plural(rota->args->max_time, "second", "seconds"));
	bpk_err_subject(&err, "%zu of %zu files are not done", count - rota->ndone, count);
	bpk_report(NULL, &err);
}

void bpk_verify_rota_run(struct bpk_verify_args *args, const struct bpk_files *files,
			 const struct bpk_verify_turns *turns)
{
	struct rota rota = { .args = args, .files = files, .turn = turns, .started = bpk_clock() };

	if (args->shared.state != NULL)
		args->nknown = run_with_state(&rota);
	else
		run_in_order(&rota);
}
