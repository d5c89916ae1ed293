/*
 * Whole commands, from file to file: bpk pack and unpack beside zstd -3 -T0, lz4 and xz -6 -T1,
 * over the data sets of the benches and any files named. Prints tables in Markdown.
 *
 *   bench-commands [-b BPK] [-s MIB] [-r ROUNDS] [-x ROUNDS] [-d DATA] [-t FOLDER] [-y] [FILE]...
 *
 * -s is the size of a set, -r the rounds, -x the rounds that xz takes part in (it is slow), -d one
 * set alone ("none": no set), -t where the temporary folder is made. Results are not waited for
 * until they are on the disk; with -y all are: bpk by its default, the others' by an fsync of ours.
 *
 * In every round each program runs once, so that a disturbance of the machine affects all, and each
 * begins a round in turn, so that it does not always inherit the memory of the same other; a gain
 * is the median of the rounds' own ratios. Inputs have just been written or read, and so stand in
 * the page cache. A program that is not installed leaves its columns empty.
 */
#include "bench/data.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ROUNDS = 101, MAX_ARGS = 12, MAX_ROWS = 128, NPROGRAMS = 4 };
enum { BPK, ZSTD, LZ4, XZ };
enum direction { PACK, UNPACK, NDIRECTIONS };

/* IN and OUT in argv stand for the files; without OUT the result goes to standard output. */
static const char IN[] = "IN", OUT[] = "OUT";

struct program {
	const char *name;
	const char *argv[NDIRECTIONS][MAX_ARGS];
	bool missing;
};

static struct program programs[NPROGRAMS] = {
	[BPK] = { "bpk",
		  { { "bpk", "pack", "-q", "-o", OUT, IN, NULL },
		    { "bpk", "unpack", "-q", "-o", OUT, IN, NULL } },
		  false },
	[ZSTD] = { "zstd -3",
		   { { "zstd", "-q", "-3", "-T0", "-o", OUT, IN, NULL },
		     { "zstd", "-q", "-d", "-o", OUT, IN, NULL } },
		   false },
	[LZ4] = { "lz4",
		  { { "lz4", "-q", IN, OUT, NULL }, { "lz4", "-q", "-d", IN, OUT, NULL } },
		  false },
	[XZ] = { "xz -6",
		 { { "xz", "-q", "-6", "-T1", "-c", IN, NULL },
		   { "xz", "-q", "-d", "-T1", "-c", IN, NULL } },
		 false },
};

struct options {
	const char *bpk, *data, *parent;
	uint64_t size;
	unsigned rounds, xz_rounds;
	bool sync;
};

struct cost {
	double wall, cpu;
};

/* Gains are theirs / ours; 0 without a measurement. */
struct row {
	char name[64];
	uint64_t raw_size, packed_size[NPROGRAMS];
	struct cost ours[NDIRECTIONS]; /* medians, in seconds */
	struct cost gain[NDIRECTIONS][NPROGRAMS];
};

struct bench {
	struct options options;
	char folder[PATH_MAX];
	struct row rows[MAX_ROWS];
	size_t nrows;
};

static struct bench bench;

static void clean(void)
{
	char path[PATH_MAX + 16];

	if (bench.folder[0] == '\0')
		return;
	for (size_t p = 0; p < NPROGRAMS; p++) {
		snprintf(path, sizeof path, "%s/packed-%zu", bench.folder, p);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/raw", bench.folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/back", bench.folder);
	unlink(path);
	rmdir(bench.folder);
}

