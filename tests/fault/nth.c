/*
 * Run a command and inject a fault at the Nth system call of a class, counted over all its threads.
 * Then end as the command does: with its status, or by the signal that killed it. run.c and the
 * tests of commands call it.
 *
 *     nth [-r | -R] [-n N [-a ACTION] [-s]] [-o REPORT] COMMAND [ARG]...
 *
 *     -r   the class of reads: read, pread, and open of relative paths; of files below the current
 *          folder and of standard input. Otherwise the class of writes: every call that changes
 *          files or makes them durable, except on standard error.
 *     -R   the class of all calls that read: also open, stat, lseek, readlink and listing folders,
 *          of paths and files below the current folder and of standard input; not calls that
 *          create files
 *     -n   act at the Nth call; without it only count
 *     -a   the action:
 *          kill, after    SIGKILL before the call, or after it (kill is the default)
 *          half, short    let the call transfer half its bytes, then SIGKILL or continue; with
 *                         NTH_SECTORS set a write at an offset that stays within 512 bytes is
 *                         atomic before SIGKILL, as it is for disks and the kernel
 *          fail:ERROR     the call is not made and fails so; EPIPE and EFBIG with their signals
 *          run            let the shell run NTH_RUN while the thread waits before its call;
 *                         its output goes to standard error
 *          signal:NAME    send the signal; INT, TERM and HUP may go to another thread, which
 *                         gets 200 ms for it, or until all others sleep, at this call and at the
 *                         nine calls after it
 *     -s   for ever: fail every call from the Nth on, except calls that remove names, without
 *          which no program could clean up
 *     -o   write the counted calls, one a line: the name, and " *" for a call with the fault
 *
 * Status 125: this machine does not let one process trace another, or the arguments are wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CANNOT_TRACE = 125, /* exit status */
	HOLD_MS = 200,      /* how long a thread is held for a signal to another, at most */
	QUIET_MS = 3,       /* how long all others must sleep, so that it need not be held */
	MOST_HELD = 10,     /* calls that are held after one signal */
};

#if defined __x86_64__ && defined __LP64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifndef MACHINE
int main(void)
{
	fprintf(stderr, "nth: knows only the registers of x86_64 and aarch64\n");
	return CANNOT_TRACE;
}
#else

/* ---- The calls ---- */

enum kind {
	CHANGES, /* a name or a file, given by path */
	REMOVES, /* a name */
	WRITES,  /* to the descriptor in argument fd */
	READS,   /* from the descriptor in argument fd */
	OPENS,   /* with the flags in argument size, the path in argument fd */
	LOOKS,   /* examines the descriptor in argument fd */
	FINDS,   /* examines a path, in argument fd, from the folder in the argument before it */
	NAMES,   /* examines a path, in argument fd */
};

struct call {
	int number;
	const char *name;
	enum kind kind;
	int fd;   /* the number of the argument, see kind */
	int size; /* the number of the argument with the size in bytes, or 0 */
};

#define CALL(name, kind, fd, size)                                                                 \
	{                                                                                          \
		SYS_##name, #name, kind, fd, size                                                  \
	}

