/*
 * The member NetCDF-3: named variables. Its row is in layouts.c. Fixed variables come first, each
 * contiguous; then records, each with a piece of every variable whose first dimension is the record
 * dimension.
 *
 *     head | fixed a | fixed b | record 0: c d | record 1: c d | ...
 *
 * A record is a frame. Pieces are padded to 4 bytes, except if only one variable has records. The
 * number of records is that in the head, limited to those in the file.
 *
 * Source: Unidata's "NetCDF Classic Format Specification".
 */
#include "layout/netcdf.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct netcdf {
	struct bpk_netcdf_head head;
	/* size_t each: numbers of the variables whose bytes the file has */
	struct bpk_buf fixed, in_records;
	uint64_t record_size;
	uint64_t nrecords; /* complete ones */
	char *application, *schema;
	struct bpk_err damage;
	struct bpk_array array; /* of the last item returned */
};

static size_t nvariables(const struct bpk_buf *list)
{
	return list->size / sizeof(size_t);
}

static const struct bpk_netcdf_variable *variable_of(const struct netcdf *netcdf,
						     const struct bpk_buf *list, size_t i)
{
	size_t number;

	memcpy(&number, list->data + i * sizeof number, sizeof number);
	return bpk_netcdf_variable_at(&netcdf->head, number);
}

static bool netcdf_probe(struct bpk_view head, uint64_t size)
{
	(void)size;
	return head.size >= 32 && memcmp(head.data, "CDF", 3) == 0 &&
	       (head.data[3] == 1 || head.data[3] == 2 || head.data[3] == 5);
}

/* ---- Opening ---- */

/* The place for a report of damage; NULL if one is recorded already. */
static struct bpk_err *damage_of(struct netcdf *netcdf)
{
	return netcdf->damage.kind == BPK_OK ? &netcdf->damage : NULL;
}

static int sort_variables(struct netcdf *netcdf, uint64_t file_size, struct bpk_err *err)
{
	for (size_t i = 0; i < bpk_netcdf_nvariables(&netcdf->head); i++) {
		const struct bpk_netcdf_variable *v = bpk_netcdf_variable_at(&netcdf->head, i);

		if (!v->in_records && !bpk_layout_fits(file_size, v->offset, v->size)) {
			bpk_fail(damage_of(netcdf), BPK_CORRUPT,
				 "variable '%s' is cut short: %" PRIu64 " bytes at offset %" PRIu64,
				 v->name, v->size, v->offset);
			continue;
		}
		if (bpk_buf_append(v->in_records ? &netcdf->in_records : &netcdf->fixed,
				   bpk_view(&i, sizeof i), err) != 0)
			return -1;
	}
	return 0;
}

/* The size of a record: all pieces with their padding; a single piece has no padding. */
static int set_record_size(struct netcdf *netcdf, struct bpk_err *err)
{
	size_t count = nvariables(&netcdf->in_records);

	for (size_t i = 0; i < count; i++) {
		uint64_t size = variable_of(netcdf, &netcdf->in_records, i)->size;

		if (count > 1)
			size += -size & 3; /* it is below 2^63 */
		if (!bpk_add_u64(netcdf->record_size, size, &netcdf->record_size))
			return bpk_fail(err, BPK_CORRUPT, "a record has 2^64 bytes or more");
	}
	return 0;
}

/* Count the records that are complete for every variable; the last padding may be missing. */
static void count_records(struct netcdf *netcdf, uint64_t file_size)
{
	uint64_t claimed = netcdf->head.nrecords, there = claimed;

	for (size_t i = 0; i < nvariables(&netcdf->in_records); i++) {
		const struct bpk_netcdf_variable *v = variable_of(netcdf, &netcdf->in_records, i);
		uint64_t records = 0;

		if (bpk_layout_fits(file_size, v->offset, v->size))
			records = 1 + (file_size - v->offset - v->size) / netcdf->record_size;
		there = bpk_min_u64(there, records);
	}
	netcdf->nrecords = there;
	if (claimed != BPK_UNKNOWN && there < claimed)
		bpk_fail(damage_of(netcdf), BPK_CORRUPT,
			 "record %" PRIu64 " of %" PRIu64 " is cut short", there, claimed);
}

/* Join two attributes to "NAME VERSION"; NULL without an error if there is no name. */
static int join_texts(const char *name, const char *version, char **text, struct bpk_err *err)
{
	struct bpk_buf joined = { 0 };
	int rc;

	if (name == NULL || name[0] == '\0')
		return 0;
	rc = version == NULL ? bpk_buf_printf(&joined, err, "%s", name)
			     : bpk_buf_printf(&joined, err, "%s %s", name, version);
	if (rc == 0)
		rc = bpk_buf_append(&joined, bpk_view("", 1), err);
	if (rc == 0)
		*text = bpk_strdup((const char *)joined.data, err);
	bpk_buf_clear(&joined);
	return rc == 0 && *text != NULL ? 0 : -1;
}

