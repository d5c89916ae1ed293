/* Tells damage of an archive from changes since its parity file was made: the door is heal_side.h.
 * Called by heal_judge.c, heal.c, salvage.c and salvage_run.c. */
#include "cli/heal_side.h"

#include <stdlib.h>

/* The bytes of a chunk with its digest. */
struct stretch {
	uint64_t start, end;
};

/* Bytes that parity restores differently, and damaged chunks that have such. One thread's own. */
struct sought {
	const struct bpk_side *side;
	const struct bpk_input *in;
	struct bpk_source *source;
	struct stretch *differing, *damaged; /* by their starts, once they are sorted */
	size_t ndiffering, differing_room, ndamaged, damaged_room;
	struct bpk_buf cell;
	struct bpk_parity_files files; /* of a directory, by name */
	bool same_second; /* the time does not tell a change: only proof counts as one */
	bool unplaced;    /* there are chunks of unknown place */
};

/* Where bytes of the file, of a directory of that name, are among those that parity covers; false:
 * it does not cover them. */
static bool place_stretch(const struct sought *s, const char *name, struct stretch *stretch)
{
	const struct bpk_parity_file *found;

	if (s->files.files == NULL)
		return stretch->end <= bpk_parity_size(s->side->parity);
	found = bpk_parity_files_find(&s->files, name);
	if (found == NULL || stretch->end > found->size)
		return false;
	stretch->start += found->start;
	stretch->end += found->start;
	return true;
}

/* ---- the bytes that differ ---- */