static const struct call calls[] = {
	CALL(write, WRITES, 0, 2),
	CALL(pwrite64, WRITES, 0, 2),
	CALL(writev, WRITES, 0, 0),
	CALL(pwritev, WRITES, 0, 0),
	CALL(pwritev2, WRITES, 0, 0),
	CALL(sendfile, WRITES, 0, 3),
	CALL(copy_file_range, WRITES, 2, 4),
	CALL(splice, WRITES, 2, 4),
	CALL(ftruncate, WRITES, 0, 0),
	CALL(fallocate, WRITES, 0, 0),
	CALL(fsync, WRITES, 0, 0),
	CALL(fdatasync, WRITES, 0, 0),
	CALL(sync_file_range, WRITES, 0, 0),
	CALL(fchmod, WRITES, 0, 0),
	CALL(fchown, WRITES, 0, 0),
	CALL(fsetxattr, WRITES, 0, 0),
	CALL(fremovexattr, WRITES, 0, 0),
	CALL(truncate, CHANGES, 0, 0),
	CALL(msync, CHANGES, 0, 0),
	CALL(renameat, CHANGES, 0, 0),
	CALL(renameat2, CHANGES, 0, 0),
	CALL(linkat, CHANGES, 0, 0),
	CALL(symlinkat, CHANGES, 0, 0),
	CALL(mkdirat, CHANGES, 0, 0),
	CALL(fchmodat, CHANGES, 0, 0),
	CALL(fchownat, CHANGES, 0, 0),
	CALL(utimensat, CHANGES, 0, 0),
	CALL(setxattr, CHANGES, 0, 0),
	CALL(removexattr, CHANGES, 0, 0),
	CALL(unlinkat, REMOVES, 0, 0),
	CALL(openat, OPENS, 1, 2),
	CALL(read, READS, 0, 2),
	CALL(pread64, READS, 0, 2),
	CALL(readv, READS, 0, 0),
	CALL(preadv, READS, 0, 0),
	CALL(preadv2, READS, 0, 0),
	CALL(openat2, FINDS, 1, 0),
	CALL(newfstatat, FINDS, 1, 0),
	CALL(statx, FINDS, 1, 0),
	CALL(readlinkat, FINDS, 1, 0),
	CALL(faccessat, FINDS, 1, 0),
	CALL(fstat, LOOKS, 0, 0),
	CALL(lseek, LOOKS, 0, 0),
	CALL(getdents64, LOOKS, 0, 0),
#ifdef __x86_64__
	CALL(chmod, CHANGES, 0, 0),
	CALL(rename, CHANGES, 0, 0),
	CALL(link, CHANGES, 0, 0),
	CALL(symlink, CHANGES, 0, 0),
	CALL(mkdir, CHANGES, 0, 0),
	CALL(creat, CHANGES, 0, 0),
	CALL(unlink, REMOVES, 0, 0),
	CALL(rmdir, REMOVES, 0, 0),
	CALL(open, OPENS, 0, 1),
	CALL(stat, NAMES, 0, 0),
	CALL(lstat, NAMES, 0, 0),
	CALL(readlink, NAMES, 0, 0),
	CALL(access, NAMES, 0, 0),
#endif
};
enum { NCALLS = sizeof calls / sizeof calls[0] };

static const struct call *call_find(uint64_t number)
{
	for (size_t i = 0; i < NCALLS; i++)
		if ((uint64_t)calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* ---- The fault ---- */

enum action { KILL, AFTER, HALF, SHORT, RUN, FAIL, SIGNAL };

struct name {
	const char *text; /* NULL: the end */
	int number;
};

static const struct name actions[] = {
	{ "kill", KILL },   { "after", AFTER }, { "half", HALF },
	{ "short", SHORT }, { "run", RUN },     { NULL, 0 },
};

static const struct name errors[] = {
	{ "EACCES", EACCES }, { "EAGAIN", EAGAIN }, { "EDQUOT", EDQUOT }, { "EFBIG", EFBIG },
	{ "EINTR", EINTR },   { "EINVAL", EINVAL }, { "EIO", EIO },       { "EMFILE", EMFILE },
	{ "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC }, { "EPIPE", EPIPE },   { "EROFS", EROFS },
	{ "EXDEV", EXDEV },   { NULL, 0 },
};

static const struct name signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },   { "PIPE", SIGPIPE },
	{ "TERM", SIGTERM }, { "XFSZ", SIGXFSZ }, { NULL, 0 },
};

/* One run; one thread reads and writes it. */
static struct run {
	bool reads, looks, for_ever; /* reads: count only reads; looks: of all kinds */
	long at;                     /* the call to act at; 0: never */
	enum action action;
	int number; /* of the error or the signal */
	FILE *report;
	char folder[PATH_MAX];

	pid_t process;
	long count;
	pid_t finishing;   /* the thread whose call ends before SIGKILL, or 0 */
	int holds;         /* after a signal that others may take: calls that still wait for it */
	pid_t held;        /* the thread that waits for a signal to be handled, or 0 */
	int waited, quiet; /* the milliseconds of that, and for how many all others slept */
} run;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "nth: %s: %s\n", what, strerror(errno));
	exit(CANNOT_TRACE);
}

static _Noreturn void usage(void)
{
	fprintf(stderr,
		"usage: nth [-r | -R] [-n N [-a ACTION] [-s]] [-o REPORT] COMMAND [ARG]...\n");
	exit(CANNOT_TRACE);
}

static int number_of(const struct name *names, const char *text)
{
	for (; names->text != NULL; names++)
		if (strcmp(names->text, text) == 0)
			return names->number;
	usage();
	return -1;
}

