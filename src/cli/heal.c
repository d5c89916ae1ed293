/* Damaged archives are judged and restored by their parity files. Called by verify_work.c and
 * repair.c. */
#include "cli/heal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/side.h"
#include "cli/signal.h"

/* ---- the verdict ---- */

struct map {
	const char *path;
	const struct bpk_shared *shared;
	uint64_t runs, bytes;
};

/* The first runs are named, and with -v all of them. */
static void note_lost(void *arg, uint64_t offset, uint64_t size)
{
	enum { FEW = 20 };
	struct map *map = arg;

	if (!map->shared->quiet && (map->runs < FEW || map->shared->verbose))
		bpk_note(map->path, "bytes %" PRIu64 " to %" PRIu64 " are lost", offset,
			 offset + size);
	else if (!map->shared->quiet && map->runs == FEW)
		bpk_note(map->path, "and more; -v names all");
	map->runs++;
	map->bytes += size;
}

/* Print the loss map, and fail with the damage. */
static int fail_lost(const struct bpk_shared *shared, const struct bpk_side *side, const char *path,
		     const char *damage, struct bpk_err *err)
{
	struct map map = { .path = path, .shared = shared };

	if (bpk_parity_losses(side->parity, &side->scan, note_lost, &map, err) != 0)
		return bpk_err_subject(err, "%s", path);
	return bpk_fail(err, BPK_CORRUPT,
			"%s; parity cannot restore %" PRIu64 " bytes in %" PRIu64 " of %" PRIu64
			" damaged cells",
			damage, map.bytes, side->scan.lost, side->scan.bad);
}

/* True if the archive's file was not written since its parity file was made, by its time. */
static bool is_as_then(const struct bpk_side *side, const char *path)
{
	struct stat now;

	return stat(path, &now) == 0 && bpk_side_is_current(side, &now) &&
	       (uint64_t)now.st_size <= bpk_parity_size(side->parity);
}

static int judge_damage(const struct bpk_shared *shared, const struct bpk_side *side,
			const char *path, bool *heals, struct bpk_err *err)
{
	struct bpk_err plain = *err;

	if (side->scan.bad == 0)
		return -1; /* the damage is older than the parity */
	if (side->scan.lost > 0)
		return fail_lost(shared, side, path, plain.text, err);
	*heals = is_as_then(side, path);
	return bpk_fail(
		err, BPK_REPAIRABLE, "%s; %s", plain.text,
		*heals ? "parity restores all of it: bpk verify --heal in place, bpk repair "
			 "--apply -o OUT into another file"
		       : "the file was written since its parity was: bpk repair --apply -o "
			 "OUT writes the state of then into another file");
}

static int judge_whole(const struct bpk_side *side, const char *path, struct bpk_err *err)
{
	const struct bpk_parity_scan *scan = &side->scan;

	if (scan->size != bpk_parity_size(side->parity) || scan->bad > 0)
		bpk_fail(err, BPK_REPAIRABLE,
			 "is whole, but its parity is stale: %" PRIu64 " of %" PRIu64
			 " cells differ; bpk parity renews it",
			 scan->bad, bpk_parity_cells(side->parity));
	else if (scan->bad_parity > 0 || scan->bad_tables)
		bpk_fail(err, BPK_REPAIRABLE,
			 "is whole, but its parity file is damaged in %" PRIu64
			 " cells%s; bpk parity renews it",
			 scan->bad_parity, scan->bad_tables ? " and a copy of its tables" : "");
	else
		return 0;
	return bpk_err_subject(err, "%s", path);
}

/* A parity file that cannot be used is no damage of the archive. */
static int judge_unusable(int rc, struct bpk_err *why, struct bpk_err *err)
{
	struct bpk_err plain = *why;

	if (rc != 0) {
		bpk_note(NULL, "%s", why->text);
		return rc;
	}
	if (why->kind == BPK_CORRUPT)
		bpk_fail(why, BPK_REPAIRABLE, "%s; bpk parity renews it", plain.text);
	*err = *why;
	return -1;
}

