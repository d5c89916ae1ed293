/* The progress bar on standard error, drawn only on a terminal. Jobs and archives report to it. */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"

#define FIRST_AFTER 1.0
#define DRAW_EVERY  0.1

enum { MAX_COLUMNS = 160 };

static atomic_bool shown; /* a bar is on the screen */

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
	};
	progress->next = progress->started + (when == BPK_WHEN_ALWAYS ? 0 : FIRST_AFTER);
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

void bpk_progress_update(void *arg, uint64_t raw_done, uint64_t packed_done)
{
	struct bpk_progress *progress = arg;
	struct bpk_err name = { 0 };
	double time = bpk_clock();
	char facts[160], line[MAX_COLUMNS + 1];
	size_t width;

	if (!progress->enabled || time < progress->next)
		return;
	width = columns();
	progress->next = time + DRAW_EVERY;
	describe(progress, time - progress->started, raw_done, packed_done, facts, sizeof facts);
	bpk_printable(progress->name, &name);
	snprintf(line, sizeof line, "%-*s", (int)width, facts);
	if (strlen(facts) + 3 < width)
		snprintf(line + strlen(facts), sizeof line - strlen(facts), "  %-*.*s",
			 (int)(width - strlen(facts) - 2), (int)(width - strlen(facts) - 2),
			 name.text);
	line[width] = '\0';
	fprintf(stderr, "\r%s", line);
	atomic_store(&shown, true);
}
