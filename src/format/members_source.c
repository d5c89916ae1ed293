/*
 * The source of a later member's bytes, for its reader. A member may be a few bytes long, so small
 * reads go through a page that was read at once. No writer of ours changes a file of several
 * archives, so no hold is needed. Called by members_one.c.
 */
#include "format/members.h"

#include <stdlib.h>

enum {
	PAGE = 4096, /* reading it costs no more than reading one header */
	SMALL = 256, /* largest read that uses the page: headers and offset entries */
};

struct bpk_members_page {
	uint64_t start;
	size_t size;
	uint8_t bytes[PAGE];
};

struct part {
	struct bpk_members *members;
	uint64_t offset;
};

/* A thread takes the page while it reads; another thread allocates its own meanwhile. */
static struct bpk_members_page *take_page(struct bpk_members *m, struct bpk_err *err)
{
	struct bpk_members_page *page;

	bpk_mutex_lock(&m->lock);
	page = m->page;
	m->page = NULL;
	bpk_mutex_unlock(&m->lock);
	return page != NULL ? page : bpk_calloc(1, sizeof *page, err);
}

static void give_page(struct bpk_members *m, struct bpk_members_page *page)
{
	bpk_mutex_lock(&m->lock);
	if (m->page == NULL) {
		m->page = page;
		page = NULL;
	}
	bpk_mutex_unlock(&m->lock);
	free(page);
}

static bool has(const struct bpk_members_page *page, uint64_t offset, size_t size)
{
	return offset >= page->start && offset - page->start <= page->size &&
	       size <= page->size - (offset - page->start);
}

int bpk_members_read(struct bpk_members *m, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	struct bpk_members_page *page;
	int rc = 0;

	if (out.size > SMALL)
		return bpk_source_read_at(m->place.source, offset, out, got, err);
	page = take_page(m, err);
	if (page == NULL)
		return -1;
	if (!has(page, offset, out.size)) {
		page->start = offset;
		rc = bpk_source_read_at(m->place.source, offset,
					bpk_span(page->bytes, sizeof page->bytes), &page->size,
					err);
	}
	if (rc != 0)
		page->size = 0;
	*got = bpk_min_size(out.size, page->size - (size_t)(offset - page->start));
	bpk_copy(out.data, page->bytes + (offset - page->start), *got);
	give_page(m, page);
	return rc;
}

static int read_part(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	const struct part *part = arg;

	return bpk_members_read(part->members, part->offset + offset, out, got, err);
}

int bpk_members_part(struct bpk_members *m, uint64_t offset, struct bpk_source **source,
		     struct bpk_err *err)
{
	static const struct bpk_source_ops ops = {
		.read_at = read_part,
		.close = free,
		.positional = true,
	};
	struct part *part = bpk_calloc(1, sizeof *part, err);

	*source = NULL;
	if (part == NULL)
		return -1;
	*part = (struct part){ m, offset };
	if (bpk_source_of(&ops, part, m->size - offset, source, err) == 0)
		return 0;
	free(part);
	return -1;
}
