/*
 * An archive as text: its fields and its chunks. info.c writes the same as JSON. Called by info.
 */
#ifndef BPK_CLI_DESCRIBE_H
#define BPK_CLI_DESCRIBE_H

#include "cli/transfer.h"

enum { BPK_FILTERS_TEXT = BPK_PREDICTION_TEXT + BPK_PIPELINE_TEXT };

/* "zstd" ("lz4" for lz4hc too where headers do not tell them apart), "stored" for chunks that hold
 * raw bytes, "zeros" and so on for special ones, "-" when there is no chunk. */
const char *bpk_describe_codec(const struct bpk_chunk_header *header);

/* "zeros", "nan", "value", "uninit"; NULL for a chunk that is not special. */
const char *bpk_describe_special(const struct bpk_chunk_header *header);

/* "shuffle", "none", or several with commas, "predict:1" in front of them; "-" if filters have no
 * meaning for the chunk. */
const char *bpk_describe_filters(const struct bpk_chunk_header *header, char out[BPK_FILTERS_TEXT]);

/* Raw bytes of an archive's content. If the chunks of an array are read as stored, with their
 * padding, the size of the array. */
uint64_t bpk_describe_raw_size(const struct bpk_info *info);

/* Leave out columns of the list so that it fits into so many columns of a terminal beside names of
 * name bytes, as far as it can; the numbers and the name stay. 0: all fit. */
void bpk_describe_fit(size_t columns, size_t name);

/* One line of a list of archives; the line of titles above it; the line of totals below. */
void bpk_describe_titles(void);
void bpk_describe_line(const struct bpk_input *in);
void bpk_describe_totals(uint64_t files, uint64_t chunks, uint64_t packed, uint64_t raw);

/* Every field, one a line. */
void bpk_describe_fields(const struct bpk_input *in);

/* The number of chunks with a prediction; prints nothing for 0. */
void bpk_describe_prediction(uint64_t nchunks);

/* One chunk as a line of a table, and the number of equal ones that follow it; the titles above
 * it. */
void bpk_describe_chunk_titles(const struct bpk_info *info);
void bpk_describe_chunk(const struct bpk_info *info, uint64_t number, const struct bpk_where *where,
			uint64_t more);

#endif
