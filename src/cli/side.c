/* The parity file beside an archive is named, opened and compared. Called by parity.c, heal.c, and
 * those that walk directories. */
#include "cli/side.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/record.h"

/* True if path, without slashes at its end, is a link, "." or "..": names that only the file system
 * turns into that of the archive. */
static bool is_other_name(const char *path)
{
	char named[PATH_MAX];
	size_t size = strlen(path);
	const char *last;
	struct stat found;

	while (size > 1 && path[size - 1] == '/')
		size--;
	if (size >= sizeof named)
		return false;
	memcpy(named, path, size);
	named[size] = '\0';
	last = strrchr(named, '/');
	last = last != NULL ? last + 1 : named;
	return strcmp(last, ".") == 0 || strcmp(last, "..") == 0 ||
	       (lstat(named, &found) == 0 && S_ISLNK(found.st_mode));
}

/* The name that side files are named after: path, or real for another name of the archive. */
static const char *name_of(const char *path, char real[PATH_MAX])
{
	return is_other_name(path) && realpath(path, real) != NULL ? real : path;
}

char *bpk_side_beside(const char *path, const char *suffix, struct bpk_err *err)
{
	char real[PATH_MAX];

	return bpk_path_beside(name_of(path, real), suffix, err);
}

bool bpk_side_may_be(const char *path)
{
	char real[PATH_MAX], name[PATH_MAX];
	const char *own = name_of(path, real);
	size_t size = strlen(own);
	struct stat found;

	while (size > 1 && own[size - 1] == '/')
		size--;
	if ((size_t)snprintf(name, sizeof name, "%.*s" BPK_PARITY_SUFFIX, (int)size, own) >=
	    sizeof name)
		return false;
	return lstat(name, &found) == 0 || !bpk_is_absent(errno);
}

char *bpk_side_name(const char *path, struct bpk_err *err)
{
	return bpk_side_beside(path, BPK_PARITY_SUFFIX, err);
}

bool bpk_side_parse(const char *text, unsigned *share)
{
	unsigned value = 0, digits = 0, unit = BPK_PARITY_PERCENT;
	const char *c = text;

	for (; *c >= '0' && *c <= '9' && digits < 3; c++, digits++)
		value = 10 * value + (unsigned)(*c - '0');
	value *= BPK_PARITY_PERCENT;
	if (digits > 0 && *c == '.')
		for (c++; *c >= '0' && *c <= '9' && unit > 1; c++) {
			unit /= 10;
			value += unit * (unsigned)(*c - '0');
		}
	c += *c == '%';
	*share = value;
	return digits > 0 && *c == '\0' && value > 0 && value <= BPK_PARITY_MOST;
}

bool bpk_side_is(const char *path)
{
	bool there, ours = false;

	return bpk_ends_with(path, BPK_PARITY_SUFFIX) &&
	       bpk_parity_look(path, &there, &ours, NULL) == 0 && ours;
}

void bpk_side_record(enum bpk_side_state state)
{
	static const char *const words[] = {
		[BPK_SIDE_NONE] = NULL,
		[BPK_SIDE_CURRENT] = "current",
		[BPK_SIDE_STALE] = "stale",
		[BPK_SIDE_DAMAGED] = "damaged",
	};

	bpk_record_text("parity", words[state]);
}

/* ---- checks ---- */

int bpk_side_check_own(const struct bpk_input *in, const char *what, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	if (in->format == NULL)
		return bpk_input_fail_unknown(in, err);
	if (bpk_path_is_url(in->path) || in->place.is_member)
		bpk_fail(err, BPK_FAILED, "is no file of its own, which %s could lie beside", what);
	else if (bpk_place_pending(&in->place))
		bpk_fail(err, BPK_REPAIRABLE,
			 "a change was interrupted and is pending; bpk repair --in-place %s "
			 "settles it",
			 bpk_shell_word(in->path, word));
	else if (!in->place.is_directory && !bpk_source_seekable(in->place.source))
		bpk_fail(err, BPK_FAILED, "is no regular file");
	else
		return 0;
	return bpk_input_subject(in, err);
}

int bpk_side_test(const struct bpk_shared *shared, struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_transfer transfer = { .shared = shared, .in = in };
	struct bpk_flow flow = { .check = true, .plan = bpk_plan_all(in->info) };
	int rc;

	flow.decode = in->info->chunks.checksum->size == 0; /* nothing else is a test */
	rc = bpk_transfer_run(&transfer, &flow, err);
	if (rc == 0)
		rc = bpk_input_audit(in, NULL, NULL, err);
	if (rc == 0)
		rc = bpk_input_unchanged(in, err);
	bpk_transfer_clear(&transfer);
	return rc;
}

