/*
 * The room flow: runs between a reader and a writer in memory, and the view of an archive.
 */
#include "unit/unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "flow/flow.h"

enum {
	MAX_CHUNKS = 300,
	NEVER = 1 << 20,
};

/* The callbacks run on any thread, and cmocka's assertions must not jump out of those. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The test data: the byte at offset. */
static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)((offset * 2654435761u) >> 11);
}

static void fill(uint8_t *out, uint64_t offset, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out[i] = byte_at(offset + i);
}

static bool holds(const uint8_t *bytes, uint64_t offset, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != byte_at(offset + i))
			return false;
	}
	return true;
}

/* Sleep for a time that depends on number only, up to about a millisecond. */
static void dawdle(uint64_t number)
{
	usleep((useconds_t)(number * 7919 % 13 * 80));
}

/* ---- A reader in memory: chunks of the test data, raw or packed ---- */

struct reader {
	struct bpk_info info;
	size_t sizes[MAX_CHUNKS]; /* raw sizes of the existing chunks */
	uint64_t nchunks;
	size_t more; /* bytes of the last chunk after the committed ones */
	/* a parcel is two chunks: the bytes at even positions, then those at odd ones */
	bool halves;
	bool packed;
	bool positional;
	bool slow;
	uint64_t fail_fetch, fail_check; /* numbers; NEVER */
	enum bpk_kind fetch_kind;        /* of the first; 0: BPK_CORRUPT */
	uint64_t fail_slowly;            /* fetching this number fails after all others */
	uint64_t late;                   /* fetching this number ends after all others */
	uint64_t damage;                 /* number of a chunk with invalid bytes */
	const struct bpk_recipe *recipe; /* of chunks of noise; NULL: stored() */
	size_t damaged_at[2];            /* a byte in each of these places is wrong; 0: not */
	pthread_barrier_t *together;     /* every fetch waits for others */
	atomic_uint inside;              /* fetches in progress */
	atomic_uint fetched;
	uint64_t last; /* last number fetched by a sequential reader */
};

static uint64_t offset_of(const struct reader *r, uint64_t number)
{
	uint64_t offset = 0;

	for (uint64_t i = 0; i < number && i < r->nchunks; i++)
		offset += r->sizes[i];
	return offset;
}

static void reader_make(struct reader *r, uint64_t raw_size, size_t chunk_size)
{
	*r = (struct reader){ .positional = true,
			      .fail_fetch = NEVER,
			      .fail_check = NEVER,
			      .fail_slowly = NEVER,
			      .late = NEVER,
			      .damage = NEVER };
	r->last = BPK_UNKNOWN;
	do {
		r->sizes[r->nchunks] = bpk_min_size(chunk_size, raw_size);
		raw_size -= r->sizes[r->nchunks++];
	} while (raw_size > 0);
	r->info = (struct bpk_info){ .format = "test",
				     .stored_size = 1,
				     .raw_size = offset_of(r, r->nchunks),
				     .chunks.count = r->nchunks,
				     .chunks.size = chunk_size,
				     .chunks.last_size = r->sizes[r->nchunks - 1] };
}

/* Chunks of many sizes, including 0. */
static void reader_make_uneven(struct reader *r, uint64_t nchunks)
{
	reader_make(r, 1, 1);
	r->nchunks = nchunks;
	for (uint64_t i = 0; i < nchunks; i++)
		r->sizes[i] = (size_t)(i * 37 % 11 * 100);
	r->info.chunks.count = nchunks;
	r->info.chunks.size = r->info.chunks.last_size = BPK_UNKNOWN;
	r->info.raw_size = offset_of(r, nchunks);
	r->packed = true;
}

static void reader_forget_sizes(struct reader *r)
{
	r->positional = false;
	r->info.raw_size = r->info.chunks.count = r->info.stored_size = BPK_UNKNOWN;
	r->info.chunks.last_size = BPK_UNKNOWN;
}

static const struct bpk_info *reader_info(const void *reader)
{
	return &((const struct reader *)reader)->info;
}

static bool reader_positional(const void *reader)
{
	return ((const struct reader *)reader)->positional;
}

static struct bpk_recipe stored(void)
{
	return (struct bpk_recipe){ .codec = bpk_codec_find("zstd"), .level = 0, .typesize = 4 };
}

/* Bytes that zlib packs to half of their size. */
static void fill_noise(uint8_t *out, size_t size)
{
	struct unit_random random = { 1 };

	for (size_t i = 0; i < size; i++)
		out[i] = unit_random_next(&random) & 15;
}

static int pack_into(struct bpk_parcel *parcel, const struct bpk_recipe *like, uint64_t offset,
		     size_t size, struct bpk_err *err)
{
	struct bpk_recipe recipe = like == NULL ? stored() : *like;
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	uint8_t *raw = malloc(size + 1);
	int rc;

	if (like == NULL)
		fill(raw, offset, size);
	else
		fill_noise(raw, size);
	rc = bpk_buf_resize(&parcel->packed, bpk_chunk_bound(size) + 4, err);
	if (rc == 0)
		rc = bpk_chunk_encode(ctx, &recipe, bpk_view(raw, size),
				      bpk_span(parcel->packed.data, bpk_chunk_bound(size)),
				      &parcel->packed_size, err);
	parcel->packed.size = parcel->packed_size + 4; /* a seal */
	memcpy(parcel->packed.data + parcel->packed_size, "seal", 4);
	free(raw);
	bpk_chunk_ctx_free(ctx);
	return rc;
}

/* Encode a parcel of halves as stored(): each half has the length in its header. */
static int pack_halves(struct bpk_chunk_ctx *ctx, struct bpk_view raw, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	struct bpk_recipe recipe = stored();
	uint8_t *half = malloc(raw.size + 1);
	int rc = bpk_buf_resize(&parcel->packed, raw.size + 64, err);

	parcel->packed_size = 0;
	for (size_t i = 0; rc == 0 && i < 2; i++) {
		size_t n = 0, size;

		for (size_t at = i; at < raw.size; at += 2)
			half[n++] = raw.data[at];
		rc = bpk_chunk_encode(ctx, &recipe, bpk_view(half, n),
				      bpk_span(parcel->packed.data + parcel->packed_size, n + 16),
				      &size, err);
		parcel->packed_size += size;
	}
	free(half);
	return rc;
}

static int unpack_halves(struct bpk_chunk_ctx *ctx, const struct bpk_parcel *parcel,
			 struct bpk_span out, struct bpk_err *err)
{
	struct bpk_view left = bpk_view(parcel->packed.data, parcel->packed_size);
	uint8_t *half = malloc(parcel->raw_size + 1);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < 2; i++) {
		struct bpk_chunk_header header;

		MUST(bpk_chunk_header_read(left, &header, err) == 0);
		rc = bpk_chunk_decode(ctx, left, bpk_span(half, header.raw_size), err);
		left = bpk_view(left.data + header.packed_size, left.size - header.packed_size);
		for (size_t n = 0; n < header.raw_size; n++)
			if (2 * n + i >= parcel->want_start &&
			    2 * n + i < parcel->want_start + out.size)
				out.data[2 * n + i - parcel->want_start] = half[n];
	}
	free(half);
	return rc;
}

static int pack_halves_into(struct bpk_parcel *parcel, uint64_t offset, size_t size,
			    struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	uint8_t *raw = malloc(size + 1);
	int rc;

	fill(raw, offset, size);
	rc = pack_halves(ctx, bpk_view(raw, size), parcel, err);
	parcel->packed.size = parcel->packed_size;
	if (rc == 0)
		rc = bpk_buf_append(&parcel->packed, bpk_view("seal", 4), err);
	free(raw);
	bpk_chunk_ctx_free(ctx);
	return rc;
}

