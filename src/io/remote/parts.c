/* The parts of a remote file that are in memory, or under way. Called by object.c, with the lock of
 * the object. */
#include "io/remote/parts.h"

#include "io/remote/cache.h"

#include <stdlib.h>

enum {
	KEPT = 16 << 20, /* bytes of parts in memory beside three windows */
	GAP = 64 << 10,  /* bytes in the cache that cost less to fetch again than a request */
};

void bpk_parts_drop(struct bpk_parts *parts, struct bpk_part *part)
{
	struct bpk_part **at = &parts->list;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	if (parts->recent == part)
		parts->recent = NULL;
	parts->kept -= part->request.out.size;
	bpk_request_stop(&part->request);
	free(part);
}

/* The part that was used least recently and that nobody uses now, one fetched ahead only if there
 * is no other; NULL if there is none. */
static struct bpk_part *oldest(const struct bpk_parts *parts)
{
	struct bpk_part *found = NULL;

	for (struct bpk_part *p = parts->list; p != NULL; p = p->next)
		if (p->users == 0 && (found == NULL || p->is_read > found->is_read ||
				      (p->is_read == found->is_read && p->used < found->used)))
			found = p;
	return found;
}

uint64_t bpk_parts_window(void)
{
	return (uint64_t)bpk_request_options().connections * BPK_PART_SIZE;
}

/* Bytes of parts in memory: ahead, in use, and used a moment ago. */
static uint64_t most_kept(const struct bpk_parts *parts)
{
	return KEPT + 3 * bpk_parts_window() + (uint64_t)parts->readers * BPK_PART_SIZE;
}

static void make_room(struct bpk_parts *parts, uint64_t size)
{
	struct bpk_part *part;

	while (parts->kept + size > most_kept(parts) && (part = oldest(parts)) != NULL)
		bpk_parts_drop(parts, part);
}

bool bpk_parts_has_room(const struct bpk_parts *parts, uint64_t size)
{
	const struct bpk_part *part = oldest(parts);

	return parts->kept + size <= most_kept(parts) || (part != NULL && part->is_read);
}

struct bpk_part *bpk_parts_find(struct bpk_parts *parts, uint64_t offset, uint64_t *next)
{
	struct bpk_part *p = parts->recent;

	if (p != NULL && offset >= p->request.offset && offset < p->end)
		return p;
	for (p = parts->list; p != NULL && offset >= p->end; p = p->next)
		;
	*next = p != NULL ? p->request.offset : UINT64_MAX;
	if (p == NULL || offset < p->request.offset)
		return NULL;
	return parts->recent = p;
}

/* A part with room for size bytes, which is not in the list. */
static struct bpk_part *make_part(struct bpk_parts *parts, uint64_t offset, size_t size,
				  unsigned users, struct bpk_err *err)
{
	struct bpk_part *part = bpk_alloc(sizeof *part + size, err);

	if (part == NULL)
		return NULL;
	make_room(parts, size);
	*part = (struct bpk_part){
		.request = { .url = parts->url,
			     .offset = offset,
			     .out = bpk_span(part->bytes, size),
			     .known = parts->known,
			     .seen = parts->first.status != 0 ? &parts->first : NULL },
		.end = offset + size,
		.users = users,
		.used = ++parts->clock,
	};
	return part;
}

static void insert(struct bpk_parts *parts, struct bpk_part *part)
{
	struct bpk_part **at = &parts->list;

	while (*at != NULL && (*at)->request.offset < part->request.offset)
		at = &(*at)->next;
	part->next = *at;
	*at = part;
	parts->kept += part->request.out.size;
}

int bpk_parts_fetch(struct bpk_parts *parts, uint64_t offset, size_t size, unsigned users,
		    struct bpk_err *err)
{
	struct bpk_part *part = make_part(parts, offset, size, users, err);

	if (part == NULL)
		return -1;
	if (bpk_request_start(&part->request, err) != 0) {
		free(part);
		return -1;
	}
	insert(parts, part);
	return 0;
}

/* ---- the cache ---- */

/* The blocks at offset, in size bytes, that follow each other and are in the cache, in bytes. */
static uint64_t cached_size(const struct bpk_parts *parts, uint64_t offset, uint64_t size)
{
	uint64_t done = 0;

	while (done < size && bpk_cached_has(parts->cached, offset + done))
		done += BPK_PART_BLOCK;
	return bpk_min_u64(done, size);
}

/* The bytes of size at offset, whose first block is not in the cache, that one request fetches: up
 * to a stretch in the cache that is worth another one. */
static uint64_t uncached_size(const struct bpk_parts *parts, uint64_t offset, uint64_t size)
{
	uint64_t done = BPK_PART_BLOCK, stretch;

	for (; done < size; done += bpk_max_u64(stretch, BPK_PART_BLOCK)) {
		stretch = cached_size(parts, offset + done, bpk_min_u64(size - done, GAP));
		if (stretch == GAP)
			return done;
	}
	return size;
}

