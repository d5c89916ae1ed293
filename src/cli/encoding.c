/* The options for the packing of chunks: rows, and their checks against a format. The commands that
 * pack share it. */
#include "cli/encoding.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/report.h"

enum {
	LARGEST_ROW = 4 << 20, /* in a file, whose chunks may end anywhere */
};

const struct bpk_opt bpk_opt_digits = {
	.letter = '0',
	BPK_OPT_VALUE(OPT_DIGITS, struct bpk_args, encoding.level),
	.help = "level, from fast to small; -0 stores without packing; for large files -5 takes 2 "
		"to 7 times as long as -2, -9 30 to 120 times",
};

const struct bpk_opt bpk_opt_level = {
	.name = "level",
	BPK_OPT_VALUE(OPT_LEVEL, struct bpk_args, encoding.level),
	.metavar = "N",
	.help = "the same as a number from 0 to 9",
	.environment = "BPK_LEVEL",
};

const struct bpk_opt bpk_opt_level_of_archive = {
	.name = "level",
	BPK_OPT_VALUE(OPT_LEVEL, struct bpk_args, encoding.level),
	.metavar = "N",
	.help = "the same as a number from 0 to 9",
};

const struct bpk_opt bpk_opt_codec = {
	.name = "codec",
	BPK_OPT_VALUE(OPT_CODEC, struct bpk_args, encoding.codec),
	.metavar = "NAME",
	.help = "pack with codec NAME",
	.more = "By default zstd.",
	.environment = "BPK_CODEC",
};

const struct bpk_opt bpk_opt_codec_of_archive = {
	.name = "codec",
	BPK_OPT_VALUE(OPT_CODEC, struct bpk_args, encoding.codec),
	.metavar = "NAME",
	.help = "pack with codec NAME",
	.more = "By default that of the archive.",
};

const struct bpk_opt bpk_opt_filter = {
	.name = "filter",
	BPK_OPT_VALUE(OPT_FILTER, struct bpk_args, encoding.filter),
	.metavar = "LIST",
	.help = "filter items before packing, by LIST in its order",
	.more = "LIST is auto, none, or up to six of shuffle, bitshuffle, delta, bytedelta, "
		"trunc:N and int_trunc:N, separated by commas; delta is the first one. bpk-pack(1) "
		"describes the filters, bpk-formats(5) the formats that take them. auto, the "
		"default, takes the filters of the archive that is changed; for a new one it tries "
		"some on samples.",
};

const struct bpk_opt bpk_opt_lossy = {
	.name = "lossy",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_args, encoding.lossy),
	.help = "allow filters that lose precision",
	.more = "trunc and int_trunc need it. The unpacked data then differs from the source; the "
		"loss is reported on standard error.",
};

const struct bpk_opt bpk_opt_dictionary = {
	.name = "dictionary",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_args, encoding.dictionary),
	.help = "give each chunk a dictionary for its blocks",
	.more = "For zstd and lz4 in Blosc2's formats. It pays in chunks of many small blocks "
		"that are alike. c-blosc2 reads parts of such chunks wrongly (bpk-formats(5)).",
};

const struct bpk_opt bpk_opt_typesize = {
	.letter = 't',
	.name = "typesize",
	BPK_OPT_VALUE(OPT_TYPESIZE, struct bpk_args, encoding.typesize),
	.metavar = "N",
	.help = "items are N bytes (1 to 255, or auto)",
	.more = "With auto, the default, the existing archive decides, or a trial on samples.",
};

const struct bpk_opt bpk_opt_chunk_size = {
	.letter = 'z',
	.name = "chunk-size",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_args, encoding.chunk_size),
	.metavar = "SIZE",
	.help = "pack SIZE bytes of raw data at a time",
	.more = "Rounded down to whole items, but to one at least. A byte range is read in whole "
		"blocks of the chunks it touches, and memory grows with the chunk size and the "
		"number of threads. By default the existing archive decides, or a trial, from 256 "
		"KiB to 4 MiB.",
	.min = 1,
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

