/*
 * The two formats of one file each, inside the room: raw bytes, and one bare Blosc chunk.
 */
#ifndef BPK_FORMAT_PLAIN_H
#define BPK_FORMAT_PLAIN_H

#include "format/format.h"

extern const struct bpk_reader_ops bpk_raw_reader_ops;
extern const struct bpk_reader_ops bpk_chunkfile_reader_ops;

/*
 * The raw writer writes the wanted bytes of each parcel. It places them, each at its raw_offset,
 * when the draft seeks and info tells raw_size and chunk_size: the whole of the data. For a range
 * of it leave chunk_size unknown in the writer's info: then parcels are written in order.
 */
extern const struct bpk_writer_ops bpk_raw_writer_ops;

#endif
