/* The names of drafts, journals, lists and locks. Directories, tar extraction and bpk_walk look for
 * them. */
#include "io/file/hidden.h"

#include <string.h>

#include "io/edit/resolved.h"
#include "io/tree/dir.h"
#include "io/file/draft_name.h"

bool bpk_hidden_is_draft(const char *name)
{
	size_t size = strlen(name);
	const char *suffix;

	if (name[0] != '.' || size <= 1 + BPK_DRAFT_SUFFIX)
		return false;
	suffix = name + size - BPK_DRAFT_SUFFIX;
	return strncmp(suffix, ".bpk-", 5) == 0 &&
	       strspn(suffix + 5, "0123456789") == BPK_DRAFT_DIGITS;
}

bool bpk_hidden_is_lock(const char *name)
{
	return strcmp(name, BPK_DIR_LOCK) == 0 || strcmp(name, BPK_SIDECAR) == 0;
}

bool bpk_hidden_is_leftover(const char *base)
{
	return bpk_hidden_is_draft(base) || bpk_resolved_is_journal_name(base);
}

bool bpk_hidden_is_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (bpk_hidden_is_lock(name) || strcmp(name, BPK_DIR_LIST) == 0)
		return true;
	return bpk_hidden_is_leftover(slash == NULL ? name : slash + 1);
}