const struct bpk_opt bpk_opt_block_size = {
	.name = "block-size",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_args, encoding.block_size),
	.metavar = "SIZE",
	.help = "divide chunks into blocks of SIZE bytes",
	.more = "A block is the smallest part of a chunk that can be unpacked.",
	.min = 1,
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

const struct bpk_opt bpk_opt_checksum = {
	.name = "checksum",
	BPK_OPT_VALUE(OPT_CHECKSUM, struct bpk_args, encoding.checksum),
	.metavar = "NAME",
	.help = "protect every chunk with checksum NAME",
	.more = "By default crc32, with --seal sha256, or that of the existing archive. It covers "
		"the packed bytes.",
};

const struct bpk_opt bpk_opt_slack = {
	.name = "slack",
	BPK_OPT_VALUE(OPT_SLACK, struct bpk_args, encoding.slack),
	.metavar = "N|P%",
	.help = "leave room in each chunk: N bytes, or P percent of it",
	.more = "bpk-write(1) can then change data in place even if the new data packs less well. "
		"Readers of Blosc chunks ignore the room. A chunk never grows beyond its raw "
		"data and 16 bytes, a chunk that does not shrink has no room, and in Blosc2's "
		"formats the last block has no more room than c-blosc2 reads.",
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

const struct bpk_opt bpk_opt_no_offsets = {
	.name = "no-offsets",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_args, encoding.no_offsets),
	.help = "write no table of chunk offsets",
	.more = "Byte ranges are then found by reading all chunk headers, and python bloscpack "
		"cannot append.",
};

const struct bpk_opt bpk_opt_append_space = {
	.name = "append-space",
	BPK_OPT_VALUE(OPT_U64, struct bpk_args, encoding.append_space),
	.metavar = "N",
	.help = "leave room in the table of offsets for N more chunks",
	.more = "By default ten times the number of chunks, within bounds for small archives.",
	.max = INT64_MAX,
};

const struct bpk_opt bpk_opt_layout = {
	.name = "layout",
	BPK_OPT_VALUE(OPT_LAYOUT, struct bpk_args, encoding.layout),
	.metavar = "NAME",
	.help = "arrange the files of a directory in layout NAME",
	.more = "bpk-formats(5) describes the layouts.",
};

const struct bpk_opt bpk_opt_superchunk_size = {
	.name = "superchunk-size",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_args, encoding.superchunk_size),
	.metavar = "SIZE",
	.help = "put SIZE bytes of raw data into each file of a directory",
	.more = "Rounded down to whole chunks. By default about 16 MiB.",
	.min = 1,
	.max = INT64_MAX,
};

const struct bpk_opt bpk_opt_chunk_shape = {
	.name = "chunk-shape",
	BPK_OPT_VALUE(OPT_SHAPE, struct bpk_args, encoding.chunk_shape),
	.metavar = "A,B,...",
	.help = "keep an array in chunks of A by B by ... items",
	.more = "For arrays in Blosc2's formats. By default the longest dimension is halved until "
		"chunks have about --chunk-size bytes (1 MiB), where the last dimension counts a "
		"fourth of its length; and chunks have no more rows than make 16 MiB in all of the "
		"array, because all chunks that hold the same rows are packed at a time.",
};

const struct bpk_opt bpk_opt_block_shape = {
	.name = "block-shape",
	BPK_OPT_VALUE(OPT_SHAPE, struct bpk_args, encoding.block_shape),
	.metavar = "A,B,...",
	.help = "divide the chunks of an array into blocks of A by B by ... items",
	.more = "A slice is read by unpacking the blocks that it touches. By default the longest "
		"dimension of a chunk is halved in the same way, until blocks have about "
		"--block-size bytes (128 KiB).",
};

/* ---- values derived from the options ---- */

static bool has_layout(const struct bpk_format *format, const char *name)
{
	for (size_t i = 0; format->layouts != NULL && format->layouts[i] != NULL; i++)
		if (strcmp(format->layouts[i], name) == 0)
			return true;
	return false;
}

/* ", use -F NAME": the first format that knows every filter. */
static const char *advice(char out[64])
{
	out[0] = '\0';
	for (size_t i = 0; bpk_formats[i] != NULL && out[0] == '\0'; i++)
		if (bpk_formats[i]->extended_chunks && bpk_formats[i]->writer != NULL)
			snprintf(out, 64, ", use -F %s", bpk_formats[i]->name);
	return out;
}

