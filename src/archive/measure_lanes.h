/*
 * The sums of a batch of numbers, for one set of instructions. Included by measure.c once for each
 * set, which defines SET(name), the names' suffix, TARGET, an attribute, and SMALLER and LARGER of
 * two vectors of doubles; they are undefined at the end.
 */

#define LANES_INLINE TARGET INLINE

/* Integers of 8 bytes become the nearest doubles, by way of their halves: 2^84 + 2^32 high and
 * 2^52 + low are exact. wide is moved by 2^63 if the numbers have no sign. */
LANES_INLINE void SET(convert_wide)(enum form form, const wides *wide, lanes *out)
{
	const double both = 0x1p84 + 0x1p52, base = form == WIDE_SIGNED ? both + 0x1p63 : both;
	typedef uint64_t words __attribute__((vector_size(sizeof(wides))));
	words moved = (words)*wide ^ UINT64_C(1) << 63;
	lanes high = (lanes)((moved >> 32) | UINT64_C(0x4530000000000000));
	lanes low = (lanes)((moved & UINT32_MAX) | UINT64_C(0x4330000000000000));

	*out = (high - base) + low;
}

/* The numbers from number i on. */
LANES_INLINE void SET(take_lanes)(enum form form, const uint8_t *bytes, size_t i, lanes *out,
				  wides *wide)
{
	singles narrow;
	integers whole;

	if (form == DOUBLES) {
		memcpy(out, bytes + i * sizeof(double), sizeof *out);
	} else if (form == SINGLES) {
		memcpy(&narrow, bytes + i * sizeof(float), sizeof narrow);
		*out = __builtin_convertvector(narrow, lanes);
	} else if (is_wide(form)) {
		memcpy(wide, bytes + i * sizeof(int64_t), sizeof *wide);
		if (form == WIDE_UNSIGNED)
			*wide ^= INT64_MIN;
		SET(convert_wide)(form, wide, out);
	} else {
		memcpy(&whole, bytes + i * sizeof(int32_t), sizeof whole);
		if (form == SIGNED)
			*out = __builtin_convertvector(whole, lanes);
		else
			*out = __builtin_convertvector(whole ^ INT32_MIN, lanes) + HALF;
	}
}

LANES_INLINE void SET(add_lanes)(enum form form, const uint8_t *bytes, size_t i,
				 const lanes *guesses, struct lane_sums *out)
{
	lanes next, difference;
	wides wide;

	SET(take_lanes)(form, bytes, i, &next, &wide);
	difference = next - *guesses;
	out->sum += difference;
	out->squares += difference * difference;
	out->min = SMALLER(next, out->min);
	out->max = LARGER(next, out->max);
	if (is_wide(form)) {
		out->least = CHOOSE(wides, wide < out->least, wide, out->least);
		out->greatest = CHOOSE(wides, wide > out->greatest, wide, out->greatest);
	}
}

LANES_INLINE void SET(add_up)(enum form form, const struct lane_sums *more, struct sums *out)
{
	for (unsigned k = 0; k < LANES; k++) {
		out->sum += more->sum[k];
		out->squares += more->squares[k];
		out->min = smaller(out->min, more->min[k]);
		out->max = larger(out->max, more->max[k]);
		if (!is_wide(form))
			continue;
		out->least = more->least[k] < out->least ? more->least[k] : out->least;
		out->greatest =
			more->greatest[k] > out->greatest ? more->greatest[k] : out->greatest;
	}
}

/* At least one number. */
LANES_INLINE void SET(measure_form)(enum form form, const uint8_t *bytes, size_t count,
				    double guess, struct sums *out)
{
	int64_t wide = 0;
	const double one = take_one(form, bytes, 0, &wide);
	const lanes guesses = { guess, guess, guess, guess }, first = { one, one, one, one };
	const wides first_wide = { wide, wide, wide, wide };
	struct lane_sums a = { { 0 }, { 0 }, first, first, first_wide, first_wide }, b = a;
	struct lane_sums sums[2]; /* copies, as a and b stay in registers */
	size_t i = 0;

	for (; i + STEP <= count; i += STEP) {
		SET(add_lanes)(form, bytes, i, &guesses, &a);
		SET(add_lanes)(form, bytes, i + LANES, &guesses, &b);
	}
	*out = (struct sums){ .min = one, .max = one, .least = wide, .greatest = wide };
	sums[0] = a;
	sums[1] = b;
	for (unsigned k = 0; k < 2; k++)
		SET(add_up)(form, &sums[k], out);
	for (; i < count; i++)
		add_one(form, bytes, i, guess, out);
}

TARGET static void SET(measure)(enum form form, const uint8_t *bytes, size_t count, double guess,
				struct sums *out)
{
	switch (form) {
	case SINGLES:
		SET(measure_form)(SINGLES, bytes, count, guess, out);
		break;
	case SIGNED:
		SET(measure_form)(SIGNED, bytes, count, guess, out);
		break;
	case UNSIGNED:
		SET(measure_form)(UNSIGNED, bytes, count, guess, out);
		break;
	case WIDE_SIGNED:
		SET(measure_form)(WIDE_SIGNED, bytes, count, guess, out);
		break;
	case WIDE_UNSIGNED:
		SET(measure_form)(WIDE_UNSIGNED, bytes, count, guess, out);
		break;
	default:
		SET(measure_form)(DOUBLES, bytes, count, guess, out);
	}
}

#undef LANES_INLINE
#undef SET
#undef TARGET
#undef SMALLER
#undef LARGER
