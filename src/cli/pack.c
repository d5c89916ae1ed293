/* bpk pack: raw files in, archives out. */
#include "cli/command.h"

#include "flow/flow.h"

struct pack_args {
	struct bpk_shared shared;
	int level, typesize, filter;
	const struct bpk_codec *codec;
	uint64_t chunk_size, block_size;
	const struct bpk_checksum *checksum;
	bool no_offsets, compare;
	uint64_t append_space, stream_size;
	const char *metadata;
	struct bpk_opt_list set;
};

#define ARG(member) offsetof(struct pack_args, member)

static const struct bpk_opt opt_digits = {
	.letter = '0',
	.type = OPT_DIGITS,
	.offset = ARG(level),
	.help = "level, from fast to small; -0 stores without packing",
};

static const struct bpk_opt opt_level = {
	.name = "level",
	.type = OPT_LEVEL,
	.offset = ARG(level),
	.metavar = "N",
	.help = "the same as a number from 0 to 9",
	.environment = "BPK_LEVEL",
};

static const struct bpk_opt opt_codec = {
	.name = "codec",
	.type = OPT_CODEC,
	.offset = ARG(codec),
	.metavar = "NAME",
	.help = "pack with codec NAME",
	.more = "By default zstd.",
	.environment = "BPK_CODEC",
};

static const struct bpk_opt opt_filter = {
	.name = "filter",
	.type = OPT_FILTER,
	.offset = ARG(filter),
	.metavar = "LIST",
	.help = "rearrange bytes or bits of items before packing",
	.more = "shuffle puts the first bytes of all items next to each other, then the second "
		"ones, and so on; bitshuffle does the same with bits. With auto, the default, "
		"a trial on samples decides.",
};

static const struct bpk_opt opt_typesize = {
	.letter = 't',
	.name = "typesize",
	.type = OPT_TYPESIZE,
	.offset = ARG(typesize),
	.metavar = "N",
	.help = "items are N bytes (1 to 255, or auto)",
	.more = "With auto, the default, a trial on samples decides.",
};

static const struct bpk_opt opt_chunk_size = {
	.letter = 'z',
	.name = "chunk-size",
	.type = OPT_SIZE,
	.offset = ARG(chunk_size),
	.metavar = "SIZE",
	.help = "pack SIZE bytes of raw data at a time",
	.more = "Rounded down to whole items. A byte range is read in whole blocks of the "
		"chunks it touches, and memory grows with the chunk size and the number of "
		"threads. By default a trial decides, from 256 KiB to 4 MiB.",
	.min = 1,
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

static const struct bpk_opt opt_block_size = {
	.name = "block-size",
	.type = OPT_SIZE,
	.offset = ARG(block_size),
	.metavar = "SIZE",
	.help = "divide chunks into blocks of SIZE bytes",
	.more = "A block is what must be unpacked to get at any byte of it.",
	.min = 1,
	.max = BPK_CHUNK_MAX_RAW_SIZE,
};

static const struct bpk_opt opt_checksum = {
	.name = "checksum",
	.type = OPT_CHECKSUM,
	.offset = ARG(checksum),
	.metavar = "NAME",
	.help = "protect every chunk with checksum NAME",
	.more = "By default crc32. The checksum covers the packed bytes.",
};

static const struct bpk_opt opt_no_offsets = {
	.name = "no-offsets",
	.type = OPT_FLAG,
	.offset = ARG(no_offsets),
	.help = "write no table of chunk offsets",
	.more = "Byte ranges are then found by walking over the chunks, and python bloscpack "
		"cannot append.",
};

static const struct bpk_opt opt_append_space = {
	.name = "append-space",
	.type = OPT_U64,
	.offset = ARG(append_space),
	.metavar = "N",
	.help = "leave room in the table of offsets for N more chunks",
	.more = "By default ten times the number of chunks, as far as that makes sense for "
		"small archives.",
	.max = INT64_MAX,
};

static const struct bpk_opt opt_metadata = {
	.name = "metadata",
	.type = OPT_FILE,
	.offset = ARG(metadata),
	.metavar = "FILE",
	.help = "store the JSON text in FILE with the data",
	.more = "The text is kept as it is; numbers keep their digits.",
};

static const struct bpk_opt opt_set = {
	.name = "set",
	.type = OPT_LIST,
	.offset = ARG(set),
	.metavar = "KEY=VALUE",
	.help = "set one member of the metadata; may be repeated",
	.more = "VALUE is JSON (a number, true, a quoted text, a list ...); what is no JSON is "
		"taken as a text.",
};

static const struct bpk_opt opt_compare = {
	.name = "compare",
	.type = OPT_FLAG,
	.offset = ARG(compare),
	.help = "unpack every chunk again and compare before it is written",
	.more = "A checksum of packed bytes would not find an encoder's mistake.",
};

static const struct bpk_opt opt_stream_size = {
	.name = "stream-size",
	.type = OPT_SIZE,
	.offset = ARG(stream_size),
	.metavar = "SIZE",
	.help = "standard input will bring exactly SIZE bytes",
	.more = "The archive's header can then say how many chunks follow although it is "
		"written to a pipe, and older Bloscpack readers understand it.",
	.max = INT64_MAX,
};

static const struct bpk_opt *const options[] = {
	&bpk_opt_format_write,
	&opt_digits,
	&opt_level,
	&opt_codec,
	&opt_filter,
	&opt_typesize,
	&opt_chunk_size,
	&opt_block_size,
	&opt_checksum,
	&opt_no_offsets,
	&opt_append_space,
	&opt_metadata,
	&opt_set,
	&opt_compare,
	&opt_stream_size,
	&bpk_opt_stdout,
	&bpk_opt_output,
	&bpk_opt_output_dir,
	&bpk_opt_force,
	&bpk_opt_keep,
	&bpk_opt_rm,
	&bpk_opt_no_sync,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&bpk_opt_quiet,
	&bpk_opt_verbose,
	&bpk_opt_progress,
	&bpk_opt_json,
	&bpk_opt_help,
	NULL,
};

static const struct pack_args defaults = {
	.level = BPK_AUTO,
	.typesize = BPK_AUTO,
	.filter = BPK_AUTO,
	.append_space = BPK_UNKNOWN,
	.stream_size = BPK_UNKNOWN,
};

const struct bpk_command bpk_command_pack = {
	.name = "pack",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "pack files, or standard input, into archives",
	.description =
		"Packs each FILE into FILE.blp beside it and keeps FILE. Without FILE, or with "
		"-, packs standard input to standard output. Element size, filter, chunk and "
		"block size are chosen by trial on samples; -v says what was chosen and why.",
	.operands = OPERANDS_FILES,
	.options = options,
	.args_size = sizeof(struct pack_args),
	.defaults = &defaults,
	.run = NULL,
};
