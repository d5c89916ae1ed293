/*
 * Samples: pieces of an input, so that each kind of region is represented, and a window for long
 * runs. choose.c takes one for each choice.
 */
#include "choose/sample.h"

#include <stdlib.h>

#include "choose/tuning.h"

/*
 * The number of pieces for an input. Packing a piece takes about as long in a trial as in the run,
 * and choose.c packs each about six times: with a piece in 20 MiB that is 2% of the work of one
 * thread, and reading the window is another. A small input gives two pieces, which cost less than
 * starting the program.
 */
static size_t pieces_for(uint64_t raw_size)
{
	return (size_t)bpk_max_u64(MIN_PIECES,
				   bpk_min_u64(raw_size / PIECE_SPACING, BPK_SAMPLE_PIECES));
}

static size_t window_for(uint64_t raw_size)
{
	uint64_t size =
		bpk_max_u64(MIN_WINDOW, bpk_min_u64(raw_size / WINDOW_SHARE, BPK_SAMPLE_WINDOW));

	return (size_t)bpk_min_u64(size, raw_size);
}

/* The offset of piece i of n: in the middle of its share, since an input may begin with a
 * header. */
static uint64_t piece_offset(uint64_t raw_size, size_t i, size_t n)
{
	return (raw_size - BPK_SAMPLE_PIECE) / (2 * n) * (2 * i + 1);
}

/* ---- Where pieces are taken ---- */

/* Spread over the input without a period: shifted by multiples of the golden ratio. */
static uint64_t probe_offset(uint64_t raw_size, size_t i)
{
	uint64_t share = raw_size / PROBES, slack = share - BPK_PROBE_REGION;
	uint64_t shift = (uint32_t)(i * 2654435769u) >> 16; /* of 65536 */

	return share * i + slack / 65536 * shift + slack % 65536 * shift / 65536;
}

/* Add the place of a piece, without its bytes. */
static void add_place(struct bpk_sample *sample, uint64_t offset, size_t size, unsigned group,
		      uint32_t weight)
{
	struct bpk_views *pieces = &sample->pieces;

	sample->offsets[pieces->count] = offset;
	sample->size += size;
	pieces->all[pieces->count].size = size;
	pieces->groups[pieces->count] = (uint8_t)group;
	pieces->weights[pieces->count++] = weight;
}

static void spread_evenly(uint64_t raw_size, size_t npieces, struct bpk_sample *sample)
{
	for (size_t i = 0; i < npieces; i++)
		add_place(sample, piece_offset(raw_size, i, npieces), BPK_SAMPLE_PIECE, 0, 1);
}

/* The number of pieces for each group: one, and more if a piece represents most probes. */
static void share_pieces(const size_t members[], unsigned ngroups, size_t npieces, size_t pieces[])
{
	for (unsigned g = 0; g < ngroups; g++)
		pieces[g] = 1;
	for (size_t left = npieces > ngroups ? npieces - ngroups : 0; left > 0; left--) {
		unsigned most = 0;

		for (unsigned g = 1; g < ngroups; g++)
			if (members[g] * pieces[most] > members[most] * pieces[g])
				most = g;
		pieces[most]++;
	}
}

/* Pieces of some size around some of a group's probes. */
static void spread_group(uint64_t raw_size, const uint8_t groups[PROBES], unsigned group,
			 size_t npieces, size_t size, struct bpk_sample *sample)
{
	size_t members = 0, seen = 0, taken = 0;

	for (size_t i = 0; i < PROBES; i++)
		members += groups[i] == group;
	for (size_t i = 0; i < PROBES && taken < npieces; i++) {
		uint64_t middle = probe_offset(raw_size, i), half = size / 2;

		if (groups[i] != group || seen++ != (2 * taken + 1) * members / (2 * npieces))
			continue;
		add_place(sample, bpk_min_u64(middle - bpk_min_u64(middle, half), raw_size - size),
			  size, group, (uint32_t)(members * WEIGHT / npieces));
		taken++;
	}
}

