/* bpk cat: a range, a part or arrays of one input, written as bytes or converted. Called by
 * cat.c. */
#include "cli/cat.h"

#include <inttypes.h>

#include "cli/content.h"
#include "cli/seal.h"
#include "cli/slice.h"

bool bpk_cat_converts(const struct bpk_cat_args *args)
{
	return args->rows.text || args->rows.native;
}

bool bpk_cat_wants_arrays(const struct bpk_cat_args *args)
{
	return args->shared.pick.name != NULL || args->slice.given || bpk_cat_converts(args);
}

/* ---- conversions ---- */

/* The rows of text are those of C's order. */
static bool needs_turn(const struct bpk_cat_args *args, const struct bpk_array *array)
{
	return args->rows.text && array->fortran && array->ndimensions > 1;
}

/* All of an array, as a part of it. */
static struct bpk_slice whole_of(const struct bpk_array *array)
{
	struct bpk_slice whole = { .ndimensions = array->ndimensions };

	memcpy(whole.stop, array->shape, sizeof whole.stop);
	return whole;
}

/* Convert the array that an archive records, or a part of it; numbers is NULL: do not. */
static int begin_rows(struct bpk_rows *numbers, const struct bpk_input *in,
		      const struct bpk_slice *slice, uint64_t skipped, struct bpk_err *err)
{
	const struct bpk_item item = { .frame = BPK_UNKNOWN, .array = in->info->array.type };

	if (numbers == NULL || bpk_rows_begin(numbers, &item, slice, skipped, err) == 0)
		return 0;
	return bpk_input_subject(in, err);
}

/* ---- proofs ---- */

/* With --prove: have the reader fetch no chunk but those from first to end - 1, as they were
 * sealed. */
static int prove(const struct bpk_cat_args *args, const struct bpk_input *in, uint64_t first,
		 uint64_t end, struct bpk_err *err)
{
	if (!args->prove)
		return 0;
	if (bpk_seal_expect(&in->info->seal, bpk_seal_find_root(args->root), err) != 0)
		return bpk_input_subject(in, err);
	if (!bpk_input_can_locate(in))
		bpk_fail(err, BPK_FAILED, "is a pipe, in which no seal can be tested");
	else if (in->format->reader->prove(in->reader, first, end, err) == 0 &&
		 bpk_seal_check_strong(in->info, err) == 0)
		return 0;
	return bpk_input_subject(in, err);
}

/* Where sizes differ, those of all chunks before tell where a range begins. */
static int prove_range(const struct bpk_cat_args *args, const struct bpk_input *in,
		       const struct bpk_plan *plan, struct bpk_err *err)
{
	uint64_t end = plan->count == BPK_UNKNOWN ? BPK_UNKNOWN : plan->first + plan->count;

	return prove(args, in, plan->chunk_size == BPK_UNKNOWN ? 0 : plan->first, end, err);
}

/* ---- the work ---- */

/* True for a pipe that says its size, if the place of the range depends on it. */
static bool counts_from_end(const struct bpk_input *in, const struct bpk_opt_range *range)
{
	return in->info->members == BPK_UNKNOWN && in->info->raw_size != BPK_UNKNOWN &&
	       !bpk_input_can_locate(in) && (range->start < 0 || range->end < 0);
}

/* Check that a pipe brought no more than the archive from whose end the range counts. */
static int check_end(struct bpk_input *in, struct bpk_err *err)
{
	if (bpk_input_account(in, err) != 0)
		return -1;
	if (in->info->members == 1)
		return 0;
	bpk_fail(err, BPK_FAILED,
		 "brings %" PRIu64
		 " archives that follow each other, and a range of a pipe cannot count "
		 "from their end",
		 in->info->members);
	return bpk_input_subject(in, err);
}

/* The raw bytes start..end of a range of items of unit bytes; sizes beyond the largest data stop
 * there. */
