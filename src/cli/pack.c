/* bpk pack: raw files in, archives out. Called by main through the table of commands. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/metadata.h"
#include "cli/pack.h"
#include "cli/report.h"
#include "cli/side.h"

static const struct bpk_opt opt_dtype = {
	.name = "dtype",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_pack_args, dtype),
	.metavar = "TYPE",
	.help = "the data is an array of NumPy's TYPE",
	.more = "As NumPy writes types: <f8, float64, \"[('x', '<f4'), ('n', '<u2')]\". The "
		"archive records it for other programs; a Bloscpack file keeps it in its "
		"metadata, and then refuses --metadata and --set. For the filters, "
		"elements have that size unless --typesize sets another, which in Blosc2's "
		"formats divides it. A chunked directory keeps records as columns, each with an "
		"element size of its own.",
};

static const struct bpk_opt opt_shape = {
	.name = "shape",
	BPK_OPT_VALUE(OPT_SHAPE, struct bpk_pack_args, shape),
	.metavar = "A,B,...",
	.help = "the array has A rows of B ..., in C order",
	.more = "By default it has one dimension. The data must have exactly that size.",
};

static const struct bpk_opt opt_as_array = {
	.name = "as-array",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_pack_args, as_array),
	.help = "pack the array inside an .npy file, not the file",
	.more = "Its header gives dtype, shape and order; only the bytes behind it are packed. "
		"Python bloscpack opens the Bloscpack file as that array, and bpk-unpack(1) "
		"restores an .npy file, with the header of today's NumPy.",
};

static const struct bpk_opt opt_predict = {
	.name = "predict",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_pack_args, predict),
	.help = "predict numbers from the frames, or neighbours, before them",
	.more = "For formats b2frame and b2sparse, and for frames and grids of numbers: in "
		"simulation files that bpk knows, or as --dtype and --shape describe them. Smooth "
		"data packs smaller, and every bit is restored, but only bpk can unpack it.",
};

static const struct bpk_opt opt_key_frames = {
	.name = "key-frames",
	BPK_OPT_VALUE(OPT_U64, struct bpk_pack_args, key_frames),
	.metavar = "K",
	.help = "with --predict: start again after at most K frames",
	.more = "At most K frames, and at least 2, are unpacked to read one. By default 16, or as "
		"many as make 4 MiB, but no more than make 64 MiB.",
	.min = 2,
	.max = UINT32_MAX,
};

static const struct bpk_opt opt_metadata = {
	.name = "metadata",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_pack_args, metadata),
	.metavar = "FILE",
	.help = "store the JSON text in FILE with the data",
	.more = "The text is kept unchanged; numbers keep their digits. Formats b2frame and "
		"b2sparse keep the values alone, as msgpack: 1.50 returns as 1.5.",
};

static const struct bpk_opt opt_set = {
	.name = "set",
	BPK_OPT_VALUE(OPT_LIST, struct bpk_pack_args, set),
	.metavar = "KEY=VALUE",
	.help = "set one member of the metadata; may be repeated",
	.more = "VALUE is JSON (a number, true, a quoted text, a list ...); anything else is "
		"taken as a text.",
};

static const struct bpk_opt opt_compare = {
	.name = "compare",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_pack_args, compare),
	.help = "unpack every chunk again and compare before it is written",
	.more = "A checksum of packed bytes does not detect an encoder's mistake.",
};

static const struct bpk_opt opt_parity = {
	.name = "parity",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_pack_args, parity),
	.metavar = "P%",
	.help = "write ARCHIVE.bpp, too, which restores up to P percent of the archive",
	.more = "See bpk-parity(1). With --update an archive that is up to date gets the parity "
		"that it lacks, or that is of another state, once its checksums were tested. An "
		"archive that is replaced and has a parity file gets a new "
		"one without this option. Not for results on standard output or in stores.",
};

static const struct bpk_opt opt_stream_size = {
	.name = "stream-size",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_pack_args, stream_size),
	.metavar = "SIZE",
	.help = "standard input has exactly SIZE bytes",
	.more = "The header of an archive in a pipe then holds the number of chunks, and older "
		"Bloscpack readers understand it.",
	.max = INT64_MAX,
};

static const struct bpk_opt opt_plain = {
	.name = "plain",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_pack_args, plain),
	.help = "pack plain bytes, without looking for arrays in them",
	.more = "By default a simulation file that bpk knows is cut into chunks at array "
		"boundaries if that makes it smaller, and each kind of array gets its own element "
		"size and filters. --chunk-size, --block-size, --typesize and --dtype also make "
		"all chunks alike.",
};

static const struct bpk_opt opt_seal = {
	.name = "seal",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_pack_args, seal),
	.help = "record a digest over the whole archive",
	.more = "It covers the header, the metadata and all chunks in their order, by their "
		"checksums: sha256 by default then. With --checksum crc32 it costs next to "
		"nothing, finds all damage that is an accident, and cannot be signed. verify "
		"tests it and can print it; append, truncate, write and meta renew it. A "
		"Bloscpack file in a pipe and a directory of the layout bcolz have none. An "
		"archive "
		"that is replaced and has a seal gets one without this option, too, of the next "
		"generation.",
};

static const struct bpk_opt opt_identity = {
	.name = "identity",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_pack_args, identity),
	.help = "record the tree that bpk sum --tree finds, in the metadata",
	.more = "Its root is the same for the same data in any format, codec and size of chunks. "
		"verify compares the data with it and names the ranges that differ; append, "
		"truncate, meta and convert keep it; write removes it, and says so. It takes 64 "
		"bytes a MiB, at most 256 KiB. A Bloscpack file in a pipe has none. An archive "
		"that "
		"is replaced and records one gets a new one without this option.",
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_format_write,
	&bpk_opt_digits,
	&bpk_opt_level,
	&bpk_opt_codec,
	&bpk_opt_filter,
	&bpk_opt_lossy,
	&bpk_opt_dictionary,
	&bpk_opt_typesize,
	&bpk_opt_chunk_size,
	&bpk_opt_block_size,
	&opt_plain,
	&bpk_opt_checksum,
	&opt_seal,
	&opt_identity,
	&bpk_opt_slack,
	&bpk_opt_no_offsets,
	&bpk_opt_append_space,
	&bpk_opt_layout,
	&bpk_opt_superchunk_size,
	&opt_dtype,
	&opt_shape,
	&opt_as_array,
	&opt_predict,
	&opt_key_frames,
	&bpk_opt_chunk_shape,
	&bpk_opt_block_shape,
	&opt_metadata,
	&opt_set,
	&opt_compare,
	&opt_parity,
	&opt_stream_size,
	BPK_OPTS_TREE,
	&bpk_opt_stdout,
	&bpk_opt_output,
	&bpk_opt_output_dir,
	&bpk_opt_update,
	&bpk_opt_force,
	&bpk_opt_keep,
	&bpk_opt_rm,
	&bpk_opt_no_sync,
	BPK_OPTS_REMOTE,
	BPK_OPTS_RUN,
	NULL,
};

static const struct bpk_pack_args defaults = {
	.common = BPK_ARGS_DEFAULTS,
	.stream_size = BPK_UNKNOWN,
};

/* ---- usage ---- */

