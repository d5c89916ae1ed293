/*
 * GSD: defaults for chunks that a frame of the schema hoomd omits. Called by gsd.c.
 * Source: the schema's document, and the behaviour of python's gsd.hoomd where the document is
 * silent.
 */
#include "layout/gsd.h"

#include <inttypes.h>
#include <stdio.h>

/* The number of rows of a default. */
enum rows {
	ROWS_FIXED, /* nrows of the rule, for any N of the group */
	ROWS_OF_N,  /* one per member of the group */
};

struct rule {
	const char *name;
	enum bpk_gsd_type type;
	enum rows rows;
	uint32_t nrows; /* ROWS_FIXED */
	uint32_t ncolumns;
	const char *row; /* the bytes of one row, or of all rows if fixed */
};

/* Little-endian float32. */
#define ZERO4  "\0\0\0\0"
#define ZERO8  ZERO4 ZERO4
#define ZERO16 ZERO8 ZERO8
#define ONE4   "\0\0\x80\x3f"

/* The chunks of bonds and similar groups. gsd.hoomd makes int32 of absent groups, while its schema
 * says uint32; and it cannot open types of one column, even without rows. */
#define GROUP(name, members)                                                                       \
	{ name "/N", BPK_GSD_UINT32, ROWS_FIXED, 1, 1, ZERO4 },                                    \
		{ name "/types", BPK_GSD_INT8, ROWS_FIXED, 0, 2, ZERO4 },                          \
		{ name "/typeid", BPK_GSD_UINT32, ROWS_OF_N, 0, 1, ZERO4 },                        \
	{                                                                                          \
		name "/group", BPK_GSD_UINT32, ROWS_OF_N, 0, members, ZERO16                       \
	}

static const struct rule rules[] = {
	{ "configuration/step", BPK_GSD_UINT64, ROWS_FIXED, 1, 1, ZERO8 },
	{ "configuration/dimensions", BPK_GSD_UINT8, ROWS_FIXED, 1, 1, "\x03" },
	{ "configuration/box", BPK_GSD_FLOAT32, ROWS_FIXED, 6, 1, ONE4 ONE4 ONE4 ZERO8 ZERO4 },
	{ "particles/N", BPK_GSD_UINT32, ROWS_FIXED, 1, 1, ZERO4 },
	{ "particles/types", BPK_GSD_INT8, ROWS_FIXED, 1, 2, "A\0" },
	{ "particles/type_shapes", BPK_GSD_INT8, ROWS_FIXED, 1, 3, "{}\0" },
	{ "particles/typeid", BPK_GSD_UINT32, ROWS_OF_N, 0, 1, ZERO4 },
	{ "particles/mass", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 1, ONE4 },
	{ "particles/charge", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 1, ZERO4 },
	{ "particles/diameter", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 1, ONE4 },
	{ "particles/body", BPK_GSD_INT32, ROWS_OF_N, 0, 1, "\xff\xff\xff\xff" },
	{ "particles/moment_inertia", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 3, ZERO16 },
	{ "particles/position", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 3, ZERO16 },
	{ "particles/orientation", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 4, ONE4 ZERO8 ZERO4 },
	{ "particles/velocity", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 3, ZERO16 },
	{ "particles/angmom", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 4, ZERO16 },
	{ "particles/image", BPK_GSD_INT32, ROWS_OF_N, 0, 3, ZERO16 },
	GROUP("bonds", 2),
	GROUP("angles", 3),
	GROUP("dihedrals", 4),
	GROUP("impropers", 4),
	GROUP("pairs", 2),
	{ "constraints/N", BPK_GSD_UINT32, ROWS_FIXED, 1, 1, ZERO4 },
	{ "constraints/value", BPK_GSD_FLOAT32, ROWS_OF_N, 0, 1, ZERO4 },
	{ "constraints/group", BPK_GSD_UINT32, ROWS_OF_N, 0, 2, ZERO16 },
};

static const struct rule *rule_of(const char *name)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}

/* N of the group of name in a frame: its own, else that of frame 0, else 0. */
static int count_rows(struct bpk_gsd *gsd, const char *name, uint64_t frame, uint32_t *count,
		      struct bpk_err *err)
{
	const struct bpk_gsd_entry *entry;
	char group[32];
	uint8_t bytes[4];
	uint64_t number;

