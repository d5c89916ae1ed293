/*
 * Power cuts in commands that change archives: every row of row.h x every call x the states that a
 * power cut at that moment may leave on the disk.
 *
 *     powercuts [WORD]...   only the rows whose name contains one of the words; prints TAP
 *
 *     BPK_FAULT_THIN    one state in so many; 1: every state of every row
 *     BPK_FAULT_SEED    a number: which states those are
 *     abs_top_builddir  the build folder, with tests/fault/powerlog.so
 *
 * The model, in which file systems are as bad as POSIX lets them be:
 * - of the bytes that were written to a file since its last sync any 512-byte sectors may be lost,
 *   and then hold their old bytes, or zeros; its new length may be lost, too;
 * - changes of names happen in order, and the last ones may be lost, those since the last sync of
 *   their folder; a sync of a file makes no name durable.
 *
 * At each call come for each number of lost names: nothing lost, every write lost, each lost alone,
 * each kept alone, all behind each lost, and some random choices of sectors. In each state the
 * content must be the old or the new one, and the same command, run again, must change it as it
 * changes that content.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/folder.h"
#include "fault/powerlog.h"
#include "fault/row.h"

enum {
	ROWS = 13,  /* without BPK_FAULT_THIN one row in that many runs, */
	THIN = 31,  /* and one of its states in that many */
	SHOWN = 6,  /* failures explained for each row */
	RANDOM = 6, /* random choices of sectors at each call, for each number of lost names */
	SECTOR = 512,
	FILES_MOST = 512,
	WRITES_MOST = 1024,
	NAMES_MOST = 1 << 16,
	NAMINGS_MOST = 64,
	SEEN_MOST = 1 << 20,
};

/* ---- The disk ---- */

struct bytes {
	size_t size;
	char *at;
};

/* A file: its content after the last sync, and now. */
struct file {
	uint64_t inode;
	int64_t time;
	struct bytes durable, now;
};

/* A change of a file by one call, since its last sync. */
struct written {
	size_t file;
	struct bytes before, after;
};

/* A state of all names, after a change of one folder's names. */
struct naming {
	char folder[256];
	char *names;
};

static struct file files[FILES_MOST];
static struct written writes[WRITES_MOST];
static struct naming namings[NAMINGS_MOST]; /* since the last sync, the first one durable */
static size_t nfiles, nwrites, nnamings;

