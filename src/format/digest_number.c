/* The numbers of digests in files. Called by Bloscpack files, chunked directories and frames. */
#include "format/digest_number.h"

/* Indexed by number. */
static const char *const names[BPK_CHECKSUM_NUMBERS] = {
	"none", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512",
};

const struct bpk_checksum *bpk_checksum_of_number(unsigned number)
{
	return number < BPK_CHECKSUM_NUMBERS ? bpk_checksum_find(names[number]) : NULL;
}

unsigned bpk_checksum_number(const struct bpk_checksum *checksum)
{
	unsigned number = 0;

	while (number + 1 < BPK_CHECKSUM_NUMBERS && strcmp(names[number], checksum->name) != 0)
		number++;
	return number;
}
