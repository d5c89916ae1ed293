/* Reading from a source of any kind: the calls of io.h on an open source. Called by every room
 * above. */
#include "io/file/source.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/full.h"

enum { SKIP_STEP = 256 << 10 }; /* bytes read at a time to skip in a stream */

bool bpk_source_seekable(const struct bpk_source *source)
{
	return source->nature != BPK_SOURCE_STREAM;
}

uint64_t bpk_source_size(const struct bpk_source *source)
{
	return source->size;
}

uint64_t bpk_source_tell(const struct bpk_source *source)
{
	return source->tell;
}

const struct stat *bpk_source_stat(const struct bpk_source *source)
{
	return &source->stat;
}

int bpk_source_read_at(struct bpk_source *source, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	uint64_t size = source->size;

	*got = 0;
	if (source->nature == BPK_SOURCE_STREAM)
		return bpk_fail(err, BPK_BUG, "read at an offset of a pipe");
	if (offset >= size)
		return 0;
	/* the part that a file gained since it was opened is not read */
	out.size = (size_t)bpk_min_u64(out.size, size - offset);
	if (source->ops != NULL)
		return source->ops->read_at(source->arg, source->start + offset, out, got, err);
	if (source->shared != NULL)
		return bpk_source_shared_read_at(source, offset, out, got, err);
	if (offset < source->head.size && out.size <= source->head.size - offset) {
		memcpy(out.data, source->head.data + offset, out.size);
		*got = out.size;
		return 0;
	}
	if (source->nature == BPK_SOURCE_SEEKABLE)
		return bpk_full_read_at(source->fd, source->start + offset, out, got, err);
	bpk_copy(out.data, source->memory.data + offset, out.size);
	*got = out.size;
	return 0;
}

int bpk_source_keep_head(struct bpk_source *source, size_t size, struct bpk_err *err)
{
	struct bpk_buf head = { 0 };
	int rc;

	if (source->nature != BPK_SOURCE_SEEKABLE || source->fd < 0 || source->shared != NULL)
		return 0;
	if (bpk_buf_resize(&head, (size_t)bpk_min_u64(size, source->size), err) != 0)
		return -1;
	rc = bpk_source_read_at(source, 0, bpk_span(head.data, head.size), &head.size, err);
	if (rc == 0)
		source->head = head;
	else
		bpk_buf_clear(&head);
	return rc;
}

/* Bytes after the cursor; a shared file may have become shorter. */
static uint64_t left(const struct bpk_source *source)
{
	uint64_t size = source->size;

	return size > source->tell ? size - source->tell : 0;
}

/* The bytes of a stream that were read ahead of the cursor. */
static struct bpk_view waiting(const struct bpk_source *source)
{
	if (source->ahead.size == 0)
		return bpk_view(NULL, 0);
	return bpk_view(source->ahead.data + source->ahead_used,
			source->ahead.size - source->ahead_used);
}

/* Move the cursor of a stream over bytes that were read ahead. */
static void pass(struct bpk_source *source, size_t size)
{
	source->ahead_used += size;
	source->tell += size;
	if (source->ahead_used == source->ahead.size)
		source->ahead_used = source->ahead.size = 0;
}

/* Read from the stream itself, after the bytes already read ahead. */
static int read_stream(struct bpk_source *source, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	uint64_t offset = source->start + source->tell + waiting(source).size;
	int rc;

	*got = 0;
	if (source->ended)
		return 0;
	if (source->ops != NULL)
		rc = source->ops->read_at(source->arg, offset, out, got, err);
	else
		rc = bpk_full_read(source->fd, out, got, err);
	if (rc != 0)
		return -1;
	source->ended = *got < out.size;
	return 0;
}

/* Read a stream at the cursor. */
static int read_on(struct bpk_source *source, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	struct bpk_view head = waiting(source);
	size_t more = 0;

	head.size = bpk_min_size(head.size, out.size);
	bpk_copy(out.data, head.data, head.size);
	pass(source, head.size);
	*got = head.size;
	if (head.size == out.size)
		return 0;
	if (read_stream(source, bpk_span(out.data + head.size, out.size - head.size), &more, err) !=
	    0)
		return -1;
	source->tell += more;
	*got += more;
	return 0;
}

