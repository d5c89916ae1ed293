/*
 * The member DCD: trajectories of CHARMM, NAMD and X-PLOR. Its row is in layouts.c. A file is a
 * sequence of Fortran records, each between two markers that hold its size in bytes.
 *
 *     head     "CORD" (or "VELD": velocities) and 20 integers
 *     titles   a count, and lines of 80 bytes
 *     natoms   an integer
 *     free     only with fixed atoms: the numbers, from 1, of the free atoms
 *     frame 0  [cell] x y z [w]        each of them a record; w is the fourth dimension
 *     frame 1  [cell] x y z [w]        of the free atoms only
 *     ...
 *
 * All records of a kind have one size, so offsets are computed. The markers of a frame are read
 * when it is requested; those of frame 0 at open, to verify the head. The number of frames follows
 * from the file size, because the count in the head is written last, or never.
 *
 * Sources: CHARMM's documentation of its dynamics files (integers 1 to 4, 9, 11, 12, 20 of the
 * head), and the behaviour of the readers of VMD, NAMD and MDAnalysis. Both byte orders occur, and
 * some compilers write markers of 8 bytes.
 */
#include "layout/member.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	HEAD_SIZE = 84, /* "CORD" and its integers */
	NINTEGERS = 20,
	CELL_SIZE = 6 * 8,
	MAX_RECORDS = 5,
	LINE = 80,        /* bytes of a title */
	MOST_TITLES = 32, /* titles tried when their markers are wrong */
};

/* Indices into the head's integers. The counts of frames and steps, NFILE and NSTEP, are not
 * used. */
enum {
	NFILE = 0,
	ISTART = 1,
	NSAVC = 2,
	NSTEP = 3,
	NAMNF = 8,
	HAS_CELL = 10,
	HAS_4D = 11,
	CHARMM = 19,
};

struct dcd {
	struct bpk_source *source;
	char byte_order;    /* '<' or '>' */
	size_t marker_size; /* 4 or 8 */
	bool is_charmm;     /* false: X-PLOR, without cell and w */
	bool is_velocity;
	int32_t start, every; /* steps: of frame 0, and between frames */
	uint64_t natoms;
	uint64_t nfree;       /* number of atoms in all frames after the first */
	uint64_t free_offset; /* of the list of free atoms; 0: no list */
	uint64_t offset;      /* of frame 0 */
	uint64_t nframes;
	size_t nrecords; /* per frame */
	const char *records[MAX_RECORDS];
	char variant[64], damage[120];
	struct bpk_array array; /* of the last item returned */
};

/* ---- Records ---- */

static uint64_t get_integer(const struct dcd *dcd, const uint8_t *p, size_t size)
{
	if (size == 8)
		return dcd->byte_order == '<' ? bpk_get_le64(p) : bpk_get_be64(p);
	return dcd->byte_order == '<' ? bpk_get_le32(p) : bpk_get_be32(p);
}

static int read_integer(const struct dcd *dcd, uint64_t offset, size_t size, uint64_t *value,
			struct bpk_err *err)
{
	uint8_t bytes[8];

	if (bpk_source_need_at(dcd->source, offset, bpk_span(bytes, size), err) != 0)
		return -1;
	*value = get_integer(dcd, bytes, size);
	return 0;
}

/* Check both markers of the record at offset, which has size bytes. */
static int check_markers(const struct dcd *dcd, uint64_t offset, uint64_t size, const char *name,
			 struct bpk_err *err)
{
	uint64_t markers[2];

	if (read_integer(dcd, offset, dcd->marker_size, &markers[0], err) != 0 ||
	    read_integer(dcd, offset + dcd->marker_size + size, dcd->marker_size, &markers[1],
			 err) != 0)
		return -1;
	if (markers[0] != size || markers[1] != size)
		return bpk_fail(err, BPK_CORRUPT,
				"record '%s' is marked with %" PRIu64 " and %" PRIu64
				" bytes, expected %" PRIu64,
				name, markers[0], markers[1], size);
	return 0;
}

/* Read the record at *offset: *body and *size are its bytes; *offset moves past it. */
static int take_record(const struct dcd *dcd, const char *name, uint64_t *offset, uint64_t *body,
		       uint64_t *size, struct bpk_err *err)
{
	uint64_t end = bpk_source_size(dcd->source);

	if (read_integer(dcd, *offset, dcd->marker_size, size, err) != 0)
		return -1;
	*body = *offset + dcd->marker_size;
	if (!bpk_layout_fits(end, *body, *size) ||
	    !bpk_layout_fits(end, *body + *size, dcd->marker_size))
		return bpk_fail(err, BPK_CORRUPT,
				"record '%s' of %" PRIu64 " bytes ends behind the file", name,
				*size);
	if (check_markers(dcd, *offset, *size, name, err) != 0)
		return -1;
	*offset = *body + *size + dcd->marker_size;
	return 0;
}

