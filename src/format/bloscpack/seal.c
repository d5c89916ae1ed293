/* The seal of a Bloscpack file (seal.h): its chunks, its root and its record. Called by open.c,
 * audit.c, writer.c and the editor's files. */
#include "format/bloscpack/bloscpack.h"

static const char name[] = BPK_SEAL_NAME;
static const char domain[] = BPK_SEAL_DOMAIN; /* with its NUL */

const uint8_t bpk_bloscpack_seal_mark[BPK_BLOSCPACK_SEAL_MARK_SIZE] = { 'b', 'p', 'k', 's',
									'e', 'a', 'l', '1' };

/* ---- The chunks ---- */

struct finding {
	struct bpk_bloscpack_reader *reader;
	struct bpk_parcel parcel;
};

static int fetch(struct finding *f, uint64_t number, struct bpk_err *err)
{
	int rc;

	f->parcel.number = number;
	rc = bpk_bloscpack_reader_ops.fetch(f->reader, &f->parcel, err);
	return rc > 0 ? bpk_seal_refuse(&f->reader->seal, err) : rc;
}

static int find_by_bytes(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE],
			 struct bpk_err *err)
{
	struct finding *f = arg;

	if (fetch(f, number, err) != 0)
		return -1;
	return bpk_seal_parcel(f->reader->header.checksum, &f->parcel, number, false, leaf, err);
}

/* A damaged chunk is named by its own digest. */
static int find_recorded(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE],
			 struct bpk_err *err)
{
	struct finding *f = arg;
	const struct bpk_checksum *checksum = f->reader->header.checksum;
	struct bpk_where where;

	if (checksum->size > 0)
		return bpk_bloscpack_reader_ops.locate(f->reader, number, &where, err) != 0
			       ? -1
			       : bpk_seal_leaf_at(checksum, number, &where, leaf, err);
	if (fetch(f, number, err) != 0 ||
	    bpk_bloscpack_reader_ops.check(f->reader, &f->parcel, err) != 0)
		return -1;
	return bpk_seal_parcel(checksum, &f->parcel, number, true, leaf, err);
}

int bpk_bloscpack_seal_find(struct bpk_bloscpack_reader *reader, uint64_t number,
			    uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	struct finding f = { reader, { .want_size = SIZE_MAX } };
	int rc = find_by_bytes(&f, number, leaf, err);

	bpk_buf_clear(&f.parcel.packed);
	return rc;
}

static int walk(struct bpk_bloscpack_reader *reader, bpk_seal_find_fn *find, struct bpk_buf *all,
		struct bpk_err *err)
{
	struct finding f = { reader, { .want_size = SIZE_MAX } };
	int rc = bpk_seal_walk(find, &f, reader->header.nchunks, &reader->seal, all, err);

	bpk_buf_clear(&f.parcel.packed);
	return rc;
}

int bpk_bloscpack_seal_walk(struct bpk_bloscpack_reader *reader, struct bpk_err *err)
{
	return walk(reader, find_by_bytes, NULL, err);
}

int bpk_bloscpack_seal_recall(struct bpk_bloscpack_reader *reader, struct bpk_buf *all,
			      struct bpk_err *err)
{
	return walk(reader, find_recorded, all, err);
}

/* Fetch a chunk that is whole: by its digest, or if there is none, because it unpacks. */
static int fetch_whole(struct finding *f, uint64_t number, struct bpk_chunk_ctx *ctx,
		       struct bpk_err *err)
{
	const struct bpk_parcel *parcel = &f->parcel;

	if (fetch(f, number, err) != 0 ||
	    bpk_bloscpack_reader_ops.check(f->reader, parcel, err) != 0)
		return -1;
	if (f->reader->header.checksum->size > 0 ||
	    bpk_chunk_prove(ctx, bpk_view(parcel->packed.data, parcel->packed_size), err) == 0)
		return 0;
	return bpk_bloscpack_chunk_subject(err, number, parcel->packed_offset);
}

