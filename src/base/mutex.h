/*
 * A mutex, for rooms that start no threads but are called from many. Held for a few instructions
 * only, never across a read or a write.
 */
#ifndef BPK_BASE_MUTEX_H
#define BPK_BASE_MUTEX_H

#include <pthread.h>

struct bpk_mutex {
	pthread_mutex_t own;
};

static inline void bpk_mutex_init(struct bpk_mutex *mutex)
{
	pthread_mutex_init(&mutex->own, NULL); /* the default kind cannot fail */
}

static inline void bpk_mutex_clear(struct bpk_mutex *mutex)
{
	pthread_mutex_destroy(&mutex->own);
}

static inline void bpk_mutex_lock(struct bpk_mutex *mutex)
{
	pthread_mutex_lock(&mutex->own);
}

static inline void bpk_mutex_unlock(struct bpk_mutex *mutex)
{
	pthread_mutex_unlock(&mutex->own);
}

#endif
