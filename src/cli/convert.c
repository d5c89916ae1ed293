/* bpk convert and convert-to-chunked: the command line. convert_work.c does the work. Called by
 * main through the table of commands. */
#include "cli/convert.h"

#include "cli/record.h"
#include "cli/report.h"
#include "cli/share.h"
#include "cli/side.h"
#include "cli/text.h"

struct convert_args {
	struct bpk_args common;
	bool retune, seal, identity;
};

static const struct bpk_opt opt_format = {
	.letter = 'F',
	.name = "format",
	BPK_OPT_VALUE(OPT_FORMAT_WRITE, struct bpk_shared, format),
	.metavar = "NAME",
	.help = "write format NAME",
	.more = "By default the suffix of DST decides; standard output gets blp.",
};

static const struct bpk_opt opt_retune = {
	.name = "retune",
	BPK_OPT_VALUE(OPT_FLAG, struct convert_args, retune),
	.help = "choose the packing again, as pack does",
	.more = "Codec, level, filters, element and chunk size are chosen by trial where no option "
		"sets them; container, metadata, type and shape stay. Without DST and --output the "
		"result replaces SRC, a file.",
};

static const struct bpk_opt opt_seal = {
	.name = "seal",
	BPK_OPT_VALUE(OPT_FLAG, struct convert_args, seal),
	.help = "record a digest over the whole archive, as pack --seal does",
	.more = "Chunks are still copied; their checksums become sha256, unless they are of SHA-2 "
		"or none, or --checksum names others. Without this option the result of a sealed "
		"SRC has no seal.",
};

static const struct bpk_opt opt_identity = {
	.name = "identity",
	BPK_OPT_VALUE(OPT_FLAG, struct convert_args, identity),
	.help = "record the tree that bpk sum --tree finds, as pack --identity does",
	.more = "SRC, which must be a file, is unpacked once more for that, unless it records "
		"the tree already: that is kept without this option, too.",
};

/* All but the first two are those of convert-to-chunked. */
static const struct bpk_opt *const rows[] = {
	&opt_format,
	&opt_retune,
	&bpk_opt_digits,
	&bpk_opt_level_of_archive,
	&bpk_opt_codec_of_archive,
	&bpk_opt_filter,
	&bpk_opt_lossy,
	&bpk_opt_dictionary,
	&bpk_opt_typesize,
	&bpk_opt_chunk_size,
	&bpk_opt_block_size,
	&bpk_opt_slack,
	&bpk_opt_checksum,
	&opt_seal,
	&opt_identity,
	&bpk_opt_no_offsets,
	&bpk_opt_append_space,
	&bpk_opt_layout,
	&bpk_opt_superchunk_size,
	&bpk_opt_chunk_shape,
	&bpk_opt_block_shape,
	&bpk_opt_no_marker,
	&bpk_opt_max_output,
	&bpk_opt_output,
	&bpk_opt_force,
	&bpk_opt_no_sync,
	BPK_OPTS_REMOTE,
	BPK_OPTS_RUN,
	NULL,
};

static const struct convert_args defaults = { .common = BPK_ARGS_DEFAULTS };

/* ---- usage ---- */

/* The format of the target's suffix, or for standard output the first in the table. */
static const struct bpk_format *format_of(const char *target)
{
	return strcmp(target, "-") == 0 ? bpk_formats[0] : bpk_format_of_suffix(target);
}

/* Two archives after --retune are hardly source and target. */
static int check_retune(const struct bpk_convert *c, char **operands, size_t count,
			struct bpk_err *err)
{
	const struct bpk_format *named = c->in_place ? bpk_format_of_suffix(operands[0]) : NULL;
	struct stat found;
	bool there = false;

	if (count == 2 && !bpk_path_is_url(operands[1]) && strcmp(operands[1], "-") != 0 &&
	    bpk_path_look(operands[1], &found, &there, err) != 0)
		return -1;
	if (count > 2 || there)
		return bpk_fail(err, BPK_USAGE,
				"--retune takes one archive at a time, in place or to a new DST "
				"(--output replaces an old one)");
	if (named != NULL && c->format != NULL && c->format != named)
		return bpk_fail(err, BPK_USAGE,
				"--format %s does not fit the name %s in place; name a DST",
				c->format->name, operands[0]);
	return 0;
}

static int check_usage(const struct bpk_convert *c, char **operands, size_t count,
		       struct bpk_err *err)
{
	const char *output = c->args->shared.output, *target = c->shared.output;

