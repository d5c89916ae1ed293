/* What bpk verify finds in one input, and how that is shown: lines, and the object of --json.
 * Called by verify_work.c; for the main thread alone. */
#ifndef BPK_CLI_VERIFY_REPORT_H
#define BPK_CLI_VERIFY_REPORT_H

#include "cli/side.h"
#include "cli/verify.h"

/* Remarks of one audit, as lines that end with NUL. */
struct bpk_verify_remarks {
	struct bpk_buf lines; /* owned; for --json */
	const struct bpk_input *in;
	const struct bpk_shared *shared;
};

/* What is wrong with the content of an archive. Owned parts are those of bpk_verify_found_clear. */
struct bpk_verify_found {
	struct bpk_damage damage;
	bool intact;           /* every chunk is, even if the audit fails */
	bool sound;            /* and the audit passes: at most parity tells of damage */
	struct bpk_ident tree; /* of the content, if it was found with the chunks */
	struct bpk_ident_ranges differing;
	enum bpk_side_state parity;
	const char *repairable; /* the word for status 3; or NULL */
	bool parity_alone;      /* the archive is whole, and its parity file of no use to it */
};

void bpk_verify_found_clear(struct bpk_verify_found *found, struct bpk_verify_remarks *remarks);

/* A verdict is a result: it goes to standard output, so not with --json. Say a line, that the input
 * is whole, or the root of its seal. */
void bpk_verify_say(const struct bpk_input *in, const char *line);
void bpk_verify_say_well(const struct bpk_verify_args *args, const struct bpk_input *in);
void bpk_verify_say_root(const struct bpk_input *in);

/* Note a remark, a bpk_remark_fn: with -v it is said, with --json kept in arg, a
 * bpk_verify_remarks. */
void bpk_verify_note(void *arg, const char *line);

/* Add the neighbours of a damaged chunk, and the range for cat --bytes, to the line on it. */
void bpk_verify_add_range(const struct bpk_damaged *damaged, struct bpk_err *err);

/* Add the next step to the first line on damage. Of processes that share the work none is first. */
void bpk_verify_add_advice(const struct bpk_verify_args *args, const struct bpk_input *in,
			   const struct bpk_verify_found *found, struct bpk_err *err);

/* Report the rest of the damage, of which there is some, when its first line is printed; and bytes
 * behind the end of the archive. */
void bpk_verify_report_others(struct bpk_input *in, const struct bpk_damage *damage);

/* The object of --json on an archive; or its end alone, after the caller's members. */
void bpk_verify_record(const struct bpk_transfer *transfer, const struct bpk_verify_found *found,
		       const struct bpk_verify_remarks *remarks, const struct bpk_err *err);
void bpk_verify_end_record(const struct bpk_verify_remarks *remarks);

#endif
