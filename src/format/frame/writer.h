/*
 * Frames as they are made, inside the room: what the writers, the editors and the arrays of several
 * dimensions share. An output gathers what the end of a frame says of its chunks; where they lie is
 * its owner's to decide.
 */
#ifndef BPK_FORMAT_FRAME_WRITER_H
#define BPK_FORMAT_FRAME_WRITER_H

#include "format/frame/nd.h"

/*
 * Store a packed chunk behind those that were stored, and say what the index has to say of it: its
 * offset from the end of the header, or its id.
 */
typedef int bpk_frame_store_fn(void *arg, struct bpk_view chunk, uint64_t *entry,
			       struct bpk_err *err);

/*
 * One thread's own. Valid when zeroed; for bpk_frame_output_clear. An editor fills it with what its
 * frame has and goes on from there.
 */
struct bpk_frame_output {
	struct bpk_frame_header header; /* defaults and fixed layers; its sizes follow at the end */
	struct bpk_frame_layers layers; /* the trailer's, without the digests */
	const struct bpk_checksum *checksum;
	struct bpk_chunk_ctx *ctx;

	/* of the chunks put so far */
	struct bpk_buf entries; /* of the index, 8 bytes each in host order */
	struct bpk_buf digests; /* checksum->size bytes each; zeros for special entries */
	uint64_t nchunks;
	uint64_t nstored;   /* those that are no special entries */
	uint64_t raw_size;  /* in all */
	uint64_t last_size; /* raw bytes of the last one */
	uint64_t full;      /* raw bytes of all but the last; unknown: as the first one has */

	uint32_t block_size; /* of an array, whose chunks all have such blocks; 0: any */
	bool as_is;          /* chunks stay what they are, readable or not: their files are there */
	/* No chunk is stored, so that the first one may settle what an item is. */
	bool open_typesize;

	/* An array in chunks of several dimensions: parcels are bands of it (nd_writer.c). */
	bool has_nd;
	struct bpk_frame_nd nd;

	bpk_frame_store_fn *store;
	void *arg;
};

/*
 * Begin a frame that info describes: header defaults by options->recipe, or, where chunks are
 * carried over, by info->frame or its first chunk; layers, or the user's metadata as layers.
 * header.size is set. Fails with BPK_LIMIT (sizes, or layers, that no frame can have),
 * BPK_UNSUPPORTED or BPK_NO_MEMORY; out is cleared then.
 */
int bpk_frame_output_begin(const struct bpk_info *info, const struct bpk_write_options *options,
			   bool sparse, struct bpk_frame_output *out, struct bpk_err *err);

void bpk_frame_output_clear(struct bpk_frame_output *out);

/*
 * Take the next chunk, sealed unless the checksum is none: store it, or let the index alone tell of
 * it where it is special and all chunks have one size. When the first chunk of another size comes,
 * the special ones before it are stored as what they are ("Version 3 additions": special offsets
 * have no length there). An empty chunk is passed over.
 * Fails with BPK_UNSUPPORTED for what no frame may hold: chunks of version 2, chunks of blocks of
 * variable length beside others; BPK_LIMIT for too many.
 */
int bpk_frame_output_put(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			 struct bpk_err *err);

/*
 * The same in the place of chunk parcel->number, which has as many raw bytes. What was there stays
 * where it is, but nothing leads to it any more.
 */
int bpk_frame_output_replace(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			     struct bpk_err *err);

/* Have each chunk say its own size from here on (version 3): those that the index alone told of are
 * stored as what they are. Special entries before the last have out->full bytes, it last_size. */
int bpk_frame_output_vary(struct bpk_frame_output *out, struct bpk_err *err);

/* Make the frame's ending: bpk_frame_end of what was put. payload_end as there; sparse: payload is
 * what the stored chunks take. */
int bpk_frame_output_end(struct bpk_frame_output *out, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err);

/* ---- Chunks as c-blosc2 reads them (spell.c) ---- */

/* Does the index alone tell all of this chunk? */
bool bpk_frame_is_told_by_index(const struct bpk_frame_output *out,
				const struct bpk_chunk_header *header);

/* Can c-blosc2 read all of a stored chunk, and any part of it, in this frame? header is that of
 * chunk. Fails with BPK_NO_MEMORY. */
int bpk_frame_is_readable(const struct bpk_frame_output *out, struct bpk_view chunk,
			  const struct bpk_chunk_header *header, bool *readable,
			  struct bpk_err *err);

/* The same content as a chunk that it can, into spelled. Fails as decoding chunk does, and with
 * BPK_NO_MEMORY. */
int bpk_frame_spell(struct bpk_frame_output *out, struct bpk_view chunk,
		    const struct bpk_chunk_header *header, struct bpk_buf *spelled,
		    struct bpk_err *err);

/* ---- Arrays in chunks of several dimensions (nd_writer.c) ---- */

/* Is info's array to be kept as one? It is there, and the options have shapes of chunks and
 * blocks. */
bool bpk_frame_nd_is_wanted(const struct bpk_info *info, const struct bpk_write_options *options);

/* Then let out hold it: sets nd, its layer and the header's defaults. */
int bpk_frame_nd_begin(const struct bpk_info *info, const struct bpk_write_options *options,
		       struct bpk_frame_output *out, struct bpk_err *err);

/* An array whose chunks and layer are carried over: set block_size. */
void bpk_frame_nd_take_blocks(struct bpk_frame_output *out);

/* How the bands of an array are packed. Borrows all of it; fixed while they are. */
struct bpk_frame_packing {
	const struct bpk_frame_nd *nd;
	enum bpk_frame_purpose purpose;
	const struct bpk_checksum *checksum;
	/* Need a chunk with these raw bytes not be packed, since it is there? Any thread; NULL: all
	 * are. */
	bool (*holds)(const void *arg, struct bpk_chunk_ctx *ctx, uint64_t number,
		      struct bpk_view raw);
	const void *arg;
};

/* That of a writer whose output has_nd. */
struct bpk_frame_packing bpk_frame_packing_of(const struct bpk_frame_output *out);

/*
 * The operations of who packs bands, as bpk_writer_ops has them: pack, unpack, seal and put, which
 * hands each chunk of the band to put_chunk. unpack needs all of them.
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

/* Are there as many raw bytes as info announced (which may be unknown)? Else BPK_FAILED. */
int bpk_frame_output_check(const struct bpk_frame_output *out, uint64_t announced,
			   struct bpk_err *err);

/* Stage the file name of a sparse frame: two runs of bytes, one behind the other. */
int bpk_frame_put_file(struct bpk_tree *tree, const char *name, struct bpk_view first,
		       struct bpk_view second, struct bpk_err *err);

#endif
