/* bpk verify: check every byte of archives. Called by main through the table of commands. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"
#include "layout/layout.h"

struct verify_args {
	struct bpk_shared shared;
	bool quick;
	bool recursive;
};

static const struct bpk_opt opt_quick = {
	.name = "quick",
	BPK_OPT_VALUE(OPT_FLAG, struct verify_args, quick),
	.help = "test structure and checksums, but do not unpack",
};

static const struct bpk_opt opt_recursive = {
	.letter = 'r',
	.name = "recursive",
	BPK_OPT_VALUE(OPT_FLAG, struct verify_args, recursive),
	.help = "verify all archives below the directories named",
	.more = "A chunked directory is one archive. Symbolic links, devices and FIFOs are passed "
		"over, and so are other files, unless they have the name of an archive or a GSD "
		"file.",
};

static const struct bpk_opt *const rows[] = {
	&opt_quick,
	&opt_recursive,
	&bpk_opt_format_read,
	&bpk_opt_no_marker,
	BPK_OPTS_REMOTE,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&bpk_opt_quiet,
	&bpk_opt_verbose,
	&bpk_opt_progress,
	&bpk_opt_json,
	&bpk_opt_help,
	NULL,
};

/* The padding of arrays in chunks of several dimensions is tested, too. */
static const struct verify_args defaults = { .shared = { .judges = true, .as_stored = true } };

/* ---- the work ---- */

/* Remarks of one audit, as lines. */
struct remarks {
	struct bpk_buf lines;
	const struct bpk_input *in;
	const struct bpk_shared *shared;
};

/* A verdict is a result: it goes to standard output, unless that carries JSON. */
static void say(const struct bpk_input *in, const char *line)
{
	struct bpk_err shown = { 0 };

	bpk_fail(&shown, BPK_OK, "%s", line);
	bpk_input_subject(in, &shown);
	puts(shown.text);
	bpk_flush_results();
}

static void say_well(const struct bpk_input *in)
{
	char line[320] = "ok";

	if (in->info->unprotected != NULL)
		snprintf(line, sizeof line, "ok; no checksum protects %s", in->info->unprotected);
	say(in, line);
}

static void note_remark(void *arg, const char *line)
{
	struct remarks *remarks = arg;
	struct bpk_err err = { 0 };

	if (remarks->shared->verbose && !remarks->shared->json)
		say(remarks->in, line);
	if (remarks->shared->json &&
	    bpk_buf_append(&remarks->lines, bpk_view(line, strlen(line) + 1), &err) != 0)
		bpk_report(NULL, &err);
}

static int verify_chunks(const struct verify_args *args, struct bpk_transfer *transfer,
			 struct bpk_err *err)
{
	struct bpk_flow flow = {
		.plan = bpk_plan_all(transfer->in->info),
		.check = true,
		.decode = !args->quick,
	};

	return bpk_transfer_run(transfer, &flow, err);
}

static const char *word_for(const struct bpk_err *err)
{
	switch (err->kind) {
	case BPK_OK:
		return "ok";
	case BPK_CORRUPT:
		return "damaged";
	case BPK_REPAIRABLE:
		return "repairable";
	default:
		return "failed";
	}
}

/* The line without the path in front, which the record has of its own. */
static const char *without_path(const struct bpk_input *in, const char *text)
{
	struct bpk_err subject = { 0 };
	size_t size;

	bpk_input_subject(in, &subject);
	size = strlen(subject.text);
	return strncmp(text, subject.text, size) == 0 ? text + size : text;
}

static void begin_record(const struct bpk_input *in, const struct bpk_err *err)
{
	bpk_record_begin("verify", in->path);
	bpk_record_text("status", word_for(err));
	bpk_record_text("error", err->kind == BPK_OK ? NULL : without_path(in, err->text));
}

static void end_record(const struct remarks *remarks)
{
	const struct bpk_buf *lines = &remarks->lines;

	bpk_record_list_begin("remarks");
	for (size_t at = 0; at < lines->size; at += strlen((const char *)lines->data + at) + 1)
		bpk_record_list_text((const char *)lines->data + at);
	bpk_record_list_end();
	bpk_record_end();
}

