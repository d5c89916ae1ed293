/* Making variants of simulation files, for mutants.c. */
#include "fault/mutate.h"

#include <stdbool.h>
#include <string.h>

static uint64_t get64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (size_t i = 8; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static void put(uint8_t *bytes, uint64_t value, size_t size, bool big)
{
	for (size_t i = 0; i < size; i++)
		bytes[big ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

/* ---- Shortening ---- */

/* Copy a GSD file's table, whose offset and entry count are at field, to bytes + end. Returns the
 * new end. */
static size_t move_table(uint8_t *bytes, size_t size, const uint8_t *whole, size_t field,
			 size_t entry_size, size_t end)
{
	uint64_t offset = get64(whole + field), count = get64(whole + field + 8);
	uint64_t most = (MUTATE_MOST + MUTATE_TABLES / 2 - end) / entry_size;

	if (end > MUTATE_MOST)
		most = (MUTATE_MOST + MUTATE_TABLES - end) / entry_size;
	if (count > most)
		count = most;
	if (offset > size || count * entry_size > size - offset)
		return end;
	memmove(bytes + end, whole + offset, (size_t)count * entry_size);
	put(bytes + field, end, 8, false);
	put(bytes + field + 8, count, 8, false);
	return end + (size_t)count * entry_size;
}

size_t mutate_shorten(uint8_t *bytes, size_t size)
{
	static uint8_t made[MUTATE_MOST + MUTATE_TABLES];
	static const uint8_t gsd[8] = { 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65 };
	enum { INDEX = 8, NAMES = 24, ENTRY = 32, NAME = 64 }; /* GSD 1.0 to 2.1 */
	size_t end = MUTATE_MOST;

	if (size <= MUTATE_MOST)
		return size;
	memcpy(made, bytes, MUTATE_MOST);
	if (memcmp(bytes, gsd, sizeof gsd) == 0) {
		end = move_table(made, size, bytes, INDEX, ENTRY, end);
		end = move_table(made, size, bytes, NAMES, NAME, end);
	}
	memcpy(bytes, made, end < size ? end : size);
	return end < size ? end : size;
}

/* ---- Mutating ---- */

/* SplitMix64: its constants are in the public domain. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* An offset, mostly in the parts that lead to all others: the beginning and the end. */
static size_t place(uint64_t *state, size_t size)
{
	static const size_t near[] = { 64, 512, 4096 };
	size_t reach = near[draw(state) % 3];

	if (reach > size)
		reach = size;
	switch (draw(state) % 8) {
	case 0:
	case 1:
		return size - 1 - draw(state) % reach;
	case 2:
		return draw(state) % size;
	default:
		return draw(state) % reach;
	}
}

static void flip_bits(uint64_t *state, uint8_t *bytes, size_t size)
{
	uint64_t count = 1 + draw(state) % 8;

	while (count-- > 0)
		bytes[place(state, size)] ^= (uint8_t)(1 << draw(state) % 8);
}

/* A value for a length: near 0, near the file's size, near the limit of a type, or any. */
static uint64_t some_number(uint64_t *state, size_t size)
{
	uint64_t small = draw(state) % 5;

	switch (draw(state) % 8) {
	case 0:
		return small;
	case 1:
		return size - 2 + small;
	case 2:
		return UINT64_MAX - small;
	case 3:
		return INT64_MAX - 2 + small;
	case 4:
		return INT32_MAX - 2ULL + small;
	case 5:
		return UINT64_MAX / 32 - 2 + small; /* times an entry it wraps round */
	case 6:
		return draw(state) % (size + 1);
	default:
		return draw(state) >> draw(state) % 64;
	}
}

static void set_numbers(uint64_t *state, uint8_t *bytes, size_t size)
{
	uint64_t count = 1 + draw(state) % 3;

	while (count-- > 0) {
		size_t width = (size_t)2 << draw(state) % 3;
		size_t at = place(state, size) & ~(size_t)3;

		if (width <= size - at)
			put(bytes + at, some_number(state, size), width, draw(state) % 2 == 0);
	}
}

/* Copy some bytes over others. */
static void splice(uint64_t *state, uint8_t *bytes, size_t size)
{
	size_t length = 1 + draw(state) % 256, from = place(state, size), to = place(state, size);

	if (length <= size - from && length <= size - to)
		memmove(bytes + to, bytes + from, length);
}

size_t mutate(const uint8_t *bytes, size_t size, uint64_t seed, uint8_t *out)
{
	uint64_t state = seed;
	unsigned kind = (unsigned)(draw(&state) % 6);

	memcpy(out, bytes, size);
	if (size == 0)
		return 0;
	if (kind == 1 || kind == 4)
		flip_bits(&state, out, size);
	if (kind == 2 || kind == 3 || kind == 5)
		set_numbers(&state, out, size);
	if (kind == 5)
		splice(&state, out, size);
	if (kind == 0 || kind == 4)
		size = draw(&state) % 4 == 0 ? draw(&state) % size : place(&state, size);
	return size;
}
