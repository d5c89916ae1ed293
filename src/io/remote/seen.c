/* Remembers the first bytes of files of a remote directory. Called by tree.c. */
#include "io/remote/seen.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>

enum {
	BEGINNING = 64,      /* bytes: the header of a chunk, and that of a Bloscpack file */
	MEMBERS_MAX = 32768, /* 8 MiB of memory */
};

struct member {
	uint64_t size;
	uint8_t bytes[BEGINNING]; /* fewer in a smaller file */
	char name[];
};

/* A file that was opened again. */
struct reopened {
	/* fixed after open */
	struct member *member; /* a copy */
	bpk_seen_open_fn *open;
	void *arg;

	pthread_mutex_t lock;
	struct bpk_source *source; /* NULL before other bytes are read; then fixed */
};

static int compare(const void *a, const void *b)
{
	const struct member *first = a, *second = b;

	return strcmp(first->name, second->name);
}

static struct member *new_member(const char *name, struct bpk_err *err)
{
	struct member *member = bpk_calloc(1, sizeof *member + strlen(name) + 1, err);

	if (member != NULL)
		strcpy(member->name, name);
	return member;
}

void bpk_seen_add(struct bpk_seen *members, const char *name, struct bpk_source *source)
{
	struct member *member = members->count < MEMBERS_MAX ? new_member(name, NULL) : NULL;
	void *node = NULL;
	size_t got;

	if (member == NULL)
		return;
	member->size = bpk_source_size(source);
	if (bpk_source_read_at(source, 0, bpk_span(member->bytes, BEGINNING), &got, NULL) == 0)
		node = tsearch(member, &members->root, compare);
	if (node == NULL || *(struct member **)node != member)
		free(member);
	else
		members->count++;
}

void bpk_seen_clear(struct bpk_seen *members)
{
	tdestroy(members->root, free);
	*members = (struct bpk_seen){ 0 };
}

/* ---- a file that was opened again ---- */

/* Open the file itself, once. */
static int open_itself(struct reopened *r, struct bpk_source **source, struct bpk_err *err)
{
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	if (r->source == NULL)
		rc = r->open(r->arg, r->member->name, &r->source, err);
	*source = r->source;
	pthread_mutex_unlock(&r->lock);
	if (rc == 0 && bpk_source_size(*source) != r->member->size)
		return bpk_fail_changed(err);
	return rc;
}

static int read_reopened(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	struct reopened *r = arg;
	struct bpk_source *source;

	*got = 0;
	if (offset < BEGINNING && out.size <= BEGINNING - offset) {
		/* the source ends no later than the file: bpk_source_read_at */
		bpk_copy(out.data, r->member->bytes + offset, out.size);
		*got = out.size;
		return 0;
	}
	if (open_itself(r, &source, err) != 0)
		return -1;
	return bpk_source_read_at(source, offset, out, got, err);
}

static void close_reopened(void *arg)
{
	struct reopened *r = arg;

	bpk_source_close(r->source);
	pthread_mutex_destroy(&r->lock);
	free(r->member);
	free(r);
}

int bpk_seen_open(const struct bpk_seen *members, const char *name, bpk_seen_open_fn *open,
		  void *arg, struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_reopened,
						   .close = close_reopened,
						   .positional = true,
						   .remote = true };
	struct member *copy = new_member(name, err);
	struct reopened *r;
	void *node;

	*source = NULL;
	if (copy == NULL)
		return -1;
	node = tfind(copy, &members->root, compare);
	r = node == NULL ? NULL : bpk_calloc(1, sizeof *r, err);
	if (r == NULL) {
		free(copy);
		return node == NULL ? 0 : -1;
	}
	copy->size = (*(struct member **)node)->size;
	memcpy(copy->bytes, (*(struct member **)node)->bytes, BEGINNING);
	*r = (struct reopened){ .member = copy, .open = open, .arg = arg };
	pthread_mutex_init(&r->lock, NULL);
	if (bpk_source_of(&ops, r, copy->size, source, err) == 0)
		return 0;
	close_reopened(r);
	return -1;
}