int bpk_bloscpack_seal_gather(struct bpk_bloscpack_reader *r, struct bpk_seal_tree *tree,
			      struct bpk_err *err)
{
	struct finding f = { r, { .want_size = SIZE_MAX } };
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	int rc = ctx == NULL ? -1 : 0;

	*tree = (struct bpk_seal_tree){ 0 };
	for (uint64_t number = 0; rc == 0 && number < r->header.nchunks; number++) {
		rc = fetch_whole(&f, number, ctx, err);
		if (rc == 0)
			rc = bpk_seal_tree_put(tree, r->header.checksum, &f.parcel, true, err);
	}
	bpk_buf_clear(&f.parcel.packed);
	bpk_chunk_ctx_free(ctx);
	return rc;
}

/* ---- Proofs ---- */

int bpk_bloscpack_seal_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = reader;
	struct finding f = { r, { .want_size = SIZE_MAX } };
	int rc = bpk_bloscpack_seal_check(r, err);

	if (rc == 0)
		rc = bpk_seal_prove(r->seal.tree, first, end, find_recorded, &f, &r->proof, err);
	bpk_buf_clear(&f.parcel.packed);
	return rc;
}

int bpk_bloscpack_seal_refutes(void *reader, const struct bpk_place *place,
			       const struct bpk_salvage *found, bool *refuted, struct bpk_err *err)
{
	const struct bpk_bloscpack_reader *r = reader;
	struct bpk_err why = { 0 };
	bool fits;

	if (bpk_err_settle(bpk_bloscpack_seal_check(r, &why), &why, &fits, err) != 0)
		return -1;
	return bpk_seal_refutes(fits ? r->seal.tree : NULL, place, found, NULL, refuted, err);
}

int bpk_bloscpack_seal_test(const struct bpk_bloscpack_reader *r, const struct bpk_parcel *parcel,
			    struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (r->proof == NULL)
		return 0;
	if (parcel->data_size < parcel->raw_size) /* a writer has added to the last chunk */
		return bpk_fail_changed(err);
	if (bpk_seal_parcel(r->header.checksum, parcel, parcel->number, false, leaf, err) != 0)
		return -1;
	return bpk_seal_proof_test(r->proof, parcel->number, leaf, err) == 0
		       ? 0
		       : bpk_bloscpack_chunk_subject(err, parcel->number, parcel->packed_offset);
}

/* ---- The root ---- */

static int find_root(struct bpk_view text, const uint8_t *header, uint64_t generation,
		     const struct bpk_seal_tree *tree, uint8_t root[BPK_DIGEST_MAX],
		     struct bpk_err *err)
{
	enum { SIZE = sizeof domain + BPK_BLOSCPACK_HEADER_SIZE + 8 + 2 * BPK_MERKLE_SIZE };
	uint8_t bytes[SIZE], digest[BPK_DIGEST_MAX], *at = bytes + sizeof domain;

	if (bpk_checksum_compute(bpk_checksum_find("sha256"), text, digest, err) != 0)
		return -1;
	memcpy(bytes, domain, sizeof domain);
	memcpy(at, header, BPK_BLOSCPACK_HEADER_SIZE);
	at += BPK_BLOSCPACK_HEADER_SIZE;
	bpk_put_le64(at, generation);
	memcpy(at + 8, digest, BPK_MERKLE_SIZE);
	if (bpk_seal_tree_root(tree, at + 8 + BPK_MERKLE_SIZE, err) != 0)
		return -1;
	return bpk_checksum_compute(bpk_checksum_find("sha256"), bpk_view(bytes, sizeof bytes),
				    root, err);
}

