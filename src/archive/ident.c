/* The tree of a raw content, and its record in the metadata (ident.h). Called by digest.c,
 * leaves.c and keep_ident.c, and by the commands that show or compare it. */
#include "archive/ident.h"

#include <inttypes.h>
#include <stdlib.h>

enum { VERSION = 1, HEX = 2 * BPK_MERKLE_SIZE, LEAF = BPK_IDENT_LEAF };

/* A content of 2^63 bytes has 2^43 leaves. */
enum { MOST_LEVEL = 43 };

void bpk_ident_clear(struct bpk_ident *identity)
{
	bpk_buf_clear(&identity->nodes);
	*identity = (struct bpk_ident){ 0 };
}

uint64_t bpk_ident_nodes(const struct bpk_ident *identity)
{
	return identity->nodes.size / BPK_MERKLE_SIZE;
}

uint64_t bpk_ident_leaves(const struct bpk_ident *identity)
{
	return (bpk_ident_nodes(identity) << identity->level) + identity->rest.count;
}

/* ---- Growing ---- */

/* Join pairs of nodes; one that is left over goes to the rest. */
static int join_pairs(struct bpk_ident *identity, struct bpk_err *err)
{
	uint64_t count = bpk_ident_nodes(identity);
	uint8_t *nodes = identity->nodes.data;

	for (uint64_t i = 0; i < count / 2; i++)
		if (bpk_merkle_node(nodes + 2 * i * BPK_MERKLE_SIZE,
				    nodes + (2 * i + 1) * BPK_MERKLE_SIZE,
				    nodes + i * BPK_MERKLE_SIZE, err) != 0)
			return -1;
	if (count % 2 == 1) {
		memcpy(identity->rest.peaks[identity->level], nodes + (count - 1) * BPK_MERKLE_SIZE,
		       BPK_MERKLE_SIZE);
		identity->rest.count += UINT64_C(1) << identity->level;
	}
	identity->nodes.size = (size_t)(count / 2) * BPK_MERKLE_SIZE;
	identity->level++;
	return 0;
}

int bpk_ident_coarsen(struct bpk_ident *identity, unsigned level, struct bpk_err *err)
{
	while (identity->level < level)
		if (join_pairs(identity, err) != 0)
			return -1;
	return 0;
}

int bpk_ident_add(struct bpk_ident *identity, const uint8_t digest[BPK_MERKLE_SIZE],
		  struct bpk_err *err)
{
	uint64_t most = identity->most > 0 ? identity->most : BPK_IDENT_MOST;
	struct bpk_merkle *rest = &identity->rest;

	if (bpk_merkle_add(rest, digest, err) != 0)
		return -1;
	identity->size += LEAF;
	if (rest->count < UINT64_C(1) << identity->level)
		return 0;
	if (bpk_buf_append(&identity->nodes,
			   bpk_view(rest->peaks[identity->level], BPK_MERKLE_SIZE), err) != 0)
		return -1;
	rest->count = 0;
	return bpk_ident_nodes(identity) > most ? join_pairs(identity, err) : 0;
}

void bpk_ident_end(struct bpk_ident *identity, size_t size, const uint8_t digest[BPK_MERKLE_SIZE])
{
	identity->size += size;
	memcpy(identity->last, digest, BPK_MERKLE_SIZE);
}

int bpk_ident_blank(struct bpk_ident *identity, uint64_t size, struct bpk_err *err)
{
	uint64_t leaves = size / LEAF;

	identity->size = size;
	while (leaves >> identity->level > BPK_IDENT_MOST)
		identity->level++;
	identity->rest.count = leaves & ((UINT64_C(1) << identity->level) - 1);
	if (bpk_buf_resize(&identity->nodes, (size_t)(leaves >> identity->level) * BPK_MERKLE_SIZE,
			   err) != 0)
		return -1;
	if (identity->nodes.size > 0)
		memset(identity->nodes.data, 0, identity->nodes.size);
	return 0;
}

void bpk_ident_cut(struct bpk_ident *identity, uint64_t size, uint64_t *from)
{
	uint64_t leaves = size / LEAF, nodes = leaves >> identity->level;

	if (leaves < bpk_ident_leaves(identity)) {
		identity->nodes.size = (size_t)nodes * BPK_MERKLE_SIZE;
		identity->rest.count = 0;
	}
	*from = identity->size = bpk_ident_leaves(identity) * LEAF;
}

