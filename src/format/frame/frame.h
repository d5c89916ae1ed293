/*
 * Blosc2 frames, contiguous (one file) and sparse (a directory): an inner room of format. A
 * contiguous frame is
 *
 *     header (fixed part, fixed metalayers) | chunks, with holes | index chunk | trailer
 *
 * and a sparse one is the same without the chunks, as chunks.b2frame, beside a file for each chunk.
 * This header is what the files of the room share: the frame's parts taken apart and put together,
 * without any reading or writing of files. Numbers are big-endian; what stands in the index is
 * little-endian. Source of every fact here: the Blosc2 frame format, whose sections are named.
 */
#ifndef BPK_FORMAT_FRAME_FRAME_H
#define BPK_FORMAT_FRAME_FRAME_H

#include "format/format.h"

enum {
	BPK_FRAME_FIXED_SIZE = 87,   /* "Header": without the metalayer section */
	BPK_FRAME_FIXED_SIZE_1 = 82, /* of frame version 1 */
	BPK_FRAME_LEAST_HEADER = 97, /* with an empty section */
	BPK_FRAME_LEAST_TRAILER = 35,
	BPK_FRAME_TRAILER_TAIL = 23, /* from its length to the end */
	BPK_FRAME_COMMIT_START = 15, /* the bytes of a header that an append changes: frame_len */
	BPK_FRAME_COMMIT_END = 62,   /* to chunksize ("What modifications do") */
	BPK_FRAME_MAX_FIXED_LAYERS = 16,
	BPK_FRAME_MAX_LAYERS = 8192, /* that are read in a trailer */
	BPK_FRAME_MAX_LAYERS_WRITTEN = 16,
	BPK_FRAME_MAX_NAME = 31,
	BPK_FRAME_MAX_CHUNKS = 268435455,
};

/* ---- Layers: metadata by name ---- */

/* Owns name and content. Valid when zeroed. */
struct bpk_frame_layer {
	char name[BPK_FRAME_MAX_NAME + 1];
	struct bpk_buf content; /* unpacked */
};

struct bpk_frame_layers {
	struct bpk_frame_layer *all;
	size_t count;
};

void bpk_frame_layers_clear(struct bpk_frame_layers *layers);

/* By name; NULL when there is none. */
struct bpk_frame_layer *bpk_frame_layers_find(const struct bpk_frame_layers *layers,
					      const char *name);

/* Set one, at its place or behind the last; content is copied. BPK_LIMIT: a name of more than 31
 * bytes (none is legal). */
int bpk_frame_layers_set(struct bpk_frame_layers *layers, const char *name, struct bpk_view content,
			 struct bpk_err *err);
void bpk_frame_layers_remove(struct bpk_frame_layers *layers, const char *name);

/* Layers of ours, which layers in the bpk_info leave out: the digests (digest.c), and an array's
 * geometry, which is told as array, chunk_shape and block_shape ("b2nd metalayer"; read under its
 * older name too). */
#define BPK_FRAME_DIGESTS "bpk_digests"
#define BPK_FRAME_B2ND    "b2nd"
#define BPK_FRAME_CATERVA "caterva"

bool bpk_frame_layer_is_ours(const char *name);

/* ---- Header ---- */

/* A header taken apart; for clear. */
struct bpk_frame_header {
	unsigned version; /* 1, 2 or 3 */
	unsigned flags; /* general flags as stored; what they say of variable chunks and blocks may
			   contradict the sizes, which are believed. Reading alone */
	bool sparse;    /* frame type */
	bool variable_chunks; /* chunk_size is 0: chunks differ */
	bool variable_blocks; /* general flags, bit 7 */
	uint32_t size;        /* header_len, from the frame's first byte to the first chunk */
	uint64_t frame_size;  /* frame_len */
	uint64_t raw_size;    /* uncompressed_size */
	uint64_t packed_size; /* compressed_size: the payload, holes included */
	uint32_t typesize;    /* 1..2^31-1 */
	uint32_t block_size;  /* 0: automatic; informative */
	int32_t chunk_size;   /* above 0: fixed; 0: variable; -1: nothing appended yet */
	unsigned codec;       /* compressor number; 6: see user_codec. A default only */
	unsigned level;
	unsigned split; /* as stored: split mode less 1 */
	unsigned user_codec, codec_meta;
	uint16_t pack_threads, unpack_threads; /* informative */
	bool has_layers;   /* a hint that variable-length metalayers are there */
	bool dictionary;   /* other flags 2, bit 0 */
	unsigned nfilters; /* slots, at most 6 (8 in version 1, filled from the first) */
	uint8_t filters[8], filter_metas[8]; /* a default only: each chunk's header says its own */
	struct bpk_frame_layers fixed;       /* the metalayer section, in its order */
};

