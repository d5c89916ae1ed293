/* The raw data that stand for lost chunks: salvage_job.h. Called by salvage.c. */
#include "cli/salvage_job.h"

#include <inttypes.h>
#include <stdlib.h>

#include "layout/layout.h"

/* ---- sizes ---- */

/* Of an .npy file the data are behind its head, which pack --as-array leaves out. */
static int pass_head(struct bpk_salvage_job *job, uint64_t size, struct bpk_err *err)
{
	uint64_t all = bpk_source_size(job->raw);
	struct bpk_array array = { 0 };
	struct bpk_source *data = NULL;
	struct bpk_err why = { 0 };
	size_t head;

	if (all <= size || all == BPK_UNKNOWN)
		return 0;
	if (bpk_npy_peek(job->raw, &array, &head, &why) != 0)
		return bpk_err_pass_memory(&why, err);
	bpk_array_clear(&array);
	if (all - head != size)
		return 0;
	if (bpk_source_part(job->raw, head, size, &data, err) != 0)
		return bpk_err_subject(err, "%s", job->from);
	bpk_source_close(job->raw);
	job->raw = data;
	return 0;
}

/* Raw data of as many chunks as the archive tell the size of the last one, if that is lost. */
static void take_last_size(struct bpk_salvage_job *job)
{
	struct bpk_salvage *found = &job->found;
	uint64_t size = bpk_source_size(job->raw);

	if (found->counted && !found->shaped && !found->maybe_array && !found->uneven &&
	    found->chunk_size > 0 && found->last_size == BPK_UNKNOWN && size != BPK_UNKNOWN &&
	    size > 0 && bpk_div_up(size, found->chunk_size) == found->nchunks)
		found->last_size = size - (found->nchunks - 1) * found->chunk_size;
}

/* Bytes of the raw data of an archive whose chunks are counted. */
static uint64_t full_size(const struct bpk_salvage_job *job)
{
	return job->found.shaped ? job->found.array_size : bpk_salvage_raw_size(job);
}

/* The raw data must be those of the archive as far as sizes tell. */
static int check_sizes(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t size = full_size(job);

	if (bpk_salvage_lacks_size(job)) {
		bpk_fail(err, BPK_CORRUPT, "lost chunks have unknown sizes, as --from needs them");
		return bpk_input_subject(&job->in, err);
	}
	if (pass_head(job, size, err) != 0)
		return -1;
	if (bpk_source_size(job->raw) == size)
		return 0;
	bpk_fail(err, BPK_FAILED, "is no file of the %" PRIu64 " raw bytes that %s has%s", size,
		 bpk_input_name(job->in.path),
		 found->maybe_array ? ", in the order of its chunks, since the shape is lost" : "");
	return bpk_err_subject(err, "%s", job->from);
}

/* ---- bytes ---- */

int bpk_salvage_read_raw(struct bpk_salvage_job *job, uint64_t number, uint32_t size,
			 struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	struct bpk_buf *raw = &job->parcel.raw;
	size_t got = size;
	int rc = bpk_buf_resize(raw, size, err);

	if (rc == 0 && found->gather != NULL)
		rc = found->gather(found->parts, job->raw, number, bpk_span(raw->data, raw->size),
				   err);
	else if (rc == 0)
		rc = bpk_source_read_at(job->raw, bpk_salvage_start(job, number),
					bpk_span(raw->data, raw->size), &got, err);
	if (rc != 0)
		return bpk_err_subject(err, "%s", job->from);
	if (got == size)
		return 0;
	bpk_fail(err, BPK_FAILED, "has become shorter");
	return bpk_err_subject(err, "%s", job->from);
}

/* ---- numbers ---- */

/* A chunk of the raw data. */
struct piece {
	uint64_t hash, number;
	uint64_t taken; /* in the first of equal ones: as many of them belong to intact chunks */
};

/* The raw data in chunks of the archive's size. */
struct pieces {
	struct piece *all; /* by hash, equal ones by number */
	uint64_t count;
	uint32_t size, last_size;
	bool in_order; /* the chunks are in one file, whose order counts */
	bool is_equal; /* a chunk that is elsewhere has equals in the raw data */
	bool drops;    /* the archive is proven to have wrong chunks: copies may be left out */
	bool dropped;  /* some were, as the raw data have fewer of them */
};

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int list_pieces(struct bpk_salvage_job *job, struct pieces *pieces, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t size = found->shaped ? found->nchunks * (uint64_t)found->chunk_size
				      : bpk_source_size(job->raw);

	pieces->size = found->chunk_size;
	pieces->count = bpk_div_up(size, pieces->size);
	pieces->last_size = (uint32_t)(size - (pieces->count - 1) * pieces->size);
	pieces->all = bpk_calloc((size_t)pieces->count, sizeof *pieces->all, err);
	if (pieces->all == NULL)
		return -1;
	for (uint64_t n = 0; n < pieces->count; n++) {
		bool is_last = n + 1 == pieces->count;

		if (bpk_salvage_read_raw(job, n, is_last ? pieces->last_size : pieces->size, err) !=
		    0)
			return -1;
		pieces->all[n] = (struct piece){
			.hash = bpk_hash_words(BPK_HASH_START, bpk_buf_view(&job->parcel.raw)),
			.number = n,
		};
	}
	qsort(pieces->all, (size_t)pieces->count, sizeof *pieces->all, compare_pieces);
	return 0;
}

