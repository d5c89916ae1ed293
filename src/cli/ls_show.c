/* bpk ls: the arrays and members of one input as lines in columns, and as JSON. Called by ls.c. */
#include "cli/ls.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/describe.h"
#include "cli/record.h"
#include "cli/sheet.h"
#include "cli/tar.h"
#include "cli/text.h"

/* ---- Columns ---- */

static const struct bpk_column columns[] = {
	{ "Name", false },  { "Frames", true }, { "Type", false },  { "Shape", false },
	{ "Steps", false }, { "Size", true },   { "Packed", true }, { "Ratio", true },
};

enum { COLUMNS = sizeof columns / sizeof columns[0], SHORT = 5 };

static int begin_sheet(const struct bpk_ls_args *args, struct bpk_sheet *sheet, struct bpk_err *err)
{
	*sheet = (struct bpk_sheet){ .columns = columns,
				     .ncolumns = args->details ? COLUMNS : SHORT };
	return args->details ? bpk_sheet_put_titles(sheet, err) : 0;
}

/* A name for --null. */
static void print_name(const char *name)
{
	fputs(name, stdout);
	putchar('\0');
}

/* ---- Arrays ---- */

/* "0..9000", "5", "-" */
static const char *steps_text(uint64_t first, uint64_t last, char out[2 * BPK_SIZE_TEXT])
{
	if (first == BPK_UNKNOWN)
		snprintf(out, 2 * BPK_SIZE_TEXT, "-");
	else if (first == last)
		snprintf(out, 2 * BPK_SIZE_TEXT, "%" PRIu64, first);
	else
		snprintf(out, 2 * BPK_SIZE_TEXT, "%" PRIu64 "..%" PRIu64, first, last);
	return out;
}

static int put_sizes(struct bpk_sheet *sheet, uint64_t raw, uint64_t packed, struct bpk_err *err)
{
	char text[BPK_SIZE_TEXT];

	return bpk_sheet_put(sheet, bpk_size_text(raw, text), err) != 0 ||
			       bpk_sheet_put(sheet, bpk_size_text(packed, text), err) != 0
		       ? -1
		       : bpk_sheet_put(sheet, bpk_ratio_text(raw, packed, text), err);
}

static int put_type(struct bpk_sheet *sheet, const struct bpk_array *array, bool varies,
		    struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc = bpk_content_dtype_text(&array->dtype, &text, err);

	if (rc == 0)
		rc = bpk_sheet_put(sheet, (const char *)text.data, err);
	if (rc == 0)
		rc = bpk_content_shape_text(array, varies, &text, err);
	if (rc == 0)
		rc = bpk_sheet_put(sheet, (const char *)text.data, err);
	bpk_buf_clear(&text);
	return rc;
}

static int put_row(const struct bpk_ls_args *args, struct bpk_sheet *sheet,
		   const struct bpk_content_name *row, struct bpk_err *err)
{
	char frames[BPK_SIZE_TEXT] = "-", steps[2 * BPK_SIZE_TEXT];

	if (row->framed)
		snprintf(frames, sizeof frames, "%" PRIu64, row->count);
	if (bpk_sheet_put(sheet, row->name, err) != 0 || bpk_sheet_put(sheet, frames, err) != 0 ||
	    put_type(sheet, &row->array, row->varies, err) != 0 ||
	    bpk_sheet_put(sheet, steps_text(row->first_step, row->last_step, steps), err) != 0)
		return -1;
	return args->details ? put_sizes(sheet, row->size, row->packed, err) : 0;
}

int bpk_ls_arrays(const struct bpk_ls_args *args, const struct bpk_content *content,
		  struct bpk_err *err)
{
	const struct bpk_content_detail detail = { .packed = args->details };
	struct bpk_content_names names = { 0 };
	struct bpk_sheet sheet = { 0 };
	int rc;

	if (args->shared.json)
		return bpk_content_record(content, &detail, err);
	rc = bpk_content_names_fill(content, args->details, &names, err);
	if (rc == 0 && names.count > 0)
		rc = begin_sheet(args, &sheet, err);
	for (size_t i = 0; rc == 0 && i < names.count; i++)
		if (args->only_names)
			print_name(names.rows[i]->name);
		else
			rc = put_row(args, &sheet, names.rows[i], err);
	if (rc == 0)
		bpk_sheet_print(&sheet, 0);
	bpk_content_names_clear(&names);
	bpk_sheet_clear(&sheet);
	return rc == 0 ? 0 : bpk_input_subject(content->in, err);
}

