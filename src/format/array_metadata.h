/*
 * How bloscpack says in its metadata that the data are an array of NumPy's. A part of the room's
 * door. Source: Bloscpack format, "Metadata section" (NumPy conventions).
 */
#ifndef BPK_FORMAT_ARRAY_METADATA_H
#define BPK_FORMAT_ARRAY_METADATA_H

#include "base/base.h"

/*
 * bloscpack's own metadata of an array, {"dtype":"'<f8'","shape":[3],"order":"C",
 * "container":"numpy"}, in any spelling that a bloscpack has written. *is_array is false when text
 * is other metadata. Fails with BPK_USAGE where it says that it is an array and then contradicts
 * itself. text was checked (bpk_json_check). canonical (may be NULL): text is, byte for byte, what
 * bpk_array_print writes.
 */
int bpk_array_from_metadata(struct bpk_view text, struct bpk_array *array, bool *is_array,
			    bool *canonical, struct bpk_err *err);
int bpk_array_print(const struct bpk_array *array, struct bpk_buf *out, struct bpk_err *err);

/*
 * The same with the members of an object, metadata from a place where an array is told otherwise,
 * behind the array's own; those of the same names are left out. members may be empty, or no object:
 * then there are none. And back: the members that tell of no array, nothing when there are none.
 */
int bpk_array_join_metadata(const struct bpk_array *array, struct bpk_view members,
			    struct bpk_buf *out, struct bpk_err *err);
int bpk_array_strip_metadata(struct bpk_view text, struct bpk_buf *out, struct bpk_err *err);

/* Append text, metadata that bpk_array_from_metadata has found an array of a dimension or more in,
 * with rows in the place of the first dimension; every other byte stays. */
int bpk_array_set_rows(struct bpk_view text, uint64_t rows, struct bpk_buf *out,
		       struct bpk_err *err);

#endif
