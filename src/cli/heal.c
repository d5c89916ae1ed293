/* Damaged archives are restored by their parity files. Called by verify_work.c and
 * repair.c. */
#include "cli/heal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/heal_side.h"
#include "cli/heal_tree.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/verify.h"

/* ---- in place ---- */

struct file_work {
	struct bpk_edit *edit;
	struct bpk_draft *draft;
	struct bpk_healed *healed;
};

static int put_in_place(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct file_work *w = arg;

	bpk_healed_add(w->healed, bytes);
	return bpk_edit_write_at(w->edit, offset, bytes, err);
}

/* Bytes behind the end that the parity file records. */
static uint64_t size_behind(const struct bpk_side *side)
{
	uint64_t end = bpk_parity_size(side->parity);

	return side->scan.size - bpk_min_u64(side->scan.size, end);
}

/* All bad cells, and bytes to be cut off, are saved before the first is restored: after a kill,
 * bytes that differ elsewhere were written by somebody. */
static int save_bad(const struct bpk_side *side, struct bpk_edit *edit, struct bpk_err *err)
{
	int rc = bpk_edit_need_journal(edit, err);
	uint64_t size;

	for (uint64_t at = 0; rc == 0 && bpk_heal_find_bad(side, &at, &size); at += size)
		rc = bpk_edit_save(edit, at, size, err);
	size = size_behind(side);
	if (rc == 0 && size > 0)
		rc = bpk_edit_save(edit, bpk_parity_size(side->parity), size, err);
	return rc;
}

/* Of a file whose healing was interrupted: only the cells that it was about to restore differ. */
static bool is_as_then(void *arg, const struct bpk_edit *edit)
{
	struct bpk_side *side = arg;
	uint64_t size;

	if (bpk_side_compare_source(side, bpk_edit_source(edit), NULL) != 0)
		return false;
	for (uint64_t at = 0; bpk_heal_find_bad(side, &at, &size); at += size)
		if (!bpk_edit_has_saved(edit, at, size))
			return false;
	return true;
}

/* Under the lock: the file is still the one that was judged, and can be restored. */
static int heal_edit(struct bpk_side *side, const char *path, struct file_work *w,
		     struct bpk_err *err)
{
	struct bpk_source *source = bpk_edit_source(w->edit);

	if (bpk_side_compare_source(side, source, err) != 0)
		return -1;
	if (side->scan.lost > 0 || !bpk_side_is_unwritten(side, path))
		return bpk_fail_changed(err);
	w->healed->cut = size_behind(side);
	if (save_bad(side, w->edit, err) != 0 ||
	    bpk_parity_heal(side->parity, source, &side->scan, put_in_place, w, err) != 0)
		return -1;
	return bpk_edit_commit(w->edit, NULL, bpk_parity_size(side->parity), err);
}

/* The content is that of the parity file's time again, and so is the time. healed: NULL settles an
 * interrupted healing alone. */
static int heal_file(struct bpk_side *side, const char *path, struct bpk_healed *healed,
		     struct bpk_err *err)
{
	const struct bpk_edit_kept kept = { bpk_parity_time(side->parity), is_as_then, side };
	const struct bpk_edit_options options = { .sync = true, .kept = &kept };
	struct file_work w = { .healed = healed };
	int rc = bpk_edit_open(path, &options, &w.edit, err);

	if (rc == 0 && healed != NULL)
		rc = heal_edit(side, path, &w, err);
	bpk_edit_close(w.edit);
	return rc;
}

/* path: of the archive beside the parity file, or of another one that was written. */
static void tell(const struct bpk_shared *shared, const char *path, const char *side,
		 const struct bpk_healed *healed)
{
	if (shared->quiet)
		return;
	if (healed->cut > 0)
		bpk_note(path, "%" PRIu64 " bytes behind the end that %s records were cut off",
			 healed->cut, side);
	if (healed->cells > 0)
		bpk_note(path, "%" PRIu64 " bytes in %" PRIu64 " %s were restored by %s",
			 healed->bytes, healed->cells, bpk_plural(healed->cells, "cell", "cells"),
			 side);
}

void bpk_heal_tell(const struct bpk_shared *shared, const char *path,
		   const struct bpk_healed *healed)
{
	char *side = bpk_side_name(path, NULL);

	tell(shared, path, side != NULL ? side : "its parity file", healed);
	free(side);
}

