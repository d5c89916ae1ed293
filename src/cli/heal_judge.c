/* Damaged archives are judged by their parity files. The door is heal.h. Called by verify_work.c,
 * salvage.c, protect.c and heal.c. */
#include "cli/heal.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cli/heal_side.h"
#include "cli/heal_tree.h"
#include "cli/report.h"
#include "cli/verify.h"

static bool is_in_change(const struct bpk_place *place)
{
	return place->is_directory ? bpk_dir_in_change(place->directory)
				   : bpk_source_in_change(place->source);
}

bool bpk_heal_is_moving(const struct bpk_input *in)
{
	struct stat now;

	if (in->place.is_member) /* of a tar, whose members nobody changes */
		return false;
	return is_in_change(&in->place) || stat(in->path, &now) != 0 ||
	       !bpk_is_still(&now, bpk_input_stat(in));
}

/* Give a change that is under way, such as a healing, two seconds to end. */
static void await_end(const struct bpk_input *in)
{
	const struct timespec moment = { .tv_nsec = 10000000 };

	for (int i = 0; i < 200 && is_in_change(&in->place); i++)
		nanosleep(&moment, NULL);
}

/* True if the change that was pending is not any more. */
static bool has_ended(const struct bpk_input *in)
{
	struct bpk_place place = { 0 };
	bool ended;

	await_end(in);
	ended = bpk_place_open(in->path, bpk_format_owns, &place, NULL) == 0 &&
		!bpk_place_pending(&place);
	bpk_place_close(&place);
	return ended;
}

/* ---- without a pending change ---- */

static int judge_damage(const struct bpk_shared *shared, const struct bpk_side *side,
			const struct bpk_input *in, struct bpk_heal_verdict *verdict,
			struct bpk_err *err)
{
	struct bpk_err plain = *err;
	const char *path = in->path;
	bool is_alone;
	char word[BPK_WORD_TEXT];

	/* a directory does not tell that one of its files has changed */
	verdict->gone =
		bpk_heal_is_moving(in) || (in->place.is_directory && !bpk_side_has_damage(side));
	if (verdict->gone)
		await_end(in);
	if (!bpk_side_has_damage(side) && !bpk_side_has_grown(side, path))
		return -1; /* or the damage is older than the parity */
	if (side->scan.lost > 0 && !bpk_heal_is_strange(side, path))
		return bpk_heal_fail_lost(shared, side, path, plain.text, err);
	bpk_shell_word(path, word);
	verdict->other = side->scan.lost == 0;
	if (bpk_heal_is_strange(side, path))
		return bpk_fail(err, BPK_CORRUPT,
				"%s; no cell of it agrees with its parity file %s, which may be "
				"that of another archive",
				plain.text, side->name);
	verdict->heals = bpk_heal_is_unwritten(side, in);
	is_alone = verdict->heals || bpk_heal_is_damage_alone(side, in);
	verdict->later = !is_alone && bpk_heal_is_earlier(side, path);
	if (verdict->later)
		return bpk_fail(err, BPK_REPAIRABLE,
				"%s; it is an older state than that of its parity: bpk repair "
				"--apply -o OUT %s writes the later one",
				plain.text, word);
	if (!is_alone) {
		bpk_fail(err, BPK_CORRUPT,
			 "%s; it may have been changed since its parity was made: bpk repair "
			 "--apply -o OUT %s keeps the changes if no chunk is lost; otherwise it "
			 "writes the state of the parity, without them, or with --fill zero the "
			 "changes, and zeros for lost chunks",
			 plain.text, word);
		err->advises = true;
		return -1;
	}
	if (!verdict->heals)
		return bpk_fail(err, BPK_REPAIRABLE,
				"%s; parity of another time restores all of it: bpk repair --apply "
				"-o OUT %s writes that into another file",
				plain.text, word);
	return bpk_fail(err, BPK_REPAIRABLE,
			"%s; parity restores all of it: bpk verify --heal %s in place, bpk repair "
			"--apply -o OUT %s into another file",
			plain.text, word, word);
}

