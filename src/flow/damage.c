/* Lists the damaged chunks of a run. flow.c, team_run.c and verify call it. */
#include "flow/damage.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "flow/plan.h"

/* Members of the list; while threads are at work some more, since chunks that will be neighbours
 * are noted in any order. */
enum { MOST = 1 << 16, WHILE_NOTING = MOST + (1 << 12) };

void bpk_damage_init(struct bpk_damage *damage)
{
	*damage = (struct bpk_damage){ .stopped_at = BPK_UNKNOWN };
	bpk_mutex_init(&damage->lock);
}

static void drop_from(struct bpk_damage *damage, size_t count)
{
	while (damage->count > count)
		free(damage->all[--damage->count].report);
}

void bpk_damage_drop(struct bpk_damage *damage)
{
	drop_from(damage, 0);
	damage->more = damage->unlisted = false;
	damage->stop = (struct bpk_err){ 0 };
}

void bpk_damage_clear(struct bpk_damage *damage)
{
	drop_from(damage, 0);
	free(damage->all);
	bpk_mutex_clear(&damage->lock);
}

/* ---- Neighbours ---- */

/* The end of the word at text; *numbered: it has a digit, as places and digests have. */
static const char *word_end(const char *text, bool *numbered)
{
	*numbered = false;
	for (; isalnum((unsigned char)*text); text++)
		*numbered = *numbered || isdigit((unsigned char)*text);
	return text;
}

static bool same_but_numbers(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0') {
		bool has_a, has_b;
		const char *end_a = word_end(a, &has_a), *end_b = word_end(b, &has_b);
		bool same = end_a - a == end_b - b && memcmp(a, b, (size_t)(end_a - a)) == 0;

		if (!same && !(has_a && has_b))
			return false;
		if (end_a == a && *end_a++ != *end_b++)
			return false;
		a = end_a;
		b = end_b;
	}
	return *a == *b;
}

static bool are_alike(const struct bpk_damaged *a, const struct bpk_damaged *b)
{
	return a->first + a->count == b->first && a->end == b->start && a->piece == BPK_UNKNOWN &&
	       b->piece == BPK_UNKNOWN && same_but_numbers(a->report, b->report);
}

/* Make one of the members at i and i + 1 if they are neighbours. */
static void join(struct bpk_damage *damage, size_t i)
{
	struct bpk_damaged *left = &damage->all[i], *right = left + 1;

	if (i + 1 >= damage->count || !are_alike(left, right))
		return;
	left->count += right->count;
	left->end = right->end;
	free(right->report);
	memmove(right, right + 1, (damage->count - i - 2) * sizeof *right);
	damage->count--;
}

/* ---- Noting ---- */

