/*
 * Internal to the decoder: decode_open.c opens a chunk, decode.c selects blocks, decode_block.c
 * decodes one block, decode_stream.c reads its streams, decode_variable.c finds variable-length
 * blocks, decode_special.c fills special chunks, decode_pieces.c chooses the pieces of a large
 * chunk.
 */
#ifndef BPK_CHUNK_DECODE_H
#define BPK_CHUNK_DECODE_H

#include "chunk/block.h"

/* The state of one call on one chunk. The chunk is complete up to its packed size. */
struct bpk_decoding {
	struct bpk_chunk_ctx *ctx;
	struct bpk_chunk_header header;
	struct bpk_view chunk;
	const struct bpk_codec *codec;
	struct bpk_view dictionary; /* within the chunk, if the header announces one */
	uint32_t data;   /* end of block starts, dictionary and prediction: blocks may begin here */
	uint64_t unused; /* stream bytes not yet used: each byte belongs to one block only */
	bool split;      /* the split rule in force: the header's, or the salvaged one */
	bool settled;    /* a full block has decoded under the rule */
	const uint8_t *reference; /* the raw bytes of block 0, for delta; NULL until decoded */
};

/* One block while its streams are read. */
struct bpk_block {
	struct bpk_decoding *d;
	uint32_t number;
	struct bpk_cursor cursor;
	size_t size;
	unsigned nstreams, stream; /* stream: the number of the current one */
	size_t stream_size;        /* raw */
	bool kept_taken;           /* the kept plane of a non-zero byte is in use by this block */
	struct bpk_filter_block filtered;
	struct bpk_pipeline pipeline; /* the chunk's filters that change this block */
};

/* The stored form of a stream. */
struct bpk_stream {
	struct bpk_view packed; /* raw if as long as the stream; NULL data: a run of byte */
	uint8_t byte;
};

/* Read stream number of the block, the next one. Fails with BPK_CORRUPT. */
int bpk_stream_take(struct bpk_block *b, unsigned number, struct bpk_stream *stream,
		    struct bpk_err *err);

/* Decode the first end bytes, at least, of a packed stream to out, which has room for all of it. */
int bpk_stream_head(struct bpk_block *b, struct bpk_view packed, size_t end, uint8_t *out,
		    struct bpk_err *err);

/* Decode bytes lo..hi of one stream, not empty, counted from the stream's start, to out. */
int bpk_stream_part(struct bpk_block *b, const struct bpk_stream *stream, size_t lo, size_t hi,
		    uint8_t *out, struct bpk_err *err);

/* Decode bytes lo..hi of a block in the layout of its streams; streams outside are not decoded. */
int bpk_streams_read(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err);

/* Set up block number, size bytes long, whose nstreams streams are at the start of bytes. */
void bpk_block_init(struct bpk_block *b, struct bpk_decoding *d, uint32_t number,
		    struct bpk_view bytes, size_t size, unsigned nstreams);

/*
 * Decode bytes lo..hi of a block that was set up, not empty, counted from the block's start. With
 * out NULL the streams are decoded and discarded (bpk_chunk_prove). Total work is bounded: blocks
 * that use more stream bytes than the chunk has fail. Fails with BPK_CORRUPT, BPK_NO_MEMORY or, in
 * a proof, BPK_LIMIT.
 */
int bpk_block_read(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err);

/* Read the header of a complete chunk. ctx may be NULL for callers that decode nothing. Fails as
 * bpk_chunk_decode. */
int bpk_decoding_open(struct bpk_decoding *d, struct bpk_chunk_ctx *ctx, struct bpk_view in,
		      struct bpk_err *err);

/* Find the dictionary or prediction of a chunk with blocks, and the first possible block start. */
int bpk_decoding_find_blocks(struct bpk_decoding *d, struct bpk_err *err);

/* True while the number of streams of the first full block is undecided: one, or one per byte. */
bool bpk_decoding_may_salvage(const struct bpk_decoding *d);

/* Open block number of a chunk with blocks of one size for reading. Fails with BPK_CORRUPT. */
int bpk_block_open(struct bpk_decoding *d, uint32_t number, struct bpk_block *b,
		   struct bpk_err *err);

/* Read the streams of an opened block without decoding them. Clears *runs unless all streams are
 * runs and the filters allow any part to be decoded at the cost of its own size. Fails with
 * BPK_CORRUPT, as bpk_block_read. */
int bpk_block_survey(struct bpk_block *b, bool *runs, struct bpk_err *err);

/* Read and check the start of block number ("Validation", item 13). */
int bpk_block_start(const struct bpk_decoding *d, uint32_t number, uint32_t *start,
		    struct bpk_err *err);

/* Decode the raw bytes start .. start + out.size, within the chunk, from variable-length blocks. */
int bpk_variable_read(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
		      struct bpk_err *err);

/* The same for a special chunk. */
void bpk_special_read(const struct bpk_chunk_header *header, struct bpk_view chunk, uint64_t start,
		      struct bpk_span out);

#endif
