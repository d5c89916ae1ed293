/*
 * JSON numbers as decimal text, for msgpack.c and msgpack_parse.c. Two texts are the same number
 * when their significant digits and the place of the first digit are equal. That comparison is made
 * here; the C library only converts between doubles and texts of few digits.
 */
#include "base/json.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	MOST_DIGITS = 17,    /* digits in the shortest text of any double */
	MOST_EXPONENT = 400, /* larger than the exponent of any double */
};

/* 0.DDD * 10^exponent; without digits 0. */
struct decimal {
	bool negative;
	bool fits; /* false: too many digits or too large an exponent; the rest is meaningless */
	char digits[MOST_DIGITS + 1];
	size_t ndigits;
	int64_t exponent;
};

static bool is_digit(uint8_t byte)
{
	return byte >= '0' && byte <= '9';
}

/* The exponent after the e. */
static int64_t take_exponent(struct bpk_view text, size_t at)
{
	bool negative = at < text.size && text.data[at] == '-';
	int64_t exponent = 0;

	at += at < text.size && (text.data[at] == '-' || text.data[at] == '+');
	for (; at < text.size && is_digit(text.data[at]); at++)
		if (exponent < INT32_MAX)
			exponent = 10 * exponent + (text.data[at] - '0');
	return negative ? -exponent : exponent;
}

/* Add one digit. Zeros are held back until another digit follows. */
static void add_digit(struct decimal *d, char digit, size_t *zeros)
{
	if (digit == '0') {
		*zeros += d->ndigits > 0;
		return;
	}
	if (*zeros + 1 > MOST_DIGITS - d->ndigits) {
		d->fits = false;
		return;
	}
	memset(d->digits + d->ndigits, '0', *zeros);
	d->ndigits += *zeros;
	d->digits[d->ndigits++] = digit;
	*zeros = 0;
}

static struct decimal decimal_of(struct bpk_view text)
{
	struct decimal d = { .fits = true };
	size_t at = 0, zeros = 0;
	bool fraction = false;

	d.negative = text.size > 0 && text.data[0] == '-';
	for (at = d.negative; at < text.size && d.fits; at++) {
		if (text.data[at] == '.') {
			fraction = true;
			continue;
		}
		if (!is_digit(text.data[at]))
			break;
		add_digit(&d, (char)text.data[at], &zeros);
		/* digits before the point raise the exponent, leading zeros of a fraction lower
		 * it */
		d.exponent += !fraction && d.ndigits > 0;
		d.exponent -= fraction && d.ndigits == 0;
	}
	if (at < text.size && d.fits)
		d.exponent += take_exponent(text, at + 1);
	d.fits &= d.exponent >= -MOST_EXPONENT && d.exponent <= MOST_EXPONENT;
	return d;
}

static bool same_decimal(const struct decimal *a, const struct decimal *b)
{
	return a->fits && b->fits && a->negative == b->negative && a->ndigits == b->ndigits &&
	       memcmp(a->digits, b->digits, a->ndigits) == 0 &&
	       (a->ndigits == 0 || a->exponent == b->exponent);
}

int bpk_json_put_double(struct bpk_buf *out, double value, struct bpk_err *err)
{
	char text[BPK_NUMBER_TEXT];

	if (isnan(value))
		return bpk_buf_printf(out, err, "NaN");
	if (isinf(value))
		return bpk_buf_printf(out, err, value < 0 ? "-Infinity" : "Infinity");
	bpk_double_text(value, text);
	return bpk_buf_printf(out, err, strpbrk(text, ".e") == NULL ? "%s.0" : "%s", text);
}

/* ---- Reading ---- */

/* Parse an integer of 64 bits. -0 is not an integer: its sign would be lost. */
static bool take_integer(struct bpk_view text, struct bpk_json_number *number)
{
	bool negative = text.size > 0 && text.data[0] == '-';
	uint64_t most = negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX, value = 0;

	for (size_t at = negative; at < text.size; at++) {
		unsigned digit = text.data[at] - (unsigned)'0';

		if (digit > 9 || value > most / 10 || digit > most - 10 * value)
			return false;
		value = 10 * value + digit;
	}
	if (negative && value == 0)
		return false;
	number->kind = negative ? BPK_JSON_NEGATIVE : BPK_JSON_UNSIGNED;
	number->u64 = negative ? 0 : value;
	number->i64 = negative ? -(int64_t)(value - 1) - 1 : 0;
	return true;
}

static bool take_word(struct bpk_view text, double *value)
{
	bool negative = text.size > 0 && text.data[0] == '-';
	uint8_t letter = text.size > negative ? text.data[negative] : 0;

	if (letter == 'N')
		*value = NAN;
	else if (letter == 'I')
		*value = negative ? -INFINITY : INFINITY;
	return letter == 'N' || letter == 'I';
}

static bool take_double(struct bpk_view text, double *value)
{
	struct decimal d = decimal_of(text), again;
	char short_text[BPK_NUMBER_TEXT];

	if (!d.fits)
		return false;
	snprintf(short_text, sizeof short_text, "%s0.%.*se%d", d.negative ? "-" : "",
		 d.ndigits == 0 ? 1 : (int)d.ndigits, d.ndigits == 0 ? "0" : d.digits,
		 d.ndigits == 0 ? 0 : (int)d.exponent);
	*value = strtod(short_text, NULL);
	if (!isfinite(*value))
		return false;
	bpk_double_text(*value, short_text);
	again = decimal_of(bpk_view(short_text, strlen(short_text)));
	return same_decimal(&d, &again);
}

struct bpk_json_number bpk_json_number(struct bpk_view value)
{
	struct bpk_json_number number = { .kind = BPK_JSON_DOUBLE };

	if (take_integer(value, &number) || take_word(value, &number.f64) ||
	    take_double(value, &number.f64))
		return number;
	number.kind = BPK_JSON_DIGITS;
	return number;
}
