/*
 * The member .npy: a head and one array, called "data"; and the reading of heads for npz.c, append,
 * pack and unpack. Its row is in layouts.c. Bytes after the array are ignored.
 */
#include "layout/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const uint8_t bpk_npy_magic[BPK_NPY_MAGIC_SIZE] = "\x93NUMPY";

bool bpk_npy_begins(struct bpk_view head)
{
	return head.size >= BPK_NPY_MAGIC_SIZE &&
	       memcmp(head.data, bpk_npy_magic, BPK_NPY_MAGIC_SIZE) == 0;
}

/* ---- The head ---- */

/* Convert the head's text to UTF-8. Up to version 2 it is Latin-1, and Python 2 wrote an L after
 * long integers. */
static int decode_text(struct bpk_view text, struct bpk_buf *out, struct bpk_err *err)
{
	uint8_t quote = 0, before = 0;

	if (bpk_buf_reserve(out, 2 * text.size, err) != 0)
		return -1;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t sign = text.data[i];

		if (quote == 0 && sign == 'L' && before >= '0' && before <= '9')
			continue;
		if (sign >= 0x80)
			out->data[out->size++] = (uint8_t)(0xc0 | sign >> 6);
		out->data[out->size++] = sign >= 0x80 ? 0x80 | (sign & 0x3f) : sign;
		if (quote == 0 && (sign == '\'' || sign == '"'))
			quote = sign;
		else if (sign == quote && before != '\\')
			quote = 0;
		/* an escaped character does not escape the next */
		before = before == '\\' ? 0 : sign;
	}
	return 0;
}

/* Read the magic, the version, and the size of the text. */
static int read_fixed(struct bpk_source *source, uint64_t offset, uint64_t *size,
		      struct bpk_npy *npy, uint32_t *text_size, struct bpk_err *err)
{
	uint8_t bytes[12];
	size_t fixed;

	if (*size < 10)
		return bpk_fail(err, BPK_CORRUPT, "npy has %" PRIu64 " bytes, at least 10 expected",
				*size);
	if (bpk_source_need_at(source, offset, bpk_span(bytes, 10), err) != 0)
		return -1;
	if (memcmp(bytes, bpk_npy_magic, BPK_NPY_MAGIC_SIZE) != 0)
		return bpk_fail(err, BPK_CORRUPT, "no npy");
	npy->version = bytes[6];
	if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "npy version %d.%d, 1.0 to 3.0 are known",
				bytes[6], bytes[7]);
	fixed = npy->version == 1 ? 10 : 12;
	if (*size < fixed)
		return bpk_fail(err, BPK_CORRUPT, "npy ends inside its head");
	if (bpk_source_need_at(source, offset, bpk_span(bytes, fixed), err) != 0)
		return -1;
	*text_size = fixed == 10 ? bpk_get_le16(bytes + 8) : bpk_get_le32(bytes + 8);
	*size -= fixed;
	npy->offset = offset + fixed;
	return 0;
}

/* Read the text as stored; *size becomes the number of bytes after it. */
static int read_text(struct bpk_source *source, uint64_t offset, uint64_t *size,
		     struct bpk_npy *npy, struct bpk_buf *text, struct bpk_err *err)
{
	uint32_t text_size = 0;

	if (read_fixed(source, offset, size, npy, &text_size, err) != 0)
		return -1;
	if (text_size > *size)
		return bpk_fail(err, BPK_CORRUPT,
				"npy head has %" PRIu32 " bytes, %" PRIu64 " are there", text_size,
				*size);
	if (text_size > BPK_NPY_MAX_TEXT)
		return bpk_fail(err, BPK_LIMIT,
				"npy head has %" PRIu32 " bytes, at most %d are accepted",
				text_size, BPK_NPY_MAX_TEXT);
	if (bpk_buf_resize(text, text_size, err) != 0 ||
	    bpk_source_need_at(source, npy->offset, bpk_span(text->data, text_size), err) != 0)
		return -1;
	*size -= text_size;
	npy->offset += text_size;
	return 0;
}

/* The start of the shape's text if only the end of the head follows it; else text.size. All known
 * writers put the shape last. */
static size_t find_shape(struct bpk_view text)
{
	static const char key[] = "shape", after[] = "'\": (,)}L0123456789\n";
	size_t at = text.size;

	while (at > 0 && memchr(after, text.data[at - 1], sizeof after - 1) != NULL)
		at--;
	if (at < strlen(key) || memcmp(text.data + at - strlen(key), key, strlen(key)) != 0)
		return text.size;
	return at;
}

/* ---- The array ---- */

/* An array of plain bytes. */
static int set_bytes(struct bpk_array *array, uint64_t size, struct bpk_err *err)
{
	return bpk_layout_set_array(array, 'u', '|', 1, &size, 1, err);
}

/* An unknown type: opaque items if their size is known. size: bytes after the head. */
static int set_opaque(const struct bpk_npy_dict *dict, uint64_t size, struct bpk_npy *npy,
		      struct bpk_err *err)
{
	struct bpk_array *array = &npy->array;
	bool known, opaque = false;
	uint64_t item_size;

	known = bpk_npy_item_size(dict->descr, &item_size, &opaque);
	npy->objects = opaque;
	if (!known || opaque || item_size == 0 || item_size > UINT32_MAX)
		return set_bytes(array, size, err);
	if (bpk_layout_set_array(array, 'V', '|', (uint32_t)item_size, dict->shape,
				 dict->ndimensions, err) != 0)
		return -1;
	array->fortran = dict->fortran;
	return 0;
}

static int set_array(const struct bpk_npy_dict *dict, uint64_t size, struct bpk_npy *npy,
		     struct bpk_err *err)
{
	struct bpk_array *array = &npy->array;
	struct bpk_err refused = { 0 };