static int compare_starts(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* A byte differs. Stretches with fewer equal bytes in between are one: no chunk is that short. */
static int add_byte(struct sought *s, uint64_t at, struct bpk_err *err)
{
	struct stretch *last = s->ndiffering > 0 ? &s->differing[s->ndiffering - 1] : NULL, *grown;

	if (last != NULL && at - last->end < BPK_CHUNK_HEADER_SIZE) {
		last->end = at + 1;
		return 0;
	}
	grown = bpk_alloc_grow(s->differing, s->ndiffering, &s->differing_room, sizeof *grown, err);
	if (grown == NULL)
		return -1;
	s->differing = grown;
	grown[s->ndiffering++] = (struct stretch){ at, at + 1 };
	return 0;
}

/* A cell as parity restores it. Bytes behind the end of a file are missing, and do not differ. */
static int compare_cell(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct sought *s = arg;
	uint64_t size = s->side->scan.size;
	size_t there = offset < size ? (size_t)bpk_min_u64(bytes.size, size - offset) : 0;

	if (bpk_buf_resize(&s->cell, bytes.size, err) != 0 ||
	    bpk_parity_read(s->source, offset, bpk_span(s->cell.data, bytes.size), err) != 0)
		return -1;
	for (size_t i = 0; i < there; i++)
		if (s->cell.data[i] != bytes.data[i] && add_byte(s, offset + i, err) != 0)
			return -1;
	return 0;
}

/* Cells come group by group. False: not all can be restored, or memory is short. */
static bool find_differing(struct sought *s)
{
	const struct bpk_parity_files *files = bpk_parity_files(s->side->parity);
	int rc;

	/* extents are in no order of names */
	if (s->side->scan.lost > 0 ||
	    (files != NULL && bpk_parity_files_sort(files, &s->files, NULL) != 0))
		return false;
	rc = files == NULL ? bpk_source_open(s->in->path, &s->source, NULL)
			   : bpk_parity_files_source(s->in->place.directory, files, true,
						     &s->source, NULL);
	if (rc == 0)
		rc = bpk_parity_heal(s->side->parity, s->source, &s->side->scan, compare_cell, s,
				     NULL);
	if (s->ndiffering > 0)
		qsort(s->differing, s->ndiffering, sizeof *s->differing, compare_starts);
	return rc == 0;
}

static bool differs(const struct sought *s, const struct stretch *stretch)
{
	size_t i = s->ndiffering == 0 ? 0
				      : bpk_find_behind(&s->differing->start, sizeof *s->differing,
							s->ndiffering, stretch->end - 1);

	return i > 0 && s->differing[i - 1].end > stretch->start;
}

static void clear(struct sought *s)
{
	bpk_source_close(s->source);
	bpk_buf_clear(&s->cell);
	free(s->differing);
	free(s->damaged);
	free(s->files.files);
}

/* ---- the chunks ---- */

/* Where the bytes of a chunk are among those that parity covers, and its digest behind them, but in
 * frames; false: that is unknown. */
static bool find_stretch(const struct sought *s, uint64_t number, struct stretch *stretch,
			 struct stretch *digest)
{
	const struct bpk_checksum *checksum = s->in->info->chunks.checksum;
	struct bpk_where where = { 0 };

	if (s->in->format->reader->locate(s->in->reader, number, &where, NULL) != 0 ||
	    where.header.special != BPK_SPECIAL_NONE)
		return false;
	stretch->start = where.packed_offset;
	stretch->end = stretch->start + where.header.packed_size;
	if (!place_stretch(s, where.file, stretch))
		return false;
	digest->start = digest->end = stretch->end;
	if (checksum != NULL)
		digest->end += checksum->size;
	return true;
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

/* Note the damaged chunks that differ. False: an intact one does, as one that was written since; or
 * one together with its digest, which may have been written before it was damaged, but in the same
 * second; or memory is short. */
static bool find_damaged(struct sought *s)
{
	for (uint64_t n = 0; n < s->in->info->chunks.count; n++) {
		struct stretch stretch, digest, *grown;
		bool body, own;

		if (!find_stretch(s, n, &stretch, &digest)) {
			s->unplaced = true;
			continue;
		}
		body = differs(s, &stretch);
		own = differs(s, &digest);
		if (!body && !own)
			continue;
		if ((body && own && !s->same_second) || is_intact(s->in, n))
			return false;
		stretch.end = digest.end;
		grown = bpk_alloc_grow(s->damaged, s->ndamaged, &s->damaged_room, sizeof *grown,
				       NULL);
		if (grown == NULL)
			return false;
		s->damaged = grown;
		grown[s->ndamaged++] = stretch;
	}
	if (s->ndamaged > 0)
		qsort(s->damaged, s->ndamaged, sizeof *s->damaged, compare_starts);
	return true;
}

/* True if each byte that differs is of a damaged chunk. */
static bool are_covered(const struct sought *s)
{
	size_t next = 0;

	for (size_t i = 0; i < s->ndiffering; i++) {
		uint64_t at = s->differing[i].start;

		while (next < s->ndamaged && s->damaged[next].end <= at)
			next++;
		for (size_t k = next; k < s->ndamaged && s->damaged[k].start <= at; k++)
			at = bpk_max_u64(at, s->damaged[k].end);
		if (at < s->differing[i].end)
			return false;
	}
	return true;
}

/* ---- a change in the second of the parity ---- */

bool bpk_heal_look(struct bpk_input *in, const char *path)
{
	const struct bpk_read_options options = { .as_stored = true };

	if (bpk_input_look(in, path, NULL, NULL) == 0 && in->format != NULL)
		(void)bpk_input_read(in, &options, NULL);
	return in->place.source != NULL || in->place.directory != NULL;
}

/* True if an archive with checksums, which opens, differs by more than damaged chunks. */
static bool was_changed(const struct bpk_side *side, const struct bpk_input *in)
{
	struct sought s = { .side = side, .in = in, .same_second = true };
	const struct bpk_info *info = in->info;
	bool changed = false;

	if (in->reader == NULL || in->format->reader->locate == NULL || info->damage != NULL ||
	    info->chunks.count == BPK_UNKNOWN || info->chunks.checksum == NULL ||
	    info->chunks.checksum->size == 0)
		return false;
	if (find_differing(&s))
		changed = !find_damaged(&s) || (!s.unplaced && !are_covered(&s));
	clear(&s);
	return changed;
}

/* True if bytes behind the end that its parity records belong to the archive: an append wrote
 * these, whatever its time is. */
static bool has_appended(const struct bpk_side *side, const struct bpk_input *in)
{
	const struct bpk_reader_ops *ops = in->reader != NULL ? in->format->reader : NULL;
	uint64_t end;

	return ops != NULL && ops->tail != NULL && ops->end != NULL &&
	       bpk_side_has_grown(side, in->path) && ops->tail(in->reader, NULL) == 0 &&
	       ops->end(in->reader, &end, NULL) == 0 && end > bpk_parity_size(side->parity);
}

bool bpk_heal_is_unwritten(const struct bpk_side *side, const struct bpk_input *in)
{
	return bpk_side_is_unwritten(side, in->path) && !has_appended(side, in) &&
	       (bpk_side_is_exact(side, in->path) || !was_changed(side, in));
}

/* ---- other times ---- */

static bool has_same_sizes(const struct bpk_side *side)
{
	return side->drift.missing + side->drift.resized + side->drift.added == 0 &&
	       side->scan.size <= bpk_parity_size(side->parity);
}

bool bpk_heal_is_damage_alone(const struct bpk_side *side, const struct bpk_input *in)
{
	struct sought sought = { .side = side, .in = in };
	bool alone;

	if (bpk_side_is_unwritten(side, in->path))
		return bpk_heal_is_unwritten(side, in);
	/* bytes behind a sealed archive are no part of it, nor are those by which a file grew in no
	 * time */
	if (!bpk_side_has_damage(side) && in->info != NULL && in->info->seal.sealed)
		return true;
	if (!has_same_sizes(side) || !find_differing(&sought)) {
		clear(&sought);
		return false;
	}
	alone = in->reader == NULL || in->format->reader->locate == NULL ||
		in->info->chunks.count == BPK_UNKNOWN || find_damaged(&sought);
	alone = alone && are_covered(&sought);
	clear(&sought);
	return alone;
}

bool bpk_heal_keeps(const struct bpk_side *side, const struct bpk_input *in,
		    const struct bpk_salvage *found)
{
	struct sought sought = { .side = side, .in = in };
	bool keeps = find_differing(&sought);

	/* nothing proves chunks of a frame without its digests, and digests over all of them refute
	 * disordered ones: a change shows in sizes */
	if (keeps && (found->unnoticed || found->disordered) && has_same_sizes(side)) {
		clear(&sought);
		return true;
	}
	for (size_t i = 0; keeps && i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct stretch stretch = { saved->offset, saved->offset + saved->packed_size };

		if (!saved->intact || saved->unproven || saved->special != BPK_SPECIAL_NONE)
			continue;
		keeps = place_stretch(&sought,
				      found->files != NULL ? found->files[saved->file] : NULL,
				      &stretch) &&
			!differs(&sought, &stretch);
	}
	clear(&sought);
	return keeps;
}
