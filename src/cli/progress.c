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

enum { NAME_TEXT = 256 };

static atomic_bool shown; /* a bar is on the screen */
static atomic_bool ended; /* no bar is drawn any more */

/* The work that is under way, for the line of status: a copy, since the thread that waits for
 * signals prints it. lock guards it. */
static struct bpk_mutex lock = { PTHREAD_MUTEX_INITIALIZER };
static struct {
	char name[NAME_TEXT];
	struct bpk_progress bar;
	uint64_t file, files; /* number file of files; 0: not counted */
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

void bpk_progress_file(uint64_t number, uint64_t count)
{
	bpk_mutex_lock(&lock);
	work.file = number;
	work.files = count;
	bpk_mutex_unlock(&lock);
}

/* "(2/3) ", or nothing for a single file. */
static const char *file_text(uint64_t file, uint64_t files, char out[BPK_SIZE_TEXT])
{
	out[0] = '\0';
	if (files > 1)
		snprintf(out, BPK_SIZE_TEXT, "(%" PRIu64 "/%" PRIu64 ") ", file, files);
	return out;
}

/* A process in the background leaves the terminal to others. One that has no terminal of its own
 * may write to any. */
static bool is_in_background(void)
{
	pid_t owner = tcgetpgrp(STDERR_FILENO);

	return owner >= 0 && owner != getpgrp();
}

void bpk_progress_start(struct bpk_progress *progress, enum bpk_when when, bool quiet,
			const char *name, uint64_t total)
{
	bool wanted =
		when == BPK_WHEN_AUTO ? !quiet && isatty(STDERR_FILENO) : when == BPK_WHEN_ALWAYS;

	*progress = (struct bpk_progress){
		.name = bpk_input_name(name),
		.total = total,
		.started = bpk_clock(),
		.enabled = wanted,
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
	char facts[160], count[BPK_SIZE_TEXT], text[BPK_ERR_TEXT], name[NAME_TEXT];
	struct bpk_progress bar;
	struct bpk_err shown_name = { 0 };

	bpk_mutex_lock(&lock);
	bar = work.bar;
	memcpy(name, work.name, sizeof name);
	file_text(work.file, work.files, count);
	bpk_mutex_unlock(&lock);
	bpk_progress_hide();
	if (bar.started == 0) {
		fprintf(stderr, "%s: %sno data are in work yet\n", bpk_program->name, count);
		return;
	}
	describe(&bar, bpk_clock() - bar.started, raw_so_far, packed_so_far, facts, sizeof facts);
	bpk_text_hide(bpk_printable(name, &shown_name), text);
	fprintf(stderr, "%s: %s%s: %s\n", bpk_program->name, count, text, facts);
}

void bpk_progress_update(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	struct bpk_progress *progress = arg;
	struct bpk_err name = { 0 };
	double time = bpk_clock();
	char facts[160], line[MAX_COLUMNS + 1], count[BPK_SIZE_TEXT];
	size_t width;

	raw_so_far = raw_done;
	packed_so_far = packed_done;
	if (!progress->enabled || time < progress->next || ended)
		return;
	progress->next = time + DRAW_EVERY;
	if (!progress->anywhere && is_in_background())
		return;
	width = columns();
	bpk_mutex_lock(&lock);
	file_text(work.file, work.files, count);
	bpk_mutex_unlock(&lock);
	describe(progress, time - progress->started, raw_done, packed_done, facts, sizeof facts);
	bpk_printable(progress->name, &name);
	snprintf(line, sizeof line, "%-*s", (int)width, facts);
	if (strlen(facts) + 3 < width)
		snprintf(line + strlen(facts), sizeof line - strlen(facts), "  %s%-*.*s", count,
			 (int)(width - strlen(facts) - 2), (int)(width - strlen(facts) - 2),
			 name.text);
	line[width] = '\0';
	fprintf(stderr, "\r%s", line);
	atomic_store(&shown, true);
}
