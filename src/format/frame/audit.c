/*
 * Accounts for every byte of a frame outside its chunks, for other files in a sparse one's
 * directory, and for chunks that bpk's digests do not cover: bpk_reader_ops.audit. Called through
 * the row of reader_ops.c.
 */
#include "format/frame/fetch.h"
#include "format/frame/names.h"
#include "format/frame/open.h"
#include "format/frame/seal.h"
#include "format/frame/validate.h"

#include <inttypes.h>

enum { MOST_NAMES = 20 }; /* most foreign files that are reported by name */

struct audit {
	struct bpk_frame_reader *reader;
	struct bpk_remarks to;
	struct bpk_frame_survey survey;
	struct bpk_buf ids;          /* of a sparse frame's files */
	uint64_t norphans, nstrange; /* files without a chunk in the index; other foreign files */
	struct bpk_err *err;
};

/* ---- Bytes ---- */

static int audit_sizes(struct audit *a, struct bpk_err *err)
{
	const struct bpk_frame_header *header = &a->reader->state.header;

	if (bpk_frame_fetch_survey(a->reader, &a->survey, err) != 0)
		return -1;
	if (a->survey.raw_size != header->raw_size && a->reader->sizes.damage.kind == BPK_OK)
		return bpk_fail(err, BPK_CORRUPT,
				"chunks unpack to %" PRIu64
				" bytes in all, the header says %" PRIu64,
				a->survey.raw_size, header->raw_size);
	if (a->survey.excess.kind != BPK_OK)
		return bpk_fail(err, BPK_CORRUPT, "%s", a->survey.excess.text);
	return 0;
}

/* Compare flags that readers ignore ("Version 3 additions"). */
static void compare_flags(const struct audit *a)
{
	enum { FLAGS = 25, VARIABLE_CHUNKS = 0x40, VARIABLE_BLOCKS = 0x80 };
	const struct bpk_frame_state *state = &a->reader->state;
	unsigned flags = state->head.data[FLAGS];
	bool chunks = (flags & VARIABLE_CHUNKS) != 0, blocks = (flags & VARIABLE_BLOCKS) != 0;

	if (state->header.version == 1)
		return;
	if (chunks != (state->header.chunk_size == 0))
		bpk_remark(&a->to,
			   "header's flags say that chunk sizes %s, its chunk size that they %s",
			   chunks ? "differ" : "are the same", chunks ? "are the same" : "differ");
	if (blocks != a->survey.variable_blocks && state->nchunks > 0)
		bpk_remark(&a->to,
			   "header's flags say that blocks are of %s length, the chunks' that they "
			   "are%s",
			   blocks ? "variable" : "one", blocks ? " not" : "");
}

static void report_survey(const struct audit *a)
{
	const struct bpk_frame_reader *r = a->reader;
	const struct bpk_frame_survey *s = &a->survey;
	const struct bpk_remarks *to = &a->to;

	compare_flags(a);
	if (r->state.header.raw_size == 0 && s->hole_size > 0)
		bpk_remark(to, "the header says that there is no data");
	if (s->nuneven > 0)
		bpk_remark(to, "%" PRIu64 " chunks before the last are shorter than the chunk size",
			   s->nuneven);
	if (s->ntypes > 0)
		bpk_remark(to,
			   "%" PRIu64 " chunks have another typesize than the header's %" PRIu32
			   ", chunk %" PRIu64
			   " first with %u: c-blosc2 may not take slices of them",
			   s->ntypes, r->state.header.typesize, s->first_type, s->typesize);
	if (s->hole_size > 0)
		bpk_remark(to, "%" PRIu64 " %s in %" PRIu64 " %s, which nothing refers to",
			   s->hole_size, bpk_plural(s->hole_size, "byte", "bytes"), s->nholes,
			   bpk_plural(s->nholes, "hole", "holes"));
	if (s->nshared > 0)
		bpk_remark(to, "%" PRIu64 " %s stored at the place of another", s->nshared,
			   bpk_plural(s->nshared, "chunk is", "chunks are"));
	if (s->noverlaps > 0)
		bpk_remark(to,
			   "%" PRIu64 " chunks share bytes with others, chunk %" PRIu64
			   " with chunk %" PRIu64 " first",
			   s->noverlaps, s->first_overlap[1], s->first_overlap[0]);
	if (r->dir != NULL && s->packed_size != r->state.header.packed_size)
		bpk_remark(to, "chunks have %" PRIu64 " bytes in all, the header says %" PRIu64,
			   s->packed_size, r->state.header.packed_size);
}

