/*
 * Samples: pieces of an input, so that each kind of region is represented, and a window for long
 * runs. choose.c takes one for each choice.
 */
#include "choose/sample.h"

#include <stdlib.h>

#include "choose/look.h"
#include "choose/tuning.h"

/* ---- Groups ---- */

/* Each region joins the nearest leader, or becomes one if all are far. */
static unsigned find_groups(const uint8_t *const regions[PROBES], uint8_t groups[PROBES])
{
	struct bpk_look leaders[BPK_SAMPLE_GROUPS], look;
	unsigned ngroups = 0;

	for (size_t i = 0; i < PROBES; i++) {
		unsigned nearest = UINT16_MAX + 1;

		bpk_look_at(regions[i], &look);
		for (unsigned g = 0; g < ngroups; g++) {
			unsigned far = bpk_look_distance(&look, &leaders[g]);

			if (far < nearest) {
				nearest = far;
				groups[i] = (uint8_t)g;
			}
		}
		if (nearest > 0 && ngroups < BPK_SAMPLE_GROUPS) {
			leaders[ngroups] = look;
			groups[i] = (uint8_t)ngroups++;
		}
	}
	return ngroups;
}

/* ---- Where pieces are taken ---- */

/* Spread over the input without a period: shifted by multiples of the golden ratio. */
static uint64_t probe_offset(uint64_t raw_size, size_t i)
{
	uint64_t share = raw_size / PROBES, slack = share - BPK_LOOK_REGION;
	uint64_t shift = (uint32_t)(i * 2654435769u) >> 16; /* of 65536 */

	return share * i + slack / 65536 * shift + slack % 65536 * shift / 65536;
}

/* Add the place of a piece, without its bytes. */
static void add_place(struct bpk_sample *sample, uint64_t offset, size_t size, uint32_t weight)
{
	struct bpk_views *pieces = &sample->pieces;

	sample->offsets[pieces->count] = offset;
	sample->size += size;
	pieces->all[pieces->count].size = size;
	pieces->weights[pieces->count++] = weight;
}

/* Each piece lies in the middle of its share, since an input may begin with a header. */
static void spread_evenly(uint64_t raw_size, struct bpk_sample *sample)
{
	for (size_t i = 0; i < PIECES; i++)
		add_place(sample, (raw_size - BPK_SAMPLE_PIECE) / (2 * PIECES) * (2 * i + 1),
			  BPK_SAMPLE_PIECE, 1);
}

/* A piece around the middle one of a group's probes. */
static void add_group(uint64_t raw_size, const uint8_t groups[PROBES], unsigned group, size_t size,
		      struct bpk_sample *sample)
{
	uint64_t middle = 0, half = size / 2;
	uint32_t members = 0, seen = 0;

	for (size_t i = 0; i < PROBES; i++)
		members += groups[i] == group;
	for (size_t i = 0; i < PROBES; i++)
		if (groups[i] == group && seen++ == members / 2)
			middle = probe_offset(raw_size, i);
	add_place(sample, bpk_min_u64(middle - bpk_min_u64(middle, half), raw_size - size), size,
		  members);
}

static void spread(uint64_t raw_size, const uint8_t *const regions[PROBES],
		   struct bpk_sample *sample)
{
	uint8_t groups[PROBES];
	unsigned ngroups = find_groups(regions, groups);

	sample->pieces.ngroups = ngroups;
	if (ngroups == 1)
		spread_evenly(raw_size, sample);
	/* more pieces are smaller, so that trials take about as long */
	for (unsigned g = 0; g < ngroups && ngroups > 1; g++)
		add_group(raw_size, groups, g,
			  bpk_min_size(BPK_SAMPLE_PIECE, PIECES * BPK_SAMPLE_PIECE / ngroups),
			  sample);
}

/* ---- Taking them ---- */

/* Behind the window: the probes are read there first, then the pieces. */
enum { ROOM = BPK_SAMPLE_GROUPS * BPK_SAMPLE_PIECE };