/* It may have come to be another state since it was judged, or was not. */
static int check_unwritten(struct bpk_side *side, const char *path, struct bpk_err *err)
{
	struct bpk_input in;
	bool unwritten;

	if (!bpk_heal_seems_other(side, path))
		return 0;
	unwritten = bpk_heal_look(&in, path) && bpk_side_compare(side, path, NULL) == 0 &&
		    bpk_heal_is_unwritten(side, &in);
	bpk_input_close(&in);
	return unwritten ? 0 : bpk_fail_changed(err);
}

int bpk_heal_in_place(const struct bpk_shared *shared, const char *path, struct bpk_healed *healed,
		      struct bpk_err *err)
{
	struct bpk_side side;
	bool there;
	int rc = bpk_heal_open(shared, &side, path, &there, err);

	bpk_signals_start();
	if (rc == 0) {
		rc = bpk_heal_check_owner(&side, path, err);
		if (rc == 0)
			rc = check_unwritten(&side, path, err);
		if (rc == 0)
			rc = bpk_parity_files(side.parity) != NULL
				     ? bpk_heal_tree_in_place(&side, path, healed, err)
				     : heal_file(&side, path, healed, err);
		if (rc != 0)
			bpk_err_subject(err, "%s", path);
	}
	bpk_side_clear(&side);
	return rc;
}

bool bpk_heal_settle(const struct bpk_shared *shared, const char *path)
{
	struct bpk_side side;
	bool there, settled;

	bpk_signals_start();
	settled = bpk_heal_open(shared, &side, path, &there, NULL) == 0 && there &&
		  bpk_heal_check_owner(&side, path, NULL) == 0 &&
		  (bpk_parity_files(side.parity) != NULL ? bpk_heal_tree_settle(&side, path)
							 : heal_file(&side, path, NULL, NULL)) == 0;
	bpk_side_clear(&side);
	return settled;
}

/* Open the parity file of a file that is of another time; true: it is open, and of no larger
 * file. */
static bool open_earlier(struct bpk_side *side, const char *path)
{
	struct stat now;
	bool there;

	return bpk_side_open(side, path, &there, NULL) == 0 && there &&
	       bpk_parity_files(side->parity) == NULL && !bpk_side_is_as_then(side, path) &&
	       stat(path, &now) == 0 && (uint64_t)now.st_size >= bpk_parity_size(side->parity);
}

bool bpk_heal_may_be_earlier(const char *path)
{
	struct bpk_side side;
	bool earlier = open_earlier(&side, path);

	bpk_side_clear(&side);
	return earlier;
}

/* Under the lock: no other command writes between the comparison and the new time. */
static void keep_time(struct bpk_side *side, const char *path)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   bpk_parity_time(side->parity) };
	const struct bpk_edit_options options = { .sync = true };
	struct bpk_edit *edit = NULL;

	if (bpk_edit_open(path, &options, &edit, NULL) == 0 &&
	    bpk_source_size(bpk_edit_source(edit)) == bpk_parity_size(side->parity) &&
	    bpk_side_compare_source(side, bpk_edit_source(edit), NULL) == 0 &&
	    !bpk_side_has_damage(side))
		(void)utimensat(AT_FDCWD, path, times, 0);
	bpk_edit_close(edit);
}

void bpk_heal_keep_time(const char *path)
{
	struct bpk_side side;

	if (open_earlier(&side, path))
		keep_time(&side, path);
	bpk_side_clear(&side);
}

/* ---- into another file ---- */

static int put_in_draft(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct file_work *w = arg;

	bpk_healed_add(w->healed, bytes);
	return bpk_draft_write_at(w->draft, offset, bytes, err);
}

/* All bytes as they are; those that are missing or cannot be read are zeros, and restored later. */
static int copy_all(struct bpk_source *source, uint64_t size, struct bpk_draft *draft,
		    struct bpk_err *err)
{
	enum { PIECE = 1 << 20 };
	struct bpk_buf piece = { 0 };
	int rc = bpk_buf_resize(&piece, PIECE, err);