static char *copy_of(const char *bytes, size_t size)
{
	char *copy = malloc(size + 1);

	if (copy == NULL)
		run_die("no memory");
	memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

static void set_bytes(struct bytes *bytes, const char *at, size_t size)
{
	char *copy = copy_of(at, size);

	free(bytes->at);
	*bytes = (struct bytes){ size, copy };
}

static size_t find_file(uint64_t inode)
{
	for (size_t i = 0; i < nfiles; i++)
		if (files[i].inode == inode)
			return i;
	return nfiles;
}

static void forget_disk(void)
{
	while (nwrites > 0) {
		nwrites--;
		free(writes[nwrites].before.at);
		free(writes[nwrites].after.at);
		writes[nwrites] = (struct written){ 0 };
	}
	while (nnamings > 0)
		free(namings[--nnamings].names);
	while (nfiles > 0) {
		nfiles--;
		free(files[nfiles].durable.at);
		free(files[nfiles].now.at);
		files[nfiles] = (struct file){ 0 };
	}
}

static void note_file(const struct powerlog_record *record, const char *bytes, bool is_base)
{
	size_t n = find_file(record->inode);
	struct file *file = &files[n];

	if (n == nfiles) {
		if (nfiles++ == FILES_MOST)
			run_die("too many files");
		file->inode = record->inode;
		set_bytes(&file->durable, "", 0);
		set_bytes(&file->now, "", 0);
	}
	file->time = record->time;
	if (!is_base) {
		struct written *write = &writes[nwrites];

		if (nwrites++ == WRITES_MOST)
			run_die("too many writes");
		write->file = n;
		set_bytes(&write->before, file->now.at, file->now.size);
		set_bytes(&write->after, bytes, record->size);
	}
	set_bytes(&file->now, bytes, record->size);
	if (is_base)
		set_bytes(&file->durable, bytes, record->size);
}

static void note_sync(uint64_t inode)
{
	size_t n = find_file(inode), left = 0;

	if (n == nfiles)
		return;
	set_bytes(&files[n].durable, files[n].now.at, files[n].now.size);
	for (size_t i = 0; i < nwrites; i++) {
		if (writes[i].file == n) {
			free(writes[i].before.at);
			free(writes[i].after.at);
		} else {
			writes[left++] = writes[i];
		}
	}
	memset(writes + left, 0, (nwrites - left) * sizeof writes[0]);
	nwrites = left;
}

/* The folder of the first name that differs. */
static void find_folder(const char *a, const char *b, char folder[256])
{
	size_t line = 0;
	const char *path, *slash = NULL;

	for (size_t i = 0; a[i] == b[i] && a[i] != '\0'; i++)
		if (a[i] == '\n')
			line = i + 1;
	path = strchr((a[line] == '\0' || strlen(a) < strlen(b) ? b : a) + line, ' ');
	for (const char *c = path; c != NULL && *c != '\0' && *c != '\n'; c++)
		if (*c == '/')
			slash = c;
	snprintf(folder, 256, "%.*s", slash == NULL ? 0 : (int)(slash - path - 1),
		 path == NULL ? "" : path + 1);
}

static void note_names(const char *names, size_t size)
{
	struct naming *naming = &namings[nnamings];

	if (nnamings == NAMINGS_MOST)
		run_die("too many changes of names");
	naming->names = copy_of(names, size);
	naming->folder[0] = '\0';
	if (nnamings > 0)
		find_folder(namings[nnamings - 1].names, naming->names, naming->folder);
	nnamings++;
}

/* Names change in order, so a change of the folder makes those before it durable, too. */
static void note_folder(const char *folder)
{
	size_t last = 0;

	for (size_t i = 1; i < nnamings; i++)
		if (strcmp(namings[i].folder, folder) == 0)
			last = i;
	for (size_t i = 0; i < last; i++)
		free(namings[i].names);
	memmove(namings, namings + last, (nnamings - last) * sizeof namings[0]);
	nnamings -= last;
}

/* ---- States ---- */

/* Which writes are kept. */
struct choice {
	enum { ALL, NONE, BUT, ONLY, UP_TO, SECTORS } which;
	size_t at;
	unsigned likely; /* of SECTORS: percent */
};

static uint64_t random_state;

static unsigned random_percent(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % 100;
}

static bool is_kept(const struct choice *choice, size_t write)
{
	switch (choice->which) {
	case ALL:
	case SECTORS:
		return true;
	case NONE:
		return false;
	case BUT:
		return write != choice->at;
	case ONLY:
		return write == choice->at;
	case UP_TO:
		return write <= choice->at;
	}
	return false;
}

static char byte_of(const struct bytes *bytes, size_t at)
{
	return at < bytes->size ? bytes->at[at] : '\0';
}

/* Bring the sectors that the write changed, and its length, into the content. */
static void bring(const struct written *write, const struct choice *choice, struct bytes *content,
		  size_t *size)
{
	bool by_sector = choice->which == SECTORS;

	for (size_t at = 0; at < write->after.size; at += SECTOR) {
		bool is_lost = by_sector && random_percent() >= choice->likely;

		for (size_t i = at; i < at + SECTOR && i < write->after.size && !is_lost; i++)
			if (i >= write->before.size ||
			    byte_of(&write->before, i) != write->after.at[i])
				content->at[i] = write->after.at[i];
	}
	if (write->after.size != write->before.size &&
	    !(by_sector && random_percent() >= choice->likely))
		*size = write->after.size;
	if (*size < content->size)
		memset(content->at + *size, 0, content->size - *size);
}

/* The content that a file has after the power cut; the caller frees it. */
static struct bytes content_after(size_t n, const struct choice *choice)
{
	size_t room = files[n].durable.size, size = room;
	struct bytes content;

	for (size_t i = 0; i < nwrites; i++)
		if (writes[i].file == n && writes[i].after.size > room)
			room = writes[i].after.size;
	content = (struct bytes){ room, calloc(1, room + 1) };
	if (content.at == NULL)
		run_die("no memory");
	memcpy(content.at, files[n].durable.at, files[n].durable.size);
	for (size_t i = 0; i < nwrites; i++)
		if (writes[i].file == n && is_kept(choice, i))
			bring(&writes[i], choice, &content, &size);
	content.size = size;
	return content;
}

/* ---- Making a state ---- */

static char attic[PATH_MAX], folder[PATH_MAX], log_path[PATH_MAX], library[PATH_MAX];

static void write_file(size_t n, const struct bytes *content)
{
	char path[PATH_MAX + 32];
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ files[n].time / 1000000000, files[n].time % 1000000000 },
	};
	int fd;

	snprintf(path, sizeof path, "%s/%" PRIu64, attic, files[n].inode);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, content->at, content->size) != (ssize_t)content->size ||
	    futimens(fd, times) != 0 || close(fd) != 0)
		run_die(path);
}