/* The chunk is of that list. */
static int hash_chunk(struct bpk_salvage_job *job, struct bpk_chunk_ctx *ctx,
		      const struct bpk_salvage *list, const struct bpk_saved *saved, uint64_t *hash,
		      struct bpk_err *err)
{
	if (bpk_salvage_fetch(&job->in.place, list, saved, &job->parcel.packed, err) != 0 ||
	    bpk_salvage_unpack(job, ctx, saved, err) != 0)
		return bpk_input_subject(&job->in, err);
	*hash = bpk_hash_words(BPK_HASH_START, bpk_buf_view(&job->proof));
	return 0;
}

/* The first piece that is not before key. */
static uint64_t find_piece(const struct pieces *pieces, const struct piece *key)
{
	uint64_t low = 0, high = pieces->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (compare_pieces(&pieces->all[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The number of a chunk: in one file the first from next on, else one for each of equal chunks;
 * unknown for one that is dropped. False: the raw data have no such bytes there. */
static bool match_chunk(struct pieces *pieces, uint64_t hash, uint64_t next, uint64_t *number)
{
	const struct piece key = { .hash = hash, .number = pieces->in_order ? next : 0 };
	uint64_t i = find_piece(pieces, &key);
	struct piece *first = &pieces->all[i];

	if (i == pieces->count || first->hash != hash)
		return false;
	if (!pieces->in_order)
		i += first->taken++;
	if (i >= pieces->count || pieces->all[i].hash != hash) {
		pieces->dropped = pieces->drops;
		return pieces->drops;
	}
	*number = pieces->all[i].number;
	pieces->is_equal = pieces->is_equal || (i > 0 && pieces->all[i - 1].hash == hash) ||
			   (i + 1 < pieces->count && pieces->all[i + 1].hash == hash);
	return true;
}

static int hash_chunks(struct bpk_salvage_job *job, const struct bpk_salvage *list,
		       uint64_t *hashes, struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	int rc = ctx == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < list->count; i++)
		if (list->all[i].intact)
			rc = hash_chunk(job, ctx, list, &list->all[i], &hashes[i], err);
	bpk_chunk_ctx_free(ctx);
	return rc;
}

/* True if the raw data have each intact chunk at the place of its number. */
static bool are_there(const struct bpk_salvage *found, const struct pieces *pieces,
		      const uint64_t *hashes)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct piece key = { .hash = hashes[i], .number = found->all[i].number };
		uint64_t at = find_piece(pieces, &key);

		if (found->all[i].intact &&
		    (at == pieces->count || compare_pieces(&pieces->all[at], &key) != 0))
			return false;
	}
	return found->counted;
}

/* Set the numbers of the intact chunks, and BPK_UNKNOWN for the places of damaged ones. False: the
 * raw data do not have all of them. */
static bool match_chunks(const struct bpk_salvage *found, struct pieces *pieces,
			 const uint64_t *hashes, uint64_t *numbers)
{
	bool there = are_there(found, pieces, hashes);
	uint64_t next = 0;

	for (size_t i = 0; i < found->count; i++) {
		numbers[i] = BPK_UNKNOWN;
		if (!found->all[i].intact)
			continue;
		if (there)
			numbers[i] = found->all[i].number;
		else if (!match_chunk(pieces, hashes[i], next, &numbers[i]))
			return false;
		next = numbers[i] + 1;
	}
	return true;
}

/* True if an intact chunk has another number in the raw data than in the archive, where nothing has
 * contradicted that. */
static bool has_moved(const struct bpk_salvage *found, const uint64_t *numbers)
{
	if (!found->counted || found->estimated || found->disordered)
		return false;
	for (size_t i = 0; i < found->count; i++)
		if (found->all[i].intact && found->all[i].number != numbers[i])
			return true;
	return false;
}

/* The same. *moved: the chunks are in the raw data, but in another order than in the archive. */
static bool match_anywhere(const struct bpk_salvage *found, struct pieces *pieces,
			   const uint64_t *hashes, uint64_t *numbers, bool *moved)
{
	if (match_chunks(found, pieces, hashes, numbers)) {
		*moved = has_moved(found, numbers);
		return true;
	}
	if (!pieces->in_order)
		return false;
	pieces->in_order = pieces->is_equal = false;
	*moved = match_chunks(found, pieces, hashes, numbers);
	return *moved;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct bpk_saved *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* The chunks get their numbers; places of damaged ones are dropped. */
static void take_numbers(struct bpk_salvage *found, const struct pieces *pieces,
			 const uint64_t *numbers)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++) {
		if (numbers[i] == BPK_UNKNOWN)
			continue;
		found->all[kept] = found->all[i];
		found->all[kept++].number = numbers[i];
	}
	qsort(found->all, kept, sizeof *found->all, compare_numbers);
	found->count = kept;
	found->nchunks = pieces->count;
	found->last_size = pieces->last_size;
	found->counted = true;
	found->estimated = found->disordered = found->exchangeable = found->is_least = false;
}

