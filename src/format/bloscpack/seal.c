/* The seal of a Bloscpack file (seal.h): its tree, its root and its record. Called by open.c,
 * audit.c, writer.c and the editor's files. */
#include <inttypes.h>
#include <stdlib.h>

#include "format/bloscpack/bloscpack.h"

enum { VERSION = 1, HEX = 2 * BPK_MERKLE_SIZE };

static const char name[] = "bpk_seal";
static const char domain[] = "bpk seal 1"; /* with its NUL */

const uint8_t bpk_bloscpack_seal_mark[BPK_BLOSCPACK_SEAL_MARK_SIZE] = { 'b', 'p', 'k', 's',
									'e', 'a', 'l', '1' };

int bpk_bloscpack_seal_refuse(struct bpk_err *err)
{
	return bpk_fail(err, BPK_CORRUPT, "the chunks are not those that were sealed");
}

/* ---- The tree ---- */

static const struct bpk_checksum *sha256(void)
{
	return bpk_checksum_find("sha256");
}

int bpk_bloscpack_seal_digest(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
			      struct bpk_err *err)
{
	size_t at = parcel->packed_size + (size_t)checksum->size;
	uint8_t digest[BPK_DIGEST_MAX];

	if (checksum == sha256())
		return 0;
	if (bpk_checksum_compute(sha256(), bpk_view(parcel->packed.data, parcel->packed_size),
				 digest, err) != 0 ||
	    bpk_buf_resize(&parcel->packed, at + BPK_MERKLE_SIZE, err) != 0)
		return -1;
	memcpy(parcel->packed.data + at, digest, BPK_MERKLE_SIZE);
	return 0;
}

/* SHA-256 of the packed bytes: the one that seal_digest appended, or computed here. */
static int find_digest(const struct bpk_checksum *checksum, const struct bpk_parcel *parcel,
		       uint8_t digest[BPK_DIGEST_MAX], struct bpk_err *err)
{
	size_t at = parcel->packed_size + (size_t)checksum->size;

	if (parcel->packed.size != at + BPK_MERKLE_SIZE || checksum == sha256())
		return bpk_checksum_compute(
			sha256(), bpk_view(parcel->packed.data, parcel->packed_size), digest, err);
	memcpy(digest, parcel->packed.data + at, BPK_MERKLE_SIZE);
	return 0;
}

int bpk_bloscpack_tree_add(struct bpk_bloscpack_tree *tree, const struct bpk_checksum *checksum,
			   const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint8_t leaf[24 + BPK_MERKLE_SIZE], digest[BPK_DIGEST_MAX];

	if (find_digest(checksum, parcel, digest, err) != 0)
		return -1;
	if (tree->has_last && bpk_merkle_add(&tree->before, tree->last, err) != 0)
		return -1;
	bpk_put_le64(leaf, tree->before.count);
	bpk_put_le64(leaf + 8, parcel->raw_size);
	bpk_put_le64(leaf + 16, parcel->packed_size);
	memcpy(leaf + 24, digest, BPK_MERKLE_SIZE);
	tree->has_last = true;
	return bpk_merkle_leaf(bpk_view(leaf, sizeof leaf), tree->last, err);
}

bool bpk_bloscpack_tree_equals(const struct bpk_bloscpack_tree *a,
			       const struct bpk_bloscpack_tree *b)
{
	if (a->before.count != b->before.count || a->has_last != b->has_last)
		return false;
	for (unsigned k = 0; k < 64; k++)
		if (a->before.count >> k & 1 &&
		    memcmp(a->before.peaks[k], b->before.peaks[k], BPK_MERKLE_SIZE) != 0)
			return false;
	return memcmp(a->last, b->last, BPK_MERKLE_SIZE) == 0;
}

int bpk_bloscpack_seal_walk(struct bpk_bloscpack_reader *reader, uint64_t nchunks,
			    struct bpk_bloscpack_tree *kept, struct bpk_err *err)
{
	struct bpk_parcel parcel = { .want_size = SIZE_MAX };
	struct bpk_bloscpack_tree tree = { 0 };
	int rc = 0;

