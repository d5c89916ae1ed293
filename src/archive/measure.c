/*
 * Statistics of numbers that are in memory. Called by statistics.c.
 *
 * A batch of numbers is summed up in one pass, as differences from a guess of their mean, and in a
 * second where the guess was bad. Results are merged by the update of Chan, Golub and LeVeque
 * ("Updating formulae and a pairwise algorithm for computing sample variances", 1979), in the order
 * of the data.
 */
#include "archive/measure.h"

#include <math.h>

#include "archive/number.h"

enum { BATCH = 512 }; /* numbers; two arrays of them are on the stack */

/* ---- Results ---- */

double bpk_statistics_mean(const struct bpk_statistics *statistics)
{
	return statistics->mean + statistics->rest;
}

/* By Newton's method, to the last bit or the one before. sqrt would need the library m, which
 * nothing else does. */
static double square_root(double square)
{
	int exponent;
	double mantissa, root = 1;

	if (!(square > 0) || isinf(square))
		return square;
	mantissa = frexp(square, &exponent); /* 0.5 ... 1 */
	if (exponent % 2 != 0) {
		mantissa *= 2;
		exponent--;
	}
	for (int i = 0; i < 6; i++)
		root = (root + mantissa / root) / 2;
	return ldexp(root, exponent / 2);
}

double bpk_statistics_deviation(const struct bpk_statistics *statistics)
{
	return square_root(statistics->squares / (double)statistics->nfinite);
}

/* An order of 64 bits that is that of the integers. */
static uint64_t rank(const struct bpk_scalar *type, uint64_t bits)
{
	return type->kind == 'i' ? bits ^ UINT64_C(1) << 63 : bits;
}

/* ---- Merging ---- */

/* Move the mean, of two numbers: what the first cannot hold is in the rest. */
static void move_mean(struct bpk_statistics *all, double step)
{
	double added = all->rest + step, sum = all->mean + added, back = sum - all->mean;

	all->rest = (all->mean - (sum - back)) + (added - back);
	all->mean = sum;
}

/* Merge the finite numbers of more into all; both have some. */
static void merge_finite(const struct bpk_scalar *type, const struct bpk_statistics *more,
			 struct bpk_statistics *all)
{
	double a = (double)all->nfinite, b = (double)more->nfinite, n = a + b;
	double difference = (more->mean - all->mean) + (more->rest - all->rest);

	all->nfinite += more->nfinite;
	if (isfinite(difference)) {
		move_mean(all, difference * (b / n));
	} else {
		all->mean = all->mean * (a / n) + more->mean * (b / n);
		all->rest = 0;
	}
	all->squares += more->squares + difference * difference * (a * (b / n));
	all->min = more->min < all->min ? more->min : all->min;
	all->max = more->max > all->max ? more->max : all->max;
	if (rank(type, more->least) < rank(type, all->least))
		all->least = more->least;
	if (rank(type, more->greatest) > rank(type, all->greatest))
		all->greatest = more->greatest;
}

void bpk_measure_merge(const struct bpk_scalar *type, const struct bpk_statistics *more,
		       struct bpk_statistics *all)
{
	struct bpk_statistics counts = *all;

	if (more->nfinite > 0 && all->nfinite > 0) {
		merge_finite(type, more, all);
		counts = *all;
	} else if (more->nfinite > 0) {
		*all = *more;
	}
	all->count = counts.count + more->count;
	all->nnan = counts.nnan + more->nnan;
	all->ninfinite = counts.ninfinite + more->ninfinite;
}

/* ---- Sums ---- */

/*
 * Numbers are taken LANES at a time, as vectors that compilers divide where the machine has none of
 * this size; number i goes into lane i modulo LANES. One sum would wait for each addition. Each set
 * of instructions adds in the same order, so results do not depend on the machine.
 */
enum { LANES = 4, STEP = 2 * LANES };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t wides __attribute__((vector_size(LANES * sizeof(int64_t))));
typedef float singles __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t integers __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Numbers that vectors are made of, as this machine has them, of any alignment. */
enum form { DOUBLES, SINGLES, SIGNED, UNSIGNED, WIDE_SIGNED, WIDE_UNSIGNED, OTHERS };

#define INLINE static inline __attribute__((always_inline))

/* Integers without a sign are moved by 2^31 or 2^63 where only those with one are compared or
 * converted. */
#define HALF 2147483648.0

/* Sums of differences from a guess of the mean, their squares, and extremes; those of integers of 8
 * bytes as integers, too, those without a sign moved by 2^63. */
struct sums {
	double sum, squares, min, max;
	int64_t least, greatest;
};

