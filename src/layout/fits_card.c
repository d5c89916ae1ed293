/*
 * Cards of a FITS header, for fits_head.c and fits_table.c: 8 characters of a keyword, "= ", a
 * value, and a comment after '/'.
 */
#include "layout/fits.h"

#include <inttypes.h>

enum { KEY = 8, VALUE = 10 };

int bpk_fits_scan(struct bpk_source *source, uint64_t offset,
		  int (*visit)(void *arg, const char *card, struct bpk_err *err), void *arg,
		  uint64_t *end, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(source);
	char block[BPK_FITS_BLOCK];

	for (; bpk_layout_fits(size, offset, sizeof block); offset += sizeof block) {
		if (bpk_source_need_at(source, offset, bpk_span(block, sizeof block), err) != 0)
			return -1;
		for (const char *card = block; card < block + sizeof block; card += BPK_FITS_CARD) {
			int rc;

			if (bpk_fits_is(card, "END")) {
				*end = offset + sizeof block;
				return 0;
			}
			rc = visit(arg, card, err);
			if (rc != 0)
				return rc;
		}
	}
	return bpk_fail(err, BPK_CORRUPT, "fits header has no END before %" PRIu64, size);
}

bool bpk_fits_is(const char *card, const char *key)
{
	size_t size = strlen(key);

	return memcmp(card, key, size) == 0 && memcmp(card + size, "        ", KEY - size) == 0;
}

bool bpk_fits_numbered(const char *card, const char *key, uint64_t *number)
{
	size_t size = strlen(key), i = size;

	if (memcmp(card, key, size) != 0 || card[size] < '1' || card[size] > '9')
		return false;
	for (*number = 0; i < KEY && card[i] >= '0' && card[i] <= '9'; i++)
		*number = 10 * *number + (uint64_t)(card[i] - '0');
	return memcmp(card + i, "        ", KEY - i) == 0;
}

/* The start of the value, after spaces; NULL without a value. */
static const char *find_value(const char *card)
{
	const char *end = card + BPK_FITS_CARD, *p = card + VALUE;

	if (memcmp(card + KEY, "= ", 2) != 0)
		return NULL;
	while (p < end && *p == ' ')
		p++;
	return p < end ? p : NULL;
}

/* True at the end of a value: a space, a comment, or the end of the card. */
static bool ends(const char *p, const char *end)
{
	return p == end || *p == ' ' || *p == '/';
}

bool bpk_fits_integer(const char *card, int64_t *value)
{
	const char *end = card + BPK_FITS_CARD, *p = find_value(card), *digits;
	bool negative = p != NULL && *p == '-';

	if (p == NULL)
		return false;
	p += negative || *p == '+';
	*value = 0;
	for (digits = p; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *p - '0', value))
			return false;
	if (negative)
		*value = -*value;
	return p > digits && ends(p, end);
}

bool bpk_fits_logical(const char *card, bool *value)
{
	const char *p = find_value(card);

	if (p == NULL || (*p != 'T' && *p != 'F'))
		return false;
	*value = *p == 'T';
	return ends(p + 1, card + BPK_FITS_CARD);
}

/* A doubled quote stands for one; trailing spaces are dropped. */
bool bpk_fits_text(const char *card, char value[BPK_FITS_TEXT])
{
	const char *end = card + BPK_FITS_CARD, *p = find_value(card);
	size_t size = 0;

	if (p == NULL || *p != '\'')
		return false;
	for (p++; p < end; p++) {
		if (*p == '\'' && (p + 1 == end || *++p != '\''))
			break;
		value[size++] = *p;
	}
	while (size > 0 && value[size - 1] == ' ')
		size--;
	value[size] = '\0';
	return true;
}
