/* bpk verify: verify.c reads the command line, verify_tree.c finds the inputs, verify_work.c
 * verifies one, verify_beside.c many small ones. For the main thread alone. Other commands compare
 * recorded identities, too. */
#ifndef BPK_CLI_VERIFY_H
#define BPK_CLI_VERIFY_H

#include "archive/archive.h"
#include "cli/transfer.h"
#include "cli/tree.h"

struct bpk_verify_args {
	struct bpk_shared shared; /* its tally counts archives and their stored sizes */
	bool quick;
	bool print_root;
	bool identity, parity; /* demanded */
	const char *root;      /* 64 hexadecimal digits, or NULL */
	const char *roots;     /* a list of them, which names the archives, or NULL */
	const struct bpk_verify_anchors *anchors; /* its lines. No option */
	uint64_t min_generation;                  /* 0: any */
	uint64_t at_least;
	uint64_t max_time, max_age; /* seconds; 0: no limit */
	uint64_t since;             /* seconds before now; 0: not given */
	const char *manifest;       /* a list of names, or NULL */
	uint64_t limit_rate;        /* bytes a second; 0: no limit */
	char **operands;            /* as they were given; none: a list names them. No option */
	size_t noperands;
	uint64_t nknown; /* archives of this run in the state; BPK_UNKNOWN: no state. No option */
};

/* Verify the input of bpk_input_find, or report why it failed, with rc and err. in is closed. ours:
 * it must be an archive, because the user gave this very path or its name says so. */
void bpk_verify_input(const struct bpk_verify_args *args, struct bpk_input *in, bool ours, int rc,
		      struct bpk_err *err);

/* Count an input that is verified, an archive if one was found there; err: a failure, or NULL. */
void bpk_verify_count(const struct bpk_verify_args *args, const struct bpk_input *in,
		      bool is_archive, const struct bpk_err *err);

/* The same for an archive that is whole, with the line of -v; in stays open. */
void bpk_verify_well(const struct bpk_verify_args *args, const struct bpk_input *in);

/* Report a file that is missing, though why says that it should be there. The first 20 have a line
 * each, and with --json all have an object. */
void bpk_verify_report_missing(const struct bpk_verify_args *args, const char *path,
			       const char *why, uint64_t *nmissing);

/* Report an operand in which no archive was found. */
void bpk_verify_fail_empty(const struct bpk_verify_args *args, const char *path);

/* True if the archive records an identity that is compared with its content. */
bool bpk_verify_compares_identity(const struct bpk_verify_args *args, const struct bpk_input *in);

/* True if the identity that an archive records can be found while its chunks are verified, and not
 * by reading them again: they are the content, in order, each at a known offset. */
bool bpk_verify_identity_beside(const struct bpk_verify_args *args, const struct bpk_input *in);

/* Verify them so. Any damage fails, unlisted; tree is zeroed, and the caller's to clear. */
int bpk_verify_identity_run(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
			    struct bpk_ident *tree, struct bpk_err *err);

/* Compare the content of an intact archive with the identity that it records, if it does. tree is
 * that of the content, or zeroed: then it is unpacked once more. Fails with BPK_CORRUPT, for the
 * first of the ranges. */
int bpk_verify_identity(const struct bpk_verify_args *args, const struct bpk_input *in,
			struct bpk_ident *tree, struct bpk_ident_ranges *differing,
			const struct bpk_remarks *remarks, struct bpk_err *err);

/* The same for an input that another command trusts. all: even where verify leaves it out, since
 * much would be unpacked of little. */
int bpk_verify_recorded(const struct bpk_shared *shared, const struct bpk_input *in, bool all,
			struct bpk_err *err);

/* The same for one that is open, in C's order, to be read for this alone; without a record 0. */
int bpk_verify_fresh(const struct bpk_shared *shared, struct bpk_input *fresh, struct bpk_err *err);

/* Report the other ranges; and add all to the record. */
void bpk_verify_report_differing(const struct bpk_ident_ranges *differing,
				 const struct bpk_input *in);
void bpk_verify_record_differing(const struct bpk_ident_ranges *differing);

/* Files in their order. */
struct bpk_verify_turns {
	size_t count;
	/* The path of a file whose turn begins; NULL: it is to be done alone. */
	const char *(*begin)(void *arg, size_t number);
	/* The file of that turn is whole, and counted. */
	void (*end)(void *arg, size_t number);
	/* Verify it, if its turn is still wanted. */
	void (*alone)(void *arg, size_t number);
	void *arg;
};

/* Take the turns, small archives beside each other: each turn begins, and then ends or is done
 * alone, in the order of numbers. */
void bpk_verify_take_turns(const struct bpk_verify_args *args,
			   const struct bpk_verify_turns *turns);

/* ---- verify_anchors.c ---- */

/* A line of --print-root. */
struct bpk_verify_anchor {
	char *path;
	const char *root; /* 64 hexadecimal digits, and " generation N" */
	uint64_t line;    /* from 1 */
};

/* Valid when zeroed. */
struct bpk_verify_anchors {
	struct bpk_buf text;
	struct bpk_verify_anchor *all; /* in the order of paths, each once */
	size_t count, room;
	char **paths;
};

/* Read the lines of a file; of several with one path the last counts. Fails with BPK_FAILED for any
 * other line, and for none; the line names the file. */
int bpk_verify_anchors_read(struct bpk_verify_anchors *anchors, const char *path,
			    struct bpk_err *err);

/* The root of the archive at path; NULL: no line names it. */
const char *bpk_verify_anchors_root(const struct bpk_verify_anchors *anchors, const char *path);
void bpk_verify_anchors_clear(struct bpk_verify_anchors *anchors);

/* ---- verify_manifest.c ---- */

/* Read a list of lines, the last of which ends with a newline; the line of a failure names it. */
int bpk_verify_read_list(const char *path, struct bpk_buf *text, struct bpk_err *err);

/* The lines of such a list. Valid with the text alone set. */
struct bpk_verify_lines {
	struct bpk_buf *text;
	size_t at;       /* of the next one */
	size_t size;     /* of the last one, without its newline */
	uint64_t number; /* of the last one, from 1 */
};

/* The next line, ended by a NUL in the text; NULL behind the last. Empty ones and comments are
 * passed over, as sha256sum does. */
char *bpk_verify_next_line(struct bpk_verify_lines *lines);

/* Report the files that the manifest names and that are missing; the text changes. */
void bpk_verify_manifest(const struct bpk_verify_args *args, struct bpk_buf *text);

/* Leave the files out that have not changed since. */
void bpk_verify_since(const struct bpk_verify_args *args, struct bpk_files *files);

/* Verify all operands, and the archives below them. */
void bpk_verify_all(struct bpk_verify_args *args, char **named, size_t count);

#endif
