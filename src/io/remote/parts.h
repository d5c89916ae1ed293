/*
 * The parts of a remote file that are in memory, or under way. Called by object.c, which guards
 * them with its lock.
 *
 *     0        128 KiB                                   total
 *     |== head ==|      |= part =|= part =|        |= part =|
 *
 * A part begins and ends at a multiple of BPK_PART_BLOCK (or at the end of the file), is fetched by
 * one request or read from the cache, and overlaps no other.
 */
#ifndef BPK_IO_REMOTE_PARTS_H
#define BPK_IO_REMOTE_PARTS_H

#include "io/remote/cache.h"
#include "io/remote/request.h"

enum {
	BPK_PART_BLOCK = 16 << 10, /* and that of the cache */
	BPK_PART_SIZE = 1 << 20,   /* bytes of a request; several of them fill a link */
};

struct bpk_part {
	struct bpk_part *next; /* by offset */
	struct bpk_request request;
	uint64_t end;
	unsigned users; /* reads that need it: it is kept for them */
	bool is_read;   /* bytes of it were copied; else it was fetched ahead */
	bool is_kept;   /* it is in the cache, or was handed to it */
	uint64_t used;  /* the time of its last use, by the clock */
	uint8_t bytes[];
};

/* Valid when zeroed and url is set. */
struct bpk_parts {
	const struct bpk_url *url; /* borrowed */
	struct bpk_answer first;   /* every answer must be like it; status 0: not known yet */
	const char *known;         /* the version not to be sent again, until then; NULL: none */
	struct bpk_cached *cached; /* borrowed; NULL: no cache */
	struct bpk_part *list;     /* by offset */
	struct bpk_part *recent;   /* the part found last, or NULL */
	uint64_t kept;             /* bytes of all parts */
	unsigned readers;          /* reads under way */
	uint64_t clock;
};

/* The bytes that may be under way at a time. */
uint64_t bpk_parts_window(void);

/* The part that holds the byte at offset; NULL if there is none. Then *next is where the first part
 * behind it begins. */
struct bpk_part *bpk_parts_find(struct bpk_parts *parts, uint64_t offset, uint64_t *next);

/* Begin to fetch size bytes at offset, which no part holds, for that many users. Fails as
 * bpk_request_start. */
int bpk_parts_fetch(struct bpk_parts *parts, uint64_t offset, size_t size, unsigned users,
		    struct bpk_err *err);

/* Begin to fetch the bytes from offset to end that no part holds, for that many users; those in the
 * cache are read at once. */
int bpk_parts_fetch_missing(struct bpk_parts *parts, uint64_t offset, uint64_t end, unsigned users,
			    struct bpk_err *err);

/* True if size bytes more fit without the loss of a part that was fetched ahead and not read. */
bool bpk_parts_has_room(const struct bpk_parts *parts, uint64_t size);

/* Add change to the users of the parts that hold the bytes from offset to end. */
void bpk_parts_use(struct bpk_parts *parts, uint64_t offset, uint64_t end, int change);

/* End a part's request and free it. */
void bpk_parts_drop(struct bpk_parts *parts, struct bpk_part *part);

/* Drop the parts of these bytes that nobody uses. */
void bpk_parts_drop_unused(struct bpk_parts *parts, uint64_t offset, uint64_t end);

#endif
