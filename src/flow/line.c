/* Jobs begun and ended in order by one thread, and worked on by several. Called by cli through
 * flow.h. */
#include "flow/line.h"

#include <pthread.h>
#include <stdlib.h>

#include "flow/pool.h"

struct run {
	const struct bpk_line *line;
	pthread_t leader; /* the thread that begins and ends jobs */
	pthread_mutex_t lock;
	pthread_cond_t more, less; /* jobs begun, for other threads; jobs worked, for the leader */

	/* guarded by lock; the leader alone sets begun and ended */
	size_t begun, claimed, ended; /* numbers of the next jobs to begin, to work on, to end */
	bool *is_worked;              /* by place */
};

static unsigned place_of(const struct run *run, size_t number)
{
	return (unsigned)(number % run->line->nplaces);
}

static void work(struct run *run)
{
	const struct bpk_line *line = run->line;
	unsigned place = place_of(run, run->claimed);

	run->claimed++;
	pthread_mutex_unlock(&run->lock);
	line->work(line->arg, place);
	pthread_mutex_lock(&run->lock);
	run->is_worked[place] = true;
	pthread_cond_signal(&run->less);
}

/* ---- The leader ---- */

static void end(struct run *run)
{
	const struct bpk_line *line = run->line;
	unsigned place = place_of(run, run->ended);

	pthread_mutex_unlock(&run->lock);
	line->end(line->arg, run->ended, place);
	pthread_mutex_lock(&run->lock);
	run->is_worked[place] = false;
	run->ended++;
}

/* True if a waiting thread is to be woken: for several jobs, since that takes as long as some. */
static bool is_worth_waking(const struct run *run)
{
	const struct bpk_line *line = run->line;
	size_t ready = run->begun - run->claimed;

	return ready >= line->nplaces / line->threads / 2 || run->begun == line->count;
}

/* Returns false if the job is to be done alone. */
static bool begin(struct run *run)
{
	const struct bpk_line *line = run->line;
	bool is_begun;

	pthread_mutex_unlock(&run->lock);
	is_begun = line->begin(line->arg, run->begun, place_of(run, run->begun));
	pthread_mutex_lock(&run->lock);
	run->begun += is_begun;
	if (is_begun && is_worth_waking(run))
		pthread_cond_signal(&run->more);
	return is_begun;
}

static void do_alone(struct run *run)
{
	pthread_mutex_unlock(&run->lock);
	run->line->alone(run->line->arg, run->begun);
	pthread_mutex_lock(&run->lock);
	run->begun++;
	run->claimed++;
	run->ended++;
}

/* Jobs are ended and begun before one is worked on: so some lie ready for the other threads, which
 * seldom have to wait. */
static void lead(struct run *run)
{
	const struct bpk_line *line = run->line;
	bool is_alone = false; /* job begun is to be done so */

	while (run->ended < line->count) {
		size_t under_way = run->begun - run->ended;

		if (under_way > 0 && run->is_worked[place_of(run, run->ended)]) {
			end(run);
		} else if (is_alone && under_way == 0) {
			do_alone(run);
			is_alone = false;
		} else if (!is_alone && run->begun < line->count && under_way < line->nplaces) {
			is_alone = !begin(run);
		} else if (run->claimed < run->begun) {
			work(run);
		} else {
			pthread_cond_wait(&run->less, &run->lock);
		}
	}
	pthread_cond_broadcast(&run->more);
}

/* ---- All threads ---- */

static void follow(struct run *run)
{
	while (run->ended < run->line->count)
		if (run->claimed < run->begun)
			work(run);
		else
			pthread_cond_wait(&run->more, &run->lock);
}

static void run_loop(void *arg)
{
	struct run *run = arg;

	pthread_mutex_lock(&run->lock);
	if (pthread_equal(pthread_self(), run->leader))
		lead(run);
	else
		follow(run);
	pthread_mutex_unlock(&run->lock);
}

int bpk_line_run(const struct bpk_line *line, struct bpk_err *err)
{
	struct run run = { .line = line, .leader = pthread_self() };

	run.is_worked = bpk_calloc(line->nplaces, sizeof *run.is_worked, err);
	if (run.is_worked == NULL)
		return -1;
	pthread_mutex_init(&run.lock, NULL);
	pthread_cond_init(&run.more, NULL);
	pthread_cond_init(&run.less, NULL);
	bpk_pool_run(line->threads, run_loop, &run);
	pthread_cond_destroy(&run.less);
	pthread_cond_destroy(&run.more);
	pthread_mutex_destroy(&run.lock);
	free(run.is_worked);
	return 0;
}