/* The same for a known size. */
static int take_record_of(const struct dcd *dcd, const char *name, uint64_t expected,
			  uint64_t *offset, uint64_t *body, struct bpk_err *err)
{
	uint64_t size;

	if (take_record(dcd, name, offset, body, &size, err) != 0)
		return -1;
	if (size != expected)
		return bpk_fail(err, BPK_CORRUPT,
				"record '%s' has %" PRIu64 " bytes, expected %" PRIu64, name, size,
				expected);
	return 0;
}

/* ---- Frames ---- */

static uint64_t record_size(const struct dcd *dcd, uint64_t frame, size_t record)
{
	if (strcmp(dcd->records[record], "cell") == 0)
		return CELL_SIZE;
	return (frame == 0 ? dcd->natoms : dcd->nfree) * 4;
}

/* The sum cannot overflow: at most 5 records of 2^33 bytes. */
static uint64_t records_size(const struct dcd *dcd, uint64_t frame, size_t nrecords)
{
	uint64_t size = 0;

	for (size_t i = 0; i < nrecords; i++)
		size += record_size(dcd, frame, i) + 2 * dcd->marker_size;
	return size;
}

/* The offset of a record of a frame. The frame is inside the file, so the sum cannot overflow. */
static uint64_t record_offset(const struct dcd *dcd, uint64_t frame, size_t record)
{
	uint64_t offset = dcd->offset;

	if (frame > 0)
		offset += records_size(dcd, 0, dcd->nrecords) +
			  (frame - 1) * records_size(dcd, 1, dcd->nrecords);
	return offset + records_size(dcd, frame, record);
}

/* The step of a frame; unknown if the head has no sensible values. */
static uint64_t step_of(const struct dcd *dcd, uint64_t frame)
{
	uint64_t steps;

	if (dcd->start < 0 || dcd->every <= 0 ||
	    !bpk_mul_u64(frame, (uint64_t)dcd->every, &steps) ||
	    !bpk_add_u64(steps, (uint64_t)dcd->start, &steps))
		return BPK_UNKNOWN;
	return steps;
}

/* ---- Opening ---- */

static bool is_head(const uint8_t *p, size_t marker_size)
{
	return memcmp(p + marker_size, "CORD", 4) == 0 || memcmp(p + marker_size, "VELD", 4) == 0;
}

/* Detect byte order and marker size from the first marker. */
static bool recognise(struct bpk_view head, char *byte_order, size_t *marker_size)
{
	const uint8_t *p = head.data;

	if (head.size < 12 + HEAD_SIZE)
		return false;
	*byte_order = p[0] == HEAD_SIZE ? '<' : '>';
	*marker_size = 4;
	if (is_head(p, 4) && (bpk_get_le32(p) == HEAD_SIZE || bpk_get_be32(p) == HEAD_SIZE))
		return true;
	*marker_size = 8;
	return is_head(p, 8) && (bpk_get_le64(p) == HEAD_SIZE || bpk_get_be64(p) == HEAD_SIZE);
}

static bool dcd_probe(struct bpk_view head, uint64_t size)
{
	char byte_order;
	size_t marker_size;

	(void)size;
	return recognise(head, &byte_order, &marker_size);
}

/* The flags of cell and w share bytes with X-PLOR's time step, so they count only if the last
 * integer, CHARMM's version, is set. */
static int take_head(struct dcd *dcd, uint64_t *offset, int32_t *nfixed, struct bpk_err *err)
{
	uint8_t bytes[HEAD_SIZE];
	int32_t integers[NINTEGERS];
	uint64_t body;

	if (take_record_of(dcd, "head", HEAD_SIZE, offset, &body, err) != 0 ||
	    bpk_source_need_at(dcd->source, body, bpk_span(bytes, sizeof bytes), err) != 0)
		return -1;
	for (size_t i = 0; i < NINTEGERS; i++)
		integers[i] = (int32_t)get_integer(dcd, bytes + 4 + 4 * i, 4);
	dcd->is_velocity = bytes[0] == 'V';
	dcd->is_charmm = integers[CHARMM] != 0;
	dcd->start = integers[ISTART];
	dcd->every = integers[NSAVC];
	*nfixed = integers[NAMNF];
	if (dcd->is_charmm && integers[HAS_CELL] != 0)
		dcd->records[dcd->nrecords++] = "cell";
	dcd->records[dcd->nrecords++] = "x";
	dcd->records[dcd->nrecords++] = "y";
	dcd->records[dcd->nrecords++] = "z";
	if (dcd->is_charmm && integers[HAS_4D] == 1)
		dcd->records[dcd->nrecords++] = "w";
	return 0;
}