	for (uint64_t at = 0; rc == 0 && at < size; at += PIECE) {
		struct bpk_span part = bpk_span(piece.data, bpk_min_u64(PIECE, size - at));

		rc = bpk_parity_read(source, at, part, err);
		if (rc == 0)
			rc = bpk_draft_write_at(draft, at, bpk_view_of_span(part), err);
	}
	bpk_buf_clear(&piece);
	return rc;
}

static int fill(const struct bpk_side *side, struct bpk_source *source, struct file_work *w,
		struct bpk_err *err)
{
	if (bpk_draft_reread(w->draft, err) != 0 ||
	    copy_all(source, bpk_parity_size(side->parity), w->draft, err) != 0 ||
	    bpk_parity_heal(side->parity, source, &side->scan, put_in_draft, w, err) != 0)
		return -1;
	return bpk_source_unchanged(source, err);
}

static int write_output(const struct bpk_shared *shared, const struct bpk_side *side,
			const char *path, struct bpk_healed *healed, struct bpk_err *err)
{
	struct bpk_draft_options options = { .overwrite = shared->force,
					     .remedy = BPK_REMEDY_FORCE,
					     .follow_links = true,
					     .sync = !shared->no_sync };
	struct file_work w = { .healed = healed };
	struct bpk_source *source = NULL;
	struct stat like;
	int rc = bpk_source_open(path, &source, err);

	if (rc != 0)
		return bpk_err_subject(err, "%s", path);
	healed->cut = size_behind(side);
	like = *bpk_source_stat(source);
	/* the content is that of the parity file's time, and so is the time */
	like.st_mtim = bpk_parity_time(side->parity);
	options.not_this = bpk_source_stat(source);
	options.nor_this = bpk_parity_stat(side->parity);
	if (bpk_draft_open(shared->output, &options, &w.draft, err) != 0) {
		rc = bpk_err_subject(err, "%s", shared->output);
	} else if (!bpk_draft_is_hidden(w.draft)) {
		bpk_fail(err, BPK_FAILED, "is no file, expected one for --apply");
		rc = bpk_err_subject(err, "%s", shared->output);
	} else if (fill(side, source, &w, err) != 0) {
		rc = bpk_err_subject(err, "%s", path);
	}
	if (rc == 0 && bpk_draft_keep(w.draft, &like, err) != 0)
		rc = bpk_err_subject(err, "%s", shared->output);
	else if (rc != 0)
		bpk_draft_drop(w.draft);
	bpk_source_close(source);
	return rc;
}

/* Bytes behind the end of the file that parity covers may be all that is wrong with it. */
static bool has_more(const struct bpk_side *side, const char *path)
{
	struct stat now;

	return bpk_parity_files(side->parity) == NULL && stat(path, &now) == 0 &&
	       (uint64_t)now.st_size > bpk_parity_size(side->parity);
}

/* Compare the archive at path with its parity, damaged as damage says. Fails if not all of it can
 * be restored; *too_weak: since too much is damaged. */
static int compare(const struct bpk_shared *shared, struct bpk_side *side, const char *path,
		   const struct bpk_err *damage, bool *too_weak, struct bpk_err *err)
{
	if (bpk_side_compare(side, path, err) != 0)
		return -1;
	if (side->scan.lost > 0) {
		bpk_heal_fail_lost(shared, side, path, damage->text, err);
		*too_weak = err->kind == BPK_CORRUPT;
		return -1;
	}
	if (bpk_side_has_damage(side) || has_more(side, path))
		return 0;
	*err = *damage; /* older than the parity */
	return -1;
}

static int verify_path(const struct bpk_shared *shared, const char *path, struct bpk_err *err)
{
	struct bpk_input in;
	int rc = bpk_input_look(&in, path, NULL, err);

	if (rc == 0)
		rc = bpk_side_verify(shared, &in, err);
	bpk_input_close(&in);
	return rc;
}

/* The object of --json; output: NULL if nothing was written. */
static void record(const struct bpk_shared *shared, const char *path, const char *output)
{
	if (!shared->json)
		return;
	bpk_record_begin("repair", path);
	bpk_record_text("output", output);
	bpk_record_end();
}

void bpk_heal_tell_whole(const struct bpk_shared *shared, const char *path)
{
	if (!shared->quiet)
		bpk_note(path, "is whole, nothing to do; no %s was written", shared->output);
	record(shared, path, NULL);
}

