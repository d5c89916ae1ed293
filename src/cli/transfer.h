/*
 * The steps that commands share to move data: opening an input, naming and opening an output,
 * running between the two, and keeping or dropping the result. Called by pack, unpack, cat,
 * convert, verify, repair and tar. Every error from here is a whole line that names its file;
 * report it with bpk_report(NULL, err). For the main thread alone; but for an operand beside others
 * (results.h), bpk_transfer_start_writer, run, finish_writer and commit are called by any.
 */
#ifndef BPK_CLI_TRANSFER_H
#define BPK_CLI_TRANSFER_H

#include "archive/archive.h"
#include "cli/command.h"
#include "cli/tree.h"

/*
 * bpk_input_look for a command that reads path: standard input must not be a terminal, the format
 * is the one that the user named, and bpk_input_tell is called.
 */
int bpk_input_find(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		   struct bpk_err *err);
/* Note, once for each input, that a change is pending there, or that a leftover of a writer is not
 * used. */
void bpk_input_tell(const struct bpk_input *in, const struct bpk_shared *shared);

/* bpk_input_read with the options that the user gave. */
int bpk_input_start(struct bpk_input *in, const struct bpk_shared *shared, uint64_t chunk_limit,
		    struct bpk_err *err);

/* Find and start an input: an archive; a file of raw bytes; or either, a file whose name promises
 * no archive being raw bytes with the format bpk_format_raw. */
int bpk_input_open(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		   struct bpk_err *err);
int bpk_input_open_any(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		       struct bpk_err *err);
int bpk_input_open_raw(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		       struct bpk_err *err);

/* The same as open_any, but a pipe may bring raw bytes, too; and its second step, behind
 * bpk_input_look. */
int bpk_input_open_either(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
			  struct bpk_err *err);
int bpk_input_start_either(struct bpk_input *in, const struct bpk_shared *shared,
			   struct bpk_err *err);

/*
 * bpk_input_audit for commands whose result is the committed content: an append that was
 * interrupted behind it is reported at once, and is no failure. tail looks only at the bytes
 * behind the end.
 */
int bpk_input_account(struct bpk_input *in, struct bpk_err *err);
int bpk_input_tail(struct bpk_input *in, struct bpk_err *err);

/* After a part of the data was read: tail, and unless checks are off a failure for damage beside
 * the chunks, which may be that of the digests that the chunks were to be tested by. */
int bpk_input_account_part(struct bpk_input *in, const struct bpk_shared *shared,
			   struct bpk_err *err);

/* The bytes of an input on their way to a draft, or to nothing. Caller storage, valid when shared
 * and in are set and the rest is zero; for bpk_transfer_clear. */
struct bpk_transfer {
	const struct bpk_shared *shared;
	struct bpk_input *in;

	char *target;            /* path of the result, owned; NULL: no result */
	bool target_derived;     /* its name follows from the source's: then never through a link */
	bool replaces;           /* --update replaces an older result */
	bool in_place;           /* the result replaces the input */
	const struct stat *like; /* the result is no more public than this file; NULL: the input */
	bool keeps_broken; /* the result is what lies before the damage, for its owner alone */
	bool incomplete;   /* the result is older than the input, so that --update makes it again */
	bool alone;        /* rank 0 of a team does it by itself */
	struct bpk_draft *draft;
	struct bpk_removal *removal; /* of an input that is a directory, with --rm */
	/* Of the output; set before the draft is opened if the output may be a directory. */
	const struct bpk_format *format;
	void *writer;

	bool may_end_early; /* the plan's end is a bound: data that end before it are fine */

	struct bpk_flow_result result; /* of the run */
	double started;                /* when the draft was opened */
	double seconds;                /* from there until it was kept */
	uint64_t piped;                /* bytes written one after the other; 0 for a file */
};

/*
 * Check that the options for the output can be obeyed for these operands. Fails with BPK_USAGE for
 * several sources into one file, --rm without a file to remove, and other contradictions.
 */
int bpk_transfer_check(const struct bpk_shared *shared, char **operands, size_t count,
		       struct bpk_err *err);

/*
 * Name the target: standard output, the --output, or a name that derive makes of the source's path
 * (for free()), beside the source or in --output-dir. derive fails with a line about the source; it
 * is NULL if usage leaves nothing to derive.
 */
int bpk_transfer_name_target(struct bpk_transfer *transfer,
			     char *(*derive)(const struct bpk_transfer *transfer,
					     const char *source, struct bpk_err *err),
			     struct bpk_err *err);

/* The suffix of an output's name with its dot, if it begins with a letter: "x.csv", not "run.2".
 * NULL: no such suffix. */
const char *bpk_output_suffix(const char *path);

/* Fails with BPK_USAGE: the suffix of path is not one of those of formats, which are named. */
int bpk_output_fail_suffix(const char *path, struct bpk_err *err);

/* bpk_files_gather for a command with results, which are checked in the same way. */
int bpk_transfer_gather(const struct bpk_shared *shared, const struct bpk_tree_kind *kind,
			char *const *named, size_t count, struct bpk_files *operands,
			struct bpk_err *err);

