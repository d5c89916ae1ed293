/* The seal of an archive as text: seal.h. */
#include "cli/seal.h"

#include <ctype.h>
#include <inttypes.h>
#include <strings.h>

#include "cli/record.h"

enum { DIGITS = 2 * BPK_MERKLE_SIZE };

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

/* A line is taken apart from its end, as a path may hold anything. */
const char *bpk_seal_find_root(const char *text)
{
	static const char word[] = " generation ", digits[] = "0123456789abcdefABCDEF";
	size_t size = text != NULL ? strlen(text) : 0, room = sizeof word - 1;

	if (size == 0)
		return NULL;
	if (size == DIGITS && strspn(text, digits) == DIGITS)
		return text;
	while (size > 0 && isdigit((unsigned char)text[size - 1]))
		size--;
	if (text[size] == '\0' || size <= DIGITS + 2 + room ||
	    memcmp(text + size - room, word, room) != 0)
		return NULL;
	text += size - room - DIGITS;
	return strspn(text, digits) == DIGITS && memcmp(text - 2, ": ", 2) == 0 ? text : NULL;
}

int bpk_seal_check_root(const char *root, struct bpk_err *err)
{
	if (root == NULL || (bpk_seal_find_root(root) != NULL && strchr(root, '\n') == NULL))
		return 0;
	return bpk_fail(err, BPK_USAGE,
			"--root is '%s', expected %d hexadecimal digits, or a line of bpk verify "
			"--print-root",
			root, DIGITS);
}

int bpk_seal_expect(const struct bpk_seal_info *seal, const char *root, struct bpk_err *err)
{
	char found[BPK_DIGEST_TEXT];

	if (!seal->sealed)
		return bpk_fail(err, BPK_CORRUPT,
				"has no seal; bpk convert --seal FILE NEW makes an archive with "
				"one");
	bpk_seal_print(seal, found);
	if (root == NULL || strncasecmp(root, found, DIGITS) == 0)
		return 0;
	if (root[DIGITS] == '\0')
		return bpk_fail(err, BPK_CORRUPT, "the seal's root is %s, expected %s", found,
				root);
	return bpk_fail(err, BPK_CORRUPT,
			"the seal's root is %s of generation %" PRIu64 ", expected %.*s of%s",
			found, seal->generation, DIGITS, root, root + DIGITS);
}

int bpk_seal_check_strong(const struct bpk_info *info, struct bpk_err *err)
{
	const struct bpk_checksum *checksum = info->chunks.checksum;

	if (checksum == NULL || checksum->size == 0 || bpk_checksum_is_strong(checksum))
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"its seal is as weak as its checksum %s, and proves nothing against a "
			"forger; bpk convert --seal FILE NEW makes a strong one",
			checksum->name);
}
