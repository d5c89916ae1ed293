/* Running one command under a fault, for the sweeps. */
#include "fault/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIME_LIMIT_S = 120, PIPE_MAX = 1 << 16 }; /* for one command; bytes fed through a pipe */

char bpk_program[PATH_MAX];
static char nth[PATH_MAX], shim[PATH_MAX];

_Noreturn void run_die(const char *what)
{
	fprintf(stderr, "fault: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void redirect(int fd, const char *path, int flags)
{
	int opened = open(path, flags, 0666);

	if (opened < 0 || dup2(opened, fd) != fd)
		_exit(126);
	if (opened != fd)
		close(opened);
}

/* Put the file's content into a pipe, which has room for all of it. */
static void feed(const char *path)
{
	static char bytes[PIPE_MAX];
	int ends[2], file = open(path, O_RDONLY);
	ssize_t size = file < 0 ? -1 : read(file, bytes, sizeof bytes);

	if (size < 0 || pipe(ends) != 0 || write(ends[1], bytes, (size_t)size) != size ||
	    dup2(ends[0], STDIN_FILENO) != STDIN_FILENO)
		_exit(126);
	close(file);
	close(ends[0]);
	close(ends[1]);
}

static void set_variable(const char *name, long number)
{
	char text[24];

	snprintf(text, sizeof text, "%ld", number);
	setenv(name, text, 1);
}

static const char **put_nth(const char **next, const struct fault *fault)
{
	static char point[24];

	snprintf(point, sizeof point, "%ld", fault->point);
	*next++ = nth;
	*next++ = "-o";
	*next++ = "../calls";
	*next++ = "-n";
	*next++ = point;
	if (fault->reads)
		*next++ = "-r";
	if (fault->looks)
		*next++ = "-R";
	if (fault->for_ever)
		*next++ = "-s";
	if (fault->action != NULL) {
		*next++ = "-a";
		*next++ = fault->action;
	}
	return next;
}

static void preload(const struct fault *fault)
{
	setenv("LD_PRELOAD", shim, 1);
	setenv("NOMEMORY_REPORT", "../asked", 1);
	set_variable("NOMEMORY_ALLOCATION", fault->allocation);
	set_variable("NOMEMORY_THREAD", fault->thread);
}

/* Runs in the child; never returns. */
static void become(const struct command *command, const struct fault *fault)
{
	const char *argv[40], **next = argv;

	if (command->in != NULL && command->pipe)
		feed(command->in);
	else
		redirect(STDIN_FILENO, command->in != NULL ? command->in : "/dev/null", O_RDONLY);
	redirect(STDOUT_FILENO, command->out != NULL ? command->out : "/dev/null",
		 O_WRONLY | O_CREAT | O_TRUNC);
	redirect(STDERR_FILENO, "../said", O_WRONLY | O_CREAT | O_TRUNC);
	if (fault->doer == BY_NTH)
		next = put_nth(next, fault);
	else if (fault->doer == BY_NOMEMORY)
		preload(fault);
	for (size_t i = 0; command->argv[i] != NULL; i++)
		*next++ = command->argv[i];
	*next = NULL;
	alarm(TIME_LIMIT_S); /* survives exec; a command that hangs ends by signal 14 */
	execv(argv[0], (char **)argv);
	_exit(126);
}

static void read_calls(struct calls *calls)
{
	FILE *file = fopen("../calls", "re");
	char name[32], mark[4];

	*calls = (struct calls){ 0 };
	for (char line[64]; file != NULL && fgets(line, sizeof line, file) != NULL;) {
		int words = sscanf(line, "%19s %1s", name, mark);

		if (calls->count == sizeof calls->names / sizeof calls->names[0]) {
			errno = E2BIG;
			run_die("calls of one command");
		}
		snprintf(calls->names[calls->count++], sizeof calls->names[0], "%.19s", name);
		if (words < 2)
			continue;
		if (calls->first[0] == '\0')
			snprintf(calls->first, sizeof calls->first, "%.19s", name);
		snprintf(calls->last, sizeof calls->last, "%.19s", name);
	}
	if (file != NULL)
		fclose(file);
}

static void read_said(struct ran *ran)
{
	FILE *file = fopen("../said", "re");
	size_t size = 0;
	int c, last = '\n';

	while (file != NULL && (c = getc(file)) != EOF) {
		if (last == '\n' && ran->lines > 0 && size + 3 < sizeof ran->said)
			size += (size_t)sprintf(ran->said + size, " | ");
		if (c != '\n' && size + 1 < sizeof ran->said)
			ran->said[size++] = (char)c;
		ran->lines += c == '\n';
		last = c;
	}
	/* a line without an end counts too */
	ran->lines += last != '\n';
	if (file != NULL)
		fclose(file);
}

static void read_asked(struct ran *ran)
{
	FILE *file = fopen("../asked", "re");

	ran->allocations = ran->threads = 0;
	if (file == NULL)
		return;
	if (fscanf(file, "%ld %ld", &ran->allocations, &ran->threads) != 2)
		ran->allocations = ran->threads = 0;
	fclose(file);
}

/* ---- cases that repeat others ---- */

/* The single errors that were tried. at[i]: no call after point i + 1 would have met it, too. */
static struct lone {
	char action[16];
	bool reads, at[CALLS_MOST];
} lones[16];
static size_t nlones;

static bool goes_on(const struct calls *calls, long point)
{
	static const char *const removing[] = { "unlinkat", "unlink", "rmdir", NULL };

	for (size_t i = (size_t)point; i < calls->count; i++)
		if (!run_is_one_of(calls->names[i], removing))
			return true;
	return false;
}

/* Returns the record of such errors, a new one if there is none. */
static struct lone *lone_of(const struct fault *fault)
{
	size_t i = 0;

	while (i < nlones &&
	       (lones[i].reads != fault->reads || strcmp(lones[i].action, fault->action) != 0))
		i++;
	if (i == sizeof lones / sizeof lones[0])
		run_die("too many errors");
	if (i == nlones) {
		lones[nlones++] = (struct lone){ .reads = fault->reads };
		snprintf(lones[i].action, sizeof lones[i].action, "%s", fault->action);
	}
	return &lones[i];
}

static void note(const struct fault *fault, const struct calls *calls)
{
	if (fault->doer == BY_NTH && fault->point > 0 && !fault->for_ever &&
	    strncmp(fault->action, "fail:", 5) == 0)
		lone_of(fault)->at[fault->point - 1] = !goes_on(calls, fault->point);
}

bool run_repeats(const struct fault *fault, const struct calls *calls)
{
	if (fault->for_ever)
		return lone_of(fault)->at[fault->point - 1];
	return strcmp(fault->action, "after") == 0 && (size_t)fault->point < calls->count;
}

void run_forget(void)
{
	nlones = 0;
}

/* ---- running ---- */

void run_command(const struct command *command, const struct fault *fault, struct ran *ran)
{
	int status;
	pid_t pid;

	unlink("../calls");
	unlink("../asked");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become(command, fault);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		run_die("fork");
	*ran = (struct ran){ 0 };
	ran->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	read_said(ran);
	read_calls(&ran->calls);
	note(fault, &ran->calls);
	read_asked(ran);
}

/* ---- calls ---- */

bool run_is_one_of(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

bool run_moves_bytes(const char *call)
{
	static const char *const names[] = { "write", "pwrite64", "sendfile", "copy_file_range",
					     "read",  "pread64",  NULL };

	return run_is_one_of(call, names);
}

/* ---- Requirements ---- */

static bool is_sanitized(const char *program)
{
	char command[PATH_MAX + 64];

	snprintf(command, sizeof command, "grep -qaE '__(asan|tsan|msan)_init' '%s'", program);
	return system(command) == 0;
}

static bool can_trace(void)
{
	char command[PATH_MAX + 64];
	int status;

	snprintf(command, sizeof command, "'%s' true 2>/dev/null", nth);
	status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void set_environment(void)
{
	static const char *const unwanted[] = { "BPK_LEVEL",        "BPK_CODEC", "BPK_THREADS",
						"BPK_MEMORY_LIMIT", "NO_COLOR",  "LD_PRELOAD",
						"SOURCE_DATE_EPOCH" };

	for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++)
		unsetenv(unwanted[i]);
	setenv("LC_ALL", "C", 1);
	umask(022);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

bool run_is_wanted(const char *name, char **words, int count)
{
	bool wanted = count == 0;

	for (int i = 0; i < count; i++)
		wanted |= strstr(name, words[i]) != NULL;
	return wanted;
}

bool run_begin(const char *tools)
{
	const char *program = getenv("BPK");

	set_environment();
	snprintf(nth, sizeof nth, "%s/nth", tools);
	snprintf(shim, sizeof shim, "%s/nomemory.so", tools);
	if (program != NULL && realpath(program, bpk_program) != NULL)
		return true;
	fprintf(stderr, "fault: BPK names no program\n");
	return false;
}

/* The number that a variable holds, or usual. */
static unsigned long number_of(const char *variable, unsigned long usual)
{
	const char *text = getenv(variable);

	return text != NULL && text[0] != '\0' ? strtoul(text, NULL, 10) : usual;
}

unsigned run_thin(unsigned usual)
{
	bool light = getenv("BPK_TEST_LIGHT") != NULL;
	unsigned thin = (unsigned)number_of("BPK_FAULT_THIN", light ? 2 * usual : usual);

	return thin > 0 ? thin : 1;
}

bool run_turn(size_t number, unsigned every)
{
	return (number + number_of("BPK_FAULT_SEED", 0)) % every == 0;
}

bool run_tries(size_t point, unsigned usual)
{
	return run_turn(point, run_thin(usual));
}

const char *run_cannot(void)
{
	if (is_sanitized(bpk_program))
		return "a sanitizer build";
	if (!can_trace())
		return "processes cannot be traced here (ptrace, seccomp, x86_64 or aarch64)";
	return NULL;
}
