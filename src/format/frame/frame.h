/*
 * Blosc2 frames, contiguous (one file) and sparse (a directory): an inner room of format. The files
 * of frame include it, and formats.c. A contiguous frame is
 *
 *     header (fixed part, fixed metalayers) | chunks, with holes | index chunk | trailer
 *
 * A sparse frame is the same without the chunks, as chunks.b2frame, and a file for each chunk. This
 * header declares the functions that parse and build the parts of a frame in memory, without
 * reading or writing files, and the rows of the format table. Numbers are big-endian; numbers in
 * the index are little-endian. Source of every fact here: the Blosc2 frame format; comments name
 * its sections.
 */
#ifndef BPK_FORMAT_FRAME_FRAME_H
#define BPK_FORMAT_FRAME_FRAME_H

#include "format/sealed.h"

enum {
	BPK_FRAME_FIXED_SIZE = 87,   /* "Header": without the metalayer section */
	BPK_FRAME_AT_SIZE = 16,      /* offset of frame_len: "Header" */
	BPK_FRAME_FIXED_SIZE_1 = 82, /* the same in frame version 1 */
	BPK_FRAME_LEAST_HEADER = 97, /* with an empty section */
	BPK_FRAME_LEAST_TRAILER = 35,
	BPK_FRAME_TRAILER_TAIL = 23, /* from the trailer's length to the end */
	BPK_FRAME_COMMIT_START = 15, /* header bytes that an append changes: from frame_len ... */
	BPK_FRAME_COMMIT_END = 62,   /* ... to chunksize ("What modifications do") */
	BPK_FRAME_MAX_FIXED_LAYERS = 16,
	BPK_FRAME_MAX_LAYERS = 8192, /* in a trailer that is read */
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

/* Find a layer by name; NULL if it does not exist. */
struct bpk_frame_layer *bpk_frame_layers_find(const struct bpk_frame_layers *layers,
					      const char *name);

/* Set a layer, in its place or after the last; content is copied. Fails with BPK_LIMIT if the name
 * has more than 31 bytes (the empty name is legal), or with BPK_NO_MEMORY. */
int bpk_frame_layers_set(struct bpk_frame_layers *layers, const char *name, struct bpk_view content,
			 struct bpk_err *err);
/* Set all layers of from in to. */
int bpk_frame_layers_copy(const struct bpk_frame_layers *from, struct bpk_frame_layers *to,
			  struct bpk_err *err);
void bpk_frame_layers_remove(struct bpk_frame_layers *layers, const char *name);

/* Layers that the bpk_info leaves out: bpk's digests (digests.c) and seal (seal.c), and an array's
 * geometry, which it has as array, chunk_shape and block_shape ("b2nd metalayer"; also read under
 * its older name). */
#define BPK_FRAME_DIGESTS "bpk_digests"
#define BPK_FRAME_SEAL    BPK_SEAL_NAME
#define BPK_FRAME_B2ND    "b2nd"
#define BPK_FRAME_CATERVA "caterva"

bool bpk_frame_layer_is_ours(const char *name);

/* ---- Header ---- */

/* A parsed header. Must be cleared. */
struct bpk_frame_header {
	unsigned version; /* 1, 2 or 3 */
	/* General flags as stored. Their claims about variable chunks and blocks may contradict the
	 * sizes, which decide. Set by reading only. */
	unsigned flags;
	bool sparse;          /* frame type */
	bool variable_chunks; /* chunk_size is 0: chunks differ */
	bool variable_blocks; /* general flags, bit 7 */
	uint32_t size;        /* header_len, from the frame's first byte to the first chunk */
	uint64_t frame_size;  /* frame_len */
	uint64_t raw_size;    /* uncompressed_size */
	uint64_t packed_size; /* compressed_size: the payload, including holes */
	uint32_t typesize;    /* 1..2^31-1 */
	uint32_t block_size;  /* 0: automatic; informative */
	int32_t chunk_size;   /* above 0: fixed; 0: variable; -1: no chunk appended yet */
	unsigned codec;       /* compressor number, a default for chunks; 6: see user_codec */
	unsigned level;
	unsigned split; /* as stored: split mode less 1 */
	unsigned user_codec, codec_meta;
	uint16_t pack_threads, unpack_threads; /* informative */
	bool has_layers;                       /* hint: variable-length metalayers exist */
	bool dictionary;                       /* other flags 2, bit 0 */
	unsigned nfilters; /* slots, at most 6 (8 in version 1, filled from the first) */
	uint8_t filters[8], filter_metas[8]; /* defaults; each chunk's header has its own */
	struct bpk_frame_layers fixed;       /* the metalayer section, in stored order */
};

void bpk_frame_header_clear(struct bpk_frame_header *header);

/* Read the header's length (at least BPK_FRAME_FIXED_SIZE_1) from its first 16 bytes or more. Fails
 * with BPK_CORRUPT if they do not begin a frame. */
int bpk_frame_header_size(struct bpk_view head, uint32_t *size, struct bpk_err *err);

/*
 * Parse a whole header and check all its fields for consistency ("Validation checklist"): markers,
 * version, flags, sizes against each other, the metalayer section. Fails with BPK_CORRUPT,
 * BPK_UNSUPPORTED (a version, an offset width) or BPK_NO_MEMORY; header is then cleared.
 */
int bpk_frame_header_read(struct bpk_view bytes, struct bpk_frame_header *header,
			  struct bpk_err *err);

/*
 * Append a header in c-blosc2's form, version 2 (3 if chunks or blocks are variable). Sets size.
 * Fails with BPK_LIMIT: layers too many or too long for the format.
 */
int bpk_frame_header_write(struct bpk_frame_header *header, struct bpk_buf *out,
			   struct bpk_err *err);

/* ---- Index ---- */

/* Special entries of the index. Other entries are offsets from the end of the header. */
enum bpk_frame_special_offset {
	BPK_FRAME_OFFSET_ZERO = 0x81, /* the top byte; the others are 0 */
	BPK_FRAME_OFFSET_NAN = 0x82,
	BPK_FRAME_OFFSET_UNINIT = 0x84,
};

/* The special kind of an entry: BPK_SPECIAL_NONE if bit 63 is clear, -1 if it is set and the entry
 * is not one of the three exact values. */
int bpk_frame_offset_special(uint64_t entry);
uint64_t bpk_frame_offset_of_special(enum bpk_special special);

/* Bytes that a special chunk repeats; an uninitialised one is unpacked as zeros. */
static inline uint32_t bpk_frame_period(const struct bpk_chunk_header *header)
{
	return header->special == BPK_SPECIAL_VALUE ? header->value_size
	       : header->special == BPK_SPECIAL_NAN ? header->typesize
						    : 1;
}

/* Read the header of a chunk that is part of the frame itself, in its index or a metalayer. The
 * frame's version defines all possible fields there, so unknown ones are BPK_CORRUPT. */
int bpk_frame_own_chunk(struct bpk_view head, struct bpk_chunk_header *chunk, struct bpk_err *err);

/*
 * Unpack an index chunk into nchunks entries of 8 bytes in host order, which replace entries. bytes
 * ends at the trailer; *packed_size becomes the chunk's own size. Each entry must be an offset
 * inside the payload (contiguous; header->packed_size), an id below 2^32 (sparse), or a special
 * value. expected is the number that follows from the header's sizes; BPK_UNKNOWN if chunks are
 * variable. Fails with BPK_CORRUPT, which names the entry, or BPK_LIMIT: far more entries than the
 * chunk's bytes justify.
 */
int bpk_frame_index_read(struct bpk_chunk_ctx *ctx, const struct bpk_frame_header *header,
			 struct bpk_view bytes, uint64_t expected, struct bpk_buf *entries,
			 uint64_t *nchunks, uint32_t *packed_size, struct bpk_err *err);

/* ---- The same for an index that is unpacked in pieces (pages.h) ---- */

/* Compare the count in the index chunk's header with expected, and with the chunk's own size. */
int bpk_frame_index_check_count(const struct bpk_chunk_header *chunk, uint64_t expected,
				struct bpk_err *err);

/* Convert unpacked entries to host order, from number first on, and check each of them. */
int bpk_frame_index_take(const struct bpk_frame_header *header, uint64_t first,
			 struct bpk_buf *entries, struct bpk_err *err);

/* An index may lead to one chunk many times, and each time costs a look: fails with BPK_LIMIT if
 * nstored entries are too many for the frame's size. packed_size is that of the index chunk. */
int bpk_frame_index_check_stored(const struct bpk_frame_header *header, uint64_t nstored,
				 uint32_t packed_size, struct bpk_err *err);

/* Append an index chunk of the entries (host order) that every c-blosc2 can read; without entries,
 * no chunk. */
int bpk_frame_index_write(struct bpk_chunk_ctx *ctx, const uint64_t *entries, uint64_t nchunks,
			  struct bpk_buf *out, struct bpk_err *err);

/* The number of chunks by the sizes in a header with fixed chunk size. */
uint64_t bpk_frame_count(const struct bpk_frame_header *header);

/* ---- Trailer ---- */

/*
 * Parse a whole trailer into unpacked layers, of at most limit raw bytes in all (BPK_LIMIT). The
 * single usermeta of version 1 becomes a layer named "usermeta".
 */
int bpk_frame_trailer_read(struct bpk_chunk_ctx *ctx, const struct bpk_frame_header *header,
			   struct bpk_view bytes, uint64_t limit, struct bpk_frame_layers *layers,
			   struct bpk_err *err);

/* Append a trailer, its layers packed if that saves space. The digests come last and are never
 * packed: their position must be known before their content is. *digests_at is the offset of their
 * content in the trailer, 0 if there are no digests. Fails with BPK_LIMIT: more than
 * BPK_FRAME_MAX_LAYERS_WRITTEN layers. */
int bpk_frame_trailer_write(struct bpk_chunk_ctx *ctx, const struct bpk_frame_layers *layers,
			    struct bpk_buf *out, size_t *digests_at, struct bpk_err *err);

/* ---- Digests: a layer of our own, which other readers ignore ---- */

/*
 * Digests of a frame that bpk wrote: of the header, the index, the trailer, and every chunk, all by
 * checksum. Content of the layer (one msgpack bin, so that msgpack readers can print it; its bytes
 * are little-endian):
 *
 *     0   4   "bpkd"
 *     4   1   2, the layout's version
 *     5   1   number of the checksum, as Bloscpack's
 *     6   2   0
 *     8   8   frame_len of the frame with these digests
 *    16   8   nchunks
 *    24  87   the header's first 87 bytes
 *   111   1   0
 *   112   4   crc32 of the 112 bytes before
 *   116   d   digest of the header (header_len bytes)
 *         d   digest of the index chunk
 *         d   digest of the trailer, these d bytes taken as zero
 *         d   for each chunk, packed; zero for special offsets
 *
 * c-blosc2 copies the layer unchanged when it changes a frame; the digests then describe the
 * previous frame. Two marks distinguish this from damage, in fields that no c-blosc2 reads and
 * every c-blosc2 rewrites (by its functions new_header_frame and frame_update_trailer):
 *
 *   header    bpk writes 0 as both numbers of threads, c-blosc2 writes 1 or more
 *   trailer   bpk writes BPK_FRAME_MARK as the fingerprint (of type 0: not used), c-blosc2 zeros
 *
 * Every change by c-blosc2 rewrites header and trailer, except a change of a fixed metalayer's
 * content, which rewrites the header alone. No flipped bit turns one mark into the other program's.
 *
 * Layout 1 has neither the header's bytes nor the marks: its crc32 stands at 24 and its digests
 * begin at 28. There, only a different frame_len shows another program's change.
 */
struct bpk_frame_digests {
	const struct bpk_checksum *checksum; /* NULL: no digests */
	bool marked;                         /* layout 2 */
	uint64_t frame_size;
	uint64_t nchunks;
	struct bpk_buf bytes; /* content of the bin, as above */
};

enum {
	BPK_FRAME_DIGESTS_BIN = 5, /* bytes of the bin's msgpack header, as bpk writes it */
	BPK_FRAME_DIGESTS_HEAD = 116,
	BPK_FRAME_DIGESTS_HEAD_1 = 28, /* in layout 1 */
	BPK_FRAME_DIGESTS_COPY = 24,   /* offset of the copied header */
	BPK_FRAME_MARK_SIZE = 16,
};

#define BPK_FRAME_MARK "bpk sealed frame" /* not ended by NUL in the trailer */

/* The author of a part of a frame with marked digests. */
enum bpk_frame_author {
	BPK_FRAME_BY_BPK,
	BPK_FRAME_BY_OTHER,  /* another program, such as c-blosc2 */
	BPK_FRAME_BY_NOBODY, /* the mark matches no program: it is damaged */
};

enum bpk_frame_author bpk_frame_header_author(struct bpk_view header);
enum bpk_frame_author bpk_frame_trailer_author(struct bpk_view trailer);

/*
 * Compare a header written by another program with the one in the digests. Fails with BPK_CORRUPT
 * if a field differs that no program changes: the typesize. alone: index and trailer are unchanged,
 * so every field must agree except the defaults for new chunks.
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

/* Parse the layer's content. Fails with BPK_CORRUPT if it is not digests, or contradicts itself,
 * BPK_UNSUPPORTED for an unknown layout or checksum. digests is empty on failure. apart: bytes of
 * chunks' digests that content lacks, all of them or 0. */
int bpk_frame_digests_read(struct bpk_view content, uint64_t apart,
			   struct bpk_frame_digests *digests, struct bpk_err *err);

/* For salvage: give a layer that holds digests under another, damaged name its own name. True if
 * there is one, and none that has the name. */
bool bpk_frame_digests_rename(struct bpk_frame_layers *layers);

/* Find and parse that layer in a trailer; without one, checksum is NULL. Also fails with
 * BPK_CORRUPT if another layer holds digests: its name is then damaged. */
int bpk_frame_digests_find(const struct bpk_frame_layers *layers, uint64_t apart,
			   struct bpk_frame_digests *digests, struct bpk_err *err);

/* Fails with BPK_CORRUPT if there are none, but the trailer ends with bpk's mark, which no other
 * program keeps when it writes a trailer. */
int bpk_frame_digests_expect(const struct bpk_frame_digests *digests, struct bpk_view trailer,
			     struct bpk_err *err);

/* The digest of a part, or of a chunk, checksum->size bytes; NULL for a chunk without digest. The
 * digests of chunks must not be apart. */
const uint8_t *bpk_frame_digests_part(const struct bpk_frame_digests *digests,
				      enum bpk_frame_digest_part part);
const uint8_t *bpk_frame_digests_chunk(const struct bpk_frame_digests *digests, uint64_t number);

/*
 * Make a search list of the digests of all chunks: *known becomes nchunks entries of 8 bytes. The
 * second call tests whether digest (checksum->size bytes) is among them; it recognises chunks that
 * another program has moved.
 */
int bpk_frame_digests_list(const struct bpk_frame_digests *digests, struct bpk_buf *known,
			   struct bpk_err *err);
bool bpk_frame_digests_have(const struct bpk_frame_digests *digests, const struct bpk_buf *known,
			    const uint8_t *digest);

/* Test the digest of header or index chunk. Then that of the whole trailer, which must end with the
 * digests (so bpk must have written it). Fails with BPK_CORRUPT if a digest differs. */
int bpk_frame_digests_check(const struct bpk_frame_digests *digests,
			    enum bpk_frame_digest_part part, struct bpk_view bytes,
			    struct bpk_err *err);
int bpk_frame_digests_check_trailer(const struct bpk_frame_digests *digests,
				    struct bpk_view trailer, struct bpk_err *err);

/*
 * Build the parts that every commit of a frame writes, in agreement: index, trailer with complete
 * digests, and header. The caller sets raw_size and chunk_size of header; the other sizes are
 * computed. payload_end is the future offset of the index in the frame (sparse: ignored, since the
 * index follows the header; the caller then sets packed_size).
 *
 *     header_bytes   the header to be committed
 *     tail           index chunk and trailer, concatenated
 *
 * chunk_digests holds nchunks digests (checksum->size each); checksum NULL or of size 0: no digests
 * are written. layers are the trailer's; digests and a seal among them are left out.
 */
struct bpk_frame_ending {
	struct bpk_frame_header *header;
	const struct bpk_frame_layers *layers;
	const uint64_t *entries;
	uint64_t nchunks;
	const struct bpk_checksum *checksum;
	struct bpk_view chunk_digests;
	uint64_t payload_end;
	uint64_t generation;              /* of the seal */
	const struct bpk_seal_tree *tree; /* of all chunks; NULL: no seal */
};

int bpk_frame_end(struct bpk_chunk_ctx *ctx, const struct bpk_frame_ending *ending,
		  struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err);

/* ---- Seal: two layers of our own, which other readers ignore (parts/seal.c) ---- */

/*
 * The seal of a whole frame (format/sealed.h). Its record, a msgpack str, is a layer of the
 * trailer; a fixed layer of the same name, whose content is the number 1, says that it is there.
 * Programs that change a frame keep both.
 *
 *     root = SHA-256("bpk seal 1" NUL, "frame" NUL, generation, nchunks, number of the checksum,
 *                    SHA-256(header), SHA-256(layers), root of the chunks)
 *
 * generation, nchunks and the number have 8 bytes each, little-endian. The header has its
 * header_len bytes, but zeros for those that depend on the places of chunks or on the program
 * that wrote it: frame_len, compressed_size, both numbers of threads, and the hint at layers. The
 * layers are those of the trailer without bpk's own, in their order: length of the name (1 byte),
 * name, length of the content (8 bytes), content. The leaf of a chunk that is only an entry of
 * the index has packed size 0, and the entry (8 bytes) and zeros for the digest.
 */
int bpk_frame_seal_root(struct bpk_view header, const struct bpk_frame_layers *layers,
			const struct bpk_checksum *checksum, uint64_t generation,
			const struct bpk_seal_tree *tree, uint8_t root[BPK_MERKLE_SIZE],
			struct bpk_err *err);

/* Test that the leaves of nchunks chunks are worth the work: chunks that are entries of the index
 * alone take no bytes. Fails with BPK_LIMIT. */
int bpk_frame_seal_check_count(const struct bpk_frame_header *header, uint64_t nchunks,
			       struct bpk_err *err);

/* Set the fixed layer, which makes the header longer. */
int bpk_frame_seal_mark(struct bpk_frame_header *header, struct bpk_err *err);

/* Append the content of the record's layer. */
int bpk_frame_seal_write(uint64_t generation, const uint8_t root[BPK_MERKLE_SIZE],
			 const struct bpk_seal_tree *tree, struct bpk_buf *out,
			 struct bpk_err *err);

/* Read mark and record of a frame of nchunks chunks. Fails with BPK_NO_MEMORY; damage is noted in
 * seal. */
int bpk_frame_seal_read(const struct bpk_frame_header *header,
			const struct bpk_frame_layers *layers, uint64_t nchunks,
			struct bpk_seal *seal, struct bpk_err *err);

/* The digest of the leaf of a chunk that is only an entry of the index. */
int bpk_frame_seal_entry(uint64_t number, uint64_t raw_size, uint64_t entry,
			 uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err);

/* ---- Metadata: layers as one JSON object, and back (layers_json.c) ---- */

/*
 * Append layers as JSON text: {"name": content, ...}, msgpack converted by base/msgpack.h, other
 * bytes as {"$raw": "hex"}. Layers of ours are left out. The layer "json", made by parse from any
 * other text, is printed as that text. *is_empty: there are no layers to print, and out is
 * unchanged.
 */
int bpk_frame_layers_print(const struct bpk_frame_layers *fixed,
			   const struct bpk_frame_layers *layers, struct bpk_buf *out,
			   bool *is_empty, struct bpk_err *err);

/*
 * Make layers agree with a JSON object (size 0: an empty one): remove layers without a member, add
 * new members at the end, keep layers with equal content byte for byte. A text that is not an
 * object, or has too many members or unusable names, becomes one layer, "json". Fixed layers may
 * change only in content: BPK_UNSUPPORTED if one would change its size or be removed. Also fails
 * with BPK_CORRUPT if the text is not JSON. On failure nothing is changed.
 */
int bpk_frame_layers_parse(struct bpk_view json, struct bpk_frame_layers *fixed,
			   struct bpk_frame_layers *layers, struct bpk_err *err);

/* ---- b2nd: arrays in multidimensional chunks (nd.c) ---- */

enum { BPK_FRAME_MAX_DIMENSIONS = 16 };

/* The geometry; array owns its dtype. Must be cleared. */
struct bpk_frame_nd {
	struct bpk_array array;
	uint64_t chunk_shape[BPK_FRAME_MAX_DIMENSIONS]; /* 0 only where the shape is 0 */
	uint64_t block_shape[BPK_FRAME_MAX_DIMENSIONS];
	uint64_t grid[BPK_FRAME_MAX_DIMENSIONS];     /* chunks in each dimension */
	uint64_t extended[BPK_FRAME_MAX_DIMENSIONS]; /* chunk shape, rounded up to whole blocks */
	uint64_t nchunks;
	uint64_t chunk_size, block_size; /* raw bytes, including padding */
	uint64_t band_most; /* limit of a band that is read, in bytes; 0: BPK_FRAME_BAND_MOST */
	/* The type's text is not NumPy's, or its size differs from the elements': the array then
	 * has elements of that many bytes ("|V4"). */
	bool unknown_type;
};

void bpk_frame_nd_clear(struct bpk_frame_nd *nd);

/* Read the metalayer's content and check it ("Validation checklist", last but one). The caller
 * compares chunk_size and nchunks with the frame. typesize is the frame's. older: the layer is
 * named caterva and has no type. */
int bpk_frame_nd_read(struct bpk_view content, bool older, uint32_t typesize,
		      struct bpk_frame_nd *nd, struct bpk_err *err);

/*
 * Make the geometry of an array, with given chunk and block shapes, or (if these are NULL) with
 * chunks of about chunk_size and blocks of about block_size bytes: the longest dimension is halved
 * until they fit, where the last dimension counts a fourth of its length. Fails with BPK_USAGE
 * (shapes that do not fit) or BPK_UNSUPPORTED (Fortran order, too many dimensions).
 */
int bpk_frame_nd_make(const struct bpk_array *array, const uint64_t *chunk_shape,
		      const uint64_t *block_shape, uint64_t chunk_size, uint64_t block_size,
		      struct bpk_frame_nd *nd, struct bpk_err *err);

/* Append the metalayer's content. */
int bpk_frame_nd_write(const struct bpk_frame_nd *nd, struct bpk_buf *out, struct bpk_err *err);

/* Raw bytes of a row, one index of the first dimension. 0: rows are empty, or there is no
 * dimension; BPK_UNKNOWN: 2^63 or more. */
uint64_t bpk_frame_nd_row_size(const struct bpk_frame_nd *nd);

/* Set the number of rows of an array with dimensions. Fails with BPK_LIMIT if it gets too large. */
int bpk_frame_nd_set_rows(struct bpk_frame_nd *nd, uint64_t rows, struct bpk_err *err);

/* Write the number of rows of such an array into its metalayer's content, which must be valid. */
void bpk_frame_nd_write_rows(uint64_t rows, struct bpk_buf *content);

/* ---- The formats ---- */

int bpk_frame_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
		    struct bpk_err *err);