static int fill_info(struct netcdf *netcdf, struct bpk_layout_info *info, struct bpk_err *err)
{
	char **texts = netcdf->head.texts;
	uint8_t version = netcdf->head.version;

	info->kind = "netcdf";
	info->variant = version == 1 ? "classic" : version == 2 ? "64-bit offset" : "64-bit data";
	info->narrays = nvariables(&netcdf->fixed);
	if (netcdf->record_size > 0) {
		info->nframes = netcdf->nrecords;
		info->narrays += netcdf->nrecords * nvariables(&netcdf->in_records);
	}
	if (netcdf->damage.kind != BPK_OK)
		info->damage = netcdf->damage.text;
	if (join_texts(texts[BPK_NETCDF_PROGRAM], texts[BPK_NETCDF_PROGRAM_VERSION],
		       &netcdf->application, err) != 0 ||
	    join_texts(texts[BPK_NETCDF_CONVENTIONS], texts[BPK_NETCDF_CONVENTION_VERSION],
		       &netcdf->schema, err) != 0)
		return -1;
	info->application = netcdf->application;
	info->schema = netcdf->schema;
	return 0;
}

static int load(struct netcdf *netcdf, struct bpk_source *source, struct bpk_layout_info *info,
		struct bpk_err *err)
{
	uint64_t size = bpk_source_size(source);

	if (bpk_netcdf_head_read(source, &netcdf->head, err) != 0 ||
	    sort_variables(netcdf, size, err) != 0 || set_record_size(netcdf, err) != 0)
		return -1;
	if (netcdf->record_size > 0)
		count_records(netcdf, size);
	return fill_info(netcdf, info, err);
}

static void netcdf_close(void *own)
{
	struct netcdf *netcdf = own;

	bpk_netcdf_head_clear(&netcdf->head);
	bpk_buf_clear(&netcdf->fixed);
	bpk_buf_clear(&netcdf->in_records);
	free(netcdf->application);
	free(netcdf->schema);
	free(netcdf);
}

static int netcdf_open(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		       struct bpk_err *err)
{
	struct netcdf *netcdf = bpk_calloc(1, sizeof *netcdf, err);

	if (netcdf == NULL)
		return -1;
	if (load(netcdf, source, info, err) != 0) {
		netcdf_close(netcdf);
		return -1;
	}
	*own = netcdf;
	return 0;
}

/* ---- Arrays ---- */

/* record is BPK_UNKNOWN for fixed variables. */
static int give(struct netcdf *netcdf, const struct bpk_netcdf_variable *v, uint64_t record,
		struct bpk_item *item, struct bpk_err *err)
{
	const struct bpk_netcdf_type *type = &bpk_netcdf_types[v->type];

	item->name = v->name;
	item->frame = record;
	item->array = &netcdf->array;
	item->offset = v->offset;
	if (record != BPK_UNKNOWN)
		item->offset += record * netcdf->record_size;
	return bpk_layout_set_array(&netcdf->array, type->kind, '>', type->size,
				    bpk_netcdf_shape(&netcdf->head, v), v->ndimensions, err);
}

/* Fixed variables first, then record by record. */
static int netcdf_get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct netcdf *netcdf = own;
	size_t nfixed = nvariables(&netcdf->fixed), each = nvariables(&netcdf->in_records);

	if (number < nfixed)
		return give(netcdf, variable_of(netcdf, &netcdf->fixed, (size_t)number),
			    BPK_UNKNOWN, item, err);
	number -= nfixed;
	assert(each > 0 && number / each < netcdf->nrecords);
	return give(netcdf, variable_of(netcdf, &netcdf->in_records, (size_t)(number % each)),
		    number / each, item, err);
}

static int netcdf_find(void *own, const char *name, uint64_t frame, bool defaults,
		       struct bpk_item *item, struct bpk_err *err)
{
	struct netcdf *netcdf = own;
	const struct bpk_buf *lists[2] = { &netcdf->fixed, &netcdf->in_records };

	(void)defaults;
	for (int l = 0; l < (frame == BPK_UNKNOWN ? 1 : 2); l++)
		for (size_t i = 0; i < nvariables(lists[l]); i++) {
			const struct bpk_netcdf_variable *v = variable_of(netcdf, lists[l], i);

			if (strcmp(v->name, name) == 0)
				return give(netcdf, v, l == 0 ? BPK_UNKNOWN : frame, item, err);
		}
	return 1;
}

/* The count follows the magic: 8 bytes in version 5, 4 in others. */
static size_t netcdf_parts(const void *own, struct bpk_layout_part parts[BPK_LAYOUT_PARTS])
{
	const struct netcdf *netcdf = own;
	uint64_t size = netcdf->head.version == 5 ? 8 : 4;

	parts[0] = (struct bpk_layout_part){ "record count", 4, size, false };
	return 1;
}

const struct bpk_layout_ops bpk_layout_netcdf = {
	.title = "NetCDF",
	.probe = netcdf_probe,
	.open = netcdf_open,
	.get = netcdf_get,
	.find = netcdf_find,
	.parts = netcdf_parts,
	.close = netcdf_close,
};
