/* All operands of a command, in order. Called by pack.c and unpack.c. */
#include "cli/operands.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/share.h"
#include "cli/signal.h"
#include "cli/transfer.h"

/* All operands on their way. */
struct course {
	struct bpk_shared *shared;
	const struct bpk_each *each;
	const struct bpk_file *operands;
	size_t count;
	char *jobs;       /* each->beside->size bytes for each place */
	uint64_t *starts; /* bpk_files_starts */
};

static void *job_at(const struct course *course, unsigned place)
{
	return course->jobs + place * course->each->beside->size;
}

/* The calls that follow are about operand number; returns its path. */
static const char *go_to(struct course *course, size_t number)
{
	bpk_files_go_to(course->starts, number, course->count);
	if (course->shared->results != NULL)
		bpk_results_go_to(course->shared->results, number);
	course->shared->below = course->operands[number].below;
	return course->operands[number].path;
}

static bool begin(void *arg, size_t number, unsigned place)
{
	struct course *course = arg;
	const char *path = go_to(course, number);

	return bpk_results_is_small(course->shared->results, number) &&
	       course->each->beside->begin(course->each->arg, job_at(course, place), path);
}

static void work(void *arg, unsigned place)
{
	const struct course *course = arg;

	course->each->beside->work(job_at(course, place));
}

static void end(void *arg, size_t number, unsigned place)
{
	struct course *course = arg;

	const char *path = go_to(course, number);

	course->each->beside->end(job_at(course, place));
	bpk_record_settle(course->shared, path);
}

static void alone(void *arg, size_t number)
{
	struct course *course = arg;

	const char *path = go_to(course, number);

	course->each->one(course->each->arg, path);
	bpk_record_settle(course->shared, path);
}

/* Files beside each other that descriptors allow: each has up to 5, and the command some others,
 * besides those that it was started with. */
static uint64_t places_allowed(void)
{
	enum { OWN = 32, OF_EACH = 8 };
	struct rlimit limit;
	int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	uint64_t used = OWN + (uint64_t)next;

	if (next < 0)
		return 1;
	close(next);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < used)
		return 1;
	return (limit.rlim_cur - used) / OF_EACH;
}

/* Set the threads and places of a line that limits leave to small files: ready of them are begun
 * for each thread, and each takes memory. */
static void set_threads(const struct bpk_shared *shared, uint64_t nsmall, unsigned ready,
			uint64_t memory, struct bpk_line *line)
{
	struct bpk_limits limits = bpk_shared_limits(shared);
	uint64_t places = places_allowed();
	uint64_t most = bpk_min_u64(limits.threads, places);

	if (limits.memory > 0)
		most = bpk_min_u64(most, limits.memory / memory);
	line->threads = (unsigned)bpk_min_u64(most, nsmall);
	line->nplaces = (unsigned)bpk_min_u64(ready * line->threads, places);
}

bool bpk_operand_look(struct bpk_input *in, const char *path, const struct bpk_format *format)
{
	struct bpk_err why = { 0 };
	struct stat found;

	*in = (struct bpk_input){ .path = path };
	return strcmp(path, "-") != 0 && !bpk_path_is_url(path) && stat(path, &found) == 0 &&
	       S_ISREG(found.st_mode) && found.st_size <= BPK_SMALL_INPUT &&
	       bpk_input_look(in, path, format, &why) == 0 &&
	       bpk_place_remark(&in->place) == NULL && !bpk_place_pending(&in->place);
}

void bpk_operands_set_threads(const struct bpk_shared *shared, struct bpk_line *line)
{
	enum { READY = 4 };
	enum { EACH_MEMORY = 16 << 20 }; /* bytes that reading one may take */

	set_threads(shared, line->count, READY, EACH_MEMORY, line);
}

/* The operands that are small files are done beside each other. False: none of them is begun. */
static bool run_beside(const struct bpk_shared *shared, struct course *course, size_t count)
{
	struct bpk_line line = { .count = count,
				 .begin = begin,
				 .work = work,
				 .end = end,
				 .alone = alone,
				 .arg = course };
	enum { READY = 8 };              /* then a thread seldom waits */
	enum { EACH_MEMORY = 48 << 20 }; /* bytes that packing one may take */
	uint64_t nsmall = 0;
	bool is_run;

	if (course->each->beside == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		nsmall += bpk_results_is_small(shared->results, i);
	set_threads(shared, nsmall, READY, EACH_MEMORY, &line);
	if (line.threads < 2)
		return false;
	course->jobs = bpk_calloc(line.nplaces, course->each->beside->size, NULL);
	bpk_signals_start(); /* before the first thread */
	is_run = course->jobs != NULL && bpk_line_run(&line, NULL) == 0;
	free(course->jobs);
	return is_run;
}

void bpk_operands_run(struct bpk_shared *shared, const struct bpk_files *operands,
		      const struct bpk_each *each)
{
	size_t count = operands->count;
	struct course course = { shared, each, operands->all,
				 count,  NULL, bpk_files_starts(shared, operands) };
	struct bpk_err err = { 0 };

	if (count > 1) {
		shared->results = bpk_results_open(operands, &err);
		if (shared->results == NULL) {
			bpk_report(NULL, &err);
			free(course.starts);
			return;
		}
	}
	if ((count == 0 || !bpk_share_each(shared, operands, alone, &course)) &&
	    (count < 2 || !run_beside(shared, &course, count)))
		for (size_t i = 0; i < count; i++)
			alone(&course, i);
	bpk_results_close(shared->results);
	shared->results = NULL;
	free(course.starts);
}