static int bring(struct reader *r, struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint64_t number = parcel->number, offset = offset_of(r, number);
	size_t size;

	if (number >= r->nchunks) {
		if (!r->positional)
			r->info.raw_size = offset; /* known from here on */
		return 1;
	}
	size = r->sizes[number];
	if (!r->packed) {
		if (bpk_buf_resize(&parcel->raw, size, err) != 0)
			return -1;
		fill(parcel->raw.data, offset, size);
		return 0;
	}
	parcel->packed_offset = 1000 + number;
	if (number + 1 == r->nchunks && r->more > 0) {
		parcel->data_size = size;
		size += r->more;
	}
	parcel->raw_size = size;
	if (r->halves)
		return pack_halves_into(parcel, offset, size, err);
	if (pack_into(parcel, r->recipe, offset, size, err) != 0)
		return -1;
	if (number == r->damage)
		memset(parcel->packed.data, 0xff, 16);
	for (size_t i = 0; i < 2 && r->damaged_at[i] > 0; i++)
		parcel->packed.data[r->damaged_at[i]] ^= 0x55;
	return 0;
}

static int reader_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct reader *r = reader;
	uint64_t number = parcel->number;
	unsigned inside = atomic_fetch_add(&r->inside, 1);
	int rc;

	if (!r->positional) {
		/* one at a time, in ascending order */
		MUST(inside == 0);
		MUST(r->last == BPK_UNKNOWN || number > r->last);
		r->last = number;
	}
	if (r->together != NULL)
		pthread_barrier_wait(r->together);
	if (r->slow)
		dawdle(number);
	if (number == r->fail_slowly || number == r->late)
		usleep(20000);
	if (number == r->fail_fetch || number == r->fail_slowly)
		rc = bpk_fail(err, r->fetch_kind != BPK_OK ? r->fetch_kind : BPK_CORRUPT,
			      "chunk %d: fetch failed", (int)number);
	else
		rc = bring(r, parcel, err);
	atomic_fetch_add(&r->fetched, 1);
	atomic_fetch_sub(&r->inside, 1);
	return rc;
}

static int reader_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct reader *r = reader;

	if (parcel->number == r->fail_check ||
	    memcmp(parcel->packed.data + parcel->packed_size, "seal", 4) != 0)
		return bpk_fail(err, BPK_CORRUPT, "chunk %d: seal is broken", (int)parcel->number);
	return 0;
}

static int reader_locate(void *reader, uint64_t number, struct bpk_where *where,
			 struct bpk_err *err)
{
	struct reader *r = reader;

	(void)err;
	if (number >= r->nchunks)
		return 1;
	*where = (struct bpk_where){ .raw_offset = offset_of(r, number),
				     .header = { .raw_size = (uint32_t)r->sizes[number] } };
	return 0;
}

static bool reader_unpacks(const void *reader)
{
	return ((const struct reader *)reader)->halves;
}

static int reader_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
			 const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	(void)reader;
	return unpack_halves(ctx, parcel, out, err);
}

static const struct bpk_reader_ops reader_ops = {
	.unpacks = reader_unpacks,
	.unpack = reader_unpack,
	.info = reader_info,
	.positional = reader_positional,
	.fetch = reader_fetch,
	.check = reader_check,
	.locate = reader_locate,
};

/* ---- A writer into memory ---- */

struct writer {
	bool places;
	bool takes_raw;
	const char *seal; /* expected on every packed parcel */
	bool halves;
	bool lies; /* its output comes back with one byte changed */
	bool slow;
	uint64_t fail_put;
	struct bpk_buf raw; /* content of raw parcels, at their offsets */
	uint64_t next;      /* raw offset of the next parcel */
	uint64_t numbers[MAX_CHUNKS];
	uint64_t nput;
	uint64_t nchunks; /* of these parcels */
	uint64_t largest; /* most raw bytes put at once */
	uint64_t packed_size, packed_hash;
	atomic_uint inside;
	pthread_mutex_t lock;
};

static void writer_make(struct writer *w, bool takes_raw, bool places, size_t room)
{
	*w = (struct writer){
		.takes_raw = takes_raw, .places = places, .seal = "SEALseal", .fail_put = NEVER
	};
	pthread_mutex_init(&w->lock, NULL);
	/* a non-NULL address even for 0 bytes */
	assert_int_equal(bpk_buf_reserve(&w->raw, room + 1, NULL), 0);
	memset(w->raw.data, 0, room);
	w->raw.size = room;
}

static void writer_clear(struct writer *w)
{
	bpk_buf_clear(&w->raw);
	pthread_mutex_destroy(&w->lock);
}

static bool writer_places(const void *writer)
{
	return ((const struct writer *)writer)->places;
}

static int writer_seal(const void *writer, struct bpk_parcel *parcel, struct bpk_err *err)
{
	(void)writer;
	if (bpk_buf_append(&parcel->packed, bpk_view("SEALseal", 8), err) != 0)
		return -1;
	MUST(parcel->packed.size == parcel->packed_size + 8);
	return 0;
}

/* Decode a packed parcel as any reader does, and keep its bytes. */
static void keep_packed(struct writer *w, const struct bpk_parcel *parcel)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);
	struct bpk_span out = bpk_span(w->raw.data + w->next, parcel->raw_size);

	MUST(w->next + out.size <= w->raw.size);
	if (w->halves)
		MUST(unpack_halves(ctx, parcel, out, NULL) == 0);
	else
		MUST(bpk_chunk_decode(ctx, chunk, out, NULL) == 0);
	MUST(parcel->packed.size == parcel->packed_size + strlen(w->seal));
	MUST(memcmp(parcel->packed.data + parcel->packed_size, w->seal, strlen(w->seal)) == 0);
	w->next += out.size;
	w->packed_size += parcel->packed.size;
	w->packed_hash = bpk_hash(w->packed_hash, chunk);
	bpk_chunk_ctx_free(ctx);
}

/* The first four puts wait for each other; NULL: puts do not wait. */
static pthread_barrier_t *put_together;

static int writer_put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct writer *w = writer;
	unsigned inside = atomic_fetch_add(&w->inside, 1);

	if (put_together != NULL && parcel->raw_offset < 4 * (1 << 20))
		pthread_barrier_wait(put_together);
	if (w->slow)
		dawdle(parcel->number + 5);
	if (parcel->number == w->fail_put) {
		atomic_fetch_sub(&w->inside, 1);
		return bpk_fail(err, BPK_FAILED, "put failed");
	}
	pthread_mutex_lock(&w->lock);
	if (!w->places) {
		MUST(inside == 0);
		MUST(w->nput == 0 || parcel->number >= w->numbers[w->nput - 1]);
	}
	w->numbers[w->nput++] = parcel->number;
	w->nchunks += 1 + parcel->again;
	w->largest = bpk_max_u64(w->largest, parcel->raw.size);
	if (w->takes_raw) {
		MUST(parcel->want_start == 0);
		MUST(parcel->want_size == parcel->raw.size);
		MUST(parcel->raw_offset + parcel->raw.size <= w->raw.size);
		if (!w->places)
			MUST(parcel->raw_offset == w->next);
		bpk_copy(w->raw.data + parcel->raw_offset, parcel->raw.data, parcel->raw.size);
		w->next += parcel->raw.size;
	} else {
		keep_packed(w, parcel);
	}
	pthread_mutex_unlock(&w->lock);
	atomic_fetch_sub(&w->inside, 1);
	return 0;
}

static bool writer_packs(const void *writer)
{
	return ((const struct writer *)writer)->halves;
}

static int writer_pack(const void *writer, struct bpk_chunk_ctx *ctx,
		       const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	(void)writer;
	(void)recipe;
	return pack_halves(ctx, bpk_buf_view(&parcel->raw), parcel, err);
}

static int writer_unpack(const void *writer, struct bpk_chunk_ctx *ctx,
			 const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	int rc = unpack_halves(ctx, parcel, out, err);

	if (((const struct writer *)writer)->lies && out.size > 0)
		out.data[out.size / 2] ^= 1;
	return rc;
}

