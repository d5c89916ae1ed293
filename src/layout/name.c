/*
 * Numbers for repeated names, by hash. For FITS, npz and GSD. The hash can be continued, so the
 * hash of "name#2" follows from that of "name".
 */
#include "layout/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A name's hash and its place in the list. */
struct entry {
	uint64_t hash;
	uint32_t place;
};

/* All names, sorted by hash. */
struct sorted {
	struct entry *entries;
	size_t count;
};

uint64_t bpk_name_hash(const char *name)
{
	return bpk_hash_text(BPK_HASH_START, name);
}

void bpk_name_print_number(uint32_t number, char out[BPK_NAME_NUMBER_TEXT])
{
	out[0] = '\0';
	if (number != 0)
		snprintf(out, BPK_NAME_NUMBER_TEXT, "#%" PRIu32, number);
}

static uint64_t numbered_hash(uint64_t hash, uint32_t number)
{
	char text[BPK_NAME_NUMBER_TEXT];

	bpk_name_print_number(number, text);
	return bpk_hash_text(hash, text);
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static bool is_taken(const struct sorted *names, uint64_t hash)
{
	size_t last =
		bpk_find_last(&names->entries->hash, sizeof *names->entries, names->count, hash);

	return names->entries[last].hash == hash;
}

static struct bpk_named *at(struct bpk_named *first, size_t stride, size_t place)
{
	return (void *)((char *)first + stride * place);
}

/* Numbers only increase within one name, so the total number of steps is that of names. */
static void number_all(const struct sorted *names, struct bpk_named *first, size_t stride)
{
	uint32_t number = 1;

	for (size_t i = 0; i < names->count; i++) {
		const struct entry *entry = &names->entries[i];
		struct bpk_named *named = at(first, stride, entry->place);

		named->number = 0;
		if (i == 0 || entry->hash != entry[-1].hash) {
			number = 1;
			continue;
		}
		do
			number++;
		while (is_taken(names, numbered_hash(entry->hash, number)));
		named->number = number;
		named->hash = numbered_hash(entry->hash, number);
	}
}

int bpk_name_number_all(struct bpk_named *first, size_t stride, size_t count, struct bpk_err *err)
{
	struct sorted names = { .count = count };

	if (count == 0)
		return 0;
	if (count >= UINT32_MAX / 2)
		return bpk_fail(err, BPK_LIMIT, "%zu names, less than 2^31 are accepted", count);
	names.entries = bpk_calloc(count, sizeof *names.entries, err);
	if (names.entries == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		names.entries[i] = (struct entry){ at(first, stride, i)->hash, (uint32_t)i };
	qsort(names.entries, count, sizeof *names.entries, compare);
	number_all(&names, first, stride);
	free(names.entries);
	return 0;
}
