/* Prints the tables of bpk bench. bench.c calls it. */
#include "cli/bench.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/record.h"
#include "cli/report.h"
#include "cli/text.h"

double bpk_bench_ratio(const struct bpk_bench_row *row)
{
	return (double)row->raw_size / (double)row->packed_size;
}

double bpk_bench_pack_rate(const struct bpk_bench_row *row)
{
	return (double)row->raw_size / row->pack_seconds;
}

double bpk_bench_unpack_rate(const struct bpk_bench_row *row)
{
	return (double)row->raw_size / row->unpack_seconds;
}

const char *bpk_bench_filter(const struct bpk_bench_row *row, char out[BPK_PIPELINE_TEXT])
{
	if (!row->varies)
		return bpk_pipeline_print(&row->recipe.pipeline, out);
	snprintf(out, BPK_PIPELINE_TEXT, "per-chunk");
	return out;
}

/* ---- For people ---- */

enum { MARKS_TEXT = 32 };

/* "default,pack,unpack"; "-" without a mark. */
static const char *marks_of(const struct bpk_bench_row *row, char out[MARKS_TEXT])
{
	snprintf(out, MARKS_TEXT, "%s%s%s", row->chosen ? ",default" : "",
		 row->on_pack_front ? ",pack" : "", row->on_unpack_front ? ",unpack" : "");
	return out[0] == '\0' ? "-" : out + 1;
}

/* "a.npy: 64.0 MiB of 1.2 GiB in 64 chunks of 1.0 MiB, ..." */
static void print_head(const struct bpk_bench_table *table)
{
	unsigned threads = bpk_shared_threads(&table->args->common.shared);
	char measured[BPK_SIZE_TEXT], raw[BPK_SIZE_TEXT], chunk[BPK_SIZE_TEXT];
	struct bpk_err name = { 0 };

	printf("%s: %s%s", bpk_printable(bpk_input_name(table->in.path), &name),
	       table->raw_size == BPK_UNKNOWN && !table->whole ? "the first " : "",
	       bpk_size_text(table->measured, measured));
	if (table->raw_size != BPK_UNKNOWN && !table->whole)
		printf(" of %s", bpk_size_text(table->raw_size, raw));
	printf(" in %zu chunk%s of %s, typesize %u, format %s, %u thread%s\n", table->nchunks,
	       table->nchunks == 1 ? "" : "s", bpk_size_text(table->chunk_size, chunk),
	       table->typesize, table->args->format->name, threads, threads == 1 ? "" : "s");
}

static int width_of_filters(const struct bpk_bench_table *table)
{
	char filter[BPK_PIPELINE_TEXT];
	size_t width = strlen("Filter");

	for (size_t i = 0; i < table->nrows; i++)
		width = bpk_max_u64(width, strlen(bpk_bench_filter(&table->rows[i], filter)));
	return (int)width;
}

void bpk_bench_print(const struct bpk_bench_table *table)
{
	int width = width_of_filters(table);
	char filter[BPK_PIPELINE_TEXT], marks[MARKS_TEXT];

	print_head(table);
	printf("%9s %10s %11s %9s %11s  %-7s  %5s  %-*s  %s\n", "Ratio", "Pack-MB/s", "Unpack-MB/s",
	       "Pack-KiB", "Unpack-KiB", "Codec", "Level", width, "Filter", "Mark");
	for (size_t i = 0; i < table->nrows; i++) {
		const struct bpk_bench_row *row = &table->rows[i];

		printf("%9.3f %10.1f %11.1f %9" PRIu64 " %11" PRIu64 "  %-7s  %5u  %-*s  %s\n",
		       bpk_bench_ratio(row), bpk_bench_pack_rate(row) / 1e6,
		       bpk_bench_unpack_rate(row) / 1e6, bpk_div_up(row->pack_memory, 1024),
		       bpk_div_up(row->unpack_memory, 1024), bpk_codec_name(row->recipe.codec),
		       row->recipe.level, width, bpk_bench_filter(row, filter),
		       marks_of(row, marks));
	}
	bpk_flush_results();
}

/* ---- JSON ---- */

static void record_row(const struct bpk_bench_row *row)
{
	char filter[BPK_PIPELINE_TEXT];

	bpk_record_item_begin();
	bpk_record_text("codec", bpk_codec_name(row->recipe.codec));
	bpk_record_u64("level", row->recipe.level);
	bpk_record_text("filter", bpk_bench_filter(row, filter));
	bpk_record_bool("default", row->chosen);
	bpk_record_u64("raw_size", row->raw_size);
	bpk_record_u64("packed_size", row->packed_size);
	bpk_record_u64("pack_rate", (uint64_t)bpk_bench_pack_rate(row));
	bpk_record_u64("unpack_rate", (uint64_t)bpk_bench_unpack_rate(row));
	bpk_record_u64("pack_memory", row->pack_memory);
	bpk_record_u64("unpack_memory", row->unpack_memory);
	bpk_record_bool("pack_front", row->on_pack_front);
	bpk_record_bool("unpack_front", row->on_unpack_front);
	bpk_record_item_end();
}

void bpk_bench_record(const struct bpk_bench_table *table)
{
	bpk_record_begin("bench", table->in.path);
	bpk_record_text("format", table->args->format->name);
	bpk_record_u64("raw_size", table->raw_size);
	bpk_record_u64("measured_size", table->measured);
	bpk_record_u64("nchunks", table->nchunks);
	bpk_record_u64("chunk_size", table->chunk_size);
	bpk_record_u64("typesize", table->typesize);
	bpk_record_u64("threads", bpk_shared_threads(&table->args->common.shared));
	bpk_record_list_begin("rows");
	for (size_t i = 0; i < table->nrows; i++)
		record_row(&table->rows[i]);
	bpk_record_list_end();
	bpk_record_end();
}

/* ---- CSV (RFC 4180) ---- */

/* A field in quotes, which are doubled inside. */
static void print_field(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	fputs("\",", stdout);
}

void bpk_bench_csv_titles(void)
{
	puts("path,filter,codec,level,format,typesize,chunk_size,threads,raw_size,packed_size,"
	     "ratio,pack_rate,unpack_rate,pack_memory,unpack_memory,default,pack_front,"
	     "unpack_front");
}

static void print_csv(const struct bpk_bench_table *table, const struct bpk_bench_row *row)
{
	printf("%s,%u,%s,%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%.6g,%.0f,%.0f,%" PRIu64
	       ",%" PRIu64 ",%d,%d,%d\n",
	       bpk_codec_name(row->recipe.codec), row->recipe.level, table->args->format->name,
	       table->typesize, table->chunk_size, bpk_shared_threads(&table->args->common.shared),
	       row->raw_size, row->packed_size, bpk_bench_ratio(row), bpk_bench_pack_rate(row),
	       bpk_bench_unpack_rate(row), row->pack_memory, row->unpack_memory, row->chosen,
	       row->on_pack_front, row->on_unpack_front);
}

void bpk_bench_csv(const struct bpk_bench_table *table)
{
	char filter[BPK_PIPELINE_TEXT];
	struct bpk_err name = { 0 };

	bpk_printable(table->in.path, &name);
	for (size_t i = 0; i < table->nrows; i++) {
		print_field(name.text);
		print_field(bpk_bench_filter(&table->rows[i], filter));
		print_csv(table, &table->rows[i]);
	}
	bpk_flush_results();
}