static const struct bpk_writer_ops packed_ops = { .packs = writer_packs,
						  .pack = writer_pack,
						  .unpack = writer_unpack,
						  .seal = writer_seal,
						  .put = writer_put };
static const struct bpk_writer_ops raw_ops = { .places = writer_places, .put = writer_put };

static const unsigned thread_counts[] = { 1, 2, 8 };

/* A run over all of r; with out NULL nothing is written. */
static struct bpk_flow flow_of(struct reader *r, const struct bpk_writer_ops *out, struct writer *w,
			       unsigned threads)
{
	return (struct bpk_flow){ .in = &reader_ops,
				  .reader = r,
				  .out = out,
				  .writer = w,
				  .plan = bpk_plan_all(&r->info),
				  .check = true,
				  .limits.threads = threads };
}

/* ---- Packing ---- */

static void pack_once(struct reader *r, struct bpk_plan plan, unsigned threads)
{
	const struct bpk_packing packing = { .choice.recipe = stored() };
	uint64_t raw_size = offset_of(r, r->nchunks);
	struct writer w;
	struct bpk_flow flow = flow_of(r, &packed_ops, &w, threads);
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	flow.plan = plan;
	flow.packing = &packing;
	flow.compare = true;
	writer_make(&w, false, false, raw_size);
	w.slow = r->slow;
	r->last = BPK_UNKNOWN;
	assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
	assert_int_equal(w.next, raw_size);
	assert_true(holds(w.raw.data, 0, raw_size));
	assert_int_equal(result.raw_size, raw_size);
	assert_int_equal(result.nchunks, w.nput);
	assert_int_equal(result.nchunks, bpk_max_u64(1, r->nchunks));
	assert_int_equal(result.packed_size, w.packed_size);
	writer_clear(&w);
}

static void test_pack_keeps_the_order(void **state)
{
	static struct reader r;

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		for (int kind = 0; kind < 8; kind++) {
			reader_make(&r, 40 * 1000 + kind / 4 * 17, 1000);
			r.positional = kind % 2;
			r.slow = kind % 4 >= 2;
			pack_once(&r, bpk_plan_cut(r.info.raw_size, 1000), thread_counts[t]);
		}
	}
}

static void test_pack_finds_an_unknown_end(void **state)
{
	static struct reader r;

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		for (uint64_t size = 0; size < 12000; size += 1500) {
			for (int positional = 0; positional < 2; positional++) {
				reader_make(&r, size, 1000);
				r.positional = positional;
				r.nchunks = size == 0 ? 0 : r.nchunks;
				pack_once(&r, bpk_plan_cut(BPK_UNKNOWN, 1000), thread_counts[t]);
			}
		}
	}
}

static void test_pack_of_nothing_is_one_empty_chunk(void **state)
{
	static struct reader r;

	(void)state;
	reader_make(&r, 0, 1000);
	assert_int_equal(bpk_plan_cut(0, 1000).count, 1);
	pack_once(&r, bpk_plan_cut(0, 1000), 8);
}

static void test_pack_notices_a_source_that_shrank(void **state)
{
	static struct reader r;
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct writer w;
	struct bpk_flow flow = flow_of(&r, &packed_ops, &w, 2);
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	flow.plan = bpk_plan_cut(10000, 1000);
	flow.packing = &packing;
	for (uint64_t size = 3000; size <= 3500; size += 500) {
		reader_make(&r, size, 1000);
		writer_make(&w, false, false, 10000);
		assert_int_equal(bpk_flow_run(&flow, &result, &err), -1);
		assert_int_equal(err.kind, BPK_FAILED);
		assert_int_equal(w.nput, 3);
		writer_clear(&w);
	}
}

/* ---- Unpacking ---- */

/* Unpack start..end of r and compare; returns the result of bpk_flow_run. */
static int unpack_range(struct reader *r, struct bpk_plan plan, bool places, unsigned threads,
			struct bpk_err *err)
{
	uint64_t end = bpk_min_u64(plan.end, offset_of(r, r->nchunks));
	uint64_t size = end > plan.start ? end - plan.start : 0;
	struct writer w;
	struct bpk_flow flow = flow_of(r, &raw_ops, &w, threads);
	struct bpk_flow_result result;
	int rc;

	flow.plan = plan;
	flow.decode = true;
	/* behind a chunk that is too short by a byte, others come to their places in the plan */
	writer_make(&w, true, places, size + 1);
	w.slow = r->slow;
	r->last = BPK_UNKNOWN;
	rc = bpk_flow_run(&flow, &result, err);
	if (rc == 0) {
		assert_int_equal(w.next, size);
		assert_int_equal(result.raw_size, size);
		assert_int_equal(result.nchunks, w.nchunks);
		assert_true(holds(w.raw.data, plan.start, size));
	}
	writer_clear(&w);
	return rc;
}

static void test_unpack_in_order_and_in_place(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		for (int kind = 0; kind < 32; kind++) {
			if (kind & 16)
				reader_make_uneven(&r, 50);
			else
				reader_make(&r, 50001, 1000);
			r.packed = true;
			r.positional = kind & 1;
			r.slow = kind & 2;
			if (kind & 4)
				reader_forget_sizes(&r);
			assert_int_equal(unpack_range(&r, bpk_plan_all(&r.info), kind & 8,
						      thread_counts[t], &err),
					 0);
		}
	}
}

static void test_unpack_of_an_empty_archive(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };

	(void)state;
	reader_make(&r, 0, 1000);
	r.packed = true;
	assert_int_equal(unpack_range(&r, bpk_plan_all(&r.info), true, 2, &err), 0);
	r.info.chunks.size = 0;
	assert_int_equal(unpack_range(&r, bpk_plan_all(&r.info), false, 2, &err), 0);
}

static void make_for_range(struct reader *r, int kind)
{
	if (kind & 1)
		reader_make_uneven(r, 30);
	else
		reader_make(r, 14500, 500);
	r->packed = true;
	r->positional = kind & 2;
	if (kind & 4)
		reader_forget_sizes(r);
}

static void test_ranges_bring_their_bytes_alone(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };
	struct bpk_plan plan;
	struct unit_random random = { 1 };

	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		for (int i = 0; i < 60; i++) {
			uint64_t size, start, end;

			make_for_range(&r, kind);
			size = offset_of(&r, r.nchunks);
			start = unit_random_next(&random) % (size + 1);
			end = start + unit_random_next(&random) % (size - start + 1);
			if (i == 0)
				start = 0, end = size;
			if (i == 1)
				start = size, end = size;
			assert_int_equal(bpk_plan_range(&reader_ops, &r, start, end, &plan, &err),
					 0);
			assert_int_equal(unpack_range(&r, plan, i % 2, 1 + i % 3, &err), 0);
		}
		assert_int_equal(bpk_plan_range(&reader_ops, &r, 77, BPK_UNKNOWN, &plan, &err), 0);
		assert_int_equal(unpack_range(&r, plan, false, 2, &err), 0);
	}
}

static void test_a_range_touches_few_chunks(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };
	struct bpk_plan plan;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		make_for_range(&r, kind);
		assert_int_equal(bpk_plan_range(&reader_ops, &r, 5100, 5101, &plan, &err), 0);
		assert_int_equal(unpack_range(&r, plan, false, 8, &err), 0);
		assert_int_equal(atomic_load(&r.fetched), 1);
	}
	/* a pipe of uneven chunks is read up to the end of the range */
	make_for_range(&r, 1 | 4);
	assert_int_equal(bpk_plan_range(&reader_ops, &r, 100, 1001, &plan, &err), 0);
	assert_int_equal(unpack_range(&r, plan, false, 8, &err), 0);
	assert_true(atomic_load(&r.fetched) < 6);
}

