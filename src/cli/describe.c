/* Prints an archive's fields and chunks for people. bpk info calls it; info.c itself writes the
 * JSON. */
#include "cli/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/identity.h"
#include "cli/report.h"
#include "cli/seal.h"
#include "cli/text.h"

const char *bpk_describe_special(const struct bpk_chunk_header *header)
{
	static const char *const names[] = { NULL, "zeros", "nan", "value", "uninit" };

	return names[header->special];
}

const char *bpk_describe_codec(const struct bpk_chunk_header *header)
{
	const struct bpk_codec *codec;

	if (header == NULL)
		return "-";
	if (header->special != BPK_SPECIAL_NONE)
		return bpk_describe_special(header);
	if (header->memcpyed)
		return "stored";
	codec = bpk_codec_of_chunk(header);
	return codec != NULL ? bpk_codec_name(codec) : bpk_codec_format_name(header->codec_format);
}

const char *bpk_describe_filters(const struct bpk_chunk_header *header, char out[BPK_FILTERS_TEXT])
{
	char prediction[BPK_PREDICTION_TEXT], filters[BPK_PIPELINE_TEXT];

	if (header == NULL || header->memcpyed || header->special != BPK_SPECIAL_NONE)
		snprintf(out, BPK_FILTERS_TEXT, "-");
	else if (header->prediction.size == 0)
		bpk_pipeline_print(&header->pipeline, out);
	else
		snprintf(out, BPK_FILTERS_TEXT, "%s,%s",
			 bpk_prediction_print(&header->prediction, prediction),
			 bpk_pipeline_print(&header->pipeline, filters));
	return out;
}

static const struct bpk_chunk_header *first_chunk(const struct bpk_info *info)
{
	return info->chunks.has_first ? &info->chunks.first : NULL;
}

/* A count, "-" when unknown. */
static const char *count_text(uint64_t count, char out[BPK_SIZE_TEXT])
{
	if (count == BPK_UNKNOWN)
		snprintf(out, BPK_SIZE_TEXT, "-");
	else
		snprintf(out, BPK_SIZE_TEXT, "%" PRIu64, count);
	return out;
}

/* ---- lists of archives ---- */

enum { FILTERS_WIDTH = 17 }; /* "shuffle,bytedelta" */

/* In a list the column keeps its width: a longer list of filters is cut and ends in ",...". */
static const char *fit_filters(char filters[BPK_FILTERS_TEXT])
{
	static const char more[] = ",...";
	size_t end = FILTERS_WIDTH - strlen(more);

	if (strlen(filters) <= FILTERS_WIDTH)
		return filters;
	while (end > 0 && filters[end] != ',')
		end--;
	memcpy(filters + end, more, sizeof more);
	return filters;
}

/* The columns that a narrow list leaves out, the first one first. */
enum { CHECKSUM, TYPE, FILTER, CODEC, NDROPPED };
static const size_t widths[NDROPPED] = {
	[CHECKSUM] = 10, [TYPE] = 6, [FILTER] = FILTERS_WIDTH + 2, [CODEC] = 9
};
enum { WIDTH_KEPT = 8 + 12 + 12 + 9 + 2 };

static unsigned nleft_out; /* of these columns */

void bpk_describe_fit(size_t columns, size_t name)
{
	size_t width = WIDTH_KEPT + name;

	nleft_out = 0;
	for (size_t i = 0; i < NDROPPED; i++)
		width += widths[i];
	while (columns > 0 && width > columns && nleft_out < NDROPPED)
		width -= widths[nleft_out++];
}

/* The columns behind the numbers, as far as there is room for them. */
static void print_rest(const char *type, const char *codec, const char *filter,
		       const char *checksum, const char *name)
{
	if (nleft_out <= TYPE)
		printf("  %4s", type);
	if (nleft_out <= CODEC)
		printf("  %-7s", codec);
	if (nleft_out <= FILTER)
		printf("  %-*s", FILTERS_WIDTH, filter);
	if (nleft_out <= CHECKSUM)
		printf("  %-8s", checksum);
	printf("  %s\n", name);
}

