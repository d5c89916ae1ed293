/*
 * Reads and writes sizes, and reads storage ("meta files", "JSON values as bcolz writes them").
 * Called by load.c, concurrent.c, stage.c and writer.c.
 */
#include "format/chunkdir/meta.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Files ---- */

int bpk_chunkdir_read(struct bpk_dir *dir, const char *name, uint64_t limit, struct bpk_buf *text,
		      struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	uint64_t size;
	int rc = -1;

	text->size = 0;
	if (bpk_dir_source(dir, name, &source, err) != 0)
		return -1; /* the error names the file */
	size = bpk_source_size(source);
	if (size > limit)
		bpk_fail(err, BPK_LIMIT, "has %" PRIu64 " bytes, at most %" PRIu64 " are accepted",
			 size, limit);
	else if (bpk_buf_resize(text, (size_t)size, err) == 0 &&
		 bpk_source_need_at(source, 0, bpk_span(text->data, (size_t)size), err) == 0)
		rc = 0;
	bpk_source_close(source);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", name);
}

/* ---- JSON ---- */

/* Other writers leave bare NaN and Infinity in fill values only. */
static int refuse_nan(struct bpk_view value, struct bpk_err *err)
{
	enum bpk_json_kind kind = bpk_json_kind(value);
	struct bpk_view key, part;

	if (kind == BPK_JSON_NUMBER && (memchr(value.data, 'N', value.size) != NULL ||
					memchr(value.data, 'I', value.size) != NULL))
		return bpk_fail(err, BPK_CORRUPT, "'%.*s' is valid in a fill value only",
				(int)value.size, (const char *)value.data);
	for (size_t at = 0; bpk_json_next(value, &at, &key, &part);)
		if (!bpk_json_string_is(key, "dflt") && refuse_nan(part, err) != 0)
			return -1;
	return 0;
}

int bpk_chunkdir_check_object(struct bpk_view text, struct bpk_err *err)
{
	if (bpk_json_check(text, err) != 0)
		return -1;
	if (bpk_json_kind(text) != BPK_JSON_OBJECT)
		return bpk_fail(err, BPK_CORRUPT, "holds no JSON object");
	return refuse_nan(text, err);
}

/* Errors from the parsers of types and shapes mean damage here. */
static int as_damage(struct bpk_err *err)
{
	if (err != NULL && err->kind == BPK_USAGE)
		err->kind = BPK_CORRUPT;
	return -1;
}

static int refuse_value(const char *key, struct bpk_view value, const char *expected,
			struct bpk_err *err)
{
	if (value.size == 0)
		return bpk_fail(err, BPK_CORRUPT, "has no \"%s\", expected %s", key, expected);
	return bpk_fail(err, BPK_CORRUPT, "\"%s\" is %.*s, expected %s", key,
			(int)bpk_min_size(value.size, 40), (const char *)value.data, expected);
}

/* ---- sizes ---- */

/* Parse exactly ndigits hexadecimal digits in lower case, in quotes. */
static bool parse_hex(struct bpk_view value, size_t ndigits, uint64_t *number)
{
	*number = 0;
	if (value.size != ndigits + 2 || value.data[0] != '"')
		return false;
	for (size_t i = 1; i <= ndigits; i++) {
		uint8_t byte = value.data[i];

		if (byte >= '0' && byte <= '9')
			*number = *number << 4 | (byte - (unsigned)'0');
		else if (byte >= 'a' && byte <= 'f')
			*number = *number << 4 | (byte - (unsigned)'a' + 10);
		else
			return false;
	}
	return true;
}

static int parse_digests(struct bpk_view object, struct bpk_chunkdir_digests *d, uint32_t *own,
			 struct bpk_err *err)
{
	static const struct {
		const char *key;
		size_t ndigits;
		bool optional;
	} rows[] = { { "data", 16, false },
		     { "last", 16, false },
		     { "storage", 8, false },
		     { "sizes", 8, false },
		     { "attributes", 8, true } };
	uint64_t numbers[5] = { 0 };

