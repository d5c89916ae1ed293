/*
 * The member FITS: each HDU with axes is an array, big-endian and as stored (BSCALE and BZERO are
 * not applied), its shape in C order, so the last NAXISn first. Names are EXTNAME, or "hdu3" by the
 * number of the HDU; repeated names get "#2". Binary tables are rows of records, without their
 * heap; text tables are rows of text; random groups are rows of parameters and items; other
 * extensions are bytes ("|u1"). Its row is in layouts.c.
 *
 * Memory: 32 bytes per HDU, which takes at least 2880 bytes in the file.
 */
#include "layout/fits.h"
#include "layout/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* An HDU with an array. */
struct unit {
	struct bpk_named named;
	uint64_t offset;
	uint64_t number; /* counting all HDUs */
};

struct own {
	struct bpk_source *source;
	struct unit *units;
	size_t nunits, room;
	char damage[160];

	/* The last item returned by get. */
	struct bpk_array array;
	char name[5 * BPK_FITS_TEXT];
};

static void fits_close(void *own)
{
	struct own *o = own;

	bpk_array_clear(&o->array);
	free(o->units);
	free(o);
}

/* ---- Names ---- */

static int make_name(const struct bpk_fits_head *head, uint64_t hdu, uint32_t number,
		     char name[5 * BPK_FITS_TEXT], struct bpk_err *err)
{
	char digits[BPK_NAME_NUMBER_TEXT], plain[BPK_FITS_TEXT];
	char *clean;

	snprintf(plain, sizeof plain, "hdu%" PRIu64, hdu);
	if (head->name[0] != '\0')
		memcpy(plain, head->name, sizeof plain);
	clean = bpk_layout_text(bpk_view(plain, strlen(plain)), err);
	if (clean == NULL)
		return -1;
	bpk_name_print_number(number, digits);
	/* each of at most 70 bytes has become four at most */
	snprintf(name, 5 * BPK_FITS_TEXT, "%s%s", clean, digits);
	free(clean);
	return 0;
}

/* ---- Arrays ---- */

static int set_rows(const struct bpk_fits_head *head, char kind, struct bpk_array *array,
		    struct bpk_err *err)
{
	return bpk_layout_set_array(array, kind, '|', (uint32_t)head->axes[0], &head->axes[1], 1,
				    err);
}

static int set_table(struct bpk_source *source, const struct bpk_fits_head *head,
		     struct bpk_array *array, struct bpk_err *err)
{
	if (head->kind == BPK_FITS_TABLE)
		return set_rows(head, 'S', array, err);
	if (bpk_fits_row_type(source, head, &array->dtype, err) != 0)
		return -1;
	return bpk_array_set_shape(array, &head->axes[1], 1, err);
}

static int set_image(const struct bpk_fits_head *head, struct bpk_array *array, struct bpk_err *err)
{
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS];
	uint32_t width = (uint32_t)(head->bitpix < 0 ? -head->bitpix : head->bitpix) / 8;
	size_t count = head->naxis;
	char kind = head->bitpix < 0 ? 'f' : width == 1 ? 'u' : 'i';

	for (size_t i = 0; i < count; i++)
		shape[i] = head->axes[count - 1 - i];
	if (head->kind == BPK_FITS_GROUPS) {
		shape[0] = head->gcount;
		shape[1] = head->gcount == 0 ? 0 : head->size / width / head->gcount;
		count = 2;
	}
	return bpk_layout_set_array(array, kind, '>', width, shape, count, err);
}

/* True for tables that conform to the standard. */
static bool is_table(const struct bpk_fits_head *head)
{
	return (head->kind == BPK_FITS_TABLE || head->kind == BPK_FITS_BINTABLE) &&
	       head->naxis == 2 && head->bitpix == 8 && head->gcount == 1 && head->axes[0] > 0 &&
	       head->axes[0] <= UINT32_MAX;
}

static bool is_image(const struct bpk_fits_head *head)
{
	return head->kind == BPK_FITS_GROUPS ||
	       (head->kind == BPK_FITS_IMAGE && head->pcount == 0 && head->gcount == 1);
}

