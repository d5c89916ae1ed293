/*
 * Bytes read in advance, for small chunks that follow each other. Called by format.
 */
#include "io/io.h"

enum {
	LEAST = 1 << 10,  /* the second read of a part; each one that follows has twice as many
			     bytes ... */
	MOST = 128 << 10, /* ... up to these: more are no faster */
};

void bpk_stretch_init(struct bpk_stretch *s)
{
	bpk_mutex_init(&s->lock);
}

void bpk_stretch_clear(struct bpk_stretch *s)
{
	size_t i;

	bpk_mutex_clear(&s->lock);
	for (i = 0; i < BPK_STRETCH_PARTS; i++)
		bpk_buf_clear(&s->parts[i].bytes);
}

void bpk_stretch_drop(struct bpk_stretch *s)
{
	size_t i;

	bpk_mutex_lock(&s->lock);
	for (i = 0; i < BPK_STRETCH_PARTS; i++)
		s->parts[i].bytes.size = 0;
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
	bool here = false;
	size_t i;

	bpk_mutex_lock(&s->lock);
	for (i = 0; !here && i < BPK_STRETCH_PARTS; i++)
		here = copy(&s->parts[i], offset, out);
	if (here)
		s->parts[i - 1].used = ++s->uses;
	bpk_mutex_unlock(&s->lock);
	return here;
}

/* The part that a read at offset goes on with, or NULL. s->lock is held. */
static struct bpk_stretch_part *continued(struct bpk_stretch *s, uint64_t offset)
{
	struct bpk_stretch_part *part;

	for (part = s->parts; part < s->parts + BPK_STRETCH_PARTS; part++)
		if (part->bytes.size > 0 && offset >= part->offset &&
		    offset - part->offset <= part->bytes.size)
			return part;
	return NULL;
}

/* The number of bytes to read at offset, of room: size, or more if the read goes on with a part,
 * up to the next part. */
static size_t choose(struct bpk_stretch *s, uint64_t offset, uint64_t room, size_t size)
{
	const struct bpk_stretch_part *part;
	uint64_t wished = size;

	bpk_mutex_lock(&s->lock);
	part = continued(s, offset);
	if (part != NULL)
		wished = bpk_min_u64(bpk_max_u64(2 * (uint64_t)part->bytes.size, LEAST), MOST);
	for (part = s->parts; part < s->parts + BPK_STRETCH_PARTS; part++)
		if (part->bytes.size > 0 && part->offset > offset)
			wished = bpk_min_u64(wished, part->offset - offset);
	bpk_mutex_unlock(&s->lock);
	return (size_t)bpk_max_u64(bpk_min_u64(wished, room), size);
}

/* Keep the bytes at offset, instead of those that they follow, or of those that were used first. */
static void keep(struct bpk_stretch *s, uint64_t offset, struct bpk_buf *bytes)
{
	struct bpk_stretch_part *part, *oldest = s->parts;
	struct bpk_buf old;

	bpk_mutex_lock(&s->lock);
	for (part = s->parts; part < s->parts + BPK_STRETCH_PARTS; part++)
		if (part->used < oldest->used)
			oldest = part;
	part = continued(s, offset);
	if (part == NULL)
		part = oldest;
	old = part->bytes;
	part->bytes = *bytes;
	part->offset = offset;
	part->used = ++s->uses;
	bpk_mutex_unlock(&s->lock);
	*bytes = old;
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
	if (bpk_buf_resize(&bytes, size, NULL) != 0)
		return bpk_source_need_at(source, offset, out, err);
	if (bpk_source_need_at(source, offset, bpk_span(bytes.data, size), &why) != 0) {
		bpk_buf_clear(&bytes);
		/* a failed read may not occur again; a short one is no matter of this chunk */
		return bpk_err_is_of_machine(&why) ? bpk_fail_as(err, &why)
						   : bpk_source_need_at(source, offset, out, err);
	}
	bpk_copy(out.data, bytes.data, out.size);
	keep(s, offset, &bytes);
	bpk_buf_clear(&bytes);
	return 0;
}