void bpk_frame_header_clear(struct bpk_frame_header *header);

/* How long the header says it is (at least BPK_FRAME_FIXED_SIZE_1), from its first 16 bytes or
 * more. BPK_CORRUPT when they begin no frame. */
int bpk_frame_header_size(struct bpk_view head, uint32_t *size, struct bpk_err *err);

/*
 * Take the header apart; bytes is all of it. Checks all that it says by itself ("Validation
 * checklist"): markers, version, flags, sizes against each other, the metalayer section.
 * Fails with BPK_CORRUPT, BPK_UNSUPPORTED (a version, an offset width) or BPK_NO_MEMORY; what was
 * taken is cleared then.
 */
int bpk_frame_header_read(struct bpk_view bytes, struct bpk_frame_header *header,
			  struct bpk_err *err);

/*
 * Append a header, version 2 (3 where chunks or blocks are variable), as c-blosc2 writes it. Sets
 * size. BPK_LIMIT: more layers, or longer, than the format holds.
 */
int bpk_frame_header_write(struct bpk_frame_header *header, struct bpk_buf *out,
			   struct bpk_err *err);

/* ---- Index ---- */

/* What an entry says. Offsets count from the end of the header. */
enum bpk_frame_special_offset {
	BPK_FRAME_OFFSET_ZERO = 0x81, /* the top byte; the others are 0 */
	BPK_FRAME_OFFSET_NAN = 0x82,
	BPK_FRAME_OFFSET_UNINIT = 0x84,
};

/* The special kind of an entry; BPK_SPECIAL_NONE when bit 63 is clear; -1 when it is none of the
 * three exact values. */
int bpk_frame_offset_special(uint64_t entry);
uint64_t bpk_frame_offset_of_special(enum bpk_special special);

/* Read the header of a chunk that is the frame's own, of its index or a metalayer: a known version
 * of the frame knows all that stands there, so BPK_CORRUPT is what is not known. */
int bpk_frame_own_chunk(struct bpk_view head, struct bpk_chunk_header *chunk, struct bpk_err *err);

/*
 * Unpack an index chunk (bytes ends at the trailer; the chunk's own size is in it) into nchunks
 * entries, host order; *packed_size is the size of the chunk. Checks each entry: an offset inside
 * payload bytes (contiguous; header->packed_size) or an id below 2^32 (sparse), or a special value.
 * entries is replaced; 8 bytes each.
 * BPK_CORRUPT names the entry. expected is what the header's sizes make of it; BPK_UNKNOWN where
 * chunks are variable. BPK_LIMIT: far more entries than the chunk's bytes justify.
 */
int bpk_frame_index_read(struct bpk_chunk_ctx *ctx, const struct bpk_frame_header *header,
			 struct bpk_view bytes, uint64_t expected, struct bpk_buf *entries,
			 uint64_t *nchunks, uint32_t *packed_size, struct bpk_err *err);

/* Append an index chunk of the entries (host order), readable by every c-blosc2. Nothing is
 * appended when there are none. */
int bpk_frame_index_write(struct bpk_chunk_ctx *ctx, const uint64_t *entries, uint64_t nchunks,
			  struct bpk_buf *out, struct bpk_err *err);

/* How many chunks a header of fixed chunk size tells of. */
uint64_t bpk_frame_count(const struct bpk_frame_header *header);

/* ---- Trailer ---- */

/*
 * Take a trailer apart into layers, unpacked; at most limit raw bytes in all (BPK_LIMIT). bytes is
 * the trailer, all of it. version 1's one usermeta is told as a layer named "usermeta".
 */
int bpk_frame_trailer_read(struct bpk_chunk_ctx *ctx, const struct bpk_frame_header *header,
			   struct bpk_view bytes, uint64_t limit, struct bpk_frame_layers *layers,
			   struct bpk_err *err);

