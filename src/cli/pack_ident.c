/* bpk pack --identity: the tree of the content, recorded in the archive. Called by pack.c and
 * pack_work.c. */
#include "cli/pack.h"
#include "cli/text.h"

enum { UNKNOWN_LEAVES = 16 }; /* that a pipe's record has room for; ten times that in a file */

int bpk_pack_check_identity(const struct bpk_pack *pack, struct bpk_err *err)
{
	const char *obstacle = bpk_pack_identity_obstacle(pack);

	if (bpk_ident_is_named(bpk_buf_view(&pack->metadata)))
		return bpk_ident_fail_named(err);
	if (!pack->args->identity || obstacle == NULL)
		return 0;
	return bpk_fail(err, BPK_USAGE, "--identity %s", obstacle);
}

/* A record of as many bytes as will come, for its room. */
int bpk_pack_announce_identity(struct bpk_pack *pack, struct bpk_err *err)
{
	uint64_t size = pack->plan.raw_size;
	struct bpk_ident blank = { 0 };
	int rc;

	pack->text.size = 0;
	if (bpk_buf_append(&pack->text, bpk_buf_view(&pack->metadata), err) != 0)
		return -1;
	if (!bpk_pack_identifies(pack))
		return 0;
	if (size == BPK_UNKNOWN)
		size = (uint64_t)UNKNOWN_LEAVES * BPK_IDENT_LEAF;
	rc = bpk_ident_blank(&blank, size, err);
	if (rc == 0)
		rc = bpk_ident_join(&pack->text, &blank, err);
	bpk_ident_clear(&blank);
	return rc;
}

static int set_record(struct bpk_pack *pack, const struct bpk_ident *tree, bool *fits,
		      struct bpk_err *err)
{
	struct bpk_buf value = { 0 };
	int rc = bpk_ident_put(tree, &value, err);

	if (rc == 0)
		rc = pack->format->writer->set_member(pack->transfer.writer, BPK_IDENT_NAME,
						      (const char *)value.data, fits, err);
	bpk_buf_clear(&value);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", bpk_output_name(pack->transfer.target));
}

static int see_packed(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_pack *pack = arg;

	if (parcel->raw.size == 0)
		return 0;
	return bpk_leaves_put(&pack->leaves, parcel->raw_offset, bpk_buf_view(&parcel->raw), err);
}

int bpk_pack_begin_identity(struct bpk_pack *pack, struct bpk_flow *flow, struct bpk_err *err)
{
	bool fits;

	if (!bpk_pack_identifies(pack))
		return 0;
	bpk_leaves_init(&pack->leaves, &pack->tree);
	flow->packed = see_packed;
	flow->packed_arg = pack;
	flow->reader_memory = 2 * BPK_IDENT_LEAF;
	/* an output that cannot take it fails before anything is packed */
	return set_record(pack, &pack->tree, &fits, err);
}

int bpk_pack_end_identity(struct bpk_pack *pack, struct bpk_err *err)
{
	bool fits;

	if (!bpk_pack_identifies(pack))
		return 0;
	if (bpk_leaves_finish(&pack->leaves, err) != 0 ||
	    set_record(pack, &pack->tree, &fits, err) != 0)
		return -1;
	while (!fits && bpk_ident_nodes(&pack->tree) > 0)
		if (bpk_ident_coarsen(&pack->tree, pack->tree.level + 1, err) != 0 ||
		    set_record(pack, &pack->tree, &fits, err) != 0)
			return -1;
	return fits ? 0
		    : bpk_fail(err, BPK_FAILED, "%s: has no room for an identity",
			       bpk_output_name(pack->transfer.target));
}

void bpk_pack_clear_identity(struct bpk_pack *pack)
{
	if (pack->leaves.tree != NULL)
		bpk_leaves_clear(&pack->leaves);
	pack->leaves.tree = NULL;
	bpk_ident_clear(&pack->tree);
	bpk_buf_clear(&pack->text);
}
