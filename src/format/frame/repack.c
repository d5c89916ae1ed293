/*
 * Removes the holes from frames: bpk_format.repack, named in formats.c. A contiguous frame is
 * copied to a new file, which replaces it. In a sparse frame the chunks with the largest ids move
 * to unused ids, chunks.b2frame is replaced, which is the commit, and files that it does not name
 * are removed: every reader, also of another program, finds the old frame or the new one. Chunks
 * are copied unopened, after a test of their digests.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/members.h"

#include "format/frame/fetch.h"
#include "format/frame/names.h"
#include "format/frame/open.h"
#include "format/frame/repack.h"
#include "format/frame/seal.h"
#include "format/frame/store.h"
#include "format/frame/survey.h"
#include "format/frame/validate.h"
#include "format/frame/output.h"

/* ---- Copying all chunks, to a writer or an output ---- */

typedef int put_fn(void *to, const struct bpk_parcel *parcel, struct bpk_err *err);

/* A copy under way; owned by one thread. */
struct copying {
	struct bpk_frame_reader *reader;
	const struct bpk_checksum *checksum;
	struct bpk_chunk_ctx *ctx;
	struct bpk_buf raw; /* scratch */
	struct bpk_parcel parcel;
};

/* Seal the parcel by checksum, unless it still has its seal. */
static int seal(struct copying *c, struct bpk_err *err)
{
	struct bpk_parcel *parcel = &c->parcel;
	uint8_t digest[BPK_DIGEST_MAX];

	if (parcel->packed.size >= parcel->packed_size + c->checksum->size)
		return 0;
	if (c->reader->state.stale &&
	    bpk_frame_validate(c->reader, c->ctx, parcel, &c->raw, digest, err) != 0)
		return -1;
	return bpk_parcel_seal(c->checksum, parcel, err);
}

/* The sizes of all chunks were added up: compare them with the header, as audit does. */
static int check_sum(const struct bpk_frame_reader *reader, uint64_t raw_size, struct bpk_err *err)
{
	if (raw_size == reader->state.header.raw_size || reader->sizes.damage.kind != BPK_OK)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"chunks unpack to %" PRIu64 " bytes in all, the header says %" PRIu64,
			raw_size, reader->state.header.raw_size);
}

/* Put every chunk of reader, sealed by checksum. */
static int copy_all(struct bpk_frame_reader *reader, const struct bpk_checksum *checksum,
		    put_fn *put, void *to, struct bpk_err *err)
{
	struct copying c = { .reader = reader, .checksum = checksum };
	uint64_t raw_size = 0;
	int rc;

	c.parcel.want_size = SIZE_MAX;
	c.ctx = bpk_chunk_ctx_new(err);
	rc = c.ctx == NULL ? -1 : 0;
	while (rc == 0) {
		rc = bpk_frame_fetch(reader, &c.parcel, err);
		if (rc == 0)
			rc = bpk_frame_chunk_check(reader, &c.parcel, err);
		if (rc == 0)
			rc = seal(&c, err);
		if (rc == 0)
			rc = put(to, &c.parcel, err);
		if (rc == 0)
			raw_size += c.parcel.raw_size;
		c.parcel.number++;
	}
	bpk_chunk_ctx_free(c.ctx);
	bpk_buf_clear(&c.parcel.packed);
	bpk_buf_clear(&c.raw);
	return rc > 0 ? check_sum(reader, raw_size, err) : -1;
}

static int copy_to(struct bpk_frame_reader *reader, const struct bpk_writer_ops *ops,
		   struct bpk_draft *draft, struct bpk_err *err)
{
	const struct bpk_write_options options = { 0 };
	struct bpk_info info = *bpk_frame_reader_ops.info(reader);
	void *writer;
	int rc;

	info.stored_size = BPK_UNKNOWN;
	/* the copy has the same seal, so that must be right */
	if (bpk_frame_seal_audit(reader, err) != 0 ||
	    ops->open(draft, &info, &options, &writer, err) != 0)
		return -1;
	rc = copy_all(reader, info.chunks.checksum, ops->put, writer, err);
	if (rc == 0)
		rc = ops->finish(writer, err);
	ops->close(writer);
	return rc;
}

