/* bpk info and ls: the arrays inside raw bytes, as text and as JSON: each name once, with all its
 * frames. Called by info.c and ls_show.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/content.h"
#include "cli/describe.h"
#include "cli/record.h"
#include "cli/text.h"

/* Find the chunk in which the first bytes begin. *header is NULL where there is no chunk, or it is
 * damaged, which is ignored here. */
static int find_chunk(const struct bpk_content *content, const struct bpk_content_name *row,
		      struct bpk_where *where, const struct bpk_chunk_header **header,
		      struct bpk_err *err)
{
	const struct bpk_input *in = content->in;
	const struct bpk_reader_ops *ops = in->format->reader;
	struct bpk_err found = { 0 };
	struct bpk_plan plan;

	*header = NULL;
	if (!bpk_content_has_chunks(content) || row->offset >= in->info->raw_size)
		return 0;
	if (bpk_plan_range(ops, in->reader, row->offset, row->offset + 1, &plan, &found) == 0 &&
	    ops->locate(in->reader, plan.first, where, &found) == 0)
		*header = &where->header;
	return found.kind == BPK_OK || bpk_content_is_damage(&found) ? 0 : bpk_fail_as(err, &found);
}

/* ---- As text ---- */

enum { PACKED_TEXT = BPK_FILTERS_TEXT + 4 };

/* "shuffle 12"; parts that are unknown are left out. */
static int print_packed(const struct bpk_content *content, const struct bpk_content_name *row,
			char out[PACKED_TEXT], struct bpk_err *err)
{
	const struct bpk_chunk_header *chunk;
	char filters[BPK_FILTERS_TEXT];
	struct bpk_where where;

	if (find_chunk(content, row, &where, &chunk, err) != 0)
		return -1;
	bpk_describe_filters(chunk, filters);
	if (strcmp(filters, "-") == 0 || chunk->pipeline.nsteps == 0)
		snprintf(out, PACKED_TEXT, "%s", filters);
	else
		snprintf(out, PACKED_TEXT, "%s %u", filters, chunk->typesize);
	return 0;
}

static int print_row(const struct bpk_content *content, const struct bpk_content_name *row,
		     struct bpk_err *err)
{
	struct bpk_buf dtype = { 0 }, shape = { 0 };
	char size[BPK_SIZE_TEXT], frames[BPK_SIZE_TEXT] = "-", how[PACKED_TEXT];
	int rc = bpk_content_dtype_text(&row->array.dtype, &dtype, err);

	if (rc == 0)
		rc = bpk_content_shape_text(&row->array, row->varies, &shape, err);
	if (row->framed)
		snprintf(frames, sizeof frames, "%" PRIu64, row->count);
	if (rc == 0)
		rc = print_packed(content, row, how, err);
	if (rc == 0) {
		printf("  %8s %11s  %-8s  %-20s  ", frames, bpk_size_text(row->size, size),
		       (const char *)dtype.data, (const char *)shape.data);
		if (bpk_content_has_chunks(content))
			printf("%-20s  ", how);
		printf("%s\n", row->name);
	}
	bpk_buf_clear(&dtype);
	bpk_buf_clear(&shape);
	return rc;
}

static void print_info(const struct bpk_layout_info *info)
{
	printf("  %-16s %s%s%s\n", "content", info->kind, info->variant != NULL ? ", " : "",
	       info->variant != NULL ? info->variant : "");
	if (info->application != NULL)
		printf("  %-16s %s\n", "application", info->application);
	if (info->schema != NULL)
		printf("  %-16s %s\n", "schema", info->schema);
	printf("  %-16s %" PRIu64 "\n", "arrays", info->narrays);
	if (info->nframes != BPK_UNKNOWN)
		printf("  %-16s %" PRIu64 "\n", "frames", info->nframes);
	if (info->last_step != BPK_UNKNOWN)
		printf("  %-16s %" PRIu64 "\n", "last step", info->last_step);
	if (info->damage != NULL)
		printf("  %-16s %s\n", "damage", info->damage);
	if (info->left_out != NULL)
		printf("  %-16s %s\n", "left out", info->left_out);
}

int bpk_content_describe(const struct bpk_content *content, struct bpk_err *err)
{
	struct bpk_content_names names = { 0 };
	bool packed;
	int rc;

	if (content->layout == NULL)
		return 0;
	packed = bpk_content_has_chunks(content);
	print_info(bpk_layout_info(content->layout));
	rc = bpk_content_names_fill(content, false, &names, err);
	if (rc == 0 && names.count > 0)
		printf("  %8s %11s  %-8s  %-20s  %-*s%s\n", "Frames", "Size", "Type", "Shape",
		       packed ? 22 : 0, packed ? "Packed as" : "", "Name");
	for (size_t i = 0; rc == 0 && i < names.count; i++)
		rc = print_row(content, names.rows[i], err);
	bpk_content_names_clear(&names);
	return rc == 0 ? 0 : bpk_input_subject(content->in, err);
}

