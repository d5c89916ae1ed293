/* The arrays of a layout by name: one row a name, with all its frames. Called by content_describe.c
 * and ls_show.c. */
#include "cli/content.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

/* ---- The table ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct bpk_content_name *)a)->name,
		      ((const struct bpk_content_name *)b)->name);
}

void bpk_content_names_clear(struct bpk_content_names *table)
{
	for (size_t i = 0; i < table->count; i++) {
		tdelete(table->rows[i], &table->tree, compare_names);
		bpk_array_clear(&table->rows[i]->array);
		free(table->rows[i]->name);
		free(table->rows[i]);
	}
	free(table->rows);
}

static int make_room(struct bpk_content_names *table, struct bpk_err *err)
{
	struct bpk_content_name **rows =
		bpk_alloc_grow(table->rows, table->count, &table->room, sizeof *rows, err);

	if (rows == NULL)
		return -1;
	table->rows = rows;
	return 0;
}

static struct bpk_content_name *new_row(struct bpk_content_names *table,
					const struct bpk_item *item, struct bpk_err *err)
{
	struct bpk_content_name *row;

	if (make_room(table, err) != 0)
		return NULL;
	row = bpk_calloc(1, sizeof *row, err);
	if (row == NULL)
		return NULL;
	row->name = bpk_strdup(item->name, err);
	if (row->name == NULL || bpk_array_copy(item->array, &row->array, err) != 0 ||
	    tsearch(row, &table->tree, compare_names) == NULL) {
		bpk_array_clear(&row->array);
		free(row->name);
		free(row);
		return NULL;
	}
	row->framed = item->frame != BPK_UNKNOWN;
	row->offset = BPK_UNKNOWN;
	row->first_step = row->last_step = BPK_UNKNOWN;
	row->number = table->count;
	table->rows[table->count++] = row;
	return row;
}

static struct bpk_content_name *find(const struct bpk_content_names *table, const char *name)
{
	const struct bpk_content_name key = { .name = (char *)name };
	struct bpk_content_name **found = tfind(&key, &table->tree, compare_names);

	return found != NULL ? *found : NULL;
}

const struct bpk_content_name *bpk_content_names_find(const struct bpk_content_names *names,
						      const char *name)
{
	return find(names, name);
}

/* ---- Their packed size ---- */

bool bpk_content_is_damage(const struct bpk_err *err)
{
	return err->kind == BPK_CORRUPT || err->kind == BPK_UNSUPPORTED || err->kind == BPK_LIMIT;
}

static void keep_failure(const struct bpk_err *found, struct bpk_err *failure)
{
	if (found->kind != BPK_OK && !bpk_content_is_damage(found))
		*failure = *found;
}

enum { MOST_CHUNKS = 1 << 22 }; /* that are looked up: a small archive may claim any number */

/* The table on its way. */
struct filling {
	const struct bpk_content *content;
	struct bpk_content_names *table;
	bool packed;
	uint64_t nchunks;       /* looked up so far */
	uint64_t last;          /* the number of the one looked up last, or BPK_UNKNOWN */
	struct bpk_where where; /* of that */
	struct bpk_err failure; /* of reading, which is no damage; or BPK_OK */
};

bool bpk_content_has_chunks(const struct bpk_content *content)
{
	const struct bpk_info *info = content->in->info;

	return content->in->format != &bpk_format_raw &&
	       (info->chunks.size != BPK_UNKNOWN || info->chunks.runs != NULL);
}

static bool locate(struct filling *f, uint64_t number)
{
	const struct bpk_input *in = f->content->in;
	struct bpk_err found = { 0 };

	if (number == f->last)
		return true;
	f->last = BPK_UNKNOWN;
	if (f->nchunks++ == MOST_CHUNKS)
		return false;
	if (in->format->reader->locate(in->reader, number, &f->where, &found) != 0) {
		keep_failure(&found, &f->failure);
		return false;
	}
	if (f->where.raw_offset == BPK_UNKNOWN || f->where.header.raw_size == 0)
		return false;
	f->last = number;
	return true;
}

/* Packed bytes of size raw bytes from offset on: of each chunk the share that it has of them. False
 * if a chunk cannot be looked up; damage is ignored here. */
