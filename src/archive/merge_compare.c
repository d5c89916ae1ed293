/* Reads the chunks of damaged copies, and compares two of them. Called by the other files. */
#include "archive/merge_inner.h"

#include <inttypes.h>

int bpk_merge_fail_other(const struct bpk_merge *m, size_t a, size_t b, const char *of, uint64_t x,
			 uint64_t y, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"%s and %s are not copies of one archive: %" PRIu64 " and %" PRIu64 " %s",
			m->copies[a].path, m->copies[b].path, x, y, of);
}

/* source: NULL if the file that a chunk was found in is not there any more. */
static int read_all(struct bpk_source *source, uint64_t offset, struct bpk_buf *bytes,
		    struct bpk_err *err)
{
	size_t got = 0;

	if (source != NULL &&
	    bpk_source_read_at(source, offset, bpk_span(bytes->data, bytes->size), &got, err) != 0)
		return -1;
	return got < bytes->size ? bpk_fail_changed(err) : 0;
}

/* A chunk that has moved lies over the parts. */
int bpk_merge_read_run(struct bpk_merge *m, struct bpk_merge_file *file,
		       const struct bpk_merge_run *run, struct bpk_buf *bytes, struct bpk_err *err)
{
	struct bpk_merge_view view = { 0 };
	struct bpk_source *source = NULL;
	int rc = bpk_buf_resize(bytes, (size_t)run->size, err);

	if (rc == 0 && file->nparts > 0 && run->at == run->offset)
		rc = bpk_merge_view_open(m, (int)run->copy, file, &view, err);
	else if (rc == 0)
		rc = bpk_merge_borrow(m, run->copy, file, &source, err);
	if (rc == 0)
		rc = read_all(source != NULL ? source : view.place.source, run->offset, bytes, err);
	bpk_merge_release(m, source);
	bpk_merge_view_close(&view);
	return rc == 0 ? 0 : bpk_input_subject(&m->copies[run->copy], err);
}

int bpk_merge_hash_run(struct bpk_merge *m, struct bpk_merge_file *file, struct bpk_merge_run *run,
		       struct bpk_err *err)
{
	struct bpk_buf bytes = { 0 };
	int rc = bpk_merge_read_run(m, file, run, &bytes, err);

	run->hash = bpk_hash_words(BPK_HASH_START, bpk_buf_view(&bytes));
	bpk_buf_clear(&bytes);
	return rc;
}

int bpk_merge_compare_runs(struct bpk_merge *m, struct bpk_merge_file *x_file,
			   const struct bpk_merge_run *x, struct bpk_merge_file *y_file,
			   const struct bpk_merge_run *y, bool *same, struct bpk_err *err)
{
	struct bpk_buf left = { 0 }, right = { 0 };
	int rc = bpk_merge_read_run(m, x_file, x, &left, err);

	if (rc == 0)
		rc = bpk_merge_read_run(m, y_file, y, &right, err);
	*same = rc == 0 && left.size == right.size && memcmp(left.data, right.data, left.size) == 0;
	bpk_buf_clear(&left);
	bpk_buf_clear(&right);
	return rc;
}

int bpk_merge_fail_differ(const struct bpk_merge *m, uint64_t number, size_t a, size_t b,
			  struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"chunk %" PRIu64 " is intact in %s and in %s, and differs: they are "
			"not copies of one archive",
			number, m->copies[a].path, m->copies[b].path);
}

struct bpk_merge_run bpk_merge_run_of(const struct bpk_salvage *found,
				      const struct bpk_saved *saved, size_t copy)
{
	return (struct bpk_merge_run){
		.at = saved->offset,
		.size = (uint64_t)saved->packed_size + found->seal_size,
		.offset = saved->offset,
		.number = saved->number,
		.copy = copy,
	};
}

bool bpk_merge_is_sure(const struct bpk_salvage *found)
{
	return found->counted && found->doubt.size == 0 && !found->disordered;
}

bool bpk_merge_has_same_list(const struct bpk_merge *m, size_t a, size_t b)
{
	const struct bpk_salvage *x = &m->found[a], *y = &m->found[b];

	return x->exchangeable && y->exchangeable && x->state != 0 && x->state == y->state;
}
