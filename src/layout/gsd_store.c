/*
 * GSD: the two stores for written files, an edit in place and a new draft. Called by
 * archive/trajectory.c.
 */
#include "layout/gsd_editor.h"

/* ---- A file, changed in place ---- */

static uint64_t begin_edit(void *own, uint64_t end)
{
	bpk_edit_set_end(own, end);
	return end;
}

static int guard_edit(void *own, struct bpk_err *err)
{
	return bpk_edit_need_journal(own, err);
}

static void set_free(void *own, uint64_t offset, uint64_t size)
{
	bpk_edit_set_free(own, offset, size);
}

static int write_edit(void *own, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	return bpk_edit_write_at(own, offset, bytes, err);
}

/* Also removes bytes that a killed writer left after the end. */
static int commit_edit(void *own, struct bpk_view header, uint64_t end, struct bpk_err *err)
{
	const struct bpk_edit_head head = { .offset = 0, .bytes = header };

	if (bpk_edit_commit(own, &head, end, err) != 0)
		return -1;
	return bpk_edit_trim(own, err) == 0 ? 0 : bpk_edit_fail_committed(err);
}

struct bpk_gsd_store bpk_gsd_store_of_edit(struct bpk_edit *edit)
{
	static const struct bpk_gsd_store_ops ops = {
		.begin = begin_edit,
		.guard = guard_edit,
		.set_free = set_free,
		.write_at = write_edit,
		.commit = commit_edit,
	};

	return (struct bpk_gsd_store){ &ops, edit };
}

/* ---- A new file ---- */

static uint64_t begin_draft(void *own, uint64_t end)
{
	(void)own;
	return end;
}

static void ignore_free(void *own, uint64_t offset, uint64_t size)
{
	(void)own;
	(void)offset;
	(void)size;
}

static int write_draft(void *own, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	return bpk_draft_write_at(own, offset, bytes, err);
}

static int commit_draft(void *own, struct bpk_view header, uint64_t end, struct bpk_err *err)
{
	if (bpk_draft_write_at(own, 0, header, err) != 0)
		return -1;
	return bpk_draft_set_size(own, end, err);
}

struct bpk_gsd_store bpk_gsd_store_of_draft(struct bpk_draft *draft)
{
	static const struct bpk_gsd_store_ops ops = {
		.begin = begin_draft,
		.set_free = ignore_free,
		.write_at = write_draft,
		.commit = commit_draft,
	};

	return (struct bpk_gsd_store){ &ops, draft };
}
