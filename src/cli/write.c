/* bpk write: a range of an archive's raw bytes, overwritten. Called by main through the table of
 * commands. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/edit.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/text.h"

struct write_args {
	struct bpk_args common;
	struct bpk_opt_offset at;
};

static const struct bpk_opt opt_at = {
	.name = "at",
	BPK_OPT_VALUE(OPT_OFFSET, struct write_args, at),
	.metavar = "BYTE",
	.help = "the first raw byte that is overwritten",
	.more = "BYTE takes the suffixes K, M, G and T; a negative number counts from the end.",
};

static const struct bpk_opt *const rows[] = {
	&opt_at,        &bpk_opt_format_read, &bpk_opt_digits, &bpk_opt_level_of_archive,
	&bpk_opt_slack, BPK_OPTS_CHANGE,      BPK_OPTS_RUN,    NULL,
};

static const struct write_args defaults = { .common = BPK_ARGS_DEFAULTS };

static void tell_result(const struct bpk_edited *edited, uint64_t at, uint64_t written)
{
	const struct bpk_shared *shared = &edited->args->shared;
	const struct bpk_archive *archive = &edited->archive;

	if (shared->verbose)
		bpk_note(archive->path, "%" PRIu64 " bytes written at %" PRIu64 ", %s", written, at,
			 bpk_edited_how(edited, "rewritten, since chunks outgrew their places"));
	if (!shared->json)
		return;
	bpk_record_begin("write", archive->path);
	bpk_record_u64("at", at);
	bpk_record_u64("written", written);
	bpk_record_bool("rewritten", archive->rewritten);
	bpk_record_end();
}

static int write_into(struct bpk_edited *edited, const struct write_args *args,
		      struct bpk_source *source, const char *name, struct bpk_err *err)
{
	struct bpk_archive *archive = &edited->archive;
	struct bpk_overwrite change = {
		.source = source,
		.name = name,
		.slack = args->common.encoding.slack,
	};
	uint64_t written;

	if (bpk_archive_is_not(archive, bpk_source_stat(source), name, err) != 0 ||
	    bpk_edited_resolve(edited, &args->at, 1, &change.at, err) != 0 ||
	    bpk_archive_overwrite(archive, &change, &written, err) != 0)
		return -1;
	if (bpk_source_unchanged(source, err) != 0)
		return bpk_err_subject(err, "%s", bpk_input_name(name));
	if (written > 0 && bpk_archive_commit(archive, err) != 0)
		return -1;
	tell_result(edited, change.at, written);
	return 0;
}

static int open_input(const char *name, struct bpk_source **source, struct bpk_err *err)
{
	if (strcmp(name, "-") == 0 && isatty(STDIN_FILENO))
		return bpk_fail(err, BPK_USAGE, "standard input is a terminal, name a FILE");
	if (bpk_source_open(name, source, err) != 0)
		return bpk_err_subject(err, "%s", bpk_input_name(name));
	return 0;
}

static void run_write(void *arg, char **operands, size_t count)
{
	const struct write_args *args = arg;
	const char *name = count > 1 ? operands[1] : "-";
	struct bpk_edited edited = { 0 };
	struct bpk_source *source = NULL;
	struct bpk_err err = { 0 };

	if (count < 1 || count > 2 || !args->at.given) {
		bpk_fail(&err, BPK_USAGE, "needs %s",
			 count < 1   ? "an ARCHIVE"
			 : count > 2 ? "one FILE at most"
				     : "--at BYTE");
		bpk_report("write", &err);
	}
	if (open_input(name, &source, &err) != 0 ||
	    bpk_edited_open(&edited, &args->common, operands[0], false, &err) != 0 ||
	    write_into(&edited, args, source, name, &err) != 0)
		bpk_edited_report(operands[0], &err);
	bpk_record_settle(&args->common.shared, operands[0]);
	bpk_edited_close(&edited);
	bpk_source_close(source);
}

const struct bpk_command bpk_command_write = {
	.name = "write",
	.synopsis = "[OPTION]... --at BYTE ARCHIVE [FILE]",
	.summary = "overwrite a range of an archive's raw bytes",
	.description =
		"Overwrites the raw bytes of ARCHIVE from BYTE on with FILE, or standard input. "
		"The range must lie inside the archive. Only the chunks that it touches are "
		"recompressed, with their old settings, and changed in place if they fit.",
	.operands = OPERANDS_ARCHIVE_FIRST,
	.options = rows,
	.args_size = sizeof(struct write_args),
	.defaults = &defaults,
	.run = run_write,
};