static void test_a_range_past_the_end_is_refused(void **state)
{
	static struct reader r;
	struct bpk_plan plan;

	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		for (int by = 1; by <= 2000; by += 1999) {
			for (int open = 0; open < 2; open++) {
				struct bpk_err err = { 0 };
				uint64_t size, start, end;
				int rc;

				make_for_range(&r, kind);
				size = offset_of(&r, r.nchunks);
				start = open ? size + by : 100;
				end = open ? BPK_UNKNOWN : size + by;
				rc = bpk_plan_range(&reader_ops, &r, start, end, &plan, &err);
				if (rc == 0)
					rc = unpack_range(&r, plan, false, 2, &err);
				assert_int_equal(rc, -1);
				assert_int_equal(err.kind, BPK_USAGE);
			}
		}
	}
}

static void test_a_chunk_of_another_size_is_damage(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };

	(void)state;
	reader_make(&r, 10000, 1000);
	r.packed = true;
	r.late = 4;
	r.sizes[4] = 999;
	assert_int_equal(unpack_range(&r, bpk_plan_all(&r.info), true, 2, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_string_equal(err.text, "chunk 4 unpacks to 999 bytes, expected 1000");
}

static void test_uneven_chunks_must_add_up(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };

	(void)state;
	reader_make_uneven(&r, 20);
	r.info.raw_size++;
	assert_int_equal(unpack_range(&r, bpk_plan_all(&r.info), false, 2, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
}

/* ---- Verifying and converting ---- */

static int verify(struct reader *r, bool decode, unsigned threads, struct bpk_flow_result *result,
		  struct bpk_err *err)
{
	struct bpk_flow flow = flow_of(r, NULL, NULL, threads);

	flow.decode = decode;
	r->last = BPK_UNKNOWN;
	return bpk_flow_run(&flow, result, err);
}

/* Chunks 1 to 38 repeat chunk 0. */
static uint64_t repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size)
{
	(void)reader;
	*first = 0;
	*raw_size = (39 - number) * 1000;
	return number >= 1 && number < 39 ? 39 - number : 0;
}

static void test_verify_counts_what_repeats(void **state)
{
	static struct reader r;
	struct bpk_reader_ops ops = reader_ops;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	ops.repeats = repeats;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		struct bpk_flow flow;

		reader_make(&r, 40000, 1000);
		r.packed = true;
		flow = flow_of(&r, NULL, NULL, threads);
		flow.in = &ops;
		flow.decode = true;
		assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
		assert_int_equal(result.nchunks, 40);
		assert_int_equal(result.raw_size, 40000);
		assert_int_equal(atomic_load(&r.fetched), 2);
	}
}

/* The list as text: "0+1 1000:2000 piece: report", a line each. */
static void assert_damage(const struct bpk_damage *damage, const char *expected)
{
	char text[1024] = "";

	for (size_t i = 0; i < damage->count; i++) {
		const struct bpk_damaged *d = &damage->all[i];

		snprintf(text + strlen(text), sizeof text - strlen(text),
			 "%" PRIu64 "+%" PRIu64 " %" PRIu64 ":%" PRIu64 " %d: %s\n", d->first,
			 d->count, d->start, d->end, (int)d->piece, d->report);
	}
	assert_string_equal(text, expected);
}

/* A run of r that goes on behind damage. */
static void list_damage(struct reader *r, const struct bpk_reader_ops *ops, unsigned threads,
			struct bpk_damage *damage, struct bpk_err *err)
{
	struct bpk_flow flow = flow_of(r, NULL, NULL, threads);
	struct bpk_flow_result result;

	bpk_damage_init(damage);
	flow.in = ops;
	flow.decode = true;
	flow.damage = damage;
	r->last = BPK_UNKNOWN;
	assert_int_equal(bpk_flow_run(&flow, &result, err), -1);
}

static void test_verify_goes_on_behind_damage(void **state)
{
	static struct reader r;
	struct bpk_reader_ops ops = reader_ops;
	struct bpk_damage damage;
	struct bpk_err err = { 0 };

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		reader_make(&r, 20100, 1000);
		r.packed = r.slow = true;
		r.fail_check = 3;
		r.damage = 20;
		list_damage(&r, &reader_ops, thread_counts[t], &damage, &err);
		assert_int_equal(damage.count, 2);
		assert_string_equal(err.text, damage.all[0].report);
		assert_int_equal(damage.all[0].first, 3);
		assert_int_equal(damage.all[1].first, 20);
		assert_int_equal(damage.all[1].start, 20000);
		assert_int_equal(damage.all[1].end, 20100);
		assert_false(damage.more);
		bpk_damage_clear(&damage);

		/* the chunks that repeat a damaged one were passed over */
		ops.repeats = repeats;
		reader_make(&r, 40000, 1000);
		r.packed = true;
		r.fail_check = 0;
		list_damage(&r, &ops, thread_counts[t], &damage, &err);
		assert_damage(&damage,
			      "0+1 0:1000 -1: chunk 0: seal is broken\n"
			      "1+38 1000:39000 -1: chunk 1 repeats chunk 0, which is damaged\n");
		bpk_damage_clear(&damage);

		/* another failure ends the run; damage before it is listed */
		reader_make(&r, 20000, 1000);
		r.packed = true;
		r.fail_check = 3;
		r.fail_fetch = 9;
		r.fetch_kind = BPK_FAILED;
		list_damage(&r, &reader_ops, thread_counts[t], &damage, &err);
		assert_damage(&damage, "3+1 3000:4000 -1: chunk 3: seal is broken\n");
		assert_int_equal(damage.stop.kind, BPK_FAILED);
		bpk_damage_clear(&damage);
		r.fail_fetch = 2;
		list_damage(&r, &reader_ops, thread_counts[t], &damage, &err);
		assert_damage(&damage, "");
		assert_int_equal(err.kind, BPK_FAILED);
		bpk_damage_clear(&damage);
	}
}

static void test_verify_needs_no_writer(void **state)
{
	static struct reader r;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	for (int decode = 0; decode < 2; decode++) {
		reader_make(&r, 20100, 1000);
		r.packed = true;
		r.slow = true;
		assert_int_equal(verify(&r, decode, 3, &result, &err), 0);
		assert_int_equal(result.raw_size, 20100);
		assert_int_equal(result.nchunks, 21);
		assert_int_equal(result.packed_size, 20100 + 21 * (16 + 4));
	}
	r.damage = 9;
	assert_int_equal(verify(&r, false, 3, &result, &err), 0);
	assert_int_equal(verify(&r, true, 3, &result, &err), -1);
	assert_int_equal(strncmp(err.text, "chunk 9 at offset 1009: ", 24), 0);
	r.fail_check = 8;
	assert_int_equal(verify(&r, true, 3, &result, &err), -1);
	assert_string_equal(err.text, "chunk 8: seal is broken");
}

static void test_chunks_are_carried_over_and_sealed_again(void **state)
{
	static struct reader r;
	struct writer w;
	struct bpk_flow flow;
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		reader_make_uneven(&r, 20);
		flow = flow_of(&r, &packed_ops, &w, 2);
		flow.packing = kind & 1 ? &packing : NULL;
		flow.same_seals = kind & 2;
		writer_make(&w, false, false, r.info.raw_size);
		if (kind == 2)
			w.seal = "seal"; /* the reader's own */
		assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
		assert_true(holds(w.raw.data, 0, r.info.raw_size));
		assert_int_equal(w.nput, 20);
		writer_clear(&w);
	}
}

