/*
 * Array metadata as bloscpack writes them for NumPy arrays: type, shape and order as JSON. A part
 * of the room's door. Source: Bloscpack format, "Metadata section" (NumPy conventions).
 */
#ifndef BPK_FORMAT_ARRAY_METADATA_H
#define BPK_FORMAT_ARRAY_METADATA_H

#include "base/base.h"

/*
 * Read bloscpack's own metadata of an array, {"dtype":"'<f8'","shape":[3],"order":"C",
 * "container":"numpy"}, in any spelling that some version of bloscpack wrote. *is_array is false if
 * text holds other metadata. Fails with BPK_USAGE if text claims an array and contradicts itself.
 * text was checked (bpk_json_check). *canonical (may be NULL) is true if text equals the output of
 * bpk_array_print byte for byte.
 */
int bpk_array_from_metadata(struct bpk_view text, struct bpk_array *array, bool *is_array,
			    bool *canonical, struct bpk_err *err);
int bpk_array_print(const struct bpk_array *array, struct bpk_buf *out, struct bpk_err *err);

/*
 * Print array, then append the members of a JSON object from a format that stores the array type
 * elsewhere; members with the array's own names are left out. members may be empty or not an
 * object: nothing is appended then. The second call reverses this: it keeps the members that do not
 * describe the array; out is empty if there are no others.
 */
int bpk_array_join_metadata(const struct bpk_array *array, struct bpk_view members,
			    struct bpk_buf *out, struct bpk_err *err);
int bpk_array_strip_metadata(struct bpk_view text, struct bpk_buf *out, struct bpk_err *err);

/* Append text to out with rows in place of the first dimension; every other byte stays.
 * bpk_array_from_metadata must have found an array of at least one dimension in text. */
int bpk_array_set_rows(struct bpk_view text, uint64_t rows, struct bpk_buf *out,
		       struct bpk_err *err);

#endif