static void print_record(const struct bpk_transfer *transfer, const struct remarks *remarks,
			 const struct bpk_err *err)
{
	const struct bpk_info *info = transfer->in->info;
	bool whole = info != NULL && err->kind == BPK_OK;

	begin_record(transfer->in, err);
	bpk_record_text("format", info != NULL ? info->format : NULL);
	bpk_record_text("checksum", info != NULL ? info->chunks.checksum->name : NULL);
	bpk_record_u64("stored_size", info != NULL ? info->stored_size : BPK_UNKNOWN);
	/* threads go on behind damage for a while, so these would depend on timing */
	bpk_record_u64("raw_size", whole ? transfer->result.raw_size : BPK_UNKNOWN);
	bpk_record_u64("nchunks", whole ? transfer->result.nchunks : BPK_UNKNOWN);
	bpk_record_text("unprotected", info != NULL ? info->unprotected : NULL);
	end_record(remarks);
}

/* The committed state, which was read, is intact. */
static int fail_pending(const struct bpk_input *in, struct bpk_err *err)
{
	bpk_fail(err, BPK_REPAIRABLE,
		 "a change was interrupted and is pending; bpk repair --in-place, or the next "
		 "append, write, truncate or meta, settles it");
	return bpk_input_subject(in, err);
}

static int verify_found(const struct verify_args *args, struct bpk_transfer *transfer,
			struct remarks *remarks, struct bpk_err *err)
{
	if (bpk_input_start(transfer->in, &args->shared, args->shared.chunk_limit, err) != 0 ||
	    verify_chunks(args, transfer, err) != 0)
		return -1;
	if (bpk_input_audit(transfer->in, note_remark, remarks, err) != 0)
		return -1;
	if (bpk_input_unchanged(transfer->in, err) != 0)
		return -1;
	return transfer->in->info->pending ? fail_pending(transfer->in, err) : 0;
}

/* ---- GSD files, which are not archives ---- */

static int probe_gsd(const struct bpk_input *in, bool *is_gsd, struct bpk_err *err)
{
	*is_gsd = false;
	if (in->format != NULL || in->place.is_directory ||
	    !bpk_source_seekable(in->place.source) || bpk_format_of_suffix(in->path) != NULL)
		return 0;
	if (bpk_gsd_probe(in->place.source, is_gsd, err) != 0)
		return bpk_input_subject(in, err);
	return 0;
}

/* Fail if a file that is named .gsd has neither a GSD file nor an archive in it. */
static int check_gsd_name(const struct bpk_input *in, bool is_gsd, struct bpk_err *err)
{
	if (is_gsd || in->format != NULL || in->place.is_directory ||
	    !bpk_ends_with(in->path, ".gsd"))
		return 0;
	bpk_fail(err, BPK_CORRUPT, "does not begin as a GSD file, as its name says it should");
	return bpk_input_subject(in, err);
}

static void verify_gsd(const struct verify_args *args, struct bpk_input *in)
{
	const struct bpk_shared *shared = &args->shared;
	struct remarks remarks = { .in = in, .shared = shared };
	struct bpk_gsd_verdict verdict = { 0 };
	struct bpk_err err = { 0 }, changed = { 0 };

	if (bpk_gsd_verify(in->place.source, note_remark, &remarks, &verdict, &err) != 0) {
		if (err.kind == BPK_CORRUPT &&
		    bpk_source_unchanged(in->place.source, &changed) != 0)
			err = changed;
		bpk_input_subject(in, &err);
	}
	if (err.kind == BPK_OK && shared->verbose && !shared->json)
		say(in, "ok; no checksum protects a GSD file");
	if (shared->json) {
		begin_record(in, &err);
		bpk_record_text("format", "gsd");
		bpk_record_u64("stored_size", bpk_source_size(in->place.source));
		bpk_record_u64("nframes", verdict.nframes);
		bpk_record_u64("narrays", verdict.narrays);
		bpk_record_u64("sound_frames", verdict.sound_frames);
		end_record(&remarks);
	}
	if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
	bpk_buf_clear(&remarks.lines);
}

/* ---- Operands ---- */

/* Verify the input of bpk_input_find, or report why it failed, with rc and err. in is closed. ours:
 * it must be an archive, because the user gave this very path or its name says so. */
static void verify_input(const struct verify_args *args, struct bpk_input *in, bool ours, int rc,
			 struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_transfer transfer = { .shared = shared, .in = in };
	struct remarks remarks = { .in = in, .shared = shared };
	bool is_gsd = false;

	if (rc == 0)
		rc = probe_gsd(in, &is_gsd, err);
	if (rc == 0)
		rc = check_gsd_name(in, is_gsd, err);
	ours = ours || rc != 0 || in->format != NULL || bpk_format_of_suffix(in->path) != NULL;
	if (rc == 0 && is_gsd) {
		verify_gsd(args, in);
		bpk_input_close(in);
		return;
	}
	if (rc == 0 && ours)
		rc = verify_found(args, &transfer, &remarks, err);
	if (rc == 0 && ours && shared->verbose && !shared->json)
		say_well(in);
	if (ours && shared->json)
		print_record(&transfer, &remarks, err);
	if (rc != 0)
		bpk_report(NULL, err);
	bpk_buf_clear(&remarks.lines);
	bpk_transfer_clear(&transfer);
	bpk_input_close(in);
}

