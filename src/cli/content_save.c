/* Arrays as NumPy's files. Called by unpack.c. */
#include <inttypes.h>

#include "cli/content.h"
#include "io/io.h"

/* The arrays to save: equal types become one array, with an axis of frames in front. */
struct saving {
	const struct bpk_content *content;
	struct bpk_transfer *transfer;
	struct bpk_tar_writer *zip; /* NULL: one .npy */
	struct bpk_array first;     /* owned */
	uint64_t count;
	uint64_t size, most; /* bytes of all, and how many may be */
	bool framed;         /* they belong to frames */
	bool differ;         /* in type or shape */
};

/* ---- Looking at all of them ---- */

static void compare(struct saving *s, const struct bpk_array *array)
{
	bool same = array->ndimensions == s->first.ndimensions &&
		    memcmp(array->shape, s->first.shape, sizeof array->shape) == 0 &&
		    array->fortran == s->first.fortran &&
		    bpk_dtype_equal(&array->dtype, &s->first.dtype);

	s->differ = s->differ || !same;
}

static int look(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct saving *s = arg;

	s->framed = item->frame != BPK_UNKNOWN;
	if (!bpk_add_u64(s->size, item->array->size, &s->size) || s->size > s->most)
		return bpk_fail(err, BPK_LIMIT,
				"'%s' has more than the %" PRIu64 " bytes that --max-output allows",
				item->name, s->most);
	if (s->count++ == 0)
		return bpk_array_copy(item->array, &s->first, err);
	compare(s, item->array);
	return 0;
}

/* ---- One file ---- */

static int write_head(struct bpk_draft *draft, const struct bpk_array *array, struct bpk_err *err)
{
	struct bpk_buf head = { 0 };
	int rc = bpk_npy_head(array, &head, err);

	if (rc == 0)
		rc = bpk_draft_write(draft, bpk_buf_view(&head), err);
	bpk_buf_clear(&head);
	return rc;
}

/* The head of all frames together. */
static int write_common_head(struct saving *s, struct bpk_err *err)
{
	uint64_t shape[BPK_ARRAY_MAX_DIMENSIONS + 1] = { s->count };
	struct bpk_array all = s->first;

	if (!s->framed)
		return write_head(s->transfer->draft, &all, err);
	memcpy(shape + 1, all.shape, all.ndimensions * sizeof *shape);
	if (bpk_array_set_shape(&all, shape, all.ndimensions + 1, err) != 0)
		return -1;
	return write_head(s->transfer->draft, &all, err);
}

static int add(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct saving *s = arg;

	return bpk_content_copy(s->content, item, s->transfer->draft, err);
}

/* ---- A file for each frame ---- */

static int fill_member(const struct saving *s, const struct bpk_item *item, struct bpk_draft *draft,
		       struct bpk_err *err)
{
	if (write_head(draft, item->array, err) != 0)
		return -1;
	return bpk_content_copy(s->content, item, draft, err);
}

/* Its name is the frame's number, or its own; the sizes of members stand in front of them. */
static int add_member(void *arg, const struct bpk_item *item, struct bpk_err *err)
{
	struct saving *s = arg;
	struct bpk_buf name = { 0 }, head = { 0 };
	struct bpk_draft *draft = NULL;
	uint64_t size;
	int rc;

	if (item->frame == BPK_UNKNOWN)
		rc = bpk_buf_printf(&name, err, "%s.npy", item->name);
	else
		rc = bpk_buf_printf(&name, err, "%" PRIu64 ".npy", item->frame);
	if (rc == 0)
		rc = bpk_buf_append(&name, bpk_view("", 1), err);
	if (rc == 0)
		rc = bpk_npy_head(item->array, &head, err);
	size = head.size + item->array->size;
	bpk_buf_clear(&head);
	if (rc == 0)
		rc = bpk_tar_member(s->zip, (const char *)name.data, size, &(struct stat){ 0 },
				    &draft, err);
	bpk_buf_clear(&name);
	if (rc != 0)
		return -1;
	if (fill_member(s, item, draft, err) == 0)
		return bpk_draft_keep(draft, NULL, err);
	bpk_draft_drop(draft);
	return -1;
}

static int save_all(struct saving *s, const struct bpk_pick *pick, struct bpk_err *err)
{
	enum { EPOCH = 315532800 }; /* 1980: no zip knows an earlier date */
	const struct bpk_tar_options options = { .has_date = true, .date = EPOCH, .zip = true };
	int rc;

	if (bpk_tar_writer_open(s->transfer->draft, &options, &s->zip, err) != 0)
		return -1;
	rc = bpk_pick_each(s->content, pick, add_member, s, err);
	if (rc == 0)
		rc = bpk_tar_writer_finish(s->zip, err);
	bpk_tar_writer_close(s->zip);
	return rc;
}

/* ---- All of it ---- */

int bpk_content_save(const struct bpk_content *content, const struct bpk_pick *pick, uint64_t most,
		     struct bpk_transfer *transfer, uint64_t *count, struct bpk_err *err)
{
	struct saving s = { .content = content, .transfer = transfer, .most = most };
	int rc = bpk_pick_each(content, pick, look, &s, err);

	*count = s.count;
	if (rc == 0 && bpk_ends_with(transfer->target, ".npz")) {
		rc = save_all(&s, pick, err);
	} else if (rc == 0 && s.differ) {
		bpk_fail(err, BPK_FAILED,
			 "shapes or types of '%s' differ between frames, so it takes an .npz: name "
			 "the result so",
			 pick->name);
		rc = bpk_input_subject(content->in, err);
	} else if (rc == 0) {
		rc = write_common_head(&s, err);
		if (rc == 0)
			rc = bpk_pick_each(content, pick, add, &s, err);
	}
	bpk_array_clear(&s.first);
	return rc;
}