/* Check if the record of atoms follows nlines titles. offset is the first marker of the titles; on
 * success it moves to the record of atoms. */
static int try_titles(const struct dcd *dcd, uint64_t nlines, uint64_t *offset, bool *there,
		      struct bpk_err *err)
{
	uint64_t end = bpk_source_size(dcd->source), size = dcd->marker_size, marker;
	uint64_t next = *offset + size + 4 + LINE * nlines + size; /* far below 2^63 */

	*there = false;
	if (!bpk_layout_fits(end, next, 2 * size + 4))
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		if (read_integer(dcd, next + i * (size + 4), dcd->marker_size, &marker, err) != 0)
			return -1;
		if (marker != 4)
			return 0;
	}
	*there = true;
	*offset = next;
	return 0;
}

/*
 * Titles are comments. Some writers mark them with the size of more lines than they write, or count
 * them wrong. If the markers disagree, the record of atoms tells where the titles end. MDAnalysis,
 * which uses the count, reads such files too.
 */
static int skip_titles(const struct dcd *dcd, uint64_t *offset, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	uint64_t body, size, start = *offset;
	bool there = false;

	if (take_record(dcd, "titles", offset, &body, &size, &why) == 0)
		return 0;
	for (uint64_t n = 0; why.kind == BPK_CORRUPT && n <= MOST_TITLES; n++) {
		*offset = start;
		if (try_titles(dcd, n, offset, &there, err) != 0)
			return -1;
		if (there)
			return 0;
	}
	return bpk_fail_as(err, &why);
}

static int take_natoms(struct dcd *dcd, uint64_t *offset, int32_t nfixed, struct bpk_err *err)
{
	uint64_t body;

	if (skip_titles(dcd, offset, err) != 0 ||
	    take_record_of(dcd, "natoms", 4, offset, &body, err) != 0 ||
	    read_integer(dcd, body, 4, &dcd->natoms, err) != 0)
		return -1;
	if (dcd->natoms == 0 || dcd->natoms > INT32_MAX)
		return bpk_fail(err, BPK_CORRUPT, "file claims %d atoms, expected 1 or more",
				(int32_t)dcd->natoms);
	if (nfixed < 0 || (uint64_t)nfixed > dcd->natoms)
		return bpk_fail(err, BPK_CORRUPT, "%d atoms are fixed of %" PRIu64, nfixed,
				dcd->natoms);
	dcd->nfree = dcd->natoms - (uint64_t)nfixed;
	if (nfixed == 0)
		return 0;
	return take_record_of(dcd, "free", dcd->nfree * 4, offset, &dcd->free_offset, err);
}

/* Check the existing records of frame 0, to verify the head. */
static int check_first(const struct dcd *dcd, struct bpk_err *err)
{
	uint64_t end = bpk_source_size(dcd->source), marker;

	for (size_t i = 0; i < dcd->nrecords; i++) {
		uint64_t offset = record_offset(dcd, 0, i), size = record_size(dcd, 0, i);

		if (bpk_layout_fits(end, offset, size + 2 * dcd->marker_size)) {
			if (check_markers(dcd, offset, size, dcd->records[i], err) != 0)
				return -1;
		} else if (bpk_layout_fits(end, offset, dcd->marker_size)) {
			if (read_integer(dcd, offset, dcd->marker_size, &marker, err) != 0)
				return -1;
			if (marker != size)
				return bpk_fail(err, BPK_CORRUPT,
						"record '%s' is marked with %" PRIu64
						" bytes, expected %" PRIu64,
						dcd->records[i], marker, size);
			break;
		}
	}
	return 0;
}

static void count_frames(struct dcd *dcd, struct bpk_layout_info *info)
{
	uint64_t left = bpk_source_size(dcd->source) - dcd->offset;
	uint64_t first = records_size(dcd, 0, dcd->nrecords);
	uint64_t other = records_size(dcd, 1, dcd->nrecords), each = first;

	if (left >= first) {
		dcd->nframes = 1 + (left - first) / other;
		left = (left - first) % other;
		each = other;
	}
	if (left == 0)
		return;
	snprintf(dcd->damage, sizeof dcd->damage,
		 "frame %" PRIu64 " is cut short: %" PRIu64 " of %" PRIu64 " bytes are there",
		 dcd->nframes, left, each);
	info->damage = dcd->damage;
}

static void fill_info(struct dcd *dcd, struct bpk_layout_info *info)
{
	snprintf(dcd->variant, sizeof dcd->variant, "%s%s, %s-endian%s",
		 dcd->is_charmm ? "CHARMM" : "X-PLOR", dcd->is_velocity ? " velocities" : "",
		 dcd->byte_order == '<' ? "little" : "big",
		 dcd->marker_size == 8 ? ", 64-bit markers" : "");
	info->kind = "dcd";
	info->variant = dcd->variant;
	info->nframes = dcd->nframes;
	info->narrays = (dcd->free_offset != 0) + dcd->nframes * dcd->nrecords;
	if (dcd->nframes > 0)
		info->last_step = step_of(dcd, dcd->nframes - 1);
}