void bpk_describe_titles(void)
{
	printf("%8s %11s %11s %8s", "Chunks", "Packed", "Raw", "Ratio");
	print_rest("Type", "Codec", "Filter", "Checksum", "Name");
}

static void print_line(uint64_t chunks, uint64_t packed, uint64_t raw)
{
	char a[BPK_SIZE_TEXT], b[BPK_SIZE_TEXT], c[BPK_SIZE_TEXT], d[BPK_SIZE_TEXT];

	printf("%8s %11s %11s %8s", count_text(chunks, a), bpk_size_text(packed, b),
	       bpk_size_text(raw, c), bpk_ratio_text(raw, packed, d));
}

uint64_t bpk_describe_raw_size(const struct bpk_info *info)
{
	return info->array.chunk_shape != NULL && info->array.type != NULL ? info->array.type->size
									   : info->raw_size;
}

void bpk_describe_line(const struct bpk_input *in)
{
	const struct bpk_info *info = in->info;
	char filters[BPK_FILTERS_TEXT], typesize[BPK_SIZE_TEXT];
	struct bpk_err name = { 0 };

	print_line(info->chunks.count, info->stored_size, bpk_describe_raw_size(info));
	bpk_describe_filters(first_chunk(info), filters);
	print_rest(count_text(info->chunks.typesize > 0 ? info->chunks.typesize : BPK_UNKNOWN,
			      typesize),
		   bpk_describe_codec(first_chunk(info)), fit_filters(filters),
		   info->chunks.checksum->name, bpk_printable(bpk_input_name(in->path), &name));
}

void bpk_describe_totals(uint64_t files, uint64_t chunks, uint64_t packed, uint64_t raw)
{
	char name[BPK_SIZE_TEXT + 8];

	print_line(chunks, packed, raw);
	snprintf(name, sizeof name, "%" PRIu64 " files", files);
	print_rest("", "", "", "", name);
}

/* ---- fields ---- */

static void print_field(const char *name, const char *value)
{
	printf("  %-16s ", name);
	bpk_print_escaped(bpk_view(value, strlen(value)));
	putchar('\n');
}

static void print_count(const char *name, uint64_t count)
{
	char text[BPK_SIZE_TEXT];

	print_field(name, count_text(count, text));
}

/* Exact, and for people behind it where that differs. */
static void print_size(const char *name, uint64_t size)
{
	char text[BPK_SIZE_TEXT];

	if (size == BPK_UNKNOWN)
		print_field(name, "unknown");
	else if (size < 1024)
		printf("  %-16s %" PRIu64 " bytes\n", name, size);
	else
		printf("  %-16s %" PRIu64 " bytes (%s)\n", name, size, bpk_size_text(size, text));
}

static void print_metadata(struct bpk_view text)
{
	printf("  %-16s ", "metadata");
	bpk_print_escaped(text);
	putchar('\n');
}

/* "demo (fixed, 4 bytes), note (17 bytes)" */
static void print_layers(const struct bpk_info *info)
{
	struct bpk_err name = { 0 };

	if (info->metadata.nlayers == 0)
		return;
	printf("  %-16s ", "  layers");
	for (size_t i = 0; i < info->metadata.nlayers; i++) {
		const struct bpk_layer *layer = &info->metadata.layers[i];

		printf("%s%s (%s%zu bytes)", i == 0 ? "" : ", ", bpk_printable(layer->name, &name),
		       layer->fixed ? "fixed, " : "", layer->content.size);
	}
	putchar('\n');
}

/* False, which is said, if the user has none. */
static bool print_users_metadata(const struct bpk_info *info)
{
	struct bpk_buf less = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_view text;
	bool has;

	if (bpk_identity_users(info, &less, &text, &err) != 0)
		bpk_report(NULL, &err);
	has = text.size > 0;
	if (has)
		print_metadata(text);
	else
		print_field("metadata", "none");
	bpk_buf_clear(&less);
	return has;
}

