/*
 * Classify streams before a codec is called. Simulation data shuffled into byte planes has a few
 * planes of structure among planes of noise ("Measured: the planes decide"). Noise is detected
 * cheaply and stored; the codec's full effort goes to the rest. Called by the encoder.
 */
#ifndef BPK_CHUNK_STREAM_KIND_H
#define BPK_CHUNK_STREAM_KIND_H

#include "chunk/codec/codec.h"

enum bpk_stream_kind {
	BPK_STREAM_RUN,   /* one repeated byte: every level packs it equally well */
	BPK_STREAM_NOISE, /* compression would save next to nothing */
	/* few frequent bytes without repeats of four: in a byte plane, the fastest level of an
	 * entropy codec is enough */
	BPK_STREAM_SKEWED,
	BPK_STREAM_STRUCTURE, /* repeats, or unknown */
};

/* True for one repeated byte; stops at the first difference. */
bool bpk_stream_is_run(struct bpk_view stream);

/*
 * Classify a stream for a codec that finds repeats and, if span is not 0, codes the frequent bytes
 * of each span bytes (2048 at least) in fewer bits. Reads all of a run and a sample of anything
 * else. The result depends on the bytes only.
 */
enum bpk_stream_kind bpk_stream_kind(struct bpk_view stream, size_t span);

/* The matches that pay in a stream for a codec with an entropy stage. Reads a sample; the result
 * depends on the bytes only. */
enum bpk_matches bpk_stream_matches(struct bpk_view stream);

#endif
