/*
 * bpk plot: plot.c reads the command line and writes the picture, plot_read.c brings the numbers of
 * an array and picks the kind of picture. For the main thread alone.
 */
#ifndef BPK_CLI_PLOT_H
#define BPK_CLI_PLOT_H

#include "cli/transfer.h"
#include "plot/plot.h"

struct bpk_plot_args {
	struct bpk_shared shared;
	struct bpk_opt_slice slice;
	bool histogram;
};

/* The room that the picture has, cells, for each kind. */
typedef void bpk_plot_room_fn(enum bpk_plot_kind kind, size_t *most_x, size_t *most_y);

/*
 * Read the wanted array of an open input into plot, which is zeroed, and ends with it. title holds
 * the text of the plot's title. Errors name the input: BPK_UNSUPPORTED for arrays without numbers,
 * BPK_FAILED for empty arrays and frames that have no common picture. The caller clears both.
 */
int bpk_plot_read(const struct bpk_plot_args *args, struct bpk_input *in, bpk_plot_room_fn *room,
		  struct bpk_plot *plot, struct bpk_buf *title, struct bpk_err *err);

#endif
