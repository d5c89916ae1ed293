/* The header of a NumPy file in front of the data of an array. For unpack.c alone. */
#ifndef BPK_CLI_UNPACK_NPY_H
#define BPK_CLI_UNPACK_NPY_H

#include "cli/transfer.h"

/* Make the header of the archive's array if the target's name asks for one; otherwise head stays
 * empty. Fails with BPK_FAILED, or as bpk_npy_head, if the data are not the array that the metadata
 * record, or NumPy has no such array. */
int bpk_unpack_npy_head(const struct bpk_transfer *transfer, struct bpk_buf *head,
			struct bpk_err *err);

/* Check that the result after head is the array; of a stream that is known only at the end. */
int bpk_unpack_npy_check(const struct bpk_transfer *transfer, struct bpk_view head,
			 struct bpk_err *err);

#endif
