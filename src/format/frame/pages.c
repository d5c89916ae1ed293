/*
 * Large parts of a frame, read in pages: state.c makes them, and everything that asks a state for
 * an entry or a digest reads them.
 *
 *     index chunk    header | block starts | block, block, block, block | block, block ...
 *                                          | page                       | page
 *
 * A page of an index is unpacked as a chunk of its own, with the header of the whole and the
 * starts of its blocks. The last page has all blocks that do not fill another one, so that a short
 * last block, which is packed in another way, stays the last of several.
 */
#include "format/frame/pages.h"

#include <stdlib.h>

enum { ENTRY = 8, RAW_SIZE = 4, BLOCK_SIZE = 8, PACKED_SIZE = 12 }; /* the latter: "Header" */

struct page {
	uint64_t offset; /* in the part; it ends where the next one begins */
	uint32_t crc;    /* of the bytes at open, from the first page to this one */
};

struct slot {
	size_t number; /* of a page, plus 1; 0: empty */
	struct bpk_buf raw;
	struct bpk_err damage; /* of the page; BPK_OK: raw is valid */
};

struct bpk_frame_pages {
	/* fixed once scanned */
	struct bpk_source *source;
	uint64_t offset, raw_size;
	size_t page_size; /* raw bytes of each page but the last */
	size_t count;
	struct page *all;                      /* count, and one more for the end */
	const struct bpk_frame_header *header; /* NULL: no index */
	uint32_t before;                       /* what crc is before the first page */
	struct bpk_buf head;                   /* of the index: its header and block starts */
	uint32_t nblocks, per_page;            /* of the index; 0: stored */
	uint32_t block_size;

	struct bpk_mutex lock; /* guards slots */
	struct slot slots[BPK_FRAME_SLOTS];
};

/* ---- Making ---- */

static struct bpk_frame_pages *make(struct bpk_source *source, uint64_t offset, uint64_t raw_size,
				    size_t page_size, struct bpk_err *err)
{
	struct bpk_frame_pages *p = bpk_calloc(1, sizeof *p, err);

	if (p == NULL)
		return NULL;
	bpk_mutex_init(&p->lock);
	p->source = source;
	p->offset = offset;
	p->raw_size = raw_size;
	p->page_size = page_size;
	p->count = (size_t)bpk_max_u64(raw_size / page_size, 1);
	p->all = bpk_calloc(p->count + 1, sizeof *p->all, err);
	if (p->all != NULL)
		return p;
	bpk_frame_pages_free(p);
	return NULL;
}

void bpk_frame_pages_free(struct bpk_frame_pages *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < BPK_FRAME_SLOTS; i++)
		bpk_buf_clear(&p->slots[i].raw);
	bpk_mutex_clear(&p->lock);
	bpk_buf_clear(&p->head);
	free(p->all);
	free(p);
}

/* The bytes are stored as they are, from start on. */
static void place_stored(struct bpk_frame_pages *p, uint64_t start)
{
	for (size_t i = 0; i < p->count; i++)
		p->all[i].offset = start + i * (uint64_t)p->page_size;
	p->all[p->count].offset = start + p->raw_size;
}

struct bpk_frame_pages *bpk_frame_pages_of_bytes(struct bpk_source *source, uint64_t offset,
						 uint64_t size, unsigned item, struct bpk_err *err)
{
	struct bpk_frame_pages *p =
		make(source, offset, size, BPK_FRAME_PAGE / item * (size_t)item, err);

	if (p != NULL)
		place_stored(p, 0);
	return p;
}

static uint32_t start_of(const struct bpk_frame_pages *p, uint32_t block)
{
	return bpk_get_le32(p->head.data + BPK_CHUNK_EXTENDED_HEADER_SIZE + (size_t)4 * block);
}

/* True if all blocks lie in the chunk, one after the other, as every known writer stores them. */
static bool are_in_order(const struct bpk_frame_pages *p, uint32_t packed_size)
{
	uint32_t least = (uint32_t)p->head.size;

	for (uint32_t i = 0; i < p->nblocks; i++) {
		if (start_of(p, i) < least)
			return false;
		least = start_of(p, i) + 1;
		if (least >= packed_size)
			return false;
	}
	return true;
}

static void place_blocks(struct bpk_frame_pages *p, uint32_t packed_size)
{
	p->all[0].offset = p->head.size;
	for (size_t i = 1; i < p->count; i++)
		p->all[i].offset = start_of(p, (uint32_t)i * p->per_page);
	p->all[p->count].offset = packed_size;
}

