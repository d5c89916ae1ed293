/* The draft of a file in a store: bytes into parts, and complete parts on their way. Called by
 * new.c for bpk_draft_open, by objects.c for files of directories, and through the draft. */
#include "io/remote/upload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/file/draft.h"

/*
 * Parts have one size, as some stores want it, until so many were written that there would not be
 * enough numbers for a file of unknown size; then each is larger than the one before. 10,000 parts
 * hold 5 TiB, as much as S3 keeps in one file.
 */
enum {
	PART = 8 << 20,      /* bytes of the first parts; S3 wants 5 MiB */
	EQUAL = 1000,        /* parts of that size */
	GROWTH = 144 << 10,  /* bytes that each later one has more */
	PARTS_MAX = 10000,   /* of a multipart upload */
	PARTS_LIKELY = 9000, /* of a file whose size is known */
};

/* ---- parts ---- */

static size_t size_of(const struct bpk_upload *upload, size_t number)
{
	size_t grown = number < EQUAL ? 0 : (number - EQUAL + 1) * (size_t)GROWTH;

	return (size_t)upload->base + grown;
}

static int add_part(struct bpk_upload *upload, struct bpk_err *err)
{
	size_t n = upload->nparts;
	struct bpk_part *parts =
		bpk_alloc_grow(upload->parts, n, &upload->room, sizeof *parts, err);

	if (parts == NULL)
		return -1;
	upload->parts = parts;
	parts[n] = (struct bpk_part){
		.start = n == 0 ? 0 : parts[n - 1].start + parts[n - 1].size,
		.size = size_of(upload, n),
	};
	upload->nparts++;
	return 0;
}

/* Make the parts up to that one. */
static int make_parts(struct bpk_upload *upload, size_t count, struct bpk_err *err)
{
	if (count > PARTS_MAX)
		return bpk_fail_errno(err, EFBIG, "write");
	while (upload->nparts < count)
		if (add_part(upload, err) != 0)
			return -1;
	return 0;
}

/* The part that the byte at offset belongs to, made if it is not there. */
static int find_part(struct bpk_upload *upload, uint64_t offset, size_t *number,
		     struct bpk_err *err)
{
	size_t n = (size_t)bpk_min_u64(offset / upload->base, EQUAL);

	while (true) {
		const struct bpk_part *part;

		if (make_parts(upload, n + 1, err) != 0)
			return -1;
		part = &upload->parts[n];
		if (offset - part->start < part->size)
			break;
		n++;
	}
	*number = n;
	return 0;
}

/* Note that bytes of the part were written. */
static int cover(struct bpk_part *part, size_t from, size_t to, struct bpk_err *err)
{
	struct bpk_extent *all = part->written;
	size_t first = 0, last;

	while (first < part->nwritten && all[first].to < from)
		first++;
	for (last = first; last < part->nwritten && all[last].from <= to; last++) {
		from = bpk_min_size(from, all[last].from);
		to = all[last].to > to ? all[last].to : to;
	}
	if (first == last) {
		all = bpk_alloc_grow(all, part->nwritten, &part->room, sizeof *all, err);
		if (all == NULL)
			return -1;
		part->written = all;
	}
	memmove(all + first + 1, all + last, (part->nwritten - last) * sizeof *all);
	all[first] = (struct bpk_extent){ from, to };
	part->nwritten += 1 + first - last;
	return 0;
}

static bool is_full(const struct bpk_part *part)
{
	return part->state == BPK_PART_OPEN && part->nwritten == 1 && part->written[0].from == 0 &&
	       part->written[0].to == part->size;
}

static int need_bytes(struct bpk_part *part, struct bpk_err *err)
{
	if (part->bytes == NULL)
		part->bytes = bpk_calloc(1, (size_t)bpk_max_u64(part->size, 1), err);
	return part->bytes == NULL ? -1 : 0;
}

/* Put bytes into the part that they begin in; *taken is their number there. */
static int fill(struct bpk_upload *upload, uint64_t offset, struct bpk_view bytes, size_t *taken,
		struct bpk_err *err)
{
	struct bpk_part *part;
	size_t number, from;

	if (find_part(upload, offset, &number, err) != 0)
		return -1;
	part = &upload->parts[number];
	from = (size_t)(offset - part->start);
	*taken = bpk_min_size(bytes.size, part->size - from);
	if (part->state != BPK_PART_OPEN)
		return bpk_fail(err, BPK_BUG, "bytes at %" PRIu64 " were sent already", offset);
	if (need_bytes(part, err) != 0 || cover(part, from, from + *taken, err) != 0)
		return -1;
	memcpy(part->bytes + from, bytes.data, *taken);
	upload->end = bpk_max_u64(upload->end, offset + *taken);
	/* a file of one part is sent by one request, at the end */
	if (number == 0 && upload->nparts > 1 && is_full(&upload->parts[0]))
		return bpk_deposit_send(upload, 0, err);
	return number > 0 && is_full(part) ? bpk_deposit_send(upload, number, err) : 0;
}

/* ---- the calls of the draft ---- */