/* Append a trailer, layers packed where that pays (the digests never, and last: their place in the
 * trailer must be known before their content is). *digests_at is the offset of the digests' content
 * in the trailer, 0 when there are none. BPK_LIMIT: more than BPK_FRAME_MAX_LAYERS_WRITTEN. */
int bpk_frame_trailer_write(struct bpk_chunk_ctx *ctx, const struct bpk_frame_layers *layers,
			    struct bpk_buf *out, size_t *digests_at, struct bpk_err *err);

/* ---- Digests: a layer of our own, which other readers pass over ---- */

/*
 * What bpk knows of a frame that it wrote: a digest of the header, the index, the trailer, and of
 * every chunk, each with checksum. Content of the layer (one msgpack bin, so that msgpack readers
 * can print it; its bytes are little-endian):
 *
 *     0   4   "bpkd"
 *     4   1   2, the layout's version
 *     5   1   number of the checksum, as Bloscpack's
 *     6   2   0
 *     8   8   frame_len that these digests are of
 *    16   8   nchunks
 *    24  87   the header's first 87 bytes
 *   111   1   0
 *   112   4   crc32 of the 112 bytes before
 *   116   d   digest of the header (header_len bytes)
 *         d   digest of the index chunk
 *         d   digest of the trailer, these d bytes taken as zero
 *         d   for each chunk, packed; zero for special offsets
 *
 * c-blosc2 copies the layer as it is when it changes a frame, so the digests are then of what the
 * frame was before. That is told from damage by two marks, in fields that no c-blosc2 reads and
 * each of them writes anew (new_header_frame and frame_update_trailer of its frame.c):
 *
 *   header    bpk writes 0 as both numbers of threads, c-blosc2 writes 1 or more
 *   trailer   bpk writes BPK_FRAME_MARK as the fingerprint (of type 0: none), c-blosc2 zeros
 *
 * Every change of c-blosc2 writes header and trailer, but for the content of a fixed metalayer,
 * which takes the header alone. No flipped bit makes one mark into the other program's.
 *
 * Layout 1 has neither the header's bytes nor the marks: its crc32 stands at 24 and its digests
 * begin at 28. Another program's change is known by another frame_len alone.
 */
struct bpk_frame_digests {
	const struct bpk_checksum *checksum; /* NULL: there are none */
	bool marked;                         /* layout 2 */
	uint64_t frame_size;
	uint64_t nchunks;
	struct bpk_buf bytes; /* what the bin holds, as above */
};

enum {
	BPK_FRAME_DIGESTS_BIN = 5, /* what msgpack puts before it when bpk writes */
	BPK_FRAME_DIGESTS_HEAD = 116,
	BPK_FRAME_DIGESTS_HEAD_1 = 28, /* of layout 1 */
	BPK_FRAME_DIGESTS_COPY = 24,   /* of the header */
	BPK_FRAME_MARK_SIZE = 16,
};

#define BPK_FRAME_MARK "bpk sealed frame" /* not ended by NUL in the trailer */

/* Who wrote a part of a frame whose digests are marked. */
enum bpk_frame_author {
	BPK_FRAME_BY_BPK,
	BPK_FRAME_BY_OTHER,  /* another program, as c-blosc2 writes it */
	BPK_FRAME_BY_NOBODY, /* the mark is neither's: it is damaged */
};

enum bpk_frame_author bpk_frame_header_author(struct bpk_view header);
enum bpk_frame_author bpk_frame_trailer_author(struct bpk_view trailer);

/*
 * Hold a header that another program wrote against the one that the digests are of. Fails with
 * BPK_CORRUPT where a field differs that no program changes: the typesize; with alone, of a frame
 * whose index and trailer are as they were, every field but the defaults for chunks to come.
 */
int bpk_frame_digests_compare_header(const struct bpk_frame_digests *digests,
				     struct bpk_view header, bool alone, struct bpk_err *err);

enum bpk_frame_digest_part {
	BPK_FRAME_DIGEST_HEADER,
	BPK_FRAME_DIGEST_INDEX,
	BPK_FRAME_DIGEST_TRAILER,
	BPK_FRAME_DIGEST_PARTS,
};

