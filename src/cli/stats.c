/* bpk info --stats: the statistics of arrays found, and printed. Called by info.c. */
#include "cli/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/record.h"
#include "cli/sheet.h"
#include "cli/text.h"

/* An array, in all its frames. */
struct measured {
	const char *name;              /* NULL: the data of an archive */
	const struct bpk_array *array; /* the first */
	const char *skipped;           /* why it has no statistics, or NULL */
	bool wanted;
	struct bpk_statistics found;
};

struct measuring {
	const struct bpk_content *content;
	const struct bpk_shared *shared;
	struct bpk_content_names names;
	struct measured *rows;
	struct bpk_statistics *found; /* of the rows */
	size_t count;
};

/* ---- Finding ---- */

/* Why an array of this type has no statistics. */
static const char *reason_to_skip(const struct bpk_dtype *dtype)
{
	if (dtype->nfields > 0 || dtype->ndimensions > 0)
		return "structured";
	if (dtype->scalar.kind == 'c')
		return "complex";
	return bpk_is_number(dtype) ? NULL : "no numbers";
}

static int64_t row_of(void *arg, const struct bpk_item *item)
{
	struct measuring *m = arg;
	struct measured *row;

	if (item->name == NULL)
		row = &m->rows[0];
	else
		row = &m->rows[bpk_content_names_find(&m->names, item->name)->number];
	if (!row->wanted)
		return BPK_STATISTICS_NONE;
	if (row->skipped == NULL &&
	    (reason_to_skip(&item->array->dtype) != NULL ||
	     !bpk_scalar_is_like(&item->array->dtype.scalar, &row->array->dtype.scalar)))
		row->skipped = "types vary";
	return row->skipped != NULL ? BPK_STATISTICS_NONE : row - m->rows;
}

static int make_rows(struct measuring *m, size_t count, struct bpk_err *err)
{
	m->count = count;
	m->rows = bpk_calloc(count + 1, sizeof *m->rows, err);
	m->found = m->rows == NULL ? NULL : bpk_calloc(count + 1, sizeof *m->found, err);
	return m->found != NULL ? 0 : -1;
}

static void describe(const struct measuring *m, size_t number, const char *name,
		     const struct bpk_array *array)
{
	const char *wanted = m->shared->pick.name;

	m->rows[number] = (struct measured){
		.name = name,
		.array = array,
		.skipped = reason_to_skip(&array->dtype),
		.wanted = wanted == NULL || (name != NULL && strcmp(name, wanted) == 0),
	};
}

static int measure_arrays(struct measuring *m, struct bpk_err *err)
{
	int rc = bpk_content_names_fill(m->content, false, &m->names, err);

	if (rc == 0)
		rc = make_rows(m, m->names.count, err);
	if (rc != 0)
		return bpk_input_subject(m->content->in, err);
	for (size_t i = 0; i < m->count; i++)
		describe(m, i, m->names.rows[i]->name, &m->names.rows[i]->array);
	return bpk_statistics_find(m->content, NULL, row_of, m, bpk_shared_threads(m->shared),
				   m->found, err);
}

/* The data of an archive that records an array, read in C's order. */
static int measure_opened(struct measuring *m, const struct bpk_input *in, struct bpk_err *err)
{
	unsigned threads = bpk_shared_threads(m->shared);
	const struct bpk_item item = { .frame = BPK_UNKNOWN, .array = m->rows[0].array };
	struct bpk_content whole;
	int rc;

	if (bpk_content_open_whole(in, threads + 1, bpk_shared_limits(m->shared).memory, &whole,
				   err) != 0)
		return -1;
	rc = bpk_statistics_find(&whole, &item, row_of, m, threads, m->found, err);
	bpk_content_close(&whole);
	return rc;
}

/* Chunks of several dimensions have a padding, which is left out by another reader. */
static int measure_unpadded(struct measuring *m, struct bpk_err *err)
{
	struct bpk_shared shared = *m->shared;
	struct bpk_input in = { 0 };
	int rc;

	shared.as_stored = false;
	rc = bpk_input_open(&in, m->content->in->path, &shared, err);
	if (rc == 0)
		rc = measure_opened(m, &in, err);
	if (rc == 0)
		rc = bpk_input_unchanged(&in, err);
	bpk_input_close(&in);
	return rc;
}