/* ---- Looking ---- */

/* The tree of all leaves: that of the nodes, raised by their level, with the rest below it. */
int bpk_ident_root(const struct bpk_ident *identity, uint8_t root[BPK_MERKLE_SIZE],
		   struct bpk_err *err)
{
	struct bpk_merkle all = identity->rest, nodes = { 0 };
	unsigned level = identity->level;

	for (size_t at = 0; at < identity->nodes.size; at += BPK_MERKLE_SIZE)
		if (bpk_merkle_add(&nodes, identity->nodes.data + at, err) != 0)
			return -1;
	all.count += nodes.count << level;
	memcpy(all.peaks[level], nodes.peaks, (64 - level) * sizeof *nodes.peaks);
	if (identity->size % LEAF > 0 && bpk_merkle_add(&all, identity->last, err) != 0)
		return -1;
	return bpk_merkle_root(&all, root, err);
}

void bpk_ident_range(const struct bpk_ident *identity, uint64_t number, uint64_t *start,
		     uint64_t *end)
{
	uint64_t size = (uint64_t)LEAF << identity->level;

	*start = number * size;
	*end = number < bpk_ident_nodes(identity) ? *start + size : identity->size;
}

int bpk_ident_part(const struct bpk_ident *identity, uint64_t kept, uint64_t *start, uint64_t *end,
		   uint8_t root[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	struct bpk_ident behind = { 0 };
	uint64_t nodes = bpk_ident_nodes(identity), number;

	memcpy(behind.last, identity->last, BPK_MERKLE_SIZE);
	if (kept == identity->size) {
		*start = bpk_ident_leaves(identity) * LEAF;
		*end = kept;
	} else {
		number = bpk_min_u64(kept / LEAF >> identity->level, nodes);
		bpk_ident_range(identity, number, start, end);
		if (*start == kept)
			*end = kept;
		if (number < nodes) {
			memcpy(root, identity->nodes.data + number * BPK_MERKLE_SIZE,
			       BPK_MERKLE_SIZE);
			return 0;
		}
		behind.level = identity->level;
		behind.rest = identity->rest;
	}
	behind.size = *end - *start;
	return *start == *end ? 0 : bpk_ident_root(&behind, root, err);
}

bool bpk_ident_same(const struct bpk_ident *a, const struct bpk_ident *b, uint64_t number)
{
	size_t at = (size_t)number * BPK_MERKLE_SIZE;

	if (number < bpk_ident_nodes(a))
		return memcmp(a->nodes.data + at, b->nodes.data + at, BPK_MERKLE_SIZE) == 0;
	for (unsigned k = 0; k < a->level; k++)
		if (a->rest.count >> k & 1 &&
		    memcmp(a->rest.peaks[k], b->rest.peaks[k], BPK_MERKLE_SIZE) != 0)
			return false;
	return a->size % LEAF == 0 || memcmp(a->last, b->last, BPK_MERKLE_SIZE) == 0;
}

/* ---- The record ---- */

static int put_digest(struct bpk_buf *out, const uint8_t *digest, struct bpk_err *err)
{
	return bpk_hex_put(out, bpk_view(digest, BPK_MERKLE_SIZE), err);
}

int bpk_ident_put(const struct bpk_ident *identity, struct bpk_buf *out, struct bpk_err *err)
{
	uint8_t root[BPK_MERKLE_SIZE];

	if (bpk_ident_root(identity, root, err) != 0 ||
	    bpk_buf_printf(out, err,
			   "{\"version\":%d,\"size\":%" PRIu64 ",\"level\":%u,\"root\":\"", VERSION,
			   identity->size, identity->level) != 0 ||
	    put_digest(out, root, err) != 0 || bpk_buf_printf(out, err, "\",\"digests\":\"") != 0 ||
	    bpk_hex_put(out, bpk_buf_view(&identity->nodes), err) != 0)
		return -1;
	for (unsigned k = identity->level; k-- > 0;)
		if (identity->rest.count >> k & 1 &&
		    put_digest(out, identity->rest.peaks[k], err) != 0)
			return -1;
	if (identity->size % LEAF > 0 && put_digest(out, identity->last, err) != 0)
		return -1;
	return bpk_buf_printf(out, err, "\"}") != 0 ? -1
						    : bpk_buf_append(out, bpk_view("", 1), err);
}

/* The inside of a string of digits; empty for any other value. */
static struct bpk_view digits_of(struct bpk_view record, const char *name)
{
	struct bpk_view value = bpk_json_member(record, name);

	return bpk_json_kind(value) == BPK_JSON_STRING ? bpk_view(value.data + 1, value.size - 2)
						       : bpk_view(NULL, 0);
}

/* Share digests out; false unless exactly those are there that size and level need. */
static bool share_out(struct bpk_buf *digests, struct bpk_ident *identity)
{
	uint64_t leaves = identity->size / LEAF, nnodes = leaves >> identity->level;
	uint64_t left = digests->size / BPK_MERKLE_SIZE;
	size_t at = (size_t)nnodes * BPK_MERKLE_SIZE;

	if (digests->size % BPK_MERKLE_SIZE != 0 || left < nnodes)
		return false;
	left -= nnodes;
	identity->rest.count = leaves - (nnodes << identity->level);
	for (unsigned k = identity->level; k-- > 0;) {
		if (!(identity->rest.count >> k & 1))
			continue;
		if (left == 0)
			return false;
		memcpy(identity->rest.peaks[k], digests->data + at, BPK_MERKLE_SIZE);
		at += BPK_MERKLE_SIZE;
		left--;
	}
	if (left != (identity->size % LEAF > 0))
		return false;
	if (left > 0)
		memcpy(identity->last, digests->data + at, BPK_MERKLE_SIZE);
	digests->size = (size_t)nnodes * BPK_MERKLE_SIZE;
	return true;
}

/* Parse the numbers and the root. */
static bool take_numbers(struct bpk_view record, struct bpk_ident *identity,
			 uint8_t root[BPK_MERKLE_SIZE])
{
	uint64_t version, level;

	if (!bpk_json_u64(bpk_json_member(record, "version"), &version) || version != VERSION ||
	    !bpk_json_u64(bpk_json_member(record, "size"), &identity->size) ||
	    !bpk_json_u64(bpk_json_member(record, "level"), &level) || level > MOST_LEVEL)
		return false;
	identity->level = (unsigned)level;
	return bpk_hex_fill(digits_of(record, "root"), root, BPK_MERKLE_SIZE);
}

int bpk_ident_take(struct bpk_view value, struct bpk_ident *identity, bool *good,
		   struct bpk_err *err)
{
	struct bpk_view digits = digits_of(value, "digests");
	uint8_t found[BPK_MERKLE_SIZE], root[BPK_MERKLE_SIZE];
	int rc = 0;

	*good = take_numbers(value, identity, root) && digits.size % HEX == 0;
	if (*good)
		rc = bpk_buf_resize(&identity->nodes, digits.size / 2, err);
	if (*good && rc == 0)
		*good = bpk_hex_fill(digits, identity->nodes.data, identity->nodes.size) &&
			share_out(&identity->nodes, identity);
	if (*good && rc == 0)
		rc = bpk_ident_root(identity, found, err);
	if (*good && rc == 0)
		*good = memcmp(found, root, sizeof found) == 0;
	return rc;
}

bool bpk_ident_is_named(struct bpk_view metadata)
{
	return bpk_json_member(metadata, BPK_IDENT_NAME).size > 0;
}

bool bpk_ident_is_recorded(const struct bpk_info *info)
{
	return info->metadata.given && bpk_ident_is_named(info->metadata.text);
}

int bpk_ident_fail_named(struct bpk_err *err)
{
	return bpk_fail(err, BPK_USAGE, "the name " BPK_IDENT_NAME " in metadata is bpk's own");
}

int bpk_ident_find(const struct bpk_info *info, uint64_t raw_size, struct bpk_ident *identity,
		   enum bpk_ident_state *state, struct bpk_err *err)
{
	struct bpk_view text = info->metadata.given ? info->metadata.text : bpk_view(NULL, 0);
	struct bpk_view value = bpk_json_member(text, BPK_IDENT_NAME);
	bool good;

	*state = BPK_IDENT_NONE;
	if (value.size == 0)
		return 0;
	if (bpk_ident_take(value, identity, &good, err) != 0)
		return -1;
	*state = !good                                                   ? BPK_IDENT_STRANGE
		 : raw_size != BPK_UNKNOWN && raw_size != identity->size ? BPK_IDENT_STALE
									 : BPK_IDENT_GOOD;
	return 0;
}

int bpk_ident_join(struct bpk_buf *text, const struct bpk_ident *identity, struct bpk_err *err)
{
	struct bpk_buf value = { 0 };
	int rc = bpk_ident_put(identity, &value, err);

	if (rc == 0)
		rc = bpk_json_set(text, BPK_IDENT_NAME, (const char *)value.data, err);
	bpk_buf_clear(&value);
	return rc;
}

int bpk_ident_strip(struct bpk_buf *text, struct bpk_err *err)
{
	struct bpk_view value;
	size_t at = 0;
	bool found;

	if (!bpk_ident_is_named(bpk_buf_view(text)))
		return 0;
	if (bpk_json_remove(text, BPK_IDENT_NAME, &found, err) != 0)
		return -1;
	if (!bpk_json_next(bpk_buf_view(text), &at, NULL, &value))
		text->size = 0;
	return 0;
}

int bpk_ident_leave_out(struct bpk_info *info, struct bpk_ident_less *less, struct bpk_err *err)
{
	struct bpk_metadata_info *metadata = &info->metadata;
	size_t count = 0;

	if (bpk_buf_append(&less->text, metadata->text, err) != 0 ||
	    bpk_ident_strip(&less->text, err) != 0)
		return -1;
	metadata->text = bpk_buf_view(&less->text);
	metadata->given = metadata->text.size > 0;
	if (metadata->nlayers == 0)
		return 0;
	less->layers = bpk_calloc(metadata->nlayers, sizeof *less->layers, err);
	if (less->layers == NULL)
		return -1;
	for (size_t i = 0; i < metadata->nlayers; i++)
		if (strcmp(metadata->layers[i].name, BPK_IDENT_NAME) != 0)
			less->layers[count++] = metadata->layers[i];
	metadata->layers = less->layers;
	metadata->nlayers = count;
	return 0;
}

/* The last of the layers. */
static int put_layer(struct bpk_metadata_info *metadata, const struct bpk_ident *identity,
		     struct bpk_ident_less *less, struct bpk_err *err)
{
	size_t count = metadata->nlayers;
	struct bpk_layer *layers = bpk_calloc(count + 1, sizeof *layers, err);
	struct bpk_buf value = { 0 };
	int rc = layers == NULL ? -1 : bpk_ident_put(identity, &value, err);

	if (rc == 0)
		rc = bpk_msgpack_parse(bpk_view(value.data, value.size - 1), &less->content, err);
	bpk_buf_clear(&value);
	if (rc != 0) {
		free(layers);
		return -1;
	}
	memcpy(layers, metadata->layers, count * sizeof *layers);
	layers[count] = (struct bpk_layer){ .name = BPK_IDENT_NAME,
					    .content = bpk_buf_view(&less->content) };
	free(less->layers);
	metadata->layers = less->layers = layers;
	metadata->nlayers = count + 1;
	return 0;
}

int bpk_ident_put_in(struct bpk_info *info, const struct bpk_ident *identity,
		     struct bpk_ident_less *less, struct bpk_err *err)
{
	struct bpk_metadata_info *metadata = &info->metadata;

	if (bpk_ident_join(&less->text, identity, err) != 0)
		return -1;
	metadata->text = bpk_buf_view(&less->text);
	metadata->given = true;
	/* a frame without layers has an empty list of them, which its copy takes */
	return metadata->layers == NULL ? 0 : put_layer(metadata, identity, less, err);
}

void bpk_ident_less_clear(struct bpk_ident_less *less)
{
	bpk_buf_clear(&less->text);
	bpk_buf_clear(&less->content);
	free(less->layers);
	*less = (struct bpk_ident_less){ 0 };
}