static int set_array(struct bpk_source *source, const struct bpk_fits_head *head,
		     struct bpk_array *array, struct bpk_err *err)
{
	bpk_array_clear(array);
	if (is_table(head))
		return set_table(source, head, array, err);
	if (is_image(head))
		return set_image(head, array, err);
	return bpk_layout_set_array(array, 'u', '|', 1, &head->size, 1, err);
}

/* ---- The HDUs ---- */

static int add_unit(struct own *o, const struct bpk_fits_head *head, uint64_t number,
		    struct bpk_err *err)
{
	struct unit *larger;

	if (head->naxis == 0)
		return 0;
	if (o->nunits == o->room) {
		larger = bpk_calloc(2 * o->room + 4, sizeof *larger, err);
		if (larger == NULL)
			return -1;
		bpk_copy(larger, o->units, o->nunits * sizeof *larger);
		free(o->units);
		o->units = larger;
		o->room = 2 * o->room + 4;
	}
	if (make_name(head, number, 0, o->name, err) != 0)
		return -1;
	o->units[o->nunits++] = (struct unit){ .named = { .hash = bpk_name_hash(o->name) },
					       .offset = head->cards,
					       .number = number };
	return 0;
}

/* Read one HDU; *at moves to the next. Errors after the first HDU are damage. */
static int read_unit(struct own *o, uint64_t number, uint64_t *at, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(o->source);
	struct bpk_fits_head head;

	if (bpk_fits_read_head(o->source, *at, &head, err) != 0)
		return -1;
	if (!bpk_layout_fits(size, head.data, head.size))
		return bpk_fail(err, BPK_CORRUPT,
				"data has %" PRIu64 " bytes, %" PRIu64 " are there", head.size,
				size - head.data);
	*at = head.data + bpk_div_up(head.size, BPK_FITS_BLOCK) * BPK_FITS_BLOCK;
	return add_unit(o, &head, number, err);
}

static int read_units(struct own *o, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(o->source), at = 0;

	for (uint64_t number = 0; at < size; number++) {
		struct bpk_err found = { 0 };

		if (read_unit(o, number, &at, &found) == 0)
			continue;
		if ((found.kind != BPK_CORRUPT && found.kind != BPK_LIMIT) || at == 0) {
			if (err != NULL)
				*err = found;
			return -1;
		}
		snprintf(o->damage, sizeof o->damage, "hdu %" PRIu64 ": %.120s", number,
			 found.text);
		break;
	}
	return bpk_name_number_all(o->units == NULL ? NULL : &o->units[0].named, sizeof *o->units,
				   o->nunits, err);
}

/* ---- The member's operations ---- */

static bool fits_probe(struct bpk_view head, uint64_t size)
{
	static const char first[] = "SIMPLE  =                    T";

	return size >= BPK_FITS_BLOCK && head.size >= sizeof first - 1 &&
	       memcmp(head.data, first, sizeof first - 1) == 0;
}

static int fits_open(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		     struct bpk_err *err)
{
	struct own *o = bpk_calloc(1, sizeof *o, err);

	if (o == NULL)
		return -1;
	o->source = source;
	if (read_units(o, err) != 0) {
		fits_close(o);
		return -1;
	}
	info->kind = "fits";
	info->narrays = o->nunits;
	info->damage = o->damage[0] != '\0' ? o->damage : NULL;
	*own = o;
	return 0;
}

static int fits_get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct own *o = own;
	const struct unit *unit = &o->units[number];
	struct bpk_fits_head head;

	if (bpk_fits_read_head(o->source, unit->offset, &head, err) != 0 ||
	    make_name(&head, unit->number, unit->named.number, o->name, err) != 0 ||
	    set_array(o->source, &head, &o->array, err) != 0)
		return -1;
	item->name = o->name;
	item->array = &o->array;
	item->offset = head.data;
	return 0;
}

const struct bpk_layout_ops bpk_layout_fits_file = {
	.title = "FITS",
	.probe = fits_probe,
	.open = fits_open,
	.get = fits_get,
	.close = fits_close,
};
