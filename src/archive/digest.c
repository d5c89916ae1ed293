/* The digest of a raw content: a flow whose parcels are put into SHA-256, in order, or into the
 * leaves of a tree, in any order (leaves.c). Called by cli/sum_work.c, and by bpk verify. */
#include "archive/digest.h"

enum { LEAF = BPK_DIGEST_LEAF };

/* ---- Leaves ---- */

static int put_leaves(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	if (parcel->want_size == 0)
		return 0; /* an empty chunk may have no buffer */
	return bpk_leaves_put(writer, parcel->raw_offset + parcel->want_start,
			      bpk_view(parcel->raw.data + parcel->want_start, parcel->want_size),
			      err);
}

static bool places(const void *writer)
{
	(void)writer;
	return true;
}

const struct bpk_writer_ops bpk_leaves_writer = { .places = places, .put = put_leaves };

/* ---- All bytes in order ---- */

static int put_bytes(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	return bpk_summing_add(
		writer, bpk_view(parcel->raw.data + parcel->want_start, parcel->want_size), err);
}

static const struct bpk_writer_ops bytes_writer = { .put = put_bytes };

/* ---- The run ---- */

static int make_plan(const struct bpk_input *in, struct bpk_sizes *sizes, struct bpk_plan *plan,
		     struct bpk_err *err)
{
	if (in->format != &bpk_format_raw)
		return bpk_plan_found(in->format->reader, in->reader, sizes, plan, err);
	*plan = bpk_plan_cut(in->info->raw_size, LEAF);
	return 0;
}

/* Put the content into a writer of this file. */
static int run(const struct bpk_input *in, const struct bpk_digest_options *options,
	       const struct bpk_writer_ops *out, void *writer, struct bpk_err *err)
{
	struct bpk_flow flow = {
		.in = in->format->reader,
		.reader = in->reader,
		.out = out,
		.writer = writer,
		.check = true,
		.decode = true,
		.limits = options->limits,
		.reader_memory = out == &bpk_leaves_writer ? 2 * LEAF : 0,
		.progress = options->progress,
		.progress_arg = options->progress_arg,
	};
	struct bpk_flow_result result;
	struct bpk_sizes sizes = { 0 };
	int rc = make_plan(in, &sizes, &flow.plan, err);

	if (rc == 0)
		rc = bpk_flow_run(&flow, &result, err);
	bpk_sizes_clear(&sizes);
	return rc;
}

/* Put the content into the leaves of a tree. */
static int find_tree(const struct bpk_input *in, const struct bpk_digest_options *options,
		     struct bpk_ident *tree, struct bpk_err *err)
{
	struct bpk_leaves leaves;
	int rc;

	bpk_leaves_init(&leaves, tree);
	rc = run(in, options, &bpk_leaves_writer, &leaves, err);
	if (rc == 0)
		rc = bpk_leaves_finish(&leaves, err);
	bpk_leaves_clear(&leaves);
	return rc;
}

static int digest_tree(const struct bpk_input *in, const struct bpk_digest_options *options,
		       uint8_t *digest, struct bpk_err *err)
{
	struct bpk_ident tree = { 0 };
	int rc = find_tree(in, options, &tree, err);

	if (rc == 0)
		rc = bpk_ident_root(&tree, digest, err);
	bpk_ident_clear(&tree);
	return rc;
}

static int digest_bytes(const struct bpk_input *in, const struct bpk_digest_options *options,
			uint8_t *digest, struct bpk_err *err)
{
	uint8_t whole[BPK_DIGEST_MAX];
	struct bpk_summing summing = { 0 };
	int rc = bpk_summing_begin(&summing, bpk_checksum_find("sha256"), err);

	if (rc == 0)
		rc = run(in, options, &bytes_writer, &summing, err);
	if (rc == 0)
		rc = bpk_summing_end(&summing, whole, err);
	if (rc == 0)
		memcpy(digest, whole, BPK_DIGEST_SIZE);
	bpk_summing_clear(&summing);
	return rc;
}

int bpk_input_digest(struct bpk_input *in, const struct bpk_digest_options *options,
		     uint8_t digest[BPK_DIGEST_SIZE], struct bpk_err *err)
{
	if ((options->tree ? digest_tree : digest_bytes)(in, options, digest, err) == 0)
		return 0;
	bpk_input_subject(in, err);
	return bpk_input_judge(in, err);
}

int bpk_input_identity(struct bpk_input *in, const struct bpk_digest_options *options,
		       struct bpk_ident *tree, struct bpk_err *err)
{
	if (find_tree(in, options, tree, err) == 0)
		return 0;
	bpk_input_subject(in, err);
	return bpk_input_judge(in, err);
}