static void verify_path(const struct verify_args *args, const char *path, bool named)
{
	struct bpk_err err = { 0 };
	struct bpk_input in;
	int rc = bpk_input_find(&in, path, &args->shared, &err);

	if (rc == 0 && in.place.is_directory && in.format == NULL &&
	    bpk_format_of_suffix(path) == NULL) {
		bpk_fail(&err, BPK_FAILED, "%s",
			 bpk_dir_lists(in.place.directory)
				 ? "is a directory, expected an archive; -r walks it"
				 : "is a directory that cannot be listed, and no archive");
		rc = bpk_input_subject(&in, &err);
	}
	verify_input(args, &in, named, rc, &err);
}

static int verify_walked(void *arg, const char *path, uint64_t size)
{
	(void)size;
	verify_path(arg, path, false);
	return 0;
}

/* A dataset is one archive, and the walk does not enter it; returns true for any other folder. A
 * folder that cannot be read is reported, since it should have been. */
static bool verify_folder(void *arg, const char *path)
{
	const struct verify_args *args = arg;
	const struct bpk_format *promised = bpk_format_of_suffix(path);
	struct bpk_err err = { 0 };
	struct bpk_input in;
	int rc = bpk_input_look(&in, path, NULL, &err);

	if (rc == 0 && in.format == NULL && (promised == NULL || !promised->is_directory)) {
		bpk_input_close(&in);
		return true;
	}
	if (rc == 0)
		bpk_input_tell(&in, &args->shared);
	if (args->shared.format != NULL) {
		in.format = args->shared.format;
		in.named = true;
	}
	verify_input(args, &in, true, rc, &err);
	return false;
}

static void report_met(void *arg, const struct bpk_err *err)
{
	(void)arg;
	bpk_report(NULL, err);
}

/* *folder: the path to walk, for free(), if it is a store's folder without a slash behind. */
static int is_url_of_directory(const char *path, bool *directory, char **folder,
			       struct bpk_err *err)
{
	*directory = bpk_remote_is_folder(path);
	if (!*directory && bpk_remote_has_folder(path, directory, err) != 0)
		return -1;
	if (*directory && path[strlen(path) - 1] != '/' && asprintf(folder, "%s/", path) < 0) {
		*folder = NULL;
		return bpk_fail_memory(err, strlen(path));
	}
	return 0;
}

static int is_directory(const char *path, bool *directory, char **folder, struct bpk_err *err)
{
	struct stat found;
	bool there;

	*directory = false;
	if (strcmp(path, "-") == 0)
		return 0;
	if (bpk_path_is_url(path))
		return is_url_of_directory(path, directory, folder, err);
	if (bpk_path_look(path, &found, &there, err) != 0)
		return -1;
	*directory = there && S_ISDIR(found.st_mode);
	return 0;
}

static void verify_operand(void *arg, const char *path)
{
	const struct verify_args *args = arg;
	struct bpk_err err = { 0 };
	char *folder = NULL;
	bool walks = false;
	int rc = args->recursive ? is_directory(path, &walks, &folder, &err) : 0;

	if (rc == 0 && !walks) {
		verify_path(args, path, true);
		return;
	}
	if (rc == 0)
		rc = bpk_walk(folder != NULL ? folder : path, verify_folder, verify_walked,
			      report_met, arg, &err);
	if (rc < 0) {
		bpk_err_subject(&err, "%s", path);
		bpk_report(NULL, &err);
	}
	free(folder);
}

static void run_verify(void *args, char **operands, size_t count)
{
	bpk_input_each(operands, count, verify_operand, args);
}

const struct bpk_command bpk_command_verify = {
	.name = "verify",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "prove that archives are whole",
	.description =
		"Accounts for every byte of each FILE, tests every checksum and unpacks every "
		"chunk. Writes nothing, and prints nothing when all is well; -v prints a line, "
		"with the fields that no checksum protects. Goes on after a damaged file. Of raw "
		"GSD files it tests every entry of their tables.",
	.operands = OPERANDS_TREES,
	.options = rows,
	.args_size = sizeof(struct verify_args),
	.defaults = &defaults,
	.run = run_verify,
};
