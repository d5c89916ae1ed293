/*
 * Internal to the member NetCDF: the parsed head of a NetCDF-3 file. netcdf_head.c reads it for
 * netcdf.c.
 */
#ifndef BPK_LAYOUT_NETCDF_H
#define BPK_LAYOUT_NETCDF_H

#include "layout/member.h"

struct bpk_netcdf_variable {
	char *name;      /* cleaned; owned by the head */
	uint64_t offset; /* of its bytes, or of those in record 0; after the head */
	uint64_t size;   /* of the variable, or of its part in one record; without padding */
	size_t shape;    /* index of its first dimension in the head's shapes */
	uint8_t ndimensions;
	uint8_t type; /* 1 to 11, known */
	bool in_records;
};

/* Valid when zeroed; released by bpk_netcdf_head_clear. */
struct bpk_netcdf_head {
	uint8_t version;           /* 1, 2 or 5 */
	uint64_t size;             /* of the head in bytes */
	uint64_t nrecords;         /* as stored; BPK_UNKNOWN: as many as the file has */
	struct bpk_buf dimensions; /* uint64_t each: lengths; 0: the record dimension */
	struct bpk_buf shapes; /* uint64_t each: of the variables, without the record dimension */
	struct bpk_buf variables; /* struct bpk_netcdf_variable each, in file order */
	char *texts[4]; /* attributes that describe the writer, see BPK_NETCDF_PROGRAM; or NULL */
};

enum {
	BPK_NETCDF_PROGRAM,
	BPK_NETCDF_PROGRAM_VERSION,
	BPK_NETCDF_CONVENTIONS,
	BPK_NETCDF_CONVENTION_VERSION,
};

/* NumPy's kind and size for the format's types. */
struct bpk_netcdf_type {
	char kind;
	uint8_t size;
};

extern const struct bpk_netcdf_type bpk_netcdf_types[12];

/*
 * Read the head from the start of source. Afterwards every list is complete, names are not empty
 * and no two variables share one, shapes and sizes fit 63 bits. Variables may lie outside the file.
 * Fails with BPK_CORRUPT, BPK_LIMIT, or as reading does; *head must be cleared in any case.
 */
int bpk_netcdf_head_read(struct bpk_source *source, struct bpk_netcdf_head *head,
			 struct bpk_err *err);
void bpk_netcdf_head_clear(struct bpk_netcdf_head *head);

static inline size_t bpk_netcdf_nvariables(const struct bpk_netcdf_head *head)
{
	return head->variables.size / sizeof(struct bpk_netcdf_variable);
}

static inline struct bpk_netcdf_variable *bpk_netcdf_variable_at(const struct bpk_netcdf_head *head,
								 size_t number)
{
	return (struct bpk_netcdf_variable *)(void *)head->variables.data + number;
}

/* The lengths of a variable's dimensions, without the record dimension. */
static inline const uint64_t *bpk_netcdf_shape(const struct bpk_netcdf_head *head,
					       const struct bpk_netcdf_variable *variable)
{
	if (variable->ndimensions == 0)
		return NULL;
	return (const uint64_t *)(const void *)head->shapes.data + variable->shape;
}

#endif
