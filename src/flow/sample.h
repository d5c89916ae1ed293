/*
 * Samples of an input, and what its bytes look like from afar; inside flow alone.
 */
#ifndef BPK_FLOW_SAMPLE_H
#define BPK_FLOW_SAMPLE_H

#include "flow/flow.h"

enum {
	BPK_SAMPLE_PIECES = 8, /* at most */
	BPK_SAMPLE_PIECE = 64 << 10,
	BPK_SAMPLE_WINDOW = 4 << 20, /* at most; a repeat farther away is not found */
	BPK_SAMPLE_MAX_LAG = BPK_CHUNK_MAX_TYPESIZE,
};

/* Caller storage, for bpk_sample_clear. */
struct bpk_sample {
	struct bpk_view pieces[BPK_SAMPLE_PIECES]; /* spread over the input, not empty */
	size_t npieces;
	size_t size;            /* of all pieces */
	struct bpk_view window; /* one run, from the middle of the input, or all of a small one */
	struct bpk_buf bytes;   /* holds them, unless they are peeked at */
};

/*
 * Take samples of source without moving its cursor: spread over all of it when it is seekable, else
 * from the first BPK_SAMPLE_WINDOW bytes. raw_size may be unknown. Fails with BPK_FAILED or
 * BPK_NO_MEMORY.
 */
int bpk_sample_take(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		    struct bpk_err *err);
void bpk_sample_clear(struct bpk_sample *sample);

/*
 * How often a byte of the pieces equals the one lag bytes before it, for every lag up to
 * BPK_SAMPLE_MAX_LAG (matches[0] is 0); *compared is how many bytes were looked at.
 */
void bpk_sample_lags(const struct bpk_sample *sample, uint32_t matches[BPK_SAMPLE_MAX_LAG + 1],
		     uint32_t *compared);

/* Do long runs of the window occur in it twice, too far apart for blocks of near bytes? */
bool bpk_sample_repeats_afar(const struct bpk_sample *sample, size_t near);

#endif
