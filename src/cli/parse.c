/* Numbers, sizes and ranges as users write them. Called by opt.c, slice.c and gsd_append.c. */
#include "cli/opt.h"

#include <inttypes.h>

/* Take decimal digits; false without digits or if they do not fit. *rest is behind them. */
static bool parse_digits(const char *text, uint64_t *out, const char **rest)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++)
		if (!bpk_mul_u64(value, 10, &value) ||
		    !bpk_add_u64(value, (uint64_t)(*p - '0'), &value))
			return false;
	*out = value;
	*rest = p;
	return p > text;
}

/* Take a unit: nothing, or K M G T in either case with an optional "iB" or "B" behind. */
static bool parse_unit(const char *text, uint64_t *unit, const char **rest)
{
	static const char letters[] = "KMGT";
	char upper = *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text;
	const char *found = upper == '\0' ? NULL : strchr(letters, upper);

	*unit = 1;
	if (found != NULL) {
		*unit = UINT64_C(1) << (10 * (found - letters + 1));
		text++;
		text += strncmp(text, "iB", 2) == 0 ? 2 : 0;
	}
	text += *text == 'B' && (found == NULL || text[-1] != 'B');
	*rest = text;
	return true;
}

static bool parse_size(const char *text, uint64_t *out, const char **rest)
{
	uint64_t unit;

	return parse_digits(text, out, rest) && parse_unit(*rest, &unit, rest) &&
	       bpk_mul_u64(*out, unit, out);
}

int bpk_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out, struct bpk_err *err)
{
	const char *rest = text;

	if (!parse_digits(text, out, &rest) || *rest != '\0' || *out < min || *out > max)
		return bpk_fail(err, BPK_USAGE, "'%s' is not a number from %" PRIu64 " to %" PRIu64,
				text, min, max);
	return 0;
}

int bpk_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *out, struct bpk_err *err)
{
	const char *rest = text;

	if (strcmp(text, "max") == 0) {
		*out = max;
		return 0;
	}
	if (!parse_size(text, out, &rest) || *rest != '\0')
		return bpk_fail(err, BPK_USAGE,
				"'%s' is not a size, expected a number with K, M, G or T, or max",
				text);
	if (*out < min || *out > max)
		return bpk_fail(err, BPK_USAGE,
				"'%s' is out of range, expected %" PRIu64 " to %" PRIu64 " bytes",
				text, min, max);
	return 0;
}

