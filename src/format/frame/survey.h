/*
 * Surveys of the payload of a frame, inside the room.
 */
#ifndef BPK_FORMAT_FRAME_SURVEY_H
#define BPK_FORMAT_FRAME_SURVEY_H

#include "format/frame/reader.h"

/* A summary of the payload of a frame, from its chunks' headers. */
struct bpk_frame_survey {
	uint64_t raw_size;    /* of all chunks */
	uint64_t packed_size; /* of stored chunks, each counted once */
	uint64_t nstored;     /* stored chunks */
	uint64_t nholes;      /* contiguous: runs of unreferenced bytes ... */
	uint64_t hole_size;   /* ... and their total size, including those before the trailer */
	uint64_t nshared;     /* chunks at the same place as another one */
	uint64_t noverlaps;   /* chunks that share some of their bytes with another one */
	uint64_t first_overlap[2]; /* numbers of such chunks */
	struct bpk_err excess;     /* sparse: damage, bytes behind a chunk in its file */
	bool variable_blocks;      /* a chunk has blocks of variable length */
	uint64_t ntypes;           /* chunks with another typesize than the header's ... */
	uint64_t first_type;       /* ... the number of the first one, and its typesize */
	unsigned typesize;
	uint64_t nuneven; /* chunks, except the last, that are shorter than chunk_size */
};

/* Look up a chunk, as bpk_frame_look does. */
typedef int bpk_frame_look_fn(void *arg, struct bpk_frame_reader *reader, uint64_t number,
			      struct bpk_frame_found *found, struct bpk_err *err);

/*
 * Examine every chunk's header, looked up by look; survey_here: in the state at open. Takes time
 * n log n, and up to 1 MiB of memory, and 16 bytes for each chunk that lies behind one of a higher
 * number, if these are far from each other. Fails like look.
 */
int bpk_frame_survey_by(struct bpk_frame_reader *reader, bpk_frame_look_fn *look, void *arg,
			struct bpk_frame_survey *survey, struct bpk_err *err);
int bpk_frame_survey_here(struct bpk_frame_reader *reader, struct bpk_frame_survey *survey,
			  struct bpk_err *err);

#endif