static bool share_of(struct filling *f, uint64_t offset, uint64_t size, double *share)
{
	const struct bpk_input *in = f->content->in;
	uint64_t end = offset + size; /* inside the raw data */
	struct bpk_err found = { 0 };
	struct bpk_plan plan;

	*share = 0;
	if (size == 0)
		return true;
	if (bpk_plan_range(in->format->reader, in->reader, offset, end, &plan, &found) != 0) {
		keep_failure(&found, &f->failure);
		return false;
	}
	for (uint64_t number = plan.first; offset < end; number++) {
		uint64_t chunk_end, part;

		if (!locate(f, number) || f->where.raw_offset > offset)
			return false;
		chunk_end = f->where.raw_offset + f->where.header.raw_size;
		if (chunk_end <= offset)
			return false;
		part = bpk_min_u64(chunk_end, end) - offset;
		*share += (double)f->where.header.packed_size * (double)part /
			  (double)f->where.header.raw_size;
		offset += part;
	}
	return true;
}

static void add_packed(struct filling *f, struct bpk_content_name *row, uint64_t offset,
		       uint64_t size)
{
	double share;

	if (row->packed == BPK_UNKNOWN)
		return;
	if (share_of(f, offset, size, &share)) {
		row->share += share;
		row->packed = (uint64_t)row->share;
		row->packed += (double)row->packed < row->share;
	} else {
		row->packed = BPK_UNKNOWN;
	}
}

/* ---- Filling ---- */

/* Arrays come in the order of frames, whose steps may begin anew. */
static void add_step(struct bpk_content_name *row, uint64_t step)
{
	if (step == BPK_UNKNOWN)
		return;
	if (row->first_step == BPK_UNKNOWN)
		row->first_step = step;
	row->last_step = step;
}

static int add_item(struct filling *f, const struct bpk_item *item, struct bpk_err *err)
{
	struct bpk_content_name *row = find(f->table, item->name);

	if (row == NULL)
		row = new_row(f->table, item, err);
	if (row == NULL)
		return bpk_fail_memory(err, sizeof *row);
	row->count++;
	row->size += item->array->size;
	if (row->offset == BPK_UNKNOWN && item->array->size > 0)
		row->offset = item->offset;
	row->varies = row->varies || !bpk_array_is_like(&row->array, item->array);
	add_step(row, item->step);
	if (f->packed && item->offset != BPK_UNKNOWN)
		add_packed(f, row, item->offset, item->array->size);
	if (f->failure.kind != BPK_OK)
		return bpk_fail_as(err, &f->failure);
	return 0;
}

int bpk_content_names_fill(const struct bpk_content *content, bool packed,
			   struct bpk_content_names *table, struct bpk_err *err)
{
	struct filling f = { .content = content, .table = table, .last = BPK_UNKNOWN };
	struct bpk_item item;

	f.packed = packed && bpk_content_has_chunks(content);
	for (uint64_t i = 0; i < bpk_layout_info(content->layout)->narrays; i++)
		if (bpk_layout_get(content->layout, i, &item, err) != 0 ||
		    add_item(&f, &item, err) != 0)
			return -1;
	for (size_t i = 0; i < table->count; i++)
		if (!f.packed)
			table->rows[i]->packed = BPK_UNKNOWN;
	return 0;
}

/* ---- As text ---- */

int bpk_content_dtype_text(const struct bpk_dtype *dtype, struct bpk_buf *text, struct bpk_err *err)
{
	text->size = 0;
	if (bpk_dtype_print(dtype, text, err) != 0)
		return -1;
	return bpk_buf_append(text, bpk_view("", 1), err);
}

int bpk_content_shape_text(const struct bpk_array *array, bool varies, struct bpk_buf *text,
			   struct bpk_err *err)
{
	int rc = 0;

	text->size = 0;
	if (array->ndimensions == 0)
		rc = bpk_buf_printf(text, err, "-");
	for (size_t i = 0; rc == 0 && i < array->ndimensions; i++)
		rc = bpk_buf_printf(text, err, i == 0 ? "%" PRIu64 : " x %" PRIu64,
				    array->shape[i]);
	if (rc == 0 && (varies || array->fortran))
		rc = bpk_buf_printf(text, err, varies ? ", varies" : ", order F");
	return rc == 0 ? bpk_buf_append(text, bpk_view("", 1), err) : -1;
}
