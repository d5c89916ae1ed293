/*
 * Parts of arrays, as NumPy writes them: "0:10,:,3". Called by cat and plot.
 */
#ifndef BPK_CLI_SLICE_H
#define BPK_CLI_SLICE_H

#include "cli/transfer.h"

/*
 * Where a slice lies in an array: as in NumPy, a range that leaves a dimension stops at its end,
 * negative numbers count from there, an index selects one, and dimensions that are not named are
 * whole. Fails with BPK_USAGE: more dimensions than the array has, an index beyond its end.
 */
int bpk_slice_resolve(const struct bpk_opt_slice *slice, const struct bpk_array *array,
		      struct bpk_slice *out, struct bpk_err *err);

#endif
