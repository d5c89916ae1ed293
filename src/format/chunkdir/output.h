/*
 * Chunked directories, shared by writer and editor: the meta files to write, and the data files,
 * one superchunk of each column at a time.
 */
#ifndef BPK_FORMAT_CHUNKDIR_OUTPUT_H
#define BPK_FORMAT_CHUNKDIR_OUTPUT_H

#include "format/chunkdir/chunkdir.h"

/* ---- The plan ---- */

/* Lay set out for info and options, and append the file of the attributes. Fails with
 * BPK_UNSUPPORTED, BPK_USAGE or BPK_LIMIT; the line names the part that cannot be stored. */
int bpk_chunkdir_plan(const struct bpk_info *info, const struct bpk_write_options *options,
		      struct bpk_chunkdir *set, struct bpk_buf *attributes, struct bpk_err *err);

/* ---- Meta files ---- */

/* The compression parameters in storage; "meta files": informative only. */
struct bpk_chunkdir_cparams {
	const char *codec;
	unsigned level;
	unsigned filter; /* BPK_FILTER_NONE, _SHUFFLE or _BITSHUFFLE */
};

/* Append the file storage of set, or of one column of a bcolz table. Fails with BPK_UNSUPPORTED. */
int bpk_chunkdir_storage_print(const struct bpk_chunkdir *set,
			       const struct bpk_chunkdir_column *column,
			       const struct bpk_chunkdir_cparams *cparams, struct bpk_buf *out,
			       struct bpk_err *err);

/* Append the file __rootdirs__ of a bcolz table. */
int bpk_chunkdir_rootdirs_print(const struct bpk_chunkdir *set, struct bpk_buf *out,
				struct bpk_err *err);

/* Write text as the file name, and stage it. */
int bpk_chunkdir_put_file(struct bpk_tree *tree, const char *name, struct bpk_view text,
			  struct bpk_err *err);

/* Set shape and size in sizes from set, or from a column of a bcolz table; digests stay. */
void bpk_chunkdir_size_up(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			  struct bpk_chunkdir_sizes *sizes);

/* ---- Data files ---- */

/* A data file being written. */
struct bpk_chunkdir_draft {
	struct bpk_draft *draft; /* NULL: no file is begun */
	void *writer;            /* Blaze: of the Bloscpack file */
	uint64_t number;
	unsigned typesize; /* of its first chunk, for the header */
	uint64_t room;     /* chunks that its offsets section has room for */
	uint64_t nchunks;  /* put so far */
	uint64_t size;     /* bytes of the chunks so far */
};

/* The data files of one column. */
struct bpk_chunkdir_track {
	struct bpk_chunkdir_draft file;
	uint64_t data; /* change of the digests by chunks put so far; wraps */
	uint64_t last;
	bool has_last;  /* one of these chunks was not full */
	bool took_last; /* old_last is set */
	uint64_t old_last
		[BPK_CHUNKDIR_WAYS]; /* shares of the last chunk, not full, of a replaced file */
	uint64_t size; /* their bytes; wraps, since the editor subtracts replaced files */
	bool hold;     /* the current file goes to held when complete, instead of being staged */
	struct bpk_draft *held;
};

/* Owned by one thread, except for set and checksum, which are fixed. Valid when zeroed. */
struct bpk_chunkdir_output {
	struct bpk_tree *tree; /* borrowed, like set */
	const struct bpk_chunkdir *set;
	const struct bpk_checksum *checksum;
	struct bpk_chunkdir_track *tracks; /* one for each column */
};

/* Make the folders of the columns. tree, set and checksum must be set. */
int bpk_chunkdir_output_open(struct bpk_chunkdir_output *out, struct bpk_err *err);
void bpk_chunkdir_output_close(struct bpk_chunkdir_output *out); /* drops incomplete files */

/* A packed chunk with its seal; the memory is writable, but is only read. */
struct bpk_chunkdir_sealed {
	uint8_t *data;
	size_t packed_size; /* without the seal */
	size_t raw_size;
};

/* Add chunk number of a column: the next of its file, or the first of a new one. A full file is
 * staged. nchunks: total number of chunks; BPK_UNKNOWN if it is not known. */
int bpk_chunkdir_output_put(struct bpk_chunkdir_output *out, size_t column, uint64_t number,
			    uint64_t nchunks, const struct bpk_chunkdir_sealed *chunk,
			    struct bpk_err *err);

/* Complete and stage the last files, which may have fewer chunks than others. */
int bpk_chunkdir_output_end(struct bpk_chunkdir_output *out, struct bpk_err *err);

/* Stage the held files. */
int bpk_chunkdir_output_release(struct bpk_chunkdir_output *out, struct bpk_err *err);

/* ---- Parcels ---- */

/* bpk_writer_ops packs, pack, unpack and seal, for a set with or without columns. Any thread. */
bool bpk_chunkdir_packs(const struct bpk_chunkdir *set);
int bpk_chunkdir_pack(const struct bpk_chunkdir *set, const struct bpk_checksum *checksum,
		      struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		      struct bpk_parcel *parcel, struct bpk_err *err);
int bpk_chunkdir_prove(const struct bpk_chunkdir *set, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);
int bpk_chunkdir_seal(const struct bpk_chunkdir *set, const struct bpk_checksum *checksum,
		      struct bpk_parcel *parcel, struct bpk_err *err);

/* Add the chunk of a sealed parcel, or the chunks of its columns, to out. */
int bpk_chunkdir_put(struct bpk_chunkdir_output *out, uint64_t nchunks,
		     const struct bpk_parcel *parcel, struct bpk_err *err);

/* The typesize for packing chunks of elements of that type ("carray"). */
unsigned bpk_chunkdir_typesize(const struct bpk_dtype *dtype);

/* The filter of a pipeline in the layouts' terms: its first step, if it has one. */
static inline enum bpk_filter bpk_chunkdir_filter(const struct bpk_pipeline *pipeline)
{
	return pipeline->nsteps == 0 ? BPK_FILTER_NONE : (enum bpk_filter)pipeline->steps[0].filter;
}

#endif