static int measure_data(struct measuring *m, struct bpk_err *err)
{
	const struct bpk_info *info = m->content->in->info;

	if (info->array.type == NULL)
		return 0;
	if (make_rows(m, 1, err) != 0)
		return bpk_input_subject(m->content->in, err);
	describe(m, 0, NULL, info->array.type);
	if (m->rows[0].skipped != NULL)
		return 0;
	if (info->array.chunk_shape != NULL)
		return measure_unpadded(m, err);
	return measure_opened(m, m->content->in, err);
}

/* Stop at the first. */
static int stop(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	(void)arg;
	(void)item;
	(void)err;
	return 1;
}

static int measure(struct measuring *m, struct bpk_err *err)
{
	const struct bpk_pick pick = { .name = m->shared->pick.name, .no_defaults = true };
	int rc;

	if (m->content->in == NULL)
		return 0;
	if (pick.name != NULL && bpk_pick_each(m->content, &pick, stop, NULL, err) < 0)
		return -1;
	rc = (m->content->layout != NULL ? measure_arrays : measure_data)(m, err);
	for (size_t i = 0; rc == 0 && i < m->count; i++)
		m->rows[i].found = m->found[i];
	return rc;
}

static void clear(struct measuring *m)
{
	bpk_content_names_clear(&m->names);
	free(m->rows);
	free(m->found);
}

/* ---- As text ---- */

static bool is_integer(const struct measured *row)
{
	return bpk_number_is_integer(&row->array->dtype.scalar);
}

/* The least or the greatest value; NULL: no finite number. */
static const char *value_text(const struct measured *row, double value, uint64_t bits,
			      char out[BPK_NUMBER_TEXT])
{
	if (row->found.nfinite == 0)
		return NULL;
	if (!is_integer(row))
		return row->array->dtype.scalar.item_size < 8 ? bpk_float_text((float)value, out)
							      : bpk_double_text(value, out);
	if (row->array->dtype.scalar.kind == 'i')
		snprintf(out, BPK_NUMBER_TEXT, "%" PRId64, (int64_t)bits);
	else
		snprintf(out, BPK_NUMBER_TEXT, "%" PRIu64, bits);
	return out;
}

static const char *min_text(const struct measured *row, char out[BPK_NUMBER_TEXT])
{
	return value_text(row, row->found.min, row->found.least, out);
}

static const char *max_text(const struct measured *row, char out[BPK_NUMBER_TEXT])
{
	return value_text(row, row->found.max, row->found.greatest, out);
}

static int put_count(struct bpk_sheet *sheet, uint64_t count, struct bpk_err *err)
{
	char text[BPK_NUMBER_TEXT];

	snprintf(text, sizeof text, "%" PRIu64, count);
	return bpk_sheet_put(sheet, text, err);
}

static int put_text(struct bpk_sheet *sheet, const char *text, struct bpk_err *err)
{
	return bpk_sheet_put(sheet, text != NULL ? text : "-", err);
}

static int put_double(struct bpk_sheet *sheet, const struct measured *row, double value,
		      struct bpk_err *err)
{
	char text[BPK_NUMBER_TEXT];

	snprintf(text, sizeof text, "%.9g", value);
	return put_text(sheet, row->found.nfinite > 0 ? text : NULL, err);
}

static int put_row(struct bpk_sheet *sheet, const struct measured *row, struct bpk_err *err)
{
	const struct bpk_statistics *found = &row->found;
	char text[BPK_NUMBER_TEXT];

	if (put_count(sheet, found->count, err) != 0 ||
	    put_text(sheet, min_text(row, text), err) != 0 ||
	    put_text(sheet, max_text(row, text), err) != 0 ||
	    put_double(sheet, row, bpk_statistics_mean(found), err) != 0 ||
	    put_double(sheet, row, bpk_statistics_deviation(found), err) != 0 ||
	    put_count(sheet, found->nnan, err) != 0 || put_count(sheet, found->ninfinite, err) != 0)
		return -1;
	return put_text(sheet, row->name, err);
}

