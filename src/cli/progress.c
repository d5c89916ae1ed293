/* The progress bar on standard error, drawn only on a terminal, and the line of status that a
 * signal asks for. Jobs and archives report to it. */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/command.h"
#include "cli/text.h"

#define FIRST_AFTER 1.0
#define DRAW_EVERY  0.1

enum { MAX_COLUMNS = 160 };

enum { NAME_TEXT = 256, FILES_TEXT = 96 };

static atomic_bool shown; /* a bar is on the screen */
static atomic_bool ended; /* no bar is drawn any more */

/* The work that is under way, for the line of status: a copy, since the thread that waits for
 * signals prints it. lock guards it. */
static struct bpk_mutex lock = { PTHREAD_MUTEX_INITIALIZER };
static struct {
	char name[NAME_TEXT];
	struct bpk_progress bar;
	uint64_t file, files;       /* number file of files; 0: not counted */
	uint64_t before, size, all; /* bytes of the files before it, of it, and of all */
} work;
static _Atomic uint64_t raw_so_far, packed_so_far;

static size_t columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
		return 79;
	return bpk_min_size(size.ws_col - 1u, MAX_COLUMNS);
}

void bpk_progress_hide(void)
{
	if (atomic_exchange(&shown, false))
		fprintf(stderr, "\r%*s\r", (int)columns(), "");
}

void bpk_progress_end(void)
{
	ended = true;
	bpk_progress_hide();
}

void bpk_progress_all(uint64_t size)
{
	bpk_mutex_lock(&lock);
	work.all = size;
	bpk_mutex_unlock(&lock);
}

void bpk_progress_file(uint64_t number, uint64_t count, uint64_t before, uint64_t size)
{
	bpk_mutex_lock(&lock);
	work.file = number;
	work.files = count;
	work.before = before;
	work.size = size;
	bpk_mutex_unlock(&lock);
}

/* Bytes of all files that are done, in percent; total raw bytes of this one come. */
static double percent_of_all(uint64_t raw_done, uint64_t total)
{
	double part = 0;

	if (total != BPK_UNKNOWN && total > 0)
		part = (double)raw_done / (double)total;
	return ((double)work.before + part * (double)work.size) * 100 / (double)work.all;
}

/* Under the lock: "(2/3) ", "(2/3, 41 % of 1.2 GiB) ", or nothing for a single file. */
static void put_files(uint64_t raw_done, uint64_t total, char out[FILES_TEXT])
{
	char all[BPK_SIZE_TEXT], part[48] = "";

	out[0] = '\0';
	if (work.files < 2)
		return;
	if (work.all > 0)
		snprintf(part, sizeof part, ", %.0f %% of %s", percent_of_all(raw_done, total),
			 bpk_size_text(work.all, all));
	snprintf(out, FILES_TEXT, "(%" PRIu64 "/%" PRIu64 "%s) ", work.file, work.files, part);
}

/* A process in the background leaves the terminal to others. One that has no terminal of its own
 * may write to any. */
static bool is_in_background(void)
{
	pid_t owner = tcgetpgrp(STDERR_FILENO);

	return owner >= 0 && owner != getpgrp();
}

bool bpk_progress_is_wanted(enum bpk_when when, bool quiet)
{
	return when == BPK_WHEN_AUTO ? !quiet && isatty(STDERR_FILENO) : when == BPK_WHEN_ALWAYS;
}

void bpk_progress_start(struct bpk_progress *progress, enum bpk_when when, bool quiet,
			const char *name, uint64_t total)
{
	*progress = (struct bpk_progress){
		.name = bpk_input_name(name),
		.total = total,
		.started = bpk_clock(),
		.enabled = bpk_progress_is_wanted(when, quiet),
		.anywhere = when == BPK_WHEN_ALWAYS,
	};
	progress->next = progress->started + (progress->anywhere ? 0 : FIRST_AFTER);
	bpk_mutex_lock(&lock);
	snprintf(work.name, sizeof work.name, "%s", progress->name);
	work.bar = *progress;
	bpk_mutex_unlock(&lock);
	raw_so_far = packed_so_far = 0;
}

/* "12 % of 1.2 GiB, 340 MiB/s, ratio 2.41, 0:12 left" */
static void describe(const struct bpk_progress *progress, double elapsed, uint64_t raw_done,
		     uint64_t packed_done, char *out, size_t room)
{
	char done[BPK_SIZE_TEXT], rate[BPK_SIZE_TEXT], amount[64], rest[64] = "";
	double speed = elapsed > 0 ? (double)raw_done / elapsed : 0;

	bpk_size_text(raw_done, done);
	bpk_size_text((uint64_t)speed, rate);
	snprintf(amount, sizeof amount, "%s", done);
	if (progress->total != BPK_UNKNOWN && progress->total > 0) {
		double part = (double)raw_done / (double)progress->total;
		double left = speed > 0 ? ((double)progress->total - (double)raw_done) / speed : 0;
		unsigned long seconds = left > 0 && left < 1e9 ? (unsigned long)left : 0;

		bpk_size_text(progress->total, done);
		snprintf(amount, sizeof amount, "%3.0f %% of %s", part * 100, done);
		snprintf(rest, sizeof rest, ", %lu:%02lu left", seconds / 60, seconds % 60);
	}
	snprintf(out, room, "%s, %s/s, ratio %.2f%s", amount, rate,
		 packed_done > 0 ? (double)raw_done / (double)packed_done : 0.0, rest);
}

void bpk_progress_tell(void)
{
	char facts[160], files[FILES_TEXT], text[BPK_ERR_TEXT], name[NAME_TEXT];
	struct bpk_progress bar;
	struct bpk_err shown_name = { 0 };

	bpk_mutex_lock(&lock);
	bar = work.bar;
	memcpy(name, work.name, sizeof name);
	put_files(raw_so_far, bar.total, files);
	bpk_mutex_unlock(&lock);
	bpk_progress_hide();
	if (bar.started == 0) {
		fprintf(stderr, "%s: %sno data are in work yet\n", bpk_program->name, files);
		return;
	}
	describe(&bar, bpk_clock() - bar.started, raw_so_far, packed_so_far, facts, sizeof facts);
	bpk_text_hide(bpk_printable(name, &shown_name), text);
	fprintf(stderr, "%s: %s%s: %s\n", bpk_program->name, files, text, facts);
}

void bpk_progress_update(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	struct bpk_progress *progress = arg;
	struct bpk_err name = { 0 };
	double time = bpk_clock();
	char facts[160], line[2 * MAX_COLUMNS], files[FILES_TEXT];
	size_t width, used;

	raw_so_far = raw_done;
	packed_so_far = packed_done;
	if (!progress->enabled || time < progress->next || ended)
		return;
	progress->next = time + DRAW_EVERY;
	if (!progress->anywhere && is_in_background())
		return;
	width = columns();
	bpk_mutex_lock(&lock);
	put_files(raw_done, progress->total, files);
	bpk_mutex_unlock(&lock);
	describe(progress, time - progress->started, raw_done, packed_done, facts, sizeof facts);
	bpk_printable(progress->name, &name);
	snprintf(line, sizeof line, "%s%-*s", files, (int)width, facts);
	used = strlen(files) + strlen(facts);
	if (used + 3 < width)
		snprintf(line + used, sizeof line - used, "  %-*.*s", (int)(width - used - 2),
			 (int)(width - used - 2), name.text);
	line[width] = '\0';
	fprintf(stderr, "\r%s", line);
	atomic_store(&shown, true);
}