	npy->foreign = true;
	if (bpk_dtype_parse(dict->descr, &array->dtype, &refused) != 0) {
		if (refused.kind != BPK_NO_MEMORY)
			return set_opaque(dict, size, npy, err);
		return bpk_fail_memory(err, dict->descr.size);
	}
	if (bpk_dtype_is_opaque(&array->dtype)) {
		bpk_dtype_clear(&array->dtype);
		npy->objects = true;
		return set_bytes(array, size, err);
	}
	npy->foreign = false;
	array->fortran = dict->fortran;
	return bpk_array_set_shape(array, dict->shape, dict->ndimensions, err);
}

int bpk_npy_read(struct bpk_source *source, uint64_t offset, uint64_t size, struct bpk_npy *npy,
		 struct bpk_err *err)
{
	struct bpk_buf text = { 0 }, decoded = { 0 };
	struct bpk_npy_dict dict;
	int rc = -1;

	*npy = (struct bpk_npy){ 0 };
	if (read_text(source, offset, &size, npy, &text, err) != 0)
		goto out;
	npy->shape = npy->offset - text.size + find_shape(bpk_buf_view(&text));
	if (npy->version == 3 && !bpk_utf8_valid(bpk_buf_view(&text))) {
		bpk_fail(err, BPK_CORRUPT, "npy head is not in UTF-8");
		goto out;
	}
	if (npy->version < 3 && decode_text(bpk_buf_view(&text), &decoded, err) != 0)
		goto out;
	if (bpk_npy_dict_parse(bpk_buf_view(npy->version < 3 ? &decoded : &text), &dict, err) != 0)
		goto out;
	rc = set_array(&dict, size, npy, err);
out:
	if (rc != 0)
		bpk_array_clear(&npy->array);
	bpk_buf_clear(&decoded);
	bpk_buf_clear(&text);
	return rc;
}

/* ---- Reading a head only ---- */

/* The bytes of a whole head; fewer only at the end of the source. */
static int peek_head(struct bpk_source *source, struct bpk_view *head, struct bpk_err *err)
{
	enum { FIXED = 12 }; /* enough for the size field of any version */
	uint64_t size;

	if (bpk_source_peek(source, FIXED, head, err) != 0)
		return -1;
	if (head->size < FIXED || !bpk_npy_begins(*head))
		return bpk_fail(err, BPK_FAILED, "is not an .npy file");
	size = head->data[BPK_NPY_MAGIC_SIZE] == 1 ? 10 + (uint64_t)bpk_get_le16(head->data + 8)
						   : FIXED + (uint64_t)bpk_get_le32(head->data + 8);
	return bpk_source_peek(source, (size_t)bpk_min_u64(size, FIXED + BPK_NPY_MAX_TEXT), head,
			       err);
}

int bpk_npy_peek(struct bpk_source *source, struct bpk_array *array, size_t *head_size,
		 struct bpk_err *err)
{
	struct bpk_source *memory;
	struct bpk_view head;
	struct bpk_npy npy;
	int rc;

	if (peek_head(source, &head, err) != 0 || bpk_source_of_memory(head, &memory, err) != 0)
		return -1;
	rc = bpk_npy_read(memory, 0, head.size, &npy, err);
	bpk_source_close(memory);
	if (rc != 0)
		return -1;
	if (npy.foreign) {
		bpk_array_clear(&npy.array);
		return bpk_fail(err, BPK_UNSUPPORTED,
				"is an .npy file of Python's objects, or of a type that bpk does "
				"not know");
	}
	*array = npy.array;
	*head_size = (size_t)npy.offset;
	return 0;
}

/* ---- The member's operations ---- */

struct own {
	struct bpk_npy npy;
	char variant[8];
	char damage[80];
};

static bool npy_probe(struct bpk_view head, uint64_t size)
{
	(void)size;
	return head.size > BPK_NPY_MAGIC_SIZE && bpk_npy_begins(head);
}

static void npy_close(void *own)
{
	struct own *o = own;

	bpk_array_clear(&o->npy.array);
	free(o);
}

static int npy_open(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err)
{
	uint64_t size = bpk_source_size(source);
	struct own *o = bpk_calloc(1, sizeof *o, err);

	if (o == NULL)
		return -1;
	if (bpk_npy_read(source, 0, size, &o->npy, err) != 0) {
		free(o);
		return -1;
	}
	snprintf(o->variant, sizeof o->variant, "%d.0", o->npy.version);
	info->kind = "npy";
	info->variant = o->variant;
	info->narrays = 1;
	if (!bpk_layout_fits(size, o->npy.offset, o->npy.array.size)) {
		snprintf(o->damage, sizeof o->damage,
			 "the array has %" PRIu64 " bytes, %" PRIu64 " are there",
			 o->npy.array.size, size - o->npy.offset);
		info->narrays = 0;
		info->damage = o->damage;
	}
	*own = o;
	return 0;
}

static int npy_get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct own *o = own;

	(void)number;
	(void)err;
	item->name = "data";
	item->array = &o->npy.array;
	item->offset = o->npy.offset;
	item->pickled = o->npy.objects;
	return 0;
}

static size_t npy_parts(const void *own, struct bpk_layout_part parts[BPK_LAYOUT_PARTS])
{
	const struct bpk_npy *npy = &((const struct own *)own)->npy;

	parts[0] = (struct bpk_layout_part){ "shape", npy->shape, npy->offset - npy->shape, false };
	return 1;
}

const struct bpk_layout_ops bpk_layout_npy = {
	.title = ".npy",
	.probe = npy_probe,
	.open = npy_open,
	.get = npy_get,
	.parts = npy_parts,
	.close = npy_close,
};
