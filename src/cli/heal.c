/* Damaged archives are judged and restored by their parity files. Called by verify_work.c and
 * repair.c. */
#include "cli/heal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/heal_tree.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/signal.h"
#include "cli/verify.h"

/* ---- the verdict ---- */

struct map {
	const char *path;
	const struct bpk_shared *shared;
	const struct bpk_parity_files *files; /* of a directory */
	size_t next;                          /* the first of them that later losses may be in */
	uint64_t runs, bytes;
};

/* The first runs are named, and with -v all of them. name is that of a file in a directory. */
static void note_run(struct map *map, const char *name, uint64_t offset, uint64_t size)
{
	enum { FEW = 20 };

	if (!map->shared->quiet && (map->runs < FEW || map->shared->verbose))
		bpk_note(map->path, "%s%sbytes %" PRIu64 " to %" PRIu64 " are lost", name,
			 *name != '\0' ? ": " : "", offset, offset + size);
	else if (!map->shared->quiet && map->runs == FEW)
		bpk_note(map->path, "and more; -v names all");
	map->runs++;
	map->bytes += size;
}

/* Losses come in the order of the files. */
static void note_lost(void *arg, uint64_t offset, uint64_t size)
{
	struct map *map = arg;

	if (map->files == NULL) {
		note_run(map, "", offset, size);
		return;
	}
	for (; map->next < map->files->count; map->next++) {
		const struct bpk_parity_file *file = &map->files->files[map->next];
		uint64_t from = bpk_max_u64(offset, file->start);
		uint64_t to = bpk_min_u64(offset + size, file->start + file->size);

		if (from < to)
			note_run(map, file->name, from - file->start, to - from);
		if (offset + size <= file->start + file->room)
			return;
	}
}

/* Print the loss map, and fail with the damage. */
static int fail_lost(const struct bpk_shared *shared, const struct bpk_side *side, const char *path,
		     const char *damage, struct bpk_err *err)
{
	struct map map = { .path = path,
			   .shared = shared,
			   .files = bpk_parity_files(side->parity) };

	if (bpk_parity_losses(side->parity, &side->scan, note_lost, &map, err) != 0)
		return bpk_err_subject(err, "%s", path);
	return bpk_fail(err, BPK_CORRUPT,
			"%s; parity cannot restore %" PRIu64 " bytes in %" PRIu64 " of %" PRIu64
			" damaged cells",
			damage, map.bytes, side->scan.lost, side->scan.bad);
}

static int judge_damage(const struct bpk_shared *shared, const struct bpk_side *side,
			const char *path, struct bpk_heal_verdict *verdict, struct bpk_err *err)
{
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];

	if (!bpk_side_has_damage(side))
		return -1; /* the damage is older than the parity */
	if (side->scan.lost > 0)
		return fail_lost(shared, side, path, plain.text, err);
	verdict->heals = bpk_side_is_as_then(side, path);
	bpk_shell_word(path, word);
	if (!verdict->heals)
		return bpk_fail(err, BPK_REPAIRABLE,
				"%s; the file was written since its parity was: bpk repair --apply "
				"-o OUT %s writes the state of then into another file",
				plain.text, word);
	return bpk_fail(err, BPK_REPAIRABLE,
			"%s; parity restores all of it: bpk verify --heal %s in place, bpk repair "
			"--apply -o OUT %s into another file",
			plain.text, word, word);
}

/* No checksum fails, but nobody wrote the bytes that differ: chunks without checksums, or that
 * another read or write put into each other's place. */
static int judge_unwritten(const struct bpk_shared *shared, const struct bpk_side *side,
			   const char *path, struct bpk_heal_verdict *verdict, struct bpk_err *err)
{
	bpk_fail(err, BPK_CORRUPT,
		 "%s: no checksum fails, but %" PRIu64 " of %" PRIu64
		 " cells differ from its parity, and it was not written since",
		 path, side->scan.bad, bpk_parity_cells(side->parity));
	return judge_damage(shared, side, path, verdict, err);
}

