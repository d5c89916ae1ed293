/*
 * Files that bpk may change while they are read. Called by source.c, source_open.c and place.c. The
 * change lock belongs to the descriptor, not to a thread: the first thread to hold takes it, the
 * last one releases it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/full.h"
#include "io/edit/journal.h"
#include "io/lock.h"
#include "io/file/source.h"

enum {
	LONG_HOLD = 2,    /* ms of holding after which a waiting writer is looked for */
	PAUSE_MAX = 1000, /* ms that a new holder waits for the others; one may hold longer */
};

struct bpk_source_shared {
	struct bpk_resolved resolved;

	pthread_mutex_t lock;
	pthread_cond_t paused;
	unsigned holds, pauses; /* guarded by lock: holders now; how often they became 0 */
	struct timespec since;  /* guarded by lock: when holds last rose from 0 */

	/* guarded by lock: the file at the last hold, for reads without one */
	struct stat seen;
	unsigned state;     /* the number of different states seen so far */
	bool settled;       /* no journal is used, and seen is older than a tick */
	bool asked, timely; /* whether bpk_is_timely was asked, and its answer */

	/* guarded by state_lock: the first holder writes them, all reads use them */
	pthread_rwlock_t state_lock;
	struct bpk_journal journal;
	struct stat journal_stat; /* of the open journal, or of the last refused one */

	atomic_bool pending;
	struct bpk_err refused; /* guarded by lock: why a journal was first refused */
};

/* ---- One state of the file ---- */

/* Keep the file's times for bpk_source_glance; they were looked up after now. */
static void note_seen(struct bpk_source_shared *shared, const struct timespec *now,
		      const struct stat *found)
{
	if (!bpk_is_still(found, &shared->seen))
		shared->state++;
	shared->seen = *found;
	shared->settled = bpk_is_settled(found, now);
}