static int write_parts(struct bpk_upload *upload, uint64_t offset, struct bpk_view bytes,
		       struct bpk_err *err)
{
	size_t taken;

	for (; bytes.size > 0; bytes.data += taken, bytes.size -= taken, offset += taken)
		if (fill(upload, offset, bytes, &taken, err) != 0)
			return -1;
	return 0;
}

static int upload_write_at(void *owner, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_upload *upload = owner;
	int rc;

	pthread_mutex_lock(&upload->write_lock);
	if (upload->spool != NULL) {
		rc = bpk_spool_write_at(upload->spool, offset, bytes, err);
		upload->end = bpk_spool_size(upload->spool);
	} else {
		rc = write_parts(upload, offset, bytes, err);
		if (upload->id != NULL)
			bpk_request_poke();
	}
	pthread_mutex_unlock(&upload->write_lock);
	return rc;
}

static int upload_read_at(void *owner, uint64_t offset, struct bpk_span out, struct bpk_err *err)
{
	struct bpk_upload *upload = owner;

	if (upload->spool == NULL)
		return bpk_fail(err, BPK_BUG, "read of bytes that were sent");
	return bpk_spool_read_at(upload->spool, offset, out, err);
}

/* The size says how large parts must be, if nothing was written; then how long the file is. */
static int upload_set_size(void *owner, uint64_t size, struct bpk_err *err)
{
	struct bpk_upload *upload = owner;

	if (upload->spool != NULL) {
		upload->end = size;
		return bpk_spool_set_size(upload->spool, size, err);
	}
	if (upload->nparts == 0 && size / PARTS_LIKELY >= upload->base)
		upload->base = bpk_div_up(bpk_div_up(size, PARTS_LIKELY), 1 << 20) << 20;
	if (size < upload->end)
		return bpk_fail(err, BPK_BUG, "bytes at %" PRIu64 " were sent already", size);
	upload->end = size;
	return 0;
}

static int upload_reread(void *owner, struct bpk_err *err)
{
	struct bpk_upload *upload = owner;

	if (upload->nparts > 0)
		return bpk_fail(err, BPK_BUG, "bytes were written already");
	return upload->spool != NULL ? 0 : bpk_spool_open(&upload->spool, err);
}

/* ---- the end ---- */

/* What was never written is zeros; the last part ends with the file. */
static int finish_part(struct bpk_upload *upload, size_t number, struct bpk_err *err)
{
	struct bpk_part *part = &upload->parts[number];

	part->size = (size_t)bpk_min_u64(part->size, upload->end - part->start);
	if (need_bytes(part, err) != 0)
		return -1;
	return upload->spool == NULL ? 0
				     : bpk_spool_read_at(upload->spool, part->start,
							 bpk_span(part->bytes, part->size), err);
}

/* Send the parts that are left, the first one last: it has the header. */
static int send_rest(struct bpk_upload *upload, struct bpk_err *err)
{
	for (size_t i = 1; i <= upload->nparts; i++) {
		size_t number = i % upload->nparts;

		if (upload->parts[number].state == BPK_PART_OPEN &&
		    (finish_part(upload, number, err) != 0 ||
		     bpk_deposit_send(upload, number, err) != 0))
			return -1;
	}
	return bpk_deposit_wait(upload, err);
}

int bpk_upload_send(struct bpk_upload *upload, struct bpk_err *err)
{
	struct bpk_part *first;
	uint8_t *shrunk;
	size_t last;

	if (find_part(upload, upload->end > 0 ? upload->end - 1 : 0, &last, err) != 0)
		return -1;
	if (upload->nparts > 1)
		return send_rest(upload, err) != 0 ? -1 : bpk_upload_complete(upload, err);
	first = &upload->parts[0];
	if (finish_part(upload, 0, err) != 0)
		return -1;
	/* many small files of a directory are on their way at a time */
	shrunk = realloc(first->bytes, (size_t)bpk_max_u64(first->size, 1));
	if (shrunk != NULL)
		first->bytes = shrunk;
	return bpk_upload_put(upload, bpk_view(first->bytes, first->size), err);
}

int bpk_upload_wait(struct bpk_upload *upload, struct bpk_err *err)
{
	return upload->nparts > 1 ? 0 : bpk_upload_end_put(upload, err);
}

void bpk_upload_free(struct bpk_upload *upload)
{
	bpk_deposit_drop_parts(upload);
	if (upload->is_busy)
		bpk_request_stop(&upload->control);
	for (size_t i = 0; i < upload->nparts; i++) {
		free(upload->parts[i].bytes);
		free(upload->parts[i].written);
		free(upload->parts[i].tag);
	}
	free(upload->parts);
	bpk_spool_close(upload->spool);
	bpk_url_clear(&upload->url);
	free(upload->path);
	free(upload->id);
	pthread_cond_destroy(&upload->calm);
	pthread_mutex_destroy(&upload->lock);
	pthread_mutex_destroy(&upload->write_lock);
	free(upload);
}