static int resolve(struct bpk_input *in, const struct bpk_opt_range *range, uint64_t unit,
		   uint64_t *start, uint64_t *end, struct bpk_err *err)
{
	uint64_t total = in->info->raw_size, last;
	bool in_first = in->info->members == BPK_UNKNOWN && total != BPK_UNKNOWN &&
			range->start >= 0 && range->has_end && range->end >= 0 &&
			bpk_mul_u64((uint64_t)range->end, unit, &last) && last <= total;

	/* The first of several archives is read without the others. In a pipe, a range that counts
	 * from the end is a range of one archive, which is tested at the end. */
	if (!in_first && !counts_from_end(in, range) && bpk_input_raw_size(in, &total, err) != 0)
		return -1;
	if (total != BPK_UNKNOWN)
		total /= unit;
	if (bpk_part_resolve(range, "items", total, start, end, err) != 0)
		return bpk_input_subject(in, err);
	if (!bpk_mul_u64(*start, unit, start))
		*start = INT64_MAX;
	if (*end != BPK_UNKNOWN && !bpk_mul_u64(*end, unit, end))
		*end = INT64_MAX;
	return 0;
}

static int plan_range(const struct bpk_cat_args *args, struct bpk_input *in, struct bpk_plan *plan,
		      struct bpk_err *err)
{
	const struct bpk_opt_range *range = args->items.given ? &args->items : &args->bytes;
	uint64_t start = 0, end = BPK_UNKNOWN, unit = 1;

	if (args->items.given && bpk_input_item_size(in->info, &unit, err) != 0)
		return bpk_input_subject(in, err);
	if (resolve(in, range, unit, &start, &end, err) != 0)
		return -1;
	if (bpk_plan_range(in->format->reader, in->reader, start, end, plan, err) != 0)
		return bpk_input_subject(in, err);
	return 0;
}

/* Convert a range of items; that of a part was begun with the part. */
static int begin_range(const struct bpk_cat_args *args, const struct bpk_input *in,
		       const struct bpk_plan *plan, struct bpk_rows *numbers, struct bpk_err *err)
{
	const struct bpk_array *array = in->info->array.type;

	if (numbers == NULL || args->slice.given)
		return 0;
	return begin_rows(numbers, in, NULL, plan->start / bpk_max_u64(1, array->dtype.size), err);
}

static int write_range(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
		       struct bpk_rows *numbers, struct bpk_err *err)
{
	const struct bpk_write_options options = {
		.gathers = bpk_transfer_never_waits(transfer),
	};
	struct bpk_flow flow = { .check = !args->shared.no_check, .decode = true };
	struct bpk_info info = *transfer->in->info;
	bool whole = !args->bytes.given && !args->items.given && !args->slice.given;
	int rc;

	bool from_end =
		counts_from_end(transfer->in, args->items.given ? &args->items : &args->bytes);

	flow.plan = bpk_plan_all(transfer->in->info);
	if ((!whole && !args->slice.given &&
	     plan_range(args, transfer->in, &flow.plan, err) != 0) ||
	    begin_range(args, transfer->in, &flow.plan, numbers, err) != 0)
		return -1;
	/* a pipe that does not say how much it brings is cut off like a Python slice */
	transfer->may_end_early = !whole && (info.raw_size == BPK_UNKNOWN || args->items.is_index);
	info.raw_size =
		flow.plan.end == BPK_UNKNOWN ? BPK_UNKNOWN : flow.plan.end - flow.plan.start;
	if (bpk_transfer_bound(transfer, &flow.plan, err) != 0 ||
	    (!args->slice.given && prove_range(args, transfer->in, &flow.plan, err) != 0))
		return -1;
	/* a bound is not a range that the user gave */
	transfer->may_end_early = transfer->may_end_early ||
				  (info.raw_size == BPK_UNKNOWN && flow.plan.end != BPK_UNKNOWN);
	if (bpk_transfer_start_writer(transfer, &bpk_format_raw, &info, &options, err) != 0 ||
	    bpk_transfer_run(transfer, &flow, err) != 0 ||
	    bpk_transfer_check_bound(transfer, err) != 0)
		return -1;
	/* a pipe ended before it */
	if (args->items.is_index && transfer->result.raw_size == 0) {
		bpk_fail(err, BPK_FAILED, "items %" PRId64 ": outside; there are fewer",
			 args->items.start);
		return bpk_input_subject(transfer->in, err);
	}
	if (from_end)
		rc = check_end(transfer->in, err);
	else if (whole && !args->prove)
		rc = bpk_input_account(transfer->in, err);
	else
		rc = bpk_input_account_part(transfer->in, &args->shared, err);
	return rc != 0 ? -1 : bpk_transfer_finish_writer(transfer, err);
}