static const struct bpk_column columns[] = {
	{ "Count", true },     { "Min", true }, { "Max", true }, { "Mean", true },
	{ "Deviation", true }, { "NaN", true }, { "Inf", true }, { "Name", false },
};

static int print_rows(const struct measuring *m, struct bpk_err *err)
{
	struct bpk_sheet sheet = { .columns = columns,
				   .ncolumns = sizeof columns / sizeof columns[0] };
	int rc = bpk_sheet_put_titles(&sheet, err);

	for (size_t i = 0; rc == 0 && i < m->count; i++)
		if (m->rows[i].wanted && m->rows[i].skipped == NULL)
			rc = put_row(&sheet, &m->rows[i], err);
	if (rc == 0 && sheet.ncells > sheet.ncolumns)
		bpk_sheet_print(&sheet, 2);
	bpk_sheet_clear(&sheet);
	for (size_t i = 0; rc == 0 && i < m->count; i++)
		if (m->rows[i].wanted && m->rows[i].skipped != NULL)
			printf("  %-16s %s: %s\n", "no statistics",
			       m->rows[i].name != NULL ? m->rows[i].name : "-", m->rows[i].skipped);
	return rc;
}

int bpk_stats_print(const struct bpk_content *content, const struct bpk_shared *shared,
		    struct bpk_err *err)
{
	struct measuring m = { .content = content, .shared = shared };
	int rc = measure(&m, err);

	if (rc == 0 && m.count == 0)
		printf("  %-16s %s\n", "no statistics", "no array of numbers is recorded");
	else if (rc == 0 && print_rows(&m, err) != 0)
		rc = bpk_input_subject(content->in, err);
	clear(&m);
	return rc;
}

/* ---- As JSON ---- */

/* null: no finite number, or none that a double can hold */
static void record_double(const char *key, const struct measured *row, double value)
{
	char text[BPK_NUMBER_TEXT];
	bool known = row->skipped == NULL && row->found.nfinite > 0 && isfinite(value);

	bpk_record_number(key, known ? bpk_double_text(value, text) : NULL);
}

/* As bpk_content_record_array prints the type, and the text of a float as a double's, exactly. */
static int record_row(const struct measured *row, struct bpk_err *err)
{
	const struct bpk_statistics *found = &row->found;
	bool skipped = row->skipped != NULL;
	struct bpk_buf dtype = { 0 };
	char text[BPK_NUMBER_TEXT];
	int rc = bpk_content_dtype_text(&row->array->dtype, &dtype, err);

	bpk_record_item_begin();
	bpk_record_text("name", row->name);
	bpk_record_text("dtype", rc == 0 ? (const char *)dtype.data : NULL);
	bpk_record_text("skipped", row->skipped);
	bpk_record_u64("count", skipped ? BPK_UNKNOWN : found->count);
	if (!skipped && is_integer(row)) {
		bpk_record_number("min", min_text(row, text));
		bpk_record_number("max", max_text(row, text));
	} else {
		record_double("min", row, found->min);
		record_double("max", row, found->max);
	}
	record_double("mean", row, bpk_statistics_mean(found));
	record_double("std", row, bpk_statistics_deviation(found));
	bpk_record_u64("nan", skipped ? BPK_UNKNOWN : found->nnan);
	bpk_record_u64("infinite", skipped ? BPK_UNKNOWN : found->ninfinite);
	bpk_record_item_end();
	bpk_buf_clear(&dtype);
	return rc;
}

int bpk_stats_record(const struct bpk_content *content, const struct bpk_shared *shared,
		     struct bpk_err *err)
{
	struct measuring m = { .content = content, .shared = shared };
	int rc = measure(&m, err);

	bpk_record_list_begin("stats");
	for (size_t i = 0; rc == 0 && i < m.count; i++)
		if (m.rows[i].wanted && record_row(&m.rows[i], err) != 0)
			rc = bpk_input_subject(content->in, err);
	bpk_record_list_end();
	clear(&m);
	return rc;
}
