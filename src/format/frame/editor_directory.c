/*
 * The editor's store of sparse frames. New chunks get files of their own, with the smallest numbers
 * that the committed frame does not use, since c-blosc2 refuses a frame with large ones ("Sparse
 * frame"). The rename of chunks.b2frame is the commit; then every chunk file that it does not name
 * is removed: those of removed chunks, and files left by a killed writer.
 */
#include <stdlib.h>

#include "format/frame/editor.h"
#include "format/frame/fetch.h"
#include "format/frame/names.h"
#include "format/frame/store.h"

/* A file written since the last commit. */
struct stored {
	uint32_t id;
	uint32_t size;
};

struct sparse {
	struct bpk_frame_editor *e;
	struct bpk_tree *tree;
	struct bpk_buf used;   /* ids of the committed frame, ascending; 4 bytes each */
	struct bpk_buf stored; /* struct stored, ascending */
	uint64_t next;         /* no id below it is free */
};

/* ---- Opening ---- */

static int skip(void *arg, const char *name, enum bpk_entry entry)
{
	struct sparse *s = arg;
	uint32_t id;

	if (entry == BPK_ENTRY_FILE && bpk_frame_file_id(name, &id))
		s->next = bpk_max_u64(s->next, (uint64_t)id + 1);
	return 0;
}

/* In a store, another command may be removing a file, or have left one: take only ids behind all of
 * those that the frame uses, or that are there. */
static int skip_others(struct sparse *s, struct bpk_err *err)
{
	if (s->used.size > 0)
		s->next = (uint64_t)bpk_frame_ids_last(&s->used) + 1;
	if (!bpk_dir_lists(bpk_tree_dir(s->tree)))
		return 0;
	return bpk_dir_list(bpk_tree_dir(s->tree), "", skip, s, err);
}

static int load(struct sparse *s, struct bpk_err *err)
{
	s->stored.size = 0;
	if (bpk_frame_editor_load(s->e, bpk_tree_dir(s->tree), NULL, err) != 0 ||
	    bpk_frame_check_end(s->e->reader, err) != 0)
		return -1;
	if (bpk_frame_ids_of_state(&s->e->reader->state, &s->used, err) != 0)
		return -1;
	s->next = 0;
	return bpk_tree_is_remote(s->tree) ? skip_others(s, err) : 0;
}

static uint32_t take_free_id(struct sparse *s)
{
	while (bpk_frame_ids_have(&s->used, (uint32_t)s->next))
		s->next++;
	return (uint32_t)s->next++; /* at most the number of chunks */
}

static int directory_put(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err)
{
	struct sparse *s = arg;
	struct stored stored = { take_free_id(s), (uint32_t)chunk.size };
	char name[BPK_FRAME_FILE_NAME];

	*entry = stored.id;
	bpk_frame_file_name(stored.id, name);
	if (bpk_buf_append(&s->stored, bpk_view(&stored, sizeof stored), err) != 0)
		return -1;
	return bpk_frame_store_stage(s->tree, name, chunk, bpk_view(NULL, 0), err);
}

static int directory_open(struct bpk_frame_editor *e, const char *path,
			  const struct bpk_edit_options *options, struct bpk_err *err)
{
	struct bpk_edit_options with = *options;
	struct sparse *s = bpk_calloc(1, sizeof *s, err);

	e->files = s;
	if (s == NULL)
		return -1;
	s->e = e;
	with.sidecar = true;
	with.claims = bpk_frame_claims_sparse;
	with.owns = bpk_frame_owns;
	with.pivot = BPK_FRAME_SPARSE_INDEX;
	if (bpk_tree_open(path, &with, &s->tree, err) != 0)
		return -1;
	e->sidecar = bpk_tree_sidecar(s->tree);
	return load(s, err);
}

static void directory_close(void *files)
{
	struct sparse *s = files;

	bpk_tree_close(s->tree);
	bpk_buf_clear(&s->used);
	bpk_buf_clear(&s->stored);
	free(s);
}

/* ---- Committing ---- */

/* Compute the header's size of chunks: subtract removed chunks, and add new ones. An excess that
 * other programs left in it stays. */
static int measure(struct sparse *s, const struct bpk_buf *ids, uint64_t *payload,
		   struct bpk_err *err)
{
	const struct bpk_frame_state *state = &s->e->reader->state;
	const uint64_t least = BPK_CHUNK_EXTENDED_HEADER_SIZE;
	struct bpk_frame_found gone;
	struct stored stored;

