/* The numbers of an array, read into a plot of the kind that fits its shape. Called by plot.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/content.h"
#include "cli/plot.h"
#include "cli/slice.h"
#include "cli/text.h"

enum {
	BATCH = 256,       /* numbers that are taken at a time */
	LARGEST_ITEM = 16, /* bytes */
	MANY_ROWS = 8,     /* a table of few columns has more rows than this */
};

struct reading {
	const struct bpk_plot_args *args;
	struct bpk_input *in;
	struct bpk_content content;
	struct bpk_plot *plot;
	struct bpk_buf *title;

	/* The first array, after the slice; dimensions of 1 are left out. */
	struct bpk_scalar type;
	size_t ndimensions;
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	uint64_t nframes; /* arrays */
	bool varies;      /* shapes do */
	bool has_steps;
	struct bpk_buf dtype, size; /* texts */
	char *name;

	bool narrowed[BPK_ARRAY_MAX_DIMENSIONS]; /* only the middle of this dimension is drawn */
	uint64_t only;                           /* the frame drawn; BPK_UNKNOWN: all */
	uint64_t visited;
	bool looks; /* bpk_plot_look is called */

	uint8_t partial[LARGEST_ITEM];
	size_t npartial;
};

/* ---- Bytes to numbers ---- */

/* Complex numbers are drawn by their real parts. */
static void take_items(struct reading *r, const uint8_t *bytes, size_t count)
{
	uint64_t bits[2 * BATCH];
	double numbers[2 * BATCH];
	size_t parts = r->type.kind == 'c' ? 2 : 1, n;

	for (; count > 0; count -= n, bytes += n * r->type.item_size) {
		n = bpk_min_size(count, BATCH);
		bpk_number_take_bits(&r->type, bytes, parts * n, bits);
		bpk_number_of_bits(&r->type, bits, parts * n, numbers);
		for (size_t i = 0; parts == 2 && i < n; i++)
			numbers[i] = numbers[2 * i];
		(r->looks ? bpk_plot_look : bpk_plot_add)(r->plot, numbers, n);
	}
}

static int take_bytes(void *owner, struct bpk_view bytes, struct bpk_err *err)
{
	struct reading *r = owner;
	size_t unit = r->type.item_size, taken;

	(void)err;
	if (r->npartial > 0) {
		taken = bpk_min_size(unit - r->npartial, bytes.size);
		memcpy(r->partial + r->npartial, bytes.data, taken);
		r->npartial += taken;
		bytes = bpk_view(bytes.data + taken, bytes.size - taken);
		if (r->npartial < unit)
			return 0;
		take_items(r, r->partial, 1);
	}
	take_items(r, bytes.data, bytes.size / unit);
	r->npartial = bytes.size % unit;
	if (r->npartial > 0)
		memcpy(r->partial, bytes.data + bytes.size - r->npartial, r->npartial);
	return 0;
}

static int keep_nothing(void *owner, const struct stat *like, struct bpk_err *err)
{
	(void)owner;
	(void)like;
	(void)err;
	return 0;
}

static void drop_nothing(void *owner)
{
	(void)owner;
}

/* ---- Arrays ---- */

typedef int visit_fn(void *arg, const struct bpk_item *item, struct bpk_err *err);

/* Call visit for the array, frame after frame, until it returns non-zero. Errors name the input. */
static int each_array(struct reading *r, visit_fn *visit, struct bpk_err *err)
{
	struct bpk_item item = { .frame = BPK_UNKNOWN, .step = BPK_UNKNOWN };
	int rc;

	if (r->args->shared.pick.name != NULL)
		return bpk_pick_each(&r->content, &r->args->shared.pick, visit, r, err);
	item.array = r->in->info->array.type;
	if (item.array == NULL && bpk_content_only(&r->content, "plot", &item, err) != 0)
		return -1;
	rc = visit(r, &item, err);
	return rc < 0 ? bpk_input_subject(r->in, err) : rc;
}