/* Chunks of version 2 have only two filters, and no dictionaries. */
static int check_chunks(const struct bpk_encoding_args *args, const struct bpk_format *format,
			struct bpk_err *err)
{
	char use[64], filters[BPK_PIPELINE_TEXT];

	if (args->filter.given && !bpk_pipeline_is_plain(&args->filter.pipeline))
		return bpk_fail(err, BPK_USAGE,
				"format %s knows shuffle and bitshuffle alone, not %s%s",
				format->name, bpk_pipeline_print(&args->filter.pipeline, filters),
				advice(use));
	if (args->dictionary)
		return bpk_fail(err, BPK_USAGE, "format %s has no dictionaries%s", format->name,
				advice(use));
	return 0;
}

/* The index of a frame has no spare entries and is never left out, its files are of one chunk, and
 * Blosc2 has no Snappy. */
static int check_frame(const struct bpk_encoding_args *args, const struct bpk_format *format,
		       struct bpk_err *err)
{
	const char *option = NULL;

	if (args->no_offsets)
		option = "--no-offsets";
	else if (args->append_space != BPK_UNKNOWN)
		option = "--append-space";
	else if (args->superchunk_size != 0)
		option = "--superchunk-size";
	if (option != NULL)
		return bpk_fail(err, BPK_USAGE, "%s is not for format %s", option, format->name);
	if (args->codec != NULL && !bpk_codec_is_extended(args->codec))
		return bpk_fail(err, BPK_USAGE, "format %s has no codec %s", format->name,
				bpk_codec_name(args->codec));
	return 0;
}

/* Shapes of chunks and blocks are for formats that keep arrays in chunks of several dimensions. */
static int check_shapes(const struct bpk_encoding_args *args, const struct bpk_format *format,
			struct bpk_err *err)
{
	const struct bpk_opt_shape *shapes[] = { &args->chunk_shape, &args->block_shape };
	static const char *const names[] = { "--chunk-shape", "--block-shape" };
	char use[64];

	for (size_t k = 0; k < 2; k++) {
		if (shapes[k]->ndimensions > 0 && format->divide == NULL)
			return bpk_fail(err, BPK_USAGE,
					"format %s has no chunks of several dimensions, %s is not "
					"for it%s",
					format->name, names[k], advice(use));
		for (size_t i = 0; i < shapes[k]->ndimensions; i++)
			if (shapes[k]->sizes[i] == 0)
				return bpk_fail(err, BPK_USAGE,
						"%s has a dimension of 0, expected 1 or more",
						names[k]);
	}
	return 0;
}

int bpk_encoding_check(const struct bpk_encoding_args *args, const struct bpk_format *format,
		       struct bpk_err *err)
{
	if (check_shapes(args, format, err) != 0)
		return -1;
	if (args->layout != NULL && !has_layout(format, args->layout))
		return bpk_fail(err, BPK_USAGE, "format %s has no layout '%s'", format->name,
				args->layout);
	if (args->superchunk_size != 0 && !format->is_directory)
		return bpk_fail(err, BPK_USAGE,
				"--superchunk-size is for directories, format %s is a single file",
				format->name);
	return format->extended_chunks ? check_frame(args, format, err)
				       : check_chunks(args, format, err);
}

/* Check that the user allowed a loss by the filters. */
static int check_loss(const struct bpk_args *args, unsigned typesize, struct bpk_err *err)
{
	char loss[BPK_PIPELINE_LOSS_TEXT];

	bpk_pipeline_loss(&args->encoding.filter.pipeline, typesize, loss);
	if (!args->encoding.lossy)
		return bpk_fail(err, BPK_USAGE, "%s; --lossy allows it", loss);
	if (args->shared.remove)
		return bpk_fail(err, BPK_USAGE, "%s, so --rm would lose data", loss);
	return 0;
}

