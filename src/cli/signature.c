/* The signature of a seal, by calls of ssh-keygen (signature.h). */
#include "cli/signature.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/seal.h"

/* With "SSHSIG", the version 1, for which ssh-keygen takes 0 too, and two bytes of the size of the
 * key, which are 0, in base64. Source: OpenSSH, PROTOCOL.sshsig. */
static const char begin[] = "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAA";
static const char end[] = "\n-----END SSH SIGNATURE-----\n";

/* The namespace of signatures, which no other use of a key has. */
#define NAMESPACE "bpk-seal"
#define PROGRAM   "ssh-keygen"
#define EXTRA     "/dev/fd/3" /* the extra input of a child */

enum {
	MOST_SIZE = 64 << 10, /* of the file */
	TEXT = 256,           /* more than the longest text that is signed */
};

void bpk_signature_clear(struct bpk_signature *signature)
{
	bpk_buf_clear(&signature->armour);
	bpk_buf_clear(&signature->text);
}

/* ---- the text ---- */

/* The text that is signed. */
static void print_text(const struct bpk_signature *s, char text[TEXT])
{
	char root[BPK_DIGEST_TEXT];

	snprintf(text, TEXT, "bpk-seal 1\nformat %s\ngeneration %" PRIu64 "\nroot %s\n", s->format,
		 s->seal.generation, bpk_seal_print(&s->seal, root));
}

/* Parse a text, which must be spelled as bpk spells it. */
static bool parse_text(struct bpk_view text, struct bpk_signature *s)
{
	char copy[TEXT], again[TEXT], hex[2 * BPK_MERKLE_SIZE + 1];
	bool good = text.size < sizeof copy;

	if (good) {
		memcpy(copy, text.data, text.size);
		copy[text.size] = '\0';
		good = sscanf(copy,
			      "bpk-seal 1\nformat %15[a-z0-9]\ngeneration %20" SCNu64
			      "\nroot %64[0-9a-f]\n",
			      s->format, &s->seal.generation, hex) == 3 &&
		       bpk_hex_fill(bpk_view(hex, strlen(hex)), s->seal.root, BPK_MERKLE_SIZE);
	}
	if (good)
		print_text(s, again);
	s->seal.sealed =
		good && strlen(again) == text.size && memcmp(again, text.data, text.size) == 0;
	return s->seal.sealed;
}

/* ---- the program ---- */

/* Fail with the last line that the program said. */
static int fail_said(const struct bpk_child *child, enum bpk_kind kind, struct bpk_err *err)
{
	char line[BPK_ERR_TEXT];

	bpk_child_last_line(child, line);
	return bpk_fail(err, kind, PROGRAM ": %s", line);
}

/* The size of a whole armoured signature at the start of bytes; 0: there is none. */
static size_t armour_size(struct bpk_view bytes)
{
	const uint8_t *found;

	if (bytes.size < sizeof begin || memcmp(bytes.data, begin, sizeof begin - 1) != 0)
		return 0;
	found = memmem(bytes.data, bytes.size, end, sizeof end - 1);
	return found == NULL ? 0 : (size_t)(found - bytes.data) + sizeof end - 1;
}

static int sign(const char *key, struct bpk_signature *s, struct bpk_err *err)
{
	const char *const argv[] = { PROGRAM, "-Y", "sign", "-f", key, "-n", NAMESPACE, NULL };
	struct bpk_child child = { 0 };
	int rc = bpk_child_run(argv, bpk_buf_view(&s->text), bpk_view(NULL, 0), &child, err);

	if (rc == 0 && child.status != 0)
		rc = fail_said(&child, BPK_FAILED, err);
	else if (rc == 0 && armour_size(bpk_buf_view(&child.out)) != child.out.size)
		rc = bpk_fail(err, BPK_FAILED, PROGRAM " wrote no signature");
	if (rc == 0)
		rc = bpk_buf_append(&s->armour, bpk_buf_view(&child.out), err);
	bpk_child_clear(&child);
	return rc;
}

int bpk_signature_make(const struct bpk_info *info, const char *key, struct bpk_signature *s,
		       struct bpk_err *err)
{
	char text[TEXT];

	snprintf(s->format, sizeof s->format, "%s", info->format);
	s->seal = info->seal;
	print_text(s, text);
	if (bpk_buf_append(&s->text, bpk_view(text, strlen(text)), err) != 0)
		return -1;
	return sign(key, s, err);
}

/* Append the first line of output from behind a word on, without the newline, as a text. */
static int take_line(const struct bpk_buf *output, const char *behind, struct bpk_buf *line,
		     struct bpk_err *err)
{
	const uint8_t *last = memchr(output->data, '\n', output->size), *from = output->data;
	size_t size = last == NULL ? 0 : (size_t)(last - from);
	const uint8_t *found = memmem(from, size, behind, strlen(behind));

	if (size == 0 || found == NULL)
		return bpk_fail(err, BPK_FAILED, PROGRAM " answers in another way than expected");
	found += strlen(behind);
	return bpk_buf_printf(line, err, "%.*s", (int)(size - (size_t)(found - from)),
			      (const char *)found);
}

