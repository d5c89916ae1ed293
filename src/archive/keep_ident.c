/*
 * The identity that an archive records, kept over changes (keep_ident.h). Called by archive.c,
 * append.c, truncate.c and overwrite.c, and by bpk meta.
 *
 * An append digests the bytes that it packs, on the threads that pack them, and reads the begun
 * leaf before them. A truncate reads the bytes of the last node before the cut.
 */
#include "archive/keep_ident.h"

#include <inttypes.h>
#include <stdlib.h>

enum { READ_AT_ONCE = 16 << 20 }; /* bytes of a node that are in memory at a time */

struct bpk_archive_ident {
	struct bpk_ident tree; /* of the committed content, until a change begins */
	struct bpk_leaves leaves;
	uint64_t start; /* raw offset of the batch */
	bool changes, drops;
	bool set; /* the next commit has the record, or its end */
};

static void clear(struct bpk_archive_ident *ident)
{
	bpk_leaves_clear(&ident->leaves);
	bpk_ident_clear(&ident->tree);
}

void bpk_archive_ident_close(struct bpk_archive *archive)
{
	if (archive->ident != NULL)
		clear(archive->ident);
	free(archive->ident);
	archive->ident = NULL;
}

int bpk_archive_ident_open(struct bpk_archive *archive, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(archive);
	struct bpk_archive_ident *ident;
	enum bpk_ident_state state;

	if (!bpk_ident_is_recorded(info))
		return 0;
	ident = bpk_calloc(1, sizeof *ident, err);
	if (ident == NULL)
		return bpk_archive_subject(archive, err);
	archive->ident = ident;
	bpk_leaves_init(&ident->leaves, &ident->tree);
	if (bpk_ident_find(info, info->raw_size, &ident->tree, &state, err) != 0)
		return bpk_archive_subject(archive, err);
	ident->drops = state != BPK_IDENT_GOOD;
	return 0;
}

void bpk_archive_ident_drop(struct bpk_archive *archive)
{
	if (archive->ident != NULL)
		archive->ident->drops = true;
}

/* Read the bytes start..end of the committed content: into found, from its beginning on, and those
 * from..kept into the leaves of the record. */
static int read_again(struct bpk_archive *archive, struct bpk_leaves *found, uint64_t start,
		      uint64_t end, uint64_t from, uint64_t kept, struct bpk_err *err)
{
	struct bpk_buf bytes = { 0 };
	int rc = 0;

	for (uint64_t at = start, size; rc == 0 && at < end; at += size) {
		uint64_t limit = at < from ? from : at < kept ? kept : end;

		size = bpk_min_u64(limit - at, READ_AT_ONCE);
		bytes.size = 0;
		rc = bpk_archive_read(archive, at, size, &bytes, err);
		if (rc == 0)
			rc = bpk_leaves_put(found, at - start, bpk_buf_view(&bytes), err);
		if (rc == 0 && at >= from && at < kept)
			rc = bpk_leaves_put(&archive->ident->leaves, at, bpk_buf_view(&bytes), err);
	}
	bpk_buf_clear(&bytes);
	return rc;
}

/* Cut the tree after the first kept bytes. The bytes that are digested anew for that must be those
 * of the record: others in their place would become right. */
static int cut(struct bpk_archive *archive, uint64_t kept, struct bpk_err *err)
{
	struct bpk_ident *tree = &archive->ident->tree;
	uint8_t expected[BPK_MERKLE_SIZE], root[BPK_MERKLE_SIZE];
	struct bpk_ident found = { 0 };
	struct bpk_leaves leaves;
	uint64_t start, end, from;
	int rc;

	if (bpk_ident_part(tree, kept, &start, &end, expected, err) != 0)
		return bpk_archive_subject(archive, err);
	bpk_ident_cut(tree, kept, &from);
	bpk_leaves_init(&leaves, &found);
	rc = read_again(archive, &leaves, start, end, from, kept, err);
	if (rc == 0 &&
	    (bpk_leaves_finish(&leaves, err) != 0 || bpk_ident_root(&found, root, err) != 0))
		rc = bpk_archive_subject(archive, err);
	if (rc == 0 && start < end && memcmp(root, expected, sizeof root) != 0) {
		bpk_fail(err, BPK_CORRUPT,
			 "raw bytes %" PRIu64 ":%" PRIu64 " are not those of the recorded identity",
			 start, end);
		rc = bpk_archive_subject(archive, err);
	}
	bpk_leaves_clear(&leaves);
	bpk_ident_clear(&found);
	return rc;
}

