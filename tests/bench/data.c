/* The data sets of the benches, each a function of the seed and the position. make-data and the
 * benches call it. */
#include "bench/data.h"

#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t mixed(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

struct random {
	uint64_t state;
};

static uint64_t next(struct random *r)
{
	r->state += 0x9e3779b97f4a7c15u;
	return mixed(r->state);
}

/* 0 .. limit-1 */
static uint32_t below(struct random *r, uint32_t limit)
{
	return (uint32_t)((next(r) >> 32) * limit >> 32);
}

/* Elements go through here, so that the last one may be cut. */
struct sink {
	uint8_t *next;
	size_t left;
};

static void put(struct sink *sink, const void *bytes, size_t size)
{
	size = bpk_min_size(size, sink->left);
	bpk_copy(sink->next, bytes, size);
	sink->next += size;
	sink->left -= size;
}

static void put_le(struct sink *sink, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	bpk_put_le64(bytes, value);
	put(sink, bytes, size);
}

static void put_f32(struct sink *sink, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	put_le(sink, bits, sizeof bits);
}

static void put_f64(struct sink *sink, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	put_le(sink, bits, sizeof bits);
}

/*
 * A field in a box of FIELD_ROW x FIELD_ROW points a layer: value noise in octaves, each finer and
 * weaker by the cube root of two, as turbulence has it. All in fixed point, row by row.
 */
enum { FIELD_ROW = 128, FIELD_OCTAVES = 5, FIELD_COARSEST = 32 };

static const int field_weights[FIELD_OCTAVES] = { 128, 80, 50, 31, 20 };

/* 3t^2 - 2t^3 of position/cell, in 1/65536. */
static int64_t eased(unsigned position, unsigned cell)
{
	uint64_t t = 65536u * (uint64_t)position / cell;

	return (int64_t)(t * t * (3 * 65536u - 2 * t) >> 32);
}

static int64_t between(int64_t a, int64_t b, int64_t share)
{
	return a + ((b - a) * share) / 65536;
}

/* A lattice point's value, 40 bits and a sign. */
static int64_t lattice(uint64_t seed, unsigned octave, unsigned x, unsigned y, unsigned z)
{
	uint64_t at = (uint64_t)x | (uint64_t)y << 12 | (uint64_t)z << 24 | (uint64_t)octave << 60;

	return (int64_t)mixed(mixed(at) ^ seed) >> 23;
}

static int64_t lattice_edge(uint64_t seed, unsigned octave, unsigned lx, unsigned y, unsigned z)
{
	unsigned cell = FIELD_COARSEST >> octave;
	unsigned ly = y / cell, lz = z / cell;
	int64_t sy = eased(y % cell, cell), sz = eased(z % cell, cell);
	int64_t near = between(lattice(seed, octave, lx, ly, lz),
			       lattice(seed, octave, lx, ly + 1, lz), sy);
	int64_t far = between(lattice(seed, octave, lx, ly, lz + 1),
			      lattice(seed, octave, lx, ly + 1, lz + 1), sy);

	return between(near, far, sz);
}

static void field_row(uint64_t seed, uint64_t row, int64_t values[FIELD_ROW])
{
	unsigned y = (unsigned)(row % FIELD_ROW), z = (unsigned)(row / FIELD_ROW);

	memset(values, 0, FIELD_ROW * sizeof values[0]);
	for (unsigned octave = 0; octave < FIELD_OCTAVES; octave++) {
		unsigned cell = FIELD_COARSEST >> octave;
		int64_t left = lattice_edge(seed, octave, 0, y, z);

		for (unsigned lx = 0; lx < FIELD_ROW / cell; lx++) {
			int64_t right = lattice_edge(seed, octave, lx + 1, y, z);

			for (unsigned i = 0; i < cell; i++)
				values[lx * cell + i] +=
					(left * 65536 + (right - left) * eased(i, cell)) / 256 *
					field_weights[octave];
			left = right;
		}
	}
}