int bpk_heal_judge(const struct bpk_shared *shared, const struct bpk_input *in, int rc, bool *heals,
		   struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_side side;
	bool there;

	*heals = false;
	if (bpk_program->team != NULL || in->place.source == NULL || in->place.is_member ||
	    bpk_place_pending(&in->place) ||
	    (rc != 0 && err->kind != BPK_CORRUPT && err->kind != BPK_UNSUPPORTED))
		return rc;
	if (bpk_side_open(&side, in->path, &there, &why) != 0 ||
	    (there && bpk_side_compare(&side, in->path, &why) != 0))
		rc = judge_unusable(rc, &why, err);
	else if (there && rc != 0)
		rc = judge_damage(shared, &side, in->path, heals, err);
	else if (there && !bpk_source_in_change(in->place.source))
		rc = judge_whole(&side, in->path, err);
	bpk_side_clear(&side);
	return rc;
}

/* ---- in place ---- */

struct healed {
	struct bpk_edit *edit;
	struct bpk_draft *draft;
	uint64_t cells, bytes;
};

static int put_in_place(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct healed *healed = arg;

	healed->cells++;
	healed->bytes += bytes.size;
	return bpk_edit_write_at(healed->edit, offset, bytes, err);
}

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

/* Under the lock: the file is still the one that was judged, and can be restored. */
static int heal_edit(struct bpk_side *side, const char *path, struct healed *healed,
		     struct bpk_err *err)
{
	struct bpk_source *source = bpk_edit_source(healed->edit);

	if (check_owner(side, path, err) != 0 ||
	    bpk_parity_compare(side->parity, source, &side->scan, err) != 0)
		return -1;
	if (side->scan.lost > 0 || !is_as_then(side, path))
		return bpk_fail_changed(err);
	if (bpk_parity_heal(side->parity, source, &side->scan, put_in_place, healed, err) != 0)
		return -1;
	return bpk_edit_commit(healed->edit, NULL, bpk_parity_size(side->parity), err);
}

/* The content is that of the parity file's time again, and so is the time. */
static void set_time(const struct bpk_side *side, const char *path)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, bpk_parity_time(side->parity) };

	(void)utimensat(AT_FDCWD, path, times, 0);
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

static void tell_healed(const struct bpk_shared *shared, const char *path,
			const struct healed *healed, const struct bpk_side *side)
{
	if (!shared->quiet)
		bpk_note(path, "%" PRIu64 " bytes in %" PRIu64 " cells were restored by %s",
			 healed->bytes, healed->cells, side->name);
}

int bpk_heal_in_place(const struct bpk_shared *shared, const char *path, struct bpk_err *err)
{
	const struct bpk_edit_options options = { .sync = true };
	struct healed healed = { 0 };
	struct bpk_side side;
	bool there;
	int rc = bpk_side_open(&side, path, &there, err);

	bpk_signals_start();
	if (rc == 0) {
		rc = bpk_edit_open(path, &options, &healed.edit, err);
		if (rc == 0)
			rc = heal_edit(&side, path, &healed, err);
		if (rc == 0)
			set_time(&side, path);
		else
			bpk_err_subject(err, "%s", path);
		bpk_edit_close(healed.edit);
	}
	if (rc == 0)
		rc = verify_path(shared, path, err);
	if (rc == 0)
		tell_healed(shared, path, &healed, &side);
	bpk_side_clear(&side);
	return rc;
}

/* ---- into another file ---- */

static int put_in_draft(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct healed *healed = arg;

	healed->cells++;
	healed->bytes += bytes.size;
	return bpk_draft_write_at(healed->draft, offset, bytes, err);
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

		bpk_parity_read(source, at, part);
		rc = bpk_draft_write_at(draft, at, bpk_view_of_span(part), err);
	}
	bpk_buf_clear(&piece);
	return rc;
}

