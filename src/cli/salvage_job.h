/*
 * A damaged archive, its chunks, and the new archive that is made of them. Between the files
 * salvage*.c and merge.c, for the main thread alone.
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
	/* Of an uneven archive: the raw offset of each chunk, and the end; unknown behind a lost
	 * one whose size does not follow from the whole. Else NULL. */
	uint64_t *starts;
	uint64_t guessed;
	bool proves_ident;   /* the identity that was recorded is that of the content */
	bool loses_ident;    /* or it is not that of the result */
	uint64_t ident_size; /* raw bytes that it is of, if all chunks together have others; or 0 */
	struct bpk_ident_range
		refuted;            /* raw bytes of intact chunks that it contradicts, or none */
	uint64_t replaced;          /* of these chunks, by raw data that it proves */
	uint64_t unproven;          /* and chunks that no digest proves, by raw data */
	uint64_t same;              /* chunks that are equal to the raw data */
	struct bpk_ident_less less; /* then: the metadata without it */
	struct bpk_draft *draft;
	void *writer;
	uint64_t nput;
	struct bpk_parcel parcel;
	const char *from;       /* path of the raw data, or NULL */
	struct bpk_source *raw; /* and they, open; NULL without them */
	bool by_raw;            /* they have told the numbers of chunks */
	const char *raw_doubt;  /* why those are not certain, static; or NULL */
	uint64_t raw_lacking;   /* strays of found that are no chunk of them */
	struct bpk_side side;   /* beside an archive that may be restored by it; else zeroed */
	bool has_state;         /* it may restore another state, which is that if chunks are lost */
	bool is_judged;         /* its parity was, and restores nothing */
	bool yields;            /* or if it lacks none of them, and has parts that are lost here */
	bool is_moved;          /* the seal says that some chunks are not at their places */
	bool is_untested;       /* or it cannot tell */
	struct bpk_chunk_ctx *ctx;
	struct bpk_recipe recipe; /* of the first intact chunk */
	struct bpk_buf proof;
	struct bpk_buf text; /* metadata of the new archive */

	/* of copies; NULL: in is a single archive */
	struct bpk_merge *merge;
	/* The highest generation of their seals, 0: none has one; its path; others are lower. */
	uint64_t newest;
	const char *newest_path;
	bool differ;
	bool untold;    /* some copy has no seal, or one without a generation */
	bool in_doubt;  /* they differ, or may be of two states, and none is proven */
	bool is_whole;  /* and their union is written byte by byte */
	bool is_saved;  /* and the result is in its place */
	bool is_mapped; /* the map was printed, or is for the record */
	bool has_like;  /* like has permissions and time for it */
	struct stat like;
};

/* The doubt about data files that are exchangeable (format.h). */
#define BPK_DOUBT_FILES      "data files that were swapped or copied would not show"
#define BPK_DOUBT_FILES_LOST BPK_DOUBT_FILES " while chunks are lost"

/* The format whose chunks are searched for, by content, option, or name; NULL: none. */
const struct bpk_format *bpk_salvage_format(const struct bpk_input *in);

/* True if repair saves chunks of an open input. */
bool bpk_salvage_serves(const struct bpk_input *in);

/* A clause before the next step: the sources that restore the content of the recorded identity.
 * Empty if repair saves no chunks of the input. */
const char *bpk_salvage_restorers(const struct bpk_input *in);

/* A change that was interrupted is settled first; a list that is not used may explain damage. */
bool bpk_salvage_has_leftover(const struct bpk_place *place);

/* Say that the bytes behind a sealed archive are left out (bpk_input_leave_rest). */
void bpk_salvage_tell_rest(const struct bpk_input *in);

/* Find the chunks and their places, with --from by the raw data, too. Fails if the machine does, or
 * the archive is one of several in its file (BPK_UNSUPPORTED). */
int bpk_salvage_find_chunks(struct bpk_salvage_job *job, struct bpk_err *err);

/* Search, show, and with applies save. Fails with the verdict: BPK_CORRUPT, BPK_REPAIRABLE. */
int bpk_salvage_run(struct bpk_salvage_job *job, bool applies, struct bpk_err *err);

void bpk_salvage_job_clear(struct bpk_salvage_job *job);

/* Print the map of the chunks that were found, or of the union of copies; with --json the record
 * has it, which follows all messages. */
void bpk_salvage_map(struct bpk_salvage_job *job);

/* Begin that record, if there is a map. */
void bpk_salvage_record(const struct bpk_salvage_job *job);

/* Write the new archive to --output. */
int bpk_salvage_save(struct bpk_salvage_job *job, struct bpk_err *err);