/* ---- As JSON ---- */

int bpk_content_record_array(const struct bpk_array *array, struct bpk_err *err)
{
	struct bpk_buf dtype = { 0 };
	int rc = bpk_content_dtype_text(&array->dtype, &dtype, err);

	if (rc == 0)
		bpk_record_text("dtype", (const char *)dtype.data);
	bpk_buf_clear(&dtype);
	bpk_record_list_begin("shape");
	for (size_t i = 0; i < array->ndimensions; i++)
		bpk_record_list_u64(array->shape[i]);
	bpk_record_list_end();
	bpk_record_text("order", array->fortran ? "F" : "C");
	return rc;
}

/* null for a raw file, or if chunks cannot be looked up */
static int record_packed(const struct bpk_content *content, const struct bpk_content_name *row,
			 struct bpk_err *err)
{
	const struct bpk_chunk_header *chunk;
	char filters[BPK_FILTERS_TEXT];
	struct bpk_where where;
	int rc = find_chunk(content, row, &where, &chunk, err);

	bpk_record_text("codec", chunk != NULL ? bpk_describe_codec(chunk) : NULL);
	bpk_record_text("filter", chunk != NULL ? bpk_describe_filters(chunk, filters) : NULL);
	bpk_record_u64("typesize", chunk != NULL ? chunk->typesize : BPK_UNKNOWN);
	return rc;
}

static int record_names(const struct bpk_content *content, bool packed, struct bpk_err *err)
{
	struct bpk_content_names names = { 0 };
	int rc = bpk_content_names_fill(content, packed, &names, err);

	bpk_record_list_begin("names");
	for (size_t i = 0; rc == 0 && i < names.count; i++) {
		const struct bpk_content_name *row = names.rows[i];

		bpk_record_item_begin();
		bpk_record_text("name", row->name);
		rc = bpk_content_record_array(&row->array, err);
		bpk_record_bool("varies", row->varies);
		bpk_record_u64("nframes", row->framed ? row->count : BPK_UNKNOWN);
		bpk_record_u64("first_step", row->first_step);
		bpk_record_u64("last_step", row->last_step);
		bpk_record_u64("raw_size", row->size);
		if (packed)
			bpk_record_u64("packed_size", row->packed);
		if (rc == 0)
			rc = record_packed(content, row, err);
		bpk_record_item_end();
	}
	bpk_record_list_end();
	bpk_content_names_clear(&names);
	return rc;
}

static int record_arrays(struct bpk_layout *layout, struct bpk_err *err)
{
	struct bpk_item item;
	int rc = 0;

	bpk_record_list_begin("arrays");
	for (uint64_t i = 0; rc == 0 && i < bpk_layout_info(layout)->narrays; i++) {
		rc = bpk_layout_get(layout, i, &item, err);
		if (rc != 0)
			break;
		bpk_record_item_begin();
		bpk_record_text("name", item.name);
		bpk_record_u64("frame", item.frame);
		bpk_record_u64("step", item.step);
		rc = bpk_content_record_array(item.array, err);
		bpk_record_u64("offset", item.offset);
		bpk_record_u64("raw_size", item.array->size);
		bpk_record_item_end();
	}
	bpk_record_list_end();
	return rc;
}

int bpk_content_record(const struct bpk_content *content, const struct bpk_content_detail *detail,
		       struct bpk_err *err)
{
	const struct bpk_layout_info *info;
	int rc;

	if (content->layout == NULL) {
		bpk_record_text("content", NULL);
		return 0;
	}
	info = bpk_layout_info(content->layout);
	bpk_record_text("content", info->kind);
	bpk_record_text("content_variant", info->variant);
	bpk_record_text("application", info->application);
	bpk_record_text("schema", info->schema);
	bpk_record_u64("narrays", info->narrays);
	bpk_record_u64("nframes", info->nframes);
	bpk_record_u64("last_step", info->last_step);
	bpk_record_text("content_damage", info->damage);
	bpk_record_text("content_left_out", info->left_out);
	rc = record_names(content, detail->packed, err);
	if (rc == 0 && detail->arrays)
		rc = record_arrays(content->layout, err);
	return rc == 0 ? 0 : bpk_input_subject(content->in, err);
}