/* The last chunk holds more than was committed: readers ignore the rest, and conversion cuts it. */
static void test_what_was_not_committed_is_left_out(void **state)
{
	static struct reader r;
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct writer w;
	struct bpk_flow flow;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	for (int kind = 0; kind < 16; kind++) {
		reader_make(&r, 5300, 1000);
		r.packed = true;
		r.positional = kind & 1;
		r.more = kind & 2 ? 700 : 1;
		if (kind & 4)
			r.info.chunks.size = BPK_UNKNOWN;
		assert_int_equal(unpack_range(&r, bpk_plan_all(&r.info), true, 2, &err), 0);
		flow = flow_of(&r, &packed_ops, &w, 2);
		flow.packing = kind & 8 ? &packing : NULL;
		r.last = BPK_UNKNOWN;
		writer_make(&w, false, false, 5300);
		assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
		assert_true(holds(w.raw.data, 0, 5300));
		assert_int_equal(w.next, 5300);
		assert_int_equal(result.raw_size, 5300);
		writer_clear(&w);
	}
	/* fewer bytes than committed are damage */
	reader_make(&r, 5300, 1000);
	r.packed = true;
	r.more = 10;
	r.sizes[5] = 299;
	assert_int_equal(unpack_range(&r, bpk_plan_all(&r.info), true, 2, &err), -1);
	assert_string_equal(err.text, "chunk 5 unpacks to 299 bytes, expected 300");
}

static void test_parcels_of_several_chunks(void **state)
{
	static struct reader r;
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct writer w;
	struct bpk_flow flow;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };
	struct bpk_plan plan;

	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		reader_make(&r, 5301, 1000);
		r.packed = true;
		r.positional = kind & 1;
		r.halves = kind != 2;
		r.more = kind & 4 ? 5 : 0;
		assert_int_equal(bpk_plan_range(&reader_ops, &r, 1001, 5300, &plan, &err), 0);
		assert_int_equal(unpack_range(&r, plan, false, 3, &err), 0);
		flow = flow_of(&r, &packed_ops, &w, 3);
		flow.packing = &packing;
		flow.compare = true;
		r.last = BPK_UNKNOWN;
		writer_make(&w, false, false, 5301);
		w.halves = kind != 3;
		assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
		assert_true(holds(w.raw.data, 0, 5301));
		writer_clear(&w);
	}
	writer_make(&w, false, false, 5301);
	w.halves = w.lies = true;
	r.last = BPK_UNKNOWN;
	assert_int_equal(bpk_flow_run(&flow, &result, &err), -1);
	assert_int_equal(err.kind, BPK_BUG);
	writer_clear(&w);
}

static void test_chunks_are_numbered_behind_others(void **state)
{
	static struct reader r;
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct writer w;
	struct bpk_flow flow;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	reader_make(&r, 5300, 1000);
	flow = flow_of(&r, &packed_ops, &w, 3);
	flow.packing = &packing;
	flow.first_number = 17;
	writer_make(&w, false, false, 5300);
	assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(w.numbers[i], 17 + i);
	writer_clear(&w);
}

/* Encode 16 chunks of zeros with slack; returns their size. */
static uint64_t pack_zeros(struct bpk_slack slack)
{
	static uint8_t zeros[16 * 4096];
	const struct bpk_packing packing = {
		.choice.recipe = { .codec = bpk_codec_find("zstd"), .level = 1, .typesize = 1 },
		.slack = slack,
	};
	const struct bpk_read_options options = { 0 };
	struct bpk_place place = { .path = "zeros" };
	struct writer w;
	struct bpk_flow flow = { .in = bpk_format_raw.reader,
				 .out = &packed_ops,
				 .writer = &w,
				 .plan = bpk_plan_cut(sizeof zeros, 4096),
				 .packing = &packing,
				 .compare = true,
				 .limits.threads = 2 };
	struct bpk_flow_result result;

	assert_int_equal(bpk_source_of_memory(bpk_view(zeros, sizeof zeros), &place.source, NULL),
			 0);
	assert_int_equal(flow.in->open(&place, &options, &flow.reader, NULL), 0);
	writer_make(&w, false, false, sizeof zeros);
	assert_int_equal(bpk_flow_run(&flow, &result, NULL), 0);
	assert_memory_equal(w.raw.data, zeros, sizeof zeros);
	writer_clear(&w);
	flow.in->close(flow.reader);
	bpk_source_close(place.source);
	return result.packed_size;
}

static void test_slack_makes_chunks_larger(void **state)
{
	enum { SEAL = 8 };
	uint64_t tight = pack_zeros((struct bpk_slack){ 0 });
	uint64_t chunk = tight / 16 - SEAL;

	(void)state;
	assert_int_equal(pack_zeros((struct bpk_slack){ .bytes = 100 }), tight + 16 * 100);
	assert_int_equal(pack_zeros((struct bpk_slack){ .percent = 50 }), tight + 16 * (chunk / 2));
	assert_int_equal(pack_zeros((struct bpk_slack){ .bytes = UINT32_MAX, .percent = 1000 }),
			 16 * (4096 + 16 + SEAL));
}

/* ---- Failing ---- */

static void test_the_lowest_failure_wins(void **state)
{
	static struct reader r;
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct writer w;
	struct bpk_flow flow;

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		for (int kind = 0; kind < 4; kind++) {
			struct bpk_flow_result result;
			struct bpk_err err = { 0 };

			reader_make(&r, 40000, 1000);
			r.positional = kind & 1;
			r.slow = kind & 2;
			r.fail_fetch = 9;
			r.fail_slowly = 7;
			writer_make(&w, false, false, 40000);
			flow = flow_of(&r, &packed_ops, &w, thread_counts[t]);
			flow.packing = &packing;
			assert_int_equal(bpk_flow_run(&flow, &result, &err), -1);
			assert_string_equal(err.text, "chunk 7: fetch failed");
			assert_int_equal(w.nput, 7);
			assert_int_equal(result.nchunks, 7);
			assert_true(holds(w.raw.data, 0, 7000));
			assert_true(atomic_load(&r.fetched) <= 7 + 2 * flow.limits.threads + 1);
			writer_clear(&w);
		}
	}
}

static void test_a_failing_put_stops_the_run(void **state)
{
	static struct reader r;
	struct writer w;
	struct bpk_flow flow;

	(void)state;
	for (size_t t = 0; t < 3; t++) {
		for (int places = 0; places < 2; places++) {
			struct bpk_flow_result result;
			struct bpk_err err = { 0 };

			reader_make(&r, 40000, 1000);
			r.packed = true;
			flow = flow_of(&r, &raw_ops, &w, thread_counts[t]);
			flow.decode = true;
			writer_make(&w, true, places, 40000);
			w.fail_put = 11;
			w.slow = true;
			assert_int_equal(bpk_flow_run(&flow, &result, &err), -1);
			assert_string_equal(err.text, "put failed");
			assert_true(holds(w.raw.data, 0, 11000));
			assert_true(places || w.nput == 11);
			writer_clear(&w);
		}
	}
}

/* ---- Small chunks ---- */

/* Chunks of 100 bytes come together; each can fail by itself, and those before it are put. */
static void test_small_chunks_share_parcels(void **state)
{
	static struct reader r;
	struct writer w;
	struct bpk_flow flow;

	(void)state;
	for (int kind = 0; kind < 24; kind++) {
		uint64_t bad[] = { NEVER, 0, 162, 163, 200, 299 }, at = bad[kind / 4];
		uint64_t good = bpk_min_u64(at, 300);
		struct bpk_flow_result result;
		struct bpk_err err = { 0 };

		reader_make(&r, 30000, 100);
		r.packed = true;
		r.fail_fetch = kind & 1 ? at : NEVER;
		r.damage = kind & 1 ? NEVER : at;
		flow = flow_of(&r, &raw_ops, &w, kind & 2 ? 3 : 1);
		flow.decode = true;
		writer_make(&w, true, false, 30000);
		assert_int_equal(bpk_flow_run(&flow, &result, &err), at == NEVER ? 0 : -1);
		assert_int_equal(w.next, good * 100);
		assert_true(holds(w.raw.data, 0, good * 100));
		assert_true(w.nput <= 2);
		assert_int_equal(w.nchunks, good);
		assert_int_equal(result.nchunks, good);
		assert_int_equal(result.packed_size, good * (100 + 16 + 4));
		assert_true(at == NEVER || strtoull(err.text + 6, NULL, 10) == at);
		writer_clear(&w);
		flow = flow_of(&r, NULL, NULL, kind & 2 ? 3 : 1);
		flow.decode = true;
		assert_int_equal(bpk_flow_run(&flow, &result, NULL), at == NEVER ? 0 : -1);
		assert_true(at == NEVER || result.nchunks >= good);
	}
}

