/*
 * Packing, from its options to an archive: pack.c reads the command line, pack_work.c does the
 * work. Each struct belongs to one thread.
 */
#ifndef BPK_CLI_PACK_H
#define BPK_CLI_PACK_H

#include "cli/encoding.h"
#include "cli/operands.h"
#include "cli/transfer.h"

struct bpk_pack_args {
	struct bpk_args common;
	bool compare;
	uint64_t stream_size;
	const char *dtype;
	struct bpk_opt_shape shape;
	bool as_array;
	bool predict;
	uint64_t key_frames; /* 0 */
	const char *metadata;
	struct bpk_opt_list set;
	bool plain;
	bool seal;
	bool identity;
	const char *parity; /* P%; NULL: none */
};

/* The things that an archive takes over from the one that it replaces. Valid when zeroed: nothing
 * is there. */
struct bpk_pack_old {
	bool seal, identity; /* the old one has it, and so will the new one */
	uint64_t generation; /* of the seal */
	unsigned checksum;   /* of the seal; an index in bpk_checksums, for ranks of a team */
	struct bpk_buf lost; /* lines that say why something is not taken over */
};

/* One pack on its way. */
struct bpk_pack {
	const struct bpk_pack_args *args;
	unsigned parity; /* hundredths of a percent; 0: none, unless an old archive had some */
	const struct bpk_format *format;
	struct bpk_dtype dtype;  /* size 0: not given */
	struct bpk_array array;  /* of the input, if there is a dtype */
	struct bpk_buf metadata; /* empty: no metadata */
	struct bpk_known *known; /* choices of all inputs; NULL: there is one input */
	bool one_tree;           /* all operands lie below one directory */
	const struct stat *like; /* the result is no more public than this file; NULL: the input */
	struct bpk_input in;
	struct bpk_place body; /* the part of the input that is packed; no source: all of it */
	struct bpk_transfer transfer;
	struct bpk_packing packing;
	struct bpk_cuts cuts;               /* empty: the choice holds for all chunks */
	struct bpk_predictions predictions; /* empty without --predict */
	struct bpk_division division;       /* of the array, if the format divides arrays */
	struct bpk_plan plan;
	struct bpk_pack_old old;
	/* with an identity: of the content; and the file's own metadata, with room for its
	 * record */
	struct bpk_ident tree;
	struct bpk_leaves leaves;
	struct bpk_buf text;
};

/* Check that the filters can be obeyed for items of the dtype, if it is known. Fails with
 * BPK_USAGE. */
int bpk_pack_check_type(const struct bpk_pack *pack, struct bpk_err *err);

/*
 * With --as-array: take dtype and array from the head of the input, an .npy file, and let the
 * input's reader continue behind it. Errors name the input.
 */
int bpk_pack_read_head(struct bpk_pack *pack, struct bpk_err *err);

/* Describe the array that the input holds, if it has a dtype. Its size is that of the input if
 * nothing else gives it. Errors name the input. */
int bpk_pack_describe_array(struct bpk_pack *pack, uint64_t *raw_size, struct bpk_err *err);

/* ---- The archive that is replaced (pack_old.c) ---- */

/* Set old, which is zeroed: once the draft is open, which replaces the target. Fails if it could
 * not be looked at; damage is a line in old. Errors name the target. */
int bpk_pack_look_at_old(struct bpk_pack *pack, struct bpk_err *err);

/* True if the archive gets a seal, or an identity: by its option, or as the old one had it. */
bool bpk_pack_seals(const struct bpk_pack *pack);
bool bpk_pack_identifies(const struct bpk_pack *pack);

const struct bpk_checksum *bpk_pack_checksum(const struct bpk_pack *pack);

/* The reason, behind the word identity, why there can be none; NULL: there can. */
const char *bpk_pack_identity_obstacle(const struct bpk_pack *pack);

/* The writer's open failed with err. Leave out a seal that no option asks for, if there can be
 * none: to be opened once more. Else fails with the same err. */
int bpk_pack_lose_seal(struct bpk_pack *pack, struct bpk_err *err);

/* Give old of rank 0 to all ranks, but for lines. */
void bpk_pack_share_old(struct bpk_pack *pack, struct bpk_team *team);

/* Note the things that were not taken over, unless the user wants no notes. */
void bpk_pack_tell_old(const struct bpk_pack *pack);

/* ---- The identity (pack_ident.c): without one only the metadata are looked at ---- */

/* Check that the metadata can take it. Fails with BPK_USAGE. */
int bpk_pack_check_identity(const struct bpk_pack *pack, struct bpk_err *err);

/* Set text, for the writer that is opened next. */
int bpk_pack_announce_identity(struct bpk_pack *pack, struct bpk_err *err);

/* Let flow find it, whose writer is open; and record it. Errors name the output. */
int bpk_pack_begin_identity(struct bpk_pack *pack, struct bpk_flow *flow, struct bpk_err *err);
int bpk_pack_end_identity(struct bpk_pack *pack, struct bpk_err *err);

void bpk_pack_clear_identity(struct bpk_pack *pack);

/* The source to pack: the input, or its part. */
struct bpk_source *bpk_pack_source(const struct bpk_pack *pack);

/* Pack the file at path, "-" is standard input; arg is a struct bpk_pack whose args, format, dtype
 * and metadata are set. Failures are reported. */
void bpk_pack_one(void *arg, const char *path);

/* How small files are packed beside each other, with the same arg; NULL if options forbid it. */
const struct bpk_beside *bpk_pack_beside(const struct bpk_pack *pack);

#endif
