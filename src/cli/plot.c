/* bpk plot: a picture of an array, as SVG, PNG or text. Called by main through the table of
 * commands. */
#include "cli/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/content.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/text.h"

static const struct bpk_opt opt_output = {
	.letter = 'o',
	.name = "output",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_plot_args, shared.output),
	.metavar = "FILE",
	.help = "write the picture to FILE, which ends in .svg or .png",
	.more = "By default a picture in text is printed, as large as the terminal or 80 x 24.",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt opt_force = {
	.letter = 'f',
	.name = "force",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_plot_args, shared.force),
	.help = "replace an existing file of --output",
	.group = GROUP_OUTPUT,
};

static const struct bpk_opt opt_hist = {
	.name = "hist",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_plot_args, histogram),
	.help = "draw a histogram of the numbers",
	.more = "Integers of a small range have a bar each. Otherwise 10 to 50 bars of one width "
		"reach from the least to the greatest number. NaN and infinities are counted below "
		"the picture.",
};

static const struct bpk_opt opt_slice = {
	.name = "slice",
	BPK_OPT_VALUE(OPT_SLICE, struct bpk_plot_args, slice),
	.metavar = "A:B,C,...",
	.help = "only a part of the array: a range or an index for each dimension",
	.more = "As in bpk-cat(1).",
};

static const struct bpk_opt *const rows[] = {
	&bpk_opt_name,
	&bpk_opt_frames,
	&bpk_opt_no_defaults,
	&opt_slice,
	&opt_hist,
	&bpk_opt_format_read,
	&bpk_opt_no_check,
	&opt_output,
	&opt_force,
	&bpk_opt_no_sync,
	BPK_OPTS_REMOTE,
	&bpk_opt_memory_limit,
	&bpk_opt_help,
	NULL,
};

static const struct bpk_plot_args defaults;

/* ---- The page of text ---- */

/* The locale's own codes are asked for by the names of variables: bpk sets no locale. */
static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;

	for (size_t i = 0; i < 3 && (value == NULL || value[0] == '\0'); i++)
		value = getenv(names[i]);
	return value != NULL &&
	       (strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL);
}

/* The terminal's size, less a line for the next prompt. */
static void find_page(unsigned *columns, unsigned *lines)
{
	struct winsize size;

	*columns = 80;
	*lines = 24;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
	    size.ws_col == 0 || size.ws_row == 0)
		return;
	*columns = (unsigned)bpk_max_u64(40, bpk_min_u64(size.ws_col, 400));
	*lines = (unsigned)bpk_max_u64(10, bpk_min_u64(size.ws_row - 1u, 200));
}

static void page_room(enum bpk_plot_kind kind, size_t *most_x, size_t *most_y)
{
	unsigned columns, lines;

	find_page(&columns, &lines);
	bpk_plot_text_room(kind, columns, lines, most_x, most_y);
}

static int print(const struct bpk_plot *plot, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	unsigned columns, lines;
	int rc;

	find_page(&columns, &lines);
	rc = bpk_plot_text(plot, columns, lines, is_utf8(), &text, err);
	if (rc == 0)
		fwrite(text.data, 1, text.size, stdout);
	bpk_flush_results();
	bpk_buf_clear(&text);
	return rc;
}

/* ---- Files ---- */

/* The draft is opened before the work, which would be lost if it could not be written. */
static int open_output(struct bpk_transfer *transfer, struct bpk_err *err)
{
	if (transfer->shared->output == NULL)
		return 0;
	if (bpk_transfer_name_target(transfer, NULL, err) != 0)
		return -1;
	return bpk_transfer_open_draft(transfer, err);
}

static int write_file(const struct bpk_plot *plot, struct bpk_transfer *transfer,
		      struct bpk_err *err)
{
	struct bpk_buf file = { 0 };
	bool png = bpk_ends_with(transfer->target, ".png");
	int rc = (png ? bpk_plot_png : bpk_plot_svg)(plot, &file, err);

	if (rc == 0)
		rc = bpk_draft_write(transfer->draft, bpk_buf_view(&file), err);
	if (rc != 0)
		bpk_err_subject(err, "%s", transfer->target);
	bpk_buf_clear(&file);
	return rc == 0 ? bpk_transfer_keep(transfer, err) : -1;
}

/* ---- One input ---- */

static int open_input(const struct bpk_plot_args *args, struct bpk_input *in, const char *path,
		      struct bpk_err *err)
{
	if (bpk_input_open_any(in, path, &args->shared, err) != 0)
		return -1;
	if (in->info->members == BPK_UNKNOWN && bpk_input_can_locate(in))
		return bpk_input_complete(in, err);
	return 0;
}

static int plot_input(const struct bpk_plot_args *args, struct bpk_transfer *transfer,
		      struct bpk_plot *plot, struct bpk_buf *title, struct bpk_err *err)
{
	bool to_file = transfer->draft != NULL;

	if (bpk_plot_read(args, transfer->in, to_file ? bpk_plot_file_room : page_room, plot, title,
			  err) != 0 ||
	    bpk_input_unchanged(transfer->in, err) != 0)
		return -1;
	return to_file ? write_file(plot, transfer, err) : print(plot, err);
}

static void plot_one(void *arg, const char *path)
{
	const struct bpk_plot_args *args = arg;
	struct bpk_input in = { 0 };
	struct bpk_transfer transfer = { .shared = &args->shared, .in = &in };
	struct bpk_plot plot = { 0 };
	struct bpk_buf title = { 0 };
	struct bpk_err err = { 0 };

	bpk_signals_start();
	if (open_input(args, &in, path, &err) != 0 || open_output(&transfer, &err) != 0 ||
	    plot_input(args, &transfer, &plot, &title, &err) != 0) {
		bpk_input_judge(&in, &err);
		bpk_report(NULL, &err);
	}
	bpk_plot_clear(&plot);
	bpk_buf_clear(&title);
	bpk_transfer_clear(&transfer);
	bpk_input_close(&in);
}

static int check_usage(const struct bpk_plot_args *args, size_t count, struct bpk_err *err)
{
	const char *output = args->shared.output;

	if (output != NULL && count > 1)
		return bpk_fail(err, BPK_USAGE, "--output takes a single input, %zu were given",
				count);
	if (output != NULL && !bpk_ends_with(output, ".svg") && !bpk_ends_with(output, ".png"))
		return bpk_fail(err, BPK_USAGE,
				"the suffix of %s names no kind of picture; give .svg or .png",
				bpk_output_name(output));
	if (output != NULL && bpk_ends_with(output, ".png") && bpk_plot_png_library() == NULL)
		return bpk_fail(err, BPK_USAGE, "%s: this bpk was built without libpng, give .svg",
				output);
	return bpk_pick_check(&args->shared.pick, NULL, err);
}

static void run_plot(void *arg, char **operands, size_t count)
{
	struct bpk_plot_args *args = arg;
	struct bpk_err err = { 0 };

	if (check_usage(args, count, &err) != 0)
		bpk_report("plot", &err);
	bpk_input_each(operands, count, plot_one, args);
}

const struct bpk_command bpk_command_plot = {
	.name = "plot",
	.synopsis = "[OPTION]... [FILE]...",
	.summary = "draw an array of a file or archive, as text or a picture",
	.description =
		"Draws an array of FILE, an archive or a simulation file, packed or not: rows of "
		"numbers as lines, grids as heat maps, positions as density, or a histogram. "
		"Without --output it is drawn in text.",
	.operands = OPERANDS_CONTENT,
	.options = rows,
	.args_size = sizeof(struct bpk_plot_args),
	.defaults = &defaults,
	.run = run_plot,
};
