/* The thread that waits for signals, and the end of the process by one. Every command that
 * writes starts it. */
#include "cli/signal.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/progress.h"
#include "io/io.h"

static bool pipe_held;        /* we ignore SIGPIPE, and the parent did not */
static void (*told)(int sig); /* fixed before the thread begins */
static atomic_bool dying;     /* a signal was taken that ends the process */

/* Die of sig with its default action, from a thread in which it may be blocked. */
static void die_of(int sig)
{
	sigset_t one;

	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
}

static bool is_ignored(int sig)
{
	struct sigaction action;

	return sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void bpk_signals_drop_all(void)
{
	bpk_draft_drop_all();
	bpk_edit_drop_all();
}

static void *wait_for_signals(void *arg)
{
	int sig;

	while (sigwait(arg, &sig) == 0) {
		if (told != NULL && sig != SIGHUP) {
			told(sig);
			continue;
		}
		if (sig != SIGINT && sig != SIGTERM && sig != SIGHUP) {
			bpk_progress_tell();
			continue;
		}
		dying = true;
		bpk_signals_drop_all();
		bpk_progress_end();
		die_of(sig);
	}
	return NULL;
}

static void start_waiting(void)
{
	static const int awaited[] = {
		SIGINT,  SIGTERM, SIGHUP, SIGUSR1,
#ifdef SIGINFO
		SIGINFO,
#endif
	};
	static sigset_t set; /* lives as long as the thread */
	pthread_t thread;
	sigset_t before;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof awaited / sizeof awaited[0]; i++)
		if (!is_ignored(awaited[i]))
			sigaddset(&set, awaited[i]);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	if (pthread_create(&thread, NULL, wait_for_signals, &set) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void bpk_signals_await_end(void)
{
	while (dying)
		pause();
}

void bpk_signals_tell(void (*tell)(int sig))
{
	told = tell;
}

void bpk_signals_start(void)
{
	static bool started;

	if (started)
		return;
	started = true;
	pipe_held = !is_ignored(SIGPIPE);
	signal(SIGPIPE, SIG_IGN);
	start_waiting();
}

void bpk_signals_die_of_pipe(void)
{
	if (!pipe_held)
		return;
	bpk_signals_drop_all();
	die_of(SIGPIPE);
}