/* ---- Large chunks ---- */

enum { MIB = 1 << 20, LARGE_CHUNK = 5 * MIB + 77 };

/* Small first and last chunks, or chunks of one size except the last. */
static void make_large(struct reader *r, int kind)
{
	reader_make(r, 2 * (uint64_t)LARGE_CHUNK + 1000, LARGE_CHUNK);
	if (kind & 1) {
		r->sizes[0] = 100;
		r->sizes[2] = 2 * LARGE_CHUNK;
		r->sizes[3] = 1000;
		r->nchunks = r->info.chunks.count = 4;
		r->info.chunks.size = r->info.chunks.last_size = BPK_UNKNOWN;
		r->info.raw_size = offset_of(r, 4);
	}
	r->packed = true;
	r->positional = kind & 2;
	r->slow = kind & 4;
}

static int unpack_large(struct reader *r, struct bpk_plan plan, bool places, unsigned threads,
			uint64_t fail_put, struct writer *w, struct bpk_err *err)
{
	struct bpk_flow flow = flow_of(r, &raw_ops, w, threads);
	struct bpk_flow_result result;
	int rc;

	flow.plan = plan;
	flow.decode = true;
	writer_make(w, true, places, plan.end - plan.start);
	w->fail_put = fail_put;
	r->last = BPK_UNKNOWN;
	rc = bpk_flow_run(&flow, &result, err);
	assert_true(w->largest <= MIB);
	if (rc == 0) {
		assert_int_equal(result.nchunks, plan.count);
		assert_int_equal(result.raw_size, plan.end - plan.start);
		assert_int_equal(w->next, plan.end - plan.start);
		assert_true(holds(w->raw.data, plan.start, w->next));
	}
	return rc;
}

static void test_large_chunks_come_in_pieces(void **state)
{
	static struct reader r;
	struct writer w;
	struct bpk_plan plan;
	struct bpk_err err = { 0 };

	(void)state;
	for (int kind = 0; kind < 16; kind++) {
		make_large(&r, kind);
		assert_int_equal(unpack_large(&r, bpk_plan_all(&r.info), kind & 8,
					      thread_counts[kind % 3], NEVER, &w, &err),
				 0);
		writer_clear(&w);
		make_large(&r, kind);
		assert_int_equal(
			bpk_plan_range(&reader_ops, &r, MIB + 5, 2 * LARGE_CHUNK - 3, &plan, &err),
			0);
		assert_int_equal(
			unpack_large(&r, plan, kind & 8, thread_counts[kind % 3], NEVER, &w, &err),
			0);
		writer_clear(&w);
	}
}

static void test_the_lowest_failure_wins_among_pieces(void **state)
{
	static struct reader r;
	struct writer w;

	(void)state;
	for (int kind = 0; kind < 24; kind++) {
		struct bpk_err err = { 0 };
		uint64_t put = kind < 12 ? NEVER : 1;

		make_large(&r, kind % 12);
		r.fail_check = 2;
		assert_int_equal(unpack_large(&r, bpk_plan_all(&r.info), false,
					      thread_counts[kind % 3], put, &w, &err),
				 -1);
		assert_string_equal(err.text, put == 1 ? "put failed" : "chunk 2: seal is broken");
		assert_int_equal(w.next, offset_of(&r, put == 1 ? 1 : 2));
		assert_true(holds(w.raw.data, 0, w.next));
		writer_clear(&w);
	}
}

/* The only chunk of an archive is shared by all threads. */
static void test_one_large_chunk_occupies_all_threads(void **state)
{
	static struct reader r;
	struct writer w;
	struct bpk_err err = { 0 };
	pthread_barrier_t together;

	(void)state;
	pthread_barrier_init(&together, NULL, 4);
	reader_make(&r, LARGE_CHUNK, LARGE_CHUNK);
	r.packed = true;
	r.info.chunks.has_first = true;
	r.info.chunks.first = (struct bpk_chunk_header){ .memcpyed = true, .version = 2 };
	alarm(60);
	/* four of six puts wait for each other */
	put_together = &together;
	assert_int_equal(unpack_large(&r, bpk_plan_all(&r.info), true, 4, NEVER, &w, &err), 0);
	put_together = NULL;
	alarm(0);
	writer_clear(&w);
	pthread_barrier_destroy(&together);
}

/* The first damaged piece decides the report, of a proof and of an output. */
static void test_the_first_damaged_piece_is_reported(void **state)
{
	static struct reader r;
	struct bpk_recipe recipe = {
		.codec = bpk_codec_find("zlib"), .level = 1, .typesize = 1, .block_size = 65536
	};
	struct bpk_flow_result result;
	struct writer w;
	struct bpk_err err = { 0 }, first = { 0 };
	struct bpk_damage damage;

	(void)state;
	reader_make(&r, 3 * (uint64_t)LARGE_CHUNK, 3 * LARGE_CHUNK);
	r.packed = true;
	r.recipe = &recipe;
	for (size_t t = 0; t < 3; t++) {
		assert_int_equal(verify(&r, true, thread_counts[t], &result, &err), 0);
		assert_int_equal(result.nchunks, 1);
		assert_int_equal(result.raw_size, 3 * LARGE_CHUNK);
	}
	/* more than 4 MiB, so that it is proved in pieces */
	assert_true(result.packed_size > 5 * MIB);
	r.damaged_at[0] = result.packed_size - 2000;
	r.damaged_at[1] = result.packed_size / 2;
	for (size_t t = 0; t < 3; t++) {
		assert_int_equal(verify(&r, true, thread_counts[t], &result, &err), -1);
		if (t == 0)
			first = err;
		assert_string_equal(err.text, first.text);
		list_damage(&r, &reader_ops, thread_counts[t], &damage, &err);
		assert_int_equal(damage.count, 1);
		assert_int_equal(damage.all[0].end, 3 * LARGE_CHUNK);
		assert_string_equal(damage.all[0].report, first.text);
		bpk_damage_clear(&damage);
		assert_int_equal(unpack_large(&r, bpk_plan_all(&r.info), false, thread_counts[t],
					      NEVER, &w, &err),
				 -1);
		writer_clear(&w);
		assert_string_equal(err.text, first.text);
	}
	assert_non_null(strstr(first.text, "chunk 0 at offset 1000: block "));
}

/* Pieces are unpacked while the seal is tested. It decides the report, even if the header is
 * damaged. */
static void test_a_broken_seal_precedes_damaged_pieces(void **state)
{
	static const size_t places[] = { 0, 17, 2 * MIB };
	static struct reader r;
	struct bpk_recipe recipe = {
		.codec = bpk_codec_find("zlib"), .level = 1, .typesize = 1, .block_size = 65536
	};
	struct bpk_flow_result result;
	struct writer w;

	(void)state;
	reader_make(&r, 3 * (uint64_t)LARGE_CHUNK, 3 * LARGE_CHUNK);
	r.packed = true;
	r.recipe = &recipe;
	r.fail_check = 0;
	for (unsigned i = 0; i < 9; i++) {
		struct bpk_err err = { 0 };

		r.damaged_at[0] = places[i / 3];
		assert_int_equal(verify(&r, true, thread_counts[i % 3], &result, &err), -1);
		assert_string_equal(err.text, "chunk 0: seal is broken");
		assert_int_equal(unpack_large(&r, bpk_plan_all(&r.info), i % 2,
					      thread_counts[i % 3], NEVER, &w, &err),
				 -1);
		writer_clear(&w);
		assert_string_equal(err.text, "chunk 0: seal is broken");
	}
}

