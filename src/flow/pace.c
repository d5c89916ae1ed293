/* Slows reading down. flow.c calls it for each chunk, verify makes the pace. */
#include "flow/pace.h"

#include <time.h>

void bpk_pace_init(struct bpk_pace *pace, uint64_t rate)
{
	*pace = (struct bpk_pace){ .rate = rate };
	bpk_mutex_init(&pace->lock);
}

void bpk_pace_clear(struct bpk_pace *pace)
{
	bpk_mutex_clear(&pace->lock);
}

static void sleep_for(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds };

	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) != 0)
		;
}

void bpk_pace_wait(struct bpk_pace *pace, uint64_t size)
{
	double now = bpk_clock(), until;

	if (pace == NULL || size == 0)
		return;
	bpk_mutex_lock(&pace->lock);
	if (pace->free < now)
		pace->free = now; /* time that was not used is lost */
	pace->free += (double)size / (double)pace->rate;
	until = pace->free;
	bpk_mutex_unlock(&pace->lock);
	if (until > now)
		sleep_for(until - now);
}