/* ---- Digests older than another program's changes ---- */

/* Test whether chunk number has the digest of an older chunk. Returns 1 or 0, or -1 if it cannot be
 * read. */
static int compare_chunk(const struct audit *a, uint64_t number, struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	const struct bpk_checksum *checksum = a->reader->state.digests.checksum;
	uint8_t now[BPK_DIGEST_MAX];

	parcel->number = number;
	parcel->want_size = SIZE_MAX;
	if (bpk_frame_fetch(a->reader, parcel, err) != 0 ||
	    bpk_checksum_compute(checksum, bpk_view(parcel->packed.data, parcel->packed_size), now,
				 err) != 0)
		return -1;
	return bpk_frame_has_digest(a->reader, now, err);
}

/* Another program changed the frame and kept the digests: count the chunks that still agree. */
static int audit_stale(const struct audit *a, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &a->reader->state;
	uint64_t nagree = 0, ndiffer = 0, nwithout = 0, entry;
	struct bpk_parcel parcel = { 0 };
	int rc = 0;

	for (uint64_t i = 0; rc >= 0 && i < state->nchunks; i++) {
		rc = bpk_frame_entry(state, i, &entry, err);
		if (rc == 0 && bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE)
			continue;
		if (rc == 0)
			rc = compare_chunk(a, i, &parcel, err);
		if (rc < 0)
			break;
		if (rc > 0)
			nagree++;
		else if (i < state->digests.nchunks)
			ndiffer++;
		else
			nwithout++;
	}
	bpk_buf_clear(&parcel.packed);
	if (rc < 0)
		return -1;
	bpk_remark(&a->to,
		   "another program changed it since bpk wrote its digests: %" PRIu64
		   " chunks match their digests, %" PRIu64 " differ, %" PRIu64 " have no digest",
		   nagree, ndiffer, nwithout);
	if (ndiffer > 0)
		bpk_remark(
			&a->to,
			"no checksum shows whether the chunks that differ were changed or damaged");
	bpk_remark(&a->to,
		   "bpk repair --reseal FILE writes new digests for the chunks that unpack");
	return 0;
}

/* ---- Files of a sparse frame ---- */

/* Report a file without a chunk, left by a killed writer or an update to a special value. */
static int visit_chunk_file(struct audit *a, const char *name)
{
	enum bpk_entry entry;
	uint64_t size;

	if (bpk_dir_look(a->reader->dir, name, &entry, &size, a->err) != 0)
		return -1;
	if (entry == BPK_ENTRY_FILE && a->norphans++ < MOST_NAMES)
		bpk_remark(&a->to, "%s is not the file of any chunk%s", name,
			   size == 0 ? ", and empty" : "");
	return 0;
}

static int visit_file(void *arg, const char *name, enum bpk_entry entry)
{
	struct audit *a = arg;
	uint32_t id;

	if (entry == BPK_ENTRY_OTHER)
		return bpk_fail(a->err, BPK_CORRUPT,
				"%s is a link, a device or a FIFO, expected files", name);
	if (entry == BPK_ENTRY_FILE && bpk_frame_file_id(name, &id))
		return bpk_frame_ids_have(&a->ids, id) ? 0 : visit_chunk_file(a, name);
	if ((entry != BPK_ENTRY_FILE || !bpk_frame_owns(name)) && a->nstrange++ < MOST_NAMES)
		bpk_remark(&a->to, "%s is not part of the frame", name);
	return 0;
}

static int audit_files(struct audit *a, struct bpk_err *err)
{
	int rc;

	if (!bpk_dir_lists(a->reader->dir)) {
		bpk_remark_unlisted(&a->to);
		return 0;
	}
	rc = bpk_frame_ids_of_state(&a->reader->state, &a->ids, err);
	a->err = err;
	if (rc == 0)
		rc = bpk_dir_list(a->reader->dir, "", visit_file, a, err);
	bpk_buf_clear(&a->ids);
	if (rc == 0 && a->norphans > MOST_NAMES)
		bpk_remark(&a->to, "%" PRIu64 " files in all that are not of any chunk",
			   a->norphans);
	if (rc == 0 && a->nstrange > MOST_NAMES)
		bpk_remark(&a->to, "%" PRIu64 " files in all that are not part of the frame",
			   a->nstrange);
	return rc;
}