/* The format that the user named, that the output is called after, or the first that can be
 * written. */
static const struct bpk_format *format_of(const struct bpk_shared *shared)
{
	const struct bpk_format *format = shared->format;

	if (format == NULL && shared->output != NULL)
		format = bpk_format_of_suffix(shared->output);
	for (size_t i = 0; format == NULL || format->writer == NULL; i++)
		format = bpk_formats[i];
	return format;
}

/* True if standard input is packed, or has the names of the files. */
static bool reads_stdin(const struct bpk_pack *pack, char **operands, size_t count)
{
	const char *list = pack->args->common.shared.tree.files0_from;

	if (list != NULL)
		return strcmp(list, "-") == 0;
	return count == 0 || strcmp(operands[0], "-") == 0;
}

/* A directory cannot go to standard output. */
static int check_directory(const struct bpk_pack *pack, char **operands, size_t count,
			   struct bpk_err *err)
{
	const struct bpk_shared *shared = &pack->args->common.shared;
	const char *output = shared->output;
	bool to_stdout = shared->to_stdout || (output != NULL && strcmp(output, "-") == 0) ||
			 (output == NULL && count == 0 && shared->tree.files0_from == NULL);

	for (size_t i = 0; i < count; i++)
		to_stdout = to_stdout || (output == NULL && strcmp(operands[i], "-") == 0);
	if (!pack->format->is_directory || !to_stdout)
		return 0;
	return bpk_fail(err, BPK_USAGE, "format %s is a directory, name it with --output",
			pack->format->name);
}