/* The names of a line; false at the end. */
static bool next_name(const char **names, uint64_t *inode, char path[256])
{
	int size = 0;

	if (sscanf(*names, "%" SCNu64 " %255[^\n]\n%n", inode, path, &size) != 2)
		return false;
	*names += size;
	return true;
}

static void make_names(const char *names)
{
	char path[256], from[PATH_MAX + 32];
	uint64_t inode;

	while (next_name(&names, &inode, path)) {
		snprintf(from, sizeof from, "%s/%" PRIu64, attic, inode);
		if (inode == 0 ? mkdir(path, 0777) != 0 && errno != EEXIST : link(from, path) != 0)
			run_die(path);
	}
}

/* Folders keep their inodes, for those that a list of changes names. */
static void remove_files(void)
{
	if (row_shell("find . ! -type d -delete") != 0)
		run_die("removing files");
}

/* Folders that the state does not have go, once they are empty. */
static void remove_folders(const char *names)
{
	char line[300], path[256];
	FILE *pipe;

	pipe = popen("find . -depth -mindepth 1 -type d", "r");
	while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL) {
		const char *rest = names;
		bool is_there = false;
		uint64_t inode;

		line[strcspn(line, "\n")] = '\0';
		while (next_name(&rest, &inode, path))
			is_there |= inode == 0 && strcmp(path, line + 2) == 0;
		if (!is_there && rmdir(line) != 0)
			run_die(line);
	}
	if (pipe != NULL)
		pclose(pipe);
}

/* ---- States that were examined ---- */

static uint64_t seen[SEEN_MOST];
static size_t nseen;

static uint64_t hash(uint64_t sum, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ (unsigned char)bytes[i]) * 1099511628211u;
	return (sum ^ size) * 1099511628211u;
}

/* True if the state has been noted; otherwise it is now. A row has few enough of them. */
static bool is_seen(uint64_t sum)
{
	for (size_t i = 0; i < SEEN_MOST; i++) {
		uint64_t *place = &seen[(sum + i) % SEEN_MOST];

		if (*place == sum)
			return true;
		if (*place != 0)
			continue;
		*place = sum;
		if (++nseen > SEEN_MOST / 2)
			run_die("too many states");
		return false;
	}
	return false;
}

/* ---- Judging ---- */

static struct row_tally tally;
static size_t turn;
static bool full;

static const char *judge(const struct row *row)
{
	static struct state now;
	int status = row_verify(row), state;

	if (status != 0 && status != 3)
		return "verify finds fault";
	row_look(row, &now);
	state = row_find_state(row, &now);
	return state < 0 ? "the content is neither the old nor the new"
			 : row_judge_next(row, state);
}

static void make_state(const char *names, const struct bytes contents[])
{
	remove_files();
	remove_folders(names);
	for (size_t i = 0; i < nfiles; i++)
		write_file(i, &contents[i]);
	make_names(names);
}

static void try_state(const struct row *row, size_t lost, const struct choice *choice, size_t call)
{
	static const char *const ways[] = { "all writes",     "no writes",    "all writes but",
					    "of writes only", "writes up to", "sectors" };
	static struct bytes contents[FILES_MOST];
	const char *names = namings[nnamings - 1 - lost].names, *wrong = NULL;
	uint64_t sum = hash(14695981039346656037u, names, strlen(names));

	for (size_t i = 0; i < nfiles; i++) {
		contents[i] = content_after(i, choice);
		sum = hash(sum, contents[i].at, contents[i].size);
	}
	if (!is_seen(sum) && run_tries(turn++, THIN)) {
		make_state(names, contents);
		wrong = judge(row);
		tally.points++;
		tally.right += wrong == NULL;
		if (wrong != NULL && tally.points - tally.right <= SHOWN)
			printf("# %s: after call %zu, %zu names lost, %s %zu: %s\n", row->name,
			       call, lost, ways[choice->which], choice->at, wrong);
	}
	for (size_t i = 0; i < nfiles; i++)
		free(contents[i].at);
}