/* Read a stream until size bytes are ahead of the cursor, fewer only at its end. */
static int fill(struct bpk_source *source, size_t size, struct bpk_err *err)
{
	struct bpk_buf *ahead = &source->ahead;
	size_t got;

	if (ahead->size - source->ahead_used >= size || source->ended)
		return 0;
	if (source->ahead_used > 0) {
		memmove(ahead->data, ahead->data + source->ahead_used,
			ahead->size - source->ahead_used);
		ahead->size -= source->ahead_used;
		source->ahead_used = 0;
	}
	if (bpk_buf_reserve(ahead, size, err) != 0 ||
	    read_stream(source, bpk_span(ahead->data + ahead->size, size - ahead->size), &got,
			err) != 0)
		return -1;
	ahead->size += got;
	return 0;
}

int bpk_source_peek(struct bpk_source *source, size_t size, struct bpk_view *head,
		    struct bpk_err *err)
{
	size_t got;

	*head = bpk_view(NULL, 0);
	if (source->nature == BPK_SOURCE_STREAM) {
		if (fill(source, size, err) != 0)
			return -1;
		*head = waiting(source);
		head->size = bpk_min_size(head->size, size);
		return 0;
	}
	size = (size_t)bpk_min_u64(size, left(source));
	if (source->nature == BPK_SOURCE_MEMORY) {
		if (size > 0)
			*head = bpk_view(source->memory.data + source->tell, size);
		return 0;
	}
	if (bpk_buf_resize(&source->ahead, size, err) != 0 ||
	    bpk_source_read_at(source, source->tell, bpk_span(source->ahead.data, size), &got,
			       err) != 0)
		return -1;
	*head = bpk_view(source->ahead.data, got);
	return 0;
}

/* Fail if a stream goes on where it should have ended. */
static int check_expected(struct bpk_source *source, struct bpk_err *err)
{
	struct bpk_view next;

	if (!source->expects || source->tell < source->expected)
		return 0;
	if (bpk_source_peek(source, 1, &next, err) != 0)
		return -1;
	if (next.size == 0 && source->tell == source->expected)
		return 0;
	return bpk_fail(err, BPK_FAILED, "brought more than the %" PRIu64 " bytes expected",
			source->expected);
}

int bpk_source_read(struct bpk_source *source, struct bpk_span out, size_t *got,
		    struct bpk_err *err)
{
	if (source->nature == BPK_SOURCE_STREAM)
		return read_on(source, out, got, err) != 0 ? -1 : check_expected(source, err);
	if (bpk_source_read_at(source, source->tell, out, got, err) != 0)
		return -1;
	source->tell += *got;
	return 0;
}

void bpk_source_expect(struct bpk_source *source, uint64_t size)
{
	source->expects = size != BPK_UNKNOWN;
	source->expected = size;
}

int bpk_source_skip(struct bpk_source *source, uint64_t size, uint64_t *skipped,
		    struct bpk_err *err)
{
	*skipped = 0;
	if (source->nature != BPK_SOURCE_STREAM) {
		*skipped = bpk_min_u64(size, left(source));
		source->tell += *skipped;
		return 0;
	}
	while (*skipped < size) {
		size_t step = (size_t)bpk_min_u64(size - *skipped, SKIP_STEP);

		if (fill(source, step, err) != 0)
			return -1;
		step = bpk_min_size(step, waiting(source).size);
		if (step == 0)
			break;
		pass(source, step);
		*skipped += step;
	}
	return 0;
}

uint64_t bpk_source_hole_at(const struct bpk_source *source, uint64_t offset)
{
	uint64_t size = source->size;
	off_t here, data;

	if (source->nature != BPK_SOURCE_SEEKABLE || source->fd < 0 || offset >= size ||
	    (source->shared != NULL && !bpk_source_shared_is_plain(source)))
		return 0;
	here = (off_t)(source->start + offset);
	data = lseek(source->fd, here, SEEK_DATA);
	if (data < 0 && errno != ENXIO) /* ENXIO: no data from here on */
		return 0;
	return data < 0 ? size - offset : bpk_min_u64((uint64_t)(data - here), size - offset);
}

uint64_t bpk_source_skip_hole(struct bpk_source *source)
{
	uint64_t hole = bpk_source_hole_at(source, source->tell);

	source->tell += hole;
	return hole;
}

void bpk_source_rebase(struct bpk_source *source)
{
	source->start += source->tell;
	source->tell = 0;
}