static void print_metadata_fields(const struct bpk_info *info)
{
	if (!print_users_metadata(info))
		return;
	if (info->metadata.stored_size != BPK_UNKNOWN)
		print_size("  stored in", info->metadata.stored_size);
	if (info->metadata.room != BPK_UNKNOWN)
		print_size("  room for", info->metadata.room);
	print_layers(info);
	if (info->metadata.nlayers == 0)
		print_field("  codec",
			    info->metadata.codec != NULL ? info->metadata.codec : "none");
	print_field("  checksum",
		    info->metadata.checksum != NULL ? info->metadata.checksum->name : "none");
}

static void print_seal(const struct bpk_info *info)
{
	char root[BPK_DIGEST_TEXT];

	if (!info->seal.sealed)
		return;
	print_field("seal", bpk_seal_print(&info->seal, root));
	print_count("generation", info->seal.generation);
}

/* "2 x 3"; a single element has no dimensions. */
static void print_shape(const char *name, const uint64_t *shape, size_t ndimensions,
			const char *behind)
{
	printf("  %-16s ", name);
	for (size_t i = 0; i < ndimensions; i++)
		printf(i == 0 ? "%" PRIu64 : " x %" PRIu64, shape[i]);
	puts(ndimensions == 0 ? "one element" : behind);
}

static void print_array(const struct bpk_info *info)
{
	const struct bpk_array *array = info->array.type;
	struct bpk_buf dtype = { 0 };
	struct bpk_err err = { 0 };

	if (array == NULL)
		return;
	if (bpk_dtype_print(&array->dtype, &dtype, &err) == 0 &&
	    bpk_buf_append(&dtype, bpk_view("", 1), &err) == 0)
		print_field("dtype", (const char *)dtype.data);
	else
		bpk_report(NULL, &err);
	bpk_buf_clear(&dtype);
	print_shape("shape", array->shape, array->ndimensions,
		    array->fortran ? ", order F" : ", order C");
	if (info->array.chunk_shape == NULL)
		return;
	print_shape("chunk shape", info->array.chunk_shape, array->ndimensions, "");
	print_shape("block shape", info->array.block_shape, array->ndimensions, "");
}

/* The fields of directories alone. */
static void print_files(const struct bpk_info *info)
{
	if (info->directory.nfiles > 0)
		print_count("data files", info->directory.nfiles);
	if (info->directory.superchunk_chunks == 0)
		return;
	print_count("chunks in each", info->directory.superchunk_chunks);
	if (info->directory.ncolumns > 0)
		print_count("columns", info->directory.ncolumns);
}

static void print_first_chunk(const struct bpk_info *info)
{
	const struct bpk_chunk_header *header = first_chunk(info);
	char filters[BPK_FILTERS_TEXT];

	if (header == NULL)
		return;
	print_field("codec", bpk_describe_codec(header));
	print_field("filter", bpk_describe_filters(header, filters));
	if (header->dictionary)
		print_field("dictionary", "yes");
	if (header->variable_blocks) {
		print_count("variable blocks", header->nblocks);
		return;
	}
	print_size("block size", header->block_size);
	print_field("split blocks", header->split ? "yes" : "no");
}

static void print_identity(const struct bpk_info *info)
{
	char text[BPK_DIGEST_TEXT];
	struct bpk_err err = { 0 };
	bool fits;

	if (bpk_identity_print(info, bpk_describe_raw_size(info), text, &fits, &err) != 0)
		bpk_report(NULL, &err);
	if (!fits || text[0] != '\0')
		print_field("identity", fits ? text : "of another content");
}

