/* The seal of a whole archive, as formats share it (sealed.h): the tree, its leaves, its record.
 * Called by the inner rooms. */
#include "format/sealed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 1, HEX = 2 * BPK_MERKLE_SIZE };

/* Fail: fact shows that a seal is not that of its archive. */
static int fail(const struct bpk_seal *seal, const char *fact, struct bpk_err *err)
{
	if (seal->marks_changes)
		return bpk_fail(err, BPK_CORRUPT, "%s", fact);
	return bpk_fail(err, BPK_CORRUPT,
			"%s: another program changed it since it was sealed, or it is "
			"damaged; bpk repair FILE shows which data are left; " BPK_SEAL_ADVICE,
			fact);
}

int bpk_seal_refuse(const struct bpk_seal *seal, struct bpk_err *err)
{
	return fail(seal, "the chunks are not those that were sealed", err);
}

/* ---- The tree ---- */

uint64_t bpk_seal_tree_count(const struct bpk_seal_tree *tree)
{
	return tree->before.count + tree->has_last;
}

int bpk_seal_tree_add(struct bpk_seal_tree *tree, const uint8_t leaf[BPK_MERKLE_SIZE],
		      struct bpk_err *err)
{
	if (tree->has_last && bpk_merkle_add(&tree->before, tree->last, err) != 0)
		return -1;
	memcpy(tree->last, leaf, BPK_MERKLE_SIZE);
	tree->has_last = true;
	return 0;
}

int bpk_seal_tree_root(const struct bpk_seal_tree *tree, uint8_t root[BPK_MERKLE_SIZE],
		       struct bpk_err *err)
{
	struct bpk_merkle all = tree->before;

	if (tree->has_last && bpk_merkle_add(&all, tree->last, err) != 0)
		return -1;
	return bpk_merkle_root(&all, root, err);
}

bool bpk_seal_tree_equals(const struct bpk_seal_tree *a, const struct bpk_seal_tree *b)
{
	if (a->before.count != b->before.count || a->has_last != b->has_last)
		return false;
	for (unsigned k = 0; k < 64; k++)
		if (a->before.count >> k & 1 &&
		    memcmp(a->before.peaks[k], b->before.peaks[k], BPK_MERKLE_SIZE) != 0)
			return false;
	return !a->has_last || memcmp(a->last, b->last, BPK_MERKLE_SIZE) == 0;
}

/* ---- Leaves ---- */

static const struct bpk_checksum *sha256(void)
{
	return bpk_checksum_find("sha256");
}

int bpk_seal_leaf(const struct bpk_seal_facts *facts, uint8_t leaf[BPK_MERKLE_SIZE],
		  struct bpk_err *err)
{
	uint8_t bytes[24 + BPK_MERKLE_SIZE];

	bpk_put_le64(bytes, facts->number);
	bpk_put_le64(bytes + 8, facts->raw_size);
	bpk_put_le64(bytes + 16, facts->packed_size);
	memcpy(bytes + 24, facts->digest, BPK_MERKLE_SIZE);
	return bpk_merkle_leaf(bpk_view(bytes, sizeof bytes), leaf, err);
}

void bpk_seal_take_digest(const struct bpk_checksum *checksum, const uint8_t *recorded,
			  uint8_t digest[BPK_MERKLE_SIZE])
{
	memset(digest, 0, BPK_MERKLE_SIZE);
	memcpy(digest, recorded, bpk_min_size(checksum->size, BPK_MERKLE_SIZE));
}

