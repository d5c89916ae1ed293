/*
 * One error report: its kind and one finished line, written where the fact is known. A part of the
 * room's door.
 */
#ifndef BPK_BASE_ERR_H
#define BPK_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* The kinds of failure. The command line owns the table from kind to exit status. */
enum bpk_kind {
	BPK_OK = 0,
	BPK_FAILED, /* the operation failed: no such file, no permission, no space, target exists */
	BPK_NO_MEMORY,   /* an allocation failed */
	BPK_LIMIT,       /* a limit set by the user or the format would be exceeded */
	BPK_UNSUPPORTED, /* well formed, but uses a feature that this build does not support */
	BPK_CORRUPT,     /* the bytes contradict the format or their digest */
	BPK_REPAIRABLE,  /* damaged or unfinished without loss: repair can fix it */
	BPK_PARTIAL,     /* partly done */
	BPK_DIFFERENT,   /* compared, and not the same */
	BPK_PIPE,        /* the reader of our output is gone (EPIPE) */
	BPK_USAGE,       /* the request makes no sense */
	BPK_BUG,         /* an internal promise of bpk was broken */
};

enum { BPK_ERR_TEXT = 1024 };

/* Caller storage, valid when zeroed. One thread's own. */
struct bpk_err {
	enum bpk_kind kind;
	bool advises;            /* the line names a command as the next step */
	char text[BPK_ERR_TEXT]; /* lower case, no full stop, no newline; truncated to fit */
};

/*
 * Fill err with kind and a formatted line. The line is escaped by bpk_text_show, so that a hostile
 * name cannot reach the terminal. err may be NULL. Always returns -1.
 */
int bpk_fail(struct bpk_err *err, enum bpk_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same with ": " and the text of errnum appended. The kind follows from errnum: EPIPE gives
 * BPK_PIPE, ENOMEM BPK_NO_MEMORY, all else BPK_FAILED. Always returns -1.
 */
int bpk_fail_errno(struct bpk_err *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Fail as another call did, with its kind and its line. Always returns -1. */
int bpk_fail_as(struct bpk_err *err, const struct bpk_err *other);

/* The report of a failed allocation of size bytes. Always returns -1. */
int bpk_fail_memory(struct bpk_err *err, uint64_t size);

/* True if the machine failed (BPK_FAILED, BPK_NO_MEMORY), not the bytes. A caller that continues
 * after damage must not continue after this. */
bool bpk_err_is_of_machine(const struct bpk_err *err);

/* After a failure that may be one of bytes, which the caller then passes over: fail as it did if it
 * is of the machine, since nothing is known about the bytes; or if memory was missing alone. */
int bpk_err_pass(const struct bpk_err *why, struct bpk_err *err);
int bpk_err_pass_memory(const struct bpk_err *why, struct bpk_err *err);

/* Settle a test of bytes that returned rc and why: *passed tells how it went. Fails as
 * bpk_err_pass does. */
int bpk_err_settle(int rc, const struct bpk_err *why, bool *passed, struct bpk_err *err);

/* Put the name of a file, as a word for a shell, in the place of FILE in commands that the line
 * advises, and set advises: rooms that know no names write them so. No effect when err is NULL. */
void bpk_err_name_file(struct bpk_err *err, const char *path);

/* Put "SUBJECT: " before the line in err; no effect when err is NULL. Returns -1. */
int bpk_err_subject(struct bpk_err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