/* Sums of each lane. */
struct lane_sums {
	lanes sum, squares, min, max;
	wides least, greatest;
};

INLINE bool is_wide(enum form form)
{
	return form == WIDE_SIGNED || form == WIDE_UNSIGNED;
}

INLINE double smaller(double a, double b)
{
	return a < b ? a : b;
}

INLINE double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Number i of the bytes. */
INLINE double take_one(enum form form, const uint8_t *bytes, size_t i, int64_t *wide)
{
	double number;
	float narrow;
	int32_t whole;

	if (form == DOUBLES) {
		memcpy(&number, bytes + i * sizeof number, sizeof number);
		return number;
	}
	if (form == SINGLES) {
		memcpy(&narrow, bytes + i * sizeof narrow, sizeof narrow);
		return narrow;
	}
	if (is_wide(form)) {
		memcpy(wide, bytes + i * sizeof *wide, sizeof *wide);
		number = form == WIDE_SIGNED ? (double)*wide : (double)(uint64_t)*wide;
		*wide ^= form == WIDE_SIGNED ? 0 : INT64_MIN;
		return number;
	}
	memcpy(&whole, bytes + i * sizeof whole, sizeof whole);
	return form == SIGNED ? whole : (whole ^ INT32_MIN) + HALF;
}

INLINE void add_one(enum form form, const uint8_t *bytes, size_t i, double guess, struct sums *out)
{
	int64_t wide = 0;
	double number = take_one(form, bytes, i, &wide), difference = number - guess;

	out->sum += difference;
	out->squares += difference * difference;
	out->min = smaller(number, out->min);
	out->max = larger(number, out->max);
	out->least = wide < out->least ? wide : out->least;
	out->greatest = wide > out->greatest ? wide : out->greatest;
}

/* mask ? a : b, for each lane. A vector is no argument, since callers of other instruction sets
 * would pass it in other registers. */
#define CHOOSE(type, mask, a, b) ((type)(((wides)(a) & (mask)) | ((wides)(b) & ~(mask))))

/* The code that adds, for each set of instructions. */
typedef void measure_fn(enum form form, const uint8_t *bytes, size_t count, double guess,
			struct sums *out);

#define SET(name) name##_anywhere
#define TARGET
#define SMALLER(a, b) CHOOSE(lanes, (a) < (b), a, b)
#define LARGER(a, b)  CHOOSE(lanes, (a) > (b), a, b)
#include "archive/measure_lanes.h"

#if defined(__x86_64__)
#define SET(name)     name##_avx2
#define TARGET        __attribute__((target("avx2")))
#define SMALLER(a, b) __builtin_ia32_minpd256(a, b) /* b of two that are equal */
#define LARGER(a, b)  __builtin_ia32_maxpd256(a, b)
#include "archive/measure_lanes.h"
#else
#define measure_avx2 measure_anywhere
#endif

/* ---- A batch of numbers ---- */

/* Move the finite numbers to the front, and count the others. */
static size_t keep_finite(double *numbers, size_t count, struct bpk_statistics *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (isfinite(numbers[i]))
			numbers[kept++] = numbers[i];
		else if (isnan(numbers[i]))
			out->nnan++;
		else
			out->ninfinite++;
	}
	return kept;
}

/* The mean is guess, and the mean of the differences from it. */
static void set_mean(const struct sums *sums, size_t count, double guess,
		     struct bpk_statistics *out)
{
	double rest = sums->sum / (double)count;

	out->mean = guess;
	out->rest = 0;
	out->squares = sums->squares;
	if (!isfinite(rest) || !isfinite(sums->squares))
		return;
	move_mean(out, rest);
	out->squares -= sums->sum * rest;
	if (out->squares < 0)
		out->squares = 0; /* by rounding */
}

/* A guess is bad if most of the squares come from its distance to the mean: then the rest of
 * them has lost digits. */
static bool is_bad_guess(const struct sums *sums, const struct bpk_statistics *found)
{
	enum { TIMES = 16 };

	return isfinite(sums->squares) && found->squares < sums->squares / TIMES;
}

/* Measure numbers that are finite, as is their sum. Returns false if they are not. */
static bool measure_finite(enum form form, const uint8_t *bytes, size_t count, double guess,
			   struct bpk_statistics *out)
{
	measure_fn *measure = bpk_cpu_has(BPK_SIMD_AVX2) ? measure_avx2 : measure_anywhere;
	uint64_t moved = form == WIDE_UNSIGNED ? UINT64_C(1) << 63 : 0;
	struct sums sums;