	for (size_t i = 0; i < 5; i++) {
		struct bpk_view value = bpk_json_member(object, rows[i].key);

		if (rows[i].optional && value.size == 0)
			continue;
		if (!parse_hex(value, rows[i].ndigits, &numbers[i]))
			return refuse_value(rows[i].key, value, "a digest in hexadecimal", err);
		d->has_attributes = rows[i].optional;
	}
	d->given = true;
	d->data = numbers[0];
	d->last = numbers[1];
	d->storage = (uint32_t)numbers[2];
	d->attributes = (uint32_t)numbers[4];
	*own = (uint32_t)numbers[3];
	return 0;
}

static int check_digests(struct bpk_view object, struct bpk_chunkdir_sizes *sizes,
			 struct bpk_err *err)
{
	uint8_t numbers[BPK_CHUNKDIR_NUMBERS];
	uint32_t own = 0;

	if (parse_digests(object, &sizes->digests, &own, err) != 0)
		return -1;
	return bpk_chunkdir_check_crc(bpk_chunkdir_sizes_numbers(sizes, numbers), own, err);
}

/* bcolz writes an estimate or nonsense: anything but an integer is unknown. */
static uint64_t parse_cbytes(struct bpk_view value)
{
	uint64_t cbytes;

	return bpk_json_u64(value, &cbytes) ? cbytes : BPK_UNKNOWN;
}

int bpk_chunkdir_sizes_parse(struct bpk_view text, bool no_check, struct bpk_chunkdir_sizes *sizes,
			     struct bpk_err *err)
{
	struct bpk_view value;

	*sizes = (struct bpk_chunkdir_sizes){ .nbytes = BPK_UNKNOWN };
	if (bpk_chunkdir_check_object(text, err) != 0)
		return -1;
	value = bpk_json_member(text, "shape");
	if (bpk_json_kind(value) != BPK_JSON_LIST)
		return refuse_value("shape", value, "a list of integers", err);
	if (bpk_array_read_shape(value, sizes->shape, &sizes->ndimensions, err) != 0)
		return as_damage(err);
	if (sizes->ndimensions == 0)
		return bpk_fail(err, BPK_CORRUPT, "\"shape\" is empty, expected at least the rows");
	value = bpk_json_member(text, "nbytes");
	if (value.size > 0 && !bpk_json_u64(value, &sizes->nbytes))
		return refuse_value("nbytes", value, "an integer from 0 to 2^63-1", err);
	sizes->cbytes = parse_cbytes(bpk_json_member(text, "cbytes"));
	value = bpk_json_member(text, "bpk");
	sizes->by_bpk = value.size > 0;
	if (no_check || value.size == 0)
		return 0;
	return check_digests(value, sizes, err);
}

static int print_digests(const struct bpk_chunkdir_sizes *sizes, struct bpk_buf *out,
			 struct bpk_err *err)
{
	const struct bpk_chunkdir_digests *d = &sizes->digests;
	uint8_t numbers[BPK_CHUNKDIR_NUMBERS];
	uint32_t own = bpk_chunkdir_crc(bpk_chunkdir_sizes_numbers(sizes, numbers));

	if (bpk_buf_printf(out, err,
			   ", \"bpk\": {\"data\": \"%016" PRIx64 "\", \"last\": \"%016" PRIx64
			   "\", \"storage\": \"%08" PRIx32 "\", ",
			   d->data, d->last, d->storage) != 0)
		return -1;
	if (d->has_attributes &&
	    bpk_buf_printf(out, err, "\"attributes\": \"%08" PRIx32 "\", ", d->attributes) != 0)
		return -1;
	return bpk_buf_printf(out, err, "\"sizes\": \"%08" PRIx32 "\"}", own);
}