	if (kept != NULL)
		*kept = tree;
	while (rc == 0 && parcel.number < reader->header.nchunks) {
		rc = bpk_bloscpack_reader_ops.fetch(reader, &parcel, err);
		if (rc == 0)
			rc = bpk_bloscpack_tree_add(&tree, reader->header.checksum, &parcel, err);
		if (rc == 0 && ++parcel.number == nchunks && kept != NULL)
			*kept = tree;
	}
	bpk_buf_clear(&parcel.packed);
	if (rc < 0)
		return -1;
	return bpk_bloscpack_tree_equals(&tree, reader->seal.tree) ? 0
								   : bpk_bloscpack_seal_refuse(err);
}

/* ---- The root ---- */

static int find_root(struct bpk_view text, const uint8_t *header, uint64_t generation,
		     const struct bpk_bloscpack_tree *tree, uint8_t root[BPK_DIGEST_MAX],
		     struct bpk_err *err)
{
	enum { SIZE = sizeof domain + BPK_BLOSCPACK_HEADER_SIZE + 8 + 2 * BPK_MERKLE_SIZE };
	struct bpk_merkle chunks = tree->before;
	uint8_t bytes[SIZE], digest[BPK_DIGEST_MAX], *at = bytes + sizeof domain;

	if (bpk_checksum_compute(sha256(), text, digest, err) != 0 ||
	    bpk_merkle_add(&chunks, tree->last, err) != 0)
		return -1;
	memcpy(bytes, domain, sizeof domain);
	memcpy(at, header, BPK_BLOSCPACK_HEADER_SIZE);
	at += BPK_BLOSCPACK_HEADER_SIZE;
	bpk_put_le64(at, generation);
	memcpy(at + 8, digest, BPK_MERKLE_SIZE);
	if (bpk_merkle_root(&chunks, at + 8 + BPK_MERKLE_SIZE, err) != 0)
		return -1;
	return bpk_checksum_compute(sha256(), bpk_view(bytes, sizeof bytes), root, err);
}

int bpk_bloscpack_seal_check(const struct bpk_bloscpack_reader *reader, struct bpk_err *err)
{
	const struct bpk_bloscpack_seal *seal = &reader->seal;
	uint8_t root[BPK_DIGEST_MAX];

	if (!seal->marked && !seal->recorded)
		return 0;
	if (!seal->recorded)
		return bpk_fail(err, BPK_CORRUPT,
				"the metadata are marked as sealed, but have no seal");
	if (!seal->marked)
		return bpk_fail(err, BPK_CORRUPT,
				"there is a seal, but the metadata are not marked as sealed");
	if (seal->tree == NULL)
		return bpk_fail(err, BPK_CORRUPT,
				"the seal does not fit an archive of %" PRIu64 " chunks",
				reader->header.nchunks);
	if (find_root(bpk_buf_view(&reader->metadata.text), reader->head, seal->generation,
		      seal->tree, root, err) != 0)
		return -1;
	if (memcmp(root, seal->root, BPK_MERKLE_SIZE) != 0)
		return bpk_fail(err, BPK_CORRUPT,
				"the seal's root is not that of header, metadata and chunks");
	return 0;
}

/* ---- The record ---- */

/* Parse a digest; false if it is none. */
static bool parse_digest(struct bpk_view value, uint8_t digest[BPK_MERKLE_SIZE])
{
	struct bpk_buf bytes = { 0 };
	bool good = bpk_json_kind(value) == BPK_JSON_STRING && value.size == HEX + 2 &&
		    bpk_hex_take(bpk_view(value.data + 1, HEX), &bytes, NULL) == 0 &&
		    bytes.size == BPK_MERKLE_SIZE;

	if (good)
		memcpy(digest, bytes.data, BPK_MERKLE_SIZE);
	bpk_buf_clear(&bytes);
	return good;
}

/* Parse the peaks, the largest first: exactly one for each bit of the count. */
static bool parse_peaks(struct bpk_view list, struct bpk_merkle *tree)
{
	struct bpk_view value;
	size_t at = 0;

	if (bpk_json_kind(list) != BPK_JSON_LIST)
		return false;
	for (unsigned k = 64; k-- > 0;)
		if (tree->count >> k & 1 && (!bpk_json_next(list, &at, NULL, &value) ||
					     !parse_digest(value, tree->peaks[k])))
			return false;
	return !bpk_json_next(list, &at, NULL, &value);
}