	measure(form, bytes, count, guess, &sums);
	set_mean(&sums, count, guess, out);
	if (isfinite(sums.sum) && is_bad_guess(&sums, out)) {
		guess = out->mean;
		measure(form, bytes, count, guess, &sums);
		set_mean(&sums, count, guess, out);
	}
	out->nfinite = count;
	out->min = sums.min;
	out->max = sums.max;
	out->least = (uint64_t)sums.least ^ moved;
	out->greatest = (uint64_t)sums.greatest ^ moved;
	return isfinite(sums.sum);
}

/* The mean, without overflow where it is itself a double. */
static double mean_of(const double *numbers, size_t count)
{
	double mean = 0;

	for (size_t i = 0; i < count; i++)
		mean += numbers[i] / (double)count;
	return mean;
}

/* Take the numbers of a batch as doubles. */
static void take_doubles(const struct bpk_scalar *type, const uint8_t *bytes, size_t count,
			 double *numbers)
{
	uint64_t bits[BATCH];

	bpk_number_take_bits(type, bytes, count, bits);
	bpk_number_of_bits(type, bits, count, numbers);
}

/* Numbers of which some are not finite, or too large to be added. */
static void measure_some(const struct bpk_scalar *type, const uint8_t *bytes, size_t count,
			 struct bpk_statistics *out)
{
	double numbers[BATCH];
	size_t finite;

	*out = (struct bpk_statistics){ .count = count };
	take_doubles(type, bytes, count, numbers);
	finite = keep_finite(numbers, count, out);
	if (finite > 0)
		(void)measure_finite(DOUBLES, (const uint8_t *)numbers, finite,
				     mean_of(numbers, finite), out);
}

static enum form form_of(const struct bpk_scalar *type)
{
	bool is_integer = bpk_number_is_integer(type);

	if (type->item_size == 8)
		return !is_integer ? DOUBLES : type->kind == 'i' ? WIDE_SIGNED : WIDE_UNSIGNED;
	if (type->item_size == 4)
		return !is_integer ? SINGLES : type->kind == 'i' ? SIGNED : UNSIGNED;
	return OTHERS;
}

/* A batch in another form. */
union room {
	double doubles[BATCH];
	uint64_t wide[BATCH];
	uint32_t narrow[BATCH];
};

/* Reverse the bytes of numbers of 4 or 8 bytes. */
static void swap(const uint8_t *bytes, uint32_t size, size_t count, union room *room)
{
	memcpy(room, bytes, count * size);
	if (size == sizeof *room->wide)
		for (size_t i = 0; i < count; i++)
			room->wide[i] = __builtin_bswap64(room->wide[i]);
	else
		for (size_t i = 0; i < count; i++)
			room->narrow[i] = __builtin_bswap32(room->narrow[i]);
}

/* Bring a batch into a form that is measured, in room if necessary. */
static const uint8_t *bring(const struct bpk_scalar *type, const uint8_t *bytes, size_t count,
			    union room *room, enum form *form)
{
	*form = form_of(type);
	if (*form == OTHERS) {
		take_doubles(type, bytes, count, room->doubles);
		*form = DOUBLES;
	} else if (bpk_number_is_native(type)) {
		return bytes;
	} else {
		swap(bytes, type->item_size, count, room);
	}
	return (const uint8_t *)room;
}

static void measure_batch(const struct bpk_scalar *type, const uint8_t *bytes, size_t count,
			  struct bpk_statistics *out)
{
	union room room;
	enum form form;
	const uint8_t *numbers = bring(type, bytes, count, &room, &form);
	int64_t wide;
	double guess;

	out->count = count;
	guess = take_one(form, numbers, 0, &wide) / 2 +
		take_one(form, numbers, count - 1, &wide) / 2;
	if (!measure_finite(form, numbers, count, guess, out))
		measure_some(type, bytes, count, out);
	if (bpk_number_is_integer(type) && !is_wide(form)) { /* doubles are exact */
		out->least = (uint64_t)(int64_t)out->min;
		out->greatest = (uint64_t)(int64_t)out->max;
	}
}

void bpk_measure(const struct bpk_scalar *type, struct bpk_view bytes, struct bpk_statistics *found)
{
	size_t left = bytes.size / type->item_size, count;
	const uint8_t *at = bytes.data;

	for (; left > 0; left -= count, at += count * type->item_size) {
		struct bpk_statistics batch = { 0 };

		count = bpk_min_size(left, BATCH);
		measure_batch(type, at, count, &batch);
		bpk_measure_merge(type, &batch, found);
	}
}
