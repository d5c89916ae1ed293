/* One command in a folder of its own, for the sweeps. */
#include "fault/case.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RAW_SIZE = 40000, FILE_MAX = 1 << 18 };

static const char old_text[] = "an older result\n";

char careless_program[PATH_MAX];

struct content {
	size_t size;
	char bytes[FILE_MAX];
};

static char scratch[PATH_MAX];
static struct content whole, found;

/* The files that commands read, as first made. */
static struct source {
	const char *name;
	mode_t mode;
	struct content content;
	struct stat stat;
} sources[] = {
	{ .name = "a", .mode = 0640 },         { .name = "b.blp", .mode = 0644 },
	{ .name = "b.b2frame", .mode = 0644 }, { .name = "c.tar", .mode = 0644 },
	{ .name = "s.blp", .mode = 0644 },     { .name = "s.b2frame", .mode = 0644 },
	{ .name = "s.blp.bpp", .mode = 0644 }, { .name = "d.blp", .mode = 0644 },
	{ .name = "d.b2frame", .mode = 0644 },
};
enum { NSOURCES = sizeof sources / sizeof sources[0] };

static struct content *const raw = &sources[0].content;

/* ---- files ---- */

static bool load(const char *path, struct content *content)
{
	FILE *file = fopen(path, "rbe");

	content->size = 0;
	if (file == NULL)
		return false;
	content->size = fread(content->bytes, 1, sizeof content->bytes, file);
	fclose(file);
	return true;
}

static void store(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wbe");

	if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
		run_die(path);
}

static bool same(const struct content *a, const void *bytes, size_t size)
{
	return a->size == size && memcmp(a->bytes, bytes, size) == 0;
}

static bool is_untouched(const struct source *source)
{
	const struct stat *before = &source->stat;
	struct stat now;

	return stat(source->name, &now) == 0 && now.st_ino == before->st_ino &&
	       now.st_mode == before->st_mode && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == before->st_mtim.tv_nsec && load(source->name, &found) &&
	       same(&found, source->content.bytes, source->content.size);
}

/* Noise, a ramp of 32-bit integers, and zeros long enough to become a hole. */
static void make_raw(void)
{
	uint64_t state = 1;

	raw->size = RAW_SIZE;
	for (size_t i = 0; i < RAW_SIZE; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		if (i < 12000)
			raw->bytes[i] = (char)(state >> 56);
		else if (i < 24000)
			raw->bytes[i] = (char)((i / 4) >> (8 * (i % 4)));
	}
}

static const char *result_of(const struct row *row)
{
	return row->target != NULL ? row->target : "out";
}

/* ---- the folder ---- */

static bool is_source(const char *name)
{
	for (size_t i = 0; i < NSOURCES; i++)
		if (strcmp(name, sources[i].name) == 0)
			return true;
	return false;
}

static bool is_draft(const char *name)
{
	return name[0] == '.' && strstr(name, ".bpk-") != NULL;
}

/* Call visit for every name except the sources and the result. */
static void each_stranger(const struct row *row, void (*visit)(const char *name, void *arg),
			  void *arg)
{
	DIR *folder = opendir(".");

	if (folder == NULL)
		run_die("opendir");
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !is_source(name) &&
		    strcmp(name, result_of(row)) != 0)
			visit(name, arg);
	}
	closedir(folder);
}

static void remove_stranger(const char *name, void *arg)
{
	(void)arg;
	if (unlink(name) != 0)
		run_die(name);
}

static void make_source(struct source *source)
{
	store(source->name, source->content.bytes, source->content.size);
	if (chmod(source->name, source->mode) != 0 || stat(source->name, &source->stat) != 0)
		run_die(source->name);
}

void case_restore_sources(void)
{
	for (size_t i = 0; i < NSOURCES; i++)
		if (!is_untouched(&sources[i]))
			make_source(&sources[i]);
}

void case_settle(void)
{
	enum { TICK = 120 * 1000 }; /* microseconds; bpk_is_settled takes 100 ms */
	struct timespec now;

	case_restore_sources();
	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < NSOURCES; i++)
		if (now.tv_sec - sources[i].stat.st_ctim.tv_sec <= 1) {
			usleep(TICK);
			return;
		}
}

void case_restore(const struct row *row, enum where where)
{
	each_stranger(row, remove_stranger, NULL);
	unlink(result_of(row));
	if (where == TO_OLD)
		store(result_of(row), old_text, sizeof old_text - 1);
	case_restore_sources();
}

bool case_has_nameless(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && access("/proc/self/fd", X_OK) == 0;
}

/* ---- running ---- */

static void note_stranger(const char *name, void *arg)
{
	struct outcome *outcome = arg;

	if (is_draft(name))
		outcome->drafts++;
	else
		snprintf(outcome->stray, sizeof outcome->stray, "%s", name);
}