/* ---- arrays ---- */

/* Through a view of the input, whose array lies in C's order or Fortran's. */
static int write_viewed(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
			const struct bpk_array *array, const struct bpk_slice *slice,
			struct bpk_err *err)
{
	const struct bpk_view_options options = { .no_check = args->shared.no_check, .nchunks = 4 };
	struct bpk_input *in = transfer->in;
	struct bpk_source *view = NULL;
	int rc = bpk_view_open(in->format->reader, in->reader, &options, &view, err);

	if (rc == 0)
		rc = bpk_slice_copy(view, 0, array, slice, transfer->draft, err);
	bpk_source_close(view);
	return rc == 0 ? bpk_input_account_part(in, &args->shared, err)
		       : bpk_input_subject(in, err);
}

/* Check that a part of an array, no larger than size, is within --max-output. */
static int check_size(const struct bpk_cat_args *args, uint64_t size, struct bpk_err *err)
{
	if (size <= args->shared.max_output)
		return 0;
	return bpk_fail(err, BPK_LIMIT,
			"the part has %" PRIu64 " bytes, --max-output allows %" PRIu64, size,
			args->shared.max_output);
}

/* A slice with steps: the reader brings the box around it, and steps are taken in that. */
static int write_steps(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
		       const struct bpk_slice *slice, struct bpk_err *err)
{
	struct bpk_array box = *transfer->in->info->array.type; /* borrows the type */
	struct bpk_slice steps = *slice;

	box.size = box.dtype.size;
	for (size_t i = 0; i < box.ndimensions; i++) {
		box.shape[i] = slice->stop[i] - slice->start[i];
		box.size *= box.shape[i];
		steps.start[i] = 0;
		steps.stop[i] = box.shape[i];
	}
	return write_viewed(args, transfer, &box, &steps, err);
}

/* A slice of an archive that records an array. If chunks have several dimensions, the reader brings
 * only the slice. */
static int write_slice(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
		       struct bpk_rows *numbers, struct bpk_err *err)
{
	struct bpk_input *in = transfer->in;
	struct bpk_slice slice;

	if (bpk_slice_resolve(&args->slice, in->info->array.type, &slice, err) != 0)
		return bpk_input_subject(in, err);
	if (begin_rows(numbers, in, &slice, 0, err) != 0)
		return -1;
	if (check_size(args, bpk_slice_items(&slice) * in->info->array.type->dtype.size, err) != 0)
		return bpk_input_subject(in, err);
	if (in->info->array.chunk_shape == NULL || !bpk_input_can_locate(in))
		return write_viewed(args, transfer, in->info->array.type, &slice, err);
	if (in->format->reader->narrow(in->reader, &slice, err) != 0)
		return bpk_input_subject(in, err);
	if (bpk_slice_has_steps(&slice))
		return write_steps(args, transfer, &slice, err);
	return write_range(args, transfer, numbers, err);
}

/* All of an array in Fortran's order, in C's. */
static int write_turned(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
			struct bpk_rows *numbers, struct bpk_err *err)
{
	struct bpk_input *in = transfer->in;
	struct bpk_slice whole = whole_of(in->info->array.type);

	if (args->items.given) {
		bpk_fail(err, BPK_USAGE,
			 "the array has Fortran's order: --items counts through its columns, and "
			 "--text has no rows of them; use --slice");
		return bpk_input_subject(in, err);
	}
	if (begin_rows(numbers, in, &whole, 0, err) != 0)
		return -1;
	if (check_size(args, in->info->array.type->size, err) != 0)
		return bpk_input_subject(in, err);
	return write_viewed(args, transfer, in->info->array.type, &whole, err);
}

struct naming {
	const struct bpk_cat_args *args;
	const struct bpk_content *content;
	struct bpk_draft *draft;
	struct bpk_rows *numbers; /* NULL: no conversion */
	uint64_t left;            /* bytes that --max-output allows */
};

/* The wanted bytes of an array, and the part of it that they are, if a slice is given. */
static int wanted_size(const struct naming *naming, const struct bpk_item *item,
		       struct bpk_slice *slice, uint64_t *size, struct bpk_err *err)
{
	*size = item->array->size;
	if (!naming->args->slice.given)
		return 0;
	if (bpk_slice_resolve(&naming->args->slice, item->array, slice, err) != 0)
		return -1;
	*size = bpk_slice_items(slice) * item->array->dtype.size; /* less than all of them */
	return 0;
}

