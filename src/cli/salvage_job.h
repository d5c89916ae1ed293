/*
 * A damaged archive, its chunks, and the new archive that is made of them. Between salvage.c and
 * salvage_save.c, for the main thread alone.
 */
#ifndef BPK_CLI_SALVAGE_JOB_H
#define BPK_CLI_SALVAGE_JOB_H

#include "cli/transfer.h"

/* An archive and the chunks that were found in it. Valid when zeroed. */
struct bpk_salvage_job {
	const struct bpk_shared *shared;
	struct bpk_input in;
	const struct bpk_format *format;
	uint64_t generation; /* of a directory, before it is searched */
	struct bpk_salvage found;
	enum bpk_fill fill;
	uint64_t lost;              /* chunks */
	bool loses_ident;           /* the identity that was recorded is not that of the result */
	struct bpk_ident_less less; /* then: the metadata without it */
	struct bpk_draft *draft;
	void *writer;
	uint64_t nput;
	struct bpk_parcel parcel;
	const char *from;       /* path of the raw data, or NULL */
	struct bpk_source *raw; /* and they, open; NULL without them */
	struct bpk_chunk_ctx *ctx;
	struct bpk_recipe recipe; /* of the first intact chunk */
	bool has_recipe;
	struct bpk_buf proof;
	struct bpk_buf text; /* metadata of the new archive */
};

/* Write the new archive to --output. */
int bpk_salvage_save(struct bpk_salvage_job *job, struct bpk_err *err);

/* True if it is not the array that the old one was, since chunks are left out. */
bool bpk_salvage_loses_array(const struct bpk_salvage_job *job);

#endif