/* ---- The seal ---- */

/* A frame that follows would be read as more data. Other bytes may be those of an interrupted
 * append, which format/members judges. */
static int check_followers(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	uint64_t end = r->state.header.frame_size, size = bpk_source_size(r->source);
	uint8_t head[BPK_PROBE_SIZE];
	size_t got = 0;
	uint32_t header_size;

	if (r->dir != NULL || size <= end)
		return 0;
	if (bpk_source_read_at(r->source, end, bpk_span(head, sizeof head), &got, err) != 0)
		return -1;
	return bpk_frame_header_size(bpk_view(head, got), &header_size, NULL) == 0
		       ? bpk_seal_check_end(end, size, err)
		       : 0;
}

/* bpk stores each chunk in a place of its own; one that stands for many would be read as often. */
static int audit_seal(const struct audit *a, struct bpk_err *err)
{
	struct bpk_frame_reader *r = a->reader;

	if (!r->state.seal.marked && !r->state.seal.recorded)
		return 0;
	if (a->survey.nshared > 0 || a->survey.noverlaps > 0)
		return bpk_fail(err, BPK_CORRUPT,
				"chunks of a sealed frame have bytes in common, which its writer "
				"does not make");
	if (check_followers(r, err) != 0)
		return -1;
	return bpk_frame_seal_audit(r, err);
}

/* ---- The whole ---- */

static int audit_all(struct bpk_frame_reader *r, bpk_remark_fn *remark, void *arg,
		     struct bpk_err *err)
{
	struct audit a = { .reader = r, .to = { remark, arg } };

	if (r->state.damage.kind != BPK_OK)
		return bpk_fail_as(err, &r->state.damage);
	if (r->array.damage.kind != BPK_OK)
		return bpk_fail_as(err, &r->array.damage);
	if (bpk_frame_check_end(r, err) != 0 || audit_sizes(&a, err) != 0)
		return -1;
	if (r->sizes.damage.kind == BPK_CORRUPT)
		return bpk_fail(err, BPK_CORRUPT, "%s", r->sizes.damage.text);
	if (r->dir == NULL)
		r->info.hole_size = a.survey.hole_size;
	if (r->state.stale && !r->options.no_check && audit_stale(&a, err) != 0)
		return -1;
	if (r->state.stale_header)
		bpk_remark(&a.to,
			   "another program wrote its header since bpk did; bpk repair --reseal "
			   "FILE writes new digests");
	if (audit_seal(&a, err) != 0 || (r->dir != NULL && audit_files(&a, err) != 0))
		return -1;
	report_survey(&a);
	if (r->sizes.damage.kind != BPK_OK)
		return bpk_fail_as(err, &r->sizes.damage);
	return 0;
}

/* A frame that a writer changed meanwhile is audited again, in its new state. */
int bpk_frame_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	struct bpk_frame_reader *r = reader, *now = r;
	struct bpk_err found = { 0 };
	int rc = audit_all(r, remark, arg, &found);

	for (int i = 0; rc != 0 && i < BPK_FRAME_TIMES && found.kind == BPK_CORRUPT &&
			bpk_frame_has_changed(now);
	     i++) {
		if (now != r)
			bpk_frame_close(now);
		found = (struct bpk_err){ 0 };
		rc = bpk_frame_open(r->dir, r->dir == NULL ? r->source : NULL, &r->options, &now,
				    &found);
		if (rc != 0)
			break;
		now->sidecar = r->sidecar;
		rc = audit_all(now, remark, arg, &found);
		r->info.hole_size = now->info.hole_size;
		r->info.seal = now->info.seal;
	}
	if (rc != 0 && now != NULL)
		bpk_frame_blame_change(now, &found);
	if (now != r)
		bpk_frame_close(now);
	if (rc != 0 && err != NULL)
		*err = found;
	return rc;
}