/* No checksum fails, but nobody wrote the bytes that differ: chunks without checksums, or that
 * another read or write put into each other's place. */
static int judge_unwritten(const struct bpk_shared *shared, const struct bpk_side *side,
			   const struct bpk_input *in, struct bpk_heal_verdict *verdict,
			   struct bpk_err *err)
{
	bpk_fail(err, BPK_CORRUPT,
		 "%s: no checksum fails, but %" PRIu64 " of %" PRIu64
		 " cells differ from its parity, and it was not written since",
		 in->path, side->scan.bad, bpk_parity_cells(side->parity));
	return judge_damage(shared, side, in, verdict, err);
}

/* Bytes behind the end are all that was found; cells may differ in which no checksum fails. */
static int judge_tail(const struct bpk_shared *shared, const struct bpk_input *in,
		      struct bpk_heal_verdict *verdict, struct bpk_err *err)
{
	struct bpk_side side;
	bool there;

	if (bpk_side_open(&side, in->path, &there, NULL) == 0 && there &&
	    bpk_side_compare(&side, in->path, NULL) == 0 && bpk_side_has_damage(&side) &&
	    bpk_side_has_grown(&side, in->path) && !bpk_heal_is_proven(shared, in))
		(void)judge_unwritten(shared, &side, in, verdict, err);
	bpk_side_clear(&side);
	return -1;
}

/* No cell of a small archive may be left that agrees; then parity does not say which archive its
 * state is of. */
static int fail_earlier(const struct bpk_side *side, const char *path, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	bpk_shell_word(path, word);
	if (bpk_heal_is_strange(side, path))
		return bpk_fail(err, BPK_REPAIRABLE,
				"is whole, but older than its parity, with no cell of which it "
				"agrees: it is an older state, or another archive; bpk parity "
				"--force %s renews it",
				word);
	if (side->scan.lost > 0)
		return bpk_fail(
			err, BPK_REPAIRABLE,
			"is whole, but an older state than that of its parity, which cannot "
			"restore the later one; bpk parity --force %s renews it",
			word);
	return bpk_fail(err, BPK_REPAIRABLE,
			"is whole, but an older state than that of its parity: bpk repair --apply "
			"-o OUT %s writes the later one, or bpk parity --force %s renews it",
			word, word);
}

int bpk_heal_refuse_earlier(const char *path, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_side side;
	bool there, earlier = false;

	if (bpk_side_open(&side, path, &there, &why) == 0 && there &&
	    bpk_heal_seems_earlier(&side, path))
		earlier = bpk_side_compare(&side, path, &why) == 0 &&
			  bpk_heal_is_earlier(&side, path);
	if (earlier)
		fail_earlier(&side, path, err);
	bpk_side_clear(&side);
	if (bpk_err_pass_memory(&why, err) != 0)
		return -1;
	return earlier ? bpk_err_subject(err, "%s", path) : 0;
}

/* True if the archive, which has parity of another time, is damaged: why, with the next step. One
 * that another command is changing is not. */
static bool is_damaged(const struct bpk_shared *shared, const char *path, struct bpk_err *why)
{
	struct bpk_heal_verdict verdict = { 0 };
	struct bpk_input in;
	bool damaged;

	if (bpk_input_look(&in, path, NULL, why) == 0)
		(void)bpk_side_verify(shared, &in, why);
	damaged = why->kind == BPK_CORRUPT;
	if (damaged)
		(void)bpk_heal_judge(shared, &in, -1, &verdict, why);
	bpk_input_close(&in);
	return damaged && !verdict.gone;
}

int bpk_heal_refuse_damaged(const struct bpk_shared *shared, const char *path, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_side side;
	bool there;
	bool damaged = bpk_side_open(&side, path, &there, &why) == 0 && there &&
		       bpk_heal_seems_other(&side, path) &&
		       bpk_side_compare(&side, path, &why) == 0 && side.scan.lost == 0 &&
		       bpk_side_has_damage(&side) && !bpk_heal_is_strange(&side, path) &&
		       is_damaged(shared, path, &why);

	bpk_side_clear(&side);
	return damaged ? bpk_fail_as(err, &why) : bpk_err_pass_memory(&why, err);
}