/* The digests over all chunks have not refuted their order, and so prove it. */
static bool is_proven(const struct bpk_salvage *found)
{
	return !found->disordered && bpk_salvage_has_judge(found);
}

/* True if the numbers of chunks are not certain, and the raw data may tell them, which have as many
 * bytes as the archive, if that is known. The work follows the chunks that are there. */
static bool may_tell(const struct bpk_salvage_job *job)
{
	enum { ANY = 1 << 16, TIMES = 1024 };
	const struct bpk_salvage *found = &job->found;
	uint64_t size = bpk_source_size(job->raw);
	uint64_t most = ANY + (uint64_t)found->count * TIMES;
	bool certain = found->counted && !found->estimated && !found->disordered &&
		       !found->is_least && (!found->exchangeable || is_proven(found));

	if (certain || found->uneven || found->numbered || found->count == 0 ||
	    found->chunk_size == 0 || size == 0 || size == BPK_UNKNOWN ||
	    size / found->chunk_size > most)
		return false;
	if (found->shaped)
		return found->gather != NULL && size == found->array_size && found->nchunks <= most;
	return !found->counted || found->is_least || size == bpk_salvage_raw_size(job);
}

/* Raw data that have all intact chunks tell their numbers, and those of chunks that are lost. */
static int number_by_raw(struct bpk_salvage_job *job, struct pieces *pieces, struct bpk_err *err)
{
	struct bpk_salvage *found = &job->found;
	uint64_t *numbers = bpk_calloc(found->count, sizeof *numbers, err);
	uint64_t *hashes = bpk_calloc(found->count, sizeof *hashes, err);
	int rc = numbers == NULL || hashes == NULL ? -1 : hash_chunks(job, found, hashes, err);
	bool moved = false;

	job->by_raw = rc == 0 && match_anywhere(found, pieces, hashes, numbers, &moved);
	if (moved)
		job->raw_doubt = "the intact chunks lie in another order than in the raw data";
	if (job->by_raw && pieces->dropped)
		job->raw_doubt = "some chunks are there more often than in the raw data";
	if (job->by_raw) {
		take_numbers(found, pieces, numbers);
		rc = bpk_salvage_test_numbers(job, err);
	}
	free(hashes);
	free(numbers);
	if (job->by_raw && job->raw_doubt == NULL && pieces->is_equal && !is_proven(found))
		job->raw_doubt =
			"the raw data tell the numbers of chunks, but some of them are equal";
	return rc;
}

/* ---- chunks without a place ---- */

/* The raw data may have them: they are as many bytes as the archive. */
static bool may_have_strays(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;

	return found->strays != NULL && found->strays->count > 0 && found->count > 0 &&
	       bpk_source_size(job->raw) == bpk_salvage_raw_size(job);
}

static int test_strays(struct bpk_salvage_job *job, struct pieces *pieces, struct bpk_err *err)
{
	const struct bpk_salvage *strays = job->found.strays;
	uint64_t *hashes = bpk_calloc(strays->count, sizeof *hashes, err);
	int rc = hashes == NULL ? -1 : hash_chunks(job, strays, hashes, err);

	pieces->in_order = true; /* from the first on */
	for (size_t i = 0; rc == 0 && i < strays->count; i++)
		job->raw_lacking += !match_chunk(pieces, hashes[i], 0, &(uint64_t){ 0 });
	free(hashes);
	return rc;
}

/* ---- the whole ---- */

int bpk_salvage_open_raw(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	struct pieces pieces = {
		.in_order = found->nfiles == 0 && !found->disordered,
		.drops = found->disordered && !job->is_untested,
	};
	bool tells, has;
	int rc;

	if (bpk_source_open(job->from, &job->raw, err) != 0)
		return bpk_err_subject(err, "%s", job->from);
	if (!bpk_source_seekable(job->raw))
		return 0;
	take_last_size(job);
	if ((found->counted || found->shaped) && !found->uneven &&
	    pass_head(job, full_size(job), err) != 0)
		return -1;
	tells = may_tell(job);
	has = may_have_strays(job);
	rc = tells || has ? list_pieces(job, &pieces, err) : 0;
	if (rc == 0 && tells)
		rc = number_by_raw(job, &pieces, err);
	if (rc == 0 && has)
		rc = test_strays(job, &pieces, err);
	free(pieces.all);
	return rc;
}

int bpk_salvage_check_raw(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;

	if (found->counted && (!found->shaped || found->gather != NULL))
		return check_sizes(job, err);
	bpk_fail(err, BPK_CORRUPT,
		 found->counted ? "the shape of its array is damaged, as --from needs it"
				: "the places of its chunks are not certain, as --from needs them");
	return bpk_input_subject(&job->in, err);
}
