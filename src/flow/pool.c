/* Starts and joins the threads of a run, which flow.c sets to work. */
#include "flow/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct crew {
	void (*loop)(void *arg);
	void *arg;
};

static void *enter(void *arg)
{
	const struct crew *crew = arg;

	crew->loop(crew->arg);
	return NULL;
}

void bpk_pool_run(unsigned threads, void (*loop)(void *arg), void *arg)
{
	struct crew crew = { loop, arg };
	pthread_t *others = threads > 1 ? calloc(threads - 1, sizeof *others) : NULL;
	unsigned started = 0;
	sigset_t all, before;

	if (others != NULL) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		while (started < threads - 1 &&
		       pthread_create(&others[started], NULL, enter, &crew) == 0)
			started++;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	loop(arg);
	while (started > 0)
		pthread_join(others[--started], NULL);
	free(others);
}
