/*
 * One scalar type and its text. Internal to base; for the parser and printer of types.
 */
#ifndef BPK_BASE_SCALAR_H
#define BPK_BASE_SCALAR_H

#include "base/base.h"

enum { BPK_SCALAR_TEXT = 40 };

/* Parse "<f8", "float64", "M8[ns]" and the like. native ('<' or '>') is the byte order of texts
 * that name no order. Fails as bpk_dtype_parse. */
int bpk_scalar_parse(struct bpk_view text, char native, struct bpk_scalar *scalar,
		     struct bpk_err *err);

/* NumPy's dtype.str: "<f8", "|S3", "<M8[D]". */
void bpk_scalar_print(const struct bpk_scalar *scalar, char out[BPK_SCALAR_TEXT]);

#endif
