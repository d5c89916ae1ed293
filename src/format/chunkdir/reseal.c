/*
 * A seal in the place of one that another program's change broke, if everything else is whole; with
 * it the digests in sizes, which such a program drops. Called by the editor.
 */
#include "format/chunkdir/editor.h"

int bpk_chunkdir_reseal(void *editor, bool *needed, struct bpk_err *err)
{
	struct bpk_chunkdir_editor *e = editor;
	const struct bpk_seal *seal = &e->set.seal;
	struct bpk_seal_tree tree;
	struct bpk_err why = { 0 };
	bool fits;

	*needed = false;
	if (e->set.layout != BPK_CHUNKDIR_BLAZE || (!seal->marked && !seal->recorded))
		return 0;
	if (bpk_chunkdir_seal_gather(e->reader, &tree, err) != 0 ||
	    bpk_chunkdir_audit_unsealed(e->reader, &e->reseal.digests, err) != 0)
		return -1;
	if (bpk_err_settle(bpk_chunkdir_seal_check(e->reader, &why), &why, &fits, err) != 0 ||
	    bpk_seal_growth_renew(&e->seal, seal, fits, &tree, err) != 0)
		return -1;
	e->reseal.needed = *needed = e->seal.generation > 0;
	return 0;
}

/* ---- Staging ---- */

/* Add the mark to the text of storage, and note its new digest for the root. */
static int mark(struct bpk_chunkdir_editor *e, struct bpk_buf *text, struct bpk_err *err)
{
	struct bpk_view object = bpk_chunkdir_trimmed(bpk_buf_view(text));
	uint8_t digest[BPK_DIGEST_MAX];

	memmove(text->data, object.data, object.size);
	text->size = object.size;
	if (bpk_buf_printf(text, err, "\n") != 0 || bpk_chunkdir_seal_mark(text, err) != 0 ||
	    bpk_checksum_compute(bpk_checksum_find("sha256"), bpk_buf_view(text), digest, err) != 0)
		return -1;
	memcpy(e->set.storage_digest, digest, sizeof e->set.storage_digest);
	return bpk_chunkdir_put_file(e->tree, "meta/storage", bpk_buf_view(text), err);
}

/* The digest of the attributes as they are; a file that is missing has none. */
static int note_attributes(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	struct bpk_chunkdir_digests *digests = &e->reseal.digests;
	const char *name = e->set.attributes.name;
	struct bpk_buf text = { 0 };
	enum bpk_entry entry;
	uint64_t size;
	int rc = 0;

	if (bpk_dir_look(e->place.directory, name, &entry, &size, err) != 0)
		return -1;
	digests->has_attributes = entry != BPK_ENTRY_NONE || e->attributes.changed;
	if (entry != BPK_ENTRY_NONE)
		rc = bpk_chunkdir_read(e->place.directory, name, BPK_CHUNKDIR_MAX_ATTRIBUTES, &text,
				       err);
	if (rc == 0)
		digests->attributes = bpk_chunkdir_crc(bpk_buf_view(&text));
	bpk_buf_clear(&text);
	return rc;
}

int bpk_chunkdir_reseal_stage(struct bpk_chunkdir_editor *e, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc = bpk_chunkdir_read(e->place.directory, "meta/storage", BPK_CHUNKDIR_MAX_JSON, &text,
				   err);

	if (rc == 0 && !e->set.seal.marked)
		rc = mark(e, &text, err);
	e->reseal.digests.given = true;
	e->reseal.digests.storage = bpk_chunkdir_crc(bpk_buf_view(&text));
	bpk_buf_clear(&text);
	return rc == 0 ? note_attributes(e, err) : -1;
}
