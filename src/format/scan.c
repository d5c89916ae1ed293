/* Searches a file for chunks, byte by byte. The salvage calls of formats use it. */
#include "format/scan.h"

#include "io/io.h"

enum {
	WINDOW = 1 << 20,
	TIMES = 64, /* a file without false headers takes about twice its size */
};

int bpk_scan_begin(struct bpk_scan *scan, struct bpk_source *source, bool extended,
		   struct bpk_err *err)
{
	*scan = (struct bpk_scan){ .extended = extended, .budget = (uint64_t)WINDOW * TIMES };
	bpk_scan_turn(scan, source);
	scan->ctx = bpk_chunk_ctx_new(err);
	return scan->ctx == NULL ? -1 : 0;
}

void bpk_scan_turn(struct bpk_scan *scan, struct bpk_source *source)
{
	uint64_t more;

	scan->source = source;
	scan->size = source == NULL ? 0 : bpk_source_size(source);
	scan->window.size = 0;
	if (!bpk_mul_u64(scan->size, TIMES, &more) ||
	    !bpk_add_u64(scan->budget, more, &scan->budget))
		scan->budget = UINT64_MAX;
}

void bpk_scan_clear(struct bpk_scan *scan)
{
	bpk_chunk_ctx_free(scan->ctx);
	bpk_buf_clear(&scan->window);
	bpk_buf_clear(&scan->chunk);
	*scan = (struct bpk_scan){ 0 };
}

int bpk_scan_see(struct bpk_scan *scan, uint64_t at, size_t size, const uint8_t **bytes,
		 struct bpk_err *err)
{
	size_t got;

	if (at < scan->window_at || at + size > scan->window_at + scan->window.size) {
		/* some searches go backwards */
		bool back = at < scan->window_at && scan->window.size > 0;

		scan->window_at = !back ? at : at + size > WINDOW ? at + size - WINDOW : 0;
		if (bpk_buf_resize(&scan->window, WINDOW, err) != 0 ||
		    bpk_source_read_at(scan->source, scan->window_at,
				       bpk_span(scan->window.data, WINDOW), &got, err) != 0)
			return -1;
		scan->window.size = got;
		if (got < size || at - scan->window_at > got - size)
			return bpk_fail(err, BPK_FAILED, "has become shorter");
	}
	*bytes = scan->window.data + (at - scan->window_at);
	return 0;
}

enum { PLAIN = 2, OLDEST = 3, LATEST = 6 }; /* versions, the first byte of a header */

static bool is_extended(const uint8_t *bytes, bool specials, struct bpk_chunk_header *header)
{
	return bytes[0] >= OLDEST && bytes[0] <= LATEST &&
	       bpk_chunk_header_read(bpk_view(bytes, BPK_CHUNK_EXTENDED_HEADER_SIZE), header,
				     NULL) == 0 &&
	       header->header_size == BPK_CHUNK_EXTENDED_HEADER_SIZE &&
	       (specials || header->special == BPK_SPECIAL_NONE ||
		header->special == BPK_SPECIAL_VALUE);
}

static bool is_plain(const uint8_t *bytes, struct bpk_chunk_header *header)
{
	return bytes[0] == PLAIN &&
	       bpk_chunk_header_read_plain(bpk_view(bytes, BPK_CHUNK_HEADER_SIZE), header, NULL) ==
		       0;
}

int bpk_scan_look(struct bpk_scan *scan, uint64_t at, struct bpk_chunk_header *header, bool *is,
		  struct bpk_err *err)
{
	size_t size = scan->extended ? BPK_CHUNK_EXTENDED_HEADER_SIZE : BPK_CHUNK_HEADER_SIZE;
	const uint8_t *bytes;

	*is = false;
	if (at > scan->size || scan->size - at < size)
		return 0;
	if (bpk_scan_see(scan, at, size, &bytes, err) != 0)
		return -1;
	*is = scan->extended ? is_extended(bytes, scan->specials, header) : is_plain(bytes, header);
	*is = *is && header->raw_size > 0 && header->packed_size <= scan->size - at;
	return 0;
}

uint64_t bpk_scan_find(const struct bpk_scan *scan, uint64_t at, uint8_t low, uint8_t high)
{
	uint64_t end = scan->window_at + scan->window.size;

	if (at < scan->window_at || at >= end)
		return at;
	for (; at < end; at++) {
		uint8_t byte = scan->window.data[at - scan->window_at];

		if (byte >= low && byte <= high)
			return at;
	}
	return bpk_min_u64(at + bpk_source_hole_at(scan->source, at), scan->size);
}

uint64_t bpk_scan_skip(const struct bpk_scan *scan, uint64_t at)
{
	return scan->extended ? bpk_scan_find(scan, at, OLDEST, LATEST)
			      : bpk_scan_find(scan, at, PLAIN, PLAIN);
}

int bpk_scan_bring(struct bpk_scan *scan, uint64_t at, uint64_t size, size_t more,
		   struct bpk_err *err)
{
	size_t all = (size_t)bpk_min_u64(scan->size - at, size + more), got;

	if (all > scan->budget)
		return bpk_fail(err, BPK_LIMIT,
				"holds too many false chunk headers to find the true ones");
	scan->budget -= all;
	if (bpk_buf_resize(&scan->chunk, all, err) != 0)
		return -1;
	/* those that are seen are not read again */
	if (all > 0 && at >= scan->window_at && at - scan->window_at <= scan->window.size &&
	    all <= scan->window.size - (at - scan->window_at)) {
		memcpy(scan->chunk.data, scan->window.data + (at - scan->window_at), all);
		return 0;
	}
	if (bpk_source_read_at(scan->source, at, bpk_span(scan->chunk.data, all), &got, err) != 0)
		return -1;
	return got == all ? 0 : bpk_fail(err, BPK_FAILED, "has become shorter");
}
