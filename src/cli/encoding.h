/*
 * The options for the packing and layout of chunks, which pack, append and convert share.
 */
#ifndef BPK_CLI_ENCODING_H
#define BPK_CLI_ENCODING_H

#include "cli/args.h"
#include "flow/flow.h"

extern const struct bpk_opt bpk_opt_digits, bpk_opt_level, bpk_opt_codec, bpk_opt_filter,
	bpk_opt_lossy, bpk_opt_dictionary, bpk_opt_typesize, bpk_opt_chunk_size, bpk_opt_block_size,
	bpk_opt_checksum, bpk_opt_slack, bpk_opt_no_offsets, bpk_opt_append_space, bpk_opt_layout,
	bpk_opt_superchunk_size, bpk_opt_chunk_shape, bpk_opt_block_shape;

/* The same for commands that keep an archive's settings: they ignore the environment. */
extern const struct bpk_opt bpk_opt_level_of_archive, bpk_opt_codec_of_archive;

/*
 * Check that format can obey the options. Fails with BPK_USAGE: a layout that it does not have, a
 * size of data files for a format of one file, filters or dictionaries that its chunks do not have.
 */
int bpk_encoding_check(const struct bpk_encoding_args *args, const struct bpk_format *format,
		       struct bpk_err *err);

/*
 * Check that items of typesize bytes (0: a trial decides) can be packed with the given filters by
 * codec (NULL: the default), and that the user allowed a loss. Fails with BPK_USAGE.
 */
int bpk_encoding_check_items(const struct bpk_args *args, unsigned typesize,
			     const struct bpk_codec *codec, struct bpk_err *err);

/* Report the loss by recipe, if any, unless --quiet is given. */
void bpk_encoding_tell_loss(const struct bpk_args *args, const struct bpk_recipe *recipe,
			    const char *subject);

/* The same for elements of a type. Fails with BPK_USAGE: room inside the chunks of columns, or a
 * lossy filter for elements that are not numbers of its kind. */
int bpk_encoding_check_dtype(const struct bpk_encoding_args *args, const struct bpk_format *format,
			     const struct bpk_dtype *dtype, struct bpk_err *err);

/*
 * Check that arrays of dtype in format can have chunks of the given typesize, if any. Fails with
 * BPK_USAGE: it does not divide the items of a Blosc2 array, or the format keeps records as
 * columns.
 */
int bpk_encoding_check_typesize(const struct bpk_encoding_args *args,
				const struct bpk_format *format, const struct bpk_dtype *dtype,
				struct bpk_err *err);

/*
 * The unit of chunk sizes of an array: the size of a row (the items of one first index) unless
 * that is too large for a chunk of the format, else of an item. 0 if no such size exists.
 */
uint64_t bpk_encoding_row_size(const struct bpk_array *array, const struct bpk_format *format);

/*
 * Divide an array into chunks of several dimensions, if format has such: by the given shapes, or by
 * those of array, which is NULL in all members for plain bytes. Sets the block size and the chunk
 * size of choice, and reports the latter. If the array cannot be divided, only the division's
 * parcel_size is set, to choice's chunk size. Fails with BPK_USAGE, or as the format's divide.
 */
int bpk_encoding_divide(const struct bpk_encoding_args *args, const struct bpk_format *format,
			const struct bpk_array_info *array, struct bpk_choice *choice,
			struct bpk_division *division, struct bpk_err *err);

/* Reject options that contradict the array's existing block shape. Fails with BPK_USAGE. */
int bpk_encoding_check_divided(const struct bpk_encoding_args *args,
			       const struct bpk_format *format, struct bpk_err *err);

/* The options as wishes for bpk_choose, for chunks of format (NULL: any); an option that is not
 * given is an open wish. */
struct bpk_wishes bpk_encoding_wishes(const struct bpk_encoding_args *args,
				      const struct bpk_format *format);

/* The options for a writer, which borrow recipe and division. recipe is that of the chunks; NULL:
 * they are copied. division is that of an array; NULL: not known yet. */
struct bpk_write_options bpk_encoding_options(const struct bpk_encoding_args *args,
					      const struct bpk_recipe *recipe,
					      const struct bpk_division *division);

#endif