int bpk_parse_time(const char *text, uint64_t min, uint64_t max, uint64_t *out, struct bpk_err *err)
{
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = { { '\0', 1 },   { 's', 1 },     { 'm', 60 },
		      { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	const char *rest = text;
	bool valid = parse_digits(text, out, &rest);
	size_t i = 0;

	while (i < sizeof units / sizeof units[0] && units[i].letter != *rest)
		i++;
	if (!valid || i == sizeof units / sizeof units[0] || (*rest != '\0' && rest[1] != '\0'))
		return bpk_fail(
			err, BPK_USAGE,
			"'%s' is not a time, expected seconds, or a number with m, h, d or w",
			text);
	if (!bpk_mul_u64(*out, units[i].seconds, out) || *out < min || *out > max)
		return bpk_fail(err, BPK_USAGE,
				"'%s' is out of range, expected %" PRIu64 " to %" PRIu64 " seconds",
				text, min, max);
	return 0;
}

/* One side of a range: an optional sign and a size of at most 2^63-1. */
static bool parse_side(const char *text, bool *given, int64_t *out, const char **rest)
{
	bool negative = *text == '-';
	uint64_t size;

	*given = *text != ':' && *text != '\0';
	*rest = text;
	if (!*given)
		return true;
	if (!parse_size(text + negative, &size, rest) || size > INT64_MAX)
		return false;
	*out = negative ? -(int64_t)size : (int64_t)size;
	return true;
}

int bpk_parse_range(const char *text, struct bpk_opt_range *out, struct bpk_err *err)
{
	struct bpk_opt_range range = { .given = true };
	const char *rest = text;

	if (!parse_side(text, &range.has_start, &range.start, &rest) || *rest != ':' ||
	    !parse_side(rest + 1, &range.has_end, &range.end, &rest) || *rest != '\0')
		return bpk_fail(err, BPK_USAGE, "'%s' is not a range, expected A:B, A: or :B",
				text);
	*out = range;
	return 0;
}

/* An index is a range of one. */
static struct bpk_opt_range range_of_index(int64_t index)
{
	return (struct bpk_opt_range){
		.given = true,
		.is_index = true,
		.has_start = true,
		.start = index,
		.has_end = index != -1 && index < INT64_MAX,
		.end = index < INT64_MAX ? index + 1 : index,
	};
}

int bpk_parse_part(const char *text, uint64_t most_step, struct bpk_opt_range *out,
		   struct bpk_err *err)
{
	struct bpk_opt_range range = { .given = true };
	const char *rest = text;
	bool has_step = false;
	int64_t step = 1;

	if (!parse_side(text, &range.has_start, &range.start, &rest))
		rest = text;
	if (range.has_start && *rest == '\0') {
		*out = range_of_index(range.start);
		return 0;
	}
	if (*rest != ':' || !parse_side(rest + 1, &range.has_end, &range.end, &rest) ||
	    (*rest == ':' && !parse_side(rest + 1, &has_step, &step, &rest)) || *rest != '\0')
		return bpk_fail(err, BPK_USAGE, "'%s' is not a range, expected N, A:B%s", text,
				most_step > 1 ? " or A:B:STEP" : "");
	range.step = has_step ? (uint64_t)step : 1;
	if (step < 1 || range.step > most_step)
		return bpk_fail(err, BPK_USAGE, "'%s': %s", text,
				step < 1 ? "a step is a number from 1" : "steps are not supported");
	*out = range;
	return 0;
}

int bpk_parse_offset(const char *text, struct bpk_opt_offset *out, struct bpk_err *err)
{
	const char *rest = text;
	bool negative = *text == '-';
	uint64_t distance;

	if (!parse_size(text + negative, &distance, &rest) || *rest != '\0' || distance > INT64_MAX)
		return bpk_fail(
			err, BPK_USAGE,
			"'%s' is not a position, expected a number, K, M, G or T may follow it",
			text);
	*out = (struct bpk_opt_offset){ true, negative, distance };
	return 0;
}

int bpk_parse_levels(const char *text, unsigned *out, struct bpk_err *err)
{
	enum { HIGHEST = 9 };
	const char *rest = text;
	uint64_t first, last;

	*out = 0;
	do {
		bool good = parse_digits(rest, &first, &rest);

		last = first;
		if (good && *rest == '-')
			good = parse_digits(rest + 1, &last, &rest);
		if (!good || first > last || last > HIGHEST || (*rest != ',' && *rest != '\0'))
			return bpk_fail(err, BPK_USAGE,
					"'%s' is not a list of levels from 0 to %d, such as "
					"1,3,5 or 1-9",
					text, HIGHEST);
		*out |= ((2u << last) - 1) & ~((1u << first) - 1);
	} while (*rest++ == ',');
	return 0;
}

int bpk_parse_share(const char *text, struct bpk_opt_share *out, struct bpk_err *err)
{
	enum { MOST = 1 << 20 };
	struct bpk_opt_share share;
	const char *rest = text;

	if (!parse_digits(text, &share.number, &rest) || *rest != '/' ||
	    !parse_digits(rest + 1, &share.count, &rest) || *rest != '\0' || share.count < 1 ||
	    share.count > MOST)
		return bpk_fail(err, BPK_USAGE,
				"'%s' is not a share, expected I/N, at most %d shares", text, MOST);
	if (share.number < 1 || share.number > share.count)
		return bpk_fail(err, BPK_USAGE, "'%s': shares have the numbers 1 to %" PRIu64, text,
				share.count);
	*out = share;
	return 0;
}

int bpk_parse_shape(const char *text, struct bpk_opt_shape *out, struct bpk_err *err)
{
	struct bpk_opt_shape shape = { 0 };
	const char *rest = text;
	bool good;

	do {
		good = shape.ndimensions < BPK_ARRAY_MAX_DIMENSIONS &&
		       parse_digits(rest, &shape.sizes[shape.ndimensions++], &rest);
	} while (good && *rest++ == ',');
	if (!good || rest[-1] != '\0')
		return bpk_fail(
			err, BPK_USAGE,
			"'%s' is not a shape, expected up to %d numbers with commas between", text,
			BPK_ARRAY_MAX_DIMENSIONS);
	*out = shape;
	return 0;
}
