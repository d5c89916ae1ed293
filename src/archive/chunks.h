/*
 * Inside the work on archives: single chunks, the recipes by which they are packed, and raw bytes
 * on their way into chunks.
 */
#ifndef BPK_ARCHIVE_CHUNKS_H
#define BPK_ARCHIVE_CHUNKS_H

#include "archive/archive.h"

/* A chunk of the committed content. */
struct bpk_archive_chunk {
	uint64_t number;
	uint64_t start;                 /* raw bytes before it */
	uint64_t size;                  /* its raw bytes */
	struct bpk_chunk_header header; /* its recipe */
};

/* Fill in size and header of the chunk whose number and start are set. */
int bpk_archive_locate(struct bpk_archive *archive, struct bpk_archive_chunk *chunk,
		       struct bpk_err *err);

/* The chunk that holds the raw byte at offset, which is below raw_size. */
int bpk_archive_find(struct bpk_archive *archive, uint64_t offset, struct bpk_archive_chunk *chunk,
		     struct bpk_err *err);

/* Go on to the chunk behind chunk, which is not the last. */
int bpk_archive_next(struct bpk_archive *archive, struct bpk_archive_chunk *chunk,
		     struct bpk_err *err);

/* The raw sizes of a chunk's blocks, uint32_t each; no bytes where all blocks but the last have the
 * block size. */
int bpk_archive_block_sizes(struct bpk_archive *archive, const struct bpk_archive_chunk *chunk,
			    struct bpk_buf *sizes, struct bpk_err *err);

/* Find a chunk that shows how the archive is packed: the first or the last, if one of them does.
 * Called by bpk_archive_open. */
int bpk_archive_find_example(struct bpk_archive *archive, struct bpk_err *err);

/* The recipe by which a chunk with this header was packed; its level is the one wished for. */
struct bpk_recipe bpk_archive_recipe(const struct bpk_archive *archive,
				     const struct bpk_chunk_header *header);

/*
 * Is the packing still open? It is as long as the archive holds fewer than size bytes, in one chunk
 * that is packed as a trial on these bytes decides, or no bytes: all of them are recompressed when
 * more are added. Archives of arrays are decided.
 */
int bpk_archive_is_undecided(struct bpk_archive *archive, uint64_t size, bool *is,
			     struct bpk_err *err);

/* Choose the packing by trial on source, as if the archive had no chunks, with elements of typesize
 * (BPK_AUTO: any) where the wishes leave it open. packing was chosen before, or is zeroed. */
int bpk_archive_choose_anew(struct bpk_archive *archive, struct bpk_source *source, int typesize,
			    struct bpk_packing *packing, struct bpk_err *err);

/* Raw bytes of the last chunk that are recompressed when chunks of chunk_size are added. */
uint64_t bpk_archive_short_size(const struct bpk_archive *archive, uint64_t chunk_size);

/* Refuse to append an .npy file, whose first bytes are head, to an array: its header would become
 * items. Unless the options have any_bytes. */
int bpk_archive_check_npy(struct bpk_archive *archive, struct bpk_view head, const char *name,
			  struct bpk_err *err);

/* Let the next chunks that are put follow the first nchunks chunks. */
int bpk_archive_cut(struct bpk_archive *archive, uint64_t nchunks, struct bpk_err *err);

/* Raw bytes for consecutive chunks of an archive. */
struct bpk_archive_batch {
	struct bpk_source *source;
	const char *name;  /* of source in messages; NULL: the bytes are the archive's own */
	uint64_t raw_size; /* bytes in source; may be unknown */
	uint64_t first;    /* number of the first chunk */
	const struct bpk_packing *packing; /* its choice has the size of the chunks */
	struct bpk_view first_sizes;       /* as in a bpk_flow; so are: */
	uint64_t kept;
	int (*packed)(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err);
	void *packed_arg;
};

/* Pack a batch and hand the chunks to writer. A batch with a name has progress. */
int bpk_archive_run(struct bpk_archive *archive, const struct bpk_archive_batch *batch,
		    const struct bpk_writer_ops *ops, void *writer, struct bpk_flow_result *result,
		    struct bpk_err *err);

/* Pack a batch into the archive. */
int bpk_archive_put(struct bpk_archive *archive, const struct bpk_archive_batch *batch,
		    struct bpk_flow_result *result, struct bpk_err *err);

#endif