static int check_left(struct naming *naming, const struct bpk_item *item, uint64_t size,
		      struct bpk_err *err)
{
	if (size > naming->left)
		return bpk_fail(err, BPK_LIMIT,
				"array '%s' has %" PRIu64 " bytes, --max-output allows %" PRIu64
				" more",
				item->name, size, naming->left);
	naming->left -= naming->left == BPK_UNKNOWN ? 0 : size;
	return 0;
}

static int write_item(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct naming *naming = arg;
	bool turns = needs_turn(naming->args, item->array);
	const struct bpk_slice *part;
	struct bpk_slice slice;
	uint64_t size;

	if (wanted_size(naming, item, &slice, &size, err) != 0 ||
	    check_left(naming, item, size, err) != 0)
		return -1;
	if (turns && !naming->args->slice.given)
		slice = whole_of(item->array);
	part = naming->args->slice.given || turns ? &slice : NULL;
	if (naming->numbers != NULL && bpk_rows_begin(naming->numbers, item, part, 0, err) != 0)
		return -1;
	if (part == NULL)
		return bpk_content_copy(naming->content, item, naming->draft, err);
	return bpk_content_copy_slice(naming->content, item, part, naming->draft, err);
}

/* The option that needs an array. */
static const char *needs_only(const struct bpk_cat_args *args)
{
	if (args->slice.given)
		return "--slice";
	return args->rows.text ? "--text" : "--native";
}

/* The file's only array, for a slice or a conversion of it. */
static int write_only(struct naming *naming, struct bpk_err *err)
{
	struct bpk_item item;

	if (bpk_content_only(naming->content, needs_only(naming->args), &item, err) != 0)
		return -1;
	if (write_item(naming, &item, err) != 0)
		return bpk_input_subject(naming->content->in, err);
	return 0;
}

/* Write arrays of the input: by name, or a slice of its only one. */
static int write_content(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
			 struct bpk_rows *numbers, struct bpk_err *err)
{
	struct bpk_content content;
	struct naming naming = { args, &content, transfer->draft, numbers,
				 args->shared.max_output };
	int rc;

	if (bpk_content_look(transfer->in, &args->shared, &content, err) != 0)
		return -1;
	if (args->shared.pick.name != NULL)
		rc = bpk_pick_each(&content, &args->shared.pick, write_item, &naming, err);
	else
		rc = write_only(&naming, err);
	rc = bpk_content_unchanged(&content, rc, err);
	if (rc == 0)
		bpk_content_note_damage(&content);
	bpk_content_close(&content);
	return rc == 0 ? bpk_input_account_part(transfer->in, &args->shared, err) : rc;
}

/* ---- an input ---- */

static int write_array(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
		       struct bpk_rows *numbers, struct bpk_err *err)
{
	const struct bpk_array *array = transfer->in->info->array.type;

	if (args->shared.pick.name != NULL || (bpk_cat_wants_arrays(args) && array == NULL)) {
		if (!args->items.given)
			return prove(args, transfer->in, 0, BPK_UNKNOWN, err) != 0
				       ? -1
				       : write_content(args, transfer, numbers, err);
		bpk_fail(err, BPK_FAILED, "records no array, whose items --items could count%s",
			 args->shared.pick.name == NULL
				 ? "; bpk pack --dtype records the type of data"
				 : "");
		return bpk_input_subject(transfer->in, err);
	}
	if ((args->slice.given || (numbers != NULL && needs_turn(args, array))) &&
	    prove(args, transfer->in, 0, BPK_UNKNOWN, err) != 0)
		return -1;
	if (args->slice.given)
		return write_slice(args, transfer, numbers, err);
	if (numbers != NULL && needs_turn(args, array))
		return write_turned(args, transfer, numbers, err);
	return write_range(args, transfer, numbers, err);
}

int bpk_cat_write(const struct bpk_cat_args *args, struct bpk_transfer *transfer,
		  struct bpk_err *err)
{
	struct bpk_rows *numbers = NULL;

	if (bpk_cat_converts(args) &&
	    bpk_rows_open(&args->rows, &transfer->draft, &numbers, err) != 0)
		return -1;
	return write_array(args, transfer, numbers, err);
}
