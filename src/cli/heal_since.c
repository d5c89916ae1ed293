/* Tells damage of an archive from changes since its parity file was made: the door is heal_side.h.
 * Called by heal_judge.c and heal.c. */
#include "cli/heal_side.h"

#include <stdlib.h>

/* The bytes of a chunk with its digest. */
struct stretch {
	uint64_t start, end;
};

/* Damaged chunks that lie in cells which differ. One thread's own. */
struct sought {
	const struct bpk_side *side;
	const struct bpk_input *in;
	struct stretch *damaged;
	size_t count, room;
	const struct bpk_parity_file **files; /* of a directory, by name */
	size_t nfiles;
};

static int compare_names(const void *a, const void *b)
{
	const struct bpk_parity_file *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Sort the files of a directory, whose extents are in no order of names. False: memory is short. */
static bool sort_files(struct sought *s)
{
	const struct bpk_parity_files *files = bpk_parity_files(s->side->parity);

	if (files == NULL)
		return true;
	s->files = bpk_calloc(files->count + 1, sizeof *s->files, NULL);
	for (size_t i = 0; s->files != NULL && i < files->count; i++)
		if (files->files[i].name != NULL)
			s->files[s->nfiles++] = &files->files[i];
	if (s->files != NULL)
		qsort(s->files, s->nfiles, sizeof *s->files, compare_names);
	return s->files != NULL;
}

/* The offset of a file's extent; unknown if parity does not cover it. */
static uint64_t find_start(const struct sought *s, char *name)
{
	const struct bpk_parity_file key = { .name = name }, *wanted = &key, **found;

	found = bsearch(&wanted, s->files, s->nfiles, sizeof *s->files, compare_names);
	return found != NULL ? (*found)->start : BPK_UNKNOWN;
}

/* Where the bytes of a chunk are among those that parity covers; false: that is unknown. */
static bool find_stretch(const struct sought *s, uint64_t number, struct stretch *stretch)
{
	const struct bpk_info *info = s->in->info;
	struct bpk_where where = { 0 };
	uint64_t start = 0;

	if (s->in->format->reader->locate(s->in->reader, number, &where, NULL) != 0 ||
	    where.header.special != BPK_SPECIAL_NONE)
		return false;
	if (s->files != NULL)
		start = find_start(s, where.file);
	if (start == BPK_UNKNOWN)
		return false;
	stretch->start = start + where.packed_offset;
	stretch->end = stretch->start + where.header.packed_size;
	if (info->chunks.checksum != NULL)
		stretch->end += info->chunks.checksum->size;
	return true;
}

/* *any: a cell with bytes of the stretch differs; *all: each does. */
static void compare_cells(const struct bpk_side *side, const struct stretch *stretch, bool *any,
			  bool *all)
{
	uint64_t end = bpk_min_u64(stretch->end, bpk_parity_size(side->parity)), run;

	*any = false;
	*all = true;
	for (uint64_t at = stretch->start; at < end; at += run) {
		bool bad = bpk_parity_is_bad(side->parity, &side->scan, at, &run);

		*any = *any || bad;
		*all = *all && bad;
	}
}

static bool is_intact(const struct bpk_input *in, uint64_t number)
{
	const struct bpk_reader_ops *ops = in->format->reader;
	struct bpk_parcel parcel = { .number = number, .want_size = SIZE_MAX };
	bool intact = ops->fetch(in->reader, &parcel, NULL) == 0 &&
		      (ops->check == NULL || ops->check(in->reader, &parcel, NULL) == 0);

	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&parcel.raw);
	return intact;
}

/* Note the damaged chunks in cells that differ. False: an intact one has such cells alone, as one
 * that was written since, or memory is short. */
static bool find_damaged(struct sought *s)
{
	for (uint64_t n = 0; n < s->in->info->chunks.count; n++) {
		struct stretch stretch, *grown;
		bool any, all;

		if (!find_stretch(s, n, &stretch))
			continue;
		compare_cells(s->side, &stretch, &any, &all);
		if (!any)
			continue;
		if (is_intact(s->in, n)) {
			if (all)
				return false;
			continue;
		}
		grown = bpk_alloc_grow(s->damaged, s->count, &s->room, sizeof *grown, NULL);
		if (grown == NULL)
			return false;
		s->damaged = grown;
		grown[s->count++] = stretch;
	}
	return true;
}

static int compare_starts(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* True if each cell that differs has bytes of a damaged chunk, or is missing. */
static bool are_covered(const struct sought *s)
{
	uint64_t size = bpk_min_u64(bpk_parity_size(s->side->parity), s->side->scan.size), run;
	size_t next = 0;

	for (uint64_t at = 0; at < size; at += run) {
		if (!bpk_parity_is_bad(s->side->parity, &s->side->scan, at, &run))
			continue;
		while (next < s->count && s->damaged[next].end <= at)
			next++;
		if (at + run <= s->side->scan.size &&
		    (next == s->count || s->damaged[next].start >= at + run))
			return false;
	}
	return true;
}

bool bpk_heal_is_damage_alone(const struct bpk_side *side, const struct bpk_input *in)
{
	struct sought sought = { .side = side, .in = in };
	bool alone;

	/* bytes behind a sealed archive are no part of it */
	if (bpk_side_is_as_then(side, in->path) ||
	    (!bpk_side_has_damage(side) && in->info != NULL && in->info->seal.sealed))
		return true;
	if (side->drift.missing + side->drift.resized + side->drift.added > 0 ||
	    side->scan.size > bpk_parity_size(side->parity))
		return false;
	alone = in->reader == NULL || in->format->reader->locate == NULL ||
		in->info->chunks.count == BPK_UNKNOWN ||
		(sort_files(&sought) && find_damaged(&sought));
	if (alone && sought.count > 0)
		qsort(sought.damaged, sought.count, sizeof *sought.damaged, compare_starts);
	alone = alone && are_covered(&sought);
	free(sought.damaged);
	free(sought.files);
	return alone;
}
