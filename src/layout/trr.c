/*
 * The member TRR, the full-precision trajectories of GROMACS: concatenated frames in XDR
 * (big-endian, RFC 4506). Its row is in layouts.c.
 *
 *     magic 1993, length of the version 13, again 12, "GMX_trn_file"
 *     sizes in bytes of ten parts: ir e box vir pres top sym x v f
 *     natoms, step, nre      integers
 *     time, lambda           reals of 4 or 8 bytes, which follows from the sizes
 *     box vir pres x v f     those of a size other than 0
 *
 * The parts ir, e, top and sym were never written. Frames differ in size (velocities in every tenth
 * only), so all heads are read at open, one read per frame. Consecutive frames with parts of equal
 * sizes are stored as one run.
 *
 * Source: the behaviour of GROMACS's own reader and of the library xdrfile.
 */
#include "layout/member.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
	MAGIC = 1993,
	VERSION_SIZE = 12,
	NSIZES = 10,
	FIXED_SIZE = 4 * 3 + VERSION_SIZE + 4 * (NSIZES + 3), /* of a head, without its reals */
	MAX_HEAD = FIXED_SIZE + 2 * 8,
};

static const char version[] = "GMX_trn_file";

/* The arrays of a frame, in file order. */
enum { TIME, LAMBDA, BOX, VIR, PRES, X, V, F, NPARTS };

static const char *const part_names[NPARTS] = { "time", "lambda", "box", "vir",
						"pres", "x",      "v",   "f" };

/* The index of each part in the ten sizes of the head; -1: no entry. */
static const int part_sizes[NPARTS] = { -1, -1, 2, 3, 4, 7, 8, 9 };

struct head {
	uint64_t sizes[NPARTS];
	uint32_t real_size; /* 4 or 8 */
	uint64_t natoms;
	int32_t step;
	uint64_t frame_size; /* including the head */
	uint64_t narrays;
};

/* Consecutive frames whose parts have the same sizes. */
struct run {
	/* of the first frame: its number, its head, its first array */
	uint64_t frame, offset, number;
	uint64_t frame_size, narrays; /* of each frame */
};

struct trr {
	struct bpk_source *source;
	const char *variant; /* of the first frame */
	uint64_t nframes, narrays;
	struct bpk_buf runs;
	struct head head; /* of the frame in frame */
	uint64_t frame;   /* BPK_UNKNOWN: no head is loaded */
	struct bpk_err damage;
	struct bpk_array array; /* of the last item returned */
};

static size_t nruns(const struct trr *trr)
{
	return trr->runs.size / sizeof(struct run);
}

static struct run *run_at(const struct trr *trr, size_t number)
{
	return (struct run *)(void *)trr->runs.data + number;
}

/* ---- Heads ---- */

static bool trr_probe(struct bpk_view head, uint64_t size)
{
	(void)size;
	return head.size >= FIXED_SIZE && bpk_get_be32(head.data) == MAGIC &&
	       bpk_get_be32(head.data + 4) == VERSION_SIZE + 1 &&
	       bpk_get_be32(head.data + 8) == VERSION_SIZE &&
	       memcmp(head.data + 12, version, VERSION_SIZE) == 0;
}

/* Size of a real, from the first part that is present, as in GROMACS; 0: unknown. */
static uint32_t real_size_of(const struct head *head)
{
	for (int i = BOX; i < NPARTS; i++) {
		uint64_t nreals = i < X ? 9 : head->natoms * 3;

		if (head->sizes[i] != 0 && nreals != 0 && head->sizes[i] == nreals * 4)
			return 4;
		if (head->sizes[i] != 0 && nreals != 0 && head->sizes[i] == nreals * 8)
			return 8;
	}
	return 0;
}

/* Each part must be complete or absent. */
static int check_sizes(struct head *head, struct bpk_err *err)
{
	head->real_size = real_size_of(head);
	if (head->real_size == 0)
		return bpk_fail(err, BPK_CORRUPT,
				"no part has the size that %" PRIu64 " atoms need", head->natoms);
	head->sizes[TIME] = head->sizes[LAMBDA] = head->real_size;
	head->frame_size = FIXED_SIZE;
	for (int i = 0; i < NPARTS; i++) {
		uint64_t nreals = i < BOX ? 1 : i < X ? 9 : head->natoms * 3;

		if (head->sizes[i] != 0 && head->sizes[i] != nreals * head->real_size)
			return bpk_fail(err, BPK_CORRUPT,
					"part '%s' has %" PRIu64 " bytes, expected %" PRIu64,
					part_names[i], head->sizes[i], nreals * head->real_size);
		head->frame_size += head->sizes[i];
		head->narrays += head->sizes[i] != 0;
	}
	return 0;
}