static void spread(uint64_t raw_size, size_t npieces, const uint8_t *const regions[PROBES],
		   struct bpk_sample *sample)
{
	uint8_t groups[PROBES];
	size_t members[BPK_SAMPLE_GROUPS] = { 0 }, pieces[BPK_SAMPLE_GROUPS], size;
	unsigned ngroups = bpk_sample_group(regions, PROBES, groups);

	sample->pieces.ngroups = ngroups;
	if (ngroups == 1) {
		spread_evenly(raw_size, npieces, sample);
		return;
	}
	for (size_t i = 0; i < PROBES; i++)
		members[groups[i]]++;
	/* more pieces than were asked for are smaller, so that trials take about as long */
	size = bpk_min_size(BPK_SAMPLE_PIECE, npieces * BPK_SAMPLE_PIECE / ngroups);
	share_pieces(members, ngroups, npieces, pieces);
	for (unsigned g = 0; g < ngroups; g++)
		spread_group(raw_size, groups, g, pieces[g], size, sample);
}

/* ---- Taking them ---- */

/* Pieces out of bytes that are all in memory. */
static void cut_pieces(struct bpk_sample *sample, struct bpk_view bytes, size_t npieces)
{
	const uint8_t *regions[PROBES];

	sample->pieces.ngroups = 1;
	if (bytes.size > npieces * BPK_SAMPLE_PIECE) {
		for (size_t i = 0; i < PROBES; i++)
			regions[i] = bytes.data + probe_offset(bytes.size, i);
		spread(bytes.size, npieces, regions, sample);
	} else if (bytes.size > 0) {
		add_place(sample, 0, bytes.size, 0, 1);
	}
	for (size_t i = 0; i < sample->pieces.count; i++)
		sample->pieces.all[i].data = bytes.data + sample->offsets[i];
}

/* Read size bytes at offset to the place at in sample->bytes. */
static int read_run(struct bpk_source *source, uint64_t offset, struct bpk_sample *sample,
		    size_t at, size_t size, struct bpk_view *run, struct bpk_err *err)
{
	size_t got;

	if (bpk_source_read_at(source, offset, bpk_span(sample->bytes.data + at, size), &got,
			       err) != 0)
		return -1;
	*run = bpk_view(sample->bytes.data + at, got);
	return 0;
}

/* Read the probes of a source that is larger than the window. A source that has become shorter
 * since ends in zeros here. */
static int probe(struct bpk_source *source, uint64_t raw_size, size_t npieces,
		 struct bpk_sample *sample, struct bpk_err *err)
{
	uint8_t *bytes = bpk_calloc(PROBES, BPK_PROBE_REGION, err);
	const uint8_t *regions[PROBES];
	size_t got;
	int rc = bytes == NULL ? -1 : 0;

	for (size_t i = 0; i < PROBES && rc == 0; i++) {
		uint8_t *at = bytes + i * BPK_PROBE_REGION;

		regions[i] = at;
		rc = bpk_source_read_at(source, probe_offset(raw_size, i),
					bpk_span(at, BPK_PROBE_REGION), &got, err);
	}
	if (rc == 0)
		spread(raw_size, npieces, regions, sample);
	free(bytes);
	return rc;
}

/* The window from the middle, and pieces from everywhere. */
static int take_spread(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		       struct bpk_err *err)
{
	size_t window = window_for(raw_size), npieces = pieces_for(raw_size);

	if (bpk_buf_resize(&sample->bytes, window + BPK_SAMPLE_PIECES * BPK_SAMPLE_PIECE, err) !=
		    0 ||
	    read_run(source, (raw_size - window) / 2, sample, 0, window, &sample->window, err) != 0)
		return -1;
	if (raw_size == window) {
		cut_pieces(sample, sample->window, npieces);
		return 0;
	}
	if (probe(source, raw_size, npieces, sample, err) != 0)
		return -1;
	for (size_t i = 0; i < sample->pieces.count; i++) {
		struct bpk_view *piece = &sample->pieces.all[i];

		if (read_run(source, sample->offsets[i], sample, window + i * BPK_SAMPLE_PIECE,
			     piece->size, piece, err) != 0)
			return -1;
	}
	return 0;
}