/* The first member that ends behind chunk number. */
static size_t find(const struct bpk_damage *damage, uint64_t number)
{
	size_t low = 0, high = damage->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct bpk_damaged *at = &damage->all[middle];

		if (at->first + at->count <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool make_room(struct bpk_damage *damage)
{
	struct bpk_damaged *all =
		bpk_alloc_grow(damage->all, damage->count, &damage->room, sizeof *all, NULL);

	damage->unlisted = damage->unlisted || all == NULL;
	if (all != NULL)
		damage->all = all;
	return all != NULL;
}

/* Takes the report. */
static bool insert(struct bpk_damage *damage, size_t i, const struct bpk_damaged *found)
{
	if (i == WHILE_NOTING || !make_room(damage)) {
		free(found->report);
		damage->more = true;
		return i == WHILE_NOTING;
	}
	memmove(damage->all + i + 1, damage->all + i, (damage->count - i) * sizeof *found);
	damage->all[i] = *found;
	damage->count++;
	join(damage, i);
	if (i > 0)
		join(damage, i - 1);
	if (damage->count > WHILE_NOTING) {
		drop_from(damage, WHILE_NOTING);
		damage->more = true;
	}
	return true;
}

static bool add(struct bpk_damage *damage, const struct bpk_damaged *found)
{
	size_t i = find(damage, found->first);
	struct bpk_damaged *at;

	if (i == damage->count || damage->all[i].first >= found->first + found->count)
		return insert(damage, i, found);
	at = &damage->all[i];
	/* other pieces of this chunk failed, too: the first one tells */
	if (at->first == found->first && found->piece < at->piece) {
		free(at->report);
		at->report = found->report;
		at->piece = found->piece;
	} else {
		free(found->report);
	}
	return true;
}

/* The most chunks that are worth a look: each has a header of 16 bytes or more in its file. A small
 * file may claim any number of them. */
static uint64_t most_chunks(const struct bpk_flow *flow)
{
	enum { SMALL = 4096, HEADER = 16 };
	const struct bpk_info *info = flow->in->info(flow->reader);

	return info == NULL || info->stored_size == BPK_UNKNOWN
		       ? BPK_UNKNOWN
		       : bpk_max_u64(SMALL, info->stored_size / HEADER);
}

bool bpk_damage_note(const struct bpk_flow *flow, const struct bpk_damaged *found,
		     const struct bpk_err *err)
{
	struct bpk_damage *damage = flow->damage;
	struct bpk_damaged own = *found;
	uint64_t most = most_chunks(flow);
	bool goes_on;

	own.report = bpk_strdup(err->text, NULL);
	bpk_mutex_lock(&damage->lock);
	damage->unlisted = damage->unlisted || own.report == NULL;
	goes_on = own.report != NULL && add(damage, &own) && ++damage->noted < most &&
		  found->end != BPK_UNKNOWN;
	damage->more = damage->more || !goes_on;
	bpk_mutex_unlock(&damage->lock);
	return goes_on;
}

/* ---- Repeats ---- */

static bool is_listed(const struct bpk_damage *damage, uint64_t number)
{
	size_t i = find(damage, number);

	return i < damage->count && damage->all[i].first <= number;
}

/* The raw bytes of chunk number by the plan; false: it does not know them. */
static bool raw_range(const struct bpk_flow *flow, uint64_t number, uint64_t *start, uint64_t *end)
{
	struct bpk_parcel planned = { .number = number };

	bpk_plan_parcel(&flow->plan, &planned);
	*start = *end = planned.raw_offset;
	return planned.raw_offset != BPK_UNKNOWN &&
	       bpk_add_u64(planned.raw_offset, planned.raw_size, end);
}

/* True if the run may go on. */
static bool note_run(const struct bpk_flow *flow, uint64_t number, uint64_t count, uint64_t first)
{
	struct bpk_damaged found = { .first = number, .count = count, .piece = BPK_UNKNOWN };
	struct bpk_err err = { 0 };
	uint64_t unused;

	if (!raw_range(flow, number, &found.start, &unused) ||
	    !raw_range(flow, number + count - 1, &unused, &found.end))
		found.start = found.end = BPK_UNKNOWN;
	bpk_fail(&err, BPK_CORRUPT, "chunk %" PRIu64 " repeats chunk %" PRIu64 ", which is damaged",
		 number, first);
	return bpk_damage_note(flow, &found, &err);
}

void bpk_damage_note_repeats(const struct bpk_flow *flow, uint64_t end)
{
	uint64_t number = flow->plan.first, count, first, raw_size;

	for (number++; flow->damage->count > 0 && number < end; number += bpk_max_u64(count, 1)) {
		count = flow->in->repeats(flow->reader, number, &first, &raw_size);
		count = bpk_min_u64(count, end - number);
		if (count > 0 && is_listed(flow->damage, first) &&
		    !note_run(flow, number, count, first))
			return;
	}
}

/* ---- The end ---- */

/* Leave chunks up to the one where the run ended. */
static void cut_behind(struct bpk_damage *damage, uint64_t number)
{
	struct bpk_damaged *last;

	if (number == BPK_UNKNOWN)
		return;
	while (damage->count > 0 && damage->all[damage->count - 1].first > number)
		drop_from(damage, damage->count - 1);
	if (damage->count == 0)
		return;
	last = &damage->all[damage->count - 1];
	if (last->first + last->count <= number)
		return;
	/* its own failure is in the list */
	damage->stop = (struct bpk_err){ 0 };
	if (last->first + last->count > number + 1) {
		last->count = number + 1 - last->first;
		last->end = BPK_UNKNOWN;
	}
}

int bpk_damage_end(struct bpk_damage *damage, uint64_t *failed, struct bpk_err *err)
{
	if (*failed < damage->stopped_at) {
		damage->stopped_at = *failed;
		damage->stop = *err;
	}
	cut_behind(damage, damage->stopped_at);
	damage->more = damage->more || damage->count > MOST;
	drop_from(damage, bpk_min_size(damage->count, MOST));
	if (damage->count > 0) {
		*failed = damage->all[0].first;
		*err = (struct bpk_err){ 0 };
		return bpk_fail(err, BPK_CORRUPT, "%s", damage->all[0].report);
	}
	*failed = damage->stopped_at;
	*err = damage->stop;
	return damage->stopped_at == BPK_UNKNOWN ? 0 : -1;
}

/* ---- Ranks ---- */

/* A rank's message, followed by a report for each member. */
struct outline {
	uint64_t count, stopped_at, more;
	struct bpk_err stop;
};

static void send_all(const struct bpk_team *team, const struct bpk_damage *damage)
{
	struct outline outline = { damage->count, damage->stopped_at, damage->more, damage->stop };

	team->send(team->arg, 0, &outline, sizeof outline);
	for (size_t i = 0; i < damage->count; i++) {
		struct bpk_err report = { 0 };

		bpk_fail(&report, BPK_CORRUPT, "%s", damage->all[i].report);
		team->send(team->arg, 0, &damage->all[i], sizeof damage->all[i]);
		team->send(team->arg, 0, report.text, sizeof report.text);
	}
}

static void receive_all(const struct bpk_team *team, unsigned from, struct bpk_damage *damage)
{
	struct outline outline;

	team->receive(team->arg, from, &outline, sizeof outline);
	for (uint64_t i = 0; i < outline.count; i++) {
		struct bpk_damaged found;
		struct bpk_err report;

		team->receive(team->arg, from, &found, sizeof found);
		team->receive(team->arg, from, report.text, sizeof report.text);
		found.report = bpk_strdup(report.text, NULL);
		if (found.report == NULL || !add(damage, &found))
			damage->more = true;
	}
	damage->more = damage->more || outline.more;
	if (outline.stopped_at < damage->stopped_at) {
		damage->stopped_at = outline.stopped_at;
		damage->stop = outline.stop;
	}
}

void bpk_damage_gather(const struct bpk_team *team, struct bpk_damage *damage)
{
	if (team->rank > 0) {
		send_all(team, damage);
		return;
	}
	for (unsigned rank = 1; rank < team->size; rank++)
		receive_all(team, rank, damage);
}
