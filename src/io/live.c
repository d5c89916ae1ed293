/* The list of everything that a signal must remove from disk. Drafts, trees and tar extraction add
 * to it; cli/signal.c drops it all. */
#include "io/live.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bpk_live *first; /* guarded by lock, as all_dropped is */
static bool all_dropped;

int bpk_live_enter(struct bpk_err *err)
{
	pthread_mutex_lock(&lock);
	if (!all_dropped)
		return 0;
	pthread_mutex_unlock(&lock);
	return bpk_fail(err, BPK_FAILED, "interrupted");
}

void bpk_live_hold(void)
{
	pthread_mutex_lock(&lock);
}

void bpk_live_leave(void)
{
	pthread_mutex_unlock(&lock);
}

void bpk_live_add(struct bpk_live *live, void (*drop)(void *owner), void *owner)
{
	*live = (struct bpk_live){ .drop = drop, .owner = owner, .listed = true, .next = first };
	if (first != NULL)
		first->previous = live;
	first = live;
}

static void delist(struct bpk_live *live)
{
	if (live->previous != NULL)
		live->previous->next = live->next;
	else
		first = live->next;
	if (live->next != NULL)
		live->next->previous = live->previous;
	live->listed = false;
}

void bpk_live_end(struct bpk_live *live)
{
	pthread_mutex_lock(&lock);
	if (live->listed) {
		delist(live);
		if (!all_dropped)
			live->drop(live->owner);
	}
	pthread_mutex_unlock(&lock);
}

void bpk_draft_drop_all(void)
{
	pthread_mutex_lock(&lock);
	all_dropped = true;
	for (const struct bpk_live *live = first; live != NULL; live = live->next)
		live->drop(live->owner);
	pthread_mutex_unlock(&lock);
}

/* Reading the umask means setting it: the strictest one applies meanwhile. The lock excludes other
 * readers. */
mode_t bpk_live_umask(void)
{
	mode_t mask;

	pthread_mutex_lock(&lock);
	mask = umask(0777);
	umask(mask);
	pthread_mutex_unlock(&lock);
	return mask;
}
