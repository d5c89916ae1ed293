/*
 * Bytes read in advance, for small chunks that follow each other. Called by format.
 */
#include "io/io.h"

enum {
	LEAST = 1 << 10,  /* the first stretch; each one that follows has twice as many bytes ... */
	MOST = 256 << 10, /* ... up to these: more are no faster */
};

void bpk_stretch_init(struct bpk_stretch *s)
{
	bpk_mutex_init(&s->lock);
}

void bpk_stretch_clear(struct bpk_stretch *s)
{
	bpk_mutex_clear(&s->lock);
	bpk_buf_clear(&s->last.bytes);
	bpk_buf_clear(&s->before.bytes);
}

void bpk_stretch_drop(struct bpk_stretch *s)
{
	bpk_mutex_lock(&s->lock);
	s->last.bytes.size = s->before.bytes.size = 0;
	s->end = 0;
	bpk_mutex_unlock(&s->lock);
}

static bool copy(const struct bpk_stretch_part *part, uint64_t offset, struct bpk_span out)
{
	if (offset < part->offset || out.size > part->bytes.size ||
	    offset - part->offset > part->bytes.size - out.size)
		return false;
	bpk_copy(out.data, part->bytes.data + (offset - part->offset), out.size);
	return true;
}

bool bpk_stretch_copy(struct bpk_stretch *s, uint64_t offset, struct bpk_span out)
{
	bool here;

	bpk_mutex_lock(&s->lock);
	here = copy(&s->last, offset, out) || copy(&s->before, offset, out);
	bpk_mutex_unlock(&s->lock);
	return here;
}

/* The bytes to read at offset: size, or more if the read goes on with the last one; 0 if it is one
 * of another thread, a little behind. */
static size_t choose(struct bpk_stretch *s, uint64_t offset, uint64_t room, size_t size)
{
	uint64_t wished = size;

	bpk_mutex_lock(&s->lock);
	if (offset < s->last.offset && s->last.offset - offset < MOST)
		wished = 0;
	else if (offset >= s->last.offset && offset <= s->end && s->end > 0)
		wished = bpk_min_u64(bpk_max_u64(2 * (uint64_t)s->last.bytes.size, LEAST), MOST);
	bpk_mutex_unlock(&s->lock);
	return wished == 0 ? 0 : (size_t)bpk_max_u64(bpk_min_u64(wished, room), size);
}

/* Keep the bytes at offset, instead of those that were kept first. */
static void keep(struct bpk_stretch *s, uint64_t offset, struct bpk_buf *bytes)
{
	struct bpk_buf oldest;

	bpk_mutex_lock(&s->lock);
	oldest = s->before.bytes;
	s->before = s->last;
	s->last.bytes = *bytes;
	s->last.offset = offset;
	s->end = offset + bytes->size;
	bpk_mutex_unlock(&s->lock);
	*bytes = oldest;
}

int bpk_stretch_read(struct bpk_stretch *s, struct bpk_source *source, uint64_t offset,
		     uint64_t room, struct bpk_span out, struct bpk_err *err)
{
	struct bpk_buf bytes = { 0 };
	struct bpk_err why = { 0 };
	size_t size;

	if (bpk_stretch_copy(s, offset, out))
		return 0;
	size = choose(s, offset, room, out.size);
	if (size == 0 || bpk_buf_resize(&bytes, size, NULL) != 0)
		return bpk_source_need_at(source, offset, out, err);
	if (bpk_source_need_at(source, offset, bpk_span(bytes.data, size), &why) != 0) {
		bpk_buf_clear(&bytes);
		/* a failed read may not occur again; a short one is no matter of this chunk */
		return bpk_err_is_of_machine(&why) ? bpk_fail(err, why.kind, "%s", why.text)
						   : bpk_source_need_at(source, offset, out, err);
	}
	bpk_copy(out.data, bytes.data, out.size);
	keep(s, offset, &bytes);
	bpk_buf_clear(&bytes);
	return 0;
}