_Static_assert(PIECES *BPK_SAMPLE_PIECE <= ROOM &&
		       PIECES * BPK_SAMPLE_PIECE >= PROBES * BPK_LOOK_REGION,
	       "pieces have room, and probes do not overlap in inputs that are probed");

/* Bytes at offset: those of the window if it holds all that can be read, else read into room. */
static int get_bytes(const struct bpk_sample *sample, struct bpk_source *source, uint64_t offset,
		     struct bpk_span room, struct bpk_view *bytes, struct bpk_err *err)
{
	struct bpk_view window = sample->window;
	size_t got;

	if (sample->window_is_all) {
		*bytes = bpk_view(window.data + offset,
				  bpk_min_size(room.size, window.size - (size_t)offset));
		return 0;
	}
	if (bpk_source_read_at(source, offset, room, &got, err) != 0)
		return -1;
	*bytes = bpk_view(room.data, got);
	return 0;
}

/* The window from the middle, or the head of a pipe. */
static int take_window(struct bpk_source *source, uint64_t raw_size, struct bpk_span room,
		       struct bpk_sample *sample, struct bpk_err *err)
{
	int rc;

	if (!bpk_source_seekable(source)) {
		sample->window_is_all = true;
		return bpk_source_peek(source, room.size, &sample->window, err);
	}
	rc = get_bytes(sample, source, (raw_size - room.size) / 2, room, &sample->window, err);
	sample->window_is_all = raw_size == room.size;
	return rc;
}

/* Find places for pieces. Probes are read into room. A source that has become shorter since ends in
 * zeros here. */
static int find_places(struct bpk_source *source, uint64_t raw_size, uint8_t *room,
		       struct bpk_sample *sample, struct bpk_err *err)
{
	const uint8_t *regions[PROBES];

	sample->pieces.ngroups = 1;
	if (raw_size <= PIECES * BPK_SAMPLE_PIECE) {
		if (raw_size > 0)
			add_place(sample, 0, raw_size, 1);
		return 0;
	}
	for (size_t i = 0; i < PROBES; i++, room += BPK_LOOK_REGION) {
		struct bpk_view region;

		if (get_bytes(sample, source, probe_offset(raw_size, i),
			      bpk_span(room, BPK_LOOK_REGION), &region, err) != 0)
			return -1;
		if (region.size < BPK_LOOK_REGION)
			memset(room + region.size, 0, BPK_LOOK_REGION - region.size);
		regions[i] = region.data;
	}
	spread(raw_size, regions, sample);
	return 0;
}

