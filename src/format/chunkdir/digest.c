/*
 * Digests of our own in the file sizes: shares of chunks, and crc32 of files. Reader, writer and
 * editor call them.
 */
#include "format/chunkdir/meta.h"

static uint32_t crc32_of(struct bpk_view bytes)
{
	uint8_t digest[BPK_DIGEST_MAX];

	/* zlib's crc32 cannot fail */
	(void)bpk_checksum_compute(bpk_checksum_find("crc32"), bytes, digest, NULL);
	return bpk_get_le32(digest);
}

uint32_t bpk_chunkdir_crc(struct bpk_view text)
{
	return crc32_of(text);
}

int bpk_chunkdir_check_crc(struct bpk_view bytes, uint32_t expected, struct bpk_err *err)
{
	uint8_t stored[4];

	bpk_put_le32(stored, expected);
	return bpk_checksum_check(bpk_checksum_find("crc32"), bytes, stored, err);
}

/* Make every bit of the result depend on every input bit, so that sums do not cancel out:
 * multiplication by odd numbers carries upwards, the shifts move the high bits down. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 29) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

uint32_t bpk_chunkdir_brief(struct bpk_view chunk, struct bpk_view seal)
{
	uint8_t bytes[BPK_CHUNK_HEADER_SIZE + BPK_DIGEST_MAX];

	if (seal.size == 0)
		return crc32_of(chunk);
	memcpy(bytes, chunk.data, BPK_CHUNK_HEADER_SIZE);
	memcpy(bytes + BPK_CHUNK_HEADER_SIZE, seal.data, seal.size);
	return crc32_of(bpk_view(bytes, BPK_CHUNK_HEADER_SIZE + seal.size));
}

uint64_t bpk_chunkdir_share_of(size_t column, uint64_t number, uint32_t brief)
{
	return mix(mix(mix(column + 1) + number) + brief);
}

uint64_t bpk_chunkdir_share(size_t column, uint64_t number, struct bpk_view chunk,
			    struct bpk_view seal)
{
	return bpk_chunkdir_share_of(column, number, bpk_chunkdir_brief(chunk, seal));
}

/* Serialise the numbers of a file sizes. */
struct bpk_view bpk_chunkdir_sizes_numbers(const struct bpk_chunkdir_sizes *sizes,
					   uint8_t out[BPK_CHUNKDIR_NUMBERS])
{
	const struct bpk_chunkdir_digests *d = &sizes->digests;
	const uint64_t numbers[] = { sizes->nbytes, sizes->cbytes,     d->data,      d->last,
				     d->storage,    d->has_attributes, d->attributes };
	size_t n = sizeof numbers / sizeof *numbers;

	for (size_t i = 0; i < n; i++)
		bpk_put_le64(out + 8 * i, numbers[i]);
	for (size_t i = 0; i < sizes->ndimensions; i++)
		bpk_put_le64(out + 8 * (n + i), sizes->shape[i]);
	return bpk_view(out, 8 * (n + sizes->ndimensions));
}