/* The part of an array that is drawn. */
static int part_of(const struct reading *r, const struct bpk_array *array, struct bpk_slice *part,
		   struct bpk_err *err)
{
	const struct bpk_opt_slice whole = { 0 };

	if (bpk_slice_resolve(r->args->slice.given ? &r->args->slice : &whole, array, part, err) !=
	    0)
		return -1;
	for (size_t i = 0; i < part->ndimensions; i++)
		if (r->narrowed[i]) {
			part->start[i] +=
				bpk_slice_length(part, i) / 2 * bpk_max_u64(1, part->step[i]);
			part->stop[i] = part->start[i] + 1;
		}
	return 0;
}

static int check_type(const struct bpk_array *array, struct bpk_err *err)
{
	if (bpk_is_number(&array->dtype))
		return 0;
	return bpk_fail(err, BPK_UNSUPPORTED, "plot needs an array of numbers, this one has %s",
			array->dtype.nfields > 0 ? "records" : "none");
}

/* Dimensions of more than 1 item. */
static size_t shape_of(const struct bpk_slice *part, uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS])
{
	size_t n = 0;

	for (size_t i = 0; i < part->ndimensions; i++)
		if (bpk_slice_length(part, i) != 1)
			shape[n++] = bpk_slice_length(part, i);
	return n;
}

static int describe(struct reading *r, const struct bpk_item *item, struct bpk_err *err)
{
	r->type = item->array->dtype.scalar;
	r->has_steps = item->step != BPK_UNKNOWN;
	if (bpk_content_dtype_text(&item->array->dtype, &r->dtype, err) != 0 ||
	    bpk_content_shape_text(item->array, false, &r->size, err) != 0)
		return -1;
	r->name = item->name != NULL ? bpk_strdup(item->name, err) : NULL;
	return item->name != NULL && r->name == NULL ? -1 : 0;
}

/* The first array decides; the others are like it, or their shapes vary. */
static int survey(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct reading *r = arg;
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	struct bpk_slice part;
	size_t n;

	if (check_type(item->array, err) != 0 || part_of(r, item->array, &part, err) != 0)
		return -1;
	n = shape_of(&part, shape);
	if (r->nframes++ == 0) {
		r->ndimensions = n;
		memcpy(r->shape, shape, sizeof shape);
		return describe(r, item, err);
	}
	if (!bpk_scalar_is_like(&r->type, &item->array->dtype.scalar))
		return bpk_fail(err, BPK_UNSUPPORTED, "the frames differ in type");
	r->varies =
		r->varies || n != r->ndimensions || memcmp(shape, r->shape, n * sizeof *shape) != 0;
	return 0;
}

static int read_item(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	static const struct bpk_draft_ops ops = { .write = take_bytes,
						  .keep = keep_nothing,
						  .drop = drop_nothing };
	struct reading *r = arg;
	struct bpk_draft *draft;
	struct bpk_slice part;
	int rc;

	if (r->only != BPK_UNKNOWN && r->visited++ != r->only)
		return 0;
	if (part_of(r, item->array, &part, err) != 0 || bpk_draft_of_ops(&ops, r, &draft, err) != 0)
		return -1;
	r->type.byte_order = item->array->dtype.scalar.byte_order;
	r->npartial = 0;
	if (r->plot->kind == BPK_PLOT_LINES && r->nframes > 1)
		bpk_plot_put_at(r->plot, r->has_steps ? (double)item->step : (double)item->frame);
	if (part.ndimensions == 0)
		rc = bpk_content_copy(&r->content, item, draft, err);
	else
		rc = bpk_content_copy_slice(&r->content, item, &part, draft, err);
	bpk_draft_drop(draft);
	return rc;
}

/* ---- The kind of picture ---- */

static uint64_t items_of(const struct reading *r)
{
	uint64_t items = 1;

	for (size_t i = 0; i < r->ndimensions; i++)
		items *= r->shape[i]; /* inside the array, whose size is known */
	return items;
}

