/* The calls of libarchive, which read.c and write.c make. */
#include "io/tar/libarchive.h"

#include "config.h"

struct bpk_libarchive bpk_libarchive = { BPK_LIBARCHIVE_CALLS(ARCHIVE_ADDRESS) };
static const char *const names[] = { BPK_LIBARCHIVE_CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(ARCHIVE_SONAME, names, bpk_libarchive);

int bpk_libarchive_need(struct bpk_err *err)
{
	return bpk_library_need(&library, err);
}
