/*
 * Telling streams apart before a codec is called on them. Simulation data shuffled into byte planes
 * is a few planes of structure among planes of noise ("Measured: the planes decide"): noise is
 * stored at the cost of a glance, and a codec's full effort is kept for what repays it.
 */
#ifndef BPK_CHUNK_NOISE_H
#define BPK_CHUNK_NOISE_H

#include "chunk/codec/codec.h"

enum bpk_stream_kind {
	BPK_STREAM_RUN,       /* one byte, repeated: any effort packs it as well */
	BPK_STREAM_NOISE,     /* the codec would save next to nothing */
	BPK_STREAM_SKEWED,    /* few bytes are frequent, but no four repeat: in a byte plane, the
			       * least effort of a codec that codes entropy packs it as well */
	BPK_STREAM_STRUCTURE, /* repeats, or cannot be told */
};

/* True for one byte, repeated; stops reading where it differs. */
bool bpk_is_run(struct bpk_view stream);

/*
 * What a stream looks like to a codec that finds repeats and, if entropy is true, codes frequent
 * bytes in fewer bits. Reads all of a run and a sample of anything else; the answer follows from
 * the bytes alone.
 */
enum bpk_stream_kind bpk_stream_kind(struct bpk_view stream, bool entropy);

/* Which matches are worth taking in a stream for a codec that codes frequent bytes in fewer bits.
 * Looks at a sample; the answer follows from the bytes alone. */
enum bpk_matches bpk_stream_matches(struct bpk_view stream);

#endif
