/*
 * The arrays inside an input, as commands show and save them: picked by name and frame, described,
 * written as NumPy's files. Errors name the input. Called by cat, info and unpack.
 */
#ifndef BPK_CLI_CONTENT_H
#define BPK_CLI_CONTENT_H

#include "cli/transfer.h"

/* bpk_content_open with the options that the user gave. */
int bpk_content_look(const struct bpk_input *in, const struct bpk_shared *shared,
		     struct bpk_content *content, struct bpk_err *err);

/* Fails with BPK_USAGE if frames are given without a name, or either beside another part of the
 * data (other: its option, "--bytes"; NULL: no option). */
int bpk_pick_check(const struct bpk_pick *pick, const char *other, struct bpk_err *err);

/*
 * Call visit for the picked array, frame after frame, until it returns non-zero. A frame without it
 * is an error, unless no_defaults is given: then it is left out. Fails with BPK_FAILED if no frame
 * has it.
 */
int bpk_pick_each(const struct bpk_content *content, const struct bpk_pick *pick,
		  int (*visit)(void *arg, const struct bpk_item *item, struct bpk_err *err),
		  void *arg, struct bpk_err *err);

/* The only array of a file. Fails with BPK_FAILED if the file has no array, or several. */
int bpk_content_only(const struct bpk_content *content, struct bpk_item *item, struct bpk_err *err);

/* Write the picked arrays as NumPy's files, .npz if the transfer's target ends so, into its draft.
 * More than most bytes of arrays are refused. *count is the number of arrays. */
int bpk_content_save(const struct bpk_content *content, const struct bpk_pick *pick, uint64_t most,
		     struct bpk_transfer *transfer, uint64_t *count, struct bpk_err *err);

/* The type of an array, as members of a record: dtype, shape, order. */
int bpk_content_record_array(const struct bpk_array *array, struct bpk_err *err);

/* Describe the content: as text below the fields of an input, and as members of a record with all
 * arrays. */
int bpk_content_describe(const struct bpk_content *content, struct bpk_err *err);
int bpk_content_record(const struct bpk_content *content, bool all, struct bpk_err *err);

#endif