/* True if parity restores all of the archive in place. */
static bool restores(const char *path)
{
	struct bpk_side side;
	struct bpk_input in = { 0 };
	bool differs, all;

	all = bpk_side_find_damage(&side, path, &differs, NULL) == 0 && differs &&
	      side.scan.lost == 0;
	all = all && bpk_heal_look(&in, path) && bpk_heal_is_unwritten(&side, &in);
	bpk_input_close(&in);
	bpk_side_clear(&side);
	return all;
}

void bpk_heal_weigh(const char *path, struct bpk_err *err)
{
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];

	if (bpk_side_is_damage(path, err) && bpk_side_may_be(path) && restores(path))
		bpk_fail(err, BPK_REPAIRABLE, "%s; parity restores it: bpk verify --heal %s first",
			 plain.text, bpk_shell_word(path, word));
}

/* True if anything tells changed bytes of a whole archive: checksums, or proof of all of it. */
static bool tells_changes(const struct bpk_info *info)
{
	return info->chunks.checksum->size > 0 || info->directory.has_digests ||
	       info->seal.sealed || bpk_ident_is_recorded(info);
}

bool bpk_heal_is_proven(const struct bpk_shared *shared, const struct bpk_input *in)
{
	const struct bpk_info *info = in->info;
	struct bpk_err why = { 0 };

	if (info->seal.sealed)
		return true;
	return bpk_checksum_is_strong(info->chunks.checksum) && info->members <= 1 &&
	       bpk_ident_is_recorded(info) && bpk_verify_recorded(shared, in, true, &why) == 0;
}

/* Damage that comes later could not be healed in place. */
static int note_other_time(const struct bpk_shared *shared, const struct bpk_side *side,
			   const char *path)
{
	char word[BPK_WORD_TEXT];

	if (shared->verbose && !bpk_side_is_as_then(side, path))
		bpk_note(path, "parity is of another time of change; bpk parity %s renews it",
			 bpk_shell_word(path, word));
	return 0;
}

/* The damaged parts of a parity file. */
static const char *name_damage(const struct bpk_parity_scan *scan, char where[64])
{
	static const char tables[] = "a copy of its tables";

	if (scan->bad_parity == 0)
		return tables;
	snprintf(where, 64, "%" PRIu64 " %s%s%s", scan->bad_parity,
		 bpk_plural(scan->bad_parity, "cell", "cells"), scan->bad_tables ? " and " : "",
		 scan->bad_tables ? tables : "");
	return where;
}

/* Without checksums an archive that differs from its parity may have been changed, or damaged. */
static int fail_untold(const struct bpk_side *side, const char *path, struct bpk_err *err)
{
	bool restores = side->scan.lost == 0;
	char word[BPK_WORD_TEXT];

	bpk_shell_word(path, word);
	return bpk_fail(err, BPK_REPAIRABLE,
			"%" PRIu64 " of %" PRIu64 " cells differ from its parity%s, and without "
			"checksums nothing tells a change from damage: bpk parity %s renews the "
			"parity%s%s%s",
			side->scan.bad, bpk_parity_cells(side->parity),
			bpk_heal_is_strange(side, path) ? ", which may be that of another archive"
							: "",
			word, restores ? ", or bpk repair --apply -o OUT " : "",
			restores ? word : "", restores ? " writes the state of the parity" : "");
}

/* A file that has lost its end is not whole: one of another size is another state. pack gives an
 * archive the time of its source, so both may have one time. */
static bool is_other_file(const struct bpk_side *side, const struct bpk_input *in)
{
	return !in->place.is_directory && tells_changes(in->info) &&
	       side->scan.size < bpk_parity_size(side->parity);
}

/* A whole archive was changed, and its parity was not renewed. Parity of the same second in whole
 * seconds is renewed by --force alone. */
