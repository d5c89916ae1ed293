/*
 * Signals: a thread of its own waits for them, so ordinary code drops drafts even while other
 * threads are blocked in a read or a write. Called by every command that writes.
 */
#ifndef BPK_CLI_SIGNAL_H
#define BPK_CLI_SIGNAL_H

/*
 * Begin, before the first draft and the first thread; later calls do nothing. INT, TERM and HUP are
 * blocked in this and all later threads and taken by a waiting one, which drops all drafts, undoes
 * all uncommitted changes, and dies of the signal. At USR1, and at INFO where the system has it, it
 * prints a line of status; no call of the system is interrupted by that.
 * PIPE is ignored, so it arrives as EPIPE. Signals
 * that the parent ignored stay ignored. If no thread can be started, the signals keep their default
 * action.
 */
void bpk_signals_start(void);

/*
 * Called before bpk_signals_start: the waiting thread calls tell for each INT, TERM and USR1, and
 * does nothing else about them.
 */
void bpk_signals_tell(void (*tell)(int sig));

/* Called before a failure is reported. If a signal that ends the process was taken, the failure may
 * be its doing, and the call waits for the end instead. */
void bpk_signals_await_end(void);

/* Drop drafts and undo changes that are not committed, as before dying. */
void bpk_signals_drop_all(void);

/* The same, and die of SIGPIPE, as a program in a pipeline does. Returns if the parent ignored that
 * signal. */
void bpk_signals_die_of_pipe(void);

#endif