static void choose_lines(struct reading *r, uint64_t lines, uint64_t rows)
{
	r->plot->kind = BPK_PLOT_LINES;
	r->plot->nx = lines;
	r->plot->ny = rows;
	r->plot->x_title = r->nframes == 1 ? "index" : r->has_steps ? "step" : "frame";
}

/* The last two dimensions, in the middle of the others. */
static void choose_grid(struct reading *r, const struct bpk_slice *part)
{
	size_t left = r->ndimensions - 2;

	r->plot->kind = BPK_PLOT_GRID;
	r->plot->ny = r->shape[r->ndimensions - 2];
	r->plot->nx = r->shape[r->ndimensions - 1];
	r->plot->x_title = "column";
	r->plot->y_title = "row";
	for (size_t i = 0; left > 0; i++)
		if (bpk_slice_length(part, i) != 1) {
			r->narrowed[i] = true;
			left--;
		}
	if (r->nframes > 1)
		r->only = r->nframes / 2;
}

static bool has_positions(const struct reading *r)
{
	return r->type.kind == 'f' && r->ndimensions == 2 && r->shape[1] == 3 && r->shape[0] > 3;
}

static bool is_table(const struct reading *r)
{
	return r->ndimensions == 2 && r->shape[1] <= BPK_PLOT_MOST_LINES && r->shape[0] > MANY_ROWS;
}

/* The frames of a long row are the rows of a grid. */
static void choose_frames(struct reading *r)
{
	r->plot->kind = BPK_PLOT_GRID;
	r->plot->nx = r->shape[0];
	r->plot->ny = r->nframes;
	r->plot->x_title = "column";
	r->plot->y_title = "frame";
}

static int choose(struct reading *r, const struct bpk_slice *part, struct bpk_err *err)
{
	uint64_t items = items_of(r);

	r->plot->x_title = r->plot->y_title = "";
	r->plot->integers = bpk_number_is_integer(&r->type);
	r->only = BPK_UNKNOWN;
	if (items == 0 && !r->varies)
		return bpk_fail(err, BPK_FAILED, "the array is empty: there is nothing to plot");
	if (r->args->histogram) {
		r->plot->kind = BPK_PLOT_BARS;
		r->plot->x_title = "value";
		r->plot->y_title = "count";
	} else if (r->varies) {
		return bpk_fail(err, BPK_FAILED,
				"the frames differ in shape; choose one by --frames, or --hist");
	} else if (has_positions(r)) {
		r->plot->kind = BPK_PLOT_POINTS;
		r->plot->x_title = "x";
		r->plot->y_title = "y";
	} else if (r->nframes > 1 && items <= BPK_PLOT_MOST_LINES) {
		choose_lines(r, items, r->nframes);
	} else if (r->nframes > 1 && r->ndimensions == 1) {
		choose_frames(r);
	} else if (r->ndimensions < 2) {
		choose_lines(r, 1, items);
	} else if (is_table(r) && r->nframes == 1) {
		choose_lines(r, r->shape[1], r->shape[0]);
	} else {
		choose_grid(r, part);
	}
	return 0;
}

/* ---- The title ---- */

/* The dimensions of which only the middle is drawn. */
static int add_middle(const struct reading *r, const struct bpk_slice *part, struct bpk_buf *title,
		      struct bpk_err *err)
{
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < part->ndimensions; i++)
		any = any || r->narrowed[i];
	if (any)
		rc = bpk_buf_printf(title, err, ", [");
	for (size_t i = 0; rc == 0 && any && i < part->ndimensions; i++) {
		if (i > 0)
			rc = bpk_buf_printf(title, err, ",");
		if (rc == 0 && bpk_slice_length(part, i) == 1)
			rc = bpk_buf_printf(title, err, "%" PRIu64, part->start[i]);
		else if (rc == 0)
			rc = bpk_buf_printf(title, err, ":");
	}
	if (rc == 0 && any)
		rc = bpk_buf_printf(title, err, "]");
	if (rc == 0 && r->only != BPK_UNKNOWN)
		rc = bpk_buf_printf(title, err, ", array %" PRIu64 " of %" PRIu64, r->only + 1,
				    r->nframes);
	return rc;
}

