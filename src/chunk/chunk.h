/*
 * The room chunk: one Blosc chunk, packed or unpacked, buffers in and buffers out. It knows
 * filters, blocks and inner codecs; it knows no files, threads or options, and holds no global but
 * the pointer to the vector kernels. All scratch is handed in as a context, one for each thread.
 * Source of every format fact here: the Blosc chunk format, whose sections are named at each fact.
 */
#ifndef BPK_CHUNK_CHUNK_H
#define BPK_CHUNK_CHUNK_H

#include "base/base.h"

enum {
	BPK_CHUNK_HEADER_SIZE = 16,          /* "Header": the 16 common bytes */
	BPK_CHUNK_EXTENDED_HEADER_SIZE = 32, /* the same and Blosc2's 16 more */
	BPK_CHUNK_MAX_RAW_SIZE = 2147483631, /* "Limits": 2^31-1-16 */
	BPK_CHUNK_MAX_TYPESIZE = 255,
	BPK_CHUNK_MAX_FILTERS = 6,
};

/* Filter numbers as the extended header has them; version 2 chunks know the first three. */
enum bpk_filter {
	BPK_FILTER_NONE = 0,
	BPK_FILTER_SHUFFLE = 1,
	BPK_FILTER_BITSHUFFLE = 2,
};

/* The name a user types ("none", "shuffle", "bitshuffle"); NULL for an unknown number. */
const char *bpk_filter_name(unsigned filter);

/* By name; -1 when there is no such filter. */
int bpk_filter_find(const char *name);

/* What a chunk's header says, once bpk_chunk_header_read has found it sound. */
struct bpk_chunk_header {
	unsigned version;      /* 2 */
	unsigned flags;        /* the flags byte as stored */
	unsigned typesize;     /* 1..255 */
	uint32_t header_size;  /* 16 */
	uint32_t raw_size;     /* nbytes, 0..BPK_CHUNK_MAX_RAW_SIZE */
	uint32_t block_size;   /* at least 1, at most raw_size unless that is 0 */
	uint32_t packed_size;  /* cbytes, header included */
	uint32_t nblocks;      /* 0 when memcpyed or empty: then there are no block starts */
	unsigned codec_format; /* see bpk_codec_format_name */
	bool memcpyed;         /* the payload is the raw bytes; codec and filters mean nothing */
	bool split;            /* full blocks hold typesize streams */
	uint8_t filters[BPK_CHUNK_MAX_FILTERS]; /* in the order in which packing applies them */
};

/*
 * Take a header from the first BPK_CHUNK_HEADER_SIZE bytes (or more) of a chunk and check all that
 * can be checked without the rest of it ("Validation", items 1 to 10). packed_size is not compared
 * with bytes.size: bpk_chunk_decode does that.
 * Fails with BPK_CORRUPT, or BPK_UNSUPPORTED (a version, codec or filter not built in, named).
 */
int bpk_chunk_header_read(struct bpk_view bytes, struct bpk_chunk_header *header,
			  struct bpk_err *err);

/* "zstd"; lz4 and lz4hc cannot be told apart: "lz4". "codec 5" for what is not built in. */
const char *bpk_codec_format_name(unsigned codec_format);

struct bpk_codec;

/* How to pack a chunk. Fixed while used; plain values, no ownership. */
struct bpk_recipe {
	const struct bpk_codec *codec; /* never NULL */
	unsigned level;                /* 0 (store) .. 9 */
	unsigned typesize;             /* 1..255 */
	enum bpk_filter filter;        /* version 2 chunks have at most one */
	uint32_t block_size;           /* 0: chosen from level, codec and typesize */
};

/*
 * A codec by the name a user types, NULL when there is none; the codec at position index of the
 * table, in the order in which help lists them, NULL behind the last; its name; and the version of
 * the library behind it, NULL for one of our own.
 */
const struct bpk_codec *bpk_codec_find(const char *name);
const struct bpk_codec *bpk_codec_at(size_t index);
const char *bpk_codec_name(const struct bpk_codec *codec);
const char *bpk_codec_library_version(const struct bpk_codec *codec);

/* The name of the vector kernels in use: "avx2". */
const char *bpk_chunk_simd(void);

