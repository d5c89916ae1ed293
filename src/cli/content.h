/*
 * What raw bytes hold: the arrays of simulation files, by name and frame, out of raw files and out
 * of what archives hold alike. Errors that come from here name the input.
 */
#ifndef BPK_CLI_CONTENT_H
#define BPK_CLI_CONTENT_H

#include <time.h>

#include "cli/job.h"
#include "layout/layout.h"

/* What was read of the arrays of a raw file, to be compared with what it is later. */
struct bpk_content_watch {
	struct timespec opened;
	struct bpk_buf reads;
	bool lost; /* there were too many of them */
};

/* Caller storage, valid when zeroed, that stays in its place; for bpk_content_close. */
struct bpk_content {
	const struct bpk_input *in;
	struct bpk_source *view;   /* owned: where the arrays' own bytes are read */
	struct bpk_source *source; /* where tables are read; owned where in is an archive */
	struct bpk_content_watch watch;
	/* what layouts may still cost: bytes of tables, and bytes unpacked for them; and the view's
	   own limits */
	uint64_t tables_left, unpacked_left;
	struct bpk_view_limits limits;
	struct bpk_err damage; /* that the view met first: of the archive, not of what it holds */
	struct bpk_layout *layout; /* NULL: of plain bytes */
};

/* Open path as an archive, or, where it is none and its name promises none, as a raw file: then its
 * format is bpk_format_raw. */
int bpk_input_open_any(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		       struct bpk_err *err);

/*
 * Look at the raw bytes of an input that was opened so. What comes through a pipe, or does not say
 * how much it unpacks to, has no layout. in is borrowed until close. What an archive makes this
 * cost is bounded by its own size, or by the limit that the user gave, here and in all that follows
 * but copying: more fails with BPK_LIMIT.
 */
int bpk_content_open(const struct bpk_input *in, const struct bpk_shared *shared,
		     struct bpk_content *content, struct bpk_err *err);
void bpk_content_close(struct bpk_content *content);

/*
 * A command is done with its content, rc being what came of it: were the arrays of a raw file what
 * they are now, and their bytes that were read? Files that have grown by arrays are the same. Else
 * fails with BPK_FAILED, "changed while it was read", whatever rc is. Returns rc for the same
 * file, and for archives, whose readers know (bpk_input_settle).
 */
int bpk_content_settle(const struct bpk_content *content, int rc, struct bpk_err *err);

/* Inside content: note from now on what is read of the arrays of a raw file. */
int bpk_content_watch(struct bpk_content *content, struct bpk_err *err);

/* Fails with BPK_USAGE where there are frames without a name, or either beside another part of the
 * data (other: its option, "--bytes"; NULL: there is none). */
int bpk_pick_check(const struct bpk_pick *pick, const char *other, struct bpk_err *err);

/*
 * Call visit for the array that is picked, frame after frame, until it returns non-zero. A frame
 * that lacks it is an error, unless no_defaults is given: then it is left out. Fails with
 * BPK_FAILED where no frame has it.
 */
int bpk_pick_each(const struct bpk_content *content, const struct bpk_pick *pick,
		  int (*visit)(void *arg, const struct bpk_item *item, struct bpk_err *err),
		  void *arg, struct bpk_err *err);

/* Add the bytes of an array to a draft. */
int bpk_content_copy(const struct bpk_content *content, const struct bpk_item *item,
		     struct bpk_draft *draft, struct bpk_err *err);

/* Add a part of it, in C order. */
int bpk_content_copy_slice(const struct bpk_content *content, const struct bpk_item *item,
			   const struct bpk_opt_slice *slice, struct bpk_draft *draft,
			   struct bpk_err *err);

/* The array of a file that holds no other. Fails with BPK_FAILED where there is none, or more. */
int bpk_content_only(const struct bpk_content *content, struct bpk_item *item, struct bpk_err *err);

/* Write what is picked as NumPy's files, .npz where the job's target ends so, into its draft; more
 * bytes of arrays than most are refused. *count says how many arrays these were. */
int bpk_content_save(const struct bpk_content *content, const struct bpk_pick *pick, uint64_t most,
		     struct bpk_job *job, uint64_t *count, struct bpk_err *err);

/* What the elements of an array are, as members of a record: dtype, shape, order. */
int bpk_content_record_array(const struct bpk_array *array, struct bpk_err *err);

/* Tell of it, as text below the fields of an input; and as members of a record: with all arrays. */
int bpk_content_describe(const struct bpk_content *content, struct bpk_err *err);
int bpk_content_record(const struct bpk_content *content, bool all, struct bpk_err *err);

#endif
