/*
 * One error report: its kind and one finished line, written where the fact is known.
 */
#ifndef BPK_BASE_ERROR_H
#define BPK_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* What went wrong. The command line owns the table from kind to exit status. */
enum bpk_kind {
	BPK_OK = 0,
	BPK_FAILED,    /* could not be done: no such file, no permission, no space, target exists */
	BPK_NO_MEMORY, /* an allocation failed */
	BPK_LIMIT,     /* would exceed a limit that the user or the format set */
	BPK_UNSUPPORTED, /* well formed, but asks for something this build does not know */
	BPK_CORRUPT,     /* the bytes contradict the format or their digest */
	BPK_REPAIRABLE,  /* damaged or half-way, and nothing is lost: it can be put right */
	BPK_PARTIAL,     /* done in part */
	BPK_DIFFERENT,   /* compared, and not equal */
	BPK_PIPE,        /* the reader of our output went away (EPIPE) */
	BPK_USAGE,       /* the caller asked for something that makes no sense */
	BPK_BUG,         /* a promise inside bpk was broken */
};

enum { BPK_ERR_TEXT = 1024 };

/* Caller storage, valid when zeroed. One thread's own. */
struct bpk_err {
	enum bpk_kind kind;
	char text[BPK_ERR_TEXT]; /* lower case, no full stop, no newline; cut when too long */
};

/*
 * Fill err with kind and a formatted line, spelled as bpk_text_show spells it, so that a hostile
 * name cannot reach the terminal. err may be NULL. Always returns -1.
 */
int bpk_fail(struct bpk_err *err, enum bpk_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same with ": " and the text of errnum behind it. The kind follows from errnum: EPIPE gives
 * BPK_PIPE, ENOMEM BPK_NO_MEMORY, all else BPK_FAILED. Always returns -1.
 */
int bpk_fail_errno(struct bpk_err *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The report of a failed allocation of size bytes. Always returns -1. */
int bpk_fail_memory(struct bpk_err *err, uint64_t size);

/* True when the machine failed (BPK_FAILED, BPK_NO_MEMORY), which says nothing about the bytes: who
 * goes on in spite of damage does not go on in spite of this. */
bool bpk_err_is_of_machine(const struct bpk_err *err);

/* Put "SUBJECT: " in front of the line that err holds; nothing when err is NULL. Returns -1. */
int bpk_err_subject(struct bpk_err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