static int take_sizes(struct bpk_cursor *cursor, struct head *head, struct bpk_err *err)
{
	uint32_t sizes[NSIZES], natoms;
	uint64_t known = 0, all = 0;

	for (size_t i = 0; i < NSIZES; i++) {
		sizes[i] = bpk_cursor_be32(cursor);
		all += sizes[i];
		if (sizes[i] > INT32_MAX)
			return bpk_fail(err, BPK_CORRUPT, "head has a part of %d bytes",
					(int32_t)sizes[i]);
	}
	for (int i = BOX; i < NPARTS; i++) {
		head->sizes[i] = sizes[part_sizes[i]];
		known += head->sizes[i];
	}
	if (known != all)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"frame has parts other than box, vir, pres, x, v and f");
	natoms = bpk_cursor_be32(cursor);
	if (natoms > INT32_MAX)
		return bpk_fail(err, BPK_CORRUPT, "frame has %d atoms", (int32_t)natoms);
	head->natoms = natoms;
	head->step = (int32_t)bpk_cursor_be32(cursor);
	return check_sizes(head, err);
}

static int read_head(const struct trr *trr, uint64_t offset, struct head *head, struct bpk_err *err)
{
	uint8_t bytes[FIXED_SIZE];
	struct bpk_cursor cursor = bpk_cursor(bpk_view(bytes, sizeof bytes));

	*head = (struct head){ 0 };
	if (bpk_source_need_at(trr->source, offset, bpk_span(bytes, sizeof bytes), err) != 0)
		return -1;
	if (!trr_probe(bpk_view(bytes, sizeof bytes), 0))
		return bpk_fail(err, BPK_CORRUPT,
				"starts with %u, expected %d and the version '%s'",
				bpk_get_be32(bytes), MAGIC, version);
	bpk_cursor_take(&cursor, 12 + VERSION_SIZE);
	return take_sizes(&cursor, head, err);
}

/* ---- Opening ---- */

/* Add the frame whose head was just read, at offset. */
static int add_frame(struct trr *trr, uint64_t offset, struct bpk_err *err)
{
	struct run run = { trr->nframes, offset, trr->narrays, trr->head.frame_size,
			   trr->head.narrays };
	const struct run *last = nruns(trr) > 0 ? run_at(trr, nruns(trr) - 1) : NULL;

	if (last == NULL || last->frame_size != run.frame_size || last->narrays != run.narrays)
		if (bpk_buf_append(&trr->runs, bpk_view(&run, sizeof run), err) != 0)
			return -1;
	trr->frame = trr->nframes++;
	trr->narrays += run.narrays;
	return 0;
}

/* Go from head to head. *offset becomes the position of the first bad frame, or the end. Each frame
 * takes more than 84 bytes, so the file's size bounds the loop. */
static int walk(struct trr *trr, uint64_t *offset, int32_t *step, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(trr->source);

	for (*offset = 0; *offset < size; *offset += trr->head.frame_size) {
		if (read_head(trr, *offset, &trr->head, err) != 0)
			return -1;
		if (!bpk_layout_fits(size, *offset, trr->head.frame_size))
			return bpk_fail(err, BPK_CORRUPT,
					"it is cut short: %" PRIu64 " of %" PRIu64
					" bytes are there",
					size - *offset, trr->head.frame_size);
		if (add_frame(trr, *offset, err) != 0)
			return -1;
		if (trr->nframes == 1)
			trr->variant =
				trr->head.real_size == 8 ? "double precision" : "single precision";
		*step = trr->head.step;
	}
	return 0;
}

