#include "flow/sample.h"

/*
 * The share of an input that is tried. Packing a piece takes about as long in a trial as in the
 * run, and choose.c packs each about six times: with a piece in 20 MiB that is 2% of the work of
 * one thread, and reading the window is another. A small input gives two pieces, which cost less
 * than starting the program.
 */
enum {
	SPACING = 20 << 20,
	MIN_PIECES = 2,
	WINDOW_SHARE = 32,
	MIN_WINDOW = 2 << 20,
};

static size_t pieces_for(uint64_t raw_size)
{
	return (size_t)bpk_max_u64(MIN_PIECES, bpk_min_u64(raw_size / SPACING, BPK_SAMPLE_PIECES));
}

static size_t window_for(uint64_t raw_size)
{
	uint64_t size =
		bpk_max_u64(MIN_WINDOW, bpk_min_u64(raw_size / WINDOW_SHARE, BPK_SAMPLE_WINDOW));

	return (size_t)bpk_min_u64(size, raw_size);
}

/* Where piece i of n lies: in the middle of its share, since an input may begin with a header. */
static uint64_t piece_offset(uint64_t raw_size, size_t i, size_t n)
{
	return (raw_size - BPK_SAMPLE_PIECE) / (2 * n) * (2 * i + 1);
}

static void add_piece(struct bpk_sample *sample, struct bpk_view piece)
{
	if (piece.size == 0)
		return;
	sample->pieces[sample->npieces++] = piece;
	sample->size += piece.size;
}

/* Pieces out of bytes that are all there. */
static void cut_pieces(struct bpk_sample *sample, struct bpk_view bytes, size_t npieces)
{
	if (bytes.size <= npieces * BPK_SAMPLE_PIECE) {
		add_piece(sample, bytes);
		return;
	}
	for (size_t i = 0; i < npieces; i++) {
		const uint8_t *at = bytes.data + piece_offset(bytes.size, i, npieces);

		add_piece(sample, bpk_view(at, BPK_SAMPLE_PIECE));
	}
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

/* The window from the middle, and pieces from everywhere. */
static int take_spread(struct bpk_source *source, uint64_t raw_size, struct bpk_sample *sample,
		       struct bpk_err *err)
{
	size_t window = window_for(raw_size), npieces = pieces_for(raw_size);

	if (bpk_buf_resize(&sample->bytes, window + npieces * BPK_SAMPLE_PIECE, err) != 0 ||
	    read_run(source, (raw_size - window) / 2, sample, 0, window, &sample->window, err) != 0)
		return -1;
	if (raw_size == window) {
		cut_pieces(sample, sample->window, npieces);
		return 0;
	}
	for (size_t i = 0; i < npieces; i++) {
		struct bpk_view run;

		if (read_run(source, piece_offset(raw_size, i, npieces), sample,
			     window + i * BPK_SAMPLE_PIECE, BPK_SAMPLE_PIECE, &run, err) != 0)
			return -1;
		add_piece(sample, run);
	}
	return 0;
}

/* A pipe that fills the window is taken for one that is much longer. */
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

/* ---- Lags ---- */

/* The compiler makes vector instructions of these on any machine. */
typedef uint8_t vector __attribute__((vector_size(16)));

static vector load(const uint8_t *p)
{
	vector v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* Bytes that equal the one lag before them, in p[0 .. size); at most 255 vectors, so that no lane
 * wraps. */
static uint32_t count_matches(const uint8_t *p, size_t size, size_t lag)
{
	vector lanes = { 0 };
	uint32_t matches = 0;

	for (size_t at = 0; at + sizeof lanes <= size; at += sizeof lanes)
		lanes -= (vector)(load(p + at) == load(p + at - lag));
	for (size_t i = 0; i < sizeof lanes; i++)
		matches += lanes[i];
	return matches;
}

void bpk_sample_lags(const struct bpk_sample *sample, uint32_t matches[BPK_SAMPLE_MAX_LAG + 1],
		     uint32_t *compared)
{
	enum { STRETCH = 2048 };

	memset(matches, 0, (BPK_SAMPLE_MAX_LAG + 1) * sizeof *matches);
	*compared = 0;
	for (size_t i = 0; i < sample->npieces; i++) {
		struct bpk_view piece = sample->pieces[i];
		const uint8_t *p;
		size_t size;

		if (piece.size < 2 * BPK_SAMPLE_MAX_LAG)
			continue;
		/* from the middle: the first piece may begin with a header */
		size = bpk_min_size(STRETCH, (piece.size - BPK_SAMPLE_MAX_LAG) / 16 * 16);
		p = piece.data + (piece.size + BPK_SAMPLE_MAX_LAG - size) / 2;
		for (size_t lag = 1; lag <= BPK_SAMPLE_MAX_LAG; lag++)
			matches[lag] += count_matches(p, size, lag);
		*compared += (uint32_t)size;
	}
}

/* ---- Repeats ---- */

enum {
	TABLE_BITS = 14,
	TABLE = 1 << TABLE_BITS,
	GRAM = 8,
	RUNS = 32,         /* of look-ups, spread over the window */
	SAME = 192,        /* bytes that must be equal: prose repeats words, a trajectory frames */
	ENOUGH = RUNS / 4, /* runs that repeat */
};

static size_t slot_of(uint64_t gram)
{
	return (size_t)(gram * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS));
}

/* Rows of one byte or word are packed well by any block. */
static bool is_dull(uint64_t gram)
{
	return (uint32_t)gram == (uint32_t)(gram >> 32);
}

/* Does the run of stride positions from start have a twin among the positions in table? */
static bool run_repeats(struct bpk_view window, const uint32_t table[TABLE], size_t start,
			size_t stride, size_t near)
{
	for (size_t at = start; at < start + stride && at + SAME <= window.size; at++) {
		uint64_t gram = bpk_get_le64(window.data + at);
		size_t other = table[slot_of(gram)];
		size_t distance = other > at ? other - at : at - other;

		if (distance > near && !is_dull(gram) && other + SAME <= window.size &&
		    memcmp(window.data + at, window.data + other, SAME) == 0)
			return true;
	}
	return false;
}

/*
 * Grams at every stride-th position go into a table, then runs of stride positions are looked up: a
 * repeat longer than stride + SAME bytes that begins before a run shows a position of the table,
 * whatever its distance. At 4 MiB this looks at 8192 grams and 16384 positions.
 */
bool bpk_sample_repeats_afar(const struct bpk_sample *sample, size_t near)
{
	struct bpk_view window = sample->window;
	size_t stride = bpk_max_u64(32, 2 * window.size / TABLE), repeats = 0;
	uint32_t table[TABLE] = { 0 };

	if (window.size < 2 * near || window.size < RUNS * (stride + SAME))
		return false;
	for (size_t at = 0; at + GRAM <= window.size; at += stride)
		table[slot_of(bpk_get_le64(window.data + at))] = (uint32_t)at;
	for (size_t i = 0; i < RUNS; i++)
		repeats += run_repeats(window, table, window.size / RUNS * i, stride, near);
	return repeats >= ENOUGH;
}
