/* The results of bpk cmp, in words and as records; and where in the arrays a byte lies. Called by
 * cmp_work.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmp.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/text.h"

int bpk_cmp_note(struct bpk_cmp *cmp, struct bpk_err *err, const char *format, ...)
{
	va_list values;
	int size;

	if (cmp->differ)
		return 0;
	va_start(values, format);
	size = vasprintf(&cmp->line, format, values);
	va_end(values);
	if (size < 0) {
		cmp->line = NULL;
		return bpk_fail_memory(err, strlen(format));
	}
	cmp->differ = true;
	return 0;
}

int bpk_cmp_note_bytes(struct bpk_cmp *cmp, const struct bpk_compared *compared,
		       struct bpk_err *err)
{
	cmp->offset = compared->offset;
	if (compared->ends[0] || compared->ends[1])
		return bpk_cmp_note(cmp, err, "%s ends at byte %" PRIu64 ", %s goes on",
				    bpk_input_name(cmp->in[compared->ends[1]].path),
				    compared->offset,
				    bpk_input_name(cmp->in[compared->ends[0]].path));
	return bpk_cmp_note(cmp, err, "byte %" PRIu64 ": 0x%02x is 0x%02x", compared->offset,
			    compared->bytes[0], compared->bytes[1]);
}

/* ---- the place of a byte ---- */

static bool holds(const struct bpk_item *item, uint64_t offset)
{
	return item->offset != BPK_UNKNOWN && offset >= item->offset &&
	       offset - item->offset < item->array->size;
}

static bool locate_in_arrays(struct bpk_cmp *cmp, const struct bpk_content *content)
{
	uint64_t count = content->layout == NULL ? 0 : bpk_layout_info(content->layout)->narrays;
	struct bpk_item item;

	for (uint64_t i = 0; i < count; i++) {
		if (bpk_layout_get(content->layout, i, &item, NULL) != 0)
			return false;
		if (!holds(&item, cmp->offset))
			continue;
		cmp->name = bpk_strdup(item.name, NULL);
		cmp->frame = item.frame;
		cmp->item = (cmp->offset - item.offset) / bpk_max_u64(1, item.array->dtype.size);
		return true;
	}
	return false;
}

/* In an input that is read by place; a place that cannot be found is left out. */
static bool locate_in(struct bpk_cmp *cmp, const struct bpk_input *in)
{
	struct bpk_content content = { 0 };
	uint64_t size = 0;
	bool found = false;

	if (in->format->reader->positional(in->reader) &&
	    bpk_content_look(in, &cmp->args->shared, &content, NULL) == 0)
		found = locate_in_arrays(cmp, &content);
	bpk_content_close(&content);
	if (!found && in->format != &bpk_format_raw && cmp->item == BPK_UNKNOWN &&
	    bpk_input_item_size(in->info, &size, NULL) == 0 && size > 1)
		cmp->item = cmp->offset / size;
	return found;
}

void bpk_cmp_locate(struct bpk_cmp *cmp)
{
	if (!locate_in(cmp, &cmp->in[0]))
		locate_in(cmp, &cmp->in[1]);
}

/* ---- printing ---- */

static void print_name(const char *path)
{
	const char *name = bpk_input_name(path);

	bpk_print_escaped(bpk_view(name, strlen(name)));
}

static void print_place(const struct bpk_cmp *cmp)
{
	if (cmp->offset == BPK_UNKNOWN || cmp->item == BPK_UNKNOWN)
		return;
	printf(", item %" PRIu64, cmp->item);
	if (cmp->name != NULL) {
		fputs(" of array '", stdout);
		bpk_print_escaped(bpk_view(cmp->name, strlen(cmp->name)));
		putchar('\'');
	}
	if (cmp->name != NULL && cmp->frame != BPK_UNKNOWN)
		printf(", frame %" PRIu64, cmp->frame);
}

static void print_line(const struct bpk_cmp *cmp)
{
	const struct bpk_shared *shared = &cmp->args->shared;

	if (shared->quiet || (!cmp->differ && shared->verbose == 0))
		return;
	print_name(cmp->in[0].path);
	putchar(' ');
	print_name(cmp->in[1].path);
	fputs(cmp->differ ? " differ: " : ": equal", stdout);
	if (cmp->differ)
		bpk_print_escaped(bpk_view(cmp->line, strlen(cmp->line)));
	else if (cmp->largest >= 0)
		printf("; the largest difference is %.9g", cmp->largest);
	print_place(cmp);
	putchar('\n');
	bpk_flush_results();
}

static void print_record(const struct bpk_cmp *cmp)
{
	bpk_record_begin("cmp", cmp->in[0].path);
	bpk_record_text("other", cmp->in[1].path);
	bpk_record_text("difference", cmp->differ ? cmp->line : NULL);
	bpk_record_u64("offset", cmp->differ ? cmp->offset : BPK_UNKNOWN);
	bpk_record_u64("item", cmp->differ ? cmp->item : BPK_UNKNOWN);
	bpk_record_text("name", cmp->name);
	bpk_record_u64("frame", cmp->differ ? cmp->frame : BPK_UNKNOWN);
	if (cmp->largest >= 0)
		bpk_record_double("largest_difference", cmp->largest);
	bpk_record_end();
}

void bpk_cmp_show(const struct bpk_cmp *cmp, const struct bpk_err *err)
{
	if (cmp->args->shared.json)
		print_record(cmp);
	else if (err->kind == BPK_OK)
		print_line(cmp);
	if (err->kind == BPK_OK && cmp->differ)
		bpk_report_difference();
}