	snprintf(group, sizeof group, "%.*s/N", (int)(strchr(name, '/') - name), name);
	*count = 0;
	if (!bpk_gsd_find_name(gsd, frame, group, &number) &&
	    !bpk_gsd_find_name(gsd, 0, group, &number))
		return 0;
	entry = bpk_gsd_entry(gsd, number);
	if (entry->type != BPK_GSD_UINT32 || entry->nrows != 1 || entry->ncolumns != 1)
		return bpk_fail(err, BPK_CORRUPT, "%s of frame %" PRIu64 " is not a single uint32",
				group, entry->frame);
	if (bpk_source_need_at(gsd->source, entry->location, bpk_span(bytes, 4), err) != 0)
		return -1;
	*count = bpk_get_le32(bytes);
	return 0;
}

/* Give the chunk of frame 0. 1: missing. */
static int give_first(struct bpk_gsd *gsd, const char *name, uint64_t frame, struct bpk_item *item,
		      struct bpk_err *err)
{
	uint64_t number;

	if (!bpk_gsd_find_name(gsd, 0, name, &number))
		return 1;
	return bpk_gsd_give(gsd, number, frame, item, err);
}

/* Fail if defaults are far larger than a file of this size justifies: N is any number, and costs
 * four bytes. */
static int check_default(const struct bpk_gsd *gsd, const char *name, uint64_t size,
			 struct bpk_err *err)
{
	enum { ANY = 32 << 20, TIMES = 1024 };
	uint64_t stored = bpk_source_size(gsd->source);

	if (size <= ANY || size / TIMES <= stored)
		return 0;
	return bpk_fail(err, BPK_LIMIT,
			"%s has %" PRIu64 " bytes of default values, in a file of %" PRIu64, name,
			size, stored);
}

static int give_default(struct bpk_gsd *gsd, const struct rule *rule, uint64_t nrows,
			uint64_t frame, struct bpk_item *item, struct bpk_err *err)
{
	size_t size = (size_t)bpk_gsd_scalar(rule->type)->item_size * rule->ncolumns;

	if (rule->rows == ROWS_FIXED && rule->nrows > 0)
		size *= rule->nrows;
	item->name = rule->name;
	item->frame = frame;
	item->offset = BPK_UNKNOWN;
	item->fill = bpk_view(rule->row, size);
	if (bpk_gsd_set_array(gsd, rule->type, nrows, rule->ncolumns, item, err) != 0)
		return -1;
	return check_default(gsd, rule->name, item->array->size, err);
}

/* The chunk of frame 0 applies only if the number of rows is equal. */
static int find_rows(struct bpk_gsd *gsd, const struct rule *rule, uint64_t frame,
		     struct bpk_item *item, struct bpk_err *err)
{
	uint32_t nrows, nfirst;
	int rc = 1;

	if (count_rows(gsd, rule->name, frame, &nrows, err) != 0 ||
	    count_rows(gsd, rule->name, 0, &nfirst, err) != 0)
		return -1;
	if (nrows == nfirst)
		rc = give_first(gsd, rule->name, frame, item, err);
	return rc == 1 ? give_default(gsd, rule, nrows, frame, item, err) : rc;
}

int bpk_gsd_hoomd_find(struct bpk_gsd *gsd, const char *name, uint64_t frame, struct bpk_item *item,
		       struct bpk_err *err)
{
	const struct rule *rule = rule_of(name);
	int rc;

	if (frame >= gsd->sound_frames && (rule != NULL || strncmp(name, "log/", 4) == 0))
		return bpk_fail(err, BPK_CORRUPT,
				"frame %" PRIu64 " is torn, and may have lost its own %s", frame,
				name);
	if (rule == NULL) /* state/ and names outside the schema stay absent */
		return strncmp(name, "log/", 4) == 0 ? give_first(gsd, name, frame, item, err) : 1;
	if (rule->rows == ROWS_OF_N)
		return find_rows(gsd, rule, frame, item, err);
	rc = give_first(gsd, name, frame, item, err);
	return rc == 1 ? give_default(gsd, rule, rule->nrows, frame, item, err) : rc;
}
