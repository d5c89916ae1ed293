/*
 * bpk ls: ls.c reads the command line and the inputs, ls_show.c prints their arrays and members.
 * For the main thread alone.
 */
#ifndef BPK_CLI_LS_H
#define BPK_CLI_LS_H

#include "cli/content.h"

struct bpk_ls_args {
	struct bpk_shared shared;
	bool details;    /* --long */
	bool only_names; /* --null: no columns; a NUL byte behind each name */
};

/* All functions below print the lines of one input, or the members of its record, for args. Errors
 * do not name the input. */

/* The arrays of a content that has a layout. */
int bpk_ls_arrays(const struct bpk_ls_args *args, const struct bpk_content *content,
		  struct bpk_err *err);

/* The members of the tar in source. */
int bpk_ls_members(const struct bpk_ls_args *args, struct bpk_source *source, struct bpk_err *err);

/* An archive whose content is one array, or plain data. */
int bpk_ls_data(const struct bpk_ls_args *args, const struct bpk_input *in, struct bpk_err *err);

#endif
