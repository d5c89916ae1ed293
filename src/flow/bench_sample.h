/*
 * The room of a sample's chunks, for bench.c; inside flow alone.
 */
#ifndef BPK_FLOW_BENCH_SAMPLE_H
#define BPK_FLOW_BENCH_SAMPLE_H

#include "flow/bench.h"

/* The room to pack a chunk: its bound, and that of a seal. Any thread. */
struct bpk_span bpk_bench_room(const struct bpk_bench_sample *sample,
			       const struct bpk_bench_chunk *chunk);

#endif