/* True if any run of blocks can be unpacked by itself. */
static bool has_plain_blocks(const struct bpk_chunk_header *chunk)
{
	for (unsigned i = 0; i < chunk->pipeline.nsteps; i++)
		if (chunk->pipeline.steps[i].filter == BPK_FILTER_DELTA)
			return false;
	return !chunk->dictionary && !chunk->variable_blocks && chunk->prediction.size == 0 &&
	       chunk->block_size % chunk->typesize == 0 && chunk->block_size % ENTRY == 0 &&
	       chunk->block_size <= BPK_FRAME_PAGE;
}

int bpk_frame_pages_of_index(struct bpk_source *source, uint64_t offset,
			     const struct bpk_frame_header *header,
			     const struct bpk_chunk_header *chunk, struct bpk_frame_pages **pages,
			     struct bpk_err *err)
{
	uint32_t block = chunk->memcpyed ? BPK_FRAME_PAGE : chunk->block_size;
	size_t head = BPK_CHUNK_EXTENDED_HEADER_SIZE + (size_t)4 * chunk->nblocks;
	struct bpk_frame_pages *p;

	*pages = NULL;
	if (chunk->raw_size <= BPK_FRAME_PAGED || chunk->special != BPK_SPECIAL_NONE ||
	    chunk->header_size != BPK_CHUNK_EXTENDED_HEADER_SIZE ||
	    (chunk->memcpyed ? chunk->packed_size != head + (uint64_t)chunk->raw_size
			     : !has_plain_blocks(chunk)))
		return 0;
	p = make(source, offset, chunk->raw_size, BPK_FRAME_PAGE / block * (size_t)block, err);
	if (p == NULL)
		return -1;
	p->header = header;
	p->nblocks = chunk->nblocks;
	p->block_size = block;
	p->per_page = BPK_FRAME_PAGE / block;
	if (bpk_buf_resize(&p->head, head, err) != 0 ||
	    bpk_source_need_at(source, offset, bpk_span(p->head.data, head), err) != 0) {
		bpk_frame_pages_free(p);
		return -1;
	}
	if (chunk->memcpyed) {
		place_stored(p, head);
	} else if (are_in_order(p, chunk->packed_size)) {
		place_blocks(p, chunk->packed_size);
	} else {
		bpk_frame_pages_free(p);
		return 0;
	}
	*pages = p;
	return 0;
}

/* ---- Reading ---- */

static int read_stored(const struct bpk_frame_pages *p, size_t number, size_t head,
		       struct bpk_buf *out, struct bpk_err *err)
{
	const struct page *page = &p->all[number];
	size_t size = (size_t)(page[1].offset - page->offset);

	if (bpk_buf_resize(out, head + size, err) != 0)
		return -1;
	return bpk_source_need_at(p->source, p->offset + page->offset,
				  bpk_span(out->data + head, size), err);
}

/* If the sum is a CRC-32 as well, it serves both. */
int bpk_frame_pages_scan(struct bpk_frame_pages *p, struct bpk_summing *sum, struct bpk_err *err)
{
	bool is_crc = sum->checksum == bpk_checksum_find("crc32");
	struct bpk_buf bytes = { 0 };
	int rc = bpk_summing_add(sum, bpk_buf_view(&p->head), err);
	uint32_t crc = is_crc ? sum->sum : 0;

	p->before = crc;
	for (size_t i = 0; rc == 0 && i < p->count; i++) {
		rc = read_stored(p, i, 0, &bytes, err);
		if (rc == 0)
			rc = bpk_summing_add(sum, bpk_buf_view(&bytes), err);
		crc = is_crc ? sum->sum : bpk_crc32(crc, bpk_buf_view(&bytes));
		p->all[i].crc = crc;
	}
	bpk_buf_clear(&bytes);
	return rc;
}

/* True if the page still has these bytes. */
static bool is_same(const struct bpk_frame_pages *p, size_t number, struct bpk_view bytes)
{
	uint32_t before = number > 0 ? p->all[number - 1].crc : p->before;

	return bpk_crc32(before, bytes) == p->all[number].crc;
}

/* Raw bytes of a page. */
static size_t size_of(const struct bpk_frame_pages *p, size_t number)
{
	return number + 1 < p->count ? p->page_size
				     : (size_t)(p->raw_size - number * (uint64_t)p->page_size);
}

/* The blocks of a page, whose head bytes of a chunk are still unset, as a chunk. */
static void put_head(const struct bpk_frame_pages *p, size_t number, size_t head,
		     const struct bpk_buf *chunk)
{
	uint32_t first = (uint32_t)number * p->per_page;
	uint32_t n = (uint32_t)((head - BPK_CHUNK_EXTENDED_HEADER_SIZE) / 4);
	uint32_t moved = (uint32_t)(p->all[number].offset - head);
	uint8_t *starts = chunk->data + BPK_CHUNK_EXTENDED_HEADER_SIZE;

	memcpy(chunk->data, p->head.data, BPK_CHUNK_EXTENDED_HEADER_SIZE);
	bpk_put_le32(chunk->data + RAW_SIZE, (uint32_t)size_of(p, number));
	bpk_put_le32(chunk->data + BLOCK_SIZE, p->block_size);
	bpk_put_le32(chunk->data + PACKED_SIZE, (uint32_t)chunk->size);
	for (uint32_t i = 0; i < n; i++)
		bpk_put_le32(starts + (size_t)4 * i, start_of(p, first + i) - moved);
}