/* The output has the state of the parity, of another time than the archive. */
static void tell_state(const struct bpk_shared *shared, const struct bpk_side *side,
		       const char *path, bool is_alone, bool is_earlier)
{
	if (shared->quiet || bpk_side_is_unwritten(side, path))
		return;
	if (is_earlier)
		bpk_note(shared->output, "has the state of the parity; that of %s is older", path);
	else if (is_alone)
		bpk_note(shared->output, "has all of %s, whose parity is of another time", path);
}

/* in is damaged, as err says. *too_weak: its parity does not suffice. */
static int apply(const struct bpk_shared *shared, const struct bpk_input *in, bool *too_weak,
		 struct bpk_err *err)
{
	struct bpk_err damage = *err;
	struct bpk_healed healed = { 0 };
	const char *path = in->path;
	struct bpk_side side;
	bool there, is_alone = false, is_earlier = false, is_strange = false;
	int rc = bpk_side_open(&side, path, &there, err);

	if (rc == 0 && !there) {
		bpk_fail(err, damage.kind, "%s; it has no parity file%s", damage.text,
			 in->format == NULL ? "; --apply -F FORMAT searches it for chunks" : "");
		rc = -1;
	}
	if (rc == 0)
		rc = compare(shared, &side, path, &damage, too_weak, err);
	if (rc == 0) {
		is_alone = bpk_heal_is_damage_alone(&side, in);
		is_earlier = !is_alone && bpk_heal_is_earlier(&side, path);
		is_strange = bpk_heal_is_strange(&side, path);
		rc = bpk_parity_files(side.parity) != NULL
			     ? bpk_heal_tree_into(shared, &side, path, &healed, err)
			     : write_output(shared, &side, path, &healed, err);
	}
	if (rc == 0) {
		tell_state(shared, &side, path, is_alone && !is_strange, is_earlier);
		rc = verify_path(shared, shared->output, err);
	}
	if (rc == 0) {
		tell(shared, shared->output, side.name, &healed);
		record(shared, path, shared->output);
	}
	bpk_side_clear(&side);
	if (rc == 0 && is_strange)
		rc = bpk_fail(
			err, BPK_CORRUPT,
			"%s: has the content of the parity file, of which no cell agrees with "
			"%s: it may be that of another archive",
			shared->output, path);
	else if (rc == 0 && !is_alone && !is_earlier)
		rc = bpk_fail(err, BPK_CORRUPT,
			      "%s: has the state in which %s was when its parity was made; changes "
			      "since then, if there were any, are not in it",
			      shared->output, path);
	return rc;
}

/* No checksum of the input failed. */
static int apply_unwritten(const struct bpk_shared *shared, struct bpk_input *in, bool *too_weak,
			   struct bpk_err *err)
{
	struct bpk_heal_verdict verdict;

	(void)bpk_heal_judge(shared, in, 0, &verdict, err);
	if (verdict.heals || verdict.later || verdict.other)
		return apply(shared, in, too_weak, err);
	if (err->kind == BPK_CORRUPT)
		return -1;
	*err = (struct bpk_err){ 0 }; /* stale parity */
	bpk_heal_tell_whole(shared, in->path);
	return 0;
}

bool bpk_heal_into(const struct bpk_args *args, const char *path, struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_input in;
	bool too_weak = false;
	int rc = bpk_input_find(&in, path, shared, err);

	bpk_signals_start();
	if (rc == 0 && (in.place.is_member || bpk_path_is_url(path) || strcmp(path, "-") == 0)) {
		bpk_fail(err, BPK_FAILED, "is no file of its own, as parity needs it");
		rc = bpk_input_subject(&in, err);
	} else if (rc == 0 && bpk_place_pending(&in.place)) {
		bpk_fail(err, BPK_REPAIRABLE,
			 "a change was interrupted and is pending; bpk repair --in-place FILE "
			 "settles it");
		rc = bpk_input_subject(&in, err);
	} else if (rc == 0 && (bpk_side_verify(shared, &in, err) != 0 ||
			       bpk_verify_recorded(shared, &in, false, err) != 0)) {
		rc = apply(shared, &in, &too_weak, err);
	} else if (rc == 0) {
		rc = apply_unwritten(shared, &in, &too_weak, err);
	}
	if (rc != 0 && !too_weak)
		bpk_report(NULL, err);
	bpk_input_close(&in);
	return !too_weak;
}
