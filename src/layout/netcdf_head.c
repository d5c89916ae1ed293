/*
 * Reading the head of a NetCDF-3 file, for netcdf.c. All numbers are big-endian:
 *
 *     "CDF" version   1: classic, 2: 64-bit offset, 5: 64-bit data (CDF-5)
 *     number of records, or all ones: as many as the file has
 *     dimensions      tag 10, count; each: name, length (0: the record dimension)
 *     attributes      tag 12, count; each: name, type, count, values
 *     variables       tag 11, count; each: name, count and numbers of dimensions, attributes,
 *                     type, size, offset
 *
 * An empty list may have tag 0. Counts and lengths have 4 bytes, in CDF-5 8; offsets have 4 in
 * version 1 only; tags and types always 4. Names and values are padded to 4 bytes. The stored size
 * of a variable is ignored: it follows from the shape, and is wrong where it does not fit.
 *
 * Sources: Unidata's "NetCDF Classic Format Specification"; the CDF-5 format of Parallel netCDF.
 */
#include "layout/netcdf.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	TAG_DIMENSIONS = 10,
	TAG_VARIABLES = 11,
	TAG_ATTRIBUTES = 12,
	TYPE_CHAR = 2,
	MAX_TEXT = 1024, /* bytes of a name, and of an attribute that is kept */
};

const struct bpk_netcdf_type bpk_netcdf_types[12] = {
	{ 0, 0 },   { 'i', 1 }, { 'S', 1 }, { 'i', 2 }, { 'i', 4 }, { 'f', 4 },
	{ 'f', 8 }, { 'u', 1 }, { 'u', 2 }, { 'u', 4 }, { 'i', 8 }, { 'u', 8 },
};

/* A cursor over the file that turns sticky-bad, with the reason in err. */
struct reader {
	struct bpk_source *source;
	uint64_t at, end; /* position in the file, and its size */
	bool wide;        /* CDF-5 */
	bool bad;
	struct bpk_err *err;
	struct bpk_netcdf_head *head;
	uint64_t page_at; /* file offset of page */
	size_t page_size;
	uint8_t page[4096];
};

/* ---- Fields ---- */

static void fill_page(struct reader *r)
{
	r->page_at = r->at;
	r->page_size = 0;
	if (bpk_source_read_at(r->source, r->at, bpk_span(r->page, sizeof r->page), &r->page_size,
			       r->err) != 0)
		r->bad = true;
}

/* The next size bytes, at most MAX_TEXT; NULL on failure. Valid until the next call. */
static const uint8_t *take(struct reader *r, size_t size)
{
	size_t offset;

	if (r->bad)
		return NULL;
	if (r->at - r->page_at > r->page_size || size > r->page_size - (size_t)(r->at - r->page_at))
		fill_page(r);
	offset = (size_t)(r->at - r->page_at);
	if (!r->bad && size > r->page_size - offset)
		r->bad = bpk_fail(r->err, BPK_CORRUPT, "file ends in its head") != 0;
	if (r->bad)
		return NULL;
	r->at += size;
	return r->page + offset;
}

static uint32_t take_u32(struct reader *r)
{
	const uint8_t *p = take(r, 4);

	return p == NULL ? 0 : bpk_get_be32(p);
}

static uint64_t take_u64(struct reader *r)
{
	const uint8_t *p = take(r, 8);

	return p == NULL ? 0 : bpk_get_be64(p);
}

/* A count or a length. */
static uint64_t take_count(struct reader *r)
{
	return r->wide ? take_u64(r) : take_u32(r);
}

static void skip(struct reader *r, uint64_t size)
{
	if (!r->bad && size > r->end - r->at)
		r->bad = bpk_fail(r->err, BPK_CORRUPT, "file ends in its head") != 0;
	if (!r->bad)
		r->at += size;
}

static uint64_t padding_of(uint64_t size)
{
	return -size & 3;
}

/* size bytes and their padding as a cleaned text, owned by the caller; NULL on failure. */
static char *take_text(struct reader *r, uint64_t size)
{
	const uint8_t *p = take(r, (size_t)size);
	char *text;

	if (p == NULL)
		return NULL;
	text = bpk_layout_text(bpk_view(p, (size_t)size), r->err);
	r->bad = text == NULL;
	skip(r, padding_of(size));
	return text;
}

/* A name; NULL on failure. NetCDF's own limit is 256 bytes. */
static char *take_name(struct reader *r)
{
	uint64_t size = take_count(r);
	char *name;

	if (!r->bad && (size == 0 || size > MAX_TEXT))
		r->bad = bpk_fail(r->err, BPK_CORRUPT,
				  "a name of %" PRIu64 " bytes, expected 1 to %d", size,
				  MAX_TEXT) != 0;
	name = take_text(r, size);
	if (!r->bad && name[0] == '\0')
		r->bad = bpk_fail(r->err, BPK_CORRUPT, "a name that begins with a NUL") != 0;
	return name;
}

