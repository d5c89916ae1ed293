/* CRC-32 and Adler-32, by libdeflate or zlib. Called by checksum, journals and lists of changes. */
#include "base/crc.h"

#include "config.h"

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

/* Both libraries return the start value for a NULL address, and bytes of size 0 may have one. */

uint32_t bpk_crc32(uint32_t crc, struct bpk_view bytes)
{
	if (bytes.size == 0)
		return crc;
#ifdef HAVE_LIBDEFLATE
	return libdeflate_crc32(crc, bytes.data, bytes.size);
#else
	return (uint32_t)crc32_z(crc, bytes.data, bytes.size);
#endif
}

uint32_t bpk_adler32(uint32_t adler, struct bpk_view bytes)
{
	if (bytes.size == 0)
		return adler;
#ifdef HAVE_LIBDEFLATE
	return libdeflate_adler32(adler, bytes.data, bytes.size);
#else
	return (uint32_t)adler32_z(adler, bytes.data, bytes.size);
#endif
}