/* Chunks whose blocks are shared among threads are those that one thread writes. */
static void test_large_chunks_are_packed_by_all_threads(void **state)
{
	static const unsigned counts[] = { 1, 2, 3, 8 };
	static struct reader r;
	const struct bpk_packing packing = { .choice.recipe = { .codec = bpk_codec_find("zstd"),
								.level = 1,
								.typesize = 4,
								.block_size = 65536 } };
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };
	uint64_t hash = 0;

	(void)state;
	for (int kind = 0; kind < 16; kind++) {
		struct writer w;
		struct bpk_flow flow = flow_of(&r, &packed_ops, &w, counts[kind % 4]);
		uint64_t size = 2 * (uint64_t)LARGE_CHUNK + (kind < 8 ? 1000 : 0);

		reader_make(&r, size, kind < 8 ? LARGE_CHUNK : size);
		r.positional = kind % 8 < 4;
		flow.plan = bpk_plan_cut(kind % 2 ? size : BPK_UNKNOWN, r.sizes[0]);
		flow.packing = &packing;
		flow.compare = true;
		writer_make(&w, false, false, size);
		assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
		assert_int_equal(result.nchunks, r.nchunks);
		assert_int_equal(result.raw_size, size);
		assert_true(holds(w.raw.data, 0, size));
		if (kind % 8 == 0)
			hash = w.packed_hash;
		assert_int_equal(w.packed_hash, hash);
		writer_clear(&w);
	}
}

/* ---- Threads and memory ---- */

static void test_all_threads_work_beside_each_other(void **state)
{
	static struct reader r;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };
	pthread_barrier_t together;

	(void)state;
	pthread_barrier_init(&together, NULL, 4);
	reader_make(&r, 40000, 1000);
	r.packed = true;
	r.together = &together;
	/* every fetch needs three others at the same time: with fewer threads this hangs */
	alarm(60);
	assert_int_equal(verify(&r, true, 4, &result, &err), 0);
	alarm(0);
	pthread_barrier_destroy(&together);
}

static void test_memory_limit_costs_threads_first(void **state)
{
	static struct reader r;
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct writer w;
	struct bpk_flow flow;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	reader_make(&r, 40000, 1000);
	flow = flow_of(&r, &packed_ops, &w, 8);
	flow.packing = &packing;
	writer_make(&w, false, false, 40000);
	flow.limits.memory = 1000;
	assert_int_equal(bpk_flow_run(&flow, &result, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_non_null(strstr(err.text, "the limit is 1000"));
	assert_int_equal(atomic_load(&r.fetched), 0);
	flow.limits.memory = 10 << 20; /* one encoder fits */
	r.positional = false;
	assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
	assert_int_equal(w.nput, 40);
	writer_clear(&w);
}

static void test_memory_limit_holds_for_uneven_chunks(void **state)
{
	static struct reader r;
	struct bpk_flow flow;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	reader_make_uneven(&r, 5);
	r.sizes[3] = 3 << 20;
	r.info.raw_size = offset_of(&r, 5);
	flow = flow_of(&r, NULL, NULL, 1);
	flow.decode = true;
	flow.limits.memory = 4 << 20;
	assert_int_equal(bpk_flow_run(&flow, &result, &err), -1);
	assert_int_equal(err.kind, BPK_LIMIT);
	assert_int_equal(result.nchunks, 3);
}

struct told {
	uint64_t raw, calls;
	atomic_uint inside;
};

static void tell(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	struct told *told = arg;

	MUST(atomic_fetch_add(&told->inside, 1) == 0);
	MUST(raw_done >= told->raw);
	MUST(packed_done >= raw_done);
	told->raw = raw_done;
	told->calls++;
	atomic_fetch_sub(&told->inside, 1);
}

static void test_progress_only_grows(void **state)
{
	static struct reader r;
	struct told told = { 0 };
	struct bpk_flow flow;
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };

	(void)state;
	reader_make(&r, 40000, 1000);
	r.packed = true;
	flow = flow_of(&r, NULL, NULL, 8);
	flow.decode = true;
	flow.progress = tell;
	flow.progress_arg = &told;
	assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
	assert_true(told.calls > 0);
	assert_true(told.raw <= 40000);
}

/* ---- The view ---- */

/* Read parts of all sizes at any offset, and past the end. */
static void read_view(struct bpk_source *view, uint64_t size, unsigned seed)
{
	struct unit_random random = { seed };
	struct bpk_err err = { 0 };
	uint8_t out[4000];

	for (int i = 0; i < 300; i++) {
		uint64_t offset = unit_random_next(&random) % (size + 100);
		size_t want = unit_random_next(&random) % (i % 3 == 0 ? sizeof out : 700), got;
		uint64_t there = offset < size ? size - offset : 0;

		if (i % 5 == 0)
			offset -= offset % 1000;
		there = offset < size ? size - offset : 0;
		MUST(bpk_source_read_at(view, offset, bpk_span(out, want), &got, &err) == 0);
		MUST(got == bpk_min_u64(want, there));
		MUST(holds(out, offset, got));
	}
}

static int open_view(struct reader *r, bool no_check, unsigned nchunks, struct bpk_source **view,
		     struct bpk_err *err)
{
	const struct bpk_view_options options = { .no_check = no_check, .nchunks = nchunks };

	return bpk_view_open(&reader_ops, r, &options, view, err);
}

static void test_a_view_reads_anywhere(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };
	struct bpk_source *view;

	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		reader_make(&r, kind & 1 ? 20300 : 20000, 1000);
		r.packed = true;
		r.halves = kind & 2;
		r.more = kind & 4 ? 33 : 0;
		assert_int_equal(open_view(&r, false, 3, &view, &err), 0);
		assert_true(bpk_source_seekable(view));
		assert_int_equal(bpk_source_size(view), r.info.raw_size);
		read_view(view, r.info.raw_size, 1);
		bpk_source_close(view);
	}
	reader_make(&r, 0, 1000);
	r.packed = true;
	assert_int_equal(open_view(&r, false, 0, &view, &err), 0);
	assert_int_equal(bpk_source_size(view), 0);
	bpk_source_close(view);
}

/* Chunks of many sizes, empty ones included; the archive lists the sizes of no chunk, of some, or
 * of all but one. */
static void test_a_view_of_uneven_chunks_reads_anywhere(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };
	struct bpk_source *view;

	(void)state;
	for (uint64_t listed = 0; listed < 40; listed += 13) {
		struct bpk_sizes runs = { 0 };

		reader_make_uneven(&r, 40);
		r.positional = true;
		for (uint64_t i = 0; i < listed; i++)
			assert_int_equal(bpk_sizes_add(&runs, 1, (uint32_t)r.sizes[i], 0, &err), 0);
		r.info.chunks.runs = listed > 0 ? &runs : NULL;
		assert_int_equal(open_view(&r, false, 3, &view, &err), 0);
		assert_true(bpk_source_seekable(view));
		assert_int_equal(bpk_source_size(view), r.info.raw_size);
		read_view(view, r.info.raw_size, 1);
		bpk_source_close(view);
		bpk_sizes_clear(&runs);
	}
}

/* A chunk read in parts is fetched once if the cache has room for it. */
static void test_a_view_keeps_chunks(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };
	struct bpk_source *view;
	uint8_t out[1000];
	size_t got;

	(void)state;
	reader_make(&r, 20000, 1000);
	r.packed = true;
	assert_int_equal(open_view(&r, false, 2, &view, &err), 0);
	for (uint64_t offset = 900; offset < 5900; offset += 100)
		assert_int_equal(bpk_source_read_at(view, offset, bpk_span(out, 200), &got, &err),
				 0);
	assert_int_equal(atomic_load(&r.fetched), 6);
	/* whole chunks do not change the cache */
	assert_int_equal(bpk_source_read_at(view, 9000, bpk_span(out, 1000), &got, &err), 0);
	assert_int_equal(bpk_source_read_at(view, 5100, bpk_span(out, 200), &got, &err), 0);
	assert_int_equal(bpk_source_read_at(view, 4100, bpk_span(out, 200), &got, &err), 0);
	assert_int_equal(atomic_load(&r.fetched), 7);
	bpk_source_close(view);
}

