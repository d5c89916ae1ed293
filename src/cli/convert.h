/*
 * A conversion, from its options to the new archive: convert.c reads the command line,
 * convert_work.c does the work. One thread.
 */
#ifndef BPK_CLI_CONVERT_H
#define BPK_CLI_CONVERT_H

#include "cli/encoding.h"
#include "cli/transfer.h"

/* One conversion on its way. */
struct bpk_convert {
	const char *command;
	const char *path; /* of the source */
	const struct bpk_args *args;
	struct bpk_shared
		shared; /* the transfer's: names the target, and no format for the source */
	const struct bpk_format *format; /* of the target; NULL: that of the source */
	bool in_place;                   /* the target is the source */
	bool retune;                     /* the packing is chosen as if nothing were packed */
	bool seal, identity;             /* the target gets them */
	struct bpk_input in;
	struct bpk_input content; /* the raw content of in; not opened if chunks are copied */
	uint64_t raw_size;
	struct bpk_pipeline pipeline; /* of the source's first chunk, where that is kept */
	bool counted;                 /* of a pipe: the counts of its first archive are the plan */
	const char *obstacle;         /* why chunks are recompressed; NULL: they are copied */
	struct bpk_transfer transfer;
	struct bpk_packing packing;   /* if they are recompressed */
	struct bpk_division division; /* of an array, where the target has such */
	struct bpk_ident_less less;   /* metadata without the identity, or with another one */
	bool loses_ident;             /* which there was */
};

/*
 * Open the archive at path and convert it. command, args, shared, format and transfer are set; the
 * caller clears the rest, also after a failure. Errors name the input or the output.
 */
int bpk_convert_run(struct bpk_convert *c, const char *path, struct bpk_err *err);

/* Leave the source's identity out of the info of the target if that has another content, or add a
 * new one. The recipe is chosen. */
int bpk_convert_judge_ident(struct bpk_convert *c, struct bpk_info *info, struct bpk_err *err);

#endif
