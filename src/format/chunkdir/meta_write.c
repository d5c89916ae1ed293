/*
 * Writes meta files, spelled like those of the original programs: as Python's json.dumps does, with
 * a newline. Writer and editor call it. Source: chunked directory layouts, "meta files", "JSON
 * values as bcolz writes them", "Examples".
 */
#include "format/chunkdir/output.h"

#include <inttypes.h>
#include <stdio.h>

static int put_quoted(struct bpk_buf *out, const char *text, struct bpk_err *err)
{
	return bpk_json_put_string(out, bpk_view(text, strlen(text)), err);
}

/* ---- Types ---- */

/* NumPy's str(dtype) of a named native type; empty for other types. */
static void name_native(const struct bpk_scalar *scalar, char name[32])
{
	static const char kinds[] = "iufcMm";
	static const char *const names[] = { "int",     "uint",       "float",
					     "complex", "datetime64", "timedelta64" };
	const char *found = strchr(kinds, scalar->kind);

	*name = '\0';
	if (scalar->byte_order == '>')
		return;
	if (scalar->kind == 'b')
		strcpy(name, "bool");
	else if (found != NULL && strchr("Mm", scalar->kind) == NULL)
		snprintf(name, 32, "%s%" PRIu32, names[found - kinds], 8 * scalar->item_size);
	else if (found != NULL && *scalar->unit == '\0')
		snprintf(name, 32, "%s", names[found - kinds]);
	else if (found != NULL)
		snprintf(name, 32, "%s[%s]", names[found - kinds], scalar->unit);
}

/* Print a type without its own shape as NumPy's dtype.str, quoted. */
static int put_str(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_dtype plain = *dtype;
	struct bpk_buf text = { 0 };
	int rc;

	plain.ndimensions = 0;
	rc = bpk_dtype_print(&plain, &text, err);
	if (rc == 0)
		rc = bpk_json_put_string(out, bpk_buf_view(&text), err);
	bpk_buf_clear(&text);
	return rc;
}

static int put_scalar(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	char name[32];

	name_native(&dtype->scalar, name);
	return *name != '\0' ? put_quoted(out, name, err) : put_str(dtype, out, err);
}

static int put_dimensions(const uint64_t *shape, size_t n, struct bpk_buf *out, struct bpk_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (bpk_buf_printf(out, err, "%s%" PRIu64, i > 0 ? ", " : "[", shape[i]) != 0)
			return -1;
	return bpk_buf_printf(out, err, "]");
}

/* Print a record as the list of its fields: [["x", "<f4"], ["y", "<f8", [3]], ["z", [["u",
 * "|u1"]]]]. */
static int put_fields(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	for (size_t i = 0; i < dtype->nfields; i++) {
		const struct bpk_field *field = &dtype->fields[i];
		const struct bpk_dtype *type = &field->dtype;

		if (bpk_buf_printf(out, err, i > 0 ? ", [" : "[[") != 0 ||
		    put_quoted(out, field->name, err) != 0 || bpk_buf_printf(out, err, ", ") != 0)
			return -1;
		if ((type->nfields > 0 ? put_fields : put_str)(type, out, err) != 0)
			return -1;
		if (type->ndimensions > 0 &&
		    (bpk_buf_printf(out, err, ", ") != 0 ||
		     put_dimensions(type->shape, type->ndimensions, out, err) != 0))
			return -1;
		if (bpk_buf_printf(out, err, "]") != 0)
			return -1;
	}
	return bpk_buf_printf(out, err, "]");
}

/* Print the fill value: the type's zero in JSON. */
static int put_zero(const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	if (dtype->nfields > 0) {
		for (size_t i = 0; i < dtype->nfields; i++)
			if (bpk_buf_printf(out, err, i > 0 ? ", " : "[") != 0 ||
			    put_zero(&dtype->fields[i].dtype, out, err) != 0)
				return -1;
		return bpk_buf_printf(out, err, "]");
	}
	switch (dtype->scalar.kind) {
	case 'b':
		return bpk_buf_printf(out, err, "false");
	case 'f':
	case 'c':
		return bpk_buf_printf(out, err, "0.0");
	case 'S':
	case 'U':
	case 'V':
		return bpk_buf_printf(out, err, "\"\"");
	default:
		return bpk_buf_printf(out, err, "0");
	}
}

