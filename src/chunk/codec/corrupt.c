/*
 * The error report of all decoders. Called by the codecs beside it.
 */
#include "chunk/codec/state.h"

int bpk_codec_corrupt(struct bpk_err *err, const char *codec, size_t packed_size, size_t raw_size,
		      const char *reason)
{
	return bpk_fail(err, BPK_CORRUPT, "%s stream of %zu bytes does not unpack to %zu bytes: %s",
			codec, packed_size, raw_size, reason);
}
