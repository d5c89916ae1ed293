/*
 * Arrays in chunks of several dimensions: items between C order and the blocks of chunks, against
 * the formulas of the specification; and bands.
 */
#include "unit/unit.h"

#include "format/frame/nd/bands.h"

/* ---- Copying, against the formulas ---- */

/* A small array whose items are their numbers in C order, from 1 on, in item_size bytes. */
struct sample {
	struct bpk_frame_nd nd;
	size_t item_size;
	uint64_t nitems;
	uint8_t *bytes;
};

static void put_item(uint8_t *to, size_t item_size, uint64_t number)
{
	for (size_t i = 0; i < item_size; i++)
		to[i] = (uint8_t)(i < 2 ? (number + 1) >> 8 * i : number + i);
}

static void make_sample(struct unit_random *random, struct sample *s)
{
	static const size_t sizes[] = { 2, 3, 4, 8, 16, 24 }, most[] = { 1, 40, 20, 11, 7, 5 };
	size_t count = unit_random_next(random) % 6;
	uint64_t shape[5], chunks[5], blocks[5];
	struct bpk_array array = { 0 };
	struct bpk_err err = { 0 };

	s->item_size = sizes[unit_random_next(random) % 6];
	for (size_t i = 0; i < count; i++) {
		shape[i] = unit_random_next(random) % (most[count] + 1);
		if (unit_random_next(random) % 4 > 0)
			shape[i] = shape[i] == 0 ? 1 : shape[i];
		chunks[i] = 1 + unit_random_next(random) % most[count];
		blocks[i] = 1 + unit_random_next(random) % chunks[i];
		if (unit_random_next(random) % 3 == 0)
			blocks[i] = chunks[i];
	}
	array.dtype = (struct bpk_dtype){ .scalar = { 'V', '|', (uint32_t)s->item_size, "" },
					  .size = s->item_size };
	assert_int_equal(bpk_array_set_shape(&array, shape, count, &err), 0);
	if (bpk_frame_nd_make(&array, chunks, blocks, 1, 1, &s->nd, &err) != 0)
		fail_msg("%s", err.text);
	s->nitems = array.size / s->item_size;
	s->bytes = calloc(s->nitems + 1, s->item_size);
	for (uint64_t i = 0; i < s->nitems; i++)
		put_item(s->bytes + i * s->item_size, s->item_size, i);
}

static void free_sample(struct sample *s)
{
	free(s->bytes);
	bpk_frame_nd_clear(&s->nd);
}

/* "item (r) : chunk index r div chunkshape, rest q = r mod chunkshape, block q div blockshape, item
 * q mod blockshape": the place of item number, in C order. */
static void place_of(const struct bpk_frame_nd *nd, uint64_t number, uint64_t *chunk,
		     uint64_t *block, uint64_t *item)
{
	uint64_t chunks = 1, blocks = 1, items = 1;

	*chunk = *block = *item = 0;
	for (size_t i = nd->array.ndimensions; i-- > 0;) {
		uint64_t r = number % nd->array.shape[i], q = r % nd->chunk_shape[i];

		number /= nd->array.shape[i];
		*chunk += r / nd->chunk_shape[i] * chunks;
		*block += q / nd->block_shape[i] * blocks;
		*item += q % nd->block_shape[i] * items;
		chunks *= nd->grid[i];
		blocks *= nd->extended[i] / nd->block_shape[i];
		items *= nd->block_shape[i];
	}
}

/* All chunks, concatenated, by the formula. */
static uint8_t *place_all(const struct sample *s)
{
	const struct bpk_frame_nd *nd = &s->nd;
	uint8_t *chunks = calloc(nd->nchunks + 1, nd->chunk_size + 1);

	for (uint64_t i = 0; i < s->nitems; i++) {
		uint64_t chunk, block, item;

		place_of(nd, i, &chunk, &block, &item);
		memcpy(chunks + chunk * nd->chunk_size + block * nd->block_size +
			       item * s->item_size,
		       s->bytes + i * s->item_size, s->item_size);
	}
	return chunks;
}

static void test_gather(void **state)
{
	struct unit_random random = { 11 };

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct bpk_frame_pieces pieces;
		struct bpk_slice whole;
		struct sample s;
		uint8_t *expected, *chunk;

		make_sample(&random, &s);
		expected = place_all(&s);
		chunk = malloc(s.nd.chunk_size + 1);
		whole = bpk_frame_nd_whole(&s.nd);
		bpk_frame_nd_cut(&s.nd, &whole, 0, s.nitems, &pieces);
		assert_int_equal(pieces.count, s.nitems > 0);
		for (uint64_t k = 0; k < s.nd.nchunks; k++) {
			memset(chunk, 0xaa, s.nd.chunk_size);
			bpk_frame_nd_gather(&s.nd, k, &pieces, s.bytes, chunk);
			assert_memory_equal(chunk, expected + k * s.nd.chunk_size, s.nd.chunk_size);
		}
		free(chunk);
		free(expected);
		free_sample(&s);
	}
}

