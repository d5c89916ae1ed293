/* The inputs of bpk verify: operands, the files below directories, the members of tars; and their
 * sum. Called by verify.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/share.h"
#include "cli/side.h"
#include "cli/text.h"
#include "cli/transfer.h"
#include "cli/verify.h"
#include "cli/verify_rota.h"

/* ---- tars ---- */

struct tar {
	const struct bpk_verify_args *args;
	const char *path;
};

/* TAR:NAME, for free(); NULL, and a report, without memory. */
static char *name_member(const struct tar *tar, const char *name)
{
	struct bpk_err err = { 0 };
	char *path;

	if (asprintf(&path, "%s:%s", tar->path, name) >= 0)
		return path;
	bpk_fail_memory(&err, strlen(name));
	bpk_report(bpk_input_name(tar->path), &err);
	return NULL;
}

/* A member that lies in place is an input like others. */
static int look_at(struct bpk_input *in, const char *path, struct bpk_err *err)
{
	in->path = in->place.path = path;
	in->place.is_member = true;
	return bpk_format_probe(&in->place, &in->format, err) == 0 ? 0 : bpk_input_subject(in, err);
}

static bool verify_folder_in(void *arg, const char *name, struct bpk_dir *dir)
{
	const struct tar *tar = arg;
	char *path = name_member(tar, name);
	struct bpk_input in = { .place = { .is_directory = true, .directory = dir } };
	const struct bpk_format *promised = bpk_format_of_suffix(name);
	struct bpk_err err = { 0 };
	int rc = path != NULL ? look_at(&in, path, &err) : 0;
	bool enters = path != NULL && rc == 0 && in.format == NULL &&
		      (promised == NULL || !promised->is_directory);

	if (path == NULL || enters)
		bpk_input_close(&in);
	else
		bpk_verify_input(tar->args, &in, true, rc, &err);
	free(path);
	return enters;
}

static void verify_file_in(void *arg, const char *name, struct bpk_source *source,
			   const struct bpk_err *why)
{
	const struct tar *tar = arg;
	char *path = name_member(tar, name);
	struct bpk_input in = { .path = path, .place = { .path = path, .source = source } };
	struct bpk_err err = *why;

	if (path == NULL) {
		bpk_input_close(&in);
		return;
	}
	if (source == NULL)
		bpk_verify_input(tar->args, &in, true, bpk_input_subject(&in, &err), &err);
	else
		bpk_verify_input(tar->args, &in, false, look_at(&in, path, &err), &err);
	free(path);
}

/* Is the input, which has no format, a tar? Fails if it is none, although its name says so. */
static int probe_tar(const struct bpk_input *in, bool *is_tar, struct bpk_err *err)
{
	bool is_named = bpk_ends_with(in->path, ".tar");

	*is_tar = false;
	if (in->format != NULL || in->place.is_directory || in->place.is_member ||
	    bpk_format_of_suffix(in->path) != NULL)
		return 0;
	if (bpk_tar_probe(in->place.source, is_named, is_tar, err) == 0 && (*is_tar || !is_named))
		return 0;
	if (err->kind == BPK_OK)
		bpk_fail(err, BPK_CORRUPT, "does not begin as a tar, as its name says it should");
	return bpk_input_subject(in, err);
}

/* Archives that were found so far, and failures, which were reported. */
static uint64_t found_so_far(const struct bpk_verify_args *args)
{
	const struct bpk_tally *tally = args->shared.tally;

	return tally->done + tally->failed + tally->damaged;
}

/* Verify the archives in a tar; in is closed. */
static void verify_tar(const struct bpk_verify_args *args, struct bpk_input *in, bool named)
{
	static const struct bpk_tar_visit visit = { verify_folder_in, verify_file_in };
	struct tar tar = { args, in->path };
	uint64_t before = found_so_far(args);
	struct bpk_err err = { 0 };
	struct bpk_source *source = in->place.source;

	in->place.source = NULL;
	bpk_input_close(in);
	if (bpk_tar_walk(source, &visit, &tar, &err) != 0) {
		bpk_tally_failed(&args->shared, &err);
		bpk_report(bpk_input_name(tar.path), &err);
		bpk_record_settle(&args->shared, tar.path);
	}
	if (named && found_so_far(args) == before)
		bpk_verify_fail_empty(args, bpk_input_name(tar.path));
}