/* "FILE: NAME <f8 100 x 3, density of x and y (z is not shown)", a C string. */
static int write_title(const struct reading *r, const struct bpk_slice *part, struct bpk_err *err)
{
	const char *path = bpk_input_name(r->in->path), *slash = strrchr(path, '/');
	char shown[BPK_ERR_TEXT];
	int rc;

	bpk_text_hide(slash != NULL ? slash + 1 : path, shown);
	rc = bpk_buf_printf(r->title, err, "%s: %s%s%s %s", shown, r->name != NULL ? r->name : "",
			    r->name != NULL ? " " : "", (const char *)r->dtype.data,
			    (const char *)r->size.data);
	if (rc == 0 && r->nframes > 1)
		rc = bpk_buf_printf(r->title, err, ", %" PRIu64 " frames", r->nframes);
	if (rc == 0)
		rc = add_middle(r, part, r->title, err);
	if (rc == 0 && r->type.kind == 'c')
		rc = bpk_buf_printf(r->title, err, ", real part");
	if (rc == 0 && r->plot->kind == BPK_PLOT_POINTS)
		rc = bpk_buf_printf(r->title, err, ", density of x and y (z is not shown)");
	return rc == 0 ? bpk_buf_append(r->title, bpk_view("", 1), err) : -1;
}

/* ---- The work ---- */

/* By the first array: the kind of picture, the part that it shows, the title. */
static int choose_picture(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct reading *r = arg;
	struct bpk_slice part;

	if (part_of(r, item->array, &part, err) != 0 || choose(r, &part, err) != 0 ||
	    part_of(r, item->array, &part, err) != 0 || write_title(r, &part, err) != 0)
		return -1;
	return 1;
}

static int read_numbers(struct reading *r, bpk_plot_room_fn *room, struct bpk_err *err)
{
	struct bpk_plot *plot = r->plot;

	room(plot->kind, &plot->most_x, &plot->most_y);
	if (bpk_plot_begin(plot, err) != 0)
		return bpk_input_subject(r->in, err);
	r->looks = bpk_plot_looks(plot);
	if (r->looks) {
		if (each_array(r, read_item, err) != 0)
			return -1;
		r->looks = false;
		if (bpk_plot_seen(plot, err) != 0)
			return bpk_input_subject(r->in, err);
	}
	r->visited = 0;
	return each_array(r, read_item, err);
}

static int read_content(struct reading *r, bpk_plot_room_fn *room, struct bpk_err *err)
{
	if (each_array(r, survey, err) < 0 || each_array(r, choose_picture, err) < 0 ||
	    read_numbers(r, room, err) != 0)
		return -1;
	bpk_plot_end(r->plot);
	return 0;
}

/* All data of an archive that records an array, or a file with arrays. */
static int open_content(struct reading *r, struct bpk_err *err)
{
	const struct bpk_shared *shared = &r->args->shared;

	if (shared->pick.name == NULL && r->in->info->array.type != NULL)
		return bpk_content_open_whole(r->in, 4, bpk_shared_limits(shared).memory,
					      &r->content, err);
	return bpk_content_look(r->in, shared, &r->content, err);
}

int bpk_plot_read(const struct bpk_plot_args *args, struct bpk_input *in, bpk_plot_room_fn *room,
		  struct bpk_plot *plot, struct bpk_buf *title, struct bpk_err *err)
{
	struct reading r = {
		.args = args, .in = in, .plot = plot, .title = title, .only = BPK_UNKNOWN
	};
	int rc = open_content(&r, err);

	if (rc == 0) {
		rc = bpk_content_unchanged(&r.content, read_content(&r, room, err), err);
		if (rc == 0)
			bpk_content_note_damage(&r.content);
		bpk_content_close(&r.content);
	}
	bpk_buf_clear(&r.dtype);
	bpk_buf_clear(&r.size);
	free(r.name);
	plot->title = rc == 0 ? (const char *)title->data : NULL;
	return rc == 0 ? bpk_input_account_part(in, &args->shared, err) : -1;
}
