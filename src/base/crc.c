/* CRC-32 and Adler-32, by libdeflate or zlib, and by ISA-L. Called by checksum, journals and lists
 * of changes. */
#include "base/crc.h"

#include "base/library.h"
#include "config.h"

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#ifdef HAVE_ISAL
#include <isa-l.h>
#endif

/* Both libraries return the start value for a NULL address, and bytes of size 0 may have one. */

static uint32_t linked_crc32(uint32_t crc, struct bpk_view bytes)
{
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

/* ---- ISA-L ---- */

#ifdef HAVE_ISAL

#define TEXT(number)                #number
#define DOTTED(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

#define CALLS(X) X(crc32_gzip_refl)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(ISAL_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(ISAL_SONAME, names, calls);

static uint32_t isal_crc32(uint32_t crc, struct bpk_view bytes)
{
	return calls.crc32_gzip_refl(crc, bytes.data, bytes.size);
}

/* Count the bytes of digests, and load the library when they are many. False: it is not loaded. */
static bool is_worth(size_t size)
{
	/*
	 * Shorter ones are as fast by either library, and are not counted. The processor time of
	 * verify with ISA-L by that without, chunks of random bytes, medians of 60 turns: 4 MiB
	 * 0.99, 16 MiB 0.97, 64 MiB 0.92. So loading pays as soon as 3 MiB follow.
	 */
	enum { FEW = 256, MANY = 1 << 20 };
	static _Atomic uint64_t counted;
	static atomic_bool missing;

	if (size < FEW || atomic_load_explicit(&missing, memory_order_relaxed))
		return false;
	if (atomic_load_explicit(&counted, memory_order_relaxed) < MANY &&
	    atomic_fetch_add_explicit(&counted, size, memory_order_relaxed) + size < MANY)
		return false;
	if (bpk_library_need(&library, NULL) == 0)
		return true;
	atomic_store_explicit(&missing, true, memory_order_relaxed);
	return false;
}

const char *bpk_crc32_library(void)
{
	return "ISA-L " DOTTED(ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
}

bpk_crc32_call *bpk_crc32_way(size_t i)
{
	if (i == 1 && bpk_library_need(&library, NULL) == 0)
		return isal_crc32;
	return i == 0 ? linked_crc32 : NULL;
}

#else

static uint32_t isal_crc32(uint32_t crc, struct bpk_view bytes)
{
	return linked_crc32(crc, bytes);
}

static bool is_worth(size_t size)
{
	(void)size;
	return false;
}

const char *bpk_crc32_library(void)
{
	return NULL;
}

bpk_crc32_call *bpk_crc32_way(size_t i)
{
	return i == 0 ? linked_crc32 : NULL;
}

#endif

uint32_t bpk_crc32(uint32_t crc, struct bpk_view bytes)
{
	if (bytes.size == 0)
		return crc;
	return is_worth(bytes.size) ? isal_crc32(crc, bytes) : linked_crc32(crc, bytes);
}
