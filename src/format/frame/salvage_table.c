/*
 * Numbers for the chunks that are found of a damaged frame: by their digests, by the index, or by
 * their order alone. salvage.c and salvage_directory.c call it.
 */
#include "format/frame/salvage.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	/* Chunks of a small archive; and of others for each byte, as indexes of special values pack
	 * well. */
	ANY_CHUNKS = 1 << 16,
	TIMES = 8,
};

/* ---- Known of a number ---- */

uint64_t bpk_frame_left_size(const struct bpk_frame_left *left, uint64_t number)
{
	const struct bpk_frame_header *header = &left->header;
	uint64_t size, n;

	if (!left->has_fields || header->chunk_size <= 0)
		return BPK_UNKNOWN;
	size = (uint64_t)header->chunk_size;
	n = bpk_frame_count(header);
	if (left->is_old)
		return number + 1 < left->nchunks ? size : BPK_UNKNOWN;
	return number + 1 < n ? size : header->raw_size - (n - 1) * size;
}

bool bpk_frame_left_has_size(const struct bpk_frame_left *left, uint64_t raw_size)
{
	uint64_t n = left->has_fields ? bpk_frame_count(&left->header) : 0;

	return n > 0 && (raw_size == bpk_frame_left_size(left, 0) ||
			 raw_size == bpk_frame_left_size(left, n - 1));
}

bool bpk_frame_left_is_uneven(const struct bpk_frame_left *left, const struct bpk_salvage *found)
{
	return left->has_fields && left->header.chunk_size >= 0 ? left->header.chunk_size == 0
								: bpk_salvage_is_uneven(found);
}