int bpk_chunkdir_sizes_print(const struct bpk_chunkdir_sizes *sizes, struct bpk_buf *out,
			     struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, "{\"shape\": [") != 0)
		return -1;
	for (size_t i = 0; i < sizes->ndimensions; i++)
		if (bpk_buf_printf(out, err, i == 0 ? "%" PRIu64 : ", %" PRIu64, sizes->shape[i]) !=
		    0)
			return -1;
	if (bpk_buf_printf(out, err, "], \"nbytes\": %" PRIu64 ", \"cbytes\": %" PRIu64,
			   sizes->nbytes, sizes->cbytes) != 0)
		return -1;
	if (sizes->digests.given && print_digests(sizes, out, err) != 0)
		return -1;
	return bpk_buf_printf(out, err, "}\n");
}

/* ---- storage ---- */

/* Parse one of two words; *second: it is the second one. A missing key means the first. */
static int parse_word(struct bpk_view text, const char *key, const char *const words[2],
		      bool *second, struct bpk_err *err)
{
	struct bpk_view value = bpk_json_member(text, key);

	*second = bpk_json_string_is(value, words[1]);
	if (value.size == 0 || *second || bpk_json_string_is(value, words[0]))
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "\"%s\" is %.*s, expected \"%s\" or \"%s\"", key,
			(int)bpk_min_size(value.size, 40), (const char *)value.data, words[0],
			words[1]);
}

/* Parse dtype: text in a string, an object {"name": type} or a list of [name, type] pairs. */
static int parse_dtype(struct bpk_view text, struct bpk_dtype *dtype, struct bpk_err *err)
{
	static const char *const orders[] = { "little", "big" };
	struct bpk_view value = bpk_json_member(text, "dtype");
	enum bpk_json_kind kind = bpk_json_kind(value);
	struct bpk_buf string = { 0 };
	bool big;
	int rc;

	if (kind != BPK_JSON_STRING && kind != BPK_JSON_LIST && kind != BPK_JSON_OBJECT)
		return refuse_value("dtype", value, "a type", err);
	if (parse_word(text, "endianness", orders, &big, err) != 0)
		return -1;
	rc = kind == BPK_JSON_STRING ? bpk_json_string(value, &string, err) : 0;
	if (rc == 0)
		rc = bpk_dtype_parse_native(kind == BPK_JSON_STRING ? bpk_buf_view(&string) : value,
					    big ? '>' : '<', dtype, err);
	bpk_buf_clear(&string);
	return rc == 0 ? 0 : as_damage(err);
}

static int parse_chunk_rows(struct bpk_view text, uint64_t *rows, struct bpk_err *err)
{
	struct bpk_view value = bpk_json_member(text, "chunklen"), first;
	const char *key = "chunklen";
	size_t at = 0;

	if (value.size == 0) {
		first = bpk_json_member(text, "chunkshape");
		if (bpk_json_next(first, &at, NULL, &value))
			key = "chunkshape";
	}
	if (!bpk_json_u64(value, rows) || *rows == 0)
		return refuse_value(key, value, "an integer from 1 to 2^63-1", err);
	return 0;
}

int bpk_chunkdir_storage_parse(struct bpk_view text, struct bpk_chunkdir_storage *storage,
			       struct bpk_err *err)
{
	static const char *const orders[] = { "C", "F" };
	struct bpk_view value;

	*storage = (struct bpk_chunkdir_storage){ 0 };
	if (bpk_chunkdir_check_object(text, err) != 0 ||
	    parse_chunk_rows(text, &storage->chunk_rows, err) != 0 ||
	    parse_word(text, "order", orders, &storage->fortran, err) != 0)
		return -1;
	value = bpk_json_member(text, "superchunksize");
	if (value.size > 0 &&
	    (!bpk_json_u64(value, &storage->superchunk_chunks) || storage->superchunk_chunks == 0))
		return refuse_value("superchunksize", value, "an integer from 1 to 2^63-1", err);
	storage->blz = bpk_json_member(text, "cparams").size == 0 &&
		       bpk_json_member(text, "bparams").size > 0;
	return parse_dtype(text, &storage->dtype, err);
}

void bpk_chunkdir_storage_clear(struct bpk_chunkdir_storage *storage)
{
	bpk_dtype_clear(&storage->dtype);
	*storage = (struct bpk_chunkdir_storage){ 0 };
}
