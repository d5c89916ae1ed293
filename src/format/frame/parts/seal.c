/*
 * The seal of a frame in its parts, as bytes: mark, record and root (frame.h). Called by end.c and
 * the files above.
 */
#include "format/digest_number.h"
#include "format/frame/parts/section.h"

#include <inttypes.h>

enum {
	STR_16 = 0xda,
	ONE = 0x01, /* msgpack's number 1 */
	HEAD = 3,
	/* fields of the header, "Header": their places and sizes */
	FRAME_LEN = 16,
	PACKED_SIZE = 39,
	THREADS = 63,
	MORE_THREADS = 66,
	HAS_LAYERS = 68,
};

static const char domain[] = BPK_SEAL_DOMAIN, kind[] = "frame"; /* with their NULs */

/* ---- The root ---- */

/* SHA-256 of the header without the fields that are not sealed. */
static int add_header(struct bpk_summing *sum, struct bpk_view header, struct bpk_err *err)
{
	uint8_t fields[BPK_FRAME_FIXED_SIZE];

	memcpy(fields, header.data, sizeof fields);
	memset(fields + FRAME_LEN, 0, 8);
	memset(fields + PACKED_SIZE, 0, 8);
	memset(fields + THREADS, 0, 2);
	memset(fields + MORE_THREADS, 0, 2);
	fields[HAS_LAYERS] = 0;
	if (bpk_summing_add(sum, bpk_view(fields, sizeof fields), err) != 0)
		return -1;
	return bpk_summing_add(
		sum, bpk_view(header.data + sizeof fields, header.size - sizeof fields), err);
}

static int add_layer(struct bpk_summing *sum, const struct bpk_frame_layer *layer,
		     struct bpk_err *err)
{
	uint8_t name_size = (uint8_t)strlen(layer->name), size[8];

	bpk_put_le64(size, layer->content.size);
	if (bpk_summing_add(sum, bpk_view(&name_size, 1), err) != 0 ||
	    bpk_summing_add(sum, bpk_view((const uint8_t *)layer->name, name_size), err) != 0 ||
	    bpk_summing_add(sum, bpk_view(size, sizeof size), err) != 0)
		return -1;
	return bpk_summing_add(sum, bpk_buf_view(&layer->content), err);
}

static int add_layers(struct bpk_summing *sum, const struct bpk_frame_layers *layers,
		      struct bpk_err *err)
{
	for (size_t i = 0; i < layers->count; i++)
		if (!bpk_frame_layer_is_ours(layers->all[i].name) &&
		    add_layer(sum, &layers->all[i], err) != 0)
			return -1;
	return 0;
}

/* SHA-256 of the header, or of the layers if that is empty. */
static int digest_part(struct bpk_view header, const struct bpk_frame_layers *layers,
		       uint8_t digest[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	uint8_t found[BPK_DIGEST_MAX];
	struct bpk_summing sum = { 0 };
	int rc = bpk_summing_begin(&sum, bpk_checksum_find("sha256"), err);

	if (rc == 0)
		rc = header.size > 0 ? add_header(&sum, header, err)
				     : add_layers(&sum, layers, err);
	if (rc == 0)
		rc = bpk_summing_end(&sum, found, err);
	if (rc == 0)
		memcpy(digest, found, BPK_MERKLE_SIZE);
	bpk_summing_clear(&sum);
	return rc;
}

int bpk_frame_seal_root(struct bpk_view header, const struct bpk_frame_layers *layers,
			const struct bpk_checksum *checksum, uint64_t generation,
			const struct bpk_seal_tree *tree, uint8_t root[BPK_MERKLE_SIZE],
			struct bpk_err *err)
{
	enum { SIZE = sizeof domain + sizeof kind + 24 + 3 * BPK_MERKLE_SIZE };
	uint8_t bytes[SIZE], digest[BPK_DIGEST_MAX], *at = bytes + sizeof domain + sizeof kind;

	memcpy(bytes, domain, sizeof domain);
	memcpy(bytes + sizeof domain, kind, sizeof kind);
	bpk_put_le64(at, generation);
	bpk_put_le64(at + 8, bpk_seal_tree_count(tree));
	bpk_put_le64(at + 16, (uint64_t)bpk_checksum_number(checksum));
	at += 24;
	if (digest_part(header, NULL, at, err) != 0 ||
	    digest_part(bpk_view(NULL, 0), layers, at + BPK_MERKLE_SIZE, err) != 0 ||
	    bpk_seal_tree_root(tree, at + (size_t)2 * BPK_MERKLE_SIZE, err) != 0 ||
	    bpk_checksum_compute(bpk_checksum_find("sha256"), bpk_view(bytes, sizeof bytes), digest,
				 err) != 0)
		return -1;
	memcpy(root, digest, BPK_MERKLE_SIZE);
	return 0;
}

int bpk_frame_seal_entry(uint64_t number, uint64_t raw_size, uint64_t entry,
			 uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	struct bpk_seal_facts facts = { .number = number, .raw_size = raw_size };

	bpk_put_le64(facts.digest, entry);
	return bpk_seal_leaf(&facts, leaf, err);
}

int bpk_frame_seal_check_count(const struct bpk_frame_header *header, uint64_t nchunks,
			       struct bpk_err *err)
{
	enum { ENTRIES = 1 << 20 }; /* 0.7 seconds of work */
	uint64_t most = ENTRIES + header->packed_size / BPK_CHUNK_EXTENDED_HEADER_SIZE;

	if (nchunks <= most)
		return 0;
	return bpk_fail(err, BPK_LIMIT,
			"a seal over %" PRIu64 " chunks, at most %" PRIu64
			" are possible in a frame of this size",
			nchunks, most);
}

/* ---- Mark and record ---- */

int bpk_frame_seal_mark(struct bpk_frame_header *header, struct bpk_err *err)
{
	const uint8_t one = ONE;

	return bpk_frame_layers_set(&header->fixed, BPK_FRAME_SEAL, bpk_view(&one, 1), err);
}

int bpk_frame_seal_write(uint64_t generation, const uint8_t root[BPK_MERKLE_SIZE],
			 const struct bpk_seal_tree *tree, struct bpk_buf *out, struct bpk_err *err)
{
	size_t start = out->size;

	/* a record of 64 peaks has 5 KiB */
	if (bpk_buf_resize(out, start + HEAD, err) != 0 ||
	    bpk_seal_put(out, generation, root, tree, err) != 0)
		return -1;
	out->data[start] = STR_16;
	bpk_put_be16(out->data + start + 1, (uint16_t)(out->size - start - HEAD));
	return 0;
}

int bpk_frame_seal_read(const struct bpk_frame_header *header,
			const struct bpk_frame_layers *layers, uint64_t nchunks,
			struct bpk_seal *seal, struct bpk_err *err)
{
	const struct bpk_frame_layer *layer = bpk_frame_layers_find(layers, BPK_FRAME_SEAL);
	struct bpk_view content, record = bpk_view(NULL, 0);

	seal->marks_changes = true;
	seal->marked = bpk_frame_layers_find(&header->fixed, BPK_FRAME_SEAL) != NULL;
	if (layer == NULL)
		return 0;
	content = bpk_buf_view(&layer->content);
	if (content.size >= HEAD && content.data[0] == STR_16 &&
	    bpk_get_be16(content.data + 1) == content.size - HEAD)
		record = bpk_view(content.data + HEAD, content.size - HEAD);
	return bpk_seal_take(record, nchunks, seal, err);
}
