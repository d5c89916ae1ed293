/* The arrays inside two inputs compared: one by name, all of them, or the data as one. Called by
 * cmp_work.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmp.h"

/* Both contents on their way. */
struct comparison {
	struct bpk_cmp *cmp;
	struct bpk_content content[2];
	uint64_t nfound[2]; /* arrays that were picked by name */
};

/* ---- one array ---- */

/* "3,4"; "one number" without dimensions. */
static const char *shape_text(const struct bpk_array *array, char out[128])
{
	size_t used = 0;

	snprintf(out, 128, "%s", array->ndimensions == 0 ? "one number" : "");
	for (size_t i = 0; i < array->ndimensions && used < 100; i++)
		used += (size_t)snprintf(out + used, 128 - used, "%s%" PRIu64, i > 0 ? "," : "",
					 array->shape[i]);
	return out;
}

static bool same_shape(const struct bpk_array *a, const struct bpk_array *b)
{
	return a->ndimensions == b->ndimensions &&
	       memcmp(a->shape, b->shape, a->ndimensions * sizeof a->shape[0]) == 0;
}

/* "array 'x', frame 3: " for a message; the data as a whole have no name. */
static char *place_text(const struct bpk_item *item, struct bpk_err *err)
{
	char *text = NULL, frame[32] = "";

	if (item->name == NULL)
		return bpk_strdup("", err);
	if (item->frame != BPK_UNKNOWN)
		snprintf(frame, sizeof frame, ", frame %" PRIu64, item->frame);
	if (asprintf(&text, "array '%s'%s: ", item->name, frame) < 0) {
		bpk_fail_memory(err, strlen(item->name));
		return NULL;
	}
	return text;
}

static int note_types(struct bpk_cmp *cmp, const char *place, const struct bpk_array *a,
		      const struct bpk_array *b, struct bpk_err *err)
{
	struct bpk_buf texts[2] = { { 0 }, { 0 } };
	int rc = -1;

	if (bpk_dtype_print(&a->dtype, &texts[0], err) == 0 &&
	    bpk_dtype_print(&b->dtype, &texts[1], err) == 0)
		rc = bpk_cmp_note(cmp, err, "%stype %.*s is %.*s", place, (int)texts[0].size,
				  (const char *)texts[0].data, (int)texts[1].size,
				  (const char *)texts[1].data);
	bpk_buf_clear(&texts[0]);
	bpk_buf_clear(&texts[1]);
	return rc;
}

/* Note a difference of type, shape or order: then items cannot be compared. */
static int compare_descriptions(struct bpk_cmp *cmp, const char *place, const struct bpk_array *a,
				const struct bpk_array *b, bool as_numbers, struct bpk_err *err)
{
	char texts[2][128];

	if (!same_shape(a, b))
		return bpk_cmp_note(cmp, err, "%sshape %s is %s", place, shape_text(a, texts[0]),
				    shape_text(b, texts[1]));
	if (a->fortran != b->fortran)
		return bpk_cmp_note(cmp, err, "%sorder %s is %s", place, a->fortran ? "F" : "C",
				    b->fortran ? "F" : "C");
	if (!as_numbers && !bpk_dtype_equal(&a->dtype, &b->dtype))
		return note_types(cmp, place, a, b, err);
	return 0;
}

static int note_items(struct bpk_cmp *cmp, const char *place,
		      const struct bpk_compared_items *items, bool as_numbers, struct bpk_err *err)
{
	cmp->item = items->first;
	if (!as_numbers)
		return bpk_cmp_note(cmp, err, "%sitem %" PRIu64, place, items->first);
	return bpk_cmp_note(cmp, err,
			    "%sitem %" PRIu64 "; %" PRIu64
			    " numbers differ by more, the largest difference is %.9g, in item "
			    "%" PRIu64,
			    place, items->first, items->ndifferent, items->largest,
			    items->largest_item);
}

static int compare_items(struct comparison *c, const struct bpk_item *a, const struct bpk_item *b,
			 const char *place, bool as_numbers, struct bpk_err *err)
{
	const struct bpk_compared_array arrays[2] = { { &c->content[0], a },
						      { &c->content[1], b } };
	const struct bpk_tolerance none = { 0 };
	struct bpk_cmp *cmp = c->cmp;
	struct bpk_compared_items items = { 0 };

	if (bpk_compare_items(arrays, as_numbers ? &cmp->args->tolerance : &none,
			      bpk_shared_threads(&cmp->args->shared), &items, err) != 0)
		return -1;
	if (as_numbers && items.largest > cmp->largest)
		cmp->largest = items.largest;
	if (items.ndifferent == 0)
		return 0;
	return note_items(cmp, place, &items, as_numbers, err);
}

/* Returns 1 if a difference was found. */
static int compare_array(struct comparison *c, const struct bpk_item *a, const struct bpk_item *b,
			 struct bpk_err *err)
{
	bool as_numbers =
		c->cmp->args->tolerance.given && bpk_is_number(&a->array->dtype) &&
		bpk_is_number(&b->array->dtype) &&
		(a->array->dtype.scalar.kind == 'c') == (b->array->dtype.scalar.kind == 'c');
	char *place = place_text(a, err);
	int rc = place == NULL
			 ? -1
			 : compare_descriptions(c->cmp, place, a->array, b->array, as_numbers, err);

