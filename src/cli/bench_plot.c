/* The plot of bpk bench: ratio against the two speeds. bench.c calls it. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/text.h"
#include "plot/plot.h"

enum { CODECS = 16 };

/* The codecs of the table, in the order of the help text. */
static size_t list_codecs(const struct bpk_bench_table *table, const char *names[CODECS])
{
	const struct bpk_codec *codec;
	size_t count = 0;

	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL && count < CODECS; i++)
		for (size_t k = 0; k < table->nrows; k++)
			if (table->rows[k].recipe.codec == codec) {
				names[count++] = bpk_codec_name(codec);
				break;
			}
	return count;
}

static size_t series_of(const struct bpk_bench_row *row, const char *const *names)
{
	size_t i = 0;

	while (strcmp(names[i], bpk_codec_name(row->recipe.codec)) != 0)
		i++;
	return i;
}

static struct bpk_scatter_point point_of(const struct bpk_bench_row *row, bool unpacking,
					 const char *const *names)
{
	double rate = unpacking ? bpk_bench_unpack_rate(row) : bpk_bench_pack_rate(row);
	struct bpk_scatter_point point = {
		.x = rate / 1e6,
		.y = bpk_bench_ratio(row),
		.series = series_of(row, names),
		.on_line = unpacking ? row->on_unpack_front : row->on_pack_front,
		.marked = row->chosen,
	};
	char filter[BPK_PIPELINE_TEXT];

	snprintf(point.title, sizeof point.title, "%s, level %u, %s: ratio %.3f, %s %.1f MB/s%s",
		 bpk_codec_name(row->recipe.codec), row->recipe.level,
		 bpk_bench_filter(row, filter), point.y, unpacking ? "unpack" : "pack", point.x,
		 row->chosen ? " (default)" : "");
	return point;
}

int bpk_bench_plot(const struct bpk_bench_table *table, struct bpk_buf *svg, struct bpk_err *err)
{
	size_t n = table->nrows;
	struct bpk_scatter_point *points = bpk_calloc(2 * n, sizeof *points, err);
	const struct bpk_scatter_panel panels[] = {
		{ "pack, MB/s", "ratio", points, n },
		{ "unpack, MB/s", "ratio", points + n, n },
	};
	const char *names[CODECS];
	struct bpk_scatter scatter = {
		.title = bpk_input_name(table->in.path),
		.names = names,
		.nnames = list_codecs(table, names),
		.line = "Pareto front",
		.mark = "default",
		.panels = panels,
		.npanels = 2,
	};
	int rc;

	if (points == NULL)
		return -1;
	for (size_t i = 0; i < 2 * n; i++)
		points[i] = point_of(&table->rows[i % n], i >= n, names);
	rc = bpk_scatter_draw(&scatter, svg, err);
	free(points);
	return rc;
}