static void take_action(const char *text)
{
	if (strncmp(text, "fail:", 5) == 0) {
		run.action = FAIL;
		run.number = number_of(errors, text + 5);
	} else if (strncmp(text, "signal:", 7) == 0) {
		run.action = SIGNAL;
		run.number = number_of(signals, text + 7);
	} else {
		run.action = (enum action)number_of(actions, text);
	}
}

static void take_arguments(int argc, char **argv)
{
	int letter;

	while ((letter = getopt(argc, argv, "+rRn:a:so:")) != -1) {
		switch (letter) {
		case 'r':
			run.reads = true;
			break;
		case 'R':
			run.reads = run.looks = true;
			break;
		case 'n':
			run.at = atol(optarg);
			break;
		case 'a':
			take_action(optarg);
			break;
		case 's':
			run.for_ever = true;
			break;
		case 'o':
			run.report = fopen(optarg, "we");
			if (run.report == NULL)
				die(optarg);
			break;
		default:
			usage();
		}
	}
	if (optind >= argc)
		usage();
	if (getcwd(run.folder, sizeof run.folder) == NULL)
		die("getcwd");
}

/* ---- The traced process ---- */

/* Stop at every call of the table; all others run at full speed. */
static int install_filter(void)
{
	struct sock_filter filter[NCALLS + 6];
	struct sock_fprog program = { .filter = filter };
	unsigned short n = 0;

#define PUT(...) (filter[n++] = (struct sock_filter)__VA_ARGS__)
	PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
	PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 0, NCALLS + 1));
	PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	for (int i = 0; i < NCALLS; i++)
		PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number,
			     (unsigned char)(NCALLS - i), 0));
	PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
#undef PUT
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Wait until the tracer is ready, then run the command. */
static void become(char **command, int go)
{
	char byte;

	if (read(go, &byte, 1) != 1 || install_filter() != 0)
		_exit(CANNOT_TRACE);
	execvp(command[0], command);
	fprintf(stderr, "nth: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

static void start(char **command)
{
	const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			     PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL |
			     PTRACE_O_TRACESYSGOOD;
	int go[2];

	if (pipe2(go, O_CLOEXEC) != 0)
		die("pipe");
	run.process = fork();
	if (run.process < 0)
		die("fork");
	if (run.process == 0) {
		close(go[1]);
		become(command, go[0]);
	}
	close(go[0]);
	if (ptrace(PTRACE_SEIZE, run.process, 0, options) != 0) {
		int errnum = errno;

		kill(run.process, SIGKILL);
		errno = errnum;
		die("ptrace");
	}
	if (write(go[1], "", 1) != 1)
		die("pipe");
	close(go[1]);
}

/* ---- Registers ---- */

static bool get_registers(pid_t thread, struct user_regs_struct *registers)
{
	struct iovec io = { registers, sizeof *registers };

	return ptrace(PTRACE_GETREGSET, thread, (void *)1 /* NT_PRSTATUS */, &io) == 0;
}

static void set_registers(pid_t thread, struct user_regs_struct *registers)
{
	struct iovec io = { registers, sizeof *registers };

	ptrace(PTRACE_SETREGSET, thread, (void *)1, &io);
}

#ifdef __x86_64__
static unsigned long long *argument(struct user_regs_struct *registers, int n)
{
	unsigned long long *const places[] = {
		(unsigned long long *)&registers->rdi, (unsigned long long *)&registers->rsi,
		(unsigned long long *)&registers->rdx, (unsigned long long *)&registers->r10,
		(unsigned long long *)&registers->r8,  (unsigned long long *)&registers->r9,
	};

	return places[n];
}

static void set_result(pid_t thread, struct user_regs_struct *registers, long result)
{
	registers->orig_rax = (unsigned long)-1; /* no call is made */
	registers->rax = (unsigned long)result;
	set_registers(thread, registers);
}
#else
static unsigned long long *argument(struct user_regs_struct *registers, int n)
{
	return &registers->regs[n];
}

static void set_result(pid_t thread, struct user_regs_struct *registers, long result)
{
	int none = -1;
	struct iovec io = { &none, sizeof none };

	ptrace(PTRACE_SETREGSET, thread, (void *)0x404 /* NT_ARM_SYSTEM_CALL */, &io);
	registers->regs[0] = (unsigned long)result;
	set_registers(thread, registers);
}
#endif

/* ---- Counting ---- */

static bool lies_in_folder(const char *path)
{
	size_t length = strlen(run.folder);

	return strncmp(path, run.folder, length) == 0 && (path[length] == '/' || !path[length]);
}

static bool is_below_folder(pid_t thread, int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t got;

	snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)thread, fd);
	got = readlink(link, path, sizeof path - 1);
	if (got < 0)
		return false;
	path[got] = '\0';
	return lies_in_folder(path);
}

