/*
 * Signals: a thread of its own waits for them, so that drafts are dropped by ordinary code, whoever
 * is blocked in a read or a write at that moment.
 */
#ifndef BPK_CLI_SIGNAL_H
#define BPK_CLI_SIGNAL_H

/*
 * Begin, before the first draft and the first thread; later calls do nothing. INT, TERM and HUP are
 * blocked in this and all later threads and taken by a waiting one, which drops all drafts, undoes
 * all changes that are not committed, and dies of the signal. PIPE is ignored, so that it arrives
 * as EPIPE. Signals that the parent ignored stay ignored. When no thread can be had, the signals
 * keep their default action.
 */
void bpk_signals_start(void);

/*
 * Ask, before bpk_signals_start, to be told of INT, TERM and USR1 instead: the waiting thread calls
 * tell for each of them, and nothing else happens.
 */
void bpk_signals_tell(void (*tell)(int sig));

/* Called before a failure is reported: when a signal was taken that ends the process, the failure
 * may be its doing, and the end is waited for instead. */
void bpk_signals_await_end(void);

/* Drop drafts and undo changes that are not committed, as before dying. */
void bpk_signals_drop_all(void);

/* The same, and die of SIGPIPE, as a program in a pipeline does. Returns when that signal is not
 * ours to raise: the parent had it ignored. */
void bpk_signals_die_of_pipe(void);

#endif