void bpk_frame_digests_clear(struct bpk_frame_digests *digests);

/* Take the layer's content apart; BPK_CORRUPT when it is none of ours, or contradicts itself,
 * BPK_UNSUPPORTED for a layout or checksum not known. Empty on failure. */
int bpk_frame_digests_read(struct bpk_view content, struct bpk_frame_digests *digests,
			   struct bpk_err *err);

/* The same for that layer of a trailer; without one checksum is NULL. BPK_CORRUPT too when another
 * layer holds digests: then its name is damaged. */
int bpk_frame_digests_find(const struct bpk_frame_layers *layers, struct bpk_frame_digests *digests,
			   struct bpk_err *err);

/* The digest of a part, and of chunk number, checksum->size bytes; NULL when it is not covered. */
const uint8_t *bpk_frame_digests_part(const struct bpk_frame_digests *digests,
				      enum bpk_frame_digest_part part);
const uint8_t *bpk_frame_digests_chunk(const struct bpk_frame_digests *digests, uint64_t number);

/*
 * The digests of all chunks, to find one by: *known is replaced by nchunks entries of 8 bytes. And
 * is digest (checksum->size bytes) among them? Chunks that another program moved are known by it.
 */
int bpk_frame_digests_list(const struct bpk_frame_digests *digests, struct bpk_buf *known,
			   struct bpk_err *err);
bool bpk_frame_digests_have(const struct bpk_frame_digests *digests, const struct bpk_buf *known,
			    const uint8_t *digest);

/* Does the header, or index chunk, agree? And the trailer, all of it, whose last layer the digests
 * are (unless another program wrote it). BPK_CORRUPT: no. */
int bpk_frame_digests_check(const struct bpk_frame_digests *digests,
			    enum bpk_frame_digest_part part, struct bpk_view bytes,
			    struct bpk_err *err);
int bpk_frame_digests_check_trailer(const struct bpk_frame_digests *digests,
				    struct bpk_view trailer, struct bpk_err *err);

/*
 * Make the three parts that end a frame, and its header, agree: index, trailer with digests filled
 * in, header. What every commit of a frame writes. header's sizes are filled in: raw_size and
 * chunk_size are the caller's, payload_end is where the index will lie, counted from the frame's
 * start (sparse: ignored, it follows the header; packed_size is then the caller's).
 *
 *     header_bytes   as they are to be committed
 *     tail           index chunk and trailer, one behind the other
 *
 * chunk_digests holds nchunks digests (checksum->size each); checksum NULL or of size 0: none are
 * written. layers are the trailer's, without the digests.
 */
struct bpk_frame_ending {
	struct bpk_frame_header *header;
	const struct bpk_frame_layers *layers;
	const uint64_t *entries;
	uint64_t nchunks;
	const struct bpk_checksum *checksum;
	struct bpk_view chunk_digests;
	uint64_t payload_end;
};

int bpk_frame_end(struct bpk_chunk_ctx *ctx, const struct bpk_frame_ending *ending,
		  struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err);

/* ---- Metadata: layers as one JSON object, and back (layers_json.c) ---- */

/*
 * Append the JSON text of layers: {"name": content, ...}, msgpack told as base/msgpack.h does, any
 * other bytes as {"$raw": "hex"}. Those of ours are left out. The one layer that parse makes of a
 * text of another kind is that text. *is_empty: there are no others; nothing is appended then.
 */
int bpk_frame_layers_print(const struct bpk_frame_layers *fixed,
			   const struct bpk_frame_layers *layers, struct bpk_buf *out,
			   bool *is_empty, struct bpk_err *err);

/*
 * Make layers agree with a JSON object (size 0: an empty one): members that are gone are removed,
 * new ones added behind, those that tell the same as before stay byte for byte. A text that is no
 * object, or has more members than fit, or names that do not, becomes one layer, "json", of its
 * text. Of fixed layers only the content changes: BPK_UNSUPPORTED when its size would, or one is
 * gone. Nothing is changed on failure. BPK_CORRUPT: no JSON.
 */
int bpk_frame_layers_parse(struct bpk_view json, struct bpk_frame_layers *fixed,
			   struct bpk_frame_layers *layers, struct bpk_err *err);