static void make_field(struct sink *sink, uint64_t seed, unsigned width)
{
	int64_t values[FIELD_ROW];

	for (uint64_t row = 0; sink->left > 0; row++) {
		field_row(seed, row, values);
		for (size_t i = 0; i < FIELD_ROW; i++) {
			double value = (double)values[i] * 0x1p-55;

			if (width == 4)
				put_f32(sink, (float)value);
			else
				put_f64(sink, value);
		}
	}
}

static void make_field_f32(struct sink *sink, uint64_t seed)
{
	make_field(sink, seed, 4);
}

static void make_field_f64(struct sink *sink, uint64_t seed)
{
	make_field(sink, seed, 8);
}

/* Atoms of a warm crystal, 48 to an edge, layer upon layer: x, y, z. */
static void make_positions(struct sink *sink, uint64_t seed)
{
	struct random r = { seed };

	for (uint64_t atom = 0; sink->left > 0; atom++) {
		uint64_t cell[3] = { atom % 48, atom / 48 % 48, atom / 2304 % 48 };

		for (int axis = 0; axis < 3; axis++) {
			int64_t shift = (int64_t)below(&r, 1u << 20) + below(&r, 1u << 20) +
					below(&r, 1u << 20) - 3 * (1 << 19);

			put_f32(sink,
				(float)(((int64_t)cell[axis] << 23) + 3 * shift) * 0x1.ap-23f);
		}
	}
}

static void make_sorted(struct sink *sink, uint64_t seed)
{
	struct random r = { seed };

	for (uint64_t key = 1000000; sink->left > 0; key += below(&r, 400))
		put_le(sink, key, 8);
}

static void make_random(struct sink *sink, uint64_t seed)
{
	struct random r = { seed };

	while (sink->left > 0)
		put_le(sink, below(&r, 1000000), 4);
}

/* The eight corners of each cell of a grid, 120 cells to an edge. */
static void make_mesh(struct sink *sink, uint64_t seed)
{
	uint32_t first = (uint32_t)(seed % 1000);

	for (uint32_t cell = 0; sink->left > 0; cell++) {
		uint32_t x = cell % 120, y = cell / 120 % 120, z = cell / 14400;
		uint32_t corner = first + (z * 121 + y) * 121 + x;
		uint32_t low[4] = { corner, corner + 1, corner + 122, corner + 121 };

		for (int i = 0; i < 8; i++)
			put_le(sink, low[i % 4] + (i < 4 ? 0 : 14641), 4);
	}
}

/*
 * Events of a detector: a slow 16-bit signal, a kind, an identity, an energy, a time, a cell and a
 * temperature, as far as a record of 3 to 24 bytes has room for them.
 */
static void make_records(struct sink *sink, uint64_t seed, unsigned width)
{
	static const uint8_t kinds[8] = { 1, 1, 1, 1, 2, 2, 3, 7 };
	struct random r = { seed };
	uint32_t signal = 30000;
	uint64_t time = 0;

	for (uint32_t id = 1; sink->left > 0; id++) {
		uint8_t bytes[24] = { 0 };
		float energy = (float)(1000 + below(&r, 50000)) * 0.25f;

		signal += below(&r, 33) - 16;
		time += below(&r, 2000);
		bytes[0] = (uint8_t)signal;
		bytes[1] = (uint8_t)(signal >> 8);
		bytes[2] = kinds[below(&r, 8)];
		bpk_put_le32(bytes + 3, id);
		memcpy(&bytes[7], &energy, sizeof energy);
		bpk_put_le64(bytes + 11, time);
		bytes[19] = (uint8_t)(signal >> 6);
		if (width > 20) {
			float temperature = 290 + (float)(signal + below(&r, 40)) * 0.001f;

			memcpy(&bytes[20], &temperature, sizeof temperature);
		}
		put(sink, bytes, width);
	}
}