int bpk_frame_probe_sparse(const struct bpk_place *place, struct bpk_view head, bool *found,
			   struct bpk_err *err);
bool bpk_frame_owns(const char *name); /* in a sparse frame's directory */

enum { BPK_FRAME_TRAILER_START = 4 };

/* True if the BPK_FRAME_TRAILER_START bytes may begin a trailer ("Trailer"). */
bool bpk_frame_is_trailer_start(const uint8_t *bytes);

/* The probes, for bpk_edit_options.claims. */
int bpk_frame_claims(const struct bpk_place *place, bool *claimed, struct bpk_err *err);
int bpk_frame_claims_sparse(const struct bpk_place *place, bool *claimed, struct bpk_err *err);

/* bpk_format.divide */
int bpk_frame_divide(const struct bpk_array *array, const struct bpk_write_options *options,
		     uint64_t chunk_size, uint64_t block_size, struct bpk_division *division,
		     struct bpk_err *err);

extern const struct bpk_reader_ops bpk_frame_reader_ops; /* both kinds */
extern const struct bpk_writer_ops bpk_frame_writer_ops, bpk_frame_sparse_writer_ops;
extern const struct bpk_editor_ops bpk_frame_editor_ops, bpk_frame_sparse_editor_ops;

/* bpk_format.salvage */
int bpk_frame_salvage(const struct bpk_place *place, struct bpk_salvage *salvage,
		      struct bpk_err *err);
int bpk_frame_salvage_sparse(const struct bpk_place *place, struct bpk_salvage *salvage,
			     struct bpk_err *err);

/* bpk_format.repack */
int bpk_frame_repack(const char *path, const struct bpk_edit_options *options,
		     struct bpk_repacked *result, struct bpk_err *err);
int bpk_frame_repack_sparse(const char *path, const struct bpk_edit_options *options,
			    struct bpk_repacked *result, struct bpk_err *err);

#endif
