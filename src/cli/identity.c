/* The identity that an archive records, as text: identity.h. */
#include "cli/identity.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/record.h"

bool bpk_identity_is_bomb(uint64_t raw_size, uint64_t stored)
{
	enum { ANY = 1 << 30, TIMES = 1000 }; /* a second for 1 GiB */

	return raw_size > ANY && stored != BPK_UNKNOWN && raw_size / TIMES > stored;
}

int bpk_identity_take(const struct bpk_info *info, uint64_t raw_size, struct bpk_ident *tree,
		      bool *has, struct bpk_err *err)
{
	enum bpk_ident_state state;

	if (bpk_ident_find(info, raw_size, tree, &state, err) != 0)
		return -1;
	*has = state != BPK_IDENT_NONE;
	if (state == BPK_IDENT_STRANGE)
		return bpk_fail(err, BPK_CORRUPT, "the record of its identity is malformed");
	if (state == BPK_IDENT_STALE)
		return bpk_fail(err, BPK_CORRUPT,
				"its recorded identity is of %" PRIu64
				" bytes, the content has %" PRIu64,
				tree->size, raw_size);
	return 0;
}

int bpk_identity_print(const struct bpk_info *info, uint64_t raw_size, char text[BPK_DIGEST_TEXT],
		       bool *fits, struct bpk_err *err)
{
	struct bpk_ident tree = { 0 };
	uint8_t root[BPK_MERKLE_SIZE];
	struct bpk_err why = { 0 };
	bool has = false;
	int rc = bpk_identity_take(info, raw_size, &tree, &has, &why);

	text[0] = '\0';
	*fits = why.kind != BPK_CORRUPT;
	if (rc == 0 && has)
		rc = bpk_ident_root(&tree, root, &why);
	if (rc == 0 && has)
		bpk_digest_print(root, sizeof root, text);
	bpk_ident_clear(&tree);
	return rc == 0 || !*fits ? 0 : bpk_fail_as(err, &why);
}

int bpk_identity_record(const struct bpk_info *info, uint64_t raw_size, struct bpk_err *err)
{
	char text[BPK_DIGEST_TEXT] = "";
	bool fits;
	int rc = info != NULL ? bpk_identity_print(info, raw_size, text, &fits, err) : 0;

	bpk_record_text("identity_root", text[0] != '\0' ? text : NULL);
	return rc;
}

int bpk_identity_users(const struct bpk_info *info, struct bpk_buf *less, struct bpk_view *text,
		       struct bpk_err *err)
{
	*text = info->metadata.given ? info->metadata.text : bpk_view(NULL, 0);
	if (text->size == 0 || !bpk_ident_is_named(*text))
		return 0;
	if (bpk_buf_append(less, *text, err) != 0 || bpk_ident_strip(less, err) != 0)
		return -1;
	*text = bpk_buf_view(less);
	return 0;
}

int bpk_identity_recorded(const struct bpk_input *in, struct bpk_ident *tree, struct bpk_err *err)
{
	const struct bpk_info *info = in->info;
	bool has = false;
	int rc = bpk_identity_take(info, info->raw_size, tree, &has, err);

	if (rc == 0 && !has)
		rc = bpk_fail(err, BPK_FAILED,
			      "records no identity, as bpk convert --identity FILE NEW does");
	if (rc == 0 && (info->raw_size == BPK_UNKNOWN || info->members > 1))
		rc = bpk_fail(err, BPK_FAILED,
			      "has a number of bytes that only reading finds, so the recorded "
			      "identity may not be that of all");
	return rc == 0 ? 0 : bpk_input_subject(in, err);
}
