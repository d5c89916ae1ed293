/* bpk pack: inputs that are arrays. Called by pack.c and pack_work.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/pack.h"
#include "layout/layout.h"

/* ---- The type ---- */

/* The item size that options or the input give; 0: a trial decides. */
static unsigned item_size(const struct bpk_pack *pack)
{
	int typesize = pack->args->common.encoding.typesize;
	uint64_t item = pack->dtype.size;

	if (typesize != BPK_AUTO)
		return (unsigned)typesize;
	return item <= BPK_CHUNK_MAX_TYPESIZE ? (unsigned)item : 0;
}

int bpk_pack_check_type(const struct bpk_pack *pack, struct bpk_err *err)
{
	const struct bpk_encoding_args *encoding = &pack->args->common.encoding;

	if (pack->dtype.size > 0 &&
	    bpk_encoding_check_dtype(encoding, pack->format, &pack->dtype, err) != 0)
		return -1;
	/* predicted numbers are kept as bytes */
	if (!pack->args->predict &&
	    bpk_encoding_check_typesize(encoding, pack->format, &pack->dtype, err) != 0)
		return -1;
	return bpk_encoding_check_items(&pack->args->common, item_size(pack), encoding->codec, err);
}

/* ---- An .npy file's head ---- */

struct bpk_source *bpk_pack_source(const struct bpk_pack *pack)
{
	return pack->body.source != NULL ? pack->body.source : pack->in.place.source;
}

static int read_on(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		   struct bpk_err *err)
{
	(void)offset; /* a source read in order */
	return bpk_source_read(arg, out, got, err);
}

/* The bytes behind the first size bytes of a source, which outlives it. */
static int open_rest(struct bpk_source *whole, size_t size, struct bpk_source **rest,
		     struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_on };
	uint64_t skipped;

	if (bpk_source_seekable(whole))
		return bpk_source_slice(whole, size, bpk_source_size(whole) - size, rest, err);
	if (bpk_source_skip(whole, size, &skipped, err) != 0)
		return -1;
	return bpk_source_of(&ops, whole, BPK_UNKNOWN, rest, err);
}

/* Refuse --rm if unpack would not restore the same file: it writes the header again. */
static int check_head(const struct bpk_pack *pack, size_t head_size, struct bpk_err *err)
{
	struct bpk_buf ours = { 0 };
	struct bpk_view theirs;
	int rc = -1;

	if (!pack->args->common.shared.remove)
		return 0;
	if (bpk_npy_head(&pack->array, &ours, err) == 0 &&
	    bpk_source_peek(pack->in.place.source, head_size, &theirs, err) == 0)
		rc = ours.size == theirs.size && memcmp(ours.data, theirs.data, ours.size) == 0
			     ? 0
			     : bpk_fail(err, BPK_FAILED,
					"has a head that unpack would write differently, so --rm "
					"would lose it");
	bpk_buf_clear(&ours);
	return rc;
}

/* Where an array of bytes is an .npy file itself, unpack would take it for the one to be given
 * back. */
static int check_body(struct bpk_source *body, struct bpk_err *err)
{
	struct bpk_view first;

	if (bpk_source_peek(body, BPK_NPY_MAGIC_SIZE, &first, err) != 0)
		return -1;
	if (!bpk_npy_begins(first))
		return 0;
	return bpk_fail(err, BPK_UNSUPPORTED,
			"is an .npy file whose data are another .npy file, which --as-array cannot "
			"restore");
}

static int read_head(struct bpk_pack *pack, struct bpk_err *err)
{
	struct bpk_input *in = &pack->in;
	const struct bpk_read_options options = { 0 };
	size_t head_size;

	bpk_dtype_clear(&pack->dtype);
	bpk_array_clear(&pack->array);
	if (bpk_npy_peek(in->place.source, &pack->array, &head_size, err) != 0 ||
	    bpk_dtype_copy(&pack->array.dtype, &pack->dtype, err) != 0 ||
	    bpk_pack_check_type(pack, err) != 0 || check_head(pack, head_size, err) != 0 ||
	    open_rest(in->place.source, head_size, &pack->body.source, err) != 0 ||
	    check_body(pack->body.source, err) != 0)
		return -1;
	in->format->reader->close(in->reader);
	in->reader = NULL;
	if (in->format->reader->open(&pack->body, &options, &in->reader, err) != 0)
		return -1;
	in->info = in->format->reader->info(in->reader);
	return 0;
}

int bpk_pack_read_head(struct bpk_pack *pack, struct bpk_err *err)
{
	if (!pack->args->as_array || read_head(pack, err) == 0)
		return 0;
	return bpk_input_subject(&pack->in, err);
}

/* ---- The array ---- */

/* The array that the input is to hold, by the options. */
static int shape_array(struct bpk_pack *pack, const uint64_t *raw_size, struct bpk_err *err)
{
	const struct bpk_opt_shape *shape = &pack->args->shape;
	struct bpk_array *array = &pack->array;
	uint64_t item = pack->dtype.size, items = *raw_size / item;

	if (shape->ndimensions == 0 && *raw_size == BPK_UNKNOWN)
		return bpk_fail(err, BPK_FAILED,
				"does not say how many items it has, use --shape or --stream-size");
	bpk_array_clear(array);
	if (bpk_dtype_copy(&pack->dtype, &array->dtype, err) != 0)
		return -1;
	return shape->ndimensions == 0
		       ? bpk_array_set_shape(array, &items, 1, err)
		       : bpk_array_set_shape(array, shape->sizes, shape->ndimensions, err);
}

static int check_size(const struct bpk_pack *pack, uint64_t *raw_size, struct bpk_err *err)
{
	const struct bpk_array *array = &pack->array;
	uint64_t item = pack->dtype.size, items = array->size / item;

	if (*raw_size == BPK_UNKNOWN)
		*raw_size = array->size;
	if (*raw_size != array->size)
		return bpk_fail(err, BPK_FAILED,
				"has %" PRIu64 " %s, but an array of %" PRIu64 " %s of %" PRIu64
				" %s has %" PRIu64,
				*raw_size, bpk_plural(*raw_size, "byte", "bytes"), items,
				bpk_plural(items, "item", "items"), item,
				bpk_plural(item, "byte", "bytes"), array->size);
	return 0;
}

int bpk_pack_describe_array(struct bpk_pack *pack, uint64_t *raw_size, struct bpk_err *err)
{
	int rc;

	if (pack->dtype.size == 0)
		return 0;
	rc = pack->args->as_array ? 0 : shape_array(pack, raw_size, err);
	if (rc == 0)
		rc = check_size(pack, raw_size, err);
	return rc == 0 ? 0 : bpk_input_subject(&pack->in, err);
}