/* ---- Any run of any box ---- */

static struct bpk_slice random_box(struct unit_random *random, const struct bpk_frame_nd *nd)
{
	struct bpk_slice box = bpk_frame_nd_whole(nd);

	for (size_t i = 0; i < box.ndimensions; i++) {
		box.start[i] = unit_random_next(random) % (nd->array.shape[i] + 1);
		box.stop[i] = box.start[i] +
			      unit_random_next(random) % (nd->array.shape[i] - box.start[i] + 1);
	}
	return box;
}

/* The number, in the array, of item number of a box. */
static uint64_t item_of(const struct bpk_frame_nd *nd, const struct bpk_slice *box, uint64_t number)
{
	uint64_t item = 0, items = 1;

	for (size_t i = box->ndimensions; i-- > 0;) {
		uint64_t extent = box->stop[i] - box->start[i];

		item += (box->start[i] + number % extent) * items;
		number /= extent;
		items *= nd->array.shape[i];
	}
	return item;
}

struct walk {
	const struct sample *s;
	const struct bpk_frame_pieces *pieces;
	const uint8_t *chunks;
	uint8_t *run;
	uint64_t chunk;
	uint64_t *seen, nseen; /* chunk * 2^32 + block, in order */
};

static int visit_block(void *arg, uint64_t number, struct bpk_err *err)
{
	struct walk *w = arg;
	const struct bpk_frame_nd *nd = &w->s->nd;
	const uint8_t *block = w->chunks + w->chunk * nd->chunk_size + number * nd->block_size;
	uint64_t start, stop;
	uint8_t *bytes;

	(void)err;
	w->seen[w->nseen++] = w->chunk << 32 | number;
	/* the range is enough: there is nothing else of the block */
	bpk_frame_nd_block_range(nd, w->chunk, number, w->pieces, &start, &stop);
	assert_true(start < stop && stop <= nd->block_size);
	bytes = malloc(stop - start);
	memcpy(bytes, block + start, stop - start);
	bpk_frame_nd_scatter(nd, w->chunk, number, w->pieces, bytes, start, w->run);
	free(bytes);
	return 0;
}

static int visit_chunk(void *arg, uint64_t number, struct bpk_err *err)
{
	struct walk *w = arg;

	w->chunk = number;
	return bpk_frame_nd_each_block(&w->s->nd, number, w->pieces, visit_block, w, err);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The contiguous part of a chunk is in place, byte for byte. */
static void assert_straight(const struct walk *w, uint64_t chunk)
{
	const struct bpk_frame_nd *nd = &w->s->nd;

	for (size_t k = 0; k < w->pieces->count; k++) {
		uint64_t start, offset, size;

		if (!bpk_frame_nd_is_straight(nd, chunk, &w->pieces->piece[k], &start, &offset,
					      &size))
			continue;
		assert_in_range(start + size, 1, nd->chunk_size);
		assert_memory_equal(w->chunks + chunk * nd->chunk_size + start, w->run + offset,
				    size);
	}
}

/* Exactly the blocks that hold items of the run are visited, each once and ascending, and the run
 * matches the formula. */
static void assert_run(const struct sample *s, const uint8_t *chunks, const struct bpk_slice *box,
		       uint64_t first, uint64_t count)
{
	uint64_t *places = calloc(count + 1, sizeof *places), nplaces = 0;
	struct bpk_frame_pieces pieces;
	struct walk w = { .s = s, .pieces = &pieces, .chunks = chunks };

	bpk_frame_nd_cut(&s->nd, box, first, count, &pieces);
	w.run = calloc(count + 1, s->item_size);
	w.seen = calloc(count + 1, sizeof *w.seen);
	assert_int_equal(bpk_frame_nd_each_chunk(&s->nd, &pieces, visit_chunk, &w, NULL), 0);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t item = item_of(&s->nd, box, first + i), chunk, block, at;

		assert_memory_equal(w.run + i * s->item_size, s->bytes + item * s->item_size,
				    s->item_size);
		place_of(&s->nd, item, &chunk, &block, &at);
		places[i] = chunk << 32 | block;
	}
	qsort(places, count, sizeof *places, compare_u64);
	for (uint64_t i = 0; i < count; i++)
		if (i == 0 || places[i] != places[i - 1])
			places[nplaces++] = places[i];
	assert_int_equal(w.nseen, nplaces);
	assert_memory_equal(w.seen, places, nplaces * sizeof *places);
	for (uint64_t k = 0; k < s->nd.nchunks; k++)
		assert_straight(&w, k);
	free(places);
	free(w.seen);
	free(w.run);
}