static void test_a_view_of_a_pipe_reads_on(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };
	struct bpk_source *view;
	uint8_t out[3000];
	struct bpk_view head;

	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		struct unit_random random = { 3 };
		uint64_t at = 0;
		size_t got = 1;

		if (kind & 1)
			reader_make_uneven(&r, 40);
		else
			reader_make(&r, 20300, 1000);
		r.packed = true;
		r.positional = false;
		if (kind & 2)
			reader_forget_sizes(&r);
		r.more = kind & 4 && !(kind & 2) ? 40 : 0;
		assert_int_equal(open_view(&r, false, 3, &view, &err), 0);
		assert_false(bpk_source_seekable(view));
		assert_int_equal(bpk_source_peek(view, 1234, &head, &err), 0);
		assert_int_equal(head.size, 1234);
		assert_true(holds(head.data, 0, head.size));
		while (got > 0) {
			size_t want = 1 + unit_random_next(&random) % sizeof out;

			assert_int_equal(bpk_source_read(view, bpk_span(out, want), &got, &err), 0);
			assert_true(holds(out, at, got));
			at += got;
		}
		assert_int_equal(at, offset_of(&r, r.nchunks));
		bpk_source_close(view);
	}
}

struct visitor {
	pthread_t thread;
	struct bpk_source *view;
	unsigned seed;
};

static void *visit(void *arg)
{
	const struct visitor *visitor = arg;

	read_view(visitor->view, 20300, visitor->seed);
	return NULL;
}

static void test_a_view_is_read_by_many(void **state)
{
	static struct reader r;
	struct bpk_err err = { 0 };
	struct bpk_source *view;
	struct visitor visitors[8];

	(void)state;
	reader_make(&r, 20300, 1000);
	r.packed = true;
	assert_int_equal(open_view(&r, false, 2, &view, &err), 0);
	for (unsigned i = 0; i < 8; i++) {
		visitors[i] = (struct visitor){ .view = view, .seed = i };
		pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(visitors[i].thread, NULL);
	bpk_source_close(view);
}

static void check_damage(struct reader *r, bool no_check, const char *line)
{
	struct bpk_err err = { 0 };
	struct bpk_source *view;
	uint8_t out[2500];
	size_t got = 1;
	int rc = 0;

	r->last = BPK_UNKNOWN;
	assert_int_equal(open_view(r, no_check, 2, &view, &err), 0);
	while (rc == 0 && got > 0)
		rc = bpk_source_read(view, bpk_span(out, sizeof out), &got, &err);
	assert_int_equal(rc, line == NULL ? 0 : -1);
	if (line != NULL)
		assert_int_equal(strncmp(err.text, line, strlen(line)), 0);
	bpk_source_close(view);
}

static void test_a_view_reports_damage(void **state)
{
	static struct reader r;

	(void)state;
	for (int positional = 0; positional < 2; positional++) {
		reader_make(&r, 20300, 1000);
		r.packed = true;
		r.positional = positional;
		r.fail_check = 7;
		check_damage(&r, false, "chunk 7: seal is broken");
		check_damage(&r, true, NULL);
		r.damage = 9;
		check_damage(&r, true, "chunk 9 at offset 1009: ");
		r.damage = NEVER;
		r.sizes[4] = 999;
		check_damage(&r, true, "chunk 4 unpacks to 999 bytes, expected 1000");
		reader_make(&r, 20300, 1000);
		r.packed = true;
		r.positional = positional;
		r.nchunks = 15;
		check_damage(&r, true,
			     positional ? "ends before chunk 15, 21 chunks were expected"
					: "unpacks to 15000 bytes, expected 20300");
	}
}

static void test_an_archive_is_recompressed_through_a_view(void **state)
{
	static struct reader r;
	const struct bpk_read_options options = { 0 };
	const struct bpk_packing packing = { .choice.recipe = stored() };
	struct bpk_flow_result result;
	struct bpk_err err = { 0 };
	struct writer w;

	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		struct bpk_place place = { .path = "view" };
		struct bpk_flow flow;

		reader_make(&r, 20300, 1000);
		r.packed = true;
		r.positional = kind & 1;
		r.slow = kind & 2;
		assert_int_equal(open_view(&r, false, 4, &place.source, &err), 0);
		flow = flow_of(&r, &packed_ops, &w, 4);
		flow.in = bpk_format_raw.reader;
		flow.plan = bpk_plan_cut(20300, kind & 4 ? 1700 : 1000);
		flow.packing = &packing;
		assert_int_equal(flow.in->open(&place, &options, &flow.reader, &err), 0);
		writer_make(&w, false, false, 20300);
		assert_int_equal(bpk_flow_run(&flow, &result, &err), 0);
		assert_true(holds(w.raw.data, 0, 20300));
		assert_int_equal(result.nchunks, kind & 4 ? 12 : 21);
		writer_clear(&w);
		flow.in->close(flow.reader);
		bpk_source_close(place.source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack_keeps_the_order),
		cmocka_unit_test(test_pack_finds_an_unknown_end),
		cmocka_unit_test(test_pack_of_nothing_is_one_empty_chunk),
		cmocka_unit_test(test_pack_notices_a_source_that_shrank),
		cmocka_unit_test(test_unpack_in_order_and_in_place),
		cmocka_unit_test(test_unpack_of_an_empty_archive),
		cmocka_unit_test(test_ranges_bring_their_bytes_alone),
		cmocka_unit_test(test_a_range_touches_few_chunks),
		cmocka_unit_test(test_a_range_past_the_end_is_refused),
		cmocka_unit_test(test_a_chunk_of_another_size_is_damage),
		cmocka_unit_test(test_uneven_chunks_must_add_up),
		cmocka_unit_test(test_verify_counts_what_repeats),
		cmocka_unit_test(test_verify_goes_on_behind_damage),
		cmocka_unit_test(test_verify_needs_no_writer),
		cmocka_unit_test(test_chunks_are_carried_over_and_sealed_again),
		cmocka_unit_test(test_what_was_not_committed_is_left_out),
		cmocka_unit_test(test_parcels_of_several_chunks),
		cmocka_unit_test(test_chunks_are_numbered_behind_others),
		cmocka_unit_test(test_slack_makes_chunks_larger),
		cmocka_unit_test(test_the_lowest_failure_wins),
		cmocka_unit_test(test_a_failing_put_stops_the_run),
		cmocka_unit_test(test_small_chunks_share_parcels),
		cmocka_unit_test(test_large_chunks_come_in_pieces),
		cmocka_unit_test(test_the_lowest_failure_wins_among_pieces),
		cmocka_unit_test(test_one_large_chunk_occupies_all_threads),
		cmocka_unit_test(test_the_first_damaged_piece_is_reported),
		cmocka_unit_test(test_a_broken_seal_precedes_damaged_pieces),
		cmocka_unit_test(test_large_chunks_are_packed_by_all_threads),
		cmocka_unit_test(test_all_threads_work_beside_each_other),
		cmocka_unit_test(test_memory_limit_costs_threads_first),
		cmocka_unit_test(test_memory_limit_holds_for_uneven_chunks),
		cmocka_unit_test(test_progress_only_grows),
		cmocka_unit_test(test_a_view_reads_anywhere),
		cmocka_unit_test(test_a_view_of_uneven_chunks_reads_anywhere),
		cmocka_unit_test(test_a_view_keeps_chunks),
		cmocka_unit_test(test_a_view_of_a_pipe_reads_on),
		cmocka_unit_test(test_a_view_is_read_by_many),
		cmocka_unit_test(test_a_view_reports_damage),
		cmocka_unit_test(test_an_archive_is_recompressed_through_a_view),
	};

	return UNIT_RUN(tests);
}