bool bpk_heal_is_proven(const struct bpk_shared *shared, const struct bpk_input *in)
{
	const struct bpk_info *info = in->info;
	struct bpk_err why = { 0 };

	if (info->seal.sealed)
		return true;
	return bpk_checksum_is_strong(info->chunks.checksum) && info->members <= 1 &&
	       info->metadata.given && bpk_ident_is_named(info->metadata.text) &&
	       bpk_verify_recorded(shared, in, true, &why) == 0;
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

static int judge_whole(const struct bpk_shared *shared, const struct bpk_side *side,
		       const struct bpk_input *in, struct bpk_heal_verdict *verdict,
		       struct bpk_err *err)
{
	const struct bpk_parity_scan *scan = &side->scan;
	const char *path = in->path;
	char word[BPK_WORD_TEXT];

	bpk_shell_word(path, word);
	if (bpk_side_has_damage(side) && bpk_side_is_as_then(side, path) &&
	    !bpk_heal_is_proven(shared, in))
		return judge_unwritten(shared, side, path, verdict, err);
	if (scan->size != bpk_parity_size(side->parity) || bpk_side_has_damage(side) ||
	    side->drift.added > 0) {
		verdict->parity = BPK_SIDE_STALE;
		bpk_fail(err, BPK_REPAIRABLE,
			 "is whole, but its parity is stale: %" PRIu64 " of %" PRIu64
			 " cells differ; bpk parity %s renews it",
			 scan->bad, bpk_parity_cells(side->parity), word);
	} else if (bpk_side_is_damaged(side)) {
		bpk_fail(err, BPK_REPAIRABLE,
			 "is whole, but its parity file %s is damaged in %" PRIu64
			 " cells%s; bpk parity %s renews it",
			 side->name, scan->bad_parity,
			 scan->bad_tables ? " and a copy of its tables" : "", word);
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

	if (rc != 0) {
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

static void wait_pace(void *arg, uint64_t size)
{
	bpk_pace_wait(arg, size);
}

static bool is_open(const struct bpk_place *place)
{
	return place->source != NULL || place->directory != NULL;
}

static bool is_in_change(const struct bpk_place *place)
{
	return place->is_directory ? bpk_dir_in_change(place->directory)
				   : bpk_source_in_change(place->source);
}

/* Open the parity file of path; its cells are read at the pace of --limit-rate. */
static int open_side(const struct bpk_shared *shared, struct bpk_side *side, const char *path,
		     bool *there, struct bpk_err *err)
{
	int rc = bpk_side_open(side, path, there, err);

	if (rc == 0 && *there && shared->pace != NULL)
		bpk_parity_on_read(side->parity, wait_pace, shared->pace);
	return rc;
}

/* ---- a healing that is pending ---- */

/* In place only with parity that the archive's owner made, or this user: in a folder that others
 * may write to, anybody can put a file beside an archive. */
static int check_owner(const struct bpk_side *side, const char *path, struct bpk_err *err)
{
	uid_t owner = bpk_parity_stat(side->parity)->st_uid;
	struct stat archive;

	if (stat(path, &archive) != 0)
		return bpk_fail_errno(err, errno, "cannot look");
	if (owner == archive.st_uid || owner == geteuid())
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"its parity file belongs to another user, and nothing is healed in place");
}

/* Find the run of bad cells at *offset or behind it. */
static bool find_bad(const struct bpk_side *side, uint64_t *offset, uint64_t *size)
{
	uint64_t end = bpk_parity_size(side->parity), run = 0;

	*size = 0;
	for (uint64_t at = *offset; at < end; at += run) {
		bool bad = bpk_parity_is_bad(side->parity, &side->scan, at, &run);

		if (!bad && *size > 0)
			break;
		if (bad && *size == 0)
			*offset = at;
		*size += bad ? run : 0;
	}
	return *size > 0;
}

/* The next healing undoes that of a file that was interrupted, and begins again, unless another
 * program has written to the file since: bytes that differ and were not saved are its own. */
static bool is_file_healing(struct bpk_side *side, struct bpk_source *source)
{
	const struct timespec then = bpk_parity_time(side->parity);
	uint64_t size;

	if (!bpk_source_pending_keeps(source, &then) ||
	    bpk_side_compare_source(side, source, NULL) != 0 || side->scan.lost > 0 ||
	    !bpk_side_has_damage(side))
		return false;
	if (bpk_side_is_current(side, bpk_source_stat(source)))
		return true;
	for (uint64_t at = 0; find_bad(side, &at, &size); at += size)
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
	    check_owner(&side, path, NULL) == 0)
		is_healing = in->place.is_directory ? rc == 0 && bpk_heal_tree_is_whole(&side, path)
						    : is_file_healing(&side, in->place.source);
	bpk_side_clear(&side);
	if (!is_healing)
		return rc;
	verdict->parity = BPK_SIDE_CURRENT;
	return bpk_fail(err, BPK_REPAIRABLE,
			"%s%s a healing was interrupted and is pending; the next bpk verify --heal "
			"%s continues it",
			rc != 0 ? plain.text : path, rc != 0 ? ";" : ":",
			bpk_shell_word(path, word));
}

/* ---- the verdict of all ---- */

int bpk_heal_judge(const struct bpk_shared *shared, const struct bpk_input *in, int rc,
		   struct bpk_heal_verdict *verdict, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_side side;
	bool there;

	*verdict = (struct bpk_heal_verdict){ .parity = BPK_SIDE_NONE };
	if (bpk_program->team != NULL || !is_open(&in->place) || in->place.is_member ||
	    (rc != 0 && err->kind != BPK_CORRUPT && err->kind != BPK_UNSUPPORTED &&
	     !(in->place.is_directory && in->format == NULL)))
		return rc;
	if (bpk_place_pending(&in->place))
		return judge_pending(in, rc, verdict, err);
	if (open_side(shared, &side, in->path, &there, &why) != 0 ||
	    (there && bpk_side_compare(&side, in->path, &why) != 0))
		rc = judge_unusable(rc, &side, in->path, &why, err);
	else if (there && rc != 0)
		rc = judge_damage(shared, &side, in->path, verdict, err);
	else if (there && !is_in_change(&in->place))
		rc = judge_whole(shared, &side, in, verdict, err);
	if (verdict->parity == BPK_SIDE_NONE &&
	    (why.kind == BPK_CORRUPT || why.kind == BPK_REPAIRABLE || bpk_side_is_damaged(&side)))
		verdict->parity = BPK_SIDE_DAMAGED;
	bpk_side_clear(&side);
	return rc;
}

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

/* All bad cells are saved before the first is restored: after a kill, bytes that differ elsewhere
 * were written by somebody. */
static int save_bad(const struct bpk_side *side, struct bpk_edit *edit, struct bpk_err *err)
{
	int rc = bpk_edit_need_journal(edit, err);
	uint64_t size;

	for (uint64_t at = 0; rc == 0 && find_bad(side, &at, &size); at += size)
		rc = bpk_edit_save(edit, at, size, err);
	return rc;
}

/* Of a file whose healing was interrupted: only the cells that it was about to restore differ. */
static bool is_as_then(void *arg, const struct bpk_edit *edit)
{
	struct bpk_side *side = arg;
	uint64_t size;

	if (bpk_side_compare_source(side, bpk_edit_source(edit), NULL) != 0)
		return false;
	for (uint64_t at = 0; find_bad(side, &at, &size); at += size)
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
	if (side->scan.lost > 0 || !bpk_side_is_as_then(side, path))
		return bpk_fail_changed(err);
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
	if (!shared->quiet)
		bpk_note(path, "%" PRIu64 " bytes in %" PRIu64 " cells were restored by %s",
			 healed->bytes, healed->cells, side);
}

void bpk_heal_tell(const struct bpk_shared *shared, const char *path,
		   const struct bpk_healed *healed)
{
	char *side = bpk_side_name(path, NULL);

	tell(shared, path, side != NULL ? side : "its parity file", healed);
	free(side);
}

int bpk_heal_in_place(const struct bpk_shared *shared, const char *path, struct bpk_healed *healed,
		      struct bpk_err *err)
{
	struct bpk_side side;
	bool there;
	int rc = open_side(shared, &side, path, &there, err);

	bpk_signals_start();
	if (rc == 0) {
		rc = check_owner(&side, path, err);
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
	settled = open_side(shared, &side, path, &there, NULL) == 0 && there &&
		  check_owner(&side, path, NULL) == 0 &&
		  (bpk_parity_files(side.parity) != NULL ? bpk_heal_tree_settle(&side, path)
							 : heal_file(&side, path, NULL, NULL)) == 0;
	bpk_side_clear(&side);
	return settled;
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
	int rc = bpk_source_open(path, &source, err);

	if (rc != 0)
		return bpk_err_subject(err, "%s", path);
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
	if (rc == 0 && bpk_draft_keep(w.draft, bpk_source_stat(source), err) != 0)
		rc = bpk_err_subject(err, "%s", shared->output);
	else if (rc != 0)
		bpk_draft_drop(w.draft);
	bpk_source_close(source);
	return rc;
}

/* Compare the archive at path with its parity, damaged as damage says, and see that all of it can
 * be restored. */
static int compare(const struct bpk_shared *shared, struct bpk_side *side, const char *path,
		   const struct bpk_err *damage, struct bpk_err *err)
{
	struct bpk_err lost = { 0 };

	if (bpk_side_compare(side, path, err) != 0)
		return -1;
	if (side->scan.lost > 0 && fail_lost(shared, side, path, damage->text, &lost) != 0)
		return bpk_fail(
			err, lost.kind, "%s%s", lost.text,
			lost.kind != BPK_CORRUPT
				? ""
				: "; --fill zero or skip writes the chunks that are intact");
	if (bpk_side_has_damage(side))
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

/* path is damaged, as err says. */
static int apply(const struct bpk_shared *shared, const char *path, struct bpk_err *err)
{
	struct bpk_err damage = *err;
	struct bpk_healed healed = { 0 };
	struct bpk_side side;
	bool there;
	int rc = bpk_side_open(&side, path, &there, err);

	if (rc == 0 && !there) {
		bpk_fail(err, damage.kind, "%s; it has no parity file", damage.text);
		rc = -1;
	}
	if (rc == 0)
		rc = compare(shared, &side, path, &damage, err);
	if (rc == 0)
		rc = bpk_parity_files(side.parity) != NULL
			     ? bpk_heal_tree_into(shared, &side, path, &healed, err)
			     : write_output(shared, &side, path, &healed, err);
	if (rc == 0 && !bpk_side_is_as_then(&side, path) && !shared->quiet)
		bpk_note(shared->output,
			 "has the state in which %s was when its parity was "
			 "written; it was written since",
			 path);
	if (rc == 0)
		rc = verify_path(shared, shared->output, err);
	if (rc == 0)
		tell(shared, shared->output, side.name, &healed);
	bpk_side_clear(&side);
	return rc;
}

/* No checksum of the input failed. */
static int apply_unwritten(const struct bpk_shared *shared, struct bpk_input *in,
			   struct bpk_err *err)
{
	const char *path = in->path;
	struct bpk_heal_verdict verdict;

	(void)bpk_heal_judge(shared, in, 0, &verdict, err);
	if (verdict.heals) {
		bpk_input_close(in);
		return apply(shared, path, err);
	}
	if (err->kind == BPK_CORRUPT)
		return -1;
	*err = (struct bpk_err){ 0 }; /* stale parity */
	if (shared->verbose)
		bpk_note(path, "is whole, nothing to do");
	return 0;
}

void bpk_heal_into(const struct bpk_args *args, const char *path)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_err err = { 0 };
	struct bpk_input in;
	int rc = bpk_input_find(&in, path, shared, &err);

	bpk_signals_start();
	if (rc == 0 && (in.place.is_member || bpk_path_is_url(path) || strcmp(path, "-") == 0)) {
		bpk_fail(&err, BPK_FAILED, "is no file of its own, as parity needs it");
		rc = bpk_input_subject(&in, &err);
	} else if (rc == 0 && bpk_place_pending(&in.place)) {
		bpk_fail(&err, BPK_REPAIRABLE,
			 "a change was interrupted and is pending; --in-place settles it");
		rc = bpk_input_subject(&in, &err);
	} else if (rc == 0 && (bpk_side_verify(shared, &in, &err) != 0 ||
			       bpk_verify_recorded(shared, &in, false, &err) != 0)) {
		bpk_input_close(&in);
		rc = apply(shared, path, &err);
	} else if (rc == 0) {
		rc = apply_unwritten(shared, &in, &err);
	}
	if (rc != 0)
		bpk_report(NULL, &err);
	bpk_input_close(&in);
}