static int open_reader(struct bpk_dir *dir, struct bpk_source *source,
		       struct bpk_frame_reader **reader, struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true };

	if (bpk_frame_open(dir, source, &options, reader, err) != 0)
		return -1;
	return bpk_frame_check_parts(*reader, err);
}

/* ---- A contiguous frame, replaced ---- */

/* if_plain: not if a copy would be noticed. */
static int replace(struct bpk_edit *edit, struct bpk_frame_reader *reader, bool if_plain,
		   struct bpk_err *err)
{
	struct bpk_draft *draft;

	if (bpk_edit_draft(edit, &draft, err) != 0)
		return -1;
	if ((if_plain && bpk_edit_check_copy(edit, draft, err) != 0) ||
	    copy_to(reader, &bpk_frame_writer_ops, draft, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	return bpk_edit_replace(edit, draft, err);
}

int bpk_frame_repack(const char *path, const struct bpk_edit_options *options,
		     struct bpk_repacked *result, struct bpk_err *err)
{
	struct bpk_frame_reader *reader = NULL;
	struct bpk_edit_options with = *options;
	struct bpk_source *source;
	struct bpk_edit *edit;
	int rc;

	*result = (struct bpk_repacked){ 0 };
	with.sidecar = true;
	with.claims = bpk_frame_claims;
	if (bpk_edit_open(path, &with, &edit, err) != 0)
		return -1;
	source = bpk_edit_source(edit);
	result->before = result->after = bpk_source_size(source);
	rc = open_reader(NULL, source, &reader, err);
	if (rc == 0)
		rc = bpk_members_refuse_tail(&bpk_frame_members, reader, source, path,
					     reader->state.header.frame_size, err);
	if (rc == 0 &&
	    (reader->info.hole_size != 0 || result->before > reader->state.header.frame_size)) {
		rc = replace(edit, reader, false, err);
		result->changed = rc == 0;
		result->after = bpk_source_size(source);
	}
	bpk_frame_close(reader);
	bpk_edit_close(edit);
	return rc;
}

/* ---- A contiguous frame that grew ---- */

/* Holes of fewer bytes stay, so that small frames are not replaced at every change. */
enum { LEAST_HOLES = 64 << 10, SAMPLES = 64 };

/* Holes are removed from this percentage of the chunks' bytes on: at a commit, and after all. */
enum { MANY = 75, SOME = 5 };

/* Sizes with the same number differ by an eighth at most. */
static unsigned size_class(uint64_t size)
{
	unsigned shift = 0;

	for (; size > 15; size >>= 1)
		shift++;
	return shift * 8 + (unsigned)size;
}

static bool outweigh(uint64_t holes, uint64_t chunks, unsigned percent)
{
	return holes >= LEAST_HOLES && holes / percent > chunks / 100;
}

/* Estimate the bytes of stored chunks from some of them. */
static int estimate_chunks(struct bpk_frame_reader *reader, uint64_t *size, struct bpk_err *err)
{
	uint64_t nchunks = reader->state.nchunks;
	uint64_t count = bpk_min_u64(nchunks, SAMPLES);
	struct bpk_frame_found found;

	*size = 0;
	for (uint64_t i = 0; i < count; i++) {
		if (bpk_frame_look(reader, i * nchunks / count, &found, err) != 0)
			return -1;
		if (found.offset != BPK_UNKNOWN)
			*size += found.header.packed_size;
	}
	if (count > 0)
		*size = *size / count * nchunks;
	return 0;
}

/* The survey reads the header of every chunk, so it follows only a promising estimate. */
static int look_for_holes(struct bpk_frame_reader *reader, unsigned percent, bool *outweighing,
			  struct bpk_err *err)
{
	const struct bpk_frame_state *state = &reader->state;
	uint64_t payload = state->trailer_offset - state->header.size;
	struct bpk_frame_survey survey;
	uint64_t chunks;

	*outweighing = false;
	if (estimate_chunks(reader, &chunks, err) != 0)
		return -1;
	if (chunks > payload || !outweigh(payload - chunks, chunks, percent))
		return 0;
	if (bpk_frame_survey_here(reader, &survey, err) != 0)
		return -1;
	*outweighing = outweigh(survey.hole_size, survey.packed_size, percent);
	return 0;
}

static void replace_if(struct bpk_edit *edit, unsigned percent)
{
	struct bpk_frame_reader *reader = NULL;
	bool replaces = false;

	if (open_reader(NULL, bpk_edit_source(edit), &reader, NULL) != 0)
		return;
	if (look_for_holes(reader, percent, &replaces, NULL) == 0 && replaces)
		(void)replace(edit, reader, true, NULL);
	bpk_frame_close(reader);
}

void bpk_frame_repack_grown(struct bpk_edit *edit, uint64_t before)
{
	if (size_class(bpk_source_size(bpk_edit_source(edit))) > size_class(before))
		replace_if(edit, MANY);
}

void bpk_frame_repack_last(struct bpk_edit *edit)
{
	replace_if(edit, SOME);
}

/* ---- A sparse frame, in place ---- */

/* Owned by one thread. */
struct moving {
	struct bpk_tree *tree;
	struct bpk_frame_reader *reader;
	struct bpk_frame_output output;
	uint64_t number;  /* of the chunk that is being put */
	uint64_t nids;    /* ids below it are used, chunks with other ids move */
	uint8_t *ids;     /* nids of them, FREE, TAKEN or GIVEN_UP */
	uint64_t free;    /* no id below it is free */
	uint64_t payload; /* bytes of all chunks */
};

enum {
	FREE,
	TAKEN,    /* by a chunk that stays, or was moved there */
	GIVEN_UP, /* its chunk became an index entry: free after the commit */
};

/* Get the id of the chunk that is being put; BPK_UNKNOWN: it has no file. */
static int get_id(const struct moving *m, uint64_t *id, struct bpk_err *err)
{
	if (bpk_frame_entry(&m->reader->state, m->number, id, err) != 0)
		return -1;
	if (bpk_frame_offset_special(*id) != BPK_SPECIAL_NONE)
		*id = BPK_UNKNOWN;
	return 0;
}

static int store_moved(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err)
{
	struct moving *m = arg;
	char name[BPK_FRAME_FILE_NAME];

	m->payload += chunk.size;
	if (get_id(m, entry, err) != 0)
		return -1;
	if (*entry < m->nids)
		return 0;
	/* there are at least as many free ids below nids as chunks with ids from nids on */
	while (m->ids[m->free] != FREE)
		m->free++;
	*entry = m->free;
	m->ids[*entry] = TAKEN;
	bpk_frame_file_name((uint32_t)*entry, name);
	return bpk_frame_store_stage(m->tree, name, chunk, bpk_view(NULL, 0), err);
}

static int put_moved(void *to, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct moving *m = to;
	uint64_t nstored = m->output.nstored, id;

	m->number = parcel->number;
	if (bpk_frame_output_put(&m->output, parcel, err) != 0 || get_id(m, &id, err) != 0)
		return -1;
	if (m->output.nstored == nstored && id < m->nids)
		m->ids[id] = GIVEN_UP;
	return 0;
}

/* Count the ids needed, one for each chunk with a file, or a few more, and mark those in use. If
 * chunks differ in size, special ones also get files. */
static int count_ids(struct moving *m, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &m->reader->state;
	uint64_t id;

	for (m->number = 0; m->number < state->nchunks; m->number++) {
		if (get_id(m, &id, err) != 0)
			return -1;
		m->nids += state->header.variable_chunks || id != BPK_UNKNOWN;
	}
	m->ids = bpk_calloc(m->nids > 0 ? m->nids : 1, 1, err);
	if (m->ids == NULL)
		return -1;
	for (m->number = 0; m->number < state->nchunks; m->number++) {
		if (get_id(m, &id, err) != 0)
			return -1;
		if (id < m->nids)
			m->ids[id] = TAKEN;
	}
	return 0;
}

/* ---- Files that the new frame does not name ---- */

/* One pass over the directory. */
struct sweep {
	struct moving *m;
	bool remove;     /* else only count */
	uint64_t nfiles; /* found */
	uint64_t size;   /* of these files */
	struct bpk_err *err;
};

static bool is_named(const struct moving *m, uint32_t id)
{
	return id < m->nids && m->ids[id] == TAKEN;
}

static int sweep_file(void *arg, const char *name, enum bpk_entry entry)
{
	struct sweep *sweep = arg;
	struct moving *m = sweep->m;
	uint64_t size = 0;
	uint32_t id;

	if (entry != BPK_ENTRY_FILE || !bpk_frame_file_id(name, &id) || is_named(m, id))
		return 0;
	if (bpk_dir_look(m->reader->dir, name, &entry, &size, sweep->err) != 0)
		return -1;
	sweep->nfiles++;
	sweep->size += size;
	return sweep->remove ? bpk_tree_remove(m->tree, name, sweep->err) : 0;
}

static int sweep_files(struct sweep *sweep)
{
	return bpk_dir_list(sweep->m->reader->dir, "", sweep_file, sweep, sweep->err);
}

static int commit_moved(struct moving *m, struct bpk_err *err)
{
	struct sweep sweep = { .m = m, .remove = true, .err = err };
	struct bpk_buf head = { 0 }, tail = { 0 };
	int rc = bpk_frame_output_end(&m->output, BPK_UNKNOWN, m->payload, &head, &tail, err);

	if (rc == 0)
		rc = bpk_frame_store_stage(m->tree, BPK_FRAME_SPARSE_INDEX, bpk_buf_view(&head),
					   bpk_buf_view(&tail), err);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	if (rc == 0)
		rc = sweep_files(&sweep);
	return rc == 0 ? bpk_tree_commit(m->tree, BPK_FRAME_SPARSE_INDEX, err) : -1;
}

/* Bytes behind a chunk that moves would go with its old file. */
static int check_files(struct bpk_frame_reader *reader, struct bpk_err *err)
{
	struct bpk_frame_survey survey;

	if (bpk_frame_check_end(reader, err) != 0 ||
	    bpk_frame_fetch_survey(reader, &survey, err) != 0)
		return -1;
	return survey.excess.kind == BPK_OK ? 0 : bpk_fail_as(err, &survey.excess);
}

static int move_all(struct moving *m, struct bpk_repacked *result, struct bpk_err *err)
{
	const struct bpk_write_options options = { 0 };
	const struct bpk_info *info = &m->reader->info;
	struct sweep sweep = { .m = m, .err = err };

	if (check_files(m->reader, err) != 0 || bpk_frame_seal_audit(m->reader, err) != 0 ||
	    count_ids(m, err) != 0 ||
	    bpk_frame_output_begin(info, &options, true, &m->output, err) != 0)
		return -1;
	m->output.store = store_moved;
	m->output.arg = m;
	m->output.as_is = true;
	if (copy_all(m->reader, info->chunks.checksum, put_moved, m, err) != 0 ||
	    sweep_files(&sweep) != 0)
		return -1;
	/* moved chunks keep their size, and their old files are counted by the sweep */
	result->after = info->stored_size;
	result->before = result->after + sweep.size;
	result->changed = sweep.nfiles > 0;
	return result->changed ? commit_moved(m, err) : 0;
}

int bpk_frame_repack_sparse(const char *path, const struct bpk_edit_options *options,
			    struct bpk_repacked *result, struct bpk_err *err)
{
	struct bpk_edit_options with = *options;
	struct moving m = { 0 };
	int rc;

	*result = (struct bpk_repacked){ 0 };
	with.sidecar = true;
	with.claims = bpk_frame_claims_sparse;
	with.owns = bpk_frame_owns;
	if (bpk_tree_open(path, &with, &m.tree, err) != 0)
		return -1;
	rc = open_reader(bpk_tree_dir(m.tree), NULL, &m.reader, err);
	if (rc == 0)
		rc = move_all(&m, result, err);
	bpk_frame_output_clear(&m.output);
	bpk_frame_close(m.reader);
	bpk_tree_close(m.tree);
	free(m.ids);
	return rc;
}