	if (count == 2 && output != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of DST and --output can be given");
	if (c->retune && output == NULL && check_retune(c, operands, count, err) != 0)
		return -1;
	if (count == 0 || count > 2 || target == NULL)
		return bpk_fail(err, BPK_USAGE, "expected a source and a target, %zu %s given",
				count, bpk_plural(count, "was", "were"));
	if (c->in_place && strcmp(target, "-") == 0)
		return bpk_fail(err, BPK_USAGE, "standard input cannot be replaced; name a DST");
	if (c->identity && bpk_program->team != NULL)
		return bpk_fail(err, BPK_USAGE, "--identity is bpk's alone, not bpk-mpi's");
	if (c->format == NULL ? !c->retune : c->format->writer == NULL)
		return bpk_output_fail_suffix(target, err);
	if (c->format != NULL && c->format->is_directory && strcmp(target, "-") == 0)
		return bpk_fail(err, BPK_USAGE,
				"format %s is a directory, which cannot go to standard output",
				c->format->name);
	if (c->format != NULL && bpk_encoding_check(&c->args->encoding, c->format, err) != 0)
		return -1;
	return bpk_transfer_check(&c->shared, operands, 1, err);
}

static void convert_one(void *arg, size_t number)
{
	struct bpk_convert *c = arg;
	struct bpk_err err = { 0 };

	(void)number;
	if (bpk_convert_run(c, c->path, &err) == 0)
		return;
	bpk_input_judge(&c->in, &err);
	bpk_side_advise(&c->in, &err);
	bpk_report(NULL, &err);
}

/* Name the target, which is the second operand, --output, or with --retune the source itself; and
 * its format, if the source's does not stay. */
static void name_target(struct bpk_convert *c, char **operands, size_t count)
{
	c->in_place = count == 1 && c->retune && c->shared.output == NULL;
	if (count == 2)
		c->shared.output = operands[1];
	else if (c->in_place)
		c->shared.output = operands[0];
	c->shared.force = c->shared.force || c->in_place;
	if (c->format != NULL || c->shared.output == NULL || c->in_place)
		return;
	if (!c->retune || strcmp(c->shared.output, "-") != 0)
		c->format = format_of(c->shared.output);
}

/* Convert operands[0] to operands[1] in format (NULL: by the suffix of operands[1]), for
 * command. */
static void run(const char *command, const struct convert_args *args,
		const struct bpk_format *format, char **operands, size_t count)
{
	struct bpk_convert c = { .command = command,
				 .args = &args->common,
				 .shared = args->common.shared,
				 .format = format,
				 .retune = args->retune,
				 .seal = args->seal,
				 .identity = args->identity };
	struct bpk_file file = { .path = operands[0] };
	const struct bpk_files files = { .all = &file, .count = 1 };
	struct bpk_err err = { 0 };

	c.shared.format = NULL;
	name_target(&c, operands, count);
	if (check_usage(&c, operands, count, &err) != 0)
		bpk_report(command, &err);
	c.path = operands[0];
	c.transfer = (struct bpk_transfer){
		.shared = &c.shared, .in = &c.in, .format = c.format, .in_place = c.in_place
	};
	if (!bpk_share_each(&c.shared, &files, convert_one, &c))
		convert_one(&c, 0);
	bpk_record_settle(&c.shared, c.path);
	bpk_transfer_clear(&c.transfer);
	bpk_buf_clear(&c.packing.choice.why);
	bpk_ident_less_clear(&c.less);
	bpk_input_close(&c.content);
	bpk_input_close(&c.in);
}

static void run_convert(void *arg, char **operands, size_t count)
{
	const struct convert_args *args = arg;

	run("convert", args, args->common.shared.format, operands, count);
}

static void run_convert_to_chunked(void *arg, char **operands, size_t count)
{
	const struct convert_args *args = arg;

	run("convert-to-chunked", args, bpk_format_find("chunked"), operands, count);
}

const struct bpk_command bpk_command_convert_to_chunked = {
	.name = "convert-to-chunked",
	.synopsis = "[OPTION]... SRC DIR",
	.summary = "convert an archive to a chunked directory",
	.description =
		"Reads the archive SRC and writes the chunked directory DIR: bpk convert with "
		"--format chunked. Chunks are copied unchanged if the formats and options allow "
		"it; -v prints the reason if they are not. SRC is kept.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows + 2,
	.args_size = sizeof(struct convert_args),
	.defaults = &defaults,
	.run = run_convert_to_chunked,
};

const struct bpk_command bpk_command_convert = {
	.name = "convert",
	.synopsis = "[OPTION]... SRC [DST]",
	.summary = "convert an archive to another format, or recompress it",
	.description =
		"Reads the archive SRC and writes DST, in the format that -F or the suffix of DST "
		"names. Chunks are copied unchanged if the formats and options allow it; -v "
		"prints the reason if they are not. Metadata, element type and shape are kept. "
		"SRC is kept.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows,
	.args_size = sizeof(struct convert_args),
	.defaults = &defaults,
	.run = run_convert,
};
