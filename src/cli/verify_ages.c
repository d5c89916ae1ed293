/* The sum of verify --state, and the archives whose last good check is too old. Called by
 * verify_rota.c. */
#include "cli/verify_ages.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/checks.h"
#include "cli/record.h"
#include "cli/report.h"

/* "12 days", in the largest unit of which there are two. */
static const char *age_text(uint64_t ns, char text[32])
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = { { 86400, "days" }, { 3600, "hours" }, { 60, "minutes" }, { 1, "seconds" } };
	size_t i = 0;

	while (i < 3 && ns / BPK_CHECK_SECOND < 2 * units[i].seconds)
		i++;
	snprintf(text, 32, "%" PRIu64 " %s", ns / BPK_CHECK_SECOND / units[i].seconds,
		 units[i].name);
	return text;
}

static uint64_t age_of(const struct bpk_check *check, uint64_t at)
{
	return at > check->good ? at - check->good : 0;
}

struct sum {
	uint64_t narchives, nunchecked, ndamaged, nold, ngood;
	uint64_t oldest;               /* age of the oldest good check, or first sight */
	const struct bpk_check *first; /* with it; NULL: none */
};

/* True for an archive without a good check within --max-age. */
static bool is_old(const struct bpk_verify_ages *ages, const struct bpk_check *check)
{
	uint64_t limit = ages->args->max_age;

	return limit > 0 && check->kind != BPK_CHECK_OTHER &&
	       age_of(check, ages->at) / BPK_CHECK_SECOND > limit;
}

static struct sum add_up(const struct bpk_verify_ages *ages)
{
	struct sum sum = { 0 };

	for (size_t i = 0; i < ages->count; i++) {
		const struct bpk_check *check = ages->checks[i];

		if (check->kind == BPK_CHECK_OTHER)
			continue;
		sum.narchives++;
		sum.nunchecked += bpk_check_turn(check) == BPK_CHECK_NEW;
		sum.ndamaged += bpk_check_turn(check) == BPK_CHECK_BAD;
		sum.ngood += bpk_check_had_good(check);
		sum.nold += is_old(ages, check);
		if (sum.first == NULL || check->good < sum.first->good)
			sum.first = check;
	}
	sum.oldest = sum.first != NULL ? age_of(sum.first, ages->at) : 0;
	return sum;
}

static void record_old(const struct bpk_verify_ages *ages)
{
	bpk_record_list_begin("old");
	for (size_t i = 0; i < ages->count; i++) {
		const struct bpk_check *check = ages->checks[i];

		if (!is_old(ages, check))
			continue;
		bpk_record_item_begin();
		bpk_record_text("path", check->path);
		bpk_record_u64("age", age_of(check, ages->at) / BPK_CHECK_SECOND);
		bpk_record_item_end();
	}
	bpk_record_list_end();
}

static void tell(const struct bpk_verify_ages *ages, const struct sum *sum)
{
	const struct bpk_shared *shared = &ages->args->shared;
	char age[32], line[192];
	bool has_good = sum->ngood > 0;

	snprintf(line, sizeof line,
		 "%zu %s checked; of %" PRIu64 " %s %" PRIu64 " %s for a check, %" PRIu64
		 " %s bad, and %s%s%s",
		 ages->ndone, bpk_plural(ages->ndone, "file", "files"), sum->narchives,
		 bpk_plural(sum->narchives, "archive", "archives"), sum->nunchecked,
		 bpk_plural(sum->nunchecked, "waits", "wait"), sum->ndamaged,
		 bpk_plural(sum->ndamaged, "is", "are"),
		 has_good ? "the oldest good check is " : "none had a good check",
		 has_good ? age_text(sum->oldest, age) : "", has_good ? " old" : "");
	if (shared->verbose > 0 && !shared->json)
		printf("%s: %s\n", shared->state, line);
	if (!shared->json)
		return;
	bpk_record_begin(shared->command, shared->state);
	bpk_record_text("format", NULL);
	bpk_record_u64("raw_size", BPK_UNKNOWN);
	bpk_record_u64("nchecked", ages->ndone);
	bpk_record_u64("narchives", sum->narchives);
	bpk_record_u64("nunchecked", sum->nunchecked);
	bpk_record_u64("nbad", sum->ndamaged);
	bpk_record_u64("oldest_check", has_good ? sum->oldest / BPK_CHECK_SECOND : BPK_UNKNOWN);
	record_old(ages);
	bpk_record_list_begin("remarks");
	bpk_record_list_end();
	bpk_record_end();
}

/* others: how many archives that are not named share the failure. */
static void report_old(const struct bpk_verify_ages *ages, const struct bpk_check *check,
		       uint64_t others)
{
	struct bpk_err err = { 0 };
	char age[32], allowed[32], more[64] = "";

	if (others > 0)
		snprintf(more, sizeof more, "; nor had %" PRIu64 " %s", others,
			 bpk_plural(others, "other", "others"));
	bpk_fail(&err, BPK_FAILED, "had no good check for %s, --max-age allows %s%s",
		 age_text(age_of(check, ages->at), age),
		 age_text(ages->args->max_age * BPK_CHECK_SECOND, allowed), more);
	bpk_report(check->path, &err);
}

/* One is named, and with -v all. */
static void judge_ages(const struct bpk_verify_ages *ages, const struct sum *sum)
{
	bool names_all = ages->args->shared.verbose > 0;

	report_old(ages, sum->first, names_all ? 0 : sum->nold - 1);
	for (size_t i = 0; names_all && i < ages->count; i++)
		if (ages->checks[i] != sum->first && is_old(ages, ages->checks[i]))
			report_old(ages, ages->checks[i], 0);
}

uint64_t bpk_verify_ages_report(const struct bpk_verify_ages *ages)
{
	const struct bpk_shared *shared = &ages->args->shared;
	struct sum sum = add_up(ages);

	tell(ages, &sum);
	if (sum.nold > 0)
		judge_ages(ages, &sum);
	bpk_record_settle(shared, shared->state);
	bpk_flush_results();
	return sum.narchives;
}