/* ---- Files ---- */

static int put_cparams(enum bpk_chunkdir_layout layout, const struct bpk_chunkdir_cparams *cparams,
		       struct bpk_buf *out, struct bpk_err *err)
{
	static const char *const blaze[] = { "false", "true", "2" };

	if (layout == BPK_CHUNKDIR_BLAZE)
		return bpk_buf_printf(out, err,
				      "\"cparams\": {\"shuffle\": %s, \"clevel\": %u, "
				      "\"cname\": \"%s\"}",
				      blaze[cparams->filter], cparams->level, cparams->codec);
	return bpk_buf_printf(out, err,
			      "\"cparams\": {\"clevel\": %u, \"shuffle\": %u, \"cname\": \"%s\", "
			      "\"quantize\": 0}",
			      cparams->level, cparams->filter, cparams->codec);
}

static int put_rest(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
		    const struct bpk_dtype *dtype, struct bpk_buf *out, struct bpk_err *err)
{
	bool blaze = set->layout == BPK_CHUNKDIR_BLAZE;

	if (bpk_buf_printf(out, err, ", \"chunklen\": %" PRIu64, column->chunk_rows) != 0)
		return -1;
	if (!blaze && bpk_buf_printf(out, err, ", \"expectedlen\": %" PRIu64, set->rows) != 0)
		return -1;
	if (bpk_buf_printf(out, err, ", \"dflt\": ") != 0 || put_zero(dtype, out, err) != 0)
		return -1;
	if (blaze &&
	    bpk_buf_printf(out, err,
			   ", \"expectedlen\": %" PRIu64 ", \"superchunksize\": %" PRIu64 "%s",
			   set->rows, column->superchunk_chunks,
			   set->array.fortran ? ", \"order\": \"F\"" : "") != 0)
		return -1;
	return bpk_buf_printf(out, err, "}\n");
}

int bpk_chunkdir_storage_print(const struct bpk_chunkdir *set,
			       const struct bpk_chunkdir_column *column,
			       const struct bpk_chunkdir_cparams *cparams, struct bpk_buf *out,
			       struct bpk_err *err)
{
	const struct bpk_dtype *dtype = set->is_table ? column->dtype : &set->array.dtype;

	if (bpk_buf_printf(out, err, "{\"dtype\": ") != 0 ||
	    (dtype->nfields > 0 ? put_fields : put_scalar)(dtype, out, err) != 0 ||
	    bpk_buf_printf(out, err, ", ") != 0 || put_cparams(set->layout, cparams, out, err) != 0)
		return -1;
	return put_rest(set, column, dtype, out, err);
}

int bpk_chunkdir_rootdirs_print(const struct bpk_chunkdir *set, struct bpk_buf *out,
				struct bpk_err *err)
{
	if (bpk_buf_printf(out, err, "{\"names\": ") != 0)
		return -1;
	for (size_t i = 0; i < set->ncolumns; i++)
		if (bpk_buf_printf(out, err, i > 0 ? ", " : "[") != 0 ||
		    put_quoted(out, set->columns[i].name, err) != 0)
			return -1;
	return bpk_buf_printf(out, err, "]}\n");
}

int bpk_chunkdir_put_file(struct bpk_tree *tree, const char *name, struct bpk_view text,
			  struct bpk_err *err)
{
	struct bpk_draft *draft;

	if (bpk_tree_draft(tree, name, &draft, err) != 0)
		return -1;
	if (bpk_draft_write(draft, text, err) != 0) {
		bpk_draft_drop(draft);
		return bpk_err_subject(err, "%s", name);
	}
	return bpk_tree_stage(tree, draft, err);
}

void bpk_chunkdir_size_up(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			  struct bpk_chunkdir_sizes *sizes)
{
	const struct bpk_dtype *own = column->dtype;

	if (!set->is_table) {
		sizes->ndimensions = set->array.ndimensions;
		memcpy(sizes->shape, set->array.shape, sizeof sizes->shape);
		sizes->nbytes = set->array.size;
		return;
	}
	/* lay_out has made sure that one more dimension fits */
	sizes->ndimensions = 1 + own->ndimensions;
	sizes->shape[0] = set->rows;
	memcpy(sizes->shape + 1, own->shape, own->ndimensions * sizeof *own->shape);
	sizes->nbytes = set->rows * column->item_size;
}