int bpk_side_verify(const struct bpk_shared *shared, struct bpk_input *in, struct bpk_err *err)
{
	return bpk_input_start(in, shared, shared->chunk_limit, err) != 0
		       ? -1
		       : bpk_side_test(shared, in, err);
}

/* The name of an archive may have been that of a file, and be that of a directory now. */
static int check_kind(const struct bpk_side *side, bool is_directory, struct bpk_err *err)
{
	if ((bpk_parity_files(side->parity) != NULL) == is_directory)
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "is parity of a %s",
			is_directory ? "file, not of a directory" : "directory, not of a file");
}

int bpk_side_open(struct bpk_side *side, const char *path, bool *there, struct bpk_err *err)
{
	struct stat found;
	bool ours;

	*side = (struct bpk_side){ 0 };
	*there = false;
	if (strcmp(path, "-") == 0 || bpk_path_is_url(path) || stat(path, &found) != 0 ||
	    (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)))
		return 0;
	side->name = bpk_side_name(path, err);
	if (side->name == NULL)
		return -1;
	if (bpk_parity_look(side->name, there, &ours, err) != 0 ||
	    (*there && (bpk_parity_open(side->name, &side->parity, err) != 0 ||
			check_kind(side, S_ISDIR(found.st_mode), err) != 0)))
		return bpk_err_subject(err, "%s", side->name);
	return 0;
}

bool bpk_side_has(const char *path)
{
	struct bpk_side side;
	bool there = false;

	if (bpk_side_open(&side, path, &there, NULL) != 0)
		there = true;
	bpk_side_clear(&side);
	return there;
}

int bpk_side_list(const char *path, struct bpk_parity_files *files, struct bpk_err *err)
{
	struct bpk_dir *dir = NULL;
	int rc = bpk_dir_open(path, bpk_format_owns, &dir, err);

	*files = (struct bpk_parity_files){ 0 };
	if (rc == 0)
		rc = bpk_parity_files_list(dir, bpk_format_owns, files, err);
	bpk_dir_close(dir);
	return rc;
}

/* True in *same if no file of the directory was written, lost or added since parity was made. */
static int look_at_files(const struct bpk_side *side, const char *path, bool *same,
			 struct bpk_err *err)
{
	struct bpk_parity_files now;
	struct bpk_parity_drift drift;
	int rc = bpk_side_list(path, &now, err);

	if (rc == 0) {
		drift = bpk_parity_files_drift(bpk_parity_files(side->parity), &now);
		*same = drift.missing + drift.resized + drift.newer + drift.added == 0;
	}
	bpk_parity_files_clear(&now);
	return rc;
}

static int look_at_file(const struct bpk_side *side, const char *path, bool *same,
			struct bpk_err *err)
{
	struct stat now;

	if (stat(path, &now) != 0)
		return bpk_fail_errno(err, errno, "stat");
	*same = bpk_side_is_current(side, &now) &&
		(uint64_t)now.st_size == bpk_parity_size(side->parity);
	return 0;
}

/* A part of the parity file is lost, by its own digests. */
static int look_at_cells(struct bpk_side *side, bool *damaged, struct bpk_err *err)
{
	int rc = bpk_parity_compare(side->parity, NULL, &side->scan, err);

	*damaged = bpk_side_is_damaged(side);
	return rc;
}

static int look(const char *path, bool through, enum bpk_side_state *state, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_side side;
	bool there = false, same = false, damaged = false, opened;
	int rc = bpk_side_open(&side, path, &there, &why);

	*state = BPK_SIDE_DAMAGED;
	rc = bpk_err_settle(rc, &why, &opened, err);
	if (rc == 0 && opened && !there)
		*state = BPK_SIDE_NONE;
	else if (rc == 0 && opened)
		rc = bpk_parity_files(side.parity) != NULL ? look_at_files(&side, path, &same, err)
							   : look_at_file(&side, path, &same, err);
	if (rc == 0 && opened && there && through)
		rc = look_at_cells(&side, &damaged, err);
	if (rc == 0 && opened && there && !damaged)
		*state = same ? BPK_SIDE_CURRENT : BPK_SIDE_STALE;
	bpk_side_clear(&side);
	return rc;
}

int bpk_side_look(const char *path, enum bpk_side_state *state, struct bpk_err *err)
{
	return look(path, false, state, err);
}

int bpk_side_look_through(const char *path, enum bpk_side_state *state, struct bpk_err *err)
{
	return look(path, true, state, err);
}

static bool is_empty(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 0;
}

/* True if the line begins with the name of the file. */
static bool is_about(const struct bpk_err *err, const char *path)
{
	const char *name = bpk_input_name(path);
	size_t size = strlen(name);

	return strncmp(err->text, name, size) == 0 && err->text[size] == ':';
}

