/*
 * Inside the room chunk, among the files that unpack: decode.c opens a chunk and chooses its
 * blocks, decode_block.c unpacks one block, decode_stream.c takes its streams, decode_variable.c
 * finds blocks that say their own size, decode_special.c fills what needs no blocks,
 * decode_pieces.c says how a large chunk is unpacked range by range.
 */
#ifndef BPK_CHUNK_DECODE_H
#define BPK_CHUNK_DECODE_H

#include "chunk/block.h"

/* One call's work on one chunk; all of the chunk that its packed size names is there. */
struct bpk_decoding {
	struct bpk_chunk_ctx *ctx;
	struct bpk_chunk_header header;
	struct bpk_view chunk;
	const struct bpk_codec *codec;
	struct bpk_view dictionary; /* within the chunk, if the header says that there is one */
	uint32_t data;            /* where blocks may begin: behind their starts and a dictionary */
	uint64_t unused;          /* stream bytes not yet taken: each belongs to one block only */
	bool split;               /* the rule in force: the header's, or the salvaged one */
	bool settled;             /* a full block has proved the rule */
	const uint8_t *reference; /* the raw bytes of block 0, for delta; NULL while it is made */
};

/* One block while its streams are taken. */
struct bpk_block {
	struct bpk_decoding *d;
	uint32_t number;
	struct bpk_cursor cursor;
	size_t size;
	unsigned nstreams, stream; /* the number of the stream last begun */
	size_t stream_size;        /* raw */
	bool kept_taken;           /* it uses the plane kept of another byte than zero */
	struct bpk_filter_block filtered;
	struct bpk_pipeline pipeline; /* what of the chunk's does anything to this block */
};

/* What stands for a stream in the chunk. */
struct bpk_stream {
	struct bpk_view
		packed; /* raw bytes when as many as the stream's; data NULL: a run of byte */
	uint8_t byte;
};

/* Take the next stream, number of the block. Fails with BPK_CORRUPT. */
int bpk_stream_take(struct bpk_block *b, unsigned number, struct bpk_stream *stream,
		    struct bpk_err *err);

/* The part lo..hi of one stream, not empty, counted from the stream's own start, to out. */
int bpk_stream_part(struct bpk_block *b, const struct bpk_stream *stream, size_t lo, size_t hi,
		    uint8_t *out, struct bpk_err *err);

/* The bytes lo..hi of a block as its streams have them; streams outside stay packed. */
int bpk_streams_read(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err);

/* Block number, size bytes long, whose nstreams streams lie at the start of bytes. */
void bpk_block_init(struct bpk_block *b, struct bpk_decoding *d, uint32_t number,
		    struct bpk_view bytes, size_t size, unsigned nstreams);

/*
 * The bytes lo..hi of an initialised block, not empty, counted from the block's start. Only a chunk
 * that was tampered with takes more stream bytes than it has: work stays bounded. out is NULL: they
 * are unpacked stream by stream, as bpk_chunk_prove has it. Fails with BPK_CORRUPT, BPK_NO_MEMORY
 * or, in a proof, BPK_LIMIT.
 */
int bpk_block_read(struct bpk_block *b, size_t lo, size_t hi, uint8_t *out, struct bpk_err *err);

/* Read the header of a chunk that is all there. ctx may be NULL for who only looks. Fails as
 * bpk_chunk_decode. */
int bpk_decoding_open(struct bpk_decoding *d, struct bpk_chunk_ctx *ctx, struct bpk_view in,
		      struct bpk_err *err);

/* Find the dictionary of a chunk that has blocks, and where they may begin. */
int bpk_decoding_find_blocks(struct bpk_decoding *d, struct bpk_err *err);

/* Is it not yet known whether the first full block has one stream, or one for each byte? */
bool bpk_decoding_may_salvage(const struct bpk_decoding *d);

/* Make block number of a chunk with blocks of one size ready to be read. Fails with BPK_CORRUPT. */
int bpk_block_open(struct bpk_decoding *d, uint32_t number, struct bpk_block *b,
		   struct bpk_err *err);

/* Take the streams of an opened block without unpacking them. *runs becomes false unless all are
 * runs, and any part of what the filters make of them costs no more than its own size. Fails with
 * BPK_CORRUPT, as bpk_block_read. */
int bpk_block_survey(struct bpk_block *b, bool *runs, struct bpk_err *err);

/* Check block number's start ("Validation", item 13), and return it. */
int bpk_block_start(const struct bpk_decoding *d, uint32_t number, uint32_t *start,
		    struct bpk_err *err);

/* The raw bytes start .. start + out.size, which lie in the chunk, of blocks of variable length. */
int bpk_variable_read(struct bpk_decoding *d, uint64_t start, struct bpk_span out,
		      struct bpk_err *err);

/* The same of a special chunk. */
void bpk_special_read(const struct bpk_chunk_header *header, struct bpk_view chunk, uint64_t start,
		      struct bpk_span out);

#endif
