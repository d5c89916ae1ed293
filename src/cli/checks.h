/*
 * The file of verify --state: when each file was checked, and how that ended. It is replaced as a
 * whole. Called by verify_rota.c and verify_ages.c; for the main thread alone.
 *
 *     bpk verify state 1
 *     KIND GOOD LAST SIZE MTIME PATH     one line a file, in the order of paths
 *     end COUNT CRC                      CRC-32 of all before, 8 hexadecimal digits
 *
 * KIND is a word of kinds below. Times are decimal nanoseconds since 1970. In PATH a % and
 * two hexadecimal digits stand for bytes up to blank, from 127 on, and %.
 */
#ifndef BPK_CLI_CHECKS_H
#define BPK_CLI_CHECKS_H

#include "base/base.h"

/* In the order in which files are checked: kinds that are equal in turn stand together. */
enum bpk_check_kind {
	BPK_CHECK_BAD,     /* damaged, or not to be read; it had a good check */
	BPK_CHECK_NEVER,   /* the same, without a good check */
	BPK_CHECK_NEW,     /* never checked, or no archive at its last check and changed since */
	BPK_CHECK_CHANGED, /* an archive at its last check, and changed since */
	BPK_CHECK_GOOD,    /* as it should be */
	BPK_CHECK_OTHER,   /* no archive */
};

struct bpk_check {
	char *path; /* owned */
	enum bpk_check_kind kind;
	uint64_t good;        /* time of the last good check, or of the first sight */
	uint64_t last;        /* time of the last check; 0: never */
	uint64_t size, mtime; /* of the file before that check; 0 for a URL or a pipe */
	size_t number;        /* of the file in this run, SIZE_MAX: it is none of it; not kept */
	bool rewritten;       /* size or mtime differ from those of the last check; not kept */
	bool gone;            /* reported as missing in this run; not kept */
};

enum { BPK_CHECK_SECOND = 1000000000 }; /* a second, in the unit of times */

/* The kind whose turn it is: equal for kinds that stand together. */
enum bpk_check_kind bpk_check_turn(const struct bpk_check *check);

/* False if no check of the file ended well; for a file that is no archive, one did. */
bool bpk_check_had_good(const struct bpk_check *check);

/* Valid when zeroed. */
struct bpk_checks {
	struct bpk_check *all;
	size_t count, room;
};

/* Read the file at path, which need not exist. Fails with BPK_FAILED: it is no such file, or is
 * damaged; the line names it. */
int bpk_checks_read(struct bpk_checks *checks, const char *path, struct bpk_err *err);

/* Replace the file at path; the checks are in the order of paths, and those without a path are left
 * out. Fails with BPK_FAILED; the line names it. */
int bpk_checks_write(const struct bpk_checks *checks, const char *path, struct bpk_err *err);

/* Add a check at the end; its path is taken, also on failure, when it may be NULL. */
int bpk_checks_add(struct bpk_checks *checks, const struct bpk_check *check, struct bpk_err *err);

void bpk_checks_clear(struct bpk_checks *checks);

#endif