static bool parse_record(struct bpk_view record, uint64_t nchunks, struct bpk_bloscpack_seal *seal)
{
	uint64_t version;

	if (nchunks == 0 || nchunks == BPK_UNKNOWN ||
	    !bpk_json_u64(bpk_json_member(record, "version"), &version) || version != VERSION ||
	    !bpk_json_u64(bpk_json_member(record, "generation"), &seal->generation))
		return false;
	seal->tree->before.count = nchunks - 1;
	seal->tree->has_last = true;
	return parse_digest(bpk_json_member(record, "root"), seal->root) &&
	       parse_digest(bpk_json_member(record, "last"), seal->tree->last) &&
	       parse_peaks(bpk_json_member(record, "peaks"), &seal->tree->before);
}

void bpk_bloscpack_seal_clear(struct bpk_bloscpack_seal *seal)
{
	free(seal->tree);
	seal->tree = NULL;
}

int bpk_bloscpack_seal_take(struct bpk_bloscpack_metadata *metadata, uint64_t nchunks,
			    struct bpk_bloscpack_seal *seal, struct bpk_err *err)
{
	struct bpk_view text = bpk_buf_view(&metadata->text), key, value;
	struct bpk_buf rest = { 0 };

	seal->marked = metadata->marked;
	if (!metadata->good || !bpk_bloscpack_member_find(text, name, &key, &value))
		return 0;
	seal->recorded = true;
	seal->tree = bpk_calloc(1, sizeof *seal->tree, err);
	if (seal->tree == NULL)
		return -1;
	if (!parse_record(value, nchunks, seal))
		bpk_bloscpack_seal_clear(seal);
	if (bpk_bloscpack_member_cut(text, key, value, &rest, err) != 0) {
		bpk_buf_clear(&rest);
		return -1;
	}
	bpk_buf_clear(&metadata->text);
	metadata->text = rest;
	return 0;
}

bool bpk_bloscpack_seal_is_named(struct bpk_view text)
{
	return bpk_json_member(text, name).size > 0;
}

static int put_digest(struct bpk_buf *out, const uint8_t *digest, const char *behind,
		      struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, "\"") != 0 ||
	    bpk_hex_put(out, bpk_view(digest, BPK_MERKLE_SIZE), err) != 0)
		return -1;
	return bpk_buf_printf(out, err, "\"%s", behind);
}

static int put_record(struct bpk_buf *out, uint64_t generation, const uint8_t *root,
		      const struct bpk_bloscpack_tree *tree, struct bpk_err *err)
{
	uint64_t left = tree->before.count;
	int rc = bpk_buf_printf(out, err,
				"{\"version\":%d,\"generation\":%" PRIu64 ",\"root\":", VERSION,
				generation);

	if (rc == 0)
		rc = put_digest(out, root, ",\"last\":", err);
	if (rc == 0)
		rc = put_digest(out, tree->last, ",\"peaks\":[", err);
	for (unsigned k = 64; rc == 0 && k-- > 0;) {
		if (!(left >> k & 1))
			continue;
		left -= UINT64_C(1) << k;
		rc = put_digest(out, tree->before.peaks[k], left > 0 ? "," : "", err);
	}
	return rc == 0 ? bpk_buf_printf(out, err, "]}") : -1;
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
			    const struct bpk_bloscpack_tree *tree, struct bpk_buf *out,
			    struct bpk_err *err)
{
	struct bpk_buf plain = { 0 }, record = { 0 };
	uint8_t root[BPK_DIGEST_MAX];
	int rc = make_plain(text, &plain, err);

	if (rc == 0)
		rc = find_root(bpk_buf_view(&plain), header, generation, tree, root, err);
	if (rc == 0)
		rc = put_record(&record, generation, root, tree, err);
	if (rc == 0)
		rc = join(text, bpk_buf_view(&record), out, err);
	bpk_buf_clear(&plain);
	bpk_buf_clear(&record);
	return rc;
}