static void die(const char *what, ...)
{
	va_list args;

	va_start(args, what);
	fputs("bench-commands: ", stderr);
	vfprintf(stderr, what, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* ---- Running one command ---- */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool has_word(const char *const *argv, const char *word)
{
	for (; *argv != NULL; argv++)
		if (*argv == word)
			return true;
	return false;
}

/* The arguments with the files put in. */
static void fill_in(const struct bench *b, size_t p, enum direction direction, const char *in,
		    const char *out, char *argv[MAX_ARGS + 1])
{
	const char *const *from = programs[p].argv[direction];
	size_t n = 0;

	for (; *from != NULL; from++) {
		const char *word = *from == IN ? in : *from == OUT ? out : *from;

		argv[n++] = (char *)word;
		if (p == BPK && n == 2 && !b->options.sync)
			argv[n++] = "--no-sync";
	}
	argv[n] = NULL;
	if (p == BPK)
		argv[0] = (char *)b->options.bpk;
}

/* Start the program with its standard output going to out, unless it opens that by itself. */
static pid_t start(char *argv[], const char *out, bool to_stdout)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (to_stdout)
		posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out,
						 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	rc = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc == ENOENT)
		return -1;
	if (rc != 0)
		die("%s: %s", argv[0], strerror(rc));
	return child;
}

static void sync_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fsync(fd) != 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/* Returns false when the program is not there. */
static bool run(const struct bench *b, size_t p, enum direction direction, const char *in,
		const char *out, struct cost *cost)
{
	char *argv[MAX_ARGS + 1];
	struct rusage usage;
	double begin;
	int status;
	pid_t child;

	fill_in(b, p, direction, in, out, argv);
	unlink(out);
	begin = now();
	child = start(argv, out, !has_word(programs[p].argv[direction], OUT));
	if (child < 0)
		return false;
	if (wait4(child, &status, 0, &usage) != child || status != 0)
		die("%s %s fails on %s", argv[0], argv[1], in);
	if (b->options.sync && p != BPK)
		sync_file(out);
	cost->wall = now() - begin;
	cost->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	return true;
}

/* ---- Medians ---- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned n)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof values[0], ascending);
	return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The median of theirs / ours over rounds that both took part in. */
static struct cost gain_of(const struct cost *theirs, const struct cost *ours, unsigned rounds)
{
	static double wall[MAX_ROUNDS], cpu[MAX_ROUNDS];

	for (unsigned r = 0; r < rounds; r++) {
		wall[r] = theirs[r].wall / ours[r].wall;
		cpu[r] = theirs[r].cpu / fmax(ours[r].cpu, 1e-6);
	}
	return (struct cost){ median(wall, rounds), median(cpu, rounds) };
}

static struct cost median_of(const struct cost *costs, unsigned rounds)
{
	static double wall[MAX_ROUNDS], cpu[MAX_ROUNDS];

	for (unsigned r = 0; r < rounds; r++) {
		wall[r] = costs[r].wall;
		cpu[r] = costs[r].cpu;
	}
	return (struct cost){ median(wall, rounds), median(cpu, rounds) };
}

/* ---- One row ---- */

static uint64_t file_size(const char *path)
{
	struct stat found;

	if (stat(path, &found) != 0)
		die("%s: %s", path, strerror(errno));
	return (uint64_t)found.st_size;
}

static void expect_same(const char *path, const char *other)
{
	static char a[1 << 16], b[1 << 16];
	FILE *left = fopen(path, "rb"), *right = fopen(other, "rb");
	size_t n;

	if (left == NULL || right == NULL)
		die("%s: %s", left == NULL ? path : other, strerror(errno));
	do {
		n = fread(a, 1, sizeof a, left);
		if (fread(b, 1, sizeof b, right) != n || memcmp(a, b, n) != 0)
			die("other bytes come back");
	} while (n > 0);
	fclose(left);
	fclose(right);
}

static void measure_direction(const struct bench *b, const char *raw, enum direction direction,
			      struct row *row)
{
	static struct cost costs[NPROGRAMS][MAX_ROUNDS];
	const struct options *o = &b->options;
	unsigned rounds[NPROGRAMS] = { o->rounds, o->rounds, o->rounds, o->xz_rounds };
	char packed[PATH_MAX + 16], back[PATH_MAX + 16];

