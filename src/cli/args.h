/*
 * The arguments that several commands share, in groups. The arguments of a command that packs or
 * changes archives begin with struct bpk_args. The commands include it through encoding.h.
 */
#ifndef BPK_CLI_ARGS_H
#define BPK_CLI_ARGS_H

#include "cli/command.h"
#include "flow/flow.h"

/* The packing and layout of chunks: encoding.h. */
struct bpk_encoding_args {
	const struct bpk_codec *codec; /* NULL: not given, as everywhere below */
	int level, typesize;           /* BPK_AUTO */
	struct bpk_opt_filter filter;
	bool lossy, dictionary;
	uint64_t chunk_size, block_size;     /* 0 */
	const struct bpk_checksum *checksum; /* NULL */
	struct bpk_slack slack;              /* 0 */
	bool no_offsets;
	uint64_t append_space;    /* BPK_UNKNOWN */
	const char *layout;       /* NULL */
	uint64_t superchunk_size; /* 0 */
	struct bpk_opt_shape chunk_shape, block_shape;
};

/* The way to change an archive: edit.h. */
struct bpk_change_args {
	bool wait, no_lock, copy;
	bool reseal; /* new digests and a new seal are all of the change */
	uint64_t journal_limit;
};

enum { BPK_JOURNAL_LIMIT = 256 << 20 };

struct bpk_args {
	struct bpk_shared shared;
	struct bpk_encoding_args encoding;
	struct bpk_change_args change;
};

/* No option is given: for the defaults of a command. */
#define BPK_ARGS_DEFAULTS                                                                          \
	{                                                                                          \
		.encoding = { .level = BPK_AUTO,                                                   \
			      .typesize = BPK_AUTO,                                                \
			      .append_space = BPK_UNKNOWN },                                       \
		.change = { .journal_limit = BPK_JOURNAL_LIMIT },                                  \
	}

#endif