static int fill(const struct bpk_side *side, struct bpk_source *source, struct healed *healed,
		struct bpk_err *err)
{
	if (bpk_draft_reread(healed->draft, err) != 0 ||
	    copy_all(source, bpk_parity_size(side->parity), healed->draft, err) != 0 ||
	    bpk_parity_heal(side->parity, source, &side->scan, put_in_draft, healed, err) != 0)
		return -1;
	return bpk_source_unchanged(source, err);
}

static int write_output(const struct bpk_shared *shared, const struct bpk_side *side,
			const char *path, struct healed *healed, struct bpk_err *err)
{
	struct bpk_draft_options options = { .overwrite = shared->force,
					     .remedy = BPK_REMEDY_FORCE,
					     .follow_links = true,
					     .sync = !shared->no_sync };
	struct bpk_source *source = NULL;
	int rc = bpk_source_open(path, &source, err);

	if (rc != 0)
		return bpk_err_subject(err, "%s", path);
	options.not_this = bpk_source_stat(source);
	options.nor_this = bpk_parity_stat(side->parity);
	if (bpk_draft_open(shared->output, &options, &healed->draft, err) != 0) {
		rc = bpk_err_subject(err, "%s", shared->output);
	} else if (!bpk_draft_is_hidden(healed->draft)) {
		bpk_fail(err, BPK_FAILED, "is no file, expected one for --apply");
		rc = bpk_err_subject(err, "%s", shared->output);
	} else if (fill(side, source, healed, err) != 0) {
		rc = bpk_err_subject(err, "%s", path);
	}
	if (rc == 0 && bpk_draft_keep(healed->draft, bpk_source_stat(source), err) != 0)
		rc = bpk_err_subject(err, "%s", shared->output);
	else if (rc != 0)
		bpk_draft_drop(healed->draft);
	bpk_source_close(source);
	return rc;
}

/* path is damaged, as err says. */
static int apply(const struct bpk_shared *shared, const char *path, struct bpk_err *err)
{
	struct bpk_err damage = *err;
	struct healed healed = { 0 };
	struct bpk_side side;
	bool there;
	int rc = bpk_side_open(&side, path, &there, err);

	if (rc == 0 && !there) {
		bpk_fail(err, damage.kind, "%s; it has no parity file", damage.text);
		rc = -1;
	}
	if (rc == 0)
		rc = bpk_side_compare(&side, path, err);
	if (rc == 0 && side.scan.lost > 0)
		rc = fail_lost(shared, &side, path, damage.text, err);
	if (rc == 0 && side.scan.bad == 0) {
		*err = damage; /* older than the parity */
		rc = -1;
	}
	if (rc == 0)
		rc = write_output(shared, &side, path, &healed, err);
	if (rc == 0 && !is_as_then(&side, path) && !shared->quiet)
		bpk_note(shared->output,
			 "has the state in which %s was when its parity was "
			 "written; the file was written since",
			 path);
	if (rc == 0)
		rc = verify_path(shared, shared->output, err);
	if (rc == 0)
		tell_healed(shared, shared->output, &healed, &side);
	bpk_side_clear(&side);
	return rc;
}

void bpk_heal_into(const struct bpk_args *args, const char *path)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_err err = { 0 };
	struct bpk_input in;
	int rc = bpk_input_find(&in, path, shared, &err);

	bpk_signals_start();
	if (rc == 0 && (in.place.is_member || in.place.is_directory || bpk_path_is_url(path) ||
			strcmp(path, "-") == 0)) {
		bpk_fail(&err, BPK_FAILED, "is no file of its own, as parity needs it");
		rc = bpk_input_subject(&in, &err);
	} else if (rc == 0 && bpk_place_pending(&in.place)) {
		bpk_fail(&err, BPK_REPAIRABLE,
			 "a change was interrupted and is pending; --in-place settles it");
		rc = bpk_input_subject(&in, &err);
	} else if (rc == 0 && bpk_side_verify(shared, &in, &err) != 0) {
		bpk_input_close(&in);
		rc = apply(shared, path, &err);
	} else if (rc == 0 && shared->verbose) {
		bpk_note(path, "is whole, nothing to do");
	}
	if (rc != 0)
		bpk_report(NULL, &err);
	bpk_input_close(&in);
}