/* ---- operands ---- */

static void verify_path(const struct bpk_verify_args *args, const char *path, bool named);

/* A parity file is verified with its archive. One that is gone fails as if it were named. */
static void pass_parity(const struct bpk_verify_args *args, const char *path)
{
	size_t size = strlen(path) - strlen(BPK_PARITY_SUFFIX);
	char *archive = bpk_strdup(path, NULL);
	struct stat found;
	bool there = true;

	if (archive != NULL)
		archive[size] = '\0';
	if (archive != NULL && bpk_path_look(archive, &found, &there, NULL) == 0 && !there)
		verify_path(args, archive, true);
	else
		args->shared.tally->skipped++;
	free(archive);
}

/* Open an operand. A list of --roots names archives: a FIFO in the place of one would wait. */
static int find(const struct bpk_verify_args *args, struct bpk_input *in, const char *path,
		struct bpk_err *err)
{
	struct stat found;

	if (args->roots == NULL || stat(path, &found) != 0 || !S_ISFIFO(found.st_mode))
		return bpk_input_find(in, path, &args->shared, err);
	*in = (struct bpk_input){ .path = path };
	bpk_fail(err, BPK_FAILED, "is a FIFO, expected an archive");
	return bpk_input_subject(in, err);
}

static void verify_path(const struct bpk_verify_args *args, const char *path, bool named)
{
	struct bpk_err err = { 0 };
	struct bpk_input in;
	bool is_tar = false;
	int rc;

	if (!named && bpk_side_is(path)) {
		pass_parity(args, path);
		return;
	}
	rc = find(args, &in, path, &err);
	if (rc == 0 && in.place.is_directory && in.format == NULL &&
	    bpk_format_of_suffix(path) == NULL && !bpk_side_has(path)) {
		bpk_fail(&err, BPK_FAILED, "%s",
			 bpk_dir_lists(in.place.directory)
				 ? "is a directory, expected an archive; -r walks it"
				 : "is a directory that cannot be listed, and no archive");
		rc = bpk_input_subject(&in, &err);
	}
	if (rc == 0)
		rc = probe_tar(&in, &is_tar, &err);
	if (is_tar)
		verify_tar(args, &in, named);
	else
		bpk_verify_input(args, &in, named, rc, &err);
}

/* A directory that is an archive. One that cannot be read is reported, since it should have
 * been. */
static void verify_dataset(const struct bpk_verify_args *args, struct bpk_input *in, int rc,
			   struct bpk_err *err)
{
	if (rc == 0)
		bpk_input_tell(in, &args->shared);
	if (args->shared.format != NULL) {
		in->format = args->shared.format;
		in->named = true;
	}
	bpk_verify_input(args, in, true, rc, err);
}

/* ---- files in turns ---- */

static bool takes(const char *path)
{
	(void)path;
	return true;
}

/* Files that are only looked at, to be passed over. */
static bool is_light(const char *path)
{
	return bpk_format_suffix(path) == NULL && !bpk_ends_with(path, ".gsd") &&
	       !bpk_ends_with(path, ".tar");
}

static const struct bpk_tree_kind kind = { takes, is_light, true };

/* A dataset that was found before. */
static void verify_found(const struct bpk_verify_args *args, const char *path)
{
	struct bpk_err err = { 0 };
	struct bpk_input in;
	int rc = bpk_input_look(&in, path, NULL, &err);

	verify_dataset(args, &in, rc, &err);
}

struct listed {
	struct bpk_verify_args *args;
	const struct bpk_files *files;
	uint64_t *starts; /* bpk_files_starts */
};

static const char *begin_listed(void *arg, size_t number)
{
	const struct listed *listed = arg;
	const struct bpk_file *file = &listed->files->all[number];

	bpk_files_go_to(listed->starts, number, listed->files->count);
	return file->is_dataset ? NULL : file->path;
}