/* The number of items in a list. Each takes at least 8 bytes of the file, which bounds the
 * loops. */
static uint64_t take_list(struct reader *r, uint32_t expected)
{
	uint32_t tag = take_u32(r);
	uint64_t count = take_count(r);

	if (!r->bad && tag != expected && (tag != 0 || count != 0))
		r->bad = bpk_fail(r->err, BPK_CORRUPT, "a list has the tag %u, expected %u", tag,
				  expected) != 0;
	return count;
}

static uint8_t take_type(struct reader *r)
{
	uint32_t type = take_u32(r);

	if (!r->bad && (type == 0 || type > (r->wide ? 11 : 6)))
		r->bad = bpk_fail(r->err, BPK_CORRUPT, "unknown type %u", type) != 0;
	return r->bad ? TYPE_CHAR : (uint8_t)type;
}

static void add(struct reader *r, struct bpk_buf *list, const void *item, size_t size)
{
	if (!r->bad && bpk_buf_append(list, bpk_view(item, size), r->err) != 0)
		r->bad = true;
}

/* ---- Lists ---- */

static void take_dimensions(struct reader *r)
{
	uint64_t count = take_list(r, TAG_DIMENSIONS);
	bool has_records = false;

	for (uint64_t i = 0; i < count && !r->bad; i++) {
		uint64_t length;

		free(take_name(r));
		length = take_count(r);
		if (!r->bad && length == 0 && has_records)
			r->bad = bpk_fail(r->err, BPK_CORRUPT,
					  "two dimensions have no length of their own") != 0;
		has_records = has_records || length == 0;
		add(r, &r->head->dimensions, &length, sizeof length);
	}
}

static const char *const kept_attributes[] = {
	[BPK_NETCDF_PROGRAM] = "program",
	[BPK_NETCDF_PROGRAM_VERSION] = "programVersion",
	[BPK_NETCDF_CONVENTIONS] = "Conventions",
	[BPK_NETCDF_CONVENTION_VERSION] = "ConventionVersion",
};

/* Keep the text of an attribute that describes the writer. */
static void take_value(struct reader *r, const char *name, uint64_t size)
{
	for (size_t i = 0; i < sizeof kept_attributes / sizeof *kept_attributes; i++)
		if (strcmp(name, kept_attributes[i]) == 0 && r->head->texts[i] == NULL) {
			r->head->texts[i] = take_text(r, size);
			return;
		}
	skip(r, size);
	skip(r, padding_of(size));
}

static void take_attribute(struct reader *r, bool of_file)
{
	char *name = take_name(r);
	uint8_t type = take_type(r);
	uint64_t count = take_count(r), size;

	if (!r->bad && !bpk_mul_u64(count, bpk_netcdf_types[type].size, &size))
		r->bad = bpk_fail(r->err, BPK_CORRUPT, "an attribute of %" PRIu64 " values",
				  count) != 0;
	if (!r->bad && of_file && type == TYPE_CHAR && size <= MAX_TEXT) {
		take_value(r, name, size);
	} else if (!r->bad) {
		skip(r, size);
		skip(r, padding_of(size));
	}
	free(name);
}

static void take_attributes(struct reader *r, bool of_file)
{
	uint64_t count = take_list(r, TAG_ATTRIBUTES);

	for (uint64_t i = 0; i < count && !r->bad; i++)
		take_attribute(r, of_file);
}

/* Read one dimension of a variable. Only the first may be the record dimension. */
static void take_dimension_of(struct reader *r, struct bpk_netcdf_variable *v, bool first)
{
	uint64_t number = take_count(r), length;

	if (!r->bad && number >= r->head->dimensions.size / sizeof length)
		r->bad = bpk_fail(r->err, BPK_CORRUPT,
				  "a variable has dimension %" PRIu64 ", of %zu", number,
				  r->head->dimensions.size / sizeof length) != 0;
	if (r->bad)
		return;
	memcpy(&length, r->head->dimensions.data + (size_t)number * sizeof length, sizeof length);
	if (length == 0 && !first)
		r->bad = bpk_fail(r->err, BPK_CORRUPT,
				  "a variable has the record dimension as an inner one") != 0;
	if (length == 0) {
		v->in_records = true;
		return;
	}
	if (v->ndimensions == BPK_ARRAY_MAX_DIMENSIONS)
		r->bad = bpk_fail(r->err, BPK_LIMIT, "a variable has more than %d dimensions",
				  BPK_ARRAY_MAX_DIMENSIONS) != 0;
	v->ndimensions++;
	add(r, &r->head->shapes, &length, sizeof length);
}