static void try_call(const struct row *row, size_t call)
{
	for (size_t lost = 0; lost < nnamings; lost++) {
		try_state(row, lost, &(struct choice){ .which = ALL }, call);
		try_state(row, lost, &(struct choice){ .which = NONE }, call);
		for (size_t i = 0; i < nwrites; i++) {
			try_state(row, lost, &(struct choice){ BUT, i, 0 }, call);
			try_state(row, lost, &(struct choice){ ONLY, i, 0 }, call);
			try_state(row, lost, &(struct choice){ UP_TO, i, 0 }, call);
		}
		for (unsigned i = 0; i < RANDOM && nwrites > 0; i++)
			try_state(row, lost, &(struct choice){ SECTORS, i, 10 + 40 * (i % 3) },
				  call);
	}
}

/* ---- One row ---- */

/* Run the row's command under the log. */
static bool record(const struct row *row)
{
	static const struct fault none = { .doer = BY_NOBODY };
	const struct command command = { .argv = row->argv, .in = row->in, .pipe = true };
	struct ran ran;

	row_restore();
	if (row_shell("rm -rf ../attic && mkdir ../attic") != 0)
		run_die("the attic");
	setenv("LD_PRELOAD", library, 1);
	setenv("POWERLOG_FILE", log_path, 1);
	run_command(&command, &none, &ran);
	unsetenv("POWERLOG_FILE");
	if (ran.status != 0)
		printf("# %s: status %d under the log: %s\n", row->name, ran.status, ran.said);
	return ran.status == 0;
}

static void replay(const struct row *row)
{
	FILE *log = fopen(log_path, "rbe");
	struct powerlog_record head;
	size_t call = 0;

	if (log == NULL)
		run_die(log_path);
	while (fread(&head, sizeof head, 1, log) == 1) {
		char *bytes = calloc(1, head.size + 1);

		if (bytes == NULL || fread(bytes, 1, head.size, log) != head.size)
			run_die("the log is cut short");
		if (head.kind == POWERLOG_FILE)
			note_file(&head, bytes, call == 0);
		else if (head.kind == POWERLOG_NAMES)
			note_names(bytes, head.size);
		else if (head.kind == POWERLOG_SYNC)
			note_sync(head.inode);
		else if (head.kind == POWERLOG_FOLDER)
			note_folder(bytes);
		else
			try_call(row, call++);
		free(bytes);
	}
	fclose(log);
	forget_disk();
}

static void cut_row(size_t n, char **wishes, int count)
{
	static struct row row;
	static struct calls calls;
	char said[512];
	const char *wrong;

	if (!row_is_cut(n, &row, full, ROWS, wishes, count))
		return;
	random_state = n;
	memset(seen, 0, sizeof seen);
	nseen = 0;
	unsetenv("LD_PRELOAD");
	wrong = row_learn(&row, &calls, said);
	if (wrong == NULL && record(&row))
		replay(&row);
	row_tell(&tally, &row, "", "states", wrong, said);
}

/* ---- Beginning and ending ---- */

static void set_paths(const char *tools)
{
	char above[PATH_MAX - 16];

	if (chdir("..") != 0 || getcwd(above, sizeof above) == NULL || chdir("work") != 0)
		run_die("the scratch folder");
	snprintf(folder, sizeof folder, "%s/work", above);
	snprintf(attic, sizeof attic, "%s/attic", above);
	snprintf(log_path, sizeof log_path, "%s/log", above);
	snprintf(library, sizeof library, "%s/powerlog.so", tools);
	setenv("POWERLOG_FOLDER", folder, 1);
	setenv("POWERLOG_ATTIC", attic, 1);
}

int main(int argc, char **argv)
{
	const char *build = getenv("abs_top_builddir");
	char tools[PATH_MAX - 16];

	full = run_thin(THIN) == 1;
	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	if (!run_begin(tools))
		return 99;
	if (run_cannot() != NULL) {
		printf("1..0 # SKIP %s\n", run_cannot());
		return 0;
	}
	row_begin(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	set_paths(tools);
	for (size_t i = 0; i < row_count(); i++)
		cut_row(i, argv + 1, argc - 1);
	row_end();
	return row_tell_all(&tally, "states");
}
