/*
 * The common description of concatenated archives: sums, and the properties that all of them share.
 * The reader of members calls it.
 */
#include "format/members.h"

bool bpk_member_is_empty(uint64_t nchunks, uint64_t raw_size)
{
	return nchunks == 0 || (nchunks == 1 && raw_size == 0);
}

/* ---- Sizes ---- */

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a == BPK_UNKNOWN || b == BPK_UNKNOWN || !bpk_add_u64(a, b, &a) ? BPK_UNKNOWN : a;
}

/* The raw size of a member's last chunk. */
static uint64_t last_size_of(const struct bpk_info *info, const struct bpk_member_end *end)
{
	uint64_t before;

	if (info->chunks.last_size != BPK_UNKNOWN)
		return info->chunks.last_size;
	if (info->chunks.size == BPK_UNKNOWN || end->raw_size == BPK_UNKNOWN ||
	    !bpk_mul_u64(end->nchunks - 1, info->chunks.size, &before) || before > end->raw_size)
		return BPK_UNKNOWN;
	return end->raw_size - before;
}

static int add_runs(struct bpk_merged *m, const struct bpk_info *info, uint64_t nchunks,
		    struct bpk_err *err)
{
	const struct bpk_sizes *runs = info->chunks.runs;
	uint64_t before = nchunks - 1;

	if (m->chunks.runs_ended)
		return 0;
	if (m->chunks.count > 0) {
		m->chunks.runs_ended = m->chunks.last_size == 0 || m->chunks.last_size > UINT32_MAX;
		if (m->chunks.runs_ended)
			return 0;
		if (bpk_sizes_add(&m->chunks.runs, 1, (uint32_t)m->chunks.last_size, 0, err) != 0)
			return -1;
	}
	if (info->chunks.size <= UINT32_MAX)
		return bpk_sizes_add(&m->chunks.runs, before, (uint32_t)info->chunks.size, 0, err);
	for (size_t i = 0; runs != NULL && i < runs->count && runs->all[i].first < before; i++) {
		uint64_t next = i + 1 < runs->count ? runs->all[i + 1].first : runs->nchunks;

		if (bpk_sizes_add(&m->chunks.runs, bpk_min_u64(next, before) - runs->all[i].first,
				  runs->all[i].size, 0, err) != 0)
			return -1;
	}
	m->chunks.runs_ended = before > 0 && (runs == NULL || runs->nchunks < before);
	return 0;
}

static int add_sizes(struct bpk_merged *m, const struct bpk_info *info,
		     const struct bpk_member_end *end, struct bpk_err *err)
{
	if (add_runs(m, info, end->nchunks, err) != 0)
		return -1;
	if (m->chunks.count == 0)
		m->chunks.size = info->chunks.size;
	else if (info->chunks.size != m->chunks.size || m->chunks.last_size != m->chunks.size)
		m->chunks.size = BPK_UNKNOWN;
	m->chunks.last_size = last_size_of(info, end);
	m->chunks.count = sum(m->chunks.count, end->nchunks);
	m->chunks.raw_size = sum(m->chunks.raw_size, end->raw_size);
	return 0;
}

/* ---- Arrays and metadata ---- */

/* The metadata; if they describe an array with rows, which *tells, a copy in buf with 0 rows. */
static int plain_text(const struct bpk_info *info, struct bpk_buf *buf, struct bpk_view *text,
		      bool *tells, struct bpk_err *err)
{
	struct bpk_array array = { 0 };
	struct bpk_err why = { 0 };

	*tells = false;
	*text = bpk_view(NULL, 0);
	if (!info->metadata.given)
		return 0;
	if (bpk_array_from_metadata(info->metadata.text, &array, tells, NULL, &why) != 0) {
		*tells = false;
		if (why.kind == BPK_NO_MEMORY)
			return bpk_fail_as(err, &why);
	}
	*tells = *tells && array.ndimensions > 0;
	bpk_array_clear(&array);
	*text = info->metadata.text;
	if (!*tells)
		return 0;
	if (bpk_array_set_rows(info->metadata.text, 0, buf, err) != 0)
		return -1;
	*text = bpk_buf_view(buf);
	return 0;
}