/* An array may leave no place for other metadata. */
static int check_metadata(const struct bpk_pack *pack, const char *option, struct bpk_err *err)
{
	if (!pack->format->array_in_metadata ||
	    (pack->args->metadata == NULL && pack->args->set.count == 0))
		return 0;
	return bpk_fail(err, BPK_USAGE,
			"%s is kept in the metadata of format %s, without --metadata and --set",
			option, pack->format->name);
}

/* The header of the file gives the values of these options. */
static int check_as_array(const struct bpk_pack *pack, struct bpk_err *err)
{
	const struct bpk_pack_args *args = pack->args;
	const char *other = args->dtype != NULL                ? "--dtype"
			    : args->shape.ndimensions > 0      ? "--shape"
			    : args->stream_size != BPK_UNKNOWN ? "--stream-size"
							       : NULL;

	if (other != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --as-array and %s can be given",
				other);
	return check_metadata(pack, "--as-array", err);
}

/* Take --dtype, and test the options that depend on it. */
static int parse_dtype(struct bpk_pack *pack, struct bpk_err *err)
{
	const struct bpk_pack_args *args = pack->args;
	const char *text = args->dtype;

	if (args->as_array)
		return check_as_array(pack, err);
	if (text == NULL)
		return args->shape.ndimensions == 0
			       ? 0
			       : bpk_fail(err, BPK_USAGE, "--shape needs --dtype");
	if (check_metadata(pack, "--dtype", err) != 0)
		return -1;
	if (bpk_dtype_parse(bpk_view(text, strlen(text)), &pack->dtype, err) != 0)
		return bpk_err_subject(err, "--dtype");
	if (bpk_dtype_is_opaque(&pack->dtype))
		return bpk_fail(err, BPK_USAGE, "--dtype: objects of Python are not raw data");
	return 0;
}

/* ", -F b2frame or -F b2sparse": the formats that can record a prediction. */
static const char *predicting_formats(char out[64])
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; bpk_formats[i] != NULL && used < 64; i++)
		if (bpk_formats[i]->extended_chunks && bpk_formats[i]->writer != NULL)
			used += (size_t)snprintf(out + used, 64 - used, "%s-F %s",
						 used > 0 ? " or " : "", bpk_formats[i]->name);
	return out;
}

/* Options that set arrays or chunks instead. */
static const char *against_prediction(const struct bpk_pack_args *args)
{
	return args->as_array                                      ? "--as-array"
	       : args->common.encoding.dictionary                  ? "--dictionary"
	       : args->common.encoding.chunk_shape.ndimensions > 0 ? "--chunk-shape"
	       : args->common.encoding.block_shape.ndimensions > 0 ? "--block-shape"
								   : NULL;
}