static void test_scatter(void **state)
{
	struct unit_random random = { 12 };

	(void)state;
	for (int round = 0; round < 800; round++) {
		struct sample s;
		uint8_t *chunks;

		make_sample(&random, &s);
		chunks = place_all(&s);
		for (int i = 0; i < 8; i++) {
			struct bpk_slice box =
				i == 0 ? bpk_frame_nd_whole(&s.nd) : random_box(&random, &s.nd);
			uint64_t items = bpk_frame_box_items(&box);
			uint64_t first = unit_random_next(&random) % (items + 1);
			uint64_t count = unit_random_next(&random) % (items - first + 1);

			assert_run(&s, chunks, &box, 0, items);
			assert_run(&s, chunks, &box, first, count);
		}
		free(chunks);
		free_sample(&s);
	}
}

/* Every item has the value of its chunk. */
static void assert_filled(const struct sample *s, const struct bpk_slice *box, uint64_t first,
			  uint64_t count)
{
	uint8_t *run = calloc(count + 1, s->item_size), item[24];
	struct bpk_frame_pieces pieces;
	uint64_t chunk, block, at;

	bpk_frame_nd_cut(&s->nd, box, first, count, &pieces);
	for (uint64_t k = 0; k < s->nd.nchunks; k++) {
		put_item(item, s->item_size, k);
		bpk_frame_nd_fill(&s->nd, k, &pieces, item, run);
	}
	for (uint64_t i = 0; i < count; i++) {
		place_of(&s->nd, item_of(&s->nd, box, first + i), &chunk, &block, &at);
		put_item(item, s->item_size, chunk);
		assert_memory_equal(run + i * s->item_size, item, s->item_size);
	}
	free(run);
}

static void test_fill(void **state)
{
	struct unit_random random = { 15 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct bpk_slice box;
		struct sample s;
		uint64_t items, first;

		make_sample(&random, &s);
		box = random_box(&random, &s.nd);
		items = bpk_frame_box_items(&box);
		first = unit_random_next(&random) % (items + 1);
		assert_filled(&s, &box, first, unit_random_next(&random) % (items - first + 1));
		free_sample(&s);
	}
}

/* ---- Bands ---- */

/* All chunks of a run, packed, as a reader holds a band in memory. */
struct packing {
	const struct sample *s;
	const uint8_t *chunks;
	struct bpk_chunk_ctx *ctx;
	struct bpk_buf *packed;
	uint64_t *owner, band; /* the last band in which a chunk was seen */
	bool shared;           /* a chunk was in two bands */
};

static int pack_chunk(void *arg, uint64_t number, struct bpk_err *err)
{
	struct packing *p = arg;
	const struct bpk_frame_nd *nd = &p->s->nd;
	const struct bpk_recipe recipe = { .codec = bpk_codec_find("lz4"),
					   .level = 1,
					   .typesize = 1,
					   .block_size = (uint32_t)nd->block_size };
	struct bpk_frame_band *band;
	size_t at = p->packed->size, bound = bpk_chunk_bound(nd->chunk_size), size;

	p->shared = p->shared || (p->owner[number] != 0 && p->owner[number] != p->band + 1);
	p->owner[number] = p->band + 1;
	assert_int_equal(bpk_buf_resize(p->packed, at + bound, err), 0);
	assert_int_equal(
		bpk_chunk_encode(p->ctx, &recipe,
				 bpk_view(p->chunks + number * nd->chunk_size, nd->chunk_size),
				 bpk_span(p->packed->data + at, bound), &size, err),
		0);
	p->packed->size = at + size;
	band = bpk_frame_band(p->packed);
	band->chunk[band->count++] = (struct bpk_frame_band_chunk){
		.number = number, .offset = at, .packed_size = size, .size = size
	};
	return 0;
}

static void assert_band(struct packing *p, const struct bpk_slice *box, uint64_t first,
			uint64_t count)
{
	const struct sample *s = p->s;
	struct bpk_frame_pieces pieces;
	struct bpk_err err = { 0 };
	uint64_t failed;
	uint8_t *out = malloc(count * s->item_size);

	bpk_frame_nd_cut(&s->nd, box, first, count, &pieces);
	assert_int_equal(bpk_frame_band_begin(p->packed, s->nd.nchunks, &err), 0);
	assert_int_equal(bpk_frame_nd_each_chunk(&s->nd, &pieces, pack_chunk, p, &err), 0);
	if (bpk_frame_band_unpack(&s->nd, box, first, count, p->ctx, p->packed,
				  bpk_span(out, count * s->item_size), &failed, &err) != 0)
		fail_msg("chunk %llu: %s", (unsigned long long)failed, err.text);
	for (uint64_t i = 0; i < count; i++)
		assert_memory_equal(out + i * s->item_size,
				    s->bytes + item_of(&s->nd, box, first + i) * s->item_size,
				    s->item_size);
	free(out);
}

