/*
 * Writing frames, inside the room: shared by the writers, the editors and the arrays of several
 * dimensions. An output collects the facts about chunks that the end of a frame records; its owner
 * decides where chunks are stored.
 */
#ifndef BPK_FORMAT_FRAME_OUTPUT_H
#define BPK_FORMAT_FRAME_OUTPUT_H

#include "format/frame/nd/nd.h"

/*
 * Store a packed chunk after those already stored, and return its index entry: the offset from the
 * end of the header, or the id.
 */
typedef int bpk_frame_store_fn(void *arg, struct bpk_view chunk, uint64_t *entry,
			       struct bpk_err *err);

/*
 * Owned by one thread. Valid when zeroed; must be cleared with bpk_frame_output_clear. An editor
 * starts from the content of its frame.
 */
struct bpk_frame_output {
	struct bpk_frame_header header; /* defaults and fixed layers; sizes are set at the end */
	struct bpk_frame_layers layers; /* the trailer's, without the digests */
	const struct bpk_checksum *checksum;
	struct bpk_chunk_ctx *ctx;

	/* of the chunks put so far */
	struct bpk_buf entries; /* of the index, 8 bytes each in host order */
	struct bpk_buf digests; /* checksum->size bytes each; zeros for special entries */
	uint64_t nchunks;
	uint64_t nstored;   /* chunks that are not special entries */
	uint64_t raw_size;  /* of all chunks */
	uint64_t last_size; /* raw bytes of the last one */
	uint64_t full;      /* raw bytes of all but the last; unknown: set by the first one */

	uint32_t block_size; /* of all chunks of an array; 0: any */
	bool as_is; /* store chunks unchanged, readable or not: their files already exist */
	/* No chunk is stored yet, so the first one may decide the typesize. */
	bool open_typesize;

	/* A multidimensional array: parcels are bands of it (nd/writer.c). */
	bool has_nd;
	struct bpk_frame_nd nd;

	struct bpk_seal_growth seal;

	bpk_frame_store_fn *store;
	void *arg;
};

/*
 * Begin a frame for info. Header defaults come from options->recipe, or if chunks are copied, from
 * info->frame or the first chunk; layers from info, or from the user's metadata. Sets header.size.
 * Fails with BPK_LIMIT (sizes or layers that no frame can have), BPK_UNSUPPORTED or BPK_NO_MEMORY;
 * out is then cleared.
 */
int bpk_frame_output_begin(const struct bpk_info *info, const struct bpk_write_options *options,
			   bool sparse, struct bpk_frame_output *out, struct bpk_err *err);

void bpk_frame_output_clear(struct bpk_frame_output *out);

/*
 * Add the next chunk, sealed unless the checksum is of size 0. It is stored, or, if it is special
 * and all chunks have one size, only recorded in the index. When the first chunk of another size
 * comes, earlier special entries are stored as chunks ("Version 3 additions": special offsets have
 * no length there). An empty chunk is ignored. Fails with BPK_UNSUPPORTED for chunks that no frame
 * may hold: of version 2, or with blocks of variable length among others; BPK_LIMIT for too many.
 */
int bpk_frame_output_put(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			 struct bpk_err *err);

/* bpk_writer_ops.takes_unseen of a contiguous frame. */
bool bpk_frame_output_takes_unseen(const struct bpk_frame_output *out,
				   const struct bpk_parcel *parcel, bool all_there);

/*
 * The same, replacing chunk parcel->number, which has as many raw bytes. The old chunk stays in its
 * place, unreferenced.
 */
int bpk_frame_output_replace(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			     struct bpk_err *err);

/* Switch to chunks of variable size (version 3): special entries are stored as chunks. Those before
 * the last have out->full bytes, the last has last_size. */
int bpk_frame_output_vary(struct bpk_frame_output *out, struct bpk_err *err);

/* Build the frame's ending: bpk_frame_end of the chunks put, with its payload_end. sparse: payload
 * is the size of the stored chunks. */
int bpk_frame_output_end(struct bpk_frame_output *out, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err);

/* ---- The seal (output_seal.c); without one, nothing is done ---- */

/* Note chunk number, the next one or one that is replaced: a parcel as it was stored, with its
 * digest behind it, a chunk in another form, or an entry of the index. */
