/* The list of chunks that were found in a damaged archive. Formats fill it, and repair reads it. */
#include "format/salvage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/format.h"

void bpk_salvage_clear(struct bpk_salvage *salvage)
{
	for (size_t i = 0; i < salvage->nfiles; i++)
		free(salvage->files[i]);
	free(salvage->files);
	free(salvage->all);
	bpk_buf_clear(&salvage->doubt);
	if (salvage->release != NULL)
		salvage->release(salvage->parts);
	*salvage = (struct bpk_salvage){ 0 };
}

int bpk_salvage_add(struct bpk_salvage *salvage, const struct bpk_saved *found, struct bpk_err *err)
{
	struct bpk_saved *all =
		bpk_alloc_grow(salvage->all, salvage->count, &salvage->room, sizeof *all, err);

	if (all == NULL)
		return -1;
	salvage->all = all;
	all[salvage->count++] = *found;
	return 0;
}

int bpk_salvage_add_file(struct bpk_salvage *salvage, const char *name, uint64_t *file,
			 struct bpk_err *err)
{
	char **files = bpk_alloc_grow(salvage->files, salvage->nfiles, &salvage->files_room,
				      sizeof *files, err);

	if (files == NULL)
		return -1;
	salvage->files = files;
	files[salvage->nfiles] = bpk_strdup(name, err);
	if (files[salvage->nfiles] == NULL)
		return -1;
	*file = salvage->nfiles++;
	return 0;
}

int bpk_salvage_doubt_metadata(struct bpk_salvage *salvage, const char *clause, struct bpk_err *err)
{
	struct bpk_buf *doubt = &salvage->doubt;

	if (doubt->size > 0)
		doubt->size--; /* the NUL */
	if ((doubt->size > 0 && bpk_buf_append(doubt, bpk_view("; ", 2), err) != 0) ||
	    bpk_buf_append(doubt, bpk_view(clause, strlen(clause) + 1), err) != 0)
		return -1;
	return 0;
}

int bpk_salvage_doubt(struct bpk_salvage *salvage, const char *clause, struct bpk_err *err)
{
	salvage->has_doubts = true;
	return bpk_salvage_doubt_metadata(salvage, clause, err);
}

int bpk_salvage_doubt_others(struct bpk_salvage *salvage, uint64_t n, struct bpk_err *err)
{
	char clause[128];

	if (n == 0)
		return 0;
	salvage->is_part = true;
	snprintf(clause, sizeof clause,
		 "%" PRIu64 " intact %s outside of it, as of another archive, %s left out", n,
		 bpk_plural(n, "chunk", "chunks"), bpk_plural(n, "is", "are"));
	return bpk_salvage_doubt(salvage, clause, err);
}

int bpk_salvage_doubt_archive(struct bpk_salvage *salvage, struct bpk_source *file, uint64_t offset,
			      int (*claims)(const struct bpk_place *, bool *, struct bpk_err *),
			      struct bpk_err *err)
{
	struct bpk_place place = { 0 };
	char clause[128];
	bool is = false;
	int rc = bpk_source_slice(file, offset, bpk_source_size(file) - offset, &place.source, err);

	if (rc == 0)
		rc = claims(&place, &is, err);
	bpk_source_close(place.source);
	if (rc != 0 || !is)
		return rc;
	salvage->is_part = true;
	snprintf(clause, sizeof clause,
		 "another archive begins at offset %" PRIu64
		 ", and the chunks of one of them are left out",
		 offset);
	return bpk_salvage_doubt(salvage, clause, err);
}

/* ---- Bytes ---- */

static int fetch_from(struct bpk_source *source, const struct bpk_saved *saved,
		      struct bpk_buf *packed, struct bpk_err *err)
{
	size_t got;

	if (bpk_buf_resize(packed, saved->packed_size, err) != 0 ||
	    bpk_source_read_at(source, saved->offset, bpk_span(packed->data, packed->size), &got,
			       err) != 0)
		return -1;
	if (got < packed->size)
		return bpk_fail(err, BPK_FAILED, "has become shorter");
	if (saved->guessed)
		packed->data[saved->guess_at] = saved->guess_byte;
	return 0;
}

static int fetch_special(const struct bpk_salvage *salvage, const struct bpk_saved *saved,
			 struct bpk_buf *packed, struct bpk_err *err)
{
	unsigned typesize = saved->special == BPK_SPECIAL_NAN ? salvage->typesize : 1;

	if (bpk_buf_resize(packed, BPK_CHUNK_EXTENDED_HEADER_SIZE, err) != 0)
		return -1;
	bpk_chunk_write_special(saved->special, saved->raw_size, typesize, packed->data);
	return 0;
}

int bpk_salvage_fetch(const struct bpk_place *place, const struct bpk_salvage *salvage,
		      const struct bpk_saved *saved, struct bpk_buf *packed, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	const char *name;
	int rc;

	if (saved->special != BPK_SPECIAL_NONE)
		return fetch_special(salvage, saved, packed, err);
	if (saved->place != NULL)
		place = saved->place;
	if (!place->is_directory)
		return fetch_from(place->source, saved, packed, err);
	name = salvage->files[saved->file];
	rc = bpk_dir_source(place->directory, name, &source, err);
	if (rc == 0)
		rc = fetch_from(source, saved, packed, err);
	bpk_source_close(source);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", name);
}

/* ---- Sizes ---- */

