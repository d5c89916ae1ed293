/*
 * Compares bpk's digests with a frame that another program has changed: the authors of header and
 * trailer, by their marks (frame.h), the header fields that may differ, and the digests of chunks
 * that moved. state.c and validate.c call it.
 */
#include "format/frame/frame.h"

#include <stdlib.h>

enum {
	THREADS = 63, /* offset in the header ("Header") */
	UNPACK_THREADS = 66,
	/* Most digests with an equal key that are compared: only a hostile frame has more. */
	MOST_ALIKE = 64,
};

/* ---- The header ---- */

enum bpk_frame_author bpk_frame_header_author(struct bpk_view header)
{
	unsigned pack = bpk_get_be16(header.data + THREADS);
	unsigned unpack = bpk_get_be16(header.data + UNPACK_THREADS);

	if (pack == 0 && unpack == 0)
		return BPK_FRAME_BY_BPK;
	return pack != 0 && unpack != 0 ? BPK_FRAME_BY_OTHER : BPK_FRAME_BY_NOBODY;
}

/* The header's fields in order, without the defaults for new chunks: codec, level, split, block
 * size, and the fields after the chunk size. */
static const struct field {
	uint8_t start, end;
	bool always; /* no program changes it; else no program changes it alone */
	const char *name;
} fields[] = {
	{ 0, 15, false, "length" },    { 15, 24, false, "frame length" },
	{ 24, 26, false, "flags" },    { 26, 27, false, "frame type" },
	{ 29, 38, false, "raw size" }, { 38, 47, false, "packed size" },
	{ 47, 52, true, "typesize" },  { 57, 62, false, "chunk size" },
};

int bpk_frame_digests_compare_header(const struct bpk_frame_digests *digests,
				     struct bpk_view header, bool alone, struct bpk_err *err)
{
	const uint8_t *then = digests->bytes.data + BPK_FRAME_DIGESTS_COPY;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct field *f = &fields[i];

		if ((alone || f->always) &&
		    memcmp(then + f->start, header.data + f->start, f->end - f->start) != 0)
			return bpk_fail(err, BPK_CORRUPT,
					"its %s has changed since bpk wrote the digests, and "
					"no program changes that%s",
					f->name, f->always ? "" : " alone");
	}
	return 0;
}

/* ---- Chunks ---- */

/* The first bytes of a digest, and the number of its chunk. */
struct entry {
	uint32_t key, number;
};

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

int bpk_frame_digests_list(const struct bpk_frame_digests *digests, struct bpk_buf *known,
			   struct bpk_err *err)
{
	/* a layer holds fewer than 2^31 bytes, and each digest takes four of them or more */
	uint32_t n = (uint32_t)digests->nchunks;
	uint64_t size = n * (uint64_t)sizeof(struct entry);

	if ((size_t)size != size)
		return bpk_fail_memory(err, size);
	if (bpk_buf_resize(known, (size_t)size, err) != 0)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		struct entry entry = { bpk_get_le32(bpk_frame_digests_chunk(digests, i)), i };

		memcpy(known->data + i * sizeof entry, &entry, sizeof entry);
	}
	if (n > 0)
		qsort(known->data, n, sizeof(struct entry), compare);
	return 0;
}

/* The first entry with a key not below this one. */
static size_t lower_bound(const struct entry *entries, size_t n, uint32_t key)
{
	size_t first = 0;

	while (n > 0) {
		size_t half = n / 2;

		if (entries[first + half].key < key) {
			first += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return first;
}

bool bpk_frame_digests_have(const struct bpk_frame_digests *digests, const struct bpk_buf *known,
			    const uint8_t *digest)
{
	/* aligned, like the start of every buffer */
	const struct entry *entries = (const struct entry *)(const void *)known->data;
	size_t n = known->size / sizeof *entries, size = digests->checksum->size;
	uint32_t key = bpk_get_le32(digest);

	size_t first = lower_bound(entries, n, key);

	for (size_t i = first; i < n && i - first < MOST_ALIKE && entries[i].key == key; i++)
		if (memcmp(bpk_frame_digests_chunk(digests, entries[i].number), digest, size) == 0)
			return true;
	return false;
}