static int take(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		struct bpk_err *err)
{
	struct bpk_span room;

	if (bpk_source_seekable(source))
		raw_size = bpk_min_u64(raw_size, bpk_source_size(source));
	room.size = (size_t)bpk_min_u64(raw_size, WINDOW);
	if (bpk_buf_resize(&sample->bytes, room.size + ROOM, err) != 0)
		return -1;
	room.data = sample->bytes.data;
	if (take_window(source, raw_size, room, sample, err) != 0)
		return -1;
	room.data += room.size;
	if (sample->window_is_all)
		raw_size = sample->window.size;
	if (find_places(source, raw_size, room.data, sample, err) != 0)
		return -1;
	for (size_t i = 0; i < sample->pieces.count; i++, room.data += BPK_SAMPLE_PIECE) {
		struct bpk_view *piece = &sample->pieces.all[i];

		room.size = piece->size;
		if (get_bytes(sample, source, sample->offsets[i], room, piece, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_sample_take(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		    struct bpk_err *err)
{
	*sample = (struct bpk_sample){ 0 };
	if (take(source, raw_size, sample, err) == 0)
		return 0;
	bpk_sample_clear(sample);
	return -1;
}

void bpk_sample_clear(struct bpk_sample *sample)
{
	bpk_buf_clear(&sample->bytes);
	*sample = (struct bpk_sample){ 0 };
}

int bpk_sample_around(const struct bpk_sample *sample, struct bpk_source *source, size_t piece,
		      size_t size, struct bpk_buf *buf, struct bpk_view *run, struct bpk_err *err)
{
	uint64_t middle = sample->offsets[piece] + sample->pieces.all[piece].size / 2;

	if (bpk_buf_resize(buf, size, err) != 0)
		return -1;
	return get_bytes(sample, source, middle - bpk_min_u64(middle, size / 2),
			 bpk_span(buf->data, size), run, err);
}

/* ---- Lags ---- */

void bpk_sample_lags(const struct bpk_sample *sample, uint32_t pieces,
		     uint32_t matches[BPK_SAMPLE_MAX_LAG + 1], uint32_t *compared)
{
	enum { STRETCH = 2048 };

	memset(matches, 0, (BPK_SAMPLE_MAX_LAG + 1) * sizeof *matches);
	*compared = 0;
	for (size_t i = 0; i < sample->pieces.count; i++) {
		struct bpk_view piece = sample->pieces.all[i];
		const uint8_t *p;
		size_t size;

		if ((pieces >> i & 1) == 0 || piece.size < 2 * BPK_SAMPLE_MAX_LAG)
			continue;
		/* from the middle: the first piece may begin with a header */
		size = bpk_min_size(STRETCH, (piece.size - BPK_SAMPLE_MAX_LAG) / 16 * 16);
		p = piece.data + (piece.size + BPK_SAMPLE_MAX_LAG - size) / 2;
		for (size_t lag = 1; lag <= BPK_SAMPLE_MAX_LAG; lag++)
			matches[lag] += bpk_look_matches(p, size, lag);
		*compared += (uint32_t)size;
	}
}

/* ---- Repeats ---- */

enum {
	TABLE_BITS = 14,
	TABLE = 1 << TABLE_BITS,
	GRAM = 8,
};

static size_t slot_of(uint64_t gram)
{
	return (size_t)(gram * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS));
}

/* Rows of one byte or word pack well in any block. */
static bool is_dull(uint64_t gram)
{
	return (uint32_t)gram == (uint32_t)(gram >> 32);
}

/* True if the run of stride positions from start has a copy among the positions in table. */
static bool run_repeats(struct bpk_view window, const uint32_t table[TABLE], size_t start,
			size_t stride)
{
	for (size_t at = start; at < start + stride && at + REPEAT_SIZE <= window.size; at++) {
		uint64_t gram = bpk_get_le64(window.data + at);
		size_t other = table[slot_of(gram)];
		size_t distance = other > at ? other - at : at - other;

		if (distance > BPK_SAMPLE_PIECE && !is_dull(gram) &&
		    other + REPEAT_SIZE <= window.size &&
		    memcmp(window.data + at, window.data + other, REPEAT_SIZE) == 0)
			return true;
	}
	return false;
}

/*
 * Grams at every stride-th position go into a table, then runs of stride positions are looked up: a
 * repeat longer than stride + REPEAT_SIZE bytes that begins before a run shows a position of the
 * table, whatever its distance. At 4 MiB this looks at 8192 grams and 16384 positions.
 */
int bpk_sample_repeats_afar(const struct bpk_sample *sample, bool *repeats, struct bpk_err *err)
{
	struct bpk_view window = sample->window;
	size_t stride = bpk_max_u64(32, 2 * window.size / TABLE);
	uint32_t *table;

	*repeats = false;
	if (window.size < REPEAT_RUNS * (stride + REPEAT_SIZE))
		return 0;
	table = bpk_calloc(TABLE, sizeof *table, err);
	if (table == NULL)
		return -1;
	for (size_t at = 0; at + GRAM <= window.size; at += stride)
		table[slot_of(bpk_get_le64(window.data + at))] = (uint32_t)at;
	for (size_t i = 0; i < REPEAT_RUNS && !*repeats; i++)
		*repeats = run_repeats(window, table, window.size / REPEAT_RUNS * i, stride);
	free(table);
	return 0;
}