	if (rc == 0 && !c->cmp->differ)
		rc = compare_items(c, a, b, place, as_numbers, err);
	free(place);
	if (rc == 0 && c->cmp->differ && c->cmp->name == NULL && a->name != NULL) {
		c->cmp->name = bpk_strdup(a->name, NULL);
		c->cmp->frame = a->frame;
	}
	return rc != 0 ? -1 : c->cmp->differ;
}

/* Compare an array of the first with that of the same name in the second. */
static int compare_with_same(struct comparison *c, const struct bpk_item *a, bool defaults,
			     struct bpk_err *err)
{
	struct bpk_item b;
	char *place;
	int rc = bpk_layout_find(c->content[1].layout, a->name, a->frame, defaults, &b, err);

	if (rc < 0)
		return bpk_input_subject(&c->cmp->in[1], err);
	if (rc == 0)
		return compare_array(c, a, &b, err);
	place = place_text(a, err);
	rc = place == NULL ? -1
			   : bpk_cmp_note(c->cmp, err, "%smissing in %s", place,
					  bpk_input_name(c->cmp->in[1].path));
	free(place);
	return rc != 0 ? -1 : 1;
}

/* ---- by name ---- */

static int visit_named(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct comparison *c = arg;

	c->nfound[0]++;
	return compare_with_same(c, item, !c->cmp->args->shared.pick.no_defaults, err);
}

/* Without defaults the second may have arrays that the first has not; else one is enough. */
static int count_second(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct comparison *c = arg;

	(void)item;
	(void)err;
	c->nfound[1]++;
	return !c->cmp->args->shared.pick.no_defaults;
}

/* Frames of both, unless the user picked some. */
static int compare_frames(struct comparison *c, struct bpk_err *err)
{
	uint64_t a = bpk_layout_info(c->content[0].layout)->nframes;
	uint64_t b = bpk_layout_info(c->content[1].layout)->nframes;

	if (c->cmp->args->shared.pick.frames.given || a == b || a == BPK_UNKNOWN ||
	    b == BPK_UNKNOWN)
		return 0;
	return bpk_cmp_note(c->cmp, err, "%" PRIu64 " frames are %" PRIu64, a, b);
}

static int compare_named(struct comparison *c, struct bpk_err *err)
{
	const struct bpk_pick *pick = &c->cmp->args->shared.pick;

	/* a name that is in neither is an error, not a difference */
	if (bpk_pick_each(&c->content[1], pick, count_second, c, err) < 0 ||
	    bpk_pick_each(&c->content[0], pick, visit_named, c, err) < 0)
		return -1;
	if (pick->no_defaults && c->nfound[0] != c->nfound[1] &&
	    bpk_cmp_note(c->cmp, err, "%" PRIu64 " arrays are %" PRIu64, c->nfound[0],
			 c->nfound[1]) != 0)
		return -1;
	return compare_frames(c, err);
}

/* ---- all arrays ---- */

static int compare_all(struct comparison *c, struct bpk_err *err)
{
	uint64_t count = bpk_layout_info(c->content[0].layout)->narrays;
	uint64_t other = bpk_layout_info(c->content[1].layout)->narrays;
	struct bpk_item item;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < count; i++) {
		if (bpk_layout_get(c->content[0].layout, i, &item, err) != 0)
			return bpk_input_subject(&c->cmp->in[0], err);
		rc = compare_with_same(c, &item, false, err);
	}
	if (rc == 0 && count != other)
		rc = bpk_cmp_note(c->cmp, err, "%" PRIu64 " arrays are %" PRIu64, count, other);
	return rc < 0 ? -1 : 0;
}

/* ---- the data as one array ---- */

/* Describe all raw bytes of an input. */
static int describe(const struct bpk_cmp *cmp, int side, struct bpk_array *array,
		    struct bpk_err *err)
{
	const struct bpk_array *own = cmp->in[side].info->array.type;
	const struct bpk_dtype *dtype = &cmp->args->dtype;
	uint64_t size = cmp->in[side].info->raw_size, count;

	if (size == BPK_UNKNOWN)
		return bpk_fail(err, BPK_FAILED,
				"does not say its size, as a comparison of numbers "
				"needs it");
	if (dtype->size == 0)
		return bpk_array_copy(own, array, err);
	if (size % dtype->size != 0)
		return bpk_fail(err, BPK_FAILED,
				"has %" PRIu64 " bytes, which are no whole numbers of %" PRIu64,
				size, dtype->size);
	count = size / dtype->size;
	return bpk_dtype_copy(dtype, &array->dtype, err) != 0
		       ? -1
		       : bpk_array_set_shape(array, &count, 1, err);
}