	*payload = state->header.packed_size;
	for (uint64_t i = 0; i < state->nchunks; i++) {
		uint64_t entry;

		if (bpk_frame_entry(state, i, &entry, err) != 0)
			return -1;
		if (bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE ||
		    bpk_frame_ids_have(ids, (uint32_t)entry))
			continue;
		if (bpk_frame_look(s->e->reader, i, &gone, err) != 0 ||
		    bpk_frame_check_room(s->e->reader, i, &gone, err) != 0)
			return -1;
		*payload -= bpk_min_u64(*payload, gone.header.packed_size);
	}
	for (size_t at = 0; at < s->stored.size; at += sizeof stored) {
		memcpy(&stored, s->stored.data + at, sizeof stored);
		if (bpk_frame_ids_have(ids, stored.id))
			*payload += stored.size;
	}
	/* c-blosc2 3 refuses ids beyond that size, and the old frame's ids are not free before the
	 * commit: the header's size may then exceed the true one a little */
	if (ids->size > 0)
		*payload = bpk_max_u64(*payload, bpk_frame_ids_last(ids) + least);
	return 0;
}

struct removal {
	struct sparse *s;
	const struct bpk_buf *ids;
	struct bpk_err *err;
};

static int visit(void *arg, const char *name, enum bpk_entry entry)
{
	struct removal *r = arg;
	uint32_t id;

	if (entry != BPK_ENTRY_FILE || !bpk_frame_file_id(name, &id) ||
	    bpk_frame_ids_have(r->ids, id))
		return 0;
	return bpk_tree_remove(r->s->tree, name, r->err);
}

/* In a store a file that the frame never used may be another command's. */
static int remove_used(struct removal *r)
{
	const struct bpk_buf *used = &r->s->used;
	char name[BPK_FRAME_FILE_NAME];
	uint32_t id, before = 0;

	for (size_t at = 0; at < used->size; at += sizeof id, before = id) {
		memcpy(&id, used->data + at, sizeof id);
		if (at > 0 && id == before)
			continue;
		bpk_frame_file_name(id, name);
		if (visit(r, name, BPK_ENTRY_FILE) != 0)
			return -1;
	}
	return 0;
}

/* Remove the files that are not in ids, and withdraw those put and replaced before this commit. */
static int remove_others(struct sparse *s, const struct bpk_buf *ids, struct bpk_err *err)
{
	struct removal removal = { s, ids, err };
	struct stored stored;

	if (bpk_tree_is_remote(s->tree)
		    ? remove_used(&removal) != 0
		    : bpk_dir_list(bpk_tree_dir(s->tree), "", visit, &removal, err) != 0)
		return -1;
	for (size_t at = 0; at < s->stored.size; at += sizeof stored) {
		char name[BPK_FRAME_FILE_NAME];

		memcpy(&stored, s->stored.data + at, sizeof stored);
		bpk_frame_file_name(stored.id, name);
		if (!bpk_frame_ids_have(ids, stored.id))
			bpk_tree_withdraw(s->tree, name);
	}
	return 0;
}

static int stage_index(struct sparse *s, const struct bpk_buf *ids, struct bpk_err *err)
{
	struct bpk_buf header = { 0 }, tail = { 0 };
	uint64_t payload;
	int rc = measure(s, ids, &payload, err);

	if (rc == 0)
		rc = bpk_frame_editor_end(s->e, BPK_UNKNOWN, payload, &header, &tail, err);
	if (rc == 0)
		rc = bpk_frame_store_stage(s->tree, BPK_FRAME_SPARSE_INDEX, bpk_buf_view(&header),
					   bpk_buf_view(&tail), err);
	bpk_buf_clear(&header);
	bpk_buf_clear(&tail);
	return rc;
}

/* True if the pending change leaves the committed content as it is. A short last chunk may have
 * been recompressed with more data. */
static bool only_adds(const struct bpk_frame_editor *e)
{
	if (e->replaces)
		return false;
	if (!e->is_cut)
		return true;
	return e->kept + 1 >= e->info.chunks.count &&
	       (e->reader->array.is_nd ? e->rows >= e->reader->array.nd.array.shape[0]
				       : e->output.raw_size >= e->reader->state.header.raw_size);
}

static int commit(struct sparse *s, struct bpk_err *err)
{
	struct bpk_buf ids = { 0 };
	int rc = bpk_frame_ids_list(&s->e->output.entries, &ids, err);

	if (rc == 0)
		rc = stage_index(s, &ids, err);
	if (rc == 0)
		rc = remove_others(s, &ids, err);
	if (only_adds(s->e))
		bpk_tree_only_adds(s->tree);
	if (rc == 0)
		rc = bpk_tree_commit(s->tree, BPK_FRAME_SPARSE_INDEX, err);
	bpk_buf_clear(&ids);
	return rc;
}

static int directory_commit(struct bpk_frame_editor *e, struct bpk_err *err)
{
	struct sparse *s = e->files;

	if (!e->altered) {
		bpk_frame_editor_forget(e);
		bpk_sidecar_give(e->sidecar);
		return 0;
	}
	if (commit(s, err) != 0)
		return -1;
	bpk_frame_editor_forget(e);
	return load(s, err) == 0 ? 0 : bpk_edit_fail_reread(err);
}

const struct bpk_frame_editor_store bpk_frame_editor_directory = {
	.open = directory_open,
	.put = directory_put,
	.commit = directory_commit,
	.close = directory_close,
};