/* The bands of a box are consecutive up to its end and decode to its items. */
static void assert_bands(const struct sample *s, const uint8_t *chunks, const struct bpk_slice *box,
			 enum bpk_frame_purpose purpose)
{
	struct bpk_frame_bands bands = bpk_frame_bands_of(&s->nd, box, purpose);
	struct bpk_buf packed = { 0 };
	struct packing p = { .s = s, .chunks = chunks, .packed = &packed };
	uint64_t next = 0;

	p.ctx = bpk_chunk_ctx_new(NULL);
	p.owner = calloc(s->nd.nchunks + 1, sizeof *p.owner);
	for (p.band = 0; p.band < bands.count; p.band++) {
		uint64_t first, count = bpk_frame_band_items(&bands, p.band, &first);

		assert_int_equal(first, next);
		assert_true(count > 0);
		assert_band(&p, box, first, count);
		next = first + count;
	}
	assert_int_equal(next, bands.items);
	assert_false(purpose != BPK_FRAME_READING && p.shared);
	free(p.owner);
	bpk_chunk_ctx_free(p.ctx);
	bpk_buf_clear(&packed);
}

static void test_bands(void **state)
{
	struct unit_random random = { 13 };

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct bpk_slice whole;
		struct sample s;
		uint8_t *chunks;

		make_sample(&random, &s);
		chunks = place_all(&s);
		whole = bpk_frame_nd_whole(&s.nd);
		assert_bands(&s, chunks, &whole, BPK_FRAME_READING);
		assert_bands(&s, chunks, &whole, BPK_FRAME_WRITING);
		assert_bands(&s, chunks, &whole, BPK_FRAME_CHANGING);
		for (int i = 0; i < 3; i++) {
			struct bpk_slice box = random_box(&random, &s.nd);

			assert_bands(&s, chunks, &box, BPK_FRAME_READING);
		}
		free(chunks);
		free_sample(&s);
	}
}

/* Bands of large arrays have bounded sizes; whole ones begin at chunk boundaries. */
static void test_large(void **state)
{
	static const struct {
		size_t count;
		uint64_t shape[3], chunks[3], blocks[3], size;
	} rows[] = {
		/* a row of the grid */
		{ 2, { 1000, 10000 }, { 200, 10 }, { 10, 10 }, 200 * 10000 },
		/* several rows, if they are small */
		{ 1, { 1u << 30 }, { 1024 }, { 1024 }, 1u << 20 },
		{ 1, { 1u << 30 }, { 1000 }, { 10 }, 1048000 },
		/* rows of blocks, single rows, and the next dimension */
		{ 2, { 1000, 1u << 20 }, { 200, 10 }, { 10, 10 }, 60u << 20 },
		{ 2, { 1000, 1u << 20 }, { 200, 10 }, { 100, 10 }, 64u << 20 },
		{ 3, { 9, 1u << 10, 1u << 20 }, { 9, 128, 10 }, { 9, 8, 10 }, 64u << 20 },
		/* tiny chunks count more than their bytes */
		{ 2, { 3, 1u << 26 }, { 1, 1 }, { 1, 1 }, 4096 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bpk_array bytes = { .dtype = { .scalar = { 'u', '|', 1, "" }, .size = 1 } };
		struct bpk_frame_nd nd;
		struct bpk_err err = { 0 };
		struct bpk_slice whole;
		struct bpk_frame_bands bands;

		assert_int_equal(bpk_array_set_shape(&bytes, rows[i].shape, rows[i].count, &err),
				 0);
		if (bpk_frame_nd_make(&bytes, rows[i].chunks, rows[i].blocks, 1, 1, &nd, &err) != 0)
			fail_msg("row %zu: %s", i, err.text);
		whole = bpk_frame_nd_whole(&nd);
		bands = bpk_frame_bands_of(&nd, &whole, BPK_FRAME_READING);
		if (bands.size != rows[i].size || bands.first != bands.size)
			fail_msg("row %zu: %llu", i, (unsigned long long)bands.size);
		bands = bpk_frame_bands_of(&nd, &whole, BPK_FRAME_WRITING);
		assert_int_equal(bands.first, bands.size);
		assert_int_equal(bands.size / (bands.items / nd.array.shape[0]) % nd.chunk_shape[0],
				 nd.chunk_shape[0] > nd.array.shape[0] ? 9 : 0);
		bpk_frame_nd_clear(&nd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gather), cmocka_unit_test(test_scatter),
		cmocka_unit_test(test_fill),   cmocka_unit_test(test_bands),
		cmocka_unit_test(test_large),
	};

	return UNIT_RUN(tests);
}