static void end_listed(void *arg, size_t number)
{
	(void)arg;
	(void)number;
}

static void verify_listed(void *arg, size_t number)
{
	const struct listed *listed = arg;
	const struct bpk_file *file = &listed->files->all[number];

	if (file->is_found && file->is_dataset)
		verify_found(listed->args, file->path);
	else
		verify_path(listed->args, file->path, !file->is_found);
}

/* One of those that the ranks of a team share. */
static void verify_shared(void *arg, size_t number)
{
	begin_listed(arg, number);
	verify_listed(arg, number);
}

static void verify_files(struct bpk_verify_args *args, const struct bpk_files *files)
{
	struct listed listed = { args, files, bpk_files_starts(&args->shared, files) };
	const struct bpk_verify_turns turns = { files->count, begin_listed, end_listed,
						verify_listed, &listed };

	if (args->shared.state != NULL || args->max_time > 0)
		bpk_verify_rota_run(args, files, &turns);
	else if (files->count == 0 || !bpk_share_each(&args->shared, files, verify_shared, &listed))
		bpk_verify_take_turns(args, &turns);
	free(listed.starts);
}

/* ---- operands that are directories ---- */

static void visit_file(void *arg, const char *path, uint64_t size)
{
	(void)size;
	verify_path(arg, path, false);
}

static void visit_dataset(void *arg, struct bpk_input *in, int rc, struct bpk_err *err)
{
	verify_dataset(arg, in, rc, err);
}

/* Verify the archives below a folder of a store as they are met: to open them again costs
 * requests. */
static int verify_store(struct bpk_verify_args *args, const char *path, bool *walks,
			struct bpk_err *err)
{
	const struct bpk_tree_visit visit = { visit_dataset, visit_file, args };

	if (bpk_tree_is_directory(path, walks, err) != 0)
		return -1;
	if (*walks)
		return bpk_tree_walk(&args->shared, path, &visit, err);
	verify_path(args, path, true);
	return 0;
}

/* The same below a directory, small ones beside each other. */
static int verify_directory(struct bpk_verify_args *args, char *path, bool *walks,
			    struct bpk_err *err)
{
	struct bpk_files files = { 0 };
	int rc = bpk_files_gather(&args->shared, &kind, &path, 1, &files, err);

	if (rc == 0)
		verify_files(args, &files);
	*walks = files.count != 1 || files.all[0].is_found;
	bpk_files_clear(&files);
	return rc;
}

/* Verify an operand, a directory with all archives below it. */
static void verify_operand(struct bpk_verify_args *args, char *path)
{
	uint64_t before = found_so_far(args);
	struct bpk_err err = { 0 };
	bool walks = false;
	int rc = bpk_path_is_url(path) ? verify_store(args, path, &walks, &err)
				       : verify_directory(args, path, &walks, &err);

	if (rc != 0) {
		bpk_tally_failed(&args->shared, &err);
		bpk_report(NULL, &err);
		bpk_record_settle(&args->shared, path);
	} else if (walks && found_so_far(args) == before) {
		bpk_verify_fail_empty(args, path);
	}
}

/* The operands in a line on all of them. */
static const char *name_all(const struct bpk_verify_args *args)
{
	const struct bpk_tree_args *tree = &args->shared.tree;

	if (tree->share.count > 0)
		return "all shares";
	if (tree->files0_from != NULL)
		return bpk_input_name(tree->files0_from);
	return args->noperands == 1 ? args->operands[0] : "all operands";
}

/* Verify the operands as one list. */
static void verify_together(struct bpk_verify_args *args, const struct bpk_files *files)
{
	const struct bpk_tree_args *tree = &args->shared.tree;
	bool may_be_empty = !tree->recursive && tree->files0_from == NULL;
	bool is_judged = args->shared.state != NULL && args->noperands > 0; /* each directory */

	verify_files(args, files);
	if (!may_be_empty && !is_judged && files->nheavy == 0 && found_so_far(args) == 0)
		bpk_verify_fail_empty(args, name_all(args));
}

/* ---- all ---- */

