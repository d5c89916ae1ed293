/* A result of unpack that is a NumPy file. Called by unpack.c. */
#include "cli/unpack_npy.h"

#include <inttypes.h>

/* As it ends, or did before it got NAME.partial. */
static bool is_npy_name(const char *name)
{
	return bpk_ends_with(name, ".npy") || bpk_ends_with(name, ".npy.partial");
}

static int fail_size(const struct bpk_array *array, uint64_t raw_size, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"unpacks to %" PRIu64 " bytes, its metadata record an array of %" PRIu64
			"; --raw gives the bytes",
			raw_size, array->size);
}

/* Metadata of an array that does not fit make no NumPy file; other metadata do not matter. */
static int check_no_array(const struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_array array = { 0 };
	struct bpk_err why = { 0 };
	bool is_array = false, good;
	int rc;

	if (!info->metadata.given)
		return 0;
	rc = bpk_array_from_metadata(info->metadata.text, &array, &is_array, NULL, &why);
	rc = bpk_err_settle(rc, &why, &good, err);
	if (good && is_array)
		rc = fail_size(&array, info->raw_size, err);
	bpk_array_clear(&array);
	return rc;
}

int bpk_unpack_npy_head(const struct bpk_transfer *transfer, struct bpk_buf *head,
			struct bpk_err *err)
{
	const struct bpk_info *info = transfer->in->info;
	struct bpk_err why = { 0 };
	int rc = 0;

	if (!is_npy_name(transfer->target))
		return 0;
	if (bpk_input_complete(transfer->in, err) != 0)
		return -1;
	if (info->array.type == NULL)
		rc = check_no_array(info, err);
	else if (bpk_npy_head(info->array.type, head, &why) != 0)
		rc = bpk_fail(err, why.kind, "%s; --raw gives the bytes", why.text);
	return rc == 0 ? 0 : bpk_input_subject(transfer->in, err);
}

int bpk_unpack_npy_check(const struct bpk_transfer *transfer, struct bpk_view head,
			 struct bpk_err *err)
{
	const struct bpk_array *array = transfer->in->info->array.type;

	if (head.size == 0 || transfer->result.raw_size == array->size)
		return 0;
	fail_size(array, transfer->result.raw_size, err);
	return bpk_input_subject(transfer->in, err);
}