bool bpk_side_is_damage(const char *path, const struct bpk_err *err)
{
	return err->kind == BPK_CORRUPT && path != NULL && strcmp(path, "-") != 0 &&
	       is_about(err, path);
}

/* The same, without a next step. */
static bool is_bare_damage(const char *path, const struct bpk_err *err)
{
	return !err->advises && bpk_side_is_damage(path, err);
}

void bpk_side_advise_path(const char *path, struct bpk_err *err)
{
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];
	bool has;

	if (!is_bare_damage(path, err))
		return;
	has = bpk_side_has(path);
	if (!has && is_empty(path))
		return;
	bpk_fail(err, plain.kind, "%s; bpk verify %s shows %s", plain.text,
		 bpk_shell_word(path, word),
		 has ? "whether its parity file restores it" : "all damage and the next step");
	err->advises = true;
}

void bpk_side_advise(const struct bpk_input *in, struct bpk_err *err)
{
	if (in->format != &bpk_format_raw)
		bpk_side_advise_path(in->path, err);
}

/* Repair reads an empty file or directory in its place as an archive that has lost all. */
static void advise_gone(const char *path, const char *name, const struct bpk_parity *parity,
			bool restores, struct bpk_err *err)
{
	bool is_directory = bpk_parity_files(parity) != NULL;
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];

	bpk_shell_word(path, word);
	if (restores)
		bpk_fail(err, plain.kind,
			 "%s; its parity file %s is there and suffices: with an empty %s in the "
			 "place of the archive, bpk repair --apply -o OUT %s restores it",
			 plain.text, name, is_directory ? "directory" : "file", word);
	else
		bpk_fail(err, plain.kind,
			 "%s; its parity file %s is there, for losses of %g%%: with a damaged copy "
			 "in the place of the archive, bpk repair --apply -o OUT %s tries it",
			 plain.text, name, (double)bpk_parity_share(parity) / BPK_PARITY_PERCENT,
			 word);
}

void bpk_side_advise_gone(const char *path, struct bpk_err *err)
{
	struct bpk_parity_scan scan = { 0 };
	struct bpk_parity *parity = NULL;
	struct stat found;
	char *name;

	if (err->kind != BPK_FAILED || bpk_path_is_url(path) || strcmp(path, "-") == 0 ||
	    lstat(path, &found) == 0 || !bpk_is_missing(errno))
		return;
	name = bpk_side_name(path, NULL);
	if (name != NULL && bpk_parity_open(name, &parity, NULL) == 0 &&
	    bpk_parity_compare(parity, NULL, &scan, NULL) == 0)
		advise_gone(path, name, parity, scan.lost == 0, err);
	bpk_parity_scan_clear(&scan);
	bpk_parity_close(parity);
	free(name);
}

bool bpk_side_is_current(const struct bpk_side *side, const struct stat *archive)
{
	return bpk_parity_time_is(bpk_parity_time(side->parity), archive->st_mtim);
}

int bpk_side_compare_source(struct bpk_side *side, struct bpk_source *source, struct bpk_err *err)
{
	bpk_parity_scan_clear(&side->scan);
	if (bpk_parity_compare(side->parity, source, &side->scan, err) != 0)
		return -1;
	return bpk_source_unchanged(source, err);
}

int bpk_side_compare_dir(struct bpk_side *side, struct bpk_dir *dir, struct bpk_err *err)
{
	const struct bpk_parity_files *then = bpk_parity_files(side->parity);
	struct bpk_source *source = NULL;
	uint64_t generation = 0;
	int rc;

	bpk_parity_files_clear(&side->now);
	if (bpk_dir_generation(dir, &generation, err) != 0 ||
	    bpk_parity_files_list(dir, bpk_format_owns, &side->now, err) != 0)
		return -1;
	side->drift = bpk_parity_files_drift(then, &side->now);
	rc = bpk_parity_files_source(dir, then, true, &source, err);
	if (rc == 0)
		rc = bpk_side_compare_source(side, source, err);
	/* the generation tells of no change that only added */
	if (rc == 0)
		rc = bpk_parity_files_unchanged(dir, bpk_format_owns, &side->now, err);
	if (rc == 0)
		rc = bpk_dir_settle(dir, generation, true, err);
	bpk_source_close(source);
	return rc;
}

static int compare_file(struct bpk_side *side, const char *path, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	int rc = bpk_source_open(path, &source, err);

	if (rc == 0)
		rc = bpk_side_compare_source(side, source, err);
	bpk_source_close(source);
	return rc;
}

int bpk_side_compare(struct bpk_side *side, const char *path, struct bpk_err *err)
{
	struct bpk_dir *dir = NULL;
	int rc;

	if (bpk_parity_files(side->parity) == NULL) {
		rc = compare_file(side, path, err);
	} else {
		rc = bpk_dir_open(path, bpk_format_owns, &dir, err);
		if (rc == 0)
			rc = bpk_side_compare_dir(side, dir, err);
		bpk_dir_close(dir);
	}
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", path);
}