/* Fails with BPK_FAILED if the raw data differ from an intact chunk. */
int bpk_salvage_agree(struct bpk_salvage_job *job, struct bpk_err *err);

/* Compare an archive of which no chunk is damaged with the raw data of from, if the numbers of its
 * chunks are certain: chunks may be swapped, or their digests renewed. Fails with BPK_FAILED if
 * they differ. */
int bpk_salvage_compare_whole(struct bpk_salvage_job *job, struct bpk_err *err);

/* Raw bytes of the archive, as far as chunks tell; unknown if some that differ in size are lost. */
static inline uint64_t bpk_salvage_raw_size(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;

	if (job->starts != NULL)
		return job->starts[found->nchunks];
	return found->nchunks == 0 ? 0
				   : (found->nchunks - 1) * (uint64_t)found->chunk_size +
					     bpk_salvage_last_size(found);
}

/* True if the places of all chunks that were found are certain, and no checksum of them is lost. */
static inline bool bpk_salvage_is_certain(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;

	return !job->in_doubt &&
	       (job->is_whole || (found->counted && !found->estimated && !found->disordered &&
				  !found->unnoticed && !found->maybe_array));
}

/* Raw offset and size of chunk number; unknown behind lost chunks of unknown size. */
static inline uint64_t bpk_salvage_start(const struct bpk_salvage_job *job, uint64_t number)
{
	return job->starts != NULL ? job->starts[number] : number * job->found.chunk_size;
}

static inline uint64_t bpk_salvage_size(const struct bpk_salvage_job *job, uint64_t number)
{
	const struct bpk_salvage *found = &job->found;

	if (job->starts != NULL)
		return job->starts[number] == BPK_UNKNOWN || job->starts[number + 1] == BPK_UNKNOWN
			       ? BPK_UNKNOWN
			       : job->starts[number + 1] - job->starts[number];
	return number + 1 == found->nchunks ? bpk_salvage_last_size(found) : found->chunk_size;
}

/* True if it is an array, or may be one, and its shape is lost. */
static inline bool bpk_salvage_lacks_shape(const struct bpk_salvage *found)
{
	return found->maybe_array || (found->shaped && found->gather == NULL);
}

/* Set starts. */
int bpk_salvage_place(struct bpk_salvage_job *job, struct bpk_err *err);

/* True if lost chunks have unknown sizes, so that neither zeros nor raw data stand for them. */
bool bpk_salvage_lacks_size(const struct bpk_salvage_job *job);

/* Unpack the chunk in the parcel into proof. The line on failure does not name the archive. */
int bpk_salvage_unpack(struct bpk_salvage_job *job, struct bpk_chunk_ctx *ctx,
		       const struct bpk_saved *saved, struct bpk_err *err);

/* Compare the chunks with the seal as far as that can be while some are lost: sets is_moved and
 * disordered. */
int bpk_salvage_test_peaks(struct bpk_salvage_job *job, struct bpk_err *err);

/* True if all chunks are there, of one copy, and digests over all of them judge their order. */
bool bpk_salvage_has_judge(const struct bpk_salvage *found);

/* Compare the numbers that the raw data have told with digests over all chunks, or the seal: sets
 * raw_doubt and disordered. */
int bpk_salvage_test_numbers(struct bpk_salvage_job *job, struct bpk_err *err);

/* Judge the numbers and the content of the chunks: adds doubts to found, and sets counted and
 * disordered where the identity, the seal or the copies tell. */
int bpk_salvage_settle(struct bpk_salvage_job *job, struct bpk_err *err);

/* Open the raw data of from: sets raw. If they have the bytes of each intact chunk these get the
 * numbers that they have there, unless other ones are proven. */
int bpk_salvage_open_raw(struct bpk_salvage_job *job, struct bpk_err *err);

/* Test that the raw data, or those of an .npy file, are as many bytes as the archive has, and that
 * the places of its chunks are known. */
int bpk_salvage_check_raw(struct bpk_salvage_job *job, struct bpk_err *err);

/* Bring the size raw bytes of a chunk out of the raw data into the parcel. */
int bpk_salvage_read_raw(struct bpk_salvage_job *job, uint64_t number, uint32_t size,
			 struct bpk_err *err);

/* Compare the identity that the archive records with the content of its chunks, some of which may
 * be lost: sets proves_ident and refuted. */
int bpk_salvage_prove(struct bpk_salvage_job *job, struct bpk_err *err);

/* And with the raw data: sets proves_ident. */
int bpk_salvage_prove_raw(struct bpk_salvage_job *job, struct bpk_err *err);

/* True if it is not the array that the old one was, since chunks are left out, or lost with their
 * number. */
bool bpk_salvage_loses_array(const struct bpk_salvage_job *job);

#endif
