/* The list of everything that a signal must remove from disk. Drafts, trees and tar extraction add
 * to it; cli/signal.c drops it all. */
#include "io/cleanup.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bpk_cleanup *first; /* guarded by lock, as all_dropped is */
static bool all_dropped;

int bpk_cleanup_lock(struct bpk_err *err)
{
	pthread_mutex_lock(&lock);
	if (!all_dropped)
		return 0;
	pthread_mutex_unlock(&lock);
	return bpk_fail(err, BPK_FAILED, "interrupted");
}

void bpk_cleanup_lock_always(void)
{
	pthread_mutex_lock(&lock);
}

void bpk_cleanup_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void bpk_cleanup_add(struct bpk_cleanup *cleanup, void (*drop)(void *owner), void *owner)
{
	*cleanup =
		(struct bpk_cleanup){ .drop = drop, .owner = owner, .listed = true, .next = first };
	if (first != NULL)
		first->previous = cleanup;
	first = cleanup;
}

static void delist(struct bpk_cleanup *cleanup)
{
	if (cleanup->previous != NULL)
		cleanup->previous->next = cleanup->next;
	else
		first = cleanup->next;
	if (cleanup->next != NULL)
		cleanup->next->previous = cleanup->previous;
	cleanup->listed = false;
}

void bpk_cleanup_end(struct bpk_cleanup *cleanup)
{
	pthread_mutex_lock(&lock);
	if (cleanup->listed) {
		delist(cleanup);
		if (!all_dropped)
			cleanup->drop(cleanup->owner);
	}
	pthread_mutex_unlock(&lock);
}

void bpk_draft_drop_all(void)
{
	pthread_mutex_lock(&lock);
	all_dropped = true;
	for (const struct bpk_cleanup *cleanup = first; cleanup != NULL; cleanup = cleanup->next)
		cleanup->drop(cleanup->owner);
	pthread_mutex_unlock(&lock);
}

/* Reading the umask means setting it: the strictest one applies meanwhile. bpk never changes its
 * own. */
mode_t bpk_cleanup_umask(void)
{
	static bool is_read; /* guarded by lock, as mask is */
	static mode_t mask;

	pthread_mutex_lock(&lock);
	if (!is_read) {
		mask = umask(0777);
		umask(mask);
		is_read = true;
	}
	pthread_mutex_unlock(&lock);
	return mask;
}