/* Read a path from the traced process, up to PATH_MAX - 1 bytes. */
static void get_path(pid_t thread, unsigned long long at, char path[PATH_MAX])
{
	size_t size = 0;

	for (; size < PATH_MAX - 1; size++) {
		struct iovec to = { path + size, 1 };
		struct iovec from = { (void *)(uintptr_t)(at + size), 1 };

		if (process_vm_readv(thread, &to, 1, &from, 1, 0) != 1 || path[size] == '\0')
			break;
	}
	path[size] = '\0';
}

static bool is_relative(pid_t thread, unsigned long long at)
{
	char path[PATH_MAX];

	get_path(thread, at, path);
	return path[0] != '/' && path[0] != '\0';
}

/* True if a path relative to the folder fd lies below the current folder; an empty path stands for
 * fd itself. */
static bool leads_below_folder(pid_t thread, int fd, unsigned long long at)
{
	char path[PATH_MAX];

	get_path(thread, at, path);
	if (path[0] == '/')
		return lies_in_folder(path);
	return fd == AT_FDCWD || is_below_folder(thread, fd);
}

static bool makes_a_file(int flags)
{
	return (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

static bool counts(const struct call *call, pid_t thread, const unsigned long long *args)
{
	int fd = (int)args[call->fd];

	switch (call->kind) {
	case WRITES:
		return !run.reads && fd != STDERR_FILENO;
	case LOOKS:
		if (!run.looks)
			return false;
		/* fall through */
	case READS:
		return run.reads && (fd == STDIN_FILENO || is_below_folder(thread, fd));
	case OPENS:
		if (makes_a_file((int)args[call->size]))
			return !run.reads;
		return run.looks
			       ? leads_below_folder(thread, call->fd == 0 ? AT_FDCWD : (int)args[0],
						    args[call->fd])
			       : run.reads && is_relative(thread, args[call->fd]);
	case FINDS:
		return run.looks && leads_below_folder(thread, (int)args[0], args[1]);
	case NAMES:
		return run.looks && leads_below_folder(thread, AT_FDCWD, args[0]);
	default:
		return !run.reads;
	}
}

/* ---- Acting ---- */

static void go_on(pid_t thread, int sig)
{
	ptrace(PTRACE_CONT, thread, 0, (long)sig);
}

static void halve(pid_t thread, const struct call *call)
{
	struct user_regs_struct registers;
	unsigned long long *size;

	if (call->kind == OPENS || call->size == 0 || !get_registers(thread, &registers))
		return;
	size = argument(&registers, call->size);
	if (*size > 1) {
		*size /= 2;
		set_registers(thread, &registers);
	}
}

/* True for a write that disks and the kernel make atomically. */
static bool is_in_one_piece(pid_t thread, const struct call *call)
{
	struct user_regs_struct registers;
	unsigned long long size, offset;

	if (getenv("NTH_SECTORS") == NULL || strcmp(call->name, "pwrite64") != 0 ||
	    !get_registers(thread, &registers))
		return false;
	size = *argument(&registers, call->size);
	offset = *argument(&registers, call->size + 1);
	return size <= 512 && offset % 512 <= 512 - size;
}

/* The kernel sends these signals together with the error. */
static void fail(pid_t thread)
{
	struct user_regs_struct registers;

	if (get_registers(thread, &registers))
		set_result(thread, &registers, -(long)run.number);
	if (run.number == EPIPE)
		syscall(SYS_tgkill, run.process, thread, SIGPIPE);
	if (run.number == EFBIG)
		syscall(SYS_tgkill, run.process, thread, SIGXFSZ);
	go_on(thread, 0);
}

static void hold(pid_t thread)
{
	if (run.held != 0) { /* one at a time */
		go_on(thread, 0);
		return;
	}
	run.held = thread;
	run.holds--;
	run.waited = run.quiet = 0;
}

/* True if no other thread runs: the signal is handled, or its thread waits for the held one. */
static bool all_others_sleep(void)
{
	char path[64], line[256];
	bool sleep = true;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)run.process);
	tasks = opendir(path);
	if (tasks == NULL)
		return true;
	for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
		pid_t thread = atoi(task->d_name); /* 0: a folder */
		FILE *stat;

		snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", (int)run.process,
			 task->d_name);
		stat = thread == 0 || thread == run.held ? NULL : fopen(path, "re");
		if (stat == NULL)
			continue;
		if (fgets(line, sizeof line, stat) != NULL && strrchr(line, ')') != NULL)
			sleep &= strncmp(strrchr(line, ')'), ") S", 3) == 0;
		fclose(stat);
	}
	closedir(tasks);
	return sleep;
}