	snprintf(back, sizeof back, "%s/back", b->folder);
	for (unsigned r = 0; r < o->rounds; r++) {
		for (size_t i = 0; i < NPROGRAMS; i++) {
			size_t p = (r + i) % NPROGRAMS;
			const char *in = direction == PACK ? raw : packed;
			const char *out = direction == PACK ? packed : back;

			if (programs[p].missing || r >= rounds[p])
				continue;
			snprintf(packed, sizeof packed, "%s/packed-%zu", b->folder, p);
			programs[p].missing = !run(b, p, direction, in, out, &costs[p][r]);
			if (direction == UNPACK && r == 0 && !programs[p].missing)
				expect_same(raw, back);
		}
	}
	if (programs[BPK].missing)
		die("%s: no such program", o->bpk);
	row->ours[direction] = median_of(costs[BPK], o->rounds);
	for (size_t p = ZSTD; p < NPROGRAMS; p++)
		if (!programs[p].missing)
			row->gain[direction][p] = gain_of(costs[p], costs[BPK], rounds[p]);
}

static void measure(struct bench *b, const char *name, const char *raw)
{
	struct row *row = &b->rows[b->nrows];

	if (b->nrows == MAX_ROWS)
		die("more than %d rows", MAX_ROWS);
	fprintf(stderr, "%s\n", name);
	snprintf(row->name, sizeof row->name, "%s", name);
	row->raw_size = file_size(raw);
	measure_direction(b, raw, PACK, row);
	for (size_t p = 0; p < NPROGRAMS; p++) {
		char packed[PATH_MAX + 16];

		snprintf(packed, sizeof packed, "%s/packed-%zu", b->folder, p);
		if (!programs[p].missing && (p != XZ || b->options.xz_rounds > 0))
			row->packed_size[p] = file_size(packed);
	}
	measure_direction(b, raw, UNPACK, row);
	b->nrows++;
}

static void measure_set(struct bench *b, const struct bench_data *data)
{
	uint64_t size = b->options.size;
	uint8_t *bytes = malloc((size_t)size + 1);
	char raw[PATH_MAX + 16];
	FILE *file;

	snprintf(raw, sizeof raw, "%s/raw", b->folder);
	file = fopen(raw, "wb");
	if (bytes == NULL || file == NULL)
		die("%s: %s", raw, strerror(errno));
	bench_data_make(data->name, 1, (size_t)size, bytes);
	if (fwrite(bytes, 1, (size_t)size, file) != size || fclose(file) != 0)
		die("%s: %s", raw, strerror(errno));
	free(bytes);
	sync_file(raw); /* so that its own writing back does not disturb */
	measure(b, data->name, raw);
}

/* ---- Tables ---- */

static void print_gain(double gain)
{
	if (gain == 0)
		printf(" |");
	else
		printf(gain < 100 ? " %.2f |" : " %.0f |", gain);
}

static void print_sizes(const struct bench *b)
{
	puts("\n| data | raw bytes | bpk | zstd -3 | lz4 | xz -6 | bpk/raw | bpk/zstd -3 | bpk/xz "
	     "-6 "
	     "|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (size_t i = 0; i < b->nrows; i++) {
		const struct row *row = &b->rows[i];
		double ours = (double)row->packed_size[BPK];

		printf("| %s | %llu |", row->name, (unsigned long long)row->raw_size);
		for (size_t p = 0; p < NPROGRAMS; p++)
			if (row->packed_size[p] == 0)
				printf(" |");
			else
				printf(" %llu |", (unsigned long long)row->packed_size[p]);
		printf(" %.4f |", ours / (double)row->raw_size);
		for (size_t p = ZSTD; p < NPROGRAMS; p++)
			if (p != LZ4 && row->packed_size[p] == 0)
				printf(" |");
			else if (p != LZ4)
				printf(" %.3f |", ours / (double)row->packed_size[p]);
		putchar('\n');
	}
}