int bpk_frame_compare_entries(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

uint64_t bpk_frame_left_entry(const struct bpk_frame_left *left, uint64_t number)
{
	uint64_t entry;

	memcpy(&entry, left->entries.data + number * BPK_FRAME_ENTRY, sizeof entry);
	return entry;
}

const uint8_t *bpk_frame_left_digest(const struct bpk_frame_left *left, uint64_t number)
{
	static const uint8_t none[BPK_DIGEST_MAX];
	const uint8_t *digest;

	if (left->digests.checksum == NULL)
		return NULL;
	digest = bpk_frame_digests_chunk(&left->digests, number);
	return digest == NULL || memcmp(digest, none, left->digests.checksum->size) == 0 ? NULL
											 : digest;
}

/* ---- One chunk ---- */

static int look(struct bpk_scan *scan, uint64_t at, struct bpk_chunk_header *header, bool *is,
		struct bpk_err *err)
{
	uint8_t bytes[BPK_CHUNK_EXTENDED_HEADER_SIZE];
	size_t got;

	*is = false;
	if (at > scan->size || scan->size - at < sizeof bytes)
		return 0;
	if (bpk_source_read_at(scan->source, at, bpk_span(bytes, sizeof bytes), &got, err) != 0)
		return -1;
	*is = got == sizeof bytes &&
	      bpk_chunk_header_read(bpk_view(bytes, sizeof bytes), header, NULL) == 0 &&
	      header->header_size == sizeof bytes && header->raw_size > 0 &&
	      header->packed_size <= scan->size - at;
	return 0;
}

int bpk_frame_bring(struct bpk_scan *scan, uint64_t at, const struct bpk_checksum *checksum,
		    const uint8_t *digest, struct bpk_saved *saved, bool *is, struct bpk_err *err)
{
	struct bpk_chunk_header header;
	struct bpk_err why = { 0 };
	struct bpk_view chunk;
	int rc;

	if (look(scan, at, &header, is, err) != 0)
		return -1;
	if (!*is)
		return 0;
	if (bpk_scan_bring(scan, at, header.packed_size, 0, err) != 0)
		return -1;
	chunk = bpk_buf_view(&scan->chunk);
	rc = digest != NULL ? bpk_checksum_check(checksum, chunk, digest, &why)
			    : bpk_chunk_prove(scan->ctx, chunk, &why);
	if (bpk_err_settle(rc, &why, is, err) != 0)
		return -1;
	saved->offset = at;
	saved->packed_size = header.packed_size;
	saved->raw_size = header.raw_size;
	saved->typesize = header.typesize;
	saved->intact = *is;
	return 0;
}

/* ---- The table ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct bpk_frame_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static uint64_t key_of(const uint8_t *digest, unsigned size)
{
	uint64_t key = 0;

	memcpy(&key, digest, size < sizeof key ? size : sizeof key);
	return key;
}

static void add_key(struct bpk_frame_table *table, uint64_t key, uint64_t number)
{
	table->keys[table->nkeys++] = (struct bpk_frame_key){ key, number };
}

/* The special value of a chunk, as far as the index tells it. */
static int special_of(const struct bpk_frame_left *left, uint64_t number)
{
	return left->entries.size > 0 ? bpk_frame_offset_special(bpk_frame_left_entry(left, number))
				      : BPK_SPECIAL_NONE;
}

static void set_special(struct bpk_frame_table *table, uint64_t number)
{
	int special = special_of(table->left, number);
	uint64_t size = bpk_frame_left_size(table->left, number);

	if (special > BPK_SPECIAL_NONE && size != BPK_UNKNOWN)
		table->all[number] = (struct bpk_saved){
			.special = (enum bpk_special)special,
			.raw_size = (uint32_t)size,
			.intact = true,
		};
}

void bpk_frame_table_sort(struct bpk_frame_table *table, bool by_digest)
{
	const struct bpk_frame_left *left = table->left;

	table->nkeys = 0;
	for (uint64_t n = 0; n < left->nchunks; n++) {
		const uint8_t *digest = bpk_frame_left_digest(left, n);

		if (special_of(left, n) != BPK_SPECIAL_NONE)
			continue;
		if (!by_digest)
			add_key(table, bpk_frame_left_entry(left, n), n);
		else if (digest != NULL)
			add_key(table, key_of(digest, left->digests.checksum->size), n);
	}
	qsort(table->keys, table->nkeys, sizeof *table->keys, compare_keys);
}

int bpk_frame_table_begin(struct bpk_frame_table *table, const struct bpk_frame_left *left,
			  uint64_t size, struct bpk_err *err)
{
	*table = (struct bpk_frame_table){ .left = left };
	if (left->nchunks > ANY_CHUNKS && (left->nchunks - ANY_CHUNKS) / TIMES > size)
		return bpk_fail(err, BPK_LIMIT,
				"has %" PRIu64 " chunks, more than repair makes of its %" PRIu64
				" bytes",
				left->nchunks, size);
	table->all = bpk_calloc((size_t)left->nchunks + 1, sizeof *table->all, err);
	table->keys = bpk_calloc((size_t)left->nchunks + 1, sizeof *table->keys, err);
	if (table->all == NULL || table->keys == NULL)
		return -1;
	for (uint64_t n = 0; n < left->nchunks; n++)
		set_special(table, n);
	bpk_frame_table_sort(table, left->entries.size == 0);
	return 0;
}

bool bpk_frame_table_is_full(const struct bpk_frame_table *table)
{
	for (uint64_t n = 0; n < table->left->nchunks; n++)
		if (!table->all[n].intact)
			return false;
	return true;
}

void bpk_frame_table_clear(struct bpk_frame_table *table)
{
	free(table->all);
	free(table->keys);
	*table = (struct bpk_frame_table){ 0 };
}

/* The last chunk tells its size, whatever a damaged header counts. */
static bool fits_number(const struct bpk_frame_left *left, uint64_t number, uint32_t raw_size)
{
	uint64_t size = bpk_frame_left_size(left, number);

	return size == BPK_UNKNOWN || raw_size == size ||
	       (number + 1 == left->nchunks && raw_size <= (uint64_t)left->header.chunk_size);
}

bool bpk_frame_table_set(struct bpk_frame_table *table, uint64_t number,
			 const struct bpk_saved *saved)
{
	if (!fits_number(table->left, number, saved->raw_size))
		return false;
	table->all[number] = *saved;
	return true;
}

/* The place of the first key that is not less. */
static size_t find_key(const struct bpk_frame_table *table, uint64_t key)
{
	return key == 0 || table->nkeys == 0
		       ? 0
		       : bpk_find_behind(&table->keys->key, sizeof *table->keys, table->nkeys,
					 key - 1);
}

int bpk_frame_table_take(struct bpk_frame_table *table, struct bpk_view chunk,
			 const struct bpk_saved *saved, bool *is, struct bpk_err *err)
{
	const struct bpk_frame_left *left = table->left;
	const struct bpk_checksum *checksum = left->digests.checksum;
	uint8_t digest[BPK_DIGEST_MAX];
	uint64_t key;

	*is = false;
	if (bpk_checksum_compute(checksum, chunk, digest, err) != 0)
		return -1;
	key = key_of(digest, checksum->size);
	for (size_t i = find_key(table, key); i < table->nkeys && table->keys[i].key == key; i++) {
		uint64_t number = table->keys[i].number;

		if (table->all[number].intact)
			*is = true;
		else if (memcmp(bpk_frame_left_digest(left, number), digest, checksum->size) == 0 &&
			 bpk_frame_table_set(table, number, saved))
			*is = true;
	}
	return 0;
}

/* ---- Counts and sizes ---- */

static void set_sizes(const struct bpk_frame_left *left, struct bpk_salvage *salvage)
{
	const struct bpk_saved *last =
		salvage->count > 0 ? &salvage->all[salvage->count - 1] : NULL;
	uint64_t n = salvage->nchunks, size = BPK_UNKNOWN;

	if (salvage->uneven)
		salvage->raw_size =
			left->has_fields && !left->is_old ? left->header.raw_size : BPK_UNKNOWN;
	if (left->has_fields && left->header.chunk_size > 0)
		salvage->chunk_size = (uint32_t)left->header.chunk_size;
	if (last != NULL && last->number + 1 == n)
		size = last->raw_size;
	else if (left->has_fields && n == bpk_frame_count(&left->header))
		size = bpk_frame_left_size(left, n - 1);
	salvage->last_size = size;
}

/* The elements of NaN, without a header those of stored chunks. */
static void settle_typesize(const struct bpk_frame_table *table, struct bpk_salvage *salvage)
{
	const struct bpk_frame_left *left = table->left;

	salvage->typesize = left->has_fields ? left->header.typesize : 0;
	for (uint64_t n = 0; salvage->typesize == 0 && n < left->nchunks; n++)
		if (table->all[n].special == BPK_SPECIAL_NONE)
			salvage->typesize = table->all[n].typesize;
}

static bool is_possible(const struct bpk_saved *saved, unsigned typesize)
{
	return saved->intact && (saved->special != BPK_SPECIAL_NAN ||
				 ((typesize == sizeof(float) || typesize == sizeof(double)) &&
				  saved->raw_size % typesize == 0));
}

/* List the chunks, and special ones whose size is not known with this one. */
static int list_all(const struct bpk_frame_table *table, uint32_t size, struct bpk_salvage *salvage,
		    struct bpk_err *err)
{
	const struct bpk_frame_left *left = table->left;

	salvage->count = 0;
	for (uint64_t n = 0; n < left->nchunks; n++) {
		struct bpk_saved saved = table->all[n];
		int special = special_of(left, n);

		if (!saved.intact && special > BPK_SPECIAL_NONE && n + 1 < left->nchunks)
			saved = (struct bpk_saved){
				.special = (enum bpk_special)special,
				.raw_size = size,
				.intact = size > 0,
			};
		saved.number = n;
		if (is_possible(&saved, salvage->typesize) &&
		    bpk_salvage_add(salvage, &saved, err) != 0)
			return -1;
	}
	return 0;
}

/* Drop the chunks of other sizes: only the last one may be shorter. */
static void drop_others(struct bpk_salvage *salvage)
{
	size_t kept = 0;

	for (size_t i = 0; i < salvage->count; i++) {
		const struct bpk_saved saved = salvage->all[i];

		if (saved.raw_size == salvage->chunk_size ||
		    (saved.raw_size < salvage->chunk_size && saved.number + 1 == salvage->nchunks))
			salvage->all[kept++] = saved;
	}
	salvage->nothers += salvage->count - kept;
	salvage->count = kept;
}

int bpk_frame_table_give(const struct bpk_frame_table *table, struct bpk_salvage *salvage,
			 struct bpk_err *err)
{
	const struct bpk_frame_left *left = table->left;

	salvage->counted = true;
	salvage->nchunks = left->nchunks;
	settle_typesize(table, salvage);
	if (list_all(table, 0, salvage, err) != 0 || bpk_salvage_find_chunk_size(salvage, err) != 0)
		return -1;
	salvage->uneven = bpk_frame_left_is_uneven(left, salvage);
	if (left->has_fields && left->header.chunk_size > 0)
		salvage->chunk_size = (uint32_t)left->header.chunk_size;
	else if (!salvage->uneven && list_all(table, salvage->chunk_size, salvage, err) != 0)
		return -1;
	if (!salvage->uneven)
		drop_others(salvage);
	set_sizes(left, salvage);
	return 0;
}

int bpk_frame_doubt_specials(const struct bpk_frame_table *table, struct bpk_salvage *salvage,
			     struct bpk_err *err)
{
	const struct bpk_frame_left *left = table->left;

	for (uint64_t n = 0; left->entries.size == 0 && n < left->nchunks; n++)
		if (bpk_frame_left_digest(left, n) == NULL)
			return bpk_salvage_doubt(
				salvage, "the index is lost, and with it chunks of zeros or NaN",
				err);
	return 0;
}

/* ---- By order ---- */

/* Ids of files count from 0, if none was replaced. */
static void number_by_ids(struct bpk_salvage *salvage)
{
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];

	/* more were never there than ids up to a few times as many */
	if (last->number / 4 > salvage->count)
		for (size_t i = 0; i < salvage->count; i++)
			salvage->all[i].number = i;
	salvage->nchunks = last->number + 1;
	salvage->counted = false;
}

int bpk_frame_number_by_order(const struct bpk_frame_left *left, uint64_t start, uint64_t end,
			      struct bpk_salvage *salvage, struct bpk_err *err)
{
	uint64_t n = left->has_fields && !left->is_old ? bpk_frame_count(&left->header) : 0;

	if (salvage->count == 0)
		return 0;
	if (left->sparse)
		number_by_ids(salvage);
	else
		bpk_salvage_number_by_gaps(salvage, start, end);
	if (n >= salvage->count)
		bpk_salvage_fit_numbers(salvage, n, bpk_frame_left_size(left, n - 1));
	set_sizes(left, salvage);
	return bpk_salvage_doubt(
		salvage,
		left->sparse ? "the order of the chunks is that of the names of their files, since "
			       "no index of them is left: chunks that were replaced or moved are "
			       "at wrong places"
			     : "the order of the chunks is that of the file, since no index of "
			       "them is left: chunks that were replaced or moved are at wrong "
			       "places",
		err);
}
