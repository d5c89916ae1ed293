/*
 * The editor's store of contiguous frames. No byte that the committed header leads to is
 * overwritten, so there is no journal, and any other reader finds the old frame or the new one at
 * any instant ("What modifications do", crash-safe append):
 *
 *     header | chunks | index, trailer | new chunks, index, trailer
 *     ^ last, in one write               ^ the old end
 *
 * The old index and trailer, and replaced chunks, then are holes. A frame is written as a whole
 * when it will have no chunks, and after a commit when its holes are too many (repack.c).
 */
#include <stdlib.h>

#include "format/frame/editor.h"
#include "format/frame/repack.h"

#include "format/members.h"

enum { SECTOR = 512 }; /* bytes that are written as a whole or not at all */

struct contiguous {
	struct bpk_frame_editor *e;
	const char *path; /* borrowed */
	struct bpk_edit *edit;
	uint64_t position; /* of the next chunk */
	bool copy;         /* the file itself is not written to */
};

/* ---- Opening ---- */

static int load(struct contiguous *c, struct bpk_err *err)
{
	if (bpk_frame_editor_load(c->e, NULL, bpk_edit_source(c->edit), err) != 0)
		return -1;
	c->position = c->e->reader->state.header.frame_size;
	if (bpk_members_refuse_tail(&bpk_frame_members, c->e->reader, bpk_edit_source(c->edit),
				    c->path, c->position, err) != 0)
		return -1;
	bpk_edit_set_end(c->edit, c->position);
	return 0;
}

/*
 * Write the next bytes behind the committed end. Before the first of them the rest of an
 * interrupted append is cut off: a shorter tail over it would leave bytes that begin inside a
 * chunk.
 */
static int write_behind(struct contiguous *c, struct bpk_view bytes, struct bpk_err *err)
{
	bool first = c->position == c->e->reader->state.header.frame_size;

	if (first && !c->copy && bpk_edit_trim(c->edit, err) != 0)
		return -1;
	return bpk_edit_write_at(c->edit, c->position, bytes, err);
}

static int file_put(void *arg, struct bpk_view chunk, uint64_t *entry, struct bpk_err *err)
{
	struct contiguous *c = arg;

	*entry = c->position - c->e->output.header.size;
	if (write_behind(c, chunk, err) != 0)
		return -1;
	c->position += chunk.size;
	return 0;
}

static int file_open(struct bpk_frame_editor *e, const char *path,
		     const struct bpk_edit_options *options, struct bpk_err *err)
{
	struct bpk_edit_options with = *options;
	struct contiguous *c = bpk_calloc(1, sizeof *c, err);

	e->files = c;
	if (c == NULL)
		return -1;
	c->e = e;
	c->path = path;
	c->copy = options->copy;
	with.sidecar = true;
	with.claims = bpk_frame_claims;
	if (bpk_edit_open(path, &with, &c->edit, err) != 0)
		return -1;
	e->sidecar = bpk_edit_sidecar(c->edit);
	return load(c, err);
}

static void file_close(void *files)
{
	struct contiguous *c = files;

	bpk_edit_close(c->edit);
	free(c);
}

/* ---- Committing ---- */

/* The bytes of the header that differ; their offset is *from. */
static struct bpk_view changed(struct bpk_view before, struct bpk_view now, size_t *from)
{
	size_t first = 0, end = now.size;

	while (first < end && before.data[first] == now.data[first])
		first++;
	while (end > first && before.data[end - 1] == now.data[end - 1])
		end--;
	*from = first;
	return bpk_view(now.data + first, end - first);
}

/* Layers may extend the header beyond its first sector: changes there need a journal. */
static int commit_header(struct contiguous *c, struct bpk_view now, uint64_t end,
			 struct bpk_err *err)
{
	size_t from;
	struct bpk_view bytes = changed(bpk_buf_view(&c->e->reader->state.head), now, &from);
	struct bpk_edit_head head = { .offset = from, .bytes = bytes };

	if (from + bytes.size <= SECTOR)
		return bpk_edit_commit(c->edit, &head, end, err);
	if (bpk_edit_write_at(c->edit, from, bytes, err) != 0)
		return -1;
	return bpk_edit_commit(c->edit, NULL, end, err);
}

/* Write index and trailer after all other bytes, and then the header. */
static int commit_behind(struct contiguous *c, struct bpk_view header, struct bpk_view tail,
			 struct bpk_err *err)
{
	if (write_behind(c, tail, err) != 0)
		return -1;
	return commit_header(c, header, c->position + tail.size, err);
}

static int commit_empty(struct contiguous *c, struct bpk_view header, struct bpk_view tail,
			struct bpk_err *err)
{
	struct bpk_draft *draft;

	if (bpk_edit_draft(c->edit, &draft, err) != 0)
		return -1;
	if (bpk_draft_write_at(draft, 0, header, err) != 0 ||
	    bpk_draft_write_at(draft, header.size, tail, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	return bpk_edit_replace(c->edit, draft, err);
}

/* Without chunks, readers look for the trailer directly after the header ("Contiguous frame"),
 * where committed bytes may be: in that case the file is replaced. */
static int commit(struct contiguous *c, struct bpk_err *err)
{
	bool empty = c->e->output.nchunks == 0;
	uint64_t payload_end = empty ? c->e->output.header.size : c->position;
	struct bpk_buf header = { 0 }, tail = { 0 };
	int rc = bpk_frame_editor_end(c->e, payload_end, 0, &header, &tail, err);

	if (rc == 0 && header.size != c->e->reader->state.head.size)
		rc = bpk_fail(err, BPK_BUG, "the header grew from %zu to %zu bytes",
			      c->e->reader->state.head.size, header.size);
	if (rc == 0)
		rc = (empty ? commit_empty : commit_behind)(c, bpk_buf_view(&header),
							    bpk_buf_view(&tail), err);
	bpk_buf_clear(&header);
	bpk_buf_clear(&tail);
	return rc;
}

static int file_commit(struct bpk_frame_editor *e, struct bpk_err *err)
{
	struct contiguous *c = e->files;
	uint64_t before = c->e->reader->state.header.frame_size;

	/* already taken, unless nothing was changed */
	if (bpk_sidecar_take(e->sidecar, err) != 0 ||
	    (e->altered ? commit(c, err) : bpk_edit_rollback(c->edit, err)) != 0)
		return -1;
	bpk_frame_editor_forget(e);
	/* more bytes of an uncommitted append may follow the end */
	if (bpk_edit_trim(c->edit, err) != 0)
		return bpk_edit_fail_committed(err);
	if (c->e->compacts)
		bpk_frame_repack_last(c->edit);
	else
		bpk_frame_repack_grown(c->edit, before);
	if (load(c, err) != 0)
		return bpk_err_subject(err, "is committed, but cannot be read again");
	return 0;
}

const struct bpk_frame_editor_store bpk_frame_editor_file = {
	.open = file_open,
	.put = file_put,
	.commit = file_commit,
	.close = file_close,
};