/* A pipe that fills the window counts as much longer. */
static int take_head(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		     struct bpk_err *err)
{
	size_t size = (size_t)bpk_min_u64(raw_size, BPK_SAMPLE_WINDOW);

	if (bpk_source_peek(source, size, &sample->window, err) != 0)
		return -1;
	cut_pieces(sample, sample->window,
		   sample->window.size < BPK_SAMPLE_WINDOW ? MIN_PIECES : BPK_SAMPLE_PIECES / 2);
	return 0;
}

int bpk_sample_take(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		    struct bpk_err *err)
{
	int rc;

	*sample = (struct bpk_sample){ 0 };
	if (bpk_source_seekable(source))
		rc = take_spread(source, bpk_min_u64(raw_size, bpk_source_size(source)), sample,
				 err);
	else
		rc = take_head(source, raw_size, sample, err);
	if (rc != 0)
		bpk_sample_clear(sample);
	return rc;
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
	uint64_t start = middle - bpk_min_u64(middle, size / 2);
	const struct bpk_view *window = &sample->window;
	size_t got;

	if (!bpk_source_seekable(source)) { /* the window is its head */
		*run = bpk_view(window->data + start, bpk_min_size(size, window->size - start));
		return 0;
	}
	if (bpk_buf_resize(buf, size, err) != 0 ||
	    bpk_source_read_at(source, start, bpk_span(buf->data, size), &got, err) != 0)
		return -1;
	*run = bpk_view(buf->data, got);
	return 0;
}

/* ---- Lags ---- */

/* The compiler makes vector instructions of these on any machine. */
typedef uint8_t vector __attribute__((vector_size(16)));

static vector load(const uint8_t *p)
{
	vector v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* At most 255 vectors, so that no lane wraps. */
uint32_t bpk_sample_matches(const uint8_t *p, size_t size, size_t lag)
{
	vector lanes = { 0 };
	uint32_t matches = 0;

	for (size_t at = 0; at + sizeof lanes <= size; at += sizeof lanes)
		lanes -= (vector)(load(p + at) == load(p + at - lag));
	for (size_t i = 0; i < sizeof lanes; i++)
		matches += lanes[i];
	return matches;
}

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
			matches[lag] += bpk_sample_matches(p, size, lag);
		*compared += (uint32_t)size;
	}
}

/* ---- Groups ---- */

/*
 * Regions of an input are unlike each other if they differ in the distances at which bytes are
 * equal: elements of four bytes match at 4, 8, 12 ..., prose a little everywhere, noise nowhere.
 * Trials decide whether two regions need different filters; groups only keep the samples from
 * missing one of them.
 */

/* Counts are alike if their difference is chance: GROUP_SCATTER percent of the compared bytes, or
 * GROUP_SHARE percent of the larger count. */
enum { LAGS = 32, COMPARED = BPK_PROBE_REGION - LAGS };

/* The statistics of a region: matches at each lag from 1 on. */
struct look {
	uint16_t matches[LAGS];
};

static void look_at(const uint8_t *region, struct look *look)
{
	for (size_t lag = 1; lag <= LAGS; lag++)
		look->matches[lag - 1] = (uint16_t)bpk_sample_matches(region + LAGS, COMPARED, lag);
}

/* The largest of the differences, without those due to chance and a change of scale; 0: alike. */
static unsigned distance(const struct look *a, const struct look *b)
{
	unsigned most = 0;

	for (size_t i = 0; i < LAGS; i++) {
		unsigned more = a->matches[i], less = b->matches[i], slack;

		if (more < less) {
			more = less;
			less = a->matches[i];
		}
		slack = (COMPARED * GROUP_SCATTER + more * GROUP_SHARE) / 100;
		if (more - less > slack + most)
			most = more - less - slack;
	}
	return most;
}

/* Each region joins the nearest leader, or becomes one if all are far. */
unsigned bpk_sample_group(const uint8_t *const regions[], size_t n, uint8_t groups[])
{
	struct look leaders[BPK_SAMPLE_GROUPS], look;
	unsigned ngroups = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned nearest = UINT16_MAX + 1;

		look_at(regions[i], &look);
		for (unsigned g = 0; g < ngroups; g++) {
			unsigned far = distance(&look, &leaders[g]);

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