/* True if the files come from a tree or a list; then there is a sum at the end. */
bool bpk_transfer_is_listed(const struct bpk_shared *shared);

/*
 * With --update, once the target is named: *is_current is true if it is there, of the kind that the
 * command makes, and not older than the input. An older one will be replaced.
 */
int bpk_transfer_update(struct bpk_transfer *transfer, bool *is_current, struct bpk_err *err);

/* Give a result, like its input, a time that bpk_transfer_update takes for older. */
void bpk_transfer_date_before(const struct bpk_input *in, struct stat *like);

/* What a command with --force says of a target that this option would replace. */
#define BPK_REMEDY_FORCE "--force replaces it"

/* Fails with BPK_FAILED if target is standard output on a terminal, and --force is not given:
 * binary data would garble it. */
int bpk_transfer_check_terminal(const struct bpk_shared *shared, const char *target,
				struct bpk_err *err);

/* Below an output directory: make the folders that the tree which is walked has there. Called by
 * open_draft. */
int bpk_transfer_make_folders(const struct bpk_transfer *transfer, struct bpk_err *err);

/* Open the draft. Fails with BPK_FAILED where binary data would go to a terminal, or into what is
 * read. */
int bpk_transfer_open_draft(struct bpk_transfer *transfer, struct bpk_err *err);

/* True if the input is at hand, so that output may be held back: no pipe is waited for. */
bool bpk_transfer_never_waits(const struct bpk_transfer *transfer);

/* Begin to write format into the draft. */
int bpk_transfer_start_writer(struct bpk_transfer *transfer, const struct bpk_format *format,
			      const struct bpk_info *info, const struct bpk_write_options *options,
			      struct bpk_err *err);

/*
 * Check that the plan is within --max-output. An archive of unknown size is planned to end one byte
 * behind the limit, which shows that it holds more: judge it when the transfer has run. Both fail
 * with BPK_LIMIT.
 */
int bpk_transfer_bound(const struct bpk_transfer *transfer, struct bpk_plan *plan,
		       struct bpk_err *err);
int bpk_transfer_check_bound(const struct bpk_transfer *transfer, struct bpk_err *err);

/* Run flow, whose plan and work are set, between the transfer's input and output, with a progress
 * bar; fills result. */
int bpk_transfer_run(struct bpk_transfer *transfer, struct bpk_flow *flow, struct bpk_err *err);

/* Finish the output: index, header, end marker. */
int bpk_transfer_finish_writer(struct bpk_transfer *transfer, struct bpk_err *err);

/*
 * Keep the draft under its name, with the mode and time of the input (bpk_input_like); then, with
 * --rm, remove the source. These are three steps: commit keeps the draft, add_result notes it as a
 * result of the command, and remove_source removes the source.
 */
int bpk_transfer_keep(struct bpk_transfer *transfer, struct bpk_err *err);
int bpk_transfer_commit(struct bpk_transfer *transfer, struct bpk_err *err);
int bpk_transfer_add_result(struct bpk_transfer *transfer, struct bpk_err *err);
int bpk_transfer_remove_source(struct bpk_transfer *transfer, struct bpk_err *err);

/* Bytes of the output, once it was kept: of the file, or as many as went through a pipe; the size
 * of the chunks alone if that is unknown. */
uint64_t bpk_transfer_output_size(const struct bpk_transfer *transfer);

/* Older readers stop at a header without the size of the data: note that the output has one, and
 * how to avoid it. */
void bpk_transfer_note_unknown_size(const struct bpk_transfer *transfer, uint64_t raw_size,
				    const char *advice);

/* For -v: the choice of a recipe, whose lines why has; with -vv also the trials. */
void bpk_transfer_note_choice(const struct bpk_transfer *transfer, const struct bpk_buf *why);

/* The result: with -v sizes, ratio, time, speed. On a terminal without -v and -q a shorter line,
 * from one size to another, with the recipe of chunks that were packed or NULL. */
void bpk_transfer_note_result(const struct bpk_transfer *transfer, uint64_t packed_size);
void bpk_transfer_tell_result(const struct bpk_transfer *transfer, uint64_t from, uint64_t to,
			      const struct bpk_recipe *recipe);

/* The same for --json, as members of a record that the caller begins and ends. */
void bpk_transfer_record_result(const struct bpk_transfer *transfer, uint64_t packed_size);

/* Drop a draft that was not kept; the input stays open. */
void bpk_transfer_clear(struct bpk_transfer *transfer);

/*
 * Check, by the places of chunks, that the archive's end is there. No data are read. A contiguous
 * frame does not open without its end. Of a directory's files only a number is tested. A raw file
 * has none.
 */
int bpk_input_check_end(struct bpk_input *in, struct bpk_err *err);

/* Fails with BPK_USAGE if two operands are "-": the second would be empty. */
int bpk_input_check_operands(char *const *operands, size_t count, struct bpk_err *err);

/* Call one for every operand, or for "-" without operands. Reports two of "-". */
void bpk_input_each(char **operands, size_t count, void (*one)(void *arg, const char *path),
		    void *arg);

#endif
