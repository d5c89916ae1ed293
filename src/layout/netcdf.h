/*
 * Inside the member netcdf: what the head of a NetCDF-3 file says.
 */
#ifndef BPK_LAYOUT_NETCDF_H
#define BPK_LAYOUT_NETCDF_H

#include "layout/member.h"

struct bpk_netcdf_variable {
	char *name;      /* cleaned; owned by the head */
	uint64_t offset; /* of its bytes, or of those in record 0; behind the head */
	uint64_t size;   /* of all of it, or of what one record has; without padding */
	size_t shape;    /* where its dimensions begin in the head's lengths */
	uint8_t ndimensions;
	uint8_t type; /* 1 to 11, known */
	bool in_records;
};

/* Valid when zeroed; for bpk_netcdf_head_clear. */
struct bpk_netcdf_head {
	uint8_t version;           /* 1, 2 or 5 */
	uint64_t size;             /* of the head in bytes */
	uint64_t nrecords;         /* as claimed; BPK_UNKNOWN: whatever the file has */
	struct bpk_buf dimensions; /* uint64_t each: lengths; 0: that of the records */
	struct bpk_buf shapes;    /* uint64_t each: of the variables, without that of the records */
	struct bpk_buf variables; /* struct bpk_netcdf_variable each, as the file lists them */
	char *texts[4]; /* of attributes that say who made it, see BPK_NETCDF_PROGRAM; or NULL */
};

enum {
	BPK_NETCDF_PROGRAM,
	BPK_NETCDF_PROGRAM_VERSION,
	BPK_NETCDF_CONVENTIONS,
	BPK_NETCDF_CONVENTION_VERSION,
};

/* What the format's types are to NumPy. */
struct bpk_netcdf_type {
	char kind;
	uint8_t size;
};

extern const struct bpk_netcdf_type bpk_netcdf_types[12];

/*
 * Read the head from the beginning of source. Every list is as long as its bytes are there, names
 * are not empty and no two variables share one, shapes and sizes fit 63 bits. Whether the variables
 * lie inside the file is not looked at. Fails with BPK_CORRUPT, BPK_LIMIT, or what reading fails
 * with; *head is to be cleared in any case.
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

/* The lengths of a variable's dimensions, without that of the records. */
static inline const uint64_t *bpk_netcdf_shape(const struct bpk_netcdf_head *head,
					       const struct bpk_netcdf_variable *variable)
{
	if (variable->ndimensions == 0)
		return NULL;
	return (const uint64_t *)(const void *)head->shapes.data + variable->shape;
}

#endif
