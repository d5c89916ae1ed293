/*
 * The signature of a seal's root, in a file beside its archive: made and tested by ssh-keygen(1).
 * Called by seal.c. For the main thread alone. Source: bpk-seal(1), "The signature".
 *
 * The file has the armoured signature, and behind it the text that is signed:
 *
 *     bpk-seal 1
 *     format b2frame
 *     generation 3
 *     root 5bdb...
 */
#ifndef BPK_CLI_SIGNATURE_H
#define BPK_CLI_SIGNATURE_H

#include "format/format.h"

#define BPK_SIGNATURE_SUFFIX ".sig"

/* Caller storage, valid when zeroed; for bpk_signature_clear. */
struct bpk_signature {
	struct bpk_buf armour; /* with its last newline */
	struct bpk_buf text;
	char format[16];
	struct bpk_seal_info seal;
};

void bpk_signature_clear(struct bpk_signature *signature);

/* Sign the seal of an archive, which has one, with the private key in a file, or with one of the
 * agent's by its public key. Fails with BPK_FAILED if ssh-keygen does. */
int bpk_signature_make(const struct bpk_info *info, const char *key,
		       struct bpk_signature *signature, struct bpk_err *err);

/* Read the file name. *there is false if it is missing. Fails with BPK_CORRUPT if it is no
 * signature of a seal. */
int bpk_signature_read(const char *name, struct bpk_signature *signature, bool *there,
		       struct bpk_err *err);

/* Test that the signature is of its text, whoever made it, and append the key, "ED25519 key
 * SHA256:...", a text. Fails with BPK_CORRUPT. */
int bpk_signature_key(const struct bpk_signature *signature, struct bpk_buf *key,
		      struct bpk_err *err);

/*
 * Test that one of the signers in the file allowed (ssh-keygen(1), "ALLOWED SIGNERS") made it.
 * identity: the signer that it must be; NULL: any, whose name is appended to who, a text. Fails
 * with BPK_CORRUPT for another signer.
 */
int bpk_signature_signer(const struct bpk_signature *signature, const char *allowed,
			 const char *identity, struct bpk_buf *who, struct bpk_err *err);

#endif
