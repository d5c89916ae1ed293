/*
 * Packing, from its options to an archive: pack.c knows the command line, pack_work.c does what it
 * asks for. One thread.
 */
#ifndef BPK_CLI_PACK_H
#define BPK_CLI_PACK_H

#include "cli/encoding.h"
#include "cli/job.h"

struct bpk_pack_args {
	struct bpk_encoding_args encoding;
	bool compare;
	uint64_t stream_size;
	const char *dtype;
	struct bpk_opt_shape shape;
	const char *metadata;
	struct bpk_opt_list set;
};

/* One pack on its way. */
struct bpk_pack {
	const struct bpk_pack_args *args;
	const struct bpk_format *format;
	struct bpk_dtype dtype;  /* size 0: none was given */
	struct bpk_array array;  /* of the input, if there is a dtype */
	struct bpk_buf metadata; /* empty: none */
	struct bpk_input in;
	struct bpk_job job;
	struct bpk_choice choice;
	struct bpk_division division; /* of the array, where the format has such */
	bool divided;
	struct bpk_plan plan;
};

/* Does the format tell of an array in the metadata alone? */
bool bpk_pack_array_in_metadata(const struct bpk_format *format);

/* Pack what path names, "-" standard input; arg is a struct bpk_pack whose args, format, dtype and
 * metadata are set. What fails is reported. */
void bpk_pack_one(void *arg, const char *path);

#endif
