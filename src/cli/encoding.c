#include "cli/encoding.h"

enum {
	LARGEST_ROW = 4 << 20, /* in a file, whose chunks may end anywhere */
};

#define ARG(member) offsetof(struct bpk_encoding_args, member)

const struct bpk_opt bpk_opt_digits = {
	.letter = '0',
	.type = OPT_DIGITS,
	.offset = ARG(level),
	.help = "level, from fast to small; -0 stores without packing",
};

const struct bpk_opt bpk_opt_level = {
	.name = "level",
	.type = OPT_LEVEL,
	.offset = ARG(level),
	.metavar = "N",
	.help = "the same as a number from 0 to 9",
	.environment = "BPK_LEVEL",
};

const struct bpk_opt bpk_opt_level_anew = {
	.name = "level",
	.type = OPT_LEVEL,
	.offset = ARG(level),
	.metavar = "N",
	.help = "the same as a number from 0 to 9",
};

const struct bpk_opt bpk_opt_codec = {
	.name = "codec",
	.type = OPT_CODEC,
	.offset = ARG(codec),
	.metavar = "NAME",
	.help = "pack with codec NAME",
	.more = "By default zstd.",
	.environment = "BPK_CODEC",
};

const struct bpk_opt bpk_opt_codec_anew = {
	.name = "codec",
	.type = OPT_CODEC,
	.offset = ARG(codec),
	.metavar = "NAME",
	.help = "pack with codec NAME",
	.more = "By default that of the archive.",
};

const struct bpk_opt bpk_opt_filter = {
	.name = "filter",
	.type = OPT_FILTER,
	.offset = ARG(filter),
	.metavar = "LIST",
	.help = "rearrange bytes or bits of items before packing",
	.more = "shuffle puts the first bytes of all items next to each other, then the second "
		"ones, and so on; bitshuffle does the same with bits. With auto, the default, "
		"a trial on samples decides, or the archive that there is already.",
};

const struct bpk_opt bpk_opt_typesize = {
	.letter = 't',
	.name = "typesize",
	.type = OPT_TYPESIZE,
	.offset = ARG(typesize),
	.metavar = "N",
	.help = "items are N bytes (1 to 255, or auto)",
	.more = "With auto, the default, a trial on samples decides, or the archive that there "
		"is already.",
};

const struct bpk_opt bpk_opt_chunk_size = {
	.letter = 'z',
	.name = "chunk-size",
	.type = OPT_SIZE,
	.offset = ARG(chunk_size),
	.metavar = "SIZE",
	.help = "pack SIZE bytes of raw data at a time",
	.more = "Rounded down to whole items. A byte range is read in whole blocks of the "
		"chunks it touches, and memory grows with the chunk size and the number of "
		"threads. By default a trial decides, from 256 KiB to 4 MiB, or the archive that "
		"there is already.",
	.min = 1,
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

const struct bpk_opt bpk_opt_block_size = {
	.name = "block-size",
	.type = OPT_SIZE,
	.offset = ARG(block_size),
	.metavar = "SIZE",
	.help = "divide chunks into blocks of SIZE bytes",
	.more = "A block is what must be unpacked to get at any byte of it.",
	.min = 1,
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

const struct bpk_opt bpk_opt_checksum = {
	.name = "checksum",
	.type = OPT_CHECKSUM,
	.offset = ARG(checksum),
	.metavar = "NAME",
	.help = "protect every chunk with checksum NAME",
	.more = "By default crc32, or that of the archive that there is already. The checksum "
		"covers the packed bytes.",
};

const struct bpk_opt bpk_opt_slack = {
	.name = "slack",
	.type = OPT_SLACK,
	.offset = ARG(slack),
	.metavar = "N|P%",
	.help = "leave room in each chunk: N bytes, or P percent of it",
	.more = "bpk-write(1) then changes data in place even where they pack less well than "
		"before. Every reader of Blosc chunks passes over it. A chunk is never made larger "
		"than its raw data and 16 bytes, and one that does not shrink has no room.",
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

const struct bpk_opt bpk_opt_no_offsets = {
	.name = "no-offsets",
	.type = OPT_FLAG,
	.offset = ARG(no_offsets),
	.help = "write no table of chunk offsets",
	.more = "Byte ranges are then found by walking over the chunks, and python bloscpack "
		"cannot append.",
};

const struct bpk_opt bpk_opt_append_space = {
	.name = "append-space",
	.type = OPT_U64,
	.offset = ARG(append_space),
	.metavar = "N",
	.help = "leave room in the table of offsets for N more chunks",
	.more = "By default ten times the number of chunks, as far as that makes sense for "
		"small archives.",
	.max = INT64_MAX,
};

const struct bpk_opt bpk_opt_layout = {
	.name = "layout",
	.type = OPT_LAYOUT,
	.offset = ARG(layout),
	.metavar = "NAME",
	.help = "arrange the files of a directory as NAME has them",
	.more = "bpk-formats(5) tells the layouts apart.",
};

const struct bpk_opt bpk_opt_superchunk_size = {
	.name = "superchunk-size",
	.type = OPT_SIZE,
	.offset = ARG(superchunk_size),
	.metavar = "SIZE",
	.help = "put SIZE bytes of raw data into each file of a directory",
	.more = "Rounded down to whole chunks. By default about 16 MiB.",
	.min = 1,
	.max = INT64_MAX,
};

/* ---- what follows from them ---- */

static bool has_layout(const struct bpk_format *format, const char *name)
{
	for (size_t i = 0; format->layouts != NULL && format->layouts[i] != NULL; i++)
		if (strcmp(format->layouts[i], name) == 0)
			return true;
	return false;
}

int bpk_encoding_check(const struct bpk_encoding_args *args, const struct bpk_format *format,
		       struct bpk_err *err)
{
	if (args->layout != NULL && !has_layout(format, args->layout))
		return bpk_fail(err, BPK_USAGE, "format %s has no layout '%s'", format->name,
				args->layout);
	if (args->superchunk_size != 0 && !format->is_directory)
		return bpk_fail(err, BPK_USAGE,
				"--superchunk-size is for directories, format %s is a single file",
				format->name);
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
	return 0;
}

uint64_t bpk_encoding_row_size(const struct bpk_array *array, const struct bpk_format *format)
{
	uint64_t most = format->is_directory ? BPK_CHUNK_MAX_RAW_SIZE : LARGEST_ROW;
	uint64_t item = array->dtype.size <= most ? array->dtype.size : 0, row = item;

	/* where the first index changes fastest, what belongs to one of it lies apart */
	for (size_t i = 1; i < array->ndimensions && !array->fortran; i++)
		if (!bpk_mul_u64(row, array->shape[i], &row) || row > most || row == 0)
			return item;
	return row;
}

struct bpk_wishes bpk_encoding_wishes(const struct bpk_encoding_args *args)
{
	return (struct bpk_wishes){
		.codec = args->codec,
		.level = args->level,
		.typesize = args->typesize,
		.pipeline = args->filter.given ? &args->filter.pipeline : NULL,
		.chunk_size = args->chunk_size,
		.block_size = (uint32_t)args->block_size,
	};
}

struct bpk_write_options bpk_encoding_options(const struct bpk_encoding_args *args,
					      const struct bpk_recipe *recipe)
{
	return (struct bpk_write_options){
		.no_offsets = args->no_offsets,
		.append_space = args->append_space,
		.layout = args->layout,
		.superchunk_size = args->superchunk_size,
		.recipe = recipe,
	};
}
