/* The seal of a chunked directory (seal.h). Called by reader, writer and editor. */
#include "format/chunkdir/seal.h"

#include "format/digest_number.h"

#include <inttypes.h>

static const struct bpk_checksum *sha256(void)
{
	return bpk_checksum_find("sha256");
}

static int digest_of(struct bpk_view bytes, uint8_t digest[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	uint8_t found[BPK_DIGEST_MAX];

	if (bpk_checksum_compute(sha256(), bytes, found, err) != 0)
		return -1;
	memcpy(digest, found, BPK_MERKLE_SIZE);
	return 0;
}

/* ---- The root ---- */

static int find_root(const struct bpk_chunkdir_sealed_facts *facts,
		     const struct bpk_seal_tree *tree, uint8_t root[BPK_MERKLE_SIZE],
		     struct bpk_err *err)
{
	static const char domain[] = BPK_SEAL_DOMAIN, kind[] = "chunked"; /* with their NULs */
	enum { HEAD = sizeof domain + sizeof kind, SIZE = HEAD + 24 + 4 * BPK_MERKLE_SIZE };
	uint64_t nparcels = bpk_seal_tree_count(tree);
	uint8_t bytes[SIZE], numbers[BPK_CHUNKDIR_NUMBERS], *at = bytes + HEAD;

	memcpy(bytes, domain, sizeof domain);
	memcpy(bytes + sizeof domain, kind, sizeof kind);
	bpk_put_le64(at, facts->generation);
	bpk_put_le64(at + 8, nparcels);
	bpk_put_le64(at + 16, nparcels > 0 ? (uint64_t)bpk_checksum_number(facts->checksum) : 0);
	at += 24;
	memcpy(at + BPK_MERKLE_SIZE, facts->storage, BPK_MERKLE_SIZE);
	if (digest_of(bpk_chunkdir_sizes_numbers(facts->sizes, numbers), at, err) != 0 ||
	    digest_of(bpk_chunkdir_trimmed(facts->attributes), at + (size_t)2 * BPK_MERKLE_SIZE,
		      err) != 0 ||
	    bpk_seal_tree_root(tree, at + (size_t)3 * BPK_MERKLE_SIZE, err) != 0)
		return -1;
	return digest_of(bpk_view(bytes, sizeof bytes), root, err);
}

/* Put a member before the brace and the newline at the end of text. */
static int add_member(struct bpk_view value, struct bpk_buf *text, struct bpk_err *err)
{
	text->size -= 2;
	if (bpk_buf_printf(text, err, ", \"" BPK_SEAL_NAME "\": ") != 0 ||
	    bpk_buf_append(text, value, err) != 0)
		return -1;
	return bpk_buf_printf(text, err, "}\n");
}

int bpk_chunkdir_seal_put(const struct bpk_chunkdir_sealed_facts *facts,
			  const struct bpk_seal_tree *tree, struct bpk_buf *text,
			  struct bpk_err *err)
{
	uint8_t root[BPK_MERKLE_SIZE];
	struct bpk_buf record = { 0 };
	int rc = find_root(facts, tree, root, err);

	if (rc == 0)
		rc = bpk_seal_put(&record, facts->generation, root, tree, err);
	if (rc == 0)
		rc = add_member(bpk_buf_view(&record), text, err);
	bpk_buf_clear(&record);
	return rc;
}

int bpk_chunkdir_seal_mark(struct bpk_buf *text, struct bpk_err *err)
{
	return add_member(bpk_view((const uint8_t *)"1", 1), text, err);
}

int bpk_chunkdir_seal_check(const struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	const struct bpk_chunkdir *set = &r->set;
	const struct bpk_chunkdir_sealed_facts facts = {
		.sizes = &set->sizes,
		.storage = set->storage_digest,
		.attributes = bpk_buf_view(&set->attributes.text),
		.checksum = r->info.chunks.checksum,
		.generation = set->seal.generation,
	};
	uint8_t root[BPK_MERKLE_SIZE];
	bool sealed;

	if (bpk_seal_check(&set->seal, set->nchunks, &sealed, err) != 0)
		return -1;
	if (!sealed)
		return 0;
	if (find_root(&facts, set->seal.tree, root, err) != 0)
		return -1;
	return bpk_seal_compare(&set->seal, root, err);
}

/* ---- The parcels ---- */

/* The digest of a chunk of a column. */
static int digest_piece(const struct bpk_parcel *parcel, const struct bpk_chunkdir_piece *piece,
			const struct bpk_checksum *checksum, bool tested,
			uint8_t digest[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	const uint8_t *chunk = parcel->packed.data + piece->offset;

	if (!tested || piece->checksum != checksum || checksum->size == 0)
		return bpk_seal_digest(checksum, bpk_view(chunk, piece->size), digest, err);
	bpk_seal_take_digest(checksum, chunk + piece->size, digest);
	return 0;
}

/* The digest and the size of the chunks of all columns. */
static int digest_pieces(const struct bpk_parcel *parcel, const struct bpk_checksum *checksum,
			 bool tested, struct bpk_seal_facts *facts, struct bpk_err *err)
{
	const struct bpk_chunkdir_pieces *pieces = bpk_chunkdir_pieces(&parcel->packed);
	uint8_t one[8 + BPK_MERKLE_SIZE], found[BPK_DIGEST_MAX];
	struct bpk_summing sum = { 0 };
	int rc = bpk_summing_begin(&sum, sha256(), err);

	for (size_t i = 0; rc == 0 && i < pieces->npieces; i++) {
		const struct bpk_chunkdir_piece *piece = &pieces->piece[i];

		facts->packed_size += piece->size;
		bpk_put_le64(one, piece->size);
		rc = digest_piece(parcel, piece, checksum, tested, one + 8, err);
		if (rc == 0)
			rc = bpk_summing_add(&sum, bpk_view(one, sizeof one), err);
	}
	if (rc == 0)
		rc = bpk_summing_end(&sum, found, err);
	if (rc == 0)
		memcpy(facts->digest, found, BPK_MERKLE_SIZE);
	bpk_summing_clear(&sum);
	return rc;
}

int bpk_chunkdir_seal_leaf(const struct bpk_chunkdir *set, const struct bpk_checksum *checksum,
			   const struct bpk_parcel *parcel, bool sealed,
			   uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	struct bpk_seal_facts facts = { .number = parcel->number, .raw_size = parcel->raw_size };

	if (!set->has_columns)
		return bpk_seal_parcel(checksum, parcel, parcel->number, sealed, leaf, err);
	if (digest_pieces(parcel, checksum, sealed, &facts, err) != 0)
		return -1;
	return bpk_seal_leaf(&facts, leaf, err);
}

/* The leaf of a parcel that was fetched. A file of another checksum has another digest. */
static int leaf_of(const struct bpk_chunkdir_reader *r, const struct bpk_parcel *parcel,
		   bool tested, uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	const struct bpk_checksum *checksum = r->info.chunks.checksum;

	if (!r->set.has_columns && tested)
		tested = bpk_chunkdir_checksum_of(parcel) == checksum;
	return bpk_chunkdir_seal_leaf(&r->set, checksum, parcel, tested, leaf, err);
}

int bpk_chunkdir_seal_bring(const struct bpk_chunkdir_reader *r, const struct bpk_parcel *parcel,
			    struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (r->leaves == NULL)
		return 0;
	if (leaf_of(r, parcel, true, leaf, err) != 0)
		return -1;
	return bpk_seal_leaves_set(r->leaves, parcel->number, leaf, err);
}

struct finding {
	struct bpk_chunkdir_reader *reader;
	struct bpk_parcel parcel;
	bool checks; /* a damaged chunk is named by its own digest */
};

static int find_leaf(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_chunkdir_reader_ops;
	struct finding *f = arg;

	f->parcel.number = number;
	if (ops->fetch(f->reader, &f->parcel, err) != 0 ||
	    (f->checks && ops->check(f->reader, &f->parcel, err) != 0))
		return -1;
	return leaf_of(f->reader, &f->parcel, f->checks, leaf, err);
}

static void finding_clear(struct finding *f)
{
	bpk_buf_clear(&f->parcel.packed);
	bpk_buf_clear(&f->parcel.raw);
}

int bpk_chunkdir_seal_walk(struct bpk_chunkdir_reader *r, struct bpk_buf *all, struct bpk_err *err)
{
	struct finding f = { r, { .want_size = SIZE_MAX }, false };
	int rc = bpk_seal_walk(find_leaf, &f, r->set.nchunks, &r->set.seal, all, err);

	finding_clear(&f);
	return rc;
}

int bpk_chunkdir_seal_find(struct bpk_chunkdir_reader *r, uint64_t number,
			   uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	struct finding f = { r, { .want_size = SIZE_MAX }, false };
	int rc = find_leaf(&f, number, leaf, err);

	finding_clear(&f);
	return rc;
}

/* Unpack each chunk of a parcel that has no digest. */
static int prove_undigested(const struct bpk_chunkdir_reader *r, struct bpk_chunk_ctx *ctx,
			    const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_chunkdir_pieces *pieces = bpk_chunkdir_pieces(&parcel->packed);

	if (!r->set.has_columns)
		return bpk_chunkdir_checksum_of(parcel)->size > 0 ||
				       bpk_chunk_prove(
					       ctx,
					       bpk_view(parcel->packed.data, parcel->packed_size),
					       err) == 0
			       ? 0
			       : bpk_chunkdir_subject(&r->set, r->set.columns, parcel->number,
						      parcel->packed_offset, err);
	for (size_t i = 0; i < pieces->npieces; i++) {
		const struct bpk_chunkdir_piece *piece = &pieces->piece[i];
		struct bpk_view chunk = bpk_view(parcel->packed.data + piece->offset, piece->size);

		if (piece->checksum->size == 0 && bpk_chunk_prove(ctx, chunk, err) != 0)
			return bpk_chunkdir_subject(&r->set, &r->set.columns[piece->column],
						    piece->number, piece->file_offset, err);
	}
	return 0;
}

int bpk_chunkdir_seal_gather(struct bpk_chunkdir_reader *r, struct bpk_seal_tree *tree,
			     struct bpk_err *err)
{
	struct finding f = { r, { .want_size = SIZE_MAX }, true };
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	uint8_t leaf[BPK_MERKLE_SIZE];
	int rc = ctx == NULL ? -1 : 0;

	*tree = (struct bpk_seal_tree){ 0 };
	for (uint64_t number = 0; rc == 0 && number < r->set.nchunks; number++) {
		rc = find_leaf(&f, number, leaf, err);
		if (rc == 0)
			rc = prove_undigested(r, ctx, &f.parcel, err);
		if (rc == 0)
			rc = bpk_seal_tree_add(tree, leaf, err);
	}
	finding_clear(&f);
	bpk_chunk_ctx_free(ctx);
	return rc;
}

int bpk_chunkdir_seal_audit(struct bpk_chunkdir_reader *r, struct bpk_err *err)
{
	bool whole;

	/* the digests of sizes are not read then, and its numbers are under the root */
	if (r->options.no_check)
		return 0;
	if (bpk_chunkdir_seal_check(r, err) != 0)
		return -1;
	if (!r->set.seal.marked)
		return 0;
	if (bpk_seal_leaves_judge(r->leaves, r->set.nchunks, &r->set.seal, &whole, err) != 0)
		return -1;
	return whole ? 0 : bpk_chunkdir_seal_walk(r, NULL, err);
}

/* ---- Proofs ---- */

/* The leaf by the digest that is recorded, without a look at the chunk. */
static int find_recorded(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE],
			 struct bpk_err *err)
{
	struct bpk_chunkdir_reader *r = ((struct finding *)arg)->reader;
	struct bpk_where where;

	return bpk_chunkdir_reader_ops.locate(r, number, &where, err) != 0
		       ? -1
		       : bpk_seal_leaf_at(r->info.chunks.checksum, number, &where, leaf, err);
}

int bpk_chunkdir_seal_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err)
{
	struct bpk_chunkdir_reader *r = reader;
	struct finding f = { r, { .want_size = SIZE_MAX }, true };
	bool recorded = !r->set.has_columns && r->info.chunks.checksum->size > 0;
	int rc = bpk_chunkdir_seal_check(r, err);

	if (rc == 0)
		rc = bpk_seal_prove(r->set.seal.tree, first, end,
				    recorded ? find_recorded : find_leaf, &f, &r->proof, err);
	finding_clear(&f);
	return rc;
}

int bpk_chunkdir_seal_refutes(void *reader, const struct bpk_place *place,
			      const struct bpk_salvage *found, bool *refuted, struct bpk_err *err)
{
	const struct bpk_chunkdir_reader *r = reader;
	struct bpk_err why = { 0 };
	bool fits;

	if (bpk_err_settle(bpk_chunkdir_seal_check(r, &why), &why, &fits, err) != 0)
		return -1;
	return bpk_seal_refutes(fits ? r->set.seal.tree : NULL, place, found, NULL, refuted, err);
}

int bpk_chunkdir_seal_test(const struct bpk_chunkdir_reader *r, const struct bpk_parcel *parcel,
			   struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];
	struct bpk_err found = { 0 };

	if (r->proof == NULL)
		return 0;
	if (leaf_of(r, parcel, false, leaf, err) != 0)
		return -1;
	if (bpk_seal_proof_test(r->proof, parcel->number, leaf, &found) == 0)
		return 0;
	/* an append packs the last chunk again, with more rows */
	bpk_chunkdir_concurrent_judge(r, &found);
	bpk_fail_as(err, &found);
	return bpk_err_subject(err, "chunk %" PRIu64, parcel->number);
}
