/*
 * bpk bench, from its options to a table: bench.c reads the command line, bench_rows.c measures,
 * bench_show.c prints, bench_plot.c draws. For the main thread alone.
 */
#ifndef BPK_CLI_BENCH_H
#define BPK_CLI_BENCH_H

#include "cli/args.h"
#include "cli/transfer.h"

struct bpk_bench_args {
	struct bpk_args common;
	const struct bpk_format *format;
	unsigned codecs, levels; /* bits, as options give them; 0 */
	struct bpk_opt_list filters;
	uint64_t sample; /* bytes, at most */
	bool csv;
	const char *plot; /* NULL: none */
};

/* The measures of one input. */
struct bpk_bench_table {
	const struct bpk_bench_args *args;
	struct bpk_input in;
	struct bpk_source *source; /* its raw bytes */
	uint64_t raw_size;         /* of the input; BPK_UNKNOWN */

	uint64_t measured; /* bytes of the sample */
	size_t nchunks;    /* of the sample */
	bool whole;        /* the sample is all of the input */
	uint64_t chunk_size;
	unsigned typesize;
	size_t nrows, room;
	struct bpk_bench_row *rows; /* owned; once measured, by descending ratio */
};

/* Fails with BPK_USAGE if the format has no codec or filter of a name that the user gave, or a
 * filter loses data. */
int bpk_bench_check(const struct bpk_bench_args *args, struct bpk_err *err);

/* Make all rows of the table, whose args, source and raw size are set, and measure them. Shows
 * progress. Errors do not name the input. */
int bpk_bench_fill(struct bpk_bench_table *table, struct bpk_err *err);

double bpk_bench_ratio(const struct bpk_bench_row *row);
/* In bytes a second. */
double bpk_bench_pack_rate(const struct bpk_bench_row *row);
double bpk_bench_unpack_rate(const struct bpk_bench_row *row);

/* The filters of a row in the syntax of options; "per-chunk" if they differ. Returns out. */
const char *bpk_bench_filter(const struct bpk_bench_row *row, char out[BPK_PIPELINE_TEXT]);

/* Print a table on standard output: for people, as a record, as lines of CSV. */
void bpk_bench_print(const struct bpk_bench_table *table);
void bpk_bench_record(const struct bpk_bench_table *table);
void bpk_bench_csv_titles(void);
void bpk_bench_csv(const struct bpk_bench_table *table);

/* Append the plot, an SVG, to svg. Fails with BPK_NO_MEMORY. */
int bpk_bench_plot(const struct bpk_bench_table *table, struct bpk_buf *svg, struct bpk_err *err);

#endif