/* Log lines: words of an invented language, the common ones often, and numbers. */
static void make_text(struct sink *sink, uint64_t seed)
{
	static const char vowels[] = "aeiou", consonants[] = "bcdfghklmnprstvw";
	struct random r = { seed };
	char words[512][12];

	for (size_t w = 0; w < 512; w++) {
		size_t length = 2 + 2 * below(&r, 5);

		for (size_t i = 0; i < length; i++)
			words[w][i] = i % 2 == 0 ? consonants[below(&r, 16)] : vowels[below(&r, 5)];
		words[w][length] = '\0';
	}
	for (unsigned line = 1; sink->left > 0; line++) {
		char number[32];
		unsigned nwords = 4 + below(&r, 12);

		put(sink, number, (size_t)snprintf(number, sizeof number, "%u", line));
		for (unsigned w = 0; w < nwords; w++) {
			const char *word = words[below(&r, 1 + below(&r, 512))];

			put(sink, " ", 1);
			put(sink, word, strlen(word));
		}
		put(sink, number,
		    (size_t)snprintf(number, sizeof number, " %u.%03u\n", below(&r, 100),
				     below(&r, 1000)));
	}
}

static void make_noise(struct sink *sink, uint64_t seed)
{
	struct random r = { seed };

	while (sink->left > 0)
		put_le(sink, next(&r), 8);
}

static void make_zeros(struct sink *sink, uint64_t seed)
{
	(void)seed;
	memset(sink->next, 0, sink->left);
	sink->left = 0;
}

/* A set of records of one width wants no function of its own: make is NULL. */
struct maker {
	struct bench_data data;
	void (*make)(struct sink *sink, uint64_t seed);
};

static const struct maker makers[] = {
	{ { "field-f32", 4, "turbulence on a grid" }, make_field_f32 },
	{ { "field-f64", 8, "turbulence on a grid" }, make_field_f64 },
	{ { "positions-f32", 4, "atoms of a warm crystal, x y z" }, make_positions },
	{ { "sorted-i64", 8, "ascending keys" }, make_sorted },
	{ { "random-i32", 4, "integers below a million" }, make_random },
	{ { "mesh-i32", 4, "corners of the cells of a grid" }, make_mesh },
	{ { "records", 20, "mixed fields, 20 bytes" }, NULL },
	{ { "text", 1, "log lines" }, make_text },
	{ { "noise", 8, "random bytes" }, make_noise },
	{ { "zeros", 8, "nothing but zeros" }, make_zeros },
	{ { "records-3", 3, "mixed fields, 3 bytes" }, NULL },
	{ { "records-5", 5, "mixed fields, 5 bytes" }, NULL },
	{ { "records-6", 6, "mixed fields, 6 bytes" }, NULL },
	{ { "records-7", 7, "mixed fields, 7 bytes" }, NULL },
	{ { "records-9", 9, "mixed fields, 9 bytes" }, NULL },
	{ { "records-10", 10, "mixed fields, 10 bytes" }, NULL },
	{ { "records-11", 11, "mixed fields, 11 bytes" }, NULL },
	{ { "records-12", 12, "mixed fields, 12 bytes" }, NULL },
	{ { "records-13", 13, "mixed fields, 13 bytes" }, NULL },
	{ { "records-14", 14, "mixed fields, 14 bytes" }, NULL },
	{ { "records-15", 15, "mixed fields, 15 bytes" }, NULL },
	{ { "records-24", 24, "mixed fields, 24 bytes" }, NULL },
};

enum { MAKERS = sizeof makers / sizeof makers[0] };

const struct bench_data *bench_data_at(size_t index)
{
	return index < MAKERS ? &makers[index].data : NULL;
}

static const struct maker *find_maker(const char *name)
{
	for (size_t i = 0; i < MAKERS; i++)
		if (strcmp(name, makers[i].data.name) == 0)
			return &makers[i];
	return NULL;
}

const struct bench_data *bench_data_find(const char *name)
{
	const struct maker *maker = find_maker(name);

	return maker == NULL ? NULL : &maker->data;
}

int bench_data_make(const char *name, uint64_t seed, size_t size, uint8_t *buf)
{
	const struct maker *maker = find_maker(name);
	struct sink sink = { buf, size };

	if (maker == NULL)
		return -1;
	if (maker->make != NULL)
		maker->make(&sink, mixed(seed + 1));
	else
		make_records(&sink, mixed(seed + 1), maker->data.typesize);
	return 0;
}