int bpk_frame_output_seal_parcel(struct bpk_frame_output *out, uint64_t number,
				 const struct bpk_parcel *parcel, struct bpk_err *err);
int bpk_frame_output_seal_chunk(struct bpk_frame_output *out, uint64_t number, uint64_t raw_size,
				struct bpk_view chunk, struct bpk_err *err);
int bpk_frame_output_seal_entry(struct bpk_frame_output *out, uint64_t number, uint64_t raw_size,
				uint64_t entry, struct bpk_err *err);

/* ---- Chunks in a form that c-blosc2 can read (compat.c) ---- */

/* True if an index entry alone can represent this chunk. */
bool bpk_frame_compat_in_index(const struct bpk_frame_output *out,
			       const struct bpk_chunk_header *header);

/* Test whether c-blosc2 can read a stored chunk, whole and in parts, in this frame. header is that
 * of chunk. Fails with BPK_NO_MEMORY. */
int bpk_frame_compat_test(const struct bpk_frame_output *out, struct bpk_view chunk,
			  const struct bpk_chunk_header *header, bool *readable,
			  struct bpk_err *err);

/* The result of this test by the header alone, for a chunk whose blocks fit. False where the chunk,
 * of raw_size bytes, would change the frame's typesize, or turn it to chunks of many sizes. */
bool bpk_frame_compat_by_header(const struct bpk_frame_output *out, uint64_t raw_size,
				const struct bpk_chunk_header *header);

/* Encode the content of chunk in a form that it can read, into encoded. Fails like decoding, or
 * with BPK_NO_MEMORY. */
int bpk_frame_compat_encode(struct bpk_frame_output *out, struct bpk_view chunk,
			    const struct bpk_chunk_header *header, struct bpk_buf *encoded,
			    struct bpk_err *err);

/* ---- Arrays in multidimensional chunks (nd/writer.c) ---- */

/* True if info has an array and options have shapes of chunks and blocks. */
bool bpk_frame_nd_is_wanted(const struct bpk_info *info, const struct bpk_write_options *options);

/* If so, set nd, its layer and the header's defaults in out. */
int bpk_frame_nd_begin(const struct bpk_info *info, const struct bpk_write_options *options,
		       struct bpk_frame_output *out, struct bpk_err *err);

/* For an array whose chunks and layer are copied: set block_size. */
void bpk_frame_nd_set_blocks(struct bpk_frame_output *out);

/* How the bands of an array are packed. Borrows its pointers; fixed while bands are packed. */
struct bpk_frame_packing {
	const struct bpk_frame_nd *nd;
	enum bpk_frame_purpose purpose;
	const struct bpk_checksum *checksum;
	/* True if the frame already holds a chunk with these raw bytes, so that it need not be
	 * packed. Any thread; NULL: pack every chunk. */
	bool (*holds)(const void *arg, struct bpk_chunk_ctx *ctx, uint64_t number,
		      struct bpk_view raw);
	const void *arg;
};

/* The packing of a writer whose output has_nd. */
struct bpk_frame_packing bpk_frame_packing_of(const struct bpk_frame_output *out);

/*
 * bpk_writer_ops for bands: pack, unpack, seal and put, which passes each chunk of the band to
 * put_chunk. unpack needs all chunks of the band.
 */
int bpk_frame_nd_pack(const struct bpk_frame_packing *packing, struct bpk_chunk_ctx *ctx,
		      const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
		      struct bpk_err *err);
int bpk_frame_nd_prove(const struct bpk_frame_packing *packing, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_span raw, struct bpk_err *err);
int bpk_frame_nd_seal(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
		      struct bpk_err *err);

typedef int bpk_frame_put_fn(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			     struct bpk_err *err);

int bpk_frame_nd_put(struct bpk_frame_output *out, uint64_t chunk_size,
		     const struct bpk_parcel *parcel, bpk_frame_put_fn *put_chunk,
		     struct bpk_err *err);

/* ---- The end ---- */

/* Fails with BPK_FAILED if the raw size differs from the announced one (which may be unknown). */
int bpk_frame_output_check(const struct bpk_frame_output *out, uint64_t announced,
			   struct bpk_err *err);

#endif