void bpk_describe_fields(const struct bpk_input *in)
{
	const struct bpk_info *info = in->info;
	uint64_t raw_size = bpk_describe_raw_size(info);
	struct bpk_err name = { 0 };
	char text[BPK_SIZE_TEXT];

	printf("%s\n", bpk_printable(bpk_input_name(in->path), &name));
	if (in->format == &bpk_format_raw) {
		print_size("size", raw_size);
		return;
	}
	printf("  %-16s %s%s%s\n", "format", info->format, info->variant != NULL ? ", " : "",
	       info->variant != NULL ? info->variant : "");
	print_size("packed size", info->stored_size);
	print_size("raw size", raw_size);
	print_field("ratio", bpk_ratio_text(raw_size, info->stored_size, text));
	if (info->members > 1 && info->members != BPK_UNKNOWN)
		print_count("members", info->members);
	print_count("chunks", info->chunks.count);
	if (info->chunks.runs != NULL)
		print_field("chunk size", "varies");
	else
		print_size("chunk size", info->chunks.size);
	print_size("last chunk", info->chunks.last_size);
	print_files(info);
	print_array(info);
	if (info->chunks.runs != NULL && info->chunks.typesize == 0)
		print_field("typesize", "varies");
	else if (info->directory.ncolumns > 0 && info->chunks.typesize == 0)
		print_field("typesize", "that of each column");
	else
		print_count("typesize", info->chunks.typesize);
	print_first_chunk(info);
	print_field("checksum", info->chunks.checksum->name);
	print_field("offsets", info->chunks.has_offsets ? "yes" : "no");
	if (info->hole_size > 0 && info->hole_size != BPK_UNKNOWN)
		print_size("holes", info->hole_size);
	print_count("append space", info->chunks.append_space);
	print_metadata_fields(info);
	print_seal(info);
	print_identity(info);
	if (info->pending)
		print_field("pending", "a writer died; this is what it had committed before");
}

void bpk_describe_prediction(uint64_t nchunks)
{
	if (nchunks > 0 && nchunks != BPK_UNKNOWN)
		printf("  %-16s %" PRIu64 " chunk%s; bpk alone can unpack that, other readers of "
		       "Blosc2 refuse it\n",
		       "prediction", nchunks, nchunks == 1 ? "" : "s");
}

/* ---- chunks ---- */

void bpk_describe_chunk_titles(const struct bpk_info *info)
{
	printf("  %8s %14s %14s %11s %11s %8s  %4s %10s  %-7s  %-*s  %s\n", "Chunk", "Offset",
	       "Raw offset", "Packed", "Raw", "Ratio", "Type", "Block", "Codec", FILTERS_WIDTH,
	       "Filter", info->chunks.checksum->size > 0 ? info->chunks.checksum->name : "");
}

void bpk_describe_chunk(const struct bpk_info *info, uint64_t number, const struct bpk_where *where,
			uint64_t more)
{
	const struct bpk_chunk_header *header = &where->header;
	char filters[BPK_FILTERS_TEXT], ratio[BPK_SIZE_TEXT], packed[BPK_SIZE_TEXT];
	char digest[BPK_DIGEST_TEXT], offset[BPK_SIZE_TEXT];

	printf("  %8" PRIu64 " %14s %14s %11" PRIu32 " %11" PRIu32 " %8s  %4u %10" PRIu32
	       "  %-7s  %-*s  %s\n",
	       number, count_text(where->packed_offset, packed),
	       count_text(where->raw_offset, offset), header->packed_size, header->raw_size,
	       bpk_ratio_text(header->raw_size, header->packed_size, ratio), header->typesize,
	       header->block_size, bpk_describe_codec(header), FILTERS_WIDTH,
	       bpk_describe_filters(header, filters),
	       where->packed_offset == BPK_UNKNOWN
		       ? ""
		       : bpk_digest_print(where->digest, info->chunks.checksum->size, digest));
	if (more > 0)
		printf("  %8s %" PRIu64 " more chunks like it\n", "", more);
}