int bpk_encoding_check_items(const struct bpk_args *args, unsigned typesize,
			     const struct bpk_codec *codec, struct bpk_err *err)
{
	const struct bpk_pipeline *pipeline = &args->encoding.filter.pipeline;
	bool lossy = args->encoding.filter.given && bpk_pipeline_is_lossy(pipeline);

	if (args->encoding.dictionary && codec != NULL && !bpk_codec_has_dictionaries(codec))
		return bpk_fail(err, BPK_USAGE, "--dictionary is for zstd and lz4, not for %s",
				bpk_codec_name(codec));
	if (lossy && typesize == 0)
		return bpk_fail(err, BPK_USAGE,
				"a lossy filter needs the size of items, use --typesize");
	if (typesize > 0 && args->encoding.filter.given &&
	    bpk_pipeline_check(pipeline, typesize, err) != 0)
		return -1;
	return lossy ? check_loss(args, typesize, err) : 0;
}

void bpk_encoding_tell_loss(const struct bpk_args *args, const struct bpk_recipe *recipe,
			    const char *subject)
{
	char loss[BPK_PIPELINE_LOSS_TEXT];

	if (bpk_pipeline_is_lossy(&recipe->pipeline) && !args->shared.quiet)
		bpk_note(subject, "%s",
			 bpk_pipeline_loss(&recipe->pipeline, recipe->typesize, loss));
}

/* Truncation counts bits of little-endian numbers of one kind. */
static int check_numbers(const struct bpk_pipeline *pipeline, const struct bpk_dtype *dtype,
			 struct bpk_err *err)
{
	const struct bpk_scalar *scalar = &dtype->scalar;

	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		unsigned filter = pipeline->steps[i].filter;
		const char *kinds = filter == BPK_FILTER_TRUNC_PREC  ? "f"
				    : filter == BPK_FILTER_INT_TRUNC ? "iuMm"
								     : NULL;

		if (kinds == NULL)
			continue;
		if (dtype->nfields > 0 || strchr(kinds, scalar->kind) == NULL)
			return bpk_fail(err, BPK_USAGE, "filter %s is for %s alone",
					bpk_filter_name(filter),
					filter == BPK_FILTER_TRUNC_PREC ? "floating-point numbers"
									: "integers");
		if (scalar->byte_order == '>')
			return bpk_fail(err, BPK_USAGE,
					"filter %s is for little-endian numbers alone",
					bpk_filter_name(filter));
	}
	return 0;
}

int bpk_encoding_check_dtype(const struct bpk_encoding_args *args, const struct bpk_format *format,
			     const struct bpk_dtype *dtype, struct bpk_err *err)
{
	bool slack = args->slack.bytes != 0 || args->slack.percent != 0;

	if (slack && format->is_directory && dtype->nfields > 0)
		return bpk_fail(err, BPK_USAGE,
				"--slack is not for records, which format %s keeps as columns",
				format->name);
	return args->filter.given ? check_numbers(&args->filter.pipeline, dtype, err) : 0;
}

int bpk_encoding_check_typesize(const struct bpk_encoding_args *args,
				const struct bpk_format *format, const struct bpk_dtype *dtype,
				struct bpk_err *err)
{
	if (args->typesize == BPK_AUTO || dtype->size == 0)
		return 0;
	if (format->is_directory && format->divide == NULL && dtype->nfields > 0)
		return bpk_fail(err, BPK_USAGE,
				"--typesize is not for records, which format %s keeps as columns",
				format->name);
	if (format->divide != NULL && dtype->size % (uint64_t)args->typesize != 0)
		return bpk_fail(err, BPK_USAGE,
				"--typesize %d does not divide the array's items of %" PRIu64
				" %s, as format %s needs",
				args->typesize, dtype->size,
				bpk_plural(dtype->size, "byte", "bytes"), format->name);
	return 0;
}

uint64_t bpk_encoding_row_size(const struct bpk_array *array, const struct bpk_format *format)
{
	uint64_t most = format->is_directory ? BPK_CHUNK_MAX_RAW_SIZE : LARGEST_ROW;
	uint64_t item = array->dtype.size <= most ? array->dtype.size : 0, row = item;

	/* in Fortran order the items of one first index lie apart */
	for (size_t i = 1; i < array->ndimensions && !array->fortran; i++)
		if (!bpk_mul_u64(row, array->shape[i], &row) || row > most || row == 0)
			return item;
	return row;
}