/* A file whose lost bytes were zeros has no bad cell. */
bool bpk_side_has_damage(const struct bpk_side *side)
{
	return side->scan.bad + side->drift.missing + side->drift.resized > 0;
}

bool bpk_side_is_damaged(const struct bpk_side *side)
{
	return side->scan.bad_parity > 0 || side->scan.bad_tables;
}

bool bpk_side_is_as_then(const struct bpk_side *side, const char *path)
{
	struct stat now;

	if (bpk_parity_files(side->parity) != NULL)
		return side->drift.newer + side->drift.grown + side->drift.added == 0;
	return stat(path, &now) == 0 && bpk_side_is_current(side, &now) &&
	       (uint64_t)now.st_size <= bpk_parity_size(side->parity);
}

bool bpk_side_is_exact(const struct bpk_side *side, const char *path)
{
	struct stat now;

	if (bpk_parity_files(side->parity) != NULL)
		return side->drift.newer + side->drift.cut == 0;
	return stat(path, &now) == 0 && bpk_side_is_current(side, &now) &&
	       now.st_mtim.tv_nsec == bpk_parity_time(side->parity).tv_nsec;
}

bool bpk_side_has_grown(const struct bpk_side *side, const char *path)
{
	const struct bpk_parity_files *files = bpk_parity_files(side->parity);
	const struct bpk_parity_drift *drift = &side->drift;
	const struct timespec then =
		files != NULL ? bpk_parity_files_last(files) : bpk_parity_time(side->parity);
	struct stat now;
	bool grown;

	if (files != NULL)
		grown = drift->tails > 0 && drift->tails == drift->grown &&
			drift->newer + drift->added == 0;
	else
		grown = stat(path, &now) == 0 && then.tv_nsec != 0 &&
			(uint64_t)now.st_size > bpk_parity_size(side->parity) &&
			now.st_mtim.tv_sec == then.tv_sec && now.st_mtim.tv_nsec == then.tv_nsec;
	return grown && bpk_parity_time_passed(then, bpk_parity_stat(side->parity)->st_ctim);
}

bool bpk_side_is_unwritten(const struct bpk_side *side, const char *path)
{
	return bpk_side_is_as_then(side, path) || bpk_side_has_grown(side, path);
}

int bpk_side_fail_damaged(const struct bpk_side *side, const char *path, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	bpk_shell_word(path, word);
	if (bpk_side_is_as_then(side, path) && !bpk_side_is_exact(side, path))
		return bpk_fail(err, BPK_REPAIRABLE,
				"differs from its parity, and its time, in whole seconds, does not "
				"tell why; bpk verify %s tells whether it is damaged",
				word);
	if (side->scan.lost > 0)
		return bpk_fail(err, BPK_CORRUPT,
				"is damaged, and parity restores a part of it: bpk verify %s tells "
				"what is lost; nothing was changed",
				word);
	return bpk_fail(err, BPK_REPAIRABLE,
			"is damaged, and parity restores it: bpk verify --heal %s first", word);
}

int bpk_side_find_damage(struct bpk_side *side, const char *path, bool *differs,
			 struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct stat now;
	bool there;

	*differs = false;
	/* a parity file that cannot be used is reported when it should be renewed */
	if (bpk_side_open(side, path, &there, &why) != 0)
		return bpk_err_pass_memory(&why, err);
	if (!there || stat(path, &now) != 0 ||
	    (bpk_parity_files(side->parity) == NULL && !bpk_side_is_current(side, &now)))
		return 0;
	if (bpk_side_compare(side, path, err) != 0)
		return -1;
	*differs = bpk_side_is_unwritten(side, path) &&
		   (bpk_side_has_damage(side) || bpk_side_has_grown(side, path));
	return 0;
}

int bpk_side_need_whole(const char *path, bool *own_damage, struct bpk_err *err)
{
	struct bpk_side side;
	bool differs;
	int rc = bpk_side_find_damage(&side, path, &differs, err);

	if (differs) {
		bpk_side_fail_damaged(&side, path, err);
		rc = bpk_err_subject(err, "%s", path);
	}
	if (own_damage != NULL)
		*own_damage = bpk_side_is_damaged(&side);
	bpk_side_clear(&side);
	return rc;
}

void bpk_side_clear(struct bpk_side *side)
{
	free(side->name);
	bpk_parity_close(side->parity);
	bpk_parity_scan_clear(&side->scan);
	bpk_parity_files_clear(&side->now);
	*side = (struct bpk_side){ 0 };
}