static int load(struct trr *trr, struct bpk_layout_info *info, struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	uint64_t offset;
	int32_t step = -1;

	if (walk(trr, &offset, &step, &found) != 0) {
		if (trr->nframes == 0 ||
		    (found.kind != BPK_CORRUPT && found.kind != BPK_UNSUPPORTED)) {
			if (err != NULL)
				*err = found;
			return -1;
		}
		bpk_err_subject(&found, "frame %" PRIu64 " at offset %" PRIu64, trr->nframes,
				offset);
		trr->damage = found;
		info->damage = trr->damage.text;
		trr->frame = BPK_UNKNOWN; /* head is of the bad frame */
	}
	info->kind = "trr";
	info->variant = trr->variant;
	info->nframes = trr->nframes;
	info->narrays = trr->narrays;
	info->last_step = step < 0 ? BPK_UNKNOWN : (uint64_t)step;
	return 0;
}

static void trr_close(void *own)
{
	struct trr *trr = own;

	bpk_buf_clear(&trr->runs);
	free(trr);
}

static int trr_open(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err)
{
	struct trr *trr = bpk_calloc(1, sizeof *trr, err);

	if (trr == NULL)
		return -1;
	trr->source = source;
	if (load(trr, info, err) != 0) {
		trr_close(trr);
		return -1;
	}
	*own = trr;
	return 0;
}

/* ---- Arrays ---- */

/* The last run whose first array, or first frame, is not above number. There is at least one
 * run. */
static const struct run *run_of(const struct trr *trr, uint64_t number, bool of_arrays)
{
	const struct run *first = run_at(trr, 0);
	const uint64_t *keys = of_arrays ? &first->number : &first->frame;

	return run_at(trr, bpk_find_last(keys, sizeof *first, nruns(trr), number));
}

/* Load the head of a frame of that run, unless it is loaded already. */
static int load_frame(struct trr *trr, const struct run *run, uint64_t frame, struct bpk_err *err)
{
	uint64_t offset = run->offset + (frame - run->frame) * run->frame_size;

	if (trr->frame == frame)
		return 0;
	trr->frame = BPK_UNKNOWN;
	if (read_head(trr, offset, &trr->head, err) != 0)
		return bpk_err_subject(err, "frame %" PRIu64, frame);
	if (trr->head.frame_size != run->frame_size || trr->head.narrays != run->narrays)
		return bpk_fail(err, BPK_CORRUPT,
				"frame %" PRIu64 " changed since it was first read", frame);
	trr->frame = frame;
	return 0;
}

static int set_shape(struct trr *trr, int part, struct bpk_err *err)
{
	uint64_t shape[2] = { part < X ? 3 : trr->head.natoms, 3 };

	return bpk_layout_set_array(&trr->array, 'f', '>', trr->head.real_size, shape,
				    part < BOX ? 0 : 2, err);
}

/* Return a part, which exists, of the loaded frame. */
static int give(struct trr *trr, const struct run *run, int part, struct bpk_item *item,
		struct bpk_err *err)
{
	item->name = part_names[part];
	item->frame = trr->frame;
	item->step = trr->head.step < 0 ? BPK_UNKNOWN : (uint64_t)trr->head.step;
	item->array = &trr->array;
	item->offset = run->offset + (trr->frame - run->frame) * run->frame_size + FIXED_SIZE;
	for (int i = 0; i < part; i++)
		item->offset += trr->head.sizes[i];
	return set_shape(trr, part, err);
}

static int trr_get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct trr *trr = own;
	const struct run *run;
	uint64_t left;
	int part = 0;

	assert(number < trr->narrays);
	run = run_of(trr, number, true);
	left = (number - run->number) % run->narrays;
	if (load_frame(trr, run, run->frame + (number - run->number) / run->narrays, err) != 0)
		return -1;
	while (trr->head.sizes[part] == 0 || left-- > 0)
		part++;
	return give(trr, run, part, item, err);
}

static int trr_find(void *own, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err)
{
	struct trr *trr = own;
	const struct run *run;

	(void)defaults;
	if (frame == BPK_UNKNOWN)
		return 1;
	run = run_of(trr, frame, false);
	if (load_frame(trr, run, frame, err) != 0)
		return -1;
	for (int i = 0; i < NPARTS; i++)
		if (trr->head.sizes[i] != 0 && strcmp(name, part_names[i]) == 0)
			return give(trr, run, i, item, err);
	return 1;
}

const struct bpk_layout_ops bpk_layout_trr = {
	.title = "TRR",
	.probe = trr_probe,
	.open = trr_open,
	.get = trr_get,
	.find = trr_find,
	.close = trr_close,
};
