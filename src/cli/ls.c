/* bpk ls: the arrays of files and archives, and the members of tars. Called by main through the
 * table of commands. */
#include "cli/ls.h"

#include <stdio.h>

#include "cli/describe.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/text.h"

static const struct bpk_opt opt_long = {
	.letter = 'l',
	.name = "long",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_ls_args, details),
	.help = "print sizes and ratios, too, and titles above the columns",
	.more = "The packed size of an array is its share of the chunks that hold it, whose "
		"headers are read for this. It is unknown for arrays that are not packed.",
};

static const struct bpk_opt opt_null = {
	.letter = '0',
	.name = "null",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_ls_args, only_names),
	.help = "print the names alone, as they are, each ended by a NUL byte",
	.more = "This is for scripts: no name can be taken for two, or for a part of the line. "
		"Nothing is printed for an archive of data without names. It cannot be joined with "
		"--long or --json.",
};

static const struct bpk_opt *const rows[] = {
	&opt_long,
	&opt_null,
	&bpk_opt_format_read,
	BPK_OPTS_REMOTE,
	&bpk_opt_memory_limit,
	&bpk_opt_json,
	&bpk_opt_help,
	NULL,
};

/* The chunks of arrays are described as stored. */
static const struct bpk_ls_args defaults = { .shared = { .as_stored = true, .outline = true } };

struct listing {
	const struct bpk_ls_args *args;
	bool headed; /* by the name of the file, since there are several */
	bool began;
};

/* ---- one input ---- */

/* True if the content is a tar. */
static int find_tar(const struct bpk_content *content, bool *is_tar, struct bpk_err *err)
{
	bool is_named =
		content->in->format == &bpk_format_raw && bpk_ends_with(content->in->path, ".tar");

	*is_tar = false;
	if (content->view == NULL || content->layout != NULL)
		return 0;
	return bpk_tar_probe(content->view, is_named, is_tar, err);
}

static int record_input(const struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_info *info = in->info;

	bpk_record_text("format", info->format);
	bpk_record_text("variant", info->variant);
	bpk_record_u64("packed_size", info->stored_size);
	bpk_record_u64("raw_size", bpk_describe_raw_size(info));
	bpk_record_u64("typesize", info->chunks.typesize > 0 ? info->chunks.typesize : BPK_UNKNOWN);
	if (info->array.type != NULL)
		return bpk_content_record_array(info->array.type, err);
	bpk_record_text("dtype", NULL);
	bpk_record_text("shape", NULL);
	bpk_record_text("order", NULL);
	return 0;
}

static int print_rows(const struct bpk_ls_args *args, const struct bpk_content *content,
		      bool is_tar, struct bpk_err *err)
{
	int rc;

	if (is_tar)
		rc = bpk_ls_members(args, content->view, err);
	else if (content->layout != NULL)
		return bpk_ls_arrays(args, content, err);
	else
		rc = bpk_ls_data(args, content->in, err);
	return rc == 0 ? 0 : bpk_input_subject(content->in, err);
}

static int print_input(struct listing *listing, const struct bpk_content *content, bool is_tar,
		       struct bpk_err *err)
{
	const struct bpk_input *in = content->in;
	struct bpk_err name = { 0 };
	int rc = 0;

	if (listing->args->shared.json) {
		bpk_record_begin("ls", in->path);
		rc = record_input(in, err);
	} else if (listing->headed) {
		printf("%s%s:\n", listing->began ? "\n" : "",
		       bpk_printable(bpk_input_name(in->path), &name));
	}
	listing->began = true;
	if (rc == 0)
		rc = print_rows(listing->args, content, is_tar, err);
	if (listing->args->shared.json)
		bpk_record_end();
	bpk_flush_results(); /* print the list before an error */
	return rc;
}

/* Damage behind the arrays that are listed, and members that are not. */
static void note_missing(const struct bpk_content *content)
{
	bpk_content_note_damage(content);
	if (content->layout != NULL && bpk_layout_info(content->layout)->left_out != NULL)
		bpk_note(bpk_input_name(content->in->path), "%s",
			 bpk_layout_info(content->layout)->left_out);
}

static int list_content(struct listing *listing, const struct bpk_content *content,
			struct bpk_err *err)
{
	bool is_tar;

	if (find_tar(content, &is_tar, err) != 0)
		return bpk_input_subject(content->in, err);
	if (content->in->format == &bpk_format_raw && content->layout == NULL && !is_tar)
		return bpk_input_fail_unknown(content->in, err);
	if (print_input(listing, content, is_tar, err) != 0)
		return -1;
	note_missing(content);
	return 0;
}

static int list_input(struct listing *listing, struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_content content = { 0 };
	int rc = 0;

	if (in->info->members == BPK_UNKNOWN && bpk_input_can_locate(in))
		rc = bpk_input_complete(in, err);
	if (rc == 0)
		rc = bpk_content_look(in, &listing->args->shared, &content, err);
	if (rc != 0)
		return -1;
	rc = bpk_content_unchanged(&content, list_content(listing, &content, err), err);
	bpk_content_close(&content);
	if (rc == 0)
		rc = bpk_input_tail(in, err);
	return rc == 0 && in->format != &bpk_format_raw ? bpk_input_check_end(in, err) : rc;
}

static void ls_one(void *arg, const char *path)
{
	struct listing *listing = arg;
	struct bpk_input in = { 0 };
	struct bpk_err err = { 0 };
	int rc = bpk_input_open_any(&in, path, &listing->args->shared, &err);

	if (rc == 0)
		rc = list_input(listing, &in, &err);
	if (rc == 0)
		rc = bpk_input_unchanged(&in, &err);
	else {
		bpk_input_judge(&in, &err);
		bpk_side_advise(&in, &err);
	}
	if (rc != 0)
		bpk_report(NULL, &err);
	bpk_record_settle(&listing->args->shared, path);
	bpk_input_close(&in);
}

static int check_args(const struct bpk_ls_args *args, struct bpk_err *err)
{
	if (args->only_names && (args->details || args->shared.json))
		return bpk_fail(err, BPK_USAGE, "--null prints names alone, so not with %s",
				args->details ? "--long" : "--json");
	return 0;
}

static void run_ls(void *args, char **operands, size_t count)
{
	const struct bpk_ls_args *given = args;
	struct listing listing = { .args = given, .headed = count > 1 && !given->only_names };
	struct bpk_err err = { 0 };

	if (check_args(given, &err) != 0) {
		bpk_report(NULL, &err);
		return;
	}
	bpk_input_each(operands, count, ls_one, &listing);
}

const struct bpk_command bpk_command_ls = {
	.name = "ls",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "list the arrays in a file or archive, or the members of a tar",
	.description =
		"Prints a line for each array: name, number of frames, type, shape and the range "
		"of steps; or for each member of a tar its name. FILE is an archive, or a "
		"simulation file or a tar, packed or not.",
	.operands = OPERANDS_CONTENT,
	.reads = true,
	.options = rows,
	.args_size = sizeof(struct bpk_ls_args),
	.defaults = &defaults,
	.run = run_ls,
};