int bpk_archive_ident_begin(struct bpk_archive *archive, uint64_t kept, uint64_t start,
			    struct bpk_err *err)
{
	struct bpk_archive_ident *ident = archive->ident;

	/* a second change before the commit would need bytes that cannot be read yet */
	if (ident == NULL || ident->drops || ident->changes) {
		bpk_archive_ident_drop(archive);
		return 0;
	}
	ident->changes = true;
	if (cut(archive, kept, err) != 0)
		return -1;
	ident->leaves.from = kept;
	ident->start = start;
	return 0;
}

int bpk_archive_ident_packed(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_archive_ident *ident = ((struct bpk_archive *)arg)->ident;

	if (ident == NULL || ident->drops || !ident->changes || parcel->raw.size == 0)
		return 0;
	return bpk_leaves_put(&ident->leaves, ident->start + parcel->raw_offset,
			      bpk_buf_view(&parcel->raw), err);
}

/* ---- The record ---- */

/* Put the record into a text, with fewer nodes if it would not fit into the room for metadata
 * otherwise; then all of the archive would be rewritten. */
static int join(struct bpk_archive *archive, struct bpk_buf *text, struct bpk_err *err)
{
	const struct bpk_metadata_info *metadata = &bpk_archive_info(archive)->metadata;
	struct bpk_ident *tree = &archive->ident->tree;

	if (bpk_ident_join(text, tree, err) != 0)
		return -1;
	while (metadata->room != BPK_UNKNOWN && text->size > metadata->room &&
	       bpk_ident_nodes(tree) > 1)
		if (bpk_ident_coarsen(tree, tree->level + 1, err) != 0 ||
		    bpk_ident_join(text, tree, err) != 0)
			return -1;
	return 0;
}

static int set_text(struct bpk_archive *archive, struct bpk_buf *text, struct bpk_err *err)
{
	struct bpk_archive_ident *ident = archive->ident;
	bool is_object = text->size == 0 || bpk_json_kind(bpk_buf_view(text)) == BPK_JSON_OBJECT;
	int rc = 0;

	if (ident != NULL) {
		ident->drops = ident->drops || !is_object;
		ident->set = true;
		rc = ident->drops ? bpk_ident_strip(text, err) : join(archive, text, err);
	}
	if (rc == 0)
		rc = archive->format->editor->set_metadata(archive->editor, bpk_buf_view(text),
							   err);
	return rc == 0 ? 0 : bpk_archive_subject(archive, err);
}

int bpk_archive_set_metadata(struct bpk_archive *archive, struct bpk_buf *text, struct bpk_err *err)
{
	if (bpk_ident_is_named(bpk_buf_view(text))) {
		bpk_ident_fail_named(err);
		return bpk_archive_subject(archive, err);
	}
	return set_text(archive, text, err);
}

int bpk_archive_ident_settle(struct bpk_archive *archive, struct bpk_err *err)
{
	struct bpk_archive_ident *ident = archive->ident;
	const struct bpk_info *info = bpk_archive_info(archive);
	struct bpk_buf text = { 0 };
	int rc;

	if (ident == NULL || ident->set || (!ident->changes && !ident->drops))
		return 0;
	rc = ident->drops ? 0 : bpk_leaves_finish(&ident->leaves, err);
	if (rc == 0)
		rc = bpk_buf_append(&text, info->metadata.text, err);
	rc = rc == 0 ? set_text(archive, &text, err) : bpk_archive_subject(archive, err);
	bpk_buf_clear(&text);
	return rc;
}

void bpk_archive_ident_settled(struct bpk_archive *archive)
{
	struct bpk_archive_ident *ident = archive->ident;

	if (ident == NULL)
		return;
	if (ident->drops) {
		archive->lost_ident = true;
		bpk_archive_ident_close(archive);
		return;
	}
	bpk_leaves_clear(&ident->leaves);
	bpk_leaves_init(&ident->leaves, &ident->tree);
	ident->changes = ident->set = false;
}