static int load(struct dcd *dcd, struct bpk_layout_info *info, struct bpk_err *err)
{
	uint8_t bytes[BPK_LAYOUT_HEAD];
	int32_t nfixed;
	size_t got;

	if (bpk_source_read_at(dcd->source, 0, bpk_span(bytes, sizeof bytes), &got, err) != 0)
		return -1;
	if (!recognise(bpk_view(bytes, got), &dcd->byte_order, &dcd->marker_size))
		return bpk_fail(err, BPK_CORRUPT, "file does not begin like a DCD file");
	if (take_head(dcd, &dcd->offset, &nfixed, err) != 0 ||
	    take_natoms(dcd, &dcd->offset, nfixed, err) != 0 || check_first(dcd, err) != 0)
		return -1;
	count_frames(dcd, info);
	fill_info(dcd, info);
	return 0;
}

static int dcd_open(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err)
{
	struct dcd *dcd = bpk_calloc(1, sizeof *dcd, err);

	if (dcd == NULL)
		return -1;
	dcd->source = source;
	if (load(dcd, info, err) != 0) {
		free(dcd);
		return -1;
	}
	*own = dcd;
	return 0;
}

static void dcd_close(void *own)
{
	free(own);
}

/* ---- Arrays ---- */

static int get_free(struct dcd *dcd, struct bpk_item *item, struct bpk_err *err)
{
	item->name = "free";
	item->array = &dcd->array;
	item->offset = dcd->free_offset;
	return bpk_layout_set_array(&dcd->array, 'i', dcd->byte_order, 4, &dcd->nfree, 1, err);
}

static int get_record(struct dcd *dcd, uint64_t frame, size_t record, struct bpk_item *item,
		      struct bpk_err *err)
{
	const char *name = dcd->records[record];
	uint64_t size = record_size(dcd, frame, record);
	uint64_t offset = record_offset(dcd, frame, record);
	uint32_t item_size = strcmp(name, "cell") == 0 ? 8 : 4;
	uint64_t nitems = size / item_size;

	item->name = name;
	item->frame = frame;
	item->step = step_of(dcd, frame);
	item->array = &dcd->array;
	item->offset = offset + dcd->marker_size;
	return bpk_layout_set_array(&dcd->array, 'f', dcd->byte_order, item_size, &nitems, 1, err);
}

/* The list of free atoms comes first, if there is one. */
static int dcd_get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct dcd *dcd = own;

	if (dcd->free_offset != 0 && number == 0)
		return get_free(dcd, item, err);
	number -= dcd->free_offset != 0;
	assert(number / dcd->nrecords < dcd->nframes);
	return get_record(dcd, number / dcd->nrecords, (size_t)(number % dcd->nrecords), item, err);
}

/* The same, after checking its markers. */
static int find_record(struct dcd *dcd, uint64_t frame, size_t record, struct bpk_item *item,
		       struct bpk_err *err)
{
	if (check_markers(dcd, record_offset(dcd, frame, record), record_size(dcd, frame, record),
			  dcd->records[record], err) != 0)
		return bpk_err_subject(err, "frame %" PRIu64, frame);
	return get_record(dcd, frame, record, item, err);
}

static int dcd_find(void *own, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err)
{
	struct dcd *dcd = own;

	(void)defaults;
	if (dcd->free_offset != 0 && strcmp(name, "free") == 0)
		return get_free(dcd, item, err);
	for (size_t i = 0; frame != BPK_UNKNOWN && i < dcd->nrecords; i++)
		if (strcmp(name, dcd->records[i]) == 0)
			return find_record(dcd, frame, i, item, err);
	return 1;
}

/* NAMD, CHARMM and LAMMPS rewrite both numbers after each frame. */
static size_t dcd_parts(const void *own, struct bpk_layout_part parts[BPK_LAYOUT_PARTS])
{
	const struct dcd *dcd = own;
	uint64_t integers = dcd->marker_size + 4;

	parts[0] = (struct bpk_layout_part){ "frame count", integers + 4 * NFILE, 4, false };
	parts[1] = (struct bpk_layout_part){ "step count", integers + 4 * NSTEP, 4, false };
	return 2;
}

const struct bpk_layout_ops bpk_layout_dcd = {
	.title = "DCD",
	.probe = dcd_probe,
	.open = dcd_open,
	.get = dcd_get,
	.find = dcd_find,
	.parts = dcd_parts,
	.close = dcd_close,
};