static int check_predict(const struct bpk_pack *pack, struct bpk_err *err)
{
	const struct bpk_pack_args *args = pack->args;
	const char *other = against_prediction(args);
	char use[64];

	if (!args->predict)
		return args->key_frames == 0
			       ? 0
			       : bpk_fail(err, BPK_USAGE, "--key-frames needs --predict");
	if (!pack->format->extended_chunks)
		return bpk_fail(err, BPK_USAGE, "format %s cannot record predictions, use %s",
				pack->format->name, predicting_formats(use));
	if (other != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --predict and %s can be given", other);
	return args->common.encoding.filter.given
		       ? bpk_prediction_check_pipeline(&args->common.encoding.filter.pipeline, err)
		       : 0;
}

static int check_parity(struct bpk_pack *pack, char **operands, size_t count, struct bpk_err *err)
{
	const struct bpk_shared *shared = &pack->args->common.shared;
	const char *text = pack->args->parity, *output = shared->output;
	bool to_stdout = shared->to_stdout || (output != NULL && strcmp(output, "-") == 0) ||
			 (output == NULL && shared->tree.files0_from == NULL &&
			  (count == 0 || strcmp(operands[0], "-") == 0));

	if (text == NULL)
		return 0;
	if (!bpk_side_parse(text, &pack->parity))
		return bpk_fail(err, BPK_USAGE,
				"--parity '%s' is no share, expected 0.01%% to 100%%", text);
	if (bpk_program->team != NULL)
		return bpk_fail(err, BPK_USAGE, "--parity is bpk's alone, not bpk-mpi's");
	if (to_stdout || (output != NULL && bpk_path_is_url(output)) ||
	    (shared->output_dir != NULL && bpk_path_is_url(shared->output_dir)))
		return bpk_fail(err, BPK_USAGE,
				"--parity needs a result in a file or directory that parity can "
				"lie beside");
	return 0;
}

static int check_usage(struct bpk_pack *pack, char **operands, size_t count, struct bpk_err *err)
{
	const struct bpk_shared *shared = &pack->args->common.shared;
	const char *metadata = pack->args->metadata;

	if (shared->format == NULL && shared->output != NULL &&
	    bpk_output_suffix(shared->output) != NULL &&
	    bpk_format_of_suffix(shared->output) == NULL)
		return bpk_output_fail_suffix(shared->output, err);
	if (bpk_transfer_check(shared, operands, count, err) != 0 ||
	    check_predict(pack, err) != 0 || check_parity(pack, operands, count, err) != 0 ||
	    bpk_encoding_check(&pack->args->common.encoding, pack->format, err) != 0 ||
	    check_directory(pack, operands, count, err) != 0 || parse_dtype(pack, err) != 0)
		return -1;
	/* with --as-array each file has a type of its own */
	if (!pack->args->as_array && bpk_pack_check_type(pack, err) != 0)
		return -1;
	if (shared->to_stdout && count > 1)
		return bpk_fail(err, BPK_USAGE,
				"--stdout takes a single source; cat a.blp b.blp joins archives");
	if (pack->format->suffix == NULL && shared->output == NULL && !shared->to_stdout)
		return bpk_fail(err, BPK_USAGE,
				"format %s has no suffix, name a file with --output",
				pack->format->name);
	if (metadata != NULL && strcmp(metadata, "-") == 0 && reads_stdin(pack, operands, count))
		return bpk_fail(err, BPK_USAGE, "standard input cannot be both data and metadata");
	return 0;
}

/* Archives are not packed again, nor is their parity. */
static bool takes(const char *path)
{
	return bpk_format_suffix(path) == NULL && !bpk_side_is(path);
}

static const struct bpk_tree_kind kind = { .takes = takes };

static int prepare(struct bpk_pack *pack, char **named, size_t count, struct bpk_files *operands,
		   struct bpk_err *err)
{
	const struct bpk_pack_args *args = pack->args;
	const struct bpk_shared *shared = &args->common.shared;

	pack->format = format_of(shared);
	if (check_usage(pack, named, count, err) != 0 ||
	    bpk_transfer_gather(shared, &kind, named, count, operands, err) != 0 ||
	    (operands->count > 1 && bpk_program->team == NULL &&
	     bpk_known_new(&pack->known, err) != 0))
		return -1;
	pack->one_tree = shared->tree.recursive && count == 1;
	return bpk_metadata_gather(args->metadata, &args->set, &pack->metadata, err) != 0
		       ? -1
		       : bpk_pack_check_identity(pack, err);
}

static void run_pack(void *arg, char **named, size_t count)
{
	struct bpk_pack_args *args = arg;
	struct bpk_pack pack = { .args = args };
	struct bpk_shared *shared = &args->common.shared;
	struct bpk_files operands = { 0 };
	struct bpk_tally tally = { 0 };
	struct bpk_err err = { 0 };

	shared->tally = bpk_transfer_is_listed(shared) ? &tally : NULL;
	if (prepare(&pack, named, count, &operands, &err) != 0) {
		bpk_report(err.kind == BPK_USAGE ? "pack" : NULL, &err);
	} else {
		bpk_operands_run(shared, &operands,
				 &(struct bpk_each){ bpk_pack_one, bpk_pack_beside(&pack), &pack });
		bpk_tally_tell(shared, "packed");
	}
	bpk_files_clear(&operands);
	bpk_buf_clear(&pack.metadata);
	bpk_array_clear(&pack.array);
	bpk_dtype_clear(&pack.dtype);
	bpk_known_free(pack.known);
}

static const struct bpk_foreign foreign[] = {
	{ 'd', "decompress", "'bpk unpack' restores FILE" },
	{ 't', "test", "'bpk verify' tests FILE" },
	{ 'l', "list", "'bpk info' shows FILE" },
	{ 'j', NULL, "-T sets the number of threads" },
	{ 0 },
};

const struct bpk_command bpk_command_pack = {
	.name = "pack",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "pack files, or standard input, into archives",
	.description =
		"Packs each FILE into FILE.blp beside it and keeps FILE. Without FILE, or with -, "
		"packs standard input to standard output. Element size, filter, chunk and block "
		"size are chosen by trial on samples; -v prints the choice, -vv also the trials.",
	.operands = OPERANDS_FILES,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct bpk_pack_args),
	.defaults = &defaults,
	.run = run_pack,
};