int bpk_seal_digest(const struct bpk_checksum *checksum, struct bpk_view packed,
		    uint8_t digest[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	uint8_t found[BPK_DIGEST_MAX];

	if (checksum->size == 0)
		checksum = sha256();
	if (bpk_checksum_compute(checksum, packed, found, err) != 0)
		return -1;
	bpk_seal_take_digest(checksum, found, digest);
	return 0;
}

int bpk_seal_parcel(const struct bpk_checksum *checksum, const struct bpk_parcel *parcel,
		    uint64_t number, bool tested, uint8_t leaf[BPK_MERKLE_SIZE],
		    struct bpk_err *err)
{
	struct bpk_seal_facts facts = { .number = number,
					.raw_size = parcel->raw_size,
					.packed_size = parcel->packed_size };
	const struct bpk_buf *packed = &parcel->packed;
	bool recorded = checksum->size > 0 && packed->size >= checksum->size &&
			packed->size - checksum->size >= parcel->packed_size;

	if (tested && recorded)
		bpk_seal_take_digest(checksum, packed->data + parcel->packed_size, facts.digest);
	else if (bpk_seal_digest(checksum, bpk_view(packed->data, parcel->packed_size),
				 facts.digest, err) != 0)
		return -1;
	return bpk_seal_leaf(&facts, leaf, err);
}

int bpk_seal_leaf_at(const struct bpk_checksum *checksum, uint64_t number,
		     const struct bpk_where *where, uint8_t leaf[BPK_MERKLE_SIZE],
		     struct bpk_err *err)
{
	struct bpk_seal_facts facts = { .number = number,
					.raw_size = where->header.raw_size,
					.packed_size = where->header.packed_size };

	bpk_seal_take_digest(checksum, where->digest, facts.digest);
	return bpk_seal_leaf(&facts, leaf, err);
}

int bpk_seal_tree_put(struct bpk_seal_tree *tree, const struct bpk_checksum *checksum,
		      const struct bpk_parcel *parcel, bool tested, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (bpk_seal_parcel(checksum, parcel, bpk_seal_tree_count(tree), tested, leaf, err) != 0)
		return -1;
	return bpk_seal_tree_add(tree, leaf, err);
}

/* ---- The record ---- */

/* Parse a digest; false if it is none. */
static bool parse_digest(struct bpk_view value, uint8_t digest[BPK_MERKLE_SIZE])
{
	return bpk_json_kind(value) == BPK_JSON_STRING && value.size == HEX + 2 &&
	       bpk_hex_fill(bpk_view(value.data + 1, HEX), digest, BPK_MERKLE_SIZE);
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

static bool parse_record(struct bpk_view record, uint64_t nchunks, struct bpk_seal *seal)
{
	uint64_t version;

	if (!bpk_json_u64(bpk_json_member(record, "generation"), &seal->generation)) {
		seal->generation = BPK_UNKNOWN;
		return false;
	}
	if (!bpk_json_u64(bpk_json_member(record, "version"), &version) || version != VERSION ||
	    nchunks == BPK_UNKNOWN)
		return false;
	seal->tree->has_last = nchunks > 0;
	seal->tree->before.count = nchunks - seal->tree->has_last;
	return parse_digest(bpk_json_member(record, "root"), seal->root) &&
	       parse_digest(bpk_json_member(record, "last"), seal->tree->last) &&
	       parse_peaks(bpk_json_member(record, "peaks"), &seal->tree->before);
}

void bpk_seal_clear(struct bpk_seal *seal)
{
	free(seal->tree);
	seal->tree = NULL;
}

int bpk_seal_take(struct bpk_view record, uint64_t nchunks, struct bpk_seal *seal,
		  struct bpk_err *err)
{
	seal->recorded = true;
	seal->tree = bpk_calloc(1, sizeof *seal->tree, err);
	if (seal->tree == NULL)
		return -1;
	if (!parse_record(record, nchunks, seal))
		bpk_seal_clear(seal);
	return 0;
}

static int put_digest(struct bpk_buf *out, const uint8_t *digest, const char *behind,
		      struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, "\"") != 0 ||
	    bpk_hex_put(out, bpk_view(digest, BPK_MERKLE_SIZE), err) != 0)
		return -1;
	return bpk_buf_printf(out, err, "\"%s", behind);
}

int bpk_seal_put(struct bpk_buf *out, uint64_t generation, const uint8_t root[BPK_MERKLE_SIZE],
		 const struct bpk_seal_tree *tree, struct bpk_err *err)
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

/* ---- Tests ---- */

int bpk_seal_check(const struct bpk_seal *seal, uint64_t nchunks, bool *sealed, struct bpk_err *err)
{
	char fact[80];

	*sealed = seal->marked && seal->recorded;
	if (!seal->marked && !seal->recorded)
		return 0;
	if (!seal->recorded)
		return fail(seal, "the metadata are marked as sealed, but have no seal", err);
	if (!seal->marked)
		return fail(seal, "there is a seal, but the metadata are not marked as sealed",
			    err);
	if (seal->tree != NULL)
		return 0;
	snprintf(fact, sizeof fact, "the seal does not fit an archive of %" PRIu64 " chunks",
		 nchunks);
	return fail(seal, fact, err);
}

int bpk_seal_next(const struct bpk_seal *seal, uint64_t *generation, struct bpk_err *err)
{
	*generation = 0;
	if (!seal->marked && !seal->recorded)
		return 0;
	if (seal->generation >= INT64_MAX) /* the largest that parse_record takes */
		return bpk_fail(err, BPK_LIMIT,
				"its seal has the last generation, or none that can be read, so "
				"that no other can follow");
	*generation = seal->generation + 1;
	return 0;
}

int bpk_seal_compare(const struct bpk_seal *seal, const uint8_t root[BPK_MERKLE_SIZE],
		     struct bpk_err *err)
{
	return memcmp(root, seal->root, BPK_MERKLE_SIZE) == 0
		       ? 0
		       : fail(seal, "the seal's root is not that of header, metadata and chunks",
			      err);
}

int bpk_seal_check_end(uint64_t end, uint64_t size, struct bpk_err *err)
{
	if (size <= end)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"%" PRIu64 " %s from offset %" PRIu64
			" on %s behind the end of a sealed archive",
			size - end, bpk_plural(size - end, "byte", "bytes"), end,
			bpk_plural(size - end, "is", "are"));
}
