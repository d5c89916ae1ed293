/*
 * The head of a FITS HDU, for fits.c: its kind, and the size of its data.
 */
#include "layout/fits.h"

#include <inttypes.h>

/* Find the member for a keyword whose value is an integer from 0. */
static uint64_t *find_count(struct bpk_fits_head *head, const char *card)
{
	uint64_t number;

	if (bpk_fits_is(card, "PCOUNT"))
		return &head->pcount;
	if (bpk_fits_is(card, "GCOUNT"))
		return &head->gcount;
	if (bpk_fits_is(card, "TFIELDS"))
		return &head->fields;
	if (bpk_fits_numbered(card, "NAXIS", &number) && number <= head->naxis)
		return &head->axes[number - 1];
	return NULL;
}

static int take_count(const char *card, uint64_t *count, struct bpk_err *err)
{
	int64_t value;

	if (!bpk_fits_integer(card, &value) || value < 0)
		return bpk_fail(err, BPK_CORRUPT, "fits has '%.80s', expected a count", card);
	*count = (uint64_t)value;
	return 0;
}

static int take_naxis(struct bpk_fits_head *head, const char *card, struct bpk_err *err)
{
	uint64_t naxis = 0;

	if (take_count(card, &naxis, err) != 0)
		return -1;
	if (naxis > BPK_ARRAY_MAX_DIMENSIONS)
		return bpk_fail(err, BPK_LIMIT,
				"fits has %" PRIu64 " axes, at most %d are accepted", naxis,
				BPK_ARRAY_MAX_DIMENSIONS);
	if (head->naxis != 0)
		return bpk_fail(err, BPK_CORRUPT, "fits has NAXIS twice");
	head->naxis = naxis;
	return 0;
}

static int take_bitpix(struct bpk_fits_head *head, const char *card, struct bpk_err *err)
{
	static const int8_t known[] = { 8, 16, 32, 64, -32, -64 };

	if (bpk_fits_integer(card, &head->bitpix))
		for (size_t i = 0; i < sizeof known; i++)
			if (known[i] == head->bitpix)
				return 0;
	return bpk_fail(err, BPK_CORRUPT, "fits has '%.80s', which is not a valid BITPIX", card);
}

/* The first card distinguishes a primary HDU from an extension, and gives the extension's kind. */
static int take_kind(struct bpk_fits_head *head, const char *card, struct bpk_err *err)
{
	char text[BPK_FITS_TEXT];
	bool standard;

	if (bpk_fits_is(card, "SIMPLE") && bpk_fits_logical(card, &standard) && standard)
		head->kind = BPK_FITS_IMAGE;
	else if (!bpk_fits_is(card, "XTENSION") || !bpk_fits_text(card, text))
		return bpk_fail(err, BPK_CORRUPT, "fits has '%.40s' where an HDU was expected",
				card);
	else if (strcmp(text, "IMAGE") == 0)
		head->kind = BPK_FITS_IMAGE;
	else if (strcmp(text, "TABLE") == 0)
		head->kind = BPK_FITS_TABLE;
	else if (strcmp(text, "BINTABLE") == 0)
		head->kind = BPK_FITS_BINTABLE;
	else
		head->kind = BPK_FITS_OTHER;
	return 0;
}

/* The state of a scan over cards. */
struct scan {
	struct bpk_fits_head *head;
	bool begun, groups;
};

static int take_card(void *arg, const char *card, struct bpk_err *err)
{
	struct scan *scan = arg;
	struct bpk_fits_head *head = scan->head;
	uint64_t *count;

	if (!scan->begun) {
		scan->begun = true;
		return take_kind(head, card, err);
	}
	if (bpk_fits_is(card, "BITPIX"))
		return take_bitpix(head, card, err);
	if (bpk_fits_is(card, "NAXIS"))
		return take_naxis(head, card, err);
	if (bpk_fits_is(card, "EXTNAME") && !bpk_fits_text(card, head->name))
		return bpk_fail(err, BPK_CORRUPT, "fits has an EXTNAME that is not text");
	if (bpk_fits_is(card, "GROUPS"))
		bpk_fits_logical(card, &scan->groups);
	count = find_count(head, card);
	return count == NULL ? 0 : take_count(card, count, err);
}

/* Size in bytes: |BITPIX| / 8 * GCOUNT * (PCOUNT + the product of the axes). The first axis of
 * random groups, which is 0, is skipped. */
static int set_size(struct bpk_fits_head *head, struct bpk_err *err)
{
	size_t first = head->kind == BPK_FITS_GROUPS;
	uint64_t width = (uint64_t)(head->bitpix < 0 ? -head->bitpix : head->bitpix) / 8;
	uint64_t items = head->naxis > 0;

	for (size_t i = first; i < head->naxis; i++) {
		if (head->axes[i] == BPK_UNKNOWN)
			return bpk_fail(err, BPK_CORRUPT, "fits has %zu axes, but no NAXIS%zu",
					head->naxis, i + 1);
		if (!bpk_mul_u64(items, head->axes[i], &items))
			goto large;
	}
	if (!bpk_add_u64(items, head->pcount, &items) ||
	    !bpk_mul_u64(items, head->gcount, &items) || !bpk_mul_u64(items, width, &head->size) ||
	    head->size > INT64_MAX)
		goto large;
	return 0;
large:
	return bpk_fail(err, BPK_CORRUPT, "fits has data of 2^63 bytes or more");
}

int bpk_fits_read_head(struct bpk_source *source, uint64_t offset, struct bpk_fits_head *head,
		       struct bpk_err *err)
{
	struct scan scan = { .head = head };

	*head = (struct bpk_fits_head){ .cards = offset, .gcount = 1 };
	memset(head->axes, 0xff, sizeof head->axes); /* BPK_UNKNOWN */
	if (bpk_fits_scan(source, offset, take_card, &scan, &head->data, err) != 0)
		return -1;
	if (!scan.begun || head->bitpix == 0)
		return bpk_fail(err, BPK_CORRUPT, "fits has no BITPIX");
	if (scan.groups && head->kind == BPK_FITS_IMAGE && head->naxis > 0 && head->axes[0] == 0)
		head->kind = BPK_FITS_GROUPS;
	return set_size(head, err);
}