/* "312 archives, 1.2 TiB, 0 damaged, 3 skipped" */
static void tell_sum(const struct bpk_verify_args *args)
{
	const struct bpk_tally *tally = args->shared.tally;
	char size[BPK_SIZE_TEXT], failed[48] = "";

	if (!args->shared.verbose || args->shared.json || !bpk_share_leads())
		return;
	if (tally->failed > 0)
		snprintf(failed, sizeof failed, ", %" PRIu64 " failed", tally->failed);
	printf("%" PRIu64 " archive%s, %s, %" PRIu64 " damaged, %" PRIu64 " skipped%s\n",
	       tally->done, tally->done == 1 ? "" : "s", bpk_size_text(tally->packed_size, size),
	       tally->damaged, tally->skipped, failed);
	bpk_flush_results();
}

static void check_count(const struct bpk_verify_args *args)
{
	uint64_t found = args->nknown != BPK_UNKNOWN ? args->nknown : args->shared.tally->done;
	struct bpk_err err = { 0 };

	if (found >= args->at_least)
		return;
	bpk_fail(&err, BPK_FAILED, "%" PRIu64 " archive%s found, --at-least asks for %" PRIu64,
		 found, found == 1 ? " was" : "s were", args->at_least);
	bpk_report(NULL, &err);
}

static int run(struct bpk_verify_args *args, char **named, size_t count, struct bpk_err *err)
{
	const struct bpk_tree_args *tree = &args->shared.tree;
	struct bpk_files files = { 0 };
	bool together = !tree->recursive || tree->share.count > 0 || bpk_share_is_asked() ||
			args->shared.state != NULL || args->max_time > 0 || args->since > 0;
	int rc;

	if (bpk_verify_rota_check(args, err) != 0)
		return -1;
	rc = together ? bpk_files_gather(&args->shared, &kind, named, count, &files, err)
		      : bpk_files_name(&args->shared, named, count, &files, err);
	if (rc == 0 && args->since > 0)
		bpk_verify_since(args, &files);
	if (rc == 0 && together)
		verify_together(args, &files);
	for (size_t i = 0; rc == 0 && !together && i < files.count; i++)
		verify_operand(args, files.all[i].path);
	bpk_files_clear(&files);
	return rc;
}

/* The list of --roots stands for the operands. */
static int take_roots(struct bpk_verify_args *args, struct bpk_verify_anchors *anchors,
		      struct bpk_err *err)
{
	const struct bpk_tree_args *tree = &args->shared.tree;

	if (args->noperands > 0 || tree->recursive || tree->files0_from != NULL)
		return bpk_fail(err, BPK_USAGE, "--roots names the archives, and takes no other");
	if (bpk_verify_anchors_read(anchors, args->roots, err) != 0)
		return -1;
	args->anchors = anchors;
	args->operands = anchors->paths;
	args->noperands = anchors->count;
	return 0;
}

void bpk_verify_all(struct bpk_verify_args *args, char **named, size_t count)
{
	struct bpk_tally tally = { 0 };
	bool has_list = args->manifest != NULL && bpk_share_leads();
	struct bpk_verify_anchors anchors = { 0 };
	struct bpk_buf list = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_pace pace;

	args->shared.tally = &tally;
	bpk_pace_init(&pace, bpk_max_u64(args->limit_rate, 1));
	args->shared.pace = args->limit_rate > 0 ? &pace : NULL;
	args->operands = named;
	args->noperands = count;
	/* whether they can be read is known before the work */
	if ((args->roots != NULL && take_roots(args, &anchors, &err) != 0) ||
	    (has_list && bpk_verify_read_list(args->manifest, &list, &err) != 0) ||
	    run(args, args->operands, args->noperands, &err) != 0)
		bpk_report(err.kind == BPK_USAGE ? "verify" : NULL, &err);
	else if (has_list)
		bpk_verify_manifest(args, &list);
	bpk_buf_clear(&list);
	bpk_verify_anchors_clear(&anchors);
	if (bpk_transfer_is_listed(&args->shared))
		tell_sum(args);
	check_count(args);
	bpk_pace_clear(&pace);
}
