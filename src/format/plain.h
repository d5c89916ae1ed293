/*
 * Inside the room format: the two formats of one plain file, raw bytes and one bare Blosc chunk.
 */
#ifndef BPK_FORMAT_PLAIN_H
#define BPK_FORMAT_PLAIN_H

#include "format/format.h"

extern const struct bpk_reader_ops bpk_raw_reader_ops;
extern const struct bpk_reader_ops bpk_chunkfile_reader_ops;

/*
 * The raw writer writes the wanted bytes of each parcel. It places them at their raw_offset if the
 * draft seeks and info has raw_size and chunk_size: the whole of the data. To write a range of the
 * data leave chunk_size unknown; parcels are then written in order.
 */
extern const struct bpk_writer_ops bpk_raw_writer_ops;

#endif