/* ---- Data ---- */

/* The array that an archive records; else the items of its element size, of NumPy's type V, or
 * bytes. */
static int describe(const struct bpk_info *info, struct bpk_array *array, struct bpk_err *err)
{
	uint64_t raw_size = bpk_describe_raw_size(info), size, count;

	if (info->array.type != NULL)
		return bpk_array_copy(info->array.type, array, err);
	if (bpk_input_item_size(info, &size, NULL) != 0 || raw_size % size != 0)
		size = 1;
	array->dtype = (struct bpk_dtype){
		.scalar = { .kind = 'V', .byte_order = '|', .item_size = (uint32_t)size },
		.size = size,
	};
	count = raw_size / size;
	return bpk_array_set_shape(array, &count, 1, err);
}

static int put_data(const struct bpk_ls_args *args, struct bpk_sheet *sheet,
		    const struct bpk_info *info, struct bpk_err *err)
{
	uint64_t raw_size = bpk_describe_raw_size(info);
	struct bpk_array array = { .size = 0 };
	int rc = bpk_sheet_put(sheet, "-", err) != 0 ? -1 : bpk_sheet_put(sheet, "-", err);

	if (rc == 0 && raw_size == BPK_UNKNOWN)
		rc = bpk_sheet_put(sheet, "-", err) != 0 ? -1 : bpk_sheet_put(sheet, "-", err);
	else if (rc == 0 && (rc = describe(info, &array, err)) == 0)
		rc = put_type(sheet, &array, false, err);
	if (rc == 0)
		rc = bpk_sheet_put(sheet, "-", err);
	bpk_array_clear(&array);
	return rc == 0 && args->details ? put_sizes(sheet, raw_size, info->stored_size, err) : rc;
}

int bpk_ls_data(const struct bpk_ls_args *args, const struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_sheet sheet = { 0 };
	int rc;

	if (args->shared.json) {
		bpk_record_text("content", NULL);
		return 0;
	}
	if (args->only_names)
		return 0;
	rc = begin_sheet(args, &sheet, err);
	if (rc == 0)
		rc = put_data(args, &sheet, in->info, err);
	if (rc == 0)
		bpk_sheet_print(&sheet, 0);
	bpk_sheet_clear(&sheet);
	return rc;
}

/* ---- Members ---- */

enum { SIZE_COLUMN = 11, KIND_COLUMN = 16 };

static int show_member(void *arg, const struct bpk_tar_entry *entry)
{
	const struct bpk_ls_args *args = arg;
	char size[BPK_SIZE_TEXT];

	if (args->shared.json) {
		bpk_record_item_begin();
		bpk_tar_record_entry(entry);
		bpk_record_item_end();
		return ferror(stdout) ? 1 : 0; /* which is reported at the end */
	}
	if (args->only_names) {
		print_name(entry->name);
		return ferror(stdout) ? 1 : 0;
	}
	if (args->details)
		printf("%*s  %-*s  ", SIZE_COLUMN,
		       bpk_size_text(entry->entry == BPK_ENTRY_FILE ? entry->size : BPK_UNKNOWN,
				     size),
		       KIND_COLUMN, bpk_tar_kind(entry));
	bpk_tar_print_name(entry, args->details);
	return ferror(stdout) ? 1 : 0;
}

int bpk_ls_members(const struct bpk_ls_args *args, struct bpk_source *source, struct bpk_err *err)
{
	int rc;

	if (args->shared.json) {
		bpk_record_text("content", "tar");
		bpk_record_list_begin("entries");
	} else if (args->details) {
		printf("%*s  %-*s  %s\n", SIZE_COLUMN, "Size", KIND_COLUMN, "Type", "Name");
	}
	rc = bpk_tar_list(source, show_member, (void *)args, err);
	if (args->shared.json)
		bpk_record_list_end();
	return rc < 0 ? -1 : 0;
}