/* Read the file as it is: it has no journal, or its journal is ignored. */
static int take_plain(struct bpk_source *source, struct bpk_err *err)
{
	struct bpk_source_shared *shared = source->shared;
	struct timespec now;
	struct stat found;

	if (shared->journal.fd >= 0) {
		pthread_rwlock_wrlock(&shared->state_lock);
		bpk_journal_close(&shared->journal);
		pthread_rwlock_unlock(&shared->state_lock);
	}
	shared->pending = false;
	clock_gettime(CLOCK_REALTIME, &now);
	if (fstat(source->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	source->size = (uint64_t)found.st_size;
	note_seen(shared, &now, &found);
	return 0;
}

/* An open journal keeps its inode, so that no other journal can have the same. */
static bool is_loaded(const struct bpk_source_shared *shared, const struct stat *found)
{
	return shared->journal.fd >= 0 && bpk_same_file(&shared->journal_stat, found);
}

/* The caller holds state_lock. Returns 1 if the journal is not about this file. */
static int load(struct bpk_source *source, const struct stat *found, struct bpk_err *err)
{
	struct bpk_journal *journal = &source->shared->journal;
	int rc;

	if (is_loaded(source->shared, found))
		return bpk_journal_load(journal, err);
	bpk_journal_close(journal);
	rc = bpk_journal_open(journal, source->fd, err);
	if (rc == 0 && journal->fd >= 0 && fstat(journal->fd, &source->shared->journal_stat) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	return rc;
}

/* A journal that was refused once is not read again for every fetch. */
static bool is_refused(const struct bpk_source_shared *shared, const struct stat *found)
{
	return shared->refused.kind != BPK_OK && shared->journal.fd < 0 &&
	       bpk_is_still(found, &shared->journal_stat);
}

/* Read the file as it is, and keep the reason for bpk_source_remark. */
static int refuse(struct bpk_source *source, const struct stat *found, const struct bpk_err *why,
		  struct bpk_err *err)
{
	struct bpk_source_shared *shared = source->shared;

	if (shared->refused.kind == BPK_OK)
		shared->refused = *why;
	shared->journal_stat = *found;
	return take_plain(source, err);
}

/* A living writer's own bytes are not compared: they may be half written. */
static int check(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	if (bpk_journal_check(journal, fd, err) != 0)
		return -1;
	if (bpk_lock_has_writer(fd) || bpk_journal_check_saved(journal, fd, err) == 0)
		return 0;
	return bpk_lock_has_writer(fd) ? 0 : -1; /* the next writer puts the old bytes back */
}

static int take_journal(struct bpk_source *source, const struct stat *found, struct bpk_err *err)
{
	struct bpk_source_shared *shared = source->shared;
	struct bpk_journal *journal = &shared->journal;
	struct bpk_err why = { 0 };
	int rc;

	if (is_refused(shared, found))
		return take_plain(source, err);
	if (is_loaded(shared, found) && journal->end == (uint64_t)found->st_size)
		return 0;
	pthread_rwlock_wrlock(&shared->state_lock);
	rc = load(source, found, &why);
	if (rc == 0 && journal->whole)
		rc = check(journal, source->fd, &why);
	if (rc != 0)
		bpk_journal_close(journal);
	pthread_rwlock_unlock(&shared->state_lock);
	if (rc > 0)
		return refuse(source, found, &why, err);
	if (rc != 0)
		return bpk_fail_as(err, &why);
	if (!journal->whole)
		return take_plain(source, err);
	shared->pending = !bpk_lock_has_writer(source->fd);
	source->size = journal->old_size;
	return 0;
}

/* The change lock is held. A file that was replaced keeps its content, and the journal beside its
 * name belongs to the new file. */
static int refresh(struct bpk_source *source, struct bpk_err *err)
{
	const struct bpk_resolved *resolved = &source->shared->resolved;
	bool there, same = false;
	struct stat found;

	source->shared->settled = false;
	if (bpk_resolved_has_journal(resolved, &found, &there, err) != 0 ||
	    (there && bpk_resolved_is(resolved, source->fd, &same, err) != 0))
		return -1;
	return same ? take_journal(source, &found, err) : take_plain(source, err);
}

/* ---- Holding ---- */

/*
 * Other threads hold in turn, and a writer waits: wait until they have ended, so that it can run.
 */
static void wait_for_pause(struct bpk_source_shared *shared)
{
	unsigned seen = shared->pauses;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PAUSE_MAX / 1000;
	while (shared->pauses == seen &&
	       pthread_cond_timedwait(&shared->paused, &shared->lock, &until) == 0)
		continue;
}

static int hold_first(struct bpk_source *source, struct bpk_err *err)
{
	if (bpk_lock_need(source->fd, BPK_LOCK_SEEN, BPK_LOCK_LONG, true, NULL, err) != 0)
		return -1;
	if (refresh(source, err) != 0) {
		bpk_lock_drop(source->fd, BPK_LOCK_SEEN);
		return -1;
	}
	clock_gettime(CLOCK_MONOTONIC, &source->shared->since);
	return 0;
}

bool bpk_hold_is_long(const struct timespec *since)
{
	return bpk_lock_since(since) >= LONG_HOLD;
}

int bpk_source_shared_hold(struct bpk_source *source, struct bpk_err *err)
{
	struct bpk_source_shared *shared = source->shared;
	int rc = 0;

	pthread_mutex_lock(&shared->lock);
	if (shared->holds > 0 && bpk_hold_is_long(&shared->since) && bpk_lock_is_wanted(source->fd))
		wait_for_pause(shared);
	if (shared->holds == 0)
		rc = hold_first(source, err);
	if (rc == 0)
		shared->holds++;
	pthread_mutex_unlock(&shared->lock);
	return rc;
}

void bpk_source_shared_release(struct bpk_source *source)
{
	struct bpk_source_shared *shared = source->shared;

	pthread_mutex_lock(&shared->lock);
	shared->holds--;
	if (shared->holds == 0) {
		bpk_lock_drop(source->fd, BPK_LOCK_SEEN);
		shared->pauses++;
		pthread_cond_broadcast(&shared->paused);
	}
	pthread_mutex_unlock(&shared->lock);
}

/* ---- Reading without a hold ---- */

unsigned bpk_source_shared_glance(struct bpk_source *source)
{
	struct bpk_source_shared *shared = source->shared;
	unsigned state = 0;

	pthread_mutex_lock(&shared->lock);
	if (shared->settled && !shared->asked) {
		shared->asked = true;
		shared->timely = bpk_is_timely(source->fd);
	}
	if (shared->settled && shared->timely)
		state = shared->state;
	pthread_mutex_unlock(&shared->lock);
	return state;
}

bool bpk_source_shared_is_still(struct bpk_source *source, unsigned state)
{
	struct bpk_source_shared *shared = source->shared;
	struct stat now;
	bool still;

	if (fstat(source->fd, &now) != 0)
		return false;
	pthread_mutex_lock(&shared->lock);
	still = shared->settled && shared->state == state && bpk_is_still(&now, &shared->seen);
	pthread_mutex_unlock(&shared->lock);
	return still;
}

/* Only a journal in use counts: anybody could create another one to hide how a file ends. */
bool bpk_source_shared_in_change(const struct bpk_source *source)
{
	return source->shared->pending || bpk_lock_has_writer(source->fd);
}

bool bpk_source_shared_pending(const struct bpk_source *source)
{
	return source->shared->pending;
}

bool bpk_source_shared_keeps(const struct bpk_source *source, const struct timespec *time)
{
	struct bpk_source_shared *shared = source->shared;
	bool keeps;

	pthread_rwlock_rdlock(&shared->state_lock);
	keeps = shared->pending &&
		(shared->journal.has_time ? shared->journal.time == bpk_journal_time(time)
					  : bpk_journal_is_untouched(&shared->journal, source->fd));
	pthread_rwlock_unlock(&shared->state_lock);
	return keeps;
}

bool bpk_source_shared_saved(const struct bpk_source *source, uint64_t offset, uint64_t size)
{
	struct bpk_source_shared *shared = source->shared;
	uint64_t end, gap_end;
	bool saved;

	pthread_rwlock_rdlock(&shared->state_lock);
	end = bpk_min_u64(offset + size, shared->journal.old_size);
	saved = shared->pending && !bpk_regions_gap(&shared->journal.saved, &offset, end, &gap_end);
	pthread_rwlock_unlock(&shared->state_lock);
	return saved;
}

bool bpk_source_shared_is_plain(const struct bpk_source *source)
{
	struct bpk_source_shared *shared = source->shared;
	bool plain;

	pthread_rwlock_rdlock(&shared->state_lock);
	plain = shared->journal.fd < 0;
	pthread_rwlock_unlock(&shared->state_lock);
	return plain;
}

const char *bpk_source_shared_remark(const struct bpk_source *source)
{
	const struct bpk_err *refused = &source->shared->refused;

	return refused->kind != BPK_OK ? refused->text : NULL;
}

int bpk_source_shared_read_at(const struct bpk_source *source, uint64_t offset, struct bpk_span out,
			      size_t *got, struct bpk_err *err)
{
	struct bpk_source_shared *shared = source->shared;
	int rc;

	pthread_rwlock_rdlock(&shared->state_lock);
	if (shared->journal.fd >= 0)
		rc = bpk_journal_read_at(&shared->journal, source->fd, offset, out, got, err);
	else
		rc = bpk_full_read_at(source->fd, offset, out, got, err);
	pthread_rwlock_unlock(&shared->state_lock);
	return rc;
}

/* ---- Opening ---- */

void bpk_source_shared_free(struct bpk_source_shared *shared)
{
	if (shared == NULL)
		return;
	bpk_journal_close(&shared->journal);
	bpk_resolved_clear(&shared->resolved);
	pthread_rwlock_destroy(&shared->state_lock);
	pthread_cond_destroy(&shared->paused);
	pthread_mutex_destroy(&shared->lock);
	free(shared);
}

/* Takes resolved, which leads to the source's file. */
static int adopt(struct bpk_source *source, struct bpk_resolved *resolved, struct bpk_err *err)
{
	struct bpk_source_shared *shared = bpk_calloc(1, sizeof *shared, err);

	if (shared == NULL) {
		bpk_resolved_clear(resolved);
		return -1;
	}
	shared->resolved = *resolved;
	pthread_mutex_init(&shared->lock, NULL);
	pthread_cond_init(&shared->paused, NULL);
	pthread_rwlock_init(&shared->state_lock, NULL);
	bpk_journal_init(&shared->journal, &shared->resolved);
	source->shared = shared;
	return 0;
}

int bpk_source_share(struct bpk_source *source, const char *path, struct bpk_err *err)
{
	struct bpk_resolved resolved;
	struct bpk_err why;
	struct stat found;
	int rc = bpk_resolved_find(path, &resolved, &found, &why);

	if (rc != 0)
		return rc < 0 ? bpk_fail_as(err, &why) : 0;
	if (!bpk_same_file(&found, &source->stat)) {
		bpk_resolved_clear(&resolved);
		return 1;
	}
	if (adopt(source, &resolved, err) != 0)
		return -1;
	/* find a journal that exists now, also for callers that never hold */
	if (bpk_source_shared_hold(source, err) != 0)
		return -1;
	bpk_source_shared_release(source);
	return 0;
}