static void print_times(const struct bench *b, enum direction direction)
{
	printf("\n| data | bpk %s, MB/s | zstd/bpk | lz4/bpk | xz/bpk | zstd/bpk, cpu | lz4/bpk, "
	       "cpu "
	       "| xz/bpk, cpu |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
	       direction == PACK ? "pack" : "unpack");
	for (size_t i = 0; i < b->nrows; i++) {
		const struct row *row = &b->rows[i];

		printf("| %s | %.0f |", row->name,
		       (double)row->raw_size / row->ours[direction].wall / 1e6);
		for (size_t p = ZSTD; p < NPROGRAMS; p++)
			print_gain(row->gain[direction][p].wall);
		for (size_t p = ZSTD; p < NPROGRAMS; p++)
			print_gain(row->gain[direction][p].cpu);
		putchar('\n');
	}
}

/* ---- All of it ---- */

static void print_version(const char *program, const char *option)
{
	char command[PATH_MAX + 32], line[256];
	FILE *pipe;

	snprintf(command, sizeof command, "'%s' %s 2>/dev/null", program, option);
	pipe = popen(command, "r");
	if (pipe == NULL)
		return;
	if (fgets(line, sizeof line, pipe) != NULL)
		printf("# %s", line);
	pclose(pipe);
}

static unsigned parse_number(const char *text, unsigned least, unsigned most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || value < least || value > most)
		die("%s: not a number within %u and %u", text, least, most);
	return (unsigned)value;
}

static struct options parse(int argc, char **argv)
{
	struct options o = { "./bpk", NULL, NULL, 64u << 20, 5, 1, false };
	int c;

	if (getenv("BPK") != NULL)
		o.bpk = getenv("BPK");
	o.parent = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
	while ((c = getopt(argc, argv, "b:s:r:x:d:t:y")) != -1)
		switch (c) {
		case 'b':
			o.bpk = optarg;
			break;
		case 's':
			o.size = (uint64_t)parse_number(optarg, 1, 65536) << 20;
			break;
		case 'r':
			o.rounds = parse_number(optarg, 1, MAX_ROUNDS);
			break;
		case 'x':
			o.xz_rounds = parse_number(optarg, 0, MAX_ROUNDS);
			break;
		case 'd':
			o.data = optarg;
			break;
		case 't':
			o.parent = optarg;
			break;
		case 'y':
			o.sync = true;
			break;
		default:
			die("usage: bench-commands [-b BPK] [-s MIB] [-r ROUNDS] [-x ROUNDS] "
			    "[-d DATA] [-t FOLDER] [-y] [FILE]...");
		}
	if (o.xz_rounds > o.rounds)
		o.xz_rounds = o.rounds;
	if (o.data != NULL && strcmp(o.data, "none") != 0 && bench_data_find(o.data) == NULL)
		die("%s: no such data set", o.data);
	return o;
}

int main(int argc, char **argv)
{
	struct bench *b = &bench;
	const struct bench_data *data;

	b->options = parse(argc, argv);
	snprintf(b->folder, sizeof b->folder, "%s/bench-commands.XXXXXX", b->options.parent);
	if (mkdtemp(b->folder) == NULL)
		die("%s: %s", b->folder, strerror(errno));
	atexit(clean);
	for (size_t i = 0; (data = bench_data_at(i)) != NULL; i++)
		if (b->options.data == NULL || strcmp(b->options.data, data->name) == 0)
			measure_set(b, data);
	for (; optind < argc; optind++) {
		const char *slash = strrchr(argv[optind], '/');

		measure(b, slash != NULL ? slash + 1 : argv[optind], argv[optind]);
	}
	print_version(b->options.bpk, "version");
	print_version("zstd", "--version");
	print_version("lz4", "--version");
	print_version("xz", "--version");
	printf("# sets of %llu MiB, %u rounds, %u with xz, %s\n",
	       (unsigned long long)(b->options.size >> 20), b->options.rounds, b->options.xz_rounds,
	       b->options.sync ? "synced" : "not synced");
	print_sizes(b);
	print_times(b, PACK);
	print_times(b, UNPACK);
	return 0;
}
