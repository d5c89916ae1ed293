/* The seal of an archive as text: seal.h. */
#include "cli/seal.h"

#include "cli/record.h"

const char *bpk_seal_print(const struct bpk_seal_info *seal, char text[BPK_DIGEST_TEXT])
{
	return bpk_digest_print(seal->root, sizeof seal->root, text);
}

void bpk_seal_record(const struct bpk_info *info)
{
	char root[BPK_DIGEST_TEXT];
	bool sealed = info != NULL && info->seal.sealed;

	bpk_record_text("seal_root", sealed ? bpk_seal_print(&info->seal, root) : NULL);
	bpk_record_u64("seal_generation", sealed ? info->seal.generation : BPK_UNKNOWN);
}
