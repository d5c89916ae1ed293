/*
 * Samples of an input, and the statistics of its bytes that separate groups; inside choose alone.
 */
#ifndef BPK_CHOOSE_SAMPLE_H
#define BPK_CHOOSE_SAMPLE_H

#include "choose/choose.h"

enum {
	BPK_SAMPLE_PIECE = 48 << 10, /* bytes of a piece, at most */
	BPK_SAMPLE_MAX_LAG = BPK_CHUNK_MAX_TYPESIZE,
	BPK_SAMPLE_GROUPS = 4, /* of regions that look unlike, at most */
	BPK_VIEWS = 8,         /* at most */
};

/* Runs of an input, each packed as one chunk in trials. */
struct bpk_views {
	size_t count;
	struct bpk_view all[BPK_VIEWS];
	unsigned ngroups; /* 1, or as many as views: then each is of a group of its own */
	/* the share of the input that each stands for; only ratios mean something */
	uint32_t weights[BPK_VIEWS];
};

/* Caller storage, for bpk_sample_clear. */
struct bpk_sample {
	/* spread over the input, not empty: one for each group, or a few of one group */
	struct bpk_views pieces;
	uint64_t offsets[BPK_VIEWS]; /* of each in the input */
	size_t size;                 /* of all pieces */
	struct bpk_view window; /* one run, from the middle of the input, or all of a small one */
	bool window_is_all;     /* a small input, or the head of a pipe */
	struct bpk_buf bytes;   /* holds them, unless they are peeked at */
};

/*
 * Take samples of source without moving its cursor: spread over all of it when it is seekable, else
 * from its head. raw_size may be unknown. Fails with BPK_FAILED or BPK_NO_MEMORY.
 */
int bpk_sample_take(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		    struct bpk_err *err);
void bpk_sample_clear(struct bpk_sample *sample);

/* About size bytes around a piece, read into buf unless the window is all. */
int bpk_sample_around(const struct bpk_sample *sample, struct bpk_source *source, size_t piece,
		      size_t size, struct bpk_buf *buf, struct bpk_view *run, struct bpk_err *err);

/*
 * How often a byte of some pieces (bit i: piece i) equals the one lag bytes before it, for every
 * lag up to BPK_SAMPLE_MAX_LAG (matches[0] is 0); *compared is how many bytes were looked at.
 */
void bpk_sample_lags(const struct bpk_sample *sample, uint32_t pieces,
		     uint32_t matches[BPK_SAMPLE_MAX_LAG + 1], uint32_t *compared);

/* True in *repeats if a long run of the window occurs in it twice, farther apart than a piece is
 * long: pieces show nearer repeats. Fails with BPK_NO_MEMORY. */
int bpk_sample_repeats_afar(const struct bpk_sample *sample, bool *repeats, struct bpk_err *err);

#endif