static int fail_stale(const struct bpk_side *side, const char *path, struct bpk_err *err)
{
	uint64_t bad = side->scan.bad;
	char word[BPK_WORD_TEXT], what[64] = "it is of other files or sizes";

	if (bad > 0)
		snprintf(what, sizeof what, "%" PRIu64 " of %" PRIu64 " cells differ", bad,
			 bpk_parity_cells(side->parity));
	return bpk_fail(err, BPK_REPAIRABLE,
			"is whole, but its parity is stale: %s%s; bpk parity %s%s renews it", what,
			bpk_heal_is_strange(side, path) ? ", and it may be that of another archive"
							: "",
			bad > 0 && bpk_side_is_as_then(side, path) ? "--force " : "",
			bpk_shell_word(path, word));
}

static int judge_whole(const struct bpk_shared *shared, const struct bpk_side *side,
		       const struct bpk_input *in, struct bpk_heal_verdict *verdict,
		       struct bpk_err *err)
{
	const struct bpk_parity_scan *scan = &side->scan;
	const char *path = in->path;
	char word[BPK_WORD_TEXT], where[64];

	bpk_shell_word(path, word);
	if (bpk_side_has_damage(side) && bpk_side_is_as_then(side, path) &&
	    bpk_side_is_exact(side, path) && !is_other_file(side, in) &&
	    !bpk_heal_is_strange(side, path) && !bpk_heal_is_proven(shared, in))
		return judge_unwritten(shared, side, in, verdict, err);
	if (bpk_heal_is_earlier(side, path)) {
		verdict->parity = BPK_SIDE_STALE;
		verdict->later = scan->lost == 0 && !bpk_heal_is_strange(side, path);
		fail_earlier(side, path, err);
	} else if (bpk_side_has_damage(side) && !tells_changes(in->info)) {
		verdict->parity = BPK_SIDE_STALE;
		fail_untold(side, path, err);
		verdict->other = scan->lost == 0;
	} else if (scan->size != bpk_parity_size(side->parity) || bpk_side_has_damage(side) ||
		   side->drift.added > 0) {
		verdict->parity = BPK_SIDE_STALE;
		fail_stale(side, path, err);
	} else if (bpk_side_is_damaged(side)) {
		bpk_fail(err, BPK_REPAIRABLE,
			 "is whole, but its parity file %s is damaged in %s; bpk parity %s renews "
			 "it",
			 side->name, name_damage(scan, where), word);
	} else {
		return note_other_time(shared, side, path);
	}
	return bpk_err_subject(err, "%s", path);
}

/* A parity file that cannot be used is no damage of the archive. With its head its share is lost,
 * which the user gives again. */
static int judge_unusable(int rc, const struct bpk_side *side, const char *path,
			  struct bpk_err *why, struct bpk_err *err)
{
	struct bpk_err plain = *why;
	char word[BPK_WORD_TEXT];
	bool there, ours = true;

	if (rc != 0 && why->kind != BPK_NO_MEMORY) {
		bpk_note(NULL, "%s", why->text);
		return rc;
	}
	if (why->kind == BPK_CORRUPT) {
		(void)bpk_parity_look(side->name, &there, &ours, NULL);
		bpk_fail(why, BPK_REPAIRABLE, "%s; bpk parity %s%s%s %s", plain.text,
			 ours ? "" : "--force ", bpk_shell_word(path, word),
			 side->parity == NULL ? " P%" : "", ours ? "renews it" : "replaces it");
	}
	*err = *why;
	return -1;
}

static bool is_open(const struct bpk_place *place)
{
	return place->source != NULL || place->directory != NULL;
}

/* The same, or the parity file was renewed since it was opened. */
static bool is_moving(const struct bpk_input *in, const struct bpk_side *side)
{
	struct stat now;

	return bpk_heal_is_moving(in) ||
	       (side->parity != NULL && (stat(side->name, &now) != 0 ||
					 !bpk_is_still(&now, bpk_parity_stat(side->parity))));
}

/* ---- a healing that is pending ---- */