int bpk_source_unchanged(struct bpk_source *source, struct bpk_err *err)
{
	struct stat now;

	if (source->fd < 0 || !S_ISREG(source->stat.st_mode))
		return 0;
	if (fstat(source->fd, &now) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (!bpk_is_still(&now, &source->stat))
		return bpk_fail_changed(err);
	return 0;
}

int bpk_source_is_overwritten(const struct bpk_source *source, bool *overwritten,
			      struct bpk_err *err)
{
	const struct stat *seen = &source->stat;
	struct stat now;

	*overwritten = false;
	if (source->fd < 0 || !S_ISREG(seen->st_mode))
		return 0;
	if (fstat(source->fd, &now) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (now.st_nlink < seen->st_nlink || source->is_draft)
		now.st_ctim = seen->st_ctim;
	*overwritten = !bpk_is_still(&now, seen);
	return 0;
}

/* by_ctime: false for a draft, whose ctime its commit changes. */
static uint64_t hash_state(const struct bpk_source *source, bool by_ctime)
{
	const struct stat *seen = &source->stat;
	const uint64_t facts[] = {
		seen->st_dev,
		seen->st_ino,
		(uint64_t)seen->st_size,
		(uint64_t)seen->st_mtim.tv_sec,
		(uint64_t)seen->st_mtim.tv_nsec,
		by_ctime ? (uint64_t)seen->st_ctim.tv_sec : 0,
		by_ctime ? (uint64_t)seen->st_ctim.tv_nsec : 0,
	};

	return bpk_hash(BPK_HASH_START, bpk_view(facts, sizeof facts));
}

uint64_t bpk_source_state(const struct bpk_source *source)
{
	return hash_state(source, !source->is_draft);
}

bool bpk_source_has_state(const struct bpk_source *source, uint64_t state)
{
	return state == bpk_source_state(source) || state == hash_state(source, false);
}

void bpk_source_ahead(struct bpk_source *source, uint64_t offset, uint64_t size)
{
	if (source->ops != NULL && source->ops->ahead != NULL)
		source->ops->ahead(source->arg, source->start + offset, size);
}

bool bpk_source_is_remote(const struct bpk_source *source)
{
	return source->ops != NULL && source->ops->remote;
}

bool bpk_source_may_change(const struct bpk_source *source)
{
	return source->shared != NULL;
}

bool bpk_source_is_untouched(const struct bpk_source *source, const struct timespec *opened)
{
	struct stat now;

	return fstat(source->fd, &now) == 0 && bpk_is_still(&now, &source->stat) &&
	       bpk_is_settled(&source->stat, opened);
}

unsigned bpk_source_glance(struct bpk_source *source)
{
	return source->shared != NULL ? bpk_source_shared_glance(source) : 0;
}

bool bpk_source_is_still(struct bpk_source *source, unsigned state)
{
	return source->shared != NULL && bpk_source_shared_is_still(source, state);
}

int bpk_source_hold(struct bpk_source *source, struct bpk_err *err)
{
	if (source->shared != NULL)
		return bpk_source_shared_hold(source, err);
	if (source->holds != NULL)
		return source->holds->hold(source->arg, err);
	return 0;
}

void bpk_source_release(struct bpk_source *source)
{
	if (source->shared != NULL)
		bpk_source_shared_release(source);
	else if (source->holds != NULL)
		source->holds->release(source->arg);
}

bool bpk_source_in_change(struct bpk_source *source)
{
	if (source->shared != NULL)
		return bpk_source_shared_in_change(source);
	return source->holds != NULL && source->holds->in_change(source->arg);
}

bool bpk_source_pending(const struct bpk_source *source)
{
	if (source->shared != NULL)
		return bpk_source_shared_pending(source);
	return source->holds != NULL && source->holds->pending(source->arg);
}

bool bpk_source_pending_keeps(const struct bpk_source *source, const struct timespec *time)
{
	return source->shared != NULL && bpk_source_shared_keeps(source, time);
}

bool bpk_source_pending_saved(const struct bpk_source *source, uint64_t offset, uint64_t size)
{
	return source->shared != NULL && bpk_source_shared_saved(source, offset, size);
}

const char *bpk_source_remark(const struct bpk_source *source)
{
	return source->shared != NULL ? bpk_source_shared_remark(source) : NULL;
}