static int unpack(const struct bpk_frame_pages *p, size_t number, struct bpk_buf *packed,
		  size_t head, struct bpk_buf *raw, struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	int rc = ctx == NULL ? -1 : bpk_buf_resize(raw, size_of(p, number), err);

	put_head(p, number, head, packed);
	if (rc == 0 &&
	    bpk_chunk_decode(ctx, bpk_buf_view(packed), bpk_span(raw->data, raw->size), err) != 0)
		rc = bpk_err_subject(err, "index");
	bpk_chunk_ctx_free(ctx);
	return rc;
}

static void exchange(struct bpk_buf *a, struct bpk_buf *b)
{
	struct bpk_buf kept = *a;

	*a = *b;
	*b = kept;
}

/* Read, compare and unpack a page. head: bytes that the chunk made of it has before its blocks. */
static int load_page(const struct bpk_frame_pages *p, size_t number, struct bpk_buf *raw,
		     struct bpk_err *err)
{
	uint32_t first = (uint32_t)number * p->per_page;
	uint32_t blocks = number + 1 < p->count ? p->per_page : p->nblocks - first;
	size_t head = p->nblocks > 0 ? BPK_CHUNK_EXTENDED_HEADER_SIZE + (size_t)4 * blocks : 0;
	struct bpk_buf packed = { 0 };
	int rc = read_stored(p, number, head, &packed, err);

	if (rc == 0 && !is_same(p, number, bpk_view(packed.data + head, packed.size - head)))
		rc = bpk_fail_changed(err);
	if (rc == 0 && head > 0)
		rc = unpack(p, number, &packed, head, raw, err);
	else
		exchange(raw, &packed);
	bpk_buf_clear(&packed);
	if (rc == 0 && p->header != NULL)
		rc = bpk_frame_index_take(p->header, number * (uint64_t)p->page_size / ENTRY, raw,
					  err);
	return rc;
}

static size_t page_of(const struct bpk_frame_pages *p, uint64_t offset)
{
	return bpk_min_size((size_t)(offset / p->page_size), p->count - 1);
}

uint64_t bpk_frame_pages_rest(const struct bpk_frame_pages *p, uint64_t offset)
{
	size_t number = page_of(p, offset);

	return number * (uint64_t)p->page_size + size_of(p, number) - offset;
}

/* Copy from a slot; false if it has another page. */
static bool copy(struct bpk_frame_pages *p, size_t number, size_t at, struct bpk_span out,
		 struct bpk_err *damage)
{
	const struct slot *slot = &p->slots[number % BPK_FRAME_SLOTS];
	bool here;

	bpk_mutex_lock(&p->lock);
	here = slot->number == number + 1;
	if (here && slot->damage.kind != BPK_OK)
		*damage = slot->damage;
	else if (here)
		memcpy(out.data, slot->raw.data + at, out.size);
	bpk_mutex_unlock(&p->lock);
	return here;
}

int bpk_frame_pages_get(struct bpk_frame_pages *p, uint64_t offset, struct bpk_span out,
			struct bpk_err *err)
{
	size_t number = page_of(p, offset);
	size_t at = (size_t)(offset - number * (uint64_t)p->page_size);
	struct slot *slot = &p->slots[number % BPK_FRAME_SLOTS];
	struct bpk_err damage = { 0 };
	struct bpk_buf raw = { 0 };

	if (copy(p, number, at, out, &damage))
		return damage.kind == BPK_OK ? 0 : bpk_fail_as(err, &damage);
	/* damage is kept, since every entry of the page would meet it again */
	if (load_page(p, number, &raw, &damage) != 0 && damage.kind != BPK_CORRUPT) {
		bpk_buf_clear(&raw);
		return bpk_fail_as(err, &damage);
	}
	if (damage.kind == BPK_OK)
		memcpy(out.data, raw.data + at, out.size);
	bpk_mutex_lock(&p->lock);
	exchange(&slot->raw, &raw);
	slot->number = number + 1;
	slot->damage = damage;
	bpk_mutex_unlock(&p->lock);
	bpk_buf_clear(&raw);
	return damage.kind == BPK_OK ? 0 : bpk_fail_as(err, &damage);
}