static enum seen look(const struct row *row)
{
	if (!load(result_of(row), &found))
		return NOTHING;
	if (found.size == 0)
		return EMPTY;
	if (same(&found, whole.bytes, whole.size))
		return WHOLE;
	return same(&found, old_text, sizeof old_text - 1) ? OLD : OTHER;
}

void case_run(const struct row *row, enum where where, bool force, const struct fault *fault,
	      struct outcome *outcome)
{
	const char *argv[16], **next = argv;
	const struct command command = {
		.argv = argv,
		.in = row->in,
		.pipe = row->pipe,
		.out = row->target == NULL ? "out" : NULL,
	};

	*next++ = row->careless ? careless_program : bpk_program;
	*next++ = row->args[0];
	if (force || where == TO_OLD)
		*next++ = row->force != NULL ? row->force : "-f";
	for (size_t i = 1; row->args[i] != NULL; i++)
		*next++ = row->args[i];
	*next = NULL;
	*outcome = (struct outcome){ 0 };
	run_command(&command, fault, &outcome->ran);
	each_stranger(row, note_stranger, outcome);
	outcome->seen = look(row);
	outcome->source_gone = row->removes && access("a", F_OK) != 0;
	for (size_t i = outcome->source_gone ? 1 : 0; i < NSOURCES; i++)
		outcome->source_changed |= !is_untouched(&sources[i]);
}

bool case_learn(const struct row *row)
{
	if (!load(result_of(row), &whole))
		return false;
	return row->raw_to == 0 ||
	       same(&whole, raw->bytes + row->raw_from, row->raw_to - row->raw_from);
}

/* ---- beginning and ending ---- */

static bool enter_folder(void)
{
	char here[PATH_MAX];

	if (getcwd(here, sizeof here) == NULL ||
	    (size_t)snprintf(scratch, sizeof scratch, "%s/fault-XXXXXX", here) >= sizeof scratch ||
	    mkdtemp(scratch) == NULL || chdir(scratch) != 0)
		return false;
	return mkdir("folder", 0777) == 0 && chdir("folder") == 0;
}

/* Make the source that row produces. */
static bool run_source(const struct row *row, struct source *source)
{
	static const struct fault none = { .doer = BY_NOBODY };
	struct outcome outcome;

	case_run(row, TO_NEW, false, &none, &outcome);
	return outcome.ran.status == 0 && load(source->name, &source->content) &&
	       stat(source->name, &source->stat) == 0;
}

/* Damage the copy of a source in its middle, which is in a chunk. */
static void make_damaged(struct source *source, const struct source *original)
{
	const size_t middle = original->content.size / 2;

	source->content = original->content;
	for (size_t i = 0; i < 8; i++)
		source->content.bytes[middle + i] ^= 0x55;
	make_source(source);
}

bool case_begin(const char *tools)
{
	static const struct row makers[] = {
		{ .args = { "pack", "-z", "8K", "-t", "4", "-o", "b.blp", "a" },
		  .target = "b.blp" },
		{ .args = { "pack", "-z", "8K", "-t", "4", "-o", "b.b2frame", "a" },
		  .target = "b.b2frame" },
		{ .args = { "tar", "--raw", "-o", "c.tar", "b.blp" }, .target = "c.tar" },
		{ .args = { "pack", "-z", "8K", "-t", "4", "--seal", "--identity", "-o", "s.blp",
			    "a" },
		  .target = "s.blp" },
		{ .args = { "pack", "-z", "8K", "-t", "4", "--seal", "--identity", "-o",
			    "s.b2frame", "a" },
		  .target = "s.b2frame" },
		{ .args = { "parity", "s.blp" }, .target = "s.blp.bpp" },
	};
	enum { NMADE = 1 + sizeof makers / sizeof makers[0] };

	snprintf(careless_program, sizeof careless_program, "%s/careless", tools);
	if (!enter_folder())
		return false;
	make_raw();
	make_source(&sources[0]);
	for (size_t i = 1; i < NMADE; i++)
		if (!run_source(&makers[i - 1], &sources[i]))
			return false;
	make_damaged(&sources[NMADE], &sources[NMADE - 3]);
	make_damaged(&sources[NMADE + 1], &sources[NMADE - 2]);
	return true;
}

void case_end(void)
{
	static const struct row any = { .target = "a" };

	each_stranger(&any, remove_stranger, NULL);
	for (size_t i = 0; i < NSOURCES; i++)
		unlink(sources[i].name);
	if (chdir("..") != 0)
		return;
	rmdir("folder");
	unlink("said");
	unlink("calls");
	unlink("asked");
	if (chdir("..") == 0)
		rmdir(scratch);
}