/* Nothing happened while a thread is held. */
static void wait_more(void)
{
	usleep(1000);
	run.waited++;
	run.quiet = all_others_sleep() ? run.quiet + 1 : 0;
	if (run.waited < HOLD_MS && run.quiet < QUIET_MS)
		return;
	go_on(run.held, 0);
	run.held = 0;
}

static void send(pid_t thread)
{
	if (run.number == SIGPIPE || run.number == SIGXFSZ) {
		syscall(SYS_tgkill, run.process, thread, run.number);
		go_on(thread, 0);
		return;
	}
	run.holds = MOST_HELD;
	hold(thread);
	kill(run.process, run.number);
}

static void run_other(void)
{
	const char *other = getenv("NTH_RUN");
	char line[PATH_MAX];

	if (other == NULL)
		usage();
	snprintf(line, sizeof line, "{ %s\n} >&2", other);
	if (system(line) < 0)
		die("the shell");
}

static void act(pid_t thread, const struct call *call)
{
	switch (run.action) {
	case KILL:
		kill(run.process, SIGKILL);
		break;
	case HALF:
		if (!is_in_one_piece(thread, call))
			halve(thread, call);
		/* fall through */
	case AFTER:
		run.finishing = thread;
		ptrace(PTRACE_SYSCALL, thread, 0, 0L);
		break;
	case SHORT:
		halve(thread, call);
		go_on(thread, 0);
		break;
	case RUN:
		run_other();
		go_on(thread, 0);
		break;
	case FAIL:
		fail(thread);
		break;
	case SIGNAL:
		send(thread);
		break;
	}
}

static bool is_due(const struct call *call)
{
	if (run.at <= 0 || run.count < run.at)
		return false;
	return run.count == run.at || (run.for_ever && call->kind != REMOVES);
}

static void at_call(pid_t thread)
{
	struct __ptrace_syscall_info info;
	const struct call *call = NULL;
	unsigned long long args[6];
	bool due;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof info, &info) > 0 &&
	    info.op == PTRACE_SYSCALL_INFO_SECCOMP)
		call = call_find(info.seccomp.nr);
	for (int i = 0; call != NULL && i < 6; i++)
		args[i] = info.seccomp.args[i];
	if (call == NULL || !counts(call, thread, args)) {
		go_on(thread, 0);
		return;
	}
	run.count++;
	due = is_due(call);
	if (run.report != NULL)
		fprintf(run.report, "%s%s\n", call->name, due ? " *" : "");
	if (due)
		act(thread, call);
	else if (run.holds > 0)
		hold(thread);
	else
		go_on(thread, 0);
}

static void at_stop(pid_t thread, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_SECCOMP)
		at_call(thread);
	else if (event != 0)
		go_on(thread, 0);
	else if (sig == (SIGTRAP | 0x80) && thread == run.finishing)
		kill(run.process, SIGKILL);
	else
		go_on(thread, sig == (SIGTRAP | 0x80) ? 0 : sig);
}

/* Trace until all threads are gone. Returns the process's wait status. */
static int attend(void)
{
	int status, end = 0;
	pid_t thread;

	for (;;) {
		thread = waitpid(-1, &status, __WALL | (run.held != 0 ? WNOHANG : 0));
		if (thread == 0) {
			wait_more();
		} else if (thread < 0) {
			return end;
		} else if (WIFSTOPPED(status)) {
			at_stop(thread, status);
		} else if (thread == run.process) {
			end = status;
		}
	}
}

static int end_like(int status)
{
	const struct rlimit no_core = { 0, 0 };

	if (run.report != NULL && fclose(run.report) != 0)
		die("the report");
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	take_arguments(argc, argv);
	start(argv + optind);
	return end_like(attend());
}
#endif