static int open_whole(struct comparison *c, int side, struct bpk_array *array, struct bpk_err *err)
{
	const struct bpk_shared *shared = &c->cmp->args->shared;
	const struct bpk_input *in = &c->cmp->in[side];

	if (describe(c->cmp, side, array, err) != 0)
		return bpk_input_subject(in, err);
	return bpk_content_open_whole(in, bpk_shared_threads(shared) + 1,
				      bpk_shared_limits(shared).memory, &c->content[side], err);
}

static int compare_whole(struct comparison *c, struct bpk_err *err)
{
	struct bpk_array arrays[2] = { { .size = 0 }, { .size = 0 } };
	struct bpk_item items[2] = { { .frame = BPK_UNKNOWN, .array = &arrays[0] },
				     { .frame = BPK_UNKNOWN, .array = &arrays[1] } };
	int rc = open_whole(c, 0, &arrays[0], err);

	if (rc == 0)
		rc = open_whole(c, 1, &arrays[1], err);
	if (rc == 0)
		rc = compare_array(c, &items[0], &items[1], err);
	for (int side = 0; side < 2; side++) {
		bpk_content_close(&c->content[side]);
		bpk_array_clear(&arrays[side]);
	}
	return rc < 0 ? -1 : 0;
}

/* Compare the one array of a simulation file, or of an .npy file, with that which the other archive
 * records. */
static int compare_mixed(struct comparison *c, int recorded, struct bpk_err *err)
{
	struct bpk_array array = { .size = 0 };
	struct bpk_item items[2] = { { .frame = BPK_UNKNOWN, .array = &array },
				     { .frame = BPK_UNKNOWN, .array = &array } };
	int other = 1 - recorded, rc;

	bpk_content_close(&c->content[recorded]);
	c->content[recorded] = (struct bpk_content){ 0 };
	rc = bpk_layout_get(c->content[other].layout, 0, &items[other], err);
	if (rc != 0)
		return bpk_input_subject(&c->cmp->in[other], err);
	rc = open_whole(c, recorded, &array, err);
	if (rc == 0)
		rc = compare_array(c, &items[0], &items[1], err);
	bpk_array_clear(&array);
	return rc < 0 ? -1 : 0;
}

/* ---- which of these ---- */

/* The side that records an array, where the other has a single one; -1: none. */
static int find_recorded(const struct comparison *c)
{
	for (int side = 0; side < 2; side++) {
		const struct bpk_layout *other = c->content[1 - side].layout;

		if (c->cmp->in[side].info->array.type != NULL && other != NULL &&
		    bpk_layout_info(other)->narrays == 1)
			return side;
	}
	return -1;
}

static bool have_arrays(const struct comparison *c)
{
	return c->cmp->in[0].info->array.type != NULL && c->cmp->in[1].info->array.type != NULL;
}

/* The raw data of both are whole numbers of --dtype. */
static bool have_numbers(const struct comparison *c)
{
	uint32_t size = c->cmp->args->dtype.size;

	for (int side = 0; side < 2; side++) {
		uint64_t raw_size = c->cmp->in[side].info->raw_size;

		if (size == 0 || raw_size == BPK_UNKNOWN || raw_size % size != 0)
			return false;
	}
	return true;
}

/* Files of a tree in which no arrays are known are compared as numbers of --dtype, or as bytes. */
static int compare_found(struct comparison *c, bool *known, struct bpk_err *err)
{
	int recorded = find_recorded(c);

	if (c->cmp->args->shared.pick.name != NULL)
		return compare_named(c, err);
	if (c->content[0].layout != NULL && c->content[1].layout != NULL)
		return compare_all(c, err);
	if (recorded >= 0)
		return compare_mixed(c, recorded, err);
	*known = !c->cmp->args->shared.tree.recursive;
	if (!*known)
		return 0;
	bpk_fail(err, BPK_FAILED,
		 "holds no arrays that bpk knows; --dtype gives the type of its numbers");
	return bpk_input_subject(&c->cmp->in[c->content[0].layout != NULL], err);
}

int bpk_cmp_arrays(struct bpk_cmp *cmp, bool *known, struct bpk_err *err)
{
	struct comparison c = { .cmp = cmp };
	const struct bpk_shared *shared = &cmp->args->shared;
	bool whole = (cmp->args->dtype.size > 0 && !shared->tree.recursive) ||
		     (shared->pick.name == NULL && have_arrays(&c));
	int rc;

	*known = true;
	if (whole)
		return compare_whole(&c, err);
	rc = bpk_content_look(&cmp->in[0], &cmp->args->shared, &c.content[0], err);
	if (rc == 0)
		rc = bpk_content_look(&cmp->in[1], &cmp->args->shared, &c.content[1], err);
	if (rc == 0)
		rc = compare_found(&c, known, err);
	for (int side = 0; side < 2; side++) {
		if (c.content[side].in != NULL)
			rc = bpk_content_unchanged(&c.content[side], rc, err);
		bpk_content_close(&c.content[side]);
		c.content[side] = (struct bpk_content){ 0 };
	}
	if (rc != 0 || *known || !have_numbers(&c))
		return rc;
	*known = true;
	return compare_whole(&c, err);
}