/* The next healing undoes that of a file that was interrupted, and begins again, unless another
 * program has written to the file since: bytes that differ and were not saved are its own. */
static bool is_file_healing(struct bpk_side *side, const char *path, struct bpk_source *source)
{
	const struct timespec then = bpk_parity_time(side->parity);
	uint64_t size;

	if (!bpk_source_pending_keeps(source, &then) ||
	    bpk_side_compare_source(side, source, NULL) != 0 || side->scan.lost > 0 ||
	    (!bpk_side_has_damage(side) && !bpk_side_has_grown(side, path)))
		return false;
	if (bpk_side_is_current(side, bpk_source_stat(source)))
		return true;
	for (uint64_t at = 0; bpk_heal_find_bad(side, &at, &size); at += size)
		if (!bpk_source_pending_saved(source, at, size))
			return false;
	return true;
}

/* The archive, read as before the pending change of a file, or as behind that of a directory, was
 * verified with rc and err. Other changes than a healing are the caller's. */
static int judge_pending(const struct bpk_input *in, int rc, struct bpk_heal_verdict *verdict,
			 struct bpk_err *err)
{
	const struct bpk_err plain = *err;
	const char *path = in->path;
	char word[BPK_WORD_TEXT];
	struct bpk_side side;
	bool there, is_healing = false;

	if (bpk_side_open(&side, path, &there, NULL) == 0 && there &&
	    bpk_heal_check_owner(&side, path, NULL) == 0)
		is_healing = in->place.is_directory
				     ? rc == 0 && bpk_heal_tree_is_whole(&side, path)
				     : is_file_healing(&side, path, in->place.source);
	bpk_side_clear(&side);
	/* another process may complete it while this one reads */
	verdict->gone = rc != 0 && in->place.is_directory && has_ended(in);
	if (!is_healing)
		return rc;
	verdict->parity = BPK_SIDE_CURRENT;
	return bpk_fail(err, BPK_REPAIRABLE,
			"%s%s a healing was interrupted and is pending; the next bpk verify --heal "
			"%s continues it",
			rc != 0 ? plain.text : path, rc != 0 ? ";" : ":",
			bpk_shell_word(path, word));
}

/* ---- all ---- */

int bpk_heal_judge(const struct bpk_shared *shared, const struct bpk_input *in, int rc,
		   struct bpk_heal_verdict *verdict, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_side side;
	bool there;

	*verdict = (struct bpk_heal_verdict){ .parity = BPK_SIDE_NONE };
	if (bpk_program->team != NULL || !is_open(&in->place) || in->place.is_member ||
	    (rc != 0 && err->kind != BPK_CORRUPT && err->kind != BPK_UNSUPPORTED &&
	     err->kind != BPK_REPAIRABLE && !(in->place.is_directory && in->format == NULL)))
		return rc;
	if (rc != 0 && err->kind == BPK_REPAIRABLE)
		return bpk_place_pending(&in->place) ? rc : judge_tail(shared, in, verdict, err);
	if (bpk_place_pending(&in->place))
		return judge_pending(in, rc, verdict, err);
	if (bpk_heal_open(shared, &side, in->path, &there, &why) != 0 ||
	    (there && bpk_side_compare(&side, in->path, &why) != 0)) {
		bool moves = why.kind == BPK_FAILED &&
			     ((in->place.is_directory && rc != 0) || is_moving(in, &side));

		verdict->gone = moves && rc != 0;
		if (verdict->gone)
			await_end(in);
		rc = moves ? rc : judge_unusable(rc, &side, in->path, &why, err);
	} else if (there && rc != 0)
		rc = judge_damage(shared, &side, in, verdict, err);
	else if (there && !is_moving(in, &side))
		rc = judge_whole(shared, &side, in, verdict, err);
	if (verdict->parity == BPK_SIDE_NONE &&
	    (why.kind == BPK_CORRUPT || why.kind == BPK_REPAIRABLE || bpk_side_is_damaged(&side)))
		verdict->parity = BPK_SIDE_DAMAGED;
	bpk_side_clear(&side);
	return rc;
}