/* Leave nothing at the store but a file that is kept. A signal meanwhile does the same. */
static void close_upload(struct bpk_upload *upload)
{
	struct bpk_err err = { 0 };
	bool is_left;

	bpk_deposit_drop_parts(upload);
	is_left = !upload->is_done && bpk_deposit_abort(upload, 0, &err) != 0;
	pthread_mutex_lock(&upload->lock);
	is_left = is_left && !upload->is_over;
	upload->is_closed = !upload->is_over;
	pthread_mutex_unlock(&upload->lock);
	bpk_cleanup_end(&upload->cleanup);
	if (is_left)
		bpk_request_warn(upload->path,
				 "a part of it may be left at the store, invisible, as a "
				 "multipart upload");
	bpk_upload_free(upload);
}

static int upload_keep(void *owner, const struct stat *like, struct bpk_err *err)
{
	int rc = bpk_upload_send(owner, err);

	(void)like; /* a store has no modes, and sets the time itself */
	if (rc == 0)
		rc = bpk_upload_wait(owner, err);
	close_upload(owner);
	return rc;
}

static void upload_drop(void *owner)
{
	struct bpk_upload *upload = owner;

	if (!upload->is_member)
		close_upload(upload);
}

static const struct bpk_draft_ops ops = { .write_at = upload_write_at,
					  .read_at = upload_read_at,
					  .set_size = upload_set_size,
					  .reread = upload_reread,
					  .keep = upload_keep,
					  .drop = upload_drop };

/* ---- opening ---- */

/* A number that no other upload has. */
static int make_mark(struct bpk_upload *upload, struct bpk_err *err)
{
	struct bpk_unique number;

	if (bpk_unique_make(&number, err) != 0)
		return -1;
	snprintf(upload->mark, sizeof upload->mark, BPK_ANSWER_MARK ": %s", number.text);
	return 0;
}

static struct bpk_upload *new_upload(const struct bpk_draft_options *options, struct bpk_err *err)
{
	struct bpk_upload *upload = bpk_calloc(1, sizeof *upload, err);

	if (upload == NULL)
		return NULL;
	pthread_mutex_init(&upload->write_lock, NULL);
	pthread_mutex_init(&upload->lock, NULL);
	pthread_cond_init(&upload->calm, NULL);
	upload->overwrite = options->overwrite;
	upload->remedy = options->remedy;
	upload->connections = bpk_request_options().connections;
	upload->base = PART;
	return upload;
}

static int open_upload(struct bpk_upload *upload, const char *path, struct bpk_err *err)
{
	upload->path = bpk_strdup(path, err);
	if (upload->path == NULL || bpk_url_make(path, &upload->url, err) != 0 ||
	    make_mark(upload, err) != 0 || bpk_upload_begin(upload, err) != 0 ||
	    bpk_cleanup_lock(err) != 0)
		return -1;
	bpk_cleanup_add(&upload->cleanup, bpk_upload_interrupt, upload);
	bpk_cleanup_unlock();
	return 0;
}

int bpk_upload_open(const char *path, const struct bpk_draft_options *options,
		    struct bpk_draft **draft, struct bpk_err *err)
{
	struct bpk_upload *upload;

	if (bpk_remote_is_folder(path))
		return bpk_fail(err, BPK_FAILED, "is the URL of a directory, and names no file");
	upload = new_upload(options, err);
	if (upload == NULL)
		return -1;
	if (open_upload(upload, path, err) == 0 && bpk_draft_of_ops(&ops, upload, draft, err) == 0)
		return 0;
	close_upload(upload);
	return -1;
}

/* ---- files of directories ---- */

static int name_member(struct bpk_upload *upload, const char *directory, const struct bpk_url *url,
		       const char *name, struct bpk_err *err)
{
	if (asprintf(&upload->path, "%s/%s", directory, name) < 0) {
		upload->path = NULL;
		return bpk_fail_memory(err, strlen(name));
	}
	return bpk_url_below(url, name, &upload->url, err) != 0 ? -1 : make_mark(upload, err);
}

int bpk_upload_open_member(const char *directory, const struct bpk_url *url, const char *name,
			   const char *tag, struct bpk_upload **upload, struct bpk_err *err)
{
	static const struct bpk_draft_options options;
	struct bpk_upload *member = new_upload(&options, err);

	*upload = NULL;
	if (member == NULL)
		return -1;
	member->is_member = true;
	snprintf(member->condition, sizeof member->condition, "If-%s: %.*s",
		 tag == NULL ? "None-Match" : "Match", BPK_ANSWER_TEXT / 2,
		 tag == NULL ? "*" : tag);
	snprintf(member->old_tag, sizeof member->old_tag, "%s", tag == NULL ? "" : tag);
	if (name_member(member, directory, url, name, err) != 0) {
		bpk_upload_free(member);
		return -1;
	}
	*upload = member;
	return 0;
}

int bpk_upload_draft(struct bpk_upload *upload, struct bpk_draft **draft, struct bpk_err *err)
{
	return bpk_draft_of_ops(&ops, upload, draft, err);
}

struct bpk_upload *bpk_upload_of(const struct bpk_draft *draft)
{
	return bpk_draft_owner(draft, &ops);
}
