/* The seal of an archive as text: seal.h. */
#include "cli/seal.h"

#include <stdio.h>

#include "cli/record.h"

void bpk_seal_print(const struct bpk_seal_info *seal, char text[BPK_SEAL_TEXT])
{
	for (size_t i = 0; i < sizeof seal->root; i++)
		snprintf(text + 2 * i, 3, "%02x", seal->root[i]);
}

void bpk_seal_record(const struct bpk_info *info)
{
	char root[BPK_SEAL_TEXT];
	bool sealed = info != NULL && info->seal.sealed;

	if (sealed)
		bpk_seal_print(&info->seal, root);
	bpk_record_text("seal_root", sealed ? root : NULL);
	bpk_record_u64("seal_generation", sealed ? info->seal.generation : BPK_UNKNOWN);
}
