/* The parity file of a damaged archive, for heal_judge.c and heal.c: opened, its bad and its lost
 * cells. */
#include "cli/heal_side.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "cli/report.h"

/* ---- lost cells ---- */

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
		bpk_note(map->path,
			 "%s%sbytes %" PRIu64 " to %" PRIu64
			 " are in damaged cells that parity cannot restore",
			 name, *name != '\0' ? ": " : "", offset, offset + size);
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

int bpk_heal_fail_lost(const struct bpk_shared *shared, const struct bpk_side *side,
		       const char *path, const char *damage, struct bpk_err *err)
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

/* ---- the file ---- */

static void wait_pace(void *arg, uint64_t size)
{
	bpk_pace_wait(arg, size);
}

int bpk_heal_open(const struct bpk_shared *shared, struct bpk_side *side, const char *path,
		  bool *there, struct bpk_err *err)
{
	int rc = bpk_side_open(side, path, there, err);

	if (rc == 0 && *there && shared->pace != NULL)
		bpk_parity_on_read(side->parity, wait_pace, shared->pace);
	return rc;
}

int bpk_heal_check_owner(const struct bpk_side *side, const char *path, struct bpk_err *err)
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

bool bpk_heal_find_bad(const struct bpk_side *side, uint64_t *offset, uint64_t *size)
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

/* How the files of a directory differ from its list by their times and sizes; not: zeros. */
static struct bpk_parity_drift drift_of(const struct bpk_side *side, const char *path)
{
	struct bpk_parity_files now;
	struct bpk_parity_drift drift = { 0 };

	if (bpk_side_list(path, &now, NULL) == 0)
		drift = bpk_parity_files_drift(bpk_parity_files(side->parity), &now);
	bpk_parity_files_clear(&now);
	return drift;
}

bool bpk_heal_seems_other(const struct bpk_side *side, const char *path)
{
	struct bpk_parity_drift drift;

	if (bpk_parity_files(side->parity) == NULL)
		return !bpk_side_is_as_then(side, path) || !bpk_side_is_exact(side, path);
	drift = drift_of(side, path);
	return drift.newer + drift.grown + drift.added + drift.cut > 0;
}

bool bpk_heal_seems_earlier(const struct bpk_side *side, const char *path)
{
	struct bpk_parity_drift drift;
	struct stat now;

	if (bpk_parity_files(side->parity) != NULL) {
		drift = drift_of(side, path);
		return drift.newer > 0 && drift.later == 0;
	}
	return stat(path, &now) == 0 && !bpk_side_is_current(side, &now) &&
	       bpk_parity_time_passed(now.st_mtim, bpk_parity_time(side->parity));
}

bool bpk_heal_is_strange(const struct bpk_side *side, const char *path)
{
	bool is_empty = bpk_parity_files(side->parity) != NULL ? side->now.count == 0
							       : side->scan.size == 0;

	return !is_empty && side->scan.bad > 0 && side->scan.alike == 0 &&
	       (bpk_parity_cells(side->parity) > 1 || !bpk_side_is_as_then(side, path));
}

bool bpk_heal_is_earlier(const struct bpk_side *side, const char *path)
{
	return bpk_side_has_damage(side) && bpk_heal_seems_earlier(side, path);
}
