/* The seal that most formats share: a digest after the chunk. Writers and editors call it. */
#include "format/format.h"

int bpk_parcel_seal(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
		    struct bpk_err *err)
{
	struct bpk_buf *packed = &parcel->packed;
	uint8_t digest[BPK_DIGEST_MAX];

	packed->size = parcel->packed_size;
	if (bpk_checksum_compute(checksum, bpk_buf_view(packed), digest, err) != 0 ||
	    bpk_buf_resize(packed, parcel->packed_size + checksum->size, err) != 0)
		return -1;
	bpk_copy(packed->data + parcel->packed_size, digest, checksum->size);
	return 0;
}