/*
 * One thread's scratch and codec states. Grows to what the chunks need: at most a few block sizes
 * and the codecs' own states. Never shared between threads.
 */
struct bpk_chunk_ctx;

struct bpk_chunk_ctx *bpk_chunk_ctx_new(struct bpk_err *err);
void bpk_chunk_ctx_free(struct bpk_chunk_ctx *ctx); /* NULL is harmless */

/* The most bytes that a chunk of raw_size bytes can take: raw_size + 16 ("Writer profiles"). */
static inline size_t bpk_chunk_bound(size_t raw_size)
{
	return raw_size + BPK_CHUNK_HEADER_SIZE;
}

/*
 * Pack raw into one version 2 chunk ("Writer profiles", blosc1), readable by every Blosc 1.x and 2.
 * raw           0..BPK_CHUNK_MAX_RAW_SIZE bytes
 * out           at least bpk_chunk_bound(raw.size) bytes
 * packed_size   bytes of out used; what does not shrink is stored (memcpyed)
 * The same bytes come out on every machine and thread, as far as the codec libraries keep that:
 * lz4 packs otherwise on 32-bit and big-endian machines, lz4hc on the latter, and zstd at its own
 * levels 5 to 10 where a small block meets a library without SSE2 or NEON.
 * Fails with BPK_NO_MEMORY, or BPK_USAGE (a recipe or size out of range).
 */
int bpk_chunk_encode(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		     struct bpk_view raw, struct bpk_span out, size_t *packed_size,
		     struct bpk_err *err);

/*
 * Unpack one whole chunk.
 * in   the chunk with its header; bytes after packed_size are ignored
 * out  exactly the header's raw_size bytes; unspecified on failure
 * Fails with BPK_CORRUPT (a field leads outside the chunk, or a size contradicts another),
 * BPK_UNSUPPORTED (not built in), BPK_USAGE (out has another size) or BPK_NO_MEMORY.
 */
int bpk_chunk_decode(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_span out,
		     struct bpk_err *err);

/*
 * Unpack the raw bytes start .. start + out.size of a chunk, decoding only the blocks they lie in
 * ("Random access"). Fails as bpk_chunk_decode; BPK_USAGE when the range leaves the chunk.
 */
int bpk_chunk_decode_range(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start,
			   struct bpk_span out, struct bpk_err *err);

/*
 * Which packed bytes are needed for the raw bytes start .. start + size (size > 0), so that a
 * reader may leave the rest of a large chunk unread. Blocks lie in any order, and a block
 * ends where the next one begins.
 * head      the chunk's first bytes: header and all block starts (16 + 4 * nblocks bytes), or for
 *           a memcpyed chunk just the header
 * extent    called for every run of packed bytes needed, offset counted from the chunk's start,
 *           ascending and not overlapping; stops when it returns non-zero
 * Returns 0, what extent returned, or -1 with BPK_CORRUPT.
 */
int bpk_chunk_extents(struct bpk_view head, uint64_t start, uint64_t size,
		      int (*extent)(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err),
		      void *arg, struct bpk_err *err);

/*
 * Slack: room inside a chunk, that every reader skips. The size of the slot for a chunk of
 * packed_size bytes with reserve more: at most raw_size + 16, which any content fits; and
 * packed_size itself for a memcpyed chunk, which can have none (Bloscpack format, "Reserved space
 * for in-place modification").
 */
uint32_t bpk_chunk_slot(const struct bpk_chunk_header *header, uint64_t reserve);

/* Enlarge the chunk of packed_size bytes at chunk.data to chunk.size bytes: zeros behind it, and
 * its size field set. BPK_LIMIT when chunk.size is no size that it can have. */
int bpk_chunk_pad(struct bpk_span chunk, size_t packed_size, struct bpk_err *err);

/*
 * Write the empty chunk ("Chunk kinds"): BPK_CHUNK_HEADER_SIZE bytes at out. Ends a stream whose
 * length was not known when its header was written.
 */
void bpk_chunk_write_empty(unsigned typesize, uint8_t out[BPK_CHUNK_HEADER_SIZE]);

#endif