static int compare_sizes(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

int bpk_salvage_find_chunk_size(struct bpk_salvage *salvage, struct bpk_err *err)
{
	uint32_t *sizes = bpk_calloc(salvage->count + 1, sizeof *sizes, err);
	size_t n = 0, most = 0;

	if (sizes == NULL)
		return -1;
	for (size_t i = 0; i < salvage->count; i++)
		if (salvage->all[i].intact)
			sizes[n++] = salvage->all[i].raw_size;
	qsort(sizes, n, sizeof *sizes, compare_sizes);
	for (size_t i = 0, same = 0; i < n; i++) {
		same = i > 0 && sizes[i] == sizes[i - 1] ? same + 1 : 1;
		if (same >= most) {
			most = same;
			salvage->chunk_size = sizes[i];
		}
	}
	free(sizes);
	return 0;
}

bool bpk_salvage_is_uneven(const struct bpk_salvage *salvage)
{
	size_t usual = 0, others = 0;

	for (size_t i = 0; i + 1 < salvage->count; i++) {
		const struct bpk_saved *saved = &salvage->all[i];

		usual += saved->intact && saved->raw_size == salvage->chunk_size;
		others += saved->intact && saved->raw_size != salvage->chunk_size;
	}
	return others > 0 && others >= usual;
}

static uint64_t end_of(const struct bpk_salvage *salvage, size_t i)
{
	const struct bpk_saved *found = &salvage->all[i];

	return found->offset + found->packed_size + salvage->seal_size;
}

/* A short chunk that neither follows another chunk nor ends the file may belong to an archive
 * inside a damaged chunk. */
static bool belongs(const struct bpk_salvage *salvage, size_t i, uint64_t size)
{
	const struct bpk_saved *found = &salvage->all[i];

	if (found->raw_size == salvage->chunk_size)
		return true;
	if (i + 1 < salvage->count || found->raw_size > salvage->chunk_size)
		return false;
	return end_of(salvage, i) == size || (i > 0 && end_of(salvage, i - 1) == found->offset);
}

void bpk_salvage_drop_others(struct bpk_salvage *salvage, uint64_t size)
{
	size_t kept = 0;

	/* those behind i are where they were found */
	for (size_t i = 0; i < salvage->count; i++) {
		const struct bpk_saved found = salvage->all[i];

		if (belongs(salvage, i, size))
			salvage->all[kept++] = found;
		else
			salvage->nothers += found.intact;
	}
	salvage->count = kept;
}

uint64_t bpk_salvage_intact(const struct bpk_salvage *salvage)
{
	uint64_t count = 0;

	for (size_t i = 0; i < salvage->count; i++)
		count += salvage->all[i].intact;
	return count;
}

void bpk_salvage_keep_size(struct bpk_salvage *salvage)
{
	size_t kept = 0, count = salvage->count;

	for (size_t i = 0; i < count; i++) {
		const struct bpk_saved saved = salvage->all[i];

		if (saved.raw_size == salvage->chunk_size ||
		    (saved.raw_size < salvage->chunk_size && i + 1 == count))
			salvage->all[kept++] = saved;
	}
	salvage->nothers += count - kept;
	salvage->count = kept;
}

/* ---- Numbers ---- */

static uint64_t average(const struct bpk_salvage *salvage)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < salvage->count; i++)
		sum += salvage->all[i].packed_size + salvage->seal_size;
	return salvage->count == 0 ? 1 : bpk_max_u64(1, sum / salvage->count);
}

/* Chunks in a gap of this many bytes: at least one. */
static uint64_t estimate(uint64_t gap, uint64_t average)
{
	return gap == 0 ? 0 : bpk_max_u64(1, (gap + average / 2) / average);
}

void bpk_salvage_number_by_gaps(struct bpk_salvage *salvage, uint64_t start, uint64_t size)
{
	uint64_t one = average(salvage), number = 0, end = start;
	const struct bpk_saved *last;

	salvage->gapless = true;
	for (size_t i = 0; i < salvage->count; i++) {
		struct bpk_saved *found = &salvage->all[i];

		if (end != BPK_UNKNOWN && end < found->offset) {
			number += estimate(found->offset - end, one);
			salvage->gapless = false;
		}
		found->number = number++;
		end = end_of(salvage, i);
	}
	salvage->gapless = salvage->gapless && end == size;
	salvage->counted = false;
	salvage->nchunks = number;
	if (salvage->count == 0)
		return;
	last = &salvage->all[salvage->count - 1];
	/* a short chunk is the last one, whatever follows it */
	if ((salvage->uneven || last->raw_size == salvage->chunk_size) && end < size)
		salvage->nchunks += estimate(size - end, one);
	salvage->last_size = last->number + 1 == salvage->nchunks ? last->raw_size : BPK_UNKNOWN;
}

void bpk_salvage_fit_numbers(struct bpk_salvage *salvage, uint64_t nchunks, uint64_t last_size)
{
	size_t count = salvage->count;
	struct bpk_saved *last = &salvage->all[count - 1];
	bool full = !salvage->uneven && last->intact && last->raw_size == salvage->chunk_size;
	uint64_t end = nchunks - (full && last_size < salvage->chunk_size && nchunks > count);

	for (size_t i = 0; i < count; i++)
		salvage->all[i].number = bpk_min_u64(salvage->all[i].number, end - (count - i));
	if (!salvage->uneven && last->raw_size < salvage->chunk_size)
		last->number = nchunks - 1;
	salvage->nchunks = nchunks;
	salvage->counted = nchunks == count && salvage->gapless;
}

void bpk_salvage_trust_last(struct bpk_salvage *salvage)
{
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];

	if (salvage->uneven || !last->intact)
		return;
	if (last->number + 1 < salvage->nchunks && last->raw_size < salvage->chunk_size) {
		salvage->nchunks = last->number + 1;
		salvage->counted = false;
	}
	if (last->number + 1 == salvage->nchunks)
		salvage->last_size = last->raw_size;
}