static int check_dimensions(const struct bpk_opt_shape *shape, const char *name,
			    const struct bpk_array *array, struct bpk_err *err)
{
	if (shape->ndimensions == 0)
		return 0;
	if (array == NULL)
		return bpk_fail(err, BPK_USAGE, "%s is for arrays, and the input is not one", name);
	if (shape->ndimensions != array->ndimensions)
		return bpk_fail(err, BPK_USAGE, "%s has %zu %s, the array has %zu", name,
				shape->ndimensions,
				bpk_plural(shape->ndimensions, "dimension", "dimensions"),
				array->ndimensions);
	return 0;
}

static int check_slack(const struct bpk_encoding_args *args, const struct bpk_format *format,
		       struct bpk_err *err)
{
	if (args->slack.bytes == 0 && args->slack.percent == 0)
		return 0;
	return bpk_fail(err, BPK_USAGE,
			"--slack is not for arrays, which format %s keeps in chunks of several "
			"dimensions",
			format->name);
}

int bpk_encoding_check_divided(const struct bpk_encoding_args *args,
			       const struct bpk_format *format, struct bpk_err *err)
{
	if (args->block_size != 0)
		return bpk_fail(err, BPK_USAGE,
				"--block-size is not for arrays whose blocks have a shape already");
	return check_slack(args, format, err);
}

int bpk_encoding_divide(const struct bpk_encoding_args *args, const struct bpk_format *format,
			const struct bpk_array_info *array, struct bpk_choice *choice,
			struct bpk_division *division, struct bpk_err *err)
{
	struct bpk_write_options shapes = bpk_encoding_options(args, NULL, NULL);

	*division = (struct bpk_division){ .parcel_size = choice->chunk_size };
	if (check_dimensions(&args->chunk_shape, "--chunk-shape", array->type, err) != 0 ||
	    check_dimensions(&args->block_shape, "--block-shape", array->type, err) != 0)
		return -1;
	if (array->type == NULL || format->divide == NULL)
		return 0;
	if (check_slack(args, format, err) != 0)
		return -1;
	if (shapes.chunk_shape == NULL && shapes.block_shape == NULL && args->chunk_size == 0 &&
	    args->block_size == 0) {
		shapes.chunk_shape = array->chunk_shape;
		shapes.block_shape = array->block_shape;
	}
	if (format->divide(array->type, &shapes, args->chunk_size, args->block_size, division,
			   err) != 0)
		return -1;
	division->divided = true;
	choice->chunk_size = division->chunk_size;
	choice->recipe.block_size = division->block_size;
	choice->recipe.exact_blocks = true;
	return 0;
}

struct bpk_wishes bpk_encoding_wishes(const struct bpk_encoding_args *args,
				      const struct bpk_format *format)
{
	return (struct bpk_wishes){
		.codec = args->codec,
		.level = args->level,
		.typesize = args->typesize,
		.pipeline = args->filter.given ? &args->filter.pipeline : NULL,
		.extended = format != NULL && format->extended_chunks,
		.dictionary = args->dictionary,
		.chunk_size = args->chunk_size,
		.block_size = (uint32_t)args->block_size,
	};
}

struct bpk_write_options bpk_encoding_options(const struct bpk_encoding_args *args,
					      const struct bpk_recipe *recipe,
					      const struct bpk_division *division)
{
	struct bpk_write_options options = {
		.no_offsets = args->no_offsets,
		.append_space = args->append_space,
		.layout = args->layout,
		.superchunk_size = args->superchunk_size,
		.recipe = recipe,
		.chunk_shape = args->chunk_shape.ndimensions > 0 ? args->chunk_shape.sizes : NULL,
		.block_shape = args->block_shape.ndimensions > 0 ? args->block_shape.sizes : NULL,
	};

	if (division != NULL && division->divided) {
		options.chunk_shape = division->chunk_shape;
		options.block_shape = division->block_shape;
	}
	return options;
}