static void set_size(struct reader *r, struct bpk_netcdf_variable *v)
{
	const struct bpk_netcdf_type *type = &bpk_netcdf_types[v->type];
	struct bpk_array array = { 0 };

	if (!r->bad &&
	    bpk_layout_set_array(&array, type->kind, '>', type->size, bpk_netcdf_shape(r->head, v),
				 v->ndimensions, r->err) != 0)
		r->bad = true;
	v->size = array.size;
}

static void take_variable(struct reader *r)
{
	struct bpk_netcdf_variable v = { .name = take_name(r) };
	uint64_t count = take_count(r);

	v.shape = r->head->shapes.size / sizeof(uint64_t);
	for (uint64_t i = 0; i < count && !r->bad; i++)
		take_dimension_of(r, &v, i == 0);
	take_attributes(r, false);
	v.type = take_type(r);
	take_count(r); /* the stored size */
	v.offset = r->head->version == 1 ? take_u32(r) : take_u64(r);
	set_size(r, &v);
	add(r, &r->head->variables, &v, sizeof v);
	if (r->bad)
		free(v.name);
}

static void take_variables(struct reader *r)
{
	uint64_t count = take_list(r, TAG_VARIABLES);

	for (uint64_t i = 0; i < count && !r->bad; i++)
		take_variable(r);
}

/* ---- The whole head ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, so that many names take n log n comparisons. */
static int check_names(const struct bpk_netcdf_head *head, struct bpk_err *err)
{
	size_t count = bpk_netcdf_nvariables(head);
	const char **names;
	int rc = 0;

	if (count < 2)
		return 0;
	names = bpk_calloc(count, sizeof *names, err);
	if (names == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		names[i] = bpk_netcdf_variable_at(head, i)->name;
	qsort(names, count, sizeof *names, compare_names);
	for (size_t i = 1; rc == 0 && i < count; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			rc = bpk_fail(err, BPK_CORRUPT, "two variables are named '%s'", names[i]);
	free(names);
	return rc;
}

static int check_offsets(const struct bpk_netcdf_head *head, struct bpk_err *err)
{
	for (size_t i = 0; i < bpk_netcdf_nvariables(head); i++) {
		const struct bpk_netcdf_variable *v = bpk_netcdf_variable_at(head, i);

		if (v->offset < head->size)
			return bpk_fail(err, BPK_CORRUPT,
					"variable '%s' at offset %" PRIu64
					" lies in the head of %" PRIu64 " "
					"bytes",
					v->name, v->offset, head->size);
	}
	return 0;
}

static void take_head(struct reader *r)
{
	struct bpk_netcdf_head *head = r->head;
	const uint8_t *magic = take(r, 4);

	if (magic != NULL &&
	    (memcmp(magic, "CDF", 3) != 0 || (magic[3] != 1 && magic[3] != 2 && magic[3] != 5)))
		r->bad = bpk_fail(r->err, BPK_CORRUPT,
				  "file does not begin like a NetCDF-3 file") != 0;
	if (r->bad)
		return;
	head->version = magic[3];
	r->wide = head->version == 5;
	head->nrecords = take_count(r);
	if (!r->wide && head->nrecords == UINT32_MAX)
		head->nrecords = BPK_UNKNOWN;
	take_dimensions(r);
	take_attributes(r, true);
	take_variables(r);
	head->size = r->at;
}

int bpk_netcdf_head_read(struct bpk_source *source, struct bpk_netcdf_head *head,
			 struct bpk_err *err)
{
	struct reader *r = bpk_calloc(1, sizeof *r, err);
	bool bad;

	if (r == NULL)
		return -1;
	r->source = source;
	r->end = bpk_source_size(source);
	r->err = err;
	r->head = head;
	take_head(r);
	bad = r->bad;
	free(r);
	if (bad || check_names(head, err) != 0)
		return -1;
	return check_offsets(head, err);
}

void bpk_netcdf_head_clear(struct bpk_netcdf_head *head)
{
	for (size_t i = 0; i < bpk_netcdf_nvariables(head); i++)
		free(bpk_netcdf_variable_at(head, i)->name);
	for (size_t i = 0; i < sizeof head->texts / sizeof *head->texts; i++)
		free(head->texts[i]);
	bpk_buf_clear(&head->dimensions);
	bpk_buf_clear(&head->shapes);
	bpk_buf_clear(&head->variables);
}
