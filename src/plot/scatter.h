/*
 * Scatter plots as SVG: panels of points, coloured by series, with a logarithmic x axis. A
 * part of the room's door.
 */
#ifndef BPK_PLOT_SCATTER_H
#define BPK_PLOT_SCATTER_H

#include "base/base.h"

struct bpk_scatter_point {
	double x, y;     /* above 0 */
	size_t series;   /* its number in names */
	bool on_line;    /* the panel's line goes through it */
	bool marked;     /* drawn larger, as a ring */
	char title[256]; /* shown under the pointer */
};

struct bpk_scatter_panel {
	const char *x_title, *y_title;
	const struct bpk_scatter_point *points; /* at least 1 */
	size_t npoints;
};

/* Texts may have any bytes: they are escaped. */
struct bpk_scatter {
	const char *title;
	const char *const *names; /* of the series in the legend */
	size_t nnames;
	const char *line, *mark; /* in the legend: the line, and a marked point */
	const struct bpk_scatter_panel *panels;
	size_t npanels;
};

/* Append the drawing to svg. Fails with BPK_NO_MEMORY. */
int bpk_scatter_draw(const struct bpk_scatter *scatter, struct bpk_buf *svg, struct bpk_err *err);

#endif