static bool same_bytes(struct bpk_view a, struct bpk_view b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* True for arrays that can be concatenated by rows. */
static bool has_rows(const struct bpk_array *array)
{
	return array != NULL && array->ndimensions > 0 && !array->fortran;
}

static int begin(struct bpk_merged *m, const struct bpk_info *info, struct bpk_err *err)
{
	m->base = info;
	m->has_offsets = info->chunks.has_offsets;
	m->unprotected = info->unprotected;
	if (plain_text(info, &m->plain, &m->text, &m->tells_array, err) != 0)
		return -1;
	return has_rows(info->array.type) ? bpk_array_copy(info->array.type, &m->array, err) : 0;
}

/* Add the rows of array if its type and other dimensions match. */
static void add_array(struct bpk_merged *m, const struct bpk_array *array)
{
	size_t n = m->array.ndimensions;
	bool same =
		has_rows(array) && array->ndimensions == n && !m->differs.array &&
		memcmp(array->shape + 1, m->array.shape + 1, (n - 1) * sizeof *array->shape) == 0 &&
		bpk_dtype_equal(&array->dtype, &m->array.dtype) &&
		bpk_add_u64(m->array.shape[0], array->shape[0], &m->array.shape[0]);

	m->differs.array = !same;
}

static int compare(struct bpk_merged *m, const struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_buf plain = { 0 };
	struct bpk_view text;
	bool tells;
	int rc = plain_text(info, &plain, &text, &tells, err);

	m->differs.metadata = m->differs.metadata || tells != m->tells_array ||
			      info->metadata.given != m->base->metadata.given ||
			      !same_bytes(text, m->text);
	bpk_buf_clear(&plain);
	m->differs.typesize =
		m->differs.typesize || info->chunks.typesize != m->base->chunks.typesize;
	m->differs.checksum =
		m->differs.checksum || info->chunks.checksum != m->base->chunks.checksum;
	m->has_offsets = m->has_offsets && info->chunks.has_offsets;
	if (m->unprotected == NULL)
		m->unprotected = info->unprotected;
	if (rc == 0 && has_rows(m->base->array.type))
		add_array(m, info->array.type);
	else
		m->differs.array = m->differs.array || info->array.type != NULL;
	return rc;
}

/* ---- All members ---- */

int bpk_merged_add(struct bpk_merged *m, const struct bpk_info *info,
		   const struct bpk_member_end *end, struct bpk_err *err)
{
	bool first = m->nmembers++ == 0;

	m->hole_size += info->hole_size;
	m->pending = m->pending || info->pending;
	if (first && begin(m, info, err) != 0)
		return -1;
	if (!first && bpk_member_is_empty(end->nchunks, end->raw_size))
		return 0;
	if (!first && compare(m, info, err) != 0)
		return -1;
	return end->nchunks > 0 ? add_sizes(m, info, end, err) : 0;
}

/* The counts of one archive whose header does not record them. */
static void add_counts(const struct bpk_merged *m, struct bpk_info *info)
{
	if (info->chunks.count != BPK_UNKNOWN && info->raw_size != BPK_UNKNOWN)
		return;
	info->chunks.count = m->chunks.count;
	info->raw_size = m->chunks.raw_size;
	info->chunks.last_size = m->chunks.count > 0 ? m->chunks.last_size : 0;
}

void bpk_merged_counts(const struct bpk_merged *m, struct bpk_info *info)
{
	if (m->nmembers == 1) {
		add_counts(m, info);
		return;
	}
	info->raw_size = m->chunks.raw_size;
	info->chunks.count = m->chunks.count;
	info->chunks.size = m->chunks.count > 0 ? m->chunks.size : BPK_UNKNOWN;
	info->chunks.last_size = m->chunks.count > 0 ? m->chunks.last_size : 0;
}

/* The common metadata, with the total number of rows; without the array if it does not fit. */
static int merge_metadata(struct bpk_merged *m, struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_view text = m->base->metadata.text;

	if (m->differs.metadata) {
		info->metadata.given = false;
		info->metadata.nlayers = 0;
	}
	if (!info->metadata.given || !m->tells_array)
		return 0;
	m->metadata.size = 0;
	if ((info->array.type != NULL
		     ? bpk_array_set_rows(text, m->array.shape[0], &m->metadata, err)
		     : bpk_array_strip_metadata(text, &m->metadata, err)) != 0)
		return -1;
	info->metadata.text = bpk_buf_view(&m->metadata);
	info->metadata.given = m->metadata.size > 0;
	return 0;
}

static int merge_array(struct bpk_merged *m, struct bpk_info *info, struct bpk_err *err)
{
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	struct bpk_array *array = &m->array;

	info->array.type = NULL;
	info->array.chunk_shape = info->array.block_shape = NULL;
	if (m->differs.array || !has_rows(m->base->array.type))
		return 0;
	memcpy(shape, array->shape, sizeof shape);
	if (bpk_array_set_shape(array, shape, array->ndimensions, err) != 0)
		return -1;
	if (array->size == m->chunks.raw_size)
		info->array.type = array;
	return 0;
}

int bpk_merged_info(struct bpk_merged *m, struct bpk_info *info, struct bpk_err *err)
{
	*info = *m->base;
	info->members = m->nmembers;
	bpk_merged_counts(m, info);
	if (m->nmembers == 1)
		return 0;
	info->chunks.runs = info->chunks.size == BPK_UNKNOWN && m->chunks.runs.nchunks > 0
				    ? &m->chunks.runs
				    : NULL;
	info->chunks.append_space = 0;
	info->chunks.has_offsets = m->has_offsets;
	info->hole_size = m->hole_size;
	info->pending = m->pending;
	info->unprotected = m->unprotected;
	info->frame = NULL;
	info->uneven = m->differs.typesize || m->differs.checksum;
	if (m->differs.typesize)
		info->chunks.typesize = info->chunks.first.typesize = 0;
	if (merge_array(m, info, err) != 0)
		return -1;
	return merge_metadata(m, info, err);
}

void bpk_merged_clear(struct bpk_merged *m)
{
	bpk_sizes_clear(&m->chunks.runs);
	bpk_array_clear(&m->array);
	bpk_buf_clear(&m->plain);
	bpk_buf_clear(&m->metadata);
	*m = (struct bpk_merged){ 0 };
}