/* Where a request from start on, for the block at offset, may begin: behind blocks in the cache. */
static uint64_t uncached_start(const struct bpk_parts *parts, uint64_t start, uint64_t offset)
{
	for (uint64_t at = start; at < offset; at += BPK_PART_BLOCK)
		if (bpk_cached_has(parts->cached, at))
			start = at + BPK_PART_BLOCK;
	return start;
}

/* Make a part of blocks in the cache. *read: its bytes; 0 if the first block is damaged. */
static int read_cached(struct bpk_parts *parts, uint64_t offset, size_t size, unsigned users,
		       uint64_t *read, struct bpk_err *err)
{
	struct bpk_part *part = make_part(parts, offset, size, users, err);

	*read = 0;
	if (part == NULL)
		return -1;
	*read = bpk_cached_read(parts->cached, offset, part->request.out);
	if (*read == 0) {
		free(part);
		return 0;
	}
	part->request.out.size = (size_t)*read;
	part->end = offset + *read;
	part->request.is_done = part->is_kept = true;
	part->request.outcome = BPK_OUTCOME_BYTES;
	insert(parts, part);
	return 0;
}

/* ---- fetching missing blocks ---- */

/*
 * Bytes at the end that come in one request: of a frame its trailer, its index and the header of
 * its last chunk, which are all needed to open it. A small part of the file, or what costs a fast
 * link less than a request.
 */
static uint64_t tail_of(uint64_t total)
{
	enum { LEAST = 64 << 10, SMALL = 256 << 10 };
	uint64_t room =
		bpk_max_u64(bpk_min_u64(total / 16, SMALL), bpk_min_u64(total / 64, BPK_PART_SIZE));

	return bpk_min_u64(total, bpk_max_u64(room, LEAST));
}

/* Where a part that holds the byte at offset begins. */
static uint64_t start_of(const struct bpk_parts *parts, uint64_t offset)
{
	uint64_t total = parts->first.total, tail = total - tail_of(total), next;
	const struct bpk_part *before;

	if (offset < tail)
		return offset - offset % BPK_PART_BLOCK;
	for (before = parts->list; before != NULL && before->next != NULL; before = before->next)
		if (before->next->request.offset > offset)
			break;
	next = before != NULL && before->request.offset < offset ? before->end : 0;
	return bpk_max_u64(next, tail - tail % BPK_PART_BLOCK);
}

/* The whole blocks of the bytes from offset, where a block begins, to end that one part holds, of
 * those before next. */
static uint64_t size_of(const struct bpk_parts *parts, uint64_t offset, uint64_t end, uint64_t next)
{
	uint64_t size =
		end - offset <= BPK_PART_SIZE + BPK_PART_SIZE / 2 ? end - offset : BPK_PART_SIZE;

	size += BPK_PART_BLOCK - 1 - (size - 1) % BPK_PART_BLOCK;
	return bpk_min_u64(bpk_min_u64(size, next - offset), parts->first.total - offset);
}

/* Take the blocks that the cache has at offset; *read is 0 if there are none. */
static int take_cached(struct bpk_parts *parts, uint64_t offset, uint64_t end, uint64_t next,
		       unsigned users, uint64_t *read, struct bpk_err *err)
{
	uint64_t size = cached_size(parts, offset, size_of(parts, offset, end, next));

	*read = 0;
	return size == 0 ? 0 : read_cached(parts, offset, (size_t)size, users, read, err);
}

int bpk_parts_fetch_missing(struct bpk_parts *parts, uint64_t offset, uint64_t end, unsigned users,
			    struct bpk_err *err)
{
	uint64_t size, next;

	end = bpk_min_u64(end, parts->first.total);
	while (offset < end) {
		struct bpk_part *part = bpk_parts_find(parts, offset, &next);

		if (part != NULL) {
			offset = part->end;
			continue;
		}
		offset -= offset % BPK_PART_BLOCK;
		if (take_cached(parts, offset, end, next, users, &size, err) != 0)
			return -1;
		if (size == 0) {
			offset = uncached_start(parts, start_of(parts, offset), offset);
			size = uncached_size(parts, offset, size_of(parts, offset, end, next));
			if (bpk_parts_fetch(parts, offset, (size_t)size, users, err) != 0)
				return -1;
		}
		offset += size;
	}
	return 0;
}

/* ---- users ---- */

void bpk_parts_use(struct bpk_parts *parts, uint64_t offset, uint64_t end, int change)
{
	for (struct bpk_part *p = parts->list; p != NULL && p->request.offset < end; p = p->next)
		if (p->end > offset)
			p->users += (unsigned)change;
}

void bpk_parts_drop_unused(struct bpk_parts *parts, uint64_t offset, uint64_t end)
{
	struct bpk_part *next;

	for (struct bpk_part *p = parts->list; p != NULL && p->request.offset < end; p = next) {
		next = p->next;
		if (p->end > offset && p->users == 0)
			bpk_parts_drop(parts, p);
	}
}