int bpk_signature_key(const struct bpk_signature *s, struct bpk_buf *key, struct bpk_err *err)
{
	const char *const argv[] = { PROGRAM, "-Y", "check-novalidate", "-n", NAMESPACE, "-s",
				     EXTRA,   NULL };
	struct bpk_child child = { 0 };
	int rc = bpk_child_run(argv, bpk_buf_view(&s->text), bpk_buf_view(&s->armour), &child, err);

	if (rc == 0 && child.status != 0)
		rc = bpk_fail(err, BPK_CORRUPT, "is no signature of the text in it");
	if (rc == 0)
		rc = take_line(&child.out, " with ", key, err);
	bpk_child_clear(&child);
	return rc;
}

/* Find a signer that has the key. */
static int find_signer(const struct bpk_signature *s, const char *allowed, struct bpk_buf *who,
		       struct bpk_err *err)
{
	const char *const argv[] = { PROGRAM, "-Y", "find-principals", "-s",
				     EXTRA,   "-f", allowed,           NULL };
	struct bpk_child child = { 0 };
	int rc = bpk_child_run(argv, bpk_view(NULL, 0), bpk_buf_view(&s->armour), &child, err);

	if (rc == 0 && child.status != 0)
		rc = bpk_fail(err, BPK_CORRUPT, "is of no signer in %s", allowed);
	if (rc == 0)
		rc = take_line(&child.out, "", who, err);
	bpk_child_clear(&child);
	return rc;
}

static int verify(const struct bpk_signature *s, const char *allowed, const char *identity,
		  struct bpk_err *err)
{
	const char *const argv[] = { PROGRAM,  "-Y", "verify",  "-f", allowed, "-I",
				     identity, "-n", NAMESPACE, "-s", EXTRA,   NULL };
	struct bpk_child child = { 0 };
	char line[BPK_ERR_TEXT] = "";
	int rc = bpk_child_run(argv, bpk_buf_view(&s->text), bpk_buf_view(&s->armour), &child, err);

	if (rc == 0 && child.status != 0) {
		if (child.said.size > 0)
			bpk_child_last_line(&child, line);
		rc = bpk_fail(err, BPK_CORRUPT, "%s does not confirm a signature of '%s'%s%s",
			      allowed, identity, line[0] != '\0' ? ": " : "", line);
	}
	bpk_child_clear(&child);
	return rc;
}

/* A missing list of signers is no false signature. */
static int look_at_signers(const char *allowed, struct bpk_err *err)
{
	return access(allowed, R_OK) == 0 ? 0 : bpk_fail_errno(err, errno, "%s", allowed);
}

int bpk_signature_signer(const struct bpk_signature *s, const char *allowed, const char *identity,
			 struct bpk_buf *who, struct bpk_err *err)
{
	if (look_at_signers(allowed, err) != 0)
		return -1;
	if (identity != NULL ? bpk_buf_printf(who, err, "%s", identity) != 0
			     : find_signer(s, allowed, who, err) != 0)
		return -1;
	return verify(s, allowed, (const char *)who->data, err);
}

/* ---- the file ---- */

static int take_parts(struct bpk_view bytes, struct bpk_signature *s, struct bpk_err *err)
{
	size_t size = armour_size(bytes);
	struct bpk_view text = bpk_view(bytes.data + size, bytes.size - size);

	if (size == 0 || !parse_text(text, s))
		return bpk_fail(err, BPK_CORRUPT, "is no signature of a seal");
	if (bpk_buf_append(&s->armour, bpk_view(bytes.data, size), err) != 0)
		return -1;
	return bpk_buf_append(&s->text, text, err);
}

static int read_file(const char *name, struct bpk_signature *s, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	struct bpk_buf bytes = { 0 };
	int rc = bpk_source_open(name, &source, err);

	if (rc == 0 && bpk_source_size(source) > MOST_SIZE)
		rc = bpk_fail(err, BPK_CORRUPT, "is no signature of a seal");
	if (rc == 0)
		rc = bpk_buf_resize(&bytes, (size_t)bpk_source_size(source), err);
	if (rc == 0)
		rc = bpk_source_read_at(source, 0, bpk_span(bytes.data, bytes.size), &bytes.size,
					err);
	if (rc == 0)
		rc = take_parts(bpk_buf_view(&bytes), s, err);
	bpk_source_close(source);
	bpk_buf_clear(&bytes);
	return rc;
}

int bpk_signature_read(const char *name, struct bpk_signature *s, bool *there, struct bpk_err *err)
{
	struct stat found;
	int rc;

	*there = lstat(name, &found) == 0;
	if (!*there && bpk_is_absent(errno))
		return 0;
	if (!*there)
		rc = bpk_fail_errno(err, errno, "cannot look");
	else if (!S_ISREG(found.st_mode))
		rc = bpk_fail(err, BPK_CORRUPT, "is no signature of a seal");
	else
		rc = read_file(name, s, err);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", name);
}