int bpk_bloscpack_seal_check(const struct bpk_bloscpack_reader *reader, struct bpk_err *err)
{
	const struct bpk_seal *seal = &reader->seal;
	uint8_t root[BPK_DIGEST_MAX];
	bool sealed;

	if (bpk_seal_check(seal, reader->header.nchunks, &sealed, err) != 0)
		return -1;
	if (!sealed)
		return 0;
	if (find_root(bpk_buf_view(&reader->metadata.text), reader->head, seal->generation,
		      seal->tree, root, err) != 0)
		return -1;
	return bpk_seal_compare(seal, root, err);
}

/* ---- The record ---- */

int bpk_bloscpack_seal_take(struct bpk_bloscpack_metadata *metadata, uint64_t nchunks,
			    struct bpk_seal *seal, struct bpk_err *err)
{
	struct bpk_view text = bpk_buf_view(&metadata->text), key, value;
	struct bpk_buf rest = { 0 };

	seal->marked = metadata->marked;
	if (!metadata->good || !bpk_bloscpack_member_find(text, name, &key, &value))
		return 0;
	/* an archive without chunks is written with one */
	if (bpk_seal_take(value, nchunks > 0 ? nchunks : BPK_UNKNOWN, seal, err) != 0)
		return -1;
	if (bpk_bloscpack_member_cut(text, key, value, &rest, err) != 0) {
		bpk_buf_clear(&rest);
		return -1;
	}
	bpk_buf_clear(&metadata->text);
	metadata->text = rest;
	return 0;
}

size_t bpk_bloscpack_seal_room(uint64_t nchunks)
{
	/* of the members but the peaks, whose number is that of the bits of a smaller count */
	enum { MEMBERS = 256, PEAK = 2 * BPK_MERKLE_SIZE + 3, MOST_PEAKS = 40 };
	size_t peaks = 0;

	if (nchunks == BPK_UNKNOWN)
		return MEMBERS + PEAK * MOST_PEAKS;
	for (; nchunks > 0; nchunks >>= 1)
		peaks++;
	return MEMBERS + PEAK * peaks;
}

bool bpk_bloscpack_seal_is_named(struct bpk_view text)
{
	return bpk_json_member(text, name).size > 0;
}

/* Join text and the record, which readers must be able to cut out again. */
static int join(struct bpk_view text, struct bpk_view record, struct bpk_buf *out,
		struct bpk_err *err)
{
	bool joined;

	if (bpk_bloscpack_member_join(text, name, record, out, &joined, err) != 0)
		return -1;
	return joined ? 0
		      : bpk_fail(err, BPK_USAGE,
				 "a seal needs metadata that are an object without a member %s",
				 name);
}

/* The text as readers find it without the record: an empty object has a blank then. */
static int make_plain(struct bpk_view text, struct bpk_buf *plain, struct bpk_err *err)
{
	struct bpk_buf joined = { 0 };
	struct bpk_view key, value;
	int rc = join(text, bpk_view((const uint8_t *)"0", 1), &joined, err);

	if (rc == 0 && bpk_bloscpack_member_find(bpk_buf_view(&joined), name, &key, &value))
		rc = bpk_bloscpack_member_cut(bpk_buf_view(&joined), key, value, plain, err);
	bpk_buf_clear(&joined);
	return rc;
}

int bpk_bloscpack_seal_join(struct bpk_view text, const uint8_t *header, uint64_t generation,
			    const struct bpk_seal_tree *tree, struct bpk_buf *out,
			    struct bpk_err *err)
{
	struct bpk_buf plain = { 0 }, record = { 0 };
	uint8_t root[BPK_DIGEST_MAX];
	int rc = make_plain(text, &plain, err);

	if (rc == 0)
		rc = find_root(bpk_buf_view(&plain), header, generation, tree, root, err);
	if (rc == 0)
		rc = bpk_seal_put(&record, generation, root, tree, err);
	if (rc == 0)
		rc = join(text, bpk_buf_view(&record), out, err);
	bpk_buf_clear(&plain);
	bpk_buf_clear(&record);
	return rc;
}
