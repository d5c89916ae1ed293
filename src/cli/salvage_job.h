/*
 * A damaged archive, its chunks, and the new archive that is made of them. Between salvage.c,
 * salvage_save.c and merge.c, for the main thread alone.
 */
#ifndef BPK_CLI_SALVAGE_JOB_H
#define BPK_CLI_SALVAGE_JOB_H

#include "cli/side.h"

/* An archive and the chunks that were found in it. Valid when zeroed. */
struct bpk_salvage_job {
	const struct bpk_shared *shared;
	struct bpk_input in;
	const struct bpk_format *format;
	uint64_t generation; /* of a directory, before it is searched */
	struct bpk_salvage found;
	enum bpk_fill fill;
	uint64_t lost; /* chunks */
	uint64_t guessed;
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

	/* of copies; NULL: in is a single archive */
	struct bpk_merge *merge;
	bool is_whole; /* and their union is written byte by byte */
	bool is_saved; /* and the result is in its place */
	bool has_like; /* like has permissions and time for it */
	struct stat like;
};

/* The format whose chunks are searched for, by content, option, or name; NULL: none. */
const struct bpk_format *bpk_salvage_format(const struct bpk_input *in);

/* A change that was interrupted is settled first; a list that is not used may explain damage. */
bool bpk_salvage_has_leftover(const struct bpk_place *place);

/* Search, show, and with applies save. Fails with the verdict: BPK_CORRUPT, BPK_REPAIRABLE. */
int bpk_salvage_run(struct bpk_salvage_job *job, bool applies, struct bpk_err *err);

void bpk_salvage_job_clear(struct bpk_salvage_job *job);

/* Write the new archive to --output. */
int bpk_salvage_save(struct bpk_salvage_job *job, struct bpk_err *err);

/* True if it is not the array that the old one was, since chunks are left out. */
bool bpk_salvage_loses_array(const struct bpk_salvage_job *job);

#endif