/* ---- b2nd: arrays in chunks of several dimensions (nd.c) ---- */

enum { BPK_FRAME_MAX_DIMENSIONS = 16 };

/* The geometry; array owns its dtype. For clear. */
struct bpk_frame_nd {
	struct bpk_array array;
	uint64_t chunk_shape[BPK_FRAME_MAX_DIMENSIONS]; /* 0 only where the shape is 0 */
	uint64_t block_shape[BPK_FRAME_MAX_DIMENSIONS];
	uint64_t grid[BPK_FRAME_MAX_DIMENSIONS];     /* chunks in each dimension */
	uint64_t extended[BPK_FRAME_MAX_DIMENSIONS]; /* chunk shape, up to whole blocks */
	uint64_t nchunks;
	uint64_t chunk_size, block_size; /* raw bytes, padding included */
	bool unknown_type; /* the type's text is none of NumPy's, or of another size than the
			      elements: the array is then of that many bytes ("|V4") */
};

void bpk_frame_nd_clear(struct bpk_frame_nd *nd);

/* From the metalayer's content, checked whole ("Validation checklist", last but one), but for
 * chunk_size and nchunks, which the caller holds against the frame. typesize is the frame's. older:
 * under the name caterva, without a type. */
int bpk_frame_nd_read(struct bpk_view content, bool older, uint32_t typesize,
		      struct bpk_frame_nd *nd, struct bpk_err *err);

/*
 * For an array, with chunk and block shapes given, or chosen (NULL) for chunks of about chunk_size
 * and blocks of about block_size bytes: the longest dimension is halved until they fit, where the
 * last one counts a fourth of its length. BPK_USAGE: shapes that do not fit; BPK_UNSUPPORTED: an
 * array in Fortran's order, or of too many dimensions.
 */
int bpk_frame_nd_make(const struct bpk_array *array, const uint64_t *chunk_shape,
		      const uint64_t *block_shape, uint64_t chunk_size, uint64_t block_size,
		      struct bpk_frame_nd *nd, struct bpk_err *err);

/* Append the metalayer's content. */
int bpk_frame_nd_write(const struct bpk_frame_nd *nd, struct bpk_buf *out, struct bpk_err *err);

/* Raw bytes of a row: what one index of the first dimension has. 0: there are none, BPK_UNKNOWN:
 * 2^63 or more. */
uint64_t bpk_frame_nd_row_size(const struct bpk_frame_nd *nd);

/* Let the array, of one dimension or more, have so many rows. BPK_LIMIT: it would be too large. */
int bpk_frame_nd_set_rows(struct bpk_frame_nd *nd, uint64_t rows, struct bpk_err *err);

/* Write the number of rows of such an array into its metalayer's content, which was read before. */
void bpk_frame_nd_write_rows(uint64_t rows, struct bpk_buf *content);

/* ---- The formats ---- */

int bpk_frame_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
		    struct bpk_err *err);
int bpk_frame_probe_sparse(const struct bpk_place *place, struct bpk_view head, bool *found,
			   struct bpk_err *err);
bool bpk_frame_owns(const char *name); /* in a sparse frame's directory */

/* Do the probes find their format? For bpk_edit_options.claims. */
int bpk_frame_claims(const struct bpk_place *place, bool *claimed, struct bpk_err *err);
int bpk_frame_claims_sparse(const struct bpk_place *place, bool *claimed, struct bpk_err *err);

/* bpk_format.divide */
int bpk_frame_divide(const struct bpk_array *array, const struct bpk_write_options *options,
		     uint64_t chunk_size, uint64_t block_size, struct bpk_division *division,
		     struct bpk_err *err);

extern const struct bpk_reader_ops bpk_frame_reader_ops; /* both kinds */
extern const struct bpk_writer_ops bpk_frame_writer_ops, bpk_frame_sparse_writer_ops;
extern const struct bpk_editor_ops bpk_frame_editor_ops, bpk_frame_sparse_editor_ops;

/* bpk_format.repack */
int bpk_frame_repack(const char *path, const struct bpk_edit_options *options,
		     struct bpk_repacked *result, struct bpk_err *err);
int bpk_frame_repack_sparse(const char *path, const struct bpk_edit_options *options,
			    struct bpk_repacked *result, struct bpk_err *err);

#endif
